"""How well states are found, over seeds and systems whose states are known.

    python benchmarks/states.py table  [--seeds 10] [--systems ...]   # labels at the true number of states
    python benchmarks/states.py number [--seeds 10] [--systems ...]   # how many states the tree says there are
    python benchmarks/states.py check                                 # whether the hidden Markov models are right

Labels are compared with the truth by adjusted mutual information, mean (worst) over seeds, beside two ceilings: a
forest that was taught the true labels of half of the animals, and the true state that each microstate holds most often.
Settings of the package were chosen on small seeds; the first seed here is 100.
"""

import argparse
import os
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from ethomarkov._core.parallel import ONE_THREAD

os.environ.update(ONE_THREAD)  # before numpy is imported: others share the cores

import hmm
import numpy as np
from scipy import sparse
from sklearn.metrics import adjusted_mutual_info_score

from ethomarkov._core.series import Series
from ethomarkov._core.types import IntArray
from ethomarkov.coarse.pcca import pcca_tree
from ethomarkov.coarse.smoothing import smooth_states
from ethomarkov.coarse.tree import GrowthSettings, StateTree, grow_tree
from ethomarkov.markov import MarkovChain
from ethomarkov.selection import choose_model
from ethomarkov.states import DelayEmbedding, Partition, Symbols
from ethomarkov.synthetic.labelled import SYSTEMS, LabelledSeries, make_system
from ethomarkov.synthetic.worm import IS_PIROUETTE

FIRST_SEED = 100
N_ANIMALS, DURATION = 6, 600.0
SEQUENCE, LAG = 11 / 16, 0.75
FASTER = {"lorenz": (0.3, 0.3)}  # seconds of a sequence and of the lag, for what moves faster than worms
FRAMES_PER_MICROSTATE, MOST_MICROSTATES = 150, 1000
SCORED, TAUGHT = 4, 2  # every so many frames: neighbours are all but the same
MACRO = "worms, run or pirouette"
NOT_KNOWN = {"worms": range(2, 8)}  # seven states overlap: what can be told apart lies between two and seven
Model = tuple[Series, Symbols, MarkovChain]


def model_of(labelled: LabelledSeries, seed: int, how: str = "fixed", name: str = "") -> Model:
    """Make sequences, microstates and their chain, at fixed or at chosen settings."""
    n_delays, n_states, lag = _fixed(labelled.series, name) if how == "fixed" else _chosen(labelled.series, seed)
    sequences = DelayEmbedding(n_delays).transform(labelled.series)
    symbols = Partition(n_states, seed=seed).fit(sequences).label(sequences)
    return sequences, symbols, MarkovChain.from_symbols(symbols, lag)


