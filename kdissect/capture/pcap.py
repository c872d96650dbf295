"""Classic pcap (draft-ietf-opsawg-pcap): a file header, then records of header and packet."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

import numpy as np

from kdissect.capture.packets import INT32_MAX, MAX_PACKET, Columns, Interface, Parsed
from kdissect.columns import gather
from kdissect.model import Bytes

FILE_HEADER = 24

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
        starts, end = self._walk(data, lo, hi)
        if not starts:
            return Parsed(None, end, self._corrupt(data, end, hi, offset))
        at = np.array(starts, np.int64)
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

    def _walk(self, data: Bytes, lo: int, hi: int) -> tuple[list[int], int]:
        """Where each whole record begins, and where the first begins that is not whole (or not sane)."""
        size_at: Callable[[Any, int], tuple[int]] = struct.Struct(self._order + "8xI").unpack_from
        header = self._header
        last = hi - header
        view = data.data
        starts: list[int] = []
        add = starts.append
        at = lo
        while at <= last:
            add(at)
            (size,) = size_at(view, at)
            if size > MAX_PACKET:
                break
            at += header + size
        else:
            if at > hi:
                at = starts.pop()
            return starts, at
        starts.pop()
        return starts, at

    def _corrupt(self, data: Bytes, at: int, hi: int, offset: int) -> str | None:
        """Why the record at ``at`` cannot be one, ``None`` when it only lacks bytes."""
        if hi - at < self._header:
            return None
        (size,) = struct.unpack_from(self._order + "8xI", data.data, at)
        if size <= MAX_PACKET:
            return None
        return f"packet {self.number + 1} at byte {offset + at} claims {size} captured bytes and is corrupt"
