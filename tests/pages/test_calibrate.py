"""Calibration from annotations: agreement, weights, priors, thresholds, on the page and over the API."""

import hashlib
import json
import math
import re
from typing import Any
from uuid import UUID, uuid4

import numpy as np
import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.http import HttpResponse
from django.test import Client
from playwright.sync_api import Page, expect
from pytest_django import DjangoAssertNumQueries
from scipy.optimize import minimize

from memories.contracts.new_memory import NewMemory
from memories.contracts.number_format import format_number
from memories.models import (
    Annotation,
    Job,
    Membership,
    Memory,
    Namespace,
    NamespaceStatistics,
    ProfileVersion,
    ReviewItem,
)
from memories.models import WritePolicyVersion as Version
from memories.models.choices import MemoryType, Role, Status
from memories.retrieval.config import resolve_config
from memories.tuning.annotation_records import NewAnnotation, annotate, next_memory_to_annotate
from memories.tuning.array_cache import cached_arrays
from memories.tuning.calibration import findings
from memories.tuning.calibration.results import Calibration, calibrate
from memories.tuning.measurement import MAIN_METRIC, METRIC_NAMES
from memories.tuning.policy_versions import add_policy_version, publish_policy
from memories.tuning.profile_versions import add_profile_version
from memories.tuning.rrf_sweep import sweep_rrf_k
from memories.tuning.versions import save_publication
from memories.writing.feedback import forget_memory
from memories.writing.remember import remember
from memories.writing.write_policy import current_write_policy
from scoring.policy import WritePolicyParams
from tests.support.access import key_to
from tests.support.judged_world import make_judgement_set, trace_set
from tests.support.problems import problem
from tests.support.retrieval_world import store_world
from tests.support.rows import row

pytestmark = pytest.mark.django_db

PLANTED = np.array([0.30, 0.10, 0.45, 0.15])  # weights that annotators go by
TYPES = list(MemoryType.values)
Words = dict[str, tuple[str, bool, float]]


def memories(namespace: Namespace, count: int) -> list[Memory]:
    """Memories of all types, whose signals differ."""
    random = np.random.default_rng(5)
    found = []
    for place in range(count):
        source, extractor = random.choice([0.3, 0.5, 0.7, 0.95]), random.uniform(0.5, 1.0)
        signals = {"source_strength": source, "extractor_confidence": extractor, "repetitions": int(random.integers(4))}
        type = TYPES[place % len(TYPES)]
        prior = getattr(WritePolicyParams(), f"prior_{type.lower()}")
        found.append(row(Memory, namespace, content=f"memory {place}", type=type, type_prior=prior, **signals))
    return found


def signals_of(memory: Memory) -> np.ndarray[Any, Any]:
    """The four signals, the repetition by its own formula."""
    repeated = 1 - 1 / (1 + math.log(1 + memory.repetitions))
    return np.array([memory.source_strength, repeated, memory.extractor_confidence, memory.type_prior])


def say(namespace: Namespace, memory: Memory, words: Words) -> None:
    """Let annotators speak of a memory."""
    annotate(namespace, [NewAnnotation(memory.id, name, *word) for name, word in words.items()])


@pytest.fixture
def namespace(client: Client) -> Namespace:
    """A namespace with an admin signed in."""
    namespace = Namespace.objects.create(slug="here", title="Here")
    NamespaceStatistics.objects.create(namespace=namespace)
    member(client, namespace, Role.ADMIN)
    return namespace


@pytest.fixture
def calibration(namespace: Namespace) -> Calibration:
    """Sixty memories, rated by planted weights; every seventh type in dispute."""
    dispute(namespace, every=12)
    return calibrate(namespace)


def dispute(namespace: Namespace, *, every: int) -> None:
    """Annotate sixty memories, two annotators apart on the type of some."""
    for place, memory in enumerate(memories(namespace, 60)):
        rated = round(float(signals_of(memory) @ PLANTED), 4)
        other = TYPES[(place + 1) % len(TYPES)] if place % every == 0 else memory.type
        say(namespace, memory, {"ada": (memory.type, rated > 0.5, rated), "bob": (other, rated > 0.5, rated)})


def member(client: Client, namespace: Namespace, role: Role) -> User:
    """Sign a member in."""
    user = User.objects.create_user(f"ada who may {role}", password="a long password")
    Membership.objects.create(namespace=namespace, user=user, role=role)
    client.force_login(user)
    return user


def get_page(client: Client, **asked: str) -> str:
    """The page at an address, in one line."""
    response = client.get("/here/calibrate/", asked)
    assert response.status_code == 200
    return collapse(response)


