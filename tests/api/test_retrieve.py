"""Retrieval over REST: the response, recorded accesses and invalid requests."""

import json
import zlib
from collections.abc import Iterator
from functools import partial
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection
from django.test import Client

from memories.models import (
    ApiKey,
    DailyAccess,
    Memory,
    MemoryEdge,
    Namespace,
    Profile,
    ProfileVersion,
    Publication,
    Trace,
)
from memories.models.choices import Mode, Role
from scoring.policy import WritePolicyParams
from scoring.systems import SYSTEMS
from scoring.term import Tree
from tests.support.access import key_to
from tests.support.explanations import evaluate
from tests.support.problems import problem
from tests.support.retrieval_world import NOW, memory
from tests.support.rows import row

pytestmark = [pytest.mark.django_db, pytest.mark.xdist_group("retrieval")]
QUERY = "Which database does invoicing use?"


def post(world: Namespace, address: str, **body: Any) -> Any:
    """POST to an endpoint of the world with a read key."""
    headers = key_to(world, "read")  # type: ignore[arg-type]
    return Client().post(f"/api/v1/{world.slug}/{address}/", json.dumps(body), "application/json", headers=headers)


def answer(world: Namespace, address: str = "retrieve", **body: Any) -> dict[str, Any]:
    """The body of a successful response to a query."""
    response = post(world, address, **{"query": QUERY, **body})
    assert response.status_code == 200, response.content
    data: dict[str, Any] = response.json()
    return data


@pytest.mark.parametrize("system", SYSTEMS)
def test_a_response_has_the_results_and_their_explanations(world: Namespace, system: str) -> None:
    data = answer(world, system=system, explain="full")
    assert data["profile"] == {
        "name": None,
        "version": None,
        "system": system,
        "preset": "general" if system == "contextdb" else None,
    }
    assert [one["rank"] for one in data["results"]] == list(range(1, len(data["results"]) + 1))
    assert data["results"]
    assert not data["abstained"]
    assert data["timed_out"] == []
    for one in data["results"]:
        assert evaluate(one["explanation"]) == pytest.approx(one["score"], abs=1e-9)
        assert one["retrievers"], "some retriever must have found it"
        assert one.keys() >= {"id", "type", "content", "confidence", "age_days", "retrievers", "outdated"}
        assert one.keys() >= SYSTEMS[system].outputs.keys()


def test_without_session_chunks_memsense_selects_first_and_then_adds_what_stands_beside_the_selected(
    world: Namespace,
) -> None:
    first, *others = answer(world, system="memsense", levels=["turn"], top_k=1)["results"]
    assert others
    assert first["explain"]["neighbour_of"] is None
    assert first["score"] == pytest.approx(first["explain"]["rrf_score"] + first["explain"]["memory_share"])
    assert first["selection"]["step"] == 1
    for one in others:
        assert one["explain"]["neighbour_of"] == first["id"]
        assert "selection" not in one
        assert one["score"] < first["score"]


def params_in(node: dict[str, Any]) -> dict[str, float]:
    """The parameters of an explanation."""
    found = {node["name"]: node["value"]} if node["op"] == "param" else {}
    for part in node["parts"]:
        found |= params_in(part)
    return found


def test_an_alpha_in_a_request_overrides_every_kinds(world: Namespace) -> None:
    Memory.objects.within(world).filter(content__contains="invoicing").update(kind="episodic")
    asked = {"system": "contextdb", "explain": "full"}

    def rates(**params: Any) -> dict[str, float]:
        data = answer(world, **asked, params=params)
        used: dict[str, float] = {}
        for one in data["results"]:
            used |= {name: value for name, value in params_in(one["explanation"]).items() if name.startswith("alpha")}
        return used

    assert rates() == {"alpha": 0.05, "alpha_episodic": 0.08}
    assert rates(alpha=0.5) == {"alpha": 0.5}
    assert rates(alpha=0.5, alpha_by="kind") == {"alpha": 0.5, "alpha_episodic": 0.08}
    assert rates(alpha_episodic=0.5) == {"alpha": 0.05, "alpha_episodic": 0.5}
    trace = answer(world, **asked)["trace"]
    body = {"trace": trace, "params": {"alpha": 0.5}}
    assert post(world, "replay", **body).json()["plan"]["params"]["alpha_by"] == "query"


PRESETS = [(name, preset) for name, system in SYSTEMS.items() for preset in system.presets]


