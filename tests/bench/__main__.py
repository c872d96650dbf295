"""``python -m tests.bench``: generate, run, profile, compare."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from tests.bench.conversations import KINDS
from tests.bench.measure import WORKS, compare, measure
from tests.bench.profile import profile
from tests.bench.traffic import Plan, generate

_UNITS = {"k": 10**3, "M": 10**6, "G": 10**9}


def size(text: str) -> int:
    """``160M`` in bytes."""
    return int(float(text[:-1]) * _UNITS[text[-1]]) if text[-1:] in _UNITS else int(text)


def capture(directory: Path, plan: Plan) -> Path:
    """The capture of a plan, generated unless it is there already."""
    name = f"{plan.kind}-{plan.size}-{plan.connections}" + (f"-{plan.rounds}" if plan.rounds else "")
    path = directory / f"{name}.pcap"
    if not path.exists():
        directory.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_suffix(".part")
        count = generate(plan, unfinished)
        unfinished.rename(path)
        print(f"{path}: {count} packets, {path.stat().st_size / 1e6:.0f} MB")
    return path


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("--directory", type=Path, default=Path("captures/work/bench"), help="where the captures are kept")
    commands = parser.add_subparsers(dest="command", required=True)
    for name in ("generate", "run", "profile"):
        command = commands.add_parser(name)
        command.add_argument("kinds", nargs="*", metavar="KIND", help=f"of {', '.join(KINDS)} (all)")
        command.add_argument("--size", type=size, default=size("150M"), help="of each capture, such as 150M (the default)")
        command.add_argument("--connections", type=int, default=24, help="open at the same time")
        command.add_argument("--rounds", type=int, default=0, help="of requests until a connection closes; 0: it stays")
        if name != "generate":
            command.add_argument("--work", action="append", choices=list(WORKS), help="may be repeated (all)")
        if name == "run":
            command.add_argument("--times", type=int, default=5, help="paired runs")
            command.add_argument("--json", type=Path, help="write the results there")
    command = commands.add_parser("compare")
    command.add_argument("old", type=Path)
    command.add_argument("new", type=Path)
    given = parser.parse_args()
    if given.command == "compare":
        print("\n".join(compare(json.loads(given.old.read_text()), json.loads(given.new.read_text()))))
        return
    if unknown := set(given.kinds) - set(KINDS):
        parser.error(f"no such kind: {', '.join(sorted(unknown))}")
    captures = {
        kind: capture(given.directory, Plan(kind, given.size, given.connections, given.rounds)) for kind in given.kinds or KINDS
    }
    if given.command == "profile":
        for kind, path in captures.items():
            for work in given.work or ["stats"]:
                for stage, seconds in sorted(profile(WORKS[work], path).items(), key=lambda item: -item[1]):
                    print(f"{kind:<12} {work:<12} {stage:<12} {seconds:8.3f} s")
    elif given.command == "run":
        results = measure(captures, given.work or list(WORKS), given.times)
        if given.json:
            given.json.write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
