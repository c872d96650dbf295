"""Messages of every layout, as Kafka wrote them, cut at every byte and with every byte changed."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from kdissect.schema.layout import Layout
from tests.fuzz.fuzz_targets import CLEAR, decode, layouts, messages


def samples(all_of_them: bool) -> Iterator[tuple[int, Layout, bytes]]:
    """Number and layout of messages; of each layout one random one with little in it, or all that there are."""
    from tests.oracle.oracle_vectors import all_vectors

    at = {(layout.name, layout.kind, layout.version): index for index, layout in enumerate(layouts())}
    chosen: dict[int, list[bytes]] = {}
    for vector in all_vectors():
        if vector.kind is not None and not vector.draft:
            chosen.setdefault(at[vector.name, vector.kind, vector.version], []).append(vector.data)
    for index, found in chosen.items():
        if not all_of_them:
            long_enough = sorted((data for data in found if len(data) >= 60), key=len)
            found = long_enough[:1] or [max(found, key=len)]
        for data in found:
            yield index, layouts()[index], data


def cut_everywhere(all_of_them: bool) -> tuple[int, int]:
    cuts, seen = 0, set()
    for index, layout, data in samples(all_of_them):
        seen.add(index)
        whole = decode(layout, data, CLEAR)
        assert (whole.fault, whole.trailing) == (None, 0)
        for size in range(len(data)):
            cut = decode(layout, data[:size], CLEAR)
            where = (layout.name, layout.kind, layout.version, size)
            assert cut.fault is not None and cut.fault.kind == "more", where
            assert cut.fault.offset <= size, where
            assert cut.trailing == 0, where
            cuts += 1
    return cuts, len(seen)


def change_everywhere(all_of_them: bool) -> tuple[int, int]:
    """Both decoders agree, and what they call complete can be written and read: see :func:`fuzz_targets.messages`.

    Of one message of each layout a quarter of the bytes, else all.
    """
    changes, seen = 0, set()
    chance = random.Random(9)
    for index, _, data in samples(all_of_them):
        seen.add(index)
        prefix = index.to_bytes(2, "big")
        for at in range(len(data)) if all_of_them else range(index % 4, len(data), 4):
            bad = bytearray(data)
            bad[at] ^= 1 << chance.randrange(8) if at % 2 else chance.randrange(1, 256)
            messages(prefix + bad)
            changes += 1
    return changes, len(seen)


def test_a_message_of_every_layout_cut_at_every_byte(capsys: pytest.CaptureFixture[str]) -> None:
    cuts, seen = cut_everywhere(False)
    with capsys.disabled():
        print(f"\n{cuts} cuts of messages of {seen} layouts, none called complete")
    assert seen == 736


def test_a_message_of_every_layout_with_bytes_changed(capsys: pytest.CaptureFixture[str]) -> None:
    changes, seen = change_everywhere(False)
    with capsys.disabled():
        print(f"\n{changes} changed bytes in messages of {seen} layouts")
    assert seen == 736


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_every_message_cut_at_every_byte(capsys: pytest.CaptureFixture[str]) -> None:
    cuts, seen = cut_everywhere(True)
    with capsys.disabled():
        print(f"\n{cuts} cuts of all messages of {seen} layouts, none called complete")


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_every_message_with_every_byte_changed(capsys: pytest.CaptureFixture[str]) -> None:
    changes, seen = change_everywhere(True)
    with capsys.disabled():
        print(f"\n{changes} changed bytes in all messages of {seen} layouts")
