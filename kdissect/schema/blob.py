"""Bytes with a format of their own inside messages and records."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

from kdissect.schema.catalogue import default_catalogue
from kdissect.schema.generate import FAILURES, Decoder, make_decoder
from kdissect.schema.interpret import Interpreter
from kdissect.schema.redact import redact_configs
from kdissect.wire.primitives import DecodeError


class Blob(NamedTuple):
    """What bytes say when read as a format."""

    fields: dict[str, Any]
    """In schema order, as far as they could be read."""
    end: int
    """Offset after what was read."""
    fault: DecodeError | None
    """Why the reading ended early."""


def decode_fields(name: str, version: int, data: bytes, at: int = 0, *, show_secrets: bool = False) -> Blob:
    """Reads the format ``name`` at ``version`` from ``data[at:]``; bytes after it are left to the caller.

    KeyError when there is no such format or version; what the bytes are never raises.
    """
    decoder = _decoder(name, version, show_secrets)
    layout = default_catalogue().format(name).fields(version)
    fault = None
    try:
        fields, end = decoder(data, at, _as_bytes)
    except FAILURES:
        fields, end, fault = Interpreter(data, _as_bytes, show_secrets=show_secrets).read(layout, at)
    if not show_secrets:
        redact_configs(layout.fields, fields)
    return Blob(fields, end, fault)


@cache
def _decoder(name: str, version: int, show_secrets: bool) -> Decoder:
    return make_decoder(default_catalogue().format(name).fields(version), show_secrets)


def _as_bytes(data: bytes, start: int, stop: int) -> bytes:
    """A ``records`` field of a format; there is none today."""
    return data[start:stop]
