"""Chooses which exchanges are decoded when only shares of what their bodies hold are asked for."""

from __future__ import annotations

from typing import Final

import numpy as np

from kdissect.columnar.flat import Mention, Spoken
from kdissect.columnar.walk import Flags
from kdissect.protocol.bulk import Rows

SAMPLED: Final = (0, 1, 8, 12, 78, 79)
"""Keys of what clients ask all the time, one time like the other: Produce, Fetch, OffsetCommit, Heartbeat, ShareFetch,
ShareAcknowledge.  All others are decoded always."""
ALL_OF: Final = 10_000
"""So many of these are decoded without choosing: a capture up to this size is told exactly."""
FIRST: Final = 16
EVERY: Final = 64
"""Beyond, of each connection, API and topics the first 16 and then about one of 64, spread evenly but not at equal distances:
clients that go round their topics would show always the same ones."""
_GOLDEN: Final = 0x9E3779B1
"""2**32 over the golden ratio: multiples of it, modulo 2**32, lie as evenly as can be (Knuth, TAOCP 6.4)."""
MOST: Final = 200_000
"""Connections, APIs and topics that are told apart."""
LARGE: Final = 1 << 20
"""Requests of as many bytes are always decoded."""


class Sampler:
    """Chooses the same exchanges of the same capture in every run."""

    def __init__(self, all_of: int = ALL_OF) -> None:
        self._left = all_of
        self._seen: dict[tuple[int, int, tuple[Mention, ...]], int] = {}

    def chosen(self, rows: Rows, spoken: Spoken) -> Flags:
        """Which rows are to be decoded: failures, large ones, those that are rare, and samples of the others."""
        common = np.isin(rows.api_key, SAMPLED)
        wanted: Flags = ~common
        failed = np.array([bool(codes) for codes in spoken.error_lists], bool)
        if len(rows):
            wanted |= failed[spoken.errors]
        wanted |= rows.request.size >= LARGE
        which = np.flatnonzero(common)
        if len(which) <= self._left:
            self._left -= len(which)
            wanted[which] = True
            return wanted
        self._left = 0
        lists = len(spoken.topic_lists)
        group = (rows.session[which] * lists + spoken.topics[which]) << 16 | rows.api_key[which]
        order = np.argsort(group, kind="stable")
        distinct, begins = np.unique(group[order], return_index=True)
        for key, part in zip(distinct.tolist(), np.split(which[order], begins[1:]), strict=True):
            session, topics = divmod(key >> 16, lists)
            place = rows.sessions[session].incarnation.number, key & 0xFFFF, spoken.topic_lists[topics]
            before = self._seen.get(place, 0)
            if before or len(self._seen) < MOST:
                self._seen[place] = before + len(part)
            turn = before + np.arange(len(part))
            wanted[part] |= (turn < FIRST) | ((turn * _GOLDEN & 0xFFFFFFFF) < (1 << 32) // EVERY)
        return wanted