def collapse(response: Any) -> str:
    """What a page says, its white space folded."""
    assert isinstance(response, HttpResponse)
    return " ".join(response.content.decode().split())


def heading(page: str, id: str) -> str:
    """What a panel's head says."""
    (told,) = re.findall(rf'<h2 id="{id}"[^>]*>(.*?)</h2>', page)
    return str(told)


def kappa(one: list[Any], other: list[Any]) -> float:
    """Cohen's κ from the table of counts, written anew."""
    labels = sorted({*one, *other})
    pairs = list(zip(one, other, strict=True))
    shares = np.array([[pairs.count((x, y)) for y in labels] for x in labels]) / len(pairs)
    chance = float(shares.sum(axis=0) @ shares.sum(axis=1))
    return (float(np.trace(shares)) - chance) / (1 - chance)


def words_of(namespace: Namespace, annotator: str) -> list[str]:
    """The types that an annotator gave, memory by memory."""
    said = Annotation.objects.within(namespace).filter(annotator=annotator)
    return list(said.order_by("memory_id").values_list("type", flat=True))


def test_agreement_is_that_of_the_table_of_counts(namespace: Namespace, calibration: Calibration) -> None:
    ada, bob = words_of(namespace, "ada"), words_of(namespace, "bob")
    assert calibration.kappa is not None
    assert calibration.kappa.value == pytest.approx(kappa(ada, bob))
    assert calibration.kappa.low < calibration.kappa.value < calibration.kappa.high <= 1
    for one in calibration.types:
        assert one.kappa is not None
        expected = kappa([type == one.type for type in ada], [type == one.type for type in bob])
        assert one.kappa.value == pytest.approx(expected)


@pytest.mark.parametrize(("every", "valid"), [(12, True), (3, False)])
def test_a_calibration_is_valid_above_the_gate_alone(
    namespace: Namespace, every: int, valid: bool, client: Client
) -> None:
    dispute(namespace, every=every)
    found = calibrate(namespace)
    assert found.kappa is not None
    assert (found.kappa.value > 0.75) == found.valid == valid
    assert ("weights" in findings.proposed_changes(found)) == ("priors" in findings.proposed_changes(found)) == valid
    told = heading(get_page(client), "gate-h")
    assert told.startswith("Annotators agree: κ" if valid else "Annotators do not agree: κ")
    if not valid:
        assert findings.calibration_findings(found)[0].what == "make the guidelines clearer, and annotate again"


def test_a_preference_that_is_unclear_comes_before_everything_else(namespace: Namespace) -> None:
    for place, memory in enumerate(memories(namespace, 60)):
        doubted = memory.type == "Preference" and place % 2
        say(
            namespace, memory, {"ada": (memory.type, True, 0.8), "bob": ("Fact" if doubted else memory.type, True, 0.8)}
        )
    found = calibrate(namespace)
    assert found.preference.kappa is not None
    assert found.preference.kappa.value < 0.70
    first = findings.calibration_findings(found)[0]
    assert first.what == "recalibrate the Preference prior first"
    assert first.change == {"prior_preference": found.preference.fitted}


def test_a_type_that_fails_the_gate_gives_no_prior_and_it_is_said_why(client: Client, namespace: Namespace) -> None:
    for place, memory in enumerate(memories(namespace, 60)):
        doubted = memory.type == "Relation" and place % 2
        say(
            namespace, memory, {"ada": (memory.type, True, 0.8), "bob": ("Fact" if doubted else memory.type, True, 0.8)}
        )
    found = calibrate(namespace)
    assert found.valid
    failing = {one.type for one in found.types if not one.valid}
    assert "Relation" in failing
    offered = findings.proposed_changes(found)["priors"]
    assert offered.keys() == {one.param for one in found.types if one.valid and one.fitted != one.prior}
    told = {one.what: one.because for one in findings.calibration_findings(found)}
    assert "is not above .75, so its prior stays" in told["make clearer what is a Relation"]
    assert "Make clearer what is a Relation" in get_page(client)


def test_annotators_who_never_use_a_type_do_not_raise_its_kappa(client: Client, namespace: Namespace) -> None:
    for place, memory in enumerate(memories(namespace, 60)):
        other = memory.type if place % 3 else "Event"
        plain = "Fact" if memory.type == "Preference" else memory.type
        say(namespace, memory, {"ada": (plain, True, 0.8), "bob": (plain, True, 0.8), "cleo": (other, True, 0.8)})
    found = calibrate(namespace)
    ada, cleo = ([type == "Preference" for type in words_of(namespace, name)] for name in ("ada", "cleo"))
    told = found.preference.kappa
    assert told is not None
    assert told.value == pytest.approx(kappa(ada, cleo))
    assert (told.pairs, told.undefined) == (3, 1)
    assert "1 of 3 pairs left out" in get_page(client)


