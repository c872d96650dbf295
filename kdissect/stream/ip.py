"""IPv4 and IPv6 headers, up to the transport header."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kdissect.columns import Table, gather
from kdissect.model import Bytes, Int64s
from kdissect.stream.link import Rest

TCP, UDP, IPIP, IPV6, GRE = 6, 17, 4, 41, 47
_FRAGMENT, _AUTHENTICATION = 44, 51
# Extension headers that say their length in units of 8 bytes: hop-by-hop, routing, destination options, mobility, HIP, shim6.
_EXTENSIONS = (0, 43, 60, 135, 139, 140)
_MAX_EXTENSIONS = 16


@dataclass(frozen=True, slots=True)
class Datagrams:
    """IP datagrams of one family, header read; columns of one length.

    An address is a pair of columns: its upper and lower 64 bits, IPv4 in the lower.
    """

    family: int
    """4 or 6."""
    protocol: Int64s
    """Protocol number (IANA) of what follows, -1 where nothing usable does."""
    source: tuple[Table, Table]
    target: tuple[Table, Table]
    rest: Rest
    """From the transport header on; ``end`` and ``wire`` without what the link layer padded."""

    def pick(self, which: Table) -> Datagrams:
        return Datagrams(
            self.family,
            self.protocol[which],
            (self.source[0][which], self.source[1][which]),
            (self.target[0][which], self.target[1][which]),
            self.rest.pick(which),
        )

    def __len__(self) -> int:
        return len(self.protocol)


@dataclass(frozen=True, slots=True)
class Fragments:
    """Pieces of datagrams; columns beside those of ``datagrams``, whose ``rest`` is the piece's data."""

    datagrams: Datagrams
    identification: Int64s
    offset: Int64s
    """Where in the datagram's payload the piece belongs, in bytes."""
    more: Table
    """Whether another piece follows."""


def ip4(data: Bytes, rest: Rest) -> tuple[Datagrams, Fragments | None]:
    """Reads IPv4 headers (RFC 791): whole datagrams, and fragments apart.

    A total length of 0 means that the sender left segmentation to its network card: the captured length counts.
    """
    head = gather(data, rest.at, 20)
    short = head.view(">u2")
    long = head.view(">u4")
    size = (head[:, 0] & 15).astype(np.int64) * 4
    total = short[:, 1].astype(np.int64)
    wire = np.where(total == 0, rest.wire, rest.at + total)
    sound = (head[:, 0] >> 4 == 4) & (size >= 20) & (rest.at + size <= np.minimum(rest.end, wire))
    protocol = np.where(sound, head[:, 9], -1).astype(np.int64)
    piece = short[:, 3] & 0x3FFF
    none = np.zeros(len(size), np.uint64)
    end = np.minimum(rest.end, wire)
    datagrams = Datagrams(
        4,
        protocol,
        (none, long[:, 3].astype(np.uint64)),
        (none, long[:, 4].astype(np.uint64)),
        Rest(rest.row, np.minimum(rest.at + size, rest.end), end, wire),
    )
    if not piece.any():
        return datagrams, None
    cut = piece != 0
    parts = np.flatnonzero(cut & sound)
    fragments = Fragments(
        datagrams.pick(parts),
        short[parts, 2].astype(np.int64),
        (short[parts, 3] & 0x1FFF).astype(np.int64) * 8,
        (short[parts, 3] & 0x2000) != 0,
    )
    return datagrams.pick(np.flatnonzero(~cut)), fragments


def ip6(data: Bytes, rest: Rest) -> tuple[Datagrams, Fragments | None]:
    """Reads IPv6 headers (RFC 8200) with their extension headers: whole datagrams, and fragments apart.

    A payload length of 0 (jumbograms, segmentation left to the network card) means the captured length.
    """
    head = gather(data, rest.at, 40)
    words = head.view(">u8")
    payload = head.view(">u2")[:, 2].astype(np.int64)
    wire = np.where(payload == 0, rest.wire, rest.at + 40 + payload)
    sound = (head[:, 0] >> 4 == 6) & (rest.at + 40 <= rest.end)
    end = np.minimum(rest.end, wire)
    rest = Rest(rest.row, np.minimum(rest.at + 40, end), end, wire)
    following, at, pieces = skip_extensions(data, np.where(sound, head[:, 6], -1).astype(np.int64), rest)
    datagrams = Datagrams(
        6,
        following,
        (words[:, 1].astype(np.uint64), words[:, 2].astype(np.uint64)),
        (words[:, 3].astype(np.uint64), words[:, 4].astype(np.uint64)),
        rest._replace(at=at),
    )
    if pieces is None:
        return datagrams, None
    field, identification = pieces
    parts = np.flatnonzero((field >= 0) & (following >= 0))
    fragments = Fragments(datagrams.pick(parts), identification[parts], field[parts] & 0xFFF8, (field[parts] & 1) != 0)
    return datagrams.pick(np.flatnonzero(field < 0)), fragments


def skip_extensions(data: Bytes, following: Int64s, rest: Rest) -> tuple[Int64s, Int64s, tuple[Int64s, Int64s] | None]:
    """Passes over IPv6 extension headers, up to and including a fragment header.

    ``following`` holds the number of the header at ``rest.at``.  Returns the number of the header behind the extensions
    (-1 where they do not fit) and where it begins, and, if there are fragments, the offset field (-1 for what is no
    fragment) and the identification.
    """
    following, at, end = following.copy(), rest.at.copy(), rest.end
    field = np.full(len(at), -1, np.int64)
    identification = np.zeros(len(at), np.int64)
    for _ in range(_MAX_EXTENSIONS):
        which = np.flatnonzero(np.isin(following, (*_EXTENSIONS, _FRAGMENT, _AUTHENTICATION)) & (field < 0))
        if not len(which):
            break
        head = gather(data, at[which], 8)
        kind = following[which]
        units = head[:, 1].astype(np.int64)
        size = np.select([kind == _FRAGMENT, kind == _AUTHENTICATION], [8, (units + 2) * 4], (units + 1) * 8)
        second = head.view(">u2")[:, 1].astype(np.int64)
        # A datagram in one fragment (RFC 6946) is whole.
        fragment = (kind == _FRAGMENT) & (second & 0xFFF9 != 0)
        field[which[fragment]] = second[fragment]
        identification[which[fragment]] = head.view(">u4")[fragment, 1]
        fits = at[which] + size <= end[which]
        following[which] = np.where(fits, head[:, 0], -1)
        at[which] = np.minimum(at[which] + size, end[which])
    return following, at, (field, identification) if (field >= 0).any() else None
