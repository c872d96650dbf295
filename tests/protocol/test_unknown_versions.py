"""APIs and versions that the schema does not have."""

from __future__ import annotations

import struct
from pathlib import Path

from kdissect.schema import api
from kdissect.schema.encode import encode, encode_response
from tests.protocol.protocol_talk import Talk, dissect, write

LIST_GROUPS, FETCH = 16, 1


def sized(data: bytes) -> bytes:
    return struct.pack(">i", len(data)) + data


def request(key: int, version: int, correlation_id: int, body: bytes, flexible: bool = True) -> bytes:
    return sized(struct.pack(">hhih", key, version, correlation_id, 4) + b"next" + (b"\0" if flexible else b"") + body)


def test_unknown_keys_have_their_header_and_pair(tmp_path: Path) -> None:
    talk = Talk().raw(request(1234, 3, 99, b"anything"), sized(struct.pack(">i", 99) + b"whatever"))
    talk.ask(LIST_GROUPS, 0, {}, {"error_code": 0, "groups": []})
    (unknown, known), dissection = dissect(write(tmp_path / "a.pcap", talk))
    row = unknown.to_contract()
    assert (row["api"], row["api_key"], row["api_version"]) == ("Unknown(1234)", 1234, 3)
    assert (row["correlation_id"], row["client_id"], row["outcome"]) == (99, "next", "answered")
    assert (row["request"], row["response"]) == (None, None)
    assert [finding["code"] for finding in row["findings"]] == ["api.unknown_key"]
    assert row["request_bytes"] == len(request(1234, 3, 99, b"anything"))
    assert known.outcome == "answered"
    assert dissection.ledger.opaque == row["request_bytes"] + row["response_bytes"]


def newer(path: Path, trailing: bytes = b"") -> Path:
    """A ListGroups two versions ahead of the schema, laid out as the newest."""
    newest = api(LIST_GROUPS).versions[-1]
    asked = request(LIST_GROUPS, newest + 2, 5, encode(LIST_GROUPS, newest, "request", {"states_filter": ["Stable"]}) + trailing)
    group = {"group_id": "g", "protocol_type": "consumer"}
    return write(path, Talk().raw(asked, encode_response(LIST_GROUPS, newest, 5, {"error_code": 0, "groups": [group]})))


def test_newer_versions_are_guessed_only_on_demand(tmp_path: Path) -> None:
    path = newer(tmp_path / "a.pcap")
    newest = api(LIST_GROUPS).versions[-1]
    (plain,), before = dissect(path)
    assert (plain.to_contract()["request"], plain.to_contract()["response"], plain.groups) == (None, None, [])
    (guessed,), after = dissect(path, guess_versions=True)
    row = guessed.to_contract()
    assert row["api_version"] == newest + 2
    assert row["request"]["states_filter"] == ["Stable"]
    assert row["response"]["groups"][0]["group_id"] == "g" and row["groups"] == ["g"]
    for exchange in (plain, guessed):
        assert [finding.code for finding in exchange.findings] == ["api.unknown_version"]
    assert "read as version" in guessed.findings[0].text and "read as version" not in plain.findings[0].text
    assert before.ledger == after.ledger


def test_a_guess_that_does_not_fit_is_no_guess(tmp_path: Path) -> None:
    (exchange,), _ = dissect(newer(tmp_path / "a.pcap", b"\0"), guess_versions=True)
    row = exchange.to_contract()
    assert row["request"] is None and row["response"]["groups"][0]["group_id"] == "g"
    assert [finding["code"] for finding in row["findings"]] == ["api.unknown_version"]
