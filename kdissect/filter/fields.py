"""The fields that filters can name."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Final, Literal

from kdissect.filter.errors import similar
from kdissect.filter.kinds import Kind
from kdissect.schema.notation import Range

Stage = Literal[0, 1, 2, 3]
"""What a field takes: 0 nothing decoded, 1 what decoding gathers (topics, errors), 2 a body, 3 its records."""
FLAT: Final = 0
GATHERED: Final = 1
BODY: Final = 2
RECORDS: Final = 3

Levels = Literal["skip", "heads", "full"]
"""As the ``records`` of :class:`kdissect.schema.message.DecodeOptions`."""

Side = Literal["request", "response"]


@dataclass(frozen=True, slots=True)
class Place:
    """Where a decoded field stands."""

    side: Side
    path: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Field:
    """Something that an exchange has one or many values of."""

    name: str
    kinds: tuple[Kind, ...]
    """Mostly one; a path may have another type in another API."""
    stage: Stage
    many: bool = False
    aliases: tuple[str, ...] = ()
    description: str = ""
    columns: frozenset[str] = frozenset()
    """The keys of the output contract, or the path below ``request``, ``response`` or ``records``, that its values come from."""
    places: tuple[Place, ...] = ()
    """Of a decoded field."""
    apis: tuple[tuple[int, tuple[Range, ...]], ...] | None = None
    """Key and versions of the APIs that can have a value; None: any."""
    records: Levels = "skip"
    """How far record batches must be read for it."""
    meanings: tuple[str, ...] = ()
    """Of a decoded field, what the schema says that its value is."""


@cache
def flat_fields() -> dict[str, Field]:
    """The fields beside the bodies, by name and by alias."""
    from kdissect.filter.flat import FIELDS

    return {name: field for field in FIELDS for name in (field.name, *field.aliases)}


@cache
def decoded_fields() -> dict[str, Field]:
    """The fields of requests, responses and records of every API and version, by path."""
    from kdissect.filter.decoded import gather

    return gather()


def all_fields() -> tuple[Field, ...]:
    """Every field once: those beside the bodies first, then by path."""
    return (*dict.fromkeys(flat_fields().values()), *decoded_fields().values())


def find(name: str) -> Field | None:
    """The field of this name or alias; None when there is none.

    Paths lead on below blobs, whose format only the capture tells: there any name will do.
    """
    found = flat_fields().get(name)
    if found is not None or name.partition(".")[0] not in _DECODED:
        return found
    decoded = decoded_fields()
    if name in decoded:
        return decoded[name]
    above = name
    while "." in above:
        above = above.rpartition(".")[0]
        if above in decoded:
            from kdissect.filter.decoded import below_blob

            return below_blob(decoded[above], name[len(above) + 1 :], decoded)
    return None


_DECODED: Final = frozenset(["request", "response", "records"])


def suggest(name: str) -> list[str]:
    """Fields, or conditions, that may have been meant by a name that is none."""
    from kdissect import schema

    if name.partition(".")[0] not in _DECODED:
        near = similar(name, flat_fields())
        for kind, words in (("api", [api.name for api in schema.apis()]), ("error", list(schema.error_codes().values()))):
            meant = [word for word in words if word.lower() == name.lower()]
            if meant:
                return [f"{kind} == {meant[0]}"]
        if near or len(name) < 4:
            return near
        # The last name of a path, as people remember it.
        ends = [path for path in decoded_fields() if path.endswith(f".{name}")]
        return sorted(ends, key=len)[:3]
    decoded = decoded_fields()
    above, _, last = name.rpartition(".")
    siblings = [path.rpartition(".")[2] for path in decoded if path.rpartition(".")[0] == above]
    near = [f"{above}.{name}" for name in similar(last, siblings)]
    if near:
        return near
    side = name.partition(".")[0]
    ends = [path for path in decoded if path.endswith(f".{last}") and path.startswith(side)]
    return sorted(ends, key=len)[:3] or similar(name, decoded)
