"""``kdissect fields``: what filters can name."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from kdissect.cli import common
from kdissect.cli.command import Command

if TYPE_CHECKING:
    from kdissect.report.view import Format

_EXAMPLES = [
    ("All fields:", "kdissect fields"),
    ("Whatever has to do with offsets:", "kdissect fields offset"),
    ("The fields of records:", "kdissect fields 'records.*'"),
    ("Where error codes stand, as JSON:", "kdissect fields '*.error_code' -f ndjson"),
]


@click.command(cls=Command, examples=_EXAMPLES, short_help="List the fields that filters can name.")
@click.argument("pattern", required=False)
@common.format_option
@common.output_file
@common.color
@common.pager
@common.quiet
def command(pattern: str | None, output: Format | None, out: str | None, color: str, use_pager: bool, quiet: bool) -> int:
    """List the fields that filters (-Y) can name: type, meaning, and the APIs with the versions that have them.

    PATTERN narrows the list to fields with that text in name, type or meaning;
    with * or ? it is a shell pattern for the whole name. A type with [] has many
    values: a condition is true when any of them passes.
    """
    from kdissect.cli.listing import Run
    from kdissect.report.filter_fields import FIELDS, matching

    run = Run((), utc=True, output=output, out=out, color=color, use_pager=use_pager)
    chosen = run.format(run.looked_at)
    found = matching(pattern)
    with run.sink(machine=chosen.machine) as sink:
        writer = chosen.open(FIELDS, sink)
        writer.write(found)
        writer.finish()
    if not found and not quiet:
        common.say(f"no field has {pattern!r} in its name, type or meaning")
    return 0
