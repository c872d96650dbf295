"""Sizes, durations and times."""

from __future__ import annotations

import pytest

from kdissect.report.human import Clock, count, duration_ms, size, slowness


@pytest.mark.parametrize(
    ("number", "text"),
    [(None, "-"), (0, "0 B"), (999, "999 B"), (1000, "1.00 kB"), (1234, "1.23 kB"), (99_949, "99.9 kB"), (999_499, "999 kB"),
     (999_500, "1.00 MB"), (123_456_789, "123 MB"), (5 * 10**12, "5.00 TB")],
)  # fmt: skip
def test_sizes(number: int | None, text: str) -> None:
    assert size(number) == text


@pytest.mark.parametrize(
    ("ms", "text"),
    [(None, "-"), (0, "0 ms"), (0.0421, "0.042 ms"), (1.5, "1.50 ms"), (12.34, "12.3 ms"), (999.4, "999 ms"), (999.6, "1.00 s"),
     (59_999, "60.0 s"), (60_000, "1 min"), (125_000, "2 min 5 s"), (3_600_000, "1 h"), (12_000_000, "3 h 20 min"),
     (7 * 86_400_000, "7 d"), (-2.5, "-2.50 ms")],
)  # fmt: skip
def test_durations(ms: float | None, text: str) -> None:
    assert duration_ms(ms) == text


def test_counts() -> None:
    assert [count(n, "exchange") for n in (0, 1, 2000)] == ["0 exchanges", "1 exchange", "2,000 exchanges"]
    assert count(2, "batch", "batches") == "2 batches"


def test_waiting_apis_get_more_patience() -> None:
    assert [slowness(0, ms) for ms in (None, 99.9, 100, 999, 1000)] == ["", "", "slow", "slow", "very_slow"]
    assert [slowness(1, ms) for ms in (500, 4999, 5000, 50_000)] == ["", "", "slow", "very_slow"]


def test_clock_in_utc() -> None:
    clock = Clock(utc=True)
    ns = 1_795_255_200_123_456_789
    assert clock.full(ns, 9) == "2026-11-21T10:00:00.123456789Z"
    assert clock.full(ns, 6) == "2026-11-21T10:00:00.123456Z"
    assert clock.time(ns) == "10:00:00.123"
    assert (clock.day(ns), clock.zone(ns)) == ("2026-11-21", "UTC")
    assert clock.full(-1, 3) == "1969-12-31T23:59:59.999Z"


def test_clock_in_local_time(monkeypatch: pytest.MonkeyPatch) -> None:
    import time

    monkeypatch.setenv("TZ", "Asia/Kolkata")
    time.tzset()
    try:
        assert Clock(utc=False).full(1_795_255_200_000_000_000, 3) == "2026-11-21T15:30:00.000+05:30"
    finally:
        monkeypatch.undo()
        time.tzset()


def test_times_beyond_the_calendar_do_not_raise() -> None:
    assert Clock(utc=True).full((1 << 63) - 1, 3)
    assert Clock(utc=False).full(10**21, 3)
