"""Exchanges over time: how many, how many bytes, how fast, in intervals of equal length."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from math import ceil, floor, log10
from typing import TYPE_CHECKING, Final

from kdissect.exchange import rfc3339
from kdissect.report.human import WAITING_APIS, Clock
from kdissect.report.source import Source
from kdissect.report.tallies import Values, amount, latency, moment, number
from kdissect.report.view import Cell, Column, View

if TYPE_CHECKING:
    from kdissect.dissect import Dissection
    from kdissect.exchange import Exchange

MS: Final = 1_000_000
S: Final = 1000 * MS
_KEPT: Final = tuple(x * MS for x in (1, 10, 100, 1000, 10_000, 60_000, 600_000, 3_600_000, 86_400_000))
"""Widths at which counts are kept; each is a multiple of the one before, so that counts can be put together."""
MAX_KEPT: Final = 20_000
"""Intervals that are kept; one more, and the next width is taken."""
INTERVALS: Final = tuple(
    x * MS
    for x in (
        *(1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 20_000, 30_000, 60_000, 120_000, 300_000, 600_000),
        *(1_200_000, 1_800_000, 3_600_000, 7_200_000, 21_600_000, 43_200_000, 86_400_000),
    )
)
"""Widths that people think in."""
MAX_SHOWN: Final = 100_000
"""Intervals of one timeline; a capture that claims to span centuries has longer ones."""


class _Interval:
    __slots__ = ("errors", "exchanges", "latencies", "request_bytes", "response_bytes", "unanswered")

    def __init__(self) -> None:
        self.exchanges = self.errors = self.unanswered = self.request_bytes = self.response_bytes = 0
        self.latencies: Counter[float] = Counter()

    def add(self, other: _Interval) -> None:
        self.exchanges += other.exchanges
        self.errors += other.errors
        self.unanswered += other.unanswered
        self.request_bytes += other.request_bytes
        self.response_bytes += other.response_bytes
        self.latencies += other.latencies


class Timeline(Source[Values]):
    """Counts exchanges by the time of their request; latencies to two significant digits, those of long polls left out."""

    def __init__(self, interval_ns: int | None = None, aim: int = 100) -> None:
        """``interval_ns``: the width asked for; else one that makes about ``aim`` intervals of the whole."""
        self._asked, self._aim = interval_ns, max(2, aim)
        self._width = _KEPT[0] if interval_ns is None else interval_ns
        self._intervals: dict[int, _Interval] = {}
        self._digits = 3

    def add(self, batch: Sequence[Exchange]) -> Iterable[Values]:
        for exchange in batch:
            when = moment(exchange)
            if when is None:
                continue
            place = when // self._width
            interval = self._intervals.get(place)
            if interval is None:
                interval = self._intervals[place] = _Interval()
            interval.exchanges += 1
            interval.errors += bool(exchange.error_codes)
            interval.unanswered += exchange.outcome == "unanswered"
            interval.request_bytes += exchange.request_bytes or 0
            interval.response_bytes += exchange.response_bytes or 0
            if exchange.latency_ms is not None and exchange.api_key not in WAITING_APIS:
                interval.latencies[_two_digits(exchange.latency_ms)] += 1
            if len(self._intervals) > MAX_KEPT:
                self._coarsen()
        return ()

    def _coarsen(self) -> None:
        wider = [width for width in _KEPT if width > self._width and width % self._width == 0]
        self._rebuild(wider[0] if wider else self._width * 10)

    def _rebuild(self, width: int) -> None:
        factor = width // self._width
        merged: dict[int, _Interval] = {}
        for place, interval in self._intervals.items():
            into = merged.get(place // factor)
            if into is None:
                merged[place // factor] = interval
            else:
                into.add(interval)
        self._intervals, self._width = merged, width

    def finish(self, dissection: Dissection) -> Iterable[Values]:
        if not self._intervals:
            return
        first, last = min(self._intervals), max(self._intervals)
        if self._asked is None:
            span = (last - first + 1) * self._width
            fitting = [each for each in INTERVALS if each >= self._width and each % self._width == 0 and span / each <= self._aim]
            self._rebuild(fitting[0] if fitting else ceil(span / self._aim / self._width) * self._width)
        first, last = min(self._intervals), max(self._intervals)
        if last - first >= MAX_SHOWN:
            self._rebuild(self._width * ceil((last - first + 1) / MAX_SHOWN))
            first, last = min(self._intervals), max(self._intervals)
        digits = 3 if self._width < S else 0
        empty = _Interval()
        for place in range(first, last + 1):
            yield _row(place * self._width, self._width, self._intervals.get(place, empty), digits)


def _row(start: int, width: int, interval: _Interval, digits: int) -> Values:
    return {
        "time": rfc3339(start, digits),
        "time_ns": start,
        "interval_ms": width / MS if width % MS else width // MS,
        "exchanges": interval.exchanges,
        "per_second": round(interval.exchanges * S / width, 3),
        "errors": interval.errors,
        "unanswered": interval.unanswered,
        "request_bytes": interval.request_bytes,
        "response_bytes": interval.response_bytes,
        "latency_ms": percentiles(interval.latencies),
    }


def percentiles(values: Counter[float]) -> dict[str, float] | None:
    """Nearest-rank percentiles of counted values."""
    total = values.total()
    if not total:
        return None
    ranks = [(name, max(1, ceil(total * p / 100))) for name, p in (("p50", 50), ("p95", 95), ("p99", 99), ("max", 100))]
    found: dict[str, float] = {}
    seen = 0
    for value in sorted(values):
        seen += values[value]
        while ranks and seen >= ranks[0][1]:
            found[ranks.pop(0)[0]] = value
    return found


def _two_digits(ms: float) -> float:
    return round(ms, 1 - floor(log10(abs(ms)))) if ms else 0.0


def _time(row: Values, clock: Clock) -> Cell:
    return Cell(clock.time(row["time_ns"], 3) if row["interval_ms"] < 1000 else clock.time(row["time_ns"], 0)[:-1], "quiet")


TIMELINE: View[Values] = View(
    name="intervals",
    columns=(
        Column("time", _time, rank=0, plain=lambda r, clock: clock.full(r["time_ns"], 3)),
        Column("exchanges", number("exchanges"), rank=90, right=True),
        Column("per second", lambda r, _: Cell(f"{r['per_second']:,.4g}"), rank=60, right=True),
        Column("errors", number("errors", "error"), rank=80, right=True),
        Column("unanswered", number("unanswered", "warning"), rank=30, right=True),
        Column("sent", amount("request_bytes"), rank=55, right=True, key="request_bytes"),
        Column("received", amount("response_bytes"), rank=56, right=True, key="response_bytes"),
        *(
            Column(name, latency(name), rank=rank, right=True, key="latency_ms")
            for name, rank in (("p50", 50), ("p95", 40), ("p99", 70), ("max", 45))
        ),
    ),
    keys=(
        *("time", "interval_ms", "exchanges", "per_second", "errors", "unanswered", "request_bytes", "response_bytes"),
        "latency_ms",
    ),
    to_json=lambda row, _: {key: value for key, value in row.items() if key != "time_ns"},
    moment=lambda row: int(row["time_ns"]),
    kinds={
        **dict.fromkeys(("exchanges", "errors", "unanswered", "request_bytes", "response_bytes"), "integer"),
        "time": "time",
        "interval_ms": "float",
        "per_second": "float",
        "latency_ms": "json",
    },
)
"""One row an interval, empty ones included."""
