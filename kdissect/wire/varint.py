"""Variable-length integers of record batches: zigzag, least significant group first (Protocol Buffers' sint32, sint64)."""

from __future__ import annotations

from kdissect.wire.faults import Malformed


def read_varint(data: bytes, at: int, most: int) -> tuple[int, int]:
    """The zigzag integer at ``at`` of at most ``most`` bytes (5 for 32 bits, 10 for 64) and the offset after it.

    Raises :class:`Malformed` when it is longer or does not fit its width, IndexError at the end of ``data``.
    """
    value = shift = 0
    start = at
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            break
        shift += 7
        if at - start == most:
            raise Malformed(f"a variable-length integer of more than {most} bytes", start)
    if value >> (32 if most == 5 else 64):
        raise Malformed("a variable-length integer too large for its type", start)
    return (value >> 1) ^ -(value & 1), at


def write_varint(value: int) -> bytes:
    """``value`` as a zigzag integer; -2**63 <= value < 2**63."""
    rest = (value << 1) ^ (value >> 63)
    if rest < 0x80:
        return bytes((rest,))
    out = bytearray()
    while rest > 0x7F:
        out.append(rest & 0x7F | 0x80)
        rest >>= 7
    out.append(rest)
    return bytes(out)
