"""Who decides whether two memories contradict each other: a rule, or a judge that is given."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from django.conf import settings

from memories.models import Memory
from memories.providers.judge import Judge, judge
from memories.providers.rules_judge import stems
from memories.writing.comparing import disputes, elsewhere, opposed, unrelated
from memories.writing.desk import least_of
from scoring.contradiction import ANOTHER_VALUE
from scoring.policy import WritePolicy
from scoring.predicates import single_valued


class Question(NamedTuple):
    """A pair that somebody should decide."""

    one: Memory
    other: Memory
    cosine: float


# True: they contradict each other; None: a person should look.
Judged = Callable[[Sequence[Question], WritePolicy], list[bool | None]]


def by_rule(questions: Sequence[Question], policy: WritePolicy) -> list[bool | None]:
    """Decide as the write path does, and ask memories that are less alike to speak in much the same words."""
    return [_opposed(question, policy) for question in questions]


def configured() -> Judged:
    """The rules, or the language model that judges here."""
    asked = judge(settings.RECALL_JUDGE)
    return by(asked) if asked.remote else by_rule


def by(judge: Judge) -> Judged:
    """Let a judge decide; what has nothing to do with each other is not asked."""

    def decide(questions: Sequence[Question], policy: WritePolicy) -> list[bool | None]:
        apart = [unrelated(one, other) or elsewhere(one, other) for one, other, _ in questions]
        asked = [question for question, alone in zip(questions, apart, strict=True) if not alone]
        verdicts = iter(judge.contradicts([(one.content, other.content) for one, other, _ in asked]))
        return [False if alone else next(verdicts) for alone in apart]

    return decide


def _opposed(question: Question, policy: WritePolicy) -> bool | None:
    one, other, cosine = question
    reasons = () if unrelated(one, other) else opposed(one, other)
    if not disputes(one, other, reasons):
        return False
    if ANOTHER_VALUE in reasons and single_valued(one.predicate):
        return True
    # A rule made for near-identical texts sees another number in “born in 2021” and “moved in 2025” too.
    a, b = words(one), words(other)
    alike = cosine >= least_of(policy) or len(a & b) >= policy.contradiction_words * len(a | b)
    return True if alike else None


def words(memory: Memory) -> set[str]:
    """What a memory is about; a number is what such memories differ in."""
    return {word for word in stems(memory.content) if not word.isdigit()}
