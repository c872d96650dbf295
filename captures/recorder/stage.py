"""What every scenario shares: where captures go, and the Java clients as one-line calls."""

from __future__ import annotations

from pathlib import Path

from recorder.java import compiled, run_tool
from recorder.sniffer import Recording

CAPTURES = Path(__file__).resolve().parent.parent
_JAVA_CLIENTS = ("Steps", "Traffic", "AdminTour")


def recording(
    name: str,
    capture_filter: str,
    comment: str,
    *,
    interface: str = "lo",
    link_type: str | None = None,
    nanoseconds: bool = False,
    whole_connections: bool = False,
) -> Recording:
    """A recording that becomes ``captures/NAME.pcapng``."""
    return Recording(
        CAPTURES / f"{name}.pcapng",
        capture_filter,
        comment,
        interface=interface,
        link_type=link_type,
        nanoseconds=nanoseconds,
        whole_connections=whole_connections,
    )


def java_client(jars: str, program: str, bootstrap: str, *words: str, timeout: float = 240, options: tuple[str, ...] = ()) -> str:
    """Run ``Traffic`` or ``AdminTour`` with its steps; shows and returns what it printed."""
    path = compiled(jars, *_JAVA_CLIENTS)
    printed = run_tool(jars, program, bootstrap, *words, path=path, timeout=timeout, options=options)
    print(printed, flush=True)
    return printed
