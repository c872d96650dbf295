"""Which brokers are slow, and is it them, the network, throttling, or a request that waits on purpose?"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from kdissect.columnar.batch import Columns
from kdissect.report.human import duration_ms
from kdissect.report.stats import Budget, Latencies
from kdissect.triage.bodies import asked_for
from kdissect.triage.evidence import Evidence
from kdissect.triage.question import Batch, Problem, Question, Whole, clients_text, problem
from kdissect.triage.thresholds import Thresholds

if TYPE_CHECKING:
    from kdissect.dissect import Connection
    from kdissect.exchange import Exchange

CODE: Final = "latency.slow_broker"
PRODUCE, FETCH, SHARE_FETCH = 0, 1, 78
JUDGED: Final = frozenset({0, 1, 2, 3, 8, 9, 10, 12, 13, 23, 24, 25, 26, 28, 36, 68, 78, 79, 88})
"""Keys whose answer needs no waiting for others: data, offsets, heartbeats, metadata.  Joining a group waits for its
members, administration for the controller, and both take their time."""
POLLS: Final = frozenset({FETCH, SHARE_FETCH})
"""Keys that wait up to ``max_wait_ms`` for data; only what goes beyond is held against the broker."""
USUAL_WAIT_MS: Final = 500
"""``fetch.max.wait.ms`` of consumers and ``replica.fetch.wait.max.ms`` by default."""
EXACT: Final = 1 << 20
MOST_ROWS: Final = 5_000
MOST_ENDS: Final = 10_000


class _Row:
    """One API of one broker."""

    __slots__ = ("answers", "broker_ms", "evidence", "polls", "stalls", "throttled", "wire_ms")

    def __init__(self, budget: Budget) -> None:
        self.answers = self.polls = self.stalls = self.throttled = 0
        self.wire_ms = Latencies(budget)
        self.broker_ms = Latencies(budget)
        self.evidence = Evidence()


class Latency:
    """Splits latencies by broker and API.

    What is measured is the time at the capture from the whole request to the
    whole response.  A throttled answer is set apart; of a poll only the time
    beyond ``max_wait_ms`` counts.  The way between capture and broker (from
    the TCP handshakes) is taken off at the end.
    """

    def __init__(self, thresholds: Thresholds) -> None:
        self._limits = thresholds
        self._budget = Budget(EXACT)
        self._rows: dict[tuple[str, int], _Row] = {}
        self._slow = thresholds.slow_ms
        self._waits: dict[int, int] = {}
        """Connection -> the wait that its last decoded poll asked for: it is the client's setting, one poll like the other."""
        self._table: list[dict[str, Any]] = []

    def feed(self, batch: Batch) -> None:
        for key, exchanges in batch.by_key.items():
            if key not in JUDGED:
                continue
            polling = key in POLLS
            for exchange in exchanges:
                wire = exchange.latency_ms
                if wire is None:
                    continue
                row = self._rows.get((exchange.broker, key))
                if row is None:
                    row = self._row(exchange.broker, key)
                row.answers += 1
                row.wire_ms.add(wire)
                took = wire
                if exchange.throttle_time_ms:
                    row.throttled += 1
                    continue
                if polling and took > 0:
                    waits = _max_wait(exchange)
                    if waits:
                        self._waits[exchange.connection] = waits
                        row.polls += 1
                        took = max(0.0, took - waits)
                row.broker_ms.add(took)
                if took >= self._slow:
                    row.evidence.add(exchange, took)
                    row.stalls += took >= self._limits.stall_ms

        if batch.columns is not None:
            self._columns(batch, batch.columns)

    def _columns(self, batch: Batch, columns: Columns) -> None:
        """The same for exchanges in columns, connection by connection."""
        which = np.flatnonzero(columns.answered & np.isin(columns.api_key, tuple(JUDGED)))
        group = columns.connection[which] << 16 | columns.api_key[which]
        order = np.argsort(group, kind="stable")
        distinct, begins = np.unique(group[order], return_index=True)
        for place, rows in zip(distinct.tolist(), np.split(which[order], begins[1:]), strict=True):
            connection, key = columns.connections[place >> 16], place & 0xFFFF
            row = self._rows.get((connection.broker, key)) or self._row(connection.broker, key)
            wire = (columns.response_time_ns[rows] - columns.request_time_ns[rows]) / 1e6
            row.answers += len(rows)
            row.wire_ms.add_all(wire.tolist())
            throttled = columns.throttle_ms[rows] > 0
            row.throttled += int(np.count_nonzero(throttled))
            rows, took = rows[~throttled], wire[~throttled]
            waits = self._waits.get(connection.number, USUAL_WAIT_MS) if key in POLLS else 0
            if waits:
                row.polls += len(rows)
                took = np.maximum(0.0, took - waits)
            row.broker_ms.add_all(took.tolist())
            slow = took >= self._slow
            row.evidence.add_rows(batch, rows[slow], took[slow])
            row.stalls += int(np.count_nonzero(took >= self._limits.stall_ms))

    def _row(self, broker: str, key: int) -> _Row:
        if len(self._rows) >= MOST_ROWS:
            broker = "others"
        return self._rows.setdefault((broker, key), _Row(self._budget))

    def conclude(self, whole: Whole) -> Iterable[Problem]:
        from kdissect import schema

        network = _network(whole.connections)
        slow: dict[str, list[tuple[int, _Row, dict[str, Any]]]] = {}
        for (broker, key), row in self._rows.items():
            far, rtt = network.get(broker, (None, None))
            split = {
                "broker": broker,
                "api": schema.api_name(key),
                "answers": row.answers,
                "wire_ms": row.wire_ms.summary(),
                "broker_ms": _less(row.broker_ms.summary(), far or 0.0),
                "to_broker_ms": far,
                "rtt_ms": rtt,
                "polls": row.polls,
                "throttled": row.throttled,
            }
            self._table.append(split)
            judged = row.answers - row.throttled
            often = row.evidence.count >= self._limits.slow_share * judged
            slow_enough = (row.evidence.count >= self._limits.slow_count and often) or row.stalls >= self._limits.stall_count
            if slow_enough and (far or 0.0) < self._slow / 2:
                slow.setdefault(broker, []).append((key, row, split))
        self._table.sort(key=lambda split: (split["broker"], -split["answers"]))
        for broker, rows in slow.items():
            yield self._problem(broker, rows)
        yield from self._network_problem(whole, network)

    def _problem(self, broker: str, rows: list[tuple[int, _Row, dict[str, Any]]]) -> Problem:
        rows.sort(key=lambda item: -item[1].evidence.count)
        evidence = Evidence()
        for _, row, _ in rows:
            evidence.merge(row.evidence)
        split = rows[0][2]
        times = split["broker_ms"]
        apis = ", ".join(f"{row.evidence.count:,} of {row.answers:,} {split['api']}" for _, row, split in rows)
        return problem(
            CODE,
            "warning",
            "Broker answers slowly",
            f"Broker {broker} took {duration_ms(self._slow)} or more for {apis}; {split['api']} p95 {duration_ms(times['p95'])}, "
            f"max {duration_ms(times['max'])} without waiting, throttling or network"
            + (f" (round trip {duration_ms(split['rtt_ms'])})" if split["rtt_ms"] is not None else "")
            + f". Felt by {clients_text(evidence)}.",
            evidence,
            why="Producers and consumers wait for these answers; their buffers fill and their lag grows.",
            advice="For Produce with acks=all look at the followers' replication too; on the broker at disks, page "
            "cache, garbage "
            "collection and the request queue (RequestQueueTimeMs, LocalTimeMs, RemoteTimeMs of this API).",
            details=[split for _, _, split in rows],
        )

    def _network_problem(self, whole: Whole, network: Mapping[str, tuple[float | None, float | None]]) -> Iterable[Problem]:
        lossy = [
            (connection, connection.ledger.duplicate / connection.ledger.captured)
            for connection in whole.connections
            if connection.protocol == "kafka"
            and connection.ledger.duplicate >= self._limits.retransmit_bytes
            and connection.ledger.duplicate >= self._limits.retransmit_share * connection.ledger.captured
        ]
        far = {broker: rtt for broker, (_, rtt) in network.items() if rtt is not None and rtt >= self._limits.rtt_ms}
        if not lossy and not far:
            return
        parts = []
        if far:
            worst = max(far, key=lambda broker: far[broker])
            parts.append(f"the round trip to {worst} is {duration_ms(far[worst])}")
        if lossy:
            worst_one, share = max(lossy, key=lambda item: item[1])
            parts.append(
                f"{len(lossy):,} connections repeat bytes, most of all {worst_one.client} with {worst_one.broker} ({share:.1%})"
            )
        yield Problem(
            CODE,
            "warning" if lossy else "note",
            "The network is slow",
            f"Not the brokers but the way to them takes time: {'; '.join(parts)}.",
            "Every request takes at least one round trip, and a lost segment stalls its connection for 200 ms and more.",
            "Look at drops and errors of interfaces and switches on the way, and whether clients and brokers are in one zone.",
            len(lossy) + len(far),
            connections=[connection.number for connection, _ in lossy[:1000]],
        )

    def table(self) -> Any:
        return self._table


