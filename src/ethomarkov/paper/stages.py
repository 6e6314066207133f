"""What the paper needs of a study beyond the analyses of every study."""

from ethomarkov._core.series import Series
from ethomarkov._core.types import Progress
from ethomarkov.coarse import Cut
from ethomarkov.markov import MarkovChain
from ethomarkov.markov.entropy_scan import ScanSettings, scan_entropy
from ethomarkov.markov.noise_floor import Shuffles
from ethomarkov.markov.selection import EntropyTable
from ethomarkov.model.behaviour import BehaviourModel
from ethomarkov.paper.evidence import Evidence
from ethomarkov.paper.kinetics import PaperKinetics, estimate_kinetics
from ethomarkov.paper.published import ENTROPY_RATES, GAINS
from ethomarkov.paper.single_worms import SeededEntropy, WormRelaxation, measure_relaxation, measure_seeded_entropy
from ethomarkov.states import Symbols
from ethomarkov.study.stage import Size, Stage, stage
from ethomarkov.study.study import STAGES


def scan_grid(*, is_small: bool, seed: int) -> ScanSettings:
    """Give the grid of the scan, with all cells that were published.

    Parameters
    ----------
    is_small
        Leave out what no published figure needs.
    seed
        Random seed of the partitions.
    """
    n_delays = {k for k, _ in ENTROPY_RATES} | {k + step for k in GAINS for step in (0, 1)}
    n_states = {n for _, n in ENTROPY_RATES}
    if not is_small:
        n_delays, n_states = n_delays | set(ScanSettings().n_delays), n_states | set(ScanSettings().n_states)
    return ScanSettings(n_delays=tuple(sorted(n_delays)), n_states=tuple(sorted(n_states)), seed=seed)


def _scan_seconds(size: Size) -> float:
    return (1.5e-4 if size.settings["small_scan"] else 9e-4) * size.n_frames / size.threads


@stage(role="analysis", seconds=_scan_seconds)
def published_scan(
    postures: Series, *, small_scan: bool = False, seed: int, threads: int, progress: Progress | None
) -> EntropyTable:
    """Measure entropy rates over sequence lengths and numbers of microstates, in all published cells."""
    return scan_entropy(postures, scan_grid(is_small=small_scan, seed=seed), threads=threads, progress=progress)


@stage(role="analysis", seconds=lambda size: 5e-5 * size.n_frames / size.threads)
def seeded_entropy(
    postures: Series, worms: tuple[int, ...], *, seed: int, threads: int, progress: Progress | None
) -> SeededEntropy | None:
    """Measure the entropy rates of the paper's own worms, from partitions with several seeds."""
    return measure_seeded_entropy(postures, worms, seed, threads=threads, progress=progress)


@stage(
    role="analysis",
    seconds=lambda size: 0.06 * size.n_animals * (10 + int(size.settings["n_shuffles"])) / size.threads,
)
def worm_relaxation(
    symbols: Symbols, chain: MarkovChain, *, n_shuffles: int = 100, seed: int, threads: int, progress: Progress | None
) -> WormRelaxation:
    """Measure relaxation times of every worm's own chain, and those of its shuffled state sequence."""
    return measure_relaxation(symbols, chain, Shuffles(n=n_shuffles, seed=seed), threads=threads, progress=progress)


@stage(role="analysis", seconds=lambda size: 2e-5 * size.n_frames)
def paper_kinetics(model: BehaviourModel, cut: Cut, *, seed: int) -> PaperKinetics:
    """Measure kinetics, states, postures and events as the paper does."""
    return estimate_kinetics(Evidence(model=model, seed=seed), cut)


PAPER_STAGES: tuple[Stage, ...] = (published_scan, seeded_entropy, worm_relaxation, paper_kinetics)
ALL_STAGES: tuple[Stage, ...] = (*STAGES, *PAPER_STAGES)
"""Everything that can be asked of a study of the paper's worms."""