def test_one_answer_throughout_is_no_agreement(client: Client, namespace: Namespace) -> None:
    for memory in memories(namespace, 40):
        say(namespace, memory, {"ada": ("Fact", True, 0.8), "bob": ("Fact", True, 0.8)})
    found = calibrate(namespace)
    assert (found.kappa, found.valid, {one.kappa for one in found.types}) == (None, False, {None})
    assert "so κ is undefined" in heading(get_page(client), "gate-h")


def test_a_threshold_is_weighed_only_where_pairs_on_both_sides_were_judged(
    client: Client, namespace: Namespace
) -> None:
    for place in range(20):  # as the queue has them: between the thresholds alone
        state = "duplicate" if place % 2 else "distinct"
        row(ReviewItem, namespace, cosine=0.851 + place / 300, state=state, decided_at=namespace.created_at)
    found = calibrate(namespace)
    assert found.best is None
    assert "threshold" not in findings.proposed_changes(found)
    assert findings.calibration_findings(found)[-1].what == "judge pairs on both sides of .92"
    assert heading(get_page(client), "errors-h").startswith("Too few judged pairs")
    for place in range(8):
        row(ReviewItem, namespace, cosine=0.93 + place / 200, state="duplicate", decided_at=namespace.created_at)
    assert calibrate(namespace).best is not None


def test_k_is_swept_where_the_queries_ran_and_its_best_is_saved_as_a_profile(client: Client) -> None:
    here = store_world("here")
    member(client, here, Role.WRITE)
    assert "needs judged queries" in heading(get_page(client), "k-h")
    questions = make_judgement_set(here)
    assert "is not swept yet" in heading(get_page(client), "k-h")
    start = resolve_config(here, system="recall", params={})
    whole = cached_arrays(trace_set(here, questions, start))
    found = sweep_rrf_k(whole, start)
    page = get_page(client)
    for one in found.points:
        assert f"{format_number(one.metric.low, 3)} to {format_number(one.metric.high, 3)}" in page
    client.post("/here/calibrate/k/", {"name": "smooth"})
    kept = list(ProfileVersion.objects.within(here).values_list("system", "params"))
    assert kept == ([("recall", {"rrf_k": found.best.k})] if found.improves else [])
    version = add_profile_version(
        here, name="flat", system="recall", params={"rrf_k": 200.0}, parent=None, note="", by=""
    )
    save_publication(here, None, note="", by="tests", profile_version_id=version.id)
    found = sweep_rrf_k(whole, resolve_config(here, params={}))
    assert found.current_point.k == 200.0
    assert f"{METRIC_NAMES[MAIN_METRIC]} of flat@1" in get_page(client)
    client.post("/here/calibrate/k/", {"name": "flat"})
    assert ProfileVersion.objects.within(here).filter(number=2).exists() == found.improves


def test_a_prior_follows_from_how_often_annotators_agree_with_what_was_stored(calibration: Calibration) -> None:
    for one in calibration.types:
        share = one.agreed / one.stored
        assert one.fitted == pytest.approx(0.70 + 0.20 / (1 + math.exp(-20 * (share - 0.835))), abs=5e-5)
    assert {one.stored for one in calibration.types} == {12}
    assert sum(one.agreed for one in calibration.types) == 55


def test_weights_come_near_those_that_annotators_go_by(namespace: Namespace, calibration: Calibration) -> None:
    fit = calibration.weights
    assert fit is not None
    assert sum(fit.fitted.values()) == pytest.approx(1.0, abs=2e-4)
    assert fit.error.after < fit.error.before / 10
    assert fit.held_out_error.after < fit.held_out_error.before / 10
    assert fit.memories + fit.held_out == 60
    learnt = [one for one in Memory.objects.within(namespace) if not held_out(one.id)]
    assert len(learnt) == fit.memories
    matrix = np.array([signals_of(one) for one in learnt])
    wanted = np.array([round(float(signals @ PLANTED), 4) for signals in matrix])

    def error(weights: Any) -> float:
        return float(np.mean((matrix @ weights - wanted) ** 2))

    whole = {"type": "eq", "fun": lambda weights: weights.sum() - 1}
    found = minimize(error, np.full(4, 0.25), bounds=[(1e-6, 1)] * 4, constraints=whole)
    assert error(np.array(list(fit.fitted.values()))) == pytest.approx(error(found.x), abs=1e-4)
    served = np.array([0.45, 0.20, 0.25, 0.10])
    assert fit.error.before == pytest.approx(error(served))


def held_out(id: UUID) -> bool:
    """Whether a memory is held out: by its id alone."""
    return hashlib.sha256(id.bytes).digest()[0] % 2 == 1


