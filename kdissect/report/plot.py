"""Plots for terminals, in eighths of a character cell."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from kdissect.report.human import duration_ms, size
from kdissect.report.layout import cells
from kdissect.report.sink import Output, Sink
from kdissect.report.style import RESET, background, sgr
from kdissect.report.tallies import Values

HEIGHT: Final = 6
_BLOCKS: Final = " ▁▂▃▄▅▆▇█"
_BEHIND: Final = "░"
"""A full cell of what is drawn behind, where colours do not tell."""
_GUTTER: Final = 9
LEAST_WIDTH: Final = 24

Series = tuple[str, str, Sequence[float | None]]
"""Name, style and values; those that come first are drawn in front."""


def plot_width(sink: Sink) -> int:
    """Intervals that fit side by side."""
    return max(LEAST_WIDTH, sink.width - _GUTTER - 2)


def write_plots(rows: Sequence[Values], sink: Sink, height: int = HEIGHT) -> None:
    """Requests, bytes and latency over time, one under the other, on one axis."""
    output = Output(sink)
    if rows:
        step = rows[0]["interval_ms"]
        second = 1000 / step
        failed = [row["errors"] + row["unanswered"] for row in rows]
        panels: list[tuple[str, Callable[[float], str], list[Series]]] = [
            (
                "exchanges per second",
                lambda value: f"{value:,.3g}" if value < 1000 else f"{value:,.0f}",
                [
                    ("failed", "error", [count * second for count in failed]),
                    ("all", "address", [row["per_second"] for row in rows]),
                ],
            ),
            (
                "bytes per second",
                lambda value: size(round(value)),
                [
                    ("requests", "name", [row["request_bytes"] * second for row in rows]),
                    ("requests and responses", "good", [(row["request_bytes"] + row["response_bytes"]) * second for row in rows]),
                ],
            ),
            (
                "latency without long polls",
                duration_ms,
                [
                    ("p50", "good", [row["latency_ms"] and row["latency_ms"]["p50"] for row in rows]),
                    ("p99", "slow", [row["latency_ms"] and row["latency_ms"]["p99"] for row in rows]),
                ],
            ),
        ]
        for title, say, series in panels:
            _panel(title, say, series, len(rows), height, sink, output)
        _axis(rows, sink, output)
    output.flush()


def _panel(
    title: str, say: Callable[[float], str], series: Sequence[Series], width: int, height: int, sink: Sink, output: Output
) -> None:
    top = max((value for _, _, values in series for value in values if value), default=0.0)
    legend = [(f"{'':>{_GUTTER}} ", ""), (title, "heading")]
    for name, style, _ in reversed(series):
        mark = "█" if sink.color or name == series[0][0] else _BEHIND
        legend += [("  ", ""), (mark, style), (f" {name}", "quiet")]
    _line(legend, sink, output)
    for level in range(height - 1, -1, -1):
        label = say(top) if level == height - 1 else say(top / 2) if level == height // 2 - 1 and height > 3 else ""
        label = "0" if level == 0 else label
        parts: list[tuple[str, str]] = [(f"{label:>{_GUTTER}}", "quiet"), ("┤" if label else "│", "quiet")]
        for at in range(width):
            mark, style = " ", ""
            for front, (_, name, values) in enumerate(series):
                eighths = _eighths(values[at], top, height) - 8 * level
                if eighths <= 0:
                    continue
                if not mark.strip():
                    mark, style = _BLOCKS[min(8, eighths)], name
                    if front and not sink.color and eighths >= 8:
                        mark = _BEHIND
                    if eighths >= 8:
                        break
                elif eighths >= 8:
                    # Behind the top of a bar goes a higher one on.
                    style = f"{style} on {name}"
                    break
            parts.append((mark, style))
        _line(parts, sink, output)


def _eighths(value: float | None, top: float, height: int) -> int:
    """Height of a bar; whatever is not zero is seen."""
    return max(1, round(value / top * height * 8)) if value and value > 0 and top else 0


def _axis(rows: Sequence[Values], sink: Sink, output: Output) -> None:
    clock, width = sink.clock, len(rows)
    _line([(f"{'':>{_GUTTER}}└{'─' * width}", "quiet")], sink, output)
    digits = 3 if rows[0]["interval_ms"] < 1000 else 0
    text = " " * (_GUTTER + 1)
    step = 14 if digits else 10
    for at in range(0, width, max(step + 2, 1)):
        mark = clock.time(rows[at]["time_ns"], digits).rstrip(".")
        if at and at + cells(mark) > width:
            break
        text = text.ljust(_GUTTER + 1 + at) + mark
    _line([(text, "quiet")], sink, output)
    first = rows[0]["time_ns"]
    note = f"{clock.day(first)} {clock.zone(first)}, a column is {duration_ms(rows[0]['interval_ms'])}"
    _line([(" " * (_GUTTER + 1) + note, "quiet")], sink, output)


def _line(parts: Sequence[tuple[str, str]], sink: Sink, output: Output) -> None:
    text, last = "", ""
    run: list[str] = []

    def flush() -> None:
        nonlocal text
        front, _, behind = last.partition(" on ")
        code = sgr(front) + (background(behind) if behind else "") if sink.color and last else ""
        joined = "".join(run)
        text += f"{code}{joined}{RESET}" if code and joined.strip() else joined
        run.clear()

    for part, style in parts:
        if style != last:
            flush()
            last = style
        run.append(part)
    flush()
    output.write((text.rstrip() + "\n").encode(errors="backslashreplace"))


class PlotWriter:
    """Writes intervals as plots, once all are known."""

    def __init__(self, sink: Sink) -> None:
        self._sink = sink
        self._rows: list[Values] = []

    def write(self, rows: Sequence[Values]) -> None:
        self._rows += rows

    def finish(self) -> None:
        write_plots(self._rows, self._sink)
