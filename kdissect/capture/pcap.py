"""Classic pcap (draft-ietf-opsawg-pcap): a file header, then records of header and packet."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

import numpy as np

from kdissect.capture import lanes
from kdissect.capture.lanes import Lanes
from kdissect.capture.packets import INT32_MAX, MAX_PACKET, Columns, Interface, Parsed
from kdissect.columns import gather, unaligned
from kdissect.model import Bytes, Int64s

FILE_HEADER = 24
_HEADERS_IN_A_ROW = 4

# magic number -> (nanoseconds, size of a record header)
_MAGICS = {
    0xA1B2C3D4: (False, 16),
    0xA1B23C4D: (True, 16),
    0xA1B2CD34: (False, 24),  # Alexey Kuznetsov's variant: interface, protocol and direction behind the usual fields
}


def byte_order(head: bytes) -> str | None:
    """``<`` or ``>`` when ``head`` begins with a pcap magic number, else ``None``."""
    for order in "<>":
        if len(head) >= 4 and struct.unpack_from(order + "I", head)[0] in _MAGICS:
            return order
    return None


class PcapParser:
    """Parses a classic pcap file from its header on; see :class:`~kdissect.capture.packets.Parser`."""

    format = "pcap"

    def __init__(self, warn: Callable[[str], None]) -> None:
        self.warn = warn
        self.interfaces: list[Interface] = []
        self.number = 0
        self.dropped = None
        self._order = "<"
        self._scale = 1
        self._header = 16
        self._link = 0

    def parse(self, data: Bytes, lo: int, hi: int, offset: int, final: bool) -> Parsed:
        if not self.interfaces:
            if hi - lo < FILE_HEADER:
                return Parsed(None, lo, None)
            self._read_file_header(data[lo : lo + FILE_HEADER].tobytes())
            lo += FILE_HEADER
        at, end = self._walk(data, lo, hi)
        if not len(at):
            return Parsed(None, end, self._corrupt(data, end, hi, offset))
        captured = np.diff(at, append=end) - self._header
        head = gather(data, at, 16).view(self._order + "u4")
        seconds, fraction, length = (head[:, i].astype(np.int64) for i in (0, 1, 3))
        count = len(at)
        columns = Columns(
            number=np.arange(self.number + 1, self.number + count + 1),
            time_ns=seconds * 1_000_000_000 + fraction * self._scale,
            start=at + self._header,
            captured=captured.astype(np.int32),
            length=np.clip(length, captured, INT32_MAX).astype(np.int32),
            link=np.full(count, self._link, np.int32),
        )
        self.number += count
        return Parsed(columns, end, self._corrupt(data, end, hi, offset))

    def _read_file_header(self, head: bytes) -> None:
        order = byte_order(head)
        assert order is not None, "the caller has checked the magic number"
        magic, _major, _minor, _zone, _sigfigs, snaplen, network = struct.unpack(order + "IHHiIII", head)
        nano, self._header = _MAGICS[magic]
        self._order = order
        self._scale = 1 if nano else 1000
        self._link = network & 0xFFFF  # the upper half tells about frame check sequences
        self.interfaces.append(Interface(self._link, snaplen, 9 if nano else 6))

    def _walk(self, data: Bytes, lo: int, hi: int) -> tuple[Int64s, int]:
        """Where each whole record begins, and where the first begins that is not whole (or not sane)."""
        size_at: Callable[[Any, int], tuple[int]] = struct.Struct(self._order + "8xI").unpack_from
        header = self._header
        last = hi - header
        view = data.data
        chains = self._lanes(data, lo, hi)
        parts: list[Int64s] = []
        at = lo
        sane = True
        while sane and at <= last:
            chain = chains.at(at)
            if chain is not None:
                parts.append(chain[0])
                at = chain[1]
                continue
            until = chains.after(at) or last + 1
            starts: list[int] = []
            add = starts.append
            while at < until:
                (size,) = size_at(view, at)
                if size > MAX_PACKET:
                    sane = False
                    break
                add(at)
                at += header + size
            parts.append(np.array(starts, np.int64))
        records = np.concatenate(parts) if parts else np.zeros(0, np.int64)
        # Chains are not stopped by a size that cannot be.
        insane = np.flatnonzero(np.diff(records, append=at) > header + MAX_PACKET)
        if len(insane):
            return records[: insane[0]], int(records[insane[0]])
        if at > hi:
            return records[:-1], int(records[-1])
        return records, at

    def _lanes(self, data: Bytes, lo: int, hi: int) -> Lanes:
        """Chains of records in a large chunk, begun where some headers in a row look like this capture's."""
        if hi - lo < lanes.LEAST:
            return lanes.NONE
        header = self._header
        last = hi - header
        # The upper half of the seconds is the same for 18 hours.
        upper = 2 if self._order == "<" else 0
        hour = data[lo + upper : lo + upper + 2].tobytes()
        found = lanes.find(data, lo, hi, hour) - upper
        words = unaligned(data, self._order + "u4")
        halves = unaligned(data, "V2")
        sound = np.ones(len(found), bool)
        at = found
        for _ in range(_HEADERS_IN_A_ROW):
            here = np.minimum(at, last)
            captured, length = words[here + 8].astype(np.int64), words[here + 12]
            sound &= (halves[here + upper] == np.void(hour)) & (captured <= np.minimum(length, MAX_PACKET)) & (at <= last)
            at = at + header + captured
        sizes = words[8:]

        def advance(at: Int64s) -> Int64s:
            following: Int64s = at + header + sizes[at]
            return following

        return lanes.follow(found[sound], last, advance)

    def _corrupt(self, data: Bytes, at: int, hi: int, offset: int) -> str | None:
        """Why the record at ``at`` cannot be one, ``None`` when it only lacks bytes."""
        if hi - at < self._header:
            return None
        (size,) = struct.unpack_from(self._order + "8xI", data.data, at)
        if size <= MAX_PACKET:
            return None
        return f"packet {self.number + 1} at byte {offset + at} claims {size} captured bytes and is corrupt"
