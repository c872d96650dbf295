"""The command line: one click command per module, loaded when it is called."""

from __future__ import annotations

import gc
import sys
from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the command line and exits: 0 done, 1 an input is no capture, 2 wrong usage, 3 ``--fail-on`` met, 130 interrupted."""
    from kdissect.cli.app import run

    # A batch makes objects by the hundred thousand that all live until it is written: looking for cycles among them at
    # the interpreter's usual pace takes as long as everything else together.
    gc.set_threshold(200_000, 20, 50)
    sys.exit(run(arguments))
