"""Numbers, sizes, durations and times as people read them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

SECOND_NS: Final = 1_000_000_000

SLOW_MS: Final = 100.0
VERY_SLOW_MS: Final = 1000.0
"""From here on a response counts as slow, and as very slow."""

WAITING_APIS: Final = frozenset({1, 11, 14, 59, 78})
"""Keys whose broker may hold the response back on purpose: Fetch (max_wait_ms), JoinGroup and SyncGroup (for the other
members), FetchSnapshot, ShareFetch.  Their latency is no measure of the broker's speed."""


def size(count: int | None) -> str:
    """Bytes in three significant digits, decimal units: ``999 B``, ``1.23 kB``, ``45.6 MB``."""
    if count is None:
        return "-"
    if count < 1000:
        return f"{count} B"
    value = float(count)
    for unit in ("kB", "MB", "GB", "TB", "PB"):
        value /= 1000
        if value < 999.5:
            return f"{_three_digits(value)} {unit}"
    return f"{value:,.0f} PB"


def duration_ms(ms: float | None) -> str:
    """A duration given in milliseconds: ``0.042 ms``, ``12.3 ms``, ``1.50 s``, ``2 min 5 s``, ``3 h 20 min``, ``7 d``."""
    if ms is None:
        return "-"
    if ms < 0:
        return "-" + duration_ms(-ms)
    if ms < 1:
        return f"{ms:.3f} ms" if ms else "0 ms"
    if ms < 999.5:
        return f"{_three_digits(ms)} ms"
    if ms < 60_000:
        return f"{_three_digits(ms / 1000)} s"
    seconds = round(ms / 1000)
    for step, big, small in ((3600, "min", "s"), (86400, "h", "min"), (86400 * 1000, "d", "h")):
        if seconds < step:
            unit = {"min": 60, "h": 3600, "d": 86400}[big]
            rest = seconds % unit // {"s": 1, "min": 60, "h": 3600}[small]
            return f"{seconds // unit} {big}" + (f" {rest} {small}" if rest else "")
    return f"{seconds // 86400:,} d"


def count(number: int, singular: str, plural: str | None = None) -> str:
    """``1 exchange``, ``2,000 exchanges``."""
    return f"{number:,} {singular if number == 1 else plural or singular + 's'}"


def slowness(api_key: int | None, latency_ms: float | None) -> str:
    """Style name for a latency: ``""``, ``"slow"`` or ``"very_slow"``; APIs that wait on purpose get fifty times the patience."""
    if latency_ms is None or latency_ms < SLOW_MS:
        return ""
    if api_key in WAITING_APIS:
        latency_ms /= 50
    return "very_slow" if latency_ms >= VERY_SLOW_MS else "slow" if latency_ms >= SLOW_MS else ""


class Clock:
    """Renders times in one zone, UTC or the machine's own; remembers the last second, since neighbours share it."""

    def __init__(self, utc: bool) -> None:
        self.utc = utc
        self._second: int | None = None
        self._day = self._time = self._zone = ""

    def _look_up(self, second: int) -> None:
        if second == self._second:
            return
        try:
            moment = datetime.fromtimestamp(second, UTC)
            moment = moment if self.utc else moment.astimezone()
        except (OverflowError, ValueError, OSError):  # Beyond year 9999, which a broken capture may well claim.
            self._day, self._time, self._zone = f"{second:+}s", "", ""
        else:
            self._day, self._time = moment.strftime("%Y-%m-%d"), moment.strftime("%H:%M:%S")
            zone = moment.strftime("%z")
            self._zone = "Z" if self.utc else f"{zone[:3]}:{zone[3:5]}"
        self._second = second

    def day(self, ns: int) -> str:
        """``2026-11-21``."""
        self._look_up(ns // SECOND_NS)
        return self._day

    def time(self, ns: int, digits: int = 3) -> str:
        """``10:00:00.123``."""
        self._look_up(ns // SECOND_NS)
        return f"{self._time}.{ns % SECOND_NS:09d}"[: len(self._time) + 1 + digits]

    def full(self, ns: int, digits: int = 6) -> str:
        """RFC 3339 with the zone: ``2026-11-21T10:00:00.123456Z``."""
        time = self.time(ns, digits)
        return f"{self._day}T{time}{self._zone}"

    def zone(self, ns: int) -> str:
        """``UTC`` or the local offset, ``+01:00``."""
        self._look_up(ns // SECOND_NS)
        return "UTC" if self.utc else self._zone


def _three_digits(value: float) -> str:
    return f"{value:.2f}" if value < 9.995 else f"{value:.1f}" if value < 99.95 else f"{value:.0f}"
