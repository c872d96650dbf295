"""One recording: tcpdump on the loopback interface, then a pcapng file without kernel drops."""

from __future__ import annotations

import re
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path
from types import TracebackType

_START_TIMEOUT_S = 15.0
_IDLE_S = 0.7


class RecordingFailed(Exception):
    """tcpdump did not start, or the kernel dropped packets."""


class Recording:
    """Records what passes a filter while the ``with`` block runs.

    Connections opened inside the block are captured from their SYN. The recording ends after an
    idle moment, so clients that were closed inside the block are captured to their FIN.

    Args:
        target: the pcapng file to write.
        capture_filter: in libpcap's syntax; TCP only is implied.
        comment: written into the pcapng section header.
        interface: ``lo``, or ``any`` for a Linux cooked capture.
        link_type: tcpdump's name of a data link type, for example ``LINUX_SLL``.
        nanoseconds: time stamps in nanoseconds instead of microseconds.
        whole_connections: leave out connections that were open before the recording.
    """

    def __init__(
        self,
        target: Path,
        capture_filter: str,
        comment: str,
        *,
        interface: str = "lo",
        link_type: str | None = None,
        nanoseconds: bool = False,
        whole_connections: bool = False,
    ) -> None:
        self._whole_connections = whole_connections
        self._target = target
        self._comment = comment
        self._raw = Path(tempfile.mkdtemp(prefix="recorder-")) / "raw.pcap"
        self._command = ["tcpdump", "-i", interface, "-n", "-s", "0", "-B", "131072"]
        self._command += ["--immediate-mode", "-U", "-Z", "root", "-w", str(self._raw)]
        if link_type is not None:
            self._command += ["-y", link_type]
        if nanoseconds:
            self._command += ["--time-stamp-precision=nano"]
        self._command += [f"tcp and ({capture_filter})"]
        self._process: subprocess.Popen[str] | None = None
        self._log = self._raw.with_suffix(".log")

    def __enter__(self) -> Recording:
        with self._log.open("w") as log:
            self._process = subprocess.Popen(self._command, stderr=log, text=True)
        deadline = time.monotonic() + _START_TIMEOUT_S
        while "listening on" not in self._log.read_text():
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise RecordingFailed(f"tcpdump did not start: {self._log.read_text().strip()}")
            time.sleep(0.05)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()
        if error is None:
            self.write()

    def stop(self) -> None:
        """End tcpdump after an idle moment; calling it twice does no harm."""
        assert self._process is not None
        if self._process.poll() is not None:
            return
        time.sleep(_IDLE_S)
        self._process.send_signal(signal.SIGINT)
        self._process.wait(timeout=20)

    def write(self) -> None:
        """Turn the raw capture into the pcapng file.

        Raises:
            RecordingFailed: the kernel dropped packets, or editcap failed.
        """
        report = self._log.read_text()
        dropped = re.search(r"(\d+) packets? dropped by kernel", report)
        if dropped is None or dropped.group(1) != "0":
            raise RecordingFailed(f"the capture has holes: {report.strip()}")
        if self._whole_connections:
            self._keep_whole_connections()
        # A temporary name: editcap must not leave half a file under the final one.
        done = self._raw.with_suffix(".pcapng")
        editcap = ["editcap", "-F", "pcapng", "--capture-comment", self._comment]
        subprocess.run([*editcap, str(self._raw), str(done)], check=True)
        self._target.write_bytes(done.read_bytes())
        shutil.rmtree(self._raw.parent)

    def _keep_whole_connections(self) -> None:
        read = ["tcpdump", "-r", str(self._raw), "-n", "-t", "-q"]
        opened = "tcp[tcpflags] & (tcp-syn|tcp-ack) == tcp-syn"
        lines = subprocess.run([*read, opened], capture_output=True, text=True, check=True).stdout
        ports = re.findall(r"^IP6? \S+\.(\d+) >", lines, re.MULTILINE)
        kept = self._raw.with_name("kept.pcap")
        wanted = " or ".join(f"port {port}" for port in ports)
        nanoseconds = [part for part in self._command if part.startswith("--time-stamp")]
        subprocess.run([*read[:4], *nanoseconds, "-w", str(kept), wanted], check=True, stderr=subprocess.DEVNULL)
        kept.replace(self._raw)
