"""Which configuration values are told and which are not.

Kafka types some configurations as passwords.  A name that no release of it
knows may be anything, a plugin's password too, and is taken for one.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

from kdissect.schema.layout import Field, Layout

# Per-listener overrides (DynamicBrokerConfig): what follows is an ordinary name.
_LISTENER = re.compile(r"listener\.name\.[^.]+\.")
# Broker loggers are set like configurations, named by class.
_LOG_LEVELS = frozenset(["TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL", "OFF"])


@cache
def _harmless() -> frozenset[str]:
    lines = (Path(__file__).parent / "config_names.txt").read_text(encoding="ascii").splitlines()
    return frozenset(line for line in lines if not line.startswith("#"))


def is_secret(name: object, value: object) -> bool:
    """Whether the value of the configuration ``name`` is to be withheld."""
    if value is None or value in _LOG_LEVELS:
        return False
    return not isinstance(name, str) or _LISTENER.sub("", name, count=1) not in _harmless()


def has_configs(layout: Layout) -> bool:
    """Whether there is a configuration value in the layout."""
    return any("config_value" in field.meanings for _, field in layout.walk())


def redact_configs(fields: tuple[Field, ...], body: dict[str, Any]) -> None:
    """Replaces the secret ones among the configuration values of a decoded struct, complete or not, in place."""
    name = value = None
    for field in fields:
        if "config_name" in field.meanings and not field.array:
            name = field.name
        elif "config_value" in field.meanings:
            value = field.name
        elif field.type == "struct":
            inner = body.get(field.name)
            for each in inner if isinstance(inner, list) else [inner] if inner else []:
                redact_configs(field.fields, each)
    if value is not None and value in body:
        said = body[value]
        if is_secret(body.get(name) if name is not None else None, said):
            body[value] = {"redacted": len(said.encode("utf-8") if isinstance(said, str) else said)}
