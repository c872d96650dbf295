"""Key logs in the form that every reader knows.

The agent names the master secret of a TLS 1.2 session by its session id; most readers want it by the
client's random, once per connection (``CLIENT_RANDOM``, NSS key log format).
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

_BY_SESSION = re.compile(r"RSA Session-ID:(\w+) Master-Key:(\w+)\s*$")


def by_client_random(capture: Path, ports: tuple[int, ...], lines: list[str]) -> list[str]:
    """Key log lines for a capture, those by session id replaced by one for each of its connections.

    Args:
        capture: with the handshakes.
        ports: of the TLS listeners.
        lines: what the agent wrote.
    """
    masters = {found[1].lower(): found[2].lower() for line in lines if (found := _BY_SESSION.match(line))}
    decode = [word for port in ports for word in ("-d", f"tcp.port=={port},tls")]
    fields = ["tcp.stream", "tls.handshake.type", "tls.handshake.random", "tls.handshake.session_id"]
    command = ["tshark", "-r", str(capture), *decode, "-Y", "tls.handshake.type in {1,2}", "-T", "fields"]
    command += [word for field in fields for word in ("-e", field)]
    rows = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    randoms: dict[str, str] = {}
    kept = [line for line in lines if not _BY_SESSION.match(line)]
    for row in rows:
        stream, kinds, random, session = row.split("\t")
        if kinds.startswith("1"):
            randoms[stream] = random.split(",")[0]
        elif session.replace(":", "") in masters and stream in randoms:
            kept.append(f"CLIENT_RANDOM {randoms[stream]} {masters[session.replace(':', '')]}\n")
    return kept
