"""What real brokers and clients put inside messages: nothing of it is left unread in the committed captures."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from kdissect.exchange import Exchange
from kdissect.protocol.contents.records import INTERNAL_LOGS
from tests.protocol.protocol_talk import dissect, every

CAPTURES = Path(__file__).parents[2] / "captures"
RECORDED = [path.name for path in sorted(CAPTURES.glob("*.pcapng")) if not path.with_suffix(".keys").exists()]
GROUP_FIELDS = ("metadata", "assignment", "member_metadata", "member_assignment")
BROKERS = ("broker-", "Persister-client-")
"""How the clients call themselves that brokers are to each other."""
TOPIC_ID = re.compile(r"[A-Za-z0-9_-]{22}")

METADATA_RECORDS = {
    *("FeatureLevelRecord", "ConfigRecord", "RegisterBrokerRecord", "RegisterControllerRecord", "BrokerRegistrationChangeRecord"),
    *("TopicRecord", "PartitionRecord", "PartitionChangeRecord", "NoOpRecord", "ProducerIdsRecord"),
    *("BeginTransactionRecord", "EndTransactionRecord"),
}
CLUSTER = METADATA_RECORDS | {
    *("ControlRecordTypeSchema", "LeaderChangeMessage", "KRaftVersionRecord", "VotersRecord", "EndTxnMarker"),
    *("TransactionLogKey", "TransactionLogValue", "GroupMetadataKey", "GroupMetadataValue"),
    *("OffsetCommitKey", "OffsetCommitValue", "ConsumerProtocolSubscription", "ConsumerProtocolAssignment"),
    *("DefaultPrincipalData", "CreateTopicsRequest", "CreateTopicsResponse", "ElectLeadersRequest", "ElectLeadersResponse"),
}
HELD = {
    "cluster-3.9.2.pcapng": CLUSTER,
    "cluster-4.4.0.pcapng": CLUSTER | {"ClearElrRecord"},
    "groups-4.4.0.pcapng": {"ConsumerProtocolSubscription", "ConsumerProtocolAssignment", "EndTxnMarker"},
}


@cache
def recorded(name: str) -> list[Exchange]:
    return dissect(CAPTURES / name)[0]


def bodies(name: str) -> Iterator[tuple[Exchange, dict[str, Any]]]:
    for exchange in recorded(name):
        row = exchange.to_contract()
        for kind in ("request", "response"):
            if row[kind] is not None:
                yield exchange, row[kind]


def types(body: object) -> set[str]:
    return {each["_type"] for each in every(body) if isinstance(each, dict) and "_type" in each}


@pytest.mark.parametrize("name", HELD)
def test_what_the_captures_hold(name: str) -> None:
    found = set().union(*(types(body) for _, body in bodies(name)))
    assert found >= HELD[name]


@pytest.mark.parametrize("name", RECORDED)
def test_nothing_inside_is_left_unread(name: str) -> None:
    for exchange, body in bodies(name):
        if exchange.api in ("JoinGroup", "SyncGroup", "DescribeGroups"):
            for each in every(body):
                for field in GROUP_FIELDS if isinstance(each, dict) and "_type" not in each else ():
                    assert not isinstance(each.get(field), bytes) or each[field] == b"", (exchange.index, field)
        elif exchange.api == "Envelope":
            assert types(body) and not isinstance(body.get("request_data", body.get("response_data")), bytes), exchange.index
        elif exchange.api == "Fetch" and len(exchange.topics) == 1 and exchange.topics[0] in INTERNAL_LOGS:
            for each in every(body):
                if isinstance(each, dict) and "timestamp" in each and "headers" in each:
                    assert not isinstance(each["key"], bytes) and not isinstance(each["value"], bytes), (exchange.index, each)


@pytest.mark.parametrize("name", RECORDED)
def test_all_topic_ids_have_names(name: str) -> None:
    exchanges, dissection = dissect(CAPTURES / name)
    for exchange in exchanges:
        unnamed = {topic for topic in exchange.topics if TOPIC_ID.fullmatch(topic)}
        assert not unnamed & dissection.state.topic_names.keys(), exchange.index
        # Replicas fetch by id, and where the quorum's own traffic is not in the capture nothing says their names.
        assert not unnamed or (exchange.client_id or "").startswith(BROKERS), exchange.index


@pytest.mark.parametrize("name", RECORDED)
def test_sessions_that_began_in_the_capture_are_known(name: str) -> None:
    asked = [exchange for exchange in recorded(name) if exchange.api == "Fetch" and exchange.request and exchange.request.body]
    assert all(exchange.fetch_partitions is not None for exchange in asked if not exchange.request.fault)  # type: ignore[union-attr]


def test_pushed_metrics() -> None:
    pytest.importorskip("opentelemetry.proto.metrics.v1.metrics_pb2")
    for name in ("telemetry-3.9.2.pcapng", "telemetry-4.4.0.pcapng", "streams-4.4.0.pcapng"):
        pushed = [body for exchange, body in bodies(name) if exchange.api == "PushTelemetry" and body.get("metrics")]
        assert pushed and all(body["metrics"]["_type"] == "MetricsData" for body in pushed)
        names = {each["name"] for body in pushed for each in every(body) if isinstance(each, dict) and "points" in each}
        assert any(metric.startswith("org.apache.kafka.") for metric in names)


def test_logins() -> None:
    exchanges = recorded("sasl-java-3.9.2.pcapng")
    assert {exchange.principal for exchange in exchanges} == {None, "User:alice"}
    steps = {token.step for exchange in exchanges for token in exchange.sasl or () if token is not None}
    assert steps >= {"credentials", "client-first", "server-first", "client-final", "server-final", "initial-response"}
    tokens = [body["auth_bytes"] for exchange, body in bodies("sasl-java-3.9.2.pcapng") if exchange.api == "SaslAuthenticate"]
    assert tokens and all(token.keys() == {"redacted"} for token in tokens)
