"""The report on a terminal, as JSON and as Markdown; comparing; exit codes."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from kdissect.cli.app import application, run
from kdissect.plugins.host import Host
from kdissect.report.html.page import render
from kdissect.report.sink import Sink
from kdissect.report.triage_compare import compare
from kdissect.report.triage_markdown import markdown
from kdissect.report.triage_series import MOST_BINS, Series
from kdissect.report.triage_terminal import write_report
from kdissect.schema.catalogue import api
from kdissect.triage.api_versions import release, releases
from kdissect.triage.thresholds import Thresholds, described
from tests.report.fakes import FakeExchange
from tests.triage.traffic import as_json, built, capture, fetch, heartbeat, metadata, produce, report_of, reported, talk, versions

CAPTURES = Path(__file__).parents[2] / "captures"
HOSTILE = "evil\x1b[2J\u202e|<b>"
FINDING = [
    "code", "severity", "title", "text", "count", "exchanges", "connections", "advice",
    "why", "first_time", "last_time", "who", "evidence", "details",
]  # fmt: skip


def terminal(report: Any, width: int = 100, full: bool = False) -> str:
    stream = io.BytesIO()
    write_report(report, Sink(stream, terminal=True, width=width), full)
    return stream.getvalue().decode()


def test_contract() -> None:
    report = as_json(reported(CAPTURES / "sasl-java-3.9.2.pcapng"))
    assert list(report)[:4] == ["capture", "summary", "ledger", "findings"]
    assert {"apis", "clients", "topics", "errors", "upgrade", "latency", "groups", "series", "links"} <= report.keys()
    assert report["findings"] and all(list(finding) == FINDING for finding in report["findings"])
    severities = [("critical", "warning", "note").index(finding["severity"]) for finding in report["findings"]]
    assert severities == sorted(severities)
    for finding in report["findings"]:
        assert finding["advice"] and finding["why"] and finding["count"] > 0
        assert [each["exchange"] for each in finding["evidence"]] == finding["exchanges"]
        assert finding["exchanges"] or finding["connections"]
    assert report["summary"]["exchanges"] == sum(row["exchanges"] for row in report["apis"])
    assert sum(row[1] for rows in report["series"]["apis"].values() for row in rows) == report["summary"]["exchanges"]


def test_evidence_leads_to_the_packets(tmp_path: Path) -> None:
    report = report_of(tmp_path, talk().ask(12, 3, *heartbeat()).ask(0, 7, *produce(error=19)))
    (evidence,) = report["findings"][0]["evidence"]
    assert (evidence["exchange"], evidence["request_packets"], evidence["response_packets"]) == (2, [6, 6], [7, 7])


@pytest.mark.parametrize("width", [60, 100, 200])
def test_terminal(width: int) -> None:
    shown = terminal(reported(CAPTURES / "throttle-3.9.2.pcapng"), width)
    lines = shown.splitlines()
    assert lines[0] == "▲ Look into it: 1 warning"
    assert "throttle.throttled" in shown and "Where time goes" in shown and "java-throttled" in shown
    text = [line for line in lines if line.startswith("       ")]
    assert text and all(len(line) <= width for line in text)


def test_hostile_names_reach_no_terminal_and_no_markup(tmp_path: Path) -> None:
    report = built(tmp_path, talk(client_id="evil|<b>").ask(0, 7, *produce(HOSTILE, error=19)))
    shown = terminal(report)
    assert "\x1b" not in shown and "\u202e" not in shown and "evil\\x1b[2J\\u202e" in shown
    told = markdown(report)
    assert "\x1b" not in told and "<b>" not in told.replace("\\<b\\>", "") and "\\|" in told
    page = render(report, Host(discover=False))
    assert "<b>" not in page.partition("<h2>Tables</h2>")[2].partition("<script")[0]
    assert "\x1b" not in page and "\u202e" not in page


def test_the_page_names_its_scripts_and_holds_no_secrets(tmp_path: Path) -> None:
    asked = talk().ask(17, 1, {"mechanism": "PLAIN"}, {"error_code": 0, "mechanisms": ["PLAIN"]})
    asked.ask(36, 1, {"auth_bytes": b"\0alice\0wonderland"}, {"error_code": 0, "error_message": None, "auth_bytes": b""})
    asked.ask(0, 7, *produce(error=19, size=40))
    page = render(built(tmp_path, asked), Host(discover=False))
    assert "wonderland" not in page and "x" * 40 not in page
    policy = page.partition('Content-Security-Policy" content="')[2].partition('"')[0]
    assert "default-src &#39;none&#39;" in policy or "default-src 'none'" in policy
    assert "unsafe-inline" not in policy.partition("script-src")[2].partition(";")[0] and "sha256-" in policy
    assert "http://" not in page.partition('<script type="text/plain"')[0].replace("http://www.w3.org", "")


def test_exit_codes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sick = str(capture(tmp_path, talk().ask(0, 7, *produce(error=29))))
    assert run(["report", sick]) == 0
    assert [run(["report", sick, "--fail-on", limit]) for limit in ("critical", "warning", "note")] == [0, 3, 3]
    assert run(["report", sick, "--target-version", "9.9"]) == 2
    assert run(["report", sick, "--threshold", "slow=1"]) == 2
    assert run(["report", sick, "--html", sick]) == 2
    assert run(["report", str(tmp_path / "missing.pcap")]) == 1
    capsys.readouterr()
    assert run(["report", sick, "--html", str(tmp_path / "page.html")]) == 0
    out, err = capsys.readouterr()
    assert out == "" and "wrote" in err and (tmp_path / "page.html").read_text().startswith("<!doctype html>")
    assert run(["report", sick, "-f", "json", "-q"]) == 0
    assert json.loads(capsys.readouterr().out)["summary"]["warning"] == 1


def test_no_kafka(tmp_path: Path) -> None:
    empty = tmp_path / "empty.pcap"
    empty.write_bytes(bytes.fromhex("d4c3b2a1020004000000000000000000ffff000001000000"))
    result = CliRunner().invoke(application, ["report", str(empty), "--html", str(tmp_path / "page.html"), "-f", "json"])
    assert result.exit_code == 0 and "no Kafka" in result.output


# Comparing


def deployed(path: Path, *, took_ms: float, error: int, client_id: str, version: int) -> dict[str, Any]:
    client = talk(client_id=client_id).ask(18, 3, *versions(k0=9))
    for _ in range(30):
        client.ask(0, version, *produce(error=error), took_ms=took_ms)
    path.mkdir()
    return report_of(path, client)


def test_compare(tmp_path: Path) -> None:
    before = deployed(tmp_path / "a", took_ms=1, error=0, client_id="app", version=7)
    after = deployed(tmp_path / "b", took_ms=30, error=19, client_id="app-2", version=6)
    changes = {how: {(c.what, c.name) for c in found} for how, found in compare(before, after).items()}
    assert ("finding", "error.responses: Produce answered with NOT_ENOUGH_REPLICAS") in changes["appeared"]
    assert ("client", "app-2") in changes["appeared"] and ("client", "app") in changes["vanished"]
    assert changes["slower"] == {("api", "Produce p50"), ("api", "Produce p99")}
    assert ("error", "Produce errors") in changes["more"] and ("api", "Produce versions") in changes["changed"]
    assert not any(found for found in compare(before, before).values())
    back = {how: len(found) for how, found in compare(after, before).items()}
    assert back["faster"] == 2 and back["vanished"] >= 2


def test_compare_reads_captures_and_reports(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    healthy, throttled = str(CAPTURES / "telemetry-3.9.2.pcapng"), str(CAPTURES / "throttle-3.9.2.pcapng")
    assert run(["report", healthy, "-f", "json"]) == 0
    kept = tmp_path / "kept.json"
    kept.write_text(capsys.readouterr().out)
    assert run(["compare", str(kept), healthy]) == 0
    assert "Nothing changed." in capsys.readouterr().out
    assert run(["compare", str(kept), throttled, "--fail-on", "warning"]) == 3
    assert "throttle.throttled" in capsys.readouterr().out
    assert run(["compare", str(kept), throttled, "-f", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["appeared"][0]["severity"] == "warning"
    (tmp_path / "bad.json").write_text('{"summary": 1, "findings": 2, "apis": 3, "clients": 4, "topics": 5, "errors": 6}')
    for bad in ('{"a": 1}', "{", None):
        if bad is not None:
            (tmp_path / "bad.json").write_text(bad)
        assert run(["compare", str(tmp_path / "bad.json"), str(kept)]) == 2


# What it rests on


def test_thresholds() -> None:
    changed = Thresholds().with_settings(["slow_ms=5", "lag-records = 7"])
    assert (changed.slow_ms, changed.lag_records) == (5, 7)
    assert all(why and default >= 0 for _, default, why in described())
    for bad in ("slow_ms", "slow_ms=", "slow_ms=fast", "slow_ms=-1", "slow_ms=nan", "slow=1"):
        with pytest.raises(ValueError):
            Thresholds().with_settings([bad])


def test_a_threshold_can_be_moved(tmp_path: Path) -> None:
    slow = talk()
    for _ in range(12):
        slow.ask(3, 5, *metadata(), took_ms=60)
    assert report_of(tmp_path, slow)["findings"] == []
    assert report_of(tmp_path, slow, thresholds=["slow_ms=50"])["findings"][0]["code"] == "latency.slow_broker"


def test_version_tables() -> None:
    for name, table in releases().items():
        for key, accepted in table.apis.items():
            known = api(key).versions
            assert known.start <= accepted.oldest <= accepted.newest < known.stop, (name, key)
    kafka_4 = release("4.0").apis
    assert kafka_4[0] == (3, 12, 0), "advertised from 0 on, accepted from 3 on (KAFKA-18659)"
    oldest = {key: accepted.oldest for key, accepted in kafka_4.items() if accepted.oldest}
    # KIP-896's own list; 76 to 79 and others are younger than it.
    dropped = {1: 4, 2: 1, 8: 2, 9: 1, 19: 2, 20: 1, 23: 2, 27: 1, 34: 1, 35: 1}
    dropped |= dict.fromkeys((29, 30, 31, 32, 38, 39, 40, 41), 1)
    assert {key: oldest[key] for key in dropped} == dropped
    assert not {3, 10, 11, 12, 13, 14, 17, 18, 22, 36} & oldest.keys()
    assert not {4, 5, 6, 7} & kafka_4.keys() and {4, 5, 6, 7} <= release("3.9").apis.keys()
    assert release("4.0.0").apis[11].oldest == 2, "the release that turned down JoinGroup v0 and v1 (KAFKA-19444)"
    assert release("v3.9.2") is release("3.9")
    with pytest.raises(ValueError, match="no Kafka release"):
        release("3.99")


def test_series_stay_small() -> None:
    series = Series()
    for at in range(5000):
        series.add([FakeExchange(request_time_ns=at * 10**9, latency_ms=float(at % 100 + 1))])  # type: ignore[list-item]
    told = series.to_json()
    assert told["steps"] <= MOST_BINS and told["step_ms"] * told["steps"] >= 4_999_000
    (rows,) = told["apis"].values()
    assert sum(row[1] for row in rows) == 5000
    assert all(45 <= row[5] <= 56 for row in rows if row[1] >= 100)


def test_lag_and_polls_of_unresolved_topics_do_no_harm(tmp_path: Path) -> None:
    assert report_of(tmp_path, talk().ask(1, 4, *fetch("\u00fc", watermark=3)))["findings"] == []
