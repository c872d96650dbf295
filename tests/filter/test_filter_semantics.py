"""What filters mean, on exchanges made for the purpose."""

from __future__ import annotations

import json
import pickle
import time
from collections.abc import Iterator

import pytest

from kdissect.filter import compile_filter
from kdissect.schema.records_field import RawRecords
from tests.filter.exchanges_to_filter import TEN, exchange, finding

RECORDS = [
    {
        "base_offset": 10,
        "compression": "zstd",
        "is_transactional": False,
        "base_timestamp": TEN // 10**6,
        "records": [
            {"offset": 10, "timestamp": 5, "key": b"user-1", "value": b"\xff\x00", "headers": []},
            {"offset": 11, "timestamp": 6, "key": None, "value": b"paid", "headers": [{"key": "trace", "value": b"t1"}]},
        ],
    },
    {"base_offset": 12, "compression": "none", "is_transactional": True, "records": None},
]
PRODUCE = exchange(
    request={
        "transactional_id": None,
        "acks": -1,
        "timeout_ms": 30000,
        "topic_data": [
            {"name": "orders", "partition_data": [{"index": 0, "records": RECORDS}, {"index": 7, "records": None}]},
            {"name": "über", "partition_data": []},
        ],
    },
    response={
        "responses": [
            {
                "name": "orders",
                "partition_responses": [{"index": 0, "error_code": 6, "base_offset": 3}, {"index": 7, "error_code": 0}],
            }
        ],
        "throttle_time_ms": 0,
    },
    topics=["orders", "über"],
    error_codes=["NOT_LEADER_OR_FOLLOWER"],
    throttle_time_ms=0,
    client_id="billing-1",
    findings=[finding("records.bad_crc")],
)
METADATA = exchange("Metadata", 12, {"topics": None}, {"brokers": []}, client="[2001:db8::5]:50000", client_id=None)
LOST = exchange(
    "Fetch", 11, {"max_wait_ms": 500}, outcome="unanswered", unanswered_reason="gap", response=None,
    response_time_ns=None, response_bytes=None, response_packets=None,
)  # fmt: skip
LOST.response = None
STRAY = exchange(
    api_key=None, api_version=None, outcome="request_missing", request_time_ns=None, request_bytes=None, client_id=None,
)  # fmt: skip
STRAY.api = STRAY.request = STRAY.response = None

