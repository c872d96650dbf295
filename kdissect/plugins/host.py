"""Finds plugins, asks them what they offer, and keeps the failures of each to itself."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from contextlib import contextmanager
from fnmatch import fnmatchcase
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import pluggy

from kdissect.plugins import hooks
from kdissect.plugins.hooks import Listing, RecordPart, Rule, ValueDecoder

if TYPE_CHECKING:
    import click

    from kdissect.exchange import Exchange, Finding
    from kdissect.report.view import Format

Item = TypeVar("Item")


class Host:
    """The plugins of one run: the built-ins first, then others in order of their names.

    Whatever a plugin raises, while it is loaded or later, becomes one
    ``plugin.failed`` finding in :attr:`failures`, is told to ``on_failure``
    once, and the run goes on without what that plugin would have given.
    """

    def __init__(self, on_failure: Callable[[str], None] = lambda text: None, discover: bool = True) -> None:
        self._on_failure = on_failure
        self._told: set[str] = set()
        self.failures: list[Finding] = []
        self.names: list[str] = []
        self._manager = pluggy.PluginManager(hooks.PROJECT)
        self._manager.add_hookspecs(hooks)
        from kdissect.plugins import builtin

        self.register(builtin, "kdissect")
        if discover:
            self._discover()

    def _discover(self) -> None:
        from importlib.metadata import entry_points

        for entry in sorted(entry_points(group=hooks.PROJECT), key=lambda entry: entry.name):
            try:
                plugin = entry.load()
            except (Exception, SystemExit) as error:
                self._failed(entry.name, "loading", error)
            else:
                self.register(plugin, entry.name)

    def register(self, plugin: object, name: str) -> None:
        """Adds a plugin: a module or object with functions marked ``@hookimpl``."""
        try:
            self._manager.register(plugin, name)
        except Exception as error:  # Wrong arguments for a hook, a name taken twice.
            self._failed(name, "registering", error)
        else:
            self.names.append(name)

    def collect(self, hook: str, kind: type[Item]) -> list[tuple[str, Item]]:
        """``(plugin name, item)`` for everything that the plugins declare under ``hook``."""
        found: list[tuple[str, Item]] = []
        for implementation in reversed(getattr(self._manager.hook, hook).get_hookimpls()):
            name = implementation.plugin_name
            try:
                items = list(implementation.function())
                for item in items:
                    if not isinstance(item, kind):
                        raise TypeError(f"{type(item).__name__} where {kind.__name__} is expected")
            except (Exception, SystemExit) as error:
                self._failed(name, hook, error)
            else:
                found += [(name, item) for item in items]
        found.sort(key=lambda pair: self.names.index(pair[0]))
        return found

    @cached_property
    def formats(self) -> dict[str, Format]:
        """Output formats by name; a plugin cannot replace a built-in one."""
        from kdissect.report.view import Format

        return self._by_name("kdissect_formats", Format, lambda item: item.name)

    @cached_property
    def listings(self) -> dict[str, Listing]:
        """Listings by the name of their view."""
        return self._by_name("kdissect_listings", Listing, lambda item: item.view.name)

    @cached_property
    def value_decoders(self) -> dict[str, ValueDecoder]:
        """Value decoders by name."""
        return self._by_name("kdissect_value_decoders", ValueDecoder, lambda item: item.name)

    @cached_property
    def commands(self) -> dict[str, click.Command]:
        """Commands that plugins add."""
        import click

        return self._by_name("kdissect_commands", click.Command, lambda item: item.name or "")

    def load_schema_files(self) -> None:
        """Adds the schema files of plugins to the default catalogue."""
        from pathlib import Path

        for name, path in self.collect("kdissect_schema_files", Path):
            from kdissect.schema.catalogue import load

            try:
                load(path)
            except Exception as error:
                self._failed(name, f"schema file {path}", error)

    def decode_value(self, part: RecordPart, name: str | None = None) -> tuple[str, object] | None:
        """``(decoder name, value)`` of the decoder called ``name``, or of the first that claims the topic and knows the bytes."""
        for decoder in self._decoders_for(part.topic, name):
            try:
                value = decoder.decode(part)
            except Exception as error:
                self._failed(decoder.name, "decoding a value", error)
                continue
            if value is not None:
                return decoder.name, value
        return None

    def _decoders_for(self, topic: str | None, name: str | None) -> Iterator[ValueDecoder]:
        if name is not None:
            yield self.value_decoders[name]
        elif topic is not None:
            for decoder in self.value_decoders.values():
                if any(fnmatchcase(topic, pattern) for pattern in decoder.topics):
                    yield decoder

    @contextmanager
    def isolated(self, plugin: str, doing: str) -> Iterator[None]:
        """Runs what a plugin gave; whatever it raises becomes a finding and goes no further."""
        try:
            yield
        except Exception as error:
            self._failed(plugin, doing, error)

    def has_rules(self, without: Container[str] = ()) -> bool:
        """Whether there are rules for codes other than these."""
        return any(rule.code not in without for _, rule in self.collect("kdissect_rules", Rule))

    def start_rules(self, without: Container[str] = ()) -> Callable[[Sequence[Exchange]], list[tuple[int, Finding]]]:
        """Begins a run of all rules; the returned function takes each batch and gives their findings by exchange index.

        Rules whose code is in ``without`` stay out.  One that raises is out for the rest of the run: its state can no
        longer be trusted.
        """
        running: list[tuple[str, Rule, Callable[[Sequence[Exchange]], Iterable[tuple[int, Finding]]]]] = []
        for name, rule in self.collect("kdissect_rules", Rule):
            if rule.code in without:
                continue
            try:
                running.append((name, rule, rule.start()))
            except Exception as error:
                self._failed(name, f"rule {rule.code}", error)

        def examine(batch: Sequence[Exchange]) -> list[tuple[int, Finding]]:
            found: list[tuple[int, Finding]] = []
            for entry in list(running):
                name, rule, feed = entry
                try:
                    found += list(feed(batch))
                except Exception as error:
                    self._failed(name, f"rule {rule.code}", error)
                    running.remove(entry)
            return found

        return examine

    def rows(self, listing: Listing, batch: Sequence[Exchange]) -> Sequence[Any]:
        """The rows that ``listing`` makes of a batch; none where it raises."""
        try:
            rows = listing.rows(batch)
            return rows if isinstance(rows, Sequence) else list(rows)
        except Exception as error:
            self._failed(listing.view.name, "listing", error)
            return []

    def _by_name(self, hook: str, kind: type[Item], key: Callable[[Item], str]) -> dict[str, Item]:
        named: dict[str, Item] = {}
        for plugin, item in self.collect(hook, kind):
            if named.setdefault(key(item), item) is not item:
                self._failed(plugin, hook, ValueError(f"the name {key(item)!r} is taken"))
        return named

    def _failed(self, plugin: str, doing: str, error: BaseException) -> None:
        from kdissect.exchange import Finding

        text = f"plugin {plugin} failed ({doing}): {type(error).__name__}: {error}"
        if text not in self._told and len(self._told) < 1000:
            self._told.add(text)
            self.failures.append(Finding("plugin.failed", "warning", text))
            self._on_failure(text)
