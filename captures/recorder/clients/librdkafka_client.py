"""Scenario steps for confluent-kafka (librdkafka): ``librdkafka.py BOOTSTRAP [key=value...] STEP...``."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

from confluent_kafka import (
    Consumer,
    ConsumerGroupTopicPartitions,
    IsolationLevel,
    KafkaException,
    Producer,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient, NewTopic, OffsetSpec

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
TOPIC = "orders-rd"
Config = dict[str, str]
# Long enough for every outstanding Fetch to be answered before the connection is closed.
FETCH_WAIT_MS = 100


def _settle() -> None:
    time.sleep(4 * FETCH_WAIT_MS / 1000)


def _send(producer: Producer, label: str, count: int = 5) -> None:
    for number in range(count):
        producer.produce(
            TOPIC,
            key=f"{label}-{number}",
            value=f'{{"order": {number}, "codec": "{label}", "note": "{"ab" * 40}"}}',
            headers={"source": b"librdkafka", "empty": b""},
        )
    producer.flush(20)
    _settle()


def topic(config: Config) -> None:
    """Create the topic of the other steps."""
    admin = AdminClient(config | {"client.id": "rd-admin"})
    for future in admin.create_topics([NewTopic(TOPIC, 3, 1)]).values():
        future.result(30)


def produce(config: Config) -> None:
    """One producer per codec."""
    for codec in CODECS:
        own = {"client.id": f"rd-{codec}", "compression.type": codec, "linger.ms": "20"}
        _send(Producer(config | own), codec)


def acks(config: Config) -> None:
    """One producer each with acks 0, 1 and all."""
    for level in ("0", "1", "all"):
        _send(Producer(config | {"client.id": f"rd-acks-{level}", "acks": level}), level, 2)


def idempotent(config: Config) -> None:
    """An idempotent producer."""
    _send(Producer(config | {"client.id": "rd-idempotent", "enable.idempotence": "true"}), "idem")


def _consumer(config: Config, name: str, **extra: str) -> Consumer:
    own = {
        "client.id": name,
        "group.id": "rd-group",
        "auto.offset.reset": "earliest",
        "enable.auto.commit": "false",
        "fetch.wait.max.ms": str(FETCH_WAIT_MS),
    }
    if extra.get("group_protocol") != "consumer":
        own["heartbeat.interval.ms"] = "1000"
    return Consumer(config | own | {k.replace("_", "."): v for k, v in extra.items()})


def _drain(*consumers: Consumer, seconds: float = 25.0, enough: int = 1, each: bool = True) -> int:
    """Poll until every consumer has an assignment and ``enough`` messages came in all."""
    got = 0
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        for consumer in consumers:
            message = consumer.poll(0.1)
            got += message is not None and message.error() is None
        if got >= enough and (not each or all(c.assignment() for c in consumers)):
            break
    return got


def _close(consumer: Consumer) -> None:
    consumer.pause(consumer.assignment())
    _settle()
    consumer.close()


def member(config: Config) -> None:
    """A single member of a classic group: join, commit, fetch offsets, leave."""
    consumer = _consumer(config, "rd-consumer")
    consumer.subscribe([TOPIC])
    print("consumer:", _drain(consumer, enough=10))
    consumer.commit(asynchronous=False)
    print(consumer.committed(consumer.assignment(), timeout=20))
    _close(consumer)


def _group(config: Config, **extra: str) -> None:
    first = _consumer(config, "rd-consumer-1", **extra)
    first.subscribe([TOPIC])
    print("first consumer:", _drain(first))
    second = _consumer(config, "rd-consumer-2", **extra)
    second.subscribe([TOPIC])
    print("both consumers:", _drain(first, second))
    print("assigned:", [len(c.assignment()) for c in (first, second)])
    first.commit(offsets=[TopicPartition(TOPIC, p.partition, 2) for p in first.assignment()], asynchronous=False)
    print(first.committed([TopicPartition(TOPIC, 0), TopicPartition(TOPIC, 1)], timeout=20))
    _close(second)
    _drain(first, seconds=2, enough=1000)
    _close(first)


def group(config: Config) -> None:
    """Two members of a classic group: join, rebalance, commit, fetch offsets, leave."""
    _group(config)


def group848(config: Config) -> None:
    """The same with the consumer protocol of KIP-848."""
    _group(config, group_id="rd-group-848", group_protocol="consumer")


def offsets(config: Config) -> None:
    """Earliest and latest offsets, and offsets by time stamp."""
    consumer = _consumer(config, "rd-offsets")
    print(consumer.get_watermark_offsets(TopicPartition(TOPIC, 0), timeout=20))
    print(consumer.offsets_for_times([TopicPartition(TOPIC, 1, 1_600_000_000_000)], timeout=20))
    consumer.close()
    admin = AdminClient(config | {"client.id": "rd-admin"})
    spec = {TopicPartition(TOPIC, 2): OffsetSpec.max_timestamp()}
    for future in admin.list_offsets(spec, isolation_level=IsolationLevel.READ_COMMITTED).values():
        try:
            print(future.result(20))
        except KafkaException as error:
            print("list offsets:", error)


def metadata(config: Config) -> None:
    """Metadata of a topic and of an unknown one."""
    admin = AdminClient(config | {"client.id": "rd-admin", "allow.auto.create.topics": "false"})
    print(admin.list_topics(TOPIC, timeout=20).topics)
    print(admin.list_topics("no-such-topic", timeout=20).topics)


def cluster(config: Config) -> None:
    """All brokers and topics: librdkafka 2.16 appends three bytes to one of these Metadata requests."""
    admin = AdminClient(config | {"client.id": "rd-admin"})
    print(admin.list_topics(timeout=20).topics.keys())


def groups(config: Config) -> None:
    """List and describe groups, then read their offsets as an administrator."""
    admin = AdminClient(config | {"client.id": "rd-admin"})
    print([g.group_id for g in admin.list_consumer_groups().result(20).valid])
    for future in admin.describe_consumer_groups(["rd-group"]).values():
        print(future.result(20).state)
    for future in admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions("rd-group")]).values():
        print(future.result(20).topic_partitions)


def transactions(config: Config) -> None:
    """A committed transaction with consumed offsets, and an aborted one."""
    own = {"client.id": "rd-transactional", "transactional.id": "rd-payments"}
    producer = Producer(config | own)
    producer.init_transactions(30)
    reader = _consumer(config, "rd-tx-consumer", group_id="rd-tx-group")
    producer.begin_transaction()
    producer.produce(TOPIC, key="tx", value="committed")
    producer.send_offsets_to_transaction([TopicPartition(TOPIC, 0, 1)], reader.consumer_group_metadata(), 30)
    producer.commit_transaction(30)
    reader.close()
    producer.begin_transaction()
    producer.produce(TOPIC, key="tx", value="aborted")
    producer.flush(20)
    producer.abort_transaction(30)
    _settle()


def committed(config: Config) -> None:
    """Read what was committed."""
    consumer = _consumer(config, "rd-tx-reader", group_id="rd-tx-readers", isolation_level="read_committed")
    consumer.subscribe([TOPIC])
    print(_drain(consumer, seconds=6, enough=1000), "committed records")
    _close(consumer)


STEPS: dict[str, Callable[[Config], None]] = {
    step.__name__: step
    for step in (topic, produce, acks, idempotent, member, group, group848, offsets, metadata,
                 groups, transactions, committed, cluster)
}  # fmt: skip


def main(bootstrap: str, *words: str) -> None:
    """Run the steps in order, all with the same extra configuration."""
    config = {"bootstrap.servers": bootstrap, "socket.keepalive.enable": "false"}
    config |= dict(word.split("=", 1) for word in words if "=" in word)
    for word in words:
        if "=" not in word:
            print(f"-- {word}", flush=True)
            try:
                STEPS[word](config)
                _settle()
            except (KafkaException, TimeoutError) as error:
                print(f"{word}: {error!r}")


if __name__ == "__main__":
    main(*sys.argv[1:])
