"""The tables of ``kdissect stats``: counts, bytes and latencies by API, client, topic and error.

Memory is bounded: at most :data:`MAX_ROWS` rows a table, what comes later is
summed up in one row without a name; and at most :data:`MAX_EXACT` latencies kept
exactly over all rows (128 MiB), after which the rows that need more keep theirs
to three significant digits.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from math import ceil, floor, log10
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from kdissect.columnar.batch import ExchangeBatch
from kdissect.columnar.tally import count
from kdissect.exchange import rfc3339

if TYPE_CHECKING:
    from kdissect.dissect import CaptureInfo, Connection, Dissection
    from kdissect.exchange import Exchange

MAX_ROWS: Final = 10_000
MAX_EXACT: Final = 1 << 24
OUTCOMES: Final = ("answered", "no_reply_expected", "unanswered", "request_missing")


class Budget:
    """How many more latencies may be kept exactly."""

    def __init__(self, left: int = MAX_EXACT) -> None:
        self.left = left


class Latencies:
    """A distribution of latencies in milliseconds with nearest-rank percentiles."""

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self._exact: array[float] | None = array("d")
        self._rounded: Counter[float] = Counter()

    def add(self, ms: float) -> None:
        """Counts one latency."""
        if self._exact is None:
            self._rounded[_three_digits(ms)] += 1
        elif self._budget.left > 0:
            self._budget.left -= 1
            self._exact.append(ms)
        else:
            exact, self._exact = self._exact, None
            self._budget.left += len(exact)
            self._rounded.update(map(_three_digits, exact))
            self._rounded[_three_digits(ms)] += 1

    def add_all(self, ms: list[float]) -> None:
        """Counts many."""
        if self._exact is not None and self._budget.left >= len(ms):
            self._budget.left -= len(ms)
            self._exact.extend(ms)
        else:
            for each in ms:
                self.add(each)

    def summary(self) -> dict[str, float] | None:
        """``p50``, ``p95``, ``p99`` and ``max``; ``None`` where nothing was measured."""
        if self._exact is not None:
            values = sorted(self._exact)
            if not values:
                return None
            return {name: values[max(1, ceil(len(values) * p / 100)) - 1] for name, p in _PERCENTILES}
        total, seen, result = self._rounded.total(), 0, {}
        ranks = [(name, max(1, ceil(total * p / 100))) for name, p in _PERCENTILES]
        for value in sorted(self._rounded):
            seen += self._rounded[value]
            while ranks and seen >= ranks[0][1]:
                result[ranks.pop(0)[0]] = value
        return result


_PERCENTILES: Final = (("p50", 50), ("p95", 95), ("p99", 99), ("max", 100))


def _three_digits(ms: float) -> float:
    return round(ms, 2 - floor(log10(abs(ms)))) if ms else 0.0


class Tally:
    """What is counted for every row of every table."""

    def __init__(self, budget: Budget) -> None:
        self.exchanges = self.errors = self.unanswered = self.request_bytes = self.response_bytes = 0
        self.latencies = Latencies(budget)
        self.versions: Counter[int] = Counter()
        self.connections: set[int] = set()

    def add(self, exchange: Exchange) -> None:
        """Counts an exchange."""
        self.exchanges += 1
        self.errors += bool(exchange.error_codes)
        self.unanswered += exchange.outcome == "unanswered"
        self.request_bytes += exchange.request_bytes or 0
        self.response_bytes += exchange.response_bytes or 0
        if exchange.latency_ms is not None:
            self.latencies.add(exchange.latency_ms)

    def to_json(self) -> dict[str, object]:
        """The common fields of a row."""
        return {
            "exchanges": self.exchanges,
            "errors": self.errors,
            "unanswered": self.unanswered,
            "request_bytes": self.request_bytes,
            "response_bytes": self.response_bytes,
            "latency_ms": self.latencies.summary(),
        }


Key = tuple[str | int | None, ...]


Tallied = TypeVar("Tallied", bound=Tally)


class Rows(Generic[Tallied]):
    """Tallies by key, at most :data:`MAX_ROWS`; what comes later is counted under a key of nothing but None."""

    def __init__(self, make: Callable[[], Tallied]) -> None:
        self._make = make
        self._rows: dict[Key, Tallied] = {}

    def __getitem__(self, key: Key) -> Tallied:
        tally = self._rows.get(key)
        if tally is None:
            if len(self._rows) >= MAX_ROWS:
                key = (None,) * len(key)
            tally = self._rows.get(key)
            if tally is None:
                tally = self._rows[key] = self._make()
        return tally

    def __len__(self) -> int:
        return len(self._rows)

    def sorted(self) -> list[tuple[Key, Tallied]]:
        """Most exchanges first, then by key; the row of all the rest last."""
        return sorted(
            self._rows.items(),
            key=lambda row: (set(row[0]) == {None}, -row[1].exchanges, [(part is None, str(part)) for part in row[0]]),
        )


class Stats:
    """Counts exchanges batch by batch; :meth:`to_json` gives the tables."""

    def __init__(self, budget: int = MAX_EXACT) -> None:
        shared = Budget(budget)
        self.outcomes = Counter(dict.fromkeys(OUTCOMES, 0))
        self.apis, self.clients, self.topics, self.errors = (Rows(lambda: Tally(shared)) for _ in range(4))

    def add(self, batch: Sequence[Exchange]) -> None:
        """Counts a batch of exchanges."""
        singly: Iterable[Exchange] = batch
        if isinstance(batch, ExchangeBatch) and self._has_room(batch):
            count(self, batch.columns)
            singly = batch.objects.values()
        for exchange in singly:
            self.outcomes[exchange.outcome] += 1
            api = self.apis[exchange.api, exchange.api_key]
            api.add(exchange)
            if exchange.api_version is not None:
                api.versions[exchange.api_version] += 1
            client = self.clients[exchange.client.rpartition(":")[0], exchange.client_id]
            client.add(exchange)
            client.connections.add(exchange.connection)
            for topic in exchange.topics:
                self.topics[(topic,)].add(exchange)
            for code in exchange.error_codes:
                self.errors[code, exchange.api].add(exchange)

    def _has_room(self, batch: ExchangeBatch) -> bool:
        """Whether no table can come to its limit, at which the order of exchanges matters."""
        columns = batch.columns
        named = max(len(lists) for lists in (columns.topic_lists, columns.error_lists, columns.client_ids, columns.connections))
        longest = max((len(names) for names in columns.topic_lists), default=0)
        tables = self.apis, self.clients, self.topics, self.errors
        return max(map(len, tables)) + (named + len(columns.connections)) * max(1, longest) < MAX_ROWS

    def to_json(self, dissection: Dissection) -> dict[str, object]:
        """The object of the contract, in its key order."""
        return {
            "capture": capture_json(dissection.capture),
            "connections": [connection_json(connection) for connection in dissection.connections],
            "exchanges": dict(self.outcomes),
            "apis": [
                {"api": api, "api_key": key, "versions": sorted(tally.versions), **tally.to_json()}
                for (api, key), tally in self.apis.sorted()
            ],
            "clients": [
                {"client": client, "client_id": client_id, "connections": len(tally.connections), **tally.to_json()}
                for (client, client_id), tally in self.clients.sorted()
            ],
            "topics": [{"topic": topic, **tally.to_json()} for (topic,), tally in self.topics.sorted()],
            "errors": [{"error": error, "api": api, **tally.to_json()} for (error, api), tally in self.errors.sorted()],
            "ledger": dissection.ledger.to_contract(),
        }


def capture_json(capture: CaptureInfo) -> dict[str, object]:
    """Files, packets and the time that they span."""
    return {
        "files": list(capture.files),
        "packets": capture.packets,
        "tcp_packets": capture.tcp_packets,
        "first_time": rfc3339(capture.first_time_ns, capture.time_digits),
        "last_time": rfc3339(capture.last_time_ns, capture.time_digits),
    }


def connection_json(connection: Connection) -> dict[str, object]:
    """One TCP connection with its ledger."""
    return {
        "connection": connection.number,
        "client": connection.client,
        "broker": connection.broker,
        "protocol": connection.protocol,
        "exchanges": connection.exchanges,
        "ledger": connection.ledger.to_contract(),
    }
