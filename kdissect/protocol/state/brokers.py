"""Brokers by id, and by the addresses that the capture shows on the wire."""

from __future__ import annotations

from ipaddress import ip_address

from kdissect.protocol.state.tables import Table

ADDRESSES = 100_000
"""Advertised addresses that are remembered."""


class Brokers:
    """Which broker (or controller) is which."""

    def __init__(self, limit: int = ADDRESSES) -> None:
        self._ids: Table[tuple[str, int], int] = Table(limit)
        self._by_port: Table[int, dict[int, None]] = Table(limit)
        self.addresses: Table[int, str] = Table(limit)
        """Broker id -> the address that it last advertised, ``host:port``."""
        self._found: dict[str, int | None] = {}

    def observe(self, broker: int, host: str, port: int) -> None:
        """A message says that this broker is reached at this address."""
        known = self._ids.get((host, port))
        if known == broker:
            return
        self._found.clear()
        self._ids[host, port] = broker
        self.addresses[broker] = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        if not _is_ip(host):
            of_port = self._by_port.get(port)
            if of_port is None:
                of_port = self._by_port[port] = {}
            of_port[broker] = None

    def at(self, address: str) -> int | None:
        """The broker at an address of the wire (``10.0.0.5:9092``); None where the capture does not tell.

        It is the one that advertises this IP address; else, as a capture shows
        no name resolution, the only one that advertises a host name with this port.
        """
        try:
            return self._found[address]
        except KeyError:
            found = self._find(address)
            if len(self._found) >= ADDRESSES:
                self._found.clear()
            self._found[address] = found
            return found

    def _find(self, address: str) -> int | None:
        host, _, digits = address.rpartition(":")
        host, port = host.strip("[]"), int(digits)
        found = self._ids.get((host, port))
        if found is None and ip_address(host).is_loopback:
            found = self._ids.get(("localhost", port))
        if found is None and len(ids := self._by_port.get(port, {})) == 1:
            found = next(iter(ids))
        return found


def _is_ip(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True
