"""Record real brokers and clients: ``python3 captures/record.py SCENARIO...``, or ``--list``.

Needs root, Java 17 or newer, Maven, tcpdump and editcap; some scenarios also Node.js or Go. Jars and
clients are fetched into ``captures/work`` at the first run.
"""

from __future__ import annotations

import sys
import time

from recorder.requirements import require_programs
from recorder.scenarios import SCENARIOS


def main(*names: str) -> None:
    """Run the named scenarios, one after the other."""
    unknown = [name for name in names if name not in SCENARIOS]
    if not names or unknown:
        wrong = [name for name in unknown if name != "--list"]
        print(*(f"no scenario {name}" for name in wrong), "scenarios:", *SCENARIOS, sep="\n")
        sys.exit(0 if names == ("--list",) else 2)
    require_programs("java", "javac", "mvn", "tcpdump", "editcap")
    for name in names:
        started = time.monotonic()
        SCENARIOS[name]()
        print(f"{name}: recorded in {time.monotonic() - started:.0f} s", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
