"""Recognises Kafka by its content, on any port and in either direction.

A connection is Kafka once a request has decoded to its last byte and something
more speaks for it: a client_id that is text, a second request right behind, or a
response that carries its id and decodes exactly.  Until then both directions wait
in their framers' backlogs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kdissect.protocol import foreign
from kdissect.protocol.evidence import CONVINCING_PREFIX, Verdict, judge_request, judge_response
from kdissect.protocol.heads import LARGEST_SOUGHT, RequestHead, request_candidates, response_head, sane_request
from kdissect.stream.framing import Framer, Run

if TYPE_CHECKING:
    from kdissect.protocol.session import Session

SCAN = 16 << 10
"""New bytes of a direction without a known start that are worth a search at every offset."""
KEEP_UNKNOWN = 1 << 20
KEEP_REJECTED = 64 << 10
CHAIN = 3
"""Witnesses that a request without client_id needs, one fewer right after the SYN (an exact answer counts twice); and
cut requests with rising ids that must follow a first one, each exactly where the size before says."""
CHAIN_STEP = 1000
"""Ids rise by less from request to request, also where a client counts over all its connections."""
RESPONSE_CHAIN = 4
"""Responses with ids in sequence that prove a direction of which the other half is missing."""
JUDGED_AT_LEAST = 4 << 20
JUDGED_TIMES = 16
"""So many bytes in all, and so many for each byte of the direction, are decoded on trial before it is given up."""
GSSAPI_TOKEN = 0x60
"""First byte of a GSSAPI initial token (RFC 2743, section 3.1), which Kafka 0.9 clients send without any handshake."""


class Detection:
    """What was tried so far, for each direction."""

    __slots__ = ("judged", "marks", "prefix", "rejected", "seen", "waiting")

    def __init__(self) -> None:
        self.rejected = [False, False]
        """The direction's known start is no Kafka request."""
        self.seen = [0, 0]
        self.marks: list[int] = [-1, -1]
        """Stream offset of the last packet start that was tried."""
        self.waiting: list[list[int]] = [[], []]
        """Stream offsets where a request may start whose end is not there yet."""
        self.prefix = [0, 0]
        self.judged = 0
        """Bytes decoded on trial so far."""


def recognise(session: Session, now: int, *, final: bool = False) -> None:
    """Look at both directions; on success ``session.client`` is set and the framers are synced as far as they can be."""
    state = session.detection
    if session.ignored:
        return
    for side in (0, 1):
        framer = session.framers[side]
        if not framer.backlog or (framer.position == state.seen[side] and not final):
            continue
        state.seen[side] = framer.position
        offset = _find_request(session, side, final)
        if session.ignored:
            return
        if offset is not None:
            _begin(session, side, offset, now)
            return
    if all(state.rejected):
        _ignore(session, "unknown")
        return
    for side in (0, 1):
        _bound(session, side)
        if final and not session.streams[1 - side].known:
            start = _chain_start(session.framers[side])
            if start is not None:
                session.client, session.protocol = 1 - side, "kafka"
                session.framers[side].resume(start)
                return


def _begin(session: Session, side: int, offset: int, now: int) -> None:
    session.client, session.protocol = side, "kafka"
    requests, responses = session.framers[side], session.framers[1 - side]
    prefix = session.detection.prefix[side]
    for run in requests.backlog + responses.backlog:
        run.scanned = 0
    requests.resume(offset)
    if prefix and offset == prefix:
        requests.skipped -= prefix
        session.opaque += prefix
    session.collect(now)
    if session.streams[1 - side].certain and (not responses.backlog or responses.backlog[0].offset == 0):
        responses.resume(0)


def _ignore(session: Session, protocol: str) -> None:
    session.protocol, session.ignored = protocol, True
    for framer in session.framers:
        framer.backlog = []
    for stream in session.streams:
        stream.held, stream.held_bytes = [], 0


