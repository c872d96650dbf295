"""``-w``: the packets behind exchanges, and nothing that is secret once they are scrubbed."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from kdissect.cli.app import run
from kdissect.report.packets.ranges import Ranges
from kdissect.report.packets.secrets import secret_stretches
from kdissect.report.packets.trace import SEQUENCE, Clearance
from kdissect.schema.encode import encode_request, encode_response
from tests.support.conversation import Conversation, heartbeat
from tests.support.packets import pcap

ROOT = Path(__file__).parents[2]
PASSWORD = b"hunter2hunter2"


def login(number: int) -> tuple[bytes, bytes]:
    asked = {"auth_bytes": b"\0alice\0" + PASSWORD}
    answer = {"error_code": 0, "error_message": None, "auth_bytes": b"", "session_lifetime_ms": 0}
    return encode_request(36, 2, number, "tester", asked), encode_response(36, 2, number, answer)


def settings(number: int) -> tuple[bytes, bytes]:
    configs = [{"name": "retention.ms", "value": "77777"}, {"name": "ssl.keystore.password", "value": PASSWORD.decode()}]
    asked = {"resources": [{"resource_type": 2, "resource_name": "orders", "configs": configs}], "validate_only": False}
    return encode_request(33, 2, number, "tester", asked), encode_response(
        33, 2, number, {"throttle_time_ms": 0, "responses": []}
    )


@pytest.fixture
def capture(tmp_path: Path) -> Path:
    talk = Conversation(isn=(2**32 - 60, 900_000)).open()
    for request, response in (heartbeat(1), login(2), settings(3), heartbeat(4)):
        talk.say(0, request, 25).say(1, response)
    path = tmp_path / "in.pcap"
    path.write_bytes(pcap(talk.packets))
    return path


def read(path: Path, capfd: pytest.CaptureFixture[str], *more: str) -> list[dict[str, object]]:
    capfd.readouterr()
    assert run(["read", str(path), "-q", "-f", "ndjson", "--show-secrets", *more]) == 0
    return [json.loads(line) for line in capfd.readouterr().out.splitlines()]


def test_the_same_exchanges_come_out_again(capture: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out.pcapng"
    whole = read(capture, capfd)
    assert run(["read", str(capture), "-w", str(out), "--scrub"]) == 0
    said = capfd.readouterr().err
    assert "behind 4 exchanges written to" in said and "secrets blanked" in said
    scrubbed = read(out, capfd)
    kept = ("api", "request_time", "response_time", "request_bytes", "outcome", "client", "latency_ms")
    assert [[row[key] for key in kept] for row in scrubbed] == [[row[key] for key in kept] for row in whole]
    assert scrubbed[0]["request"] == whole[0]["request"] and scrubbed[3]["response"] == whole[3]["response"]
    assert PASSWORD not in out.read_bytes() and b"hunter" not in out.read_bytes()
    assert scrubbed[2]["request"] != whole[2]["request"]
    resource = scrubbed[2]["request"]["resources"][0]  # type: ignore[index]
    assert [each["name"] for each in resource["configs"]] == ["retention.ms", "ssl.keystore.password"]
    assert [each["value"] for each in resource["configs"]] == ["77777", "*" * len(PASSWORD)]


def test_secrets_are_warned_of(capture: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out.pcapng"
    assert run(["read", str(capture), "-w", str(out)]) == 0
    assert "holds the secrets of 2 exchanges" in capfd.readouterr().err
    assert {PASSWORD.decode()} <= set(re.findall("hunter2hunter2", str(read(out, capfd))))
    assert run(["read", str(capture), "-w", str(out), "-Y", "api == Heartbeat"]) == 0
    assert "the secrets of" not in capfd.readouterr().err


def test_what_is_in_no_message_is_blanked(tmp_path: Path) -> None:
    """Raw SASL tokens and bytes between messages that nobody can read may be anything."""
    talk = Conversation().open()
    for request, response in (heartbeat(1), heartbeat(2)):
        talk.say(0, request).say(1, response)
    request, response = heartbeat(3)
    talk.say(0, request + b"\x7f\xff\xff\xff" + PASSWORD * 3).say(1, response)
    capture, out = tmp_path / "in.pcap", tmp_path / "out.pcapng"
    capture.write_bytes(pcap(talk.packets))
    assert run(["read", str(capture), "-w", str(out), "--scrub", "-q"]) == 0
    assert b"group-1" in out.read_bytes() and PASSWORD not in out.read_bytes()


@pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark is not installed")
def test_wireshark_opens_it_with_our_comments(tmp_path: Path) -> None:
    talk = Conversation().open()
    request, response = heartbeat(1)
    talk.say(0, request).say(1, response)
    asked = {"group_id": "g", "generation_id": 5, "member_id": "m", "group_instance_id": None}
    talk.say(0, encode_request(12, 3, 2, "tester", asked)).say(
        1, encode_response(12, 3, 2, {"throttle_time_ms": 0, "error_code": 27})
    )
    talk.say(0, encode_request(12, 3, 3, "tester", asked))
    capture, out = tmp_path / "in.pcap", tmp_path / "out.pcapng"
    capture.write_bytes(pcap(talk.close().packets))
    assert run(["read", str(capture), "-w", str(out), "-Y", "error or finding", "-q"]) == 0
    fields = ["-T", "fields", "-e", "frame.time_epoch", "-e", "kafka.api_key", "-e", "frame.comment"]
    done = subprocess.run(
        ["tshark", "-r", str(out), "-d", "tcp.port==9092,kafka", *fields], capture_output=True, text=True, check=True
    )
    lines = [line.split("\t") for line in done.stdout.splitlines()]
    assert [line[2] for line in lines] == [
        "",
        "kdissect #2 Heartbeat v3: REBALANCE_IN_PROGRESS",
        "kdissect #3 Heartbeat v3: request.unanswered: the connection was closed without an answer",
    ]
    assert float(lines[0][0]) == pytest.approx(talk.packets[5].time_ns / 1e9)


def test_ranges_merge_and_clip() -> None:
    ranges = Ranges()
    for first, last in ((10, 20), (21, 25), (40, 50), (45, 60), (5, 5)):
        ranges.add(first, last)
    assert ranges.holds(np.array([4, 5, 6, 10, 25, 26, 55, 60, 61])).tolist() == [0, 1, 0, 1, 1, 0, 1, 1, 0]
    assert ranges.touches(26, 39) is False and ranges.touches(0, 5) and ranges.touches(30, 41)
    assert ranges.clip(20, 45) == [(20, 25), (40, 45)] and ranges.clip(26, 39) == []


@pytest.mark.parametrize("seq", [1000, SEQUENCE - 5])
def test_clearance_around_the_wrap_of_sequence_numbers(seq: int) -> None:
    clearance = Clearance()
    clearance.add(1, 0, seq + 2, seq + 4)
    clearance.add(1, 0, seq + 6, seq + 9)
    payload = bytearray(b"0123456789")
    clearance.blank(1, 0, seq, memoryview(payload), ord("*"))
    assert payload == b"**23**678*"
    clearance.blank(2, 0, seq, memoryview(payload), ord("*"))
    assert payload == b"*" * 10


def test_stretches_leave_lengths_alone() -> None:
    request, _ = login(2)
    ((start, size),) = secret_stretches(request[4:], "request", 36, 2)
    assert request[4 + start : 4 + start + size] == b"\0alice\0" + PASSWORD
    assert secret_stretches(request[4:-3], "request", 36, 2) == [(0, len(request) - 7)]
    assert secret_stretches(b"whatever", "request", 9999, 0) == [(0, 8)]
    assert secret_stretches(heartbeat(1)[0][4:], "request", 12, 3) == []
