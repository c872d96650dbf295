"""What a terminal shows, character by character, at three widths.

With ``KDISSECT_SNAPSHOTS=write`` in the environment the golden files are written anew; read the difference before committing it.
"""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest

from kdissect.report.layout import cells

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
SGR = re.compile(r"\x1b\[[0-9;]*m")
VIEWS = {
    "read": ["read", "captures/mock-aiokafka.pcapng"],
    "stats": ["stats", "captures/mock-aiokafka.pcapng"],
    "show": ["show", "captures/mock-aiokafka.pcapng", "58"],
    "show-bytes": ["show", "captures/mock-aiokafka.pcapng", "6", "--bytes"],
}


def on_terminal(arguments: list[str], width: int) -> str:
    """Standard output of a run whose standard output is a terminal."""
    ours, theirs = pty.openpty()
    environment = {key: value for key, value in os.environ.items() if key not in ("NO_COLOR", "FORCE_COLOR")}
    environment |= {"COLUMNS": str(width), "LINES": "40", "TERM": "xterm-256color", "KDISSECT_PAGER": "cat"}
    command = [sys.executable, "-m", "kdissect", *arguments, "--utc"]
    with subprocess.Popen(command, stdout=theirs, stderr=subprocess.DEVNULL, cwd=ROOT, env=environment) as process:
        os.close(theirs)
        parts = []
        try:
            while part := os.read(ours, 65536):
                parts.append(part)
        except OSError:  # Linux says EIO when the other side is closed.
            pass
        assert process.wait(timeout=60) == 0
    os.close(ours)
    return b"".join(parts).decode().replace("\r\n", "\n")


@pytest.mark.parametrize("width", [80, 120, 200])
@pytest.mark.parametrize("view", VIEWS)
def test_terminal(view: str, width: int) -> None:
    coloured = on_terminal(VIEWS[view], width)
    text = SGR.sub("", coloured)
    assert coloured != text, "a terminal gets colours"
    assert "\x1b" not in text, "and nothing else"
    assert all(cells(line) <= width for line in text.splitlines())
    golden = HERE / "snapshots" / f"{view}-{width}.txt"
    if os.environ.get("KDISSECT_SNAPSHOTS") == "write":
        golden.parent.mkdir(exist_ok=True)
        golden.write_text(text, encoding="utf-8")
    assert text == golden.read_text(encoding="utf-8")
