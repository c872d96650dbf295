"""Checks the heads of many record batches at once."""

from __future__ import annotations

import google_crc32c
import numpy as np
import numpy.typing as npt

from kdissect.columns import unaligned
from kdissect.model import Bytes, Int64s
from kdissect.wire.batches import BATCH_HEAD, CRC_AT, CRC_FROM

MOST_BATCHES = 256
"""Fields with more batches are not for this module."""
_MAGIC_AT, _SIZE_AT, _SIZE_FROM = 16, 8, 12


def sound(data: Bytes, start: Int64s, size: Int64s) -> npt.NDArray[np.bool_]:
    """Which ``records`` fields are whole batches of magic 2 with right checksums, one behind the other, and nothing else."""
    good = np.ones(len(start), bool)
    field, at, end = np.arange(len(start)), start.copy(), start + size
    for _ in range(MOST_BATCHES):
        going = at < end
        field, at, end = field[going], at[going], end[going]
        if not len(field):
            return good
        room = end - at
        whole = room >= BATCH_HEAD.size
        good[field[~whole]] = False
        field, at, end, room = field[whole], at[whole], end[whole], room[whole]
        length = unaligned(data, ">i4")[at + _SIZE_AT].astype(np.int64) + _SIZE_FROM
        whole = (data[at + _MAGIC_AT] == 2) & (length >= BATCH_HEAD.size) & (length <= room)
        good[field[~whole]] = False
        field, at, end, length = field[whole], at[whole], end[whole], length[whole]
        crc = unaligned(data, ">u4")[at + CRC_AT]
        right = _crc(data, at + CRC_FROM, at + length) == crc
        good[field[~right]] = False
        field, at, end = field[right], (at + length)[right], end[right]
    good[field[at < end]] = False
    return good


def _crc(data: Bytes, start: Int64s, end: Int64s) -> npt.NDArray[np.uint32]:
    value, view = google_crc32c.value, data.data
    slices = zip(start.tolist(), end.tolist(), strict=True)
    # A copy is cheaper than a view for small pieces.
    sums = (value(view[a:b].tobytes() if b - a < 4096 else data[a:b]) for a, b in slices)
    return np.fromiter(sums, np.uint32, len(start))
