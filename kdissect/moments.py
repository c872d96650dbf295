"""Points in time as people type them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

_UNITS_NS: Final = {
    "ns": 1,
    "us": 1000,
    "ms": 10**6,
    "s": 10**9,
    "m": 60 * 10**9,
    "min": 60 * 10**9,
    "h": 3600 * 10**9,
}
_PART: Final = re.compile(r"(\d+(?:\.\d+)?)(ns|us|ms|min|s|m|h)")
_MOMENT: Final = re.compile(
    r"(?P<day>\d{4}-\d\d-\d\d)(?:[Tt ](?P<time>\d\d:\d\d(?::\d\d)?)(?:\.(?P<fraction>\d{1,9}))?"
    r"\s?(?P<zone>[Zz]|[+-]\d\d:?\d\d)?)?"
)


@dataclass(frozen=True, slots=True)
class Moment:
    """A point in time, or an offset from the first packet of the capture."""

    ns: int
    relative: bool = False

    def absolute(self, first_ns: int) -> int:
        """Nanoseconds since the epoch, for a capture whose first packet is at ``first_ns``."""
        return first_ns + self.ns if self.relative else self.ns


def parse_moment(text: str, utc: bool) -> Moment:
    """Reads ``2026-11-21 10:00``, ``2026-11-21T10:00:00.25Z``, ``+1m30s``; without a zone the time is local, or UTC if ``utc``.

    Raises :class:`ValueError` with one sentence for the user.
    """
    text = text.strip()
    if text.startswith("+"):
        if not re.fullmatch(f"(?:{_PART.pattern})+", text[1:]):
            raise ValueError(f"{text!r} is no offset: write it like +30s, +1m30s or +250ms")
        whole = sum(_in_ns(number, unit) for number, unit in _PART.findall(text[1:]))
        return Moment(whole, relative=True)
    match = _MOMENT.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is no time: write it like '2026-11-21 10:00', 2026-11-21T10:00:00.25Z or +30s")
    try:
        moment = datetime.fromisoformat(f"{match['day']}T{match['time'] or '00:00'}{(match['zone'] or '').upper()}")
    except ValueError as error:
        raise ValueError(f"{text!r} is no time: {error}") from None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC) if utc else moment.astimezone()
    return Moment(int(moment.timestamp()) * 10**9 + int((match["fraction"] or "").ljust(9, "0")))


def _in_ns(number: str, unit: str) -> int:
    whole, _, fraction = number.partition(".")
    factor = _UNITS_NS[unit]
    return int(whole) * factor + (int(fraction) * factor // 10 ** len(fraction) if fraction else 0)
