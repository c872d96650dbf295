"""Tables that cannot grow without bound."""

from __future__ import annotations

from typing import Generic, TypeVar

LONGEST = 1024
"""Characters of a name that is remembered (Kafka's topics have at most 249); longer ones are passed over."""

Key = TypeVar("Key")
Value = TypeVar("Value")


def memorable(*names: str) -> bool:
    """Whether none of these names is longer than what is kept."""
    return all(len(name) <= LONGEST for name in names)


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
