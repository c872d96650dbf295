"""One exchange as a tree: every field, in human terms, safely."""

from __future__ import annotations

import io
import re
import struct
from typing import Any

import pytest

from kdissect.plugins.hooks import ValueDecoder
from kdissect.plugins.host import Host
from kdissect.protocol.contents.sasl import SaslToken
from kdissect.report.fields import Reading
from kdissect.report.human import Clock
from kdissect.report.show import show
from kdissect.report.sink import Sink
from kdissect.schema.message import decode_request, decode_response
from kdissect.wire.records_writer import write_batch
from tests.report.fakes import START_NS, FakeExchange, FakeFinding

HOSTILE = "evil\x1b[2J\u202e"


def text(value: str | None) -> bytes:
    return struct.pack(">h", -1) if value is None else struct.pack(">h", len(value.encode())) + value.encode()


def produce(topic: str = "orders", records: bytes = b"", extra: bytes = b"") -> bytes:
    """A Produce v3 request: the layout of ProduceRequest.json."""
    head = struct.pack(">hhi", 0, 3, 7) + text("billing")
    body = text(None) + struct.pack(">hii", -1, 30_000, 1) + text(topic) + struct.pack(">iii", 1, 2, len(records)) + records
    return head + body + extra


def produced(error: int = 0, count: int = 1) -> bytes:
    """A Produce v3 response, the same partition ``count`` times."""
    partition = struct.pack(">ihqq", 2, error, 41, -1)
    return (
        struct.pack(">i", 7)
        + struct.pack(">i", 1)
        + text("orders")
        + struct.pack(">i", count)
        + partition * count
        + struct.pack(">i", 1500)
    )


def exchange(request: bytes, response: bytes | None, **changes: Any) -> FakeExchange:
    made = FakeExchange(api_version=3, client_id="billing", **changes)
    made.request = decode_request(request)  # type: ignore[attr-defined]
    made.request_frame = memoryview(struct.pack(">i", len(request)) + request)  # type: ignore[attr-defined]
    made.response = None if response is None else decode_response(response, 0, 3)  # type: ignore[attr-defined]
    made.response_frame = None if response is None else memoryview(struct.pack(">i", len(response)) + response)  # type: ignore[attr-defined]
    return made


def render(row: FakeExchange, full: bool = False, spans: bool = False, host: Host | None = None, **settings: Any) -> list[str]:
    stream = io.BytesIO()
    how = Reading(Clock(utc=True), host or Host(discover=False), full)
    show(row, Sink(stream, **settings), how, spans)  # type: ignore[arg-type]
    return stream.getvalue().decode().splitlines()


def line_of(lines: list[str], part: str) -> str:
    return next(line for line in lines if part in line)


def test_head_tells_what_other_messages_show() -> None:
    row = exchange(produce(), produced(), broker_id=3, fetch_partitions={"orders": tuple(range(30)), "returns": (0,)})
    lines = render(row)
    assert line_of(lines, "connection").endswith("10.0.0.9:9092 (broker 3)")
    numbers = ", ".join(map(str, range(20)))
    assert line_of(lines, "fetches").split(None, 1)[1] == f"orders {numbers} … 30 partitions; returns 0"
    assert "28, 29; returns 0" in line_of(render(row, full=True), "fetches")


def test_login_steps_are_named() -> None:
    client = SaslToken("SCRAM-SHA-256", "client-first", HOSTILE, delegation_token=True)
    broker = SaslToken("SCRAM-SHA-256", "server-first", iterations=4096)
    lines = [line for line in render(exchange(produce(), produced(), sasl=(client, broker))) if "login" in line]
    assert len(lines) == 2 and "\x1b" not in lines[0]
    assert "client: SCRAM-SHA-256 client-first, delegation token evil" in lines[0]
    assert "broker: SCRAM-SHA-256 server-first, 4096 iterations" in lines[1]


def test_head() -> None:
    row = exchange(produce(), produced(6), error_codes=["NOT_LEADER_OR_FOLLOWER"], principal="User:alice", throttle_time_ms=1500)
    row.findings = [FakeFinding("frame.trailing_bytes", "warning", "2 bytes follow")]
    lines = render(row)
    assert lines[0] == "#1  Produce v3  NOT_LEADER_OR_FOLLOWER, frame.trailing_bytes in 1.50 ms"
    head = "\n".join(lines[1:8])
    for part in (
        "10.0.0.5:50000 → 10.0.0.9:9092",
        "billing  as User:alice",
        "2026-11-21T10:00:00.000000Z  1,234 bytes  packets 4 to 6",
    ):
        assert part in head
    assert "56 bytes  packet 7" in head and "file        a.pcap" in head
    assert "1.50 s" in line_of(lines, "throttled")
    assert "▲ frame.trailing_bytes  2 bytes follow" in line_of(lines, "finding")


