"""What makes a group rebalance, told from heartbeats, joins and leaves."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kdissect.dissect import Dissection, Options
from kdissect.report.group_events import GroupEvent, ranges
from kdissect.report.groups import Timelines
from kdissect.schema.encode import encode_request, encode_response
from tests.support.conversation import Conversation, heartbeat
from tests.support.packets import pcap

GROUP = "billing"


class Talk:
    """One client's connection to the coordinator."""

    def __init__(self, client_id: str, port: int) -> None:
        self.client_id = client_id
        self.talk = Conversation(ports=(port, 9092)).open()
        self.number = 0
        self.exchange(*heartbeat(0, client_id, "another"))

    def exchange(self, request: bytes, response: bytes) -> None:
        self.talk.say(0, request).say(1, response)

    def send(self, key: int, version: int, asked: dict[str, Any], answer: dict[str, Any], error_code: int = 0) -> None:
        self.number += 1
        request = encode_request(key, version, self.number, self.client_id, {"group_id": GROUP, **asked})
        answer = {"throttle_time_ms": 0, "error_code": error_code, **answer}
        self.exchange(request, encode_response(key, version, self.number, answer))

    def join(self, member: str, generation: int, members: tuple[str, ...] = (), reason: str | None = None) -> None:
        asked = {
            "session_timeout_ms": 10_000,
            "rebalance_timeout_ms": 10_000,
            "member_id": member,
            "group_instance_id": None,
            "protocol_type": "consumer",
            "protocols": [{"name": "range", "metadata": b"\x00\x00\x00\x00\x00\x01\x00\x06orders\xff\xff\xff\xff"}],
            "reason": reason,
        }
        answer = {
            "generation_id": generation,
            "protocol_type": "consumer",
            "protocol_name": "range",
            "leader": members[0] if members else "",
            "skip_assignment": False,
            "member_id": member,
            "members": [{"member_id": each, "group_instance_id": None, "metadata": b""} for each in members],
        }
        self.send(11, 9, asked, answer)

    def leave(self, member: str) -> None:
        one = {"member_id": member, "group_instance_id": None}
        self.send(13, 5, {"members": [{**one, "reason": "closing down"}]}, {"members": [{**one, "error_code": 0}]})

    def beat(self, epoch: int, told: int, topics: list[str] | None, partitions: list[int] | None) -> None:
        asked = {
            "member_id": "m" * 22,
            "member_epoch": epoch,
            "instance_id": None,
            "rack_id": None,
            "rebalance_timeout_ms": 1000,
            "subscribed_topic_names": topics,
            "server_assignor": None,
            "topic_partitions": None,
        }
        parts = [{"topic_id": "HmaR8bR7TVKNSpH50AnEIw", "partitions": partitions}]
        assignment = None if partitions is None else {"topic_partitions": parts}
        answer = {"error_message": None, "member_id": "m" * 22, "member_epoch": told, "heartbeat_interval_ms": 5000}
        self.send(68, 0, asked, {**answer, "assignment": assignment})


def story(tmp_path: Path, *talks: Talk) -> list[GroupEvent]:
    """The events of :data:`GROUP`; what the clients do is taken to happen one client after the other."""
    packets = [packet for talk in talks for packet in talk.talk.packets]
    for at, packet in enumerate(packets):
        packet.time_ns = 1_700_000_000_000_000_000 + at * 1_000_000
    file = tmp_path / "groups.pcap"
    file.write_bytes(pcap(packets))
    dissection = Dissection([str(file)], Options(), lambda text: None)
    source = Timelines(lambda topic_id: "orders" if topic_id == "HmaR8bR7TVKNSpH50AnEIw" else None)
    for batch in dissection.batches():
        source.add(batch)
    return [event for event in source.finish(dissection) if event.group == GROUP]


def told(events: list[GroupEvent]) -> list[tuple[str, int | None, str | None]]:
    return [(event.event, event.generation, event.trigger) for event in events]


def test_a_join_a_reason_and_a_leave(tmp_path: Path) -> None:
    one = Talk("consumer-1", 50001)
    one.join("consumer-1-aaaa", 1, ("consumer-1-aaaa",))
    one.join("consumer-1-aaaa", 2, ("consumer-1-aaaa",), "rebalance enforced by user")
    one.leave("consumer-1-aaaa")
    events = story(tmp_path, one)
    assert told(events) == [
        ("joined", None, None),
        ("rebalance", 1, "consumer-1 joined"),
        ("rebalance", 2, "consumer-1 rejoined: rebalance enforced by user"),
        ("left", None, None),
    ]
    assert events[0].text == "subscribed to orders" and events[-1].text == "closing down"
    assert events[0].heading.startswith("billing · consumer, range · 1 member · 2 rebalances · coordinator 10.0.0.9:9092")


def test_a_member_that_is_gone_without_leaving(tmp_path: Path) -> None:
    one, two = Talk("a", 50001), Talk("b", 50002)
    one.join("a-1", 1, ("a-1", "b-1"))
    two.join("b-1", 1)
    two.join("b-1", 2, ("b-1",), "group is already rebalancing")
    events = story(tmp_path, one, two)
    assert [event[0] for event in told(events)] == ["joined", "rebalance", "joined", "gone", "rebalance"]
    gone, rebalance = events[3:]
    assert gone.member_id == "a-1" and "silent for" in gone.text
    assert rebalance.trigger is not None and "a was gone" in rebalance.trigger


def test_the_new_protocol(tmp_path: Path) -> None:
    one = Talk("new", 50001)
    one.beat(0, 1, ["orders"], [0, 1, 2, 5])
    one.beat(1, 1, None, None)
    one.beat(1, 3, None, [0])
    one.beat(-1, -1, None, None)
    events = story(tmp_path, one)
    assert told(events) == [
        ("joined", None, None),
        ("rebalance", 1, "new joined"),
        ("assigned", 1, None),
        ("rebalance", 3, "not seen in the capture"),
        ("assigned", 3, None),
        ("left", None, None),
    ]
    assert events[2].text == "orders 0-2,5"


def test_errors_and_groups_without_members(tmp_path: Path) -> None:
    one = Talk("fenced", 50001)
    one.send(12, 3, {"generation_id": 1, "member_id": "x", "group_instance_id": None}, {}, error_code=25)
    assert [(event.event, event.error_code) for event in story(tmp_path, one)] == [("error", "UNKNOWN_MEMBER_ID")]
    other = Talk("admin", 50001)
    other.send(12, 3, {"generation_id": 1, "member_id": "x", "group_instance_id": None}, {})
    (seen,) = story(tmp_path, other)
    assert seen.event == "seen" and "Heartbeat by admin" in seen.text


def test_ranges() -> None:
    assert ranges(()) == "" and ranges((3,)) == "3" and ranges((5, 0, 1, 2)) == "0-2,5"
