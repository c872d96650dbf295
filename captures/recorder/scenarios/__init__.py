"""Scenarios by name; each records one or more captures."""

from __future__ import annotations

from collections.abc import Callable

from recorder.scenarios import clients, kraft, old, secure, tour, trouble

SCENARIOS: dict[str, Callable[[], None]] = {
    **kraft.SCENARIOS,
    **old.SCENARIOS,
    **secure.SCENARIOS,
    **trouble.SCENARIOS,
    **clients.SCENARIOS,
    **tour.SCENARIOS,
}
