"""Writes messages by the project's own layouts: the counterpart of the decoders, for generators and parity tests."""

from __future__ import annotations

import struct
from base64 import b64decode
from typing import Any

from kdissect import schema
from kdissect.schema.generate import CODES
from kdissect.schema.layout import Field, Layout

_WRITERS = {kind: struct.Struct(">" + code).pack for kind, code in CODES.items()}
_INT16, _INT32 = struct.Struct(">h").pack, struct.Struct(">i").pack


def uvarint(value: int) -> bytes:
    """An unsigned varint (KIP-482)."""
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def encode(layout: Layout, values: dict[str, Any]) -> bytes:
    """A body: fields that ``values`` lacks are zero, null where they may be; tagged ones are left out."""
    return _struct(layout.fields, layout.flexible, values)


def request(api: str, version: int, client_id: str | None, values: dict[str, Any]) -> bytes:
    """A request with its size prefix and correlation id 0 (at bytes 8 to 11)."""
    layout = schema.api(api).layout("request", version)
    header = struct.pack(">hhi", layout.api_key, version, 0)
    if layout.header_version >= 1:
        raw = None if client_id is None else client_id.encode()
        header += _INT16(-1) if raw is None else _INT16(len(raw)) + raw
    if layout.header_version >= 2:
        header += b"\0"
    body = header + encode(layout, values)
    return _INT32(len(body)) + body


def response(api: str, version: int, values: dict[str, Any]) -> bytes:
    """A response with its size prefix and correlation id 0 (at bytes 4 to 7)."""
    layout = schema.api(api).layout("response", version)
    body = bytes(4) + (b"\0" if layout.header_version else b"") + encode(layout, values)
    return _INT32(len(body)) + body


def _struct(fields: tuple[Field, ...], flexible: bool, values: dict[str, Any]) -> bytes:
    parts = [_field(field, values.get(field.name, _absent(field))) for field in fields if field.tag is None]
    if flexible:
        tags: list[tuple[int, bytes]] = [
            (field.tag, _field(field, values[field.name]))
            for field in fields
            if field.tag is not None and field.name in values and values[field.name] != field.default
        ]
        tags += [(unknown["tag"], unknown["data"]) for unknown in values.get("_unknown_tags", ())]
        parts.append(uvarint(len(tags)))
        parts += [uvarint(tag) + uvarint(len(data)) + data for tag, data in sorted(tags)]
    return b"".join(parts)


def _absent(field: Field) -> Any:
    if field.nullable:
        return None
    if field.array:
        return []
    return {} if field.type == "struct" else field.default


def _field(field: Field, value: Any) -> bytes:
    if field.array:
        if value is None:
            return b"\0" if field.compact else _INT32(-1)
        element = Field(field.name, field.type, False, False, field.compact, None, None, (), "", field.fields)
        count = uvarint(len(value) + 1) if field.compact else _INT32(len(value))
        return count + b"".join(_field(element, item) for item in value)
    if field.type == "struct":
        if field.nullable:
            return b"\xff" if value is None else b"\x01" + _struct(field.fields, field.compact, value)
        return _struct(field.fields, field.compact, value)
    if field.type == "uuid":
        return value if isinstance(value, bytes) else b64decode(value + "==", b"-_")
    if field.type in _WRITERS:
        return _WRITERS[field.type](value)
    raw = None if value is None else value.encode() if isinstance(value, str) else bytes(value)
    if field.compact:
        return b"\0" if raw is None else uvarint(len(raw) + 1) + raw
    size = _INT16 if field.type == "string" else _INT32
    return size(-1) if raw is None else size(len(raw)) + raw