def _find_request(session: Session, side: int, final: bool) -> int | None:
    state, framer = session.detection, session.framers[side]
    run = framer.backlog[0]
    if session.streams[side].certain and run.offset == 0:
        return None if state.rejected[side] else _at_start(session, side, run, final)
    if run.data and foreign.is_tls(run.data) and not state.waiting[side]:
        _ignore(session, "tls")
        return None
    return _search(session, side, final)


def _at_start(session: Session, side: int, run: Run, final: bool) -> int | None:
    """Try the very first bytes of a direction whose SYN was seen."""
    state = session.detection
    name = foreign.name(run.data)
    if name is not None:
        _ignore(session, name)
        return None
    prefix = foreign.proxy_prefix(run.data)
    if prefix is None:
        return None
    state.prefix[side] = prefix
    at = prefix
    if len(run.data) > at + 4 and run.data[at + 4] == GSSAPI_TOKEN:
        found = _behind_tokens(run, at)
        if found is None:
            return None
        if found >= 0:
            session.correlator.raw_sasl = True
            return prefix
    verdict = _weigh(session, side, run, at, final)
    if verdict is Verdict.YES:
        return prefix
    if verdict is Verdict.NO:
        state.rejected[side] = True
    return None


def _behind_tokens(run: Run, at: int) -> int | None:
    """Offset of the first request behind raw tokens; None while it may still come, -1 when these are no tokens."""
    while len(run.data) >= at + 12:
        head = sane_request(run.data, at)
        if head is not None:
            verdict = judge_request(run.data, at, head)
            return at if verdict is Verdict.YES else None if verdict is Verdict.WAIT else -1
        size = int.from_bytes(run.data[at : at + 4])
        if size > KEEP_REJECTED:
            return -1
        at += 4 + size
    return None


def _search(session: Session, side: int, final: bool) -> int | None:
    """Look for a request in a direction that was joined in the middle: at packet starts at once, everywhere now and then."""
    state, framer = session.detection, session.framers[side]
    first = framer.backlog[0].offset
    waiting = [offset for offset in state.waiting[side] if offset >= first]
    fresh = [offset for run in framer.backlog for offset, _ in run.marks if offset > state.marks[side]]
    if fresh:
        state.marks[side] = fresh[-1]
    still: list[int] = []
    found: int | None = None
    for offset in sorted({*waiting, *fresh}):
        run = _run_at(framer, offset)
        if run is None:
            continue
        verdict = _weigh(session, side, run, offset - run.offset, final)
        if verdict is Verdict.YES:
            found = offset
            break
        if verdict is Verdict.WAIT:
            still.append(offset)
    for run in framer.backlog:
        if found is not None and run.offset > found:
            break
        whole = final or found is not None or run is not framer.backlog[-1]
        if not whole and len(run.data) - run.scanned < SCAN:
            continue
        for at in request_candidates(run.data, run.scanned):
            if found is not None and run.offset + at >= found:
                break
            verdict = _weigh(session, side, run, at, final)
            if verdict is Verdict.YES:
                return run.offset + at
            if verdict is Verdict.WAIT:
                still.append(run.offset + at)
        run.scanned = max(run.scanned, len(run.data) - 13)
    state.waiting[side] = sorted(set(still))[:64]
    return found


def _run_at(framer: Framer, offset: int) -> Run | None:
    return next((run for run in framer.backlog if run.offset <= offset < run.offset + len(run.data)), None)


