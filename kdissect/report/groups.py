"""The view of groups: a timeline of each, what ``kdissect groups`` lists."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final

from kdissect.exchange import rfc3339
from kdissect.report.escape import shorten
from kdissect.report.group_events import GroupEvent, timeline
from kdissect.report.group_facts import Gatherer
from kdissect.report.human import Clock
from kdissect.report.partitions import TopicNames
from kdissect.report.source import Source
from kdissect.report.view import Cell, Column, View

if TYPE_CHECKING:
    from kdissect.dissect import Dissection
    from kdissect.exchange import Exchange

_STYLES: Final = {
    "joined": "good",
    "left": "note",
    "gone": "warning",
    "rebalance": "api",
    "assigned": "",
    "moved": "warning",
    "error": "error",
    "seen": "quiet",
}


class Timelines(Source[GroupEvent]):
    """Gathers what happens to groups; the events of each group come together, groups in order of appearance."""

    def __init__(self, names: TopicNames) -> None:
        self._names = names
        self._gatherer = Gatherer()

    def add(self, batch: Sequence[Exchange]) -> Iterable[GroupEvent]:
        self._gatherer.add(batch)
        return ()

    def finish(self, dissection: Dissection) -> Iterable[GroupEvent]:
        for name, known in self._gatherer.groups.items():
            yield from timeline(name, known, self._names)


def _time(event: GroupEvent, clock: Clock) -> Cell:
    return Cell("-" if event.time_ns is None else clock.time(event.time_ns), "quiet")


def _full_time(event: GroupEvent, clock: Clock) -> str:
    return "-" if event.time_ns is None else clock.full(event.time_ns, event.digits)


def _to_json(event: GroupEvent, _: bool) -> dict[str, object]:
    given = event.assignment
    return {
        "group": event.group,
        "time": rfc3339(event.time_ns, event.digits),
        "event": event.event,
        "generation": event.generation,
        "member_id": event.member_id or None,
        "client_id": event.client_id,
        "client": event.client,
        "trigger": event.trigger,
        "error_code": event.error_code,
        "assignment": None if given is None else [{"topic": topic, "partitions": list(parts)} for topic, parts in given],
        "exchange": event.exchange,
        "text": event.text or None,
    }


GROUPS: View[GroupEvent] = View(
    name="events",
    columns=(
        Column("#", lambda e, _: Cell(str(e.exchange), "quiet"), rank=20, right=True, comfort=5, key="exchange"),
        Column("group", lambda e, _: Cell(shorten(e.group, 249), "name"), rank=0, headless=True),
        Column("time", _time, rank=60, plain=_full_time),
        Column("event", lambda e, _: Cell(e.event, _STYLES[e.event]), rank=0, comfort=9),
        Column(
            "gen", lambda e, _: Cell("" if e.generation is None else str(e.generation)), rank=70, right=True, key="generation"
        ),
        Column("member", lambda e, _: Cell(e.member, "name"), rank=80, minimum=10, comfort=18, maximum=40, key="client_id"),
        Column(
            "what",
            lambda e, _: Cell(e.text, _STYLES["error"] if e.event == "error" else ""),
            rank=0,
            minimum=24,
            maximum=300,
            key="text",
            wrap=True,
        ),
    ),
    keys=(
        *("group", "time", "event", "generation", "member_id", "client_id", "client", "trigger", "error_code", "assignment"),
        *("exchange", "text"),
    ),
    to_json=_to_json,
    moment=lambda event: event.time_ns,
    section=lambda event, _: event.heading,
    kinds={"time": "time", "generation": "integer", "exchange": "integer", "assignment": "json"},
)
"""One row an event."""
