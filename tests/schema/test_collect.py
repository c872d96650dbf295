"""What bodies speak of."""

from __future__ import annotations

from typing import Any

import pytest

from kdissect import schema
from kdissect.schema.collect import NOTHING, collect

ID = "AAAAAAAAAAAAAAAAAAAAAQ"
NO_ID = "A" * 22


def test_order_of_appearance_and_distinct() -> None:
    body = {
        "throttle_time_ms": 7,
        "brokers": [],
        "topics": [
            {"error_code": 3, "name": "b", "topic_id": NO_ID, "partitions": [{"error_code": 5}, {"error_code": 3}]},
            {"error_code": 0, "name": "a", "topic_id": ID, "partitions": None},
            {"error_code": 0, "name": None, "topic_id": ID, "partitions": []},
            {"error_code": 0, "name": "b", "topic_id": NO_ID, "partitions": []},
        ],
    }
    found = collect(3, 12, "response", body)
    assert found.topics == ("b", "a")
    assert found.topic_ids == (ID,)
    assert found.error_codes == (3, 5)
    assert found.throttle_time_ms == 7
    assert found.topic_names == {ID: "a"}
    assert [topic.text for topic in found.mentions] == ["b", "a", ID]


@pytest.mark.parametrize(
    ("key", "version", "kind", "body", "topics", "groups"),
    [
        (10, 0, "request", {"key": "g"}, (), ("g",)),
        (10, 3, "request", {"key": "t", "key_type": 1}, (), ()),
        (10, 4, "request", {"key_type": 0, "coordinator_keys": ["g", "h", "g"]}, (), ("g", "h")),
        (10, 4, "request", {"key_type": 1, "coordinator_keys": ["t"]}, (), ()),
        (10, 4, "response", {"coordinators": [{"key": "g"}]}, (), ()),
        (32, 4, "request", {"resources": [{"resource_type": t, "resource_name": f"r{t}"} for t in (2, 32)]}, ("r2",), ("r32",)),
        (30, 0, "request", {"creations": [{"resource_type": 2, "resource_name": n} for n in ("t", "*")]}, ("t",), ()),
        (
            30,
            2,
            "request",
            {
                "creations": [
                    {"resource_type": 2, "resource_name": "pre", "resource_pattern_type": 4},
                    {"resource_type": 3, "resource_name": "g", "resource_pattern_type": 3},
                    {"resource_type": 6, "resource_name": "d", "resource_pattern_type": 3},
                ]
            },
            (),
            ("g",),
        ),
        (42, 2, "request", {"groups_names": ["g", ""]}, (), ("g",)),
        (20, 1, "request", {"topic_names": ["t", b"\xff"], "timeout_ms": 1}, ("t",), ()),
        (8, 2, "request", {"group_id": "g", "topics": [{"name": "t"}]}, ("t",), ("g",)),
    ],
)
def test_topics_and_groups(
    key: int, version: int, kind: Any, body: dict[str, Any], topics: tuple[str, ...], groups: tuple[str, ...]
) -> None:
    found = collect(key, version, kind, body)
    assert (found.topics, found.groups) == (topics, groups)


def test_bodies_cut_short_and_unknown_layouts() -> None:
    assert collect(3, 12, "response", None) is NOTHING
    assert collect(9999, 0, "request", {"a": 1}) is NOTHING
    assert collect(0, 999, "request", {"a": 1}) is NOTHING
    for head in schema.apis():
        for version in schema.api(head.key).versions:
            for kind in ("request", "response"):
                empty = collect(head.key, version, kind, {})  # type: ignore[arg-type]
                assert empty == NOTHING
    assert collect(1, 4, "request", {"topics": [{"topic": "t"}, {}]}).topics == ("t",)


def test_every_error_field_is_seen() -> None:
    """Puts a code into every error field of every response, one by one, and finds it."""
    count = 0
    for head in schema.apis():
        for version in schema.api(head.key).versions:
            layout = schema.api(head.key).layout("response", version)
            fields = dict(layout.walk())
            for path, field in fields.items():
                if field.type != "int16" or not field.name.endswith("error_code"):
                    continue
                body: Any = 41
                for depth in range(len(path), 0, -1):
                    body = {path[depth - 1]: [body] if fields[path[:depth]].array else body}
                assert collect(head.key, version, "response", body).error_codes == (41,), (head.name, path)
                count += 1
    assert count > 400
