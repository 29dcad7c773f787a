"""Profile versions: diffs in words and YAML, checks before publication, rollback, shadow."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import yaml
from django.db import connection, connections
from django.test import Client

from memories.db.ids import uuid7
from memories.jobs import tuning_jobs
from memories.jobs.attempt import run_job
from memories.jobs.scheduled import start_shadow_comparisons
from memories.models import (
    DailyAccess,
    Evaluation,
    JudgedQuery,
    JudgementSet,
    Namespace,
    ProfileVersion,
    Publication,
    Trace,
)
from memories.models.choices import JobState, Split
from memories.retrieval.config import resolve_config
from memories.retrieval.query import Config
from memories.retrieval.replay import replay
from memories.retrieval.retrieve import retrieve
from memories.tuning import (
    answer_overlap,
    evaluation_records,
    gate,
    policy_versions,
    profile_publication,
    profile_versions,
    profile_yaml,
    shadow,
    traced_sets,
)
from memories.tuning.config_diff import version_differences
from memories.tuning.measurement import MAIN_METRIC
from memories.writing.write_errors import RefusedError
from scoring.params import ParamsError
from scoring.systems import SYSTEMS
from tests.support.access import key_to
from tests.support.judged_world import JUDGED_QUERIES
from tests.support.profiles import ABSTAINING, GOOD, add_version, force_publish, retrieve_over_api, run_check
from tests.support.retrieval_world import store_world

pytestmark = [pytest.mark.django_db, pytest.mark.xdist_group("retrieval")]


def test_a_version_follows_the_one_before_it_or_the_parent_it_names(world: Namespace) -> None:
    first, second = add_version(world, GOOD), add_version(world, ABSTAINING)
    assert (first.number, first.parent_id, second.number, second.parent_id) == (1, None, 2, first.id)
    other = profile_versions.add_profile_version(
        world, name="bold", system="recall", params={}, parent=second.id, note="", by="tests"
    )
    assert (other.number, other.parent_id) == (1, second.id)
    with pytest.raises(ParamsError, match="must be one of"):
        profile_versions.add_profile_version(
            world, name="x", system="unheard", params={}, parent=None, note="", by="tests"
        )


def test_two_versions_differ_in_words_with_labels_and_units(world: Namespace) -> None:
    first = add_version(world, {"half_life_preference": 90.0}, system="recall")
    second = add_version(world, {"half_life_preference": 120.0, "rrf_k": 40.0}, system="recall")
    assert version_differences(world, first, second) == [
        "Freshness: half-life of a Preference 90 d → 120 d",
        "Fusion: RRF k (lower favours top ranks) 60 (default) → 40",
    ]
    assert version_differences(world, second, second) == []
    assert version_differences(world, None, second)[0] == "system blend → recall"
    believing = Namespace(mode="belief_system")
    assert version_differences(believing, None, second)[0] == "system contextdb → recall"


def test_a_version_comes_back_from_yaml_as_it_was(world: Namespace) -> None:
    add_version(world, GOOD)
    version = add_version(world, {"abstain_below": 0.25, "rerank": 0.5})
    text = profile_yaml.profile_to_yaml(version)
    assert yaml.safe_load(text) == {
        "profile": "careful",
        "version": 2,
        "parent": "careful@1",
        "system": "blend",
        "note": "tried",
        "params": {"abstain_below": 0.25, "rerank": 0.5},
    }
    assert profile_yaml.load_profile_yaml(world, text, by="tests").id == version.id  # the same again is no new one
    moved = profile_yaml.load_profile_yaml(world, text.replace("0.25", "0.3"), by="tests")
    assert (moved.number, moved.params["abstain_below"]) == (3, 0.3)
    assert moved.parent_id == ProfileVersion.objects.within(world).get(number=1).id
    assert profile_yaml.profile_to_yaml(version) == text


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
        profile_yaml.load_profile_yaml(world, text, by="tests")
    assert at in [one.at for one in refused.value.problems]
    assert not ProfileVersion.objects.within(world).exists()


def test_an_evaluation_is_kept_with_intervals_and_each_querys_part(
    world: Namespace, judgement_set: JudgementSet
) -> None:
    version = add_version(world, GOOD)
    made = evaluation_records.evaluate_version(world, version, judgement_set, by="tests")
    answerable = sum(bool(grades) for _, grades in JUDGED_QUERIES)
    assert made.metrics[MAIN_METRIC]["queries"] == answerable
    assert made.metrics[MAIN_METRIC]["low"] < made.metrics[MAIN_METRIC]["mean"] < made.metrics[MAIN_METRIC]["high"]
    each = [one[MAIN_METRIC] for one in made.per_query.values() if MAIN_METRIC in one]
    assert made.metrics[MAIN_METRIC]["mean"] == pytest.approx(np.mean(each))
    assert len(made.per_query) == len(JUDGED_QUERIES)
    held = evaluation_records.evaluate_version(world, version, judgement_set, Split.HOLDOUT, by="tests")
    assert set(held.per_query) < set(made.per_query)
    assert evaluation_records.latest_evaluations(world, [version.id])[version.id].id == held.id


def test_a_set_is_traced_again_after_a_write_or_a_new_query_only(world: Namespace, judgement_set: JudgementSet) -> None:
    blend = Config(SYSTEMS["blend"])
    first = traced_sets.ensure_traced_set(world, judgement_set, blend)
    assert traced_sets.ensure_traced_set(world, judgement_set, blend).id == first.id
    JudgedQuery.objects.create(namespace=world, judgement_set=judgement_set, text="Who sings?", kind="unanswerable")
    second = traced_sets.ensure_traced_set(world, judgement_set, blend)
    assert second.id != first.id
    assert second.queries.count() == len(JUDGED_QUERIES) + 1


def test_an_evaluation_by_a_job_is_kept_once(world: Namespace, judgement_set: JudgementSet) -> None:
    version = add_version(world, GOOD)
    job = tuning_jobs.submit_evaluation_job(world, version, judgement_set, "", by="tests")
    for _ in range(2):
        run_job(world.id, job.id)
    job.refresh_from_db()
    assert (job.state, job.error) == (JobState.DONE, "")
    assert job.result["evaluate"]["evaluation"] == str(Evaluation.objects.within(world).get().id)


def test_the_gate_refuses_a_planted_loss_and_keeps_the_reason_that_overrides_it(
    world: Namespace, judgement_set: JudgementSet
) -> None:
    good, ruined = add_version(world, GOOD), add_version(world, ABSTAINING)
    force_publish(world, good)
    lost = gate.gate_losses(run_check(world, ruined))
    assert (lost[0]["metric"], lost[0]["split"]) == (MAIN_METRIC, "")
    assert lost[0]["difference"] < 0
    assert lost[0]["p_value"] < 0.05
    with pytest.raises(RefusedError, match=r"careful@2 loses: nDCG@10 −\.\d+ on 7 judged queries \(p \.0") as refused:
        profile_publication.publish_profile(world, ruined, by="tests")
    assert refused.value.code == "loss"
    assert gate.serving_version_id(world) == good.id
    publication = profile_publication.publish_profile(
        world, ruined, override="The demo wants silence.", note="For a day.", by="tests"
    )
    assert publication.note.startswith("For a day. Overridden: The demo wants silence. (careful@2 loses: nDCG@10")
    assert retrieve_over_api(world, "backup")["abstained"]


def test_a_version_that_loses_nothing_is_published_without_a_word(
    world: Namespace, judgement_set: JudgementSet
) -> None:
    ruined, good = add_version(world, ABSTAINING), add_version(world, GOOD)
    force_publish(world, ruined)
    job = run_check(world, good)
    first = job.result["judge"]["tests"][0]
    assert (first["metric"], first["before"], first["won"], first["lost"]) == (MAIN_METRIC, 0.0, 7, 0)
    assert profile_publication.publish_profile(world, good, by="tests").note == ""
    served = {"name": "careful", "version": 2, "system": "blend", "preset": None}
    assert retrieve_over_api(world, "backup")["profile"] == served


def test_a_check_counts_only_against_what_serves_now(world: Namespace, judgement_set: JudgementSet) -> None:
    good, other = add_version(world, GOOD), add_version(world, {"abstain_below": 0.01})
    with pytest.raises(RefusedError, match="was not checked"):
        profile_publication.publish_profile(world, good, by="tests")
    run_check(world, good)
    force_publish(world, other)
    with pytest.raises(RefusedError, match="was not checked against the serving version"):
        profile_publication.publish_profile(world, good, by="tests")
    with pytest.raises(RefusedError, match="is already serving"):
        profile_publication.publish_profile(world, other, by="tests")


def test_real_queries_are_replayed_and_the_most_changed_are_named(world: Namespace) -> None:
    good, ruined = add_version(world, GOOD), add_version(world, ABSTAINING)
    force_publish(world, good)
    texts = [text for text, _ in JUDGED_QUERIES[:4]]
    traces = [retrieve_over_api(world, text)["trace"] for text in texts]
    found = run_check(world, ruined).result["replay"]
    assert (found["traces"], found["compared"], found["changed"]) == (4, 4, 4)
    assert (found["jaccard"], found["rbo"], found["newly_abstained"]) == (0.0, 0.0, 4)
    assert {one["trace"] for one in found["most_changed"]} == set(traces)
    same = run_check(world, add_version(world, {**GOOD, "rerank": 0.0})).result["replay"]
    each = [
        answer_overlap.answer_overlap(
            trace.id,
            *(
                answer_overlap.answer_ids(replay(trace, Config(SYSTEMS["blend"], params)).retrieval)
                for params in (GOOD, {**GOOD, "rerank": 0.0})
            ),
        )
        for trace in Trace.objects.within(world).select_related("namespace")
    ]
    assert same["jaccard"] == pytest.approx(np.mean([one.jaccard for one in each]))
    assert same["rbo"] == pytest.approx(np.mean([one.rbo for one in each]))


def test_queries_with_other_candidates_run_live_up_to_a_bound(
    world: Namespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gate, "MAX_LIVE_QUERIES", 2)
    for text, _ in JUDGED_QUERIES[:4]:
        retrieve_over_api(world, text)
    found = run_check(world, add_version(world, {}, system="recall")).result["replay"]
    assert (found["traces"], found["other_candidates"], found["live"], found["compared"]) == (4, 4, 2, 2)


def test_overlap_of_two_answers_ranges_from_one_to_zero() -> None:
    here = JudgedQuery().id
    assert answer_overlap.answer_overlap(here, ["a", "b"], ["a", "b"])[1:3] == (1.0, 1.0)
    assert answer_overlap.answer_overlap(here, [], [])[1:3] == (1.0, 1.0)
    assert answer_overlap.answer_overlap(here, ["a"], []).jaccard == 0.0
    assert answer_overlap.answer_overlap(here, ["a", "b"], ["b", "c"]).jaccard == pytest.approx(1 / 3)


def test_rolling_back_serves_what_served_before_and_leaves_the_write_policy(world: Namespace) -> None:
    with pytest.raises(RefusedError, match="nothing to roll back to"):
        profile_publication.roll_back_version(world, by="tests")
    first, second = add_version(world, GOOD), add_version(world, ABSTAINING)
    force_publish(world, first)
    force_publish(world, second)
    policy = policy_versions.add_policy_version(world, name="ours", params={}, note="", by="tests")
    policy_versions.publish_policy(world, policy.id, note="", by="tests")
    back = profile_publication.roll_back_version(world, by="tests")
    assert (back.profile_version_id, back.policy_version_id) == (first.id, policy.id)
    assert back.note == "Rolled back."
    assert not retrieve_over_api(world, "backup")["abstained"]


def test_rolling_back_the_first_publication_serves_what_ships(world: Namespace) -> None:
    force_publish(world, add_version(world, ABSTAINING))
    assert profile_publication.roll_back_version(world, by="tests").profile_version_id is None
    assert resolve_config(world, params={}).version_id is None


def test_who_saw_another_state_is_told_so_instead_of_publishing(world: Namespace) -> None:
    first, second = add_version(world, GOOD), add_version(world, ABSTAINING)
    seen = force_publish(world, first)
    force_publish(world, second)
    with pytest.raises(RefusedError, match="Something else was published by tests at") as refused:
        profile_publication.publish_profile(world, first, override="mine", expected=seen.id, by="tests")
    assert refused.value.code == "overtaken"
    with pytest.raises(RefusedError, match="Something else was published"):
        profile_publication.roll_back_version(world, expected=None, by="tests")


@pytest.mark.django_db(transaction=True)
def test_of_two_who_publish_at_once_one_wins_and_the_other_is_told() -> None:
    namespace = store_world("twice")
    versions = [add_version(namespace, GOOD), add_version(namespace, ABSTAINING)]

    def publish(version: ProfileVersion) -> str:
        try:
            profile_publication.publish_profile(
                namespace, version, override="mine", expected=None, by=f"user {version.number}"
            )
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
from memories.retrieval.config import resolve_config
namespace = Namespace.objects.get(slug="twice")
for line in sys.stdin:
    print(resolve_config(namespace, params={}).version, flush=True)
"""


