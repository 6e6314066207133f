"""How often intervals that are called 95 % contain the truth.

    python benchmarks/coverage.py             # means, rates, ratios and shares over 6, 12 and 20 animals, in a minute
    python benchmarks/coverage.py rates       # rates of hidden states whose labels are wrong in some frames, in an hour

The first table sets the intervals of the package beside percentiles of a bootstrap over animals. The second one takes
the true states of systems of `ethomarkov.synthetic`, puts a tenth of the frames into a wrong state, and compares the
rates and their intervals with the truth, for the estimate of two lags and that of one.
"""

import sys
from collections.abc import Callable

import numpy as np

from ethomarkov._core.interval import jackknife_limits, leave_one_out, mean_and_interval
from ethomarkov.coarse.kinetics import find_dwells, mean_dwell
from ethomarkov.coarse.passage import hopping_rates
from ethomarkov.states.symbols import Symbols
from ethomarkov.synthetic.labelled import LabelledSeries, make_system

N_ANIMALS = (6, 12, 20)
N_STUDIES, N_RESAMPLES, N_SEEDS = 20_000, 1000, 40
SYSTEMS = ("rare", "overlapping", "oscillators", "frequencies", "two and three")
LAG = 0.75
Sums = tuple[np.ndarray, np.ndarray]
Case = tuple[str, float, Callable[[np.random.Generator, tuple[int, int]], Sums]]


def mean_of(draw: Callable[[np.random.Generator, tuple[int, int]], np.ndarray]):
    """Make a mean a ratio whose lower sum counts the animals."""
    return lambda rng, shape: (draw(rng, shape), np.ones(shape))


def events(spread: float, per_animal: float):
    """Count events in recordings of unequal length, of animals whose rates follow a gamma law around 1."""

    def draw(rng, shape):
        time = per_animal * rng.uniform(0.5, 1.5, shape)
        return rng.poisson(rng.gamma(spread**-2, spread**2, shape) * time).astype(float), time

    return draw


def two_means(rng, shape):
    """Two positive quantities of the same animals that go together."""
    common = rng.lognormal(0, 0.3, shape)
    return common * rng.lognormal(0, 0.4, shape), common * rng.lognormal(0, 0.4, shape)


def difference(rng, shape):
    """One positive quantity less another."""
    return rng.lognormal(0, 0.5, shape) - rng.lognormal(0, 0.5, shape)


def pooled_share(rng, shape):
    """Share of the time of all animals, whose recordings are of unequal length."""
    time = rng.uniform(0.5, 1.5, shape)
    return rng.beta(3, 12, shape) * time, time


CASES: tuple[Case, ...] = (
    ("mean, normal (30 % spread), positive", 5.0, mean_of(lambda rng, shape: rng.normal(5, 1.5, shape))),
    ("mean, lognormal (31 % spread), positive", np.exp(0.045), mean_of(lambda rng, s: rng.lognormal(0, 0.3, s))),
    ("mean, lognormal (53 % spread), positive", np.exp(0.125), mean_of(lambda rng, s: rng.lognormal(0, 0.5, s))),
    ("mean, lognormal (95 % spread), positive", np.exp(0.32), mean_of(lambda rng, s: rng.lognormal(0, 0.8, s))),
    ("mean, normal around 0, signed", 0.0, mean_of(lambda rng, shape: rng.normal(0, 1, shape))),
    ("difference of lognormal quantities, signed", 0.0, mean_of(difference)),
    ("rate, 20 events per animal (30 % spread), positive", 1.0, events(0.3, 20)),
    ("rate, 20 events per animal (60 % spread), positive", 1.0, events(0.6, 20)),
    ("rate, 5 events per animal (60 % spread), positive", 1.0, events(0.6, 5)),
    ("rate, 0.3 events per animal (30 % spread), positive", 1.0, events(0.3, 0.3)),
    ("ratio of two means, positive", 1.0, two_means),
    ("mean share, beta(2, 2), share", 0.5, mean_of(lambda rng, shape: rng.beta(2, 2, shape))),
    ("mean share, beta(3, 12), share", 0.2, mean_of(lambda rng, shape: rng.beta(3, 12, shape))),
    ("mean share, beta(1, 19), share", 0.05, mean_of(lambda rng, shape: rng.beta(1, 19, shape))),
    ("pooled share, beta(3, 12), share", 0.2, pooled_share),
)  # fmt: skip


