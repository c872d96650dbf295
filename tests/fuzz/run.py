"""Fuzzes kdissect: ``python -m tests.fuzz.run messages --runs 1000000``.

Two engines: ``mutate`` changes good inputs at random; ``atheris`` is led by coverage (``pip install atheris``). Both
start from messages that Kafka's own code wrote. An input that goes wrong is written to ``--keep`` and ends the run.
"""

from __future__ import annotations

import argparse
import random
import resource
import sys
import time
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.fuzz.mutate import mutate

SLOW = 10.0
"""Seconds that no single input may take."""
MEMORY = 3 << 30
"""Bytes of address space for the whole run: whoever allocates what a length claims gets a MemoryError."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("target", nargs="+", help="messages, whole, formats, records, compression, contents, captures or all")
    parser.add_argument("--runs", type=int, default=100_000, help="inputs for each target")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--engine", choices=["mutate", "atheris"], default="mutate")
    parser.add_argument("--keep", type=Path, default=Path("build/fuzz"), help="where inputs that go wrong are written")
    chosen = parser.parse_args()
    if chosen.engine == "atheris":
        _atheris(chosen.target[0], chosen.runs, chosen.seed, chosen.keep)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    from tests.fuzz.fuzz_targets import TARGETS

    for name in TARGETS if chosen.target == ["all"] else chosen.target:
        started = time.perf_counter()
        slowest = run(name, chosen.runs, chosen.seed, chosen.keep)
        seconds = time.perf_counter() - started
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        print(
            f"{name}: {chosen.runs:,} inputs, seed {chosen.seed}, {seconds:.0f} s, {chosen.runs / seconds:,.0f} inputs/s, "
            f"slowest {slowest * 1000:.0f} ms, {peak} MiB; nothing wrong",
            flush=True,
        )


def run(name: str, runs: int, seed: int, keep: Path | None = None) -> float:
    """Puts ``runs`` inputs through a target and returns the longest time that one took; raises what the target raises."""
    from tests.fuzz.fuzz_targets import TARGETS

    target = TARGETS[name]
    seeds = list(target.seeds())
    chance = random.Random(seed)
    slowest = 0.0
    for _ in range(runs):
        at = int(chance.random() * len(seeds))
        # Neighbours are variants of one layout, or of the version beside it.
        data = mutate(seeds[at], seeds[at - chance.randrange(8)], chance)
        started = time.perf_counter()
        try:
            target.check(data)
        except BaseException as error:
            if keep is not None and not isinstance(error, KeyboardInterrupt):
                keep.mkdir(parents=True, exist_ok=True)
                file = keep / f"{name}-{sha256(data).hexdigest()[:12]}"
                file.write_bytes(data)
                print(f"{name}: {type(error).__name__} after input {file}", file=sys.stderr)
            raise
        slowest = max(slowest, time.perf_counter() - started)
        assert slowest < SLOW, (name, data.hex())
    return slowest


def _atheris(name: str, runs: int, seed: int, keep: Path) -> None:
    """Does not return: libFuzzer ends the process."""
    import atheris

    with atheris.instrument_imports(include=["kdissect"]):
        from tests.fuzz.fuzz_targets import TARGETS

        check = TARGETS[name].check
        with TemporaryDirectory() as folder:
            corpus = Path(folder)
            for seed_input in list(TARGETS[name].seeds())[::5]:
                (corpus / sha256(seed_input).hexdigest()[:16]).write_bytes(seed_input)
            keep.mkdir(parents=True, exist_ok=True)
            options = [f"-runs={runs}", f"-seed={seed}", "-max_len=4096", "-timeout=20", "-rss_limit_mb=3000"]
            options += ["-print_final_stats=1", f"-artifact_prefix={keep}/{name}-", folder]
            atheris.Setup([sys.argv[0], *options], check)
            atheris.Fuzz()


if __name__ == "__main__":
    main()
