"""A short run of every fuzz target in every test run, a long one on demand."""

from __future__ import annotations

import os

import pytest

from tests.fuzz.fuzz_targets import TARGETS
from tests.fuzz.run import run


@pytest.mark.parametrize("name", TARGETS)
def test_a_few_thousand_changed_inputs(name: str) -> None:
    run(name, 3000, seed=int(os.environ.get("KDISSECT_FUZZ_SEED", "1")))


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("name", TARGETS)
def test_many_changed_inputs(name: str) -> None:
    run(name, int(os.environ.get("KDISSECT_FUZZ_INPUTS", "200000")), seed=int(os.environ.get("KDISSECT_FUZZ_SEED", "2")))


@pytest.mark.parametrize("name", TARGETS)
def test_every_target_has_seeds_that_it_reads(name: str) -> None:
    seeds = list(TARGETS[name].seeds())
    assert len(seeds) >= 26
    for seed in seeds[:: max(1, len(seeds) // 500)]:
        TARGETS[name].check(seed)
