"""Record three client libraries talking to librdkafka's in-process mock cluster.

``python3 captures/record_mock.py`` needs root, tcpdump and editcap; the libraries are installed
into ``captures/work/python``. The mock cluster needs no broker, no Java and no network.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from recorder.python_clients import CLIENTS, client_python, versions
from recorder.requirements import require_programs
from recorder.sniffer import Recording

HERE = Path(__file__).resolve().parent
# What the mock cannot do is left out: it answers Produce with acks 0, never completes the rebalance
# of a group with two members, returns transaction markers with a wrong checksum, and has no
# administration. Its answers to the ApiVersions and flexible Metadata requests of librdkafka have
# extra bytes, hence a broker version before both. Negotiating fails in kafka-python too.
STEPS = {
    "librdkafka": ["api.version.request=false", "broker.version.fallback=0.9.0", "produce", "member", "offsets"],
    "aiokafka": ["metadata", "produce", "member", "offsets", "transactions"],
    "kafka-python": ["api_version=2.3", "metadata", "produce", "member", "offsets", "transactions"],
}


def record(client: str, python: Path) -> None:
    """Record all steps of one client against a mock cluster of its own."""
    command = [str(python), str(CLIENTS / "mock_cluster.py")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as mock:
        assert mock.stdout is not None and mock.stdin is not None
        bootstrap = mock.stdout.readline().strip()
        ports = " or ".join(f"port {address.rpartition(':')[2]}" for address in bootstrap.split(","))
        comment = f"{client} against librdkafka's mock cluster; {versions(python)}"
        with Recording(HERE / f"mock-{client}.pcapng", ports, comment) as recording:
            script = str(CLIENTS / f"{client.replace('-', '_')}_client.py")
            subprocess.run([str(python), script, bootstrap, *STEPS[client]], check=True, timeout=180)
            recording.stop()
        mock.stdin.close()


def main(*clients: str) -> None:
    """Record the named clients, or all of them."""
    require_programs("tcpdump", "editcap")
    python = client_python()
    for client in clients or tuple(STEPS):
        record(client, python)


if __name__ == "__main__":
    main(*sys.argv[1:])
