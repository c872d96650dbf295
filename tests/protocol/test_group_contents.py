"""What members of classic groups tell each other, against kio's and kafka-python's encoders."""

from __future__ import annotations

import random
import struct
from pathlib import Path

import pytest

from kdissect import schema
from kdissect.protocol.contents.groups import UNKNOWN, Protocol, open_group_blob
from kdissect.schema.encode import encode_fields
from tests.protocol.protocol_talk import random_fields
from tests.schema.kio_messages import encode, kio_fields, other_classes, random_entity, told

CONSUMER = Protocol("consumer", "range")
PARTS = {"ConsumerProtocolSubscription": "group_metadata", "ConsumerProtocolAssignment": "group_assignment"}


def versioned(version: int, data: bytes) -> bytes:
    return struct.pack(">h", version) + data


def test_every_version_of_the_consumer_protocol_as_kio_writes_it() -> None:
    rng = random.Random(1)
    seen = set()
    for name, version, cls in other_classes():
        if name not in PARTS:
            continue
        for _ in range(40):
            entity = random_entity(cls, rng)
            found = open_group_blob(PARTS[name], versioned(version, encode(entity)), CONSUMER)  # type: ignore[arg-type]
            assert found is not None
            assert (found.pop("_type"), found.pop("_version")) == (name, version)
            assert _lists(found) == told(entity)
            assert list(found) == [field.name for field in kio_fields(cls)]
        seen.add((name, version))
    assert seen == {(name, version) for name in PARTS for version in range(4)}


def _lists(value: object) -> object:
    if isinstance(value, dict):
        return [_lists(inner) for inner in value.values()]
    return [_lists(inner) for inner in value] if isinstance(value, list) else value


@pytest.mark.parametrize("version", range(4))
def test_consumer_protocol_as_kafka_python_writes_it(version: int) -> None:
    metadata = pytest.importorskip("kafka.protocol.consumer.metadata")
    subscription = metadata.ConsumerProtocolSubscription(topics=["orders", "returns"], user_data=b"\x01", owned_partitions=[])
    data = subscription.encode(version=version)
    found = open_group_blob("group_metadata", data, UNKNOWN)
    assert found is not None and found["topics"] == ["orders", "returns"] and found["user_data"] == b"\x01"
    assigned = metadata.ConsumerProtocolAssignment.TopicPartition(topic="orders", partitions=[0, 2])
    assignment = metadata.ConsumerProtocolAssignment(assigned_partitions=[assigned], user_data=None)
    data = assignment.encode(version=version)
    assert open_group_blob("group_assignment", data, CONSUMER) == {
        "_type": "ConsumerProtocolAssignment",
        "_version": version,
        "assigned_partitions": [{"topic": "orders", "partitions": [0, 2]}],
        "user_data": None,
    }


@pytest.mark.parametrize("part", ["group_metadata", "group_assignment"])
def test_every_version_of_streams_inside_the_consumer_protocol(part: str) -> None:
    inner = {"group_metadata": "SubscriptionInfoData", "group_assignment": "StreamsAssignmentInfo"}[part]
    outer = {"group_metadata": "ConsumerProtocolSubscription", "group_assignment": "ConsumerProtocolAssignment"}[part]
    rng = random.Random(2)
    for version in schema.format(inner).versions:
        layout = schema.format(inner).fields(version)
        for _ in range(20):
            fields = random_fields(layout, rng) | {"version": version}
            user_data = encode_fields(layout, fields)
            data = versioned(1, encode_fields(schema.format(outer).fields(1), {"user_data": user_data}))
            for protocol in (UNKNOWN, Protocol("consumer", "stream")):
                found = open_group_blob(part, data, protocol)  # type: ignore[arg-type]
                assert found is not None
                assert found["user_data"] == {"_type": inner, "_version": version, **fields}
            # Another assignor's user data is its own affair.
            found = open_group_blob(part, data, CONSUMER)  # type: ignore[arg-type]
            assert found is not None and found["user_data"] == user_data


@pytest.mark.parametrize("version", range(3))
def test_connect(version: int) -> None:
    rng = random.Random(3)
    for _ in range(40):
        assignment = random_fields(schema.format("ConnectAssignment").fields(version), rng)
        data = versioned(version, encode_fields(schema.format("ConnectAssignment").fields(version), assignment))
        worker = Protocol("connect", "sessioned")
        opened = {"_type": "ConnectAssignment", "_version": version, **assignment}
        assert open_group_blob("group_assignment", data, worker) == opened
        subscription = {"url": "http://w1:8083/", "config_offset": 7} | ({"allocation": data} if version else {})
        data = versioned(version, encode_fields(schema.format("ConnectSubscription").fields(version), subscription))
        found = open_group_blob("group_metadata", data, worker)
        expected = {"_type": "ConnectSubscription", "_version": version, **subscription}
        assert found == expected | ({"allocation": opened} if version else {})


