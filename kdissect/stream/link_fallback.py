"""Link types that we do not read ourselves, dissected packet by packet by scapy where it is installed."""

from __future__ import annotations

import importlib
import logging
from collections.abc import Callable
from typing import Any

import numpy as np

from kdissect.model import Bytes, Int64s
from kdissect.stream.link import IP4, IP6, UNKNOWN, Rest

_ENOUGH = 40
"""Bytes of an IP packet by which it is found again in the packet that carries it."""


class LinkFallback:
    """Finds the IP packet in packets of rare link types; imports scapy (a second) when the first such packet comes."""

    def __init__(self, warn: Callable[[str], None]) -> None:
        self._warn = warn
        self._dissectors: dict[int, Callable[[bytes], Any] | None] = {}
        self._ip: tuple[type, type]

    def ether_types(self, data: Bytes, rest: Rest, link: int) -> tuple[Int64s, Rest] | None:
        """As :func:`kdissect.stream.link.ether_types`; ``None`` when nothing installed knows the link type."""
        if link not in self._dissectors:
            self._dissectors[link] = self._find(link)
        dissect = self._dissectors[link]
        if dissect is None:
            return None
        kind = np.full(len(rest.row), UNKNOWN, np.int64)
        at = rest.at.copy()
        for i, (lo, hi) in enumerate(zip(rest.at.tolist(), rest.end.tolist(), strict=True)):
            found = self._inside(data[lo:hi].tobytes(), dissect)
            if found is not None:
                kind[i] = found[0]
                at[i] = lo + found[1]
        return kind, rest._replace(at=at)

    def _find(self, link: int) -> Callable[[bytes], Any] | None:
        try:
            # scapy warns about routes and missing tools of the machine, which reading files does not need.
            logging.getLogger("scapy").setLevel(logging.CRITICAL)
            scapy = importlib.import_module("scapy.all")
            dissect: Callable[[bytes], Any] | None = scapy.conf.l2types.num2layer.get(link)
            self._ip = (scapy.IP, scapy.IPv6)
        except Exception:  # whatever is wrong with that installation, we read without it
            self._warn(f"packets of link type {link} are passed over; with scapy installed they may be readable")
            return None
        if dissect is None:
            self._warn(f"packets of link type {link} are passed over; neither kdissect nor scapy knows it")
        else:
            self._warn(f"packets of link type {link} are dissected by scapy, which takes its time")
        return dissect

    def _inside(self, packet: bytes, dissect: Callable[[bytes], Any]) -> tuple[int, int] | None:
        """EtherType and offset of the outermost IP packet, ``None`` when there is none."""
        try:
            layer = dissect(packet)
            while layer and not isinstance(layer, self._ip):
                layer = layer.payload
            if not layer:
                return None
            original = bytes(layer.original)[:_ENOUGH]
            at = packet.find(original)
        except Exception:  # a dissector that fails on bad bytes: a packet without IP
            return None
        if at < 0 or not original:
            return None  # it was decrypted or decompressed, and stands nowhere in the packet
        return (IP4 if isinstance(layer, self._ip[0]) else IP6), at
