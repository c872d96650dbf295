"""The content of a ``records`` field: record batches and message sets, one after the other, of any magic."""

from __future__ import annotations

import struct

from kdissect.wire.batches import BATCH_HEAD, read_batch
from kdissect.wire.faults import Reading, RecordFault
from kdissect.wire.limits import DEFAULT_LIMITS, Budget, Limits
from kdissect.wire.message_sets import SMALLEST_MESSAGE, read_message

__all__ = ["DEFAULT_LIMITS", "Budget", "Limits", "RecordFault", "read_records"]

_OFFSET_AND_SIZE = struct.Struct(">qi")
_MAGIC_AT = 16
_SMALLEST = (*SMALLEST_MESSAGE, BATCH_HEAD.size)


def read_records(
    data: bytes | memoryview,
    *,
    limits: Limits = DEFAULT_LIMITS,
    decode: bool = True,
    partial_ok: bool = False,
    budget: Budget | None = None,
) -> tuple[list[dict[str, object]], list[RecordFault]]:
    """The batches in a ``records`` field, as dicts with the keys and the order of the output contract, and their faults.

    Keys, values and header values are bytes or None, header keys str (bytes
    where they are no UTF-8).  A message of a message set stands as a batch
    with the keys that it has (:func:`~kdissect.wire.message_sets.read_message`).

    ``decode=False`` reads heads only: ``records`` is left out and nothing is
    decompressed, the CRC is still checked.  ``partial_ok`` says that the field
    may end within a batch, as that of a Fetch response may: such a tail is
    ``{"base_offset", "batch_length", "partial": True}`` in any case, and also
    a fault where it may not be.  ``budget`` lets several fields of a message
    share one ration; else ``limits`` apply to this field by itself.

    Never raises on account of the bytes.
    """
    content = data if isinstance(data, bytes) else bytes(data)
    reading = Reading(budget or Budget(len(content), limits), decode)
    batches: list[dict[str, object]] = []
    at, end = 0, len(content)
    while at < end:
        left = end - at
        if left < _OFFSET_AND_SIZE.size:
            batches.append({"partial": True})
            break
        base_offset, batch_length = _OFFSET_AND_SIZE.unpack_from(content, at)
        size = _OFFSET_AND_SIZE.size + batch_length
        magic = content[at + _MAGIC_AT] if left > _MAGIC_AT else None
        if size <= _MAGIC_AT or (magic is not None and magic < len(_SMALLEST) and size < _SMALLEST[magic]):
            reading.fault("frame.malformed", f"batch at offset {base_offset}: a batch length of {batch_length}", at)
            break
        known = magic is None or magic < len(_SMALLEST)
        if not known:
            reading.fault("frame.malformed", f"batch at offset {base_offset}: unknown magic {magic}", at)
        if size > left:
            batches.append({"base_offset": base_offset, "batch_length": batch_length, "partial": True})
            break
        reading.budget.objects_left -= 1
        if reading.budget.objects_left < 0:
            text = f"batch at offset {base_offset}: it and those after it are not read, the limit on objects"
            reading.fault("records.undecompressable", text, at)
            break
        if not known:
            batches.append({"base_offset": base_offset, "batch_length": batch_length, "magic": magic, "records": None})
        elif magic == 2:
            batches.append(read_batch(content, at, at + size, reading))
        else:
            batches.append(read_message(content, at, at + size, reading))
        at += size
    if batches and "partial" in batches[-1] and not partial_ok:
        reading.fault("frame.malformed", f"the field ends within a batch, {end - at} bytes into it", at)
    return batches, reading.faults
