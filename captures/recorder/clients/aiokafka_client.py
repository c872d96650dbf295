"""Scenario steps for aiokafka: ``aiokafka_client.py BOOTSTRAP [key=value...] STEP...``."""

from __future__ import annotations

import asyncio
import ssl
import sys
from collections.abc import Awaitable, Callable
from typing import Any

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.errors import KafkaError

CODECS = (None, "gzip", "snappy", "lz4", "zstd")
TOPIC = "orders-aio"
Config = dict[str, Any]
FETCH_WAIT_MS = 100


async def topic(config: Config) -> None:
    """Create the topic of the other steps."""
    admin = AIOKafkaAdminClient(**config, client_id="aio-admin")
    await admin.start()
    await admin.create_topics([NewTopic(TOPIC, 3, 1)])
    await admin.close()


async def _send(count: int, label: str, **config: Any) -> None:
    async with AIOKafkaProducer(**config, linger_ms=20) as producer:
        sends = [
            await producer.send(
                TOPIC,
                key=f"{label}-{number}".encode(),
                value=f'{{"order": {number}, "codec": "{label}", "note": "{"ab" * 40}"}}'.encode(),
                headers=[("source", b"aiokafka")],
            )
            for number in range(count)
        ]
        await asyncio.gather(*sends)


async def produce(config: Config) -> None:
    """One producer per codec."""
    for codec in CODECS:
        await _send(5, str(codec), client_id=f"aio-{codec}", compression_type=codec, **config)


async def acks(config: Config) -> None:
    """One producer each with acks 0, 1 and all."""
    for level in (0, 1, "all"):
        await _send(2, f"acks-{level}", client_id=f"aio-acks-{level}", acks=level, **config)


def _consumer(config: Config, name: str, **extra: Any) -> AIOKafkaConsumer:
    own = {"group_id": "aio-group", "auto_offset_reset": "earliest", "enable_auto_commit": False}
    return AIOKafkaConsumer(TOPIC, client_id=name, fetch_max_wait_ms=FETCH_WAIT_MS, **config, **own | extra)


async def _drain(*consumers: AIOKafkaConsumer, rounds: int = 20) -> int:
    got = 0
    for _ in range(rounds):
        for consumer in consumers:
            batches = await consumer.getmany(timeout_ms=100)
            got += sum(len(records) for records in batches.values())
    return got


async def _stop(consumer: AIOKafkaConsumer) -> None:
    # Paused partitions are not fetched: what is still outstanding is answered meanwhile.
    consumer.pause(*consumer.assignment())
    await asyncio.sleep(4 * FETCH_WAIT_MS / 1000)
    await consumer.stop()


async def member(config: Config) -> None:
    """A single member of a group: join, commit, fetch offsets, leave."""
    consumer = _consumer(config, "aio-consumer")
    await consumer.start()
    print("consumer:", await _drain(consumer))
    await consumer.commit()
    print([await consumer.committed(partition) for partition in consumer.assignment()])
    await _stop(consumer)


async def group(config: Config) -> None:
    """Two members of a group: join, rebalance, commit, fetch offsets, leave."""
    first = _consumer(config, "aio-consumer-1")
    await first.start()
    print("first consumer:", await _drain(first))
    second = _consumer(config, "aio-consumer-2")
    await second.start()
    print("both consumers:", await _drain(first, second))
    await first.commit()
    print([await first.committed(partition) for partition in first.assignment()])
    await _stop(second)
    await _drain(first)
    await _stop(first)


async def offsets(config: Config) -> None:
    """Earliest and latest offsets, and offsets by time stamp."""
    consumer = AIOKafkaConsumer(client_id="aio-offsets", **config)
    await consumer.start()
    partitions = [TopicPartition(TOPIC, number) for number in range(2)]
    print(await consumer.beginning_offsets(partitions), await consumer.end_offsets(partitions))
    print(await consumer.offsets_for_times({partitions[0]: 1_600_000_000_000}))
    await consumer.stop()


async def metadata(config: Config) -> None:
    """Cluster and topic metadata."""
    admin = AIOKafkaAdminClient(**config, client_id="aio-admin")
    await admin.start()
    print(await admin.list_topics())
    print(await admin.describe_topics([TOPIC]))
    print(await admin.describe_cluster())
    await admin.close()


async def groups(config: Config) -> None:
    """List and describe groups, then read their offsets as an administrator."""
    admin = AIOKafkaAdminClient(**config, client_id="aio-admin")
    await admin.start()
    print(await admin.list_consumer_groups())
    await admin.describe_consumer_groups(["aio-group"])
    print(await admin.list_consumer_group_offsets("aio-group"))
    await admin.close()


async def transactions(config: Config) -> None:
    """A committed transaction with consumed offsets, and an aborted one."""
    producer = AIOKafkaProducer(client_id="aio-transactional", transactional_id="aio-payments", **config)
    async with producer:
        async with producer.transaction():
            await producer.send_and_wait(TOPIC, b"committed", key=b"tx")
            await producer.send_offsets_to_transaction({TopicPartition(TOPIC, 0): 1}, "aio-tx-group")
        await producer.begin_transaction()
        await producer.send_and_wait(TOPIC, b"aborted", key=b"tx")
        await producer.abort_transaction()


async def committed(config: Config) -> None:
    """Read what was committed."""
    consumer = _consumer(config, "aio-tx-reader", group_id="aio-tx-readers", isolation_level="read_committed")
    await consumer.start()
    print(await _drain(consumer), "committed records")
    await _stop(consumer)


STEPS: dict[str, Callable[[Config], Awaitable[None]]] = {
    step.__name__: step for step in (topic, produce, acks, member, group, offsets, metadata, groups, transactions, committed)
}


async def main(bootstrap: str, *words: str) -> None:
    """Run the steps in order, all with the same extra configuration."""
    config: Config = {"bootstrap_servers": bootstrap}
    config |= dict(word.split("=", 1) for word in words if "=" in word)
    if "ca" in config:
        config["ssl_context"] = ssl.create_default_context(cafile=config.pop("ca"))
    for word in words:
        if "=" not in word:
            print(f"-- {word}", flush=True)
            try:
                await STEPS[word](config)
            except (KafkaError, OSError) as error:
                print(f"{word}: {error!r}")


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
