"""Checksums against published check values and against other implementations."""

from __future__ import annotations

import pytest
import xxhash
from hypothesis import given
from hypothesis import strategies as st

from kdissect.wire.checksums import crc32, crc32c, xxh32_short


def test_check_values():
    """Of the catalogue of parametrised CRC algorithms; RFC 3720 B.4 for 32 zeros."""
    assert crc32(b"x123456789y", 1, 10) == 0xCBF43926
    assert crc32c(b"x123456789y", 1, 10) == 0xE3069283
    assert crc32c(bytes(32), 0, 32) == 0x8A9136AA


@pytest.mark.parametrize("size", [16383, 16384, 16385, 100_000])
def test_large_pieces_have_the_checksum_of_their_bitwise_definition(size):
    data = bytes(i * i % 251 for i in range(size + 6))
    assert crc32c(data, 3, size + 3) == bitwise_crc32c(data[3 : size + 3])


@given(st.binary(max_size=15))
def test_xxh32_is_xxhashs(data):
    assert xxh32_short(data) == xxhash.xxh32_intdigest(data)


def test_xxh32_refuses_what_it_cannot_do():
    with pytest.raises(ValueError):
        xxh32_short(bytes(16))


def bitwise_crc32c(data: bytes) -> int:
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
        table.append(byte)
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ table[(crc ^ byte) & 255]
    return crc ^ 0xFFFFFFFF
