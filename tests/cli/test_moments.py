"""``--since`` and ``--until`` as people type them."""

from __future__ import annotations

import time
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from kdissect.cli.moments import Window
from kdissect.moments import Moment, parse_moment

TEN = 1_795_255_200 * 10**9  # 2026-11-21T10:00:00Z


@pytest.fixture
def india(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "Asia/Kolkata")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2026-11-21T10:00:00Z", Moment(TEN)),
        ("2026-11-21t10:00z", Moment(TEN)),
        ("2026-11-21 11:30:00 +01:30", Moment(TEN)),
        ("2026-11-21 10:00:00.123456789Z", Moment(TEN + 123_456_789)),
        ("2026-11-21 10:00", Moment(TEN)),
        ("2026-11-21", Moment(TEN - 36_000 * 10**9)),
        ("1969-12-31 23:59:59.5Z", Moment(-500_000_000)),
        ("+30s", Moment(30 * 10**9, relative=True)),
        ("+1m30s", Moment(90 * 10**9, relative=True)),
        ("+1.5h", Moment(5400 * 10**9, relative=True)),
        ("+250ms", Moment(250 * 10**6, relative=True)),
        ("+0.1us", Moment(100, relative=True)),
    ],
)
def test_moments(text: str, moment: Moment) -> None:
    assert parse_moment(text, utc=True) == moment


def test_a_time_without_zone_is_local(india: None) -> None:
    assert parse_moment("2026-11-21 15:30", utc=False) == Moment(TEN)
    assert parse_moment("2026-11-21 10:00", utc=True) == Moment(TEN)
    assert parse_moment("2026-11-21 10:00Z", utc=False) == Moment(TEN)


@pytest.mark.parametrize(
    "text", ["", "+", "+30", "+s", "yesterday", "2026-13-01", "2026-11-21 25:00", "10:00", "-5s", "2026-11-21 10"]
)
def test_what_is_no_time(text: str) -> None:
    with pytest.raises(ValueError, match="is no"):
        parse_moment(text, utc=True)


def test_window() -> None:
    def at(request: int | None, response: int | None = None) -> Any:
        return SimpleNamespace(request_time_ns=request, response_time_ns=response)

    rows = [at(TEN - 1), at(TEN), at(None, TEN + 5), at(TEN + 10), at(None, None)]
    assert Window().keep(rows, None) == rows
    assert Window(Moment(TEN)).keep(rows, None) == rows[1:4]
    assert Window(Moment(TEN), Moment(TEN + 10)).keep(rows, None) == rows[1:3]
    assert Window(Moment(1, relative=True), Moment(12, relative=True)).keep(rows, TEN - 1) == rows[1:4]
