"""Which requests will Kafka 4 turn down?  Said of each exchange; :mod:`kdissect.triage.upgrade` says it of clients."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from kdissect.plugins.hooks import Rule

if TYPE_CHECKING:
    from kdissect.exchange import Exchange, Finding


def _start() -> Callable[[Sequence[Exchange]], Iterable[tuple[int, Finding]]]:
    return _examine


def _examine(batch: Sequence[Exchange]) -> Iterator[tuple[int, Finding]]:
    from kdissect.exchange import Finding
    from kdissect.triage.api_versions import FIRST_WITHOUT_OLD, release, releases

    before = next(reversed([table.apis for name, table in releases().items() if name.startswith("3.")]))
    accepted = release(FIRST_WITHOUT_OLD).apis
    for exchange in batch:
        key, version = exchange.api_key, exchange.api_version
        if key is None or version is None:
            continue
        if key not in accepted:
            if key not in before:
                continue
            text = f"Kafka 4 no longer has {exchange.api}"
        elif version < accepted[key].oldest:
            text = f"Kafka 4 accepts {exchange.api} from v{accepted[key].oldest} on; this client sent v{version}"
        else:
            continue
        yield exchange.index, Finding("upgrade.kafka4_removed_version", "warning", text)


REMOVED_VERSION = Rule("upgrade.kafka4_removed_version", "Requests that Kafka 4 rejects", _start)
