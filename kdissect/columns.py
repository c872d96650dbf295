"""Reading many headers of one buffer at once."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from kdissect.model import Bytes, Int64s

Table = npt.NDArray[Any]

SLACK = 64
"""Zero bytes that a batch's buffer has behind its last packet, so that a header can be gathered whole and judged afterwards.

No header is gathered in pieces larger than this.
"""


def unaligned(data: Bytes, dtype: npt.DTypeLike) -> Table:
    """A view of ``data`` in which element *i* is the ``dtype`` value that begins at byte *i*.

    Indexing it with an array gathers one value a packet in one step, whatever its alignment.
    """
    kind = np.dtype(dtype)
    return np.ndarray((max(0, len(data) - kind.itemsize + 1),), kind, data.data, 0, (1,))


def gather(data: Bytes, start: Int64s, size: int) -> Table:
    """The ``size`` bytes at each ``start`` as rows of a contiguous (n, size) table, to be viewed as wider integers.

    One gather of a whole header costs as much as one of a single field.
    """
    return unaligned(data, f"V{size}")[start].view(np.uint8).reshape(len(start), size)


def with_slack(data: Bytes, end: int) -> Bytes:
    """``data`` itself when it has :data:`SLACK` bytes behind ``end``, else a copy that has."""
    if len(data) - end >= SLACK:
        return data
    return np.concatenate([data[:end], np.zeros(SLACK, np.uint8)])
