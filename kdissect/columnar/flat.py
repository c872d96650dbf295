"""The flat fields of many settled exchanges at once: what their messages speak of, without decoding the rest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import TypeVar

import numpy as np

from kdissect import schema
from kdissect.columnar.heads import sound
from kdissect.columnar.walk import ERROR, GROUP, THROTTLE, TOPIC, TOPIC_ID, Flags, Walk, walkable
from kdissect.model import UNSTAMPED, Int64s
from kdissect.protocol.bulk import Rows, Sent, intern
from kdissect.protocol.contents.records import CLUSTER_METADATA, CLUSTER_METADATA_ID
from kdissect.protocol.contents.unfold import unfolds
from kdissect.protocol.state.sightings import _plan
from kdissect.protocol.topic_ids import shows_topic_ids
from kdissect.schema.collect import NO_ID
from kdissect.schema.layout import Field, Layout
from kdissect.wire.primitives import uuid_text

ABSENT = -(1 << 40)
"""A throttle time that the version does not have."""
_STATEFUL = frozenset({11, 17, 22, 36})
"""JoinGroup, SaslHandshake, InitProducerId, SaslAuthenticate: what they say matters to later exchanges."""

Columns = tuple[Int64s, ...]
Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class Mention:
    """A topic as it is named: by its name, or by its id in Kafka's base64 form."""

    text: str
    is_id: bool


@dataclass(slots=True)
class Spoken:
    """What the exchanges of :class:`~kdissect.protocol.bulk.Rows` speak of; columns are indexes into the lists."""

    left: Flags
    """Those that must be decoded by themselves."""
    topics: Int64s
    topic_lists: list[tuple[Mention, ...]]
    groups: Int64s
    group_lists: list[tuple[str, ...]]
    errors: Int64s
    error_lists: list[tuple[int, ...]]
    throttle_ms: Int64s
    """:data:`ABSENT` where there is none."""


def _tells(layout: Layout) -> bool:
    """Whether brokers, members of groups or producers can be seen in such a message (tagged fields do not count here)."""
    return _plan(_untagged(layout.fields), frozenset()) is not None


def _untagged(fields: tuple[Field, ...]) -> tuple[Field, ...]:
    return tuple(replace(field, fields=_untagged(field.fields)) for field in fields if field.tag is None)


@cache
def _layouts(api_key: int, version: int) -> tuple[Layout, Layout] | None:
    """The layouts of an API's messages, if nothing but their own fields is to be told of them."""
    if api_key in _STATEFUL or unfolds(api_key, version):
        return None
    if shows_topic_ids(api_key, version, "request") or shows_topic_ids(api_key, version, "response"):
        return None
    found = schema.api(api_key)
    layouts = found.layout("request", version), found.layout("response", version)
    return layouts if all(walkable(layout) and not _tells(layout) for layout in layouts) else None


class _Gathered:
    """Values of one meaning over all layouts, as (exchange, whether of the response, place, buffer, value)."""

    def __init__(self) -> None:
        self.parts: list[tuple[Int64s, ...]] = []

    def add(self, row: Int64s, answer: bool, at: Int64s, buffer: int, value: Int64s) -> None:
        if len(row):
            self.parts.append((row, np.full(len(row), answer, np.int64), at, np.full(len(row), buffer, np.int64), value))

    def joined(self) -> Columns:
        """All of it."""
        if not self.parts:
            none = np.zeros(0, np.int64)
            return (none,) * 5
        return tuple(np.concatenate(column) for column in zip(*self.parts, strict=True))


def speak(rows: Rows, check_records: bool) -> Spoken:
    """Look through all exchanges; ``check_records``: their record batches too, those with anything to say about are left."""
    left = (rows.request.time_ns == UNSTAMPED) | (rows.response.time_ns == UNSTAMPED)
    gathered = {meaning: _Gathered() for meaning in (TOPIC, TOPIC_ID, GROUP, ERROR, THROTTLE)}
    kinds = rows.api_key << 16 | rows.api_version
    for kind in np.unique(kinds).tolist():
        chosen = np.flatnonzero(kinds == kind)
        layouts = _layouts(kind >> 16, kind & 0xFFFF)
        if layouts is None:
            left[chosen] = True
            continue
        for responding, sent, layout in ((False, rows.request, layouts[0]), (True, rows.response, layouts[1])):
            which = chosen[rows.answered[chosen]] if responding else chosen
            for number in range(len(rows.buffers)):
                part = which[sent.buffer[which] == number]
                if len(part):
                    _look(rows, number, part, responding, layout, check_records, left, gathered)
    names, name_codes = _text(rows, gathered[TOPIC].joined())
    ids, id_codes = _ids(rows, gathered[TOPIC_ID].joined())
    mentions = [Mention(name, False) for name in names] + [Mention(id, True) for id in ids]
    of_id = (*id_codes[:3], np.where(id_codes[3] < 0, -1, id_codes[3] + len(names)))
    both = tuple(np.concatenate(column) for column in zip(name_codes, of_id, strict=True))
    internal = [code for code, each in enumerate(mentions) if each.text in (CLUSTER_METADATA, CLUSTER_METADATA_ID)]
    left[both[0][np.isin(both[3], internal)]] = True
    topics, topic_lists = _lists(len(rows), both, mentions)
    group_names, group_codes = _text(rows, gathered[GROUP].joined())
    groups, group_lists = _lists(len(rows), group_codes, group_names)
    row, answer, at, _, value = gathered[ERROR].joined()
    told = answer == 1
    known, code = np.unique(value[told], return_inverse=True)
    errors, error_lists = _lists(len(rows), (row[told], answer[told], at[told], code), known.tolist())
    throttle = np.full(len(rows), ABSENT, np.int64)
    row, answer, _, _, value = gathered[THROTTLE].joined()
    throttle[row[answer == 1]] = value[answer == 1]
    return Spoken(left, topics, topic_lists, groups, group_lists, errors, error_lists, throttle)


