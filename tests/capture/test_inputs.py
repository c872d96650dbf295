"""What is given as an input: files, pipes, standard input, compressed and foreign formats, and what is no capture at all."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import lz4.frame
import pytest

from kdissect.capture import open_captures
from tests.support.packets import T0, Packet, ethernet, ip4, pcap, pcapng, read, read_bytes, tcp

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

PACKETS = [Packet(ethernet(ip4(tcp(os.urandom(i * 11), seq=i))), T0 + i * 1000) for i in range(60)]
DATA = [p.data for p in PACKETS]


def bytes_of(got: object) -> list[bytes]:
    return [p[5] for p in got.packets]  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "content, message",
    [
        (b"", "is empty"),
        (b"hello world, this is text", "not a capture (pcap or pcapng expected; the file begins with 68656c6c)"),
        (b"\xd4", "not a capture (pcap or pcapng expected; the file begins with d4)"),
        (gzip.compress(b"", mtime=0), "is gzip-compressed, but inside empty"),
        (
            gzip.compress(b"hello", mtime=0),
            "gzip-compressed, but inside not a capture (pcap or pcapng expected; the file begins with 68656c6c)",
        ),
        (b"\x1f\x8b\x08\xff garbage", "cannot be read: the gzip data is corrupt"),
    ],
)
def test_what_is_no_capture_is_told_in_one_line_and_the_others_are_read(tmp_path: Path, content: bytes, message: str) -> None:
    bad, good = tmp_path / "notes.txt", tmp_path / "good.pcap"
    bad.write_bytes(content)
    good.write_bytes(pcap(PACKETS))
    for paths in ([bad, good], [good, bad]):
        got = read(paths)
        assert got.errors == [f"{bad}: {message}"]
        assert bytes_of(got) == DATA
        assert not got.warnings
    assert read([bad]).errors == [f"{bad}: {message}"]


def test_a_missing_file_and_a_directory(tmp_path: Path) -> None:
    got = read([tmp_path / "none.pcap", tmp_path])
    assert got.errors == [f"{tmp_path}/none.pcap: no such file", f"{tmp_path}: is a directory; give the capture files in it"]
    assert not got.packets


def test_a_file_that_may_not_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x.pcap"
    path.write_bytes(pcap(PACKETS))

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("io.FileIO", refuse)
    assert read([path]).errors == [f"{path}: permission denied"]


COMPRESSIONS: list[tuple[str, Callable[[bytes], bytes]]] = [
    ("gzip", gzip.compress),
    ("zstd", zstd.compress),
    ("lz4", lz4.frame.compress),
    ("bzip2", bz2.compress),
    ("xz", lzma.compress),
]


@pytest.mark.parametrize("name, compress", COMPRESSIONS)
@pytest.mark.parametrize("chunk", [100, 1 << 20])
def test_compressed_captures(tmp_path: Path, name: str, compress: Callable[[bytes], bytes], chunk: int) -> None:
    for capture in (pcap(PACKETS), pcapng(PACKETS)):
        got = read_bytes(tmp_path / "x", compress(capture), chunk_bytes=chunk)
        assert bytes_of(got) == DATA
        assert got.reader.files[0].compression == name
        assert not got.warnings


@pytest.mark.parametrize("name, compress", COMPRESSIONS)
def test_several_compressed_frames_behind_each_other(tmp_path: Path, name: str, compress: Callable[[bytes], bytes]) -> None:
    capture = pcap(PACKETS)
    pieces = [compress(capture[at : at + 1000]) for at in range(0, len(capture), 1000)]
    assert bytes_of(read_bytes(tmp_path / "x", b"".join(pieces))) == DATA


@pytest.mark.parametrize("name, compress", COMPRESSIONS)
def test_compressed_data_that_ends_early_is_read_as_far_as_it_goes(
    tmp_path: Path, name: str, compress: Callable[[bytes], bytes]
) -> None:
    whole = b"".join(compress(piece) for piece in (pcap(PACKETS[:30]), pcap(PACKETS[30:])[24:]))
    for size in range(8, len(whole), 97):
        got = read_bytes(tmp_path / "x", whole[:size])
        assert bytes_of(got) == DATA[: len(got.packets)]
        if size >= len(compress(pcap(PACKETS[:30]))):
            assert len(got.packets) >= 30
        if got.packets and size != len(compress(pcap(PACKETS[:30]))):
            assert got.reader.files[0].truncated
            assert len(got.warnings) == 1


@pytest.mark.parametrize("name, compress", COMPRESSIONS)
def test_corrupt_compressed_data_is_never_an_exception(tmp_path: Path, name: str, compress: Callable[[bytes], bytes]) -> None:
    whole = compress(pcap(PACKETS))
    for at in range(0, len(whole), max(1, len(whole) // 150)):
        bad = bytearray(whole)
        bad[at] ^= 0x55
        got = read_bytes(tmp_path / "x", bytes(bad))
        assert len(got.packets) <= 1_000_000


def test_a_skippable_frame_in_front(tmp_path: Path) -> None:
    skippable = bytes.fromhex("502a4d18") + (4).to_bytes(4, "little") + b"1234"
    assert bytes_of(read_bytes(tmp_path / "x", skippable + zstd.compress(pcap(PACKETS)))) == DATA
    assert bytes_of(read_bytes(tmp_path / "x", skippable + lz4.frame.compress(pcap(PACKETS)))) == DATA


def test_zeros_behind_gzip_data_are_padding_and_anything_else_is_a_warning(tmp_path: Path) -> None:
    whole = gzip.compress(pcap(PACKETS))
    got = read_bytes(tmp_path / "x", whole + bytes(1000))
    assert bytes_of(got) == DATA and not got.warnings
    got = read_bytes(tmp_path / "x", whole + b"garbage")
    assert bytes_of(got) == DATA
    assert "what follows the gzip data is not compressed" in got.warnings[0]


@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="tells a process's memory on Linux only")
@pytest.mark.parametrize("name, compress", COMPRESSIONS)
def test_a_bomb_is_read_in_little_memory(tmp_path: Path, name: str, compress: Callable[[bytes], bytes]) -> None:
    """A quarter of a gigabyte of zeros; packets of 16 zero bytes (a record header of zeros) come out of it."""
    path = tmp_path / "bomb"
    path.write_bytes(compress(pcap([])) + compress(bytes(16 << 20)) * 16)
    code = (
        "import re, sys; from kdissect.capture import open_captures\n"
        "n = sum(len(b) for b in open_captures(sys.argv[1:], on_warning=print))\n"
        # Not getrusage: its maximum begins with that of the process that started this one.
        "print(n, int(re.search(r'VmHWM:\\s+(\\d+)', open('/proc/self/status').read())[1]) >> 10)"
    )
    out = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True).stdout
    packets, megabytes = map(int, out.split())
    assert packets == 16 << 20
    assert megabytes < 150


def run(code: str, *args: str, stdin: bytes | int) -> str:
    kind: dict[str, Any] = {"input": stdin} if isinstance(stdin, bytes) else {"stdin": stdin}
    return subprocess.run([sys.executable, "-c", code, *args], stdout=subprocess.PIPE, check=True, **kind).stdout.decode()


COUNT = (
    "import sys; from kdissect.capture import open_captures\n"
    "r = open_captures(sys.argv[1:], on_warning=print)\n"
    "print(sum(len(b) for b in r), [f.error for f in r.files], [f.compression for f in r.files])"
)


def test_standard_input_from_a_pipe_a_file_and_nothing(tmp_path: Path) -> None:
    path = tmp_path / "x.pcap"
    path.write_bytes(pcap(PACKETS))
    assert run(COUNT, "-", stdin=pcap(PACKETS)) == "60 [None] [None]\n"
    assert run(COUNT, "-", stdin=gzip.compress(pcapng(PACKETS))) == "60 [None] ['gzip']\n"
    with path.open("rb") as f:
        assert run(COUNT, "-", stdin=f.fileno()) == "60 [None] [None]\n"
    assert run(COUNT, "-", stdin=b"") == "0 ['-: is empty'] [None]\n"
    assert run(COUNT, "-", str(path), stdin=pcap(PACKETS)) == "120 [None, None] [None, None]\n"


@pytest.mark.parametrize("compress", [lambda x: x, gzip.compress])
def test_a_live_pipe_gives_packets_as_they_come(tmp_path: Path, compress: Callable[[bytes], bytes]) -> None:
    """The writer sends the next packets only after the reader has handed out those before."""
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    seen = threading.Semaphore(0)
    pieces = [compress(pcap(PACKETS[:3]))] + [compress(pcap(PACKETS[i : i + 2])[24:]) for i in (3, 5, 7)]
    stuck: list[int] = []

    def write() -> None:
        with fifo.open("wb", buffering=0) as f:
            for i, piece in enumerate(pieces):
                half = len(piece) // 2
                f.write(piece[:half])
                time.sleep(0.03)
                f.write(piece[half:])
                if not seen.acquire(timeout=20):
                    stuck.append(i)
                    return

    writer = threading.Thread(target=write)
    writer.start()
    count = 0
    for batch in open_captures([str(fifo)], on_warning=print):
        before = count
        count += len(batch)
        for threshold in (3, 5, 7, 9):
            if before < threshold <= count:
                seen.release()
    writer.join()
    assert count == 9
    assert not stuck


@pytest.mark.skipif(shutil.which("editcap") is None, reason="editcap is not installed")
@pytest.mark.parametrize("kind", ["snoop", "netmon2", "ngsniffer"])
def test_rare_formats_are_converted_by_editcap_with_a_word_about_it(tmp_path: Path, kind: str) -> None:
    path, rare = tmp_path / "x.pcap", tmp_path / "-x.rare"
    path.write_bytes(pcap(PACKETS))
    subprocess.run(["editcap", "-F", kind, path, rare], check=True)
    got = read([rare])
    # Netmon keeps the Ethernet padding away and times by 100 ns; what counts is the packets.
    assert bytes_of(got) == DATA
    assert [w for w in got.warnings if "converted by editcap" in w] == [f"{rare}: not pcap or pcapng; converted by editcap"]
    assert len(read([rare, path]).packets) == 120


def test_rare_formats_without_editcap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda _: None)
    got = read_bytes(tmp_path / "x.snoop", b"snoop\0\0\0" + bytes(100))
    assert got.errors == [f"{tmp_path}/x.snoop: not a capture (pcap or pcapng expected; the file begins with 736e6f6f)"]
