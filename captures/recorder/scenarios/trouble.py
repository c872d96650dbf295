"""What goes wrong or is unusual: throttling, clients too old for the broker, IPv6."""

from __future__ import annotations

from collections.abc import Callable

from recorder.java import compiled, run_tool
from recorder.kraft import KraftCluster
from recorder.other_clients import go_client
from recorder.scenarios.kraft import NET
from recorder.scenarios.old import NET as OLD_NET
from recorder.stage import java_client, recording
from recorder.zookeeper import ZookeeperCluster


def throttle() -> None:
    """A producer and a consumer slowed down by a quota."""
    version = "3.9.2"
    net = NET[version]
    comment = f"a quota throttles kafka-clients {version}; one node of Kafka {version}; client connections"
    with KraftCluster(version, net, 1, {"quota.window.num": "3"}) as node:
        node.start()
        java_client(version, "AdminTour", node.bootstrap, "topics")
        with recording(f"throttle-{version}", f"net {net}.0/24 and port 9092", comment):
            java_client(version, "AdminTour", node.bootstrap, "throttle")
            java_client(version, "Traffic", node.bootstrap, "throttled")


def too_old() -> None:
    """Clients from before the oldest versions that Kafka 4 understands (KIP-896)."""
    version = "4.4.0"
    net = NET[version]
    comment = f"kafka-clients 0.10.1.1, console producer 0.8.2.2 and sarama as 0.10.1 against Kafka {version}; client connections"
    with KraftCluster(version, net, 1) as node:
        node.start()
        java_client(version, "AdminTour", node.bootstrap, "topics")
        go_client(node.bootstrap, "sarama-topic")
        with recording(f"too-old-{version}", f"net {net}.0/24 and port 9092", comment):
            path = compiled("0.10.1.1", "Steps", "OldClient")
            words = ("retries=0", "max.block.ms=3000", "request.timeout.ms=3000", "reconnect.backoff.ms=1000")
            print(run_tool("0.10.1.1", "OldClient", node.bootstrap, *words, "acks", "offsets", path=path, timeout=20))
            to = ("--broker-list", node.bootstrap, "--topic", "orders", "--request-required-acks", "1")
            print(run_tool("0.8.2.2", "kafka.tools.ConsoleProducer", *to, stdin="too old\n", timeout=20)[:500])
            go_client(node.bootstrap, "version=0.10.1.0", "sarama-produce", "sarama-admin")


def too_new() -> None:
    """A client that no longer speaks any version of an old broker's calls."""
    version = "0.10.1.1"
    net = OLD_NET[version]
    comment = f"kafka-clients 4.4.0 against Kafka {version}: asked for versions, it refuses, then names those it has; connections"
    with ZookeeperCluster(version, net, 1) as broker:
        broker.start()
        with recording(f"too-new-{version}", f"net {net}.0/24 and port 9092", comment, whole_connections=True):
            words = ("reconnect.backoff.ms=1000", "reconnect.backoff.max.ms=1000")
            java_client("4.4.0", "Traffic", broker.bootstrap, *words, "hello", timeout=40)


def ipv6() -> None:
    """A listener on IPv6, recorded on all interfaces as a Linux cooked capture."""
    version = "4.4.0"
    comment = f"kafka-clients {version} over IPv6; one node of Kafka {version}; interface any"
    listeners = {"SIX": ("[::1]", 9099, "PLAINTEXT")}
    with KraftCluster(version, NET[version], 1, listeners=listeners) as node:
        node.start()
        java_client(version, "AdminTour", node.bootstrap, "topics")
        with recording(f"ipv6-{version}", "ip6 and port 9099", comment, interface="any", nanoseconds=True):
            java_client(version, "Traffic", "[::1]:9099", "codecs", "group848")


SCENARIOS: dict[str, Callable[[], None]] = {
    "throttle-3.9.2": throttle,
    "too-old-4.4.0": too_old,
    "too-new-0.10.1.1": too_new,
    "ipv6-4.4.0": ipv6,
}
