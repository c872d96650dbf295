"""Compressed captures, decompressed as they are read."""

from __future__ import annotations

import sys
import zlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from kdissect.capture.sources import Prefixed, Source, read_head

_INPUT = 1 << 16
_LONGEST_MAGIC = 6
_XZ_MEMORY = 256 << 20


class Inflater(Protocol):
    """What the standard library's decompressors have in common: output of bounded size, one frame each."""

    @property
    def eof(self) -> bool: ...
    @property
    def needs_input(self) -> bool: ...
    @property
    def unused_data(self) -> bytes | None: ...
    def decompress(self, data: bytes, max_length: int) -> bytes: ...


class CorruptCompression(OSError):
    """Compressed bytes that cannot be decompressed, or that end early."""


class _Gzip:
    """zlib's decompressor of one gzip member (RFC 1952), with the others' interface."""

    def __init__(self) -> None:
        self._inflate = zlib.decompressobj(31)
        self._full = False

    @property
    def eof(self) -> bool:
        return self._inflate.eof

    @property
    def needs_input(self) -> bool:
        return not self._full and not self._inflate.unconsumed_tail

    @property
    def unused_data(self) -> bytes:
        return self._inflate.unused_data

    def decompress(self, data: bytes, max_length: int) -> bytes:
        out = self._inflate.decompress(self._inflate.unconsumed_tail + data, max_length)
        self._full = len(out) == max_length
        return out


def _zstd() -> Inflater:
    if TYPE_CHECKING or sys.version_info < (3, 14):
        from backports import zstd
    else:
        from compression import zstd
    return zstd.ZstdDecompressor()


def _lz4() -> Inflater:
    from lz4.frame import LZ4FrameDecompressor  # type: ignore[import-untyped]

    inflater: Inflater = LZ4FrameDecompressor()
    return inflater


def _bzip2() -> Inflater:
    import bz2

    return bz2.BZ2Decompressor()


def _xz() -> Inflater:
    import lzma

    return lzma.LZMADecompressor(memlimit=_XZ_MEMORY)


# The first bytes of a frame -> name, decompressor of one frame.
_FORMATS: list[tuple[bytes, str, Callable[[], Inflater]]] = [
    (b"\x1f\x8b", "gzip", _Gzip),
    (b"\x28\xb5\x2f\xfd", "zstd", _zstd),
    (b"\x04\x22\x4d\x18", "lz4", _lz4),
    (b"BZh", "bzip2", _bzip2),
    (b"\xfd7zXZ\x00", "xz", _xz),
    # Skippable frames, with which pzstd begins; zstd and lz4 share them, and either passes over them.
    *((bytes([0x50 + i]) + b"\x2a\x4d\x18", "zstd", _zstd) for i in range(16)),
]


def _format(head: bytes) -> tuple[str, Callable[[], Inflater]] | None:
    """Name and decompressor of the frame that begins with ``head``, ``None`` where it is no compressed data."""
    return next(((name, make) for magic, name, make in _FORMATS if head.startswith(magic)), None)


class CompressedSource:
    """The decompressed bytes of frames behind each other."""

    def __init__(self, source: Source, name: str, inflater: Inflater) -> None:
        self.live = source.live
        self._source = source
        self._name = name
        self._inflater = inflater
        self._input = b""
        self._error: CorruptCompression | None = None

    def read_into(self, target: memoryview) -> int:
        count = 0
        while count < len(target):
            if self._error:
                if count:
                    break  # what came before the fault first
                raise self._error
            if count and self.live and (self._inflater.eof or self._inflater.needs_input) and not self._input:
                break  # the next bytes may take their time
            if self._inflater.eof and not self._next_frame():
                break
            if self._inflater.needs_input and not self._input:
                self._input = self._read()
                if not self._input:
                    self._error = CorruptCompression(f"the {self._name} data ends early")
                    continue
            data, self._input = self._input, b""
            try:
                out = self._inflater.decompress(data, len(target) - count)
            # lz4 raises RuntimeError, the others exceptions of their own without a common ancestor.
            except Exception:
                self._error = CorruptCompression(f"the {self._name} data is corrupt")
                continue
            target[count : count + len(out)] = out
            count += len(out)
        return count

    def _next_frame(self) -> bool:
        """Goes on to the frame behind the one that ended, if there is one."""
        rest = (self._inflater.unused_data or b"") + self._input
        self._input = b""
        while len(rest := rest.lstrip(b"\0")) < _LONGEST_MAGIC:  # padding to a block size, of tapes and some tools
            more = self._read()
            if not more:
                break
            rest += more
        if not rest:
            return False
        following = _format(rest)
        if following is None:
            self._error = CorruptCompression(f"what follows the {self._name} data is not compressed")
            return True
        self._inflater, self._input = following[1](), rest
        return True

    def _read(self) -> bytes:
        block = bytearray(_INPUT)
        return bytes(block[: self._source.read_into(memoryview(block))])

    def close(self) -> None:
        self._source.close()


def decompressed(source: Source) -> tuple[Source, str | None]:
    """``source``, decompressed if its first bytes say that it is compressed, and the name of the compression."""
    head = read_head(source, _LONGEST_MAGIC)
    whole = Prefixed(head, source)
    found = _format(head)
    if found is None:
        return whole, None
    name, new_inflater = found
    return CompressedSource(whole, name, new_inflater()), name
