"""``-Y/--filter``: the option that narrows what a command shows."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, Literal

import click

from kdissect.cli import common

if TYPE_CHECKING:
    from kdissect.filter import Filter, FilterError

_COMPARED: Final = re.compile(r"([\w.]+)\s*(?:[=!]==?|\bin\s*\{[^}]*|\bin\s*)\s*$")
"""A field with a comparison behind it, at the end of what has been typed."""


class FilterUsage(click.BadParameter):
    """A filter that means nothing, with the lines that show the place."""

    def __init__(self, error: FilterError, ctx: click.Context | None, param: click.Parameter | None) -> None:
        super().__init__(str(error), ctx, param)
        self.excerpt = error.excerpt


class FilterType(click.ParamType):  # type: ignore[type-arg]
    """A display filter; whether its times without a zone are UTC depends on ``--utc``, which is read before it."""

    name = "filter"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Filter:
        from kdissect.filter import Filter, FilterError, compile_filter

        if isinstance(value, Filter):
            return value
        common.host()  # What plugins add to the schema can be filtered by.
        try:
            return compile_filter(value, bool(ctx and ctx.params.get("utc")))
        except FilterError as error:
            raise FilterUsage(error, ctx, param) from None

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[Any]:
        """Field names for the last word of the filter."""
        from click.shell_completion import CompletionItem

        from kdissect.filter.fields import decoded_fields, flat_fields

        start = max(incomplete.rfind(char) for char in " (!&|=,{") + 1
        word = incomplete[start:]
        values = _values(incomplete[:start])
        if values is not None:
            return [CompletionItem(incomplete[:start] + name) for name in values if name.lower().startswith(word.lower())]
        names = flat_fields() if "." not in word else {**flat_fields(), **decoded_fields()}
        return [
            CompletionItem(incomplete[:start] + name, help=field.description)
            for name, field in names.items()
            if name.startswith(word)
        ]


def _values(before: str) -> list[str] | None:
    """Names that can stand behind the beginning of a filter; None where a field is to follow."""
    asked = _COMPARED.search(before)
    if asked is None:
        return None
    from kdissect import schema

    match asked[1].rpartition(".")[2]:
        case "api":
            return [head.name for head in schema.apis()]
        case "error" | "error_code" | "error_codes":
            return list(schema.error_codes().values())
        case "outcome":
            return ["answered", "no_reply_expected", "unanswered", "request_missing"]
    return []


display_filter = common.option(
    "-Y",
    "--filter",
    "only",
    section=common.SELECT,
    type=FilterType(),
    metavar="FILTER",
    help="Only exchanges that pass, such as 'api == Produce and latency > 50ms'. 'kdissect help filter' tells the language, "
    "'kdissect fields' the fields.",
)


def records_level(only: Filter | None, shown: Literal["full", "heads"]) -> Literal["full", "heads"]:
    """How far record batches are to be read: for what is shown, and for the filter."""
    return "full" if only is not None and only.records == "full" else shown
