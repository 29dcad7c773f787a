"""What a namespace in use has for the pages that improve it: grades, annotations, versions, a set asked, a search."""

from uuid import UUID

from memories.jobs.running import run
from memories.models import Job, Judgement, JudgementSet, Memory, Namespace, ProfileVersion, Trace
from memories.models.choices import JobKind
from memories.retrieval.settings import setting
from memories.tuning import optimising, tracing
from memories.tuning.annotating import NewAnnotation, annotate
from memories.tuning.evaluating import MAIN
from memories.tuning.objective import Objective
from memories.tuning.optimising import Wish, movable
from memories.tuning.pareto import DIVERSITY
from memories.tuning.profiles import add_version
from memories.tuning.sweeping import swept_setting
from memories.writing.copying import copied

BY = "benchmark"
GRADES = (3, 2, 2, 1, 1, 1, 0, 0, 0, 0)  # of the first results, from the top
ANNOTATED, VERSIONS, SETTINGS, SECONDS = 1_000, 30, 100, 600


def improved(namespace: Namespace) -> None:
    """Make what is missing."""
    whole = JudgementSet.objects.within(namespace).earliest("id")
    if not Judgement.objects.within(namespace).exists():
        judge(namespace, whole)
        speak(namespace)
    if not ProfileVersion.objects.within(namespace).exists():
        version(namespace)
    served = setting(namespace, params={})
    for start in (served, swept_setting(namespace)):
        tracing.fresh(namespace, whole, start)
    if not Job.objects.within(namespace).filter(kind=JobKind.OPTIMISE).exists():
        search(namespace, whole)


def judge(namespace: Namespace, whole: JudgementSet) -> None:
    """Grade what came back for the questions that left a trace."""
    queries = dict(whole.queries.values_list("text", "id"))
    rows = [
        Judgement(namespace_id=namespace.id, query_id=queries[trace.query], memory_id=UUID(one["id"]), grade=grade)
        for trace in Trace.objects.within(namespace).only("query", "answer")
        if trace.query in queries
        for one, grade in zip(trace.answer["results"], GRADES, strict=False)
    ]
    copied(Judgement, list({(one.query_id, one.memory_id): one for one in rows}.values()))


def speak(namespace: Namespace) -> None:
    """What two annotators say of the same memories; one of five times they differ."""
    memories = Memory.objects.within(namespace).filter(status="active").order_by("id")[:ANNOTATED]
    said = [
        NewAnnotation(memory.id, who, memory.type, right=place % 5 > first, confidence=0.9)
        for place, memory in enumerate(memories)
        for first, who in enumerate(("one", "other"))
    ]
    annotate(namespace, said)


def version(namespace: Namespace) -> None:
    """Versions of a profile, each with another k."""
    for number in range(VERSIONS):
        params = {"rrf_k": 20.0 + number}
        add_version(namespace, name="tried", system="recall", params=params, parent=None, note="", by=BY)


def search(namespace: Namespace, whole: JudgementSet) -> None:
    """One search, to its end."""
    served = setting(namespace, params={})
    wish = Wish(
        set=whole.id,
        setting=served,
        move=tuple(movable(served)),
        objective=Objective(MAIN),
        against=DIVERSITY,
        settings=SETTINGS,
        seconds=SECONDS,
        seed=optimising.SEED,
    )
    run(namespace.id, optimising.begin(namespace, wish, by=BY).id)
