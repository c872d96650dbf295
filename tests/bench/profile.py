"""Where the time goes: seconds by stage of the pipeline, in this process."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

STAGES: list[tuple[str, str, str]] = [
    ("capture", "kdissect.capture.files", "_chunks"),
    ("segments", "kdissect.stream.segments.Segmenter", "feed"),
    ("connections", "kdissect.stream.connections.ConnectionTable", "assign"),
    ("sessions", "kdissect.dissect.Dissection", "_feed"),
    ("release", "kdissect.dissect.Dissection", "_release"),
    ("describe", "kdissect.describe.Describer", "describe"),
    ("records", "kdissect.schema.records_field.FullRecords", "__call__"),
    ("write", "kdissect.report.formats.json_lines.JsonLines", "write"),
    ("stats", "kdissect.report.stats.Stats", "add"),
]
"""Name, module or class, and function; nested stages count for themselves alone."""


class Clock:
    """Time by stage, that of inner stages taken off the outer ones'."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = defaultdict(float)
        self._stack: list[float] = []

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        began = time.perf_counter()
        self._stack.append(0.0)
        try:
            yield
        finally:
            spent = time.perf_counter() - began
            self.seconds[name] += spent - self._stack.pop()
            if self._stack:
                self._stack[-1] += spent

    def wrap(self, name: str, function: Callable[..., Any], generator: bool) -> Callable[..., Any]:
        def stepping(*args: Any, **kwargs: Any) -> Iterator[Any]:
            iterator = function(*args, **kwargs)
            while True:
                with self.stage(name):
                    item = next(iterator, self)
                if item is self:
                    return
                yield item

        def calling(*args: Any, **kwargs: Any) -> Any:
            with self.stage(name):
                return function(*args, **kwargs)

        return stepping if generator else calling


def profile(arguments: list[str], capture: Path) -> dict[str, float]:
    """Seconds by stage of one run of ``kdissect ARGUMENTS CAPTURE``, standard output discarded."""
    import inspect
    import os
    import sys
    from importlib import import_module

    from kdissect.cli.app import run

    clock = Clock()
    for name, where, what in STAGES:
        try:
            holder: Any = import_module(where)
        except ModuleNotFoundError:
            module, _, cls = where.rpartition(".")
            try:
                holder = getattr(import_module(module), cls)
            except (ModuleNotFoundError, AttributeError):
                continue
        found = getattr(holder, what, None)
        if found is not None:
            setattr(holder, what, clock.wrap(name, found, inspect.isgeneratorfunction(found)))
    saved = sys.stdout
    with open(os.devnull, "w") as nothing:
        sys.stdout = nothing
        try:
            with clock.stage("rest"):
                run([*arguments, str(capture)])
        except SystemExit:
            pass
        finally:
            sys.stdout = saved
    return dict(clock.seconds)
