"""Chooses which exchanges are decoded when only shares of what their bodies hold are asked for."""

from __future__ import annotations

from typing import Final

import numpy as np

from kdissect.columnar.flat import Spoken
from kdissect.columnar.walk import Flags
from kdissect.protocol.bulk import Rows

SAMPLED: Final = (0, 1, 8, 12, 78, 79)
"""Keys of what clients ask all the time, one time like the other: Produce, Fetch, OffsetCommit, Heartbeat, ShareFetch,
ShareAcknowledge.  All others are decoded always."""
ALL_OF: Final = 10_000
"""So many of these are decoded without choosing: a capture up to this size is told exactly."""
FIRST: Final = 64
EVERY: Final = 64
"""Beyond, of each connection and API the first 64 and then one of 64."""
LARGE: Final = 1 << 20
"""Requests of as many bytes are always decoded."""


class Sampler:
    """Chooses the same exchanges of the same capture in every run."""

    def __init__(self, all_of: int = ALL_OF) -> None:
        self._left = all_of
        self._seen: dict[tuple[int, int], int] = {}

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
        group = rows.session[which] << 16 | rows.api_key[which]
        order = np.argsort(group, kind="stable")
        distinct, begins = np.unique(group[order], return_index=True)
        for key, part in zip(distinct.tolist(), np.split(which[order], begins[1:]), strict=True):
            place = rows.sessions[key >> 16].incarnation.number, key & 0xFFFF
            before = self._seen.get(place, 0)
            self._seen[place] = before + len(part)
            turn = before + np.arange(len(part))
            wanted[part] |= (turn < FIRST) | (turn % EVERY == 0)
        return wanted
