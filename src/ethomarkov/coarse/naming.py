"""Names of states, from the movements of the body in them.

The signs are absolute: a body wave that travels backward is a reversal, a bend to the ventral side is ventral. The
sizes are relative to the fastest run of the same animals, because strains differ in how fast and how deep they crawl.
"""

import string
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ethomarkov._core.names import check_names
from ethomarkov._core.result import Result, array_field, freeze_arrays
from ethomarkov._core.series import Series
from ethomarkov._core.types import BoolArray, FloatArray
from ethomarkov._core.words import count_of
from ethomarkov.exceptions import InputFormatError
from ethomarkov.posture.bodywave import phase_velocity
from ethomarkov.states.symbols import Symbols

N_WAVE_MODES = 3
"""Modes that the names rest on: two of the wave and the bend."""

COMMON_SHARE = 0.05
"""The fastest run is chosen among states with this share of time: the mean of a rarer one may be fast by chance."""

FAST = 0.78
"""A fast run has this share of the top phase velocity: half way between the slower of the published fast runs (0.87)
and the faster of the slow ones, which reaches 0.69 in synthetic strains (published: 0.63)."""

SLOW = 0.5
"""A turn has less than this share of the top phase velocity (published: 0.1), because a deep bend stops the wave."""

STALLED = 0.15
"""Below this share of the top phase velocity nothing is gained forward: published turns have 0.1, slow runs 0.34."""

BACKWARD = 0.4
"""A wave that goes backward at this share of the top velocity is a reversal, however bent (published: 0.46); a state
that mixes reversals with the turns that end them is slower on average (published: 0.2, one real worm: 0.3)."""

DEEP = 1.0
"""A turn bends on average by more than this many standard deviations of all bends: 1.8 to 2.5 in real and synthetic
worms, where reversals reach 0.9. The deviation over all frames is the same at every level of a tree of states."""

