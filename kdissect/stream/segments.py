"""From captured packets to TCP segments."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from kdissect.columns import gather, with_slack
from kdissect.model import UNSTAMPED, Bytes, Int32s, Int64s, PacketBatch, SegmentBatch
from kdissect.stream.endpoints import Endpoints
from kdissect.stream.ip import TCP, Datagrams, ip4, ip6
from kdissect.stream.ip_fragments import FragmentTable
from kdissect.stream.ip_tunnels import inner_packets
from kdissect.stream.link import IP4, IP6, SUPPORTED, Rest, ether_types, is_tag, untag
from kdissect.stream.link_fallback import LinkFallback

_MAX_LAYERS = 32
"""Headers of link and network that are taken off a packet before it is given up."""
_TCP_HEADER = 20
_TCP_NEEDED = 14
"""Bytes of a TCP header up to its flags; the window, the checksum and options may be cut off by a snap length."""


class _Segments(NamedTuple):
    """Columns of :class:`~kdissect.model.SegmentBatch`, with the packet's index in place of what its batch knows."""

    row: Int64s
    source: Int32s
    target: Int32s
    seq: Int64s
    ack: Int64s
    flags: Int32s
    start: Int64s
    size: Int32s
    length: Int32s


class _Layer(NamedTuple):
    """Packets whose next header is to be read."""

    kind: Int64s
    """EtherType of that header."""
    rest: Rest
    inside: bool
    """Whether a tunnel carries them."""


