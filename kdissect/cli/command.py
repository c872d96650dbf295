"""Commands and options with help in sections and with examples."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

OTHER = "Other options"

Examples = Sequence[tuple[str, str]]
"""``(what it does, command line)`` pairs."""


class Option(click.Option):
    """An option that belongs to a section of the help."""

    def __init__(self, *arguments: Any, section: str = OTHER, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.section = section


class Command(click.Command):
    """A command whose help has sections of options, in order of appearance, and ends in examples."""

    def __init__(self, *arguments: Any, examples: Examples = (), **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.examples = examples

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        """With what the user's configuration file says as defaults."""
        if parent is not None and "default_map" not in extra:
            from kdissect.cli.config import defaults

            extra["default_map"] = defaults(self, info_name or "")
        return super().make_context(info_name, args, parent, **extra)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        sections: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None and not isinstance(parameter, click.Argument):
                sections.setdefault(getattr(parameter, "section", OTHER), []).append(record)
        for title, rows in sorted(sections.items(), key=lambda section: section[0] == OTHER):
            with formatter.section(title):
                formatter.write_dl(rows, col_max=32)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        write_examples(formatter, self.examples)


def write_examples(formatter: click.HelpFormatter, examples: Examples) -> None:
    """The ``Examples`` section: a sentence, and under it the line to type."""
    if not examples:
        return
    with formatter.section("Examples"):
        for what, line in examples:
            formatter.write(f"{'':>{formatter.current_indent}}{what}\n")
            formatter.write(f"{'':>{formatter.current_indent}}  {click.style(line, bold=True)}\n")
