"""Every format writes every view, in bounded memory, safely."""

from __future__ import annotations

import csv
import io
import json

import pytest

from kdissect.plugins.host import Host
from kdissect.report.exchanges import EXCHANGES
from kdissect.report.formats.table import SAMPLE
from kdissect.report.sink import Sink
from tests.report.fakes import START_NS, FakeExchange, FakeFinding

HOSTILE = "evil\x1b[2J\x9b\u202e\u200b\r\n\x07[red]x[/]"
ONE = FakeExchange()
ROWS = [
    ONE,
    ONE.but(index=2, api="Fetch", api_key=1, api_version=12, topics=["orders", "payments", "invoices"], latency_ms=503.2),
    ONE.but(
        index=3, api="OffsetCommit", api_key=8, api_version=8, groups=["billing"], error_codes=["REBALANCE_IN_PROGRESS", "X"]
    ),
    ONE.but(index=4, api="ConsumerGroupHeartbeat", api_key=68, api_version=1, topics=[], groups=["g"]),
    ONE.but(
        index=5,
        outcome="unanswered",
        unanswered_reason="timeout",
        response_time_ns=None,
        response_bytes=None,
        response_packets=None,
        latency_ms=None,
        findings=[FakeFinding("request.unanswered", "warning", "no answer came within the time limit")],
    ),
    ONE.but(index=6, api=None, api_key=None, api_version=None, request_time_ns=None, outcome="request_missing", client_id=None),
    ONE.but(index=7, client_id=HOSTILE, topics=[HOSTILE], groups=[HOSTILE], principal=HOSTILE, error_codes=[HOSTILE]),
    ONE.but(
        index=8, request_time_ns=START_NS + 86_400 * 10**9, findings=[FakeFinding("frame.trailing_bytes", "warning", "2 bytes")]
    ),
]


def render(name: str, rows: list[FakeExchange] = ROWS, step: int = 3, **settings: object) -> str:
    stream = io.BytesIO()
    writer = Host(discover=False).formats[name].open(EXCHANGES, Sink(stream, **settings))  # type: ignore[arg-type]
    for at in range(0, len(rows), step):
        writer.write(rows[at : at + step])
    writer.finish()
    return stream.getvalue().decode()


@pytest.mark.parametrize("width", [60, 80, 100, 120, 160, 200])
def test_table_fits_and_keeps_what_matters(width: int) -> None:
    lines = render("table", width=width).splitlines()
    assert all(len(line) <= width for line in lines)
    body = [line for line in lines[1:] if not line.startswith("──")]
    assert lines[0].split()[0] == "#" and "outcome" in lines[0]
    for row, line in zip(ROWS, body, strict=True):
        assert line.split()[0] == str(row.index)
        assert row.api is None or f"{row.api} v{row.api_version}" in line
    assert "REBALANCE_IN_PROGRESS" in body[2] and "unanswered: timeout" in body[4]


def test_a_wide_table_has_all_columns() -> None:
    head = render("table", width=200).splitlines()[0]
    assert " ".join(head.split()) == "# time client broker client id api topics request response latency outcome"


def test_the_connection_number_stands_in_for_addresses() -> None:
    narrow = render("table", [ONE.but(connection=17, topics=["a-rather-long-topic-name"])], width=75).splitlines()
    assert "conn" in narrow[0] and "client" not in narrow[0] and " 17 " in narrow[2]


def test_a_new_day_is_announced() -> None:
    days = [line[3:13] for line in render("table", width=80).splitlines() if line.startswith("──")]
    assert days == ["2026-11-21", "2026-11-22"]


@pytest.mark.parametrize("name", ["table", "text", "csv", "ndjson", "json"])
def test_nothing_from_the_wire_acts_on_a_terminal(name: str) -> None:
    shown = render(name, width=200, terminal=True).replace("\r\n", "\n")
    assert not set(shown) & set("\x1b\x9b\u202e\u200b\r\x07")
    assert len(shown.splitlines()) <= len(ROWS) + 3


