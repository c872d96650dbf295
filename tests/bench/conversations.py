"""What Kafka clients and brokers say to each other: realistic messages, drawn from pools encoded once."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from kdissect.wire.records_writer import write_batch
from tests.bench.encode import request, response

Exchange = tuple[bytes, bytes, float]
"""Request, response (both with correlation id 0) and the seconds between them."""

VERSIONS = {
    "new": {
        "ApiVersions": 3, "Metadata": 12, "InitProducerId": 4, "Produce": 9, "Fetch": 16, "FindCoordinator": 4,
        "JoinGroup": 9, "SyncGroup": 5, "Heartbeat": 4, "OffsetCommit": 8, "OffsetFetch": 8, "ListOffsets": 7,
    },
    "old": {
        "ApiVersions": 2, "Metadata": 5, "InitProducerId": 1, "Produce": 7, "Fetch": 11, "FindCoordinator": 2,
        "JoinGroup": 5, "SyncGroup": 3, "Heartbeat": 3, "OffsetCommit": 7, "OffsetFetch": 5, "ListOffsets": 5,
    },
}  # fmt: skip
"""``old``: versions that tshark 4.0 decodes too."""

T0_MS = 1_790_000_000_000


@dataclass(frozen=True)
class Kind:
    """One kind of traffic."""

    name: str
    versions: str
    codecs: tuple[str, ...]
    records: tuple[int, int]
    """Records of a batch, fewest and most."""
    value_bytes: tuple[int, int]
    fetch_batches: tuple[int, int]
    """Batches in a Fetch response."""
    think_s: float
    """Pause of a client between its rounds."""


KINDS = {
    kind.name: kind
    for kind in (
        Kind("chatty", "new", ("none", "none", "lz4"), (1, 4), (60, 200), (0, 2), 0.002),
        Kind("bulk", "new", ("none",), (100, 800), (600, 1400), (1, 2), 0.02),
        Kind("compressed", "new", ("lz4", "zstd", "snappy", "gzip"), (100, 1000), (300, 900), (1, 4), 0.01),
        Kind("chatty-old", "old", ("none", "none", "lz4"), (1, 4), (60, 200), (0, 2), 0.002),
        Kind("bulk-old", "old", ("none",), (100, 800), (600, 1400), (1, 2), 0.02),
    )
}

TOPICS = ["orders", "payments", "clickstream.eu-west-1", "inventory-updates", "audit", "sensor.readings.v2"]


def topic_id(topic: str) -> bytes:
    return random.Random(topic).randbytes(16)


class Messages:
    """Pools of encoded messages for one kind of traffic; the same for the same seed."""

    def __init__(self, kind: Kind, seed: int = 1) -> None:
        self.kind = kind
        self.rng = random.Random(f"{kind.name} {seed}")
        self.version = VERSIONS[kind.versions]
        self.pools: dict[Any, list[Any]] = {}

    def _pool(self, key: Any, make: Any, size: int) -> Any:
        pool = self.pools.setdefault(key, [])
        if len(pool) < size:
            pool.append(make())
            return pool[-1]
        return self.rng.choice(pool)

    def exchange(self, api: str, client_id: str, asked: dict[str, Any], answered: dict[str, Any]) -> tuple[bytes, bytes]:
        version = self.version[api]
        return request(api, version, client_id, asked), response(api, version, answered)

    @cache  # noqa: B019 -- lives as long as one generation
    def _values(self) -> list[bytes]:
        low, high = self.kind.value_bytes
        words = [
            "price",
            "amount",
            "customer",
            "region",
            "checkout",
            "basket",
            "Zürich",
            "2026-11",
            "retry",
            "accepted",
            "pending",
        ]
        out = []
        for number in range(512):
            text = json.dumps({"id": number, "note": " ".join(self.rng.choices(words, k=high // 5))}, ensure_ascii=False)
            out.append(text.encode()[: self.rng.randint(low, high)].decode(errors="ignore").encode())
        return out

    def batch(self) -> bytes:
        """A record batch."""

        def make() -> bytes:
            rng = self.rng
            count, base = rng.randint(*self.kind.records), rng.randrange(10**9)
            records = [
                {
                    "offset": base + index,
                    "timestamp": T0_MS + index,
                    "key": rng.choice((None, b"customer-%06d" % rng.randrange(10**6), rng.randbytes(8))),
                    "value": rng.choice(self._values()),
                    "headers": [{"key": "trace", "value": rng.randbytes(8)}] if rng.random() < 0.1 else [],
                }
                for index in range(count)
            ]
            return write_batch(records, compression=rng.choice(self.kind.codecs))

        made: bytes = self._pool("batch", make, 300 if self.kind.records[1] < 50 else 60)
        return made

    def opening(self, client_id: str) -> Iterator[Exchange]:
        """What every client begins with."""
        versions = [{"api_key": key, "min_version": 0, "max_version": 9} for key in range(60)]
        asked = {"client_software_name": "librdkafka", "client_software_version": "2.5.0"}
        yield *self.exchange("ApiVersions", client_id, asked, {"api_keys": versions}), 0.0005
        topics = [
            {
                "name": topic,
                "topic_id": topic_id(topic),
                "partitions": [
                    {
                        "partition_index": p,
                        "leader_id": p % 3,
                        "leader_epoch": 4,
                        "replica_nodes": [0, 1, 2],
                        "isr_nodes": [0, 1, 2],
                    }
                    for p in range(12)
                ],
            }
            for topic in TOPICS
        ]
        brokers = [{"node_id": n, "host": f"broker-{n}.example", "port": 9092} for n in range(3)]
        answered = {"brokers": brokers, "cluster_id": "x" * 22, "controller_id": 1, "topics": topics}
        yield *self.exchange("Metadata", client_id, {"topics": [{"name": t} for t in TOPICS]}, answered), 0.001

    def produce(self, client_id: str) -> Exchange:
        def make() -> tuple[bytes, bytes]:
            topic, partition = self.rng.choice(TOPICS), self.rng.randrange(12)
            asked = {
                "acks": -1,
                "timeout_ms": 30000,
                "topic_data": [{"name": topic, "partition_data": [{"index": partition, "records": self.batch()}]}],
            }
            error = 6 if self.rng.random() < 0.005 else 0
            partitions = [
                {"index": partition, "error_code": error, "base_offset": self.rng.randrange(10**9), "log_append_time_ms": -1}
            ]
            return self.exchange("Produce", client_id, asked, {"responses": [{"name": topic, "partition_responses": partitions}]})

        return *self._pool(("produce", client_id), make, 60), self.rng.uniform(0.0004, 0.004)

    def fetch(self, client_id: str) -> Exchange:
        def make() -> tuple[bytes, bytes]:
            topic = self.rng.choice(TOPICS)
            named = {"topic": topic} if self.version["Fetch"] < 13 else {"topic_id": topic_id(topic)}
            partitions = [
                {
                    "partition": p,
                    "current_leader_epoch": 4,
                    "fetch_offset": 10**6 + p,
                    "log_start_offset": -1,
                    "partition_max_bytes": 1 << 20,
                }
                for p in range(self.rng.choice((1, 1, 3, 6)))
            ]
            asked = {
                "max_wait_ms": 500, "min_bytes": 1, "max_bytes": 50 << 20, "session_id": 77, "session_epoch": 5,
                "topics": [named | {"partitions": partitions}], "rack_id": "",
            }  # fmt: skip
            data = b"".join(self.batch() for _ in range(self.rng.randint(*self.kind.fetch_batches)))
            told = [
                {
                    "partition_index": 0,
                    "high_watermark": 10**6 + 7,
                    "last_stable_offset": 10**6 + 7,
                    "log_start_offset": 0,
                    "preferred_read_replica": -1,
                    "records": data,
                }
            ]
            responses = [named | {"partitions": told}] if data or self.rng.random() < 0.5 else []
            return self.exchange("Fetch", client_id, asked, {"session_id": 77, "responses": responses})

        return *self._pool(("fetch", client_id), make, 60), self.rng.uniform(0.0003, 0.02)

    def group(self, client_id: str, api: str) -> Exchange:
        """Heartbeat, OffsetCommit and the joining of a group."""

        def make() -> tuple[bytes, bytes]:
            group, member = f"group-{client_id}", f"{client_id}-{self.rng.randbytes(16).hex()}"
            topic = self.rng.choice(TOPICS)
            member_of = {"group_id": group, "generation_id": 3, "member_id": member, "generation_id_or_member_epoch": 3}
            if api == "Heartbeat":
                return self.exchange(api, client_id, member_of, {"error_code": 27 if self.rng.random() < 0.02 else 0})
            if api == "OffsetCommit":
                commits = [{"partition_index": p, "committed_offset": 10**6 + p, "committed_leader_epoch": 4} for p in range(3)]
                told = [{"name": topic, "partitions": [{"partition_index": p} for p in range(3)]}]
                return self.exchange(
                    api, client_id, member_of | {"topics": [{"name": topic, "partitions": commits}]}, {"topics": told}
                )
            if api == "JoinGroup":
                blob = b"\0\1\0\0\0\1" + len(topic).to_bytes(2) + topic.encode() + b"\xff\xff\xff\xff\0\0\0\0"
                asked = {
                    "group_id": group, "session_timeout_ms": 45000, "rebalance_timeout_ms": 300000, "member_id": member,
                    "protocol_type": "consumer", "protocols": [{"name": "range", "metadata": blob}],
                }  # fmt: skip
                told = {"generation_id": 3, "protocol_name": "range", "leader": member, "member_id": member, "members": []}
                return self.exchange(api, client_id, asked, told)
            return self.exchange(
                "FindCoordinator",
                client_id,
                {"coordinator_keys": [group], "key": group},
                {"host": "broker-1.example", "port": 9092},
            )

        return *self._pool((api, client_id), make, 20), self.rng.uniform(0.0002, 0.003)


def rounds(messages: Messages, role: str, client_id: str) -> Iterator[list[Exchange]]:
    """What one connection carries, endlessly: each list is sent back to back and then answered in order."""
    rng = messages.rng
    for opened in messages.opening(client_id):
        yield [opened]
    if role == "producer":
        while True:
            yield [messages.produce(client_id) for _ in range(rng.choice((1, 1, 2, 5)))]
    yield [messages.group(client_id, "FindCoordinator")]
    yield [messages.group(client_id, "JoinGroup")]
    while True:
        draw = rng.random()
        if draw < 0.8:
            yield [messages.fetch(client_id)]
        elif draw < 0.9:
            yield [messages.group(client_id, "Heartbeat")]
        else:
            yield [messages.group(client_id, "OffsetCommit")]
