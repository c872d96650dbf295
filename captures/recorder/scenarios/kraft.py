"""Three-node KRaft clusters: controllers and brokers among themselves, and a leader that dies under load."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable
from functools import partial

from recorder.java import compiled, run_tool
from recorder.kraft import KraftCluster
from recorder.stage import java_client, recording

CLIENTS = {"4.4.0": "4.4.0", "3.9.2": "3.9.2", "3.3.2": "3.9.2"}
NET = {"4.0.1": "127.9.40", "4.4.0": "127.9.44", "3.9.2": "127.9.39", "3.3.2": "127.9.33"}


def cluster(version: str) -> None:
    """From the first vote to the last heartbeat, with a reassignment and an election in between."""
    jars = CLIENTS[version]
    net = NET[version]
    comment = f"three combined KRaft nodes of Kafka {version}, kafka-clients {jars}; all traffic from start to stop"
    with (
        KraftCluster(version, net, dynamic=version >= "3.9") as nodes,
        recording(f"cluster-{version}", f"net {net}.0/24", comment),
    ):
        nodes.start()
        time.sleep(2)
        java_client(jars, "AdminTour", nodes.bootstrap, "topics", "moves")
        java_client(jars, "Traffic", nodes.bootstrap, "transactions")
        for number in sorted(nodes.nodes, reverse=True):
            nodes.nodes[number].stop(timeout=20)


def failover(version: str) -> None:
    """A leader killed under load, and back again."""
    jars = CLIENTS[version]
    net = NET[version]
    comment = f"a node of three of Kafka {version} killed and restarted under load, kafka-clients {jars}; client connections"
    with KraftCluster(version, net, config={"broker.session.timeout.ms": "6000"}) as nodes:
        nodes.start()
        time.sleep(3)
        java_client(jars, "AdminTour", nodes.bootstrap, "led-by-two")
        with recording(f"failover-{version}", f"net {net}.0/24 and port 9092", comment, nanoseconds=True):
            load = threading.Thread(
                target=java_client, args=(jars, "Traffic", nodes.bootstrap, "seconds=32", "topic=led-by-two", "load")
            )
            load.start()
            time.sleep(8)
            nodes.nodes[2].kill()
            time.sleep(9)
            nodes.nodes[2].start()
            nodes.nodes[2].wait()
            load.join()


_EARLY_SNAPSHOTS = {
    "metadata.log.max.snapshot.interval.ms": "4000",
    "metadata.max.retention.ms": "5000",
}
# A controller throws old snapshots and the log before them away once a minute.
_CLEANED_AFTER_S = 70


def quorum(version: str) -> None:
    """A controller joins, becomes a voter and leaves again; a voter moves; the leader resigns."""
    jars = CLIENTS[version]
    net = NET[version]
    comment = f"a changing quorum of Kafka {version} (KIP-853), kafka-clients {jars}; connections opened since it changes"
    with KraftCluster(version, net, config=_EARLY_SNAPSHOTS, dynamic=True) as nodes:
        nodes.start()
        print(f"waiting {_CLEANED_AFTER_S} s for the controllers to clean their logs", flush=True)
        time.sleep(_CLEANED_AFTER_S)
        ports = f"net {net}.0/24 and (port 9092 or port 9093 or port 9095)"
        with recording(f"quorum-{version}", ports, comment, whole_connections=True):
            joining = nodes.add(4, "controller")
            joining.wait()
            time.sleep(6)
            path = compiled(jars, "Steps", "ShareTour")
            words = ("node=4", f"directory={nodes.directory(4)}", f"host={nodes.host(4)}", "voters")
            print(run_tool(jars, "ShareTour", nodes.bootstrap, *words, path=path))
            joining.stop()
            described = java_client(jars, "AdminTour", nodes.bootstrap, "cluster")
            leader = int(re.findall(r"leaderId=(\d)", described)[0])
            moving = leader % 3 + 1
            nodes.nodes[moving].stop()
            nodes.move_controller(moving, 9095)
            nodes.nodes[moving].start()
            nodes.nodes[moving].wait()
            time.sleep(6)
            nodes.nodes[leader].stop()
            time.sleep(3)
            described = java_client(jars, "AdminTour", nodes.bootstrap, "cluster")
            print(run_tool(jars, "ShareTour", nodes.bootstrap, f"node={leader}", "unregister", path=path))


SCENARIOS: dict[str, Callable[[], None]] = {
    **{f"cluster-{version}": partial(cluster, version) for version in ("4.4.0", "3.9.2", "3.3.2")},
    "failover-4.4.0": partial(failover, "4.4.0"),
    "quorum-4.4.0": partial(quorum, "4.4.0"),
}
