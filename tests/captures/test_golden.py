"""What every committed capture holds, exchange by exchange in sum: a change here is a change in what users see.

``KDISSECT_GOLDEN=write pytest tests/captures`` writes the expectations anew; read their diff before committing it.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from kdissect.dissect import Dissection
from kdissect.exchange import Exchange
from tests.support.disturb import dissect

HERE = Path(__file__).parent
CAPTURES = sorted((HERE.parents[1] / "captures").glob("*.pcapng"))

QUIRKS = {
    # librdkafka closes a Metadata request for brokers alone with three bytes too many, whatever the broker.
    "librdkafka": {("frame.trailing_bytes", "Metadata")},
}
"""What clients really do wrong, by the capture's first word: (code, api)."""


def summary(exchanges: list[Exchange], dissection: Dissection) -> dict[str, Any]:
    """The capture in counts, stable under recording details."""
    apis = Counter(f"{e.api} v{e.api_version}" for e in exchanges)
    findings = Counter(f.code for e in exchanges for f in e.findings)
    return {
        "exchanges": len(exchanges),
        "apis": dict(sorted(apis.items())),
        "outcomes": dict(sorted(Counter(e.outcome for e in exchanges).items())),
        "errors": dict(sorted(Counter(code for e in exchanges for code in e.error_codes).items())),
        "clients": sorted({e.client_id for e in exchanges if e.client_id is not None}),
        "topics": sorted({topic for e in exchanges for topic in e.topics}),
        "groups": sorted({group for e in exchanges for group in e.groups}),
        "principals": sorted({e.principal for e in exchanges if e.principal is not None}),
        "findings": dict(sorted(findings.items())),
        "protocols": dict(sorted(Counter(c.protocol for c in dissection.connections).items())),
        "ledger": dissection.ledger.to_contract(),
    }


@pytest.mark.parametrize("path", CAPTURES, ids=lambda path: path.stem)
def test_capture_is_as_before(path: Path) -> None:
    found = summary(*dissect([path]))
    golden = HERE / "golden" / f"{path.stem}.json"
    if os.environ.get("KDISSECT_GOLDEN") == "write":
        golden.parent.mkdir(exist_ok=True)
        golden.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n")
    assert found == json.loads(golden.read_text())


@pytest.mark.parametrize("path", CAPTURES, ids=lambda path: path.stem)
def test_every_frame_is_decoded_to_its_last_byte_and_paired(path: Path) -> None:
    exchanges, dissection = dissect([path])
    quirks = QUIRKS.get(path.stem.split("-")[0], set())
    for exchange in exchanges:
        for finding in exchange.findings:
            if finding.code == "frame.truncated":
                # A broker was stopped, or a client left, in the middle of a long poll's answer.
                assert exchange.api == "Fetch", finding
            elif finding.code.startswith(("frame.", "api.", "response.", "stream.")):
                assert (finding.code, exchange.api) in quirks, (exchange.index, finding)
        if exchange.outcome == "unanswered":
            assert exchange.unanswered_reason in ("closed", "capture_end")
    assert dissection.ledger.balanced
    assert dissection.ledger.skipped == 0 and dissection.ledger.missing == 0


@pytest.mark.parametrize("path", [path for path in CAPTURES if path.stem.startswith("mock-")], ids=lambda path: path.stem)
def test_the_mock_cluster_captures_are_clean(path: Path) -> None:
    exchanges, _ = dissect([path])
    assert exchanges and all(e.outcome in ("answered", "no_reply_expected") for e in exchanges)
    assert not [f for e in exchanges for f in e.findings]


def test_every_golden_file_has_its_capture() -> None:
    assert {path.stem for path in (HERE / "golden").glob("*.json")} == {path.stem for path in CAPTURES}
