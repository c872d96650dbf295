"""``kdissect follow``: one connection as a conversation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from kdissect.cli import common, listing
from kdissect.cli.command import Command

if TYPE_CHECKING:
    from kdissect.report.view import View

_EXAMPLES = [
    ("Connection 3, as 'kdissect stats' and 'kdissect read' number them:", "kdissect follow broker.pcapng 3"),
    ("The connection of a client's port:", "kdissect follow broker.pcapng 10.0.0.5:50000"),
    ("Only what went wrong on it:", "kdissect follow broker.pcapng 3 -Y 'error or finding'"),
    ("As JSON:", "kdissect follow broker.pcapng 3 -f ndjson"),
]


def _view() -> View[Any]:
    from kdissect.report.follow import TURNS

    return TURNS


@click.command(cls=Command, examples=_EXAMPLES, short_help="Show one connection as a conversation.")
@listing.options(_view)
@click.argument("connection")
def command(run: listing.Run, connection: str) -> int:
    """Show CONNECTION as a conversation: requests (→) and responses (←) in order of time, each with what it says.

    CONNECTION is a number, the client's address with its port, or the
    connection_id of the JSON output. Opening, closing, resets, bytes that the
    capture lacks (✖) and findings (▲) stand where they happened.
    """
    from kdissect.report.follow import TURNS, Ambiguous, Conversation
    from kdissect.report.human import Clock

    dissection = run.dissection("heads")
    source = Conversation(connection, dissection, dissection.state.topic_name, Clock(run.utc))
    try:
        return run.write(TURNS, source, dissection, streams=False)
    except Ambiguous as error:
        if common.complain(dissection) and not dissection.capture.packets:
            return 1
        raise click.BadParameter(str(error), param_hint="CONNECTION") from None
