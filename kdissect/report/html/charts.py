"""The charts of the page as declarative figures: data and layout, drawn by plotly.js."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from kdissect.report.escape import escape
from kdissect.report.human import size

Figure = dict[str, Any]

PALETTE: Final = (
    "#3b7dd8",
    "#e8893a",
    "#3aa675",
    "#c94f6d",
    "#8a67c9",
    "#b5a036",
    "#3fa7c4",
    "#a0694b",
    "#8b8f98",
)
"""Told apart also by people who see red and green alike, on light and on dark ground."""
MOST_APIS: Final = 8
MOST_BARS: Final = 20
MOST_NODES: Final = 15
LONGEST_LABEL: Final = 40


@dataclass(frozen=True, slots=True)
class Chart:
    """One figure with what it says."""

    id: str
    title: str
    caption: str
    figure: Figure
    wide: bool = False


def charts(report: Mapping[str, Any]) -> list[Chart]:
    """All charts that there is something to draw for."""
    made = [
        _rate(report["series"]),
        _latency_over_time(report["series"]),
        _latency_by_api(report["apis"]),
        _errors(report),
        _bytes_by_topic(report),
        _bytes_by_client(report),
        _rebalances(report),
        _map(report["links"]),
    ]
    return [chart for chart in made if chart is not None]


def label(name: object) -> str:
    """A name from the wire as plotly shows it: as text, never as its pseudo-HTML, and not endless."""
    shown = escape(str(name))
    if len(shown) > LONGEST_LABEL:
        shown = f"{shown[: LONGEST_LABEL - 9]}…{shown[-8:]}"
    return shown.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _moments(series: Mapping[str, Any]) -> list[str]:
    """The beginning of every step."""
    from datetime import UTC, datetime, timedelta

    if series["start_ms"] is None:
        return []
    start = datetime(1970, 1, 1, tzinfo=UTC)
    try:
        start += timedelta(milliseconds=series["start_ms"])
        step = timedelta(milliseconds=series["step_ms"])
        return [(start + step * at).strftime("%Y-%m-%d %H:%M:%S.%f") for at in range(series["steps"])]
    except OverflowError:
        return []


def _span(series: Mapping[str, Any]) -> list[str] | None:
    """The first and the last moment of a time axis."""
    moments = _moments(series)
    return [moments[0], moments[-1]] if len(moments) > 1 else None


def _top(apis: Mapping[str, list[list[Any]]]) -> tuple[list[str], list[str]]:
    names = list(apis)
    return (names, []) if len(names) <= MOST_APIS + 1 else (names[:MOST_APIS], names[MOST_APIS:])


def _rate(series: Mapping[str, Any]) -> Chart | None:
    moments = _moments(series)
    if not moments:
        return None
    shown, rest = _top(series["apis"])
    per_s = 1000 / series["step_ms"]
    traces = []
    for at, (name, members) in enumerate([(name, [name]) for name in shown] + ([("others", rest)] if rest else [])):
        counts = [0.0] * len(moments)
        for member in members:
            for row in series["apis"][member]:
                counts[row[0]] += row[1]
        traces.append(_bar(moments, [round(value * per_s, 3) for value in counts], label(name), at))
    layout = {"barmode": "stack", "bargap": 0, "yaxis": {"title": {"text": "requests / s"}}, "xaxis": {"type": "date"}}
    return Chart("rate", "Requests", "Requests a second, by API.", {"data": traces, "layout": layout}, wide=True)


def _latency_over_time(series: Mapping[str, Any]) -> Chart | None:
    moments = _moments(series)
    rows = [row for row in series["not_waiting"] if row[5] is not None]
    if not moments or not rows:
        return None
    traces = [
        {
            "type": "scatter",
            "mode": "lines+markers" if len(rows) < 60 else "lines",
            "name": name,
            "x": [moments[row[0]] for row in rows],
            "y": [row[column] for row in rows],
            "line": {"color": PALETTE[at], "width": 1.5},
            "marker": {"size": 4},
        }
        for at, (name, column) in enumerate((("p50", 5), ("p95", 6), ("p99", 7)))
    ]
    layout = {"yaxis": {"title": {"text": "ms"}, "type": "log"}, "xaxis": {"type": "date"}}
    caption = "Percentiles of requests that do not wait on purpose (fetches and joins do)."
    return Chart("latency", "Latency over time", caption, {"data": traces, "layout": layout})


def _latency_by_api(apis: Sequence[Mapping[str, Any]]) -> Chart | None:
    rows = [row for row in apis if row["latency_ms"] and row["api"]][:MOST_BARS][::-1]
    if not rows:
        return None
    names = [label(row["api"]) for row in rows]
    traces = [
        {
            "type": "scatter",
            "mode": "markers",
            "name": name,
            "x": [max(0.001, row["latency_ms"][name]) for row in rows],
            "y": names,
            "marker": {"color": PALETTE[at], "size": 9, "symbol": symbol},
        }
        for at, (name, symbol) in enumerate((("p50", "circle"), ("p95", "diamond"), ("p99", "square"), ("max", "x")))
    ]
    layout = {
        "xaxis": {"title": {"text": "ms"}, "type": "log"},
        "yaxis": {"type": "category", "automargin": True},
        "height": 120 + 22 * len(rows),
    }
    return Chart("latency-api", "Latency by API", "As measured at the capture.", {"data": traces, "layout": layout})


def _errors(report: Mapping[str, Any]) -> Chart | None:
    rows = report["errors"][:MOST_BARS][::-1]
    if not rows:
        return None
    names = [label(f"{row['error'] or 'all others'}, {row['api'] or '-'}") for row in rows]
    trace = {
        "type": "bar",
        "orientation": "h",
        "x": [row["exchanges"] for row in rows],
        "y": names,
        "marker": {"color": PALETTE[3]},
        "name": "answers",
    }
    layout = {
        "xaxis": {"title": {"text": "answers"}},
        "yaxis": {"type": "category", "automargin": True},
        "height": 120 + 22 * len(rows),
        "showlegend": False,
    }
    return Chart("errors", "Errors", "Answers that carry an error code, by API.", {"data": [trace], "layout": layout})


def _bytes_by_topic(report: Mapping[str, Any]) -> Chart | None:
    totals: dict[str, dict[str, int]] = {}
    for row in report["links"]["topics"]:
        of_topic = totals.setdefault(row["topic"], {"writes": 0, "reads": 0})
        of_topic[row["how"]] += row["bytes"]
    ordered = sorted(totals.items(), key=lambda item: -sum(item[1].values()))[:MOST_BARS][::-1]
    if not ordered:
        return None
    names = [label(topic) for topic, _ in ordered]
    traces = [_lying(names, [both[how] for _, both in ordered], how, at) for at, how in enumerate(("writes", "reads"))]
    return Chart("topics", "Bytes by topic", "Bytes of Produce requests and Fetch responses.", _bars(traces, len(ordered)))


def _bytes_by_client(report: Mapping[str, Any]) -> Chart | None:
    rows = sorted(report["clients"], key=lambda row: -(row["request_bytes"] + row["response_bytes"]))[:MOST_BARS][::-1]
    if not rows:
        return None
    names = [label(_client(row)) for row in rows]
    traces = [
        _lying(names, [row["request_bytes"] for row in rows], "sent", 0),
        _lying(names, [row["response_bytes"] for row in rows], "received", 1),
    ]
    return Chart("clients", "Bytes by client", "All requests and responses.", _bars(traces, len(rows)))


def _rebalances(report: Mapping[str, Any]) -> Chart | None:
    from datetime import datetime

    bases, lengths, names, texts = [], [], [], []
    for group in (report.get("groups") or [])[:MOST_BARS]:
        for event in group["events"]:
            if event["start"] is None:
                continue
            bases.append(event["start"].replace("T", " ").removesuffix("Z"))
            start = datetime.fromisoformat(event["start"])
            end = datetime.fromisoformat(event["end"]) if event["end"] else start
            lengths.append(max(1.0, (end - start).total_seconds() * 1000))
            names.append(label(group["group"]))
            texts.append(label(f"generation {event['generation']}: {'; '.join(event['causes'])}"))
    if not bases:
        return None
    trace = {
        "type": "bar",
        "orientation": "h",
        "base": bases,
        "x": lengths,
        "y": names,
        "hovertext": texts,
        "hoverinfo": "text",
        "marker": {"color": PALETTE[1], "line": {"color": PALETTE[1], "width": 2}},
        "name": "rebalance",
    }
    layout = {
        "xaxis": {"type": "date", "range": _span(report["series"])},
        "yaxis": {"type": "category", "automargin": True},
        "height": 140 + 26 * len(set(names)),
        "showlegend": False,
    }
    caption = "From the first member that joins to the last that gets its part."
    return Chart("rebalances", "Rebalances", caption, {"data": [trace], "layout": layout}, wide=True)


def _map(links: Mapping[str, Any]) -> Chart | None:
    """Clients, brokers and topics; whoever moves few bytes is summed up."""
    if not links["brokers"]:
        return None
    clients = _heaviest((_client(row), row["bytes"]) for row in links["brokers"])
    brokers = _heaviest((row["broker"], row["bytes"]) for row in links["brokers"])
    topics = _heaviest((row["topic"], row["bytes"]) for row in links["broker_topics"])
    nodes: dict[tuple[str, str], int] = {}
    flows: dict[tuple[int, int], int] = {}

    def node(kind: str, name: str, known: frozenset[str]) -> int:
        return nodes.setdefault((kind, name if name in known else f"other {kind}s"), len(nodes))

    for row in links["brokers"]:
        ends = node("client", _client(row), clients), node("broker", row["broker"], brokers)
        flows[ends] = flows.get(ends, 0) + row["bytes"]
    for row in links["broker_topics"]:
        ends = node("broker", row["broker"], brokers), node("topic", row["topic"], topics)
        flows[ends] = flows.get(ends, 0) + row["bytes"]
    colors = {"client": PALETTE[0], "broker": PALETTE[2], "topic": PALETTE[1]}
    trace = {
        "type": "sankey",
        "arrangement": "snap",
        "node": {
            "label": [label(name) for _, name in nodes],
            "color": [colors[kind] for kind, _ in nodes],
            "pad": 12,
            "thickness": 14,
        },
        "link": {
            "source": [source for source, _ in flows],
            "target": [target for _, target in flows],
            "value": [max(1, value) for value in flows.values()],
            "label": [size(value) for value in flows.values()],
            "color": "rgba(128,136,150,0.35)",
        },
        "valuesuffix": " bytes",
    }
    layout = {"height": min(1200, 220 + 22 * max(len(clients), len(brokers), len(topics)))}
    caption = "Clients, the brokers that they talk to, and the topics that are written and read there; width is bytes."
    return Chart("map", "Who talks to whom", caption, {"data": [trace], "layout": layout}, wide=True)


def _heaviest(weights: Any) -> frozenset[str]:
    totals: dict[str, int] = {}
    for name, weight in weights:
        totals[name] = totals.get(name, 0) + weight
    return frozenset(sorted(totals, key=lambda name: -totals[name])[:MOST_NODES])


def _client(row: Mapping[str, Any]) -> str:
    if row["client"] is None:
        return "all others"
    return str(row["client"]) if row["client_id"] is None else f"{row['client_id']} ({row['client']})"


def _bar(x: list[str], y: list[float], name: str, at: int) -> Figure:
    return {"type": "bar", "x": x, "y": y, "name": name, "marker": {"color": PALETTE[at % len(PALETTE)], "line": {"width": 0}}}


def _lying(names: list[str], values: list[int], name: str, at: int) -> Figure:
    return {"type": "bar", "orientation": "h", "x": values, "y": names, "name": name, "marker": {"color": PALETTE[at]}}


def _bars(traces: list[Figure], count: int) -> Figure:
    layout = {
        "barmode": "stack",
        "xaxis": {"title": {"text": "bytes"}, "tickformat": "~s"},
        "yaxis": {"type": "category", "automargin": True},
        "height": 130 + 22 * count,
    }
    return {"data": traces, "layout": layout}