def test_every_field_in_human_terms() -> None:
    lines = render(exchange(produce(), produced(6)))
    for part in (
        "correlation_id: 7",
        "transactional_id: null",
        "acks: -1  every in-sync replica",
        "timeout_ms: 30000  30.0 s",
        "[0] name: orders",
        "[0] index: 2",
        "records: 0 batches",
        "error_code: 6  NOT_LEADER_OR_FOLLOWER",
        "base_offset: 41",
        "throttle_time_ms: 1500  1.50 s",
    ):
        assert any(line.endswith(part) for line in lines), part


def test_records() -> None:
    at = START_NS // 1_000_000
    records = [
        {"offset": 0, "timestamp": at, "key": b"k-1", "value": b'{"a": 1}', "headers": [{"key": "trace", "value": b"\x00\x01"}]},
        {"offset": 1, "timestamp": at + 1, "key": None, "value": b"\xff\x00"},
    ]
    lines = render(exchange(produce(records=write_batch(records, compression="zstd")), produced()))
    assert "2 records" in line_of(lines, "batch @ 0") and "zstd" in line_of(lines, "batch @ 0")
    assert "record @ 1: 2026-11-21T10:00:00.001Z" in "\n".join(lines)
    for part in ('key: "k-1"', "value: '{\"a\": 1}'", "header trace: 00 01", "key: null", "value: ff 00", "crc_valid: true"):
        assert any(line.endswith(part) for line in lines), part


def test_a_wrong_checksum_stands_out() -> None:
    batch = bytearray(write_batch([{"value": b"x"}]))
    batch[-2] ^= 1
    line = line_of(render(exchange(produce(records=bytes(batch)), produced()), color=True), "batch @ 0")
    assert "\x1b[1;31mwrong CRC" in line


def test_a_plugin_decodes_values_of_its_topics() -> None:
    host = Host(discover=False)
    host.value_decoders["length"] = ValueDecoder("length", "", lambda part: {"length": len(part.data)}, topics=("ord*",))
    row = exchange(produce(records=write_batch([{"key": b"k", "value": b"1234"}])), produced())
    lines = render(row, host=host)
    assert "decoded by length" in line_of(lines, " value") and any(line.endswith("length: 4") for line in lines)


def test_long_arrays_and_values_are_abbreviated_unless_asked_for() -> None:
    row = exchange(produce(records=write_batch([{"value": b"x" * 5000}] + [{"value": b"y"}] * 30)), produced(count=200))
    short, full = render(row), render(row, full=True)
    assert any("x" * 200 in line and "(5,000 characters)" in line for line in short)
    assert any("… 21 more records" in line for line in short) and any("… 150 more" in line for line in short)
    assert any("x" * 5000 in line for line in full) and not any("more" in line for line in full)
    assert sum("error_code" in line for line in full) == 200


def test_lines_fit_the_terminal() -> None:
    row = exchange(produce("t" * 249, write_batch([{"key": b"k" * 300, "value": b"v" * 300}])), produced())
    for width in (80, 120):
        for spans in (False, True):
            assert max(map(len, render(row, spans=spans, width=width, terminal=True))) <= width, (width, spans)


@pytest.mark.parametrize("spans", [False, True])
def test_nothing_from_the_wire_acts_on_the_terminal(spans: bool) -> None:
    record = {"key": HOSTILE.encode(), "value": HOSTILE.encode(), "headers": [{"key": HOSTILE, "value": HOSTILE.encode()}]}
    row = exchange(produce(HOSTILE, write_batch([record])), produced(), principal=HOSTILE)
    row.findings = [FakeFinding("frame.malformed", "critical", HOSTILE)]
    row.file = HOSTILE
    shown = "\n".join(render(row, full=True, spans=spans, terminal=True))
    assert not set(shown) & set("\x1b\u202e") and "evil\\x1b[2J" in shown


def test_bytes_of_every_field() -> None:
    request = produce(records=write_batch([{"value": b"x"}]))
    lines = render(exchange(request, produced()), full=True, spans=True, width=1000)
    start = next(at for at, line in enumerate(lines) if "request: Produce" in line)
    covered = [0] * len(request)
    for line in lines[start:]:
        if "response:" in line:
            break
        match = re.match(r" *(\d+) +(\d+) .*?  ((?:[0-9a-f]{2} ?)+)$", line)
        if match:
            offset, length = int(match[1]), int(match[2])
            assert bytes.fromhex(match[3]) == request[offset : offset + length], line
            for at in range(offset, offset + length):
                covered[at] += 1
    assert set(covered) == {0, 1}
    # Without bytes of their own: the counts of two arrays, and the records field, which is shown decoded.
    assert covered.count(0) == 4 + 4 + 4 + len(write_batch([{"value": b"x"}]))


def test_what_is_broken_is_shown_up_to_the_fault() -> None:
    cut = render(exchange(produce()[:-6], None, outcome="unanswered", unanswered_reason="gap", response_bytes=None))
    assert any("timeout_ms: 30000" in line for line in cut) and any("▲ here decoding ended" in line for line in cut)
    assert "response: not in the capture" in cut
    assert any("▲ 1 byte left over" in line for line in render(exchange(produce(extra=b"\0"), produced())))
    assert any("▲ 3 bytes left over" in line for line in render(exchange(produce(extra=b"\0\0\0"), produced())))
