"""Scenario steps for kafka-python: ``kafka_python_client.py BOOTSTRAP [key=value...] STEP...``."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition
from kafka.admin import NewTopic
from kafka.errors import KafkaError
from kafka.structs import OffsetAndMetadata

CODECS = (None, "gzip", "snappy", "lz4", "zstd")
TOPIC = "orders-kp"
Config = dict[str, Any]
FETCH_WAIT_MS = 100


def topic(config: Config) -> None:
    """Create the topic of the other steps."""
    admin = KafkaAdminClient(**config, client_id="kp-admin")
    admin.create_topics([NewTopic(TOPIC, 3, 1)])
    admin.close()


def _send(count: int, label: str, **config: Any) -> None:
    headers = [] if config.pop("headers", "") == "none" else [("source", b"kafka-python")]
    producer = KafkaProducer(**config, linger_ms=20)
    for number in range(count):
        producer.send(
            TOPIC,
            key=f"{label}-{number}".encode(),
            value=f'{{"order": {number}, "codec": "{label}", "note": "{"ab" * 40}"}}'.encode(),
            headers=headers,
        )
    producer.flush(20)
    producer.close()


def produce(config: Config) -> None:
    """One producer per codec."""
    for codec in CODECS:
        _send(5, str(codec), client_id=f"kp-{codec}", compression_type=codec, **config)


def acks(config: Config) -> None:
    """One producer each with acks 0, 1 and all."""
    for level in (0, 1, "all"):
        plain = {"enable_idempotence": False} if level != "all" else {}
        _send(2, f"acks-{level}", client_id=f"kp-acks-{level}", acks=level, **plain, **config)


def _consumer(config: Config, name: str, **extra: Any) -> KafkaConsumer:
    own = {"group_id": "kp-group", "auto_offset_reset": "earliest", "enable_auto_commit": False}
    return KafkaConsumer(TOPIC, client_id=name, fetch_max_wait_ms=FETCH_WAIT_MS, **config, **own | extra)


def _drain(*consumers: KafkaConsumer, rounds: int = 25) -> int:
    got = 0
    for _ in range(rounds):
        for consumer in consumers:
            got += sum(len(records) for records in consumer.poll(timeout_ms=150).values())
    return got


def _close(consumer: KafkaConsumer) -> None:
    # Paused partitions are not fetched: the polls take in what is still outstanding.
    consumer.pause(*consumer.assignment())
    _drain(consumer, rounds=4)
    consumer.close()


def member(config: Config) -> None:
    """A single member of a group: join, commit, fetch offsets, leave."""
    consumer = _consumer(config, "kp-consumer")
    print("consumer:", _drain(consumer))
    consumer.commit()
    print([consumer.committed(partition) for partition in sorted(consumer.assignment())])
    _close(consumer)


def offsets(config: Config) -> None:
    """Earliest and latest offsets, and offsets by time stamp."""
    consumer = KafkaConsumer(client_id="kp-offsets", **config)
    partitions = [TopicPartition(TOPIC, number) for number in range(2)]
    print(consumer.beginning_offsets(partitions), consumer.end_offsets(partitions))
    print(consumer.offsets_for_times({partitions[0]: 1_600_000_000_000}))
    consumer.close()


def metadata(config: Config) -> None:
    """Cluster and topic metadata."""
    admin = KafkaAdminClient(**config, client_id="kp-admin")
    print(admin.list_topics())
    print(admin.describe_topics([TOPIC]))
    print(admin.describe_cluster())
    admin.close()


def groups(config: Config) -> None:
    """List and describe groups, then read their offsets as an administrator."""
    admin = KafkaAdminClient(**config, client_id="kp-admin")
    print(admin.list_groups())
    print(admin.describe_groups(["kp-group"]))
    print(admin.list_group_offsets(["kp-group"]))
    admin.close()


def transactions(config: Config) -> None:
    """A committed transaction with consumed offsets, and an aborted one."""
    producer = KafkaProducer(client_id="kp-transactional", transactional_id="kp-payments", **config)
    producer.init_transactions()
    producer.begin_transaction()
    producer.send(TOPIC, b"committed", key=b"tx")
    producer.send_offsets_to_transaction({TopicPartition(TOPIC, 0): OffsetAndMetadata(1, "", -1)}, "kp-tx-group")
    producer.commit_transaction()
    producer.begin_transaction()
    producer.send(TOPIC, b"aborted", key=b"tx")
    producer.flush(20)
    producer.abort_transaction()
    producer.close()


def committed(config: Config) -> None:
    """Read what was committed."""
    consumer = _consumer(config, "kp-tx-reader", group_id="kp-tx-readers", isolation_level="read_committed")
    print(_drain(consumer, rounds=30), "committed records")
    _close(consumer)


STEPS: dict[str, Callable[[Config], None]] = {
    step.__name__: step for step in (topic, produce, acks, member, offsets, metadata, groups, transactions, committed)
}


def main(bootstrap: str, *words: str) -> None:
    """Run the steps in order, all with the same extra configuration."""
    config: Config = {"bootstrap_servers": bootstrap}
    config |= dict(word.split("=", 1) for word in words if "=" in word)
    headers = config.pop("headers", None)
    if "api_version" in config:
        config["api_version"] = tuple(int(part) for part in config["api_version"].split("."))
    for word in words:
        if "=" not in word:
            print(f"-- {word}", flush=True)
            try:
                needs_headers = headers is not None and word in ("produce", "acks")
                STEPS[word](config | ({"headers": headers} if needs_headers else {}))
            except (KafkaError, ValueError) as error:
                print(f"{word}: {error!r}")


if __name__ == "__main__":
    main(*sys.argv[1:])