def _look(
    rows: Rows,
    number: int,
    part: Int64s,
    answer: bool,
    layout: Layout,
    check_records: bool,
    left: Flags,
    gathered: dict[str, _Gathered],
) -> None:
    """Look through the messages of one layout in one buffer."""
    data = rows.buffers[number]
    sent: Sent = rows.response if answer else rows.request
    start, end = sent.start[part], sent.start[part] + sent.size[part]
    if answer:
        body = start + 8
        flexible = layout.header_version >= 1
    else:
        body = start + 14 + np.maximum(rows.client_length[part], 0)
        flexible = layout.header_version >= 2
    if flexible:
        left[part[data[np.minimum(body, end)] != 0]] = True  # Tagged fields in the header.
        body = body + 1
    walk = Walk(data, body, end, layout)
    left[part[walk.left]] = True
    row, at, size = walk.records.joined()
    if check_records and len(row):
        fine = ~left[part[row]]
        row, at, size = row[fine], at[fine], size[fine]
        left[part[row[~sound(data, at, size)]]] = True
    for meaning, into in gathered.items():
        row, at, value = walk.found[meaning].joined()
        fine = ~left[part[row]]
        into.add(part[row[fine]], answer, at[fine], number, value[fine])


def _text(rows: Rows, found: Columns) -> tuple[list[str], Columns]:
    """Distinct strings, and which of them each value is; -1 for null, empty and what is no text."""
    row, answer, at, buffer, size = found
    code, texts = intern(rows.buffers, buffer, at, np.where(size > 0, size, -1))
    names: list[str] = []
    renamed = np.full(len(texts) + 1, -1, np.int64)
    for index, raw in enumerate(texts):
        try:
            names.append(raw.decode())
        except UnicodeDecodeError:
            continue
        renamed[index] = len(names) - 1
    return names, (row, answer, at, renamed[code])


def _ids(rows: Rows, found: Columns) -> tuple[list[str], Columns]:
    """The same for topic ids."""
    row, answer, at, buffer, size = found
    code, raw = intern(rows.buffers, buffer, at, size)
    ids = [uuid_text(each) for each in raw]
    renamed = np.array([-1 if each == NO_ID else index for index, each in enumerate(ids)] + [-1], np.int64)
    return ids, (row, answer, at, renamed[code])


def _lists(count: int, found: Columns, values: Sequence[Value]) -> tuple[Int64s, list[tuple[Value, ...]]]:
    """For each exchange its distinct values in order of appearance, as the number of a list; list 0 is empty."""
    row, answer, at, code = found
    kept = code >= 0
    row, answer, at, code = row[kept], answer[kept], at[kept], code[kept]
    order = np.lexsort((at, answer, row))
    row, code = row[order], code[order]
    fresh = np.ones(len(row), bool)
    fresh[1:] = (row[1:] != row[:-1]) | (code[1:] != code[:-1])
    row, code = row[fresh], code[fresh]
    number = np.zeros(count, np.int64)
    lists: list[tuple[Value, ...]] = [(), *((value,) for value in values)]
    several = np.bincount(row, minlength=count) > 1
    single = ~several[row]
    number[row[single]] = code[single] + 1
    known: dict[tuple[int, ...], int] = {(index,): index + 1 for index in range(len(values))}
    row, code = row[~single], code[~single]
    bounds = np.flatnonzero(np.concatenate([[True], row[1:] != row[:-1], [True]])) if len(row) else np.zeros(0, np.int64)
    codes = code.tolist()
    for one, begin, end in zip(row[bounds[:-1]].tolist(), bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
        distinct = tuple(dict.fromkeys(codes[begin:end]))
        found_as = known.get(distinct)
        if found_as is None:
            found_as = known[distinct] = len(lists)
            lists.append(tuple(values[index] for index in distinct))
        number[one] = found_as
    return number, lists