@pytest.mark.parametrize(("system", "preset"), PRESETS)
def test_a_preset_is_applied_by_name(world: Namespace, system: str, preset: str) -> None:
    values = SYSTEMS[system].presets[preset]
    data = answer(world, system=system, preset=preset, record=False)
    assert data["profile"]["preset"] == preset
    assert data["plan"]["params"].items() >= values.items()
    name, default = next((name, SYSTEMS[system].params().as_dict()[name]) for name in values)
    both = answer(world, system=system, preset=preset, params={name: default}, record=False)
    assert both["plan"]["params"][name] == default
    stored = Trace.objects.get(id=data["trace"])
    assert (stored.params, stored.request["preset"]) == (values, preset)
    trace = answer(world, system=system, record=False)["trace"]
    again = post(world, "replay", trace=trace, preset=preset).json()
    assert (again["profile"]["preset"], again["replayed"]) == (preset, True)
    assert [one["id"] for one in again["results"]] == [one["id"] for one in data["results"]]
    compared = post(world, "compare", query=QUERY, presets={system: preset}).json()["answers"]
    assert compared[system]["profile"]["preset"] == preset
    assert [one["id"] for one in compared[system]["results"]] == [one["id"] for one in data["results"]]


@pytest.mark.parametrize(
    ("address", "body", "at", "message"),
    [
        ("replay", {"preset": "fast"}, "preset", 'must not be given: blend has no presets; got "fast"'),
        ("replay", {"system": "recall", "preset": "fast"}, "preset", "must be one of exact-match, exploratory; got"),
        ("compare", {"query": QUERY, "presets": {"recall": "fast"}}, "presets.recall", "must be one of exact-match"),
        ("compare", {"query": QUERY, "presets": {"best": "fast"}}, "presets.best", "must be one of recall,"),
        ("profiles", {"system": "contextdb", "preset": "fast"}, "preset", "must be one of belief_system, agent_memory"),
    ],
)
def test_an_unknown_preset_is_refused_with_those_of_the_system(
    world: Namespace, address: str, body: dict[str, Any], at: str, message: str
) -> None:
    given = {"trace": answer(world)["trace"], **body} if address == "replay" else body
    headers = key_to(world)
    refused = Client().post(f"/api/v1/{world.slug}/{address}/", given, "application/json", headers=headers)
    (error,) = problem(refused, 400)["errors"]
    assert error["at"] == at
    assert error["message"].startswith(message)


def test_a_profile_and_a_write_policy_start_from_a_preset(world: Namespace) -> None:
    def create(address: str, **body: Any) -> dict[str, Any]:
        url = f"/api/v1/{world.slug}/{address}/"
        response = Client().post(url, body, "application/json", headers=key_to(world))
        assert response.status_code == 201, response.content
        data: dict[str, Any] = response.json()
        return data

    profile = create("profiles", name="broad", system="recall", preset="exploratory", params={"mmr_lambda": 0.6})
    assert profile["params"] == {"rrf_k": 90.0, "mmr_lambda": 0.6}
    software = WritePolicyParams(weight_repetition=0.24)
    assert create("policies", preset="software")["params"] == software.as_dict()
    legal = WritePolicyParams(weight_repetition=0.16, weight_prior=0.2)
    assert create("policies", preset="legal", params={"weight_prior": 0.2})["params"] == legal.as_dict()
    refused = Client().post(
        f"/api/v1/{world.slug}/policies/", {"preset": "medical"}, "application/json", headers=key_to(world)
    )
    (error,) = problem(refused, 400)["errors"]
    assert (error["at"], error["message"]) == ("preset", 'must be one of software, legal, formal; got "medical"')


@pytest.mark.parametrize("mode", Mode.values)
def test_a_namespace_that_published_nothing_serves_what_its_mode_starts_from(world: Namespace, mode: str) -> None:
    Namespace.objects.filter(id=world.id).update(mode=mode)
    served, named = answer(world), answer(world, system="contextdb")
    assert named["profile"]["preset"] == mode
    assert named["plan"]["params"].items() >= SYSTEMS["contextdb"].presets[mode].items()
    headers = key_to(world, "read")  # type: ignore[arg-type]
    told = Client().get(f"/api/v1/{world.slug}/", headers=headers).json()["serving"]
    if mode == Mode.GENERAL:
        assert (served["profile"]["system"], served["profile"]["preset"], told) == ("blend", None, "blend defaults")
        return
    assert (served["profile"], served["plan"]["params"]) == (named["profile"], named["plan"]["params"])
    assert [one["id"] for one in served["results"]] == [one["id"] for one in named["results"]]
    assert told == f"contextdb, preset {mode}"


