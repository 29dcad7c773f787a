"""The HNSW index of a large namespace: its own, over its indexed vectors of one embedder, built beside its traffic.

An index that many namespaces share searches the graph of all of them, however small the one that is asked.
"""

from django.db import connection
from psycopg.sql import SQL, Composed, Identifier, Literal

from memories.models import Job, MemoryVector, Namespace, NamespaceStatistics
from memories.models.choices import JobKind, JobState
from memories.models.vector import EF_CONSTRUCTION, INDEX_PREFIX, index_name, index_predicate

MAX_DIMENSIONS = 4_000  # of a halfvec that HNSW can hold
BUILD_BYTES = 600  # of a vector's neighbours and overhead while the graph is built, beside two bytes per dimension
MAX_BUILD_MEMORY = 2**31
IS_VALID = "SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass(%s)"
ALL_INDEXES = "SELECT relname FROM pg_class WHERE relkind = 'i' AND starts_with(relname, %s) ORDER BY 1"


def build_index(namespace: Namespace, embedder: str) -> str:
    """Build the index over the namespace's indexed vectors, unless it is there; returns its name, "" without vectors.

    Outside a transaction it is built concurrently, so that nobody waits for it; what an interrupted build left behind
    is dropped first.
    """
    vectors = MemoryVector.objects.within(namespace).filter(embedder=embedder)
    first = vectors.first()
    if first is None or len(first.vector) > MAX_DIMENSIONS:
        return ""
    name, concurrently = index_name(namespace.id, embedder), not connection.in_atomic_block
    with connection.cursor() as cursor:
        cursor.execute(IS_VALID, [name])
        state = cursor.fetchone()
        if state == (True,):
            return name
        if state:
            drop_index(name)
        memory = min(MAX_BUILD_MEMORY, vectors.count() * (2 * len(first.vector) + BUILD_BYTES))
        cursor.execute(
            "SELECT set_config('maintenance_work_mem', greatest(%s, pg_size_bytes(current_setting("
            "'maintenance_work_mem')) / 1024) || 'kB', %s), set_config('statement_timeout', '0', %s)",
            [memory // 1024, not concurrently, not concurrently],
        )
        try:
            cursor.execute(create_statement(name, namespace, embedder, len(first.vector), concurrently=concurrently))
            # The planner knows how many rows the index saves only from fresh statistics.
            cursor.execute("ANALYZE memories_memoryvector")
        finally:
            if concurrently:
                cursor.execute("RESET maintenance_work_mem; RESET statement_timeout")
    return name


def create_statement(
    name: str, namespace: Namespace, embedder: str, dimensions: int, *, concurrently: bool
) -> Composed:
    """CREATE INDEX for a namespace's vectors of one embedder."""
    return SQL(
        "CREATE INDEX {concurrently} {name} ON memories_memoryvector "
        "USING hnsw ((vector::halfvec({dimensions})) halfvec_cosine_ops) "
        "WITH (ef_construction = {effort}) WHERE {predicate}"
    ).format(
        concurrently=SQL("CONCURRENTLY" if concurrently else ""),
        name=Identifier(name),
        dimensions=Literal(dimensions),
        effort=Literal(EF_CONSTRUCTION),
        predicate=SQL(index_predicate(namespace.id, embedder)),
    )


def drop_index(name: str) -> None:
    """Drop an index, without blocking anybody outside a transaction."""
    concurrently = SQL("" if connection.in_atomic_block else "CONCURRENTLY")
    with connection.cursor() as cursor:
        cursor.execute(SQL("DROP INDEX {} IF EXISTS {}").format(concurrently, Identifier(name)))


def unused_indexes() -> list[str]:
    """Indexes of namespaces that are gone or have changed their embedder; none while one may be built."""
    building = Job.objects.filter(kind__in=(JobKind.INDEX, JobKind.REEMBED), state=JobState.RUNNING)
    if building.exists():
        return []
    used = set(NamespaceStatistics.objects.exclude(vector_index="").values_list("vector_index", flat=True))
    with connection.cursor() as cursor:
        cursor.execute(ALL_INDEXES, [INDEX_PREFIX])
        return [name for (name,) in cursor.fetchall() if name not in used]
