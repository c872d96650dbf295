"""Reading one capture, chunk by chunk, whatever its format."""

from __future__ import annotations

from collections.abc import Callable, Generator

import numpy as np

from kdissect.capture import pcap, pcapng
from kdissect.capture.compressed import decompressed
from kdissect.capture.convert import converted
from kdissect.capture.packets import CaptureFile, Columns, Parser
from kdissect.capture.sources import Prefixed, Source, fault, open_source, read_head
from kdissect.columns import SLACK
from kdissect.model import UNSTAMPED, Bytes, PacketBatch

_LEAST_ROOM = 64
_HEAD = 4
_FIRST_CHUNK = 1 << 20
_PACKETS_WANTED = 1 << 16
_MAX_WARNINGS = 20


class NotACapture(Exception):
    """The input is no capture that can be read; the message is half a sentence that goes behind its name."""


def read_packets(
    info: CaptureFile,
    index: int,
    chunk_bytes: int,
    warn: Callable[[str], None],
    secrets: list[tuple[int, bytes]],
) -> Generator[PacketBatch]:
    """The packets of the capture named ``info.name``, in file order.

    ``info`` is filled along the way, ``index`` goes into the batches' ``file`` column, ``secrets`` takes decryption
    secrets.  Every batch has a buffer of its own with :data:`SLACK` zero bytes behind the packets.

    Raises, before the first batch, OSError when the file cannot be opened or read, and NotACapture.
    """
    raw = open_source(info.name)
    source: Source = raw
    try:
        source, info.compression = decompressed(raw)
        head = read_head(source, _HEAD)
        parser = _parser(head, info, warn)
        if parser is not None:
            source = Prefixed(head, source)
        else:
            conversion = converted(info.name) if head and not raw.live else None
            if conversion is None:
                raise NotACapture(_not_a_capture(head, info.compression))
            source.close()
            source = conversion
            parser = pcapng.PcapngParser(_naming(info, warn))
            warn(f"{info.name}: not pcap or pcapng; converted by editcap")
        info.format = parser.format
        info.interfaces = parser.interfaces
        yield from _chunks(source, parser, info, index, chunk_bytes, warn, secrets)
    finally:
        source.close()


def _chunks(
    source: Source,
    parser: Parser,
    info: CaptureFile,
    index: int,
    chunk_bytes: int,
    warn: Callable[[str], None],
    secrets: list[tuple[int, bytes]],
) -> Generator[PacketBatch]:
    data: Bytes = np.zeros(0, np.uint8)
    lo = hi = offset = 0
    skip = 0
    wanted = _FIRST_CHUNK
    while True:
        tail = hi - lo
        room = max(min(chunk_bytes, wanted), 2 * tail, _LEAST_ROOM)
        fresh: Bytes = np.empty(room + SLACK, np.uint8)
        fresh[:tail] = data[lo:hi]
        offset += lo
        data, lo, hi = fresh, 0, tail
        try:
            count = source.read_into(data.data[hi:room])
        except OSError as error:
            info.truncated = True
            warn(f"{info.name}: cannot be read further after packet {parser.number}: {fault(error)}")
            return
        final = count == 0
        hi += count
        data[hi : hi + SLACK] = 0
        if skip:
            passed = min(skip, hi)
            lo, skip = passed, skip - passed
            if skip and not final:
                continue
        parsed = parser.parse(data, lo, hi, offset, final)
        if isinstance(parser, pcapng.PcapngParser) and parser.secrets:
            secrets += parser.secrets
            parser.secrets.clear()
        info.dropped = parser.dropped
        if parsed.packets is not None:
            # Columns of many tiny packets take more memory than the packets.
            wanted = max(_FIRST_CHUNK, _PACKETS_WANTED * (hi - lo) // len(parsed.packets.number))
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


def _parser(head: bytes, info: CaptureFile, warn: Callable[[str], None]) -> Parser | None:
    """The parser for a capture that begins with ``head``, ``None`` when there is none for it."""
    if pcap.byte_order(head):
        return pcap.PcapParser(_naming(info, warn))
    if head == pcapng.MAGIC:
        return pcapng.PcapngParser(_naming(info, warn))
    return None


def _naming(info: CaptureFile, warn: Callable[[str], None]) -> Callable[[str], None]:
    """``warn`` with the capture's name in front, for its first faults: a corrupt file may have a million."""
    left = _MAX_WARNINGS

    def name_and_warn(text: str) -> None:
        nonlocal left
        left -= 1
        if left >= 0:
            warn(f"{info.name}: {text}")
        elif left == -1:
            warn(f"{info.name}: further faults in it are not reported one by one")

    return name_and_warn


def _not_a_capture(head: bytes, compression: str | None) -> str:
    inside = f"{compression}-compressed, but inside " if compression else ""
    if not head:
        return f"is {inside}empty"
    return f"{inside}not a capture (pcap or pcapng expected; the file begins with {head.hex()})"


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