def test_the_contributions_of_the_retrievers_add_up_to_the_fused_score(world: Namespace) -> None:
    for one in answer(world, system="recall")["results"]:
        parts = sum(found["contribution"] for found in one["retrievers"].values())
        assert parts == pytest.approx(one["rrf"], abs=1e-12)


def test_memorysync_scales_its_factors_over_what_can_come_back(world: Namespace) -> None:
    Memory.objects.within(world).filter(content__startswith="The new office").update(importance=1.0)
    data = answer(world, system="memorysync", top_k=50, explain="full")
    assert data["filtered"] == {"not_yet_valid": 1}
    for factor in ("semantic", "recency", "importance"):
        scaled = [node_named(one["explanation"], f"{factor} in batch")["parts"] for one in data["results"]]
        values = [value["value"] for value, _, _ in scaled]
        assert {(low["value"], high["value"]) for _, low, high in scaled} == {(min(values), max(values))}


def test_the_query_chooses_the_weight_profile_and_the_answer_says_why(world: Namespace) -> None:
    default = answer(world, system="memorysync", query="invoicing database", params={"emphasis": "none"})
    floor = default["plan"]["weighting"]["weights"]
    for query, emphasis, word, factor in (
        ("Why does invoicing use PostgreSQL?", "analytical", "why", "graph"),
        ("What is the latest on invoicing?", "recent", "latest", "recency"),
        ("Which database does invoicing use?", "factual", "which", "semantic"),
    ):
        data = answer(world, system="memorysync", query=query, explain="full")
        weighting = data["plan"]["weighting"]
        assert (weighting["emphasis"], weighting["emphasis_reason"]) == (
            emphasis,
            f"because of “{word}”; it raises the {factor} weight",
        )
        assert weighting["weights"][factor] > floor[factor]
        assert sum(weighting["weights"].values()) == pytest.approx(1)
        shares = {name: node_named(data["results"][0]["explanation"], f"{name} share") for name in floor}
        assert {name: share["parts"][0]["value"] for name, share in shares.items()} == weighting["weights"]
        assert data["plan"]["emphasis_words"] == [word]


def test_weights_that_a_request_or_a_profile_names_are_not_adapted(world: Namespace) -> None:
    query = "Why does invoicing use PostgreSQL?"
    weights = {"weight_semantic": 0.4}
    data = answer(world, system="memorysync", query=query, params=weights)
    assert data["plan"]["weighting"]["emphasis"] == data["plan"]["params"]["emphasis"] == "none"
    assert "weights are given" in data["plan"]["weighting"]["emphasis_reason"]
    assert data["plan"]["weighting"]["weights"]["graph"] == 0
    profile = Profile.objects.create(namespace=world, name="steady")
    ProfileVersion(namespace=world, profile=profile, number=1, system="memorysync", params=weights).save()
    assert answer(world, profile="steady", query=query)["plan"]["weighting"] == data["plan"]["weighting"]
    chosen = answer(world, profile="steady", query=query, params={"emphasis": "analytical"})["plan"]["weighting"]
    assert (chosen["emphasis"], chosen["emphasis_reason"]) == (
        "analytical",
        "set by the parameter emphasis; it raises the graph weight",
    )


@pytest.mark.parametrize(
    ("query", "intent", "half_life", "reason"),
    [
        ("Which database does invoicing use now?", "HIGH", 24, "because of “now”"),
        ("Which database does invoicing use?", "MEDIUM", 72, "no word asks for now or for background"),
        ("The history of invoicing", "LOW", 168, "because of “history”"),
    ],
)
def test_the_recency_intent_and_its_half_life_stand_in_the_answer(
    world: Namespace, query: str, intent: str, half_life: float, reason: str
) -> None:
    data = answer(world, system="memorysync", query=query)
    said = data["plan"]["weighting"]
    assert (said["intent"], said["half_life_hours"], said["intent_reason"]) == (intent, half_life, reason)
    assert data["tiebreak_applied"] is False
    assert answer(world, system="recall", query=query)["plan"]["weighting"] is None


