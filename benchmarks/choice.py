"""How well K, N and τ are chosen, on systems whose answer is known.

    python benchmarks/choice.py worms   [--seeds 10] [--animals 6] [--minutes 10] [--rate 16]
    python benchmarks/choice.py systems [--seeds 10]

"worms" sets run or pirouette, as found with the choice of the package, beside a coarse grid of sequence lengths, with
rates and slow times; "systems" prints the choice and the slow time for systems of other kinds.
"""

import argparse
import itertools
import os
from collections.abc import Sequence

from ethomarkov._core.parallel import ONE_THREAD

os.environ.update(ONE_THREAD)  # before numpy is imported: others share the cores

import numpy as np
from scipy.interpolate import CubicSpline
from sklearn.metrics import adjusted_mutual_info_score

from ethomarkov._core.series import Series
from ethomarkov.coarse.passage import hopping_rates
from ethomarkov.coarse.tree import GrowthSettings, grow_with_cut
from ethomarkov.markov import MarkovChain, slow_spectrum
from ethomarkov.selection import choose_model
from ethomarkov.states import DelayEmbedding, Partition
from ethomarkov.synthetic.hidden import null_law
from ethomarkov.synthetic.labelled import make_system
from ethomarkov.synthetic.worm import IS_PIROUETTE, WormModel, simulate_worms

FIRST_SEED = 900
GRID = (1 / 16, 0.25, 0.5, 11 / 16, 1.0, 1.5)  # seconds
SCORED = 4
SYSTEMS = ("AR(1)", "AR(2)", "overdamped", "underdamped", "lorenz", "oscillators", "frequencies", "four wells")
KNOWN_TIMES = {"AR(1)": -1 / 16 / np.log(0.9), "overdamped": 4.20, "underdamped": 3.35}
"""Seconds: of the formula; of the generator on a grid of 1600 points; and from the decay of the sign of x between 2 and
8 s in six times 3000 walkers of 120 s, to 0.03."""


def worms_of(seed: int, n_animals: int, minutes: float, rate: float) -> tuple[Series, np.ndarray, np.ndarray]:
    """Record worms; give postures, run or pirouette, and the true rates between these two and of all states."""
    made = simulate_worms(n_animals, minutes * 60, model=WormModel(), seed=seed)
    recording, truth = made.recording, IS_PIROUETTE[made.truth.states].astype(np.int32)
    values, offsets, names = np.asarray(recording.values), recording.segments.offsets, recording.individuals
    if rate == 8:
        kept = np.concatenate([np.arange(a, b, 2) for a, b in itertools.pairwise(offsets)])
        values, truth, offsets = values[kept], truth[kept], offsets // 2
    if rate == 32:  # frames between the recorded ones by splines, as a faster camera would see them
        values = np.concatenate([_twice(values[a:b]) for a, b in itertools.pairwise(offsets)])
        truth, offsets = np.repeat(truth, 2), offsets * 2
    return Series.from_rows(values, rate, offsets, names), truth, made.truth.generators


def _twice(values: np.ndarray) -> np.ndarray:
    """Double the rate of one animal; nothing is made up across gaps."""
    known = np.isfinite(values).all(axis=1)
    smooth = CubicSpline(np.flatnonzero(known), values[known])(np.arange(2 * len(values)) / 2)
    smooth[~np.repeat(known, 2)] = np.nan
    return smooth


def coarse_rates(generators: np.ndarray) -> tuple[np.ndarray, float]:
    """Rates of leaving runs and pirouettes, and the slowest relaxation time, means over animals."""
    laws = np.array([null_law(rates) for rates in generators])
    rates = np.empty(2)
    for k, here in enumerate((~IS_PIROUETTE, IS_PIROUETTE)):
        flow = [
            law[here] @ rates_of[np.ix_(here, ~here)].sum(axis=1)
            for law, rates_of in zip(laws, generators, strict=True)
        ]
        rates[k] = np.sum(flow) / laws[:, here].sum()
    times = [-1 / np.sort(np.linalg.eigvals(rates_of).real)[-2] for rates_of in generators]
    return rates, float(np.mean(times))


def label_by(series: Series, seed: int, n_delays: int, n_states: int, lag: float):
    """Divide in two at some settings; give labels, the chain and the symbols."""
    sequences = DelayEmbedding(n_delays).transform(series)
    symbols = Partition(n_states, seed=seed).fit(sequences).label(sequences)
    chain = MarkovChain.from_symbols(symbols, lag)
    tree, _ = grow_with_cut(chain, GrowthSettings(n_states=2, n_resamples=0), symbols=symbols)
    return symbols.relabel(tree.states_at(2)), chain, symbols, tree


def agreement(truth: np.ndarray, labels) -> float:
    rows = np.flatnonzero(labels.segments.valid)[::SCORED]
    return float(adjusted_mutual_info_score(truth[rows], labels.labels[rows]))