WIDER = 1.1
"""Ratio of wavelengths that makes one run wide and the other narrow (published: 1.2); below it they look alike."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StateTraits(Result):
    """Movements of the body in each state; NaN where they cannot be measured.

    Parameters
    ----------
    share
        Share of time.
    velocity
        Mean phase velocity ω of the body wave, positive forward.
    bend, bend_sd
        Mean and standard deviation of a₃, positive when ventral.
    wavelength
        Median wavelength of the body wave, in body lengths.
    speed
        Mean speed along the path, in body lengths per second.
    """

    share: FloatArray = array_field("state")
    velocity: FloatArray = array_field("state", unit="cycles/s")
    bend: FloatArray = array_field("state")
    bend_sd: FloatArray = array_field("state")
    wavelength: FloatArray = array_field("state", unit="body lengths")
    speed: FloatArray = array_field("state", unit="body lengths/s")

    def __post_init__(self) -> None:
        freeze_arrays(self)

    @property
    def n_states(self) -> int:
        """Number of states."""
        return int(self.share.size)

    def headline(self) -> str:
        """Give the number of states and which of their traits were measured."""
        columns = {"phase velocity": self.velocity, "wavelength": self.wavelength, "speed": self.speed}
        measured = [name for name, values in columns.items() if np.isfinite(values).any()]
        return f"{count_of(self.n_states, 'state')}, with {', '.join(['share of time', *measured])}"


def measure_traits(
    symbols: Symbols,
    postures: Series,
    *,
    wavelengths: FloatArray | None = None,
    speed: FloatArray | None = None,
    is_worm: bool = True,
) -> StateTraits:
    """Measure the movements of the body in each state.

    Parameters
    ----------
    symbols
        State of every frame, on the same rows as `postures`.
    postures
        Mode amplitudes in the convention of the eigenworms: modes 1 and 2 the wave, mode 3 the bend.
    wavelengths
        Of the body wave in every frame, in body lengths; NaN where it was not measured.
    speed
        Of every frame, in body lengths per second.
    is_worm
        For other animals the modes have no such meaning, and only share and speed are measured.
    """
    n_rows = symbols.segments.n_rows
    lengths = {"postures": len(postures.values)}
    lengths |= {} if wavelengths is None else {"wavelengths": len(wavelengths)}
    lengths |= {} if speed is None else {"speeds": len(speed)}
    for what, length in lengths.items():
        if length != n_rows:
            raise InputFormatError(
                f"{what} have {length} rows, the states {n_rows}; one row per frame is needed. "
                "Give all of them for the same recording."
            )
    has_wave = is_worm and postures.n_components >= N_WAVE_MODES
    nothing = np.full(n_rows, np.nan)
    bend = postures.values[:, 2].astype(float) if has_wave else nothing
    return StateTraits(
        share=symbols.visits() / max(int(symbols.visits().sum()), 1),
        velocity=_per_state(symbols, phase_velocity(postures) if has_wave else nothing, np.mean),
        bend=_per_state(symbols, bend, np.mean),
        bend_sd=_per_state(symbols, bend, np.std),
        wavelength=_per_state(symbols, nothing if wavelengths is None or not is_worm else wavelengths, np.median),
        speed=_per_state(symbols, nothing if speed is None else speed, np.mean),
    )


def _per_state(symbols: Symbols, values: FloatArray, statistic: Callable[[FloatArray], float]) -> FloatArray:
    """Summarise the finite values of every state; NaN where there are none."""
    known = symbols.segments.valid & np.isfinite(values)
    labels, values = symbols.labels[known], values[known]
    groups = (values[labels == state] for state in range(symbols.n_states))
    return np.array([statistic(group) if group.size else np.nan for group in groups], dtype=float)


def name_states(traits: StateTraits, *, is_worm: bool, macro: bool = False) -> tuple[str, ...]:
    """Give every state a name of its own, whatever the order of the states.

    Parameters
    ----------
    traits
        Of the states.
    is_worm
        Name by the body wave; otherwise "state A" is the state of most time, "state B" the next …
    macro
        Distinguish only runs and pirouettes, as is always done for two states.

    Notes
    -----
    A state is a run or a pause, or it reorients: its wave goes backward, or the body is deeply bent and slow. The only
    state that reorients is a pirouette; several are reversals, ventral and dorsal turns, or pirouettes to one side
    where reversals and turns are not told apart. Runs are fast or slow; fast ones are told apart by wavelength where
    it differs, slow ones by the side to which they bend.
    """
    if not is_worm:
        order = _rank(traits, np.arange(traits.n_states))
        return tuple(f"state {_letters(order.index(state))}" for state in range(traits.n_states))
    body = _Body(traits)
    if macro or traits.n_states <= 2:
        names = dict(enumerate("pirouette" if reorients else "run" for reorients in body.reorients))
    else:
        names = _name_reorienting(body) | _name_runs(body) | dict.fromkeys(_where(body.pauses), "pause")
        names |= dict.fromkeys(_where(~body.visited), "unvisited")
    return _number_equals([names[state] for state in range(traits.n_states)], traits)


class _Body:
    """Flags of what each state is, relative to the fastest run and to the spread of all bends."""

    def __init__(self, traits: StateTraits) -> None:
        self.traits = traits
        self.visited: BoolArray = np.isfinite(traits.velocity)
        velocity = np.where(self.visited, traits.velocity, -np.inf)
        common = self.visited & (traits.share >= COMMON_SHARE)
        leader = int(np.argmax(np.where(common, velocity, -np.inf) if common.any() else velocity))
        # never negative, so that a wave that goes backward cannot pass for a fast one
        self.top = max(float(velocity[leader]), 0.0)
        spread = DEEP * _overall_spread(traits)
        # both: a strain that circles while it runs is not always turning
        is_deep = (np.abs(traits.bend) >= spread) & (np.abs(traits.bend - traits.bend[leader]) >= spread)
        self.is_turn: BoolArray = is_deep & (velocity < SLOW * self.top)
        is_stalled = self.visited & (velocity < STALLED * self.top)
        varies = traits.bend_sd >= spread
        self.reorients: BoolArray = self.visited & ((velocity < 0) | self.is_turn | (is_stalled & varies))
        if traits.n_states == 2:  # of two states one reorients more, however little
            self.reorients = np.array([velocity[0] < velocity[1], velocity[0] >= velocity[1]])
        self.pauses: BoolArray = is_stalled & ~self.reorients
        self.runs: BoolArray = self.visited & ~self.reorients & ~self.pauses


def _overall_spread(traits: StateTraits) -> float:
    """Compute the standard deviation of the bend over the frames of all states."""
    known = np.isfinite(traits.bend)
    share, bend, within = traits.share[known], traits.bend[known], traits.bend_sd[known]
    if share.sum() == 0:
        return np.inf
    mean = np.average(bend, weights=share)
    return float(np.sqrt(np.average(within**2 + (bend - mean) ** 2, weights=share)))


def _name_reorienting(body: _Body) -> dict[int, str]:
    states = _where(body.reorients)
    if len(states) == 1:
        return {states[0]: "pirouette"}
    return {state: _name_turn(body, state) for state in states}


def _name_turn(body: _Body, state: int) -> str:
    velocity, side = body.traits.velocity[state], _side(body.traits.bend[state])
    if velocity < 0 and (velocity < -BACKWARD * body.top or not body.is_turn[state]):
        return "reversal"
    if velocity < -STALLED * body.top:
        return f"{side} pirouette"
    return f"{side} turn" if body.is_turn[state] else "turn"


def _name_runs(body: _Body) -> dict[int, str]:
    traits = body.traits
    runs = _where(body.runs)
    if len(runs) == 1:
        return {runs[0]: "run"}
    fast = [state for state in runs if traits.velocity[state] >= FAST * body.top]
    slow = [state for state in runs if state not in fast]
    names = dict.fromkeys(slow, "slow run")
    if len(slow) > 1:
        names = {state: f"slow {_side(traits.bend[state])}" for state in slow}
    return names | _name_fast(traits, fast)


def _name_fast(traits: StateTraits, fast: Sequence[int]) -> dict[int, str]:
    """Name the fast runs: the one of longest and the one of shortest wave by these, several others by their side."""
    names: dict[int, str] = {}
    width = _wave_width(traits, fast)
    if len(fast) > 1 and width is not None:
        ordered = sorted(fast, key=lambda state: (width[state], *_key(traits, state)))
        if width[ordered[-1]] >= WIDER * width[ordered[0]]:
            names = {ordered[0]: "fast narrow run", ordered[-1]: "fast wide run"}
    rest = [state for state in fast if state not in names]
    if len(rest) == 1:
        return names | {rest[0]: "fast run"}
    return names | {state: f"fast {_side(traits.bend[state])} run" for state in rest}


def _wave_width(traits: StateTraits, states: Sequence[int]) -> FloatArray | None:
    """Find the wavelength, or failing that the way made per wave, which is longer if the wave is."""
    with np.errstate(over="ignore"):  # a wave that hardly moves has an endless stride
        stride = traits.speed / np.where(traits.velocity > 0, traits.velocity, np.nan)
    return next((width for width in (traits.wavelength, stride) if np.isfinite(width[list(states)]).all()), None)


def _side(bend: float) -> str:
    return "ventral" if bend >= 0 else "dorsal"


def _where(flags: BoolArray) -> list[int]:
    return [int(state) for state in np.flatnonzero(flags)]


def _key(traits: StateTraits, state: int) -> tuple[float, ...]:
    """List all traits of a state, so that ties do not depend on the order in memory."""
    columns = (traits.share, traits.velocity, traits.bend, traits.bend_sd, traits.wavelength, traits.speed)
    return tuple(float(column[state]) if np.isfinite(column[state]) else -np.inf for column in columns)


def _rank(traits: StateTraits, states: Sequence[int] | np.ndarray) -> list[int]:
    """Order states by their share of time, the largest first."""
    return sorted((int(state) for state in states), key=lambda state: _key(traits, state), reverse=True)


def _number_equals(names: Sequence[str], traits: StateTraits) -> tuple[str, ...]:
    """Add numbers to equal names, by descending share of time."""
    often = Counter(names)
    numbered = list(names)
    for name in (name for name, count in often.items() if count > 1):
        same = [state for state, other in enumerate(names) if other == name]
        for number, state in enumerate(_rank(traits, same), start=1):
            numbered[state] = f"{name} {number}"
    return tuple(numbered)


def _letters(index: int) -> str:
    """Count in letters: A to Z, then AA, AB and so on."""
    letters = ""
    index += 1
    while index:
        index, rest = divmod(index - 1, len(string.ascii_uppercase))
        letters = string.ascii_uppercase[rest] + letters
    return letters


def rename(names: Sequence[str], renames: Mapping[str, str]) -> tuple[str, ...]:
    """Replace some of the names.

    Parameters
    ----------
    names
        Of the states.
    renames
        From present names to new ones; two names may be swapped.

    Examples
    --------
    >>> rename(("run", "pirouette"), {"pirouette": "reorientation"})
    ('run', 'reorientation')
    """
    unknown = [name for name in renames if name not in names]
    if unknown:
        raise InputFormatError(
            f"No state is named {', '.join(map(repr, unknown))}; there are {', '.join(map(repr, names))}. "
            "Rename one of these."
        )
    renamed = tuple(renames.get(name, name) for name in names)
    check_names(renamed)
    return renamed


def describe_states(traits: StateTraits, names: Sequence[str]) -> tuple[str, ...]:
    """Describe every state in one sentence with numbers and units; what was not measured is left out."""
    if len(names) != traits.n_states:
        raise InputFormatError(f"There are {len(names)} names for {traits.n_states} states; give one name each.")
    return tuple(f"{name}: {', '.join(_facts(traits, state))}." for state, name in enumerate(names))


def _facts(traits: StateTraits, state: int) -> list[str]:
    facts = [f"{traits.share[state]:.1%} of the time"]
    velocity, bend, wave, speed = (
        float(column[state]) for column in (traits.velocity, traits.bend, traits.wavelength, traits.speed)
    )
    if np.isfinite(velocity):
        facts.append(f"body wave {'backward' if velocity < 0 else 'forward'} at {abs(velocity):.2f} cycles/s")
    if np.isfinite(wave):
        facts.append(f"wavelength {wave:.2f} body lengths")
    if np.isfinite(bend):
        facts.append(f"bend a₃ {bend:+.1f} ± {traits.bend_sd[state]:.1f} ({_side(bend)})")
    if np.isfinite(speed):
        facts.append(f"speed {speed:.2f} body lengths/s")
    return facts
