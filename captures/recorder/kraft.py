"""A KRaft cluster of combined nodes, each on its own loopback address.

Clients use port 9092, controllers 9093 and brokers among themselves 9094, so that a capture filter
can tell them apart.
"""

from __future__ import annotations

import re
import shutil
import tempfile
from pathlib import Path
from types import TracebackType

from recorder.jars import classpath
from recorder.java import run_tool
from recorder.nodes import Node

CLIENT_PORT, CONTROLLER_PORT, BROKER_PORT = 9092, 9093, 9094
_CLUSTER_ID = "kdissectRecorder00000A"
# Few partitions, and longer waits than the defaults: less noise in a small capture.
_QUIET = {
    "num.partitions": "2",
    "offsets.topic.num.partitions": "2",
    "transaction.state.log.num.partitions": "2",
    "share.coordinator.state.topic.num.partitions": "2",
    "group.initial.rebalance.delay.ms": "500",
    "replica.fetch.wait.max.ms": "5000",
    "metadata.max.idle.interval.ms": "10000",
    "controlled.shutdown.retry.backoff.ms": "500",
    "log.cleaner.dedupe.buffer.size": "4194304",
    "num.io.threads": "4",
    "num.network.threads": "2",
    "queued.max.requests": "50",
}


class KraftCluster:
    """Starts the nodes inside a ``with`` block and ends them after it.

    Args:
        version: of Kafka.
        net: the first three parts of the nodes' addresses, for example ``127.9.44``.
        nodes: how many combined broker and controller nodes.
        config: extra settings of every node.
        dynamic: a quorum that can change (KIP-853), where the version has it.
        features: names and levels given to the storage tool, for example ``group.version=1``.
        path: a class path instead of the version's jars.
        options: more options for the Java machine.
        scram: user definitions given to the storage tool.
        listeners: more listeners by name: host (empty for the node's own), port and security protocol.
    """

    def __init__(
        self,
        version: str,
        net: str,
        nodes: int = 3,
        config: dict[str, str] | None = None,
        *,
        dynamic: bool = False,
        features: tuple[str, ...] = (),
        path: str | None = None,
        options: tuple[str, ...] = (),
        scram: tuple[str, ...] = (),
        listeners: dict[str, tuple[str, int, str]] | None = None,
    ) -> None:
        self._listeners = listeners or {}
        self.version = version
        self._net = net
        self._config = config or {}
        self._dynamic = dynamic
        self._features = features
        self._path = path or classpath(version)
        self._options = options
        self._scram = scram
        self.folder = Path(tempfile.mkdtemp(prefix=f"kafka-{version}-"))
        self._ids = range(1, nodes + 1)
        self.nodes = {number: self._node(number) for number in self._ids}

    @property
    def bootstrap(self) -> str:
        """The client addresses of all nodes."""
        return ",".join(f"{self.host(number)}:{CLIENT_PORT}" for number in self.nodes)

    def host(self, number: int) -> str:
        """The address of a node."""
        return f"{self._net}.{number}"

    def properties(self, number: int, roles: str = "broker,controller") -> dict[str, str]:
        """The configuration of a node."""
        host = self.host(number)
        all_listeners = {"CLIENT": ("", CLIENT_PORT, "PLAINTEXT"), "INTERNAL": ("", BROKER_PORT, "PLAINTEXT")}
        all_listeners |= self._listeners
        protocols = [f"{name}:{protocol}" for name, (_, _, protocol) in all_listeners.items()]
        names = all_listeners if "broker" in roles else {}
        advertised = ",".join(f"{name}://{own or host}:{port}" for name, (own, port, _) in names.items())
        controller = f"CONTROLLER://{host}:{CONTROLLER_PORT}"
        copies = str(min(3, len(self._ids)))
        own = {
            "process.roles": roles,
            "node.id": str(number),
            "listeners": ",".join(filter(None, (advertised, controller if "controller" in roles else ""))),
            "advertised.listeners": advertised,
            "listener.security.protocol.map": ",".join([*protocols, "CONTROLLER:PLAINTEXT"]),
            "inter.broker.listener.name": "INTERNAL",
            "controller.listener.names": "CONTROLLER",
            "log.dirs": f"{self.folder}/{number}/a,{self.folder}/{number}/b",
            "default.replication.factor": copies,
            "offsets.topic.replication.factor": copies,
            "transaction.state.log.replication.factor": copies,
            "transaction.state.log.min.isr": "1",
            "share.coordinator.state.topic.replication.factor": copies,
            "share.coordinator.state.topic.min.isr": "1",
        }
        if "broker" not in roles:
            del own["advertised.listeners"], own["inter.broker.listener.name"]
        if self._dynamic:
            servers = ",".join(f"{self.host(each)}:{CONTROLLER_PORT}" for each in self._ids)
            own["controller.quorum.bootstrap.servers"] = servers
        else:
            voters = ",".join(f"{each}@{self.host(each)}:{CONTROLLER_PORT}" for each in self._ids)
            own["controller.quorum.voters"] = voters
        return _QUIET | own | self._config

    def _node(self, number: int) -> Node:
        config = self.folder / f"{number}.properties"
        command = [*self._options, "-cp", self._path, "kafka.Kafka", str(config)]
        return Node(f"node {number}", command, (self.host(number), CLIENT_PORT), self.folder / f"{number}.log")

    def format(self, number: int, roles: str = "broker,controller") -> None:
        """Write a node's configuration and format its directories."""
        config = self.folder / f"{number}.properties"
        settings = self.properties(number, roles)
        config.write_text("".join(f"{key}={value}\n" for key, value in settings.items()))
        command = ["format", "-t", _CLUSTER_ID, "-c", str(config)]
        if self._dynamic and number in self._ids:
            # Any valid ids will do; the nodes must only agree on them.
            voters = [f"{n}@{self.host(n)}:{CONTROLLER_PORT}:kdissectDirectory{n}000A" for n in self._ids]
            command += ["--initial-controllers", ",".join(voters)]
        elif self._dynamic:
            command += ["--no-initial-controllers"]
        for feature in self._features:
            command += ["--feature", feature]
        for user in self._scram:
            command += ["--add-scram", user]
        run_tool(self.version, "kafka.tools.StorageTool", *command, path=self._path, check=True)

    def configure(self, config: dict[str, str], options: tuple[str, ...] = ()) -> None:
        """Change settings and Java options of all nodes after they were formatted, before they start."""
        self._options = (*self._options, *options)
        self._config = self._config | config
        for number in self._ids:
            settings = self.properties(number)
            (self.folder / f"{number}.properties").write_text("".join(f"{k}={v}\n" for k, v in settings.items()))
            self.nodes[number] = self._node(number)

    def add(self, number: int, roles: str) -> Node:
        """Format and start one more node; the caller waits for it."""
        node = self._node(number)
        if "broker" not in roles:
            node.address = (self.host(number), CONTROLLER_PORT)
        self.format(number, roles)
        node.start()
        self.nodes[number] = node
        return node

    def directory(self, number: int) -> str:
        """The id of a node's metadata directory."""
        written = (self.folder / str(number) / "a" / "meta.properties").read_text()
        return str(re.findall(r"directory\.id=(\S+)", written)[0])

    def move_controller(self, number: int, port: int) -> None:
        """Let a stopped node's controller listen on another port from its next start on."""
        config = self.folder / f"{number}.properties"
        old = f"CONTROLLER://{self.host(number)}:{CONTROLLER_PORT}"
        config.write_text(config.read_text().replace(old, old.replace(str(CONTROLLER_PORT), str(port))))

    def prepare(self) -> None:
        """Format all nodes: outside of any recording."""
        for number in self._ids:
            self.format(number)

    def start(self) -> None:
        """Start all nodes and wait for their ports."""
        for node in self.nodes.values():
            node.start()
        for node in self.nodes.values():
            node.wait()

    def __enter__(self) -> KraftCluster:
        self.prepare()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        for node in self.nodes.values():
            node.stop(timeout=15)
        if error is None:
            shutil.rmtree(self.folder, ignore_errors=True)
