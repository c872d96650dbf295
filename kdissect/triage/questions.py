"""All of kdissect's own triage questions, in the order of the report."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kdissect.triage.question import Question


def built_in() -> Sequence[Question]:
    """The questions but the one about an upgrade, which needs to know the target (:func:`kdissect.triage.upgrade.question`)."""
    from kdissect.triage import (
        auth,
        connections,
        consume,
        errors,
        latency,
        loss,
        members,
        metadata,
        noted,
        produce,
        producers,
        rebalances,
        throttling,
    )

    return [
        errors.question(),
        latency.question(),
        throttling.question(),
        rebalances.question(),
        members.question(),
        connections.question(),
        metadata.storm(),
        metadata.stale_leader(),
        auth.question(),
        produce.question(),
        producers.question(),
        consume.question(),
        noted.question(),
        loss.question(),
    ]
