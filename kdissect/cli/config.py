"""Defaults of the user: ``kdissect/config.toml`` where XDG says that configuration is.

[defaults]          # for every command that has the option
utc = true

[read]
columns = "time,client_id,api,topics,latency,outcome"
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Final

import click

VARIABLE: Final = "KDISSECT_CONFIG"
"""Names another file; empty: none."""
FOR_ALL: Final = "defaults"


def path() -> Path | None:
    """The configuration file; None where there is none."""
    named = os.environ.get(VARIABLE)
    if named is not None:
        return Path(named) if named else None
    base = os.environ.get("XDG_CONFIG_HOME") or os.path.join(os.path.expanduser("~"), ".config")
    found = Path(base) / "kdissect" / "config.toml"
    return found if found.is_file() else None


def defaults(command: click.Command, name: str) -> dict[str, Any]:
    """What the configuration file says for the parameters of a command.

    Raises :class:`click.UsageError` for a file that cannot be read or names what there is not.
    """
    file = path()
    if file is None:
        return {}
    import tomllib

    try:
        with open(file, "rb") as stream:
            content = tomllib.load(stream)
    except OSError as error:
        raise click.UsageError(f"{file}: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise click.UsageError(f"{file}: {error}") from None
    known = _names(command)
    found: dict[str, Any] = {}
    for section in (FOR_ALL, name):
        values = content.get(section, {})
        if not isinstance(values, dict):
            raise click.UsageError(f"{file}: {section} is to be a section, like [{section}]")
        for option, value in values.items():
            parameter = known.get(option.replace("_", "-"))
            if parameter is not None:
                found[parameter] = value
            elif section == name:
                raise click.UsageError(
                    f"{file}: [{section}] {option}: 'kdissect {name}' has no such option{_near(option, known)}"
                )
    return found


def _names(command: click.Command) -> dict[str, str]:
    """Long names of options -> name of the parameter."""
    return {
        name.lstrip("-"): parameter.name
        for parameter in command.params
        if isinstance(parameter, click.Option) and parameter.name is not None
        for name in parameter.opts
        if name.startswith("--")
    }


def _near(option: str, known: dict[str, str]) -> str:
    from difflib import get_close_matches

    near = get_close_matches(option.replace("_", "-"), known, n=1)
    return f"; did you mean {near[0]!r}?" if near else ""