def test_reliability_is_computed_on_what_was_held_out(namespace: Namespace, calibration: Calibration) -> None:
    kept = [one for one in Memory.objects.within(namespace) if held_out(one.id)]
    check = calibration.reliability
    assert (check.memories, check.held_out) == (len(kept), True)
    trusted = np.array([float(signals_of(one) @ np.array([0.45, 0.20, 0.25, 0.10])) for one in kept])
    right = np.array([round(float(signals_of(one) @ PLANTED), 4) > 0.5 for one in kept], dtype=float)
    gaps = []
    for low in np.arange(10) / 10:
        mine = (trusted >= low) & (trusted < low + 0.1)
        gaps.append(abs(trusted[mine].sum() - right[mine].sum()))
    assert check.error is not None
    assert check.error.before == pytest.approx(sum(gaps) / len(kept))
    assert sum(one.memories for one in check.before) == len(kept)


def test_with_served_weights_the_formula_gives_what_is_stored(namespace: Namespace) -> None:
    said = {"direct": "Maya keeps bees", "speculation": "Maya might sail", "weak_inference": "Maya may like tea"}
    for level, content in said.items():
        said_so = NewMemory(content=content, type="Fact", model="claude-haiku", session=level)
        remember(namespace, [said_so], by="test")
    for memory in Memory.objects.within(namespace):
        say(namespace, memory, {"ada": ("Fact", True, 0.9)})
    ground = calibrate(namespace).annotated
    served = {"weight_source": 0.45, "weight_repetition": 0.2, "weight_extractor": 0.25, "weight_prior": 0.1}
    stored = [Memory.objects.within(namespace).get(id=one.id).confidence for one in ground.memories]
    assert ground.predicted_confidence(served, WritePolicyParams()) == pytest.approx(np.array(stored))


def test_one_annotator_alone_tells_of_confidence_but_not_of_agreement(client: Client, namespace: Namespace) -> None:
    for memory in memories(namespace, 40):
        say(namespace, memory, {"ada": (memory.type, True, 0.9)})
    found = calibrate(namespace)
    assert found.kappa is None
    assert not found.valid
    assert found.weights is not None
    assert found.reliability.error is not None
    assert "weights" not in findings.proposed_changes(found)
    page = get_page(client)
    assert heading(page, "gate-h") == "30 more memories need two annotators"
    assert "40 memories annotated by ada, 0 of them by two or more." in page


def test_too_few_annotations_say_how_many_are_needed(client: Client, namespace: Namespace) -> None:
    assert heading(get_page(client), "gate-h") == "30 more memories need two annotators"
    assert "Nobody has annotated a memory here yet." in get_page(client)
    for memory in memories(namespace, 29):
        say(namespace, memory, {"ada": (memory.type, True, 0.9), "bob": (memory.type, True, 0.8)})
    page = get_page(client)
    assert heading(page, "gate-h") == "1 more memory needs two annotators"
    assert heading(page, "weights-h") == "Too few annotations to fit weights"
    assert "29 of 30 memories are annotated by two" in page


def test_three_annotators_agree_as_their_pairs_do_on_average(namespace: Namespace) -> None:
    for place, memory in enumerate(memories(namespace, 60)):
        other = "Fact" if place % 4 == 0 else memory.type
        words: Words = {"ada": (memory.type, True, 0.9), "bob": (memory.type, True, 0.9)}
        say(namespace, memory, {**words, **({"cyd": (other, True, 0.9)} if place < 30 else {})})
    found = calibrate(namespace)
    ada, cyd = words_of(namespace, "ada"), words_of(namespace, "cyd")
    assert found.kappa is not None
    assert found.kappa.value == pytest.approx((60 * 1.0 + 30 * kappa(ada[:30], cyd) + 30 * kappa(ada[:30], cyd)) / 120)


def test_a_threshold_costs_what_false_merges_are_worth(client: Client, namespace: Namespace) -> None:
    for place in range(20):
        row(ReviewItem, namespace, cosine=0.875 + place / 250, state="duplicate", decided_at=namespace.created_at)
        row(ReviewItem, namespace, cosine=0.84 + place / 250, state="distinct", decided_at=namespace.created_at)
    costs = {}
    for cost in (1.0, 10.0):
        found = calibrate(namespace, merge_cost=cost)
        assert found.best is not None
        costs[cost] = found.best.threshold
        for one in found.table:
            assert one.errors.cost == pytest.approx(cost * one.errors.false_positives + one.errors.false_negatives)
    assert costs == {1.0: 0.9, 10.0: 0.92}  # .88 and .9 err as often, and .9 merges less
    page = get_page(client, **{"p.merge_cost": "1"})
    assert heading(page, "errors-h") == "Merging above .90 would cost least"
    assert "A false merge costs as much as 1 missed duplicate:" in page
    assert heading(get_page(client, **{"p.merge_cost": "1", "p.other": "1"}), "errors-h") == heading(page, "errors-h")
    assert (
        heading(get_page(client, **{"p.merge_cost": "10"}), "errors-h")
        == "Merging above .92 costs least, which is the current value"
    )


