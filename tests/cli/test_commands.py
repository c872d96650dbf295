"""The commands on real captures, as a user runs them."""

from __future__ import annotations

import csv
import io
import json
import os
import signal
import struct
import subprocess
import sys
import time
from pathlib import Path

import pytest

CAPTURES = Path(__file__).parents[2] / "captures"
CAPTURE = "captures/mock-aiokafka.pcapng"
ROOT = CAPTURES.parent

PCAP_HEAD = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1)


def kdissect(*arguments: str, **settings: object) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"COLUMNS": "120", "LINES": "40", "TZ": "Asia/Kolkata"}
    for name in ("NO_COLOR", "FORCE_COLOR"):
        environment.pop(name, None)
    options: dict[str, object] = {"capture_output": True, "text": True, "env": environment, "cwd": ROOT, "timeout": 120}
    command = [sys.executable, "-m", "kdissect", *arguments]
    return subprocess.run(command, check=False, **(options | settings))  # type: ignore[call-overload, no-any-return]


def rows(*arguments: str) -> list[dict[str, object]]:
    done = kdissect("read", CAPTURE, "--format", "ndjson", *arguments)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_piped_output_is_plain_and_whole() -> None:
    done = kdissect("read", CAPTURE)
    head, *lines = done.stdout.splitlines()
    everything = rows("--no-bodies")
    assert done.returncode == 0 and "\x1b" not in done.stdout + done.stderr
    assert head.split()[:4] == ["#", "time", "client", "broker"]
    assert [line.split()[0] for line in lines] == [str(row["index"]) for row in everything]
    assert all("+05:30" in line for line in lines)
    summary, ledger = done.stderr.splitlines()
    assert summary.startswith(f"kdissect: {len(everything)} exchanges on ") and "captured" in ledger


def test_times_in_utc() -> None:
    line = kdissect("read", CAPTURE, "--utc", "--limit", "1").stdout.splitlines()[1]
    assert line.split()[1] == rows("--limit", "1")[0]["request_time"]


def test_formats_tell_the_same() -> None:
    objects = rows()
    assert objects and all("request" in row for row in objects)
    assert json.loads(kdissect("read", CAPTURE, "-f", "json").stdout) == objects
    flat = list(csv.DictReader(io.StringIO(kdissect("read", CAPTURE, "-f", "csv").stdout)))
    assert [row["connection_id"] for row in flat] == [row["connection_id"] for row in objects]
    assert set(objects[0]) - {"request", "response"} <= set(flat[0])


def test_ndjson_is_the_same_whatever_the_way_in(tmp_path: Path) -> None:
    data = (ROOT / CAPTURE).read_bytes()
    piped = kdissect("read", "-", "--format", "ndjson", input=data, text=False)
    named = kdissect("read", CAPTURE, "--format", "ndjson", text=False)
    assert piped.stdout.replace(b'"file":"-"', b'"file":"%s"' % CAPTURE.encode()) == named.stdout  # type: ignore[comparison-overlap]


def test_window_keeps_the_numbers() -> None:
    everything = rows("--no-bodies")
    start = min(str(row["request_time"]) for row in everything)
    middle = sorted(str(row["request_time"]) for row in everything)[len(everything) // 2]
    late = rows("--no-bodies", "--since", middle)
    early = rows("--no-bodies", "--until", middle)
    assert late == [row for row in everything if str(row["request_time"]) >= middle]
    assert early == [row for row in everything if str(row["request_time"]) < middle]
    assert 0 < len(rows("--no-bodies", "--since", "+1s")) < len(everything) and start
    assert rows("--no-bodies", "--since", "+0s") == everything


def test_limit_and_sort() -> None:
    assert [row["index"] for row in rows("--limit", "3")] == [1, 2, 3]
    assert rows("--limit", "0") == []
    times = [str(row["request_time"]) for row in rows("--sort", "request_time", "--no-bodies")]
    assert times == sorted(times)


def test_show_json_is_the_row_of_read() -> None:
    everything = rows()
    for index in (1, len(everything)):
        done = kdissect("show", CAPTURE, str(index), "--format", "json")
        assert json.loads(done.stdout) == everything[index - 1]


def test_show_every_exchange_of_a_capture_in_both_ways() -> None:
    """No field of any message is lost on the way to the tree."""
    everything = rows()
    apis = {row["api"]: row for row in everything}
    for row in apis.values():
        done = kdissect("show", CAPTURE, str(row["index"]), "--full", "--utc")
        assert done.returncode == 0 and not done.stderr
        assert f"{row['api']} v{row['api_version']}" in done.stdout.splitlines()[0]
        for side in ("request", "response"):
            body = row[side]
            assert isinstance(body, dict)
            for name in body:
                assert f" {name}" in done.stdout, (row["api"], name)
        with_bytes = kdissect("show", CAPTURE, str(row["index"]), "--bytes")
        assert with_bytes.returncode == 0 and "offset  len" in with_bytes.stdout


def test_stats() -> None:
    everything = rows("--no-bodies")
    stats = json.loads(kdissect("stats", CAPTURE, "--format", "json").stdout)
    assert sum(stats["exchanges"].values()) == len(everything)
    assert sum(row["exchanges"] for row in stats["apis"]) == len(everything)
    assert sum(row["exchanges"] for row in stats["connections"]) == len(everything)
    ledger = stats["ledger"]
    assert ledger["captured"] == sum(ledger[part] for part in ("decoded", "partial", "opaque", "skipped", "duplicate"))
    assert stats["capture"]["packets"] >= stats["capture"]["tcp_packets"] > 0
    shown = kdissect("stats", CAPTURE)
    assert shown.returncode == 0 and "APIs" in shown.stdout and "\x1b" not in shown.stdout


def test_colour_on_demand_and_not_on_a_pipe() -> None:
    assert "\x1b[" in kdissect("read", CAPTURE, "--color", "always").stdout
    assert "\x1b[" in kdissect("show", CAPTURE, "1", "--color", "always").stdout
    assert "\x1b[" in kdissect("stats", CAPTURE, "--color", "always").stdout
    assert "\x1b[" not in kdissect("read", CAPTURE, "--color", "never", "-f", "table").stdout


@pytest.fixture
def bad(tmp_path: Path) -> dict[str, Path]:
    files = {name: tmp_path / name for name in ("empty", "junk", "missing", "folder", "nothing.pcap", "web.pcap")}
    files["empty"].touch()
    files["junk"].write_bytes(b"this is no capture at all" * 10)
    files["folder"].mkdir()
    files["nothing.pcap"].write_bytes(PCAP_HEAD)
    payload = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"
    tcp = struct.pack(">HHIIBBHHH", 40000, 9092, 1, 1, 0x50, 0x18, 1000, 0, 0) + payload
    ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 20 + len(tcp), 0, 0, 64, 6, 0, bytes([10, 0, 0, 1]), bytes([10, 0, 0, 2]))
    frame = bytes(12) + b"\x08\x00" + ip + tcp
    files["web.pcap"].write_bytes(PCAP_HEAD + struct.pack("<IIII", 1_700_000_000, 0, len(frame), len(frame)) + frame)
    return files


