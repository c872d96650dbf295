"""``kdissect clients``: who is connected, and what with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from kdissect.cli import listing
from kdissect.cli.command import Command

if TYPE_CHECKING:
    from kdissect.report.view import View

_EXAMPLES = [
    ("The clients of a capture:", "kdissect clients broker.pcapng"),
    ("Libraries alone:", "kdissect clients broker.pcapng --columns client,client_id,software"),
    ("Who uses a topic:", "kdissect clients broker.pcapng -Y 'topic == orders'"),
    ("Who speaks old versions, with jq:", "kdissect clients c.pcap -f ndjson | jq 'select(.apis.Fetch[0] < 4).client_id'"),
]


def _view() -> View[Any]:
    from kdissect.report.clients import CLIENTS

    return CLIENTS


@click.command(cls=Command, examples=_EXAMPLES, short_help="List who is connected, with which library.")
@listing.options(_view)
def command(run: listing.Run) -> int:
    """List clients: address, client id, library and its version, user, topics, groups, APIs and their versions.

    A row is a client id on one address. The library is what the client says of
    itself (ApiVersions v3 and later); older clients do not say. Brokers and
    controllers that talk to others are clients, too.
    """
    from kdissect.report.clients import CLIENTS, Clients

    return run.write(CLIENTS, Clients(), run.dissection("skip"), streams=False)
