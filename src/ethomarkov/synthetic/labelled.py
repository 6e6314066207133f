"""Systems with a known number of states, among them systems with none, to test methods that find states."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from scipy.signal import lfilter

from ethomarkov._core.random import generator
from ethomarkov._core.result import Result, array_field, freeze_arrays
from ethomarkov._core.sampling import Sampling
from ethomarkov._core.series import Series
from ethomarkov._core.types import FloatArray, IntArray
from ethomarkov._core.words import count_of
from ethomarkov.exceptions import InputFormatError
from ethomarkov.synthetic.hidden import hop
from ethomarkov.synthetic.systems import double_well, lorenz, underdamped_well
from ethomarkov.synthetic.worm import WormModel, simulate_worms

RATE = 16.0
SETTLE = 10.0
STEPS_PER_FRAME = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelledSeries(Result):
    """A series whose true states are known.

    Parameters
    ----------
    series
        The recorded series.
    states
        True state of every frame.
    rates
        True transition rates per second; zero by zero where the states are no Markov chain of known rates.

    Examples
    --------
    >>> one = make_system("frequencies", n_animals=2, duration=20.0)
    >>> one.headline()
    '3 states, 640 frames'
    """

    series: Series
    states: IntArray = array_field("frame")
    rates: FloatArray = array_field("from_state", "to_state", unit="1/s")

    def __post_init__(self) -> None:
        freeze_arrays(self)

    @property
    def n_states(self) -> int:
        """Number of states; 1 where the system has no slow states."""
        return int(self.states.max()) + 1

    def headline(self) -> str:
        """Give the number of true states and of frames."""
        known = count_of(self.n_states, "state") if self.states.size else "no state"
        return f"{known}, {count_of(self.states.size, 'frame')}"


def make_system(name: str, n_animals: int = 6, duration: float = 600.0, seed: int = 0) -> LabelledSeries:
    """Simulate a system of `SYSTEMS`.

    Parameters
    ----------
    name
        One of `SYSTEMS`.
    n_animals
        Number of independent individuals.
    duration
        Seconds of each.
    seed
        Random seed.

    Examples
    --------
    >>> make_system("frequencies", n_animals=2, duration=20.0).n_states
    3
    """
    if name not in SYSTEMS:
        raise InputFormatError(f"There is no system {name!r}; use one of {', '.join(SYSTEMS)}.")
    return SYSTEMS[name](n_animals, duration, seed)


# --- systems that hop between hidden states ---------------------------------------------------------------------------


def _hopping(
    rates: FloatArray,
    emit: Callable[[IntArray, np.random.Generator], FloatArray],
    name: str,
) -> Callable[[int, float, int], LabelledSeries]:
    """Make a system from rates and from what is recorded, given the state of every frame."""
    rates = rates - np.diag(rates.sum(axis=1))

    def record(n_animals: int, duration: float, seed: int) -> LabelledSeries:
        sampling, nowhere = Sampling(RATE), np.zeros(len(rates), dtype=bool)
        n_frames = round(duration * RATE)
        rngs = [generator(seed, name, i) for i in range(n_animals)]
        states = [hop(rates, nowhere, n_frames, sampling, 0.0, rng) for rng in rngs]
        rows = np.concatenate([emit(path, rng) for path, rng in zip(states, rngs, strict=True)])
        series = Series.from_rows(rows, sampling, np.arange(n_animals + 1) * n_frames)
        return LabelledSeries(series=series, states=np.concatenate(states), rates=rates)

    return record


def _oscillation(
    states: IntArray,
    rng: np.random.Generator,
    frequency: FloatArray,
    amplitude: FloatArray,
    offset: FloatArray,
) -> FloatArray:
    """Turn around a circle with the frequency, radius and center of the state, followed smoothly; three components."""
    n = states.size
    speed = _follow(frequency[states], 0.1) + 0.08 * frequency[states] * _coloured(n, 0.5, rng)
    phase = rng.uniform(0, 2 * np.pi) + 2 * np.pi * np.cumsum(speed) / RATE
    radius = _follow(amplitude[states], 0.15) * (1 + 0.12 * _coloured(n, 0.8, rng))
    third = _follow(offset[states], 0.15) + 0.35 * _coloured(n, 0.6, rng)
    rows = np.stack([radius * np.cos(phase), radius * np.sin(phase), third], axis=1)
    return np.asarray(rows + 0.03 * rng.normal(size=rows.shape))


def _clouds(
    states: IntArray, rng: np.random.Generator, centers: FloatArray, spread: float, memory: float
) -> FloatArray:
    """Fluctuate around the center of the state, with a memory in seconds."""
    noise = np.stack([_coloured(states.size, memory, rng) for _ in range(centers.shape[1])], axis=1)
    followed = np.stack([_follow(column[states], 0.1) for column in centers.T], axis=1)
    return np.asarray(followed + spread * noise)


def _follow(demand: FloatArray, time: float) -> FloatArray:
    keep = np.exp(-1 / (time * RATE))
    return np.asarray(lfilter([1 - keep], [1, -keep], demand, zi=[keep * demand[0]])[0])


def _coloured(n: int, time: float, rng: np.random.Generator) -> FloatArray:
    """Draw an Ornstein–Uhlenbeck path of unit variance."""
    keep = np.exp(-1 / (time * RATE))
    kicks = rng.normal(0, np.sqrt(1 - keep**2), n)
    return np.asarray(lfilter([1], [1, -keep], kicks, zi=[keep * rng.normal()])[0])


def _cyclic(dwell: tuple[float, ...], forward: float = 0.5) -> FloatArray:
    """Rates of three states that are left after `dwell` seconds, to the next one with probability `forward`."""
    jumps = forward * np.roll(np.eye(3), 1, axis=1) + (1 - forward) * np.roll(np.eye(3), -1, axis=1)
    return np.asarray(jumps / np.array(dwell)[:, None])


def _two_and_three() -> FloatArray:
    """Rates of five states in two groups: quick within a group, slow between groups."""
    within, between = 1 / 3.0, 1 / 30.0
    group = np.array([0, 0, 1, 1, 1])
    same = group[:, None] == group[None, :]
    size = np.bincount(group)[group]
    rates = np.where(same, within / np.maximum(size - 1, 1)[:, None], between / (5 - size)[:, None])
    return np.asarray(rates * (1 - np.eye(5)))


_FIVE_CENTERS = np.array([[-3.0, -1.2, 0], [-3.0, 1.2, 0], [2.2, 0, -1.6], [2.2, 1.5, 1.3], [2.2, -1.5, 1.3]])


# --- systems without hidden states ------------------------------------------------------------------------------------


def _single(
    emit: Callable[[int, np.random.Generator], FloatArray], name: str
) -> Callable[[int, float, int], LabelledSeries]:
    """Make a system that has no slow states."""

    def record(n_animals: int, duration: float, seed: int) -> LabelledSeries:
        n_frames = round(duration * RATE)
        rows = np.concatenate([emit(n_frames, generator(seed, name, i)) for i in range(n_animals)])
        series = Series.from_rows(rows, RATE, np.arange(n_animals + 1) * n_frames)
        return LabelledSeries(series=series, states=np.zeros(len(rows), dtype=np.int32), rates=np.zeros((0, 0)))

    return record


def _autoregression(coefficients: tuple[float, ...]) -> Callable[[int, np.random.Generator], FloatArray]:
    def emit(n: int, rng: np.random.Generator) -> FloatArray:
        lead = 1000
        path = lfilter([1.0], [1.0, *(-c for c in coefficients)], rng.normal(size=n + lead))[lead:]
        return np.asarray(path / path.std())[:, None]

    return emit


def _one_oscillator(n: int, rng: np.random.Generator) -> FloatArray:
    still = np.zeros(n, dtype=np.int32)
    return _oscillation(still, rng, np.array([0.6]), np.array([1.0]), np.array([0.0]))


def _drifting_oscillator(n: int, rng: np.random.Generator) -> FloatArray:
    wave = _autoregression((1.9, -0.95))(n, rng)[:, 0]
    return np.stack([wave, 0.8 * _coloured(n, 20.0, rng)], axis=1)


def _slow_variable(n: int, rng: np.random.Generator) -> FloatArray:
    return np.stack([_coloured(n, 10.0, rng), 0.5 * _coloured(n, 0.4, rng)], axis=1)


def _slow_amplitude(n: int, rng: np.random.Generator) -> FloatArray:
    """Turn with a radius that wanders slowly and is skewed: often small, sometimes large."""
    phase = 2 * np.pi * np.cumsum(0.7 + 0.1 * _coloured(n, 0.5, rng)) / RATE
    radius = np.exp(0.5 * _coloured(n, 8.0, rng))
    return np.stack([radius * np.cos(phase), radius * np.sin(phase)], axis=1) + 0.03 * rng.normal(size=(n, 2))


def _white_noise(n: int, rng: np.random.Generator) -> FloatArray:
    return rng.normal(size=(n, 3))


# --- wells and chaos --------------------------------------------------------------------------------------------------


def _four_wells(n_animals: int, duration: float, seed: int) -> LabelledSeries:
    """Walk in a plane with four wells: the barrier along x is higher than that along y."""
    rng = generator(seed, "four wells")
    interval = 1 / RATE
    dt, n_frames = interval / STEPS_PER_FRAME, round(duration * RATE)
    depth, temperature = np.array([3.6, 2.5]), 1.0
    place = rng.choice([-1.0, 1.0], (n_animals, 2))
    out = np.empty((n_frames, n_animals, 2))
    n_settle = round(SETTLE * RATE)
    for frame in range(-n_settle, n_frames):
        for kick in rng.normal(0, np.sqrt(2 * temperature * dt), (STEPS_PER_FRAME, n_animals, 2)):
            place = place - 4 * depth * place * (place**2 - 1) * dt + kick
        if frame >= 0:
            out[frame] = place
    rows = out.transpose(1, 0, 2).reshape(-1, 2)
    states = (rows[:, 0] > 0).astype(np.int32) * 2 + (rows[:, 1] > 0)
    series = Series.from_rows(rows, RATE, np.arange(n_animals + 1) * n_frames)
    return LabelledSeries(series=series, states=states.astype(np.int32), rates=np.zeros((0, 0)))


def _sides(series: Series, visible: int) -> LabelledSeries:
    """Tell the two sides of the first component apart, and record some of the components alone."""
    states = (series.values[:, 0] > 0).astype(np.int32)
    seen = Series(values=series.values[:, :visible].copy(), segments=series.segments, sampling=series.sampling)
    return LabelledSeries(series=seen, states=states, rates=np.zeros((0, 0)))


def _overdamped(n_animals: int, duration: float, seed: int) -> LabelledSeries:
    return _sides(double_well(duration, n_walkers=n_animals, rng=generator(seed, "overdamped")), 1)


def _underdamped(n_animals: int, duration: float, seed: int) -> LabelledSeries:
    return _sides(underdamped_well(duration, n_walkers=n_animals, rng=generator(seed, "underdamped")), 1)


def _lorenz(n_animals: int, duration: float, seed: int) -> LabelledSeries:
    """Record x of the Lorenz system; the lobes are the two sides of it."""
    runs = [lorenz(duration / 3, interval=0.04, rng=generator(seed, "lorenz", i)).values for i in range(n_animals)]
    offsets = np.concatenate([[0], np.cumsum([len(run) for run in runs])])
    return _sides(Series.from_rows(np.concatenate(runs), 25.0, offsets), 1)


def _worms(model: WormModel) -> Callable[[int, float, int], LabelledSeries]:
    def record(n_animals: int, duration: float, seed: int) -> LabelledSeries:
        worms = simulate_worms(n_animals, duration, model=model, seed=seed)
        recording = worms.recording
        counts = np.diff(recording.segments.offsets)
        series = Series.from_rows(
            np.asarray(recording.values), RATE, np.concatenate([[0], np.cumsum(counts)]), recording.individuals
        )
        rates = worms.truth.generators.mean(axis=0)
        return LabelledSeries(series=series, states=worms.truth.states, rates=rates)

    return record


def _array(*values: float) -> FloatArray:
    return np.array(values)


SYSTEMS: Mapping[str, Callable[[int, float, int], LabelledSeries]] = {
    "worms": _worms(WormModel()),
    "separable worms": _worms(WormModel.separable()),
    "oscillators": _hopping(
        _cyclic((8.0, 6.0, 5.0), 0.7),
        lambda s, rng: _oscillation(s, rng, _array(0.35, 0.67, 1.0), _array(1.4, 0.8, 1.1), _array(0.0, 1.2, -0.8)),
        "oscillators",
    ),
    "frequencies": _hopping(
        _cyclic((7.0, 6.0, 6.0)),
        lambda s, rng: _oscillation(s, rng, _array(0.4, 0.9, 1.8), np.ones(3), np.zeros(3)),
        "frequencies",
    ),
    "two and three": _hopping(
        _two_and_three(), lambda s, rng: _clouds(s, rng, _FIVE_CENTERS, 0.65, 0.4), "two and three"
    ),
    "rare": _hopping(
        np.array([[0, 1 / 60.0], [1 / 4.0, 0]]),
        lambda s, rng: _clouds(s, rng, np.array([[0.0, 0.0], [2.5, 1.0]]), 0.7, 0.5),
        "rare",
    ),
    "overlapping": _hopping(
        np.array([[0, 1 / 8.0], [1 / 6.0, 0]]),
        lambda s, rng: _clouds(s, rng, np.array([[-0.9, 0.0], [0.9, 0.3]]), 0.8, 0.4),
        "overlapping",
    ),
    "four wells": _four_wells,
    "overdamped": _overdamped,
    "underdamped": _underdamped,
    "lorenz": _lorenz,
    "one oscillator": _single(_one_oscillator, "one oscillator"),
    "drifting oscillator": _single(_drifting_oscillator, "drifting oscillator"),
    "slow variable": _single(_slow_variable, "slow variable"),
    "slow amplitude": _single(_slow_amplitude, "slow amplitude"),
    "white noise": _single(_white_noise, "white noise"),
    "AR(1)": _single(_autoregression((0.9,)), "AR(1)"),
    "AR(2)": _single(_autoregression((1.6, -0.8)), "AR(2)"),
}
"""Systems by name: a function of the number of animals, the seconds of each, and the seed."""
