"""The fields of bodies: every path that the schema has, over all APIs and versions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import Final

from kdissect.filter.fields import BODY, RECORDS, Field, Levels, Place, Side
from kdissect.filter.kinds import Boolean, Choice, Kind, Number, Text
from kdissect.filter.named_kinds import ApiName, ErrorName, Open, Structure, Time
from kdissect.schema.catalogue import default_catalogue
from kdissect.schema.notation import NEWEST, PRIMITIVES, FieldText, Range, Section

_MS: Final = 1_000_000
_SIDES: Final[tuple[Side, ...]] = ("request", "response")

_BATCH: Final[dict[str, tuple[Kind, str]]] = {
    "base_offset": (Number(), "offset of the batch"),
    "batch_length": (Number("size"), "bytes of the batch after its length"),
    "partition_leader_epoch": (Number(), "epoch of the leader that appended the batch"),
    "magic": (Number(), "format of the batch: 2 since Kafka 0.11, 0 and 1 before"),
    "crc": (Number(), "the checksum that the batch carries"),
    "crc_valid": (Boolean(), "whether the checksum is right"),
    "compression": (Choice("compression", ("none", "gzip", "snappy", "lz4", "zstd"), closed=False), "codec of the batch"),
    "timestamp_type": (Choice("timestamp type", ("create_time", "log_append_time"), closed=False), "whose the timestamps are"),
    "is_transactional": (Boolean(), "part of a transaction"),
    "is_control": (Boolean(), "markers of the broker, no data"),
    "last_offset_delta": (Number(), "from the first offset to the last"),
    "base_timestamp": (Time(unit_ns=_MS), "timestamp that those of the records count from"),
    "max_timestamp": (Time(unit_ns=_MS), "the latest timestamp"),
    "producer_id": (Number(), "-1: not idempotent"),
    "producer_epoch": (Number(), "of the producer id"),
    "base_sequence": (Number(), "sequence number of the first record"),
    "record_count": (Number(), "records that the batch claims"),
    "partial": (Boolean(), "cut off, as the last of a fetch may be"),
}
_RECORD: Final[dict[str, tuple[Kind, str]]] = {
    "offset": (Number(), "offset of the record"),
    "timestamp": (Time(unit_ns=_MS), "timestamp of the record"),
    "key": (Text(raw=True), "key of the record"),
    "value": (Text(raw=True), "value of the record"),
    "headers": (Structure(), "headers of the record"),
    "headers.key": (Text(), "keys of the record's headers"),
    "headers.value": (Text(raw=True), "values of the record's headers"),
}


@dataclass(slots=True)
class _Gathering:
    """One path as it is put together."""

    kinds: dict[Kind, None] = field(default_factory=dict)
    many: bool = False
    meanings: dict[str, None] = field(default_factory=dict)
    comments: dict[str, None] = field(default_factory=dict)
    apis: dict[int, list[Range]] = field(default_factory=dict)
    places: dict[Place, None] = field(default_factory=dict)
    levels: Levels = "skip"


def gather() -> dict[str, Field]:
    """Every field by path, sorted by path."""
    found: dict[str, _Gathering] = {}

    def at(path: str, place: Place, key: int, versions: Range, many: bool) -> _Gathering:
        entry = found.setdefault(path, _Gathering())
        entry.places[place] = None
        entry.many |= many
        entry.apis.setdefault(key, []).append(versions)
        return entry

    for head in default_catalogue().apis():
        definition = default_catalogue().api(head.key).definition
        for side in _SIDES:
            section = definition.sections[side]
            for path, text, versions, many in _walk(section, section.fields, (), (head.min_version, head.max_version), False):
                entry = at(".".join((side, *path)), Place(side, path), head.key, versions, many)
                entry.kinds[_kind(text)] = None
                entry.meanings |= dict.fromkeys(text.meanings)
                if text.comment:
                    entry.comments[text.comment] = None
                if text.type != "records":
                    continue
                entry.levels = "heads"
                # The batches and records inside, under their path and for short under "records".
                at("records", Place(side, path), head.key, versions, True).kinds[Structure()] = None
                found["records"].levels = "heads"
                for below, name, kind, meaning, levels in _in_records():
                    short = [f"records.{name}"] if name else []
                    for start in (f"{'.'.join((side, *path))}.{below}", *short):
                        inner = at(start, Place(side, (*path, *below.split("."))), head.key, versions, True)
                        inner.kinds[kind] = None
                        inner.comments[meaning] = None
                        inner.levels = levels
    return {path: _field(path, found[path]) for path in sorted(found)}


def _in_records() -> Iterator[tuple[str, str, Kind, str, Levels]]:
    """What batches hold: path below the ``records`` field, name below the short ``records``, kind, meaning, how far to read."""
    for name, (kind, meaning) in _BATCH.items():
        yield name, name, kind, meaning, "heads"
    yield "records", "", Structure(), "the records of the batch", "full"
    for name, (kind, meaning) in _RECORD.items():
        yield f"records.{name}", name, kind, meaning, "full"


def _walk(
    section: Section, fields: tuple[FieldText, ...], above: tuple[str, ...], versions: Range, many: bool
) -> Iterator[tuple[tuple[str, ...], FieldText, Range, bool]]:
    for text in fields:
        first, last = text.versions or (0, NEWEST)
        its = max(first, versions[0]), min(last, versions[1])
        if its[0] > its[1]:
            continue
        path, several = (*above, text.name), many or text.array
        yield path, text, its, several
        if text.type == "struct":
            yield from _walk(section, text.fields, path, its, several)
        elif text.type not in PRIMITIVES:
            yield from _walk(section, section.structs[text.type], path, its, several)


def _kind(text: FieldText) -> Kind:
    if text.type not in PRIMITIVES or text.type == "records":
        return Structure()
    if text.type == "bool":
        return Boolean()
    if text.type in ("string", "uuid"):
        return Text()
    if text.type == "bytes":
        return Text(raw=True)
    for meaning in text.meanings:
        match meaning:
            case "error":
                return ErrorName()
            case "api_key":
                return ApiName()
            case "duration_ms" | "throttle_ms":
                return Number("duration")
            case "timestamp_ms":
                return Time(unit_ns=_MS)
            case "size":
                return Number("size")
    return Number()


def _field(path: str, entry: _Gathering) -> Field:
    return Field(
        name=path,
        kinds=_comparable(entry.kinds),
        stage=RECORDS if entry.levels != "skip" else BODY,
        many=entry.many,
        description="; ".join(entry.comments),
        columns=frozenset([path]),
        places=tuple(entry.places),
        apis=tuple((key, _merged(ranges)) for key, ranges in sorted(entry.apis.items())),
        records=entry.levels,
        meanings=tuple(entry.meanings),
    )


def _comparable(kinds: Iterable[Kind]) -> tuple[Kind, ...]:
    """The kinds, without structures where anything else can stand, too."""
    return tuple(kind for kind in kinds if not isinstance(kind, Structure)) or (Structure(),)


def _merged(ranges: list[Range]) -> tuple[Range, ...]:
    merged: list[Range] = []
    for first, last in sorted(ranges):
        if merged and first <= merged[-1][1] + 1:
            merged[-1] = merged[-1][0], max(last, merged[-1][1])
        else:
            merged.append((first, last))
    return tuple(merged)


def below_blob(blob: Field, rest: str, fields: dict[str, Field]) -> Field | None:
    """The field ``rest`` below bytes that have a format of their own; None when ``blob`` can have none.

    Which format that is, only the capture tells; what every format and every wrapped message has at this path gives the
    kinds, and a path that none has may hold anything.
    """
    record = blob.stage == RECORDS and blob.name.rpartition(".")[2] in ("key", "value")
    if not record and not any(meaning.startswith("blob") for meaning in blob.meanings):
        return None
    names = tuple(rest.split("."))
    if not all(names):
        return None
    wrapped = fields.get(f"{blob.places[0].side}.{rest.removeprefix('body.')}") if rest.startswith("body.") else None
    kinds = wrapped.kinds if wrapped else _in_formats().get(rest)
    return Field(
        name=f"{blob.name}.{rest}",
        kinds=kinds or (Open(),),
        stage=blob.stage,
        many=True,
        description=f"in what {blob.name} holds",
        columns=frozenset([f"{blob.name}.{rest}"]),
        places=tuple(Place(place.side, (*place.path, *names)) for place in blob.places),
        apis=blob.apis,
        records=blob.records,
    )


@cache
def _in_formats() -> dict[str, tuple[Kind, ...]]:
    """The kinds of every path in the formats of blobs and records."""
    found: dict[str, dict[Kind, None]] = {}
    for each in default_catalogue().formats():
        section = each.definition.sections["fields"]
        for path, text, _, _ in _walk(section, section.fields, (), (0, NEWEST), False):
            found.setdefault(".".join(path), {})[_kind(text)] = None
    return {path: _comparable(kinds) for path, kinds in found.items()}
