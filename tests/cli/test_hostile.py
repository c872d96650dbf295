"""A hostile capture leaves no raw control byte on the terminal, in any view and format."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.cli.hostile import HOSTILE, write_hostile
from tests.cli.test_snapshots import on_terminal

SGR = re.compile(r"\x1b\[[0-9;]*m")
ACTIVE = {char for char in HOSTILE if not char.isprintable() and char != "\n"} | set("\x9b\u202e\u200b\x07\r")


@pytest.fixture(scope="module")
def capture(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("hostile") / "hostile.pcap"
    write_hostile(path)
    return path


@pytest.mark.parametrize(
    "arguments",
    [
        ["read"],
        ["read", "--format", "text"],
        ["read", "--format", "csv"],
        ["read", "--format", "ndjson"],
        ["read", "--format", "json"],
        ["stats"],
        ["stats", "--format", "json"],
        *(["show", str(index), *more] for index in (2, 3) for more in ([], ["--full"], ["--bytes"], ["--format", "json"])),
    ],
    ids=" ".join,
)
def test_nothing_acts_on_the_terminal(capture: Path, arguments: list[str]) -> None:
    command, *rest = arguments
    shown = SGR.sub("", on_terminal([command, str(capture), *rest], 120))
    assert "evil" in shown
    assert not set(shown) & ACTIVE


def test_json_says_the_same_as_in_a_pipe(capture: Path) -> None:
    row = json.loads(on_terminal(["read", str(capture), "--format", "ndjson"], 120).splitlines()[1])
    assert row["topics"] == [HOSTILE] and row["client_id"] == HOSTILE
    assert row["error_codes"] == ["NOT_LEADER_OR_FOLLOWER"]


def test_rows_stay_rows(capture: Path) -> None:
    lines = on_terminal(["read", str(capture)], 200).splitlines()
    assert len(lines) == 1 + 1 + 3
