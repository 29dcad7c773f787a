"""Forms of the Judgements page: sampling queries, pooling, grading a pair, and uploaded files."""

from typing import Any
from uuid import UUID

from django.http import HttpRequest
from rest_framework.exceptions import ValidationError

from memories.models import Namespace
from memories.pages.request_data import is_uuid
from memories.tuning import judgement_pooling, query_sampling, trec
from memories.tuning.parsed_judgements import GRADES, ParsedJudgements
from memories.web.fields import Identifier, Integer, OneOf
from memories.web.judgement_bodies import MAX_BODY_BYTES, PoolRequest, QuerySampleSerializer, TrecFiles
from memories.web.judgement_import import parse_judgement_lines
from memories.web.serializers import StrictObject, valid_values

QUERY_FILTERS = ("q", "split", "kind", "category", "unjudged", "without_answers")
SAMPLE_DEFAULTS = {"days": "30", "most": "100", "way": "frequent"}
SAMPLING_LABELS = {"frequent": "the most frequent", "even": "an even sample"}
BOOLEAN_TEXTS = {"true": "true", "1": "true", "false": "false", "0": "false"}
MAX_SKIPPED = 100  # in the URL; beyond, the earliest skipped pairs come up again


class QuerySampleForm(QuerySampleSerializer):
    """Which traced queries to add."""

    days = Integer(in_query=True, min_value=1, max_value=query_sampling.MAX_DAYS)
    most = Integer(in_query=True, min_value=1, max_value=query_sampling.MAX_QUERIES)
    way = OneOf(choices=list(query_sampling.SAMPLING_METHODS))


class PoolForm(PoolRequest):
    """Configurations to pool, and how many hits of each."""

    k = Integer(in_query=True, min_value=1, max_value=judgement_pooling.MAX_K)


class GradeForm(StrictObject):
    """A grade for a pair, its withdrawal, or a skip."""

    act = OneOf(choices=[*map(str, GRADES), "skip", "undo"])
    pair = Identifier(required=False)
    query = Identifier()
    memory = Identifier()


def read_judgement_upload(request: HttpRequest, namespace: Namespace) -> ParsedJudgements:
    """The uploaded file: JSON Lines, or TREC queries if qrels come with it."""
    file, qrels = request.FILES.get("file"), request.FILES.get("qrels")
    if file is None:
        raise ValidationError({"file": ["is required"]})
    for name, upload in {"file": file, "qrels": qrels}.items():
        if upload is not None and (upload.size or 0) > MAX_BODY_BYTES:
            raise ValidationError({name: [f"must have at most {MAX_BODY_BYTES:,} bytes; got {upload.size:,}"]})
    if qrels is None:
        return parse_judgement_lines(namespace, file)
    try:
        texts = {"queries": file.read().decode(), "qrels": qrels.read().decode()}
    except UnicodeDecodeError as error:
        raise ValidationError({"file": [f"must be UTF-8; got 0x{error.object[error.start]:02x}"]}) from error
    body: dict[str, Any] = texts | {"docid": request.POST.get("docid") or trec.MEMORY_ID}
    return trec.read_trec(namespace, **valid_values(TrecFiles(data=body)))


def parse_uuids(texts: list[str]) -> list[UUID]:
    """The UUIDs among some texts."""
    return [UUID(text) for text in texts[:MAX_SKIPPED] if is_uuid(text)]