def _weigh(session: Session, side: int, run: Run, at: int, final: bool) -> Verdict:
    """Whether a request starts at ``at`` of this run, beyond reasonable doubt."""
    head = sane_request(run.data, at)
    framer = session.framers[side]
    last = run is framer.backlog[-1]
    if head is None:
        return Verdict.WAIT if last and len(run.data) - at < 14 and not final else Verdict.NO
    whole = at + head.size <= len(run.data)
    if not whole and not head.client_id and not head.cut:
        # Nothing but its end could convince of it.
        return Verdict.WAIT if last and not final else Verdict.NO
    state = session.detection
    size = min(head.size, len(run.data) - at)
    if state.judged > JUDGED_AT_LEAST + JUDGED_TIMES * framer.position:
        return Verdict.NO
    state.judged += size
    verdict = judge_request(run.data, at, head, thorough=bool(head.client_id))
    if verdict is Verdict.NO:
        return verdict
    if verdict is Verdict.WAIT:
        if head.client_id and len(run.data) - at >= CONVINCING_PREFIX:
            return Verdict.YES
        if last and not final:
            return verdict
        # Cut by a gap or a snap length: the next headers, exactly where they must stand, are the witnesses.
        return Verdict.YES if _leads_on(session, side, run.offset + at, head) else verdict
    if head.client_id:
        return Verdict.YES
    # Without a client_id, small integers of any protocol may look like a request: ask for more.
    witnesses = _followers(run, at + head.size) + 2 * _answered(session, 1 - side, head)
    first = session.streams[side].certain and run.offset + at == 0
    if witnesses >= (CHAIN - 1 if first else CHAIN):
        return Verdict.YES
    return Verdict.YES if final and first and not witnesses and head.size == len(run.data) else Verdict.WAIT


def _followers(run: Run, at: int) -> int:
    """How many exact requests stand here one behind the other; no more than matter are counted."""
    count = 0
    while count < CHAIN and (head := sane_request(run.data, at)) is not None:
        if judge_request(run.data, at, head) is not Verdict.YES:
            break
        count += 1
        at += head.size
    return count


def _leads_on(session: Session, side: int, offset: int, head: RequestHead) -> bool:
    """Whether the request's size leads to another one of the same client, or to several with rising ids that are answered."""
    framer = session.framers[side]
    if head.client_id is None and not _echoed(session.framers[1 - side], head.correlation_id):
        return False
    for _ in range(CHAIN):
        offset += head.size
        run = _run_at(framer, offset)
        follower = None if run is None else sane_request(run.data, offset - run.offset)
        if follower is None:
            return False
        if head.client_id and follower.client_id == head.client_id:
            return True
        if not 0 < follower.correlation_id - head.correlation_id < CHAIN_STEP:
            return False
        head = follower
    return True


def _echoed(framer: Framer, correlation_id: int) -> bool:
    """Whether a packet of the other direction begins like the answer to this id."""
    heads = (response_head(run.data, offset - run.offset) for run in framer.backlog for offset, _ in run.marks)
    return any(head is not None and head[1] == correlation_id and 8 <= head[0] <= LARGEST_SOUGHT for head in heads)


def _answered(session: Session, side: int, head: RequestHead) -> bool:
    """Whether the other direction holds the exact answer to this request at a packet's start."""
    for run in session.framers[side].backlog:
        for offset, _ in run.marks:
            at = offset - run.offset
            response = response_head(run.data, at)
            if response is not None and response[1] == head.correlation_id and at + response[0] <= len(run.data):
                verdict = judge_response(run.data, at, response[0], head.api_key, head.api_version)
                if verdict is Verdict.YES:
                    return True
    return False


def _bound(session: Session, side: int) -> None:
    """Keep no more of an unrecognised direction than is reasonable."""
    state, framer = session.detection, session.framers[side]
    bound = KEEP_REJECTED if state.rejected[side] else session.limits.backlog if state.waiting[side] else KEEP_UNKNOWN
    while framer.backlog and framer.backlog_bytes > bound:
        if len(framer.backlog) > 1:
            framer.discard(framer.backlog[0])
        else:
            framer.discard(framer.backlog[0], bound // 2)


def _chain_start(framer: Framer) -> int | None:
    """Offset from which responses stand one behind the other with ids in sequence."""
    for run in framer.backlog:
        for offset, _ in run.marks:
            at, links, previous = offset - run.offset, 0, None
            while (head := response_head(run.data, at)) is not None and 8 <= head[0] <= len(run.data) - at:
                if previous is not None and head[1] != previous + 1:
                    break
                previous = head[1]
                links += 1
                at += head[0]
                if links >= RESPONSE_CHAIN:
                    return offset
    return None