def test_what_does_not_fit_exactly_is_not_opened() -> None:
    data = versioned(0, encode_fields(schema.format("ConsumerProtocolSubscription").fields(0), {"topics": ["orders"]}))
    assert open_group_blob("group_metadata", data, CONSUMER) is not None
    for cut in range(len(data)):
        assert open_group_blob("group_metadata", data[:cut], UNKNOWN) is None
    assert open_group_blob("group_metadata", data + b"\0", UNKNOWN) is None
    assert open_group_blob("group_metadata", versioned(9, data[2:]), UNKNOWN) is None
    # The schema registry's members, for one, speak JSON.
    assert open_group_blob("group_metadata", data, Protocol("sr", None)) is None
    assert open_group_blob("group_metadata", data, Protocol("connect", None)) is None


def test_random_bytes_never_raise() -> None:
    rng = random.Random(4)
    for _ in range(3000):
        data = rng.randbytes(rng.randrange(60))
        for part in ("group_metadata", "group_assignment"):
            open_group_blob(part, struct.pack(">h", rng.randrange(4)) + data, UNKNOWN)  # type: ignore[arg-type]


def vectors(*names: str) -> list[tuple[str, int, bytes]]:
    """Format, version and bytes, as Kafka's own classes wrote them."""
    lines = (Path(__file__).parent / "kafka_members.txt").read_text().splitlines()
    parts = [line.split() for line in lines if not line.startswith("#")]
    return [(name, int(version), bytes.fromhex(data)) for name, version, data in parts if name in names]


def test_every_version_of_streams_as_kafka_writes_it() -> None:
    seen = set()
    for name, version, user_data in vectors("SubscriptionInfoData", "StreamsAssignmentInfo"):
        part = "group_metadata" if name == "SubscriptionInfoData" else "group_assignment"
        outer = {"group_metadata": "ConsumerProtocolSubscription", "group_assignment": "ConsumerProtocolAssignment"}[part]
        data = versioned(1, encode_fields(schema.format(outer).fields(1), {"user_data": user_data}))
        found = open_group_blob(part, data, Protocol("consumer", "stream"))  # type: ignore[arg-type]
        assert found is not None
        told = found["user_data"]
        assert (told["_type"], told["_version"], told["version"]) == (name, version, version)
        if part == "group_assignment":
            tasks = [(task["subtopology"], task["partition"]) for task in told["active_tasks"]]
            assert tasks == [(0, 1), (1, 2)]
            assert told["standby_tasks"][0]["partitions"] == [{"topic": "orders", "partition": 0}]
            assert version < 7 or told["next_rebalance_ms"] == 123456789
        else:
            assert version < 2 or told["user_end_point"] == b"host:80"
            if version >= 7:
                assert [task["topic_group_id"] for task in told["task_offset_sums"]] == [0, 1]
            if version >= 11:
                assert told["client_tags"] == [{"key": b"zone", "value": b"a"}]
        seen.add((name, version))
    assert seen == {(name, version) for name in ("SubscriptionInfoData", "StreamsAssignmentInfo") for version in range(1, 12)}


def test_every_version_of_connect_as_kafka_writes_it() -> None:
    seen = set()
    sink, old = {"connector": "sink", "tasks": [-1, 0, 1]}, {"connector": "old", "tasks": [-1, 3]}
    for name, version, data in vectors("ConnectSubscription", "ConnectAssignment"):
        part = "group_metadata" if name == "ConnectSubscription" else "group_assignment"
        found = open_group_blob(part, data, Protocol("connect", "sessioned"))  # type: ignore[arg-type]
        assert found is not None and (found["_type"], found["_version"]) == (name, version)
        assigned = found.get("allocation") if part == "group_metadata" else found
        if assigned is not None:
            assert (assigned["_type"], assigned["_version"]) == ("ConnectAssignment", version)
            assert (assigned["leader"], assigned["leader_url"]) == ("w-1", "http://w1:8083/")
            assert assigned["assignment"] == [sink, {"connector": "source", "tasks": [-1]}]
            assert version == 0 or (assigned["revoked"], assigned["delay"]) == ([old], 300)
        seen.add((name, version))
    assert seen == {(name, version) for name in ("ConnectSubscription", "ConnectAssignment") for version in range(3)}
