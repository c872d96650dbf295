"""Records of Kafka's own logs and control records."""

from __future__ import annotations

import random
import struct

import pytest

from kdissect import schema
from kdissect.plugins.hooks import RecordPart
from kdissect.plugins.host import Host
from kdissect.protocol.contents.records import FRAMED_LOGS, INTERNAL_LOGS, KEYED_LOGS, open_record
from kdissect.schema.encode import encode_fields
from tests.protocol.protocol_talk import random_fields
from tests.schema.kio_messages import encode, other_classes, random_entity

SECRETS = {"salt", "stored_key", "server_key"}
RECORDS = sorted({(each.head.log or "", each.head.record or 0) for each in schema.formats() if each.head.log in INTERNAL_LOGS})


def framed(number: int, version: int, data: bytes, frame_version: int = 1) -> bytes:
    assert max(frame_version, number, version) < 128
    return bytes([frame_version, number, version]) + data


def test_the_logs_are_those_that_the_schema_has() -> None:
    logs = {each.head.log for each in schema.formats()} - {None, "control"}
    assert logs == INTERNAL_LOGS
    assert len(RECORDS) > 50


@pytest.mark.parametrize(("log", "number"), [record for record in RECORDS if record[0] in KEYED_LOGS])
def test_every_keyed_record(log: str, number: int) -> None:
    rng = random.Random(number)
    of_key, of_value = schema.record(log, number)
    assert of_key is not None and of_value is not None
    for version in of_value.versions:
        layout = of_value.fields(version)
        for _ in range(20):
            key, value = random_fields(of_key.fields(0), rng), random_fields(layout, rng)
            key_bytes = struct.pack(">h", number) + encode_fields(of_key.fields(0), key)
            value_bytes = struct.pack(">h", version) + encode_fields(layout, value)
            record = open_record(log, False, key_bytes, value_bytes, show_secrets=True)
            assert record.key == {"_type": of_key.name, "_version": number, **key}
            assert (record.value["_type"], record.value["_version"]) == (of_value.name, version)
            assert {name: record.value[name] for name in value} == value
            assert open_record(log, False, key_bytes, None).value is None
            assert open_record(log, False, key_bytes, value_bytes + b"\0").value == value_bytes + b"\0"
            assert open_record("orders", False, key_bytes, value_bytes) == (key_bytes, value_bytes)


@pytest.mark.parametrize(("log", "number"), [record for record in RECORDS if record[0] in FRAMED_LOGS])
def test_every_framed_record(log: str, number: int) -> None:
    rng = random.Random(number)
    format = schema.record(log, number)[1]
    assert format is not None
    for version in format.versions:
        layout = format.fields(version)
        for _ in range(20):
            value = random_fields(layout, rng)
            data = framed(number, version, encode_fields(layout, value))
            found = open_record(log, False, b"key", data, show_secrets=True)
            assert found.key == b"key"
            assert (found.value["_type"], found.value["_version"]) == (format.name, version)
            assert {name: found.value[name] for name in value} == value
            wrong = framed(number, version, data[3:], frame_version=2)
            assert open_record(log, False, None, wrong).value == wrong


def test_members_of_a_stored_group_are_opened_too() -> None:
    subscription = struct.pack(">h", 0) + encode_fields(
        schema.format("ConsumerProtocolSubscription").fields(0), {"topics": ["orders"]}
    )
    layout = schema.format("GroupMetadataValue").fields(3)
    member = {"member_id": "m", "subscription": subscription, "assignment": b""}
    for kind, opened in (("consumer", True), ("other", False)):
        value = encode_fields(layout, {"protocol_type": kind, "protocol": "range", "members": [member]})
        key = struct.pack(">hh", 2, 1) + b"g"
        told = open_record("__consumer_offsets", False, key, struct.pack(">h", 3) + value).value["members"][0]
        assert told["assignment"] == b""
        assert (told["subscription"] == subscription) is not opened
        if opened:
            assert told["subscription"]["topics"] == ["orders"]


