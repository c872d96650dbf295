"""Tables that cannot grow without bound."""

from __future__ import annotations

from typing import Generic, TypeVar

Key = TypeVar("Key")
Value = TypeVar("Value")


class Table(dict[Key, Value], Generic[Key, Value]):
    """A dict of at most ``limit`` entries: one more, and the one longest not written makes room."""

    def __init__(self, limit: int) -> None:
        super().__init__()
        self.limit = limit
        self.dropped = 0
        """Entries that made room."""

    def __setitem__(self, key: Key, value: Value) -> None:
        self.pop(key, None)
        super().__setitem__(key, value)
        if len(self) > self.limit:
            del self[next(iter(self))]
            self.dropped += 1