def test_where_everything_is_direct_the_source_weighs_less(namespace: Namespace) -> None:
    for _ in range(10):
        row(Memory, namespace, source_strength=0.95)
    found = calibrate(namespace)
    assert found.direct_share == 1.0
    assert findings.proposed_changes(found)["formal"] == {"weight_source": 0.35, "weight_extractor": 0.30}
    row(Memory, namespace, source_strength=0.3)
    row(Memory, namespace, source_strength=0.3)
    assert "formal" not in findings.proposed_changes(calibrate(namespace))


def test_the_page_and_the_api_tell_the_same(client: Client, namespace: Namespace, calibration: Calibration) -> None:
    told = client.get("/api/v1/here/calibration/", headers=key_to(namespace, Role.READ)).json()
    assert calibration.kappa is not None
    assert told["kappa"]["value"] == calibration.kappa.value
    assert (told["memories"], told["shared"], told["valid"]) == (60, 60, True)
    assert told["weights"]["fitted"] == calibration.weights.fitted if calibration.weights else None
    assert [one["type"] for one in told["types"]] == TYPES
    assert told["offers"] == findings.proposed_changes(calibration)
    page = get_page(client)
    for one in told["types"]:
        assert f"{one['kappa']['value']:.2f}".lstrip("0") in page
    for one in told["findings"]:
        assert one["because"] in page.replace("&gt;", ">").replace("&lt;", "<")
    assert f"{told['weights']['held_out_error']['after']:.4f}".lstrip("0") in page
    wrong = client.get("/api/v1/here/calibration/?merge_cost=0", headers=key_to(namespace))
    assert problem(wrong, 400)["errors"] == [{"at": "merge_cost", "message": "must be at least 1; got 0.0"}]


def test_each_domain_has_its_own_agreement_and_weights_or_says_what_it_lacks(
    client: Client, namespace: Namespace
) -> None:
    repeating, rephrasing = np.array([0.2, 0.5, 0.2, 0.1]), np.array([0.6, 0.02, 0.28, 0.1])
    annotations = []
    for place, memory in enumerate(memories(namespace, 110)):
        domain = "software development" if place < 60 else "legal research" if place < 100 else "education"
        weights = repeating if place < 60 else rephrasing
        rated = round(float(signals_of(memory) @ weights), 4)
        other = TYPES[(place + 1) % len(TYPES)] if place < 60 and place % 2 else memory.type
        for name, type in (("ada", memory.type), ("bob", other)):
            one = {"memory": str(memory.id), "annotator": name, "type": type, "right": True, "confidence": rated}
            annotations.append({**one, "domain": f" {domain.title()} "})
    headers = key_to(namespace, Role.WRITE)
    body = {"annotations": annotations}
    assert client.post("/api/v1/here/annotations/", body, "application/json", headers=headers).status_code == 200
    told = client.get("/api/v1/here/calibration/", headers=headers).json()
    software, legal, education = told["domains"]
    assert [one["domain"] for one in told["domains"]] == ["software development", "legal research", "education"]
    assert [(one["memories"], one["shared"]) for one in told["domains"]] == [(60, 60), (40, 40), (10, 10)]
    labels = {name: [one["type"] for one in annotations[:120] if one["annotator"] == name] for name in ("ada", "bob")}
    assert software["kappa"]["value"] == pytest.approx(kappa(labels["ada"], labels["bob"]))
    assert legal["kappa"]["value"] == pytest.approx(1.0)
    assert told["kappa"]["value"] == pytest.approx((110 - 30) / 110, abs=0.1)
    assert software["weights"]["fitted"]["weight_repetition"] > told["weights"]["fitted"]["weight_repetition"]
    assert legal["weights"]["fitted"]["weight_repetition"] < told["weights"]["fitted"]["weight_repetition"]
    assert software["weights"]["fitted"]["weight_repetition"] == pytest.approx(0.5, abs=0.05)
    assert (education["kappa"], education["weights"]) == (None, None)
    lacks = "too small: needs 20 more with two annotators for κ and 20 more annotated for weights"
    assert [one["too_small"] for one in told["domains"]] == ["", "", lacks]
    page = get_page(client)
    assert heading(page, "domains-h") == "3 domains, 2 with enough annotations"
    assert f'education <small class="muted">{lacks}</small>' in page
    assert f"{software['weights']['fitted']['weight_repetition']:.4f}".lstrip("0") in page
    (one,) = client.get("/api/v1/here/annotations/?domain=education&limit=1", headers=headers).json()["results"]
    assert one["domain"] == "education"


