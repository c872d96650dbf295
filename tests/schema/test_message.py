"""Whole messages: headers, faults, cuts, the exceptions of the protocol."""

from __future__ import annotations

import random
import struct
from typing import Any

import pytest

from kdissect import schema
from kdissect.schema.message import DecodeOptions, Message, decode_request, decode_response
from kdissect.schema.records_field import RawRecords
from tests.schema.kio_messages import encode, payload_class, random_entity

SKIP = DecodeOptions(records="skip", show_secrets=True)


def request(key: int, version: int, body: bytes, client: bytes | None = b"me") -> bytes:
    head = struct.pack(">hhi", key, version, 77)
    head += struct.pack(">h", -1) if client is None else struct.pack(">h", len(client)) + client
    flexible = schema.api(key).layout("request", version).flexible
    return head + (b"\0" if flexible else b"") + body


def samples(kind: str) -> list[tuple[int, int, bytes]]:
    """A message of the oldest, the newest and a middle version of every API that kio knows."""
    from tests.schema.kio_messages import payloads

    found = []
    versions: dict[int, set[int]] = {}
    for key, k, version in payloads():
        if k == kind:
            versions.setdefault(key, set()).add(version)
    for key, known in versions.items():
        ordered = sorted(known)
        for version in {ordered[0], ordered[len(ordered) // 2], ordered[-1]}:
            rng = random.Random(f"{key} {kind} {version} cut")
            bodies = [encode(random_entity(payload_class(key, kind, version), rng)) for _ in range(4)]
            body = max((each for each in bodies if len(each) < 600), key=len, default=bodies[0])
            if kind == "request":
                found.append((key, version, request(key, version, body)))
            else:
                head = struct.pack(">i", 77) + b"\0" * schema.api(key).layout("response", version).header_version
                found.append((key, version, head + body))
    return found


def decode(kind: str, key: int, version: int, data: bytes, options: DecodeOptions = SKIP) -> Message:
    return decode_request(data, options=options) if kind == "request" else decode_response(data, key, version, options=options)


def comparable(message: Message) -> tuple[Any, ...]:
    def plain(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: plain(item) for key, item in value.items()}
        if isinstance(value, list):
            return [plain(item) for item in value]
        return bytes(value.data) if isinstance(value, RawRecords) else value

    return (message.header, plain(message.body), message.fault, message.trailing, message.version)


@pytest.mark.parametrize("kind", ["request", "response"])
def test_cut_anywhere_gives_a_fault_and_the_beginning(kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    cuts = 0
    for key, version, data in samples(kind):
        whole = decode(kind, key, version, data)
        assert whole.fault is None and whole.trailing == 0, whole
        assert whole.header["correlation_id"] == 77
        for size in range(len(data)) if len(data) < 1500 else range(0, len(data), 7):
            cut = decode(kind, key, version, data[:size])
            cuts += 1
            assert cut.fault is not None and cut.fault.kind == "more", (key, kind, version, size)
            assert cut.fault.offset <= size
            if cut.body is None:
                assert cut.fault.path.startswith("header")
                continue
            at_fault = cut.fault.path.split(".")[0].split("[")[0]
            before, after = comparable(cut)[1], comparable(whole)[1]
            plain = [field.name for field in schema.api(key).layout(kind, version).fields if field.tag is None]  # type: ignore[arg-type]
            read = [name for name in plain if name in before]
            assert read == plain[: len(read)]
            assert at_fault in (plain[len(read) - 1], plain[len(read)]) if len(read) < len(plain) else True
            for name in read:
                assert name == at_fault or before[name] == after[name]
    with capsys.disabled():
        print(f"\n{cuts} cuts of {kind}s")


@pytest.mark.parametrize("kind", ["request", "response"])
def test_a_flipped_byte_never_raises_and_both_decoders_agree(kind: str) -> None:
    slow = DecodeOptions(records="skip", show_secrets=True, spans=True)
    rng = random.Random(kind)
    for key, version, data in samples(kind):
        for _ in range(60):
            bad = bytearray(data)
            bad[rng.randrange(4 if kind == "request" else 0, len(bad))] = rng.randrange(256)
            fast, slowly = decode(kind, key, version, bytes(bad)), decode(kind, key, version, bytes(bad), slow)
            assert comparable(fast) == comparable(slowly), (key, kind, version)


def test_random_bytes_never_raise() -> None:
    rng = random.Random(5)
    slow = DecodeOptions(spans=True)
    for head in schema.apis():
        for version in (head.min_version, head.max_version):
            for _ in range(25):
                data = struct.pack(">hhih", head.key, version, 1, -1) + rng.randbytes(rng.randrange(60))
                assert comparable(decode_request(data)) == comparable(decode_request(data, options=slow))
                data = rng.randbytes(rng.randrange(60))
                fast = decode_response(data, head.key, version)
                assert comparable(fast) == comparable(decode_response(data, head.key, version, options=slow))


def test_huge_counts_allocate_nothing() -> None:
    # Metadata v1 request: 2**31 - 1 topics announced.
    message = decode_request(request(3, 1, struct.pack(">i", 2**31 - 1) + b"\0\1a"))
    assert message.body == {"topics": [{"name": "a"}]}
    assert message.fault is not None and (message.fault.kind, message.fault.path) == ("more", "topics[1].name")
    # Flexible: a compact count of the largest varint.
    message = decode_request(request(3, 9, b"\xff\xff\xff\xff\x0f" + b"\2a\0"))
    assert message.body == {"topics": [{"name": "a"}]}
    message = decode_request(request(3, 9, b"\xff\xff\xff\xff\xff\x01"))
    assert message.fault is not None and message.fault.kind == "bad"


def test_unknown_keys_and_versions_keep_the_header() -> None:
    message = decode_request(struct.pack(">hhih", 1000, 1, 5, 2) + b"me" + b"rest")
    assert (message.api, message.body, message.trailing) == ("Unknown(1000)", None, 0)
    assert message.header == {"request_api_key": 1000, "request_api_version": 1, "correlation_id": 5, "client_id": "me"}
    assert message.fault is not None and message.fault.kind == "unknown_key"
    message = decode_request(struct.pack(">hhih", 0, 99, 5, -1) + b"rest")
    assert (message.api, message.header["client_id"]) == ("Produce", None)
    assert message.fault is not None and message.fault.kind == "unknown_version"
    message = decode_response(struct.pack(">i", 9), 0, -7)
    assert message.header == {"correlation_id": 9}
    assert decode_response(b"\0", 1000, 0).header == {}


def test_controlled_shutdown_v0_has_no_client_id() -> None:
    message = decode_request(struct.pack(">hhii", 7, 0, 5, 3))
    assert message.header == {"request_api_key": 7, "request_api_version": 0, "correlation_id": 5}
    assert (message.body, message.fault) == ({"broker_id": 3}, None)


@pytest.mark.parametrize("asked", range(1, 6))
@pytest.mark.parametrize("entries", [b"\0\0\0\0", struct.pack(">ihhh", 1, 18, 0, 4)])
def test_a_refused_api_versions_request_is_answered_in_v0(asked: int, entries: bytes) -> None:
    message = decode_response(struct.pack(">ih", 9, 35) + entries, 18, asked)
    assert (message.version, message.fault, message.trailing) == (0, None, 0)
    assert message.body is not None and message.body["error_code"] == 35
    cut = decode_response(struct.pack(">ih", 9, 35) + entries[:-1], 18, asked)
    assert cut.fault is not None


def test_trailing_bytes_are_counted() -> None:
    message = decode_response(struct.pack(">ih", 1, 0) + b"xyz", 12, 0)
    assert (message.body, message.fault, message.trailing) == ({"error_code": 0}, None, 3)


def test_secrets_are_redacted_unless_asked_for() -> None:
    data = request(36, 2, b"\x08\0u\0pass\0")
    assert decode_request(data).body == {"auth_bytes": {"redacted": 7}}
    assert decode_request(data, options=DecodeOptions(spans=True)).body == {"auth_bytes": {"redacted": 7}}
    assert decode_request(data, options=SKIP).body == {"auth_bytes": b"\0u\0pass"}


def test_text_that_is_no_utf8_stays_bytes() -> None:
    message = decode_request(request(12, 0, b"\0\2\xff\xfe" + struct.pack(">i", 1) + b"\0\1m", client=b"\xff"))
    assert message.fault is None
    assert message.header["client_id"] == b"\xff"
    assert message.body == {"group_id": b"\xff\xfe", "generation_id": 1, "member_id": "m"}


def test_tags_that_nobody_knows_are_kept() -> None:
    body = b"\2g" + struct.pack(">i", 1) + b"\2m" + b"\0" + b"\1\x09\2hi"
    message = decode_request(request(12, 4, body))
    assert message.body is not None and message.body["_unknown_tags"] == [{"tag": 9, "data": b"hi"}]
    spans = decode_request(request(12, 4, body), options=DecodeOptions(spans=True)).spans
    assert spans is not None and spans["_unknown_tags[0]"] == (len(request(12, 4, body)) - 2, 2)


def test_known_tags_stand_where_the_schema_has_them() -> None:
    # Fetch v12: cluster_id, tag 0, is the schema's first field and the wire's last.
    plain = struct.pack(">iiiibii", -1, 500, 1, 1024, 0, 0, 0) + b"\1\1\1"
    message = decode_request(request(1, 12, plain + b"\1\0\3\3ab"))
    assert message.fault is None
    assert next(iter(message.body or {})) == "cluster_id" and (message.body or {})["cluster_id"] == "ab"
    assert (decode_request(request(1, 12, plain + b"\0")).body or {})["cluster_id"] is None
    wrong = decode_request(request(1, 12, plain + b"\1\0\4\3abX"))
    assert wrong.fault is not None and (wrong.fault.kind, wrong.fault.path) == ("bad", "cluster_id")


@pytest.mark.parametrize("kind", ["request", "response"])
def test_spans_cover_every_byte_between_header_and_end(kind: str) -> None:
    options = DecodeOptions(records="skip", show_secrets=True, spans=True)
    for key, version, data in samples(kind):
        message = decode(kind, key, version, data, options)
        assert message.spans is not None and message.fault is None
        last = 0
        for path, (offset, length) in message.spans.items():
            assert offset >= 0 and offset + length <= len(data), path
            last = max(last, offset + length)
        # What follows the last field are counts of tagged fields, none of which is there.
        assert set(data[last:]) <= {0}


def test_records_are_read_or_left() -> None:
    body = struct.pack(">hii", 1, 1000, 1) + b"\0\1t" + struct.pack(">iii", 1, 0, 5) + b"\0\0\0\0\0"
    message = decode_request(request(0, 0, body))
    assert message.fault is None and message.body is not None
    assert message.body["topic_data"][0]["partition_data"][0]["records"] == [{"partial": True}]
    assert message.record_faults and message.record_faults[0].offset == len(request(0, 0, body)) - 5
    raw = (decode_request(request(0, 0, body), options=SKIP).body or {})["topic_data"][0]["partition_data"][0]["records"]
    assert isinstance(raw, RawRecords) and len(raw) == 5
    assert raw.json_value() == [{"partial": True}]
