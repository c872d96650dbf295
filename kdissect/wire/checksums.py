"""The three checksums of Kafka's data: CRC-32 (magic 0 and 1), CRC-32C (magic 2), xxHash32 (LZ4 frame headers)."""

from __future__ import annotations

import struct
import zlib

import google_crc32c
import numpy as np

# Copying a slice is cheaper than making a view of it up to about this many bytes.
_VIEW_FROM = 16384


def crc32(data: bytes, start: int, end: int) -> int:
    """CRC-32 of ``data[start:end]`` with the polynomial of IEEE 802.3, as java.util.zip.CRC32 has it."""
    return zlib.crc32(data[start:end] if end - start < _VIEW_FROM else memoryview(data)[start:end])


def crc32c(data: bytes, start: int, end: int) -> int:
    """CRC-32C of ``data[start:end]`` (Castagnoli's polynomial, RFC 3720 appendix B.4)."""
    if end - start < _VIEW_FROM:
        return int(google_crc32c.value(data[start:end]))
    return int(google_crc32c.value(np.frombuffer(data, np.uint8, end - start, start)))


def xxh32_short(data: bytes) -> int:
    """xxHash32 with seed 0 of fewer than 16 bytes, which is all that an LZ4 frame descriptor has.

    Raises ValueError for more: the hash's four-lane part is not needed here.
    """
    if len(data) >= 16:
        raise ValueError("xxh32_short is for fewer than 16 bytes")
    prime1, prime2, prime3, prime4, prime5 = 0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D, 0x27D4EB2F, 0x165667B1
    mask = 0xFFFFFFFF
    value = prime5 + len(data)
    words = len(data) // 4
    for word in struct.unpack_from(f"<{words}I", data):
        value = (value + word * prime3) & mask
        value = ((value << 17 | value >> 15) & mask) * prime4 & mask
    for byte in data[words * 4 :]:
        value = (value + byte * prime5) & mask
        value = ((value << 11 | value >> 21) & mask) * prime1 & mask
    value ^= value >> 15
    value = value * prime2 & mask
    value ^= value >> 13
    value = value * prime3 & mask
    return value ^ value >> 16
