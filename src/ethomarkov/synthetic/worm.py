"""The synthetic worm: hidden behavioural states that drive a body wave, with the truth beside the data.

A continuous-time Markov chain hops among seven states. Each state asks for a phase velocity, a wave amplitude, a
wavelength and a bend; the body follows these demands through a smooth filter and adds its own coloured fluctuations, so
that postures are as smooth, and about as unpredictable, as those of a real worm. The path follows from resistive force
theory at a known drag ratio.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy import signal

from ethomarkov._core.parallel import map_tasks
from ethomarkov._core.random import generator
from ethomarkov._core.result import Result
from ethomarkov._core.sampling import Sampling
from ethomarkov._core.series import Series
from ethomarkov._core.types import BoolArray, FloatArray, IntArray, Progress
from ethomarkov._core.words import count_of
from ethomarkov.locomotion import propel
from ethomarkov.posture import PostureBasis
from ethomarkov.recording import Recording, Track
from ethomarkov.synthetic.hidden import hop, null_law, scaled_generator

if TYPE_CHECKING:
    import pandas as pd

STATE_NAMES = (
    "fast wide run",
    "fast narrow run",
    "slow dorsal",
    "slow ventral",
    "dorsal turn",
    "reversal",
    "ventral turn",
)
IS_PIROUETTE = np.array([False, False, False, False, True, True, True])


@dataclass(frozen=True, slots=True, kw_only=True)
class WormModel:
    """Parameters of a strain of synthetic worms; rows and entries in the order of `STATE_NAMES`.

    Parameters
    ----------
    occupancy
        Share of time in each state.
    jumps
        Probability of the next state, given that a state is left; one row per state.
    mean_run
        Mean duration of a run in seconds (any of the first four states); it sets the clock of all hops.
    velocity
        Phase velocity asked for by each state, cycles per second.
    amplitude
        Wave amplitude of each state, in units of the mode amplitudes.
    wavelength
        Wavelength of each state, in body lengths.
    bend
        Mean of a₃ of each state, positive when ventral.
    velocity_noise, amplitude_noise, bend_noise, wavelength_noise, shape_noise
        Standard deviations of the fluctuations around what the state asks for; the last one is that of modes 4 and 5.
    response
        Seconds that the body takes to follow a change of state.
    memory
        Correlation time in seconds of the fluctuations of velocity, amplitude, bend, wavelength, modes 4 and 5.
    individual_spread
        Relative differences between individuals in run length and velocity.
    decline
        Share by which the rate of entering pirouettes falls from start to end of the recording; 0 for stationary.
    missing
        Mean share of frames without posture.
    drag_ratio
        Drag ratio of the path.
    body_length
        Mean body length in mm.
    tracking_noise
        Standard deviation of the measured position in mm.

    Examples
    --------
    >>> round(sum(WormModel().occupancy), 6), len(STATE_NAMES)
    (1.0, 7)
    """

    occupancy: tuple[float, ...] = (0.21, 0.185, 0.225, 0.145, 0.02, 0.125, 0.09)
    jumps: tuple[tuple[float, ...], ...] = (
        (0.00, 0.55, 0.22, 0.15, 0.00, 0.06, 0.02),
        (0.46, 0.00, 0.29, 0.23, 0.00, 0.02, 0.00),
        (0.28, 0.37, 0.00, 0.24, 0.04, 0.05, 0.02),
        (0.15, 0.29, 0.27, 0.00, 0.00, 0.22, 0.07),
        (0.00, 0.00, 0.50, 0.00, 0.00, 0.50, 0.00),
        (0.16, 0.02, 0.07, 0.22, 0.08, 0.00, 0.45),
        (0.16, 0.03, 0.02, 0.24, 0.00, 0.55, 0.00),
    )
    mean_run: float = 15.0
    velocity: tuple[float, ...] = (0.60, 0.64, 0.42, 0.22, 0.05, -0.52, 0.07)
    amplitude: tuple[float, ...] = (6.2, 6.6, 6.9, 7.0, 7.6, 8.0, 7.7)
    wavelength: tuple[float, ...] = (0.75, 0.62, 0.68, 0.68, 0.70, 0.72, 0.70)
    bend: tuple[float, ...] = (0.5, 0.5, -2.5, 2.0, -14.0, 2.0, 17.0)
    velocity_noise: tuple[float, ...] = (0.08, 0.08, 0.12, 0.15, 0.30, 0.15, 0.30)
    amplitude_noise: tuple[float, ...] = (0.9, 0.9, 1.2, 1.6, 3.0, 2.2, 3.4)
    bend_noise: tuple[float, ...] = (2.6, 2.6, 3.0, 3.5, 4.2, 5.0, 6.0)
    wavelength_noise: float = 0.05
    shape_noise: tuple[tuple[float, ...], tuple[float, ...]] = (
        (1.2, 1.2, 1.4, 1.9, 3.4, 3.3, 4.4),
        (0.5, 0.5, 0.6, 0.9, 1.9, 1.0, 1.8),
    )
    response: float = 0.3
    memory: tuple[float, ...] = (0.5, 1.0, 1.2, 1.0, 0.55, 0.5)
    individual_spread: float = 0.15
    decline: float = 0.0
    missing: float = 0.04
    drag_ratio: float = 30.0
    body_length: float = 0.7
    tracking_noise: float = 0.003

    @classmethod
    def second_strain(cls) -> "WormModel":
        """Give a strain that reorients half as often and crawls a fifth slower than the default."""
        slower = tuple(0.8 * velocity for velocity in cls().velocity)
        return cls(mean_run=30.0, occupancy=(0.235, 0.21, 0.25, 0.175, 0.011, 0.069, 0.05), velocity=slower)

    @classmethod
    def separable(cls) -> "WormModel":
        """Give a strain whose seven states can be told apart: wide differences, small fluctuations, long dwells."""
        return cls(
            occupancy=(0.20, 0.17, 0.18, 0.15, 0.08, 0.12, 0.10),
            mean_run=24.0,
            velocity=(0.80, 0.45, 0.30, 0.30, 0.30, -0.60, 0.35),
            amplitude=(5.0, 7.5, 6.0, 9.0, 7.0, 8.0, 7.0),
            wavelength=(0.95, 0.55, 0.68, 0.75, 0.70, 0.72, 0.70),
            bend=(0.0, 0.5, -6.0, 6.0, -16.0, 0.0, 16.0),
            velocity_noise=(0.05,) * 7,
            amplitude_noise=(0.5,) * 7,
            bend_noise=(1.2,) * 7,
            wavelength_noise=0.02,
            shape_noise=((0.8,) * 7, (0.4,) * 7),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class WormTruth(Result):
    """Hidden states, rates and bodies behind a synthetic recording.

    Parameters
    ----------
    states
        Hidden state of every frame, an index into `STATE_NAMES`.
    generators
        Transition rates among the states per second, ``(worms, states, states)``; at the start of the recording if it
        declines.
    drag_ratio
        Drag ratio by which the paths were computed.
    body_lengths
        Body length of every worm in mm.

    Examples
    --------
    >>> truth = simulate_worms(2, 30.0, seed=1).truth
    >>> truth.headline(), truth.mean_dwells().shape
    ('2 worms, 7 hidden states, 960 frames', (2, 2))
    """

    states: IntArray
    generators: FloatArray
    drag_ratio: float
    body_lengths: FloatArray

    @property
    def is_pirouette(self) -> BoolArray:
        """Flag the frames in which the worm reorients."""
        return IS_PIROUETTE[self.states]

    def mean_dwells(self) -> FloatArray:
        """Compute the mean dwell times in runs and pirouettes that the rates imply, in seconds; one row per worm."""
        return np.array([_macro_dwells(rates) for rates in self.generators])

    def relaxation_times(self) -> FloatArray:
        """Compute the slowest relaxation time of the hidden chain of each worm, in seconds."""
        return np.array([-1.0 / np.sort(np.linalg.eigvals(rates).real)[-2] for rates in self.generators])

    def headline(self) -> str:
        """Give the number of worms, hidden states and frames."""
        n_states = count_of(len(STATE_NAMES), "hidden state")
        return f"{count_of(len(self.body_lengths), 'worm')}, {n_states}, {count_of(self.states.size, 'frame')}"

    def table(self) -> "pd.DataFrame":
        """List the worms: body length in mm, true mean dwell times and slowest relaxation time in seconds."""
        import pandas as pd

        runs, pirouettes = self.mean_dwells().T
        return pd.DataFrame(
            {
                "worm": np.arange(len(self.body_lengths)),
                "body_length_mm": self.body_lengths,
                "mean_run_s": runs,
                "mean_pirouette_s": pirouettes,
                "relaxation_time_s": self.relaxation_times(),
            }
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class SyntheticWorms(Result):
    """A synthetic recording and the truth behind it.

    Parameters
    ----------
    recording
        Mode amplitudes, measured paths and body lengths.
    truth
        Hidden states, rates and bodies.
    basis
        Posture modes of the amplitudes.

    Examples
    --------
    >>> simulate_worms(2, 30.0, seed=1).table().columns.tolist()
    ['worm', 'body_length_mm', 'mean_run_s', 'mean_pirouette_s', 'relaxation_time_s']
    """

    recording: Recording
    truth: WormTruth
    basis: PostureBasis

    def headline(self) -> str:
        """Give the number of worms, hidden states and frames."""
        return self.truth.headline()

    def table(self) -> "pd.DataFrame":
        """List the worms by name, with the truth; see `WormTruth.table`."""
        return self.truth.table().assign(worm=list(self.recording.individuals))


def simulate_worms(
    n_worms: int = 12,
    duration: float = 2100.0,
    *,
    model: WormModel | None = None,
    seed: int = 0,
    threads: int = 1,
    progress: Progress | None = None,
) -> SyntheticWorms:
    """Simulate a recording of synthetic worms.

    Parameters
    ----------
    n_worms
        Number of individuals.
    duration
        Seconds of recording, at 16 frames per second.
    model
        The strain; the default resembles the wild type on a plate without food.
    seed
        Random seed; each worm depends on the seed and its own number alone.
    threads, progress
        See `map_tasks`.

    Examples
    --------
    >>> worms = simulate_worms(n_worms=2, duration=30.0, seed=1)
    >>> worms.recording.individuals, worms.truth.states.shape
    (('worm_00', 'worm_01'), (960,))
    """
    model = model or WormModel()
    sampling, basis = Sampling(16.0), PostureBasis.analytic()
    n_frames = sampling.nearest_frames(duration, "duration")
    worms = map_tasks(
        lambda i: _simulate_one(model, basis, n_frames, sampling, generator(seed, "synthetic worm", i)),
        range(n_worms),
        threads=threads,
        progress=progress,
        what="synthetic worms",
    )
    tracks = [
        Track(
            individual=f"worm_{i:02d}",
            values=worm.amplitudes,
            centroid=worm.centroid,
            body_length=worm.body_length,
        )
        for i, worm in enumerate(worms)
    ]
    attrs = {"length_unit": "mm", "ventral_side": "positive a3", "source_format": "synthetic worm", "seed": seed}
    return SyntheticWorms(
        recording=Recording.from_tracks(tracks, kind="amplitude", sampling_rate=sampling.rate, attrs=attrs),
        truth=WormTruth(
            states=np.concatenate([worm.states for worm in worms]),
            generators=np.stack([worm.rates for worm in worms]),
            drag_ratio=model.drag_ratio,
            body_lengths=np.array([worm.body_length for worm in worms]),
        ),
        basis=basis,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Worm:
    states: IntArray
    rates: FloatArray
    amplitudes: FloatArray
    centroid: FloatArray
    body_length: float


def _simulate_one(
    model: WormModel, basis: PostureBasis, n_frames: int, sampling: Sampling, rng: np.random.Generator
) -> _Worm:
    pace, vigour, size = np.exp(rng.normal(0, [model.individual_spread, model.individual_spread / 2, 0.05]))
    rates = scaled_generator(np.array(model.jumps), np.array(model.occupancy), IS_PIROUETTE, model.mean_run * pace)
    states = hop(rates, IS_PIROUETTE, n_frames, sampling, model.decline, rng)
    postures = _drive_body(model, basis, states, vigour, sampling, rng)
    length = model.body_length * size
    path = propel(basis.reconstruct(Series.from_rows(postures, sampling)), model.drag_ratio, length)
    centroid = path.centroid + rng.normal(0, model.tracking_noise, path.centroid.shape)
    return _Worm(
        states=states,
        rates=rates,
        amplitudes=np.where(draw_gaps(n_frames, model.missing, rng)[:, None], np.nan, postures),
        centroid=centroid,
        body_length=length,
    )


def _drive_body(
    model: WormModel,
    basis: PostureBasis,
    states: IntArray,
    vigour: float,
    sampling: Sampling,
    rng: np.random.Generator,
) -> FloatArray:
    """Turn a sequence of hidden states into mode amplitudes."""
    n_frames = states.size

    def follow(demand: tuple[float, ...]) -> FloatArray:
        return _smooth(np.asarray(demand)[states], model.response, sampling)

    noise = [_coloured_noise(n_frames, time, sampling, rng) for time in model.memory]
    velocity = follow(model.velocity) * vigour + follow(model.velocity_noise) * noise[0]
    amplitude = np.maximum(follow(model.amplitude) + follow(model.amplitude_noise) * noise[1], 1.0)
    bend = follow(model.bend) + follow(model.bend_noise) * noise[2]
    waves = follow(model.wavelength) + model.wavelength_noise * noise[3]
    phase = rng.uniform(0, 2 * np.pi) + 2 * np.pi * np.cumsum(velocity) / sampling.rate
    postures = amplitude[:, None] * _project_wave(basis, waves, phase)
    postures[:, 2] += bend
    postures[:, 3] += follow(model.shape_noise[0]) * noise[4]
    postures[:, 4] += follow(model.shape_noise[1]) * noise[5]
    return postures


def _project_wave(basis: PostureBasis, waves: FloatArray, phase: FloatArray) -> FloatArray:
    """Project travelling waves of given wavelength and phase, of unit amplitude in modes 1 and 2, on the basis."""
    grid = np.linspace(0.3, 1.4, 111)
    s = (np.arange(basis.n_features) + 0.5) / basis.n_features
    angle = 2 * np.pi * (s - 0.07) / grid[:, None]
    # −cos(angle − phase) travels from head to tail as the phase advances
    parts = [-np.cos(angle) @ basis.vectors, -np.sin(angle) @ basis.vectors]
    scale = np.sqrt(2.0 / sum((part[:, :2] ** 2).sum(axis=1) for part in parts))
    table = [part * scale[:, None] for part in parts]
    position = np.clip(waves, grid[0], grid[-1])
    cos_part, sin_part = (np.stack([np.interp(position, grid, column) for column in one.T], axis=1) for one in table)
    projected: FloatArray = np.cos(phase)[:, None] * cos_part + np.sin(phase)[:, None] * sin_part
    return projected


def _smooth(signal_in: FloatArray, time: float, sampling: Sampling) -> FloatArray:
    """Follow a demand through two equal exponential lags."""
    keep = np.exp(-1.0 / (time / 2 * sampling.rate))
    out = signal_in
    for _ in range(2):
        state = signal.lfilter_zi([1 - keep], [1, -keep]) * out[0]
        out = signal.lfilter([1 - keep], [1, -keep], out, zi=state)[0]
    return np.asarray(out)


def _coloured_noise(n_frames: int, time: float, sampling: Sampling, rng: np.random.Generator) -> FloatArray:
    """Draw smooth noise of unit variance: a random force through three lags that share the correlation time."""
    lead = int(10 * time * sampling.rate) + 1
    white = rng.normal(size=n_frames + lead)
    keep = np.exp(-1.0 / (time / 2 * sampling.rate))
    denominator = np.array([1.0])
    for _ in range(3):
        denominator = np.convolve(denominator, [1, -keep])
    impulse = signal.lfilter([1.0], denominator, np.eye(1, 40 * lead)[0])
    noise: FloatArray = signal.lfilter([1.0], denominator, white)[lead:] / np.linalg.norm(impulse)
    return noise


def draw_gaps(n_frames: int, share: float, rng: np.random.Generator) -> BoolArray:
    """Draw which frames are lost.

    Three fifths of the loss are gaps of about a hundred frames anywhere; the rest are rare long losses, often at an end
    of the recording, as in the published recordings.
    """
    missing = np.zeros(n_frames, dtype=bool)
    median, spread = 75.0, 1.2
    short_mean = median * np.exp(spread**2 / 2)
    for _ in range(rng.poisson(0.6 * share * n_frames / short_mean)):
        start = rng.integers(n_frames)
        missing[start : start + max(1, round(rng.lognormal(np.log(median), spread)))] = True
    if rng.random() < 0.25:
        length = min(round(rng.uniform(0.5, 1.5) * 1.6 * share * n_frames), n_frames - 1)
        first = int(rng.choice(np.array([0, n_frames - length, rng.integers(n_frames - length)])))
        missing[first : first + length] = True
    return missing


def _macro_dwells(rates: FloatArray) -> tuple[float, float]:
    """Mean durations of runs and pirouettes under given rates: stationary share over the flux that leaves it."""
    pi = null_law(rates)
    flux = pi[~IS_PIROUETTE] @ rates[np.ix_(~IS_PIROUETTE, IS_PIROUETTE)].sum(axis=1)
    return float(pi[~IS_PIROUETTE].sum() / flux), float(pi[IS_PIROUETTE].sum() / flux)
