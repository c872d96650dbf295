"""Zigzag integers of variable length."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kdissect.wire.faults import Malformed
from kdissect.wire.varint import read_varint, write_varint


@pytest.mark.parametrize(
    ("value", "encoded"),
    [(0, "00"), (-1, "01"), (1, "02"), (63, "7e"), (-64, "7f"), (64, "8001"), (300, "d804"), (2**31 - 1, "feffffff0f"),
     (-(2**31), "ffffffff0f"), (-(2**63), "ffffffffffffffffff01")],
)  # fmt: skip
def test_known_encodings(value, encoded):
    data = bytes.fromhex(encoded)
    assert write_varint(value) == data
    assert read_varint(b"x" + data + b"y", 1, 10) == (value, 1 + len(data))


@given(st.integers(-(2**31), 2**31 - 1))
def test_every_int32_fits_five_bytes(value):
    data = write_varint(value)
    assert read_varint(data, 0, 5) == (value, len(data))


@given(st.integers(-(2**63), 2**63 - 1))
def test_every_int64_fits_ten_bytes(value):
    data = write_varint(value)
    assert read_varint(data, 0, 10) == (value, len(data))


@pytest.mark.parametrize(("data", "most"), [(b"\xff" * 5 + b"\0", 5), (b"\xff" * 10 + b"\0", 10), (b"\xff" * 4 + b"\x10", 5),
                                            (b"\xff" * 9 + b"\x02", 10)])  # fmt: skip
def test_too_long_or_too_large_is_malformed(data, most):
    with pytest.raises(Malformed):
        read_varint(data, 0, most)


def test_the_end_of_the_data_is_an_index_error():
    with pytest.raises(IndexError):
        read_varint(b"\x80\x80", 0, 5)
