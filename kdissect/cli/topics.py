"""``kdissect topics``: what goes into topics and out of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from kdissect.cli import listing
from kdissect.cli.command import Command

if TYPE_CHECKING:
    from kdissect.report.view import View

_EXAMPLES = [
    ("All topics of a capture:", "kdissect topics broker.pcapng"),
    ("Most bytes written first:", "kdissect topics broker.pcapng --sort produced_bytes --reverse"),
    ("What one client does:", "kdissect topics broker.pcapng -Y 'client_id == billing'"),
    ("For a wiki:", "kdissect topics broker.pcapng -f markdown --columns topic,produced,fetched,producers,consumers"),
]


def _view() -> View[Any]:
    from kdissect.report.topics import TOPICS

    return TOPICS


@click.command(cls=Command, examples=_EXAMPLES, short_help="List what is written to topics and read from them.")
@listing.options(_view)
def command(run: listing.Run) -> int:
    """List topics: records and bytes written and read, by whom, how compressed, how acknowledged.

    Bytes are those of the record batches as they went over the wire, compressed.
    What several consumers or followers fetch counts for each of them. Partitions
    are those that record batches or requests for them were seen of.
    """
    from kdissect.report.topics import TOPICS, Topics

    dissection = run.dissection("heads")
    return run.write(TOPICS, Topics(dissection.state.topic_name), dissection, streams=False)
