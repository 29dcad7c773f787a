"""Statements on their way to Postgres and back: libpq's own pipeline, a journey sent at once or in two parts.

The driver's pipeline makes a cursor for each statement and looks at the socket after each; for twenty small ones that
takes longer than the database takes to answer them.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import count
from select import POLLIN, POLLOUT, poll
from typing import Any, NamedTuple

import numpy as np
import psycopg
from numpy.typing import NDArray
from pgvector import Vector
from psycopg import adapt, adapters
from psycopg.abc import Buffer, Transformer
from psycopg.adapt import AdaptersMap, Dumper, Loader, PyFormat
from psycopg.pq import ConnStatus, ExecStatus, Format, TransactionStatus
from psycopg.pq.abc import PGresult

from memories.db.id_arrays import ID

MAX_PREPARED = 200  # statements that the database keeps prepared for a connection
PLACEHOLDER = re.compile(r"%(?:\((\w+)\)s|%)")
Connection = psycopg.Connection[Any]
# Bytes before the values of an array: how many dimensions, whether some are NULL, their type; then for each dimension.
HEAD, FOR_EACH = 12, 8
Key = tuple[bytes, tuple[int, ...]]  # the text of a statement and the types of its values


class PackedStatement(NamedTuple):
    """A statement as it travels."""

    key: Key
    values: Sequence[Buffer | None]
    formats: Sequence[Format]


class SentStatement(NamedTuple):
    """What a result answers: a statement, or the order to keep one under a name or to let go of one."""

    key: Key
    told: bool = True
    kept: bytes = b""
    dropped: bytes = b""


class Context(NamedTuple):
    """How values become bytes on a connection, and bytes values."""

    adapters: AdaptersMap
    connection: Connection


class VectorDumper(Dumper):
    """A vector as Postgres keeps it: to spell its numbers takes longer than to compare them."""

    format = Format.BINARY

    def dump(self, obj: Vector) -> Buffer:
        """Its bytes; the statement says what they are, by `::vector`."""
        packed: bytes = obj.to_binary()
        return packed


def array_loader(kind: np.dtype[Any]) -> type[Loader]:
    """How an array of numbers without NULL becomes one of numpy: value by value it would take ten times as long."""
    sized = np.dtype([("size", ">i4"), ("value", kind.newbyteorder(">"))])

    class Numbers(Loader):
        format = Format.BINARY

        def load(self, data: Buffer) -> NDArray[Any]:
            dimensions, holds_null = np.frombuffer(data, ">i4", 2).tolist()
            if holds_null:
                raise ValueError("an array that is read as numbers must hold no NULL")
            if not dimensions:
                return np.empty(0, kind)
            shape = np.frombuffer(data, ">i4", 2 * dimensions, HEAD)[::2]
            return np.frombuffer(data, sized, offset=HEAD + FOR_EACH * dimensions)["value"].astype(kind).reshape(shape)

    return Numbers


# Times as microseconds since 2000, as Postgres has them.
NUMBERS = {
    "int4": array_loader(np.dtype(np.int32)),
    "int8": array_loader(np.dtype(np.int64)),
    "float8": array_loader(np.dtype(np.float64)),
    "timestamptz": array_loader(np.dtype(np.int64)),
    "uuid": array_loader(ID),
}


class ArrayDumper(Dumper):
    """Numbers or ids as one array: a list of them would be spelt one by one."""

    format = Format.BINARY

    def __init__(self, cls: type, context: Any = None, kind: np.dtype[Any] | None = None) -> None:
        super().__init__(cls, context)
        name = "uuid" if kind == ID else "float8"
        self.sent: np.dtype[Any] = ID.newbyteorder(">") if kind == ID else np.dtype(">f8")
        self.single, self.oid = adapters.types[name].oid, adapters.types[name].array_oid

    def get_key(self, obj: NDArray[Any], format: PyFormat) -> Any:
        """Arrays of ids are sent otherwise than arrays of numbers."""
        return self.cls, obj.dtype == ID

    def upgrade(self, obj: NDArray[Any], format: PyFormat) -> "ArrayDumper":
        """The one for what an array holds."""
        return ArrayDumper(self.cls, None, obj.dtype)

    def dump(self, obj: NDArray[Any]) -> Buffer:
        """What an array begins with, and each value with its size."""
        sized = np.empty(len(obj), [("size", ">i4"), ("value", self.sent)])
        sized["size"], sized["value"] = self.sent.itemsize, obj
        return np.array([1, 0, self.single, len(obj), 1], ">i4").tobytes() + sized.tobytes()


@lru_cache(maxsize=512)
def numbered_placeholders(sql: str) -> tuple[bytes, tuple[str, ...]]:
    """A statement with $1, $2 and so on for its named values, and their names in that order.

    >>> numbered_placeholders("SELECT %(a)s, %(b)s, 5 %% %(a)s")
    (b'SELECT $1, $2, 5 % $1', ('a', 'b'))
    """
    names: dict[str, int] = {}
    text = PLACEHOLDER.sub(lambda one: f"${names.setdefault(one[1], len(names) + 1)}" if one[1] else "%", sql)
    return text.encode(), tuple(names)


def pack_statement(transformer: Transformer, sql: str, values: Mapping[str, Any]) -> PackedStatement:
    """A statement ready to be sent."""
    text, names = numbered_placeholders(sql)
    if not names:
        return PackedStatement((text, ()), (), ())
    dumped = transformer.dump_sequence([values[name] for name in names], [PyFormat.AUTO] * len(names))
    return PackedStatement((text, transformer.types or ()), dumped, transformer.formats or ())


class Wire:
    """What is known of a connection: its adapters, and which statements its database has kept."""

    def __init__(self, raw: Connection) -> None:
        self.adapters = AdaptersMap(raw.adapters)
        self.adapters.register_dumper(Vector, VectorDumper)
        self.adapters.register_dumper(np.ndarray, ArrayDumper)
        for kind, loader in NUMBERS.items():
            self.adapters.register_loader(self.adapters.types[kind].array_oid, loader)
        self.transformer: Transformer = adapt.Transformer(Context(self.adapters, raw))
        self.names: dict[Key, bytes] = {}
        self.times: dict[Key, int] = {}
        self.numbers = count()
        self.begins: Sequence[Any] = ()  # the orders that begin a transaction with the next journey

    @classmethod
    def of(cls, raw: Connection) -> "Wire":
        """The one of a connection; kept there, because each knows of the other and both go together."""
        known: dict[str, Any] = vars(raw)
        if "recall_wire" not in known:
            known["recall_wire"] = cls(raw)
        wire: Wire = known["recall_wire"]
        return wire

    def results(
        self,
        raw: Connection,
        statements: Sequence[PackedStatement],
        later: Callable[[], Sequence[PackedStatement]] | None,
        meanwhile: Callable[[], None],
    ) -> list[PGresult]:
        """Put statements one after another, and give the result of each, up to the first that failed.

        Those of later are worked out while the database is busy with the others, and what is to be done meanwhile is
        done once it has them all.
        """
        # In a transaction that has failed only the way out of it is let through, and no order to let go of a statement.
        failed = raw.pgconn.transaction_status == TransactionStatus.INERROR
        threshold = None if failed else raw.prepare_threshold
        raw.pgconn.enter_pipeline_mode()
        sent = [one for statement in statements for one in self.send(raw, statement, threshold)]
        if later:
            raw.pgconn.send_flush_request()
            flush_all(raw)
            sent += [one for statement in later() for one in self.send(raw, statement, threshold)]
        raw.pgconn.pipeline_sync()
        flush_all(raw)
        meanwhile()
        results = []
        for result, one in zip(receive_results(raw), sent, strict=True):
            if result.status != ExecStatus.COMMAND_OK:
                self.undo(one)
            # What follows a failure is refused, and tells nothing.
            if (one.told or result.status == ExecStatus.FATAL_ERROR) and result.status != ExecStatus.PIPELINE_ABORTED:
                results.append(result)
        raw.pgconn.exit_pipeline_mode()
        return results

    def send(self, raw: Connection, statement: PackedStatement, threshold: int | None) -> Iterator[SentStatement]:
        """Put one statement, by its name where the database has kept it or is to keep it from now on."""
        (text, types), values, formats = statement
        name = self.names.get(statement.key)
        if name is None and self.should_prepare(statement.key, threshold):
            if len(self.names) >= MAX_PREPARED:
                oldest = next(iter(self.names))
                dropped = self.names.pop(oldest)
                raw.pgconn.send_query_params(b"DEALLOCATE " + dropped, None)
                yield SentStatement(oldest, told=False, dropped=dropped)
            # At once: the same statement may come again in this journey.
            name = self.names[statement.key] = b"recall_%d" % next(self.numbers)
            raw.pgconn.send_prepare(name, text, types)
            yield SentStatement(statement.key, told=False, kept=name)
        if name is None:
            raw.pgconn.send_query_params(text, values, types, formats, Format.BINARY)
        else:
            raw.pgconn.send_query_prepared(name, values, formats, Format.BINARY)
        yield SentStatement(statement.key)

    def undo(self, sent: SentStatement) -> None:
        """Take back what was noted of a statement that the database did not come to keep, or to let go of."""
        if sent.kept and self.names.get(sent.key) == sent.kept:
            del self.names[sent.key]
        if sent.dropped:
            self.names[sent.key] = sent.dropped

    def should_prepare(self, key: Key, threshold: int | None) -> bool:
        """Whether a statement was put often enough to be kept; where a pooler may stand between, none ever is."""
        if threshold is None:
            return False
        if len(self.times) > 10 * MAX_PREPARED:
            self.times.clear()
        self.times[key] = self.times.get(key, 0) + 1
        return self.times[key] > threshold


def flush_all(raw: Connection) -> None:
    """Send all that was put; who does not read meanwhile may not be read either."""
    if not raw.pgconn.flush():
        return
    waiting = poll()
    waiting.register(raw.pgconn.socket, POLLIN | POLLOUT)
    while raw.pgconn.flush():
        waiting.poll()
        raw.pgconn.consume_input()


def receive_results(raw: Connection) -> Iterator[PGresult]:
    """What comes back, up to the end of the journey."""
    pg, waiting = raw.pgconn, poll()
    waiting.register(pg.socket, POLLIN)
    while True:
        while pg.is_busy():
            waiting.poll()
            pg.consume_input()
        if (result := pg.get_result()) is None:
            if pg.status == ConnStatus.BAD:
                raise psycopg.OperationalError("the connection to the database is lost")
        elif result.status == ExecStatus.PIPELINE_SYNC:
            return
        else:
            yield result
