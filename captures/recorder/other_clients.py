"""Clients that are not Kafka's own: Python libraries, kafkajs on Node.js, franz-go and sarama in Go."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from recorder.python_clients import CLIENTS, WORK, client_python
from recorder.requirements import require_programs

KAFKAJS = ("kafkajs@2.2.4", "kafkajs-snappy@1.1.0")


def _run(command: list[str], environment: dict[str, str] | None = None, timeout: float = 240) -> None:
    """Run a client to its end and show what it printed; one that hangs is ended."""
    settings = {**os.environ, **(environment or {})}
    try:
        result = subprocess.run(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=settings, timeout=timeout, check=False
        )
        print(result.stdout[-3000:], flush=True)
    except subprocess.TimeoutExpired:
        print(f"{Path(command[1]).name}: ended after {timeout:.0f} s", flush=True)


def python_client(library: str, bootstrap: str, *words: str) -> None:
    """Run ``librdkafka``, ``aiokafka`` or ``kafka_python`` with its steps."""
    _run([str(client_python()), str(CLIENTS / f"{library}_client.py"), bootstrap, *words])


def node_client(bootstrap: str, *words: str, options: tuple[str, ...] = ()) -> None:
    """Run kafkajs with its steps; ``options`` are Node.js's."""
    require_programs("node", "npm")
    modules = WORK / "npm"
    if not (modules / "node_modules" / "kafkajs").exists():
        modules.mkdir(parents=True, exist_ok=True)
        subprocess.run(["npm", "install", "--silent", "--prefix", str(modules), *KAFKAJS], check=True)
    environment = {"NODE_PATH": str(modules / "node_modules"), "KAFKAJS_NO_PARTITIONER_WARNING": "1"}
    _run(["node", *options, str(CLIENTS / "kafkajs_client.js"), bootstrap, *words], environment)


def go_client(bootstrap: str, *words: str) -> None:
    """Run franz-go and sarama with their steps."""
    program = WORK / "go-client"
    sources = CLIENTS / "go"
    if not program.exists() or program.stat().st_mtime < max(each.stat().st_mtime for each in sources.iterdir()):
        require_programs("go")
        subprocess.run(["go", "build", "-o", str(program), "."], cwd=sources, check=True)
    _run([str(program), bootstrap, *words])
