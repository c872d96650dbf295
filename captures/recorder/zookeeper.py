"""ZooKeeper and brokers that need it, each on its own loopback address.

The address of ZooKeeper is not among the brokers' own, so that a filter on their network leaves it out.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from types import TracebackType

from recorder.jars import classpath
from recorder.nodes import Node

_PORT = 2181
# Old versions fail on settings that they do not know, so only those that all of them have.
_QUIET = {
    "num.partitions": "2",
    "default.replication.factor": "1",
    "num.io.threads": "4",
    "num.network.threads": "2",
    "replica.fetch.wait.max.ms": "2000",
    "controlled.shutdown.enable": "true",
    "controlled.shutdown.retry.backoff.ms": "500",
    "log.cleaner.dedupe.buffer.size": "4194304",
    "offsets.topic.num.partitions": "2",
    "offsets.topic.replication.factor": "1",
    "delete.topic.enable": "true",
    "zookeeper.connection.timeout.ms": "60000",
}
# Scala's and ZooKeeper's old code looks into classes that Java 17 closes.
_OPENS = ("java.base/java.lang", "java.base/java.nio", "java.base/sun.nio.ch", "java.base/java.util")


class ZookeeperCluster:
    """Starts ZooKeeper at once, the brokers on demand; ends all after the ``with`` block.

    Args:
        version: of Kafka.
        net: the first three parts of the brokers' addresses.
        brokers: how many.
        config: extra settings of every broker.
        options: more options for the brokers' Java machines.
    """

    def __init__(
        self,
        version: str,
        net: str,
        brokers: int = 2,
        config: dict[str, str] | None = None,
        options: tuple[str, ...] = (),
    ) -> None:
        self.version = version
        self.net = net
        self._config = config or {}
        self._options = [*options, *(f"--add-opens={name}=ALL-UNNAMED" for name in _OPENS)]
        self.folder = Path(tempfile.mkdtemp(prefix=f"kafka-{version}-"))
        self._ids = range(1, brokers + 1)
        self._keeper = f"127.10.{net.rpartition('.')[2]}.1"
        log4j = self.folder / "log4j.properties"
        log4j.write_text(
            "log4j.rootLogger=INFO, out\nlog4j.appender.out=org.apache.log4j.ConsoleAppender\n"
            "log4j.appender.out.layout=org.apache.log4j.PatternLayout\n"
            "log4j.appender.out.layout.ConversionPattern=%d %p %m (%c)%n\n"
        )
        self._options.append(f"-Dlog4j.configuration=file:{log4j}")
        self._zookeeper = self._zookeeper_node()
        self.nodes = {number: self._broker(number) for number in self._ids}

    @property
    def bootstrap(self) -> str:
        """The addresses of all brokers."""
        return ",".join(f"{self.host(number)}:9092" for number in self._ids)

    @property
    def zookeeper(self) -> str:
        """The address of ZooKeeper, for the old tools."""
        return f"{self._keeper}:{_PORT}"

    def host(self, number: int) -> str:
        """The address of a broker."""
        return f"{self.net}.{number}"

    def _node(self, name: str, main_class: str, settings: dict[str, str], address: tuple[str, int]) -> Node:
        config = self.folder / f"{name}.properties"
        config.write_text("".join(f"{key}={value}\n" for key, value in settings.items()))
        command = [*self._options, "-cp", classpath(self.version), main_class, str(config)]
        return Node(f"{name} of {self.version}", command, address, self.folder / f"{name}.log")

    def _zookeeper_node(self) -> Node:
        settings = {
            "dataDir": f"{self.folder}/zookeeper",
            "clientPort": str(_PORT),
            "clientPortAddress": self._keeper,
            "maxClientCnxns": "0",
            "admin.enableServer": "false",
        }
        main_class = "org.apache.zookeeper.server.quorum.QuorumPeerMain"
        return self._node("zookeeper", main_class, settings, (self._keeper, _PORT))

    def _broker(self, number: int) -> Node:
        host = self.host(number)
        settings = {
            "broker.id": str(number),
            "host.name": host,
            "port": "9092",
            "log.dirs": f"{self.folder}/{number}/a,{self.folder}/{number}/b",
            "zookeeper.connect": self.zookeeper,
        }
        if not self.version.startswith("0.8"):
            settings |= {"listeners": f"PLAINTEXT://{host}:9092"}
            del settings["host.name"], settings["port"]
        return self._node(f"broker-{number}", "kafka.Kafka", _QUIET | settings | self._config, (host, 9092))

    def start(self) -> None:
        """Start all brokers and wait for their ports."""
        for node in self.nodes.values():
            node.start()
        for node in self.nodes.values():
            node.wait()

    def __enter__(self) -> ZookeeperCluster:
        self._zookeeper.start()
        self._zookeeper.wait()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        for node in self.nodes.values():
            node.stop(timeout=15)
        self._zookeeper.stop(timeout=10)
        if error is None:
            shutil.rmtree(self.folder, ignore_errors=True)
