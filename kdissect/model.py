"""The tables that flow between the stages.

Every stage takes batches and yields batches: columns of equal length over one
shared buffer, never one Python object per packet.  All times are int64
nanoseconds since the Unix epoch; :data:`UNSTAMPED` where the capture has none.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Bytes = npt.NDArray[np.uint8]
Int16s = npt.NDArray[np.int16]
Int32s = npt.NDArray[np.int32]
Int64s = npt.NDArray[np.int64]

UNSTAMPED = -(2**63)
"""The time of a packet whose block carries no timestamp (pcapng simple packet)."""

# TCP flag bits (RFC 9293, section 3.1).
FIN, SYN, RST, PSH, ACK = 0x01, 0x02, 0x04, 0x08, 0x10


@dataclass(frozen=True, slots=True)
class PacketBatch:
    """Captured packets in the order in which they are to be dissected.

    Columns have one entry a packet; ``data`` holds their bytes, together with
    whatever stands between them in the file.
    """

    file: Int32s
    """Which capture of the call the packet comes from, 0-based."""
    number: Int64s
    """Packet number within its file as Wireshark counts, 1-based."""
    time_ns: Int64s
    start: Int64s
    """Offset of the packet's first byte (link header) in ``data``."""
    captured: Int32s
    """Bytes held in the capture."""
    length: Int32s
    """Bytes that the packet had on the wire; more than ``captured`` when cut by a snap length."""
    link: Int32s
    """Link type (LINKTYPE_ value of the capture file) of the packet."""
    data: Bytes

    def __len__(self) -> int:
        return len(self.number)


@dataclass(frozen=True, slots=True)
class SegmentBatch:
    """TCP segments found in a :class:`PacketBatch`, in packet order.

    Segments without payload are kept: SYN, FIN, RST and bare ACKs tell about
    connections and losses.
    """

    file: Int32s
    number: Int64s
    """Packet number within its file (of a fragmented datagram: the last fragment's)."""
    ordinal: Int64s
    """Position of the packet among all packets of the call, 0-based: the clock of everything downstream."""
    time_ns: Int64s
    source: Int32s
    """Index of the sending endpoint in the :class:`~kdissect.stream.endpoints.Endpoints` table."""
    target: Int32s
    seq: Int64s
    """Sequence number as on the wire, 0 <= seq < 2**32, of the first payload byte (of the SYN for a SYN)."""
    ack: Int64s
    flags: Int32s
    start: Int64s
    """Offset of the payload in ``data``."""
    size: Int32s
    """Payload bytes held in the capture."""
    length: Int32s
    """Payload bytes on the wire; more than ``size`` when the packet was cut."""
    data: Bytes

    def __len__(self) -> int:
        return len(self.number)
