"""Decoded exchanges as trees for the page."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from kdissect.report.exchanges import api_text
from kdissect.report.fields import Reading
from kdissect.report.human import Clock, duration_ms, size
from kdissect.report.show import message_nodes

if TYPE_CHECKING:
    from kdissect.exchange import Exchange
    from kdissect.plugins.host import Host
    from kdissect.report.tree import Node
    from kdissect.triage.question import Problem

MOST_LINES: Final = 150
"""Lines of one message on the page."""
DEEPEST: Final = 12


@dataclass(slots=True)
class Line:
    """A field with what is inside it."""

    label: str
    value: str
    note: str
    style: str
    children: list[Line] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Shown:
    """One exchange as evidence."""

    index: int
    title: str
    facts: str
    request: list[Line] | None
    response: list[Line] | None
    cut: bool
    """Lines were left out."""


def shown(problem: Problem, host: Host) -> list[Shown]:
    """The exchanges that a finding rests on, the first ones decoded."""
    how = Reading(Clock(utc=True), host)
    return [_shown(sample.exchange, how) for sample in problem.samples]


def _shown(it: Exchange, how: Reading) -> Shown:
    facts = [f"{it.client} → {it.broker}", f"connection {it.connection}"]
    when = it.request_time_ns if it.request_time_ns is not None else it.response_time_ns
    if when is not None:
        facts.append(how.clock.full(when, it.time_digits))
    if it.latency_ms is not None:
        facts.append(duration_ms(it.latency_ms))
    for kind in ("request", "response"):
        total, packets = getattr(it, f"{kind}_bytes"), getattr(it, f"{kind}_packets")
        if total is not None and packets is not None:
            span = f"{packets[0]}" if packets[0] == packets[1] else f"{packets[0]} to {packets[1]}"
            facts.append(f"{kind} {size(total)} in packet {span}")
    if it.outcome != "answered":
        facts.append(it.outcome.replace("_", " "))
    facts += it.error_codes
    trees: dict[str, list[Line] | None] = {}
    cut = False
    for kind in ("request", "response"):
        message = getattr(it, kind)
        if message is None or message.body is None:
            trees[kind] = None
            continue
        left = [MOST_LINES]
        trees[kind] = _lines(message_nodes(message, how), left, 0)
        cut = cut or left[0] <= 0
    return Shown(it.index, api_text(it), " · ".join(facts), trees["request"], trees["response"], cut)


def _lines(nodes: Iterable[Node], left: list[int], depth: int) -> list[Line]:
    lines: list[Line] = []
    for node in nodes:
        left[0] -= 1
        if left[0] <= 0:
            break
        children = _lines(node.children, left, depth + 1) if depth < DEEPEST else []
        lines.append(Line(node.label, node.value, node.note, node.style, children))
    return lines
