"""How requests, errors, bytes and latencies run over time, in bounded memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from math import exp, log
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from kdissect import schema
from kdissect.columnar.batch import Columns, ExchangeBatch
from kdissect.exchange import rfc3339
from kdissect.report.human import WAITING_APIS

if TYPE_CHECKING:
    from kdissect.exchange import Exchange

MOST_BINS: Final = 240
"""Steps of time; when there would be more, each becomes twice as wide."""
FIRST_WIDTH_NS: Final = 10_000_000
MOST_APIS: Final = 100
STEPS: Final = 20
"""Latencies are kept as powers of e^(1/20): within 2.5 per cent."""
LEAST_MS: Final = 0.001


class Slot:
    """One API in one step of time."""

    __slots__ = ("errors", "exchanges", "latencies", "request_bytes", "response_bytes")

    def __init__(self) -> None:
        self.exchanges = self.errors = self.request_bytes = self.response_bytes = 0
        self.latencies: Counter[int] = Counter()

    def add(self, other: Slot) -> None:
        """Takes another slot's counts over."""
        self.exchanges += other.exchanges
        self.errors += other.errors
        self.request_bytes += other.request_bytes
        self.response_bytes += other.response_bytes
        self.latencies += other.latencies


class Series:
    """Counts exchanges by time and API; the steps grow as the capture does."""

    def __init__(self) -> None:
        self.width_ns = FIRST_WIDTH_NS
        self._slots: dict[tuple[int, str], Slot] = {}
        self._first: int | None = None
        self._last: int | None = None
        self._apis: set[str] = set()

    def add(self, batch: Sequence[Exchange]) -> None:
        """Counts a batch; exchanges without a time are left out."""
        singly: Iterable[Exchange] = batch
        if isinstance(batch, ExchangeBatch):
            self._columns(batch.columns)
            singly = batch.objects.values()
        slots = self._slots
        for exchange in singly:
            when = exchange.request_time_ns
            if when is None:
                when = exchange.response_time_ns
                if when is None:
                    continue
            at = when // self.width_ns
            api = exchange.api or "request missing"
            slot = slots.get((at, api))
            if slot is None:
                slot = self._slot(when, api)
                slots = self._slots
            slot.exchanges += 1
            if exchange.error_codes:
                slot.errors += 1
            slot.request_bytes += exchange.request_bytes or 0
            slot.response_bytes += exchange.response_bytes or 0
            ms = exchange.latency_ms
            if ms is not None:
                slot.latencies[int(log(ms if ms > LEAST_MS else LEAST_MS) * STEPS)] += 1

    def _columns(self, columns: Columns) -> None:
        """The same for exchanges in columns."""
        if not len(columns):
            return
        times = columns.request_time_ns
        for edge in (int(times.min()), int(times.max())):
            self._cover(edge)
        steps = times // self.width_ns
        key = (steps - int(steps.min())) << 16 | columns.api_key
        failed = np.array([bool(codes) for codes in columns.error_lists], bool)[columns.errors]
        spent = np.maximum((columns.response_time_ns - columns.request_time_ns) / 1e6, LEAST_MS)
        bucket = np.trunc(np.log(spent) * STEPS).astype(np.int64)
        order = np.argsort(key, kind="stable")
        _, begins = np.unique(key[order], return_index=True)
        for rows in np.split(order, begins[1:]):
            slot = self._slot(int(times[rows[0]]), schema.api_name(int(columns.api_key[rows[0]])))
            answered = rows[columns.answered[rows]]
            slot.exchanges += len(rows)
            slot.errors += int(np.count_nonzero(failed[rows]))
            slot.request_bytes += int(columns.request_bytes[rows].sum())
            slot.response_bytes += int(columns.response_bytes[answered].sum())
            values, counts = np.unique(bucket[answered], return_counts=True)
            slot.latencies.update(dict(zip(values.tolist(), counts.tolist(), strict=True)))

    def _slot(self, when: int, api: str) -> Slot:
        if api not in self._apis:
            if len(self._apis) >= MOST_APIS:
                api = "others"
            self._apis.add(api)
        self._cover(when)
        return self._slots.setdefault((when // self.width_ns, api), Slot())

    def _cover(self, when: int) -> None:
        """Make the steps wide enough that this moment is within them."""
        at = when // self.width_ns
        self._first = at if self._first is None else min(self._first, at)
        self._last = at if self._last is None else max(self._last, at)
        while self._last - self._first >= MOST_BINS:
            self._widen()

    def _widen(self) -> None:
        assert self._first is not None and self._last is not None
        self.width_ns *= 2
        wider: dict[tuple[int, str], Slot] = {}
        for (at, api), slot in self._slots.items():
            kept = wider.setdefault((at // 2, api), slot)
            if kept is not slot:
                kept.add(slot)
        self._slots = wider
        self._first //= 2
        self._last //= 2

    def to_json(self) -> dict[str, Any]:
        """Rows of ``[step, exchanges, errors, request bytes, response bytes, p50, p95, p99]`` for each API, most exchanges first.

        Step n begins n * ``step_ms`` after ``start``; percentiles are milliseconds, None without a measurement.
        """
        waiting = {schema.api_name(key) for key in WAITING_APIS}
        first = self._first or 0
        rows: dict[str, list[list[Any]]] = {}
        totals: Counter[str] = Counter()
        everything: dict[int, Slot] = {}
        for (at, api), slot in sorted(self._slots.items()):
            totals[api] += slot.exchanges
            rows.setdefault(api, []).append(_row(at - first, slot))
            if api not in waiting:
                everything.setdefault(at - first, Slot()).add(slot)
        return {
            "start": rfc3339(first * self.width_ns, 3) if self._slots else None,
            "start_ms": first * self.width_ns / 1e6 if self._slots else None,
            "step_ms": self.width_ns / 1e6,
            "steps": 0 if self._last is None else self._last - first + 1,
            "apis": {api: rows[api] for api, _ in totals.most_common()},
            "not_waiting": [_row(at, slot) for at, slot in sorted(everything.items())],
        }


def _row(at: int, slot: Slot) -> list[Any]:
    percentiles = list(_percentiles(slot.latencies, (50, 95, 99)))
    return [at, slot.exchanges, slot.errors, slot.request_bytes, slot.response_bytes, *percentiles]


def _percentiles(latencies: Counter[int], wanted: Iterable[int]) -> Iterator[float | None]:
    """Nearest-rank, from ascending percentages."""
    total, seen = latencies.total(), 0
    ordered = iter(sorted(latencies.items()))
    value: float | None = None
    for percent in wanted:
        rank = max(1, -(-total * percent // 100))
        while seen < rank and total:
            bucket, number = next(ordered)
            seen += number
            value = float(f"{exp((bucket + 0.5) / STEPS):.3g}")
        yield value
