"""Single values from the wire as text for people."""

from __future__ import annotations

import re
from typing import Final

from kdissect.report.escape import escape, hexadecimal, shorten

MOST: Final = 200
"""Characters of a value that are shown unless everything is asked for."""

_BINARY: Final = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")


def text_value(text: str, full: bool, quoted: bool = True) -> str:
    """Escaped text, in the quotation marks that it does not contain itself, so that ``"null"`` is not null nor ``"7"`` seven."""
    shown = escape(text) if full else shorten(text, MOST)
    mark = "'" if '"' in shown else '"'
    return f"{mark}{shown}{mark}" if quoted else shown


def bytes_text(data: bytes | bytearray | memoryview, full: bool) -> str:
    """Bytes as quoted text when they are UTF-8 text, else in hex; cut with the count of all."""
    raw = bytes(data)
    if not raw:
        return '""'
    if _BINARY.search(raw[: 4 * MOST]) is None:
        try:
            return text_value(raw.decode(), full)
        except UnicodeDecodeError:
            pass
    return hexadecimal(raw, len(raw) if full else 24)
