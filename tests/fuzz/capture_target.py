"""Whole capture files through the whole dissection."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path

from kdissect.dissect import Dissection, Options
from kdissect.stream.limits import DEFAULT
from kdissect.wire.json import dumps
from tests.support.disturb import Raw, disturb, load
from tests.support.packets import Packet, pcap, pcapng

CAPTURES = Path(__file__).parents[2] / "captures"
NAMES = ("mock-librdkafka", "mock-aiokafka", "zookeeper-0.8.2.2", "groups-4.4.0", "share-4.4.0", "produce-3.9.2")
PACKETS = (2, 3, 4, 6, 10)
"""Packets of a window: most are small, for small ones are quick."""
SMALL = replace(DEFAULT, message=1 << 16, held=1 << 16, backlog=1 << 15, total=1 << 20, pending=50)


def captures(data: bytes) -> None:
    """Nothing is raised, every row can be written, every byte accounted for, and it takes no longer than a second a megabyte."""
    handle = os.memfd_create("capture")
    started = time.process_time()
    try:
        os.write(handle, data)
        limits = SMALL if len(data) % 3 == 0 else DEFAULT
        options = Options(
            limits=limits,
            chunk_bytes=(1 << 16) if len(data) % 4 else 1 + len(data) // 3,
            records="full" if len(data) % 2 else "heads",
        )
        dissection = Dissection([f"/proc/self/fd/{handle}"], options, lambda warning: None)
        for batch in dissection.batches():
            for exchange in batch:
                dumps(exchange.to_contract())
    finally:
        os.close(handle)
    for connection in dissection.connections:
        assert connection.protocol != "kafka" or connection.ledger.balanced, connection
    assert time.process_time() - started < 1 + len(data) / 1e6, "too slow"


@cache
def _packets(name: str) -> list[Raw]:
    return load(CAPTURES / f"{name}.pcapng").packets


def capture_seeds() -> Iterator[bytes]:
    """Windows of real captures, whole and disturbed, in both formats."""
    rng = random.Random(1)
    for name in NAMES:
        packets = _packets(name)
        for _ in range(40):
            start = rng.randrange(len(packets) - max(PACKETS))
            window = packets[start : start + rng.choice(PACKETS)]
            if rng.random() < 0.5:
                window = disturb(window, rng, 0.05, 0.05, 0.1)
            built = [Packet(raw.data[:1500], raw.time_ns, raw.length) for raw in window]
            link = window[0].link if window else 1
            yield pcap(built, link=link) if rng.random() < 0.6 else pcapng(built, link=link)
