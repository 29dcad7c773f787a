"""Who decides whether two memories contradict each other: a rule, or a judge that is given."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from django.conf import settings

from memories.models import Memory
from memories.providers.judge import Judge, judge
from memories.providers.rules_judge import stems
from memories.writing.batch import minimum_cosine
from memories.writing.comparison import are_unrelated, conflict_reasons, is_contradiction, unrelated_subjects
from scoring.contradiction import DIFFERENT_VALUE
from scoring.policy import WritePolicyParams
from scoring.predicates import is_single_valued


class Question(NamedTuple):
    """A pair that somebody should decide."""

    one: Memory
    other: Memory
    cosine: float


# True: they contradict each other; None: a person should look.
Judged = Callable[[Sequence[Question], WritePolicyParams], list[bool | None]]


def by_rule(questions: Sequence[Question], policy: WritePolicyParams) -> list[bool | None]:
    """Decide as the write path does, and ask memories that are less alike to speak in much the same words."""
    return [_opposed(question, policy) for question in questions]


def configured() -> Judged:
    """The rules, or the language model that judges here."""
    asked = judge(settings.RECALL_JUDGE)
    return by(asked) if asked.remote else by_rule


def by(judge: Judge) -> Judged:
    """Let a judge decide; what has nothing to do with each other is not asked."""

    def decide(questions: Sequence[Question], policy: WritePolicyParams) -> list[bool | None]:
        apart = [are_unrelated(one, other) or unrelated_subjects(one, other) for one, other, _ in questions]
        asked = [question for question, alone in zip(questions, apart, strict=True) if not alone]
        verdicts = iter(judge.contradicts([(one.content, other.content) for one, other, _ in asked]))
        return [False if alone else next(verdicts) for alone in apart]

    return decide


def _opposed(question: Question, policy: WritePolicyParams) -> bool | None:
    one, other, cosine = question
    reasons = () if are_unrelated(one, other) else conflict_reasons(one, other)
    if not is_contradiction(one, other, reasons):
        return False
    if DIFFERENT_VALUE in reasons and is_single_valued(one.predicate):
        return True
    # A rule made for near-identical texts sees another number in “born in 2021” and “moved in 2025” too.
    a, b = words(one), words(other)
    alike = cosine >= minimum_cosine(policy) or len(a & b) >= policy.contradiction_words * len(a | b)
    return True if alike else None


def words(memory: Memory) -> set[str]:
    """What a memory is about; a number is what such memories differ in."""
    return {word for word in stems(memory.content) if not word.isdigit()}