def coverage(case: Case, n_animals: int, rng: np.random.Generator) -> tuple[float, float]:
    """Share of studies whose interval contains the truth: of the package, and of the percentile bootstrap."""
    name, truth, draw = case
    upper, lower = draw(rng, (n_animals, N_STUDIES))
    scale = name.rpartition(", ")[2]
    if (lower == 1).all():
        _, low, high = mean_and_interval(upper, scale=scale)
    else:
        whole, left_out = upper.sum(axis=0) / lower.sum(axis=0), leave_one_out(upper) / leave_one_out(lower)
        low, high = jackknife_limits(whole, left_out, scale=scale, exposure=lower.sum(axis=0))
    weights = rng.multinomial(n_animals, np.full(n_animals, 1 / n_animals), N_RESAMPLES)
    part = slice(0, N_STUDIES // 5)  # enough for the two digits that are printed
    resampled = (weights @ upper[:, part]) / (weights @ lower[:, part])
    first, last = np.quantile(resampled, [0.025, 0.975], axis=0)
    return float(np.mean((low <= truth) & (truth <= high))), float(np.mean((first <= truth) & (truth <= last)))


def print_coverage() -> None:
    """Print the table of means, rates, ratios and shares."""
    print("| quantity | " + " | ".join(f"{n} animals | bootstrap" for n in N_ANIMALS) + " |")
    print("|---" * (1 + 2 * len(N_ANIMALS)) + "|")
    for k, case in enumerate(CASES):
        found = [coverage(case, n, np.random.default_rng([k, n])) for n in N_ANIMALS]
        cells = " | ".join(f"{ours:.3f} | {theirs:.2f}" for ours, theirs in found)
        print(f"| {case[0].rpartition(', ')[0]} | {cells} |", flush=True)


def wrong_labels(system: LabelledSeries, kind: str, rng: np.random.Generator) -> Symbols:
    """Put frames into a wrong state: single ones or bouts of a quarter of a second.

    "balanced" frames take a state by its share of time, so that shares remain; "even" ones take any other state.
    """
    states, n = np.array(system.states), system.n_states
    length = 4 if kind.endswith("bouts") else 1
    starts = np.flatnonzero(rng.random(states.size) < 0.1 / length)
    rows = (starts[:, None] + np.arange(length)).clip(max=states.size - 1)
    if kind.startswith("balanced"):
        states[rows] = rng.choice(states, starts.size)[:, None]
    else:
        states[rows] = (states[rows] + rng.integers(1, n, starts.size)[:, None]) % n
    series = system.series
    return Symbols(labels=states.astype(np.int32), n_states=n, segments=series.segments, sampling=series.sampling)


def print_rates() -> None:
    """Print ratios of rates to the truth, and how often their intervals contain it."""
    titles = ("system", "wrong frames", "two lags: ratio (least, most)", "covered", "one lag: ratio", "covered")
    print("| " + " | ".join((*titles, "1/dwell time: covered")) + " |\n" + "|---" * 7 + "|")
    for name in SYSTEMS:
        for kind in ("none", "balanced", "balanced bouts", "even", "even bouts"):
            found = [_rates_of(name, kind, seed) for seed in range(N_SEEDS)]
            two, covered, *others = (np.concatenate(column) for column in zip(*found, strict=True))
            cells = " | ".join(f"{column.mean():.2f}" for column in (covered, *others))
            print(f"| {name} | {kind} | {two.mean():.2f} ({two.min():.2f}, {two.max():.2f}) | {cells} |", flush=True)


def _rates_of(name: str, kind: str, seed: int) -> tuple[np.ndarray, ...]:
    system, rng = make_system(name, 6, 600.0, seed), np.random.default_rng([seed, 1])
    no_errors = Symbols(
        labels=system.states.astype(np.int32),
        n_states=system.n_states,
        segments=system.series.segments,
        sampling=system.series.sampling,
    )
    symbols = no_errors if kind == "none" else wrong_labels(system, kind, rng)
    true, where = system.rates, (system.rates > 0) & ~np.eye(system.n_states, dtype=bool)
    columns: list[np.ndarray] = []
    for method in ("two lags", "one lag"):
        found = hopping_rates(symbols, np.arange(system.n_states), LAG, method=method)
        columns += [(found.rates[where] / true[where]), ((found.low <= true) & (true <= found.high))[where]]
    dwells = [mean_dwell(find_dwells(symbols, LAG), state) for state in range(system.n_states)]
    columns.append(np.array([one.low <= -1 / true[k, k] <= one.high for k, one in enumerate(dwells)]))
    return tuple(columns)


if __name__ == "__main__":
    print_rates() if "rates" in sys.argv[1:] else print_coverage()
