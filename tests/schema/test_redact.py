"""Configuration values that are withheld."""

from __future__ import annotations

from typing import Any

import pytest

from kdissect import schema
from kdissect.schema.blob import decode_fields
from kdissect.schema.encode import encode_fields, encode_request, encode_response
from kdissect.schema.message import DecodeOptions, decode_request, decode_response
from kdissect.schema.redact import is_secret


@pytest.mark.parametrize(
    ("name", "value", "secret"),
    [
        ("retention.ms", "1", False),
        ("cleanup.policy", "compact", False),
        ("advertised.listeners", "x", False),
        ("zookeeper.connect", "zk:2181", False),
        ("ssl.keystore.password", "s3cret", True),
        ("sasl.jaas.config", "x", True),
        ("ssl.keystore.key", "x", True),
        ("listener.name.internal.ssl.keystore.type", "JKS", False),
        ("listener.name.internal.ssl.keystore.password", "x", True),
        ("listener.name.sasl_ssl.plain.sasl.jaas.config", "x", True),
        ("com.acme.plugin.option", "x", True),
        ("com.acme.plugin.Logger", "INFO", False),
        ("com.acme.plugin.option", None, False),
        ("", "x", True),
        (b"\xff", "x", True),
    ],
)
def test_passwords_and_unknown_names_are_secret(name: Any, value: Any, secret: bool) -> None:
    assert is_secret(name, value) is secret


CONFIGS = [{"name": "retention.ms", "value": "1"}, {"name": "ssl.key.password", "value": "ü1"}, {"name": "my.own", "value": None}]
TOLD = ["1", {"redacted": 3}, None]


@pytest.mark.parametrize("spans", [False, True])
@pytest.mark.parametrize(("key", "field"), [(33, "resources"), (44, "resources"), (19, "topics")])
def test_requests_that_set_configs(key: int, field: str, spans: bool) -> None:
    for version in schema.api(key).versions:
        data = encode_request(key, version, 1, "c", {field: [{"configs": CONFIGS}]}, sized=False)
        body: Any = decode_request(data, options=DecodeOptions(spans=spans)).body
        assert [config["value"] for config in body[field][0]["configs"]] == TOLD
        body = decode_request(data, options=DecodeOptions(show_secrets=True, spans=spans)).body
        assert [config["value"] for config in body[field][0]["configs"]] == ["1", "ü1", None]
        for size in range(9, len(data)):
            assert "ü1" not in str(decode_request(data[:size]).body)


def test_responses_that_show_configs_with_synonyms() -> None:
    for version in schema.api(32).versions:
        configs: list[dict[str, Any]] = [{**config} for config in CONFIGS]
        if version:
            configs[1]["synonyms"] = [{"name": "ssl.key.password", "value": "old"}]
        data = encode_response(32, version, 1, {"results": [{"configs": configs}]}, sized=False)
        body: Any = decode_response(data, 32, version).body
        assert [config["value"] for config in body["results"][0]["configs"]] == TOLD
        if version:
            assert body["results"][0]["configs"][1]["synonyms"][0]["value"] == {"redacted": 3}


def test_config_records_of_the_metadata_log() -> None:
    layout = schema.format("ConfigRecord").fields(0)
    data = encode_fields(layout, {"resource_type": 4, "resource_name": "1", "name": "sasl.jaas.config", "value": "pw"})
    assert decode_fields("ConfigRecord", 0, data).fields["value"] == {"redacted": 2}
    assert decode_fields("ConfigRecord", 0, data, show_secrets=True).fields["value"] == "pw"