def test_a_replay_adapts_the_weights_as_the_trace_did(world: Namespace) -> None:
    data = answer(world, system="memorysync", query="Why does invoicing use PostgreSQL?")
    again = answer_of(post(world, "replay", trace=data["trace"]))
    assert again["plan"]["weighting"] == data["plan"]["weighting"]
    assert [one["score"] for one in again["results"]] == [one["score"] for one in data["results"]]
    plain = answer_of(post(world, "replay", trace=data["trace"], params={"emphasis": "none"}))
    assert (plain["replayed"], plain["plan"]["weighting"]["emphasis"]) == (True, "none")
    assert [one["score"] for one in plain["results"]] != [one["score"] for one in data["results"]]


def test_a_trace_without_an_emphasis_replays_as_it_was_ranked(world: Namespace) -> None:
    data = answer(world, system="memorysync", query="Why does invoicing use PostgreSQL?", params={"emphasis": "none"})
    trace = Trace.objects.within(world).get(id=data["trace"])
    raw = zlib.decompress(bytes(trace.signals))
    size = int.from_bytes(raw[:4])
    header = json.loads(raw[4 : 4 + size])
    del header["emphasis"]
    packed = json.dumps(header).encode()
    older = zlib.compress(b"".join([len(packed).to_bytes(4), packed, raw[4 + size :]]))
    before = Trace(**{**{name: value for name, value in vars(trace).items() if name != "_state"}, "id": uuid4()})
    before.signals, before.params = older, {}
    before.save(force_insert=True)
    again = answer_of(post(world, "replay", trace=str(before.id)))
    assert again["plan"]["weighting"]["emphasis"] == "none"
    assert [one["score"] for one in again["results"]] == [one["score"] for one in data["results"]]


def test_edges_lead_to_memories_that_the_semantic_list_lacks_and_boost_them(world: Namespace) -> None:
    few = {"pool": 10, "anchors": 1}
    listed = [one["id"] for one in answer(world, system="memorysync", top_k=50, params=few)["results"]]
    best = min(answer(world, system="memorysync")["results"], key=lambda one: one["retrievers"]["semantic"]["rank"])
    facts = Memory.objects.within(world).filter(level="fact", status="active", valid_from=None)
    middle, last = facts.exclude(id__in=listed).order_by("id")[:2]
    join = partial(row, MemoryEdge, world, created_at=NOW)
    join(source=Memory.objects.within(world).get(id=best["id"]), target=middle, kind="references")
    join(source=last, target=middle, kind="supports")
    join(source=last, target=middle, kind="similar")
    data = answer(world, system="memorysync", top_k=50, explain="full", params=few)
    assert data["plan"]["params"]["traversal_depth"] == 2
    assert data["plan"]["retrievers"] == ["semantic", "edges"]
    by_id = {one["id"]: one for one in data["results"]}
    for reached, hops, boost in ((middle, 1, 0.03), (last, 2, 0.08)):
        one = by_id[str(reached.id)]
        assert {name: hit["score"] for name, hit in one["retrievers"].items()} == {"edges": 1 / hops}
        assert one["retrievers"]["edges"]["contribution"] == boost
        assert node_named(one["explanation"], "edge boost")["value"] == boost
        assert evaluate(one["explanation"]) == pytest.approx(one["score"], abs=1e-9)
    near = answer(world, system="memorysync", top_k=50, params={**few, "traversal_depth": 1})
    assert str(last.id) not in {one["id"] for one in near["results"]}
    again = answer_of(post(world, "replay", trace=data["trace"], explain="full"))
    assert [(one["id"], one["score"]) for one in again["results"]] == [
        (one["id"], one["score"]) for one in data["results"]
    ]
    deeper = answer_of(post(world, "replay", trace=data["trace"], params={**few, "traversal_depth": 3}))
    assert (deeper["replayed"], deeper["live"]) == (False, ["traversal_depth"])


def test_the_answer_names_the_parameters_that_cannot_move_it(world: Namespace) -> None:
    query = "Which database does invoicing use?"
    inert = answer(world, system="memorysync", query=query)["plan"]["inert"]
    assert inert["freshness_floor"] == inert["half_life_event"] == "decay has no weight"
    assert inert["half_life_high"] == "the recency intent is MEDIUM"
    assert "half_life_medium" not in inert
    decaying = answer(world, system="memorysync", query=query, params={"weight_decay": 0.2})["plan"]["inert"]
    assert "freshness_floor" not in decaying
    assert decaying["emphasis_bump"] == "no factor is emphasised"
    assert answer(world, system="blend")["plan"]["inert"]["hop_1"] == "graph traversal has no weight"
    off = answer(world, system="recall", params={"mmr": "off"})["plan"]["inert"]
    assert off["mmr_lambda"] == "MMR is off"
    exploratory = answer(world, system="recall", query="What do you know?")["plan"]
    assert (exploratory["name"], "mmr_lambda" in exploratory["inert"]) == ("exploratory", False)


