"""Puts exchanges in columns and exchanges one by one into one order, and resolves what depends on it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from kdissect import schema
from kdissect.capture import CaptureFile
from kdissect.columnar.batch import Columns, ConnectionText, ExchangeBatch, FileText
from kdissect.columnar.bodies import write_bodies
from kdissect.columnar.flat import Mention, Spoken, speak
from kdissect.columnar.sample import Sampler
from kdissect.exchange import Exchange
from kdissect.model import Int64s
from kdissect.protocol.bulk import Rows
from kdissect.protocol.correlate import Settled
from kdissect.protocol.session import Session
from kdissect.protocol.state import State
from kdissect.protocol.topic_ids import may_carry_metadata, shows_topic_ids
from kdissect.schema.message import DecodeOptions
from kdissect.stream.endpoints import Endpoints

Item = tuple[Settled, Session]
_LOGINS = frozenset({17, 36})
"""SaslHandshake and SaslAuthenticate."""


@dataclass(slots=True)
class Plain:
    """Settled exchanges of which all that is to be told is in columns."""

    rows: Rows
    spoken: Spoken
    bodies: list[bytes] | None
    """``"request":...,"response":...`` as JSON, where bodies are wanted."""

    def pick(self, which: Int64s) -> Plain:
        """Some of them."""
        spoken = self.spoken
        names = ("left", "topics", "groups", "errors", "throttle_ms")
        bodies = None if self.bodies is None else [self.bodies[row] for row in which.tolist()]
        picked = replace(spoken, **{name: getattr(spoken, name)[which] for name in names})
        return Plain(self.rows.pick(which), picked, bodies)


def sift(
    rows: Rows, decoding: DecodeOptions, state: State, sampler: Sampler | None = None
) -> tuple[Plain, list[Item]]:
    """Divide what was settled in bulk into what can stay in columns and what must be looked at one by one.

    With ``decoding.records`` "full" the bodies are wanted too; what ``sampler`` chooses is looked at in any case.
    """
    spoken = speak(rows, decoding.records == "heads")
    if sampler is not None:
        spoken.left |= sampler.chosen(rows, spoken)
    bodies = write_bodies(rows, spoken, decoding, state.topic_names.get) if decoding.records == "full" else None
    return Plain(rows, spoken, bodies).pick(np.flatnonzero(~spoken.left)), _singly(rows, np.flatnonzero(spoken.left))


def _singly(rows: Rows, which: Int64s) -> list[Item]:
    return [(rows.settled(row), rows.sessions[int(rows.session[row])]) for row in which.tolist()]


class Releaser:
    """Numbers batches of exchanges and fills in what earlier ones tell."""

    def __init__(self, files: Sequence[CaptureFile], endpoints: Endpoints, state: State) -> None:
        self._files = files
        self._endpoints = endpoints
        self._state = state

    def release(
        self, done: list[Item], plain: list[Plain], first_index: int, describe: Callable[[Settled, Session, int], Exchange | None]
    ) -> tuple[ExchangeBatch, list[Plain]]:
        """The batch, and what of it is in columns.

        ``done`` is described one by one, in order, with the index that each would get; ``plain`` is taken as it is.
        """
        done, plain = self._apart(done, plain)
        rows = [part.rows for part in plain]
        sizes = [len(part.rows) for part in plain]
        owners = [np.array([s.incarnation.number for s in each.sessions], np.int64)[each.session] for each in rows]
        keys = np.array([_key(item) for item in done], np.int64).reshape(-1, 3).T
        ordinal, number, offset = (
            np.concatenate([key, *parts])
            for key, parts in zip(keys, ([r.ordinal for r in rows], owners, [r.request.offset for r in rows]), strict=True)
        )
        order = np.lexsort((offset, number, ordinal))
        place = np.empty(len(order), np.int64)
        place[order] = np.arange(len(order))
        names = _Names(self._state, plain, place[len(done) :])

        objects: dict[int, Exchange] = {}
        dropped: list[int] = []
        for row in order[order < len(done)].tolist():
            settled, session = done[row]
            at = int(place[row])
            if _shows_names(settled):
                names.resolve(at)
            exchange = describe(settled, session, first_index + at - len(dropped))
            if exchange is None:
                dropped.append(at)
            else:
                objects[at - len(dropped)] = exchange
        names.resolve(len(order))
        place -= np.searchsorted(np.array(dropped, np.int64), place)
        columns = self._columns(plain, sizes, owners, place[len(done) :], first_index, names)
        return ExchangeBatch(columns, objects), plain

    def _apart(self, done: list[Item], plain: list[Plain]) -> tuple[list[Item], list[Plain]]:
        """Connections on which somebody logs in are looked at one by one: who speaks changes in between."""
        logging_in = {session for settled, session in done if settled.head is None or settled.head.api_key in _LOGINS}
        if not logging_in:
            return done, plain
        kept = []
        for part in plain:
            numbers = [index for index, session in enumerate(part.rows.sessions) if session in logging_in]
            taken = np.isin(part.rows.session, numbers)
            done = done + _singly(part.rows, np.flatnonzero(taken))
            kept.append(part.pick(np.flatnonzero(~taken)))
        return done, kept

    def _columns(
        self, plain: list[Plain], sizes: list[int], owners: list[Int64s], place: Int64s, first_index: int, names: _Names
    ) -> Columns:
        def gather(of: Callable[[Plain], Int64s]) -> Int64s:
            return np.concatenate([np.zeros(0, np.int64), *(of(part) for part in plain)])

        def lists(which: Callable[[Plain], Int64s], size: Callable[[Plain], int]) -> Int64s:
            starts = np.cumsum([0, *(size(part) for part in plain)])
            return np.concatenate([np.zeros(0, np.int64), *(which(p) + s for p, s in zip(plain, starts.tolist(), strict=False))])

        request: Callable[[str], Int64s] = lambda name: gather(lambda p: getattr(p.rows.request, name))  # noqa: E731
        response: Callable[[str], Int64s] = lambda name: gather(lambda p: getattr(p.rows.response, name))  # noqa: E731
        numbers, connection = np.unique(np.concatenate([np.zeros(0, np.int64), *owners]), return_inverse=True)
        sessions = {s.incarnation.number: s for part in plain for s in part.rows.sessions}
        order = np.argsort(place)
        columns = Columns(
            place=place,
            index=place + first_index,
            connection=connection,
            file=request("file"),
            response_file=response("file"),
            request_time_ns=request("time_ns"),
            response_time_ns=response("time_ns"),
            api_key=gather(lambda p: p.rows.api_key),
            api_version=gather(lambda p: p.rows.api_version),
            correlation_id=gather(lambda p: p.rows.correlation_id),
            client_id=lists(_client_id, lambda p: len(p.rows.client_ids) + 1),
            request_bytes=request("size"),
            response_bytes=response("size"),
            request_first=request("first_number"),
            request_last=request("number"),
            response_first=response("first_number"),
            response_last=response("number"),
            answered=gather(lambda p: p.rows.answered.astype(np.int64)).astype(bool),
            errors=lists(lambda p: p.spoken.errors, lambda p: len(p.spoken.error_lists)),
            throttle_ms=gather(lambda p: p.spoken.throttle_ms),
            topics=names.number,
            groups=lists(lambda p: p.spoken.groups, lambda p: len(p.spoken.group_lists)),
            connections=[self._connection(sessions[number]) for number in numbers.tolist()],
            files=[FileText(file.name, file.time_digits) for file in self._files],
            client_ids=[
                text for p in plain for text in (*(raw.decode(errors="backslashreplace") for raw in p.rows.client_ids), None)
            ],
            error_lists=[[schema.error_name(code) for code in codes] for p in plain for codes in p.spoken.error_lists],
            topic_lists=names.lists,
            bodies=self._bodies(plain, order),
            group_lists=[list(groups) for p in plain for groups in p.spoken.group_lists],
        )
        for name in Columns.__slots__:
            column = getattr(columns, name)
            if isinstance(column, np.ndarray):
                setattr(columns, name, column[order])
        return columns

    @staticmethod
    def _bodies(plain: list[Plain], order: Int64s) -> list[bytes] | None:
        if any(part.bodies is None for part in plain):
            return None
        bodies = [body for part in plain for body in part.bodies or ()]
        return [bodies[row] for row in order.tolist()]

    def _connection(self, session: Session) -> ConnectionText:
        ends, client_side = session.incarnation.endpoints, session.client or 0
        client, broker = (self._endpoints.text(ends[side]) for side in (client_side, 1 - client_side))
        number = session.incarnation.number
        return ConnectionText(number, session.identity(client, broker), client, broker, self._state.logins.principal(number))


def _client_id(part: Plain) -> Int64s:
    """Null behind all others."""
    rows = part.rows
    return np.where(rows.client_id < 0, len(rows.client_ids), rows.client_id)


class _Names:
    """Topic ids become names as they are known at each exchange's turn."""

    def __init__(self, state: State, plain: list[Plain], place: Int64s) -> None:
        self._state = state
        self.lists: list[list[str]] = []
        numbers: list[Int64s] = []
        self._open: list[tuple[Mention, ...] | None] = []
        for part in plain:
            numbers.append(part.spoken.topics + len(self.lists))
            for mentions in part.spoken.topic_lists:
                by_id = any(mention.is_id for mention in mentions)
                self._open.append(mentions if by_id else None)
                self.lists.append([] if by_id else [mention.text for mention in mentions])
        self.number: Int64s = np.concatenate([np.zeros(0, np.int64), *numbers])
        unresolved = np.array([each is not None for each in self._open], bool)
        self._rows = np.flatnonzero(unresolved[self.number]) if len(self.number) else self.number
        self._rows = self._rows[np.argsort(place[self._rows])]
        self._places = place[self._rows]
        self._done = 0

    def resolve(self, before: int) -> None:
        """Settle the names in the exchanges before this place."""
        stop = int(np.searchsorted(self._places, before))
        rows = self._rows[self._done : stop]
        self._done = stop
        # In order of appearance: the first id without a name makes the state look ahead.
        distinct, first = np.unique(self.number[rows], return_index=True)
        for number in distinct[np.argsort(first)].tolist():
            mentions = self._open[number]
            assert mentions is not None
            names = [(self._state.topic_name(m.text) or m.text) if m.is_id else m.text for m in mentions]
            self.number[rows[self.number[rows] == number]] = len(self.lists)
            self.lists.append(list(dict.fromkeys(names)))
            self._open.append(None)


def _shows_names(settled: Settled) -> bool:
    """Whether topic names may be learned from an exchange."""
    head, response = settled.head, settled.response
    if head is None:
        return False
    if any(shows_topic_ids(head.api_key, head.api_version, kind) for kind in ("request", "response")):
        return True
    return response is not None and may_carry_metadata(head.api_key, response.data)


def _key(item: Item) -> tuple[int, int, int]:
    settled, session = item
    frame = settled.request or settled.response
    return settled.ordinal, session.incarnation.number, frame.offset if frame else 0


def booked(plain: list[Plain]) -> list[tuple[Session, int, int]]:
    """For each session its number of exchanges and the bytes of their messages, all of them decoded."""
    out = []
    for part in plain:
        rows = part.rows
        size = rows.request.size + np.where(rows.answered, rows.response.size, 0)
        count = np.bincount(rows.session, minlength=len(rows.sessions))
        total = np.bincount(rows.session, weights=size, minlength=len(rows.sessions))
        out += [(s, int(n), int(b)) for s, n, b in zip(rows.sessions, count.tolist(), total.tolist(), strict=True) if n]
    return out
