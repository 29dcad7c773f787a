"""Versions of profiles: told apart in words and YAML, checked before they serve, rolled back, followed as a shadow."""

import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
import yaml
from django.db import connection, connections
from django.test import Client
from retrieval_world import told, world
from test_api_walls import key_to
from tuning_world import JUDGED, judged

from memories.ids import uuid7
from memories.jobs.running import run
from memories.jobs.scheduled import compare_with_shadows
from memories.models import (
    DailyAccess,
    Evaluation,
    Job,
    JudgedQuery,
    JudgementSet,
    Namespace,
    ProfileVersion,
    Publication,
    Trace,
)
from memories.models.choices import JobState, Part, Role
from memories.retrieval.query import Setting
from memories.retrieval.replaying import replay
from memories.retrieval.retrieve import retrieve
from memories.retrieval.settings import setting
from memories.tuning import evaluations, files, gate, overlaps, policies, profiles, publishing, shadow, tracing
from memories.tuning.differences import differences
from memories.tuning.evaluating import MAIN
from memories.writing.refusal import RefusedError
from scoring.params import ParamsError
from scoring.systems import SYSTEMS

__all__ = ["world"]
pytestmark = [pytest.mark.django_db, pytest.mark.xdist_group("retrieval")]

GOOD: dict[str, Any] = {"abstain_below": 0.0}
RUINED: dict[str, Any] = {"abstain_below": 1.0}  # answers nothing at all


@pytest.fixture(scope="module")
def questions(world: Namespace, django_db_blocker: Any) -> Iterator[JudgementSet]:
    """The judged set, made once for all tests of the module."""
    with django_db_blocker.unblock():
        whole = judged(world)
    yield whole
    with django_db_blocker.unblock():
        whole.delete()


def kept(namespace: Namespace, params: dict[str, Any], name: str = "careful", system: str = "blend") -> ProfileVersion:
    """The next version of a profile."""
    made = profiles.add_version(
        namespace, name=name, system=system, params=params, parent=None, note="tried", by="tests"
    )
    return ProfileVersion.objects.within(namespace).select_related("profile").get(id=made.id)


def checked(namespace: Namespace, version: ProfileVersion) -> Job:
    """A version's check, seen through here."""
    job = gate.begin(namespace, version, by="tests")
    run(namespace.id, job.id)
    job.refresh_from_db()
    assert (job.state, job.error) == (JobState.DONE, "")
    return job


def served(namespace: Namespace, version: ProfileVersion) -> Publication:
    """A version that serves, whatever the gate would say."""
    return publishing.publish(namespace, version, override="so the test begins", by="tests")


def asked(namespace: Namespace, text: str, **more: Any) -> dict[str, Any]:
    """What an agent is told."""
    headers = key_to(namespace, Role.READ)
    address = f"/api/v1/{namespace.slug}/retrieve/"
    answer = Client().post(address, {"query": text, **more}, "application/json", headers=headers)
    assert answer.status_code == 200, answer.content
    return dict(answer.json())


def test_a_version_follows_the_one_before_it_or_the_parent_it_names(world: Namespace) -> None:
    first, second = kept(world, GOOD), kept(world, RUINED)
    assert (first.number, first.parent_id, second.number, second.parent_id) == (1, None, 2, first.id)
    other = profiles.add_version(world, name="bold", system="recall", params={}, parent=second.id, note="", by="tests")
    assert (other.number, other.parent_id) == (1, second.id)
    with pytest.raises(ParamsError, match="must be one of"):
        profiles.add_version(world, name="x", system="unheard", params={}, parent=None, note="", by="tests")


def test_two_versions_differ_in_words_with_labels_and_units(world: Namespace) -> None:
    first = kept(world, {"half_life_preference": 90.0}, system="recall")
    second = kept(world, {"half_life_preference": 120.0, "rrf_k": 40.0}, system="recall")
    assert differences(first, second) == [
        "Freshness: Preference 90 d → 120 d",
        "Fusion: how flat ranks count 60 (default) → 40",
    ]
    assert differences(second, second) == []
    assert differences(None, second)[0] == "system blend → recall"


