"""Packets inside packets: IP in IP, GRE, VXLAN and Geneve."""

from __future__ import annotations

import numpy as np

from kdissect.columns import Table, gather, unaligned
from kdissect.model import Bytes, Int64s
from kdissect.stream.ip import GRE, IPIP, IPV6, UDP, Datagrams
from kdissect.stream.link import ETHERNET, IP4, IP6, PPP, UNKNOWN, Rest

_VXLAN_PORTS = (4789, 8472)  # RFC 7348, and what Linux used before the number was assigned
_GENEVE_PORT = 6081  # RFC 8926
_ERSPAN2, _ERSPAN3 = 0x88BE, 0x22EB


def inner_packets(data: Bytes, datagrams: Datagrams) -> list[tuple[Int64s, Rest]]:
    """What tunnels among ``datagrams`` carry: the EtherType of each inner packet, and the packet."""
    found: list[tuple[Int64s, Rest]] = []
    protocol = datagrams.protocol
    for number, kind in ((IPIP, IP4), (IPV6, IP6)):
        which = np.flatnonzero(protocol == number)
        if len(which):
            found.append((np.full(len(which), kind, np.int64), datagrams.rest.pick(which)))
    which = np.flatnonzero(protocol == GRE)
    if len(which):
        found.append(_gre(data, datagrams.rest.pick(which)))
    which = np.flatnonzero(protocol == UDP)
    if len(which):
        rest = datagrams.rest.pick(which)
        port = unaligned(data, ">u2")[rest.at + 2]
        for ports, read in ((_VXLAN_PORTS, _vxlan), ((_GENEVE_PORT,), _geneve)):
            tunnel = np.flatnonzero(np.isin(port, ports))
            if len(tunnel):
                found.append(read(data, rest.pick(tunnel).skip(8)))
    return found


def _inside(kind: Table, rest: Rest, sound: Table) -> tuple[Int64s, Rest]:
    good = sound & (rest.at <= rest.end)
    return np.where(good, kind, UNKNOWN).astype(np.int64), rest._replace(at=np.minimum(rest.at, rest.end))


def _gre(data: Bytes, rest: Rest) -> tuple[Int64s, Rest]:
    """GRE (RFC 2784, 2890), its PPTP variant (RFC 2637), and the mirroring headers of ERSPAN types I to III."""
    head = gather(data, rest.at, 4).view(">u2")
    flags, kind = head[:, 0].astype(np.int64), head[:, 1].astype(np.int64)
    version = flags & 7
    sequence = flags & 0x1000
    size = 4 + 4 * ((flags & 0xC000) != 0) + 4 * ((flags & 0x2000) != 0) + 4 * (sequence != 0)
    size += 4 * ((version == 1) & (flags & 0x80 != 0))
    sound = (version <= 1) & (flags & 0x4000 == 0)  # source routes (deprecated) are not walked
    # Type I has no header of its own, and is told by the missing sequence number.
    size += np.where((kind == _ERSPAN2) & (sequence != 0), 8, 0)
    three = np.flatnonzero(kind == _ERSPAN3)
    if len(three):
        at = np.minimum(rest.at + size, rest.end)[three]
        platform = gather(data, at, 12)[:, 11] & 1
        size[three] += 12 + 8 * platform.astype(np.int64)
    kind = np.where(np.isin(kind, (_ERSPAN2, _ERSPAN3)), ETHERNET, kind)
    kind = np.where((version == 1) & (kind != PPP), UNKNOWN, kind)
    return _inside(kind, rest.skip(size), sound)


def _vxlan(data: Bytes, rest: Rest) -> tuple[Int64s, Rest]:
    """VXLAN (RFC 7348): the flag of a valid network identifier, then an Ethernet frame behind 8 bytes."""
    rest = rest._replace(at=np.minimum(rest.at, rest.end))
    head = gather(data, rest.at, 8)
    return _inside(np.full(len(head), ETHERNET), rest.skip(8), (head[:, 0] & 0x08 != 0) & (head[:, 7] == 0))


def _geneve(data: Bytes, rest: Rest) -> tuple[Int64s, Rest]:
    """Geneve (RFC 8926): version 0, options of a told length, then what the protocol field names."""
    rest = rest._replace(at=np.minimum(rest.at, rest.end))
    head = gather(data, rest.at, 8)
    size = 8 + 4 * (head[:, 0] & 0x3F).astype(np.int64)
    kind = head.view(">u2")[:, 1]
    return _inside(kind, rest.skip(size), head[:, 0] >> 6 == 0)
