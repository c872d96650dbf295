"""The notation that the schema files are written in, and its parser.

A file says what one API looks like at every version::

    api Produce    key 0    versions 0-13    flexible 9+
    # Comments stand on their own lines or after a field.

    request
      acks              int16              # 0: the broker never answers
      transactional_id  string?  3+        :transactional_id
      topic_data        []                 # an array of the struct below it
        name            string   0-12      :topic

    struct Endpoint
      ...

or, with the word ``format`` instead of ``api`` and one section ``fields``, what a format outside requests and
responses looks like.  A field is a name, a type and what follows in any order:

=================  ====================================================================================
``int32``          a primitive: see :data:`PRIMITIVES`
``[]int32``        an array of a primitive; ``[]`` of the indented struct; ``[]Name`` of ``struct Name``
``{}``             the indented struct; ``Name``: that of ``struct Name`` (structs belong to their section)
``?``, ``?7+``     after the type: nullable throughout, or at those versions only
``3+``, ``0-12``   the versions that have the field; without it all that its parent has
``tag 0``          a tagged field (KIP-482)
``= -1``           the value when a tagged field is absent; without it zero, empty, or null for no type
``fixed``          keeps the encoding of inflexible versions
``:topic``         what the value is
=================  ====================================================================================
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from kdissect.errors import KdissectError

PRIMITIVES = frozenset(
    ["bool", "int8", "int16", "uint16", "int32", "uint32", "int64", "float64", "uuid", "string", "bytes", "records"],
)
"""The primitive types; widths in bits, big-endian, two's complement where signed."""

NEWEST = 32767
"""The upper end of an open range of versions: the largest version that the header can carry."""

Kind = Literal["request", "response", "fields"]
Range = tuple[int, int]
"""First and last version, both included."""


class SchemaError(KdissectError):
    """A schema text that cannot be read; the message names the file and the line."""


@dataclass(frozen=True, slots=True)
class Head:
    """The first line of a definition."""

    what: Literal["api", "format"]
    name: str
    key: int | None
    """API key; None for formats."""
    log: str | None
    """Of the format of a record, the topic that holds it, or ``control`` for control records."""
    record: int | None
    """Of the format of a record, its number among those of its log; a key and its value have the same."""
    versions: Range
    flexible_from: int | None
    """The first version with compact lengths and tagged fields (KIP-482); None: none has."""


@dataclass(frozen=True, slots=True)
class FieldText:
    """A field as the text has it, over all versions."""

    name: str
    type: str
    """A primitive; ``struct`` for an indented one; else the name of a shared one."""
    array: bool
    nullable: Range | None
    versions: Range | None
    tag: int | None
    default: str | None
    fixed: bool
    meanings: tuple[str, ...]
    comment: str
    line: int
    fields: tuple[FieldText, ...]


@dataclass(frozen=True, slots=True)
class Section:
    """A request, a response or the fields of a format."""

    header: tuple[int, Range] | None
    """A header version that holds, against the rule, at these versions."""
    fields: tuple[FieldText, ...]
    structs: dict[str, tuple[FieldText, ...]]


@dataclass(frozen=True, slots=True)
class Definition:
    """An API or a format over all its versions."""

    head: Head
    comment: str
    sections: dict[Kind, Section]
    source: str
    """The file it comes from, for messages."""


@dataclass(frozen=True, slots=True)
class _Line:
    number: int
    indent: int
    words: list[str]
    comment: str


_RANGE = re.compile(r"(\d+)(?:(\+)|-(\d+))?")
_TYPE = re.compile(r"(\[\])?(\{\}|[A-Za-z]\w*)?(\?(.*))?")
_NAME = re.compile(r"[a-z][a-z0-9_]*")
_MEANING = re.compile(r":[a-z_]+(\([A-Za-z_]+\))?")
_WORD = re.compile(r'"[^"]*"|\S+')


def parse_range(text: str) -> Range:
    """``3``, ``3+`` or ``3-7`` as first and last version; ValueError for anything else."""
    match = _RANGE.fullmatch(text)
    if match is None:
        raise ValueError(f"not a range of versions: {text}")
    first = int(match[1])
    last = NEWEST if match[2] else int(match[3]) if match[3] else first
    if last < first:
        raise ValueError(f"versions that run backwards: {text}")
    return first, last