def judge_worms(seed: int, asked: argparse.Namespace) -> dict[str, object]:
    """Compare the choice with a grid on one recording."""
    series, truth, generators = worms_of(seed, asked.animals, asked.minutes, asked.rate)
    choice = choose_model(series, seed=seed)
    labels, chain, symbols, tree = label_by(series, seed, choice.n_delays, choice.n_states, choice.lag)
    found = hopping_rates(symbols, tree.states_at(2), choice.lag)
    true, time = coarse_rates(generators)
    rates, low, high = (np.array([one[0, 1], one[1, 0]]) for one in (found.rates, found.low, found.high))
    grid = {}
    for seconds in GRID:
        n_delays = max(1, round(seconds * asked.rate))
        lag = max(n_delays, round(0.75 * asked.rate)) / asked.rate
        grid[seconds] = agreement(truth, label_by(series, seed, n_delays, choice.n_states, lag)[0])
    return {
        "choice": choice,
        "score": agreement(truth, labels),
        "grid": grid,
        "ratio": rates / true,
        "covered": (low <= true) & (true <= high),
        "time": float(slow_spectrum(chain, 1).relaxation_times[0]) / time,
    }


def print_worms(asked: argparse.Namespace) -> None:
    """Print a row per recording, and what they come to."""
    titles = ("seed", "K (slow, predictive)", "N", "τ (s)", "plateau", "AMI", "best of grid", "t₂/truth", "rates/truth")
    print("| " + " | ".join((*titles, "covered")) + " |\n" + "|---" * (len(titles) + 1) + "|")
    found = []
    for seed in range(asked.first_seed, asked.first_seed + asked.seeds):
        one = judge_worms(seed, asked)
        found.append(one)
        choice, best = one["choice"], max(one["grid"].values())
        at = max(one["grid"], key=one["grid"].get)
        ratio, covered = (
            ", ".join(f"{value:{form}}" for value in one[key]) for key, form in (("ratio", ".2f"), ("covered", "d"))
        )
        print(
            f"| {seed} | {choice.n_delays} ({choice.slow_delays}, {choice.predictive_delays}) | {choice.n_states} | "
            f"{choice.lag:.3g} | {'yes' if choice.is_flat else 'no'} | {one['score']:.3f} | {best:.3f} at {at:.2g} s | "
            f"{one['time']:.2f} | {ratio} | {covered} |",
            flush=True,
        )
    scores = np.array([one["score"] for one in found])
    behind = np.array([max(one["grid"].values()) - one["score"] for one in found])
    ratios, covered = (np.concatenate([one[key] for one in found]) for key in ("ratio", "covered"))
    off = np.maximum(ratios, 1 / ratios)
    print(
        f"\nAMI mean {scores.mean():.3f}, worst {scores.min():.3f}; behind the best of the grid by "
        f"{behind.mean():.3f}, at most {behind.max():.3f}; rates within 1.25 in {np.mean(off <= 1.25):.0%}, "
        f"at most {off.max():.2f}; "
        f"covered {covered.mean():.0%}; t₂/truth {np.mean([one['time'] for one in found]):.2f} "
        f"({min(one['time'] for one in found):.2f}, {max(one['time'] for one in found):.2f})"
    )


def judge_system(name: str, seed: int) -> tuple[object, float, float]:
    """Choose on one recording; give the choice, its slow time, and the agreement of the first division."""
    made = make_system(name, 6, 600.0, seed)
    choice = choose_model(made.series, seed=seed)
    labels, chain, _, _ = label_by(made.series, seed, choice.n_delays, choice.n_states, choice.lag)
    time = float(slow_spectrum(chain, 1).relaxation_times[0])
    return choice, time, agreement(made.states, labels) if made.n_states == 2 else np.nan


def print_systems(asked: argparse.Namespace) -> None:
    """Print the range of what was chosen for every system."""
    titles = ("system", "K", "N", "τ (s)", "no plateau", "no slow mode", "t₂ (s)", "truth", "AMI of two (worst)")
    print("| " + " | ".join(titles) + " |\n" + "|---" * len(titles) + "|")
    for name in asked.systems or SYSTEMS:
        found = [judge_system(name, seed) for seed in range(asked.first_seed, asked.first_seed + asked.seeds)]
        choices, times, scores = (list(column) for column in zip(*found, strict=True))
        known = f"{KNOWN_TIMES[name]:.2f}" if name in KNOWN_TIMES else ""
        score = "" if np.isnan(scores).any() else f"{np.mean(scores):.3f} ({min(scores):.3f})"
        print(
            f"| {name} | {_counted([c.n_delays for c in choices])} | {_counted([c.n_states for c in choices])} | "
            f"{min(c.lag for c in choices):.3g} to {max(c.lag for c in choices):.3g} | "
            f"{sum(not c.is_flat for c in choices)} | {sum(not c.is_slow for c in choices)} | "
            f"{np.mean(times):.2f} ({min(times):.2f}, {max(times):.2f}) | {known} | {score} |",
            flush=True,
        )


def _counted(values: Sequence[int]) -> str:
    numbers, times = np.unique(values, return_counts=True)
    return ", ".join(f"{n} × {k}" for n, k in zip(numbers, times, strict=True))


def main() -> None:
    """Read the command line and run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("worms", "systems"))
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--first-seed", type=int, default=FIRST_SEED)
    parser.add_argument("--animals", type=int, default=6)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--rate", type=float, default=16.0)
    parser.add_argument("--systems", nargs="+")
    asked = parser.parse_args()
    print_worms(asked) if asked.what == "worms" else print_systems(asked)


if __name__ == "__main__":
    main()
