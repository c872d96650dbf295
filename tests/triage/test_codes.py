"""Every finding code: traffic that shows it, and its neighbour that does not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kdissect.exchange import Exchange, Finding
from kdissect.plugins import Rule, hookimpl
from kdissect.plugins.host import Host
from tests.support.conversation import ACK, FIN, RST, SYN, Conversation
from tests.triage.traffic import (
    Talk,
    codes,
    fetch,
    heartbeat,
    join,
    metadata,
    one,
    produce,
    report_of,
    sync,
    talk,
    versions,
)

WARNING, NOTE, CRITICAL = "warning", "note", "critical"


def test_quiet_traffic_gives_nothing(tmp_path: Path) -> None:
    quiet = talk().ask(18, 3, *versions(k0=9, k1=12))
    for _ in range(30):
        quiet.ask(0, 7, *produce()).ask(1, 4, *fetch(offset=5, watermark=8, records=3)).ask(12, 3, *heartbeat())
    found = report_of(tmp_path, quiet.close())
    assert found["findings"] == []
    assert found["summary"]["verdict"] == "Healthy: nothing to report"


# Kafka 4


def old_client(offered: int | None, version: int = 2) -> Talk:
    """Writes with an old version, to a broker that offers up to ``offered``; None: without asking."""
    client = talk(client_id="old")
    if offered is not None:
        client.ask(18, 3, *versions(k0=offered))
    asked, answer = produce()
    if version < 3:
        asked = {name: value for name, value in asked.items() if name != "transactional_id"}
    return client.ask(0, version, asked, answer)


def test_a_client_that_does_not_negotiate_breaks(tmp_path: Path) -> None:
    found = report_of(tmp_path, old_client(None))
    finding = one(found, "upgrade.kafka4_removed_version")
    assert finding["severity"] == WARNING and "Produce v2" in finding["text"] and finding["exchanges"] == [1]
    assert finding["who"] == [{"client": "10.0.0.5", "client_id": "old", "count": 1}]
    assert found["upgrade"]["clients"][0]["verdict"] == "breaks"


def test_a_client_that_ignores_what_the_broker_offers_breaks(tmp_path: Path) -> None:
    found = report_of(tmp_path, old_client(9))
    assert codes(found)["upgrade.kafka4_removed_version"] == WARNING
    row = found["upgrade"]["clients"][0]
    assert (row["software_name"], row["software_version"], row["negotiates"]) == ("some-library", "1.2.3", True)


def test_a_client_that_an_old_broker_limits_is_no_warning(tmp_path: Path) -> None:
    found = report_of(tmp_path, old_client(2))
    assert one(found, "upgrade.kafka4_removed_version")["severity"] == NOTE
    assert found["upgrade"]["clients"][0]["verdict"] == "unclear"


def test_the_lowest_accepted_version_is_ready(tmp_path: Path) -> None:
    found = report_of(tmp_path, old_client(None, version=3))
    assert "upgrade.kafka4_removed_version" not in codes(found)
    assert found["upgrade"]["clients"][0]["verdict"] == "ready"


@pytest.mark.parametrize(("target", "breaks"), [("3.9", False), ("4.0", True), ("4.4", True), ("0.9.0", True), ("0.10.0", False)])
def test_other_targets(tmp_path: Path, target: str, breaks: bool) -> None:
    found = report_of(tmp_path, old_client(None), target=target)
    assert ("upgrade.kafka4_removed_version" in codes(found)) == breaks


# Errors


def test_errors_that_cost_data_are_critical(tmp_path: Path) -> None:
    found = report_of(tmp_path, talk().ask(0, 7, *produce(error=19)))
    finding = one(found, "error.responses")
    assert finding["severity"] == CRITICAL and "NOT_ENOUGH_REPLICAS" in finding["title"]
    assert finding["evidence"][0]["request_packets"] == [4, 4]


def test_a_few_retriable_errors_are_nothing_and_many_are_a_warning(tmp_path: Path) -> None:
    def asking(times: int) -> dict[str, str]:
        client = talk()
        for _ in range(times):
            client.ask(12, 3, *heartbeat(error=15))
        return codes(report_of(tmp_path, client))

    assert asking(19) == {}
    assert asking(20) == {"error.responses": WARNING}


def test_retriable_errors_that_are_a_small_share_are_nothing(tmp_path: Path) -> None:
    client = talk()
    for at in range(600):
        client.ask(12, 3, *heartbeat(error=15 if at % 30 == 0 else 0))
    assert codes(report_of(tmp_path, client)) == {}


# Latency


def slow(took_ms: float, times: int, wait: int = 500, key: int = 1) -> Talk:
    client = talk()
    for _ in range(times):
        asked = fetch(max_wait=wait) if key == 1 else produce()
        client.ask(key, 4 if key == 1 else 7, *asked, took_ms=took_ms)
    return client


def test_slow_answers_are_a_warning(tmp_path: Path) -> None:
    finding = one(report_of(tmp_path, slow(300, 12, key=0)), "latency.slow_broker")
    assert finding["severity"] == WARNING and "10.0.0.9:9092" in finding["text"] and finding["count"] == 12


def test_a_fetch_that_waits_for_data_is_not_slow(tmp_path: Path) -> None:
    assert "latency.slow_broker" not in codes(report_of(tmp_path, slow(490, 12)))


def test_a_fetch_beyond_its_wait_is_slow(tmp_path: Path) -> None:
    assert codes(report_of(tmp_path, slow(800, 12)))["latency.slow_broker"] == WARNING


def test_few_slow_answers_are_nothing(tmp_path: Path) -> None:
    assert "latency.slow_broker" not in codes(report_of(tmp_path, slow(300, 9, key=0)))


def test_few_answers_that_take_seconds_are_a_warning(tmp_path: Path) -> None:
    assert codes(report_of(tmp_path, slow(1500, 3, key=0)))["latency.slow_broker"] == WARNING


def test_a_long_way_is_the_networks_fault(tmp_path: Path) -> None:
    client = Talk(ends=("10.0.0.5", "10.0.0.9"), ports=(50000, 9092))
    client.segment(0, flags=SYN)
    client.wait(250)
    client.segment(1, flags=SYN | ACK)
    client.segment(0, flags=ACK)
    for _ in range(12):
        client.ask(0, 7, *produce(), took_ms=250)
    found = report_of(tmp_path, client)
    finding = one(found, "latency.slow_broker")
    assert finding["severity"] == NOTE and finding["title"] == "The network is slow"
    split = found["latency"][0]
    assert split["wire_ms"]["p50"] >= 250 and split["broker_ms"]["p50"] < 5 and split["rtt_ms"] >= 250


def test_retransmissions_are_the_networks_fault(tmp_path: Path) -> None:
    client = talk()
    for _ in range(20):
        client.ask(0, 7, *produce(size=200))
        payload = client.packets[-2].data[54:]
        client.segment(0, payload, at=client.sent[0] - len(payload))
    finding = one(report_of(tmp_path, client.close()), "latency.slow_broker")
    assert finding["severity"] == WARNING and "repeat bytes" in finding["text"]


# Throttling


def test_throttling(tmp_path: Path) -> None:
    found = report_of(tmp_path, talk(client_id="greedy").ask(0, 7, *produce(throttle=400), took_ms=3000))
    finding = one(found, "throttle.throttled")
    assert finding["severity"] == WARNING and "greedy" in finding["text"] and "400 ms" in finding["text"]
    assert found["throttling"][0]["max_ms"] == 400
    assert "latency.slow_broker" not in codes(found)


def test_a_little_throttling_is_a_note(tmp_path: Path) -> None:
    assert codes(report_of(tmp_path, talk().ask(0, 7, *produce(throttle=50)))) == {"throttle.throttled": NOTE}


# Groups


def rebalancing(times: int, apart_ms: float) -> list[Talk]:
    first, second = talk(client_id="one"), talk(client="10.0.0.6", client_id="two", start_ms=5)
    for generation in range(1, times + 1):
        for each, member in ((first, "m-1"), (second, f"m-2-{generation}")):
            each.ask(11, 5, *join(member, generation), took_ms=40).ask(14, 3, *sync(member, generation)).wait(apart_ms)
    return [first, second]


def test_a_rebalance_storm(tmp_path: Path) -> None:
    found = report_of(tmp_path, *rebalancing(6, 1000))
    finding = one(found, "group.rebalance_storm")
    assert finding["severity"] == WARNING and "billing" in finding["text"] and finding["count"] == 6
    group = found["groups"][0]
    assert group["rebalances"] == 6 and group["longest_ms"] >= 40
    assert any("gone without leaving: two (10.0.0.6)" in each["cause"] for each in group["causes"])
    assert any("joined: two (10.0.0.6)" in each["cause"] for each in group["causes"])


def test_rebalances_far_apart_are_no_storm(tmp_path: Path) -> None:
    found = report_of(tmp_path, *rebalancing(6, 200_000))
    assert "group.rebalance_storm" not in codes(found) and found["groups"][0]["rebalances"] == 6


def test_leaving_is_told_apart_from_vanishing(tmp_path: Path) -> None:
    first, second = rebalancing(1, 100)
    leave = {"group_id": "billing", "members": [{"member_id": "m-2-1", "reason": "the consumer is being closed"}]}
    second.ask(13, 5, leave, {"error_code": 0, "members": []})
    first.wait(3000).ask(11, 5, *join("m-1", 2)).ask(14, 3, *sync("m-1", 2))
    causes = [each["cause"] for each in report_of(tmp_path, first, second)["groups"][0]["causes"]]
    assert "left: two (10.0.0.6), the consumer is being closed" in causes


def commit(error: int) -> tuple[dict[str, Any], dict[str, Any]]:
    partitions = [{"partition_index": 0, "committed_offset": 5, "committed_leader_epoch": -1, "committed_metadata": ""}]
    asked = {"group_id": "billing", "member_id": "m", "topics": [{"name": "orders", "partitions": partitions}]}
    return asked, {"topics": [{"name": "orders", "partitions": [{"partition_index": 0, "error_code": error}]}]}


def test_a_fenced_member(tmp_path: Path) -> None:
    finding = one(report_of(tmp_path, talk().ask(8, 7, *commit(22))), "group.member_fenced")
    assert finding["severity"] == WARNING and "ILLEGAL_GENERATION" in finding["text"]
    assert codes(report_of(tmp_path, talk().ask(12, 3, *heartbeat(error=25)))) == {"group.member_fenced": NOTE}
    assert codes(report_of(tmp_path, talk().ask(8, 7, *commit(0)))) == {}


def test_leaving_twice_fences_nobody(tmp_path: Path) -> None:
    leave = {"group_id": "billing", "members": [{"member_id": "m"}]}
    assert (
        codes(report_of(tmp_path, talk().ask(13, 4, leave, {"error_code": 25, "members": []}))).get("group.member_fenced") is None
    )


# Connections


def opening(number: int, apart_ms: float) -> list[Conversation]:
    return [
        talk(port=40000 + at, client_id="lambda", start_ms=at * apart_ms).ask(18, 3, *versions(k0=9)).close()
        for at in range(number)
    ]


def test_connection_churn(tmp_path: Path) -> None:
    finding = one(report_of(tmp_path, *opening(120, 100)), "connection.churn")
    assert finding["severity"] == WARNING and "lambda (10.0.0.5) opened 120 connections" in finding["text"]
    assert "connection.churn" not in codes(report_of(tmp_path, *opening(120, 2000)))
    assert "connection.churn" not in codes(report_of(tmp_path, *opening(90, 100)))


def test_a_reset_with_an_open_request(tmp_path: Path) -> None:
    client = talk().ask(12, 3, *heartbeat()).ask(12, 3, heartbeat()[0], None)
    client.segment(1, flags=RST | ACK)
    found = report_of(tmp_path, client)
    assert codes(found)["connection.reset"] == WARNING and codes(found)["request.unanswered"] == WARNING
    assert "1 of them by the broker" in one(found, "connection.reset")["text"]


def test_a_reset_of_an_idle_connection_is_a_note_and_behind_a_fin_nothing(tmp_path: Path) -> None:
    idle = talk().ask(12, 3, *heartbeat())
    idle.segment(0, flags=RST | ACK)
    assert codes(report_of(tmp_path, idle)) == {"connection.reset": NOTE}
    over = talk().ask(12, 3, *heartbeat())
    over.segment(0, flags=FIN | ACK)
    over.segment(0, flags=RST | ACK)
    assert codes(report_of(tmp_path, over)) == {}


def refused(number: int) -> list[Conversation]:
    talks = []
    for at in range(number):
        attempt = Conversation(ports=(41000 + at, 9092))
        attempt.start_ns += at * 10**9
        attempt.segment(0, flags=SYN)
        attempt.segment(1, flags=RST | ACK)
        talks.append(attempt)
    return talks


def test_a_broker_that_refuses(tmp_path: Path) -> None:
    finding = one(report_of(tmp_path, *refused(5)), "connection.reset")
    assert finding["severity"] == WARNING and "10.0.0.9:9092 refused 5 connections" in finding["text"]
    assert codes(report_of(tmp_path, *refused(2))) == {}
    later = talk(port=45000, start_ms=60_000).ask(12, 3, *heartbeat())
    assert codes(report_of(tmp_path, *refused(5), later)) == {"connection.reset": NOTE}


HELLO = bytes.fromhex("160303003a0100003603") + b"\x03" + bytes(range(52))


def speaking(payload: bytes, answer: bytes = b"", port: int = 9092, source: int = 42000) -> Conversation:
    made = Conversation(ports=(source, port)).open()
    made.say(0, payload)
    if answer:
        made.say(1, answer)
    return made.close()


def test_tls(tmp_path: Path) -> None:
    alone = report_of(tmp_path, speaking(HELLO, HELLO))
    assert codes(alone) == {"connection.tls": NOTE}
    mixed = report_of(tmp_path, speaking(HELLO), talk().ask(12, 3, *heartbeat()))
    assert one(mixed, "connection.tls")["severity"] == WARNING and "plaintext listener" in one(mixed, "connection.tls")["title"]
    assert codes(report_of(tmp_path, speaking(HELLO, HELLO, port=443))) == {}


def test_not_kafka(tmp_path: Path) -> None:
    get = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"
    finding = one(report_of(tmp_path, speaking(get), talk().ask(12, 3, *heartbeat())), "connection.not_kafka")
    assert finding["severity"] == WARNING and "HTTP" in finding["text"]
    assert codes(report_of(tmp_path, speaking(get, port=8080), talk().ask(12, 3, *heartbeat()))) == {}


# Metadata


def asking_metadata(times: int, apart_ms: float) -> Talk:
    client = talk(client_id="curious")
    for _ in range(times):
        client.ask(3, 5, *metadata(None)).wait(apart_ms)
    return client


def test_a_metadata_storm(tmp_path: Path) -> None:
    finding = one(report_of(tmp_path, asking_metadata(80, 100)), "metadata.storm")
    assert finding["severity"] == WARNING and "80 times for all topics" in finding["text"]
    assert codes(report_of(tmp_path, asking_metadata(80, 2000))) == {}


def stale(times: int, apart_ms: float, replica: int = -1) -> Talk:
    client = talk()
    for _ in range(times):
        client.ask(1, 4, *fetch(error=6, replica=replica)).wait(apart_ms)
    return client


def test_a_stale_leader(tmp_path: Path) -> None:
    finding = one(report_of(tmp_path, stale(15, 1000)), "metadata.stale_leader")
    assert finding["severity"] == WARNING and "orders" in finding["text"]
    assert codes(report_of(tmp_path, stale(3, 1000))) == {}
    assert codes(report_of(tmp_path, stale(15, 1))) == {"metadata.stale_leader": NOTE}
    assert codes(report_of(tmp_path, stale(15, 1000, replica=2))) == {"metadata.stale_leader": NOTE}


# Logins


def login(mechanism: str = "PLAIN", error: int = 0, broker: str = "10.0.0.9", client: str = "10.0.0.5") -> Talk:
    token = b"\0alice\0wonderland"
    asking = talk(client=client, broker=broker).ask(17, 1, {"mechanism": mechanism}, {"error_code": 0, "mechanisms": [mechanism]})
    return asking.ask(36, 1, {"auth_bytes": token}, {"error_code": error, "error_message": None, "auth_bytes": b""})


def test_failed_logins(tmp_path: Path) -> None:
    found = report_of(tmp_path, login(error=58))
    assert one(found, "auth.failed")["severity"] == WARNING and "SASL_AUTHENTICATION_FAILED" in one(found, "auth.failed")["text"]
    assert found["auth"][0]["result"] == "failed"
    assert "auth.failed" not in codes(report_of(tmp_path, login()))


def test_missing_rights(tmp_path: Path) -> None:
    finding = one(report_of(tmp_path, talk().ask(0, 7, *produce("secrets", error=29))), "auth.failed")
    assert "secrets" in finding["text"] and finding["title"] == "Rights are missing"


def test_cleartext_passwords(tmp_path: Path) -> None:
    finding = one(report_of(tmp_path, login()), "auth.cleartext_password")
    assert finding["severity"] == CRITICAL and "wonderland" not in str(finding)
    assert codes(report_of(tmp_path, login(broker="127.0.0.1", client="127.0.0.1")))["auth.cleartext_password"] == NOTE
    assert "auth.cleartext_password" not in codes(report_of(tmp_path, login("SCRAM-SHA-256")))


# Writing


def test_acks_none(tmp_path: Path) -> None:
    careless = talk(client_id="careless").ask(0, 7, produce("metrics", acks=0)[0], None).ask(12, 3, *heartbeat())
    finding = one(report_of(tmp_path, careless), "produce.acks_none")
    assert finding["severity"] == NOTE and "careless" in finding["text"] and "metrics" in finding["text"]
    assert codes(report_of(tmp_path, talk().ask(0, 7, *produce(acks=1)))) == {}


def writing(times: int, apart_ms: float, **how: Any) -> Talk:
    client = talk(client_id="chatter")
    for _ in range(times):
        client.ask(0, 7, *produce(**how)).wait(apart_ms)
    return client


def test_tiny_batches(tmp_path: Path) -> None:
    finding = one(report_of(tmp_path, writing(600, 0, records=1)), "produce.tiny_batches")
    assert finding["severity"] == WARNING and "chatter" in finding["text"] and "1.0 records" in finding["text"]
    assert codes(report_of(tmp_path, writing(600, 50, records=1))) == {"produce.tiny_batches": NOTE}
    assert codes(report_of(tmp_path, writing(600, 0, records=4))) == {}
    assert codes(report_of(tmp_path, writing(400, 0, records=1))) == {}


def test_uncompressed(tmp_path: Path) -> None:
    finding = one(report_of(tmp_path, writing(20, 0, size=9_000)), "produce.uncompressed")
    assert finding["severity"] == NOTE and "orders" in finding["text"]
    assert codes(report_of(tmp_path, writing(20, 0, size=9_000), thresholds=["uncompressed_per_s=1e6"])) == {
        "produce.uncompressed": WARNING
    }
    assert codes(report_of(tmp_path, writing(10, 0, size=9_000))) == {}
    assert codes(report_of(tmp_path, writing(20, 0, size=9_000, compression="gzip"))) == {}


def test_oversized(tmp_path: Path) -> None:
    finding = one(report_of(tmp_path, talk().ask(0, 7, *produce(error=10))), "produce.oversized")
    assert finding["severity"] == WARNING
    large = one(report_of(tmp_path, talk().ask(0, 7, *produce(records=1, size=1_100_000))), "produce.oversized")
    assert large["severity"] == NOTE and "1.10 MB" in large["text"]
    assert "produce.oversized" not in codes(report_of(tmp_path, talk().ask(0, 7, *produce(records=1, size=1_000_000))))


def initialise(name: str) -> tuple[dict[str, Any], dict[str, Any]]:
    return {"transactional_id": name, "transaction_timeout_ms": 1000}, {"error_code": 0, "producer_id": 7, "producer_epoch": 1}


def test_a_fenced_producer(tmp_path: Path) -> None:
    zombie, heir = talk(client_id="zombie"), talk(client="10.0.0.6", client_id="heir", start_ms=50)
    zombie.ask(22, 1, *initialise("tx-1"))
    heir.ask(22, 1, *initialise("tx-1"))
    ending = {"transactional_id": "tx-1", "producer_id": 7, "producer_epoch": 0, "committed": True}
    zombie.wait(200).ask(26, 2, ending, {"error_code": 47})
    finding = one(report_of(tmp_path, zombie, heir), "producer.fenced")
    assert finding["severity"] == WARNING and "tx-1 was initialised by several clients" in finding["text"]
    assert codes(report_of(tmp_path, heir)) == {}


# Reading


def consuming(lags: list[int], client_id: str = "reader") -> Talk:
    client = talk(client_id=client_id)
    offset = 0
    for lag in lags:
        client.ask(1, 4, *fetch(offset=offset, watermark=offset + 10 + lag, records=10)).wait(100)
        offset += 10
    return client


def test_lag(tmp_path: Path) -> None:
    found = report_of(tmp_path, consuming([20_000, 30_000, 40_000]))
    finding = one(found, "consumer.lag")
    assert finding["severity"] == WARNING and "40,000 records behind" in finding["text"] and "reader" in finding["text"]
    row = found["consumers"]["clients"][0]
    assert (row["lag_first"], row["lag_last"], row["position"]) == (20_000, 40_000, 30)
    assert codes(report_of(tmp_path, consuming([40_000, 30_000, 20_000]))) == {"consumer.lag": NOTE}
    assert codes(report_of(tmp_path, consuming([20_000, 10_000, 9_000]))) == {}


def polling(times: int, took_ms: float, records: int = 0) -> Talk:
    client = talk()
    for at in range(times):
        offset = at * records
        client.ask(1, 4, *fetch(offset=offset, watermark=offset + records, records=records, max_wait=1), took_ms=took_ms)
    return client


def test_empty_polls(tmp_path: Path) -> None:
    finding = one(report_of(tmp_path, polling(200, 2)), "consumer.empty_polls")
    assert finding["severity"] == WARNING and "200 of 200 fetches" in finding["text"]
    assert codes(report_of(tmp_path, polling(200, 100))) == {}
    assert codes(report_of(tmp_path, polling(200, 2, records=5))) == {}


# The capture, and plugins


def test_a_lossy_capture(tmp_path: Path) -> None:
    def with_losses(lost: int) -> dict[str, Any]:
        client = talk()
        for _ in range(300):
            client.ask(12, 3, *heartbeat())
        del client.packets[100 : 100 + lost]
        return report_of(tmp_path, client.close())

    assert one(with_losses(100), "capture.loss")["severity"] == WARNING
    assert one(with_losses(2), "capture.loss")["severity"] == NOTE
    assert "capture.loss" not in codes(with_losses(0))


def test_a_plugin_that_fails(tmp_path: Path) -> None:
    class Broken:
        @hookimpl
        def kdissect_rules(self) -> list[Rule]:
            def start() -> Any:
                def examine(batch: Any) -> Any:
                    raise RuntimeError("out of luck")

                return examine

            return [Rule("mine.broken", "broken", start)]

    host = Host(discover=False)
    host.register(Broken(), "broken")
    found = report_of(tmp_path, talk().ask(12, 3, *heartbeat()), host=host)
    assert one(found, "plugin.failed")["severity"] == WARNING and "out of luck" in one(found, "plugin.failed")["text"]


def test_rules_of_plugins_are_reported(tmp_path: Path) -> None:
    class Mine:
        @hookimpl
        def kdissect_rules(self) -> list[Rule]:
            def start() -> Any:
                def examine(batch: list[Exchange]) -> Any:
                    return [(each.index, Finding("mine.heartbeat", "note", "a heart beats")) for each in batch]

                return examine

            return [Rule("mine.heartbeat", "hearts", start)]

    host = Host(discover=False)
    host.register(Mine(), "mine")
    finding = one(report_of(tmp_path, talk().ask(12, 3, *heartbeat()), host=host), "mine.heartbeat")
    assert finding["count"] == 1 and "a heart beats" in finding["text"]


# Exchanges that are noted


def test_unanswered_requests(tmp_path: Path) -> None:
    by_broker = talk().ask(12, 3, *heartbeat()).ask(12, 3, heartbeat()[0], None)
    by_broker.segment(1, flags=FIN | ACK)
    assert codes(report_of(tmp_path, by_broker))["request.unanswered"] == WARNING
    by_client = talk().ask(12, 3, *heartbeat()).ask(12, 3, heartbeat()[0], None)
    by_client.segment(0, flags=FIN | ACK)
    by_client.segment(1, flags=FIN | ACK)
    assert codes(report_of(tmp_path, by_client))["request.unanswered"] == NOTE
