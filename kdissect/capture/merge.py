"""Several captures as one, in the order of time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from kdissect.columns import SLACK
from kdissect.model import UNSTAMPED, Int64s, PacketBatch


@dataclass(slots=True)
class Input:
    """One capture to be merged."""

    order: int
    """Decides between packets of the same time."""
    first_time_ns: int
    """Time of its first packet, or anything smaller."""
    open: Callable[[], Iterator[PacketBatch]]
    """Starts reading it; not called before the merge comes to its first packet."""


class _Stream:
    """A capture being read: its current batch, and how much of it is out."""

    def __init__(self, source: Input) -> None:
        self.order = source.order
        self._batches = source.open()
        self._clock = UNSTAMPED
        self.batch: PacketBatch
        self.key: Int64s
        """The latest time up to each packet, so that packets keep their order within the capture."""
        self.at = 0

    def advance(self) -> bool:
        """Goes on to the next batch that is not empty; ``False`` at the end."""
        for batch in self._batches:
            if len(batch):
                self.batch, self.at = batch, 0
                self.key = np.maximum.accumulate(np.maximum(batch.time_ns, self._clock))
                self._clock = int(self.key[-1])
                return True
        return False


def merge(inputs: list[Input]) -> Iterator[PacketBatch]:
    """The packets of all captures, ordered by time, then capture, then place in the capture.

    A packet stamped earlier than one before it in the same capture counts as simultaneous with that.  The order
    does not depend on how the captures are cut into batches.  Batches that do not overlap with other captures go
    through as they are.
    """
    waiting = sorted(inputs, key=lambda i: (i.first_time_ns, i.order), reverse=True)
    active: list[_Stream] = []
    while waiting or active:
        # Up to the end of the batch that ends first, every packet is known.
        first = min(active, key=lambda s: (int(s.key[-1]), s.order), default=None)
        limit = (int(first.key[-1]), first.order) if first else None
        if waiting and (limit is None or (waiting[-1].first_time_ns, waiting[-1].order) <= limit):
            stream = _Stream(waiting.pop())
            if stream.advance():
                active.append(stream)
            continue
        if limit is None:
            break
        parts: list[tuple[PacketBatch, Int64s]] = []
        for stream in sorted(active, key=lambda s: s.order):
            side = "right" if stream.order <= limit[1] else "left"
            stop = int(np.searchsorted(stream.key, limit[0], side))  # type: ignore[call-overload]
            if stop > stream.at:
                parts.append((_slice(stream.batch, stream.at, stop), stream.key[stream.at : stop]))
                stream.at = stop
            if stop == len(stream.key) and not stream.advance():
                active.remove(stream)
        yield parts[0][0] if len(parts) == 1 else _interleave(parts)


def _slice(batch: PacketBatch, lo: int, hi: int) -> PacketBatch:
    if lo == 0 and hi == len(batch):
        return batch
    return replace(
        batch,
        file=batch.file[lo:hi],
        number=batch.number[lo:hi],
        time_ns=batch.time_ns[lo:hi],
        start=batch.start[lo:hi],
        captured=batch.captured[lo:hi],
        length=batch.length[lo:hi],
        link=batch.link[lo:hi],
    )


def _interleave(parts: list[tuple[PacketBatch, Int64s]]) -> PacketBatch:
    """One batch of all parts, which come in the captures' order, with their bytes copied into one buffer."""
    pieces = []
    starts = []
    size = 0
    for batch, _ in parts:
        lo, hi = int(batch.start.min()), int((batch.start + batch.captured).max())
        pieces.append(batch.data[lo:hi])
        starts.append(batch.start - lo + size)
        size += hi - lo
    order = np.argsort(np.concatenate([key for _, key in parts]), kind="stable")
    batches = [batch for batch, _ in parts]
    return PacketBatch(
        file=np.concatenate([b.file for b in batches])[order],
        number=np.concatenate([b.number for b in batches])[order],
        time_ns=np.concatenate([b.time_ns for b in batches])[order],
        start=np.concatenate(starts)[order],
        captured=np.concatenate([b.captured for b in batches])[order],
        length=np.concatenate([b.length for b in batches])[order],
        link=np.concatenate([b.link for b in batches])[order],
        data=np.concatenate([*pieces, np.zeros(SLACK, np.uint8)]),
    )
