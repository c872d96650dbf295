"""APIs and versions as they are said on the command line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from kdissect.schema.catalogue import Api, Described


class ApiType(click.ParamType):  # type: ignore[type-arg]
    """An API by name, in any case, or by key; with ``formats`` also a format by name."""

    name = "API"

    def __init__(self, formats: bool = False) -> None:
        self._formats = formats

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Described:
        if not isinstance(value, str):
            return value  # type: ignore[no-any-return]
        known = self._known()
        found = known.get(value.lower())
        if found is None:
            from difflib import get_close_matches

            if value.isdigit():
                self.fail(f"no API has the key {value}: 'kdissect schema' lists them", param, ctx)
            near = get_close_matches(value.lower(), known, n=1)
            rest = f"; did you mean {known[near[0]].name}?" if near else ": 'kdissect schema' lists them"
            self.fail(f"there is no API {value!r}{rest}", param, ctx)
        return found

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[Any]:
        from click.shell_completion import CompletionItem

        names = dict.fromkeys(item.name for item in self._known().values())
        return [CompletionItem(name) for name in names if name.lower().startswith(incomplete.lower())]

    def _known(self) -> dict[str, Described]:
        from kdissect import schema
        from kdissect.cli.common import host

        host()  # Plugins may add APIs.
        known: dict[str, Described] = {}
        for head in schema.apis():
            found: Api = schema.api(head.key)
            known[str(head.key)] = known[head.name.lower()] = found
        if self._formats:
            known |= {item.name.lower(): item for item in schema.formats() if item.name.lower() not in known}
        return known


class VersionType(click.ParamType):  # type: ignore[type-arg]
    """A version: ``12`` or ``v12``."""

    name = "VERSION"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        digits = str(value).lower().removeprefix("v")
        if not (digits.isascii() and digits.isdigit()) or len(digits) > 5:
            self.fail(f"{value!r} is not a version", param, ctx)
        return int(digits)


def known_version(described: Described, version: int, hint: str) -> int:
    """``version`` where it is one of them, else a usage error."""
    if version not in described.versions:
        first, last = described.versions.start, described.versions.stop - 1
        has = f"has version {first} alone" if first == last else f"has versions {first} to {last}"
        raise click.BadParameter(f"{described.name} {has}, not {version}", param_hint=hint)
    return version