def test_annotations_come_and_go_over_the_api(client: Client, namespace: Namespace) -> None:
    headers = key_to(namespace, Role.WRITE)
    (memory,) = (one.memory for one in remember(namespace, [NewMemory(content="Maya keeps bees")], by="test"))
    one = {"memory": str(memory.id), "annotator": "ada", "type": "Fact", "right": True, "confidence": 0.9}

    def post(*some: Any) -> Any:
        return client.post("/api/v1/here/annotations/", {"annotations": some}, "application/json", headers=headers)

    assert post(one, one | {"annotator": "bob"}).json() == {"added": 2, "replaced": 0}
    assert post(one | {"type": "Event"}).json() == {"added": 0, "replaced": 1}
    (told,) = client.get("/api/v1/here/annotations/?annotator=ada", headers=headers).json()["results"]
    assert (told["memory"], told["type"], told["confidence"]) == (str(memory.id), "Event", 0.9)
    nowhere = uuid4()
    wrong = problem(post(one, one | {"memory": str(nowhere)}), 400)["errors"]
    assert wrong == [{"at": "annotations.1.memory", "message": f"must be a memory of this namespace; got {nowhere}"}]
    wrong = problem(post(one | {"confidence": 1.5, "type": "Guess"}), 400)["errors"]
    assert {each["at"] for each in wrong} == {"annotations.0.confidence", "annotations.0.type"}
    assert problem(post(), 400)["errors"][0]["at"] == "annotations"
    forget_memory(namespace, memory.id, by="test")
    assert client.get("/api/v1/here/annotations/", headers=headers).json()["results"] == []
    assert calibrate(namespace).annotated.memories == []


def test_an_annotation_of_a_foreign_memory_is_refused(client: Client, namespace: Namespace) -> None:
    foreign = row(Memory, Namespace.objects.create(slug="there", title="There"))
    one = {"memory": str(foreign.id), "annotator": "a", "type": "Fact", "right": True, "confidence": 1}
    body = {"annotations": [one]}
    answer = client.post("/api/v1/here/annotations/", body, "application/json", headers=key_to(namespace))
    assert problem(answer, 400)["errors"][0]["at"] == "annotations.0.memory"
    assert client.get("/there/calibrate/").status_code == 404
    assert not Annotation.objects.exists()


def test_what_another_annotated_comes_first_and_then_the_type_with_least(namespace: Namespace) -> None:
    some = memories(namespace, 20)
    say(namespace, some[7], {"bob": ("Fact", True, 0.9)})
    say(namespace, some[0], {"ada": (some[0].type, True, 0.9)})
    assert next_memory_to_annotate(namespace, "ada", []) == some[7]
    after = next_memory_to_annotate(namespace, "ada", [some[7].id])
    assert after is not None
    assert after.type != some[0].type
    assert after == next_memory_to_annotate(namespace, "ada", [some[7].id])
    assert next_memory_to_annotate(namespace, "ada", [one.id for one in some]) is None
    Memory.objects.within(namespace).filter(id=some[7].id).update(status=Status.ARCHIVED)
    assert next_memory_to_annotate(namespace, "ada", []) != some[7]


def test_a_word_is_kept_from_the_page_and_a_wrong_one_stays_as_typed(client: Client, namespace: Namespace) -> None:
    memory = row(Memory, namespace, content="Maya keeps bees")
    page = get_page(client)
    assert "Maya keeps bees" in page
    assert '<option value="healthcare coordination">' in page
    sent = {"memory": str(memory.id), "type": "Fact", "right": "yes", "confidence": "0.85", "domain": "Tax  Law"}
    wrong = client.post("/here/calibrate/annotations/", {**sent, "right": "", "confidence": "often"})
    assert wrong.status_code == 400
    told = collapse(wrong)
    assert "<b>right</b> is required" in told
    assert "<b>confidence</b> must be a finite number; got &quot;often&quot;" in told
    assert 'value="Fact" data-key="3" checked' in told
    assert 'value="Tax  Law"' in wrong.content.decode()
    assert not Annotation.objects.exists()
    assert client.post("/here/calibrate/annotations/", sent).status_code == 302
    kept = Annotation.objects.within(namespace).get()
    assert (kept.annotator, kept.type, kept.right, kept.confidence) == ("ada who may admin", "Fact", True, 0.85)
    assert kept.domain == "tax law"
    row(Memory, namespace, content="Maya paints")
    assert 'name="domain" list="domains" maxlength="50" value="tax law"' in get_page(client)
    Memory.objects.filter(content="Maya paints").delete()
    assert heading(get_page(client), "annotate-h") == "Nothing left to annotate"