TRUE_OF_PRODUCE = [
    # The flat fields
    "api == Produce", "api eq produce", 'api == "PRODUCE"', "api == 0", "api_key == 0", "api in {Fetch, Produce}", "key == 0",
    "api not in {Fetch, Metadata}", "api != Fetch", 'api matches "^Pro"', "api contains odu", "version == 9", "version in {0..9}",
    "api_version >= 9", "size == 150", "size == 0.15kB", "size > 149", "size < 1KiB", "request_bytes in {50..100}",
    "latency == 1ms", "latency == 1000us", "latency == 1", "latency == 0.001s", "latency < 1.000001ms", "latency <= 1 ms",
    "latency > 999us", "latency in {1us..1s}", "latency_ms < 1m30s", "client == 10.0.0.5", "client == 10.0.0.5:50000",
    "client in 10.0.0.0/8", "client == 10.0.0.0/8", "client in {192.168.0.1, 10.0.0.5}", "client == :50000", "broker == :9092",
    'client contains "0.5"', 'client ~ ":5\\d+$"', "client != 10.0.0.6", "client != 10.0.0.5:50001", "client_id contains billing",
    "client_id == billing-1", "client_id != null", "outcome == answered", "reason == null", "unanswered_reason eq null",
    "correlation_id == 7", "corr == 7", "correlation == 0x7", 'file == "a.pcap"', "request_packets == 1", "index == 1",
    # Times
    "time == 2026-11-21T10:00:00Z", 'time >= "2026-11-21 10:00"', "time >= 2026-11-21 10:00", "time < 2026-11-22",
    "time == 2026-11-21T11:00:00+01:00", "response_time > 2026-11-21T10:00:00.000999Z", "time in {2026-11-21..2026-11-22}",
    "time > +59s", "time <= +1m", "time in {+1ms..+1h}",
    # What decoding gathers
    "error", "error == NOT_LEADER_OR_FOLLOWER", "error == not_leader_or_follower", "error == 6", 'error matches "LEADER"',
    "errors in {6, 3}", "topic == orders", 'topic == "über"', "topic != payments", "topics contains rder", "topic !== orders",
    "not topic === orders", "throttle == 0", "finding",
    "finding == records.bad_crc", "findings contains crc", "severity == warning",
    # Bodies
    "request.acks == -1", "request.acks < 0", "request.timeout_ms == 30s", "request.timeout_ms > 29 s", "request.acks",
    "request.topic_data.name == orders", "request.topic_data.partition_data.index == 7", "request.topic_data",
    "request.topic_data.partition_data.index in {5..9}", "request.transactional_id == null", "not request.transactional_id",
    "response.responses.partition_responses.error_code == NOT_LEADER_OR_FOLLOWER",
    "response.responses.partition_responses.error_code == NONE", "response.responses.partition_responses.error_code == 6",
    "response.responses.partition_responses.error_code matches LEADER",
    "response.responses.partition_responses.error_code !== NONE",
    # Records
    'records.key matches "^user-"', "records.key == user-1", "records.key == 0x757365722d31", "records.value == 0xff00",
    "records.value contains 0xff", "records.offset in {11..12}", "records.headers.key == trace", "records.headers.value == t1",
    "records.compression == zstd", "records.compression != gzip", "records.is_transactional", "records.is_transactional == false",
    "records.base_timestamp == 2026-11-21T10:00:00Z", "records.timestamp == 5", "records.key == null", "records",
    "request.topic_data.partition_data.records.compression == zstd",
    "request.topic_data.partition_data.records.records.key == user-1",
    # Logic
    "not api == Fetch", "!(api == Fetch)", "!error || topic == orders", "error && request.acks == -1", "api == Fetch or error",
    "api == Fetch and error or topic == orders", "api == Fetch and (error or topic == orders) or version == 9",
    "not not error", "NOT api == Fetch AND error", "not (error and api == Fetch)", "response", "request",
]  # fmt: skip

FALSE_OF_PRODUCE = [
    "api == Fetch", "api in {Fetch}", "api not in {Produce}", "version in {10..12}", "size > 1MB", "size == 150kB",
    "latency > 1ms", "latency != 1ms", "client == 10.0.0.6", "client in 11.0.0.0/8", "client == 10.0.0.5:1", "client == :9092",
    "client == ::1", "client in fd00::/8", "client_id == Billing-1", "client_id == null", "reason == gap", "reason != gap",
    "outcome != answered", "time < 2026-11-21T10:00:00Z", "time > +1m", "error == UNKNOWN_TOPIC_OR_PARTITION", "error == 3",
    "error != 6", "not error", "topic == order", "topic != orders", "topic === orders", "group", 'group != "x"', "principal",
    "request.acks == 0", "request.acks > -1", "request.acks == null", "request.transactional_id", "request.transactional_id != x",
    "request.transactional_id == x", "request.topic_data.partition_data.index > 7", "request.max_wait_ms >= 0",
    "response.error_code == 0", "response.responses.partition_responses.error_code === NONE",
    "response.responses.partition_responses.error_code != NONE", 'records.key matches "^ser"', "records.key == 0x00",
    'records.key == "0x757365722d31"', "records.compression == gzip", "records.compression != zstd", "records.offset == 12",
    "records.crc_valid", "finding == frame.truncated", "severity == critical", "error and not topic == orders",
    "not error or api == Fetch", "!error && topic == orders",
]  # fmt: skip


