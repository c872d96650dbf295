"""A report from samples says what a report from everything says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kdissect.columnar import sample
from kdissect.dissect import Dissection, Options
from kdissect.plugins.host import Host
from kdissect.report.triage_report import Reporter
from tests.triage.traffic import Talk, as_json, capture, fetch, heartbeat, produce, talk, versions


def busy(port: int, client_id: str, *, records: int, error_every: int, empty: bool, start_ms: float) -> Talk:
    client = talk(port=port, client_id=client_id, start_ms=start_ms).ask(18, 3, *versions(k0=9, k1=11))
    for at in range(900):
        error = 6 if error_every and at % error_every == 0 else 0
        client.ask(0, 7, *produce(records=records, throttle=30 if at % 100 == 0 else 0), took_ms=250 if at % 10 == 0 else 1)
        client.ask(1, 4, *fetch(offset=10 * at, watermark=10 * at + 50_000, records=0 if empty else 10, error=error, max_wait=5))
        if at % 3 == 0:
            client.ask(12, 3, *heartbeat())
    for _ in range(30):
        client.ask(0, 7, produce("metrics", acks=0)[0], None)
    return client.close()


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], dict[str, Any]]:
    """The report from everything, and the one from samples."""
    file = capture(
        tmp_path_factory.mktemp("busy"),
        busy(50001, "steady", records=20, error_every=0, empty=False, start_ms=0),
        busy(50002, "chatty", records=1, error_every=40, empty=True, start_ms=3),
        talk(port=50003, client_id="old", start_ms=7)
        .ask(0, 3, *produce())
        .ask(2, 0, {"replica_id": -1, "topics": []}, {"topics": []}),
    )
    exact = _report(file, Options(records="heads"))
    before, sample.Sampler.__init__.__defaults__ = sample.Sampler.__init__.__defaults__, (0,)
    try:
        sampled = _report(file, Options(records="heads", flat=True, sample=True, chunk_bytes=1 << 20))
    finally:
        sample.Sampler.__init__.__defaults__ = before
    return exact, sampled


def _report(file: Path, options: Options) -> dict[str, Any]:
    reporter = Reporter(Host(discover=False))
    dissection = Dissection([str(file)], options, lambda text: None)
    for batch in dissection.batches():
        reporter.add(batch)
    return as_json(reporter.finish(dissection))


def test_it_is_a_sample(both: tuple[dict[str, Any], dict[str, Any]]) -> None:
    exact, sampled = both
    assert exact["summary"]["decoded_exchanges"] == exact["summary"]["exchanges"]
    assert sampled["summary"]["exchanges"] == exact["summary"]["exchanges"]
    assert sampled["summary"]["decoded_exchanges"] < exact["summary"]["exchanges"] / 5


@pytest.mark.parametrize(
    "table",
    ["apis", "clients", "topics", "errors", "connections", "ledger", "series", "links", "throttling", "latency", "upgrade"],
)
def test_what_needs_no_bodies_is_exact(both: tuple[dict[str, Any], dict[str, Any]], table: str) -> None:
    exact, sampled = both
    assert sampled[table] == exact[table]


def test_findings_are_the_same(both: tuple[dict[str, Any], dict[str, Any]]) -> None:
    exact, sampled = both
    told = [{(f["code"], f["severity"], f["title"]) for f in report["findings"]} for report in both]
    assert told[0] == told[1] and len(told[0]) >= 5
    counts = [{f["title"]: f["count"] for f in report["findings"]} for report in both]
    for title, count in counts[0].items():
        assert counts[1][title] == pytest.approx(count, rel=0.15), title
    for before, after in zip(exact["findings"], sampled["findings"], strict=True):
        assert {who["client_id"] for who in before["who"]} == {who["client_id"] for who in after["who"]}


def test_what_bodies_hold_is_near(both: tuple[dict[str, Any], dict[str, Any]]) -> None:
    rows = [{(r["client_id"], r["topic"]): r for r in report["produce"]} for report in both]
    assert rows[0].keys() == rows[1].keys()
    common = {key: row for key, row in rows[0].items() if row["batches"] > 500}
    assert len(common) == 2
    for key, exact in common.items():
        for name in ("batches", "records", "bytes"):
            assert rows[1][key][name] == pytest.approx(exact[name], rel=0.15), (key, name)
    lags = [{r["client_id"]: r["lag_last"] for r in report["consumers"]["clients"]} for report in both]
    assert lags[0] == pytest.approx(lags[1], rel=0.05)
