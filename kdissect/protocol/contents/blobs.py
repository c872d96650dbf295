"""Bytes as an object of one of the schema's formats, whole or not at all."""

from __future__ import annotations

from struct import Struct
from typing import Any

from kdissect import schema
from kdissect.schema.blob import decode_fields

_INT16 = Struct(">h")

Opened = dict[str, Any]
"""A decoded blob: ``_type`` (Kafka's schema name), ``_version``, then its fields."""


def redacted(data: bytes) -> dict[str, int]:
    """What stands for bytes that may hold a secret."""
    return {"redacted": len(data)}


def read_exactly(name: str, version: int, data: bytes, at: int = 0, *, show_secrets: bool = False) -> dict[str, Any] | None:
    """The fields of ``data[at:]`` as the format ``name``; None where the version is unknown or the bytes do not end with it."""
    try:
        blob = decode_fields(name, version, data, at, show_secrets=show_secrets)
    except KeyError:
        return None
    return blob.fields if blob.fault is None and blob.end == len(data) else None


def read_versioned(name: str, data: bytes, *, show_secrets: bool = False) -> Opened | None:
    """A blob with its int16 of version in front (``MessageUtil.toVersionPrefixedBytes``)."""
    if len(data) < _INT16.size:
        return None
    (version,) = _INT16.unpack_from(data)
    fields = read_exactly(name, version, data, _INT16.size, show_secrets=show_secrets)
    return None if fields is None else opened(name, version, fields)


def opened(name: str, version: int, fields: dict[str, Any]) -> Opened:
    """The object that stands for a blob."""
    return {"_type": name, "_version": version, **fields}


def may_hold_secrets(layouts: schema.Format | schema.Api) -> bool:
    """Whether a format, or a request or response of an API, can hold what is withheld (at its newest version)."""
    newest = layouts.versions[-1]
    if isinstance(layouts, schema.Format):
        found = [layouts.fields(newest)]
    else:
        found = [layouts.layout("request", newest), layouts.layout("response", newest)]
    return any(field.secret or "config_value" in field.meanings for layout in found for _, field in layout.walk())
