"""Every layout against Kafka's own code: what its classes wrote is read to the same values, and written back byte for byte."""

from __future__ import annotations

from typing import Any

import pytest

from kdissect import schema
from kdissect.schema.blob import decode_fields
from kdissect.schema.encode import encode_fields, encode_request, encode_response
from kdissect.schema.message import DecodeOptions, Message, decode_request, decode_response
from kdissect.schema.records_field import RawRecords
from tests.oracle.oracle_vectors import RELEASES, Vector, all_vectors, struct_value, vectors

CLEAR = DecodeOptions(show_secrets=True, records="skip")
SPANS = DecodeOptions(show_secrets=True, records="skip", spans=True)


def decode(vector: Vector, data: bytes, options: DecodeOptions = CLEAR) -> Message:
    if vector.kind == "request":
        return decode_request(data, options=options)
    return decode_response(data, schema.api(vector.name).key, vector.version, options=options)


def told(value: Any) -> Any:
    """A body with its records as bytes."""
    if isinstance(value, dict):
        return {key: told(item) for key, item in value.items()}
    if isinstance(value, list):
        return [told(item) for item in value]
    return bytes(value.data) if isinstance(value, RawRecords) else value


def write(vector: Vector, message: Message) -> bytes:
    """The message from its values."""
    key, version, correlation = schema.api(vector.name).key, vector.version, message.header["correlation_id"]
    assert message.body is not None
    if vector.kind == "request":
        return encode_request(key, version, correlation, message.header.get("client_id"), message.body, sized=False)
    return encode_response(key, version, correlation, message.body, sized=False)


def every_layout() -> set[tuple[str, str, int]]:
    return {
        (head.name, kind, version)
        for head in schema.apis()
        for version in range(head.min_version, head.max_version + 1)
        for kind in ("request", "response")
    }


def test_every_layout_reads_what_kafka_wrote_and_writes_it_back(capsys: pytest.CaptureFixture[str]) -> None:
    seen: dict[tuple[str, str, int], int] = {}
    for vector in all_vectors():
        if vector.kind is None or vector.draft:
            continue
        expected = vector.expected()
        for options in (CLEAR, SPANS):
            message = decode(vector, vector.data, options)
            assert (message.fault, message.trailing) == (None, 0), str(vector)
            assert told(message.body) == expected, str(vector)
            assert list(message.body or ()) == list(expected), str(vector)
        head = schema.format("RequestHeader" if vector.kind == "request" else "ResponseHeader").fields(vector.header_version)
        assert message.header == struct_value(head.fields, vector.header), str(vector)
        assert write(vector, message) == vector.data, str(vector)
        layout = (vector.name, vector.kind, vector.version)
        seen[layout] = seen.get(layout, 0) + 1
    requests = sum(kind == "request" for _, kind, _ in seen)
    with capsys.disabled():
        print(f"\n{len(seen)} layouts ({requests} requests, {len(seen) - requests} responses) as Kafka's own code has them:")
        print(f"{sum(seen.values())} messages of Kafka {', '.join(RELEASES)} read, and written back byte for byte")
    assert seen.keys() == every_layout()
    assert len(seen) == 736
    assert min(seen.values()) >= 6


def test_headers_have_the_versions_that_kafka_gives_them() -> None:
    said = {
        (vector.name, vector.kind, vector.version): vector.header_version
        for vector in all_vectors()
        if vector.kind is not None and not vector.draft
    }
    ours = {
        (name, kind, version): schema.api(name).layout(kind, version).header_version  # type: ignore[arg-type]
        for name, kind, version in every_layout()
    }
    assert said == ours


NOT_ON_THE_WIRE = {"QuorumStateData", "ProducerSnapshot", "AbortedTxn"}
"""Files on a broker's disk."""
NAMES = {"RequestHeaderData": "RequestHeader", "ResponseHeaderData": "ResponseHeader"}
WITHOUT_CONVERTER = {"ConnectAssignment", "ConnectSubscription", "StreamsAssignmentInfo", "SubscriptionInfoData"}
"""Connect and Streams write theirs by hand, or without JSON."""


def log_of(vector: Vector) -> str:
    log = schema.format(vector.name).head.log
    assert log is not None
    return log


def numbered(vector: Vector) -> Vector:
    """Up to 4.0 the coordinators' classes take the number of a key's record for its version."""
    if vector.release < "4.1" and vector.name.endswith("Key"):
        name = "LegacyOffsetCommitKey" if (vector.name, vector.version) == ("OffsetCommitKey", 0) else vector.name
        return vector._replace(name=name, version=0, record=vector.version)
    return vector


def test_every_format_reads_what_kafka_wrote_and_writes_it_back(capsys: pytest.CaptureFixture[str]) -> None:
    seen: dict[tuple[str, int], int] = {}
    for vector in all_vectors():
        if vector.kind is not None or vector.draft or vector.name in NOT_ON_THE_WIRE:
            continue
        vector = numbered(vector._replace(name=NAMES.get(vector.name, vector.name)))
        if vector.record is not None:
            ours = {each.name for each in schema.record(log_of(vector), vector.record) if each is not None}
            assert vector.layout.name in ours, str(vector)
        blob = decode_fields(vector.name, vector.version, b"xx" + vector.data, 2, show_secrets=True)
        assert (blob.fault, blob.end) == (None, len(vector.data) + 2), str(vector)
        assert blob.fields == vector.expected(), str(vector)
        assert encode_fields(vector.layout, blob.fields) == vector.data, str(vector)
        seen[vector.name, vector.version] = seen.get((vector.name, vector.version), 0) + 1
    with capsys.disabled():
        print(f"\n{len(seen)} layouts of records, headers, group data: {sum(seen.values())} of Kafka's read and written back")
    ours = {(each.name, version) for each in schema.formats() for version in each.versions}
    assert {name for name, _ in ours - seen.keys()} == WITHOUT_CONVERTER
    assert not seen.keys() - ours


@pytest.mark.broker
@pytest.mark.parametrize("release", RELEASES)
def test_the_committed_messages_are_those_that_kafka_writes(release: str) -> None:
    import json

    from tests.oracle import oracle_jars
    from tests.oracle.oracle_vectors import _vector
    from tests.oracle.regenerate import lines

    if not oracle_jars.available():
        pytest.skip("needs Java and Maven")
    assert tuple(_vector(release, json.loads(line)) for line in lines(release).splitlines()) == vectors(release)
