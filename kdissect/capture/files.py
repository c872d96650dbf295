"""Reading one capture, chunk by chunk, whatever its format."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from kdissect.capture import pcap, pcapng
from kdissect.capture.packets import CaptureFile, Columns, Parser
from kdissect.capture.sources import Source
from kdissect.columns import SLACK
from kdissect.model import UNSTAMPED, Bytes, PacketBatch

_LEAST_ROOM = 64


class NotACapture(Exception):
    """The input is no capture that can be read; the message is half a sentence that goes behind its name."""


def read_packets(
    source: Source,
    info: CaptureFile,
    index: int,
    chunk_bytes: int,
    warn: Callable[[str], None],
    secrets: list[tuple[int, bytes]],
) -> Iterator[PacketBatch]:
    """The packets of the capture in ``source``, in file order.

    ``info`` is filled along the way, ``index`` goes into the batches' ``file`` column.  Every batch has a buffer of
    its own with :data:`SLACK` zero bytes behind the packets.

    Raises NotACapture, before the first batch, when it is none.
    """
    parser: Parser | None = None
    data: Bytes = np.zeros(0, np.uint8)
    lo = hi = offset = 0
    skip = 0
    while True:
        tail = hi - lo
        room = max(chunk_bytes, 2 * tail, _LEAST_ROOM)
        fresh: Bytes = np.empty(room + SLACK, np.uint8)
        fresh[:tail] = data[lo:hi]
        offset += lo
        data, lo, hi = fresh, 0, tail
        try:
            count = source.read_into(data.data[hi:room])
        except OSError as error:
            if parser is None:
                raise
            info.truncated = True
            warn(f"{info.name}: cannot be read further after packet {parser.number}: {error.strerror or error}")
            return
        final = count == 0
        hi += count
        data[hi : hi + SLACK] = 0
        if skip:
            passed = min(skip, hi)
            lo, skip = passed, skip - passed
            if skip and not final:
                continue
        if parser is None:
            if hi < 4 and not final:
                continue
            parser = _parser(data[:hi].tobytes()[:4], info, warn)
        parsed = parser.parse(data, lo, hi, offset)
        if isinstance(parser, pcapng.PcapngParser) and parser.secrets:
            secrets += parser.secrets
            parser.secrets.clear()
        info.dropped = parser.dropped
        if parsed.packets is not None:
            yield _batch(parsed.packets, info, index, data[: hi + SLACK])
        lo = min(parsed.next, hi)
        skip += max(0, parsed.next - hi)
        if parsed.problem:
            info.truncated = True
            warn(f"{info.name}: {parsed.problem}; read up to there")
            return
        if final:
            if hi > lo or skip:
                info.truncated = True
                warn(f"{info.name}: cut off after packet {parser.number}, at byte {offset + hi}; read to its last whole packet")
            return


def _parser(head: bytes, info: CaptureFile, warn: Callable[[str], None]) -> Parser:
    """The parser for a capture that begins with ``head``."""
    if not head:
        raise NotACapture("is empty")

    def name_and_warn(text: str) -> None:
        warn(f"{info.name}: {text}")

    parser: Parser
    if pcap.byte_order(head):
        parser = pcap.PcapParser(name_and_warn)
    elif head == pcapng.MAGIC:
        parser = pcapng.PcapngParser(name_and_warn)
    else:
        raise NotACapture(f"not a capture (pcap or pcapng expected; the file begins with {head.hex()})")
    info.format = parser.format
    info.interfaces = parser.interfaces
    return parser


def _batch(packets: Columns, info: CaptureFile, index: int, data: Bytes) -> PacketBatch:
    count = len(packets.number)
    info.packets += count
    stamped = packets.time_ns[packets.time_ns != UNSTAMPED]
    if len(stamped):
        first, last = int(stamped.min()), int(stamped.max())
        info.first_time_ns = first if info.first_time_ns is None else min(first, info.first_time_ns)
        info.last_time_ns = last if info.last_time_ns is None else max(last, info.last_time_ns)
    return PacketBatch(
        file=np.full(count, index, np.int32),
        number=packets.number,
        time_ns=packets.time_ns,
        start=packets.start,
        captured=packets.captured,
        length=packets.length,
        link=packets.link,
        data=data,
    )
