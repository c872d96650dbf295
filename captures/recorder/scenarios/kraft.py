"""Three-node KRaft clusters: controllers and brokers among themselves, and a leader that dies under load."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from functools import partial

from recorder.kraft import KraftCluster
from recorder.stage import java_client, recording

_CLIENTS = {"4.4.0": "4.4.0", "3.9.2": "3.9.2", "3.3.2": "3.9.2"}
_NET = {"4.4.0": "127.9.44", "3.9.2": "127.9.39", "3.3.2": "127.9.33"}


def cluster(version: str) -> None:
    """From the first vote to the last heartbeat, with a reassignment and an election in between."""
    jars = _CLIENTS[version]
    net = _NET[version]
    comment = f"three combined KRaft nodes of Kafka {version}, kafka-clients {jars}; all traffic from start to stop"
    with KraftCluster(version, net, dynamic=version >= "3.9") as nodes:
        with recording(f"cluster-{version}", f"net {net}.0/24", comment) as all_traffic:
            nodes.start()
            time.sleep(2)
            java_client(jars, "AdminTour", nodes.bootstrap, "topics", "moves")
            java_client(jars, "Traffic", nodes.bootstrap, "transactions")
            for number in sorted(nodes.nodes, reverse=True):
                nodes.nodes[number].stop(timeout=20)
            all_traffic.stop()


def failover(version: str) -> None:
    """A leader killed under load, and back again."""
    jars = _CLIENTS[version]
    net = _NET[version]
    comment = f"a node of three of Kafka {version} killed and restarted under load, kafka-clients {jars}; client connections"
    with KraftCluster(version, net, config={"broker.session.timeout.ms": "6000"}) as nodes:
        nodes.start()
        time.sleep(3)
        java_client(jars, "AdminTour", nodes.bootstrap, "topics")
        java_client(jars, "Traffic", nodes.bootstrap, "transactions")
        with recording(f"failover-{version}", f"net {net}.0/24 and port 9092", comment, nanoseconds=True):
            load = threading.Thread(
                target=java_client, args=(jars, "Traffic", nodes.bootstrap, "seconds=40", "topic=orders", "load")
            )
            load.start()
            time.sleep(10)
            nodes.nodes[2].kill()
            time.sleep(12)
            nodes.nodes[2].start()
            nodes.nodes[2].wait()
            load.join()


SCENARIOS: dict[str, Callable[[], None]] = {
    **{f"cluster-{version}": partial(cluster, version) for version in ("4.4.0", "3.9.2")},
    "failover-4.4.0": partial(failover, "4.4.0"),
}
