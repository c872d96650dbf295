"""All captures of one call as one sequence of packets."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from kdissect.capture.files import NotACapture, read_packets
from kdissect.capture.packets import CaptureFile
from kdissect.capture.sources import open_source, reason
from kdissect.model import PacketBatch


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
        for index in range(len(self.files)):
            yield from self._read(index)

    def _read(self, index: int) -> Iterator[PacketBatch]:
        info = self.files[index]
        try:
            source = open_source(info.name)
        except OSError as error:
            info.error = f"{info.name}: {reason(error)}"
            return
        try:
            yield from read_packets(source, info, index, self._chunk_bytes, self._warn, self.secrets)
        except NotACapture as error:
            info.error = f"{info.name}: {error}"
        except OSError as error:
            info.error = f"{info.name}: {reason(error)}"
        finally:
            source.close()


def open_captures(
    paths: Sequence[str], *, chunk_bytes: int = 16 << 20, on_warning: Callable[[str], None]
) -> CaptureReader:
    """A reader of the captures at ``paths`` (``-`` is standard input); nothing is opened before iteration."""
    return CaptureReader(paths, chunk_bytes=chunk_bytes, on_warning=on_warning)
