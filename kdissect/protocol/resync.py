"""Finds the next true frame boundary after a gap, a mid-stream start or a malformed length.

A false boundary is worse than a late one: a candidate must decode exactly, or, where
a gap cuts it too, carry an id or client that this connection is known to use.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from kdissect.protocol.evidence import CONVINCING_PREFIX, Verdict, judge_request, judge_response
from kdissect.protocol.heads import request_candidates, response_candidates, response_head, sane_request
from kdissect.stream.framing import Framer, Run

if TYPE_CHECKING:
    from kdissect.protocol.session import Session

SHORTEST_EVIDENCE = 64
"""A message cut by the next gap is only believed with so many faultless bytes, or at a packet's start."""


def requests(session: Session, *, final: bool = False) -> bool:
    """Try to sync the request direction; True when it found a boundary."""
    assert session.client is not None
    framer = session.framers[session.client]

    def judge(run: Run, at: int, ends: bool) -> Verdict:
        head = sane_request(run.data, at, session.limits.backlog if not ends else 1 << 30)
        if head is None:
            return Verdict.NO
        verdict = judge_request(run.data, at, head)
        if verdict is Verdict.YES and not head.client_id and session.correlator.client_ids:
            # Exact, but anonymous among named ones: too weak.
            return Verdict.NO
        if verdict is Verdict.WAIT and head.client_id in session.correlator.client_ids:
            return _cut_evidence(run, at, ends)
        return verdict

    return _seek(framer, judge, lambda run: request_candidates(run.data, run.scanned), 13, session.limits.backlog, final, True)


def responses(session: Session, *, final: bool = False) -> bool:
    """Try to sync the response direction, by the ids that wait for an answer; True when it found a boundary."""
    assert session.client is not None
    correlator = session.correlator
    framer = session.framers[1 - session.client]
    if not framer.backlog:
        return False
    framed = session.framed()
    acked = framer.backlog[-1].marks[-1][1].acked if framer.backlog[-1].marks else None
    # While requests are still to come, an unknown id proves nothing.
    decided = final or (framed is not None and (acked is None or framed >= acked))

    def judge(run: Run, at: int, ends: bool) -> Verdict:
        head = response_head(run.data, at)
        asked = None if head is None else correlator.asked(head[1])
        if head is None or asked is None or asked.head is None:
            return Verdict.NO
        verdict = judge_response(run.data, at, head[0], asked.head.api_key, asked.head.api_version)
        return _cut_evidence(run, at, ends) if verdict is Verdict.WAIT else verdict

    ids = correlator.outstanding()
    return _seek(
        framer, judge, lambda run: response_candidates(run.data, run.scanned, ids), 7, session.limits.backlog, final, decided
    )


def _cut_evidence(run: Run, at: int, ends: bool) -> Verdict:
    """A faultless prefix with a known id or client: enough when it is long, or when a gap ends it."""
    have = len(run.data) - at
    if have >= CONVINCING_PREFIX:
        return Verdict.YES
    if ends and (have >= SHORTEST_EVIDENCE or any(offset == run.offset + at for offset, _ in run.marks)):
        return Verdict.YES
    return Verdict.WAIT


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
        if not ends and len(run.data) < run.asked:
            return False
        waiting: int | None = None
        for at in candidates(run):
            verdict = judge(run, at, ends)
            if verdict is Verdict.YES:
                framer.resume(run.offset + at)
                return True
            if verdict is Verdict.WAIT and not ends:
                waiting = at
                break
        if not decided and not ends:
            return False
        if waiting is not None:
            run.scanned = waiting
            if len(run.data) < bound:
                return False
            run.scanned = waiting + 1
            continue
        if not ends:
            run.scanned = max(run.scanned, len(run.data) - sight)
            if len(run.data) > bound:
                framer.discard(run, len(run.data) - run.scanned)
            return False
        if not decided and not final:
            return False
        if len(framer.backlog) == 1:
            return False
        framer.discard(run)
    return False
