"""Which versions of which API every Kafka release accepts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import NamedTuple


class Accepted(NamedTuple):
    """The versions of one API that a release accepts, both ends included."""

    oldest: int
    newest: int
    advertised_oldest: int
    """Lowest version that ApiVersions names; below :attr:`oldest` for Produce from Kafka 4.0 on (KAFKA-18659)."""


@dataclass(frozen=True, slots=True)
class Release:
    """The API versions of one Kafka release."""

    name: str
    apis: Mapping[int, Accepted]
    """By API key; APIs that the release does not have are not in it."""


FIRST_WITHOUT_OLD = "4.0"
"""The release that dropped the API versions of KIP-896."""


@cache
def releases() -> Mapping[str, Release]:
    """All releases by name (``3.9``), oldest first; a name without patch level stands for the last patch."""
    names: list[str] = []
    tables: dict[str, dict[int, Accepted]] = {}
    for line in (Path(__file__).parent / "api_versions.txt").read_text(encoding="ascii").splitlines():
        word, _, rest = line.partition(" ")
        if word == "#":
            continue
        if word == "releases":
            names = rest.split()
            tables = {name: {} for name in names}
            continue
        changes = dict(part.split(":") for part in rest.split()[1:])
        now: Accepted | None = None
        for name in names:
            if name in changes:
                now = _range(changes[name])
            if now is not None:
                tables[name][int(word)] = now
    return {name: Release(name, table) for name, table in tables.items()}


def release(name: str) -> Release:
    """The release called ``3.9`` or ``v3.9.1``; ValueError for one that is not known."""
    known = releases()
    wanted = name.strip().removeprefix("v")
    found = known.get(wanted)
    while found is None and "." in wanted:
        wanted = wanted.rpartition(".")[0]
        found = known.get(wanted)
    if found is None:
        raise ValueError(f"{name!r} is no Kafka release from {next(iter(known))} to {list(known)[-1]}")
    return found


def _range(text: str) -> Accepted | None:
    if text == "none":
        return None
    span, _, advertised = text.partition("/")
    oldest, newest = map(int, span.split("-"))
    return Accepted(oldest, newest, int(advertised) if advertised else oldest)
