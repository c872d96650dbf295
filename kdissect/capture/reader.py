"""All captures of one call as one sequence of packets."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from functools import partial

from kdissect.capture.files import NotACapture, read_packets
from kdissect.capture.merge import Input, merge
from kdissect.capture.packets import CaptureFile
from kdissect.capture.sources import reason
from kdissect.model import UNSTAMPED, PacketBatch

_LEAST_CHUNK = 1 << 20
_PEEK_BYTES = 1 << 16


class CaptureReader:
    """Iterating yields the packets in batches; the attributes are filled meanwhile.

    A batch's ``data`` is its own buffer, but keeping it keeps a whole chunk in memory: copy what has to outlive
    the batch.
    """

    def __init__(self, paths: Sequence[str], *, chunk_bytes: int, on_warning: Callable[[str], None]) -> None:
        self.files = [CaptureFile(name) for name in paths]
        """One for each path, in the order given; :attr:`CaptureFile.error` tells which could not be read."""
        self.secrets: list[tuple[int, bytes]] = []
        """Decryption secrets found in pcapng files: (type, data)."""
        self._chunk_bytes = max(1, chunk_bytes)
        self._warn = on_warning

    def __iter__(self) -> Iterator[PacketBatch]:
        indexes = range(len(self.files))
        if len(self.files) == 1:
            return self._read(0, self._chunk_bytes)
        # Captures that overlap in time each hold a chunk.
        chunk = min(self._chunk_bytes, max(_LEAST_CHUNK, self._chunk_bytes // max(1, min(16, len(self.files)))))
        return merge([Input(i, self._first_time_ns(i), partial(self._read, i, chunk)) for i in indexes])

    def _read(self, index: int, chunk_bytes: int) -> Iterator[PacketBatch]:
        info = self.files[index]
        try:
            yield from read_packets(info, index, chunk_bytes, self._warn, self.secrets)
        except NotACapture as error:
            info.error = f"{info.name}: {error}"
        except OSError as error:
            info.error = f"{info.name}: {reason(error)}"

    def _first_time_ns(self, index: int) -> int:
        """Time of the capture's first packet, so that it need not be open before its turn comes."""
        name = self.files[index].name
        if name == "-" or not os.path.isfile(name):
            return UNSTAMPED  # can be read only once, or not at all
        packets = read_packets(CaptureFile(name), index, _PEEK_BYTES, lambda _: None, [])
        with closing(packets):
            try:
                return next((int(batch.time_ns[0]) for batch in packets), UNSTAMPED)
            except (NotACapture, OSError):
                return UNSTAMPED


def open_captures(paths: Sequence[str], *, chunk_bytes: int = 16 << 20, on_warning: Callable[[str], None]) -> CaptureReader:
    """A reader of the captures at ``paths`` (``-`` is standard input); nothing is opened before iteration.

    Several captures are read as one in the order of time.  ``chunk_bytes`` is how much of a capture is looked at
    at once; it changes nothing but memory and speed.
    """
    return CaptureReader(paths, chunk_bytes=chunk_bytes, on_warning=on_warning)
