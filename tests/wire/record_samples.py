"""Records for the tests of batches and message sets: fixed samples and Hypothesis strategies."""

from __future__ import annotations

from hypothesis import strategies as st

T0 = 1_700_000_000_000

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
LEGACY_CODECS = CODECS[:4]

texts = st.one_of(st.none(), st.binary(max_size=80), st.binary(min_size=120, max_size=200))
headers = st.lists(st.fixed_dictionaries({"key": st.text(max_size=20), "value": texts}), max_size=3)


@st.composite
def record_lists(draw, *, magic: int = 2, min_size: int = 0):
    """Records with ascending absolute offsets, gaps included, as the reader gives them."""
    offset = draw(st.integers(0, 2**62))
    steps = draw(st.lists(st.integers(1, 9000), min_size=min_size, max_size=12))
    records = []
    for step in steps:
        records.append(
            {
                "offset": offset,
                "timestamp": draw(st.integers(-1, 2**62)) if magic else None,
                "key": draw(texts),
                "value": draw(texts),
                "headers": draw(headers) if magic == 2 else [],
            }
        )
        offset += step
    return records


def sample_records(count: int, *, magic: int = 2, first_offset: int = 0) -> list[dict[str, object]]:
    """Records that use nulls, empties, headers, and lengths around the steps of varints."""
    lengths = (0, 1, 6, 7, 56, 63, 64, 65, 127, 128, 300, 8191, 8192, 9000)
    return [
        {
            "offset": first_offset + i,
            "timestamp": (T0 + i * 37) if magic else None,
            "key": (None, b"", b"key-%d" % i)[i % 3],
            "value": None if i % 11 == 10 else bytes([i % 256]) * lengths[i % len(lengths)],
            "headers": (
                [{"key": f"h{i}", "value": b"x" * (i % 200)}, {"key": "", "value": None}] if magic == 2 and i % 4 == 1 else []
            ),
        }
        for i in range(count)
    ]
