"""What captures do to a conversation, one built capture each: the exchanges come out all the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from kdissect.dissect import Dissection
from kdissect.exchange import Exchange
from tests.support.conversation import ACK, FIN, PSH, RST, SYN, Conversation, heartbeat, metadata
from tests.support.disturb import dissect
from tests.support.packets import Packet, pcap


def read(tmp_path: Path, *conversations: Conversation, order: list[int] | None = None) -> tuple[list[Exchange], Dissection]:
    packets = [packet for talk in conversations for packet in talk.packets]
    if order is not None:
        packets = [packets[at] for at in order]
    path = tmp_path / "built.pcap"
    path.write_bytes(pcap(packets, nano=True))
    exchanges, dissection = dissect([path])
    assert all(c.ledger.balanced for c in dissection.connections if c.protocol == "kafka")
    return exchanges, dissection


def ids(exchanges: list[Exchange]) -> list[tuple[str | None, int | None, str]]:
    return [(e.api, e.correlation_id, e.outcome) for e in exchanges]


def answered(*correlation_ids: int) -> list[tuple[str | None, int | None, str]]:
    return [("Heartbeat", number, "answered") for number in correlation_ids]


def ping_pong(talk: Conversation, *correlation_ids: int) -> Conversation:
    for number in correlation_ids:
        asked, reply = heartbeat(number)
        talk.say(0, asked).say(1, reply)
    return talk


def test_plain(tmp_path: Path) -> None:
    exchanges, dissection = read(tmp_path, ping_pong(Conversation().open(), 1, 2, 3).close())
    assert ids(exchanges) == answered(1, 2, 3)
    assert exchanges[0].request_packets == (4, 4) and exchanges[0].response_packets == (5, 5)
    assert exchanges[0].latency_ms == 1.0
    assert dissection.ledger.decoded == dissection.ledger.captured


def test_retransmission_with_other_boundaries_and_of_bytes_long_consumed(tmp_path: Path) -> None:
    talk = Conversation().open()
    asked, reply = heartbeat(1)
    talk.say(0, asked).say(1, reply)
    ping_pong(talk, 2)
    both = asked + heartbeat(2)[0]
    talk.segment(0, both[5:60], at=5)
    talk.segment(0, both, at=0)
    ping_pong(talk, 3)
    exchanges, dissection = read(tmp_path, talk)
    assert ids(exchanges) == answered(1, 2, 3)
    assert dissection.ledger.duplicate == 55 + len(both)


def test_keep_alive_probe(tmp_path: Path) -> None:
    talk = ping_pong(Conversation().open(), 1)
    talk.segment(0, b"\0", at=talk.sent[0] - 1)
    talk.segment(0, b"", ACK, at=talk.sent[0] - 1)
    exchanges, dissection = read(tmp_path, ping_pong(talk, 2))
    assert ids(exchanges) == answered(1, 2)
    assert dissection.ledger.duplicate == 1


def test_a_lost_segment_over_a_boundary_recovers_with_the_next_message(tmp_path: Path) -> None:
    talk = Conversation().open()
    ping_pong(talk, 1)
    # Messages 2 and 3 in segments that cross their boundary; the middle one is lost.
    burst = heartbeat(2)[0] + heartbeat(3)[0]
    talk.say(0, burst, size=30)
    lost = next(n for n in range(len(talk.packets)) if n >= 5 and talk.packets[n].data.endswith(burst[30:60]))
    talk.say(1, heartbeat(2)[1] + heartbeat(3)[1])
    ping_pong(talk, *range(4, 60))
    del talk.packets[lost]
    exchanges, dissection = read(tmp_path, talk)
    assert ids([e for e in exchanges if e.correlation_id and e.correlation_id > 3]) == answered(*range(4, 60))
    assert dissection.ledger.missing == 30


def test_a_segment_of_a_response_lost(tmp_path: Path) -> None:
    talk = ping_pong(Conversation().open(), 1)
    asked, reply = metadata(2, topics=300)
    talk.say(0, asked)
    talk.say(1, reply)
    lost = len(talk.packets) - 2
    ping_pong(talk, *range(3, 50))
    del talk.packets[lost]
    exchanges, dissection = read(tmp_path, talk)
    cut = next(e for e in exchanges if e.correlation_id == 2)
    assert (cut.outcome, cut.api) == ("answered", "Metadata")
    assert [f.code for f in cut.findings] == ["frame.truncated"]
    assert cut.response is not None and cut.response.body is not None
    assert cut.response.body["brokers"] and 0 < len(cut.response.body["topics"]) < 300
    assert ids([e for e in exchanges if e.correlation_id and e.correlation_id > 2]) == answered(*range(3, 50))
    assert dissection.ledger.partial > 0 and dissection.ledger.skipped == 0


def test_start_in_the_middle_of_a_message(tmp_path: Path) -> None:
    talk = Conversation().open()
    asked, reply = metadata(1, topics=300)
    talk.say(0, asked).say(1, reply)
    ping_pong(talk, 2, 3, 4)
    exchanges, dissection = read(tmp_path, talk, order=list(range(6, len(talk.packets))))
    assert ids(exchanges) == answered(2, 3, 4)
    assert dissection.ledger.skipped > 0


def test_sequence_numbers_wrap(tmp_path: Path) -> None:
    talk = Conversation(isn=(0xFFFFFFF0, 0xFFFFFFFE)).open()
    exchanges, dissection = read(tmp_path, ping_pong(talk, 1, 2, 3))
    assert ids(exchanges) == answered(1, 2, 3)
    assert dissection.ledger.decoded == dissection.ledger.captured


def test_a_reused_port_is_a_new_connection(tmp_path: Path) -> None:
    first = ping_pong(Conversation().open(), 1).close()
    second = Conversation(isn=(9_000_000, 7_000_000), start_ns=first.packets[-1].time_ns + 10**9)
    exchanges, dissection = read(tmp_path, first, ping_pong(second.open(), 1).close())
    assert ids(exchanges) == answered(1, 1)
    assert [e.connection for e in exchanges] == [1, 2]
    assert len({c.id for c in dissection.connections}) == 2


def test_a_repeated_syn_is_no_new_connection(tmp_path: Path) -> None:
    talk = Conversation()
    talk.segment(0, flags=SYN)
    talk.open()
    exchanges, dissection = read(tmp_path, ping_pong(talk, 1))
    assert ids(exchanges) == answered(1) and len(dissection.connections) == 1


def test_both_ends_on_9092_and_brokers_that_talk_to_each_other(tmp_path: Path) -> None:
    one = ping_pong(Conversation(ports=(9092, 9092)).open(), 1, 2)
    other = ping_pong(Conversation(("10.0.0.9", "10.0.0.5"), (9092, 19092)).open(), 3, 4)
    exchanges, _ = read(tmp_path, one, other)
    assert ids(exchanges) == answered(1, 2, 3, 4)
    assert {(e.client, e.broker) for e in exchanges} == {
        ("10.0.0.5:9092", "10.0.0.9:9092"),
        ("10.0.0.9:9092", "10.0.0.5:19092"),
    }


def test_the_same_packet_twice(tmp_path: Path) -> None:
    talk = ping_pong(Conversation().open(), 1, 2, 3)
    twice = [at for at in range(len(talk.packets)) for _ in range(2)]
    exchanges, dissection = read(tmp_path, talk, order=twice)
    assert ids(exchanges) == answered(1, 2, 3)
    assert dissection.ledger.duplicate * 2 == dissection.ledger.captured


def test_responses_captured_before_their_requests(tmp_path: Path) -> None:
    talk = Conversation().open()
    order = [0, 1, 2]
    for number in range(1, 6):
        at = len(talk.packets)
        ping_pong(talk, number)
        order += [at + 1, at]
    exchanges, _ = read(tmp_path, talk, order=order)
    assert sorted(ids(exchanges)) == answered(1, 2, 3, 4, 5)
    assert all(e.latency_ms == 1.0 for e in exchanges)


def test_a_response_stamped_before_its_request_has_a_negative_latency(tmp_path: Path) -> None:
    talk = ping_pong(Conversation().open(), 1)
    talk.packets[-1].time_ns -= 5_000_000
    exchanges, _ = read(tmp_path, talk)
    assert exchanges[0].latency_ms == -4.0


def test_ipv6(tmp_path: Path) -> None:
    exchanges, _ = read(tmp_path, ping_pong(Conversation(("2001:db8::5", "2001:db8::9")).open(), 1))
    assert ids(exchanges) == answered(1)
    assert exchanges[0].client == "[2001:db8::5]:50000"


def test_segments_of_64_kb(tmp_path: Path) -> None:
    talk = Conversation().open()
    asked, reply = metadata(1, topics=9000)
    talk.say(0, asked).say(1, reply, size=60_000)
    exchanges, _ = read(tmp_path, talk)
    assert ids(exchanges) == [("Metadata", 1, "answered")]
    assert exchanges[0].response_packets == (5, 4 + -(-len(reply) // 60_000))


def test_unanswered_because_the_connection_was_closed_or_reset(tmp_path: Path) -> None:
    for flags in (FIN | ACK, RST | ACK):
        talk = ping_pong(Conversation().open(), 1)
        talk.say(0, heartbeat(2)[0])
        talk.segment(1, flags=flags)
        exchanges, _ = read(tmp_path, talk)
        assert [(e.correlation_id, e.outcome, e.unanswered_reason) for e in exchanges] == [
            (1, "answered", None),
            (2, "unanswered", "closed"),
        ]
        assert [f.code for f in exchanges[1].findings] == ["request.unanswered"]


def test_an_answer_may_come_long_after_the_client_has_closed_its_side(tmp_path: Path) -> None:
    talk = ping_pong(Conversation().open(), 1)
    asked, reply = heartbeat(2)
    talk.say(0, asked)
    talk.segment(0, flags=FIN | ACK)
    talk.start_ns += 20 * 10**9
    talk.say(1, reply)
    talk.segment(1, flags=FIN | ACK)
    exchanges, _ = read(tmp_path, talk)
    assert ids(exchanges) == answered(1, 2)


def test_unanswered_at_the_end_of_the_capture_and_after_the_time_limit(tmp_path: Path) -> None:
    talk = ping_pong(Conversation().open(), 1)
    talk.say(0, heartbeat(2)[0])
    assert read(tmp_path, talk)[0][1].unanswered_reason == "capture_end"
    later = Conversation(ports=(50001, 9092), start_ns=talk.packets[-1].time_ns + 601 * 10**9)
    exchanges, _ = read(tmp_path, talk, ping_pong(later.open(), 9))
    assert [(e.correlation_id, e.unanswered_reason) for e in exchanges] == [(1, None), (2, "timeout"), (9, None)]


def test_unanswered_because_of_a_gap(tmp_path: Path) -> None:
    talk = ping_pong(Conversation().open(), 1, 2, *range(3, 80))
    lost = 6  # the answer to 2
    exchanges, _ = read(tmp_path, talk, order=[at for at in range(len(talk.packets)) if at != lost])
    two = next(e for e in exchanges if e.correlation_id == 2)
    assert (two.outcome, two.unanswered_reason) == ("unanswered", "gap")


def test_a_request_lost_leaves_its_response_without_one(tmp_path: Path) -> None:
    talk = ping_pong(Conversation().open(), 1, 2, *range(3, 80))
    exchanges, dissection = read(tmp_path, talk, order=[at for at in range(len(talk.packets)) if at != 5])
    two = next(e for e in exchanges if e.correlation_id == 2)
    assert (two.outcome, two.api, two.request_packets) == ("request_missing", None, None)
    assert dissection.ledger.opaque == two.response_bytes


def test_constant_correlation_ids_pair_in_order(tmp_path: Path) -> None:
    talk = Conversation().open()
    talk.say(0, heartbeat(0)[0] + metadata(0)[0] + heartbeat(0)[0])
    talk.say(1, heartbeat(0)[1]).say(1, metadata(0)[1]).say(1, heartbeat(0)[1])
    exchanges, _ = read(tmp_path, talk)
    assert [(e.api, e.outcome) for e in exchanges] == [
        ("Heartbeat", "answered"),
        ("Metadata", "answered"),
        ("Heartbeat", "answered"),
    ]
    assert [[f.code for f in e.findings] for e in exchanges] == [["correlation.reused"], ["correlation.reused"], []]


def test_negative_correlation_ids(tmp_path: Path) -> None:
    exchanges, _ = read(tmp_path, ping_pong(Conversation().open(), -3, -2))
    assert ids(exchanges) == answered(-3, -2)


def test_proxy_protocol_prefixes_are_opaque(tmp_path: Path) -> None:
    prefixes = (
        b"PROXY TCP4 10.0.0.5 10.0.0.9 50000 9092\r\n",
        b"\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c" + bytes(12),
    )
    for prefix in prefixes:
        talk = Conversation().open().say(0, prefix)
        exchanges, dissection = read(tmp_path, ping_pong(talk, 1, 2))
        assert ids(exchanges) == answered(1, 2)
        assert dissection.ledger.opaque == len(prefix) and dissection.ledger.skipped == 0


def test_raw_gssapi_tokens_without_a_handshake_are_opaque(tmp_path: Path) -> None:
    token = b"\x60\x82\x02\x00" + bytes(range(200))
    sized = len(token).to_bytes(4) + token
    reply = (20).to_bytes(4) + bytes(range(20))
    talk = Conversation().open().say(0, sized).say(1, reply)
    exchanges, dissection = read(tmp_path, ping_pong(talk, 1, 2))
    assert ids(exchanges) == answered(1, 2)
    assert dissection.ledger.opaque == len(sized) + len(reply)


def test_a_conflicting_overlap_keeps_the_first_bytes_and_is_a_finding(tmp_path: Path) -> None:
    talk = Conversation().open()
    asked, reply = heartbeat(1)
    talk.segment(0, asked[20:], at=20)
    talk.segment(0, bytes(len(asked) - 20), at=20)
    talk.segment(0, asked[:20], at=0)
    talk.sent[0] = len(asked)
    talk.say(1, reply)
    exchanges, _dissection = read(tmp_path, talk)
    assert ids(exchanges) == answered(1)
    assert [f.code for f in exchanges[0].findings] == ["stream.conflicting_overlap"]


def test_messages_without_a_client_id(tmp_path: Path) -> None:
    talk = Conversation().open()
    for number in (1, 2):
        asked, reply = heartbeat(number, client_id=None)
        talk.say(0, asked).say(1, reply)
    exchanges, _ = read(tmp_path, talk)
    assert ids(exchanges) == answered(1, 2)
    assert exchanges[0].client_id is None


@pytest.mark.parametrize("size", (1, 2, 3, 5, 7, 13))
def test_tiny_segments(tmp_path: Path, size: int) -> None:
    talk = Conversation().open()
    for number in (1, 2):
        asked, reply = heartbeat(number)
        talk.say(0, asked, size).say(1, reply, size)
    exchanges, dissection = read(tmp_path, talk)
    assert ids(exchanges) == answered(1, 2)
    assert dissection.ledger.decoded == dissection.ledger.captured
    first = exchanges[0].request_packets
    assert first is not None and first[1] - first[0] == -(-len(heartbeat(1)[0]) // size) - 1


def test_a_connection_goes_on_in_the_next_file(tmp_path: Path) -> None:
    talk = ping_pong(Conversation().open(), 1, 2, 3, 4)
    for cut in range(4, len(talk.packets)):
        paths = tmp_path / "a.pcap", tmp_path / "b.pcap"
        parts: tuple[list[Packet], list[Packet]] = talk.packets[:cut], talk.packets[cut:]
        for path, part in zip(paths, parts, strict=True):
            path.write_bytes(pcap(part, nano=True))
        exchanges, dissection = dissect(reversed(paths))
        assert ids(exchanges) == answered(1, 2, 3, 4) and len(dissection.connections) == 1
        split = [e for e in exchanges if e.response_file is not None]
        assert len(split) == (cut % 2 == 0) and all(e.file == str(paths[0]) and e.response_file == str(paths[1]) for e in split)


def test_flags_do_not_matter_to_data(tmp_path: Path) -> None:
    asked, reply = heartbeat(1)
    talk = Conversation().open()
    talk.segment(0, asked, ACK)
    talk.segment(1, reply, ACK | PSH | FIN)
    exchanges, _ = read(tmp_path, talk)
    assert ids(exchanges) == answered(1)
