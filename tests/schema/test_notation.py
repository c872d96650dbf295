"""The notation: what it says, and how its mistakes are told."""

from __future__ import annotations

from pathlib import Path

import pytest

from kdissect.schema.catalogue import Catalogue
from kdissect.schema.layout import resolve
from kdissect.schema.notation import NEWEST, SchemaError, parse, parse_range

HEAD = "api Try    key 999    versions 0-5    flexible 3+\n"
REST = "\nresponse\n  error_code  int16  :error\n"


def test_a_field_says_all_it_can() -> None:
    text = (
        HEAD
        + """# One line.
# Another.

request    header 0 at 0
  name       string?2+  0-4  :topic      # with a "#" in it
  id         int64      5    tag 7 = -1
  parts      []         1+
    pairs    []Pair?
  text       string          = "a # b"  fixed

struct Pair
  key        uuid
"""
        + REST
    )
    (definition,) = parse(text, "here")
    assert definition.comment == "One line.\nAnother."
    section = definition.sections["request"]
    assert section.header == (0, (0, 0))
    name, identity, parts, label = section.fields
    assert (name.versions, name.nullable, name.meanings, name.comment) == ((0, 4), (2, NEWEST), ("topic",), 'with a "#" in it')
    assert (identity.versions, identity.tag, identity.default) == ((5, 5), 7, "-1")
    assert (parts.array, parts.fields[0].type, parts.fields[0].nullable) == (True, "Pair", (0, NEWEST))
    assert (label.default, label.fixed) == ('"a # b"', True)

    old = resolve(definition, "request", 0)
    assert [field.name for field in old.fields] == ["name", "text"]
    assert (old.header_version, old.flexible, old.fields[0].nullable) == (0, False, False)
    new = resolve(definition, "request", 5)
    assert [field.name for field in new.fields] == ["id", "parts", "text"]
    assert (new.header_version, new.flexible) == (2, True)
    assert new.fields[0].default == -1
    assert new.fields[1].fields[0].fields[0].type == "uuid"
    assert (new.fields[2].default, new.fields[2].compact) == ("a # b", False)
    with pytest.raises(KeyError):
        resolve(definition, "request", 6)


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("", 1, "no api or format begins"),
        ("request\n", 1, "no api or format begins"),
        ("api Try key 1 versions\n", 1, "without its value"),
        ("api Try versions 0\n", 1, "has a key"),
        ("format Try key 3 versions 0\n", 1, "has a key"),
        ("api Try key 1\n", 1, "versions are missing"),
        ("api Try key x versions 0\n", 1, "invalid literal"),
        ("api Try key 1 versions 0 color 3\n", 1, "unknown word: color"),
        (HEAD + "request\n  a  int32" + "\n", 1, "no response"),
        (HEAD + "request\n  a  int32\nrequest\n  a  int32" + REST, 4, "each once"),
        (HEAD + "  a  int32\n", 2, "nothing stands above"),
        (HEAD + "request\n  a\n" + REST, 3, "no type"),
        (HEAD + "request\n  a  int33\n" + REST, 3, "neither a type nor a struct: int33"),
        (HEAD + "request\n  a  int32  3+  4+\n" + REST, 3, "second range"),
        (HEAD + "request\n  a  int32  5-3\n" + REST, 3, "backwards"),
        (HEAD + "request\n  a  int32  three\n" + REST, 3, "not a range"),
        (HEAD + "request\n  a  int32  tag\n" + REST, 3, "invalid literal"),
        (HEAD + "request\n  a  int32  =\n" + REST, 3, "without a value"),
        (HEAD + "request\n  a  int32  :Topic\n" + REST, 3, "not a meaning"),
        (HEAD + "request\n  a-b  int32\n" + REST, 3, "not a field name"),
        (HEAD + "request\n  a  []\n" + REST, 3, "without fields"),
        (HEAD + "request\n  a  int32\n    b  int32\n" + REST, 4, "indented further"),
        (HEAD + "request\n  a  []\n      b  int32\n    c  int32\n" + REST, 5, "matches no line above"),
        (HEAD + "request\n\ta  int32\n" + REST, 3, "a tab"),
        (HEAD + "request\n  a  []P\n\nstruct P\n  b  []P\n" + REST, 6, "holds itself"),
        (HEAD + "request  header\n  a  int32\n" + REST, 2, "header N"),
        (HEAD + "request  header 0 at x\n  a  int32\n" + REST, 2, "not a range"),
    ],
)
def test_mistakes_name_file_and_line(text: str, line: int, words: str) -> None:
    with pytest.raises(SchemaError) as caught:
        parse(text, "some/file.kafka")
    assert str(caught.value).startswith(f"some/file.kafka:{line}: ")
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("field", "version", "words"),
    [
        ("a  int32  tag 0", 0, "not flexible"),
        ("a  int32  = x", 5, "invalid literal"),
        ("a  int32  = null", 5, "never null"),
        ("a  bool   = 7", 5, "no default for bool"),
        ("a  int32  0-3\n  a  string  2+", 2, "twice at version 2"),
    ],
)
def test_mistakes_that_show_at_a_version_name_file_and_line(field: str, version: int, words: str) -> None:
    (definition,) = parse(HEAD + "request\n  " + field + "\n" + REST, "f.kafka")
    with pytest.raises(SchemaError, match=r"^f\.kafka:[34]: ") as caught:
        resolve(definition, "request", version)
    assert words in str(caught.value)


def test_ranges() -> None:
    assert (parse_range("3"), parse_range("3+"), parse_range("3-7")) == ((3, 3), (3, NEWEST), (3, 7))


def test_more_schema_files_can_be_loaded(tmp_path: Path) -> None:
    (tmp_path / "Try.kafka").write_text(HEAD + "\nrequest\n  a  int32\n" + REST)
    formats = "".join(f"\nformat {name}    versions {version}\n\nfields\n  a  int8\n" for name, version in (("A", 0), ("B", 1)))
    (tmp_path / "more.kafka").write_text("# Two formats." + formats)
    (tmp_path / "notes.txt").write_text("not a schema")
    catalogue = Catalogue()
    catalogue.load(tmp_path)
    assert [head.name for head in catalogue.apis()] == ["Try"]
    assert catalogue.api("Try").layout("request", 0).fields[0].name == "a"
    assert catalogue.format("B").fields(1).fields[0].name == "a"
    with pytest.raises(SchemaError, match="already an API Try"):
        catalogue.load(tmp_path / "Try.kafka")
    (tmp_path / "empty.kafka").write_text("# nothing\n")
    with pytest.raises(SchemaError, match=r"empty\.kafka:1: "):
        Catalogue().load(tmp_path / "empty.kafka")
