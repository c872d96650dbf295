"""Decoded values as the JSON text that the output contract asks for."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Callable

import orjson

# Unicode's Cc is U+0000-001F and U+007F-009F; the latter half is C2 80 to C2 9F in UTF-8.
# Deleting bytes is far quicker than searching for them.
_CONTROL = bytes({*range(32), 127} - {*b"\t\n\r"})
_UPPER_CONTROL = re.compile(rb"\xc2[\x80-\x9f]")


def _has_upper_control(raw: bytes) -> bool:
    return b"\xc2" in raw and _UPPER_CONTROL.search(raw) is not None


def bytes_value(value: bytes | bytearray | memoryview) -> str | dict[str, str]:
    """Bytes as a string when they are UTF-8 text, else as ``{"base64": ...}``.

    Text has no control characters (Unicode category Cc) but tab, line feed and carriage return.
    """
    raw = bytes(value)
    if len(raw.translate(None, _CONTROL)) == len(raw):
        try:
            text = raw.decode("utf-8")
        except UnicodeDecodeError:
            pass
        else:
            if not _has_upper_control(raw):
                return text
    return {"base64": b64encode(raw).decode("ascii")}


def texts(values: list[bytes | None]) -> list[str | dict[str, str] | None]:
    """:func:`bytes_value` of many, quicker where all are text."""
    joined = b"".join([value for value in values if value is not None])
    if len(joined.translate(None, _CONTROL)) == len(joined) and not _has_upper_control(joined):
        try:
            return [None if value is None else value.decode() for value in values]
        except UnicodeDecodeError:
            pass
    return [None if value is None else bytes_value(value) for value in values]


def plain(value: object) -> object:
    """What orjson cannot write itself, as something that it can; TypeError for what nobody can."""
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes_value(value)
    told: Callable[[], object] | None = getattr(value, "json_value", None)
    if told is None:
        raise TypeError(f"{type(value).__name__} has no JSON form")
    return told()


def dumps(value: object) -> bytes:
    """``value`` as compact JSON in UTF-8: keys in order, nothing escaped that need not be, bytes as :func:`bytes_value`."""
    return orjson.dumps(value, plain)
