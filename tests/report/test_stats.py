"""Counts, bytes and percentiles are exact, in bounded memory."""

from __future__ import annotations

import io
import json
import math
from collections import Counter
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kdissect.ledger import Ledger
from kdissect.report import stats as module
from kdissect.report.sink import Sink
from kdissect.report.stats import Budget, Latencies, Stats
from kdissect.report.stats_tables import write_stats
from kdissect.wire.json import dumps
from tests.report.fakes import START_NS, FakeExchange

ONE = FakeExchange()
HOSTILE = "evil\x1b[2J\u202e[red]"


def dissection(**changes: Any) -> Any:
    ledger = Ledger(captured=100, decoded=60, partial=10, opaque=10, skipped=10, duplicate=10, missing=5)
    connections = [
        SimpleNamespace(number=1, client="10.0.0.5:50000", broker="10.0.0.9:9092", protocol="kafka", exchanges=3, ledger=ledger),
        SimpleNamespace(number=2, client="10.0.0.5:50001", broker="10.0.0.9:443", protocol="tls", exchanges=0, ledger=Ledger()),
    ]
    capture = SimpleNamespace(
        files=["a.pcap"],
        packets=12,
        tcp_packets=10,
        first_time_ns=START_NS,
        last_time_ns=START_NS + 90 * 10**9,
        time_digits=6,
        errors=[],
    )
    return SimpleNamespace(capture=capture, connections=connections, ledger=ledger, **changes)


def tables(rows: list[FakeExchange]) -> dict[str, Any]:
    stats = Stats()
    for at in range(0, len(rows), 2):
        stats.add(rows[at : at + 2])  # type: ignore[arg-type]
    decoded: dict[str, Any] = json.loads(dumps(stats.to_json(dissection())))
    return decoded


def nearest_rank(values: list[float], percent: int) -> float:
    """The definition, spelled out."""
    ordered = sorted(values)
    return next(value for at, value in enumerate(ordered, 1) if at / len(ordered) * 100 >= percent - 1e-9)


def test_contract() -> None:
    rows = [
        ONE,
        ONE.but(latency_ms=3.0, topics=["orders", "payments"], api_version=8),
        ONE.but(
            api="Fetch", api_key=1, api_version=12, client="10.0.0.6:1", client_id=None, error_codes=["A", "B"], latency_ms=None
        ),
        ONE.but(outcome="unanswered", client="10.0.0.5:50001", connection=3, response_bytes=None, latency_ms=None, topics=[]),
    ]
    found = tables(rows)
    assert list(found) == ["capture", "connections", "exchanges", "apis", "clients", "topics", "errors", "ledger"]
    assert found["capture"] == {
        "files": ["a.pcap"],
        "packets": 12,
        "tcp_packets": 10,
        "first_time": "2026-11-21T10:00:00.000000Z",
        "last_time": "2026-11-21T10:01:30.000000Z",
    }
    assert found["ledger"] == {
        "captured": 100,
        "decoded": 60,
        "partial": 10,
        "opaque": 10,
        "skipped": 10,
        "duplicate": 10,
        "missing": 5,
    }
    assert found["connections"][1]["protocol"] == "tls" and found["connections"][0]["ledger"]["captured"] == 100
    assert found["exchanges"] == {"answered": 3, "no_reply_expected": 0, "unanswered": 1, "request_missing": 0}
    produce, fetch = found["apis"]
    assert produce == {
        "api": "Produce",
        "api_key": 0,
        "versions": [8, 9],
        "exchanges": 3,
        "errors": 0,
        "unanswered": 1,
        "request_bytes": 3 * 1234,
        "response_bytes": 2 * 56,
        "latency_ms": {"p50": 1.5, "p95": 3.0, "p99": 3.0, "max": 3.0},
    }
    assert fetch["errors"] == 1 and fetch["latency_ms"] is None
    assert [(row["client"], row["client_id"], row["connections"]) for row in found["clients"]] == [
        ("10.0.0.5", "billing", 2),
        ("10.0.0.6", None, 1),
    ]
    assert {row["topic"]: row["exchanges"] for row in found["topics"]} == {"orders": 3, "payments": 1}
    assert [(row["error"], row["api"], row["exchanges"]) for row in found["errors"]] == [("A", "Fetch", 1), ("B", "Fetch", 1)]


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=300))
def test_percentiles_are_nearest_rank(values: list[float]) -> None:
    latencies = Latencies(Budget())
    for value in values:
        latencies.add(value)
    summary = latencies.summary()
    assert summary == {
        name: nearest_rank(values, percent) for name, percent in (("p50", 50), ("p95", 95), ("p99", 99), ("max", 100))
    }


@given(st.lists(st.floats(0.001, 1e6), min_size=20, max_size=300), st.integers(0, 19))
def test_beyond_the_budget_percentiles_keep_three_digits(values: list[float], budget: int) -> None:
    shared = Budget(budget)
    latencies = Latencies(shared)
    for value in values:
        latencies.add(value)
    assert shared.left == budget  # Given back for others to use.
    summary = latencies.summary()
    assert summary is not None
    for name, percent in (("p50", 50), ("p95", 95), ("p99", 99), ("max", 100)):
        assert math.isclose(summary[name], nearest_rank(values, percent), rel_tol=0.005)


def test_tables_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_ROWS", 5)
    found = tables([ONE.but(topics=[f"t{i}"], client_id=str(i)) for i in range(20)])
    topics = Counter({row["topic"]: row["exchanges"] for row in found["topics"]})
    assert len(topics) == 6 and topics[None] == 15 and topics.total() == 20
    assert found["topics"][-1]["topic"] is None and found["clients"][-1]["client"] is None


@pytest.mark.parametrize("width", [80, 120, 200])
@pytest.mark.parametrize("color", [False, True])
def test_on_a_terminal(width: int, color: bool) -> None:
    rows = [ONE.but(topics=[HOSTILE], client_id=HOSTILE, error_codes=["NOT_COORDINATOR"]), ONE.but(latency_ms=2000.0)]
    stream = io.BytesIO()
    write_stats(tables(rows), dissection().capture, Sink(stream, width=width, color=color))
    shown = stream.getvalue().decode()
    if color:
        assert "\x1b[1;31m" in shown
        import re

        shown = re.sub(r"\x1b\[[0-9;]*m", "", shown)
    assert not set(shown) & set("\x1b\u202e")
    assert max(map(len, shown.splitlines())) <= width
    for part in (
        "APIs",
        "Produce",
        "NOT_COORDINATOR",
        "10.0.0.9:443",
        "tls",
        "2026-11-21T10:01:30.000000Z",
        "100 B captured",
        "decoded 60%",
        "5 B missing",
    ):
        assert part in shown, part
    assert "evil\\x1b[2J" in shown if width > 80 else True


def test_many_rows_are_cut_unless_asked_for() -> None:
    found = tables([ONE.but(topics=[f"topic-{i:02}"]) for i in range(40)])
    for full in (False, True):
        stream = io.BytesIO()
        write_stats(found, dissection().capture, Sink(stream, width=120), full)
        assert (b"topic-39" in stream.getvalue()) is full
        assert (b"25 more, --full shows all" in stream.getvalue()) is not full
