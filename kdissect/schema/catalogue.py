"""All APIs and formats that the schema knows, found quickly and parsed late.

Looking things up reads nothing but the head lines of the files; a body is
parsed when a layout of it is first asked for, and kept.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from kdissect.schema.layout import Layout, resolve
from kdissect.schema.notation import Definition, Head, Kind, SchemaError, parse, parse_head

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

SUFFIX = ".kafka"
_HERE = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class ApiHead:
    """What the head line of an API says."""

    key: int
    name: str
    min_version: int
    max_version: int
    flexible_from: int | None
    """The first version with compact lengths and tagged fields; None: none has."""


class Described:
    """An API or a format; its body is read from the file when first needed."""

    def __init__(self, head: Head, file: Path) -> None:
        self.head = head
        self.name = head.name
        self.versions = range(head.versions[0], head.versions[1] + 1)
        self._file = file
        self._definition: Definition | None = None
        self._layouts: dict[tuple[Kind, int], Layout] = {}

    @property
    def definition(self) -> Definition:
        """The parsed text over all versions; SchemaError when it is faulty."""
        if self._definition is None:
            for found in _parse_file(self._file):
                if found.head == self.head:
                    self._definition = found
                    break
            else:
                raise SchemaError(f"{self._file}: {self.name} is no longer in it")
        return self._definition

    def layout(self, kind: Kind, version: int) -> Layout:
        """The fields at one version; KeyError when there is no such version."""
        found = self._layouts.get((kind, version))
        if found is None:
            found = self._layouts[kind, version] = resolve(self.definition, kind, version)
        return found


class Api(Described):
    """A request and its response over all versions."""

    @property
    def key(self) -> int:
        assert self.head.key is not None
        return self.head.key

    @property
    def summary(self) -> ApiHead:
        return ApiHead(self.key, self.name, *self.head.versions, self.head.flexible_from)


class Format(Described):
    """A format that is neither request nor response: of records, group members' data, headers."""

    def fields(self, version: int) -> Layout:
        """The fields at one version; KeyError when there is no such version."""
        return self.layout("fields", version)


@cache
def _parse_file(file: Path) -> list[Definition]:
    return parse(file.read_text(encoding="utf-8"), str(file))


class Catalogue:
    """APIs and formats by name and number."""

    def __init__(self) -> None:
        self._apis: dict[int, Api] = {}
        self._by_name: dict[str, Api] = {}
        self._formats: dict[str, Format] = {}
        self._read_formats = False

    def load(self, path: str | os.PathLike[str]) -> None:
        """Adds the schema file ``path``, or all ``*.kafka`` files in the directory ``path``.

        SchemaError for a head line that cannot be read and for a key or name that is taken; OSError as usual.
        """
        for file in _files(Path(path)):
            for head in _heads(file):
                self._add(head, file)

    def _add(self, head: Head, file: Path) -> None:
        if head.key is not None:
            if head.key in self._apis or head.name in self._by_name:
                raise SchemaError(f"{file}:1: there is already an API {head.name} or one with key {head.key}")
            self._apis[head.key] = self._by_name[head.name] = Api(head, file)
        else:
            if head.name in self._formats:
                raise SchemaError(f"{file}:1: there is already a format {head.name}")
            self._formats[head.name] = Format(head, file)

    def apis(self) -> tuple[ApiHead, ...]:
        """The heads of all APIs by key."""
        return tuple(api.summary for _, api in sorted(self._apis.items()))

    def find(self, key: int) -> Api | None:
        """The API with this key, or None."""
        return self._apis.get(key)

    def api(self, key_or_name: int | str) -> Api:
        """The API with this key or name; KeyError when there is none."""
        return self._apis[key_or_name] if isinstance(key_or_name, int) else self._by_name[key_or_name]

    def format(self, name: str) -> Format:
        """The format of this name (Kafka's schema name); KeyError when there is none."""
        return self._all_formats()[name]

    def formats(self) -> tuple[Format, ...]:
        """All formats, by name."""
        return tuple(found for _, found in sorted(self._all_formats().items()))

    def record(self, log: str, number: int) -> tuple[Format | None, Format | None]:
        """The formats of key and value of the records with this number in a log (``__consumer_offsets``)."""
        found = self._records().get((log, number), [])
        key = next((each for each in found if each.name.endswith("Key")), None)
        return key, next((each for each in found if each is not key), None)

    def _records(self) -> dict[tuple[str, int], list[Format]]:
        records: dict[tuple[str, int], list[Format]] = {}
        for each in self._all_formats().values():
            if each.head.log is not None and each.head.record is not None:
                records.setdefault((each.head.log, each.head.record), []).append(each)
        return records

    def _all_formats(self) -> dict[str, Format]:
        if not self._read_formats:
            self._read_formats = True
            self.load(_HERE / "formats")
        return self._formats


def _files(path: Path) -> Iterable[Path]:
    if not path.is_dir():
        return (path,)
    return [Path(entry.path) for entry in sorted(os.scandir(path), key=lambda e: e.name) if entry.name.endswith(SUFFIX)]


def _heads(file: Path) -> Iterator[Head]:
    """The head lines of a file: of one that begins with an API the first line alone."""
    with file.open(encoding="utf-8") as lines:
        first = next(lines, "")
        if first.startswith("api "):
            yield parse_head(first, str(file))
            return
        found = False
        for number, line in enumerate([first, *lines], 1):
            if line.startswith(("format ", "api ")):
                found = True
                yield parse_head(line, str(file), number)
        if not found:
            raise SchemaError(f"{file}:1: no api or format begins here")


@cache
def default_catalogue() -> Catalogue:
    """The catalogue of the schema that comes with kdissect; what plugins add goes into it too."""
    catalogue = Catalogue()
    catalogue.load(_HERE / "apis")
    return catalogue


def load(path: str | os.PathLike[str]) -> None:
    """Adds schema files to the default catalogue (:meth:`Catalogue.load`)."""
    default_catalogue().load(path)


def apis() -> tuple[ApiHead, ...]:
    """The heads of all APIs by key."""
    return default_catalogue().apis()


def api(key_or_name: int | str) -> Api:
    """The API with this key or name; KeyError when there is none."""
    return default_catalogue().api(key_or_name)


def api_name(key: int) -> str:
    """Kafka's newest name for the key: ``Produce``; ``Unknown(1234)`` when there is none."""
    found = default_catalogue().find(key)
    return f"Unknown({key})" if found is None else found.name


def format(name: str) -> Format:
    """The format of this name (Kafka's schema name); KeyError when there is none."""
    return default_catalogue().format(name)


def formats() -> tuple[Format, ...]:
    """All formats, by name."""
    return default_catalogue().formats()


@cache
def record(log: str, number: int) -> tuple[Format | None, Format | None]:
    """The formats of key and value of the records with this number in a log (``__consumer_offsets``)."""
    return default_catalogue().record(log, number)


def version_table() -> tuple[npt.NDArray[np.int16], npt.NDArray[np.int16], npt.NDArray[np.int16]]:
    """First version, last version and first flexible version by API key, as int16 arrays as long as the keys go.

    A key without API has first version 0 and last -1; an API without flexible versions has 32767.
    """
    import numpy as np

    heads = apis()
    size = max(head.key for head in heads) + 1
    first, last = np.zeros(size, np.int16), np.full(size, -1, np.int16)
    flexible = np.full(size, 32767, np.int16)
    for head in heads:
        first[head.key], last[head.key] = head.min_version, head.max_version
        if head.flexible_from is not None:
            flexible[head.key] = head.flexible_from
    return first, last, flexible