def node_named(tree: Tree, name: str) -> Tree:
    """The first node of an explanation with a name."""
    return next(node for node in tree_nodes(tree) if node["name"] == name)


def tree_nodes(tree: Tree) -> Iterator[Tree]:
    """Every node of an explanation, the root first."""
    yield tree
    for part in tree["parts"]:
        yield from tree_nodes(part)


def test_the_context_groups_what_is_current_by_type(world: Namespace) -> None:
    data = answer(world)
    by_id = {one["id"]: one for group in data["context"].values() for one in group}
    assert set(by_id) == {one["id"] for one in data["results"] if not one["outdated"]}
    assert all(one["type"] == type for type, group in data["context"].items() for one in group)
    assert all(set(one) == {"id", "type", "content", "user", "confidence", "age_days"} for one in by_id.values())


def test_an_answer_leaves_a_trace_that_can_be_read_and_replayed(world: Namespace) -> None:
    data = answer(world, system="recall")
    trace = Client().get(f"/api/v1/{world.slug}/traces/{data['trace']}/", headers=key_to(world))
    assert [one["id"] for one in trace.json()["answer"]["results"]] == [one["id"] for one in data["results"]]
    again = answer_of(post(world, "replay", trace=data["trace"]))
    assert (again["replayed"], again["live"], again["changed"]) == (True, [], [])
    assert [(one["id"], one["score"]) for one in again["results"]] == [
        (one["id"], one["score"]) for one in data["results"]
    ]
    moved = answer_of(post(world, "replay", trace=data["trace"], params={"half_life_fact": 1}))
    assert [one["score"] for one in moved["results"]] != [one["score"] for one in data["results"]]


def answer_of(response: Any) -> dict[str, Any]:
    """The body of a successful response."""
    assert response.status_code == 200, response.content
    data: dict[str, Any] = response.json()
    return data


def test_a_forgotten_memory_can_no_longer_be_read_through_a_trace(world: Namespace) -> None:
    data = answer(world, system="recall")
    first = data["results"][0]
    address = f"/api/v1/{world.slug}/memories/{first['id']}/"
    assert Client().delete(address, headers=key_to(world, Role.WRITE)).status_code == 204
    trace = Client().get(f"/api/v1/{world.slug}/traces/{data['trace']}/", headers=key_to(world))
    again = post(world, "replay", trace=data["trace"])
    assert trace.json()["answer"]["gone"] == again.json()["changed"] == [first["id"]]
    assert again.json()["results"][0]["gone"]
    for response in (trace, again):
        assert first["id"] in response.content.decode()
        assert first["content"] not in response.content.decode()


def test_a_trace_names_the_key_of_its_request(world: Namespace) -> None:
    data = answer(world)
    trace = Trace.objects.within(world).get(id=data["trace"])
    assert ApiKey.objects.within(world).filter(id=trace.api_key_id).exists()


def test_no_trace_is_stored_at_a_sampling_rate_of_zero(world: Namespace, settings: Any) -> None:
    settings.RECALL_TRACE_PERCENT = 0
    assert answer(world)["trace"] is None


def test_a_memory_is_accessed_once_in_a_session_and_not_at_all_while_exploring(world: Namespace) -> None:
    first = answer(world, record=False)["results"][0]["id"]
    before = Memory.objects.within(world).get(id=first).access_count
    for body in ({"session": "a", "user": "maya"}, {"session": "a", "user": "maya"}, {"session": "b"}, {}, {}):
        assert answer(world, **body)["results"][0]["id"] == first
    answer(world, record=False)
    now = Memory.objects.within(world).get(id=first)
    assert now.access_count == before + 4
    assert now.last_accessed_at == world.clock
    assert DailyAccess.objects.within(world).get(memory_id=first).count == 4


def test_what_a_session_was_given_is_known_in_it(world: Namespace) -> None:
    answer(world, system="memorysync", session="c", user="maya")
    data = answer(world, system="memorysync", session="c", user="maya", explain="full", record=False)
    assert "session_boost" in json.dumps(data["results"][0]["explanation"])


