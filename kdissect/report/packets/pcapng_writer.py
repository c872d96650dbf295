"""A pcapng file with comments (draft-ietf-opsawg-pcapng)."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import BinaryIO, Final

from kdissect import __version__
from kdissect.model import UNSTAMPED

_SECTION, _INTERFACE, _ENHANCED = 0x0A0D0D0A, 1, 6
_COMMENT, _APPLICATION, _NAME, _RESOLUTION = 1, 4, 2, 9
MOST_COMMENT: Final = 10_000
"""Bytes of a comment; an option holds 65,535."""


class PcapngWriter:
    """Writes packets of any link types, each pair of capture and link type as an interface with its own precision of time."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._interfaces: dict[tuple[str, int], int] = {}
        head = struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1)
        self._block(_SECTION, head + _options([(_APPLICATION, f"kdissect {__version__}".encode())]))

    def packet(
        self, file: str, link: int, time_ns: int, digits: int, data: bytes, length: int, comments: Sequence[str] = ()
    ) -> None:
        """Writes one packet; ``digits``: decimals of its time; ``length``: its size on the wire."""
        interface = self._interfaces.get((file, link))
        if interface is None:
            interface = self._interfaces[file, link] = len(self._interfaces)
            options = _options([(_NAME, file.encode(errors="replace")[:1000]), (_RESOLUTION, bytes([digits]))])
            self._block(_INTERFACE, struct.pack("<HHI", link, 0, 0) + options)
        time = 0 if time_ns == UNSTAMPED else max(0, time_ns) // 10 ** (9 - digits)
        body = struct.pack("<IIIII", interface, time >> 32, time & 0xFFFFFFFF, len(data), length)
        said = [(_COMMENT, comment.encode(errors="replace")[:MOST_COMMENT]) for comment in comments]
        self._block(_ENHANCED, body + _padded(data) + (_options(said) if said else b""))

    def _block(self, kind: int, body: bytes) -> None:
        size = struct.pack("<I", len(body) + 12)
        self._stream.write(struct.pack("<I", kind) + size + body + size)


def _options(options: Sequence[tuple[int, bytes]]) -> bytes:
    parts = [struct.pack("<HH", code, len(value)) + _padded(value) for code, value in options]
    return b"".join([*parts, bytes(4)])


def _padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % 4)
