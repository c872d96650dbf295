"""What a ``records`` field of a message becomes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from kdissect.wire.faults import RecordFault
from kdissect.wire.limits import DEFAULT_LIMITS, Budget, Limits


class RawRecords:
    """A ``records`` field left as bytes, to be read when somebody asks."""

    __slots__ = ("data", "offset", "partial_ok")

    def __init__(self, data: memoryview, offset: int, partial_ok: bool) -> None:
        self.data = data
        self.offset = offset
        """Where the field's content begins in the message."""
        self.partial_ok = partial_ok
        """Whether it may end within a batch, as that of a Fetch response may."""

    def __len__(self) -> int:
        """Size in bytes."""
        return len(self.data)

    def read(self, *, decode: bool = True, budget: Budget | None = None) -> tuple[list[dict[str, Any]], list[RecordFault]]:
        """The batches and their faults: see :func:`kdissect.wire.records.read_records`."""
        from kdissect.wire.records import read_records

        return read_records(self.data, decode=decode, partial_ok=self.partial_ok, budget=budget)

    def json_value(self) -> list[dict[str, Any]]:
        """The batches, for :func:`kdissect.wire.json.dumps`."""
        return self.read()[0]


class FullRecords:
    """Reads the ``records`` fields of one message under one budget and gathers their faults."""

    __slots__ = ("budget", "decode", "faults", "partial_ok")

    def __init__(self, size: int, partial_ok: bool, limits: Limits = DEFAULT_LIMITS, *, decode: bool = True) -> None:
        """``size``: bytes of the whole message; ``decode``: False for the heads of batches only."""
        self.decode = decode
        self.budget = Budget(size, limits)
        self.partial_ok = partial_ok
        self.faults: list[RecordFault] = []
        """Offsets are those in the message."""

    def __call__(self, data: bytes, start: int, stop: int) -> list[dict[str, Any]]:
        if start == stop:
            return []
        from kdissect.wire.records import read_records

        content = data[start:stop]
        batches, faults = read_records(content, decode=self.decode, partial_ok=self.partial_ok, budget=self.budget)
        self.faults.extend(replace(fault, offset=start + fault.offset) for fault in faults)
        return batches


def skip_in_request(data: bytes, start: int, stop: int) -> RawRecords:
    """Leaves a request's ``records`` field as it is."""
    return RawRecords(memoryview(data)[start:stop], start, False)


def skip_in_response(data: bytes, start: int, stop: int) -> RawRecords:
    """Leaves a response's ``records`` field as it is."""
    return RawRecords(memoryview(data)[start:stop], start, True)
