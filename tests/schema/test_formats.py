"""Formats outside requests and responses."""

from __future__ import annotations

import random
import struct

import pytest

from kdissect import schema
from kdissect.schema.blob import decode_fields


def utf(text: str) -> bytes:
    return struct.pack(">h", len(text)) + text.encode()


def test_records_are_found_by_log_and_number() -> None:
    def names(log: str, number: int) -> tuple[str | None, str | None]:
        key, value = schema.record(log, number)
        return key and key.name, value and value.name

    assert names("__consumer_offsets", 1) == ("OffsetCommitKey", "OffsetCommitValue")
    assert names("__transaction_state", 0) == ("TransactionLogKey", "TransactionLogValue")
    assert names("__cluster_metadata", 2) == (None, "TopicRecord")
    assert names("control", 2) == (None, "LeaderChangeMessage")
    assert names("__consumer_offsets", 99) == (None, None)
    for log, numbers in (("__consumer_offsets", {*range(24)} - {18}), ("__share_group_state", {0, 1})):
        for number in numbers:
            assert None not in schema.record(log, number), number
    for number in {*range(30)} - {6, 13, 16}:
        assert schema.record("__cluster_metadata", number)[1] is not None, number


def test_every_format_survives_random_bytes() -> None:
    rng = random.Random(3)
    count = 0
    for each in schema.formats():
        for version in each.versions:
            count += 1
            for _ in range(20):
                blob = decode_fields(each.name, version, rng.randbytes(rng.randrange(80)))
                assert blob.fault is not None or set(blob.fields) - {"_unknown_tags"} == {
                    field.name for field in each.fields(version).fields
                }
    assert count == 153


@pytest.mark.parametrize(
    ("tagged", "value"),
    [
        # As Kafka 4.4's ConsumerGroupMemberMetadataValue writes it: absent, there, null.
        ("00", {"session_timeout_ms": 0, "supported_protocols": []}),
        ("01000701000000050100", {"session_timeout_ms": 5, "supported_protocols": []}),
        ("01000100", None),
    ],
)
def test_a_tagged_struct_that_may_be_null(tagged: str, value: object) -> None:
    data = bytes.fromhex("0101026302680101ffffffff01" + tagged)
    blob = decode_fields("ConsumerGroupMemberMetadataValue", 0, data)
    assert (blob.fault, blob.end) == (None, len(data))
    assert blob.fields["client_id"] == "c"
    assert blob.fields["classic_member_metadata"] == value


def test_connect_assignment() -> None:
    tasks = utf("sink") + struct.pack(">iii", 2, -1, 0)
    data = struct.pack(">h", 0) + utf("leader") + utf("http://x") + struct.pack(">q", 7)
    old = data + struct.pack(">i", 1) + tasks
    assert decode_fields("ConnectAssignment", 0, old).fields == {
        "error": 0,
        "leader": "leader",
        "leader_url": "http://x",
        "config_offset": 7,
        "assignment": [{"connector": "sink", "tasks": [-1, 0]}],
    }
    new = data + struct.pack(">ii", -1, 1) + tasks + struct.pack(">i", 300)
    blob = decode_fields("ConnectAssignment", 1, new)
    assert (blob.fault, blob.end) == (None, len(new))
    assert (blob.fields["assignment"], blob.fields["revoked"][0]["connector"], blob.fields["delay"]) == (None, "sink", 300)


def test_streams_assignment() -> None:
    task, one = struct.pack(">iii", 1, 2, 0), struct.pack(">i", 1)
    hosts = one + utf("h") + struct.pack(">iiii", 80, 1, 0, 3)
    data = struct.pack(">ii", 11, 11) + one + task + struct.pack(">i", 0) + one + struct.pack(">i", 0) + utf("t")
    data += hosts + struct.pack(">iiq", 0, 0, -1)
    blob = decode_fields("StreamsAssignmentInfo", 11, data)
    assert (blob.fault, blob.end) == (None, len(data))
    assert blob.fields["active_tasks"] == [{"subtopology": 1, "partition": 2, "named_topology": []}]
    assert blob.fields["topic_dictionary"] == [{"index": 0, "topic": "t"}]
    assert blob.fields["active_partitions_by_host"] == [
        {"host": "h", "port": 80, "partitions": [{"topic_index": 0, "partition": 3}]}
    ]
    cut = decode_fields("StreamsAssignmentInfo", 11, data[:-1])
    assert cut.fault is not None and cut.fault.path == "next_rebalance_ms"
