"""What stands between the messages of a connection: opening, closing, resets and gaps."""

from __future__ import annotations

from pathlib import Path

import pytest

from kdissect.dissect import Dissection, Options
from kdissect.report.follow import Ambiguous, Conversation, Turn
from kdissect.report.human import Clock
from tests.support import conversation
from tests.support.conversation import ACK, RST, heartbeat
from tests.support.packets import pcap


def follow(tmp_path: Path, talk: conversation.Conversation, wanted: str = "1", without: tuple[int, ...] = ()) -> list[Turn]:
    path = tmp_path / "talk.pcap"
    path.write_bytes(pcap([packet for at, packet in enumerate(talk.packets) if at not in without]))
    dissection = Dissection([str(path)], Options(), lambda text: None)
    source = Conversation(wanted, dissection, lambda topic_id: None, Clock(utc=True))
    for batch in dissection.batches():
        source.add(batch)
    return list(source.finish(dissection))


def talk_of(count: int, isn: tuple[int, int] = (1000, 900_000)) -> conversation.Conversation:
    talk = conversation.Conversation(isn=isn).open()
    for number in range(1, count + 1):
        request, response = heartbeat(number)
        talk.say(0, request).say(1, response)
    return talk


@pytest.mark.parametrize("isn", [(1000, 900_000), (2**32 - 70, 2**32 - 20)])
def test_both_sides_in_order(tmp_path: Path, isn: tuple[int, int]) -> None:
    turns = follow(tmp_path, talk_of(3, isn).close())
    assert [turn.kind for turn in turns] == ["connection"] * 2 + ["request", "response"] * 3 + ["connection"] * 2
    assert [turn.title for turn in turns if turn.kind == "connection"] == [
        *("client opens", "broker opens", "client closes", "broker closes")
    ]
    assert [turn.packet for turn in turns] == [1, 2, 4, 5, 6, 7, 8, 9, 10, 11]
    assert turns[0].heading == "connection 1 · 10.0.0.5:50000 → 10.0.0.9:9092 · kafka"


@pytest.mark.parametrize("isn", [(1000, 900_000), (2**32 - 70, 2**32 - 20)])
def test_a_gap_stands_where_bytes_are_missing(tmp_path: Path, isn: tuple[int, int]) -> None:
    talk = talk_of(4, isn)
    request, response = heartbeat(2)
    turns = follow(tmp_path, talk, without=(5, 6))  # The second request and its response.
    gaps = [turn for turn in turns if turn.kind == "gap"]
    assert [gap.bytes for gap in gaps] == [len(request), len(response)]
    assert "of the client are missing" in gaps[0].text and "of the broker are missing" in gaps[1].text
    # Each stands right before the message behind it.
    kinds = [turn.kind for turn in turns]
    assert kinds == ["connection"] * 2 + ["request", "response", "gap", "request", "gap", "response", "request", "response"]


def test_retransmitted_and_reordered_bytes_are_no_gap(tmp_path: Path) -> None:
    talk = talk_of(3)
    talk.packets[4:6] = [talk.packets[5], talk.packets[4]]
    talk.packets.insert(8, talk.packets[3])
    assert [turn for turn in follow(tmp_path, talk) if turn.kind == "gap"] == []


def test_a_reset_and_a_request_without_answer(tmp_path: Path) -> None:
    talk = talk_of(1)
    talk.say(0, heartbeat(2)[0])
    talk.segment(1, flags=RST | ACK)
    turns = follow(tmp_path, talk)
    assert [turn.kind for turn in turns[4:]] == ["request", "silence", "connection"]
    assert turns[-1].title == "broker resets the connection" and turns[5].text == "closed"


def test_several_connections_are_told_apart(tmp_path: Path) -> None:
    one, both = talk_of(2), conversation.Conversation()
    other = conversation.Conversation(ports=(50001, 9092)).open()
    for number in (1, 2):
        request, response = heartbeat(number)
        other.say(0, request).say(1, response)
    both.packets = one.packets + other.packets
    assert len(follow(tmp_path, both, "2")) == len(follow(tmp_path, both, "10.0.0.5:50001")) == 6
    with pytest.raises(Ambiguous, match="is an end of 2 connections: 1, 2; give the number of one"):
        follow(tmp_path, both, "10.0.0.9:9092")
    with pytest.raises(Ambiguous, match="no connection 3: the capture has 2 TCP connections"):
        follow(tmp_path, both, "3")
