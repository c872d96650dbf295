"""The one door between text from the wire and a terminal.

Topics, client ids, keys and values are whatever the other side sent: terminal
escapes, carriage returns, right-to-left overrides, invisible letters.  Nothing
of that may reach a terminal raw, so everything that is not plainly visible is
shown as the escape a programmer would type: ``\\x1b``, ``\\u202e``, ``\\n``.
"""

from __future__ import annotations

import re
from typing import Final

_SHORT: Final = {"\n": "\\n", "\r": "\\r", "\t": "\\t", "\0": "\\0"}

# Letters and marks in Unicode's eyes, so str.isprintable() lets them through, yet nothing is seen of them: combining
# grapheme joiner, Hangul and Khmer fillers, braille blank, variation selectors.
_INVISIBLE: Final = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)

# What JSON leaves raw although a terminal acts upon it: DEL, C1 controls, bidirectional and zero-width formatting.
_JSON_RAW: Final = re.compile(
    "[\x7f-\x9f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\U000e0000-\U000e007f]"
)


def escape(text: str) -> str:
    """``text`` with everything that is not plainly visible spelled out; one line, safe on any terminal."""
    if not text.isprintable():
        text = "".join(char if char.isprintable() else _spell(char) for char in text)
    return text if text.isascii() else _INVISIBLE.sub(lambda match: _spell(match[0]), text)


def shorten(text: str, limit: int) -> str:
    """Escaped ``text``, cut to ``limit`` characters with the count of all; long values cost no more than short ones."""
    if len(text) <= limit:
        return escape(text)
    return f"{escape(text[:limit])}… ({len(text):,} characters)"


def hexadecimal(data: bytes | memoryview, limit: int) -> str:
    """``data`` as spaced hex pairs, cut after ``limit`` bytes with the count of all."""
    shown = bytes(data[:limit]).hex(" ")
    return shown if len(data) <= limit else f"{shown} … ({len(data):,} bytes)"


def json_for_terminal(text: str) -> str:
    """JSON ``text`` of equal meaning without raw characters that a terminal acts upon (JSON itself escapes only U+0000-001F)."""
    return text if text.isascii() and "\x7f" not in text else _JSON_RAW.sub(lambda match: _json_escape(match[0]), text)


def _spell(char: str) -> str:
    short = _SHORT.get(char)
    if short is not None:
        return short
    code = ord(char)
    if code <= 0xFF:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


def _json_escape(char: str) -> str:
    units = char.encode("utf-16-be")
    return "".join(f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))
