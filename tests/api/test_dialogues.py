"""A fact established over several turns of a dialogue is one memory: n counts the turns, s is their maximum."""

from typing import Any

import pytest
from django.test import Client

from memories.models import Memory, MemorySource
from memories.models.choices import ChunkLevel
from scoring.confidence import repetition

pytestmark = pytest.mark.django_db
APPENDIX = (
    ("user", "I think we usually use PostgreSQL."),
    ("user", "Well, for this project we definitely are."),
    ("user", "Yes, PostgreSQL is our team standard."),
)
WITH_ASSISTANT = (
    ("user", "I think we usually water the tomatoes at dawn."),
    ("assistant", "At dawn. In summer too?"),
    ("user", "In summer we certainly do."),
    ("assistant", "So you water the tomatoes at dawn?"),
    ("user", "Yes, that's right."),
)


def post_turns(agent: Client, turns: Any, session: str = "monday", user: str = "maya") -> list[dict[str, Any]]:
    body = {
        "session": session,
        "user": user,
        "turns": [{"role": role, "text": text, "said_at": "2026-03-02T12:00:00Z"} for role, text in turns],
    }
    answer = agent.post("/api/v1/here/turns/", body, content_type="application/json")
    assert answer.status_code == 201, answer.content
    memories: list[dict[str, Any]] = answer.json()["memories"]
    return memories


def confidence(s: float, n: int, t: float = 0.80) -> float:
    """By the formula, with the rules as extractor."""
    return 0.45 * s + 0.20 * float(repetition(float(n))) + 0.25 * 0.65 + 0.10 * t  # type: ignore[arg-type]


def test_the_papers_dialogue_becomes_one_memory_of_rising_n(agent: Client) -> None:
    outcomes = post_turns(agent, APPENDIX)
    assert [outcome["outcome"] for outcome in outcomes] == ["stored", "merged", "merged"]
    assert len({outcome["memory"]["id"] for outcome in outcomes}) == 1
    memory = Memory.objects.get(level=ChunkLevel.FACT)
    assert (memory.source_strength, memory.repetitions) == (0.80, 2)
    assert memory.confidence == pytest.approx(confidence(0.80, 2))
    levels = MemorySource.objects.filter(memory_id=memory.id).order_by("turn__position").values_list("level", flat=True)
    assert list(levels) == ["weak_inference", "confirmation", "confirmation"]
    history = agent.get(f"/api/v1/here/memories/{memory.id}/history/").json()["results"]
    assert [event["after"].get("repetitions") for event in history] == [0, 1, 2]
    assert [event["after"].get("source_strength") for event in history] == [0.50, 0.80, None]
    assert history[0]["after"]["confidence"] == pytest.approx(confidence(0.50, 0))
    # One user corroborates nobody.
    assert (memory.belief, memory.corroborations) == (5.0, 0)


@pytest.mark.parametrize("turns", [APPENDIX, WITH_ASSISTANT], ids=["appendix", "with an assistant"])
def test_turns_that_come_one_by_one_make_the_same_memory_as_all_at_once(agent: Client, turns: Any) -> None:
    columns = ("content", "type", "source_strength", "repetitions", "confidence", "belief", "corroborations")

    def facts(user: str) -> list[Any]:
        return list(Memory.objects.filter(level=ChunkLevel.FACT, user=user).values_list(*columns))

    post_turns(agent, turns, user="Maya")
    at_once = facts("Maya")
    Memory.objects.all().delete()
    for turn in turns:
        post_turns(agent, [turn], session="tuesday", user="Maya")
    assert facts("Maya") == at_once
    assert [(fact[2], fact[3]) for fact in at_once] == [(0.80, 2)]


def test_a_confirmation_in_words_raises_s_and_n_as_confirming_by_id_does(agent: Client) -> None:
    question = ("assistant", "You live in Lund.")
    (guessed,) = post_turns(agent, [question])
    assert guessed["memory"]["repetitions"] == 0
    assert guessed["memory"]["confidence"] == pytest.approx(confidence(0.30, 0))
    (confirmed,) = post_turns(agent, [("user", "Yes, that's right.")])
    assert confirmed["memory"]["id"] == guessed["memory"]["id"]
    assert confirmed["memory"]["repetitions"] == 1
    assert confirmed["memory"]["confidence"] == pytest.approx(confidence(0.80, 1))
    (other,) = post_turns(agent, [question], session="tuesday", user="priya")
    by_id = agent.post(f"/api/v1/here/memories/{other['memory']['id']}/confirm/").json()["memory"]
    assert (by_id["repetitions"], by_id["confidence"]) == (1, confirmed["memory"]["confidence"])


def test_what_an_assistant_repeats_is_no_observation(agent: Client) -> None:
    (said,) = post_turns(agent, [("user", "I live in Lund.")])
    (echo,) = post_turns(agent, [("assistant", "You live in Lund.")])
    assert echo["memory"]["id"] == said["memory"]["id"]
    assert (echo["memory"]["repetitions"], echo["reason"]) == (0, "exact duplicate from the same session")


def test_a_yes_to_something_else_or_a_denial_leaves_the_memory_as_it_was(agent: Client) -> None:
    (hedged,) = post_turns(agent, APPENDIX[:1])
    for turns in (
        [("assistant", "Shall I set up Kafka?"), ("user", "Yes.")],
        [("assistant", "So you use PostgreSQL?"), ("user", "No, not for this one.")],
        [("user", "Ben definitely does.")],
    ):
        post_turns(agent, turns)
    memory = Memory.objects.get(id=hedged["memory"]["id"])
    assert (memory.source_strength, memory.repetitions) == (0.50, 0)
