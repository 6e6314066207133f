"""Costs of a study: exponents and extrapolations of made-up times, and the rows of a real, tiny bench."""

import math
import os

import pytest

from ethomarkov.exceptions import InputFormatError
from ethomarkov.study import Settings
from ethomarkov.study.bench import (
    STORING,
    Bench,
    Machine,
    StageCost,
    bench_study,
    describe_machine,
    extrapolate,
    growth_exponent,
)
from ethomarkov.study.defaults import PAPER_FRAMES
from ethomarkov.study.study import KEPT

TINY = Settings(n_delays=11, lag=0.75, n_states=12, n_walks=2, simulated_minutes=0.5, n_resamples=0, scan=False)


def made_up(cpu: dict[str, tuple[float, ...]], sizes: tuple[int, ...] = (100, 200, 400)) -> Bench:
    """Give a bench with these CPU seconds per stage, on two cores all the time, and 0.3 GB plus 1 MB per frame."""
    costs = [
        StageCost(stage=stage, n_frames=size, seconds=times[k] / 2, cpu_seconds=times[k], peak_gb=0.3 + size / 1000)
        for k, size in enumerate(sizes)
        for stage, times in cpu.items()
    ]
    machine = Machine(processor="abacus", cores=2, memory_gb=math.nan, system="wood", versions=("Python 3",))
    return Bench(machine=machine, threads=2, settings=TINY, costs=tuple(costs), first_use_seconds=0.0)


@pytest.mark.parametrize("power", [0.0, 0.5, 1.0, 2.5])
def test_exponent_of_a_power_law(power):
    sizes = [3, 10, 70, 200]
    assert growth_exponent(sizes, [7 * size**power for size in sizes]) == pytest.approx(power, abs=1e-12)


def test_exponent_is_the_slope_of_least_squares():
    # logarithms to base 2: sizes 0, 1, 2 and values 0, 2, 1, whose regression line has the slope 1/2
    assert growth_exponent([1, 2, 4], [1, 4, 2]) == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("sizes", "values"), [([1, 2], [0.0, 1.0]), ([5], [1.0]), ([5, 5], [1.0, 2.0]), ([1, 2], [1.0, math.nan])]
)
def test_exponent_that_cannot_be_known(sizes, values):
    assert math.isnan(growth_exponent(sizes, values))


def test_extrapolation_of_a_power_law_and_of_a_line():
    assert extrapolate([1, 2, 4], [2, 8, 32], 40) == pytest.approx(2 * 40**2)
    # 5 + 3 n has an exponent below one, by which too little would be foreseen
    assert extrapolate([1, 2, 4], [8, 11, 17], 40) == pytest.approx(5 + 3 * 40)


def test_extrapolation_never_shrinks():
    assert extrapolate([1, 2, 4], [3.0, 2.0, 1.0], 100) == pytest.approx(1.0)


def test_extrapolation_where_nothing_was_measured():
    assert extrapolate([1, 2], [0.0, 0.0], 100) == 0.0
    assert math.isnan(extrapolate([1, 2], [math.nan, 1.0], 100))


def test_stages_are_extrapolated_on_the_clock():
    found = made_up({"square": (1.0, 4.0, 16.0), "fixed": (2.0, 2.0, 2.0), "short": (0.001, 0.002, 0.004)})
    assert found.stages == ("square", "fixed", "short")
    assert found.sizes == (100, 200, 400)
    assert found.growth("square") == pytest.approx(2)
    assert found.growth("fixed") == pytest.approx(0, abs=1e-12)
    assert math.isnan(found.growth("short"))
    assert found.seconds_at("square", 4000) == pytest.approx(16 * 100 / 2)
    assert found.seconds_at("fixed", 4000) == pytest.approx(1)
    assert found.seconds_at("short", 4000) == pytest.approx(0.02)
    assert found.peak_at(4000) == pytest.approx(4.3)


def test_a_stage_without_time_needs_none():
    found = made_up({"nothing": (0.0, 0.0, 0.0)})
    assert found.seconds_at("nothing", 4000) == 0


def test_the_paper_is_twelve_worms_of_35_minutes():
    assert PAPER_FRAMES == 12 * 35 * 60 * 16


@pytest.mark.slow
def test_every_stage_is_timed_at_every_size():
    reported = []
    found = bench_study((2, 1, 2), TINY, seconds=60.0, progress=lambda what, done, total: reported.append(done / total))
    assert found.stages == (*(stage.name for stage in KEPT), STORING)
    assert found.sizes == (960, 1920)
    assert all(len(found.of(stage)) == 2 for stage in found.stages)
    assert all(cost.seconds >= 0 and cost.cpu_seconds >= 0 and cost.peak_gb > 0.01 for cost in found.costs)
    assert reported == sorted(reported)
    assert reported[0] == 0
    assert reported[-1] == 1


@pytest.mark.parametrize("sizes", [(), (3,), (2, 2), (0, 1)])
def test_too_few_sizes_are_refused(sizes):
    with pytest.raises(InputFormatError, match="at least two different ones"):
        bench_study(sizes, TINY)


def test_machine_is_described():
    machine = describe_machine()
    assert machine.cores == os.cpu_count()
    assert machine.processor
    for name in ("Python 3", "numpy", "numba"):
        assert name in machine.sentence
    assert "nan" not in made_up({}).machine.sentence
