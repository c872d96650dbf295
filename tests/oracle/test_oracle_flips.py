"""Messages with one byte changed: never called complete where Kafka cannot read them, and else read as Kafka reads them."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from kdissect.schema.blob import decode_fields
from kdissect.schema.encode import encode_fields
from kdissect.schema.layout import Field
from tests.oracle.oracle_vectors import Vector, all_vectors
from tests.oracle.test_oracle_vectors import NAMES, NOT_ON_THE_WIRE, decode, numbered

WRONG_SIZE = ("tagged field", "as a tagged field")
"""Kafka does not look at the size of a tagged field that it knows; a message where it is wrong is no Kafka's, and we say so."""


def read(vector: Vector, data: bytes) -> tuple[Any, str | None, int]:
    """The body, why it is not complete, and the bytes left over."""
    if vector.kind is None:
        blob = decode_fields(vector.name, vector.version, data, show_secrets=True)
        return blob.fields, blob.fault.reason if blob.fault else None, len(data) - blob.end
    message = decode(vector, data)
    return message.body, message.fault.reason if message.fault else None, message.trailing


def as_java(fields: tuple[Field, ...], values: dict[str, Any]) -> dict[str, Any]:
    """The values with text as Java reads it: what is no UTF-8 becomes U+FFFD (kdissect keeps the bytes)."""

    def single(field: Field, value: Any) -> Any:
        if field.type == "struct" and value is not None:
            return as_java(field.fields, value)
        if field.type == "string" and isinstance(value, bytes):
            return value.decode("utf-8", "replace")
        return value

    told = dict(values)
    for field in fields:
        value = values[field.name]
        told[field.name] = [single(field, item) for item in value] if field.array and value is not None else single(field, value)
    return told


def test_one_changed_byte_is_read_as_kafka_reads_it(capsys: pytest.CaptureFixture[str]) -> None:
    count: Counter[str] = Counter()
    for vector in all_vectors():
        if vector.draft or vector.name in NOT_ON_THE_WIRE:
            continue
        if vector.kind is None:
            vector = numbered(vector._replace(name=NAMES.get(vector.name, vector.name)))
        for flip in vector.flips:
            data = bytearray(vector.data)
            data[flip.offset] = flip.byte
            body, fault, left = read(vector, bytes(data))
            where = f"{vector}, byte {flip.offset} made {flip.byte}"
            if flip.left is None:
                assert fault is not None, where
                count["neither reads"] += 1
                continue
            if fault is not None:
                assert any(words in fault for words in WRONG_SIZE), (where, fault)
                count["Kafka reads though a size is wrong"] += 1
                continue
            assert left == flip.left, where
            again = encode_fields(vector.layout, as_java(vector.layout.fields, body))
            end = len(data) - left
            assert again == (data[end - len(again) : end] if flip.again is None else flip.again), where
            count["both read alike"] += 1
    with capsys.disabled():
        print("\n" + "; ".join(f"{number} {what}" for what, number in count.items()))
    assert sum(count.values()) > 37_000
    assert count["Kafka reads though a size is wrong"] < 50
