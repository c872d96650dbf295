"""A batch of exchanges of which most are columns: objects are made of those only that somebody looks at."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple, overload

import numpy as np
import orjson

from kdissect import schema
from kdissect.columnar.flat import ABSENT
from kdissect.columnar.walk import Flags
from kdissect.exchange import Exchange
from kdissect.model import Int64s
from kdissect.schema.message import Message


class ConnectionText(NamedTuple):
    """What is the same for all exchanges of a connection."""

    number: int
    id: str
    client: str
    broker: str
    principal: str | None


class FileText(NamedTuple):
    """What is the same for all exchanges of a capture."""

    name: str
    time_digits: int


@dataclass(slots=True)
class Columns:
    """Settled exchanges with nothing to say about them; one entry an exchange, in order of release.

    Where ``answered`` is False no reply was expected, and what is said of the response is without meaning.
    """

    place: Int64s
    """Position in the batch."""
    index: Int64s
    connection: Int64s
    """Index into ``connections``; so the next two into ``files``."""
    file: Int64s
    response_file: Int64s
    request_time_ns: Int64s
    response_time_ns: Int64s
    api_key: Int64s
    api_version: Int64s
    correlation_id: Int64s
    client_id: Int64s
    """Index into ``client_ids``; so the others of their names."""
    request_bytes: Int64s
    response_bytes: Int64s
    request_first: Int64s
    """Packet numbers."""
    request_last: Int64s
    response_first: Int64s
    response_last: Int64s
    answered: Flags
    errors: Int64s
    throttle_ms: Int64s
    """:data:`~kdissect.columnar.flat.ABSENT` where there is none."""
    topics: Int64s
    groups: Int64s
    connections: list[ConnectionText]
    files: list[FileText]
    client_ids: list[str | None]
    error_lists: list[list[str]]
    topic_lists: list[list[str]]
    group_lists: list[list[str]]
    bodies: list[bytes] | None
    """``"request":...,"response":...`` as JSON, where bodies are wanted."""

    def __len__(self) -> int:
        return len(self.index)


class ExchangeBatch(Sequence[Exchange]):
    """Exchanges in order of release: some as objects, the others in columns.

    Those in columns have no frames when they are made objects; their bodies, where wanted, are read back from the JSON.
    """

    def __init__(self, columns: Columns, objects: dict[int, Exchange]) -> None:
        """``objects``: position in the batch -> exchange, for all that are not in ``columns``."""
        self.columns = columns
        self.objects = objects

    def __len__(self) -> int:
        return len(self.columns) + len(self.objects)

    def outcomes(self) -> dict[str, int]:
        """How many of those in columns ended how."""
        answered = int(np.count_nonzero(self.columns.answered))
        return {"answered": answered, "no_reply_expected": len(self.columns) - answered}

    def with_errors(self) -> int:
        """How many of those in columns have an error code."""
        failed = np.array([bool(codes) for codes in self.columns.error_lists], bool)
        return int(np.count_nonzero(failed[self.columns.errors])) if len(self.columns) else 0

    @cached_property
    def _row(self) -> dict[int, int]:
        return {place: row for row, place in enumerate(self.columns.place.tolist())}

    @overload
    def __getitem__(self, place: int) -> Exchange: ...
    @overload
    def __getitem__(self, place: slice) -> list[Exchange]: ...
    def __getitem__(self, place: int | slice) -> Exchange | list[Exchange]:
        if isinstance(place, slice):
            return [self[each] for each in range(*place.indices(len(self)))]
        if place < 0:
            place += len(self)
        if not 0 <= place < len(self):
            raise IndexError(place)
        found = self.objects.get(place)
        return found if found is not None else self._object(self._row[place])

    def __iter__(self) -> Iterator[Exchange]:
        return (self[place] for place in range(len(self)))

    @cached_property
    def _values(self) -> dict[str, list[int]]:
        """The columns as lists, which give one value quicker."""
        return {name: c.tolist() for name in Columns.__slots__ if isinstance(c := getattr(self.columns, name), np.ndarray)}

    def _object(self, row: int) -> Exchange:
        c, v = self.columns, self._values
        connection, file = c.connections[v["connection"][row]], c.files[v["file"][row]]
        answered, key, throttle = bool(v["answered"][row]), v["api_key"][row], v["throttle_ms"][row]
        other = v["response_file"][row] != v["file"][row]
        return Exchange(
            index=v["index"][row],
            file=file.name,
            response_file=c.files[v["response_file"][row]].name if answered and other else None,
            connection=connection.number,
            connection_id=connection.id,
            client=connection.client,
            broker=connection.broker,
            request_time_ns=v["request_time_ns"][row],
            response_time_ns=v["response_time_ns"][row] if answered else None,
            time_digits=file.time_digits,
            api=schema.api_name(key),
            api_key=key,
            api_version=v["api_version"][row],
            correlation_id=v["correlation_id"][row],
            client_id=c.client_ids[v["client_id"][row]],
            request_bytes=v["request_bytes"][row],
            response_bytes=v["response_bytes"][row] if answered else None,
            request_packets=(v["request_first"][row], v["request_last"][row]),
            response_packets=(v["response_first"][row], v["response_last"][row]) if answered else None,
            outcome="answered" if answered else "no_reply_expected",
            unanswered_reason=None,
            error_codes=list(c.error_lists[v["errors"][row]]),
            throttle_time_ms=None if throttle == ABSENT else throttle,
            topics=list(c.topic_lists[v["topics"][row]]),
            groups=list(c.group_lists[v["groups"][row]]),
            principal=connection.principal,
            request=self._message(row, "request"),
            response=self._message(row, "response"),
        )

    def _message(self, row: int, kind: Literal["request", "response"]) -> Message | None:
        c = self.columns
        body = None if c.bodies is None else orjson.loads(b"{%b}" % c.bodies[row])[kind]
        if body is None:
            return None
        key = int(c.api_key[row])
        return Message(schema.api_name(key), key, kind, int(c.api_version[row]), {}, body, None, 0, (), None)


def latency_ms(columns: Columns, which: Int64s | Flags) -> list[float]:
    """Milliseconds from request to response of answered exchanges, as :attr:`Exchange.latency_ms` has them."""
    spent = columns.response_time_ns[which] - columns.request_time_ns[which]
    if len(spent) and np.abs(spent).max() >= 1 << 53:
        return [each / 1e6 for each in spent.tolist()]
    latencies: list[float] = (spent / 1e6).tolist()
    return latencies
