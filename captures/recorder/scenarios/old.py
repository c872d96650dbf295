"""Brokers that need ZooKeeper: their controller's traffic, and the clients and tools of their time."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from recorder.java import compiled, run_tool
from recorder.sniffer import Recording
from recorder.stage import java_client, recording
from recorder.zookeeper import ZookeeperCluster

NET = {
    "0.8.2.2": "127.9.8",
    "0.10.1.1": "127.9.10",
    "2.0.1": "127.9.20",
    "2.6.3": "127.9.26",
    "3.3.2": "127.9.34",
    "3.9.2": "127.9.38",
}
_LINES = "".join(f'{{"order": {number}, "note": "{"ab" * 40}"}}\n' for number in range(5))
TRANSACTIONS = {
    "transaction.state.log.num.partitions": "2",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "group.initial.rebalance.delay.ms": "500",
}
_CODECS = {"0.10.1.1": "none,gzip,snappy,lz4", "2.0.1": "none,gzip,snappy,lz4", "2.6.3": "none,gzip,snappy,lz4,zstd"}


def _tool(brokers: ZookeeperCluster, name: str, *arguments: str, stdin: str | None = None, timeout: float = 60) -> None:
    printed = run_tool(brokers.version, name, *arguments, stdin=stdin, timeout=timeout)
    print(f"-- {name}: {printed.strip()[:500]}", flush=True)


def _topics(brokers: ZookeeperCluster) -> None:
    create = ("--zookeeper", brokers.zookeeper, "--create", "--topic")
    _tool(brokers, "kafka.admin.TopicCommand", *create, "orders", "--partitions", "2", "--replication-factor", "2")
    _tool(brokers, "kafka.admin.TopicCommand", *create, "scratch", "--replica-assignment", "1,1")


def _move(brokers: ZookeeperCluster) -> None:
    """Move a partition to the other broker, elect preferred leaders, then delete the topic."""
    plan = {"version": 1, "partitions": [{"topic": "scratch", "partition": 0, "replicas": [2]}]}
    file = Path(brokers.folder) / "plan.json"
    file.write_text(json.dumps(plan))
    keeper = ("--zookeeper", brokers.zookeeper)
    move = (*keeper, "--reassignment-json-file", str(file), "--execute")
    _tool(brokers, "kafka.admin.ReassignPartitionsCommand", *move)
    time.sleep(3)
    _tool(brokers, "kafka.admin.PreferredReplicaLeaderElectionCommand", *keeper)
    time.sleep(1)
    _tool(brokers, "kafka.admin.TopicCommand", *keeper, "--delete", "--topic", "scratch")
    time.sleep(3)


def _leave(brokers: ZookeeperCluster) -> None:
    """A controlled shutdown: of the second broker, as the first is usually the controller."""
    brokers.nodes[2].stop()
    time.sleep(1)
    brokers.nodes[1].stop()


def _all_traffic(version: str, told: str) -> Recording:
    comment = f"two brokers of Kafka {version} with ZooKeeper, {told}; all traffic from start to stop"
    return recording(f"zookeeper-{version}", f"net {NET[version]}.0/24", comment)


def kafka_0_8() -> None:
    """The Scala clients of 0.8.2: offsets in Kafka and in ZooKeeper, every codec that there was."""
    version = "0.8.2.2"
    with ZookeeperCluster(version, NET[version]) as brokers, _all_traffic(version, "its own producers and consumers"):
        brokers.start()
        _topics(brokers)
        to = ("--broker-list", brokers.bootstrap, "--topic", "orders")
        producer = "kafka.tools.ConsoleProducer"
        for codec in ("gzip", "snappy", "lz4"):
            _tool(brokers, producer, *to, "--compression-codec", codec, "--request-required-acks", "1", stdin=_LINES)
        _tool(brokers, producer, *to, "--request-required-acks", "0", stdin=_LINES)
        _tool(brokers, producer, *to, "--request-required-acks", "-1", stdin=_LINES)
        _tool(brokers, producer, *to, "--new-producer", stdin=_LINES)
        config = Path(brokers.folder) / "consumer.properties"
        config.write_text("group.id=old-group\noffsets.storage=kafka\ndual.commit.enabled=true\nfetch.wait.max.ms=200\n")
        read = ("--zookeeper", brokers.zookeeper, "--topic", "orders", "--from-beginning", "--max-messages", "20")
        _tool(brokers, "kafka.tools.ConsoleConsumer", *read, "--consumer.config", str(config))
        _tool(brokers, "kafka.tools.ConsumerOffsetChecker", "--zookeeper", brokers.zookeeper, "--group", "old-group")
        _tool(brokers, "kafka.tools.GetOffsetShell", *to, "--time", "-1")
        _tool(brokers, "kafka.tools.SimpleConsumerShell", *to, "--partition", "0", "--no-wait-at-logend")
        _move(brokers)
        _leave(brokers)


def zookeeper(version: str) -> None:
    """The Java clients of the brokers' own version, and some of their tools."""
    config = TRANSACTIONS if version != "0.10.1.1" else {}
    told = f"kafka-clients and tools {version}"
    with ZookeeperCluster(version, NET[version], config=config) as brokers, _all_traffic(version, told):
        brokers.start()
        _topics(brokers)
        codecs = f"codecs={_CODECS[version]}"
        path = compiled(version, "Steps", "OldClient")
        steps = (codecs, "codecs", "acks", "group", "offsets")
        print(run_tool(version, "OldClient", brokers.bootstrap, *steps, path=path))
        server = ("--bootstrap-server", brokers.bootstrap)
        if version == "0.10.1.1":
            groups: tuple[str, ...] = ("--new-consumer", *server)
            keeper = ("--zookeeper", brokers.zookeeper, "--topic", "orders", "--from-beginning", "--max-messages", "20")
            _tool(brokers, "kafka.tools.ConsoleConsumer", *keeper)
        else:
            groups = server
            path = compiled(version, "Steps", "OldTransactions")
            print(run_tool(version, "OldTransactions", brokers.bootstrap, "transactions", path=path))
            _tool(brokers, "kafka.admin.LogDirsCommand", *server, "--describe", "--topic-list", "orders")
            _tool(brokers, "kafka.admin.BrokerApiVersionsCommand", *server)
        _tool(brokers, "kafka.admin.ConsumerGroupCommand", *groups, "--describe", "--group", "java-group")
        _tool(brokers, "kafka.admin.ConsumerGroupCommand", *groups, "--list")
        _move(brokers)
        _leave(brokers)


