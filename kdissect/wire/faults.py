"""What can be wrong with a records field."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from kdissect.wire.limits import Budget

FaultCode = Literal["records.bad_crc", "records.undecompressable", "frame.malformed"]


@dataclass(frozen=True, slots=True)
class RecordFault:
    """One thing wrong with a batch, a message or a record; the code is that of the finding it becomes."""

    code: FaultCode
    text: str
    offset: int
    """Byte offset in the records field; of faults inside compressed data, the offset of the batch that holds it."""


class Malformed(Exception):
    """Bytes that are no record; caught inside this package and told as a :class:`RecordFault`."""

    def __init__(self, text: str, offset: int) -> None:
        super().__init__(text)
        self.text = text
        self.offset = offset


@dataclass(slots=True)
class Reading:
    """The state of reading one records field."""

    budget: Budget
    decode: bool
    """False: heads only, nothing is decompressed and no record read."""
    faults: list[RecordFault] = field(default_factory=list)

    def fault(self, code: FaultCode, text: str, offset: int) -> None:
        self.faults.append(RecordFault(code, text, offset))
