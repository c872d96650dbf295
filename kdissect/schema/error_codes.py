"""Names of Kafka's error codes (``org.apache.kafka.common.protocol.Errors``)."""

from __future__ import annotations

from functools import cache
from pathlib import Path


@cache
def error_codes() -> dict[int, str]:
    """Every code of the newest release with its name; 0 is NONE, -1 UNKNOWN_SERVER_ERROR."""
    names = {}
    for line in (Path(__file__).parent / "errors.txt").read_text(encoding="ascii").splitlines():
        if line and not line.startswith("#"):
            code, name = line.split()
            names[int(code)] = name
    return names


def error_name(code: int) -> str:
    """``NOT_LEADER_OR_FOLLOWER`` for 6; ``Unknown(999)`` for a code without name."""
    return error_codes().get(code) or f"Unknown({code})"