def parse_head(text: str, source: str, line: int = 1) -> Head:
    """The head line of a definition; SchemaError when it is none."""
    words = text.split("#", 1)[0].split()
    try:
        what, name, *rest = words
        if what not in ("api", "format"):
            raise ValueError(f"neither api nor format: {what}")
        if len(rest) % 2:
            raise ValueError(f"a word without its value: {rest[-1]}")
        said = dict(zip(rest[::2], rest[1::2], strict=True))
        if unknown := said.keys() - {"key", "log", "record", "versions", "flexible"}:
            raise ValueError(f"unknown word: {sorted(unknown)[0]}")
        if (what == "api") != ("key" in said):
            raise ValueError("an api has a key, a format has none")
        if "versions" not in said:
            raise ValueError("versions are missing")
        flexible = said.get("flexible", "none")
        return Head(
            what="api" if what == "api" else "format",
            name=name,
            key=int(said["key"]) if "key" in said else None,
            log=said.get("log"),
            record=int(said["record"]) if "record" in said else None,
            versions=parse_range(said["versions"]),
            flexible_from=None if flexible == "none" else parse_range(flexible)[0],
        )
    except ValueError as error:
        raise SchemaError(f"{source}:{line}: {error}") from None


def parse(text: str, source: str) -> list[Definition]:
    """All definitions in a schema text; SchemaError, which names ``source`` and the line, at the first mistake."""
    lines = _lines(text, source)
    starts = [i for i, line in enumerate(lines) if not line.indent and line.words[:1] in (["api"], ["format"])]
    if not starts or any(line.words for line in lines[: starts[0]]):
        number = next((line.number for line in lines if line.words), 1)
        raise SchemaError(f"{source}:{number}: no api or format begins here")
    found = []
    for start, stop in zip(starts, [*starts[1:], len(lines)], strict=True):
        found.append(_definition(lines[start], lines[start + 1 : stop], source))
    return found


def _lines(text: str, source: str) -> list[_Line]:
    found = []
    for number, raw in enumerate(text.splitlines(), 1):
        if "\t" in raw:
            raise SchemaError(f"{source}:{number}: a tab; indent and align with spaces")
        code, comment = raw, ""
        if (at := re.search(r"(?:^|\s)#(?=([^\"]*\"[^\"]*\")*[^\"]*$)", raw)) is not None:
            code, comment = raw[: at.start()], raw[at.end() :].strip()
        words = _WORD.findall(code)
        if words or comment:
            found.append(_Line(number, len(raw) - len(raw.lstrip(" ")), words, comment))
    return found


def _definition(first: _Line, rest: list[_Line], source: str) -> Definition:
    head = parse_head(" ".join(first.words), source, first.number)
    expected: tuple[Kind, ...] = ("request", "response") if head.what == "api" else ("fields",)
    comment = []
    while rest and not rest[0].words:
        comment.append(rest.pop(0).comment)
    rest = [line for line in rest if line.words]
    sections: dict[Kind, Section] = {}
    section: Section | None = None
    at = 0
    while at < len(rest):
        line = rest[at]
        stop = at + 1
        while stop < len(rest) and rest[stop].indent:
            stop += 1
        fields = _Fields(rest[at + 1 : stop], source).all()
        word = line.words[0]
        if line.indent:
            raise SchemaError(f"{source}:{line.number}: indented, but nothing stands above it")
        if word in expected and word not in sections:
            kind: Kind = expected[expected.index(word)]
            section = sections[kind] = Section(_header(line, source), fields, {})
        elif word == "struct" and len(line.words) == 2 and section is not None:
            section.structs[line.words[1]] = fields
        else:
            raise SchemaError(f"{source}:{line.number}: expected {', '.join(expected)} (each once) or struct: {word}")
        at = stop
    for kind in expected:
        if kind not in sections:
            raise SchemaError(f"{source}:{first.number}: {head.name} has no {kind}")
        _check(sections[kind], source)
    return Definition(head, "\n".join(comment), sections, source)


