"""Frames and pairs whole batches of segments at once, for connections on which nothing is out of the ordinary.

The exact state machine is :class:`~kdissect.protocol.session.Session`; this does
in columns what it would do one by one, on connections that are recognised, in
step and without holes, and on nothing else.  State goes back and forth between
the two at any segment, and what comes out is the same.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from kdissect import schema
from kdissect.columns import SLACK, unaligned
from kdissect.model import Bytes, Int16s, Int64s, SegmentBatch
from kdissect.protocol.correlate import ANSWERED, NO_REPLY, Asked, Settled
from kdissect.protocol.heads import request_head
from kdissect.protocol.session import Session
from kdissect.stream.bulk import UNKNOWN, Arena, Cut, Flags, Frames, Streams, Stretch, Unfinished, cut
from kdissect.stream.framing import Frame, _Assembly
from kdissect.stream.reassembly import Packet

PRODUCE, CONTROLLED_SHUTDOWN, SASL_HANDSHAKE = 0, 7, 17
LONGEST_CLIENT_ID = 256
MOST_PENDING = 10_000
"""Connections with more requests waiting are left to the session."""
_TRIES = 2


@dataclass(slots=True)
class Sent:
    """Whole frames as columns: where their bytes are, and the packets that carried them."""

    buffer: Int64s
    """Index into :attr:`Rows.buffers`."""
    start: Int64s
    """Of the size prefix."""
    size: Int64s
    offset: Int64s
    ordinal: Int64s
    """Of the packet that completes it; the next three are of the same."""
    time_ns: Int64s
    number: Int64s
    file: Int64s
    first_number: Int64s
    """Number of the packet with the first of its bytes."""
    first_ordinal: Int64s
    acked: Int64s

    def __len__(self) -> int:
        return len(self.start)

    def pick(self, which: Int64s | Flags) -> Sent:
        """Some of them."""
        return Sent(*(getattr(self, name)[which] for name in self.__slots__))

    @staticmethod
    def joined(parts: list[Sent]) -> Sent:
        """Several behind each other."""
        return Sent(*(np.concatenate([getattr(part, name) for part in parts]) for name in Sent.__slots__))


@dataclass(slots=True)
class Rows:
    """Settled exchanges as columns, whole and without anything to say about them.

    The outcome is "answered", or "no_reply_expected" where :attr:`answered` is False (``response`` then repeats the request).
    """

    buffers: tuple[Bytes, ...]
    """Each with slack behind its last byte."""
    session: Int64s
    """Index into :attr:`sessions`."""
    sessions: list[Session]
    ordinal: Int64s
    """Packet at which it was settled."""
    api_key: Int64s
    api_version: Int64s
    correlation_id: Int64s
    client_id: Int64s
    """Index into :attr:`client_ids`, -1 for null."""
    client_ids: list[bytes]
    client_length: Int64s
    """Of the client id, -1 for null."""
    request: Sent
    response: Sent
    answered: Flags

    def __len__(self) -> int:
        return len(self.ordinal)

    def pick(self, which: Int64s | Flags) -> Rows:
        """Some of them."""
        names = ("session", "ordinal", "api_key", "api_version", "correlation_id", "client_id", "client_length", "answered")
        columns = {name: getattr(self, name)[which] for name in names}
        return replace(self, request=self.request.pick(which), response=self.response.pick(which), **columns)

    def settled(self, row: int) -> Settled:
        """One exchange as the session would have it."""
        request = self.frame(self.request, row)
        head = request_head(request.data)
        if self.answered[row]:
            return Settled(request, head, self.frame(self.response, row), ANSWERED, None, int(self.ordinal[row]))
        return Settled(request, head, None, NO_REPLY, None, int(self.ordinal[row]))

    def frame(self, which: Sent, row: int) -> Frame:
        """One frame as an object; its bytes are a view."""
        start, size = int(which.start[row]), int(which.size[row])
        data = self.buffers[int(which.buffer[row])].data[start : start + size]
        acked = int(which.acked[row])
        known = None if acked == UNKNOWN else acked
        last = Packet(int(which.ordinal[row]), int(which.time_ns[row]), int(which.number[row]), int(which.file[row]), known)
        first = Packet(int(which.first_ordinal[row]), last.time_ns, int(which.first_number[row]), last.file, known)
        return Frame(data, size, size, int(which.offset[row]), first, last, known)


class Candidate(NamedTuple):
    """A connection and its segments that may be taken in bulk."""

    session: Session
    rows: Int64s


def steady(session: Session) -> bool:
    """Whether a connection is in a state that this module understands."""
    if session.client is None or session.ignored or session.reset or session.closed is not None:
        return False
    correlator = session.correlator
    if correlator.raw_sasl or correlator.early or correlator.settled or session.transforms[0] or session.transforms[1]:
        return False
    for stream, framer in zip(session.streams, session.framers, strict=True):
        if not stream.known or stream.starting or stream.held or stream.fin is not None:
            return False
        if not framer.synced or framer.frames or framer.backlog:
            return False
        if stream.conflicts and max(stream.conflicts) >= framer.framed:
            return False
        unfinished = framer._assembly
        if unfinished is not None and (not unfinished.admitted or unfinished.cut or unfinished.total > framer.limit):
            return False
    return len(correlator.pending) <= MOST_PENDING and all(
        asked.head is not None and not asked.head.cut and asked.frame.complete and not asked.frame.conflict
        for asked in correlator.pending
    )


def advance(segments: SegmentBatch, sides: Bytes, candidates: list[Candidate]) -> tuple[list[Rows], list[Int64s]]:
    """Take what can be taken of the candidates' segments, which are regular and each connection's in order.

    Returns what was settled, and for every candidate the segments that are left for its session.
    """
    found: list[Rows] = []
    left: list[Int64s] = [candidate.rows[:0] for candidate in candidates]
    work = list(enumerate(candidates))
    for _ in range(_TRIES):
        if not work:
            break
        attempt = _Attempt(segments, sides, [candidate for _, candidate in work])
        rows = attempt.rows()
        if rows is not None and len(rows):
            found.append(rows)
        again = []
        for (index, candidate), fault in zip(work, attempt.fault.tolist(), strict=True):
            if fault < len(segments):
                sound = candidate.rows[candidate.rows < fault]
                left[index] = np.concatenate([candidate.rows[candidate.rows >= fault], left[index]])
                if len(sound):
                    again.append((index, Candidate(candidate.session, sound)))
        work = again
    for index, candidate in work:
        left[index] = np.concatenate([candidate.rows, left[index]])
    return found, left


@cache
def _versions() -> tuple[Int16s, Int16s, Int16s]:
    return schema.version_table()


class _Attempt:
    """One pass over some connections; those without a fault are advanced by it."""

    def __init__(self, segments: SegmentBatch, sides: Bytes, candidates: list[Candidate]) -> None:
        self.segments = segments
        self.sessions = [candidate.session for candidate in candidates]
        self.arena = Arena()
        row = np.concatenate([candidate.rows for candidate in candidates])
        sizes = [len(candidate.rows) for candidate in candidates]
        group = np.repeat(np.arange(len(candidates)), sizes)
        self.stretch = Stretch(row, group, sides[row].astype(np.int64), segments)
        self.bounds = np.concatenate([[0], np.cumsum(sizes)])
        streams = [stream for session in self.sessions for stream in session.streams]
        framers = [framer for session in self.sessions for framer in session.framers]
        before = Streams(
            pos=np.array([stream.pos for stream in streams], np.int64),
            seq=np.array([stream.seq for stream in streams], np.int64),
            assemblies=[framer._assembly for framer in framers],
            limit=self.sessions[0].limits.message,
        )
        self.cut: Cut = cut(self.stretch, before, self.arena)
        self.fault = self.cut.fault

    def rows(self) -> Rows | None:
        """Pair what was cut, hand the state back, return what is settled."""
        frames = self.cut.frames
        client = np.array([session.client for session in self.sessions], np.int64)
        asking = (frames.stream & 1) == client[frames.stream >> 1]
        pending, group_of_pending = self._pending()
        buffers = (self.segments.data, self.arena.joined())
        asked = frames.pick(asking)
        group = np.concatenate([group_of_pending, asked.stream >> 1])
        requests = Sent.joined([pending, self._sent(asked)])
        # By connection, those that waited before the new ones: their stream offsets are lower.
        order = np.lexsort((requests.offset, group))
        group, requests = group[order], requests.pick(order)
        heads = _Heads(buffers, requests)
        old = np.concatenate([np.ones(len(pending), bool), np.zeros(len(asked), bool)])[order]
        self._blame(group[heads.odd], requests.first_ordinal[heads.odd])

        waiting = np.flatnonzero(~heads.no_reply)
        waiting_group = group[waiting]
        ids = heads.correlation_id[waiting]
        unsteady = (waiting_group[1:] == waiting_group[:-1]) & (ids[1:] <= ids[:-1])
        self._blame(waiting_group[1:][unsteady], requests.ordinal[waiting[1:]][unsteady], from_start=True)

        answers = self._sent(frames.pick(~asking))
        answer_group = frames.stream[~asking] >> 1
        answer_ids = _gather(buffers, answers.buffer, answers.start + 4, ">i4")
        begins = np.searchsorted(waiting_group, np.arange(len(self.sessions) + 1))
        nth = np.arange(len(answers)) - np.searchsorted(answer_group, answer_group)
        place = begins[answer_group] + nth
        there = place < begins[answer_group + 1]
        partner = waiting[np.where(there, place, 0)] if len(waiting) else np.zeros(len(answers), np.int64)
        if len(waiting):
            sound = there & (answer_ids == heads.correlation_id[partner])
            sound &= requests.ordinal[partner] < answers.first_ordinal
            behind = requests.offset[partner] + requests.size[partner] <= answers.acked
            sound &= behind | (answers.acked == UNKNOWN)
        else:
            sound = np.zeros(len(answers), bool)
        self._blame(answer_group[~sound], answers.first_ordinal[~sound])
        answered = np.bincount(answer_group, minlength=len(self.sessions))
        crowded = np.flatnonzero(np.diff(begins) - answered > self.sessions[0].limits.pending)
        self._blame(crowded, crowded, from_start=True)
        self._check_unfinished(requests, heads, waiting, begins, answered)

        good = self.fault == len(self.segments)
        if not good.any():
            return None
        unanswered = waiting[np.arange(len(waiting)) - begins[waiting_group] >= answered[waiting_group]]
        self._commit(good, group, requests, heads, unanswered, old, answered, buffers)

        silent = np.flatnonzero(heads.no_reply & good[group])
        pairs = np.flatnonzero(good[answer_group])
        request = np.concatenate([partner[pairs], silent])
        response = Sent.joined([answers.pick(pairs), requests.pick(silent)])
        return Rows(
            buffers=buffers,
            session=group[request],
            sessions=self.sessions,
            ordinal=response.ordinal,
            api_key=heads.api_key[request],
            api_version=heads.api_version[request],
            correlation_id=heads.correlation_id[request],
            client_id=heads.client_id[request],
            client_ids=heads.client_ids,
            client_length=heads.client_length[request],
            request=requests.pick(request),
            response=response,
            answered=np.concatenate([np.ones(len(pairs), bool), np.zeros(len(silent), bool)]),
        )

    def _blame(self, groups: Int64s, ordinals: Int64s, *, from_start: bool = False) -> None:
        """These connections are not to be taken in bulk from these packets on (``from_start``: at all)."""
        if not len(groups):
            return
        first = self.stretch.row[self.bounds[:-1]]
        rows = first[groups] if from_start else np.searchsorted(self.segments.ordinal, ordinals)
        np.minimum.at(self.fault, groups, np.maximum(rows, first[groups]))

    def _sent(self, frames: Frames) -> Sent:
        """Frames with their packets in place of rows."""
        segments = self.segments
        lead, last = frames.lead, frames.last
        row = np.maximum(lead, 0)
        first_ordinal, first_number = segments.ordinal[row], segments.number[row]
        for index in np.flatnonzero(lead < 0).tolist():
            packet = self.cut.carried[-1 - int(lead[index])].first
            assert packet is not None
            first_ordinal[index], first_number[index] = packet.ordinal, packet.number
        return Sent(
            buffer=frames.buffer,
            start=frames.start,
            size=frames.size,
            offset=frames.offset,
            ordinal=segments.ordinal[last],
            time_ns=segments.time_ns[last],
            number=segments.number[last],
            file=segments.file[last].astype(np.int64),
            first_number=first_number,
            first_ordinal=first_ordinal,
            acked=frames.acked,
        )

    def _pending(self) -> tuple[Sent, Int64s]:
        """The requests that wait already, put into the arena."""
        table: list[tuple[int, ...]] = []
        groups: list[int] = []
        for number, session in enumerate(self.sessions):
            for asked in session.correlator.pending:
                frame = asked.frame
                start = self.arena.add([frame.data], frame.size)
                last, acked = frame.last, UNKNOWN if frame.acked is None else frame.acked
                place = (1, start, frame.size, frame.offset)
                packets = (last.ordinal, last.time_ns, last.number, last.file, frame.first.number, frame.first.ordinal)
                table.append((*place, *packets, acked))
                groups.append(number)
        columns = np.array(table, np.int64).reshape(-1, len(Sent.__slots__)).T
        return Sent(*columns), np.array(groups, np.int64)

    def _check_unfinished(self, requests: Sent, heads: _Heads, waiting: Int64s, begins: Int64s, answered: Int64s) -> None:
        """An unfinished frame must be one that the framer would have admitted by now."""
        for number, unfinished in self.cut.unfinished.items():
            assembly, lead, acked, _ = unfinished
            if lead < 0 or not assembly.admitted:
                continue
            group, session = number >> 1, self.sessions[number >> 1]
            head = b"".join(assembly.parts)[:12] if len(assembly.parts[0]) < 12 else bytes(assembly.parts[0][:12])
            if (number & 1) == session.client:
                low, high, _ = _versions()
                key, version = int.from_bytes(head[4:6]), int.from_bytes(head[6:8])
                fine = assembly.total >= 14 and key < len(low) and low[key] <= version <= high[key] and high[key] >= 0
                fine = fine and key != SASL_HANDSHAKE
            else:
                place = begins[group] + answered[group]
                fine = place < begins[group + 1]
                if fine:
                    asked = waiting[place]
                    fine = int.from_bytes(head[4:8], signed=True) == heads.correlation_id[asked]
                    fine = fine and requests.ordinal[asked] < self.segments.ordinal[lead]
                    if acked != UNKNOWN:
                        fine = fine and requests.offset[asked] + requests.size[asked] <= acked
            if not fine:
                self.fault[group] = min(self.fault[group], lead)

    def _commit(
        self,
        good: Flags,
        group: Int64s,
        requests: Sent,
        heads: _Heads,
        unanswered: Int64s,
        old: Flags,
        answered: Int64s,
        buffers: tuple[Bytes, ...],
    ) -> None:
        """Bring the sessions of the sound connections to where they are now."""
        segments, row = self.segments, self.stretch.row
        latest = np.maximum.reduceat(segments.time_ns[row], self.bounds[:-1])
        kinds = len(heads.client_ids) + 1
        named = np.unique(group * kinds + heads.client_id + 1)
        for number in np.flatnonzero(good).tolist():
            session = self.sessions[number]
            session.segments += int(self.bounds[number + 1] - self.bounds[number])
            session.last_time_ns = max(session.last_time_ns, int(latest[number]))
            for side in (0, 1):
                self._commit_stream(session, side, 2 * number + side)
            pending = session.correlator.pending
            # Of those that are answered now, the ones that waited before come first.
            for _ in range(min(int(answered[number]), len(pending))):
                session.correlator._pop(0)
        for number, client in zip((named // kinds).tolist(), (named % kinds - 1).tolist(), strict=True):
            if good[number] and client >= 0 and heads.client_ids[client]:
                self.sessions[number].correlator.client_ids.add(heads.client_ids[client])
        fresh = unanswered[~old[unanswered] & good[group[unanswered]]]
        for index in fresh.tolist():
            self._wait(self.sessions[int(group[index])], requests, index, buffers)

    def _commit_stream(self, session: Session, side: int, number: int) -> None:
        result, stream, framer = self.cut, session.streams[side], session.framers[side]
        heard, payload = int(result.heard[number]), int(result.payload[number])
        if heard != UNKNOWN and (stream.acked is None or heard > stream.acked):
            stream.acked = heard
        if not payload:
            return
        stream.pos += payload
        stream.seq = (stream.seq + payload) & 0xFFFFFFFF
        stream.captured += payload
        framer.position = stream.pos
        unfinished = result.unfinished.get(number)
        framer._assembly = None if unfinished is None else self._with_packets(unfinished)

    def _packet(self, row: int, acked: int) -> Packet:
        segments = self.segments
        known = None if acked == UNKNOWN else acked
        return Packet(
            int(segments.ordinal[row]), int(segments.time_ns[row]), int(segments.number[row]), int(segments.file[row]), known
        )

    def _with_packets(self, unfinished: Unfinished) -> _Assembly:
        assembly, lead, acked, last = unfinished
        if lead >= 0:
            assembly.lead = assembly.first = self._packet(lead, acked)
        assembly.last = self._packet(last, UNKNOWN) if last != lead else assembly.lead
        return assembly

    def _wait(self, session: Session, requests: Sent, index: int, buffers: tuple[Bytes, ...]) -> None:
        """Register a request that waits for its answer."""
        start, size, acked = int(requests.start[index]), int(requests.size[index]), int(requests.acked[index])
        data = memoryview(buffers[int(requests.buffer[index])].data[start : start + size].tobytes())
        known = None if acked == UNKNOWN else acked
        ordinal, time_ns, number, file = (
            int(column[index]) for column in (requests.ordinal, requests.time_ns, requests.number, requests.file)
        )
        last = Packet(ordinal, time_ns, number, file, known)
        first = Packet(int(requests.first_ordinal[index]), last.time_ns, int(requests.first_number[index]), last.file, known)
        frame = Frame(data, size, size, int(requests.offset[index]), first, last, known)
        head = request_head(data)
        assert head is not None and session.client is not None
        correlator = session.correlator
        correlator.pending.append(Asked(frame, head, session.framers[1 - session.client].gaps))
        correlator._ids[head.correlation_id] += 1


def _gather(buffers: tuple[Bytes, ...], buffer: Int64s, at: Int64s, dtype: str) -> Int64s:
    """One integer at each place."""
    out = np.zeros(len(at), np.int64)
    for number, data in enumerate(buffers):
        which = np.flatnonzero(buffer == number)
        if len(which):
            out[which] = unaligned(data, dtype)[at[which]]
    return out


class _Heads:
    """What the headers of requests say; ``odd``: those that are left to the session."""

    def __init__(self, buffers: tuple[Bytes, ...], requests: Sent) -> None:
        buffer, start, size = requests.buffer, requests.start, requests.size

        def read(at: Int64s | int, dtype: str) -> Int64s:
            return _gather(buffers, buffer, start + at, dtype)

        self.api_key, self.api_version = read(4, ">i2"), read(6, ">i2")
        self.correlation_id = read(8, ">i4")
        length = read(12, ">i2")
        low, high, _ = _versions()
        in_table = (self.api_key >= 0) & (self.api_key < len(low))
        key = np.where(in_table, self.api_key, 0)
        self.odd: Flags = ~in_table | (self.api_version < low[key]) | (self.api_version > high[key]) | (size < 14)
        self.odd |= (self.api_key == SASL_HANDSHAKE) | ((self.api_key == CONTROLLED_SHUTDOWN) & (self.api_version == 0))
        self.odd |= (length < -1) | (length > LONGEST_CLIENT_ID) | (14 + length > size)
        length = np.where(self.odd, -1, length)
        self.client_length = length
        self.client_id, self.client_ids = intern(buffers, buffer, start + 14, length)
        self.no_reply = self._without_reply(read, 14 + np.maximum(length, 0), size)

    def _without_reply(self, read: object, at: Int64s, size: Int64s) -> Flags:
        """Produce requests with acks 0 (see :mod:`kdissect.protocol.produce`)."""
        assert callable(read)
        produce = (self.api_key == PRODUCE) & ~self.odd
        flexible = produce & (self.api_version >= 9)
        named = produce & (self.api_version >= 3) & ~flexible
        last = size - 2
        tags = read(np.minimum(at, last), "u1")
        identity = read(np.minimum(at + 1, last), "u1")
        self.odd |= flexible & ((tags != 0) | (identity > 127))
        plain = read(np.minimum(at, last), ">i2")
        at = at + np.where(flexible, 2 + np.maximum(identity - 1, 0), 0) + np.where(named, 2 + np.maximum(plain, 0), 0)
        none: Flags = produce & (at <= last) & (read(np.minimum(at, last), ">i2") == 0)
        return none & ~self.odd


def intern(buffers: tuple[Bytes, ...], buffer: Int64s, start: Int64s, length: Int64s) -> tuple[Int64s, list[bytes]]:
    """Distinct byte strings: for each its number, -1 where ``length`` is negative, and the strings."""
    number = np.full(len(start), -1, np.int64)
    found: dict[bytes, int] = {}
    for which, data in enumerate(buffers):
        for size in np.unique(length[(buffer == which) & (length >= 0)]).tolist():
            rows = np.flatnonzero((buffer == which) & (length == size))
            if not size:
                number[rows] = found.setdefault(b"", len(found))
                continue
            texts = unaligned(data, f"V{size}")[start[rows]]
            number[rows] = _number(texts, size, found)
    return number, list(found)


def _number(texts: npt.NDArray[np.void], size: int, found: dict[bytes, int]) -> Int64s:
    """Numbers of strings of one size, new ones added to ``found``."""
    words = -(-size // 8)
    padded = np.zeros((len(texts), 8 * words), np.uint8)
    padded[:, :size] = texts.view(np.uint8).reshape(-1, size)
    table = padded.view(np.uint64)
    out = np.full(len(texts), -1, np.int64)
    left = np.arange(len(texts))
    # Strings that come often go one by one; the rest, should there be many, by dictionary.
    for _ in range(16):
        if not len(left):
            return out
        sample = table[left[0]]
        same = (table[left] == sample).all(axis=1)
        out[left[same]] = found.setdefault(texts[left[0]].tobytes(), len(found))
        left = left[~same]
    for index in left.tolist():
        out[index] = found.setdefault(texts[index].tobytes(), len(found))
    return out


assert SLACK >= 16, "heads are gathered whole"
