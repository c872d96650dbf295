"""What the captures are and what they hold together: the two tables of ``captures/README.md``.

``python3 captures/recorder/coverage.py`` prints them, and on standard error what is odd in a capture:
what could not be decoded to its last byte or has no counterpart. Needs ``kdissect`` and ``capinfos``.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

CAPTURES = Path(__file__).resolve().parent.parent
# Answers that cannot be missing in a capture that a person made with care.
_EXPECTED = ("answered", "no_reply_expected")


def exchanges(capture: Path) -> list[dict[str, Any]]:
    """All exchanges of a capture without their bodies."""
    command = ["kdissect", "read", str(capture), "--format", "ndjson", "--no-bodies"]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    return [json.loads(line) for line in result.stdout.splitlines()]


def provenance(capture: Path) -> tuple[str, str]:
    """What the capture's own comment says, and the day of its first packet."""
    printed = subprocess.run(["capinfos", "-k", "-a", str(capture)], capture_output=True, text=True, check=True).stdout
    lines = dict(line.split(":", 1) for line in printed.splitlines() if ":" in line)
    return lines["Capture comment"].strip(), lines["First packet time"].split()[0]


def main() -> None:
    """Print the table and the oddities."""
    seen: dict[int, set[int]] = defaultdict(set)
    where: dict[int, set[str]] = defaultdict(set)
    names: dict[int, str] = {}
    odd: list[str] = []
    print("| file | what | recorded |\n|---|---|---|")
    for capture in sorted(CAPTURES.glob("*.pcapng")):
        told, day = provenance(capture)
        print(f"| `{capture.name}` | {told} | {day} |")
        try:
            found = exchanges(capture)
        except subprocess.CalledProcessError as failed:
            odd.append(f"{capture.name}: {failed.stderr.strip().splitlines()[-1]}")
            continue
        counts: Counter[str] = Counter()
        for exchange in found:
            if exchange["api_key"] is not None:
                names[exchange["api_key"]] = exchange["api"]
                seen[exchange["api_key"]].add(exchange["api_version"])
                where[exchange["api_key"]].add(capture.stem)
            counts.update(finding["code"] for finding in exchange["findings"])
            if exchange["outcome"] not in _EXPECTED:
                counts[f"{exchange['outcome']} {exchange['unanswered_reason'] or ''}".strip()] += 1
        odd += [f"{capture.name}: {count} {what}" for what, count in sorted(counts.items())]
    print("\n| key | API | versions | captures |\n|---|---|---|---|")
    for key in sorted(seen):
        versions = ", ".join(str(version) for version in sorted(seen[key]))
        named = sorted(where[key])
        listed = ", ".join(named) if len(named) <= 4 else f"{len(named)} captures"
        print(f"| {key} | {names[key]} | {versions} | {listed} |")
    print(*odd, sep="\n", file=sys.stderr)


if __name__ == "__main__":
    main()