def test_a_version_comes_back_from_yaml_as_it_was(world: Namespace) -> None:
    kept(world, GOOD)
    version = kept(world, {"abstain_below": 0.25, "rerank": 0.5})
    text = files.written(version)
    assert yaml.safe_load(text) == {
        "profile": "careful",
        "version": 2,
        "parent": "careful@1",
        "system": "blend",
        "note": "tried",
        "params": {"abstain_below": 0.25, "rerank": 0.5},
    }
    assert files.read(world, text, by="tests").id == version.id  # the same again is no new one
    moved = files.read(world, text.replace("0.25", "0.3"), by="tests")
    assert (moved.number, moved.params["abstain_below"]) == (3, 0.3)
    assert moved.parent_id == ProfileVersion.objects.within(world).get(number=1).id
    assert files.written(version) == text


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("[1, 2", "yaml"),
        ("just words", "yaml"),
        ("system: blend", "yaml"),
        ("profile: a@1\nsystem: blend", "profile"),
        ("profile: a\nsystem: unheard", "system"),
        ("profile: a\nsystem: blend\nparams: 3", "params"),
        ("profile: a\nsystem: blend\ncolour: red", "colour"),
        ("profile: a\nsystem: blend\nparams: {abstain_below: 7}", "abstain_below"),
        ("profile: a\nsystem: blend\nparams: {abstain_below: .nan}", "abstain_below"),
        ("!!python/object/apply:os.system ['true']", "yaml"),
    ],
)
def test_yaml_that_is_no_profile_is_refused_where_it_is_wrong(world: Namespace, text: str, at: str) -> None:
    with pytest.raises(ParamsError) as refused:
        files.read(world, text, by="tests")
    assert at in [one.at for one in refused.value.problems]
    assert not ProfileVersion.objects.within(world).exists()


def test_an_evaluation_is_kept_with_intervals_and_each_querys_part(world: Namespace, questions: JudgementSet) -> None:
    version = kept(world, GOOD)
    made = evaluations.evaluate(world, version, questions, by="tests")
    answerable = sum(bool(grades) for _, grades in JUDGED)
    assert made.metrics[MAIN]["queries"] == answerable
    assert made.metrics[MAIN]["low"] < made.metrics[MAIN]["mean"] < made.metrics[MAIN]["high"]
    each = [one[MAIN] for one in made.per_query.values() if MAIN in one]
    assert made.metrics[MAIN]["mean"] == pytest.approx(np.mean(each))
    assert len(made.per_query) == len(JUDGED)
    held = evaluations.evaluate(world, version, questions, Part.HOLDOUT, by="tests")
    assert set(held.per_query) < set(made.per_query)
    assert evaluations.latest(world, [version.id])[version.id].id == held.id


def test_a_set_is_asked_again_after_a_write_or_a_new_query_only(world: Namespace, questions: JudgementSet) -> None:
    blend = Setting(SYSTEMS["blend"])
    first = tracing.fresh(world, questions, blend)
    assert tracing.fresh(world, questions, blend).id == first.id
    JudgedQuery.objects.create(namespace=world, judgement_set=questions, text="Who sings?", kind="never_stored")
    second = tracing.fresh(world, questions, blend)
    assert second.id != first.id
    assert second.queries.count() == len(JUDGED) + 1


def test_an_evaluation_by_a_job_is_kept_once(world: Namespace, questions: JudgementSet) -> None:
    version = kept(world, GOOD)
    job = evaluations.begin(world, version, questions, "", by="tests")
    for _ in range(2):
        run(world.id, job.id)
    job.refresh_from_db()
    assert (job.state, job.error) == (JobState.DONE, "")
    assert job.result["evaluate"]["evaluation"] == str(Evaluation.objects.within(world).get().id)


def test_the_gate_refuses_a_planted_loss_and_keeps_the_reason_that_overrides_it(
    world: Namespace, questions: JudgementSet
) -> None:
    good, ruined = kept(world, GOOD), kept(world, RUINED)
    served(world, good)
    lost = gate.losses(checked(world, ruined))
    assert (lost[0]["metric"], lost[0]["part"]) == (MAIN, "")
    assert lost[0]["difference"] < 0
    assert lost[0]["chance"] < 0.05
    with pytest.raises(RefusedError, match=r"careful@2 loses: nDCG@10 −\.\d+ on 7 judged queries \(p \.0") as refused:
        publishing.publish(world, ruined, by="tests")
    assert refused.value.code == "loss"
    assert gate.serving_version(world) == good.id
    publication = publishing.publish(world, ruined, override="The demo wants silence.", note="For a day.", by="tests")
    assert publication.note.startswith("For a day. Overridden: The demo wants silence. (careful@2 loses: nDCG@10")
    assert asked(world, "backup")["abstained"]


def test_a_version_that_loses_nothing_is_published_without_a_word(world: Namespace, questions: JudgementSet) -> None:
    ruined, good = kept(world, RUINED), kept(world, GOOD)
    served(world, ruined)
    job = checked(world, good)
    first = job.result["judge"]["tests"][0]
    assert (first["metric"], first["before"], first["won"], first["lost"]) == (MAIN, 0.0, 7, 0)
    assert publishing.publish(world, good, by="tests").note == ""
    assert asked(world, "backup")["profile"] == {"name": "careful", "version": 2, "system": "blend"}


