"""Forwarded requests, decoded in place."""

from __future__ import annotations

import random
import struct
from pathlib import Path
from typing import Any

from kdissect import schema
from kdissect.exchange import Exchange
from kdissect.schema.encode import encode_fields, encode_request, encode_response
from tests.protocol.protocol_talk import Body, Talk, dissect, every, write

ENVELOPE, CREATE_TOPICS, ALTER_CONFIGS, CREATE_TOKEN = 58, 19, 44, 38
TOPIC_ID = "z2C1njwTSxOps6l8Suk37g"


def principal(name: str) -> bytes:
    fields = {"type": "User", "name": name, "token_authenticated": False}
    return struct.pack(">h", 0) + encode_fields(schema.format("DefaultPrincipalData").fields(0), fields)


def forward(path: Path, key: int, version: int, request: Body, response: Body | None, **options: Any) -> Exchange:
    """The exchange of an Envelope around a request and its response."""
    asked = encode_request(key, version, 77, "inner", request, sized=False)
    answered = None if response is None else encode_response(key, version, 77, response, sized=False)
    envelope = {"request_data": asked, "request_principal": principal("alice"), "client_host_address": bytes([10, 0, 0, 7])}
    talk = Talk().ask(ENVELOPE, 0, envelope, {"response_data": answered, "error_code": 0})
    (exchange,), _ = dissect(write(path / "envelope.pcap", talk), **options)
    return exchange


def create_topics(path: Path, **options: Any) -> Exchange:
    request = {"topics": [{"name": "orders", "num_partitions": 3}], "timeout_ms": 5, "validate_only": False}
    response = {"topics": [{"name": "orders", "topic_id": TOPIC_ID, "error_code": 36, "configs": None}]}
    return forward(path, CREATE_TOPICS, 7, request, response, **options)


def test_request_response_and_principal(tmp_path: Path) -> None:
    row = create_topics(tmp_path).to_contract()
    request, response = row["request"], row["response"]
    assert request["request_principal"] == {
        "_type": "DefaultPrincipalData", "_version": 0, "type": "User", "name": "alice", "token_authenticated": False,
    }  # fmt: skip
    assert list(request["request_data"]) == ["_type", "_version", "header", "body"]
    assert (request["request_data"]["_type"], request["request_data"]["_version"]) == ("CreateTopicsRequest", 7)
    assert request["request_data"]["header"] == {
        "request_api_key": 19, "request_api_version": 7, "correlation_id": 77, "client_id": "inner",
    }  # fmt: skip
    assert request["request_data"]["body"]["topics"][0]["num_partitions"] == 3
    assert response["response_data"]["_type"] == "CreateTopicsResponse"
    assert response["response_data"]["header"] == {"correlation_id": 77}
    assert response["response_data"]["body"]["topics"][0]["topic_id"] == TOPIC_ID
    assert row["api"] == "Envelope" and row["throttle_time_ms"] is None


def test_what_is_inside_counts_for_the_exchange(tmp_path: Path) -> None:
    for records in ("full", "heads", "skip"):
        row = create_topics(tmp_path, records=records).to_contract()
        assert (row["error_codes"], row["topics"]) == (["TOPIC_ALREADY_EXISTS"], ["orders"])


def test_the_errors_of_both_are_told_in_order(tmp_path: Path) -> None:
    request = {"topics": [], "timeout_ms": 5, "validate_only": False}
    response = {"topics": [{"name": "a", "error_code": 41}, {"name": "b", "error_code": 41}, {"name": "c", "error_code": 17}]}
    assert forward(tmp_path, CREATE_TOPICS, 7, request, response).error_codes == ["NOT_CONTROLLER", "INVALID_TOPIC_EXCEPTION"]


def test_secrets_inside_are_withheld(tmp_path: Path) -> None:
    configs = [{"name": "ssl.key.password", "config_operation": 0, "value": "hush"}]
    request = {"resources": [{"resource_type": 4, "resource_name": "1", "configs": configs}], "validate_only": False}
    exchange = forward(tmp_path, ALTER_CONFIGS, 1, request, {"responses": []})
    assert b"hush" not in repr(exchange.to_contract()).encode()
    (value,) = [each["value"] for each in every(exchange.to_contract()) if isinstance(each, dict) and "config_operation" in each]
    assert value == {"redacted": 4}
    exchange = forward(tmp_path, ALTER_CONFIGS, 1, request, {"responses": []}, show_secrets=True)
    assert "hush" in repr(exchange.to_contract())


def test_what_cannot_be_read_is_withheld_where_it_may_hold_a_secret(tmp_path: Path) -> None:
    request = encode_request(CREATE_TOKEN, 3, 1, "x", {"renewers": [], "max_lifetime_ms": 1}, sized=False) + b"trailing"
    response = encode_response(CREATE_TOKEN, 3, 1, {"hmac": b"hush"}, sized=False)
    body = {"request_data": request, "request_principal": b"not Kafka's", "client_host_address": b""}
    path = write(tmp_path / "a.pcap", Talk().ask(ENVELOPE, 0, body, {"response_data": response, "error_code": 0}))
    (exchange,), _ = dissect(path)
    row = exchange.to_contract()
    assert row["request"]["request_data"] == {"redacted": len(request)}
    assert row["request"]["request_principal"] == b"not Kafka's"
    assert row["response"]["response_data"] == {"redacted": len(response)}
    (exchange,), _ = dissect(path, show_secrets=True)
    assert exchange.to_contract()["request"]["request_data"] == request
    assert exchange.to_contract()["response"]["response_data"] == response


def test_an_envelope_in_an_envelope_stays_shut(tmp_path: Path) -> None:
    inner = {"request_data": b"x", "request_principal": None, "client_host_address": b""}
    row = forward(tmp_path, ENVELOPE, 0, inner, {"response_data": None, "error_code": 0}).to_contract()
    assert isinstance(row["request"]["request_data"], bytes)


def test_a_response_without_data(tmp_path: Path) -> None:
    row = forward(tmp_path, CREATE_TOPICS, 7, {"topics": [], "timeout_ms": 5, "validate_only": True}, None).to_contract()
    assert row["response"] == {"response_data": None, "error_code": 0}


def test_hostile_contents_never_raise(tmp_path: Path) -> None:
    rng = random.Random(1)
    talk = Talk()
    good = encode_request(CREATE_TOPICS, 7, 1, "x", {"topics": [], "timeout_ms": 5, "validate_only": False}, sized=False)
    for _ in range(300):
        data = bytearray(good + rng.randbytes(rng.randrange(30)))
        for _ in range(rng.randrange(4)):
            data[rng.randrange(len(data))] = rng.randrange(256)
        body = {"request_data": bytes(data), "request_principal": rng.randbytes(5), "client_host_address": b""}
        talk.ask(ENVELOPE, 0, body, {"response_data": rng.randbytes(rng.randrange(40)), "error_code": 0})
    exchanges, _ = dissect(write(tmp_path / "hostile.pcap", talk))
    assert len(exchanges) == 300 and not any(exchange.findings for exchange in exchanges)
