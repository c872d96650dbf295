"""The benchmark's small variant: that its captures are what they claim and its numbers come out; nothing about time."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from kdissect.dissect import Dissection, Options
from tests.bench.conversations import KINDS
from tests.bench.measure import compare, measure
from tests.bench.traffic import Plan, generate


@pytest.mark.parametrize("kind", list(KINDS))
def test_captures_hold_nothing_but_sound_exchanges(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "capture.pcap"
    count = generate(Plan(kind, 2_000_000, connections=6), path)
    dissection = Dissection([str(path)], Options(), pytest.fail)
    exchanges = list(dissection)
    answered = [exchange for exchange in exchanges if exchange.outcome == "answered"]
    assert dissection.capture.packets == count
    assert len(answered) >= 10
    # The end of the capture may cut the last message of each connection, and nothing else.
    told = [(exchange.connection, finding.code) for exchange in answered for finding in exchange.findings]
    assert {code for _, code in told} <= {"frame.truncated"} and len(told) == len(set(told))
    assert {connection.protocol for connection in dissection.connections} == {"kafka"}
    assert dissection.ledger.balanced and dissection.ledger.missing == 0


def test_the_same_plan_gives_the_same_bytes(tmp_path: Path) -> None:
    for name in "ab":
        generate(Plan("compressed", 300_000, rounds=2), tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_measuring_and_comparing(tmp_path: Path) -> None:
    path = tmp_path / "capture.pcap"
    generate(Plan("chatty-old", 200_000), path)
    results = measure({"chatty-old": path}, ["stats"], 1, quiet=True)
    ours = [row for row in results["results"] if row["work"] == "stats"]
    assert ours and ours[0]["failed"] == 0 and ours[0]["rss"] > 1_000_000
    assert json.loads(json.dumps(results)) == results
    assert compare(results, results) == [text for text in compare(results, results) if "1.00 times" in text] != []


def test_the_command_line_generates_and_profiles(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.bench", "--directory", str(tmp_path), "profile", "chatty", "--size", "200k"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "segments" in done.stdout and "describe" in done.stdout
