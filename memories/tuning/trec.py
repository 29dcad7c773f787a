"""Judged queries in TREC format: a file of queries (`qid⇥text`) and qrels (`qid 0 docid grade`)."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from memories.contracts.json_values import quote_value, storage_error
from memories.contracts.text_limits import MAX_QUERY_CHARS
from memories.models import Namespace
from memories.tuning.judgement_store import NewQuery
from memories.tuning.memory_references import METADATA_PREFIX, ResolvedReferences
from memories.tuning.parsed_judgements import GRADES, MAX_QUERIES, ParsedJudgements

MEMORY_ID = "id"  # docids are memory ids
COLUMNS = 4


@dataclass
class ParsedTrecFiles:
    """Both files, parsed."""

    texts: dict[str, str] = field(default_factory=dict)
    grades: dict[str, dict[str, tuple[int, int]]] = field(default_factory=dict)  # qid, docid: grade and its line
    problems: dict[str, Any] = field(default_factory=dict)

    def add_problem(self, file: str, line: int, message: str) -> None:
        """Record an error of a line."""
        self.problems[f"{file} line {line}"] = [message]


def read_trec(namespace: Namespace, queries: str, qrels: str, docid: str = MEMORY_ID) -> ParsedJudgements:
    """Read both files; a docid is a memory's id, or a value of its metadata (`metadata.docid`)."""
    files = ParsedTrecFiles()
    read_trec_queries(files, queries)
    read_qrels(files, qrels)
    docids = {name for grades in files.grades.values() for name in grades}
    references = {name: docid_reference(name, docid) for name in docids}
    resolved = ResolvedReferences.resolve(
        namespace, (reference for reference in references.values() if reference is not None), docid
    )
    parsed = ParsedJudgements(problems=files.problems)
    for qid, text in files.texts.items():
        grades: dict[UUID, int] = {}
        for name, (grade, line) in files.grades.get(qid, {}).items():
            reference = references[name]
            memory = (
                resolved.lookup(reference)
                if reference is not None
                else f"docid must be a memory's id; got {quote_value(name)}"
            )
            if isinstance(memory, UUID):
                grades[memory] = max(grade, grades.get(memory, 0))
            else:
                files.add_problem("qrels", line, memory)
        parsed.queries.append(NewQuery(text, grades=grades))
    return parsed


def docid_reference(docid_text: str, docid: str) -> UUID | str | None:
    """The reference of a docid; None if it should be an id and is not."""
    if docid.startswith(METADATA_PREFIX):
        return docid_text
    try:
        return UUID(docid_text)
    except ValueError:
        return None


def read_trec_queries(files: ParsedTrecFiles, text: str) -> None:
    """The queries by their qids."""
    for number, line in numbered_lines(text):
        qid, tab, query = line.partition("\t")
        qid, query = qid.strip(), query.strip()
        if not tab or not qid or not query:
            files.add_problem("queries", number, f"must be a qid, a tab and the query's text; got {quote_value(line)}")
        elif qid in files.texts:
            files.add_problem("queries", number, f"must have a qid of its own; {qid} came before")
        elif len(query) > MAX_QUERY_CHARS or storage_error(query):
            problem = storage_error(query) or f"must have at most {MAX_QUERY_CHARS} characters; got {len(query)}"
            files.add_problem("queries", number, problem)
        elif len(files.texts) == MAX_QUERIES:
            return files.add_problem("queries", number, f"is more than {MAX_QUERIES} queries")
        else:
            files.texts[qid] = query
    return None


def read_qrels(files: ParsedTrecFiles, text: str) -> None:
    """The grades by qid and docid."""
    for number, line in numbered_lines(text):
        columns = line.split()
        if len(columns) != COLUMNS:
            files.add_problem(
                "qrels", number, f"must have {COLUMNS} columns (qid 0 docid grade); got {quote_value(line)}"
            )
            continue
        qid, _, name, grade = columns
        before = files.grades.setdefault(qid, {}).get(name)
        if qid not in files.texts:
            files.add_problem("qrels", number, f"must judge a qid of the queries; got {quote_value(qid)}")
        elif storage_error(name):
            files.add_problem("qrels", number, f"docid {storage_error(name)}")
        elif grade not in map(str, GRADES):
            files.add_problem(
                "qrels", number, f"grade must be from {GRADES[0]} to {GRADES[-1]}; got {quote_value(grade)}"
            )
        elif before is not None and before[0] != int(grade):
            files.add_problem("qrels", number, f"must give a docid one grade; line {before[1]} gave it {before[0]}")
        else:
            files.grades[qid][name] = int(grade), number


def numbered_lines(text: str) -> Iterator[tuple[int, str]]:
    """The non-empty lines, numbered from 1, without a byte order mark."""
    for number, line in enumerate(text.removeprefix("\ufeff").split("\n"), start=1):
        if line.strip():
            yield number, line


def format_trec_queries(texts: Mapping[UUID, str]) -> Iterator[str]:
    """The file of queries; line breaks in a text become blanks."""
    return (f"{id}\t{' '.join(text.split())}" for id, text in texts.items())


def format_qrels(grades: Mapping[UUID, Mapping[UUID, int]]) -> Iterator[str]:
    """The qrels file."""
    return (f"{id} 0 {memory} {grade}" for id, judged in grades.items() for memory, grade in judged.items())
