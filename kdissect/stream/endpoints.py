"""Interning of (address, port) pairs as small integers."""

from __future__ import annotations

import ipaddress
import os
from typing import Any

import numpy as np
import numpy.typing as npt

from kdissect.model import Int32s, Int64s

Words = npt.NDArray[np.uint64]

_FAMILY_SHIFT = 16
_V6 = 1
_TEXTS = 10_000
"""Endpoints whose text is kept."""


class Endpoints:
    """Table of the (address, port) pairs seen, numbered from 0 in order of first appearance.

    A hash table in NumPy arrays with open addressing, probed for all packets of a batch at once; Python runs only
    for endpoints not seen before.  An endpoint costs some 60 bytes.
    """

    def __init__(self) -> None:
        self._count = 0
        # An endpoint's key: the address's upper and lower 64 bits (IPv4 in the lower), and its port with a family bit.
        self._high: Words = np.zeros(256, np.uint64)
        self._low: Words = np.zeros(256, np.uint64)
        self._tail: Words = np.zeros(256, np.uint64)
        self._slots: Int32s = np.full(1024, -1, np.int32)
        self._bits = 10
        self._texts: dict[int, str] = {}
        # Random odd factors, so that no capture can be made to collide on purpose.
        self._factors = [np.uint64(int.from_bytes(os.urandom(8)) | 1) for _ in range(3)]

    def __len__(self) -> int:
        return self._count

    def pairs4(self, source: Any, target: Any, source_port: Any, target_port: Any) -> tuple[Int32s, Int32s]:
        """Ids of the sending and receiving IPv4 endpoints; all arguments are integer arrays of one length."""
        none = np.zeros(len(source), np.uint64)
        return self._pairs((none, source, source_port), (none, target, target_port), 0)

    def pairs6(
        self, source: tuple[Any, Any], target: tuple[Any, Any], source_port: Any, target_port: Any
    ) -> tuple[Int32s, Int32s]:
        """The same for IPv6, whose addresses are pairs of arrays: upper and lower 64 bits."""
        return self._pairs((*source, source_port), (*target, target_port), _V6)

    def intern(self, address: bytes, port: int) -> int:
        """Id of one endpoint; ``address`` has 4 or 16 bytes."""
        family = _V6 if len(address) == 16 else 0
        key = (int.from_bytes(address[:-8]), int.from_bytes(address[-8:]), port | family << _FAMILY_SHIFT)
        high, low, tail = (np.array([x], np.uint64) for x in key)
        return int(self._ids(high, low, tail)[0])

    def address(self, id: int) -> bytes:
        """The address, 4 or 16 bytes."""
        self._check(id)
        if self._is_v6(id):
            return int(self._high[id]).to_bytes(8) + int(self._low[id]).to_bytes(8)
        return int(self._low[id]).to_bytes(4)

    def port(self, id: int) -> int:
        self._check(id)
        return int(self._tail[id]) & 0xFFFF

    def text(self, id: int) -> str:
        """``10.0.0.5:50000``, IPv6 as ``[2001:db8::5]:50000`` (RFC 5952)."""
        text = self._texts.get(id)
        if text is None:
            if len(self._texts) >= _TEXTS:
                self._texts.clear()
            text = self._texts[id] = self._text(id)
        return text

    def _text(self, id: int) -> str:
        address = ipaddress.ip_address(self.address(id))
        # ipaddress writes IPv4-mapped addresses with a dotted tail from Python 3.13 on only.
        mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
        text = f"::ffff:{mapped}" if mapped else str(address)
        return f"[{text}]:{self.port(id)}" if address.version == 6 else f"{text}:{self.port(id)}"

    def _check(self, id: int) -> None:
        if not 0 <= id < self._count:
            raise IndexError(f"no endpoint {id}")

    def _is_v6(self, id: int) -> bool:
        return bool(int(self._tail[id]) >> _FAMILY_SHIFT)

    def _pairs(self, source: tuple[Any, Any, Any], target: tuple[Any, Any, Any], family: int) -> tuple[Int32s, Int32s]:
        count = len(source[2])
        columns: list[Words] = []
        for a, b in zip(source, target, strict=True):
            # Alternating, so that numbering follows the order of packets however they are cut into batches.
            both = np.empty(2 * count, np.uint64)
            both[0::2] = a
            both[1::2] = b
            columns.append(both)
        high, low, tail = columns
        if family:
            tail |= np.uint64(family << _FAMILY_SHIFT)
        ids = self._ids(high, low, tail)
        return ids[0::2], ids[1::2]

    def _hash(self, high: Words, low: Words, tail: Words) -> Int64s:
        a, b, c = self._factors
        mixed = low * a + tail * b + high * c
        mixed ^= mixed >> np.uint64(29)
        mixed *= a
        slot: Int64s = (mixed >> np.uint64(64 - self._bits)).astype(np.int64)
        return slot

    def _ids(self, high: Words, low: Words, tail: Words) -> Int32s:
        ids = self._find(high, low, tail)
        new = np.flatnonzero(ids < 0)
        if len(new):
            self._add(high[new], low[new], tail[new])
            ids[new] = self._find(high[new], low[new], tail[new])
        return ids

    def _find(self, high: Words, low: Words, tail: Words) -> Int32s:
        """Ids of the keys, -1 for those not in the table."""
        mask = len(self._slots) - 1
        slot = self._hash(high, low, tail)
        ids = self._slots[slot]
        wrong = np.flatnonzero(self._other(ids, high, low, tail))
        while len(wrong):  # collisions: the next slot
            slot[wrong] = (slot[wrong] + 1) & mask
            ids[wrong] = found = self._slots[slot[wrong]]
            wrong = wrong[self._other(found, high[wrong], low[wrong], tail[wrong])]
        return ids

    def _other(self, ids: Int32s, high: Words, low: Words, tail: Words) -> npt.NDArray[np.bool_]:
        """Which of ``ids`` (-1 for none) is an endpoint with another key."""
        differs: npt.NDArray[np.bool_] = (self._low[ids] != low) | (self._tail[ids] != tail) | (self._high[ids] != high)
        return differs & (ids >= 0)

    def _add(self, high: Words, low: Words, tail: Words) -> None:
        keys = np.stack([high, low, tail], axis=1)
        _, first = np.unique(keys, axis=0, return_index=True)
        first.sort()
        total = self._count + len(first)
        if total > len(self._low):
            room = max(2 * len(self._low), total)
            self._high, self._low, self._tail = (_grown(x, room) for x in (self._high, self._low, self._tail))
        new = slice(self._count, total)
        self._high[new], self._low[new], self._tail[new] = high[first], low[first], tail[first]
        start, self._count = self._count, total
        if 4 * total > len(self._slots):
            self._bits = (4 * total).bit_length() + 1
            self._slots = np.full(1 << self._bits, -1, np.int32)
            start = 0
        new = slice(start, total)
        mask = len(self._slots) - 1
        for id, slot in enumerate(self._hash(self._high[new], self._low[new], self._tail[new]).tolist(), start):
            while self._slots[slot] >= 0:
                slot = slot + 1 & mask
            self._slots[slot] = id


def _grown(column: Words, size: int) -> Words:
    out = np.zeros(size, np.uint64)
    out[: len(column)] = column
    return out
