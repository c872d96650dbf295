"""Scalar values to the bytes of Kafka's protocol."""

from __future__ import annotations

import struct

from kdissect.wire.primitives import uuid_bytes

_CODES = {
    "bool": "?", "int8": "b", "int16": "h", "uint16": "H", "int32": "i", "uint32": "I", "int64": "q", "float64": "d",
}  # fmt: skip
_STRUCTS = {kind: struct.Struct(">" + code) for kind, code in _CODES.items()}


def write_uvarint(value: int) -> bytes:
    """``value`` as an unsigned varint; 0 <= value < 2**32, ValueError beyond."""
    if not 0 <= value < 1 << 32:
        raise ValueError(f"no unsigned varint of 32 bits: {value}")
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def write_number(kind: str, value: object) -> bytes:
    """A fixed-width value: a number, a bool, a uuid in Kafka's form, a float perhaps as ``"NaN"`` or ``"Infinity"``.

    ValueError when it does not fit the type.
    """
    if kind == "uuid":
        if not isinstance(value, str):
            raise ValueError(f"not a Kafka uuid: {value!r}")
        return uuid_bytes(value)
    if kind == "float64" and isinstance(value, str):
        value = float(value)
    try:
        return _STRUCTS[kind].pack(value)
    except struct.error as error:
        raise ValueError(f"{value!r} is no {kind}: {error}") from None


def write_length(size: int | None, compact: bool, wide: str) -> bytes:
    """The length or count before a value, None for null: an unsigned varint of one more where ``compact`` (KIP-482),
    else an integer of the type ``wide``, -1 for null.  ValueError when it does not fit."""
    if compact:
        return write_uvarint(0 if size is None else size + 1)
    return write_number(wide, -1 if size is None else size)
