"""The metrics that a client pushes: OTLP's MetricsData, compressed (KIP-714).

Read with ``opentelemetry-proto``, which is loaded only when there is such a
message; where it is not installed, the payload stays bytes.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from kdissect.protocol.contents.blobs import Opened, opened
from kdissect.wire.compression import NONE, Undecompressable, decompress
from kdissect.wire.primitives import float_value

if TYPE_CHECKING:
    from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
    from opentelemetry.proto.metrics.v1.metrics_pb2 import Metric, MetricsData

LARGEST_PAYLOAD = 2 << 20
"""Bytes that a payload may expand to; clients send some 10 kB, brokers take 1 MiB compressed (``telemetry.max.bytes``)."""
MOST_OBJECTS = 50_000
"""Resources, scopes, metrics and points together: two bytes can be one."""
DEEPEST = 8
"""How far nested attribute values are followed."""

_TEMPORALITIES = ("unspecified", "delta", "cumulative")


def open_telemetry(compression: int, data: bytes) -> Opened | None:
    """The metrics as ``{"_type", "_version", "resources": [{"attributes", "scopes": [{"name", "version", "metrics"}]}]}``.

    Metrics are ``{"name", "unit", "kind", "temporality", "points"}`` (see :func:`_metric`).
    None where the payload cannot be decompressed, is no MetricsData, or the library is missing.
    """
    try:
        from google.protobuf.message import DecodeError  # type: ignore[import-untyped, unused-ignore]
        from opentelemetry.proto.metrics.v1.metrics_pb2 import MetricsData
    except ImportError:
        return None
    try:
        plain = data if compression == NONE else decompress(compression, memoryview(data), LARGEST_PAYLOAD)
        if len(plain) > LARGEST_PAYLOAD:
            return None
        message = MetricsData.FromString(plain)
    except (Undecompressable, DecodeError):
        return None
    if _too_many(message):
        return None
    resources = [
        {
            "attributes": _attributes(resource.resource.attributes),
            "scopes": [
                {
                    "name": scope.scope.name,
                    "version": scope.scope.version,
                    "metrics": [_metric(metric) for metric in scope.metrics],
                }
                for scope in resource.scope_metrics
            ],
        }
        for resource in message.resource_metrics
    ]
    return opened("MetricsData", 1, {"resources": resources})


def _too_many(message: MetricsData) -> bool:
    left = MOST_OBJECTS
    for resource in message.resource_metrics:
        left -= 1 + len(resource.resource.attributes)
        for scope in resource.scope_metrics:
            left -= 1 + len(scope.metrics)
            for metric in scope.metrics:
                kind = metric.WhichOneof("data")
                left -= len(getattr(metric, kind).data_points) if kind else 0
                if left < 0:
                    return True
    return left < 0


def _metric(metric: Metric) -> dict[str, Any]:
    """Name, unit, ``kind`` (``gauge``, ``sum``, ``histogram``, ...), temporality (None for gauges) and data points.

    A point has ``attributes``, ``time`` and ``start_time`` (nanoseconds since the epoch), and ``value`` or, of
    histograms and summaries, ``count``, ``sum`` and what the kind has beside them.
    """
    kind = metric.WhichOneof("data")
    data: Any = getattr(metric, kind) if kind else None
    temporality = getattr(data, "aggregation_temporality", None)
    return {
        "name": metric.name,
        "unit": metric.unit,
        "kind": kind,
        "temporality": _TEMPORALITIES[temporality] if temporality in (0, 1, 2) else None,
        "points": [] if data is None else [_point(point) for point in data.data_points],
    }


def _point(point: Any) -> dict[str, Any]:
    said: dict[str, Any] = {
        "attributes": _attributes(point.attributes),
        "time": point.time_unix_nano,
        "start_time": point.start_time_unix_nano,
    }
    fields = point.DESCRIPTOR.fields_by_name
    if "as_double" in fields:
        which = point.WhichOneof("value")
        said["value"] = _number(getattr(point, which)) if which else None
        return said
    said |= {"count": point.count, "sum": float_value(point.sum)}
    for name in ("min", "max"):
        if name in fields and point.HasField(name):
            said[name] = float_value(getattr(point, name))
    for name in ("bucket_counts", "explicit_bounds"):
        if name in fields:
            said[name] = [_number(each) for each in getattr(point, name)]
    if "quantile_values" in fields:
        said["quantiles"] = [
            {"quantile": float_value(each.quantile), "value": float_value(each.value)} for each in point.quantile_values
        ]
    return said


def _attributes(pairs: Iterable[KeyValue]) -> dict[str, Any]:
    return {pair.key: _value(pair.value) for pair in pairs}


def _value(value: AnyValue, depth: int = 0) -> Any:
    kind = value.WhichOneof("value")
    if kind is None or depth > DEEPEST:
        return None
    if kind == "array_value":
        return [_value(each, depth + 1) for each in value.array_value.values]
    if kind == "kvlist_value":
        return {pair.key: _value(pair.value, depth + 1) for pair in value.kvlist_value.values}
    return _number(getattr(value, kind))


def _number(value: Any) -> Any:
    return float_value(value) if isinstance(value, float) else value