def _header(line: _Line, source: str) -> tuple[int, Range] | None:
    match line.words[1:]:
        case []:
            return None
        case ["header", version] if version.isdigit():
            return int(version), (0, NEWEST)
        case ["header", version, "at", versions] if version.isdigit():
            try:
                return int(version), parse_range(versions)
            except ValueError as error:
                raise SchemaError(f"{source}:{line.number}: {error}") from None
    raise SchemaError(f"{source}:{line.number}: expected: header N [at VERSIONS]")


def _check(section: Section, source: str) -> None:
    """Every named struct exists and none holds itself."""

    def walk(fields: tuple[FieldText, ...], within: tuple[str, ...]) -> None:
        for field in fields:
            if field.type in PRIMITIVES:
                continue
            if field.type == "struct":
                walk(field.fields, within)
                continue
            if field.type not in section.structs:
                raise SchemaError(f"{source}:{field.line}: neither a type nor a struct: {field.type}")
            if field.type in within:
                raise SchemaError(f"{source}:{field.line}: struct {field.type} holds itself")
            walk(section.structs[field.type], (*within, field.type))

    walk(section.fields, ())
    for name, fields in section.structs.items():
        walk(fields, (name,))


class _Fields:
    """The fields of one block, by indentation."""

    def __init__(self, lines: list[_Line], source: str) -> None:
        self.lines = lines
        self.source = source
        self.at = 0

    def all(self) -> tuple[FieldText, ...]:
        return self.block(self.lines[0].indent) if self.lines else ()

    def block(self, indent: int) -> tuple[FieldText, ...]:
        found: list[FieldText] = []
        while self.at < len(self.lines):
            line = self.lines[self.at]
            if line.indent < indent:
                break
            if line.indent > indent:
                raise SchemaError(f"{self.source}:{line.number}: indented further than a struct above it allows")
            self.at += 1
            children: tuple[FieldText, ...] = ()
            opens = len(line.words) > 1 and line.words[1].split("?")[0] in ("[]", "{}")
            if opens and self.at < len(self.lines) and self.lines[self.at].indent > indent:
                children = self.block(self.lines[self.at].indent)
                if self.at < len(self.lines) and self.lines[self.at].indent > indent:
                    number = self.lines[self.at].number
                    raise SchemaError(f"{self.source}:{number}: indentation that matches no line above")
            elif opens:
                raise SchemaError(f"{self.source}:{line.number}: a struct without fields")
            try:
                found.append(_field(line, children))
            except ValueError as error:
                raise SchemaError(f"{self.source}:{line.number}: {error}") from None
        return tuple(found)


def _field(line: _Line, children: tuple[FieldText, ...]) -> FieldText:
    name, *words = line.words
    if not _NAME.fullmatch(name):
        raise ValueError(f"not a field name: {name}")
    if not words:
        raise ValueError(f"{name} has no type")
    match = _TYPE.fullmatch(words[0])
    if match is None or not (match[1] or match[2]) or (match[1] and match[2] == "{}"):
        raise ValueError(f"not a type: {words[0]}")
    nullable: Range | None = None
    if match[3]:
        nullable = parse_range(match[4]) if match[4] else (0, NEWEST)
    versions: Range | None = None
    tag: int | None = None
    default: str | None = None
    fixed = False
    meanings = []
    rest = iter(words[1:])
    for word in rest:
        if word == "tag":
            tag = int(next(rest, "?"))
        elif word == "=":
            default = next(rest, None)
            if default is None:
                raise ValueError("= without a value")
        elif word == "fixed":
            fixed = True
        elif word.startswith(":"):
            if not _MEANING.fullmatch(word):
                raise ValueError(f"not a meaning: {word}")
            meanings.append(word[1:])
        elif versions is None:
            versions = parse_range(word)
        else:
            raise ValueError(f"a second range of versions: {word}")
    kind = match[2] if match[2] not in (None, "{}") else "struct"
    return FieldText(
        name, kind, bool(match[1]), nullable, versions, tag, default, fixed, tuple(meanings), line.comment, line.number, children
    )