def _fixed(series: Series, name: str) -> tuple[int, int, float]:
    length, lag = FASTER.get(name, (SEQUENCE, LAG))
    n_frames, rate = int(series.segments.valid.sum()), series.sampling.rate
    n_states = min(n_frames // FRAMES_PER_MICROSTATE, MOST_MICROSTATES)
    return round(length * rate), n_states, round(lag * rate) / rate  # systems differ in their frames per second


def _chosen(series: Series, seed: int) -> tuple[int, int, float]:
    choice = choose_model(series, seed=seed)
    return choice.n_delays, choice.n_states, choice.lag


# --- labels -----------------------------------------------------------------------------------------------------------


@dataclass
class Case:
    """A recording, its model, and the true states on all frames."""

    labelled: LabelledSeries
    truth: IntArray
    seed: int
    sequences: Series
    symbols: Symbols
    chain: MarkovChain
    kept: dict[str, IntArray] = field(default_factory=dict)

    @classmethod
    def record(cls, name: str, seed: int, how: str, n_animals: int = N_ANIMALS) -> "Case":
        system = "worms" if name == MACRO else name
        labelled = make_system(system, n_animals, DURATION, seed)
        truth = IS_PIROUETTE[labelled.states].astype(np.int32) if name == MACRO else labelled.states
        return cls(labelled, truth, seed, *model_of(labelled, seed, how, system))

    @property
    def n_states(self) -> int:
        return int(self.truth.max()) + 1

    def score(self, labels: IntArray) -> float:
        """Compare labels with the truth on frames that have both a microstate and a label."""
        known = np.flatnonzero((labels >= 0) & self.symbols.segments.valid)[::SCORED]
        return float(adjusted_mutual_info_score(self.truth[known], labels[known]))


def by_tree(case: Case) -> IntArray:
    """Grow the tree to the true number of states, or as far as it can be grown."""
    tree = grow_tree(case.chain, GrowthSettings(n_states=case.n_states, n_resamples=0), symbols=case.symbols)
    case.kept["tree"] = tree.states_at(max(tree.levels))
    return case.symbols.relabel(case.kept["tree"]).labels


def by_pcca(case: Case) -> IntArray:
    """Group microstates by PCCA+ of the reversibilised chain, as the package does."""
    return case.symbols.relabel(pcca_tree(case.chain, case.n_states).states_at(case.n_states)).labels


def by_slow_pcca(case: Case) -> IntArray:
    """Group microstates by PCCA+ along the modes of largest λ rather than of largest |λ|.

    The mean of the chain and of standing still has the same modes in the order of λ. Waves that are seen every half
    turn have λ near -1, and PCCA+ itself takes them for slow.
    """
    still = sparse.eye_array(case.chain.states.size)
    lazy = replace(case.chain, transition=((case.chain.transition + still) / 2).tocsr())
    return case.symbols.relabel(pcca_tree(lazy, case.n_states).states_at(case.n_states)).labels


def by_gpcca(case: Case) -> IntArray | None:
    """Group microstates by G-PCCA of the chain as it is; None where a pair of complex eigenvalues would be torn.

    Along the modes of largest real part: by modulus, its default, it follows waves (0.2 on oscillators, for 0.9).
    """
    from pygpcca import GPCCA

    try:
        found = GPCCA(case.chain.transition.toarray(), z="LR", method="brandts").optimize(case.n_states)
    except ValueError:
        return None
    group = np.full(case.chain.n_states, -1, dtype=np.int32)
    group[case.chain.states] = found.macrostate_assignment
    return case.symbols.relabel(group).labels


def by_gaussian(case: Case) -> IntArray:
    return hmm.fit_postures(case.labelled.series, case.n_states, 0, case.seed)


def by_autoregression(case: Case) -> IntArray:
    return hmm.fit_postures(case.labelled.series, case.n_states, 2, case.seed)


def by_symbols(case: Case) -> IntArray:
    """Smooth the states of the tree in time."""
    return smooth_states(case.symbols, case.kept["tree"], case.chain.lag).states.labels


def by_lumping(case: Case) -> IntArray:
    """Give each microstate the true state that it holds most often."""
    known = case.symbols.segments.valid
    table = np.zeros((case.symbols.n_states, case.n_states))
    np.add.at(table, (case.symbols.labels[known], case.truth[known]), 1)
    return case.symbols.relabel(table.argmax(axis=1)).labels


def by_teaching(case: Case) -> IntArray:
    """Learn the true states of every other animal from sequences; label the others."""
    from sklearn.ensemble import RandomForestClassifier

    rows = np.flatnonzero(case.sequences.segments.valid)
    taught = case.sequences.segments.row_individual[rows] % 2 == 0
    lesson, exam = rows[taught][::TAUGHT], rows[~taught]
    forest = RandomForestClassifier(60, min_samples_leaf=5, random_state=case.seed)
    forest.fit(case.sequences.values[lesson], case.truth[lesson])
    labels = np.full(case.truth.size, -1, dtype=np.int32)
    labels[exam] = forest.predict(case.sequences.values[exam])
    return labels


METHODS: dict[str, Callable[[Case], IntArray | None]] = {
    "tree": by_tree,
    "tree, smoothed": by_symbols,
    "PCCA+": by_pcca,
    "PCCA+, slow": by_slow_pcca,
    "G-PCCA": by_gpcca,
    "Gaussian HMM": by_gaussian,
    "AR(2) HMM": by_autoregression,
    "best lumping": by_lumping,
    "taught": by_teaching,
}


def score_methods(name: str, seed: int, how: str) -> dict[str, tuple[float, float]]:
    """Score every method on one recording, with its seconds; NaN where it has no answer or is not at hand."""
    case = Case.record(name, seed, how)
    scores = {}
    for method, label in METHODS.items():
        begun = time.perf_counter()
        try:
            labels = label(case)
        except ImportError:  # of the peers that only this script needs
            labels = None
        score = np.nan if labels is None else case.score(labels)
        scores[method] = (score, time.perf_counter() - begun)
    return scores


def print_table(asked: argparse.Namespace, say: Callable[[str], None]) -> None:
    """Print the mean (worst) score of every method on every system with states."""
    names = asked.systems or [MACRO, *(name for name in SYSTEMS if _n_states(name) > 1)]
    say("| system, states | " + " | ".join(METHODS) + " |\n" + "|---" * (1 + len(METHODS)) + "|")
    seconds: Counter[str] = Counter()
    for name in names:
        found = _over_seeds(score_methods, name, asked)
        cells = [_mean_and_worst([one[method][0] for one in found]) for method in METHODS]
        say(f"| {name}, {2 if name == MACRO else _n_states(name)} | " + " | ".join(cells) + " |")
        for one in found:
            seconds.update({method: spent for method, (_, spent) in one.items()})
    n = len(names) * asked.seeds
    say("| seconds | " + " | ".join(f"{seconds[method] / n:.1f}" for method in METHODS) + " |")


def _mean_and_worst(scores: Sequence[float]) -> str:
    known = [score for score in scores if np.isfinite(score)]
    if not known:
        return "–"
    missing = f" {len(known)} of {len(scores)}" if len(known) < len(scores) else ""
    return f"{np.mean(known):.3f} ({min(known):.3f}){missing}"


# --- the number of states ---------------------------------------------------------------------------------------------


def count_states(name: str, seed: int, how: str, n_animals: int = N_ANIMALS) -> tuple[int, list[str], float]:
    """Say how many states the tree tells apart, why it did not go on, and the seconds that it took."""
    case = Case.record(name, seed, how, n_animals)
    begun = time.perf_counter()
    tree = grow_tree(case.chain, GrowthSettings(seed=seed), symbols=case.symbols)
    return tree.n_supported, objections(tree), time.perf_counter() - begun


def objections(tree: StateTree) -> list[str]:
    """List the kinds of objection to the divisions that were not made, one string per state."""
    nodes = tree.nodes_at(tree.n_supported) if tree.n_supported in tree.levels else (0,)
    return ["+".join(part.split(":")[0] for part in tree.remark[node].split("; ")) or "none" for node in nodes]


def print_numbers(asked: argparse.Namespace, say: Callable[[str], None]) -> None:
    """Print how often the tree is right, and what it says where it is not."""
    titles = ("system", "truth", "right", "answers", "objections of the states that wrong answers end with", "seconds")
    say("| " + " | ".join(titles) + " |\n" + "|---" * len(titles) + "|")
    for name in asked.systems or SYSTEMS:
        found = _over_seeds(count_states, name, asked, asked.animals)
        truth = NOT_KNOWN.get(name, (_n_states(name),))
        wrong = [one for one in found if one[0] not in truth]
        answers = ", ".join(f"{n} × {times}" for n, times in sorted(Counter(one[0] for one in found).items()))
        why = "; ".join(f"{n}: {' / '.join(kinds)}" for n, kinds, _ in wrong)
        right, seconds = len(found) - len(wrong), np.mean([one[2] for one in found])
        said = f"{min(truth)} to {max(truth)}" if len(truth) > 1 else str(truth[0])
        say(f"| {name} | {said} | {right} of {len(found)} | {answers} | {why} | {seconds:.1f} |")


# --- the command line -------------------------------------------------------------------------------------------------


def _n_states(name: str) -> int:
    return 2 if name == MACRO else make_system(name, 2, 60.0, 0).n_states


def _over_seeds(task: Callable, name: str, asked: argparse.Namespace, *more: object) -> list:
    from joblib import Parallel, delayed

    seeds = range(asked.first_seed, asked.first_seed + asked.seeds)
    return Parallel(n_jobs=asked.jobs)(delayed(task)(name, seed, asked.how, *more) for seed in seeds)


def main() -> None:
    """Read the command line and run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("table", "number", "check"))
    parser.add_argument("--seeds", type=int, default=10, help="how many")
    parser.add_argument("--first-seed", type=int, default=FIRST_SEED)
    parser.add_argument("--systems", nargs="+", choices=(MACRO, *SYSTEMS), help="all by default")
    parser.add_argument("--how", choices=("fixed", "chosen"), default="fixed", help="K, N and τ")
    parser.add_argument("--animals", type=int, default=N_ANIMALS, help="of `number`")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--out", type=Path, help="Markdown file that rows are added to as they come")
    asked = parser.parse_args()

    def say(line: str) -> None:
        print(line, flush=True)
        if asked.out is not None:
            with asked.out.open("a", encoding="utf-8") as file:
                file.write(line + "\n")

    if asked.what == "check":
        hmm.check()
    else:
        (print_table if asked.what == "table" else print_numbers)(asked, say)


if __name__ == "__main__":
    main()
