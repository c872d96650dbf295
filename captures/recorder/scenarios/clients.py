"""Client libraries of other projects, each with brokers of several eras."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from recorder.java import run_tool
from recorder.kraft import KraftCluster
from recorder.other_clients import go_client, node_client, python_client
from recorder.python_clients import PACKAGES
from recorder.scenarios.kraft import NET
from recorder.scenarios.old import NET as OLD_NET
from recorder.scenarios.old import TRANSACTIONS
from recorder.stage import recording
from recorder.zookeeper import ZookeeperCluster

_LIBRDKAFKA = ("topic", "metadata", "produce", "acks", "idempotent", "group", "offsets", "groups", "transactions", "committed")
_PYTHON = ("topic", "produce", "acks", "metadata", "offsets", "transactions", "committed", "groups")
_FRANZ = ("franz-topic", "franz-produce", "franz-group", "franz-transactions", "franz-admin")
_SARAMA = ("sarama-topic", "sarama-produce", "sarama-group", "sarama-admin")

# Each library: name and version for provenance, and how it runs against a bootstrap address.
_LIBRARIES: dict[str, tuple[str, Callable[..., None]]] = {
    "librdkafka": (
        f"confluent-kafka {PACKAGES['confluent-kafka']}",
        lambda bootstrap, *words: python_client("librdkafka", bootstrap, *_LIBRDKAFKA, *words),
    ),
    "aiokafka": (
        f"aiokafka {PACKAGES['aiokafka']}",
        lambda bootstrap, *words: python_client("aiokafka", bootstrap, *words, *_PYTHON[:3], "group", *_PYTHON[3:]),
    ),
    "kafka-python": (
        f"kafka-python {PACKAGES['kafka-python']}",
        lambda bootstrap, *words: python_client("kafka_python", bootstrap, *words, *_PYTHON[:3], "member", *_PYTHON[3:]),
    ),
    "kafkajs": (
        "kafkajs 2.2.4",
        lambda bootstrap, *words: node_client(bootstrap, *words, "topic", "produce", "group", "transactions", "admin"),
    ),
    "franz-go": ("franz-go 1.22.2", lambda bootstrap, *words: go_client(bootstrap, *words, *_FRANZ)),
    "sarama-old": ("sarama 1.61.1", lambda bootstrap, *words: go_client(bootstrap, *words, "sarama-produce", "sarama-read")),
    "sarama": ("sarama 1.61.1", lambda bootstrap, *words: go_client(bootstrap, *words, *_SARAMA)),
}


def _record(library: str, version: str, net: str, bootstrap: str, *words: str, interface: str, link_type: str | None) -> None:
    named, run = _LIBRARIES[library]
    told = f" with {' '.join(words)}" if words else ""
    comment = f"{named}{told}, one broker of Kafka {version}; client connections, interface {interface}"
    ports = f"net {net}.0/24 and port 9092"
    with recording(
        f"{library.removesuffix('-old')}-{version}",
        ports,
        comment,
        interface=interface,
        link_type=link_type,
        whole_connections=True,
    ):
        run(bootstrap, *words)


def kraft(version: str, *runs: tuple[str, ...], interface: str = "lo", link_type: str | None = None) -> None:
    """One KRaft node; each run is a library and words for it."""
    net = NET[version]
    with KraftCluster(version, net, nodes=1) as node:
        node.start()
        for library, *words in runs:
            _record(library, version, net, node.bootstrap, *words, interface=interface, link_type=link_type)


def zookeeper(version: str, *runs: tuple[str, ...], interface: str = "lo", link_type: str | None = None) -> None:
    """One broker with ZooKeeper; each run is a library and words for it."""
    net = OLD_NET[version]
    config = {} if version < "0.11" else TRANSACTIONS
    with ZookeeperCluster(version, net, brokers=1, config=config) as broker:
        broker.start()
        # A broker of 0.8 names no brokers to its clients before it has a topic.
        create = ("--zookeeper", broker.zookeeper, "--create", "--topic", "orders-sa")
        run_tool(version, "kafka.admin.TopicCommand", *create, "--partitions", "2", "--replication-factor", "1")
        for library, *words in runs:
            _record(library, version, net, broker.bootstrap, *words, interface=interface, link_type=link_type)


SCENARIOS: dict[str, Callable[[], None]] = {
    "clients-4.4.0": partial(
        kraft, "4.4.0", ("librdkafka", "group848", "cluster"), ("franz-go",), ("sarama", "sarama-transaction"), ("kafka-python",)
    ),
    "clients-3.9.2": partial(kraft, "3.9.2", ("aiokafka",), ("librdkafka",)),
    "clients-3.3.2": partial(kraft, "3.3.2", ("kafkajs",), ("franz-go",), interface="any", link_type="LINUX_SLL2"),
    "clients-2.6.3": partial(zookeeper, "2.6.3", ("sarama",), ("kafka-python",), interface="any", link_type="LINUX_SLL"),
    "clients-2.0.1": partial(zookeeper, "2.0.1", ("kafkajs",), ("aiokafka",), ("librdkafka",)),
    "clients-0.10.1.1": partial(
        zookeeper, "0.10.1.1", ("sarama-old", "version=0.10.1.0"), ("kafka-python", "headers=none"), ("franz-go",)
    ),
    "clients-0.8.2.2": partial(zookeeper, "0.8.2.2", ("sarama-old", "version=0.8.2.2")),
}