@pytest.mark.django_db(transaction=True)
def test_what_is_published_and_rolled_back_serves_in_another_process_at_once() -> None:
    namespace = store_world("twice")
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
        for version in (add_version(namespace, GOOD), add_version(namespace, ABSTAINING)):
            force_publish(namespace, version)
            assert serving() == str(version.number)
        profile_publication.roll_back_version(namespace, by="tests")
        assert serving() == "1"
        other.stdin.close()
    connection.close()


def test_a_shadow_answers_a_share_of_the_queries_and_callers_do_not_see_it(
    world: Namespace, judgement_set: JudgementSet
) -> None:
    force_publish(world, add_version(world, GOOD))
    retrieve_over_api(world, "before the shadow")
    ruined = add_version(world, ABSTAINING)
    cast = shadow.create_shadow(world, ruined, 100, by="tests")
    assert start_shadow_comparisons() == []
    texts = [text for text, _ in JUDGED_QUERIES[:3]]
    answers = [retrieve_over_api(world, text, record=False) for text in texts]
    accesses = DailyAccess.objects.within(world).count()
    [job] = start_shadow_comparisons()
    run_job(world.id, job.id)
    job.refresh_from_db()
    assert (job.state, job.error, job.result["compare"]["compared"]) == (JobState.DONE, "", 3)
    twins = list(Trace.objects.within(world).filter(shadow=True).order_by("id"))
    assert [(one.query, one.abstained, one.profile_version_id) for one in twins] == [
        (text, True, ruined.id) for text in texts
    ]
    assert DailyAccess.objects.within(world).count() == accesses
    listed = Client().get(f"/api/v1/{world.slug}/traces/", headers=key_to(world)).json()["results"]
    assert {one["id"] for one in listed}.isdisjoint(str(one.id) for one in twins)
    told = shadow.shadow_report(cast)
    assert (told["compared"], told["changed"], told["newly_abstained"], told["rbo"]) == (3, 3, 3, 0.0)
    assert (told["judged"], told["won"], told["lost"], told["live"]) == (3, 0, 3, 0)
    assert {one["trace"] for one in told["most_changed"]} == {one["trace"] for one in answers}
    assert start_shadow_comparisons() == []
    assert shadow.delete_shadow(world)
    assert not shadow.delete_shadow(world)


