"""What the stages are timed on: synthetic worms as long as the published ones, made once for all stages."""

from functools import cache
from pathlib import Path

import numpy as np

import ethomarkov as em
from ethomarkov._core.segments import Segments
from ethomarkov._core.series import Series
from ethomarkov.io.results import load_result, save_results
from ethomarkov.markov import MarkovChain
from ethomarkov.posture import PostureBasis
from ethomarkov.recording import Recording, Track
from ethomarkov.simulation.animal import MarkovAnimal
from ethomarkov.states import Microstates, Symbols
from ethomarkov.study.settings import Settings
from ethomarkov.study.study import Study, run_study

THREADS = 2
N_WORMS, MINUTES, N_DELAYS, LAG = 12, 35, 11, 0.75
FRAMES = 16 * 60 * MINUTES
N_STATES = (250, 500, 1000)
FILE = "worms.nc"


def prepare(folder: Path) -> None:
    """Write twelve worms, their microstates at several N, and the study of a single worm."""
    made = em.simulate_worms(N_WORMS, 60 * MINUTES, threads=THREADS)
    postures = made.basis.project(made.recording)
    sequences = em.DelayEmbedding(N_DELAYS).transform(postures)
    found: dict[str, object] = {"postures": postures}
    for n in N_STATES:
        partition = em.Partition(n, threads=THREADS, max_iterations=10).fit(sequences)
        found |= {f"microstates_{n}": partition.microstates_, f"symbols_{n}": partition.label(sequences)}
    save_results(folder / FILE, found, {})
    one = em.simulate_worms(1, 60 * MINUTES)
    settings = Settings(n_states=1000, scan=False, n_resamples=0, n_walks=1, simulated_minutes=1)
    run_study(one.recording, settings, basis=one.basis, threads=THREADS).save(folder)


class Data:
    """What `prepare` wrote, read as it is needed, so that a stage's memory is its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.basis = PostureBasis.analytic()

    @cache  # noqa: B019 (one for the whole process)
    def study(self) -> Study:
        """Study of one worm with a thousand microstates."""
        return Study.load(self.folder)

    @cache  # noqa: B019
    def animal(self) -> MarkovAnimal:
        """Markov animal of that worm."""
        return self.study().model.animal()

    def runs(self, n_runs: int, minutes: float = MINUTES, method: str = "matched") -> Series:
        """Simulated postures of that animal."""
        return next(self.animal().behave(60.0 * minutes, n_runs, method=method, walks_per_block=n_runs))

    def postures(self, n_worms: int = N_WORMS) -> Series:
        """Mode amplitudes of the first worms."""
        whole = load_result(self.folder / FILE, "postures", Series)
        offsets, names = whole.segments.offsets[: n_worms + 1], whole.segments.individuals[:n_worms]
        return Series.from_rows(whole.values[: offsets[-1]], whole.sampling, offsets, names)

    def sequences(self, n_worms: int = N_WORMS) -> Series:
        """Posture sequences of the first worms."""
        return em.DelayEmbedding(N_DELAYS).transform(self.postures(n_worms))

    def points(self, n_worms: int = N_WORMS) -> np.ndarray:
        """The same as plain rows, for peers."""
        sequences = self.sequences(n_worms)
        return sequences.values[sequences.segments.valid]

    def angles(self, n_worms: int = N_WORMS) -> Recording:
        """Tangent angles of the first worms, as a tracker gives them."""
        postures = self.postures(n_worms)
        values, offsets = self.basis.reconstruct(postures).values, postures.segments.offsets
        names = postures.segments.individuals
        tracks = [Track(individual=name, values=values[offsets[i] : offsets[i + 1]]) for i, name in enumerate(names)]
        return Recording.from_tracks(tracks, kind="angle", sampling_rate=postures.sampling.rate)

    def microstates(self, n_states: int = 1000) -> Microstates:
        """Of all worms."""
        return load_result(self.folder / FILE, f"microstates_{n_states}", Microstates)

    def symbols(self, n_worms: int = N_WORMS, n_states: int = 1000) -> Symbols:
        """Microstates of the frames of the first worms."""
        whole = load_result(self.folder / FILE, f"symbols_{n_states}", Symbols)
        offsets, names = whole.segments.offsets[: n_worms + 1], whole.segments.individuals[:n_worms]
        segments = Segments.from_valid(whole.segments.valid[: offsets[-1]], offsets, names)
        labels = whole.labels[: offsets[-1]]
        return Symbols(labels=labels, n_states=n_states, segments=segments, sampling=whole.sampling)

    def chain(self, n_states: int = 1000) -> MarkovChain:
        """Of all worms."""
        return MarkovChain.from_symbols(self.symbols(n_states=n_states), LAG)
