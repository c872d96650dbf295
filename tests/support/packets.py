"""Builds captures byte by byte, and reads them whole, for tests.

Written from the formats' specifications and independent of kdissect's readers: every field is a parameter, so that tests
can also build what is wrong.
"""

from __future__ import annotations

import ipaddress
import struct
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kdissect.capture import CaptureReader, open_captures
from kdissect.stream.endpoints import Endpoints
from kdissect.stream.segments import Segmenter

T0 = 1_700_000_000_000_000_000


@dataclass
class Packet:
    """One packet to be written; ``length`` is its size on the wire where it differs from what is captured."""

    data: bytes
    time_ns: int = T0
    length: int | None = None


# Capture formats


def pcap(
    packets: Iterable[Packet],
    *,
    order: str = "<",
    nano: bool = False,
    link: int = 1,
    modified: bool = False,
    snaplen: int = 262144,
) -> bytes:
    nano = nano and not modified  # the modified format has microseconds
    magic = 0xA1B2CD34 if modified else 0xA1B23C4D if nano else 0xA1B2C3D4
    out = [struct.pack(order + "IHHiIII", magic, 2, 4, 0, 0, snaplen, link)]
    for p in packets:
        seconds, rest = divmod(p.time_ns, 10**9)
        length = len(p.data) if p.length is None else p.length
        out.append(struct.pack(order + "IIII", seconds, rest if nano else rest // 1000, len(p.data), length))
        if modified:
            out.append(struct.pack(order + "IHBB", 3, 0x800, 0, 0))
        out.append(p.data)
    return b"".join(out)


def block(kind: int, body: bytes, order: str = "<") -> bytes:
    body += bytes(-len(body) % 4)
    size = 12 + len(body)
    return struct.pack(order + "II", kind, size) + body + struct.pack(order + "I", size)


def option(code: int, value: bytes, order: str = "<") -> bytes:
    return struct.pack(order + "HH", code, len(value)) + value + bytes(-len(value) % 4)


def section(order: str = "<", options: bytes = b"") -> bytes:
    return block(0x0A0D0D0A, struct.pack(order + "IHHq", 0x1A2B3C4D, 1, 0, -1) + options, order)


def interface(
    link: int = 1,
    *,
    snaplen: int = 0,
    tsresol: int | None = None,
    tsoffset: int | None = None,
    name: str | None = None,
    order: str = "<",
) -> bytes:
    options = b""
    if name is not None:
        options += option(2, name.encode(), order)
    if tsresol is not None:
        options += option(9, bytes([tsresol]), order)
    if tsoffset is not None:
        options += option(14, struct.pack(order + "q", tsoffset), order)
    if options:
        options += option(0, b"", order)
    return block(1, struct.pack(order + "HHI", link, 0, snaplen) + options, order)


def enhanced(
    data: bytes, units: int, *, interface: int = 0, length: int | None = None, options: bytes = b"", order: str = "<"
) -> bytes:
    """An enhanced packet block; ``units`` is the time in the interface's unit."""
    length = len(data) if length is None else length
    head = struct.pack(order + "IIIII", interface, units >> 32, units & 0xFFFFFFFF, len(data), length)
    return block(6, head + data + bytes(-len(data) % 4) + options, order)


def simple(data: bytes, *, length: int | None = None, order: str = "<") -> bytes:
    return block(3, struct.pack(order + "I", len(data) if length is None else length) + data, order)


def obsolete(data: bytes, units: int, *, interface: int = 0, order: str = "<") -> bytes:
    head = struct.pack(order + "HHIIII", interface, 7, units >> 32, units & 0xFFFFFFFF, len(data), len(data))
    return block(2, head + data, order)


def pcapng(packets: Iterable[Packet], *, order: str = "<", link: int = 1) -> bytes:
    """One section, one interface with nanoseconds."""
    blocks = [enhanced(p.data, p.time_ns, length=p.length, order=order) for p in packets]
    return section(order) + interface(link, tsresol=9, order=order) + b"".join(blocks)


# Link layers


def ethernet(payload: bytes, kind: int = 0x0800) -> bytes:
    return bytes.fromhex("020000000001020000000002") + struct.pack(">H", kind) + payload


def vlan(payload: bytes, kind: int = 0x0800, tag: int = 5) -> bytes:
    """What follows an EtherType of 0x8100, 0x88a8 or 0x9100."""
    return struct.pack(">HH", tag, kind) + payload


def mpls(payload: bytes, *labels: int) -> bytes:
    """A stack of labels; what follows EtherType 0x8847."""
    stack = [struct.pack(">I", label << 12 | (i == len(labels) - 1) << 8 | 64) for i, label in enumerate(labels)]
    return b"".join(stack) + payload


def sll(payload: bytes, kind: int = 0x0800) -> bytes:
    return struct.pack(">HHH8sH", 0, 1, 6, bytes(8), kind) + payload


def sll2(payload: bytes, kind: int = 0x0800) -> bytes:
    return struct.pack(">HHIHBB8s", kind, 0, 2, 1, 0, 6, bytes(8)) + payload


# Network and transport layers


def ip4(
    payload: bytes,
    protocol: int = 6,
    *,
    source: str = "10.0.0.5",
    target: str = "10.0.0.9",
    options: bytes = b"",
    total: int | None = None,
    identification: int = 1,
    fragment: int = 0x4000,
) -> bytes:
    """``fragment`` is the field of flags and offset as a whole."""
    size = 20 + len(options)
    head = struct.pack(
        ">BBHHHBBH4s4s",
        0x40 | size // 4,
        0,
        size + len(payload) if total is None else total,
        identification,
        fragment,
        64,
        protocol,
        0,
        ipaddress.IPv4Address(source).packed,
        ipaddress.IPv4Address(target).packed,
    )
    return head + options + payload


def ip6(
    payload: bytes, following: int = 6, *, source: str = "2001:db8::5", target: str = "2001:db8::9", size: int | None = None
) -> bytes:
    head = struct.pack(
        ">IHBB16s16s",
        6 << 28,
        len(payload) if size is None else size,
        following,
        64,
        ipaddress.IPv6Address(source).packed,
        ipaddress.IPv6Address(target).packed,
    )
    return head + payload


def tcp(
    payload: bytes = b"",
    *,
    source: int = 50000,
    target: int = 9092,
    seq: int = 1000,
    ack: int = 2000,
    flags: int = 0x18,
    options: bytes = b"",
    offset: int | None = None,
) -> bytes:
    words = (20 + len(options)) // 4 if offset is None else offset
    return struct.pack(">HHIIBBHHH", source, target, seq, ack, words << 4, flags, 65535, 0, 0) + options + payload


def udp(payload: bytes, target: int, source: int = 40000) -> bytes:
    return struct.pack(">HHHH", source, target, 8 + len(payload), 0) + payload


def fragments4(payload: bytes, size: int, *, identification: int = 77, protocol: int = 6) -> list[bytes]:
    """The IPv4 packets that carry ``payload`` in pieces of ``size`` bytes, a multiple of 8."""
    pieces = range(0, len(payload), size)
    return [
        ip4(
            payload[at : at + size],
            protocol,
            identification=identification,
            fragment=at // 8 | (0x2000 if at + size < len(payload) else 0),
        )
        for at in pieces
    ]


def fragments6(payload: bytes, size: int, *, identification: int = 77, following: int = 6) -> list[bytes]:
    """The same for IPv6, with fragment headers."""
    return [
        ip6(
            struct.pack(">BBHI", following, 0, at | (at + size < len(payload)), identification) + payload[at : at + size],
            44,
        )
        for at in range(0, len(payload), size)
    ]


# Reading back


@dataclass
class Read:
    """Everything that reading some captures gave."""

    reader: CaptureReader
    segmenter: Segmenter
    warnings: list[str]
    packets: list[tuple[int, int, int, int, int, bytes]] = field(default_factory=list)
    """(file, number, time_ns, length, link, captured bytes)"""
    segments: list[dict[str, Any]] = field(default_factory=list)
    """One dict a segment: number, ordinal, time_ns, source, target, seq, ack, flags, payload, length."""
    batches: int = 0

    @property
    def errors(self) -> list[str]:
        return [f.error for f in self.reader.files if f.error]

    @property
    def payloads(self) -> list[bytes]:
        return [s["payload"] for s in self.segments]


def read(paths: Iterable[str | Path], *, chunk_bytes: int = 1 << 20) -> Read:
    """Reads captures through the capture readers and the segmenter; every value is copied out of the batches."""
    warnings: list[str] = []
    reader = open_captures([str(p) for p in paths], chunk_bytes=chunk_bytes, on_warning=warnings.append)
    endpoints = Endpoints()
    segmenter = Segmenter(endpoints, on_warning=warnings.append)
    out = Read(reader, segmenter, warnings)
    for batch in reader:
        out.batches += 1
        assert len(batch), "an empty batch"
        data = batch.data.tobytes()
        for i in range(len(batch)):
            start = int(batch.start[i])
            captured = data[start : start + int(batch.captured[i])]
            assert len(captured) == batch.captured[i]
            columns = batch.file, batch.number, batch.time_ns, batch.length, batch.link
            out.packets.append((*(int(c[i]) for c in columns), captured))  # type: ignore[arg-type]
        found = segmenter.feed(batch)
        data = found.data.tobytes()
        for i in range(len(found)):
            start, size = int(found.start[i]), int(found.size[i])
            assert 0 <= start <= start + size <= len(data)
            out.segments.append(
                {
                    "number": int(found.number[i]),
                    "ordinal": int(found.ordinal[i]),
                    "time_ns": int(found.time_ns[i]),
                    "source": endpoints.text(int(found.source[i])),
                    "target": endpoints.text(int(found.target[i])),
                    "seq": int(found.seq[i]),
                    "ack": int(found.ack[i]),
                    "flags": int(found.flags[i]),
                    "payload": data[start : start + size],
                    "length": int(found.length[i]),
                }
            )
    return out


def read_bytes(path: Path, capture: bytes, *, chunk_bytes: int = 1 << 20) -> Read:
    """Writes ``capture`` to ``path`` and reads it."""
    path.write_bytes(capture)
    return read([path], chunk_bytes=chunk_bytes)