def test_annotations_come_from_a_file_all_or_none(client: Client, namespace: Namespace) -> None:
    some = memories(namespace, 3)
    words = {"annotator": "bob", "type": "Fact", "right": True, "confidence": 0.5}
    lines = [{"memory": str(one.id), **words, "domain": "education"} for one in some]

    def send(*told: Any) -> str:
        text = "\n".join(one if isinstance(one, str) else json.dumps(one) for one in told)
        file = SimpleUploadedFile("words.jsonl", text.encode())
        return collapse(client.post("/here/calibrate/import/", {"file": file}, follow=True))

    assert "Nothing was saved: line 2 body must be JSON" in send(lines[0], "{")
    assert "Nothing was saved: line 1 type must be one of" in send(lines[0] | {"type": "Guess"})
    assert "Nothing was saved: There is no memory" in send(lines[0] | {"memory": str(uuid4())})
    assert not Annotation.objects.exists()
    assert "Annotations added: 3; replaced: 0." in send(*lines)
    assert "Annotations added: 0; replaced: 3." in send(*lines)
    assert calibrate(namespace).domains[0].memories == 3
    assert "choose a file" in collapse(client.post("/here/calibrate/import/", follow=True))


def test_what_was_fitted_is_kept_as_a_draft_and_published_in_a_second_step(
    client: Client, namespace: Namespace, calibration: Calibration
) -> None:
    response = client.post("/here/calibrate/drafts/", {"part": ["weights", "priors"]})
    version = Version.objects.within(namespace).get()
    assert response["Location"] == f"/here/calibrate/?draft={version.id}#draft"
    assert calibration.weights is not None
    assert version.params["weight_source"] == calibration.weights.fitted["weight_source"]
    assert version.params["prior_entity"] == calibration.types[0].fitted
    assert current_write_policy(namespace) == WritePolicyParams()
    assert "Version 1 of default is a draft" in get_page(client, draft=str(version.id))
    told = collapse(client.get(f"/here/calibrate/?draft={version.id}&preview", headers={"HX-Request": "true"}))
    assert "<b>60</b> of 60 memories" in told
    done = collapse(client.post(f"/here/calibrate/drafts/{version.id}/publish/", {"recompute": "on"}, follow=True))
    assert "Version 1 of default is now in force. Stored memories are recomputed by a job" in done
    assert current_write_policy(namespace).weight_source == calibration.weights.fitted["weight_source"]
    assert Job.objects.within(namespace).get().kind == "recompute"


def test_the_preset_of_a_domain_is_kept_as_a_draft_over_the_policy_in_force(
    client: Client, namespace: Namespace
) -> None:
    own = add_policy_version(namespace, name="own", params={"kappa_gate": 0.8}, note="", by="tests")
    publish_policy(namespace, own.id, note="", by="tests")
    assert "weight repetition .2 → .24" in get_page(client)
    response = client.post("/here/calibrate/preset/", {"preset": "software"})
    version = Version.objects.within(namespace).get(number=2)
    assert response["Location"] == f"/here/calibrate/?draft={version.id}#draft"
    assert version.params == WritePolicyParams(kappa_gate=0.8, weight_repetition=0.24).as_dict()
    assert (version.policy.name, version.note) == ("own", "Preset software.")
    refused = collapse(client.post("/here/calibrate/preset/", {"preset": "medical"}, follow=True))
    assert "Nothing was saved: preset must be one of software, legal, formal; got medical." in refused


@pytest.mark.parametrize(
    ("sent", "told"),
    [
        ({}, "choose what to save"),
        ({"part": "formal"}, "formal is not proposed now"),
        ({"part": "weights", "p.merge_cost": "99"}, "merge_cost must be"),
    ],
)
def test_what_cannot_be_kept_is_reported(
    client: Client, namespace: Namespace, calibration: Calibration, sent: dict[str, str], told: str
) -> None:
    assert f"Nothing was saved: {told}" in collapse(client.post("/here/calibrate/drafts/", sent, follow=True))
    assert not Version.objects.exists()


def test_a_reader_reads_and_a_writer_annotates_but_keeps_no_draft(client: Client, namespace: Namespace) -> None:
    memory = row(Memory, namespace)
    sent = {"memory": str(memory.id), "type": "Fact", "right": "yes", "confidence": "1"}
    version = row(Version, namespace)
    for role, may in {Role.READ: 403, Role.WRITE: 302}.items():
        member(client, namespace, role)
        assert client.get("/here/calibrate/").status_code == 200
        assert client.post("/here/calibrate/annotations/", sent).status_code == may
        assert client.post("/here/calibrate/import/").status_code == may
        assert client.post("/here/calibrate/drafts/", {"part": "weights"}).status_code == 403
        assert client.post(f"/here/calibrate/drafts/{version.id}/publish/").status_code == 403


