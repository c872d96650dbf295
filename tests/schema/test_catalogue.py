"""All APIs and error codes are there, and finding them costs little."""

from __future__ import annotations

import re
import subprocess
import sys

import numpy as np
import pytest

from kdissect import schema
from kdissect.schema.notation import PRIMITIVES

HEADS = schema.apis()


def test_every_key_up_to_the_newest_release() -> None:
    assert [head.key for head in HEADS] == list(range(95))
    assert (HEADS[0].name, HEADS[74].name, HEADS[94].name) == ("Produce", "ListConfigResources", "UnregisterController")


@pytest.mark.parametrize(
    ("name", "versions"),
    [
        ("Produce", (0, 13)),
        ("Fetch", (0, 18)),
        ("LeaderAndIsr", (0, 7)),
        ("StopReplica", (0, 4)),
        ("UpdateMetadata", (0, 8)),
        ("ControlledShutdown", (0, 3)),
        ("JoinGroup", (0, 9)),
        ("AlterPartition", (0, 3)),
        ("ShareFetch", (0, 2)),
        ("ShareGroupHeartbeat", (0, 1)),
    ],
)
def test_versions_that_newer_releases_dropped_are_kept(name: str, versions: tuple[int, int]) -> None:
    api = schema.api(name)
    assert (api.versions[0], api.versions[-1]) == versions


def test_early_access_share_fetch_keeps_what_was_dropped() -> None:
    def names(version: int) -> set[str]:
        return {".".join(path) for path, _ in schema.api("ShareFetch").layout("request", version).walk()}

    assert "topics.partitions.partition_max_bytes" in names(0) - names(1)
    assert "batch_size" in names(1) - names(0)


def test_every_layout_resolves_and_is_sound(capsys: pytest.CaptureFixture[str]) -> None:
    count = 0
    for head in HEADS:
        api = schema.api(head.key)
        for version in api.versions:
            for kind in ("request", "response"):
                layout = api.layout(kind, version)  # type: ignore[arg-type]
                count += 1
                for path, field in layout.walk():
                    assert field.type in PRIMITIVES | {"struct"}, path
                    assert re.fullmatch(r"[a-z][a-z0-9]*(_[a-z0-9]+)*", field.name)
                    assert (field.type == "struct") == bool(field.fields) or not field.fields, path
                    assert field.tag is None or layout.flexible
    with capsys.disabled():
        print(f"\n{count} layouts of {len(HEADS)} APIs resolve")
    assert count == 736


def test_header_versions() -> None:
    def header(name: str, kind: str, version: int) -> int:
        return schema.api(name).layout(kind, version).header_version  # type: ignore[arg-type]

    assert (header("ControlledShutdown", "request", 0), header("ControlledShutdown", "request", 1)) == (0, 1)
    assert [header("ApiVersions", "response", version) for version in range(6)] == [0] * 6
    assert (header("ApiVersions", "request", 2), header("ApiVersions", "request", 3)) == (1, 2)
    assert (header("Fetch", "response", 11), header("Fetch", "response", 12)) == (0, 1)


def test_names_and_unknowns() -> None:
    assert (schema.api_name(3), schema.api_name(1234), schema.api_name(-1)) == ("Metadata", "Unknown(1234)", "Unknown(-1)")
    assert schema.error_name(6) == "NOT_LEADER_OR_FOLLOWER"
    assert schema.error_name(-1) == "UNKNOWN_SERVER_ERROR"
    assert schema.error_name(999) == "Unknown(999)"
    with pytest.raises(KeyError):
        schema.api("Nothing")


def test_error_codes_are_all_there() -> None:
    assert list(schema.error_codes()) == list(range(-1, 137))
    assert len(set(schema.error_codes().values())) == 138
    assert all(re.fullmatch(r"[A-Z][A-Z_]+", name) for name in schema.error_codes().values())


def test_error_codes_are_those_of_kio() -> None:
    from kio.schema.errors import ErrorCode

    for code in ErrorCode:
        assert schema.error_name(code.value) == code.name.upper()


def test_version_table_tells_the_heads() -> None:
    first, last, flexible = schema.version_table()
    assert first.dtype == last.dtype == flexible.dtype == np.int16
    assert list(zip(first, last, strict=True)) == [(head.min_version, head.max_version) for head in HEADS]
    assert list(flexible) == [32767 if head.flexible_from is None else head.flexible_from for head in HEADS]


def test_importing_and_listing_parse_no_body() -> None:
    code = (
        "import sys, kdissect.schema as s, kdissect.schema.catalogue as c\n"
        "assert not c.default_catalogue.cache_info().currsize\n"
        "assert len(s.apis()) == 95 and s.api_name(0) == 'Produce'\n"
        "assert not c._parse_file.cache_info().currsize\n"
        "s.api('Fetch').layout('request', 4)\n"
        "assert c._parse_file.cache_info().currsize == 1\n"
        "assert 'numpy' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
