"""What Streams and Connect tell through their groups, against what their own code wrote."""

from __future__ import annotations

import json
import lzma
import uuid
from base64 import b64decode, urlsafe_b64decode
from collections.abc import Callable
from typing import Any

import pytest

from kdissect import schema
from kdissect.schema.blob import decode_fields
from kdissect.schema.encode import encode_fields
from tests.oracle.oracle_vectors import BLOBS

LATEST = -2
"""The offset sum of a task that runs (``Task.LATEST_OFFSET``)."""
Fields = dict[str, Any]


def lines() -> list[Fields]:
    return [json.loads(line) for line in lzma.decompress(BLOBS.read_bytes()).splitlines()]


def task_name(subtopology: int, partition: int, topology: str | None) -> str:
    """As ``TaskId.toString``."""
    return f"{topology}__{subtopology}_{partition}" if topology else f"{subtopology}_{partition}"


def subscription(version: int, found: Fields) -> Fields:
    tasks: dict[str, int] = {}
    for task in found.get("task_offset_sums", ()):
        group = task["topic_group_id"]
        if version < 10:
            tasks |= {task_name(group, each["partition"], None): each["offset_sum"] for each in task["partition_to_offset_sum"]}
        else:
            tasks[task_name(group, task["partition"], task["named_topology"])] = task["offset_sum"]
    for name in ("prev_tasks", "standby_tasks"):
        for task in found.get(name, ()):
            tasks[task_name(task["topic_group_id"], task["partition"], None)] = LATEST if name == "prev_tasks" else 0
    process = str(uuid.UUID(bytes=urlsafe_b64decode(found["process_id"] + "==")))
    told: Fields = {"process": process, "tasks": tasks}
    if version >= 2:
        told["endpoint"] = found["user_end_point"].decode()
    if version >= 8:
        told["unique"] = found["unique_field"]
    if version >= 9:
        told["error"] = found["error_code"]
    if version >= 11:
        told["tags"] = {tag["key"].decode(): tag["value"].decode() for tag in found["client_tags"]}
    return told


def assignment(version: int, found: Fields) -> Fields:
    topics = {entry["index"]: entry["topic"] for entry in found.get("topic_dictionary", ())}

    def partitions(each: Fields) -> list[str]:
        names = [
            f"{each_partition['topic'] if 'topic' in each_partition else topics[each_partition['topic_index']]}"
            f"-{each_partition['partition']}"
            for each_partition in each["partitions"]
        ]
        # Java sorts by UTF-16 unit, which is the same for what is in these names.
        return sorted(names)

    def task(each: Fields) -> str:
        topology = "".join(map(chr, each.get("named_topology", ())))
        return task_name(each["subtopology"], each["partition"], topology)

    def hosts(name: str) -> Fields:
        return {f"{each['host']}:{each['port']}": partitions(each) for each in found[name]}

    told: Fields = {
        "active": [task(each) for each in found["active_tasks"]],
        "standby": {task(each): partitions(each) for each in found["standby_tasks"]},
    }
    if version >= 2:
        told["hosts"] = hosts(
            "partitions_by_host" if version < 5 else "partitions_by_host_indexed" if version < 6 else "active_partitions_by_host"
        )
    if version >= 6:
        told["standby_hosts"] = hosts("standby_partitions_by_host")
    if version >= 4:
        told["error"] = found["error_code"]
    if version >= 7:
        told["next"] = found["next_rebalance_ms"]
    return told


def work(version: int, found: Fields) -> Fields:
    def names(connectors: list[Fields] | None) -> list[str]:
        return sorted(f"{each['connector']}-{task}" for each in connectors or () for task in each["tasks"])

    assert (found["leader"], found["leader_url"]) == ("leader", "http://leader/")
    told = {"error": found["error"], "offset": found["config_offset"], "assigned": names(found["assignment"])}
    return told if version == 0 else told | {"revoked": names(found["revoked"]), "delay": found["delay"]}


def worker(version: int, found: Fields) -> Fields:
    told: Fields = {"url": found["url"], "offset": found["config_offset"]}
    if version:
        runs = found["allocation"]
        if runs is not None:
            said = int.from_bytes(runs[:2], "big")
            inner = decode_fields("ConnectAssignment", said, runs, 2)
            assert (inner.fault, inner.end) == (None, len(runs))
            runs = work(said, inner.fields)
        told["allocation"] = runs
    return told


READERS: dict[str, tuple[int, Callable[[int, Fields], Fields]]] = {
    "SubscriptionInfoData": (0, subscription),
    "StreamsAssignmentInfo": (0, assignment),
    "ConnectSubscription": (2, worker),
    "ConnectAssignment": (2, work),
}
"""Bytes of version in front of the fields, and what the fields tell."""


@pytest.mark.parametrize("name", READERS)
def test_what_streams_and_connect_wrote_is_read_and_written_back(name: str) -> None:
    skip, read = READERS[name]
    versions = set()
    for line in lines():
        if line["name"] != name:
            continue
        data, version = b64decode(line["bytes"]), line["version"]
        blob = decode_fields(name, version, data, skip)
        assert (blob.fault, blob.end) == (None, len(data)), line
        told = read(version, blob.fields)
        expected = {key: value for key, value in line["told"].items() if key in told}
        if name == "SubscriptionInfoData" and version < 7:
            # Of standby tasks only their names are said.
            expected["tasks"] = {task: total if total == LATEST else 0 for task, total in expected["tasks"].items()}
        assert told == expected, line
        assert encode_fields(schema.format(name).fields(version), blob.fields) == data[skip:]
        versions.add(version)
    assert versions == set(schema.format(name).versions)


@pytest.mark.broker
def test_the_committed_blobs_are_those_that_streams_and_connect_write() -> None:
    from tests.oracle import oracle_jars
    from tests.oracle.regenerate import blob_lines

    if not oracle_jars.available():
        pytest.skip("needs Java and Maven")
    assert [json.loads(line) for line in blob_lines().splitlines()] == lines()
