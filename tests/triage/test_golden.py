"""The reports on all committed captures of real brokers: a change here is a change in what users are told.

``KDISSECT_GOLDEN=write pytest tests/triage`` writes the expectations anew; read their diff before committing it.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.triage.traffic import as_json, codes, reported

HERE = Path(__file__).parent
CAPTURES = sorted((HERE.parents[1] / "captures").glob("*.pcapng"))

TROUBLE = {
    "aiokafka-2.0.1": "zstd is written to a broker that does not know it",
    "cluster-3.3.2": "brokers are stopped with requests open",
    "cluster-3.9.2": "brokers are stopped one after the other",
    "cluster-4.4.0": "brokers are stopped one after the other",
    "failover-4.4.0": "a leader is killed under load",
    "mock-librdkafka": "the mock cluster has no ApiVersions that its clients trust, and refuses compression",
    "produce-3.3.2": "a record that is too large is written",
    "produce-3.9.2": "a record that is too large is written",
    "produce-4.4.0": "a record that is too large is written",
    "quorum-4.4.0": "a controller leaves the quorum",
    "sarama-0.10.1.1": "the client speaks old versions without asking",
    "sarama-0.8.2.2": "the client speaks old versions without asking",
    "sasl-clients-4.4.0": "wrong passwords",
    "sasl-java-3.9.2": "wrong passwords",
    "throttle-3.9.2": "a quota holds a producer back",
    "too-old-4.4.0": "clients of another age are turned away",
    "zookeeper-0.10.1.1": "a broker is stopped, and old clients do not negotiate",
    "zookeeper-0.8.2.2": "a broker is stopped, and old clients do not negotiate",
    "zookeeper-2.0.1": "a broker is stopped",
    "zookeeper-2.6.3": "a broker is stopped",
}
"""Captures in which something goes wrong on purpose, and what; all others are healthy."""


def summary(report: dict[str, Any]) -> dict[str, Any]:
    """What a report says, without what depends on the speed of the recording machine."""
    return {
        "verdict": report["summary"]["verdict"],
        "findings": [
            {
                **{key: finding[key] for key in ("code", "severity", "title", "count")},
                "who": sorted({who["client_id"] or who["client"] for who in finding["who"]}),
            }
            for finding in report["findings"]
        ],
        "ready": {str(row["client_id"]): row["verdict"] for row in report["upgrade"]["clients"]},
        "libraries": sorted(
            {f"{r['software_name']} {r['software_version']}" for r in report["upgrade"]["clients"] if r["software_name"]}
        ),
        "rebalances": {row["group"]: row["rebalances"] for row in report["groups"]},
        "logins": {f"{row['mechanism']} {row['result']}": row["logins"] for row in report["auth"]},
    }


@pytest.mark.parametrize("path", CAPTURES, ids=lambda path: path.stem)
def test_report_is_as_before(path: Path) -> None:
    report = as_json(reported(path))
    found = summary(report)
    golden = HERE / "golden" / f"{path.stem}.json"
    if os.environ.get("KDISSECT_GOLDEN") == "write":
        golden.parent.mkdir(exist_ok=True)
        golden.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    assert found == json.loads(golden.read_text(encoding="utf-8"))


@pytest.mark.parametrize("path", CAPTURES, ids=lambda path: path.stem)
def test_only_trouble_gives_warnings(path: Path) -> None:
    severities = codes(as_json(reported(path)))
    assert ({"critical", "warning"} & set(severities.values()) != set()) == (path.stem in TROUBLE), severities
