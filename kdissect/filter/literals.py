"""Values as people type them: quoted text, numbers with units."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, Literal


class Mismatch(ValueError):
    """A value that cannot be compared with the field; the text is one clause for the user."""

    def __init__(self, problem: str, suggestions: tuple[str, ...] | list[str] = ()) -> None:
        super().__init__(problem)
        self.suggestions = tuple(suggestions)


@dataclass(frozen=True, slots=True)
class Typed:
    """A value as it stands in the filter."""

    text: str
    """Of quoted text, what is between the quotation marks, with escapes resolved."""
    written: str
    """As it was written; of quoted text without its quotation marks, and with its escapes."""
    quoted: bool = False
    second: str | None = None
    """A second word after the first: a unit, a time after its day."""

    @property
    def shown(self) -> str:
        """For messages."""
        whole = self.text if self.second is None else f"{self.text} {self.second}"
        whole = whole if len(whole) <= 60 else whole[:59] + "…"
        return f'"{whole}"' if self.quoted else whole


_ESCAPE: Final = re.compile(r"\\(x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U000[0-9a-fA-F]{5}|U0010[0-9a-fA-F]{4}|.)", re.DOTALL)
_CONTROLS: Final = {"n": "\n", "t": "\t", "r": "\r", "0": "\0"}


def unquote(token: str) -> Typed:
    """What a quoted token says: ``r`` before it leaves backslashes alone; else ``\\n \\t \\r \\0 \\xNN \\uNNNN \\UNNNNNNNN``."""
    if token[0] in "rR":
        return Typed(token[2:-1], token[2:-1], quoted=True)
    inner = token[1:-1]
    return Typed(_ESCAPE.sub(_unescape, inner), inner, quoted=True)


def _unescape(match: re.Match[str]) -> str:
    said = match[1]
    return chr(int(said[1:], 16)) if len(said) > 1 else _CONTROLS.get(said, said)


Measure = Literal["", "size", "duration"]

_QUANTITY: Final = re.compile(r"([+-]?\d+(?:_\d+)*(?:\.\d+)?)([a-zA-Zµμ]*)", re.ASCII)
_COMPOUND: Final = re.compile(r"([+-]?)((?:\d+(?:\.\d+)?[a-zµμ]+){2,})", re.ASCII)
_PART: Final = re.compile(r"(\d+(?:\.\d+)?)([a-zµμ]+)", re.ASCII)
_HEXADECIMAL: Final = re.compile(r"0[xX][0-9a-fA-F]+")
_DIGITS: Final = 40
"""Digits of a number; no field holds one that long."""

SIZES: Final = {
    "b": 1, "k": 1000, "kb": 1000, "m": 1000**2, "mb": 1000**2, "g": 1000**3, "gb": 1000**3, "t": 1000**4, "tb": 1000**4,
    "kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30, "tib": 1 << 40,
}  # fmt: skip
"""Units of sizes in bytes, in lower case."""
DURATIONS: Final = {
    "ns": Fraction(1, 10**6), "us": Fraction(1, 1000), "µs": Fraction(1, 1000), "μs": Fraction(1, 1000), "ms": Fraction(1),
    "s": Fraction(1000), "m": Fraction(60_000), "min": Fraction(60_000), "h": Fraction(3_600_000), "d": Fraction(86_400_000),
}  # fmt: skip
"""Units of durations in milliseconds."""
_EXAMPLES: Final = {"size": "1500, 64kB, 1MB or 16MiB", "duration": "250us, 50ms, 1.5s, 2m or 1m30s", "": "42 or 0x2a"}


def read_number(text: str, measure: Measure) -> int | Fraction:
    """A number in bytes, milliseconds or as it is, exactly; :class:`Mismatch` for anything else."""
    if len(text) <= _DIGITS:
        if _HEXADECIMAL.fullmatch(text):
            return int(text, 16)
        if match := _QUANTITY.fullmatch(text):
            return _tidy(Fraction(match[1]) * _unit(match[2], text, measure))
        if measure == "duration" and (match := _COMPOUND.fullmatch(text)):
            parts = (Fraction(number) * _unit(unit, text, measure) for number, unit in _PART.findall(match[2]))
            return _tidy(sum(parts, Fraction(0)) * (-1 if match[1] == "-" else 1))
    raise Mismatch(f"{text[:60]} is no {measure or 'number'}; write it like {_EXAMPLES[measure]}")


def _unit(unit: str, text: str, measure: Measure) -> int | Fraction:
    if not unit:
        return 1
    factor = SIZES.get(unit.lower()) if measure == "size" else DURATIONS.get(unit) if measure == "duration" else None
    if factor is None:
        what = f"{unit} is no unit of a {measure}" if measure else f"{text} has a unit, but the field has none"
        raise Mismatch(f"{what}; write it like {_EXAMPLES[measure]}")
    return factor


def _tidy(number: Fraction) -> int | Fraction:
    return number.numerator if number.denominator == 1 else number
