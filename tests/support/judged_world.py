"""A judgement set over the retrieval world, and its tracing."""

from typing import Any

from memories.contracts.work import Work
from memories.models import Job, JudgedQuery, Judgement, JudgementSet, Memory, Namespace, TracedSet
from memories.models.choices import JobKind, JobState, QueryKind, Split
from memories.retrieval.query import Config
from memories.tuning import traced_sets

# A question, and by which words its answers are known, with their grades.
JUDGED_QUERIES: tuple[tuple[str, dict[str, int]], ...] = (
    ("Which database does invoicing use?", {"PostgreSQL 16": 3, "nightly backup": 1}),
    ("What does Maya prefer?", {"prefers PostgreSQL": 3, "coffee black": 2}),
    ("Who left Arrive two months ago?", {"Jonas left": 3}),
    (
        "What did we agree on last October in Lisbon, and who reviews the schema?",
        {"retire MySQL": 3, "reviews every": 2},
    ),
    ("backup", {"nightly backup": 3}),
    ("When does the standup begin?", {"half past nine": 3}),
    ("Who is allergic to hazelnuts?", {"allergic": 3}),
    ("What is Maya's shoe size?", {}),
    ("How much does the new oven cost?", {}),
)


def make_judgement_set(namespace: Namespace, name: str = "questions") -> JudgementSet:
    """The set, every third of its queries held out."""
    whole = JudgementSet.objects.create(namespace=namespace, name=name)
    for number, (text, grades) in enumerate(JUDGED_QUERIES):
        query = JudgedQuery.objects.create(
            namespace=namespace,
            judgement_set=whole,
            text=text,
            category="people" if "Who" in text else "things",
            kind=QueryKind.ANSWERABLE if grades else QueryKind.UNANSWERABLE,
            split=Split.HOLDOUT if number % 3 == 2 else Split.TUNE,
        )
        for words, grade in grades.items():
            memory = Memory.objects.within(namespace).filter(content__contains=words, status="active").earliest("id")
            Judgement.objects.create(namespace=namespace, query=query, memory=memory, grade=grade)
    return whole


def trace_set(namespace: Namespace, whole: JudgementSet, setting: Config) -> TracedSet:
    """The set, asked under a setting by a job that runs here."""
    params: dict[str, Any] = {
        "set": str(whole.id),
        "system": setting.system.name,
        "params": traced_sets.candidate_params(setting),
    }
    job = Job.objects.create(namespace=namespace, kind=JobKind.TRACE, params=params, by="tests", state=JobState.RUNNING)
    work = Work(namespace, job)
    work.begin_step("trace")
    traced_sets.trace_step(work)
    Job.objects.within(namespace).filter(id=job.id).update(state=JobState.DONE)
    found = traced_sets.latest_traced_set(namespace, whole, setting)
    assert found is not None
    return found
