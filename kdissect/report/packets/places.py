"""Packets of one direction of a connection as single numbers."""

from __future__ import annotations

from typing import Any, Final

from kdissect.errors import KdissectError

_PACKET_BITS: Final = 34
_FILE_BITS: Final = 6
_MOST: Final = 1 << 22

CLIENT, BROKER = 0, 1
"""Who sends: the two roles of a connection."""


class Places:
    """Numbers the connections that matter, and with that their packets."""

    def __init__(self) -> None:
        self.slots: dict[int, int] = {}
        """Connection (its number, 1-based) -> position."""

    def slot(self, connection: int) -> int:
        """The position of a connection that matters from now on."""
        found = self.slots.setdefault(connection, len(self.slots))
        if found >= _MOST:
            raise KdissectError(f"-w takes exchanges of at most {_MOST:,} connections; choose fewer with -Y")
        return found

    @staticmethod
    def place(slot: Any, role: Any, file: Any, packet: Any) -> Any:
        """One number (or array of numbers) for a packet, such that consecutive packets are consecutive.

        Of more than 64 captures, some share their numbers: packets of the same number in them are taken for one.
        """
        return (((slot << 1) | role) << _FILE_BITS | file % (1 << _FILE_BITS)) << _PACKET_BITS | packet