def last_zookeeper(version: str) -> None:
    """The last versions with ZooKeeper: brokers already forward requests to the controller."""
    told = "kafka-clients 3.9.2"
    with ZookeeperCluster(version, NET[version], config=TRANSACTIONS) as brokers, _all_traffic(version, told):
        brokers.start()
        java_client("3.9.2", "AdminTour", brokers.bootstrap, "topics", "moves")
        java_client("3.9.2", "Traffic", brokers.bootstrap, "transactions")
        java_client("3.9.2", "AdminTour", brokers.bootstrap, "delete")
        time.sleep(2)
        _leave(brokers)


def administration(version: str) -> None:
    """A newer administrator and newer clients, which speak the versions that the old brokers know."""
    net = NET[version]
    authorizer = "kafka.security.auth.SimpleAclAuthorizer" if version < "2.4" else "kafka.security.authorizer.AclAuthorizer"
    config = TRANSACTIONS | {"authorizer.class.name": authorizer, "super.users": "User:ANONYMOUS"}
    comment = (
        f"administration, producers and groups of kafka-clients 3.9.2 with two brokers of Kafka {version}; client connections"
    )
    with ZookeeperCluster(version, net, config=config) as brokers:
        brokers.start()
        # Brokers and clients share the listener here, so the filter leaves older connections out.
        with recording(f"admin-{version}", f"net {net}.0/24", comment, whole_connections=True):
            steps = ("topics", "configs", "acls", "quotas", "scram", "moves", "log-dirs", "features")
            java_client("3.9.2", "AdminTour", brokers.bootstrap, *steps)
            java_client("3.9.2", "Traffic", brokers.bootstrap, "codecs", "acks", "transactions", "group")
            java_client("3.9.2", "AdminTour", brokers.bootstrap, "records", "groups", "transactions", "delete")


SCENARIOS: dict[str, Callable[[], None]] = {
    "zookeeper-0.8.2.2": kafka_0_8,
    **{f"zookeeper-{version}": partial(zookeeper, version) for version in ("0.10.1.1", "2.0.1", "2.6.3")},
    **{f"zookeeper-{version}": partial(last_zookeeper, version) for version in ("3.3.2", "3.9.2")},
    **{f"admin-{version}": partial(administration, version) for version in ("2.0.1", "2.6.3")},
}
