"""What is wrong with a filter, and where."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from typing import Final
from unicodedata import combining, east_asian_width

from kdissect.errors import KdissectError

_WIDTH: Final = 76
"""Characters of a long filter that are shown around the place."""
_LONGEST_GUESS: Final = 80
"""Words longer than this are no slip of the keyboard, and comparing them with every name takes long."""


class FilterError(KdissectError):
    """A filter that means nothing; the text is one line, :attr:`excerpt` shows the place."""

    def __init__(self, problem: str, text: str, start: int, end: int, suggestions: Sequence[str] = ()) -> None:
        self.problem = problem
        self.filter = text
        self.start, self.end = start, end
        """The place in the filter, in characters; an empty range at its end where something is missing."""
        self.suggestions = tuple(suggestions)
        """What may have been meant, the likeliest first."""
        super().__init__(problem + did_you_mean(self.suggestions))

    @property
    def excerpt(self) -> tuple[str, str]:
        """The filter, or the part of it around the place, and under it a caret; safe on any terminal."""
        first = max(0, min(self.start - _WIDTH // 2, len(self.filter) - _WIDTH))
        last = first + _WIDTH
        shown = "".join(c if c.isprintable() else " " if c.isspace() else "\N{REPLACEMENT CHARACTER}" for c in self.filter)
        before = ("…" if first else "") + shown[first : self.start]
        place = shown[self.start : min(self.end, last)]
        line = before + place + shown[self.start + len(place) : last] + ("…" if last < len(shown) else "")
        return line, " " * _cells(before) + "^" + "~" * (_cells(place) - 1)


def did_you_mean(suggestions: Sequence[str]) -> str:
    """``; did you mean a or b?``, or nothing."""
    return f"; did you mean {' or '.join(suggestions)}?" if suggestions else ""


def similar(word: str, names: Iterable[str], most: int = 3) -> list[str]:
    """The names that ``word`` may be a slip of, the likeliest first; case does not count."""
    if len(word) > _LONGEST_GUESS:
        return []
    by_lower = {name.lower(): name for name in names}
    if word.lower() in by_lower:
        return [by_lower[word.lower()]]
    cutoff = 0.7 if len(word) > 4 else 0.6  # One letter is a large part of a short word.
    matches = get_close_matches(word.lower(), by_lower, most, cutoff)
    return [by_lower[match] for match in sorted(matches, key=lambda match: not match.startswith(word.lower()))]


def _cells(text: str) -> int:
    """Terminal cells of printable text."""
    return sum(0 if combining(c) else 2 if east_asian_width(c) in "WF" else 1 for c in text)
