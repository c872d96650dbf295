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
CAPTURE = "captures/mock-aiokafka.pcapng"
VIEWS = {
    "read": ["read", CAPTURE],
    "read-columns": ["read", CAPTURE, "--columns", "time,client_id,api,request.acks,request_bytes,outcome", "--limit", "14"],
    "read-group-by-client": ["read", CAPTURE, "--group-by", "client"],
    "read-tree": ["read", CAPTURE, "--format", "tree", "-Y", "api == JoinGroup"],
    "stats": ["stats", CAPTURE],
    "show": ["show", CAPTURE, "58"],
    "show-bytes": ["show", CAPTURE, "6", "--bytes"],
    "show-context": ["show", CAPTURE, "53", "--context", "2"],
    "follow": ["follow", CAPTURE, "23"],
    "records": ["records", CAPTURE],
    "topics": ["topics", CAPTURE],
    "groups": ["groups", CAPTURE],
    "clients": ["clients", CAPTURE],
    "timeline": ["timeline", CAPTURE],
    "timeline-rows": ["timeline", CAPTURE, "--rows", "--interval", "500ms"],
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
