"""``kdissect help``: a command's help, or that of the filter language."""

from __future__ import annotations

from typing import Any

import click

from kdissect.cli.command import Command

FILTER = "filter"

_EXAMPLES = [
    ("The filter language:", "kdissect help filter"),
    ("The same as 'kdissect read --help':", "kdissect help read"),
]


class TopicType(click.ParamType):  # type: ignore[type-arg]
    """A command's name, or ``filter``."""

    name = "topic"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        topics = _topics()
        if value in topics:
            return str(value)
        from difflib import get_close_matches

        near = get_close_matches(str(value), topics, n=1)
        raise click.BadParameter(
            f"there is no help on {value!r}" + (f"; did you mean {near[0]!r}?" if near else f"; there is on {', '.join(topics)}"),
            ctx,
            param,
        )

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[Any]:
        from click.shell_completion import CompletionItem

        return [CompletionItem(topic) for topic in _topics() if topic.startswith(incomplete)]


def _topics() -> list[str]:
    from kdissect.cli.app import application

    return [FILTER, *application.list_commands(click.Context(application))]


@click.command(cls=Command, examples=_EXAMPLES, short_help="Explain a command, or the filter language.")
@click.argument("topic", type=TopicType(), required=False)
@click.pass_context
def command(ctx: click.Context, topic: str | None) -> int:
    """Explain TOPIC: a command, or 'filter' for the language of -Y.

    Without TOPIC, list the commands.
    """
    if topic == FILTER:
        from kdissect.filter.reference import REFERENCE

        click.echo(REFERENCE, nl=False)
        return 0
    from kdissect.cli.app import application

    root = ctx.find_root()
    if topic is None:
        click.echo(root.get_help())
        return 0
    asked = application.get_command(root, topic)
    assert asked is not None
    with click.Context(asked, info_name=topic, parent=root) as inner:
        click.echo(inner.get_help())
    return 0
