"""Reassembly of fragmented IP datagrams."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from kdissect.columns import SLACK
from kdissect.model import Bytes, Int64s
from kdissect.stream.ip import Datagrams, Fragments, skip_extensions
from kdissect.stream.link import Rest

MAX_DATAGRAMS = 4096
MAX_BYTES = 16 << 20
"""Of pieces held; beyond either the oldest datagrams are given up."""
TIMEOUT_NS = 60_000_000_000
"""Pieces of one datagram are captured within a minute (RFC 8200, section 4.5), or do not belong together."""
MAX_AGE_PACKETS = 1_000_000
"""The same in packets, for captures without usable times."""
_UNIT = 8
_MAX_DATAGRAM = 65535


class _Key(NamedTuple):
    """What pieces of one datagram have in common."""

    family: int
    protocol: int
    source: tuple[int, int]
    target: tuple[int, int]
    identification: int


@dataclass(slots=True)
class _Datagram:
    time_ns: int
    ordinal: int
    protocol: int = 0
    data: bytearray = field(default_factory=bytearray)
    size: int | None = None
    """Known once the last piece is there."""
    on_wire: int = 0
    """Bit *i*: unit *i* of 8 bytes was in some piece."""
    held: int = 0
    """Bit *i*: and all of it was captured."""

    def add(self, offset: int, piece: bytes, wire_size: int, more: bool) -> None:
        """Puts in a piece of ``wire_size`` bytes, of which ``piece`` were captured; what is there already stays."""
        first, units = offset // _UNIT, -(-wire_size // _UNIT)
        if not more:
            self.size = offset + wire_size if self.size is None else self.size
        new = ((1 << units) - 1 << first) & ~self.on_wire
        self.on_wire |= new
        captured = units if len(piece) == wire_size else len(piece) // _UNIT
        new &= (1 << first + captured) - 1
        self.held |= new
        if len(self.data) < offset + len(piece):
            self.data.extend(bytes(offset + len(piece) - len(self.data)))
        if new == (1 << captured) - 1 << first:
            self.data[offset : offset + len(piece)] = piece
            return
        for unit in range(first, first + captured):
            if new >> unit & 1:
                at = unit * _UNIT
                self.data[at : at + _UNIT] = piece[at - offset : at - offset + _UNIT]

    @property
    def complete(self) -> bool:
        if self.size is None:
            return False
        every = (1 << -(-self.size // _UNIT)) - 1
        return self.on_wire & every == every

    def captured_prefix(self) -> bytes:
        """The payload up to the first byte that was not captured."""
        assert self.size is not None
        units = (~self.held & self.held + 1).bit_length() - 1
        return bytes(self.data[: min(units * _UNIT, self.size)])


class FragmentTable:
    """Pieces of datagrams that wait for the others, across batches."""

    def __init__(self) -> None:
        self.dropped = 0
        """Datagrams given up with pieces missing."""
        self._waiting: OrderedDict[_Key, _Datagram] = OrderedDict()
        self._bytes = 0

    def feed(self, data: Bytes, fragments: Fragments, time_ns: Int64s, first_ordinal: int) -> tuple[Datagrams | None, Bytes]:
        """Takes in pieces; returns the datagrams that they complete, and the buffer in which those stand.

        ``time_ns`` is the batch's column, ``first_ordinal`` the position of its first packet among all.  The buffer is
        ``data`` with the completed datagrams' payloads behind it.
        """
        pieces = fragments.datagrams
        rest = pieces.rest
        done: list[tuple[int, int, bytes, int]] = []  # index in `pieces`, protocol, payload, size on the wire
        times = time_ns[rest.row].tolist()
        columns = [
            x.tolist()
            for x in (
                rest.row, rest.at, rest.end, rest.wire, pieces.protocol, *pieces.source, *pieces.target,
                fragments.identification, fragments.offset, fragments.more,
            )
        ]  # fmt: skip
        for i, (row, at, end, wire, protocol, s0, s1, t0, t1, ident, offset, more) in enumerate(zip(*columns, strict=True)):
            # An IPv6 piece tells the protocol only if it is the first.
            key = _Key(pieces.family, protocol if pieces.family == 4 else 0, (s0, s1), (t0, t1), ident)
            wire_size = wire - at
            if wire_size <= 0 or offset + wire_size > _MAX_DATAGRAM or (more and wire_size % _UNIT):
                continue
            whole = self._add(
                key, times[i], first_ordinal + row, offset, data[at : max(at, end)].tobytes(), wire_size, more, protocol
            )
            if whole is not None and whole.size is not None:
                done.append((i, whole.protocol, whole.captured_prefix(), whole.size))
        if not done:
            return None, data
        which = np.array([i for i, *_ in done])
        payloads = [payload for _, _, payload, _ in done]
        sizes = np.array([len(p) for p in payloads], np.int64)
        start = len(data) + np.cumsum(sizes) - sizes
        data = np.concatenate([data, np.frombuffer(b"".join(payloads) + bytes(SLACK), np.uint8)])
        found = pieces.pick(which)
        whole_rest = Rest(found.rest.row, start, start + sizes, start + np.array([size for *_, size in done], np.int64))
        protocol_column = np.array([protocol for _, protocol, _, _ in done], np.int64)
        if found.family == 6:
            protocol_column, at_column, _ = skip_extensions(data, protocol_column, whole_rest)
            whole_rest = whole_rest._replace(at=at_column)
        return Datagrams(found.family, protocol_column, found.source, found.target, whole_rest), data

    def _add(
        self, key: _Key, time_ns: int, ordinal: int, offset: int, piece: bytes, wire_size: int, more: bool, protocol: int
    ) -> _Datagram | None:
        self._give_up_old(time_ns, ordinal)
        datagram = self._waiting.get(key)
        if datagram is None:
            datagram = self._waiting[key] = _Datagram(time_ns, ordinal)
        before = len(datagram.data)
        datagram.add(offset, piece, wire_size, more)
        self._bytes += len(datagram.data) - before
        if offset == 0:
            datagram.protocol = protocol
        if datagram.complete:
            self._remove(key)
            return datagram
        while len(self._waiting) > MAX_DATAGRAMS or self._bytes > MAX_BYTES:
            self._give_up(next(iter(self._waiting)))
        return None

    def _give_up_old(self, time_ns: int, ordinal: int) -> None:
        while self._waiting:
            key, oldest = next(iter(self._waiting.items()))
            if abs(time_ns - oldest.time_ns) <= TIMEOUT_NS and ordinal - oldest.ordinal <= MAX_AGE_PACKETS:
                return
            self._give_up(key)

    def _give_up(self, key: _Key) -> None:
        self._remove(key)
        self.dropped += 1

    def _remove(self, key: _Key) -> None:
        self._bytes -= len(self._waiting.pop(key).data)
