"""Runs tshark and kdissect in turns and measures whole processes: wall clock, CPU and peak memory."""

from __future__ import annotations

import os
import platform
import shutil
import statistics
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

TSHARK_FIELDS = (
    "frame.number", "frame.time_epoch", "ip.src", "ipv6.src", "tcp.srcport", "ip.dst", "ipv6.dst", "tcp.dstport", "kafka.len",
    "kafka.correlation_id", "kafka.api_key", "kafka.api_version", "kafka.client_id", "kafka.topic_name", "kafka.error",
)  # fmt: skip

WORKS: dict[str, list[str]] = {
    "rows": ["read", "-q", "-f", "csv"],
    "rows-ndjson": ["read", "-q", "-f", "ndjson", "--no-bodies"],
    "stats": ["stats", "-q", "-f", "json"],
    "ndjson": ["read", "-q", "-f", "ndjson"],
    "parquet": ["export", "-q"],
    "records": ["records", "-q", "-f", "ndjson"],
}
"""Kinds of work and their kdissect command; works whose command does not exist (yet) are left out."""


@dataclass
class Run:
    """One process; ``rss`` is its largest resident size in bytes."""

    seconds: float
    cpu: float
    rss: int
    status: int


def run(command: list[str]) -> Run:
    """Runs a command to /dev/null."""
    began = time.perf_counter()
    with open(os.devnull, "wb") as nothing:
        process = subprocess.Popen(command, stdout=nothing, stderr=nothing)
        _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return Run(time.perf_counter() - began, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024, process.returncode)


def tshark(capture: Path) -> list[str]:
    fields = [part for field in TSHARK_FIELDS for part in ("-e", field)]
    return ["tshark", "-n", "-r", str(capture), "-Y", "kafka", "-T", "fields", *fields]


def kdissect(work: str, capture: Path) -> list[str]:
    if work == "parquet":
        return [sys.executable, "-m", "kdissect", *WORKS[work], str(capture), "-o", str(capture.with_suffix(".tables"))]
    return [sys.executable, "-m", "kdissect", *WORKS[work], str(capture)]


def available(work: str) -> bool:
    """Whether this revision has the command."""
    shown = subprocess.run([sys.executable, "-m", "kdissect", WORKS[work][0], "--help"], capture_output=True, check=False)
    return shown.returncode == 0


def measure(captures: dict[str, Path], works: list[str], times: int, *, quiet: bool = False) -> dict[str, Any]:
    """``times`` paired runs of every work on every capture; medians, and the median of the paired ratios."""
    works = [work for work in works if available(work)]
    have_tshark = shutil.which("tshark") is not None
    results: list[dict[str, Any]] = []
    for name, capture in captures.items():
        size = capture.stat().st_size
        runs: dict[str, list[Run]] = {work: [] for work in [*(["tshark"] if have_tshark else []), *works]}
        for _ in range(times):
            for work, done in runs.items():
                done.append(run(tshark(capture) if work == "tshark" else kdissect(work, capture)))
                if work == "parquet":
                    shutil.rmtree(capture.with_suffix(".tables"), ignore_errors=True)
        for work, done in runs.items():
            row: dict[str, Any] = {
                "capture": name,
                "work": work,
                "bytes": size,
                "seconds": statistics.median(one.seconds for one in done),
                "cpu": statistics.median(one.cpu for one in done),
                "rss": max(one.rss for one in done),
                "failed": sum(one.status != 0 for one in done),
                "runs": [asdict(one) for one in done],
            }
            if have_tshark:
                pairs = zip(runs["tshark"], done, strict=True)
                row["ratio"] = statistics.median(theirs.seconds / ours.seconds for theirs, ours in pairs)
            results.append(row)
            if not quiet:
                print(line(row), flush=True)
    return {"machine": machine(), "times": times, "results": results}


def line(row: dict[str, Any]) -> str:
    """One row of the table."""
    speed = row["bytes"] / row["seconds"] / 1e6
    ratio = f"{row['ratio']:6.2f}x" if "ratio" in row else "      -"
    failed = f"  {row['failed']} FAILED" if row["failed"] else ""
    return (
        f"{row['capture']:<12} {row['work']:<12} {row['seconds']:8.2f} s {row['cpu']:8.2f} cpu-s "
        f"{speed:7.0f} MB/s {row['rss'] / 1e6:7.0f} MB rss {ratio}{failed}"
    )


def machine() -> dict[str, Any]:
    """What the numbers were measured on."""
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False)
    shown = (
        subprocess.run(["tshark", "--version"], capture_output=True, text=True, check=False) if shutil.which("tshark") else None
    )
    return {
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "cpus": os.cpu_count(),
        "revision": commit.stdout.strip(),
        "tshark": shown.stdout.splitlines()[0] if shown and shown.stdout else None,
    }


def compare(old: dict[str, Any], new: dict[str, Any]) -> list[str]:
    """What changed between two results, most slowed down first."""
    before = {(row["capture"], row["work"]): row for row in old["results"]}
    changes = []
    for row in new["results"]:
        past = before.get((row["capture"], row["work"]))
        if past is not None and row["work"] != "tshark":
            # By ratio to tshark where both have it: the machine may have been busier.
            fair = "ratio" in row and "ratio" in past
            factor = row["ratio"] / past["ratio"] if fair else past["seconds"] / row["seconds"]
            text = (
                f"{row['capture']:<12} {row['work']:<12} {past['seconds']:8.2f} -> {row['seconds']:8.2f} s  "
                f"{past['rss'] / 1e6:6.0f} -> {row['rss'] / 1e6:6.0f} MB  {factor:5.2f} times as fast"
            )
            changes.append((factor, text))
    return [text for _, text in sorted(changes)]
