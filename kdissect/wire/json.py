"""Decoded values as the JSON text that the output contract asks for."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Callable

import orjson

# Unicode's Cc is U+0000-001F and U+007F-009F; the latter half is C2 80 to C2 9F in UTF-8.
_CONTROL = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]|\xc2[\x80-\x9f]")


def bytes_value(value: bytes | bytearray | memoryview) -> str | dict[str, str]:
    """Bytes as a string when they are UTF-8 text, else as ``{"base64": ...}``.

    Text has no control characters (Unicode category Cc) but tab, line feed and carriage return.
    """
    raw = bytes(value)
    if _CONTROL.search(raw) is None:
        try:
            return raw.decode("utf-8")
        except UnicodeDecodeError:
            pass
    return {"base64": b64encode(raw).decode("ascii")}


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
