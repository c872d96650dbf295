"""A capture whose every text tries to act on the terminal."""

from __future__ import annotations

from pathlib import Path

from kdissect.schema.encode import encode_request, encode_response
from kdissect.wire.records_writer import write_batch
from tests.support.conversation import Conversation, heartbeat
from tests.support.packets import pcap

HOSTILE = "evil\x1b[2J\x1b]0;owned\x07\x9b31m\u202e\u200b\r\n[red]x[/]"
HUGE = 10_000_000
"""Bytes of the largest value."""


def produce(correlation_id: int = 2, value: bytes = HOSTILE.encode() * 1000, error_code: int = 6) -> tuple[bytes, bytes]:
    """A Produce exchange with nasty client id, topic, key, header and long value; the broker is no longer the leader."""
    record = {"key": HOSTILE.encode(), "value": value, "headers": [{"key": HOSTILE, "value": HOSTILE.encode()}]}
    topic = {"name": HOSTILE, "partition_data": [{"index": 0, "records": write_batch([record])}]}
    asked = {"transactional_id": HOSTILE, "acks": -1, "timeout_ms": 1000, "topic_data": [topic]}
    partition = {"index": 0, "error_code": error_code, "base_offset": 5, "log_append_time_ms": -1}
    answer = {"responses": [{"name": HOSTILE, "partition_responses": [partition]}], "throttle_time_ms": 0}
    return encode_request(0, 3, correlation_id, HOSTILE, asked), encode_response(0, 3, correlation_id, answer)


def group() -> tuple[bytes, bytes]:
    """A Heartbeat of a nasty group that fails."""
    asked = {"group_id": HOSTILE, "generation_id": 5, "member_id": HOSTILE, "group_instance_id": HOSTILE}
    answer = {"throttle_time_ms": 0, "error_code": 27}
    return encode_request(12, 3, 3, HOSTILE, asked), encode_response(12, 3, 3, answer)


def library() -> tuple[bytes, bytes]:
    """An ApiVersions exchange of a client with a nasty library."""
    asked = {"client_software_name": HOSTILE, "client_software_version": HOSTILE}
    return encode_request(18, 3, 4, HOSTILE, asked), encode_response(18, 3, 4, {"error_code": 0, "api_keys": []})


def join() -> tuple[bytes, bytes]:
    """A JoinGroup with nasty names everywhere, and an answer that makes it lead a generation."""
    protocol = {"name": HOSTILE, "metadata": HOSTILE.encode()}
    asked = {
        "group_id": HOSTILE,
        "session_timeout_ms": 1,
        "rebalance_timeout_ms": 1,
        "member_id": HOSTILE,
        "group_instance_id": HOSTILE,
        "protocol_type": HOSTILE,
        "protocols": [protocol],
    }
    answer = {
        "throttle_time_ms": 0,
        "error_code": 0,
        "generation_id": 7,
        "protocol_name": HOSTILE,
        "leader": HOSTILE,
        "member_id": HOSTILE,
        "members": [{"member_id": HOSTILE, "group_instance_id": None, "metadata": HOSTILE.encode()}],
    }
    return encode_request(11, 5, 5, HOSTILE, asked), encode_response(11, 5, 5, answer)


def leave() -> tuple[bytes, bytes]:
    """A LeaveGroup with a nasty reason."""
    member = {"member_id": HOSTILE, "group_instance_id": HOSTILE, "reason": HOSTILE}
    asked = {"group_id": HOSTILE, "members": [member]}
    answer = {"throttle_time_ms": 0, "error_code": 0, "members": []}
    return encode_request(13, 5, 6, HOSTILE, asked), encode_response(13, 5, 6, answer)


def huge() -> tuple[bytes, bytes]:
    """A record of ten megabytes."""
    return produce(7, (HOSTILE.encode() * (HUGE // len(HOSTILE.encode()) + 1))[:HUGE], 0)


def write_hostile(path: Path, with_huge: bool = False) -> None:
    """Writes one connection: a harmless exchange by which it is recognised, then the nasty ones, the huge one last."""
    talk = Conversation().open()
    for request, response in (heartbeat(1), produce(), group(), library(), join(), leave(), *([huge()] if with_huge else [])):
        talk.say(0, request, 60_000).say(1, response)
    path.write_bytes(pcap(talk.close().packets))
