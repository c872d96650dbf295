"""pcapng (draft-ietf-opsawg-pcapng): sections of typed blocks."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from kdissect.capture import lanes
from kdissect.capture.lanes import Lanes
from kdissect.capture.packets import INT32_MAX, MAX_PACKET, Columns, Interface, Parsed, join
from kdissect.capture.times import Resolution
from kdissect.columns import gather, unaligned
from kdissect.model import UNSTAMPED, Bytes, Int64s

MAGIC = b"\x0a\x0d\x0d\x0a"
_SECTION, _INTERFACE, _PACKET, _SIMPLE, _STATISTICS, _ENHANCED, _SECRETS = 0x0A0D0D0A, 1, 2, 3, 5, 6, 10
_NAMES = 4
_PACKETS = {_PACKET, _SIMPLE, _ENHANCED}
# Blocks that take a packet number in Wireshark although they hold no packet: journal entries, custom blocks, sysdig events.
_NUMBERED = {9, 0xBAD, 0x40000BAD, 0x204, 0x208, 0x213, 0x216, 0x217, 0x221, 0x222, 0x223}
# Blocks that may be of any size, and matter to nobody when they are huge.
_PASSABLE = {_NAMES, _SECRETS, 0xBAD, 0x40000BAD}
_BYTE_ORDER = 0x1A2B3C4D
_MAX_BLOCK = MAX_PACKET + (1 << 20)
_MAX_INTERFACES = 1 << 16

_OPT_IF_NAME, _OPT_IF_TSRESOL, _OPT_IF_TSOFFSET = 2, 9, 14
_OPT_ISB_IFDROP, _OPT_ISB_OSDROP = 5, 7


class _Records:
    """Where packet blocks begin."""

    def __init__(self) -> None:
        self._parts: list[Int64s] = []
        self.count = 0

    def add(self, part: Int64s) -> None:
        if len(part):
            self._parts.append(part)
            self.count += len(part)

    def pop(self) -> int:
        """Takes the last one back."""
        last = int(self._parts[-1][-1])
        self._parts[-1] = self._parts[-1][:-1]
        self.count -= 1
        return last

    def take(self) -> Int64s:
        """All of them, to begin anew."""
        records = np.concatenate(self._parts) if self._parts else np.zeros(0, np.int64)
        self._parts, self.count = [], 0
        return records


class PcapngParser:
    """Parses a pcapng file block by block; see :class:`~kdissect.capture.packets.Parser`."""

    format = "pcapng"

    def __init__(self, warn: Callable[[str], None]) -> None:
        self.warn = warn
        self.interfaces: list[Interface] = []
        """Of all sections so far, in order of appearance."""
        self.secrets: list[tuple[int, bytes]] = []
        """Decryption secrets: (type, data), for instance type 0x544c534b for a TLS key log."""
        self.number = 0
        self._order = "<"
        self._first = 0  # index in `interfaces` of the section's first
        self._times: list[Resolution] = []  # of the section's interfaces
        self._sections = 0
        self._lost = False  # in search of the next sound block
        self._drops: dict[int, int] = {}  # index in `interfaces` -> packets lost

    @property
    def dropped(self) -> int | None:
        return sum(self._drops.values()) if self._drops else None

    def parse(self, data: Bytes, lo: int, hi: int, offset: int, final: bool) -> Parsed:
        parts: list[Columns] = []
        records = _Records()  # of which the packets are not in `parts` yet
        chains: Lanes | None = None
        at = lo
        problem = None
        while True:
            if self._lost:
                at = self._resync(data, at, hi, offset, final)
                if self._lost:
                    problem = "no sound block follows" if final else None
                    break
            chains = chains or self._lanes(data, at, hi)
            at, other = self._walk(data, at, hi, chains, records)
            if other is None:
                break
            kind, size = other
            order = self._order
            if kind == _SECTION:
                found = self._section_order(data, at)
                if found is None and not self._sections:
                    problem = f"the section header at byte {offset + at} is corrupt"
                    break
                order = found or order
                size = struct.unpack_from(order + "4xI", data.data, at)[0] if found else 0
            if size > _MAX_BLOCK and kind in _PASSABLE and size % 4 == 0:
                self.warn(f"the block at byte {offset + at} has {size} bytes and is passed over")
                at += size
                if at >= hi:
                    break
                continue
            if not 12 <= size <= _MAX_BLOCK or size % 4:
                self._lose(f"claims {size} bytes", offset + at, self.number + records.count)
                at += 4
                continue
            if at + size > hi:
                break
            (trailer,) = struct.unpack_from(order + "I", data.data, at + size - 4)
            if trailer != size:
                self._lose(f"claims {size} bytes in front and {trailer} behind", offset + at, self.number + records.count)
                at += 4
                continue
            if kind in (_SECTION, _INTERFACE):  # what the packets so far refer to is about to change
                parts += self._packets(data, records.take(), offset)
            if kind == _SECTION:
                if order != self._order:
                    chains = None
                self._order, self._first, self._times = order, len(self.interfaces), []
                self._sections += 1
            elif not self._other_block(kind, data[at + 8 : at + size - 4].tobytes()):
                self.warn(f"the block at byte {offset + at} is corrupt and passed over")
            at += size
        parts += self._packets(data, records.take(), offset)
        return Parsed(join(parts), at, problem)

    def _lose(self, why: str, at: int, number: int) -> None:
        self._lost = True
        self.warn(f"the block at byte {at}, after packet {number}, {why} and is corrupt; looking for the next sound one")

    def _resync(self, data: Bytes, lo: int, hi: int, offset: int, final: bool) -> int:
        """Looks for a block of known type whose length stands the same in front and behind.

        Returns where it begins, or where to look on with more bytes, still lost.
        """
        lo += -(offset + lo) % 4  # blocks are aligned
        reach = 1 << 10
        while True:  # little by little: the next sound block is mostly near, and there may be many faults
            stop, found = self._sound_block(data, lo, min(hi, lo + reach), hi, final)
            if stop is not None:
                self._lost = not found
                if found:
                    self.warn(f"reading goes on at byte {offset + stop}")
                return stop
            if lo + reach >= hi:
                return max(lo, hi - 7 + -(offset + hi - 7) % 4)
            lo += reach - 4
            reach *= 4

    def _sound_block(self, data: Bytes, lo: int, hi: int, end: int, final: bool) -> tuple[int | None, bool]:
        """The first block that begins in ``data[lo:hi]`` and is sound, or may be once there is more than ``data[:end]``.

        Returns where it begins and whether it is sound for certain.
        """
        words = np.ndarray((max(0, end - lo) // 4,), self._order + "u4", data.data, lo)
        begin = words[: max(0, hi - lo) // 4]
        kind, size = begin[:-1], begin[1:]
        known = ((kind >= 1) & (kind <= _SECRETS)) | (kind == _SECTION)
        candidates = np.flatnonzero(known & (size >= 12) & (size <= _MAX_BLOCK) & (size & 3 == 0))
        behind = candidates + (size[candidates] // 4).astype(np.int64)
        here = behind <= len(words)
        sound = here.copy()
        sound[here] = words[behind[here] - 1] == size[candidates[here]]
        stop = np.flatnonzero(sound if final else sound | ~here)
        if not len(stop):
            return None, False
        return lo + 4 * int(candidates[stop[0]]), bool(sound[stop[0]])

    def _walk(self, data: Bytes, lo: int, hi: int, chains: Lanes, records: _Records) -> tuple[int, tuple[int, int] | None]:
        """Adds to ``records`` the packet blocks up to the first block that is something else, or not whole.

        Returns where that block begins, and its type and size, ``None`` when it is not there yet.
        """
        head_at: Callable[[Any, int], tuple[int, int]] = struct.Struct(self._order + "II").unpack_from
        view = data.data
        last = hi - 12
        at = lo
        other = None
        while other is None and at <= last:
            chain = chains.at(at)
            if chain is not None:
                records.add(chain[0])
                at = chain[1]
                continue
            until = chains.after(at) or last + 1
            starts: list[int] = []
            add = starts.append
            while at < until:
                kind, size = head_at(view, at)
                if kind == _ENHANCED:
                    if size < 32 or size & 3 or size > _MAX_BLOCK:
                        other = kind, size
                        break
                elif not (kind in _PACKETS or kind in _NUMBERED) or size < 16 or size & 3 or size > _MAX_BLOCK:
                    other = kind, size
                    break
                add(at)
                at += size
            records.add(np.array(starts, np.int64))
        if at > hi:
            at = records.pop()
        return at, other

    def _lanes(self, data: Bytes, lo: int, hi: int) -> Lanes:
        """Chains of enhanced packet blocks in a large chunk, begun where two stand behind each other."""
        if hi - lo < lanes.LEAST:
            return lanes.NONE
        last = hi - 12
        words = unaligned(data, self._order + "u4")
        sizes = words[4:]
        found = lanes.find(data, lo, hi, struct.pack(self._order + "I", _ENHANCED))
        found = found[sizes[found] <= np.minimum(_MAX_BLOCK, hi - found)]
        behind = found + sizes[found]
        found = found[(words[np.minimum(behind, last)] == _ENHANCED) & (words[behind - 4] == sizes[found])]

        def advance(at: Int64s) -> Int64s:
            size = sizes[at].astype(np.int64)
            sound = (words[at] == _ENHANCED) & (size >= 32) & (size & 3 == 0) & (size <= _MAX_BLOCK)
            return np.where(sound, at + size, at)

        return lanes.follow(found, last, advance)

    def _section_order(self, data: Bytes, at: int) -> str | None:
        """Byte order of the section that begins at ``at``, ``None`` when it shows none."""
        for order in "<>":
            if struct.unpack_from(order + "I", data.data, at + 8)[0] == _BYTE_ORDER:
                return order
        return None

    def _packets(self, data: Bytes, at: Int64s, offset: int) -> Iterator[Columns]:
        """The packets in the blocks that begin at ``at``, all of the current section."""
        if not len(at):
            return
        number = np.arange(self.number + 1, self.number + len(at) + 1)
        self.number += len(at)
        # Simple packet blocks may be shorter than the header of the others: the slack behind the data covers the gather.
        head = gather(data, at, 28).view(self._order + "u4")
        kind = head[:, 0]
        if (kind == _ENHANCED).all():
            yield self._stamped(number, at, head, head[:, 2], offset)
            return
        parts = []
        for one in np.unique(kind).tolist():
            which = np.flatnonzero(kind == one)
            rows = head[which]
            if one == _ENHANCED:
                parts.append(self._stamped(number[which], at[which], rows, rows[:, 2], offset))
            elif one == _PACKET:
                parts.append(self._stamped(number[which], at[which], rows, rows.view(self._order + "u2")[:, 4], offset))
            elif one == _SIMPLE:
                parts.append(self._simple(number[which], at[which], rows, offset))
        mixed = join(parts)
        if mixed is not None:
            order = np.argsort(mixed.number)
            yield Columns(*(column[order] for column in mixed))  # type: ignore[arg-type]  # the widths get lost

    def _stamped(self, number: Int64s, at: Int64s, head: Any, interface: Any, offset: int) -> Columns:
        """Enhanced packet blocks, and the obsolete packet blocks that differ in the interface field only."""
        size, captured, length = (head[:, i].astype(np.int64) for i in (1, 5, 6))
        which = interface.astype(np.int64)
        sound = (size >= 32) & (captured <= size - 32) & (which < len(self._times))
        if not sound.all():
            bad = np.flatnonzero(~sound)
            first = bad[0]
            more = f" and {len(bad) - 1} more" if len(bad) > 1 else ""
            self.warn(f"packet {number[first]} at byte {offset + at[first]}{more}: corrupt block, passed over")
            number, at, head, captured, length, which = (x[sound] for x in (number, at, head, captured, length, which))
        units = (head[:, 3].astype(np.uint64) << np.uint64(32)) | head[:, 4]
        time_ns = np.zeros(len(at), np.int64)
        link = np.zeros(len(at), np.int32)
        used = [int(which[0])] if len(which) and (which == which[0]).all() else np.unique(which).tolist()
        for i in used:
            mine: Any = slice(None) if len(used) == 1 else which == i
            time_ns[mine] = self._times[i].nanoseconds(units[mine])
            link[mine] = self.interfaces[self._first + i].link
        return Columns(
            number=number,
            time_ns=time_ns,
            start=at + 28,
            captured=captured.astype(np.int32),
            length=np.clip(length, captured, INT32_MAX).astype(np.int32),
            link=link,
        )

    def _simple(self, number: Int64s, at: Int64s, head: Any, offset: int) -> Columns:
        """Simple packet blocks: no time, the section's first interface, cut by its snap length."""
        if not self._times:
            self.warn(f"packet {number[0]} at byte {offset + at[0]}: no interface is declared for it, passed over")
            number, at, head = number[:0], at[:0], head[:0]
            link = snaplen = 0
        else:
            first = self.interfaces[self._first]
            link, snaplen = first.link, first.snaplen
        size, length = head[:, 1].astype(np.int64), head[:, 2].astype(np.int64)
        captured = np.minimum(size - 16, length)
        if snaplen:
            captured = np.minimum(captured, snaplen)
        return Columns(
            number=number,
            time_ns=np.full(len(at), UNSTAMPED, np.int64),
            start=at + 12,
            captured=captured.astype(np.int32),
            length=np.clip(length, captured, INT32_MAX).astype(np.int32),
            link=np.full(len(at), link, np.int32),
        )

    def _other_block(self, kind: int, body: bytes) -> bool:
        """Takes in a block that holds no packet; ``False`` when it cannot be read."""
        if kind == _INTERFACE:
            return self._interface(body)
        if kind == _STATISTICS:
            return self._statistics(body)
        if kind == _SECRETS:
            if len(body) < 8:
                return False
            secret, size = struct.unpack_from(self._order + "II", body)
            if size > len(body) - 8:
                return False
            self.secrets.append((secret, body[8 : 8 + size]))
        # Name resolution and types unknown to us say nothing that is needed.
        return kind not in _PACKETS

    def _interface(self, body: bytes) -> bool:
        if len(body) < 8 or len(self.interfaces) >= _MAX_INTERFACES:
            return False
        link, _, snaplen = struct.unpack_from(self._order + "HHI", body)
        resolution, zero, name = 6, 0, None
        for code, value in self._options(body, 8):
            if code == _OPT_IF_TSRESOL and len(value) >= 1:
                resolution = value[0]
            elif code == _OPT_IF_TSOFFSET and len(value) >= 8:
                (zero,) = struct.unpack_from(self._order + "q", value)
            elif code == _OPT_IF_NAME:
                name = value.rstrip(b"\0").decode("utf-8", "replace")
        times = Resolution.from_option(resolution, zero)
        self._times.append(times)
        self.interfaces.append(Interface(link, snaplen, times.digits, name))
        return True

    def _statistics(self, body: bytes) -> bool:
        if len(body) < 12:
            return False
        (interface,) = struct.unpack_from(self._order + "I", body)
        lost = [
            struct.unpack_from(self._order + "Q", value)[0]
            for code, value in self._options(body, 12)
            if code in (_OPT_ISB_IFDROP, _OPT_ISB_OSDROP) and len(value) >= 8
        ]
        if lost and interface < len(self._times):
            self._drops[self._first + interface] = sum(lost)  # a later block repeats the count since the start
        return True

    def _options(self, body: bytes, at: int) -> Iterator[tuple[int, bytes]]:
        """The (code, value) pairs from ``at`` on, up to the end mark or the first that does not fit."""
        while at + 4 <= len(body):
            code, size = struct.unpack_from(self._order + "HH", body, at)
            if code == 0 or at + 4 + size > len(body):
                return
            yield code, body[at + 4 : at + 4 + size]
            at += 4 + (size + 3 & ~3)