def test_a_check_counts_only_against_what_serves_now(world: Namespace, questions: JudgementSet) -> None:
    good, other = kept(world, GOOD), kept(world, {"abstain_below": 0.01})
    with pytest.raises(RefusedError, match="was not checked"):
        publishing.publish(world, good, by="tests")
    checked(world, good)
    served(world, other)
    with pytest.raises(RefusedError, match="was not checked against what serves now"):
        publishing.publish(world, good, by="tests")
    with pytest.raises(RefusedError, match="serves already"):
        publishing.publish(world, other, by="tests")


def test_real_questions_are_replayed_and_the_most_changed_are_named(world: Namespace) -> None:
    good, ruined = kept(world, GOOD), kept(world, RUINED)
    served(world, good)
    texts = [text for text, _ in JUDGED[:4]]
    traces = [asked(world, text)["trace"] for text in texts]
    found = checked(world, ruined).result["replay"]
    assert (found["traces"], found["compared"], found["changed"]) == (4, 4, 4)
    assert (found["jaccard"], found["rbo"], found["newly_silent"]) == (0.0, 0.0, 4)
    assert {one["trace"] for one in found["most_changed"]} == set(traces)
    same = checked(world, kept(world, {**GOOD, "rerank": 0.0})).result["replay"]
    each = [
        overlaps.overlap(
            trace.id,
            *(
                overlaps.answer(replay(trace, Setting(SYSTEMS["blend"], params)).retrieval)
                for params in (GOOD, {**GOOD, "rerank": 0.0})
            ),
        )
        for trace in Trace.objects.within(world).select_related("namespace")
    ]
    assert same["jaccard"] == pytest.approx(np.mean([one.jaccard for one in each]))
    assert same["rbo"] == pytest.approx(np.mean([one.rbo for one in each]))


def test_questions_with_other_candidates_are_asked_live_up_to_a_bound(
    world: Namespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gate, "LIVE", 2)
    for text, _ in JUDGED[:4]:
        asked(world, text)
    found = checked(world, kept(world, {}, system="recall")).result["replay"]
    assert (found["traces"], found["other_candidates"], found["live"], found["compared"]) == (4, 4, 2, 2)


def test_overlap_of_two_answers_is_told_from_the_same_to_nothing() -> None:
    here = JudgedQuery().id
    assert overlaps.overlap(here, ["a", "b"], ["a", "b"])[1:3] == (1.0, 1.0)
    assert overlaps.overlap(here, [], [])[1:3] == (1.0, 1.0)
    assert overlaps.overlap(here, ["a"], []).jaccard == 0.0
    assert overlaps.overlap(here, ["a", "b"], ["b", "c"]).jaccard == pytest.approx(1 / 3)


def test_rolling_back_serves_what_served_before_and_leaves_the_write_policy(world: Namespace) -> None:
    with pytest.raises(RefusedError, match="nothing to go back to"):
        publishing.roll_back(world, by="tests")
    first, second = kept(world, GOOD), kept(world, RUINED)
    served(world, first)
    served(world, second)
    policy = policies.add_version(world, name="ours", params={}, note="", by="tests")
    policies.publish(world, policy.id, note="", by="tests")
    back = publishing.roll_back(world, by="tests")
    assert (back.profile_version_id, back.policy_version_id) == (first.id, policy.id)
    assert back.note == "Rolled back."
    assert not asked(world, "backup")["abstained"]


def test_rolling_back_the_first_publication_serves_what_ships(world: Namespace) -> None:
    served(world, kept(world, RUINED))
    assert publishing.roll_back(world, by="tests").profile_version_id is None
    assert setting(world, params={}).version_id is None


def test_who_saw_another_state_is_told_so_instead_of_publishing(world: Namespace) -> None:
    first, second = kept(world, GOOD), kept(world, RUINED)
    seen = served(world, first)
    served(world, second)
    with pytest.raises(RefusedError, match="Something else was published by tests at") as refused:
        publishing.publish(world, first, override="mine", expected=seen.id, by="tests")
    assert refused.value.code == "overtaken"
    with pytest.raises(RefusedError, match="Something else was published"):
        publishing.roll_back(world, expected=None, by="tests")


@pytest.mark.django_db(transaction=True)
def test_of_two_who_publish_at_once_one_wins_and_the_other_is_told() -> None:
    namespace = told("twice")
    versions = [kept(namespace, GOOD), kept(namespace, RUINED)]

    def publish(version: ProfileVersion) -> str:
        try:
            publishing.publish(namespace, version, override="mine", expected=None, by=f"user {version.number}")
        except RefusedError as error:
            return error.code
        finally:
            connections.close_all()
        return "published"

    with ThreadPoolExecutor(2) as pool:
        assert sorted(pool.map(publish, versions)) == ["overtaken", "published"]
    assert Publication.objects.within(namespace).count() == 1


