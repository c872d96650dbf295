"""A hostile capture leaves no raw control byte on the terminal, in any view and format."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Protocol

import pytest

from kdissect.cli.app import run
from kdissect.plugins.host import Host
from tests.cli.hostile import HOSTILE, write_hostile
from tests.cli.test_snapshots import on_terminal

SGR = re.compile(r"\x1b\[[0-9;]*m")
ACTIVE = {char for char in HOSTILE if not char.isprintable() and char != "\n"} | set("\x9b\u202e\u200b\x07\r")
FORMATS = [name for name, each in Host(discover=False).formats.items() if not each.to_file]
VIEWS = [
    ["read"],
    ["read", "--watch-errors"],
    ["read", "--columns", "topics,client_id,request.topic_data.name,findings"],
    *(["read", "--group-by", by] for by in ("api", "client", "topic", "broker", "group", "error")),
    ["records"],
    ["topics"],
    ["groups"],
    ["clients"],
    ["follow", "1"],
]
SILENT = {"api", "broker", "error"}
"""What has nothing of the wire's texts in it."""


@pytest.fixture(scope="module")
def capture(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("hostile") / "hostile.pcap"
    write_hostile(path)
    return path


@pytest.fixture(scope="module")
def huge(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("hostile") / "huge.pcap"
    write_hostile(path, with_huge=True)
    return path


class Shown(Protocol):
    """What a terminal shows, without colours, once it is sure that nothing in it acts upon the terminal."""

    def __call__(self, capture: Path, arguments: list[str]) -> str: ...


@pytest.fixture
def harmless(capfdbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch) -> Shown:
    """Runs here what --color always treats like a terminal; other tests ask a real one."""
    monkeypatch.setenv("COLUMNS", "120")

    def shown(capture: Path, arguments: list[str]) -> str:
        command, *rest = arguments
        assert run([command, str(capture), *rest, "--utc", "--color", "always"]) == 0
        text = SGR.sub("", capfdbinary.readouterr().out.decode())
        assert all(char.isprintable() or char == "\n" for char in text)
        assert not set(text) & ACTIVE
        return text

    return shown


def test_a_real_terminal_is_treated_the_same(capture: Path, harmless: Shown) -> None:
    for arguments in (["read"], ["groups"], ["records", "--format", "ndjson"]):
        command, *rest = arguments
        assert SGR.sub("", on_terminal([command, str(capture), *rest], 120)) == harmless(capture, arguments)


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("view", VIEWS, ids=" ".join)
def test_nothing_acts_on_the_terminal(capture: Path, view: list[str], format: str, harmless: Shown) -> None:
    shown = harmless(capture, [*view, "--format", format, *(["--no-bodies"] if view == ["read"] else [])])
    assert "evil" in shown or view[-1] in SILENT


@pytest.mark.parametrize(
    "arguments",
    [
        ["read", "--format", "ndjson"],
        ["read", "--format", "json"],
        ["stats"],
        ["stats", "--format", "json"],
        *(["show", str(index), *more] for index in (2, 3, 5) for more in ([], ["--bytes"], ["--format", "json"])),
        ["show", "2", "--full"],
        ["show", "3", "--context", "2"],
    ],
    ids=" ".join,
)
def test_nor_does_what_is_inside(capture: Path, arguments: list[str], harmless: Shown) -> None:
    assert "evil" in harmless(capture, arguments)


@pytest.mark.parametrize("view", [["read"], ["records"], ["topics"], ["follow", "1"], ["read", "--format", "tree"]], ids=" ".join)
def test_ten_megabytes_do_not_flood_the_terminal(huge: Path, view: list[str], harmless: Shown) -> None:
    lines = harmless(huge, view).splitlines()
    assert len(lines) < 400 and all(len(line) <= 120 for line in lines)


def test_long_values_are_cut_with_their_size(huge: Path, harmless: Shown) -> None:
    assert len(harmless(huge, ["records"]).splitlines()) == 1 + 2
    shown = harmless(huge, ["show", "7"])
    assert "10.0 MB" in shown and len(shown) < 20_000


@pytest.mark.parametrize("format", ["ndjson", "csv", "markdown", "text"])
def test_formats_keep_ten_megabytes_harmless(huge: Path, format: str, harmless: Shown) -> None:
    assert "evil" in harmless(huge, ["records", "--format", format])


def test_json_says_the_same_as_in_a_pipe(capture: Path) -> None:
    row = json.loads(on_terminal(["read", str(capture), "--format", "ndjson"], 120).splitlines()[1])
    assert row["topics"] == [HOSTILE] and row["client_id"] == HOSTILE
    assert row["error_codes"] == ["NOT_LEADER_OR_FOLLOWER"]


def test_rows_stay_rows(capture: Path) -> None:
    lines = on_terminal(["read", str(capture)], 200).splitlines()
    assert len(lines) == 1 + 1 + 6


@pytest.mark.parametrize("suffix", ["csv", "md", "txt", "ndjson", "json", "parquet"])
@pytest.mark.parametrize("arguments", [["records"], ["read"]], ids=" ".join)
def test_redacted_values_are_nowhere(tmp_path: Path, arguments: list[str], suffix: str) -> None:
    """Names stay, for they are what the others are to look at; what records say does not leave."""
    secret = tmp_path / "secret.pcap"
    write_marked(secret)
    out = tmp_path / f"out.{suffix}"
    command = [sys.executable, "-m", "kdissect", *arguments, str(secret), "--redact-values", "-q", "-o", str(out)]
    subprocess.run(command, check=True)
    data = out.read_bytes()
    if suffix == "parquet":
        pq = pytest.importorskip("pyarrow.parquet")
        data = json.dumps(pq.read_table(out).to_pylist(), default=str).encode()
    assert b"TOPIC" in data
    assert not {mark for mark in (b"KEY", b"VALUE", b"HEADER") if mark in data}


@pytest.mark.parametrize("more", [[], ["--full"], ["--format", "json"]], ids=" ".join)
def test_nor_in_show(tmp_path: Path, more: list[str]) -> None:
    secret = tmp_path / "secret.pcap"
    write_marked(secret)
    shown = on_terminal(["show", str(secret), "2", "--redact-values", *more], 120)
    assert "TOPIC" in shown
    assert not {mark for mark in ("KEY", "VALUE", "HEADER") if mark in shown}
    assert "VALUE" in on_terminal(["show", str(secret), "2", *more], 120)


def write_marked(path: Path) -> None:
    """A capture with one record whose parts can be told apart."""
    from kdissect.schema.encode import encode_request, encode_response
    from kdissect.wire.records_writer import write_batch
    from tests.support.conversation import Conversation, heartbeat
    from tests.support.packets import pcap

    record = {"key": b"KEY", "value": b"VALUE", "headers": [{"key": "name", "value": b"HEADER"}]}
    topic = {"name": "TOPIC", "partition_data": [{"index": 0, "records": write_batch([record])}]}
    asked = {"transactional_id": None, "acks": -1, "timeout_ms": 1000, "topic_data": [topic]}
    partition = {"index": 0, "error_code": 0, "base_offset": 5, "log_append_time_ms": -1}
    answer = {"responses": [{"name": "TOPIC", "partition_responses": [partition]}], "throttle_time_ms": 0}
    talk = Conversation().open()
    exchanges = [heartbeat(1), (encode_request(0, 3, 2, "client", asked), encode_response(0, 3, 2, answer))]
    for request, response in exchanges:
        talk.say(0, request).say(1, response)
    path.write_bytes(pcap(talk.packets))
