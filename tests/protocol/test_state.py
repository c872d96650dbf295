"""What messages tell about each other, across connections."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kdissect import schema
from kdissect.protocol.state import Member, State
from kdissect.protocol.state.brokers import Brokers
from kdissect.protocol.state.fetch_sessions import FetchSessions
from kdissect.protocol.state.tables import Table
from kdissect.schema.encode import encode, encode_fields
from kdissect.schema.message import Message, decode_request, decode_response
from kdissect.wire.records_writer import write_batch
from tests.protocol.protocol_talk import Body, Talk, dissect, write

PRODUCE, FETCH, METADATA, JOIN_GROUP, SYNC_GROUP, DESCRIBE_GROUPS, INIT_PRODUCER_ID = 0, 1, 3, 11, 14, 15, 22
ORDERS, RETURNS = "z2C1njwTSxOps6l8Suk37g", "8vLkxjyoSmWutoASk5Uwiw"


def fetch(topics: dict[str, list[int]], session: int, epoch: int, forgotten: dict[str, list[int]] | None = None) -> Body:
    left = forgotten or {}
    return {
        "max_wait_ms": 500,
        "min_bytes": 1,
        "session_id": session,
        "session_epoch": epoch,
        "topics": [
            {"topic_id": topic, "partitions": [{"partition": number, "partition_max_bytes": 1} for number in partitions]}
            for topic, partitions in topics.items()
        ],
        "forgotten_topics_data": [{"topic_id": topic, "partitions": numbers} for topic, numbers in left.items()],
    }


def fetched(session: int, error: int = 0) -> Body:
    return {"error_code": error, "session_id": session, "responses": []}


def names(*pairs: tuple[str, str]) -> Body:
    topics = [{"error_code": 0, "name": name, "topic_id": topic_id, "partitions": []} for name, topic_id in pairs]
    return {"brokers": [], "controller_id": 1, "topics": topics}


def ask_names(talk: Talk, *pairs: tuple[str, str]) -> Talk:
    return talk.ask(METADATA, 12, {"topics": None}, names(*pairs))


class TestTopicIds:
    def test_by_name_once_known_on_any_connection(self, tmp_path: Path) -> None:
        path = write(
            tmp_path / "a.pcap",
            ask_names(Talk(50000), ("orders", ORDERS)),
            Talk(50001).ask(FETCH, 13, fetch({ORDERS: [0], RETURNS: [1]}, 0, -1), fetched(0)),
        )
        exchanges, _ = dissect(path)
        assert exchanges[-1].topics == ["orders", RETURNS]
        assert exchanges[-1].fetch_partitions == {"orders": (0,), RETURNS: (1,)}

    def test_by_name_that_comes_later_and_in_another_file(self, tmp_path: Path) -> None:
        early = write(tmp_path / "a.pcap", Talk(50000).ask(FETCH, 13, fetch({ORDERS: [0]}, 0, -1), fetched(0)))
        late = write(tmp_path / "b.pcap", ask_names(Talk(50001), ("orders", ORDERS)))
        exchanges, _ = dissect(early, late)
        assert exchanges[0].topics == ["orders"]
        exchanges, _ = dissect(early)
        assert exchanges[0].topics == [ORDERS]

    def test_what_cannot_be_read_twice_knows_the_past_alone(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("kdissect.dissect.can_look_ahead", lambda paths: False)
        talk = Talk().ask(FETCH, 13, fetch({ORDERS: [0]}, 0, -1), fetched(0))
        ask_names(talk, ("orders", ORDERS)).ask(FETCH, 13, fetch({ORDERS: [0]}, 0, -1), fetched(0))
        exchanges, _ = dissect(write(tmp_path / "a.pcap", talk))
        assert [e.topics for e in exchanges if e.api_key == FETCH] == [[ORDERS], ["orders"]]

    def test_the_second_pass_costs_nothing_until_it_is_needed(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        passes = []
        monkeypatch.setattr("kdissect.dissect.topic_names", lambda paths, options: passes.append(paths) or {})
        talk = ask_names(Talk(), ("orders", ORDERS)).ask(FETCH, 13, fetch({ORDERS: [0]}, 0, -1), fetched(0))
        dissect(write(tmp_path / "a.pcap", talk))
        assert passes == []
        for _ in range(3):
            talk.ask(FETCH, 13, fetch({RETURNS: [0]}, 0, -1), fetched(0))
        dissect(write(tmp_path / "b.pcap", talk))
        assert len(passes) == 1

    @pytest.mark.parametrize("records", ["full", "heads", "skip"])
    @pytest.mark.parametrize("later", [False, True])
    def test_from_the_records_of_the_quorum(self, tmp_path: Path, later: bool, records: str) -> None:
        record = encode_fields(schema.format("TopicRecord").fields(0), {"name": "orders", "topic_id": ORDERS})
        batch = write_batch([{"value": bytes([1, 2, 0]) + record}])
        metadata_id = "AAAAAAAAAAAAAAAAAAAAAQ"
        responses = [{"topic_id": metadata_id, "partitions": [{"partition_index": 0, "records": batch}]}]
        quorum = Talk(50001, broker_port=9093)
        quorum.ask(FETCH, 17, fetch({metadata_id: [0]}, 0, -1), {"error_code": 0, "session_id": 0, "responses": responses})
        consumer = Talk(50000).ask(FETCH, 13, fetch({ORDERS: [0]}, 0, -1), fetched(0))
        talks = (consumer, quorum) if later else (quorum, consumer)
        exchanges, _ = dissect(write(tmp_path / "a.pcap", *talks), records=records)
        assert sorted(e.topics[0] for e in exchanges) == ["__cluster_metadata", "orders"]

    def test_from_inside_an_envelope(self, tmp_path: Path) -> None:
        request = encode(19, 7, "request", {"topics": [], "timeout_ms": 1, "validate_only": False})
        asked = bytes([0, 19, 0, 7, 0, 0, 0, 1, 255, 255, 0]) + request
        answered = bytes([0, 0, 0, 1, 0]) + encode(19, 7, "response", {"topics": [{"name": "orders", "topic_id": ORDERS}]})
        envelope = {"request_data": asked, "request_principal": None, "client_host_address": b""}
        talk = Talk().ask(FETCH, 13, fetch({ORDERS: [0]}, 0, -1), fetched(0))
        talk.ask(58, 0, envelope, {"response_data": answered, "error_code": 0})
        exchanges, _ = dissect(write(tmp_path / "a.pcap", talk))
        assert exchanges[0].topics == ["orders"]


class TestFetchSessions:
    def test_an_incremental_fetch_asks_for_what_the_session_holds(self, tmp_path: Path) -> None:
        first, second = Talk(50000), Talk(50001)
        first.ask(FETCH, 13, fetch({ORDERS: [1, 0]}, 0, 0), fetched(77))
        # The session is the broker's: it goes on over another connection.
        second.ask(FETCH, 13, fetch({}, 77, 1), fetched(77))
        second.ask(FETCH, 13, fetch({RETURNS: [5]}, 77, 2, {ORDERS: [0]}), fetched(77))
        second.ask(FETCH, 13, fetch({}, 77, 3, {RETURNS: [5]}), fetched(77))
        exchanges, _ = dissect(write(tmp_path / "a.pcap", first, second))
        asked = [e.fetch_partitions for e in exchanges]
        assert asked == [{ORDERS: (0, 1)}, {ORDERS: (0, 1)}, {ORDERS: (1,), RETURNS: (5,)}, {ORDERS: (1,)}]
        assert [e.topics for e in exchanges] == [[ORDERS], [], [RETURNS, ORDERS], [RETURNS]]

    def test_a_session_of_another_broker_is_another(self, tmp_path: Path) -> None:
        here, there = Talk(50000), Talk(50001, broker="10.0.0.10")
        here.ask(FETCH, 13, fetch({ORDERS: [0]}, 0, 0), fetched(77))
        there.ask(FETCH, 13, fetch({}, 77, 1), fetched(77))
        exchanges, _ = dissect(write(tmp_path / "a.pcap", here, there))
        assert [e.fetch_partitions for e in exchanges] == [{ORDERS: (0,)}, None]

    def test_ends_and_refusals(self, tmp_path: Path) -> None:
        talk = Talk().ask(FETCH, 13, fetch({ORDERS: [0]}, 0, 0), fetched(77))
        talk.ask(FETCH, 13, fetch({RETURNS: [1]}, 77, -1), fetched(0))
        talk.ask(FETCH, 13, fetch({}, 77, 2), fetched(0, error=70))
        talk.ask(FETCH, 13, fetch({ORDERS: [3]}, 0, 0), fetched(0, error=71))
        exchanges, _ = dissect(write(tmp_path / "a.pcap", talk))
        assert [e.fetch_partitions for e in exchanges] == [{ORDERS: (0,)}, {RETURNS: (1,)}, None, {ORDERS: (3,)}]

    def test_share_sessions(self, tmp_path: Path) -> None:
        def share(epoch: int, partitions: list[int], forgotten: list[int]) -> dict[str, Any]:
            topics = [{"topic_id": ORDERS, "partitions": [{"partition_index": number} for number in partitions]}]
            left = [{"topic_id": ORDERS, "partitions": forgotten}]
            return {
                "group_id": "g", "member_id": "m", "share_session_epoch": epoch,
                "topics": topics if partitions else [], "forgotten_topics_data": left if forgotten else [],
            }  # fmt: skip

        talk = Talk()
        for epoch, partitions, forgotten in ((0, [0, 1], []), (1, [], []), (2, [2], [0]), (-1, [], []), (3, [], [])):
            talk.ask(78, 1, share(epoch, partitions, forgotten), {"responses": []})
        exchanges, _ = dissect(write(tmp_path / "a.pcap", talk))
        assert [e.fetch_partitions for e in exchanges] == [{ORDERS: (0, 1)}, {ORDERS: (0, 1)}, {ORDERS: (1, 2)}, {}, None]

    def test_limits(self) -> None:
        def opened(sessions: FetchSessions, number: int, partitions: int) -> None:
            asked = decode_request(_request(fetch({ORDERS: list(range(partitions))}, 0, 0)))
            answered = decode_response(b"\0\0\0\1\0" + encode(FETCH, 13, "response", fetched(number)), FETCH, 13)
            sessions.observe("b", asked, answered)

        def known(sessions: FetchSessions, number: int) -> object:
            return sessions.observe("b", decode_request(_request(fetch({}, number, 1))), None)

        few = FetchSessions(lambda topic: None, sessions=2)
        for number in (1, 2, 3):
            opened(few, number, 1)
        assert [known(few, number) is None for number in (1, 2, 3)] == [True, False, False]
        small = FetchSessions(lambda topic: None, partitions=5)
        for number in (1, 2, 3):
            opened(small, number, 2)
        assert [known(small, number) is None for number in (1, 2, 3)] == [True, False, False]


def _request(body: Body) -> bytes:
    return bytes([0, 1, 0, 13, 0, 0, 0, 1, 255, 255, 0]) + encode(FETCH, 13, "request", body)


class TestGroups:
    def subscription(self) -> bytes:
        return b"\0\0" + encode_fields(schema.format("ConsumerProtocolSubscription").fields(0), {"topics": ["orders"]})

    def join(self, talk: Talk, kind: str) -> Talk:
        protocols = [{"name": "range", "metadata": self.subscription()}]
        request = {"group_id": "g", "session_timeout_ms": 1, "member_id": "", "protocol_type": kind, "protocols": protocols}
        members = [{"member_id": "m-1", "metadata": self.subscription()}]
        response = {"protocol_name": "range", "leader": "m-1", "member_id": "m-1", "members": members}
        return talk.ask(JOIN_GROUP, 2, request, response)

    def sync(self, talk: Talk) -> Talk:
        assignment = b"\0\0" + encode_fields(
            schema.format("ConsumerProtocolAssignment").fields(0),
            {"assigned_partitions": [{"topic": "orders", "partitions": [3]}]},
        )
        request = {"group_id": "g", "member_id": "m-1", "assignments": [{"member_id": "m-1", "assignment": assignment}]}
        return talk.ask(SYNC_GROUP, 1, request, {"error_code": 0, "assignment": assignment})

    def test_old_messages_do_not_say_what_they_hold_but_the_group_is_known(self, tmp_path: Path) -> None:
        for kind, opened in (("consumer", True), ("another", False)):
            exchanges, _ = dissect(write(tmp_path / "a.pcap", self.sync(self.join(Talk(), kind))))
            joined, synced = (exchange.to_contract() for exchange in exchanges)
            assert (type(joined["response"]["members"][0]["metadata"]) is dict) is opened
            assert (type(synced["request"]["assignments"][0]["assignment"]) is dict) is opened
            assert (type(synced["response"]["assignment"]) is dict) is opened
            assert synced["topics"] == (["orders"] if opened else [])
            assert synced["groups"] == ["g"]

    def test_topics_inside_are_told_whatever_is_wanted_of_bodies(self, tmp_path: Path) -> None:
        path = write(tmp_path / "a.pcap", self.sync(self.join(Talk(), "consumer")))
        for records in ("full", "heads", "skip"):
            exchanges, _ = dissect(path, records=records)
            assert [e.topics for e in exchanges] == [["orders"], ["orders"]]

    def test_members_and_their_clients(self, tmp_path: Path) -> None:
        talk = self.join(Talk(client_id="billing"), "consumer")
        other = {"member_id": "m-2", "client_id": "audit", "client_host": "/10.0.0.8"}
        described = {"groups": [{"group_id": "g", "protocol_type": "consumer", "members": [other]}]}
        talk.ask(DESCRIBE_GROUPS, 0, {"groups": ["g"]}, described)
        _, dissection = dissect(write(tmp_path / "a.pcap", talk))
        state = dissection.state
        assert state.member("g", "m-1") == Member("billing", "10.0.0.5")
        assert state.member("g", "m-2") == Member("audit", "/10.0.0.8")
        assert state.member("h", "m-1") is None
        assert state.group_protocol("g") == ("consumer", "range")


class TestProducers:
    def test_from_init_producer_id(self, tmp_path: Path) -> None:
        talk = Talk()
        for name, answer in (("tx", (0, 7)), (None, (0, 8)), ("refused", (53, 9))):
            request = {"transactional_id": name, "transaction_timeout_ms": 1}
            talk.ask(INIT_PRODUCER_ID, 0, request, {"error_code": answer[0], "producer_id": answer[1], "producer_epoch": 2})
        _, dissection = dissect(write(tmp_path / "a.pcap", talk))
        producer = dissection.state.transactional_ids["tx"]
        assert (producer.producer_id, producer.epoch) == (7, 2)
        assert dissection.state.producers == {7: producer}

    def test_from_what_transactions_name(self, tmp_path: Path) -> None:
        talk = Talk().ask(26, 1, {"transactional_id": "a", "producer_id": 4, "producer_epoch": 1, "committed": True}, {})
        adding = {"transactional_id": "b", "producer_id": 5, "producer_epoch": 0, "verify_only": False, "topics": []}
        talk.ask(24, 4, {"transactions": [adding]}, {})
        batch = write_batch([{"value": b"x"}], producer_id=6, producer_epoch=3, base_sequence=0, is_transactional=True)
        data = [{"name": "orders", "partition_data": [{"index": 0, "records": batch}]}]
        talk.ask(PRODUCE, 9, {"transactional_id": "c", "acks": 1, "timeout_ms": 1, "topic_data": data}, {"responses": []})
        for records in ("full", "heads"):
            _, dissection = dissect(write(tmp_path / "a.pcap", talk), records=records)
            found = {name: producer.producer_id for name, producer in dissection.state.transactional_ids.items()}
            assert found == {"a": 4, "b": 5, "c": 6}


class TestBrokers:
    def metadata(self, *brokers: tuple[int, str, int]) -> Body:
        known = [{"node_id": node, "host": host, "port": port} for node, host, port in brokers]
        return {"brokers": known, "controller_id": 1, "topics": []}

    def test_by_advertised_address(self, tmp_path: Path) -> None:
        talk = Talk().ask(METADATA, 1, {"topics": None}, self.metadata((7, "10.0.0.9", 9092), (8, "10.0.0.10", 9092)))
        other = Talk(50001, broker="10.0.0.10").ask(16, 0, {}, {"error_code": 0, "groups": []})
        unknown = Talk(50002, broker="10.0.0.11").ask(16, 0, {}, {"error_code": 0, "groups": []})
        exchanges, dissection = dissect(write(tmp_path / "a.pcap", talk, other, unknown))
        assert [e.broker_id for e in exchanges] == [7, 8, None]
        assert [c.broker_id for c in dissection.connections] == [7, 8, None]
        assert dissection.state.brokers.addresses == {7: "10.0.0.9:9092", 8: "10.0.0.10:9092"}

    def test_by_name_where_the_port_decides(self) -> None:
        brokers = Brokers()
        brokers.observe(1, "kafka-1", 9092)
        brokers.observe(2, "kafka-2", 9093)
        brokers.observe(3, "kafka-3", 9093)
        brokers.observe(4, "localhost", 9094)
        brokers.observe(5, "::1", 9095)
        found = {address: brokers.at(address) for address in ("10.0.0.1:9092", "10.0.0.1:9093", "127.0.0.1:9094", "[::1]:9095")}
        assert found == {"10.0.0.1:9092": 1, "10.0.0.1:9093": None, "127.0.0.1:9094": 4, "[::1]:9095": 5}
        brokers.observe(6, "kafka-6", 9092)
        assert brokers.at("10.0.0.1:9092") is None

    def test_from_endpoints_below_the_broker(self, tmp_path: Path) -> None:
        endpoints = [{"host": "10.0.0.9", "port": 9092}, {"host": "10.0.0.9", "port": 9094}]
        request = {"controller_id": 1, "live_brokers": [{"id": 5, "endpoints": endpoints}]}
        exchanges, _ = dissect(write(tmp_path / "a.pcap", Talk().ask(6, 1, request, {"error_code": 0})))
        assert exchanges[0].broker_id == 5


def test_names_that_nobody_has_are_not_remembered(tmp_path: Path) -> None:
    long = "x" * 30_000
    talk = ask_names(Talk(), (long, ORDERS), ("returns", RETURNS))
    talk.ask(26, 1, {"transactional_id": long, "producer_id": 4, "producer_epoch": 1, "committed": True}, {})
    talk.ask(12, 0, {"group_id": long, "generation_id": 1, "member_id": "m"}, {"error_code": 0})
    talk.ask(FETCH, 12, {"topics": [{"topic": long, "partitions": [{"partition": 0}]}]}, fetched(0))
    exchanges, dissection = dissect(write(tmp_path / "a.pcap", talk))
    state = dissection.state
    assert (state.topic_name(ORDERS), state.topic_name(RETURNS)) == (None, "returns")
    assert not state.transactional_ids and not state.members
    assert [len(topic) for topic in exchanges[-1].topics] == [30_000]
    assert exchanges[-1].fetch_partitions == {long[:1024]: (0,)}


def test_tables_make_room() -> None:
    table: Table[int, int] = Table(3)
    for key in (1, 2, 3, 1, 4):
        table[key] = key
    assert (dict(table), table.dropped) == ({3: 3, 1: 1, 4: 4}, 1)


def test_a_state_learns_from_messages_alone() -> None:
    """Without files: what Spark and rules do."""
    state = State()
    body = names(("orders", ORDERS))
    message = Message("Metadata", 3, "response", 12, {}, dict(body), None, 0, (), None)
    from kdissect.protocol.state import Whereabouts
    from kdissect.schema.collect import collect

    state.learn_topics(collect(3, 12, "response", message.body).topic_names)
    assert state.observe(None, message, Whereabouts(1, "10.0.0.5:5", "10.0.0.9:9092", None)).fetch_partitions is None
    assert (state.topic_name(ORDERS), state.topic_name(RETURNS)) == ("orders", None)
