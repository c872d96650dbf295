"""The bounds on what is kept: they bind, they say so, and every byte stays accounted for."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from kdissect.dissect import Dissection
from kdissect.exchange import Exchange
from kdissect.stream.limits import DEFAULT, Limits
from tests.support.conversation import Conversation, heartbeat, metadata
from tests.support.disturb import dissect
from tests.support.packets import pcap


def read(tmp_path: Path, limits: Limits, *talks: Conversation, chunk: int = 1000) -> tuple[list[Exchange], Dissection]:
    path = tmp_path / "built.pcap"
    path.write_bytes(pcap([packet for talk in talks for packet in talk.packets], nano=True))
    exchanges, dissection = dissect([path], limits=limits, chunk_bytes=chunk)
    assert all(c.ledger.balanced for c in dissection.connections if c.protocol == "kafka")
    return exchanges, dissection


def codes(dissection: Dissection) -> list[str]:
    return [finding.code for connection in dissection.connections for finding in connection.findings]


def test_a_message_over_the_limit_is_decoded_up_to_it(tmp_path: Path) -> None:
    asked, reply = metadata(1, topics=2000)
    talk = Conversation().open().say(0, asked).say(1, reply)
    asked, reply = heartbeat(2)
    talk.say(0, asked).say(1, reply)
    exchanges, dissection = read(tmp_path, replace(DEFAULT, message=5000), talk)
    big, small = exchanges
    assert [f.code for f in big.findings] == ["frame.truncated"] and "limit" in big.findings[0].text
    assert big.response is not None and big.response.body is not None and 0 < len(big.response.body["topics"]) < 2000
    assert small.outcome == "answered" and not small.findings
    assert dissection.ledger.partial == big.response_bytes


def test_too_much_behind_a_hole(tmp_path: Path) -> None:
    talk = Conversation().open()
    for number in range(1, 60):
        asked, reply = heartbeat(number)
        talk.say(0, asked).say(1, reply)
    del talk.packets[5]
    held = replace(DEFAULT, held=200, reorder_segments=10_000, reorder_ns=10**15)
    exchanges, dissection = read(tmp_path, held, talk)
    assert codes(dissection) == ["limit.held"]
    assert len([e for e in exchanges if e.outcome == "answered"]) == 58
    assert codes(read(tmp_path, replace(held, held=DEFAULT.held), talk)[1]) == []


def test_too_many_requests_without_an_answer(tmp_path: Path) -> None:
    talk = Conversation().open()
    for number in range(1, 21):
        talk.say(0, heartbeat(number)[0])
    exchanges, dissection = read(tmp_path, replace(DEFAULT, pending=5), talk)
    assert codes(dissection) == ["limit.pending"]
    assert [e.correlation_id for e in exchanges if e.unanswered_reason == "timeout"] == list(range(1, 16))
    assert len(exchanges) == 20


def test_all_connections_together(tmp_path: Path) -> None:
    asked, reply = metadata(1, topics=3000)
    talks = []
    for port in range(50000, 50010):
        talk = Conversation(ports=(port, 9092)).open().say(0, asked)
        talks.append(talk.say(1, reply[: len(reply) // 2]))
    exchanges, dissection = read(tmp_path, replace(DEFAULT, total=100_000), *talks)
    assert set(codes(dissection)) == {"limit.memory"}
    assert len(exchanges) == 10 and all(e.outcome == "answered" for e in exchanges)
    assert all("frame.truncated" in [f.code for f in e.findings] for e in exchanges)
    assert codes(read(tmp_path, DEFAULT, *talks)[1]) == []
