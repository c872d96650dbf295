"""Clients and administrators against a three-node KRaft cluster, one capture per subject."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

from recorder.java import compiled, run_tool
from recorder.kraft import KraftCluster
from recorder.scenarios.kraft import CLIENTS, NET
from recorder.sniffer import Recording
from recorder.stage import java_client, recording

_AUTHORIZER = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",
}
_TELEMETRY = {"metric.reporters": "TelemetryReceiver"}
_ADMIN = ("topics", "configs", "acls", "quotas", "scram", "moves", "log-dirs", "cluster", "features", "records")
_GROUPS = ("group", "group848", "offsets", "fetch-session")


# The consumer protocol of KIP-848 must be asked for before Kafka 4.
_CONSUMER_PROTOCOL = {"group.coordinator.rebalance.protocols": "classic,consumer"}


def tour(version: str, *, kraft4: bool) -> None:
    """All subjects of one version; ``kraft4`` adds what only Kafka 4 has."""
    jars = CLIENTS[version]
    # Client metrics came with Kafka 3.7.
    telemetry = version > "3.7"
    path = compiled(version, "TelemetryReceiver") if telemetry else None
    config = _AUTHORIZER | (_TELEMETRY if telemetry else {}) | ({} if kraft4 else _CONSUMER_PROTOCOL)
    with KraftCluster(version, NET[version], config=config, dynamic=kraft4, path=path) as nodes:

        def clients(subject: str, told: str) -> Recording:
            comment = f"{told}; three KRaft nodes of Kafka {version}, kafka-clients {jars}; client connections"
            return recording(f"{subject}-{version}", f"net {NET[version]}.0/24 and port 9092", comment)

        told = f"what brokers of Kafka {version} say to each other on their own listener, during all captures of this run"
        with recording(f"brokers-{version}", f"net {NET[version]}.0/24 and port 9094", told):
            nodes.start()
            time.sleep(3)
            with clients("admin", "administration"):
                java_client(jars, "AdminTour", nodes.bootstrap, *_ADMIN)
            with clients(
                "produce", "producers with every codec and acks, oversized, transactions committed, aborted and left open"
            ):
                java_client(jars, "Traffic", nodes.bootstrap, "codecs", "acks", "oversized", "transactions")
                java_client(jars, "Traffic", nodes.bootstrap, "hanging-transaction")
                java_client(jars, "AdminTour", nodes.bootstrap, "transactions")
            with clients("groups", "classic and new consumer groups with a rebalance, list offsets, fetch sessions"):
                java_client(jars, "Traffic", nodes.bootstrap, *_GROUPS)
                java_client(jars, "AdminTour", nodes.bootstrap, "groups", "delete")
            if telemetry:
                with clients("telemetry", "client metrics (KIP-714)"):
                    java_client(jars, "AdminTour", nodes.bootstrap, "telemetry")
                    java_client(jars, "Traffic", nodes.bootstrap, "seconds=4", "load")
            if kraft4:
                with clients("share", "a share group of two members"):
                    share = compiled(jars, "Steps", "ShareTour")
                    steps = ("prepare", "consume", "offsets", "resources")
                    print(run_tool(jars, "ShareTour", nodes.bootstrap, *steps, path=share))
                with clients("streams", "a streams group (KIP-1071) of kafka-streams 4.3.1, and a topology update"):
                    streams = compiled("streams-4.3.1", "Steps", "StreamsTour")
                    print(run_tool("streams-4.3.1", "StreamsTour", nodes.bootstrap, "count", "delete", path=streams))
                    push = compiled(jars, "Steps", "TopologyPush")
                    print(run_tool(jars, "TopologyPush", nodes.bootstrap, "push", path=push))
            for node in nodes.nodes.values():
                node.stop(timeout=20)


_EARLY_SHARE = {
    "unstable.api.versions.enable": "true",
    "unstable.feature.versions.enable": "true",
    "group.coordinator.rebalance.protocols": "classic,consumer,share",
    "group.share.enable": "true",
}


def early_share() -> None:
    """Share groups in the early-access versions that only Kafka 4.0 speaks."""
    version = "4.0.1"
    net = NET[version]
    comment = f"a share group in early access, kafka-clients {version}; three KRaft nodes of Kafka {version}; clients and brokers"
    ports = f"net {net}.0/24 and (port 9092 or port 9094)"
    with KraftCluster(version, net, config=_EARLY_SHARE) as nodes, recording(f"share-{version}", ports, comment):
        nodes.start()
        time.sleep(3)
        java_client("3.9.2", "AdminTour", nodes.bootstrap, "topics")
        java_client("3.9.2", "Traffic", nodes.bootstrap, "codecs=none", "codecs")
        path = compiled(version, "Steps", "EarlyShare")
        print(run_tool(version, "EarlyShare", nodes.bootstrap, "consume", path=path))
        for node in nodes.nodes.values():
            node.stop(timeout=20)


SCENARIOS: dict[str, Callable[[], None]] = {
    "tour-4.4.0": partial(tour, "4.4.0", kraft4=True),
    "share-4.0.1": early_share,
    "tour-3.9.2": partial(tour, "3.9.2", kraft4=False),
    "tour-3.3.2": partial(tour, "3.3.2", kraft4=False),
}