@pytest.fixture(autouse=True)
def utc(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def decide(text: str, of: object = PRODUCE) -> bool:
    """By all three ways to a decision, which must agree."""
    only = compile_filter(text)
    only.start_ns = TEN - 60 * 10**9
    passes = only.matches(of)  # type: ignore[arg-type]
    assert only.header(of) in (None, passes)  # type: ignore[arg-type]
    again = pickle.loads(pickle.dumps(only))
    again.start_ns = only.start_ns
    assert again.matches(of) is passes
    assert again.ast == only.ast == json.loads(json.dumps(only.ast))
    return passes


@pytest.mark.parametrize("text", TRUE_OF_PRODUCE)
def test_true(text: str) -> None:
    assert decide(text) is True
    assert decide(f"not ({text})") is False


@pytest.mark.parametrize("text", FALSE_OF_PRODUCE)
def test_false(text: str) -> None:
    assert decide(text) is False
    assert decide(f"not ({text})") is True


def test_missing_response() -> None:
    assert decide("not response and reason == gap and latency == null", LOST)
    assert not decide("response or latency >= 0 or error or response.throttle_time_ms >= 0", LOST)
    assert decide("size == 100 and request.max_wait_ms == 500ms", LOST)


def test_missing_request() -> None:
    assert decide("outcome == request_missing and api == null and not request", STRAY)
    assert decide('time == "2026-11-21T10:00:00.001Z"', STRAY)
    assert not decide("request.acks == 0 or response.error_code == 0 or api != Fetch or records.key", STRAY)


def test_ipv6() -> None:
    for text in ("client == 2001:db8::5", "client == [2001:db8::5]:50000", "client in 2001:db8::/32", "client == 2001:DB8:0::5"):
        assert decide(text, METADATA), text
    assert not decide("client in 10.0.0.0/8 or client == [2001:db8::5]:5 or client == 2001:db8::6", METADATA)


def test_null_is_not_absent() -> None:
    assert decide("request.topics == null and client_id == null", METADATA)
    assert not decide("request.acks == null", METADATA)
    assert not decide("client_id != billing", METADATA)


def test_unknown_apis_and_errors_by_number() -> None:
    odd = exchange(error_codes=["Unknown(999)"], topics=[])
    odd.api, odd.api_key = "Unknown(1234)", 1234
    assert decide('api == 1234 and api == "Unknown(1234)" and error == 999', odd)
    assert not decide("request.acks == 0", odd)


def test_redacted_secrets_are_there_and_equal_nothing() -> None:
    sasl = exchange("SaslAuthenticate", 2, {"auth_bytes": {"redacted": 9}}, {"error_code": 0})
    assert decide("request.auth_bytes", sasl)
    assert not decide('request.auth_bytes == x or request.auth_bytes contains "re" or request.auth_bytes matches "."', sasl)
    assert not decide("request.auth_bytes != x", sasl)


def test_records_that_nobody_has_read_yet() -> None:
    from kdissect.wire.records_writer import write_batch

    raw = write_batch([{"offset": 0, "timestamp": 1, "key": b"user-1", "value": b"v", "headers": []}])
    body = {"topic_data": [{"partition_data": [{"records": RawRecords(memoryview(raw), 0, False)}]}]}
    assert decide("records.key == user-1", exchange(request=body))


def test_paths_lead_into_decoded_blobs() -> None:
    join = exchange("JoinGroup", 5, {"protocols": [{"name": "range", "metadata": {"topics": ["orders"], "_version": 1}}]})
    assert decide("request.protocols.metadata.topics == orders and request.protocols.metadata._version == 1", join)
    assert not decide("request.protocols.metadata.topics == payments", join)
    raw = exchange("JoinGroup", 5, {"protocols": [{"name": "range", "metadata": b"\x00"}]})
    assert not decide("request.protocols.metadata.topics == orders", raw)


def test_wrapped_messages_have_the_fields_of_their_own() -> None:
    inner = {"_type": "CreateTopicsResponse", "body": {"topics": [{"name": "a", "error_code": 36}]}}
    envelope = exchange("Envelope", 0, {"request_data": b"?"}, {"response_data": inner, "error_code": 0})
    assert decide("response.response_data.body.topics.error_code == TOPIC_ALREADY_EXISTS", envelope)
    assert not decide("response.response_data.body.topics.error_code == NONE", envelope)


def test_a_field_of_any_partition_and_of_one_api_only() -> None:
    fetch = exchange("Fetch", 11, {}, {"responses": [{"partitions": [{"error_code": 0}, {"error_code": 6}]}]})
    text = "response.responses.partitions.error_code == NOT_LEADER_OR_FOLLOWER"
    assert decide(text, fetch)
    assert compile_filter(text).header(PRODUCE) is False


def test_times_of_bodies_are_milliseconds() -> None:
    offsets = exchange("ListOffsets", 5, {"topics": [{"partitions": [{"timestamp": TEN // 10**6}, {"timestamp": -1}]}]})
    assert decide("request.topics.partitions.timestamp == 2026-11-21T10:00:00Z", offsets)
    assert decide("request.topics.partitions.timestamp == -1", offsets)


def test_an_api_versions_response_may_be_of_version_0() -> None:
    refused = exchange("ApiVersions", 4, {}, {"error_code": 35, "api_keys": [{"api_key": 0}]})
    assert decide("response.error_code == UNSUPPORTED_VERSION and response.api_keys.api_key == Produce", refused)


def test_relative_times_need_a_start() -> None:
    only = compile_filter("time > +1ms")
    assert not only.matches(exchange())
    only.start_ns = TEN - 2 * 10**6
    assert only.matches(exchange())


def test_time_zone_of_the_machine_or_utc(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Asia/Kolkata")
    time.tzset()
    assert not compile_filter('time == "2026-11-21 10:00"').matches(exchange())
    assert compile_filter('time == "2026-11-21 15:30"').matches(exchange())
    assert compile_filter('time == "2026-11-21 10:00"', utc=True).matches(exchange())


def test_needs() -> None:
    only = compile_filter("api == Fetch and (latency > 1s or records.key == a) and size > 1 and finding")
    assert only.needs == {"api", "latency_ms", "records.key", "request_bytes", "response_bytes", "findings"}
    assert only.records == "full"
    assert compile_filter("records.compression == gzip").records == "heads"
    assert compile_filter("request.acks == 0 and error").records == "skip"
    assert compile_filter("finding == frame.truncated").records == "heads"
    assert compile_filter("finding == frame.malformed").records == "full"


def test_plain_tree() -> None:
    only = compile_filter("not api in {fetch, 0} or latency > 1.5s and topic and records.key == 0x00ff", utc=True)
    assert only.ast == {
        "op": "or",
        "args": [
            {"op": "not", "arg": {"op": "in", "field": "api", "type": "API", "values": ["Fetch", "Produce"]}},
            {
                "op": "and",
                "args": [
                    {"op": ">", "field": "latency_ms", "type": "duration", "values": [1500]},
                    {"op": "exists", "field": "topics"},
                    {"op": "==", "field": "records.key", "type": "bytes", "values": [{"hex": "00ff"}]},
                ],
            },
        ],
    }


class _Sealed:
    """An exchange whose body nobody may look at."""

    def __init__(self, of: object, *allowed: str) -> None:
        self._of, self._allowed = of, allowed

    def __getattr__(self, name: str) -> object:
        if name in ("request", "response", "error_codes", "topics", "groups", "findings", "throttle_time_ms", "principal"):
            assert name in self._allowed, f"{name} was looked at"
        return getattr(self._of, name)


@pytest.mark.parametrize(
    ("text", "passes"),
    [
        ("records.key == x and api == Fetch", False),
        ("error or size == 150", True),
        ("request.max_wait_ms == 1", False),
        ("response.error_code == 0 or latency == 1ms", True),
        ("not (request.acks == 0 and api == Fetch)", True),
        ("(topic == a or size == 150) and not (error and version == 1)", True),
    ],
)
def test_the_head_decides_where_it_can(text: str, passes: bool) -> None:
    only = compile_filter(text)
    assert only.header(_Sealed(PRODUCE)) is passes  # type: ignore[arg-type]
    assert only.matches(_Sealed(PRODUCE)) is passes  # type: ignore[arg-type]


@pytest.mark.parametrize("text", ["request.acks == 0", "topic", "not error", "api == Produce and records", "principal == null"])
def test_the_head_leaves_open_what_it_cannot_know(text: str) -> None:
    assert compile_filter(text).header(_Sealed(PRODUCE)) is None  # type: ignore[arg-type]


def test_a_body_is_looked_at_before_its_records() -> None:
    only = compile_filter("records.key == x and topic == payments")
    assert not only.matches(_Sealed(PRODUCE, "topics"))  # type: ignore[arg-type]
