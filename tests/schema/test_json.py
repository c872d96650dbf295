"""Decoded values as JSON."""

from __future__ import annotations

import unicodedata
from base64 import b64decode

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kdissect.wire.json import bytes_value, dumps
from kdissect.wire.primitives import Misfit, float_value, read_uvarint, uuid_bytes, uuid_text


@given(st.one_of(st.binary(), st.text().map(lambda text: text.encode("utf-8", "surrogatepass"))))
def test_bytes_are_text_or_base64(raw: bytes) -> None:
    try:
        text = raw.decode("utf-8")
        plain = all(unicodedata.category(c) != "Cc" or c in "\t\n\r" for c in text)
    except UnicodeDecodeError:
        plain = False
    value = bytes_value(raw)
    assert isinstance(value, str) == plain
    assert (value.encode() if isinstance(value, str) else b64decode(value["base64"])) == raw
    assert orjson.loads(dumps([raw])) == [value]


def test_text_is_compact_and_unescaped() -> None:
    assert dumps({"a": 1.5, "b": ["ü€😀", None, b"\x00", b"ok\n", True]}).decode() == (
        '{"a":1.5,"b":["ü€😀",null,{"base64":"AA=="},"ok\\n",true]}'
    )
    with pytest.raises(TypeError):
        dumps({"a": object()})


@given(st.binary(min_size=16, max_size=16))
def test_uuids_go_there_and_back(raw: bytes) -> None:
    assert len(uuid_text(raw)) == 22
    assert uuid_bytes(uuid_text(raw)) == raw


@pytest.mark.parametrize("text", ["", "A", "A" * 23, "A" * 21 + "!"])
def test_what_is_no_uuid(text: str) -> None:
    with pytest.raises(ValueError):
        uuid_bytes(text)


def test_floats_that_json_lacks() -> None:
    values = [float_value(x) for x in (1.5, float("nan"), float("inf"), float("-inf"))]
    assert values == [1.5, "NaN", "Infinity", "-Infinity"]


def test_unsigned_varints() -> None:
    assert read_uvarint(b"\x00", 0) == (0, 1)
    assert read_uvarint(b"x\xac\x02", 1) == (300, 3)
    assert read_uvarint(b"\xff\xff\xff\xff\x0f", 0) == (2**32 - 1, 5)
    for bad in (b"\xff\xff\xff\xff\x10", b"\x80\x80\x80\x80\x80\x00"):
        with pytest.raises(Misfit):
            read_uvarint(bad, 0)
    with pytest.raises(IndexError):
        read_uvarint(b"\x80", 0)
