"""Several captures read as one in the order of time."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kdissect.capture import open_captures
from kdissect.model import UNSTAMPED
from tests.support.packets import T0, Packet, ethernet, interface, ip4, pcap, pcapng, read, section, simple, tcp


def packet(time: int, name: int = 0) -> Packet:
    return Packet(ethernet(ip4(tcp(bytes([name]) * (1 + time % 50), seq=time % 2**32))), T0 + time * 1000)


def expected(files: list[list[Packet]]) -> list[tuple[int, int, bytes]]:
    """(file, number, data) by the rule: the latest time so far within the capture, then the capture, then the place."""
    out = []
    for index, packets in enumerate(files):
        clock = UNSTAMPED
        for number, p in enumerate(packets, 1):
            clock = max(clock, p.time_ns)
            out.append((clock, index, number, p.data))
    return [x[1:] for x in sorted(out, key=lambda x: x[:3])]


def write(folder: Path, files: list[list[Packet]]) -> list[Path]:
    paths = []
    for i, packets in enumerate(files):
        path = folder / f"{i}.cap"
        path.write_bytes(pcapng(packets) if i % 2 else pcap(packets))
        paths.append(path)
    return paths


def merged(paths: list[Path], chunk_bytes: int = 1 << 20) -> list[tuple[int, int, bytes]]:
    return [(p[0], p[1], p[5]) for p in read(paths, chunk_bytes=chunk_bytes).packets]


@settings(max_examples=150, deadline=None)
@given(st.lists(st.lists(st.integers(0, 40), max_size=12), min_size=1, max_size=5), st.sampled_from([1, 150, 1000, 1 << 20]))
def test_any_times_in_any_chunks(tmp_path_factory: pytest.TempPathFactory, times: list[list[int]], chunk: int) -> None:
    files = [[packet(t, i) for t in ts] for i, ts in enumerate(times)]
    paths = write(tmp_path_factory.mktemp("merge"), files)
    assert merged(paths, chunk) == expected(files)


def test_rotated_files_given_in_any_order_come_in_the_order_of_time(tmp_path: Path) -> None:
    files = [[packet(i * 100 + t, i) for t in range(40)] for i in range(12)]
    paths = write(tmp_path, files)
    shuffled = random.Random(1).sample(range(12), 12)
    got = read([paths[i] for i in shuffled])
    assert [p[5] for p in got.packets] == [p.data for f in files for p in f]
    assert [p[0] for p in got.packets[::40]] == [shuffled.index(i) for i in range(12)]
    assert [s["ordinal"] for s in got.segments] == list(range(480))


def test_files_that_do_not_overlap_go_through_uncopied_and_one_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = write(tmp_path, [[packet(i * 100 + t) for t in range(40)] for i in range(8)])
    import kdissect.capture.merge as merge

    def never(_: object) -> None:
        raise AssertionError("copied")

    monkeypatch.setattr(merge, "_interleave", never)
    opened: list[int] = []
    at_most = 0
    original = merge._Stream.__init__

    def count(self: merge._Stream, source: merge.Input) -> None:
        opened.append(source.order)
        original(self, source)

    monkeypatch.setattr(merge._Stream, "__init__", count)
    for batch in open_captures([str(p) for p in paths], on_warning=print):
        at_most = max(at_most, len(opened) - int(batch.file[0]))
    assert opened == list(range(8))
    assert at_most == 1


def test_columns_stay_together_when_interleaved(tmp_path: Path) -> None:
    a = [Packet(packet(t, 1).data[:50], T0 + t * 1000, length=500 + t) for t in range(0, 60, 2)]
    b = [Packet(ip4(tcp(bytes([t]), seq=t)), T0 + t * 1000, length=700 + t) for t in range(1, 60, 2)]
    (tmp_path / "a").write_bytes(pcap(a))
    (tmp_path / "b").write_bytes(pcapng(b, link=101))
    got = read([tmp_path / "a", tmp_path / "b"])
    assert [(p[0], p[1], p[2], p[3], p[4]) for p in got.packets] == [
        (t % 2, t // 2 + 1, T0 + t * 1000, (700 if t % 2 else 500) + t, 101 if t % 2 else 1) for t in range(60)
    ]


def test_packets_without_time_stay_where_they_are_in_their_capture(tmp_path: Path) -> None:
    frame = packet(0).data
    (tmp_path / "a").write_bytes(pcap([packet(5)]))
    (tmp_path / "b").write_bytes(section() + interface() + simple(frame))
    (tmp_path / "c").write_bytes(pcapng([packet(1), packet(9)]) + simple(frame))
    got = read([tmp_path / x for x in "abc"])
    assert [(p[0], p[1]) for p in got.packets] == [(1, 1), (2, 1), (0, 1), (2, 2), (2, 3)]


def test_empty_and_unreadable_captures_among_others(tmp_path: Path) -> None:
    paths = write(tmp_path, [[packet(1)], [], [packet(0)]])
    (tmp_path / "text").write_text("no capture at all")
    got = read([paths[0], tmp_path / "text", tmp_path / "missing", paths[1], paths[2]])
    assert [p[0] for p in got.packets] == [4, 0]
    assert [bool(f.error) for f in got.reader.files] == [False, True, True, False, False]


def test_the_same_warning_is_given_once(tmp_path: Path) -> None:
    """Looking at the first packets to find the order reports nothing itself."""
    paths = write(tmp_path, [[packet(t) for t in range(5)], [packet(t + 9) for t in range(5)]])
    for path in paths:
        path.write_bytes(path.read_bytes()[:-3])
    assert len(read(paths).warnings) == 2
