"""What a recording needs from the machine, checked before anything is started."""

from __future__ import annotations

import os
import shutil
import sys


def require_programs(*names: str) -> None:
    """End with one clear line if a program is not installed, or if we are not root.

    Raises:
        SystemExit: with the list of what is missing.
    """
    missing = [name for name in names if shutil.which(name) is None]
    if missing:
        sys.exit(f"recorder: please install first: {', '.join(missing)}")
    if os.geteuid() != 0:
        sys.exit("recorder: capturing on the loopback interface needs root")
