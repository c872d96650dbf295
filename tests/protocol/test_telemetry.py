"""Pushed metrics."""

from __future__ import annotations

import random
import sys
from pathlib import Path
from typing import Any

import pytest

from kdissect.protocol.contents.telemetry import LARGEST_PAYLOAD, MOST_OBJECTS, open_telemetry
from kdissect.wire.compression import CODEC_NAMES, compress
from tests.protocol.protocol_talk import Talk, dissect, write

pytest.importorskip("opentelemetry.proto.metrics.v1.metrics_pb2")


def pushed() -> Any:
    from opentelemetry.proto.metrics.v1.metrics_pb2 import AGGREGATION_TEMPORALITY_DELTA, MetricsData

    data = MetricsData()
    resource = data.resource_metrics.add()
    resource.resource.attributes.add(key="client_rack").value.string_value = "r1"
    scope = resource.scope_metrics.add()
    scope.scope.name = "kafka"
    total = scope.metrics.add(name="org.apache.kafka.producer.record.total", unit="1")
    total.sum.aggregation_temporality = AGGREGATION_TEMPORALITY_DELTA
    point = total.sum.data_points.add(time_unix_nano=2_000, start_time_unix_nano=1_000, as_double=7.5)
    point.attributes.add(key="node").value.int_value = 3
    nested = point.attributes.add(key="list").value.array_value
    nested.values.add().bool_value = True
    nested.values.add().bytes_value = b"\xff"
    scope.metrics.add(name="rate").gauge.data_points.add(as_double=float("nan"))
    times = scope.metrics.add(name="times", unit="ms").histogram.data_points.add(count=3, sum=6.0, max=4.0)
    times.bucket_counts.extend([1, 2])
    times.explicit_bounds.extend([2.0])
    quantiles = scope.metrics.add(name="quantiles").summary.data_points.add(count=1, sum=1.0)
    quantiles.quantile_values.add(quantile=0.99, value=12.0)
    scope.metrics.add(name="empty")
    return data


def point(**said: Any) -> dict[str, Any]:
    return {"attributes": {}, "time": 0, "start_time": 0, **said}


METRICS = [
    {
        "name": "org.apache.kafka.producer.record.total",
        "unit": "1",
        "kind": "sum",
        "temporality": "delta",
        "points": [point(attributes={"node": 3, "list": [True, b"\xff"]}, time=2_000, start_time=1_000, value=7.5)],
    },
    {"name": "rate", "unit": "", "kind": "gauge", "temporality": None, "points": [point(value="NaN")]},
    {
        "name": "times",
        "unit": "ms",
        "kind": "histogram",
        "temporality": "unspecified",
        "points": [point(count=3, sum=6.0, max=4.0, bucket_counts=[1, 2], explicit_bounds=[2.0])],
    },
    {
        "name": "quantiles",
        "unit": "",
        "kind": "summary",
        "temporality": None,
        "points": [point(count=1, sum=1.0, quantiles=[{"quantile": 0.99, "value": 12.0}])],
    },
    {"name": "empty", "unit": "", "kind": None, "temporality": None, "points": []},
]


@pytest.mark.parametrize("codec", range(5), ids=CODEC_NAMES)
def test_metrics_are_listed_whatever_their_compression(codec: int) -> None:
    found = open_telemetry(codec, compress(codec, pushed().SerializeToString()))
    assert found == {
        "_type": "MetricsData",
        "_version": 1,
        "resources": [{"attributes": {"client_rack": "r1"}, "scopes": [{"name": "kafka", "version": "", "metrics": METRICS}]}],
    }


def request(metrics: bytes, codec: int) -> dict[str, Any]:
    return {
        "client_instance_id": "z2C1njwTSxOps6l8Suk37g",
        "subscription_id": 1,
        "terminating": False,
        "compression_type": codec,
        "metrics": metrics,
    }


def test_in_a_capture(tmp_path: Path) -> None:
    body = request(compress(4, pushed().SerializeToString()), 4)
    path = write(tmp_path / "a.pcap", Talk().ask(72, 0, body, {"throttle_time_ms": 0, "error_code": 0}))
    (exchange,), _ = dissect(path)
    assert exchange.to_contract()["request"]["metrics"]["_type"] == "MetricsData"
    # Who wants no bodies pays for none.
    (exchange,), _ = dissect(path, records="heads")
    assert exchange.to_contract()["request"]["metrics"] == body["metrics"]


def test_without_the_library_the_payload_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    data = pushed().SerializeToString()
    monkeypatch.setitem(sys.modules, "opentelemetry.proto.metrics.v1.metrics_pb2", None)
    assert open_telemetry(0, data) is None


def test_bombs_are_left_alone() -> None:
    zeros = pushed().SerializeToString() + b"\x12\x00" * LARGEST_PAYLOAD
    for codec in (1, 2, 3, 4):
        assert open_telemetry(codec, compress(codec, zeros)) is None
    assert open_telemetry(0, zeros) is None
    # Two bytes make a resource: it is the number of objects that counts.
    assert open_telemetry(0, b"\x0a\x00" * MOST_OBJECTS) is not None
    assert open_telemetry(0, b"\x0a\x00" * (MOST_OBJECTS + 1)) is None


def test_hostile_payloads_never_raise() -> None:
    rng = random.Random(1)
    good = pushed().SerializeToString()
    for _ in range(2000):
        data = bytearray(good)
        for _ in range(rng.randrange(1, 5)):
            data[rng.randrange(len(data))] = rng.randrange(256)
        open_telemetry(0, bytes(data[: rng.randrange(len(data))]))
        open_telemetry(rng.randrange(-1, 7), rng.randbytes(30))