ASKS = """
import sys, django
django.setup()
from django.db import connection
from memories.models import Namespace
from memories.retrieval.settings import setting
namespace = Namespace.objects.get(slug="twice")
for line in sys.stdin:
    print(setting(namespace, params={}).version, flush=True)
"""


@pytest.mark.django_db(transaction=True)
def test_what_is_published_and_rolled_back_serves_in_another_process_at_once() -> None:
    namespace = told("twice")
    known = connection.settings_dict
    place = {name: str(known[name]) for name in ("NAME", "HOST", "PORT", "USER", "PASSWORD")}
    begin = f"from django.conf import settings\nsettings.DATABASES['default'].update({place!r})\n"
    command = [sys.executable, "-W", "ignore", "-c", begin + ASKS]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdin is not None
        assert other.stdout is not None

        def serving() -> str:
            assert other.stdin is not None
            assert other.stdout is not None
            other.stdin.write("\n")
            other.stdin.flush()
            return other.stdout.readline().strip()

        assert serving() == "None"
        for version in (kept(namespace, GOOD), kept(namespace, RUINED)):
            served(namespace, version)
            assert serving() == str(version.number)
        publishing.roll_back(namespace, by="tests")
        assert serving() == "1"
        other.stdin.close()
    connection.close()


def test_a_shadow_answers_a_share_of_what_is_asked_and_nobody_hears_of_it(
    world: Namespace, questions: JudgementSet
) -> None:
    served(world, kept(world, GOOD))
    asked(world, "before the shadow")
    ruined = kept(world, RUINED)
    cast = shadow.cast(world, ruined, 100, by="tests")
    assert compare_with_shadows() == []
    texts = [text for text, _ in JUDGED[:3]]
    answers = [asked(world, text, record=False) for text in texts]
    accesses = DailyAccess.objects.within(world).count()
    [job] = compare_with_shadows()
    run(world.id, job.id)
    job.refresh_from_db()
    assert (job.state, job.error, job.result["compare"]["compared"]) == (JobState.DONE, "", 3)
    twins = list(Trace.objects.within(world).filter(shadow=True).order_by("id"))
    assert [(one.query, one.abstained, one.profile_version_id) for one in twins] == [
        (text, True, ruined.id) for text in texts
    ]
    assert DailyAccess.objects.within(world).count() == accesses
    listed = Client().get(f"/api/v1/{world.slug}/traces/", headers=key_to(world)).json()["results"]
    assert {one["id"] for one in listed}.isdisjoint(str(one.id) for one in twins)
    told = shadow.report(cast)
    assert (told["compared"], told["changed"], told["newly_silent"], told["rbo"]) == (3, 3, 3, 0.0)
    assert (told["judged"], told["won"], told["lost"], told["live"]) == (3, 0, 3, 0)
    assert {one["trace"] for one in told["most_changed"]} == {one["trace"] for one in answers}
    assert compare_with_shadows() == []
    assert shadow.end(world)
    assert not shadow.end(world)


def test_a_shadow_of_another_system_is_asked_live(world: Namespace) -> None:
    cast = shadow.cast(world, kept(world, {}, system="recall"), 100, by="tests")
    asked(world, "Which database keeps the invoices?")
    job = shadow.begin(world, by="tests")
    run(world.id, job.id)
    twin = Trace.objects.within(world).get(shadow=True)
    live = retrieve(tracing.question(world, JudgedQuery(text=twin.query), Setting(SYSTEMS["recall"])))
    assert [one["id"] for one in twin.answer["results"]] == overlaps.answer(live)
    told = shadow.report(cast)
    assert (told["compared"], told["live"], told["judged"]) == (1, 1, 0)
    assert told["took_ms"][1] > 0
    again = replay(twin, Setting(SYSTEMS["recall"]))
    assert not again.live
    assert overlaps.answer(again.retrieval) == overlaps.answer(live)


def test_the_share_that_a_shadow_answers_is_about_what_was_declared() -> None:
    ids = [uuid7() for _ in range(4000)]
    assert sum(shadow.drawn(id, 25) for id in ids) == pytest.approx(1000, abs=150)
    assert all(shadow.drawn(id, 100) for id in ids)


def test_a_question_that_was_judged_tells_how_good_an_answer_is(world: Namespace, questions: JudgementSet) -> None:
    trace = Trace(query="backup", request={"user": None, "as_of": None})
    known = shadow.graded(world, [trace])["backup", "", None]
    assert list(known.values()) == [3]
    [best] = known
    assert shadow.gain([str(best)], known) == 1.0
    assert shadow.gain([], known) == 0.0