@pytest.mark.parametrize("asked", [{"p.merge_cost": "much"}, {"p.merge_cost": "0"}, {"p.other": "1"}])
def test_a_cost_that_cannot_be_used_is_reported(client: Client, namespace: Namespace, asked: dict[str, str]) -> None:
    assert "Some values in the URL are invalid" in get_page(client, **asked)


def test_an_address_that_names_nothing_is_no_error(client: Client, namespace: Namespace) -> None:
    assert "Calibrate" in get_page(client, skip="x", draft="y", preview="")


def test_a_memory_cannot_write_markup_into_the_page(client: Client, namespace: Namespace) -> None:
    row(Memory, namespace, content="<script>x</script>")
    assert "<script>x" not in get_page(client)


def test_the_page_runs_few_sql_queries(
    client: Client,
    namespace: Namespace,
    calibration: Calibration,
    django_assert_max_num_queries: DjangoAssertNumQueries,
) -> None:
    client.get("/here/calibrate/")
    with django_assert_max_num_queries(22):
        client.get("/here/calibrate/")


@pytest.mark.django_db(transaction=True)
def test_words_given_by_keys_move_agreement_and_the_fit_is_kept(page: Page, client: Client) -> None:
    namespace = Namespace.objects.create(slug="here", title="Here")
    NamespaceStatistics.objects.create(namespace=namespace)
    user = member(client, namespace, Role.ADMIN)
    some = memories(namespace, 31)
    for memory in some:
        rated = round(float(signals_of(memory) @ PLANTED), 2)
        words: Words = {"bob": (memory.type, rated > 0.6, rated)}
        if memory not in some[-2:]:
            words[user.username] = (memory.type, rated > 0.6, rated)
        say(namespace, memory, words)
    page.goto("/sign-in/?next=/here/calibrate/")
    page.fill("input[name=username]", user.username)
    page.fill("input[name=password]", "a long password")
    page.press("input[name=password]", "Enter")
    expect(page.locator("#gate-h")).to_have_text("1 more memory needs two annotators")
    expect(page.locator(".chart .main-svg").first).to_be_visible(timeout=30_000)  # the scripts have come
    asked = page.locator(".statement").inner_text()
    page.keyboard.press("Enter")
    expect(page.locator("#annotate .problem")).to_contain_text("type is required")
    expect(page.locator(".statement")).to_have_text(asked)
    page.keyboard.press("s")
    expect(page.locator(".statement")).not_to_have_text(asked)
    second = page.locator(".statement").inner_text()
    page.keyboard.press("2")
    page.keyboard.press("y")
    page.keyboard.press("+")
    expect(page.locator("#annotate output")).to_have_text("0.55")
    page.keyboard.press("Enter")
    expect(page.locator("#gate-h")).to_contain_text("Annotators agree: κ")
    expect(page.locator("#annotate header p")).to_have_text("30 by you")
    kept = Annotation.objects.within(namespace).get(memory__content=second, annotator=user.username)
    assert (kept.type, kept.right, kept.confidence) == ("Event", True, 0.55)
    before = page.locator(".kappas tr", has_text="Entity").inner_text()
    page.goto("/here/calibrate/")
    expect(page.locator(".statement")).to_have_text(asked)
    wrong = next(one for one in some if one.content == asked)
    page.keyboard.press("1" if wrong.type != "Entity" else "4")
    page.keyboard.press("n")
    page.keyboard.press("Enter")
    expect(page.locator("#annotate-h")).to_have_text("Nothing left to annotate")
    assert page.locator(".kappas tr", has_text="Entity").inner_text() != before
    expect(page.locator(".chart .main-svg").first).to_be_visible(timeout=30_000)
    page.locator("#p-merge_cost").focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator("#shown")).to_contain_text("as much as 2.5 missed duplicates")
    page.wait_for_url("**/here/calibrate/?p.merge_cost=2.5")
    page.locator("#keep label", has_text="confidence weights").locator("input").check()
    page.locator("button", has_text="Save as a draft").click()
    expect(page.locator("#draft-h")).to_have_text("Version 1 of default is a draft")
    expect(page.locator("#change")).to_contain_text("of 31 memories")
    page.locator("button", has_text="Publish version 1").click()
    expect(page.locator(".notice")).to_contain_text("Version 1 of default is now in force")
