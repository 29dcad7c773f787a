"""Import of a file, batch by batch, from where the last attempt stopped."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain, islice
from typing import IO

from django.db import transaction

from memories.contracts.json_lines import InvalidLineError, Line, LineBatch, LineReader, line_batches, parse_line
from memories.models import Namespace
from memories.transfer.checkpoint import ENDED, RESTORED, Checkpoint, ConcurrentImportError, ImportStoppedError
from memories.transfer.import_lines import LineOutcome, MemoryValidator, import_batches_ahead
from memories.transfer.planner_statistics import StatisticsRefresh
from memories.transfer.restore import Restore, apply_header, filled_table
from memories.writing.lock import lock_namespace

MEMORIES, ROWS = "memories", "rows"  # what a file holds, stored as the step of its job
# Yields each batch with a function that stores it, to be called in the transaction that advances the checkpoint.
BatchWriter = Callable[[Iterator[LineBatch]], Iterator[tuple[LineBatch, Callable[[], list[LineOutcome]]]]]


@dataclass
class FileImport:
    """The import of one file: memories, or the rows of an export."""

    namespace: Namespace
    checkpoint: Checkpoint
    reader: LineReader
    lines: Iterator[Line]
    writer: BatchWriter
    resumed_at: int = 0  # lines imported by an earlier attempt

    @classmethod
    def begin(
        cls,
        namespace: Namespace,
        file: str,
        stream: IO[bytes],
        *,
        restart: bool,
        by: str,
        validate: MemoryValidator | None = None,
    ) -> "FileImport":
        """Resume the last attempt at this file, or start at its first line; only exports need no `validate`."""
        reader, checkpoint = LineReader(stream), None if restart else Checkpoint.latest(namespace, file)
        # A stream that cannot be read twice is not checked against a finished import.
        if checkpoint is not None and (stream.seekable() or not checkpoint.is_finished):
            if checkpoint.skip_to(reader):
                checkpoint.resume()
                if not checkpoint.job.done:
                    return cls.from_first_line(namespace, reader, checkpoint, validate)
                writer = batch_writer(namespace, checkpoint, validate)
                return cls(namespace, checkpoint, reader, reader.lines(), writer, checkpoint.job.done)
            if not checkpoint.is_finished:
                raise ImportStoppedError(
                    f"The first {checkpoint.job.done} lines of {file} were imported and have changed since: "
                    "pass the file as it was, or import all of it with --restart."
                )
            stream.seek(0)
            reader = LineReader(stream)
        checkpoint = Checkpoint.create(namespace, file, reader, by=by)
        return cls.from_first_line(namespace, reader, checkpoint, validate)

    @classmethod
    def from_first_line(
        cls, namespace: Namespace, reader: LineReader, checkpoint: Checkpoint, validate: MemoryValidator | None
    ) -> "FileImport":
        """Tell by the first line whether the file holds memories or an export."""
        lines = reader.lines()
        first = list(islice(lines, 1))
        checkpoint.job.step = ROWS if any(map(is_header, first)) else MEMORIES
        try:
            if checkpoint.job.step == ROWS:
                begin_restore(namespace, first.pop(), checkpoint, reader)
            writer = batch_writer(namespace, checkpoint, validate)
        except ImportStoppedError as error:
            checkpoint.finish(str(error))
            raise
        return cls(namespace, checkpoint, reader, chain(first, lines), writer)

    def run(self, size: int, report: Callable[[list[LineOutcome]], None]) -> Iterator[int]:
        """Store batch after batch, each in one transaction with the checkpoint; yield the line number after each."""
        try:
            statistics = StatisticsRefresh()
            for batch, store in self.writer(line_batches(self.reader, self.lines, size)):
                with transaction.atomic():
                    self.checkpoint.lock()
                    outcomes = store()
                    self.checkpoint.advance(batch, [outcome["outcome"] for outcome in outcomes])
                    # Before the commit: after a crash, reported twice is better than never.
                    report(outcomes)
                statistics.add(len(outcomes))
                yield batch.number
            if isinstance(self.writer, Restore):
                if not self.writer.ended:
                    raise ImportStoppedError(
                        f"The export is cut off after line {self.reader.number}: its last line is missing."
                    )
                for _ in self.writer.embed_missing():
                    yield self.reader.number
        except ConcurrentImportError:
            raise
        except ImportStoppedError as error:
            self.checkpoint.finish(str(error))
            raise
        self.checkpoint.finish()


def batch_writer(namespace: Namespace, checkpoint: Checkpoint, validate: MemoryValidator | None) -> BatchWriter:
    """What stores the lines of a file."""
    if checkpoint.job.step == ROWS:
        ended = ENDED in checkpoint.job.result["outcomes"]
        return Restore(namespace, checkpoint.job.params["vectors"], checkpoint.counts.get(RESTORED, 0), ended)
    if validate is None:
        raise ImportStoppedError("The file is no export: its first line has no recall.")

    def write(batches: Iterator[LineBatch]) -> Iterator[tuple[LineBatch, Callable[[], list[LineOutcome]]]]:
        return import_batches_ahead(namespace, batches, validate, by=checkpoint.job.by)

    return write


def is_header(line: Line) -> bool:
    """Whether a line is the header of an export."""
    try:
        header = parse_line(line)
    except InvalidLineError:
        return False
    return isinstance(header, dict) and "recall" in header


@transaction.atomic
def begin_restore(namespace: Namespace, line: Line, checkpoint: Checkpoint, reader: LineReader) -> None:
    """Apply the header of an export to an empty namespace."""
    lock_namespace(namespace)
    if table := filled_table(namespace):
        raise ImportStoppedError(
            f"An export can only be restored into an empty namespace, and {namespace.slug} has rows of {table}: "
            "name another, with --create if it is new."
        )
    checkpoint.job.params["vectors"] = apply_header(namespace, line)
    checkpoint.advance(reader, [])
