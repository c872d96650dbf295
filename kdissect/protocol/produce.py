"""Whether a Produce request asks for no answer at all."""

from __future__ import annotations

from kdissect.protocol.heads import RequestHead


def expects_no_reply(data: memoryview, head: RequestHead) -> bool:
    """Whether ``acks`` of this Produce request (with its size prefix) is 0; False where it is cut off.

    ``acks`` has no fixed place: client_id, from v9 the header's tag section, and from v3
    transactional_id stand before it (ProduceRequest.json, KIP-98, KIP-482).
    """
    if head.cut:
        return False
    at = 14 + len(head.client_id or b"")
    version = head.api_version
    try:
        if version >= 9:
            tags, at = _uvarint(data, at)
            for _ in range(tags):
                _, at = _uvarint(data, at)
                size, at = _uvarint(data, at)
                at += size
            length, at = _uvarint(data, at)
            at += max(0, length - 1)
        elif version >= 3:
            length = int.from_bytes(data[at : at + 2], signed=True)
            at += 2 + max(0, length)
    except IndexError:
        return False
    return at + 2 <= len(data) and data[at] == 0 and data[at + 1] == 0


def _uvarint(data: memoryview, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
        if shift > 35:
            raise IndexError