@pytest.mark.parametrize("command", ["read", "stats"])
@pytest.mark.parametrize(
    ("name", "says"), [("empty", "empty"), ("junk", "not a capture"), ("missing", "no such file"), ("folder", "is a directory")]
)
def test_what_is_no_capture_is_one_line_and_exit_code_1(bad: dict[str, Path], command: str, name: str, says: str) -> None:
    done = kdissect(command, str(bad[name]))
    assert done.returncode == 1
    assert done.stderr.startswith(f"kdissect: error: {bad[name]}: ") and says in done.stderr
    assert done.stderr.count("\n") == 1
    show = kdissect("show", str(bad[name]), "1")
    assert (show.returncode, show.stdout, show.stderr) == (1, "", done.stderr)


def test_the_others_are_still_read(bad: dict[str, Path]) -> None:
    done = kdissect("read", str(bad["missing"]), CAPTURE, "--format", "ndjson", "--no-bodies")
    assert done.returncode == 1
    assert len(done.stdout.splitlines()) == len(rows("--no-bodies"))
    assert f"{bad['missing']}: no such file" in done.stderr


@pytest.mark.parametrize("command", ["read", "stats"])
@pytest.mark.parametrize(("name", "says"), [("nothing.pcap", "0 packets"), ("web.pcap", "1 packet, 1 TCP connection")])
def test_no_kafka_is_a_line_and_exit_code_0(bad: dict[str, Path], command: str, name: str, says: str) -> None:
    done = kdissect(command, str(bad[name]))
    assert done.returncode == 0
    assert "no Kafka in this capture" in done.stderr and says in done.stderr and done.stderr.count("\n") == 1


def test_an_index_out_of_range_is_wrong_usage() -> None:
    last = len(rows("--no-bodies"))
    done = kdissect("show", CAPTURE, str(last + 1))
    assert done.returncode == 2 and done.stdout == ""
    assert f"no exchange {last + 1}: the last exchange is number {last}" in done.stderr and done.stderr.count("\n") == 1


def test_quiet() -> None:
    done = kdissect("read", CAPTURE, "-q")
    assert done.returncode == 0 and done.stdout and done.stderr == ""


def test_a_closed_pipe_is_no_error() -> None:
    command = f"{sys.executable} -m kdissect read captures/mock-*.pcapng -f json | head -c 100; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], check=False, capture_output=True, cwd=ROOT, timeout=60)
    assert (done.returncode, len(done.stdout), done.stderr) == (0, 100, b"")


def test_control_c_is_quiet_and_live_rows_have_been_shown() -> None:
    """Input that never ends: rows come while it is open, and Ctrl-C ends it without a traceback."""
    command = [sys.executable, "-m", "kdissect", "read", "-", "--format", "ndjson", "--no-bodies"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=ROOT) as process:
        assert process.stdin and process.stdout and process.stderr
        process.stdin.write((ROOT / CAPTURE).read_bytes())
        process.stdin.flush()
        first = process.stdout.readline()
        assert json.loads(first)["index"] == 1
        time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=30) == 130
        assert process.stderr.read().strip() == b""
