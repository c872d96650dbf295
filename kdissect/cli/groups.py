"""``kdissect groups``: the story of each group."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from kdissect.cli import listing
from kdissect.cli.command import Command

if TYPE_CHECKING:
    from kdissect.report.view import View

_EXAMPLES = [
    ("Every group of a capture:", "kdissect groups broker.pcapng"),
    ("One of them:", "kdissect groups broker.pcapng -Y 'group == billing'"),
    ("Only what made rebalances, with jq:", "kdissect groups c.pcap -f ndjson | jq 'select(.trigger).trigger'"),
    ("For a ticket:", "kdissect groups broker.pcapng -f markdown"),
]


def _view() -> View[Any]:
    from kdissect.report.groups import GROUPS

    return GROUPS


@click.command(cls=Command, examples=_EXAMPLES, short_help="Tell the story of each consumer group.")
@listing.options(_view)
def command(run: listing.Run) -> int:
    """Tell the story of each group: who joined and left, every rebalance with what made it, who got which partitions.

    All kinds of groups: classic consumer and Connect groups, those of the new
    protocol (KIP-848), share groups (KIP-932) and Streams groups (KIP-1071).
    Members go by their static id or client id; JSON has their member ids. 'gone'
    is a member that did not leave but was missing in the next generation.
    """
    from kdissect.report.groups import GROUPS, Timelines

    dissection = run.dissection("skip")
    return run.write(GROUPS, Timelines(dissection.state.topic_name), dissection, streams=False)
