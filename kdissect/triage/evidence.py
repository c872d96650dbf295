"""What a finding rests on: how often, when, who, and which exchanges to look at."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from copy import copy
from dataclasses import dataclass
from heapq import heappush, heapreplace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from kdissect.exchange import rfc3339

if TYPE_CHECKING:
    import numpy.typing as npt

    from kdissect.exchange import Exchange
    from kdissect.model import Int64s
    from kdissect.triage.question import Batch

    Floats = npt.NDArray[np.float64]

KEPT: Final = 10
"""Exchanges that a finding names."""
WHOLE: Final = 3
"""Of these, the ones that are kept with their decoded bodies."""
MOST_CONNECTIONS: Final = 1000
MOST_CLIENTS: Final = 1000


@dataclass(frozen=True, slots=True)
class Client:
    """Who sends requests: an address without its port, and a client id."""

    address: str
    client_id: str | None

    def __str__(self) -> str:
        return self.address if self.client_id is None else f"{self.client_id} ({self.address})"


def client_of(exchange: Exchange) -> Client:
    """The client of an exchange."""
    return Client(exchange.client.rpartition(":")[0], exchange.client_id)


@dataclass(frozen=True, slots=True)
class Sample:
    """One exchange that shows the problem."""

    exchange: Exchange
    """Without its bytes, so that no batch of packets is held on to; bodies only in the first :data:`WHOLE`."""

    def to_json(self) -> dict[str, object]:
        """Where to open it: with ``kdissect show`` or by packet number in Wireshark."""
        it = self.exchange
        return {
            "exchange": it.index,
            "time": rfc3339(it.request_time_ns if it.request_time_ns is not None else it.response_time_ns, it.time_digits),
            "file": it.file,
            "request_packets": it.request_packets,
            "response_packets": it.response_packets,
            "connection": it.connection,
            "api": it.api,
        }


class Evidence:
    """Gathers exchanges in bounded memory.

    The first :data:`KEPT` are named, or those of the highest weight where weights are given.
    """

    __slots__ = ("_heap", "_order", "clients", "connections", "count", "digits", "first_ns", "last_ns")

    def __init__(self) -> None:
        self.count = 0
        self.first_ns: int | None = None
        self.last_ns: int | None = None
        self.digits = 6
        self.connections: dict[int, None] = {}
        self.clients: Counter[Client] = Counter()
        self._heap: list[tuple[float, int, Exchange]] = []
        self._order = 0

    def add(self, exchange: Exchange, weight: float = 0.0, client: Client | None = None) -> None:
        """Count one exchange; ``weight``: how much it shows."""
        self.count += 1
        when = exchange.request_time_ns if exchange.request_time_ns is not None else exchange.response_time_ns
        if when is not None:
            if self.first_ns is None or when < self.first_ns:
                self.first_ns = when
            if self.last_ns is None or when > self.last_ns:
                self.last_ns = when
        self.digits = exchange.time_digits
        if len(self.connections) < MOST_CONNECTIONS:
            self.connections[exchange.connection] = None
        who = client or client_of(exchange)
        if len(self.clients) < MOST_CLIENTS or who in self.clients:
            self.clients[who] += 1
        self._keep(weight, exchange)

    def add_rows(self, batch: Batch, rows: Int64s, weights: Int64s | Floats | None = None) -> None:
        """Count exchanges of a batch's columns; ``weights``: how much each shows, else the first are named."""
        columns = batch.columns
        if columns is None or not len(rows):
            return
        self.count += len(rows)
        times = columns.request_time_ns[rows]
        first, last = int(times.min()), int(times.max())
        self.first_ns = first if self.first_ns is None else min(self.first_ns, first)
        self.last_ns = last if self.last_ns is None else max(self.last_ns, last)
        ids = len(columns.client_ids)
        pairs, counts = np.unique(columns.connection[rows] * ids + columns.client_id[rows], return_counts=True)
        for pair, number in zip(pairs.tolist(), counts.tolist(), strict=True):
            connection = columns.connections[pair // ids]
            if len(self.connections) < MOST_CONNECTIONS:
                self.connections[connection.number] = None
            who = Client(connection.client.rpartition(":")[0], columns.client_ids[pair % ids])
            if len(self.clients) < MOST_CLIENTS or who in self.clients:
                self.clients[who] += number
        shown = rows[:KEPT] if weights is None else rows[np.argsort(-weights, kind="stable")[:KEPT]]
        heaviest = np.zeros(KEPT) if weights is None else -np.sort(-weights)[:KEPT]
        for row, weight in zip(shown.tolist(), heaviest.tolist(), strict=False):
            exchange = batch.at(row)
            self.digits = exchange.time_digits
            self._keep(weight, exchange)

    def _keep(self, weight: float, exchange: Exchange) -> None:
        self._order -= 1
        if len(self._heap) < KEPT:
            heappush(self._heap, (weight, self._order, _light(exchange)))
        elif weight > self._heap[0][0]:
            heapreplace(self._heap, (weight, self._order, _light(exchange)))

    def merge(self, other: Evidence) -> None:
        """Take over what another gathered."""
        self.count += other.count
        self.first_ns = min((t for t in (self.first_ns, other.first_ns) if t is not None), default=None)
        self.last_ns = max((t for t in (self.last_ns, other.last_ns) if t is not None), default=None)
        self.digits = other.digits
        for connection in other.connections:
            if len(self.connections) < MOST_CONNECTIONS:
                self.connections[connection] = None
        for who, number in other.clients.items():
            if len(self.clients) < MOST_CLIENTS or who in self.clients:
                self.clients[who] += number
        for weight, _, exchange in sorted(other._heap, key=lambda item: (-item[0], -item[1])):
            self._keep(weight, exchange)

    @property
    def samples(self) -> list[Sample]:
        """The exchanges that show it, heaviest first; only the first few with their bodies."""
        ordered = [exchange for _, _, exchange in sorted(self._heap, key=lambda item: (-item[0], -item[1]))]
        return [Sample(exchange if at < WHOLE else _bare(exchange)) for at, exchange in enumerate(ordered)]

    @property
    def duration_s(self) -> float:
        """Seconds from the first to the last."""
        if self.first_ns is None or self.last_ns is None:
            return 0.0
        return (self.last_ns - self.first_ns) / 1e9


def merged(parts: Iterable[Evidence]) -> Evidence:
    """All of them as one."""
    whole = Evidence()
    for part in parts:
        whole.merge(part)
    return whole


def _light(exchange: Exchange) -> Exchange:
    it: Any = copy(exchange)
    it.request_frame = it.response_frame = None
    kept: Exchange = it
    return kept


def _bare(exchange: Exchange) -> Exchange:
    it: Any = copy(exchange)
    it.request = it.response = None
    kept: Exchange = it
    return kept
