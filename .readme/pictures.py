"""Makes the pictures of the README: what a terminal shows, as SVG.

python .readme/pictures.py
"""

from __future__ import annotations

import io
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

from rich.console import Console
from rich.text import Text

HERE = Path(__file__).parent
CAPTURE = "captures/mock-aiokafka.pcapng"
PICTURES = {
    # File name: arguments, width, first and last line shown.
    "read": (["read", CAPTURE], 116, slice(0, 26)),
    "show": (["show", CAPTURE, "58"], 100, slice(0, 60)),
    "stats": (["stats", CAPTURE], 116, slice(0, 38)),
}


def on_terminal(arguments: list[str], width: int) -> str:
    """What ``kdissect`` writes to a terminal of this width, in UTC."""
    ours, theirs = pty.openpty()
    environment = os.environ | {"COLUMNS": str(width), "LINES": "40", "TERM": "xterm-256color"}
    environment.pop("NO_COLOR", None)
    command = [sys.executable, "-m", "kdissect", *arguments, "--utc", "--quiet"]
    with subprocess.Popen(command, stdout=theirs, cwd=HERE.parent, env=environment):
        os.close(theirs)
        parts = []
        try:
            while part := os.read(ours, 65536):
                parts.append(part)
        except OSError:  # Linux says EIO when the other side is closed.
            pass
    os.close(ours)
    return b"".join(parts).decode().replace("\r\n", "\n")


def main() -> None:
    """Writes every picture beside this file."""
    for name, (arguments, width, lines) in PICTURES.items():
        console = Console(record=True, width=width, file=io.StringIO(), force_terminal=True)
        console.print(Text.from_ansi("\n".join(on_terminal(arguments, width).split("\n")[lines])))
        title = f"kdissect {' '.join(arguments)}"
        picture = console.export_svg(title=title, unique_id=name)
        # The reader's own monospaced font will do: pictures load nothing.
        picture = re.sub(r"@font-face \{.*?\}\s*", "", picture, flags=re.DOTALL)
        (HERE / f"{name}.svg").write_text(picture, encoding="utf-8")


if __name__ == "__main__":
    main()
