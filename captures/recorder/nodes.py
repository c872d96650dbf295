"""Server processes: one Java machine each, with its log in a file, ended gently or killed."""

from __future__ import annotations

import signal
import socket
import subprocess
import time
from pathlib import Path

from recorder.java import FAST_START

START_TIMEOUT_S = 120.0


class NodeFailed(Exception):
    """A server ended early or did not open its port in time."""


class Node:
    """One server.

    Args:
        name: for messages.
        command: what comes after ``java``.
        address: host and port that are open once it has started.
        log: the file for its output.
        heap: its largest heap, as Java's ``-Xmx`` takes it.
    """

    def __init__(self, name: str, command: list[str], address: tuple[str, int], log: Path, heap: str = "384m") -> None:
        self.name = name
        self.address = address
        self._command = ["java", f"-Xmx{heap}", *FAST_START, *command]
        self._log = log
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start the process without waiting for its port."""
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(self._command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def wait(self, timeout: float = START_TIMEOUT_S) -> None:
        """Wait until its port accepts connections, probing without connecting.

        A probe by connecting would be on the record, hence a look at the kernel's table.

        Raises:
            NodeFailed: with the end of the log.
        """
        assert self._process is not None
        deadline = time.monotonic() + timeout
        while not _listening(*self.address):
            if self._process.poll() is not None or time.monotonic() > deadline:
                tail = self._log.read_text(errors="replace")[-3000:]
                raise NodeFailed(f"{self.name} did not start:\n{tail}")
            time.sleep(0.2)

    def stop(self, timeout: float = 45.0) -> None:
        """End it as an operator would; kill it if that takes too long."""
        self.signal(signal.SIGTERM, timeout)

    def kill(self) -> None:
        """End it as a crash would."""
        self.signal(signal.SIGKILL, 10.0)

    def signal(self, number: signal.Signals, timeout: float) -> None:
        """Send a signal and wait for the end."""
        if self._process is None or self._process.poll() is not None:
            return
        self._process.send_signal(number)
        try:
            self._process.wait(timeout)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait(10)


def _listening(host: str, port: int) -> bool:
    wanted = f"{socket.inet_aton(host)[::-1].hex().upper()}:{port:04X}"
    mapped = f"0000000000000000FFFF0000{wanted}"
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        for line in Path(table).read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == "0A" and fields[1] in (wanted, mapped):
                return True
    return False
