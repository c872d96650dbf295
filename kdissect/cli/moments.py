"""Points in time on the command line: ``--since`` and ``--until``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from kdissect.moments import Moment, parse_moment

if TYPE_CHECKING:
    from kdissect.exchange import Exchange

__all__ = ["Moment", "MomentType", "Window"]


@dataclass(frozen=True, slots=True)
class Window:
    """The exchanges requested (where the request is missing: answered) at ``since`` or later and before ``until``."""

    since: Moment | None = None
    until: Moment | None = None

    def keep(self, batch: Sequence[Exchange], first_ns: int | None) -> Sequence[Exchange]:
        """The exchanges inside; ``first_ns`` is the time of the capture's first packet.  Unstamped ones are outside."""
        if self.since is None and self.until is None:
            return batch
        low = self.since.absolute(first_ns or 0) if self.since else -(1 << 63)
        high = self.until.absolute(first_ns or 0) if self.until else 1 << 63
        times = (e.response_time_ns if e.request_time_ns is None else e.request_time_ns for e in batch)
        return [exchange for exchange, time in zip(batch, times, strict=True) if time is not None and low <= time < high]


class MomentType(click.ParamType):  # type: ignore[type-arg]
    """``--since`` and ``--until``; whether a time without a zone is UTC depends on ``--utc``, which is read before them."""

    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Moment:
        if isinstance(value, Moment):
            return value
        try:
            return parse_moment(value, bool(ctx and ctx.params.get("utc")))
        except ValueError as error:
            self.fail(str(error), param, ctx)
