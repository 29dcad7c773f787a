"""Judgement sets, queries, grades and pools as request bodies."""

from rest_framework.exceptions import ValidationError

from memories.models.choices import QueryKind, Split
from memories.tuning import judgement_pooling, query_sampling, trec
from memories.tuning.judgement_export import EXPORT_FORMATS
from memories.tuning.memory_references import METADATA_PREFIX
from memories.tuning.parsed_judgements import GRADES
from memories.web.fields import Flag, Identifier, Integer, ListOf, OneOf, Text
from memories.web.judgement_import import NewJudgedQuery
from memories.web.pagination import PageQuery
from memories.web.serializers import QueryString, StrictObject

MAX_ITEMS = 1_000  # queries or grades per body
MAX_BODY_BYTES = 20_000_000  # bytes of a body with queries


class NewJudgementSet(StrictObject):
    """A new judgement set."""

    name = Text(max_length=100)
    note = Text(max_length=2_000, allow_blank=True, default="")


class JudgementSetChange(StrictObject):
    """Changes to a judgement set; omitted fields stay unchanged."""

    name = Text(max_length=100, required=False)
    note = Text(max_length=2_000, allow_blank=True, required=False)


class JudgedQueriesQuery(PageQuery):
    """Filters of the query list."""

    q = Text(max_length=1_000, required=False, help_text="substring of the query's text, case-insensitive")
    split = OneOf(choices=Split.values, required=False)
    kind = OneOf(choices=QueryKind.values, required=False)
    category = Text(max_length=50, required=False)
    unjudged = Flag(in_query=True, required=False, help_text="whether it has no judgements")
    without_answers = Flag(in_query=True, required=False, help_text="whether its relevant memories are all gone")


class NewJudgedQueries(StrictObject):
    """Queries to store, with their judgements."""

    queries = ListOf(child=NewJudgedQuery(), min_length=1, max_length=MAX_ITEMS)


class PairGrade(StrictObject):
    """The grade of a query-memory pair."""

    query = Identifier()
    memory = Identifier()
    grade = Integer(min_value=GRADES[0], max_value=GRADES[-1])


class NewGrades(StrictObject):
    """Grades to store; the last one of a pair wins."""

    grades = ListOf(child=PairGrade(), min_length=1, max_length=MAX_ITEMS)


class QuerySampleSerializer(StrictObject):
    """How to sample queries from the traces."""

    days = Integer(
        min_value=1, max_value=query_sampling.MAX_DAYS, default=30, help_text="age limit of the traces, in days"
    )
    most = Integer(
        min_value=1, max_value=query_sampling.MAX_QUERIES, default=100, help_text="maximum number of queries"
    )
    way = OneOf(
        choices=list(query_sampling.SAMPLING_METHODS),
        default=query_sampling.SAMPLING_METHODS[0],
        help_text="frequent: most frequent queries; even: a hash-based sample regardless of frequency",
    )


class TrecFiles(StrictObject):
    """TREC queries and qrels, as text."""

    queries = Text(max_length=MAX_BODY_BYTES, trim_whitespace=False, help_text="lines of `qid⇥text`")
    qrels = Text(
        max_length=MAX_BODY_BYTES, trim_whitespace=False, allow_blank=True, default="", help_text="`qid 0 docid grade`"
    )
    docid = Text(
        max_length=200, default=trec.MEMORY_ID, help_text="id: the memory's id; metadata.<key>: that metadata value"
    )

    def validate_docid(self, name: str) -> str:
        """Reject a name that is neither id nor a metadata key."""
        key = name.removeprefix(METADATA_PREFIX)
        if name != trec.MEMORY_ID and key in ("", name):
            raise ValidationError(f"must be {trec.MEMORY_ID}, or {METADATA_PREFIX} and a key; got {name}")
        return name


class JudgementExportQuery(QueryString):
    """Export options."""

    shape = OneOf(
        choices=list(EXPORT_FORMATS), default=EXPORT_FORMATS[0], help_text="NDJSON, or one of the two TREC files"
    )
    current = Flag(in_query=True, default=False, help_text="grades resolved to current memories, not as given")
    by_content = Flag(in_query=True, default=False, help_text="in JSON: memories by content, for another namespace")


class PoolRequest(StrictObject):
    """The configurations to pool."""

    configs = ListOf(
        child=Text(max_length=120),
        max_length=judgement_pooling.MAX_CONFIGS,
        default=list,
        help_text="systems and profiles by name, or name@version; default: the published profile",
    )
    k = Integer(
        min_value=1,
        max_value=judgement_pooling.MAX_K,
        default=judgement_pooling.DEFAULT_K,
        help_text="pool depth per configuration",
    )
