"""Holds librdkafka's in-process mock cluster open: prints its addresses, ends with its input."""

from __future__ import annotations

import sys

from confluent_kafka import Producer

BROKERS = 3


def main() -> None:
    """Print ``host:port,...`` of the mock brokers, then wait for the end of standard input."""
    holder = Producer({"bootstrap.servers": "mock", "test.mock.num.brokers": BROKERS})
    brokers = holder.list_topics(timeout=20).brokers.values()
    print(",".join(f"{broker.host}:{broker.port}" for broker in brokers), flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
