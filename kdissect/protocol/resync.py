"""Finds the next true frame boundary after a gap, a mid-stream start or a malformed length.

A false boundary is worse than a late one: a candidate must decode exactly, or, where
a gap cuts it too, carry an id or client that this connection is known to use and lead to another message.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from kdissect.protocol.evidence import CONVINCING_PREFIX, Verdict, judge_request, judge_response
from kdissect.protocol.heads import request_candidates, response_candidates, response_head, sane_request
from kdissect.stream.framing import Framer, Run

if TYPE_CHECKING:
    from kdissect.protocol.session import Session


def requests(session: Session, *, final: bool = False) -> bool:
    """Try to sync the request direction; True when it found a boundary."""
    assert session.client is not None
    framer = session.framers[session.client]

    def judge(run: Run, at: int, ends: bool) -> Verdict:
        head = sane_request(run.data, at, session.limits.backlog if not ends else 1 << 30)
        if head is None:
            return Verdict.NO
        verdict = judge_request(run.data, at, head, thorough=ends or bool(head.client_id))
        if verdict is Verdict.YES and not head.client_id and session.correlator.client_ids:
            # Exact, but anonymous among named ones: too weak.
            return Verdict.NO
        if verdict is Verdict.WAIT and head.client_id in session.correlator.client_ids:
            return _weigh_cut(framer, run, at, head.size, ends, follows)
        return verdict

    def follows(run: Run, at: int) -> bool:
        head = sane_request(run.data, at)
        return head is not None and head.client_id in session.correlator.client_ids

    return _seek(framer, judge, lambda run: request_candidates(run.data, run.scanned), 13, session.limits.backlog, final, True)


def responses(session: Session, *, final: bool = False) -> bool:
    """Try to sync the response direction, by the ids that wait for an answer; True when it found a boundary."""
    assert session.client is not None
    correlator = session.correlator
    framer = session.framers[1 - session.client]
    if not framer.backlog:
        return False
    acked = framer.backlog[-1].marks[-1][1].acked if framer.backlog[-1].marks else None
    # While requests are still to come, an unknown id proves nothing.
    decided = final or session.requests_behind(acked) is False

    def judge(run: Run, at: int, ends: bool) -> Verdict:
        head = response_head(run.data, at)
        asked = None if head is None else correlator.asked(head[1])
        if head is None or asked is None or asked.head is None:
            return Verdict.NO
        key, version = asked.head.api_key, asked.head.api_version
        thorough = ends or len(run.data) - at >= CONVINCING_PREFIX
        verdict = judge_response(run.data, at, head[0], key, version, thorough=thorough)
        return _weigh_cut(framer, run, at, head[0], ends, follows) if verdict is Verdict.WAIT else verdict

    def follows(run: Run, at: int) -> bool:
        head = response_head(run.data, at)
        return head is not None and correlator.asked(head[1]) is not None

    ids = correlator.outstanding()
    return _seek(
        framer, judge, lambda run: response_candidates(run.data, run.scanned, ids), 7, session.limits.backlog, final, decided
    )


def _weigh_cut(framer: Framer, run: Run, at: int, size: int, ends: bool, follows: Callable[[Run, int], bool]) -> Verdict:
    """Weigh a faultless prefix with a known id or client, whose end is not there (``ends``: and never will be).

    It counts when it is long or begins with a packet, and the bytes at its end, if the capture holds them,
    begin another message; or when they do, wherever it stands.
    """
    if len(run.data) - at < CONVINCING_PREFIX and not ends:
        return Verdict.WAIT
    start, end = run.offset + at, run.offset + at + size
    behind = next((r for r in framer.backlog if r.offset <= end <= r.offset + len(r.data) - 12), None)
    if behind is not None:
        return Verdict.YES if follows(behind, end - behind.offset) else Verdict.NO
    begins_packet = any(offset == start for offset, _ in run.marks)
    return Verdict.YES if begins_packet or len(run.data) - at >= CONVINCING_PREFIX else Verdict.NO


def _seek(
    framer: Framer,
    judge: Callable[[Run, int, bool], Verdict],
    candidates: Callable[[Run], list[int]],
    sight: int,
    bound: int,
    final: bool,
    decided: bool,
) -> bool:
    """Go through the backlog in stream order; resume at the first boundary that is beyond doubt."""
    while framer.backlog:
        run = framer.backlog[0]
        ends = final or len(framer.backlog) > 1
        waiting: int | None = None
        for at in candidates(run):
            verdict = judge(run, at, ends)
            if verdict is Verdict.YES and (waiting is None or _supported(run, at)):
                framer.resume(run.offset + at)
                return True
            if verdict is Verdict.WAIT and not ends and waiting is None:
                waiting = at
        if not decided and not (ends and final):
            return False
        if not ends:
            # Where a message may start, its end is awaited; before that, nothing starts.
            run.scanned = max(run.scanned, len(run.data) - sight) if waiting is None else waiting
            if len(run.data) > bound:
                framer.discard(run, len(run.data) - run.scanned if waiting is None else bound // 2)
            return False
        if len(framer.backlog) == 1:
            return False
        framer.discard(run)
    return False


def _supported(run: Run, at: int) -> bool:
    """Whether an exact message begins with a packet or ends with the bytes so far.

    Asked of one that stands inside what may be a longer message that is not there in full yet.
    """
    end = at + 4 + int.from_bytes(run.data[at : at + 4])
    return end == len(run.data) or any(offset in (run.offset + at, run.offset + end) for offset, _ in run.marks)
