"""Reads what many messages of one layout speak of, all of them in lockstep, one field after the other.

The counterpart in columns of the generated decoders and of
:mod:`kdissect.schema.collect`, for the fields that have a meaning; the others are
only passed over.  A message that is out of the ordinary (a fault, bytes left
over, tagged fields, arrays of extraordinary length) is *left*: whoever wants
it must decode it by itself.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from kdissect.columns import unaligned
from kdissect.model import Bytes, Int64s
from kdissect.schema.layout import FIXED_WIDTH, Field, Layout, struct_width

Flags = npt.NDArray[np.bool_]

TOPIC, TOPIC_ID, GROUP, ERROR, THROTTLE = "topic", "topic_id", "group", "error", "throttle_ms"
READ = frozenset({TOPIC, TOPIC_ID, GROUP, ERROR, THROTTLE})
CONDITIONAL = frozenset({"coordinator_key", "config_resource", "acl_resource"})
"""Meanings that depend on other fields; layouts with such are not for this module."""
MOST_ELEMENTS = 1024
"""Messages with longer arrays are left."""
_FEW, _MANY = 4, 24
"""Arrays with so many elements more than all but a few others are left too: lockstep does not pay for them."""


@dataclass(slots=True)
class Found:
    """Values of one meaning: which message, where in the buffer, and of strings how long (-1: null) or of numbers what."""

    row: list[Int64s] = field(default_factory=list)
    at: list[Int64s] = field(default_factory=list)
    value: list[Int64s] = field(default_factory=list)

    def add(self, row: Int64s, at: Int64s, value: Int64s) -> None:
        self.row.append(row)
        self.at.append(at)
        self.value.append(value)

    def joined(self) -> tuple[Int64s, Int64s, Int64s]:
        """All of it by message, in order of the bytes."""
        if not self.row:
            none = np.zeros(0, np.int64)
            return none, none, none
        row, at, value = (np.concatenate(column) for column in (self.row, self.at, self.value))
        order = np.lexsort((at, row))
        return row[order], at[order], value[order]


class Walk:
    """The messages of one layout, whose bodies begin at ``start`` of ``data`` and end at ``end``; ``data`` has slack behind."""

    def __init__(self, data: Bytes, start: Int64s, end: Int64s, layout: Layout) -> None:
        self.data = data
        self.end = end
        self.left: Flags = np.zeros(len(start), bool)
        """Messages that must be decoded by themselves; what was found of them is not to be used."""
        self.found = {meaning: Found() for meaning in READ}
        self.records = Found()
        """``records`` fields that are not null: where they begin, and their size."""
        rows = np.arange(len(start))
        after = self._struct(layout.fields, layout.flexible, rows, np.minimum(start, end), 1)
        self.left |= (after != end) | (start > end)

    def _leave(self, rows: Int64s, which: Flags) -> None:
        self.left[rows[which]] = True

    def _clamp(self, rows: Int64s, at: Int64s) -> Int64s:
        """Messages that would be read beyond their end are left."""
        end = self.end[rows]
        self.left[rows[at > end]] = True
        within: Int64s = np.minimum(at, end)
        return within

    def _uvarint(self, rows: Int64s, at: Int64s) -> tuple[Int64s, Int64s]:
        octet = self.data[at]
        value = (octet & 127).astype(np.int64)
        after = at + 1
        more = np.flatnonzero(octet > 127)
        for shift in (7, 14, 21, 28):
            if not len(more):
                break
            octet = self.data[np.minimum(after[more], len(self.data) - 1)]
            value[more] |= (octet & 127).astype(np.int64) << shift
            after[more] += 1
            more = more[octet > 127]
        self.left[rows[more]] = True
        self._leave(rows, value >> 32 != 0)
        return value, self._clamp(rows, after)

    def _number(self, at: Int64s, dtype: str) -> Int64s:
        table = unaligned(self.data, dtype)
        value: Int64s = table[np.minimum(at, len(table) - 1)].astype(np.int64)
        return value

    def _struct(self, fields: tuple[Field, ...], flexible: bool, rows: Int64s, at: Int64s, depth: int) -> Int64s:
        skip = 0
        for each in fields:
            if each.tag is not None:
                continue
            width = each.fixed_width if each.type != "struct" else None
            if width is not None:
                self._fixed(each, rows, at + skip, depth)
                skip += width
                continue
            if skip:
                at, skip = self._clamp(rows, at + skip), 0
            at = self._variable(each, rows, at, depth)
        if skip:
            at = self._clamp(rows, at + skip)
        if flexible:
            tags, at = self._uvarint(rows, at)
            self._leave(rows, tags != 0)
        return at

    def _fixed(self, each: Field, rows: Int64s, at: Int64s, depth: int) -> None:
        meaning = each.meanings[0] if each.meanings else ""
        if meaning == ERROR:
            value = self._number(at, ">i2")
            failed = np.flatnonzero(value)
            if len(failed):
                self.found[ERROR].add(rows[failed], at[failed], value[failed])
        elif meaning == THROTTLE and depth == 1:
            self.found[THROTTLE].add(rows, at, self._number(at, ">i4"))
        elif meaning == TOPIC_ID:
            self.found[TOPIC_ID].add(rows, at, np.full(len(rows), 16))

    def _variable(self, each: Field, rows: Int64s, at: Int64s, depth: int) -> Int64s:
        if each.array:
            return self._array(each, rows, at, depth)
        if each.type == "struct":
            if not each.nullable:
                return self._struct(each.fields, each.compact, rows, at, depth + 1)
            marker = self._number(at, "i1")
            at = self._clamp(rows, at + 1)
            there = np.flatnonzero(marker >= 0)
            if len(there):
                at[there] = self._struct(each.fields, each.compact, rows[there], at[there], depth + 1)
            return at
        size, at = self._size(each, rows, at, ">i2" if each.type == "string" else ">i4")
        meaning = each.meanings[0] if each.meanings else ""
        if each.type == "records":
            there = np.flatnonzero(size >= 0)
            self.records.add(rows[there], at[there], size[there])
        elif meaning in (TOPIC, GROUP) and each.type == "string":
            self.found[meaning].add(rows, at, size)
        return self._clamp(rows, at + np.maximum(size, 0))

    def _size(self, each: Field, rows: Int64s, at: Int64s, wide: str) -> tuple[Int64s, Int64s]:
        """A length or count, -1 for null."""
        if each.compact:
            size, at = self._uvarint(rows, at)
            size = size - 1
        else:
            size = np.maximum(self._number(at, wide), -1)
            at = self._clamp(rows, at + (2 if wide == ">i2" else 4))
        if not each.nullable:
            self._leave(rows, size < 0)
        return size, at

    def _array(self, each: Field, rows: Int64s, at: Int64s, depth: int) -> Int64s:
        count, at = self._size(each, rows, at, ">i4")
        room = self.end[rows] - at
        self._leave(rows, count * each.element_minimum > room)
        count = np.where(count * each.element_minimum > room, 0, np.maximum(count, 0))
        width = struct_width(each.fields, each.compact) if each.type == "struct" else FIXED_WIDTH.get(each.type)
        if width is not None:
            if _speaks(each):
                of = np.repeat(np.arange(len(rows)), count)
                place = np.arange(len(of)) - np.repeat(np.cumsum(count) - count, count)
                self._element(each, rows[of], at[of] + place * width, depth)
            return at + count * width
        self._leave(rows, count > MOST_ELEMENTS)
        count = np.where(count > MOST_ELEMENTS, 0, count)
        at = at.copy()
        active, nth = np.flatnonzero(count > 0), 0
        while len(active):
            at[active] = self._element(each, rows[active], at[active], depth)
            nth += 1
            active = active[count[active] > nth]
            if len(active) <= _FEW and nth > _MANY:
                self.left[rows[active]] = True
                break
        return at

    def _element(self, each: Field, rows: Int64s, at: Int64s, depth: int) -> Int64s:
        if each.type == "struct":
            return self._struct(each.fields, each.compact, rows, at, depth + 1)
        if each.type in FIXED_WIDTH:
            self._fixed(each, rows, at, depth)
            return at + FIXED_WIDTH[each.type]
        element = Field(each.name, each.type, False, False, each.compact, None, None, each.meanings, "", ())
        return self._variable(element, rows, at, depth)


def _speaks(each: Field) -> bool:
    """Whether there is anything in it to be read."""
    return any(meaning in READ for meaning in each.meanings[:1]) or any(_speaks(inner) for inner in each.fields)


def walkable(layout: Layout) -> bool:
    """Whether what a layout's messages speak of can be told from its fields one by one."""
    for _, each in layout.walk():
        meaning = each.meanings[0] if each.meanings else ""
        if meaning in CONDITIONAL or (meaning in (ERROR, THROTTLE) and each.array):
            return False
        if each.tag is None and meaning == TOPIC_ID and each.type != "uuid":
            return False
    return True
