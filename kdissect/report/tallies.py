"""What the aggregating views share: columns for counts, bytes and latencies, and the span of time of a row."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from kdissect.exchange import Exchange, rfc3339
from kdissect.report.escape import shorten
from kdissect.report.human import Clock, duration_ms, size
from kdissect.report.stats import Budget, Tally
from kdissect.report.view import Cell, Column, Kind

Values = Mapping[str, Any]
"""A row of an aggregating view: its JSON object."""

TALLY_KEYS: Final = (
    *("exchanges", "errors", "unanswered", "request_bytes", "response_bytes", "latency_ms"),
    *("first_time", "last_time"),
)
TALLY_KINDS: Final[dict[str, Kind]] = {
    **dict.fromkeys(("exchanges", "errors", "unanswered", "request_bytes", "response_bytes"), "integer"),
    **dict.fromkeys(("first_time", "last_time"), "time"),
    "latency_ms": "json",
}

MOST_NAMES: Final = 1000
"""Distinct names that one row keeps of a kind."""


class Span(Tally):
    """A tally that knows when its first and last exchange were."""

    def __init__(self, budget: Budget) -> None:
        super().__init__(budget)
        self.first_ns: int | None = None
        self.last_ns: int | None = None
        self.digits = 6

    def add(self, exchange: Exchange) -> None:
        super().add(exchange)
        when = moment(exchange)
        if when is not None:
            self.first_ns = when if self.first_ns is None else min(self.first_ns, when)
            self.last_ns = when if self.last_ns is None else max(self.last_ns, when)
            self.digits = exchange.time_digits

    def to_json(self) -> dict[str, object]:
        times = {"first_time": rfc3339(self.first_ns, self.digits), "last_time": rfc3339(self.last_ns, self.digits)}
        return {**super().to_json(), **times}


class Names(dict[str, None]):
    """Distinct names in order of appearance, at most :data:`MOST_NAMES`."""

    def note(self, names: Iterable[str | None]) -> None:
        """Takes names; null is none."""
        for name in names:
            if name is not None and (name in self or len(self) < MOST_NAMES):
                self[name] = None


def moment(exchange: Exchange) -> int | None:
    """When an exchange was: at its request, where that is missing at its response."""
    return exchange.request_time_ns if exchange.request_time_ns is not None else exchange.response_time_ns


def host(address: str) -> str:
    """``10.0.0.5`` of ``10.0.0.5:50000``."""
    return address.rpartition(":")[0]


def text(key: str, style: str = "", missing: str = "-") -> Callable[[Values, Clock], Cell]:
    """Cells of a text value."""
    return lambda row, _: Cell(missing, "quiet") if row[key] is None else Cell(shorten(str(row[key]), 249), style)


def number(key: str, style: str = "") -> Callable[[Values, Clock], Cell]:
    """Cells of a count; zero is not worth ink."""
    return lambda row, _: Cell(f"{row[key]:,}", style) if row[key] else Cell("-", "quiet")


def amount(key: str) -> Callable[[Values, Clock], Cell]:
    """Cells of a number of bytes."""
    return lambda row, _: Cell(size(row[key])) if row[key] else Cell("-", "quiet")


def listed(key: str, style: str = "", most: int = 3) -> Callable[[Values, Clock], Cell]:
    """Cells of a list of names, the first few of them."""

    def cell(row: Values, _: Clock) -> Cell:
        names = row[key]
        if not names:
            return Cell("-", "quiet")
        rest = len(names) - most
        return Cell(", ".join(shorten(str(name), 100) for name in names[:most]) + (f" +{rest}" if rest > 0 else ""), style)

    return cell


def all_listed(key: str) -> Callable[[Values, Clock], str]:
    """The same with all the names, for pipes."""
    return lambda row, _: ", ".join(shorten(str(name), 249) for name in row[key]) or "-"


def latency(name: str) -> Callable[[Values, Clock], Cell]:
    """Cells of one percentile of the latency."""

    def cell(row: Values, _: Clock) -> Cell:
        found = row["latency_ms"]
        return Cell(duration_ms(found[name])) if found else Cell("-", "quiet")

    return cell


def tally_columns(rank: int = 30) -> tuple[Column[Values], ...]:
    """Exchanges, errors, unanswered, bytes and latencies; ``rank`` of those that go first on a narrow terminal."""
    return (
        Column("exchanges", number("exchanges"), rank=90, right=True),
        Column("errors", number("errors", "error"), rank=85, right=True),
        Column("unanswered", number("unanswered", "warning"), rank=rank, right=True),
        Column("sent", amount("request_bytes"), rank=rank + 5, right=True, key="request_bytes"),
        Column("received", amount("response_bytes"), rank=rank + 6, right=True, key="response_bytes"),
        *(
            Column(name, latency(name), rank=rank + more, right=True, key="latency_ms")
            for name, more in (("p50", 8), ("p95", 1), ("p99", 12), ("max", 9))
        ),
    )
