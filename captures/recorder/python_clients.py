"""The Python client libraries, at the versions of the committed captures, in an environment of their own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

CLIENTS = Path(__file__).resolve().parent / "clients"
WORK = Path(__file__).resolve().parent.parent / "work"
PACKAGES = {
    "confluent-kafka": "2.16.1",
    "aiokafka": "0.14.0",
    "kafka-python": "3.0.12",
}
_CODECS = ("cramjam", "python-snappy", "lz4", "zstandard")


def client_python() -> Path:
    """The interpreter that has the clients; installs them at the first call."""
    python = WORK / "python" / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(WORK / "python")], check=True)
    pinned = [f"{name}=={version}" for name, version in PACKAGES.items()]
    subprocess.run([str(python), "-m", "pip", "install", "-q", *pinned, *_CODECS], check=True)
    return python


def versions(python: Path) -> str:
    """Names and versions of the clients and of librdkafka, for provenance."""
    code = "import confluent_kafka as c; print('librdkafka', c.libversion()[0])"
    librdkafka = subprocess.run([str(python), "-c", code], capture_output=True, text=True, check=True)
    named = [f"{name} {version}" for name, version in PACKAGES.items()]
    return ", ".join([*named, librdkafka.stdout.strip()])