def _network(connections: Iterable[Connection]) -> dict[str, tuple[float | None, float | None]]:
    """Broker -> median milliseconds from the capture to it and back, and from end to end."""
    ways: dict[str, list[tuple[int, int]]] = {}
    for connection in connections:
        life = connection.lifetime
        if connection.protocol == "kafka" and life.opener == connection.client_side and life.rtt_ns is not None:
            of_broker = ways.setdefault(connection.broker, [])
            if len(of_broker) < MOST_ENDS:
                of_broker.append((life.far_ns or 0, life.rtt_ns))
    return {
        broker: (sorted(far for far, _ in each)[len(each) // 2] / 1e6, sorted(rtt for _, rtt in each)[len(each) // 2] / 1e6)
        for broker, each in ways.items()
    }


def _less(summary: Mapping[str, float] | None, way: float) -> dict[str, float] | None:
    """Percentiles without the way to the broker; its round trip is measured to the microsecond at best."""
    return None if summary is None else {name: round(max(0.0, value - way), 6) for name, value in summary.items()}


def _max_wait(exchange: Exchange) -> int:
    body = asked_for(exchange)
    waits = body.get("max_wait_ms", 0) if body else 0
    return waits if isinstance(waits, int) else 0


def question() -> Question:
    """The question about latency."""
    return Question("latency", (CODE,), Latency)
