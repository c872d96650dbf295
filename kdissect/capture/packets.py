"""What a capture format's parser finds in a stretch of bytes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

import numpy as np

from kdissect.model import Bytes, Int32s, Int64s

MAX_PACKET = 16 << 20
"""A record that claims more captured bytes is taken for corrupt.

Far above what is seen: tcpdump's largest snap length is 256 KiB, and the largest offloaded TCP packet
(Linux "BIG TCP") half a megabyte.  Bounds the memory that a hostile length can claim.
"""

INT32_MAX = 2**31 - 1


class Columns(NamedTuple):
    """Packets of one capture: the columns of :class:`~kdissect.model.PacketBatch` that its parser knows."""

    number: Int64s
    time_ns: Int64s
    start: Int64s
    captured: Int32s
    length: Int32s
    link: Int32s


class Parsed(NamedTuple):
    """Outcome of parsing one stretch of a capture."""

    packets: Columns | None
    next: int
    """Where parsing goes on; past the end of the stretch when bytes may be passed over unread."""
    problem: str | None
    """Set when nothing behind ``next`` can be read, with the reason."""


@dataclass(slots=True)
class Interface:
    """One capture interface as the file declares it."""

    link: int
    """LINKTYPE_ value."""
    snaplen: int
    """Bytes kept of each packet, 0 for no limit."""
    time_digits: int
    """Digits behind the decimal point that timestamps carry: 6 for microseconds, 9 for nanoseconds; never above 9."""
    name: str | None = None


class Parser(Protocol):
    """Finds the packets in successive stretches of one capture.

    Does no IO.  ``parse(data, lo, hi, offset, final)`` looks at ``data[lo:hi]``, with ``data[0]`` being the capture's byte
    ``offset``, and returns the whole packets in it.  Unless ``final``, what follows ``Parsed.next`` comes again with
    more bytes behind it.
    """

    format: str
    interfaces: list[Interface]
    warn: Callable[[str], None]

    @property
    def number(self) -> int:
        """Number of the last packet found, as Wireshark counts."""

    @property
    def dropped(self) -> int | None:
        """Packets that the capturing side reports as lost, ``None`` where the format does not tell."""

    def parse(self, data: Bytes, lo: int, hi: int, offset: int, final: bool) -> Parsed: ...


@dataclass(slots=True)
class CaptureFile:
    """What is known about one capture of a call; filled while it is read."""

    name: str
    """As given on the command line, ``-`` for standard input."""
    format: str | None = None
    """``pcap`` or ``pcapng``; ``None`` while unknown."""
    compression: str | None = None
    """``gzip``, ``zstd``, ``lz4``, ``bzip2`` or ``xz`` where the capture is compressed."""
    packets: int = 0
    first_time_ns: int | None = None
    """Earliest packet time; ``None`` when no packet has one."""
    last_time_ns: int | None = None
    interfaces: list[Interface] = field(default_factory=list)
    dropped: int | None = None
    """Packets that the capturing side reports as lost (pcapng interface statistics); ``None`` where not told."""
    truncated: bool = False
    """The file ends in the middle of a packet or is unreadable from some point on."""
    error: str | None = None
    """Why nothing of it could be read, one line that begins with the name; else ``None``."""

    @property
    def time_digits(self) -> int:
        """Digits of the finest timestamp resolution in the file (6 when it has no interface)."""
        return max((i.time_digits for i in self.interfaces), default=6)


def join(parts: Iterable[Columns]) -> Columns | None:
    """The parts behind each other as one, ``None`` when there is no packet."""
    present = [p for p in parts if len(p.number)]
    if len(present) <= 1:
        return present[0] if present else None
    return Columns(*(np.concatenate(c) for c in zip(*present, strict=True)))
