"""A capture whose every text tries to act on the terminal."""

from __future__ import annotations

from pathlib import Path

from kdissect.schema.encode import encode_request, encode_response
from kdissect.wire.records_writer import write_batch
from tests.support.conversation import Conversation, heartbeat
from tests.support.packets import pcap

HOSTILE = "evil\x1b[2J\x1b]0;owned\x07\x9b31m\u202e\u200b\r\n[red]x[/]"


def produce() -> tuple[bytes, bytes]:
    """A Produce exchange with nasty client id, topic, key, header and long value; the broker is no longer the leader."""
    record = {"key": HOSTILE.encode(), "value": HOSTILE.encode() * 1000, "headers": [{"key": HOSTILE, "value": HOSTILE.encode()}]}
    topic = {"name": HOSTILE, "partition_data": [{"index": 0, "records": write_batch([record])}]}
    asked = {"transactional_id": None, "acks": -1, "timeout_ms": 1000, "topic_data": [topic]}
    partition = {"index": 0, "error_code": 6, "base_offset": 5, "log_append_time_ms": -1}
    answer = {"responses": [{"name": HOSTILE, "partition_responses": [partition]}], "throttle_time_ms": 0}
    return encode_request(0, 3, 2, HOSTILE, asked), encode_response(0, 3, 2, answer)


def group() -> tuple[bytes, bytes]:
    """A Heartbeat of a nasty group that fails."""
    asked = {"group_id": HOSTILE, "generation_id": 5, "member_id": HOSTILE, "group_instance_id": HOSTILE}
    answer = {"throttle_time_ms": 0, "error_code": 27}
    return encode_request(12, 3, 3, HOSTILE, asked), encode_response(12, 3, 3, answer)


def write_hostile(path: Path) -> None:
    """Writes one connection: a harmless exchange by which it is recognised, then the nasty ones."""
    talk = Conversation().open()
    for request, response in (heartbeat(1), produce(), group()):
        talk.say(0, request).say(1, response)
    path.write_bytes(pcap(talk.packets))
