"""Judged queries as TREC keeps them: a file of queries (`qid⇥text`) and one of judgements (`qid 0 docid grade`)."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from memories.api.retrieval import LONGEST_QUERY
from memories.api.storable import came, flaw
from memories.judging.reading import GRADES, MOST_QUERIES, Read
from memories.judging.references import METADATA, Known
from memories.judging.storing import NewQuery
from memories.models import Namespace

ID = "id"  # a docid is a memory's own
COLUMNS = 4


@dataclass
class Files:
    """Both files, understood line by line."""

    texts: dict[str, str] = field(default_factory=dict)
    grades: dict[str, dict[str, tuple[int, int]]] = field(default_factory=dict)  # qid, docid: grade and its line
    problems: dict[str, Any] = field(default_factory=dict)

    def wrong(self, file: str, line: int, message: str) -> None:
        """Remember what is wrong with a line."""
        self.problems[f"{file} line {line}"] = [message]


def read(namespace: Namespace, queries: str, qrels: str, docid: str = ID) -> Read:
    """Read both files; a docid is a memory's id, or stands under a key of its metadata (`metadata.docid`)."""
    files = Files()
    read_queries(files, queries)
    read_qrels(files, qrels)
    named = {name for grades in files.grades.values() for name in grades}
    references = {name: reference(name, docid) for name in named}
    known = Known.of(namespace, (one for one in references.values() if one is not None), docid)
    found = Read(problems=files.problems)
    for qid, text in files.texts.items():
        grades: dict[UUID, int] = {}
        for name, (grade, line) in files.grades.get(qid, {}).items():
            meant = references[name]
            memory = known.memory(meant) if meant is not None else f"docid must be a memory's id; got {came(name)}"
            if isinstance(memory, UUID):
                grades[memory] = max(grade, grades.get(memory, 0))
            else:
                files.wrong("qrels", line, memory)
        found.queries.append(NewQuery(text, grades=grades))
    return found


def reference(name: str, docid: str) -> UUID | str | None:
    """What a docid refers to; none where it should be an id and is not."""
    if docid.startswith(METADATA):
        return name
    try:
        return UUID(name)
    except ValueError:
        return None


def read_queries(files: Files, text: str) -> None:
    """The queries by their qids."""
    for number, line in numbered(text):
        qid, tab, query = line.partition("\t")
        qid, query = qid.strip(), query.strip()
        if not tab or not qid or not query:
            files.wrong("queries", number, f"must be a qid, a tab and the query's text; got {came(line)}")
        elif qid in files.texts:
            files.wrong("queries", number, f"must have a qid of its own; {qid} came before")
        elif len(query) > LONGEST_QUERY or flaw(query):
            wrong = flaw(query) or f"must have at most {LONGEST_QUERY} characters; got {len(query)}"
            files.wrong("queries", number, wrong)
        elif len(files.texts) == MOST_QUERIES:
            return files.wrong("queries", number, f"is more than {MOST_QUERIES} queries")
        else:
            files.texts[qid] = query
    return None


def read_qrels(files: Files, text: str) -> None:
    """The grades by qid and docid."""
    for number, line in numbered(text):
        columns = line.split()
        if len(columns) != COLUMNS:
            files.wrong("qrels", number, f"must have {COLUMNS} columns (qid 0 docid grade); got {came(line)}")
            continue
        qid, _, name, grade = columns
        before = files.grades.setdefault(qid, {}).get(name)
        if qid not in files.texts:
            files.wrong("qrels", number, f"must judge a qid of the queries; got {came(qid)}")
        elif flaw(name):
            files.wrong("qrels", number, f"docid {flaw(name)}")
        elif grade not in map(str, GRADES):
            files.wrong("qrels", number, f"grade must be from {GRADES[0]} to {GRADES[-1]}; got {came(grade)}")
        elif before is not None and before[0] != int(grade):
            files.wrong("qrels", number, f"must give a docid one grade; line {before[1]} gave it {before[0]}")
        else:
            files.grades[qid][name] = int(grade), number


def numbered(text: str) -> Iterator[tuple[int, str]]:
    """The lines that hold anything, counted from 1; a byte order mark is no part of the first."""
    for number, line in enumerate(text.removeprefix("\ufeff").split("\n"), start=1):
        if line.strip():
            yield number, line


def written_queries(texts: Mapping[UUID, str]) -> Iterator[str]:
    """The file of queries; a text is kept on its one line."""
    return (f"{id}\t{' '.join(text.split())}" for id, text in texts.items())


def written_qrels(grades: Mapping[UUID, Mapping[UUID, int]]) -> Iterator[str]:
    """The file of judgements."""
    return (f"{id} 0 {memory} {grade}" for id, judged in grades.items() for memory, grade in judged.items())
