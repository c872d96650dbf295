"""The command line: one click command per module, loaded when it is called."""

from __future__ import annotations

import sys
from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the command line and exits: 0 done, 1 an input is no capture, 2 wrong usage, 3 ``--fail-on`` met, 130 interrupted."""
    from kdissect.cli.app import run

    sys.exit(run(arguments))
