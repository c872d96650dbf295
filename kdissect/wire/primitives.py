"""The scalar values of Kafka's protocol, and what can go wrong with them.

Source: ``org.apache.kafka.common.protocol`` (``ByteBufferAccessor``, ``Readable``, ``types.Type``); KIP-482 for
unsigned varints and tagged fields.
"""

from __future__ import annotations

import math
from base64 import urlsafe_b64encode
from binascii import a2b_base64
from functools import lru_cache
from typing import Literal

FaultKind = Literal["more", "bad", "unknown_key", "unknown_version"]
"""``more``: the bytes end too early (in a frame that is complete this is as bad as ``bad``); ``bad``: bytes that no
Kafka writes; ``unknown_key``, ``unknown_version``: there is no layout to read with."""


class DecodeError(Exception):
    """A field that cannot be read: why, at which byte of the message, and where in it (``topics[2].name``)."""

    def __init__(self, reason: str, offset: int, path: str = "", kind: FaultKind = "bad") -> None:
        super().__init__(f"{reason} (byte {offset}{', ' + path if path else ''})")
        self.reason = reason
        self.offset = offset
        self.path = path
        self.kind: FaultKind = kind


class Misfit(Exception):
    """Raised by generated code, which does not say why: the interpreter then reads again and tells."""


MISFITS = (Misfit, IndexError, UnicodeDecodeError)
"""What reading without checks may raise on bad bytes, beside ``struct.error``."""


@lru_cache(maxsize=4096)
def uuid_text(value: bytes) -> str:
    """16 bytes as Kafka prints them: 22 characters of URL-safe base64 (``org.apache.kafka.common.Uuid``)."""
    return urlsafe_b64encode(value)[:22].decode("ascii")


def uuid_bytes(text: str) -> bytes:
    """The 16 bytes of :func:`uuid_text`'s form; ValueError when it is not that."""
    raw = a2b_base64(text.replace("-", "+").replace("_", "/") + "==")
    if len(raw) != 16 or len(text) != 22:
        raise ValueError(f"not a Kafka uuid: {text!r}")
    return raw


def float_value(value: float) -> float | str:
    """A float64 as it is told: NaN and the infinities, which JSON lacks, as text."""
    if math.isfinite(value):
        return value
    return "NaN" if value != value else "Infinity" if value > 0 else "-Infinity"


def read_uvarint(data: bytes, at: int) -> tuple[int, int]:
    """The unsigned varint at ``at`` (at most 5 bytes, below 2**32) and the offset after it.

    Raises :class:`Misfit` when it is longer or larger, IndexError at the end of ``data``.
    """
    value = data[at]
    at += 1
    if value < 0x80:
        return value, at
    value &= 0x7F
    for shift in (7, 14, 21, 28):
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            if value >> 32:
                break
            return value, at
    raise Misfit


def read_tags(data: bytes, at: int, count: int, into: dict[str, object]) -> int:
    """Reads ``count`` tagged fields that no layout knows, all of them, into ``into["_unknown_tags"]``."""
    unknown: list[dict[str, object]] = []
    for _ in range(count):
        tag, at = read_uvarint(data, at)
        size, at = read_uvarint(data, at)
        end = at + size
        if end > len(data):
            raise Misfit
        unknown.append({"tag": tag, "data": data[at:end]})
        at = end
    into["_unknown_tags"] = unknown
    return at