def test_types_tags_users_and_levels_let_through_what_they_name(world: Namespace) -> None:
    def came(**filters: Any) -> set[str]:
        data = answer(world, **filters, top_k=50, record=False, params={"abstain_below": 0})
        return {one["id"] for one in data["results"]}

    def ids_where(**columns: Any) -> set[str]:
        return {str(id) for id in Memory.objects.within(world).filter(**columns).values_list("id", flat=True)}

    assert came(types=["Preference"]) <= ids_where(type="Preference", type_uncertain=False)
    assert came(tags=["database"]) <= ids_where(tags__tag="database")
    assert came(users=["jonas"]) <= ids_where(user="jonas")
    assert came(levels=["turn", "session"]) <= ids_where(level__in=["turn", "session"])
    assert came(types=["Preference"])
    assert came(tags=["database"])
    assert came(users=["jonas"])


def test_markdown_is_a_block_within_the_budget_that_quotes_what_was_stored(world: Namespace) -> None:
    response = post(world, "retrieve", query=QUERY, format="markdown", token_budget=80)
    block = response.content.decode()
    assert response["Content-Type"] == "text/markdown; charset=utf-8"
    assert block.startswith("Memories, each quoted as it was stored.")
    assert "Invoicing stores its data in PostgreSQL 16" in block
    assert len(block.encode()) <= 4 * 80


def test_every_system_answers_side_by_side(world: Namespace) -> None:
    data = answer(world, "compare")
    assert list(data["answers"]) == list(SYSTEMS)
    assert len(data["agreement"]) == len(SYSTEMS) * (len(SYSTEMS) - 1) // 2
    alone = answer(world, system="contextdb", explain="none", record=False)
    together = data["answers"]["contextdb"]
    assert [(one["id"], one["score"]) for one in together["results"]] == [
        (one["id"], one["score"]) for one in alone["results"]
    ]


def test_the_published_profile_serves_unless_the_caller_names_another(world: Namespace) -> None:
    profile = Profile.objects.create(namespace=world, name="careful")
    version = ProfileVersion(namespace=world, profile=profile, number=3, system="recall", params={"rrf_k": 30.0})
    version.save()
    Publication(namespace=world, profile_version=version).save()
    served = {"name": "careful", "version": 3, "system": "recall", "preset": None}
    data = answer(world)
    assert (data["profile"], data["plan"]["params"]["rrf_k"]) == (served, 30.0)
    assert answer(world, profile="careful@3")["profile"] == served
    assert answer(world, params={"rrf_k": 90})["plan"]["params"]["rrf_k"] == 90.0
    assert answer(world, system="blend")["profile"]["system"] == "blend"


@pytest.mark.parametrize(
    ("body", "at", "message"),
    [
        ({"query": ""}, "query", "must not be empty"),
        ({"top_k": 0}, "top_k", "must be at least 1; got 0"),
        ({"system": "best"}, "system", "must be one of"),
        ({"system": "recall", "profile": "x"}, "profile", "must not be given with system"),
        ({"system": "recall", "preset": "fast"}, "preset", 'must be one of exact-match, exploratory; got "fast"'),
        ({"system": "blend", "preset": "fast"}, "preset", 'must not be given: blend has no presets; got "fast"'),
        ({"preset": "exploratory"}, "preset", "must be given with system"),
        ({"profile": "x"}, "profile", "must be a profile of this namespace"),
        ({"profile": "x@latest"}, "profile", "must be a profile of this namespace"),
        ({"system": "recall", "params": {"rrf_k": 5}}, "params.rrf_k", "must be a number from 10 to 200; got 5"),
        ({"system": "recall", "params": {"k": 5}}, "params.k", "is not a parameter here"),
        ({"as_of": "2030-01-01T00:00:00Z"}, "as_of", "must not lie in the future"),
        ({"types": ["Opinion"]}, "types.0", "must be one of"),
        ({"speed": 1}, "speed", "is not a known field"),
    ],
)
def test_an_invalid_query_is_refused_at_its_field(
    world: Namespace, body: dict[str, Any], at: str, message: str
) -> None:
    data = problem(post(world, "retrieve", **{"query": QUERY, **body}), 400)
    (error,) = data["errors"]
    assert error["at"] == at
    assert message in error["message"]


