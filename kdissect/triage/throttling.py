"""Who is slowed down by quotas?"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from typing import Any, Final

import numpy as np

from kdissect.report.human import count, duration_ms
from kdissect.triage.evidence import Client, Evidence, client_of, merged
from kdissect.triage.question import Batch, Problem, Question, Whole, names, problem
from kdissect.triage.thresholds import Thresholds

CODE: Final = "throttle.throttled"
MOST_ROWS: Final = 5_000


class Throttling:
    """Sums up the throttle times that brokers tell, by client, broker and API."""

    def __init__(self, thresholds: Thresholds) -> None:
        self._limits = thresholds
        self._found: dict[tuple[Client, str, str], tuple[Evidence, list[int]]] = {}
        self._table: list[dict[str, Any]] = []

    def feed(self, batch: Batch) -> None:
        rows = [] if batch.columns is None else np.flatnonzero(batch.columns.throttle_ms > 0).tolist()
        for exchange in chain(batch.exchanges, map(batch.at, rows)):
            throttled = exchange.throttle_time_ms
            if not throttled:
                continue
            place = client_of(exchange), exchange.broker, exchange.api or "-"
            if place not in self._found and len(self._found) >= MOST_ROWS:
                continue
            evidence, times = self._found.setdefault(place, (Evidence(), [0, 0]))
            evidence.add(exchange, throttled)
            times[0] += throttled
            times[1] = max(times[1], throttled)

    def conclude(self, whole: Whole) -> Iterable[Problem]:
        for (who, broker, api), (evidence, (total, longest)) in sorted(self._found.items(), key=lambda item: -item[1][1][0]):
            self._table.append(
                {
                    "client": who.address,
                    "client_id": who.client_id,
                    "broker": broker,
                    "api": api,
                    "answers": evidence.count,
                    "total_ms": total,
                    "max_ms": longest,
                }
            )
        if not self._found:
            return
        evidence = merged(each for each, _ in self._found.values())
        total = sum(row["total_ms"] for row in self._table)
        longest = max(row["max_ms"] for row in self._table)
        slowed = list({str(Client(row["client"], row["client_id"])): None for row in self._table})
        yield problem(
            CODE,
            "warning" if total >= self._limits.throttle_ms else "note",
            "Clients are throttled",
            f"{count(evidence.count, 'answer')} told {names(slowed)} to wait, {duration_ms(total)} in all and up to "
            f"{duration_ms(longest)} at once.",
            evidence,
            why="A quota of the broker holds these clients back: their latency is the quota's, not the broker's.",
            advice="Compare the quotas of this user or client id (kafka-configs --describe --entity-type clients and "
            "users) with what "
            "the application needs; raise the quota or spread the load.",
            details=self._table[:100],
        )

    def table(self) -> Any:
        return self._table


def question() -> Question:
    """The question about throttling."""
    return Question("throttling", (CODE,), Throttling)
