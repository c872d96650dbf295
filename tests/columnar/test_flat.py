"""Exchanges in columns are the same as those described one by one, and so is all that is counted beside them."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path

import pytest

from kdissect.columnar.batch import ExchangeBatch
from kdissect.dissect import Dissection, Options
from kdissect.report.closing import Summary
from kdissect.report.exchanges import EXCHANGES
from kdissect.report.formats.json_lines import JsonLines
from kdissect.report.sink import Sink
from kdissect.report.stats import Stats
from kdissect.wire.json import dumps
from tests.bench.conversations import KINDS
from tests.bench.traffic import Plan, generate

CAPTURES = sorted((Path(__file__).parents[2] / "captures").glob("*.pcapng"))


def told(path: Path, flat: bool, chunk_bytes: int, records: str) -> tuple[list[bytes], list[bytes], int]:
    """Exchanges, connections with their ledgers, and how many exchanges came in columns."""
    options = Options(flat=flat, bulk=flat, chunk_bytes=chunk_bytes, records=records)  # type: ignore[arg-type]
    dissection = Dissection([str(path)], options, lambda _: None)
    exchanges, columns = [], 0
    for batch in dissection.batches():
        exchanges += [dumps(exchange.to_contract(bodies=False)) for exchange in batch]
        columns += len(batch.columns) if isinstance(batch, ExchangeBatch) else 0
    connections = [dumps([c.id, c.broker, c.protocol, c.exchanges, c.ledger.to_contract()]) for c in dissection.connections]
    return exchanges, connections, columns


@pytest.mark.parametrize("path", CAPTURES, ids=lambda path: path.stem)
def test_committed_captures(path: Path) -> None:
    expected = told(path, False, 16 << 20, "heads")
    for chunk_bytes in (4096, 65536, 16 << 20):
        assert told(path, True, chunk_bytes, "heads")[:2] == expected[:2]


@pytest.mark.parametrize("kind", list(KINDS))
def test_generated_traffic(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "capture.pcap"
    generate(Plan(kind, 4_000_000, connections=5), path)
    for records in ("heads", "skip"):
        expected = told(path, False, 16 << 20, records)
        got = told(path, True, 16 << 20, records)
        assert got[:2] == expected[:2]
        assert kind.startswith("bulk") or got[2] > len(got[0]) // 2


def lines(path: Path, bodies: bool, bulk: bool) -> bytes:
    """What ``read -f ndjson`` writes."""
    records = "full" if bodies else "heads"
    options = Options(flat=bulk, bulk=bulk, records=records)  # type: ignore[arg-type]
    dissection = Dissection([str(path)], options, lambda _: None)
    stream = BytesIO()
    writer = JsonLines(EXCHANGES, Sink(stream, bodies=bodies))
    for batch in dissection.batches():
        writer.write(batch)
    writer.finish()
    return stream.getvalue()


@pytest.mark.parametrize("bodies", [False, True], ids=["flat", "bodies"])
@pytest.mark.parametrize("path", CAPTURES, ids=lambda path: path.stem)
def test_ndjson_of_committed_captures(path: Path, bodies: bool) -> None:
    assert lines(path, bodies, True) == lines(path, bodies, False)


@pytest.mark.parametrize("kind", list(KINDS))
def test_ndjson_and_stats_of_generated_traffic(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "capture.pcap"
    generate(Plan(kind, 4_000_000, connections=5), path)
    for bodies in (False, True):
        assert lines(path, bodies, True) == lines(path, bodies, False)
    tables = []
    for flat in (False, True):
        dissection = Dissection([str(path)], Options(flat=flat, bulk=flat, records="heads"), pytest.fail)
        stats, summary = Stats(), Summary()
        for batch in dissection.batches():
            stats.add(batch)
            summary.add(batch)
        tables.append((dumps(stats.to_json(dissection)), summary.lines(dissection)))
    assert tables[0] == tables[1]


def test_exchanges_in_columns_have_their_bodies_when_made_objects(tmp_path: Path) -> None:
    path = tmp_path / "capture.pcap"
    generate(Plan("chatty", 400_000, connections=3), path)
    told = [
        [dumps(exchange.to_contract()) for exchange in Dissection([str(path)], Options(flat=flat), pytest.fail)]
        for flat in (False, True)
    ]
    assert told[0] == told[1]


def test_slices_and_places(tmp_path: Path) -> None:
    path = tmp_path / "capture.pcap"
    generate(Plan("chatty", 400_000, connections=3), path)
    (batch, *_) = Dissection([str(path)], Options(flat=True, records="heads"), pytest.fail).batches()
    assert isinstance(batch, ExchangeBatch)
    assert [exchange.index for exchange in batch] == list(range(1, len(batch) + 1))
    assert batch[-1].index == len(batch) and [e.index for e in batch[3:9:2]] == [4, 6, 8]
    with pytest.raises(IndexError):
        batch[len(batch)]
