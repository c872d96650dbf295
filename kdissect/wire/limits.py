"""How much of hostile input is believed: limits on what reading records may cost.

A few kilobytes can claim to be gigabytes (compression) or millions of objects
(seven bytes make a record), so both are rationed.  The ration is held by a
:class:`Budget`; one budget may serve all the ``records`` fields of a message,
which then share it.
"""

from __future__ import annotations

from dataclasses import dataclass

MIB = 1 << 20


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits for one budget; sizes in bytes."""

    batch_bytes: int = 256 * MIB
    """Most that one compressed batch, or one wrapper message with all that is nested in it, may expand to."""
    total_bytes: int = 1024 * MIB
    """Most that all compressed batches under one budget may expand to."""
    free_bytes: int = 32 * MIB
    """What may be expanded to whatever the compressed size; beyond it ``expansion`` decides."""
    expansion: int = 256
    """Most bytes per byte on the wire; just above what LZ4 can reach (255), far below a gzip (1,030) or zstd bomb."""
    objects: int = 2_000_000
    """Most records and headers together: as Python objects they need some 400 bytes each."""


DEFAULT_LIMITS = Limits()


class Budget:
    """What is left of the limits; used up while reading."""

    __slots__ = ("batch_bytes", "bytes_left", "objects_left")

    def __init__(self, size: int, limits: Limits = DEFAULT_LIMITS) -> None:
        """``size``: bytes on the wire that this budget is for (a records field, or the whole message around it)."""
        self.bytes_left = min(limits.total_bytes, max(limits.free_bytes, limits.expansion * size))
        self.batch_bytes = limits.batch_bytes
        self.objects_left = limits.objects

    @property
    def next_batch(self) -> int:
        """Bytes that the next compressed batch may expand to."""
        return min(self.batch_bytes, self.bytes_left)
