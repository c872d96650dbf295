"""How many of something fall into the busiest stretch of time."""

from __future__ import annotations

from collections import deque


class Busiest:
    """The largest number of moments within any window, of at most ``cap`` remembered at once; times must not run far back."""

    __slots__ = ("_cap", "_moments", "_width", "most", "total")

    def __init__(self, window_s: float, cap: int = 10_000) -> None:
        self._width = int(window_s * 1e9)
        self._moments: deque[int] = deque()
        self._cap = cap
        self.most = 0
        self.total = 0

    def add(self, time_ns: int | None) -> None:
        """One more moment; those without a time count in the total only."""
        self.total += 1
        if time_ns is None:
            return
        moments = self._moments
        moments.append(time_ns)
        while moments[0] < time_ns - self._width or len(moments) > self._cap:
            moments.popleft()
        self.most = max(self.most, len(moments))