def test_an_unknown_memory_or_trace_is_not_found(world: Namespace) -> None:
    problem(post(world, "why-not", query=QUERY, memory=str(uuid4())), 404)
    problem(post(world, "replay", trace=str(uuid4())), 404)


def test_why_not_names_what_stopped_a_memory_and_a_change_that_brings_it_in(world: Namespace) -> None:
    missed = memory(world, "The kitchen at Arrive")
    query = {"query": "Which oven does the kitchen at Arrive have?", "system": "recall", "top_k": 3}
    data = answer(world, "why-not", memory=str(missed.id), **query)
    assert data["rank"] is None
    assert data["gates"] == ["low_confidence"]
    assert data["retrievers"]["bm25"]["rank"] == 1
    change = data["change"]
    assert change["param"] == "min_confidence"
    brought = answer(world, **query, params={change["param"]: change["after"]})
    assert str(missed.id) in [one["id"] for one in brought["results"]]
    step_less = change["after"] + 0.01
    without = answer(world, **query, params={change["param"]: step_less})
    assert str(missed.id) not in [one["id"] for one in without["results"]]


UNLIKELY = {"system": "blend", "params": {"abstain_below": 1.0}}


def test_an_unlikely_answer_is_withheld_or_flagged_as_the_caller_asks(world: Namespace) -> None:
    withheld = answer(world, **UNLIKELY)
    assert (withheld["results"], withheld["abstained"], withheld["low_confidence"]) == ([], True, True)
    flagged = answer(world, **UNLIKELY, on_low_confidence="flag")
    sure = answer(world, system="blend", params={"abstain_below": 0})
    assert [one["id"] for one in flagged["results"]] == [one["id"] for one in sure["results"]]
    assert flagged["context"] == sure["context"]
    assert (flagged["abstained"], flagged["low_confidence"], sure["low_confidence"]) == (False, True, False)
    assert flagged["answer_probability"] == withheld["answer_probability"] == sure["answer_probability"] < 1
    assert flagged["reason"].endswith("below 1.00. It is flagged, not withheld, as the query asks.")
    assert flagged["nearest"] == []


def test_a_flagged_answer_is_stored_and_replayed_as_flagged(world: Namespace) -> None:
    flagged = answer(world, **UNLIKELY, on_low_confidence="flag")
    trace = Client().get(f"/api/v1/{world.slug}/traces/{flagged['trace']}/", headers=key_to(world)).json()
    assert trace["request"]["on_low_confidence"] == "flag"
    again = answer_of(post(world, "replay", trace=flagged["trace"]))
    for name in ("results", "low_confidence", "answer_probability", "reason", "abstained"):
        assert again[name] == trace["answer"][name] == flagged[name], name


def test_a_trace_from_before_the_choice_replays_as_one_that_abstains(world: Namespace) -> None:
    flagged = answer(world, **UNLIKELY, on_low_confidence="flag")
    with connection.cursor() as cursor:  # a trace is immutable but in SQL
        older = "UPDATE memories_trace SET request = request - 'on_low_confidence' WHERE id = %s"
        cursor.execute(older, [flagged["trace"]])
    assert answer_of(post(world, "replay", trace=flagged["trace"]))["abstained"]


def test_a_flagged_block_says_within_its_budget_that_it_may_not_answer(world: Namespace) -> None:
    options = {**UNLIKELY, "query": QUERY, "format": "markdown", "token_budget": 90}
    flagged = post(world, "retrieve", **options, on_low_confidence="flag").content.decode()
    assert "They may not answer the query: the probability that they do is 0." in flagged
    assert "Invoicing stores its data in PostgreSQL 16" in flagged
    assert len(flagged.encode()) <= 4 * 90
    withheld = post(world, "retrieve", **options).content.decode()
    assert withheld.startswith("No memory answers this.")


def test_a_comparison_and_a_diagnosis_flag_too(world: Namespace) -> None:
    unlikely = {"query": "Which oven does Alma play?"}
    flagged = answer(world, "compare", **unlikely, on_low_confidence="flag")["answers"]["blend"]
    withheld = answer(world, "compare", **unlikely)["answers"]["blend"]
    assert (withheld["abstained"], withheld["low_confidence"]) == (True, True)
    assert flagged["low_confidence"]
    first = flagged["results"][0]["id"]
    ranks = [
        answer(world, "why-not", memory=first, system="blend", **unlikely, **choice)["rank"]
        for choice in ({}, {"on_low_confidence": "flag"})
    ]
    assert ranks == [None, 1]
