"""Chooses the packets behind exchanges, and writes them to a new capture."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from kdissect.capture import open_captures
from kdissect.report.escape import escape
from kdissect.report.exchanges import api_text
from kdissect.report.human import count
from kdissect.report.packets.pcapng_writer import PcapngWriter
from kdissect.report.packets.places import BROKER, CLIENT, Places
from kdissect.report.packets.ranges import Ranges
from kdissect.report.packets.secrets import holds_secrets
from kdissect.report.packets.trace import trace
from kdissect.stream.connections import ConnectionTable
from kdissect.stream.endpoints import Endpoints
from kdissect.stream.segments import Segmenter

if TYPE_CHECKING:
    from kdissect.exchange import Exchange
    from kdissect.model import PacketBatch

BLANK: Final = ord("*")
MOST_COMMENTS: Final = 1_000_000
"""Packets with comments; beyond, exchanges go without theirs."""


class _Found(NamedTuple):
    """A chosen packet."""

    batch: PacketBatch
    at: int
    """Its position in the batch."""
    connection: int
    role: int
    seq: int
    start: int
    """Of its payload, in the packet; negative where the payload came in several fragments."""
    size: int


class Choice:
    """The exchanges whose packets are wanted."""

    def __init__(self, files: Sequence[str], scrub: bool, warn: Callable[[str], None]) -> None:
        self._files, self._scrub, self._warn = files, scrub, warn
        self._index = {name: at for at, name in reversed(list(enumerate(files)))}
        self._places = Places()
        self._clients: dict[int, str] = {}
        """Connection -> its client; which side that is shows when the packets are read."""
        self._ranges = Ranges()
        self._comments: dict[tuple[int, int], list[str]] = {}
        """File and packet number -> what is to be said of the packet."""
        self._exchanges = self._with_secrets = 0

    def add(self, batch: Sequence[Exchange]) -> None:
        """Takes exchanges."""
        for exchange in batch:
            self._exchanges += 1
            self._with_secrets += holds_secrets(exchange.request) or holds_secrets(exchange.response)
            self._clients[exchange.connection] = exchange.client
            slot = self._places.slot(exchange.connection)
            file = self._index[exchange.file]
            answer_file = file if exchange.response_file is None else self._index[exchange.response_file]
            for role, packets, where in (
                (CLIENT, exchange.request_packets, file),
                (BROKER, exchange.response_packets, answer_file),
            ):
                if packets is not None:
                    first, last = (self._places.place(slot, role, where, number) for number in packets)
                    self._ranges.add(min(first, last), max(first, last))
            self._comment(exchange, file, answer_file)

    def _comment(self, exchange: Exchange, file: int, answer_file: int) -> None:
        words = [f"{finding.code}: {escape(finding.text)}" for finding in exchange.findings]
        if exchange.error_codes:
            words.insert(0, ", ".join(map(escape, exchange.error_codes)))
        if not words or len(self._comments) >= MOST_COMMENTS:
            return
        packets, where = exchange.response_packets, answer_file
        if packets is None:
            packets, where = exchange.request_packets, file
        if packets is not None:
            text = f"kdissect #{exchange.index} {api_text(exchange)}: {'; '.join(words)}"
            self._comments.setdefault((where, packets[1]), []).append(text)

    def write(self, path: str) -> list[str]:
        """Reads the captures again and writes the packets to ``path``; returns lines about what was written.

        With ``scrub``, packets whose payload cannot be judged because it came in IP fragments are left out.
        """
        if self._with_secrets and not self._scrub:
            held = count(self._with_secrets, "exchange")
            self._warn(f"{path} holds the secrets of {held} (logins, passwords, settings); --scrub blanks them")
        clearance = trace(self._files, self._ranges, self._places) if self._scrub else None
        written = left_out = 0
        reader = open_captures(self._files, on_warning=lambda text: None)
        with open(path, "wb") as stream:
            writer = PcapngWriter(stream)
            for batch, at, connection, role, seq, start, size in self._packets(reader):
                begin = int(batch.start[at])
                data = bytearray(batch.data[begin : begin + int(batch.captured[at])].tobytes())
                if clearance is not None:
                    if start < 0:
                        left_out += 1
                        continue
                    clearance.blank(connection, role, seq, memoryview(data)[start : start + size], BLANK)
                file = int(batch.file[at])
                writer.packet(
                    self._files[file],
                    int(batch.link[at]),
                    int(batch.time_ns[at]),
                    reader.files[file].time_digits,
                    bytes(data),
                    int(batch.length[at]),
                    self._comments.get((file, int(batch.number[at])), ()),
                )
                written += 1
        if left_out:
            self._warn(f"{count(left_out, 'packet')} left out: IP fragments cannot be scrubbed")
        what = f"{count(written, 'packet')} behind {count(self._exchanges, 'exchange')} written to {path}"
        return [what + (", secrets blanked" if self._scrub else "")]

    def _packets(self, batches: Iterable[PacketBatch]) -> Iterator[_Found]:
        """The chosen packets, in order."""
        endpoints, table = Endpoints(), ConnectionTable()
        segmenter = Segmenter(endpoints)
        slots = np.zeros(0, np.int64)
        flips = np.zeros(0, np.int64)
        for batch in batches:
            before = segmenter.packets
            segments = segmenter.feed(batch)
            owners, sides = table.assign(segments)
            fresh = range(len(slots), len(table.incarnations))
            slots = np.append(slots, [self._places.slots.get(owner + 1, -1) for owner in fresh]).astype(np.int64)
            first = (endpoints.text(table.incarnations[owner].endpoints[0]) for owner in fresh)
            # Whether the first endpoint of the pair is the broker.
            flips = np.append(flips, [text != self._clients.get(at + 1) for at, text in zip(fresh, first, strict=True)])
            flips = flips.astype(np.int64)
            slot, role = slots[owners], sides.astype(np.int64) ^ flips[owners]
            places = Places.place(slot, role, segments.file.astype(np.int64), segments.number)
            wanted = (slot >= 0) & (segments.length > 0) & self._ranges.holds(places)
            for row in np.flatnonzero(wanted).tolist():
                at = int(segments.ordinal[row]) - before
                start, size = int(segments.start[row]) - int(batch.start[at]), int(segments.size[row])
                whole = start >= 0 and start + size <= int(batch.captured[at])
                yield _Found(
                    batch, at, int(owners[row]) + 1, int(role[row]), int(segments.seq[row]), start if whole else -1, size
                )
