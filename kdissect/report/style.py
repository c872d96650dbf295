"""What each colour means, in one place.

Only the sixteen colours of the user's own terminal theme are used, so that
light and dark backgrounds both work.
"""

from __future__ import annotations

from typing import Final

STYLES: Final[dict[str, str]] = {
    "heading": "bold",
    "quiet": "dim",
    "good": "green",
    "slow": "yellow",
    "very_slow": "bold magenta",
    "warning": "yellow",
    "error": "bold red",
    "name": "cyan",
    "address": "blue",
    "api": "bold",
    "value": "",
    "text": "green",
    "number": "",
    "time": "magenta",
    "bytes": "dim cyan",
    "critical": "bold red",
    "note": "blue",
}
"""Style name -> rich style.  The table writer turns them into escape sequences itself; trees and small tables use rich."""

_CODES: Final = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "blue": "34", "magenta": "35", "cyan": "36"}

RESET: Final = "\x1b[0m"


def background(style: str) -> str:
    """The escape sequence that paints the colour of ``style`` behind the text."""
    codes = [int(_CODES[word]) + 10 for word in STYLES[style].split() if _CODES[word].startswith("3")]
    return f"\x1b[{codes[0]}m" if codes else ""


def sgr(style: str) -> str:
    """The escape sequence that begins ``style``; empty for a style without looks."""
    codes = [_CODES[word] for word in STYLES[style].split()] if style else []
    return f"\x1b[{';'.join(codes)}m" if codes else ""
