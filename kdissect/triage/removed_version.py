"""Which requests will Kafka 4 turn down?"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Final

from kdissect.plugins.hooks import Rule

if TYPE_CHECKING:
    from kdissect.exchange import Exchange, Finding

OLDEST_ACCEPTED: Final[dict[int, int | None]] = {
    **dict.fromkeys((4, 5, 6, 7)),
    **dict.fromkeys((2, 9, 20, 27, 29, 30, 31, 32, 34, 35, 38, 39, 40, 41), 1),
    **dict.fromkeys((8, 19, 23), 2),
    **dict.fromkeys((0,), 3),
    **dict.fromkeys((1,), 4),
}
"""API key -> lowest version that Kafka 4.0 accepts (KIP-896), ``None`` for the ZooKeeper-era APIs that are gone; other keys keep
version 0.  Produce is *advertised* from 0 (KAFKA-18659) and accepted from 3."""


def _start() -> Callable[[Sequence[Exchange]], Iterable[tuple[int, Finding]]]:
    return _examine


def _examine(batch: Sequence[Exchange]) -> Iterator[tuple[int, Finding]]:
    from kdissect.exchange import Finding

    for exchange in batch:
        key, version = exchange.api_key, exchange.api_version
        if key is None or version is None:
            continue
        oldest = OLDEST_ACCEPTED.get(key, 0)
        if oldest is None:
            text = f"Kafka 4 no longer has {exchange.api}"
        elif version < oldest:
            text = f"Kafka 4 accepts {exchange.api} from v{oldest} on; this client sent v{version}"
        else:
            continue
        yield exchange.index, Finding("upgrade.kafka4_removed_version", "warning", text)


REMOVED_VERSION = Rule("upgrade.kafka4_removed_version", "Requests that Kafka 4 rejects", _start)
