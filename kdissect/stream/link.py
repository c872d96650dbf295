"""From link headers to IP packets: Ethernet and its tags, Linux cooked, BSD loopback, raw IP."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kdissect.columns import Table, gather, unaligned
from kdissect.model import Bytes, Int64s

# EtherTypes (IEEE 802 numbers).
IP4, IP6 = 0x0800, 0x86DD
ETHERNET = 0x6558
"""Transparent Ethernet bridging: another Ethernet frame follows."""
PPP = 0x880B
UNKNOWN = -1
"""Nothing that leads to an IP packet."""

_VLAN = (0x8100, 0x88A8, 0x9100)  # 802.1Q, 802.1ad, and the older QinQ
_MPLS = (0x8847, 0x8848)
_PPPOE = 0x8864
_LOW_TYPES = 0x05DC  # up to here the field is a length (IEEE 802.3)
_TAGS = (*_VLAN, *_MPLS, _PPPOE, PPP, ETHERNET)

# LINKTYPE_ values.
LINK_NULL, LINK_ETHERNET, LINK_PPP, LINK_LOOP, LINK_SLL, LINK_SLL2 = 0, 1, 9, 108, 113, 276
LINK_RAW, LINK_IP4, LINK_IP6 = 101, 228, 229
_RAW = (LINK_RAW, 12, 14, LINK_IP4, LINK_IP6)  # 12 and 14 are what some systems wrote for raw IP
SUPPORTED = frozenset({LINK_NULL, LINK_ETHERNET, LINK_PPP, LINK_LOOP, LINK_SLL, LINK_SLL2, *_RAW})


class Rest(NamedTuple):
    """What is left of some packets behind the headers read so far; columns of one length."""

    row: Int64s
    """Index of the packet in its batch."""
    at: Int64s
    """Offset in ``data`` of the next header."""
    end: Int64s
    """Where the captured bytes end."""
    wire: Int64s
    """Where they would end, had the packet been captured whole."""

    def pick(self, which: Table) -> Rest:
        return Rest(self.row[which], self.at[which], self.end[which], self.wire[which])

    def skip(self, size: int | Int64s) -> Rest:
        return self._replace(at=self.at + size)


def ether_types(data: Bytes, rest: Rest, link: int) -> tuple[Int64s, Rest]:
    """The EtherType of each packet of one link type, and what follows its link header.

    A packet too short for its header gets :data:`UNKNOWN`.
    """
    match link:
        case 1:
            return _ethernet(data, rest)
        case 113:
            return _short_is_unknown(_u16(data, rest.at + 14), rest.skip(16))
        case 276:
            return _short_is_unknown(_u16(data, rest.at), rest.skip(20))
        case 0 | 108:
            return _loopback(data, rest)
        case 9:
            return _ppp(data, rest)
    return _by_version(data, rest)


def is_tag(kind: Int64s) -> Table:
    """Which EtherTypes name a tag or another link header, for :func:`untag`."""
    return np.isin(kind, _TAGS)


def untag(data: Bytes, kind: Int64s, rest: Rest) -> tuple[Int64s, Rest]:
    """Takes one tag (VLAN, MPLS, PPPoE, PPP, an inner Ethernet header) off packets that all have one."""
    inner, at = np.full(len(kind), UNKNOWN, np.int64), rest.at.copy()
    for one in np.unique(kind).tolist():
        which = np.flatnonzero(kind == one)
        tagged = rest.pick(which)
        if one in _VLAN:
            result = _length_is_llc(data, _u16(data, tagged.at + 2), tagged.skip(4))
        elif one in _MPLS:
            result = _mpls(data, kind[which], tagged)
        elif one == _PPPOE:
            result = _pppoe(data, tagged)
        elif one == PPP:
            result = _ppp(data, tagged)
        else:
            result = _ethernet(data, tagged)
        inner[which], at[which] = result[0], result[1].at
    return inner, rest._replace(at=at)


def _u16(data: Bytes, at: Int64s) -> Int64s:
    return unaligned(data, ">u2")[at].astype(np.int64)


def _short_is_unknown(kind: Int64s, rest: Rest) -> tuple[Int64s, Rest]:
    """Gives up packets that end inside the header just read; their next header would lie behind their end."""
    short = rest.at > rest.end
    if short.any():
        kind = np.where(short, UNKNOWN, kind)
        rest = rest._replace(at=np.minimum(rest.at, rest.end))
    return kind, rest


def _ethernet(data: Bytes, rest: Rest) -> tuple[Int64s, Rest]:
    return _length_is_llc(data, _u16(data, rest.at + 12), rest.skip(14))


def _length_is_llc(data: Bytes, kind: Int64s, rest: Rest) -> tuple[Int64s, Rest]:
    """Where the EtherType field is a length, an LLC header with SNAP (RFC 1042) tells the type."""
    kind, rest = _short_is_unknown(kind, rest)
    llc = np.flatnonzero((kind >= 0) & (kind <= _LOW_TYPES))
    if not len(llc):
        return kind, rest
    head = gather(data, rest.at[llc], 8)
    snap = (head[:, 0] == 0xAA) & (head[:, 1] == 0xAA) & (head[:, 2] == 3)
    kind, at = kind.copy(), rest.at.copy()
    kind[llc] = np.where(snap, head[:, 6].astype(np.int64) << 8 | head[:, 7], UNKNOWN)
    at[llc] += 8
    return _short_is_unknown(kind, rest._replace(at=at))


def _loopback(data: Bytes, rest: Rest) -> tuple[Int64s, Rest]:
    """BSD loopback: an address family, in the byte order of the capturing machine or (LOOP) of the network."""
    family = unaligned(data, "<u4")[rest.at].astype(np.int64)
    family = np.where(family > 0xFFFF, unaligned(data, ">u4")[rest.at], family)
    kind = np.full(len(family), UNKNOWN, np.int64)
    kind[family == 2] = IP4
    kind[np.isin(family, (10, 24, 28, 30))] = IP6  # AF_INET6 of Linux, NetBSD and OpenBSD, FreeBSD, macOS
    return _short_is_unknown(kind, rest.skip(4))


def _by_version(data: Bytes, rest: Rest) -> tuple[Int64s, Rest]:
    """No link header: the first half-byte is the IP version."""
    version = data[rest.at] >> 4
    kind = np.select([version == 4, version == 6], [IP4, IP6], UNKNOWN).astype(np.int64)
    return _short_is_unknown(np.where(rest.at < rest.end, kind, UNKNOWN), rest)


def _ppp(data: Bytes, rest: Rest) -> tuple[Int64s, Rest]:
    """PPP (RFC 1661): perhaps address and control, then the protocol in one or two bytes."""
    framed = _u16(data, rest.at) == 0xFF03
    rest = rest.skip(np.where(framed, 2, 0))
    first = data[rest.at].astype(np.int64)
    small = (first & 1) == 1  # an odd first byte is the whole number
    number = np.where(small, first, _u16(data, rest.at))
    kind = np.select([number == 0x21, number == 0x57, number == 0x281], [IP4, IP6, _MPLS[0]], UNKNOWN).astype(np.int64)
    return _short_is_unknown(kind, rest.skip(np.where(small, 1, 2)))


def _pppoe(data: Bytes, rest: Rest) -> tuple[Int64s, Rest]:
    """PPPoE session (RFC 2516): six bytes, then PPP without address and control."""
    session = data[rest.at + 1] == 0
    kind, rest = _short_is_unknown(np.where(session, PPP, UNKNOWN), rest.skip(6))
    return kind, rest


def _mpls(data: Bytes, kind: Int64s, rest: Rest) -> tuple[Int64s, Rest]:
    """One label (RFC 3032); below the last one an IP packet, or an Ethernet frame perhaps behind a control word (RFC 4448)."""
    last = (data[rest.at + 2] & 1) == 1
    rest = rest.skip(4)
    version = data[rest.at] >> 4
    below = np.select([version == 4, version == 6], [IP4, IP6], ETHERNET)
    rest = rest.skip(np.where(last & (version == 0), 4, 0))
    return _short_is_unknown(np.where(last, below, kind), rest)