def test_every_control_record_as_kio_writes_it() -> None:
    rng = random.Random(5)
    types = {
        "EndTxnMarker": (0, 1),
        "LeaderChangeMessage": (2,),
        "SnapshotHeaderRecord": (3,),
        "SnapshotFooterRecord": (4,),
        "KRaftVersionRecord": (5,),
        "VotersRecord": (6,),
    }
    seen = set()
    for name, version, cls in other_classes():
        for number in types.get(name, ()):
            data = encode(random_entity(cls, rng))
            value = struct.pack(">h", version) + data if name == "EndTxnMarker" else struct.pack(">h", version) + data[2:]
            record = open_record(None, True, struct.pack(">hh", 0, number), value)
            assert record.key == {"_type": "ControlRecordTypeSchema", "_version": 0, "type": number}
            assert (record.value["_type"], record.value["_version"]) == (name, version)
            seen.add(number)
    assert seen == set(range(7))


def test_a_leader_change_that_says_version_1_in_the_first_layout() -> None:
    """Kafka 4 writes so: ControlRecordUtils reads every version with the layout of version 0."""
    layout = schema.format("LeaderChangeMessage").fields(0)
    value = encode_fields(layout, {"version": 1, "leader_id": 3, "voters": [{"voter_id": 3}], "granting_voters": []})
    told = open_record("__cluster_metadata", True, bytes([0, 0, 0, 2]), value).value
    assert (told["_version"], told["leader_id"], told["voters"]) == (1, 3, [{"voter_id": 3}])


def test_unknown_control_records_keep_their_value() -> None:
    record = open_record(None, True, bytes([0, 0, 0, 99]), b"\0\0abc")
    assert record.key["type"] == 99 and record.value == b"\0\0abc"
    assert open_record(None, True, b"short", b"x") == (b"short", b"x")
    assert open_record(None, True, None, None) == (None, None)


def test_secrets_in_cluster_metadata_are_withheld() -> None:
    layout = schema.format("UserScramCredentialRecord").fields(0)
    fields = {"name": "alice", "mechanism": 1, "salt": b"salt", "stored_key": b"stored", "server_key": b"server"}
    data = framed(11, 0, encode_fields(layout, fields))
    told = open_record("__cluster_metadata", False, None, data).value
    assert told["name"] == "alice" and {told[name]["redacted"] for name in SECRETS} == {4, 6}
    # A later version of it, too, though nobody can say where the secret is.
    later = framed(11, 9, data[3:])
    assert open_record("__cluster_metadata", False, None, later).value == {"redacted": len(later)}
    assert open_record("__cluster_metadata", False, None, later, show_secrets=True).value == later
    config = encode_fields(
        schema.format("ConfigRecord").fields(0),
        {"resource_type": 4, "resource_name": "1", "name": "ssl.keystore.password", "value": "hush"},
    )
    assert open_record("__cluster_metadata", False, None, framed(4, 0, config)).value["value"] == {"redacted": 4}


def test_random_bytes_never_raise() -> None:
    rng = random.Random(6)
    for _ in range(2000):
        key, value = rng.randbytes(rng.randrange(12)), rng.randbytes(rng.randrange(40))
        for log in (*INTERNAL_LOGS, "orders", None):
            open_record(log, False, key, value)
            open_record(log, False, bytes([0, rng.randrange(25)]) + key, bytes([0, rng.randrange(5)]) + value)
            open_record(log, False, None, bytes([1, rng.randrange(30), 0]) + value)
        open_record(None, True, bytes([0, 0, 0, rng.randrange(7)]), value)


def test_they_are_offered_through_the_hooks() -> None:
    host = Host(discover=False)
    key = struct.pack(">hh", 2, 1) + b"g"
    assert host.decode_value(RecordPart("__consumer_offsets", "key", key)) == (
        "consumer_offsets",
        {"_type": "GroupMetadataKey", "_version": 2, "group": "g"},
    )
    value = struct.pack(">h", 1) + encode_fields(schema.format("GroupMetadataValue").fields(1), {"protocol_type": "x"})
    found = host.decode_value(RecordPart("__consumer_offsets", "value", value, key=key))
    assert found is not None and found[0] == "consumer_offsets" and "GroupMetadataValue" in str(found[1])
    assert host.decode_value(RecordPart("__consumer_offsets", "value", value)) is None
    assert host.decode_value(RecordPart("orders", "key", key)) is None