def test_a_shadow_of_another_system_runs_live(world: Namespace) -> None:
    cast = shadow.create_shadow(world, add_version(world, {}, system="recall"), 100, by="tests")
    retrieve_over_api(world, "Which database keeps the invoices?")
    job = tuning_jobs.submit_shadow_job(world, by="tests")
    run_job(world.id, job.id)
    twin = Trace.objects.within(world).get(shadow=True)
    live = retrieve(traced_sets.evaluation_query(world, JudgedQuery(text=twin.query), Config(SYSTEMS["recall"])))
    assert [one["id"] for one in twin.answer["results"]] == answer_overlap.answer_ids(live)
    told = shadow.shadow_report(cast)
    assert (told["compared"], told["live"], told["judged"]) == (1, 1, 0)
    assert told["took_ms"][1] > 0
    again = replay(twin, Config(SYSTEMS["recall"]))
    assert not again.rerun_because
    assert answer_overlap.answer_ids(again.retrieval) == answer_overlap.answer_ids(live)


def test_the_share_that_a_shadow_answers_is_about_what_was_declared() -> None:
    ids = [uuid7() for _ in range(4000)]
    assert sum(shadow.is_sampled(id, 25) for id in ids) == pytest.approx(1000, abs=150)
    assert all(shadow.is_sampled(id, 100) for id in ids)


def test_a_judged_query_tells_how_good_an_answer_is(world: Namespace, judgement_set: JudgementSet) -> None:
    trace = Trace(query="backup", request={"user": None, "as_of": None})
    known = shadow.grades_by_query(world, [trace])["backup", "", None]
    assert list(known.values()) == [3]
    [best] = known
    assert shadow.answer_ndcg([str(best)], known) == 1.0
    assert shadow.answer_ndcg([], known) == 0.0
