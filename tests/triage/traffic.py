"""Kafka traffic made for one question each, as real packets, and the report on it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from kdissect.dissect import Dissection, Options
from kdissect.plugins.host import Host
from kdissect.report.triage_report import Report, Reporter
from kdissect.schema.encode import encode_request, encode_response
from kdissect.triage.thresholds import Thresholds
from kdissect.wire.json import dumps
from kdissect.wire.records_writer import write_batch
from tests.support.conversation import ACK, RST, STEP, SYN, Conversation
from tests.support.packets import Packet, pcap

Body = Mapping[str, Any]


class Talk(Conversation):
    """A connection that asks and answers; a packet takes :data:`STEP`, waiting takes as long as it is told."""

    client_id: str | None = "app"
    correlation: int = 0

    def wait(self, ms: float) -> Talk:
        """Let time pass."""
        self.start_ns += int(ms * 1e6)
        return self

    def ask(self, key: int, version: int, request: Body, response: Body | None, took_ms: float = 0.0) -> Talk:
        """One exchange; ``took_ms``: how long the broker takes beyond a packet's time; None: no answer."""
        self.correlation += 1
        self.say(0, encode_request(key, version, self.correlation, self.client_id, request))
        self.wait(took_ms)
        if response is not None:
            self.say(1, encode_response(key, version, self.correlation, response))
        return self

    def now_ns(self) -> int:
        """Time of the next packet."""
        return self.start_ns + STEP * len(self.packets)


def talk(
    client: str = "10.0.0.5",
    port: int = 50000,
    broker: str = "10.0.0.9",
    client_id: str | None = "app",
    start_ms: float = 0.0,
    broker_port: int = 9092,
) -> Talk:
    """An open connection."""
    made = Talk(ends=(client, broker), ports=(port, broker_port))
    made.client_id = client_id
    made.wait(start_ms)
    made.open()
    return made


def report_of(
    path: Path, *talks: Conversation, target: str | None = None, thresholds: Iterable[str] = (), host: Host | None = None
) -> dict[str, Any]:
    """The report on these connections, as ``kdissect report --format json`` has it."""
    return as_json(built(path, *talks, target=target, thresholds=thresholds, host=host))


def built(
    path: Path, *talks: Conversation, target: str | None = None, thresholds: Iterable[str] = (), host: Host | None = None
) -> Report:
    """The same as an object."""
    return reported(capture(path, *talks), target=target, thresholds=thresholds, host=host)


def capture(path: Path, *talks: Conversation) -> Path:
    """All connections in one capture, in order of time."""
    packets: list[Packet] = sorted((packet for each in talks for packet in each.packets), key=lambda packet: packet.time_ns)
    file = path / "made.pcap"
    file.write_bytes(pcap(packets, nano=True))
    return file


def reported(file: Path, *, target: str | None = None, thresholds: Iterable[str] = (), host: Host | None = None) -> Report:
    """The report on a capture."""
    reporter = Reporter(host or Host(discover=False), Thresholds().with_settings(thresholds), target)
    dissection = Dissection([str(file)], Options(records="heads", flat=True, sample=True), lambda text: None)
    for batch in dissection.batches():
        reporter.add(batch)
    return reporter.finish(dissection)


def as_json(report: Report) -> dict[str, Any]:
    """What a script would read."""
    value: dict[str, Any] = json.loads(dumps(report.data))
    return value


def codes(report: Mapping[str, Any]) -> dict[str, str]:
    """Finding code -> its worst severity."""
    found: dict[str, str] = {}
    for finding in report["findings"]:
        found.setdefault(finding["code"], finding["severity"])
    return found


def one(report: Mapping[str, Any], code: str) -> dict[str, Any]:
    """The only finding of a code."""
    (found,) = [finding for finding in report["findings"] if finding["code"] == code]
    return dict(found)


# Requests with their answers


def versions(**newest: int) -> tuple[Body, Body]:
    """ApiVersions v3 of a client that names itself; ``newest``: ``k0=9`` for API key 0."""
    asked = {"client_software_name": "some-library", "client_software_version": "1.2.3"}
    keys = [{"api_key": int(name[1:]), "min_version": 0, "max_version": most} for name, most in newest.items()]
    return asked, {"error_code": 0, "api_keys": keys}


def produce(
    topic: str = "orders",
    *,
    records: int = 10,
    size: int = 100,
    acks: int = -1,
    error: int = 0,
    compression: str = "none",
    throttle: int = 0,
) -> tuple[Body, Body]:
    """Produce v7 with one batch."""
    batch = write_batch([{"value": b"x" * size, "timestamp": 1} for _ in range(records)], compression=compression)
    asked = {
        "transactional_id": None,
        "acks": acks,
        "timeout_ms": 1000,
        "topic_data": [{"name": topic, "partition_data": [{"index": 0, "records": batch}]}],
    }
    answer = [{"index": 0, "error_code": error, "base_offset": 0}]
    return asked, {"responses": [{"name": topic, "partition_responses": answer}], "throttle_time_ms": throttle}


def fetch(
    topic: str = "orders",
    *,
    offset: int = 0,
    watermark: int = 0,
    records: int = 0,
    error: int = 0,
    max_wait: int = 500,
    replica: int = -1,
) -> tuple[Body, Body]:
    """Fetch v4 of one partition; ``records`` come back from ``offset`` on."""
    batch = write_batch([{"value": b"y", "timestamp": 1, "offset": offset + n} for n in range(records)]) if records else b""
    asked = {
        "replica_id": replica,
        "max_wait_ms": max_wait,
        "min_bytes": 1,
        "topics": [{"topic": topic, "partitions": [{"partition": 0, "fetch_offset": offset, "partition_max_bytes": 1 << 20}]}],
    }
    partition = {
        "partition_index": 0,
        "error_code": error,
        "high_watermark": watermark,
        "aborted_transactions": None,
        "records": batch,
    }
    return asked, {"throttle_time_ms": 0, "responses": [{"topic": topic, "partitions": [partition]}]}


def heartbeat(group: str = "billing", error: int = 0, member: str = "m-1") -> tuple[Body, Body]:
    """Heartbeat v3."""
    return {"group_id": group, "generation_id": 1, "member_id": member}, {"throttle_time_ms": 0, "error_code": error}


def join(member: str, generation: int, group: str = "billing", leader: str = "m-1") -> tuple[Body, Body]:
    """JoinGroup v5."""
    asked = {
        "group_id": group,
        "session_timeout_ms": 10_000,
        "rebalance_timeout_ms": 60_000,
        "member_id": member,
        "protocol_type": "consumer",
        "protocols": [{"name": "range", "metadata": b""}],
    }
    answer = {
        "error_code": 0,
        "generation_id": generation,
        "protocol_name": "range",
        "leader": leader,
        "member_id": member,
        "members": [],
    }
    return asked, answer


def sync(member: str, generation: int, group: str = "billing") -> tuple[Body, Body]:
    """SyncGroup v3."""
    asked = {"group_id": group, "generation_id": generation, "member_id": member, "assignments": []}
    return asked, {"error_code": 0, "assignment": b""}


def metadata(topics: Iterable[str] | None = ("orders",)) -> tuple[Body, Body]:
    """Metadata v5."""
    names = None if topics is None else [{"name": name} for name in topics]
    answered = [{"error_code": 0, "name": name, "partitions": []} for name in topics or ()]
    return {"topics": names, "allow_auto_topic_creation": False}, {"brokers": [], "controller_id": 0, "topics": answered}


__all__ = ["ACK", "RST", "SYN"]
