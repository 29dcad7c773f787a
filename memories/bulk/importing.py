"""From a file of lines to what is stored of them, batch by batch, from where the last attempt stopped."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice
from typing import IO

from django.db import transaction
from rest_framework.exceptions import ValidationError

from memories.bulk.bookmark import ENDED, RESTORED, Bookmark, StoppedError, TakenError
from memories.bulk.lines import Batch, Line, Reader, batches, value
from memories.bulk.remembering import Told, remembered_ahead
from memories.bulk.restoring import Restore, founded, holding
from memories.bulk.statistics import Growth
from memories.models import Namespace
from memories.writing.lock import lock_namespace

MEMORIES, ROWS = "memories", "rows"  # what a file holds, and so the step of its job
# Batches come, and go with what stores each of them, in the transaction that moves the bookmark.
Work = Callable[[Iterator[Batch]], Iterator[tuple[Batch, Callable[[], list[Told]]]]]


@dataclass
class Import:
    """One file on its way into a namespace."""

    namespace: Namespace
    mark: Bookmark
    reader: Reader
    lines: Iterator[Line]
    work: Work
    before: int = 0  # lines that an earlier attempt settled

    @classmethod
    def begun(cls, namespace: Namespace, file: str, stream: IO[bytes], *, restart: bool, by: str) -> "Import":
        """Find where the last attempt at this file stopped, or begin at its first line."""
        reader, mark = Reader(stream), None if restart else Bookmark.latest(namespace, file)
        # What cannot be read twice is not asked whether it is a finished file again.
        if mark is not None and (stream.seekable() or not mark.finished):
            if mark.reached(reader):
                mark.resume()
                if not mark.job.done:
                    return cls.first(namespace, reader, mark)
                return cls(namespace, mark, reader, reader.lines(), work_of(namespace, mark), mark.job.done)
            if not mark.finished:
                raise StoppedError(
                    f"The first {mark.job.done} lines of {file} were imported, and are not the same any more: "
                    "give the file as it was, or import all of it with --restart."
                )
            stream.seek(0)
            reader = Reader(stream)
        return cls.first(namespace, reader, Bookmark.new(namespace, file, reader, by=by))

    @classmethod
    def first(cls, namespace: Namespace, reader: Reader, mark: Bookmark) -> "Import":
        """See by the first line whether memories follow, or the rows of an export."""
        lines = reader.lines()
        first = list(islice(lines, 1))
        mark.job.step = ROWS if any(map(is_header, first)) else MEMORIES
        if mark.job.step == ROWS:
            try:
                found(namespace, first.pop(), mark, reader)
            except StoppedError as error:
                mark.end(str(error))
                raise
        return cls(namespace, mark, reader, chain(first, lines), work_of(namespace, mark))

    def run(self, size: int, tell: Callable[[list[Told]], None]) -> Iterator[int]:
        """Settle batch after batch, each in one transaction with the bookmark; give the line after each."""
        try:
            growth = Growth()
            for some, store in self.work(batches(self.reader, self.lines, size)):
                with transaction.atomic():
                    self.mark.hold()
                    told = store()
                    self.mark.move(some, [one["outcome"] for one in told])
                    # Before the commit: what is told twice after a crash is better than what is never told.
                    tell(told)
                growth.grown(len(told))
                yield some.number
            if isinstance(self.work, Restore) and not self.work.ended:
                raise StoppedError(
                    f"The export is cut off after line {self.reader.number}: its last line is not there."
                )
            if isinstance(self.work, Restore):
                for _ in self.work.embedded():
                    yield self.reader.number
        except TakenError:
            raise
        except StoppedError as error:
            self.mark.end(str(error))
            raise
        self.mark.end()


def work_of(namespace: Namespace, mark: Bookmark) -> Work:
    """What is done with a file's lines."""
    if mark.job.step == ROWS:
        ended = ENDED in mark.job.result["outcomes"]
        return Restore(namespace, mark.job.params["vectors"], mark.counts.get(RESTORED, 0), ended)
    return partial(remembered_ahead, namespace, by=mark.job.by)


def is_header(line: Line) -> bool:
    """Tell whether a line begins an export."""
    try:
        first = value(line)
    except ValidationError:
        return False
    return isinstance(first, dict) and "recall" in first


@transaction.atomic
def found(namespace: Namespace, line: Line, mark: Bookmark, reader: Reader) -> None:
    """Make an empty namespace the one of the header, and go on behind it."""
    lock_namespace(namespace)
    if table := holding(namespace):
        raise StoppedError(
            f"An export is restored into an empty namespace alone, and {namespace.slug} has rows of {table} already: "
            "name another, with --create if it is new."
        )
    mark.job.params["vectors"] = founded(namespace, line)
    mark.move(reader, [])