def test_colours_mean_something() -> None:
    lines = render("table", width=200, color=True).splitlines()
    assert "\x1b[1;31mREBALANCE_IN_PROGRESS" in lines[4]
    assert "\x1b[33munanswered" in lines[6]
    assert "\x1b" not in render("table", width=200)


def test_text_is_aligned_uncut_and_has_one_header() -> None:
    topic = "t" * 249
    lines = render("text", [ONE.but(topics=[topic, "second"], groups=["g"])]).splitlines()
    assert len(lines) == 2
    assert f"{topic}, second @g" in lines[1]
    assert "2026-11-21T10:00:00.000000Z" in lines[1]
    assert lines[0].index("broker") == lines[1].index("10.0.0.9:9092")


def test_widths_are_fixed_after_the_first_rows() -> None:
    rows = [ONE.but(index=i + 1) for i in range(SAMPLE)] + [ONE.but(index=SAMPLE + 1, api="AVeryLongApiNameIndeed", topics=[])]
    stream = io.BytesIO()
    writer = Host(discover=False).formats["table"].open(EXCHANGES, Sink(stream, width=100, terminal=True))
    writer.write(rows[: SAMPLE - 1])
    assert stream.getvalue() == b""
    writer.write(rows[SAMPLE - 1 :])
    lines = stream.getvalue().decode().splitlines()
    assert len(lines) == SAMPLE + 3
    assert "AVeryLongApiNameIndeed v9" in lines[-1] and lines[-1].index("1.50 ms") == lines[-2].index("1.50 ms")


def test_live_rows_are_not_held_back() -> None:
    for name in ("table", "text", "ndjson", "csv"):
        stream = io.BytesIO()
        writer = Host(discover=False).formats[name].open(EXCHANGES, Sink(stream, eager=True))
        writer.write([ONE])
        assert b"Produce" in stream.getvalue(), name


def test_json_formats() -> None:
    lines = render("ndjson").splitlines()
    assert [json.loads(line)["index"] for line in lines] == list(range(1, 9))
    assert json.loads(lines[0])["request"] == {"acks": 1}
    assert "request" not in json.loads(render("ndjson", bodies=False).splitlines()[0])
    assert json.loads(render("json")) == [json.loads(line) for line in lines]
    assert json.loads(render("json", [])) == []
    assert render("ndjson", []) == ""


def test_json_on_a_terminal_means_the_same() -> None:
    on_terminal, in_pipe = (render("ndjson", terminal=terminal) for terminal in (True, False))
    assert on_terminal != in_pipe
    assert list(map(json.loads, on_terminal.splitlines())) == list(map(json.loads, in_pipe.splitlines()))


def test_csv() -> None:
    rows = list(csv.DictReader(io.StringIO(render("csv", [*ROWS, ONE.but(index=9, client_id="=1+2")]))))
    assert list(rows[0]) == list(EXCHANGES.keys)
    assert rows[1]["topics"] == "orders;payments;invoices"
    assert rows[0]["request_packets"] == "4-6"
    assert rows[4]["findings"] == "request.unanswered" and rows[4]["response_bytes"] == ""
    assert rows[8]["client_id"] == "'=1+2"
    assert render("csv", []).splitlines() == [",".join(EXCHANGES.keys)]


def test_a_stream_that_takes_little_at_a_time_gets_everything() -> None:
    """An unbuffered standard output writes what the pipe has room for, and says how much that was."""

    class Pipe(io.RawIOBase):
        got = b""

        def write(self, data: object) -> int:
            part = bytes(memoryview(data)[:1000])  # type: ignore[arg-type]
            self.got += part
            return len(part)

    pipe = Pipe()
    writer = Host(discover=False).formats["ndjson"].open(EXCHANGES, Sink(pipe))  # type: ignore[arg-type]
    writer.write(ROWS * 10)
    writer.finish()
    assert pipe.got.decode() == render("ndjson", ROWS * 10)