class Segmenter:
    """Finds the TCP segments in packets; fed batch after batch, of all captures of a call.

    A packet gives one segment or none: none when it holds no TCP, when its TCP header is not captured up to the flags, and
    when it is a fragment of a datagram that other packets complete.
    """

    def __init__(self, endpoints: Endpoints, *, on_warning: Callable[[str], None] = lambda _: None) -> None:
        self.endpoints = endpoints
        self._fragments = FragmentTable()
        self._fallback = LinkFallback(on_warning)
        self.packets = 0
        self.tcp_packets = 0
        """Packets with a TCP header, after the removal of tunnels and the reassembly of fragments."""
        self.non_ip = 0
        """Packets of known link type that lead to no IP packet."""
        self.unsupported_link: Counter[int] = Counter()
        """Packets by link type (LINKTYPE_ value) that cannot be looked into."""
        self.first_time_ns: int | None = None
        """Earliest time of any packet, whether TCP or not."""
        self.last_time_ns: int | None = None

    @property
    def fragments_dropped(self) -> int:
        """Fragmented datagrams that were given up because pieces of them are missing."""
        return self._fragments.dropped

    def feed(self, batch: PacketBatch) -> SegmentBatch:
        """The segments in ``batch``, in packet order; their payload is in the batch's ``data`` or a copy of it."""
        ends = batch.start + batch.captured
        data = with_slack(batch.data, int(ends.max(initial=0)))
        found, data = self._segments(batch, data, ends)
        row = found.row
        ordinal = self.packets + row
        self.packets += len(batch)
        self.tcp_packets += len(row)
        self._note_times(batch.time_ns)
        return SegmentBatch(
            file=batch.file[row],
            number=batch.number[row],
            ordinal=ordinal,
            time_ns=batch.time_ns[row],
            source=found.source,
            target=found.target,
            seq=found.seq,
            ack=found.ack,
            flags=found.flags,
            start=found.start,
            size=found.size,
            length=found.length,
            data=data,
        )

    def _note_times(self, time_ns: Int64s) -> None:
        stamped = time_ns[time_ns != UNSTAMPED]
        if len(stamped):
            first, last = int(stamped.min()), int(stamped.max())
            self.first_time_ns = first if self.first_time_ns is None else min(first, self.first_time_ns)
            self.last_time_ns = last if self.last_time_ns is None else max(last, self.last_time_ns)

    def _segments(self, batch: PacketBatch, data: Bytes, ends: Int64s) -> tuple[_Segments, Bytes]:
        """All segments of a batch, taking off one layer of headers of all packets at a time."""
        found: list[_Segments] = []
        work = self._link_layer(batch, data, ends)
        for _ in range(_MAX_LAYERS):
            following: list[_Layer] = []
            for kind, rest, inside in work:
                tags = is_tag(kind)
                if tags.any():
                    following.append(_Layer(*untag(data, kind[tags], rest.pick(tags)), inside))
                    kind, rest = kind[~tags], rest.pick(~tags)
                if not inside:
                    self.non_ip += int(np.count_nonzero((kind != IP4) & (kind != IP6)))
                for read, wanted in ((ip4, IP4), (ip6, IP6)):
                    which = kind == wanted
                    if not which.any():
                        continue
                    whole, pieces = read(data, rest if which.all() else rest.pick(which))
                    following += self._transport_layer(data, whole, found)
                    if pieces is not None:
                        completed, data = self._fragments.feed(data, pieces, batch.time_ns, self.packets)
                        if completed is not None:
                            following += self._transport_layer(data, completed, found)
            if not following:
                break
            work = following
        return _in_order(found), data

    def _link_layer(self, batch: PacketBatch, data: Bytes, ends: Int64s) -> list[_Layer]:
        """The packets by link type, with their EtherTypes."""
        every = Rest(np.arange(len(batch)), batch.start, ends, batch.start + batch.length)
        out = []
        link = batch.link
        links = link[:1].tolist() if len(link) and (link == link[0]).all() else np.unique(link).tolist()
        for one in links:
            rest = every if len(links) == 1 else every.pick(link == one)
            if one in SUPPORTED:
                out.append(_Layer(*ether_types(data, rest, one), False))
            elif (looked_into := self._fallback.ether_types(data, rest, one)) is not None:
                out.append(_Layer(*looked_into, False))
            else:
                self.unsupported_link[one] += len(rest.row)
        return out

    def _transport_layer(self, data: Bytes, datagrams: Datagrams, found: list[_Segments]) -> list[_Layer]:
        """Adds the TCP segments in ``datagrams`` to ``found`` and returns the packets that tunnels carry."""
        tcp = datagrams.protocol == TCP
        if tcp.all():
            found.append(self._tcp(data, datagrams))
            return []
        if tcp.any():
            found.append(self._tcp(data, datagrams.pick(tcp)))
        return [_Layer(*carried, True) for carried in inner_packets(data, datagrams)]

    def _tcp(self, data: Bytes, datagrams: Datagrams) -> _Segments:
        """Reads TCP headers (RFC 9293); packets whose header is malformed or not captured are left out."""
        rest = datagrams.rest
        head = gather(data, rest.at, _TCP_HEADER)
        size = (head[:, 12] >> 4).astype(np.int64) * 4
        whole = (rest.at + _TCP_NEEDED <= rest.end) & (size >= _TCP_HEADER) & (rest.at + size <= rest.wire)
        if not whole.all():
            sound = np.flatnonzero(whole)
            datagrams, rest, head, size = datagrams.pick(sound), rest.pick(sound), head[sound], size[sound]
        short = head.view(">u2")
        long = head.view(">u4")
        ports = short[:, 0], short[:, 1]
        if datagrams.family == 4:
            source, target = self.endpoints.pairs4(datagrams.source[1], datagrams.target[1], *ports)
        else:
            source, target = self.endpoints.pairs6(datagrams.source, datagrams.target, *ports)
        start = np.minimum(rest.at + size, rest.end)
        return _Segments(
            row=rest.row,
            source=source,
            target=target,
            seq=long[:, 1].astype(np.int64),
            ack=long[:, 2].astype(np.int64),
            flags=head[:, 13].astype(np.int32),
            start=start,
            size=(rest.end - start).astype(np.int32),
            length=(rest.wire - rest.at - size).astype(np.int32),
        )


def _in_order(parts: list[_Segments]) -> _Segments:
    """The parts as one, sorted by packet."""
    parts = [p for p in parts if len(p.row)] or parts[:1]
    if not parts:
        none: Any = np.zeros(0, np.int64)
        narrow: Any = np.zeros(0, np.int32)
        return _Segments(none, narrow, narrow, none, none, narrow, none, narrow, narrow)
    if len(parts) == 1:
        return parts[0]
    joined = _Segments(*(np.concatenate(c) for c in zip(*parts, strict=True)))
    order = np.argsort(joined.row, kind="stable")
    return _Segments(*(c[order] for c in joined))  # type: ignore[arg-type]
