"""Published values of the paper: from its text, its plots (read off by pixel), and calculated from its tables."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from ethomarkov._core.words import count_of

Source = Literal["printed", "plot", "calculated", "truth"]
Spread = Literal["95 % of means", "95 % of events", "95 % of runs", "range over worms", "reading error", "rounding"]

N_WORMS = 12
MIDDLE = 0.41
"""Half-width of the 95 % interval of the median of twelve normal values, in distances from the median to an end of
their range: 1.96 · 0.343 / 1.629."""
ROUNDING = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
    """One figure of the paper.

    Parameters
    ----------
    key
        Its name in tables.
    section
        Of the scoreboard.
    what, unit
        In words.
    value, low, high
        The figure and its limits.
    spread
        What the limits are: of the mean over worms, or over events (stays, windows, pairs of frames), which say nothing
        of how worms differ; of single runs; of single worms; how well a plot could be read; or how the figure was
        rounded.
    source
        Printed in the paper or its notebooks, read off a plot, calculated from its tables, or the truth of synthetic
        worms.
    how
        How we compute ours, where it differs from the paper's way.
    worms
        Least and largest value of single worms, where they were published.
    of_worms
        How many worms the figure describes: twelve, or one.
    pooled
        Whether it rests on the one partition of all twelve worms. As many microstates for fewer worms are visited more
        rarely, which lengthens all relaxation times, those of shuffled symbols too; so fewer worms cannot tell.
    """

    key: str
    section: str
    what: str
    unit: str = ""
    value: float
    low: float
    high: float
    spread: Spread
    source: Source
    how: str = ""
    worms: tuple[float, float] | None = None
    of_worms: int = N_WORMS
    pooled: bool = False

    def limits_of(self, n_worms: int) -> tuple[float, float] | None:
        """Between which the mean of so many worms is expected, from the spread of single ones, published or implied.

        Parameters
        ----------
        n_worms
            Worms of which the mean is taken; their mean spreads less than they do, by the root of their number.
        """
        (low, high), wider = self.worms or (self.low, self.high), 1 / math.sqrt(n_worms)
        if self.worms is None and self.spread != "range over worms":
            if self.spread != "95 % of means" or self.of_worms != N_WORMS:
                return None
            wider = math.sqrt(N_WORMS / n_worms)
        return self.value - wider * (self.value - low), self.value + wider * (high - self.value)

    def reach(self, estimate: float) -> float | None:
        """Half-width of the 95 % interval of the figure, on the side of our estimate; None where it has no interval."""
        side = self.high - self.value if estimate > self.value else self.value - self.low
        if self.spread in ("95 % of means", "95 % of events"):
            return side
        return MIDDLE * side if self.spread == "range over worms" else None

    def gap(self, estimate: float) -> float:
        """Give the distance of our estimate from the figure, or from what it may be as it was read or rounded."""
        is_bounded = self.spread in ("reading error", "rounding")
        nearest = min(max(estimate, self.low), self.high) if is_bounded else self.value
        gap = abs(estimate - nearest)
        return gap if gap > ROUNDING * abs(self.value) else 0.0


ENTROPY = "Entropy of posture sequences (Fig. 1b, S1a)"
TIMES = "Relaxation times (Fig. 4a, S1b, S1c)"
STATES = "States and their kinetics (Fig. 2d, 4b, 4c, 5c)"
POSTURE = "Postures and events (Fig. 2b, 2c, S2, S10)"
PATHS = "Paths and diffusion (Fig. 3, S5)"
FORAGING = "Behaviours on their own (Fig. 5a, 5b, S9)"

# Entropy rates in nat/s by (K, N): mean over worms, and standard deviation over worms.
ENTROPY_RATES = {
    (1, 100): (17.66, 1.69), (1, 1000): (22.23, 1.44), (6, 100): (16.21, 1.36), (6, 562): (19.55, 1.65),
    (6, 1000): (19.77, 1.62), (11, 100): (15.19, 1.66), (11, 316): (18.20, 1.96), (11, 562): (19.06, 1.98),
    (11, 1000): (19.48, 1.97), (11, 1778): (19.22, 1.85), (11, 3162): (17.88, 1.48), (20, 1000): (18.88, 2.36),
}  # fmt: skip
WORM_ENTROPY = (19.45, 20.60, 17.59, 20.29, 19.17, 14.69, 18.63, 19.53, 20.32, 20.01, 20.58, 22.86)
# −Δh/ΔK at N = 1000 from K to K + 1, nat/s².
GAINS = {
    1: (10.3, 8.0, 13.0), 2: (13.1, 10.9, 15.0), 3: (8.1, 5.6, 10.5), 4: (6.1, 4.6, 7.5), 5: (1.8, -0.3, 3.8),
    8: (2.3, 0.7, 3.6), 11: (0.15, -1.5, 1.7),
}  # fmt: skip
# Relaxation times at τ* by mode.
REVERSIBLE_TIMES = {
    2: (8.42, 7.38, 9.47), 3: (4.69, 4.05, 5.33), 4: (3.20, 2.92, 3.52), 5: (2.71, 2.50, 2.94), 6: (2.48, 2.29, 2.69),
    11: (1.79, 1.65, 1.93),
}  # fmt: skip
WORM_REVERSIBLE = (5.35, 5.91, 9.40, 7.48, 8.51, 12.14, 10.74, 9.03, 6.70, 9.48, 8.62, 7.62)
CHAIN_TIMES = {3: 1.51, 4: 1.31, 5: 1.16, 6: 1.06, 11: 0.82, 21: 0.66}
# By state, in the names that the study gives: measure, mean ω, MSD at 10 and 100 s, p(food) at 0.55, 2, 10 and 24 L.
MESOSTATES = {
    "fast wide run": (0.210, 0.525, 6.2, 102, 0.071, 0.076, 0.219, 0.246),
    "fast narrow run": (0.179, 0.604, 5.8, 46, 0.070, 0.080, 0.232, 0.230),
    "slow dorsal": (0.219, 0.382, 1.8, 6.5, 0.125, 0.208, 0.177, 0.168),
    "slow ventral": (0.146, 0.204, 0.45, 2.5, 0.143, 0.189, 0.127, 0.116),
    "dorsal turn": (0.020, 0.055, 0.046, 0.33, 0.207, 0.115, 0.062, 0.059),
    "reversal": (0.132, -0.279, 0.26, 2.7, 0.171, 0.191, 0.114, 0.109),
    "ventral turn": (0.094, 0.065, 0.091, 0.72, 0.216, 0.143, 0.077, 0.073),
}
RADII = (0.55, 2.0, 10.0, 24.0)
AVERAGE_FOOD = (0.123, 0.145, 0.168, 0.169)
# Probability of the next state, frame by frame; entries of at least 0.15, decoded from colours.
JUMPS = {
    ("fast wide run", "fast narrow run"): 0.58, ("fast wide run", "slow dorsal"): 0.23,
    ("fast wide run", "slow ventral"): 0.16, ("fast narrow run", "fast wide run"): 0.46,
    ("fast narrow run", "slow dorsal"): 0.29, ("fast narrow run", "slow ventral"): 0.25,
    ("slow dorsal", "fast wide run"): 0.30, ("slow dorsal", "fast narrow run"): 0.40,
    ("slow dorsal", "slow ventral"): 0.26, ("slow ventral", "fast wide run"): 0.18,
    ("slow ventral", "fast narrow run"): 0.35, ("slow ventral", "slow dorsal"): 0.33,
    ("reversal", "fast wide run"): 0.16, ("reversal", "slow ventral"): 0.22, ("reversal", "ventral turn"): 0.45,
    ("ventral turn", "fast wide run"): 0.16, ("ventral turn", "slow ventral"): 0.24, ("ventral turn", "reversal"): 0.56,
}  # fmt: skip
EXPONENTS = {10: 1.65, 40: 1.2, 70: 1.13, 130: 1.03}
WAVELENGTHS = {"fast wide run": 0.75, "fast narrow run": 0.62}
# By worm: slope of the data, slope of simulations with 95 % of runs, MSD at 1, 10, 60 and 100 s, exponent, speed.
WORM_PATHS = (
    (0.3387, 0.288, 0.149, 0.457, 0.035, 1.87, 16.6, 29.8, 1.18, 0.166),
    (1.7077, 0.700, 0.387, 1.067, 0.045, 3.24, 58.2, 126.8, 1.53, 0.193),
    (0.2966, 0.209, 0.115, 0.319, 0.018, 1.04, 13.1, 24.9, 1.26, 0.118),
    (0.4064, 0.335, 0.179, 0.514, 0.019, 1.29, 18.5, 34.7, 1.23, 0.127),
    (0.5498, 0.450, 0.253, 0.669, 0.023, 1.59, 26.9, 49.0, 1.17, 0.135),
    (0.1031, 0.069, 0.035, 0.106, 0.010, 0.49, 5.4, 9.6, 1.11, 0.086),
    (0.2399, 0.195, 0.111, 0.297, 0.013, 0.85, 12.2, 21.8, 1.14, 0.103),
    (0.3176, 0.488, 0.263, 0.784, 0.034, 2.46, 22.3, 35.4, 0.88, 0.164),
    (0.2829, 0.227, 0.127, 0.351, 0.018, 1.12, 15.6, 26.8, 1.07, 0.123),
    (0.2356, 0.302, 0.170, 0.451, 0.018, 1.31, 18.0, 27.6, 0.82, 0.125),
    (0.4107, 0.302, 0.172, 0.460, 0.020, 1.34, 17.2, 33.6, 1.31, 0.130),
    (0.1709, 0.229, 0.109, 0.371, 0.027, 1.89, 11.5, 18.2, 0.92, 0.156),
)
MSD_LAGS = (1.0, 10.0, 60.0, 100.0)
PIROUETTE_RATES = (3.8, 4.4, 3.95, 3.45, 3.2, 2.7, 2.4, 2.5, 2.65, 2.15, 1.7, 1.95, 1.8)


def published_figures(worms: Sequence[int] = range(N_WORMS)) -> tuple[Published, ...]:
    """List every published figure that this package computes.

    Parameters
    ----------
    worms
        Numbers of the paper's worms whose own figures are wanted.
    """
    parts = (_entropy_figures, _time_figures, _state_figures, _posture_figures, _path_figures, _foraging_figures)
    figures = [figure for part in parts for figure in part()]
    return (*figures, *(figure for worm in worms for figure in _worm_figures(worm)))


def _mean(key: str, what: str, unit: str, value: tuple[float, float, float], source: Source = "printed") -> Published:
    """Give a mean over worms with its 95 % interval; its section is set by the caller."""
    return Published(
        key=key, section="", what=what, unit=unit, value=value[0], low=value[1], high=value[2],
        spread="95 % of means", source=source,
    )  # fmt: skip


def _read(key: str, what: str, unit: str, value: float, error: float, source: Source = "plot") -> Published:
    """Give a figure that is known to within an error."""
    return Published(
        key=key, section="", what=what, unit=unit, value=value, low=value - error, high=value + error,
        spread="reading error" if source == "plot" else "rounding", source=source,
    )  # fmt: skip


def _range(key: str, what: str, unit: str, value: tuple[float, float, float], source: Source = "plot") -> Published:
    """Give the middle and the ends of the values of single worms."""
    return Published(
        key=key, section="", what=what, unit=unit, value=value[0], low=value[1], high=value[2],
        spread="range over worms", source=source,
    )  # fmt: skip


def _entropy_figures() -> Iterator[Published]:
    for (n_delays, n_states), (mean, sd) in ENTROPY_RATES.items():
        error = 1.96 * sd / math.sqrt(N_WORMS)
        key, what = (
            f"entropy rate K={n_delays} N={n_states}",
            f"entropy rate, {count_of(n_delays, 'frame')}, N = {n_states}",
        )
        figure = _mean(key, what, "nat/s", (mean, mean - error, mean + error), "calculated")
        spread = (min(WORM_ENTROPY), max(WORM_ENTROPY)) if (n_delays, n_states) == (11, 1000) else None
        yield replace(
            figure, section=ENTROPY, worms=spread, how="Lloyd's k-means for each worm; the paper's was of mini-batches."
        )
    information = _mean("predictive information", "predictive information", "nat", (5.417, 5.320, 5.514), "calculated")
    yield replace(information, section=ENTROPY)
    for n_delays, (gain, low, high) in GAINS.items():
        yield replace(
            _mean(
                f"gain K={n_delays}", f"fall of the entropy rate from {n_delays} to {n_delays + 1} frames, N = 1000",
                "nat/s²", (gain, low, high), "calculated",
            ),
            section=ENTROPY,
        )  # fmt: skip
    choices = (
        ("N*", "number of microstates", "", 1000.0, 1000.0, 1000.0),
        # the text finds that six frames are enough
        ("K*", "frames per sequence", "", 11.0, 6.0, 11.0),
        ("tau*", "lag of the chain", "s", 0.75, 0.75, 0.75),
    )
    for key, what, unit, value, low, high in choices:
        chosen = replace(_read(key, f"{what}, {key}", unit, value, 0.0, "printed"), low=low, high=high, of_worms=1)
        yield replace(chosen, section=ENTROPY, how="Chosen from the data by a rule; the paper chose by eye.")
    yield replace(
        _read("successors", "successors of a microstate after τ*", "", 10, 2, "printed"), section=ENTROPY, pooled=True
    )


def _time_figures() -> Iterator[Published]:
    for mode, value in REVERSIBLE_TIMES.items():
        figure = _mean(f"reversible time {mode}", f"mode {mode} of P_r at τ*", "s", value, "calculated")
        spread = (min(WORM_REVERSIBLE), max(WORM_REVERSIBLE)) if mode == 2 else None
        yield replace(figure, section=TIMES, worms=spread, pooled=True)
    yield replace(_mean("chain time 2", "mode 2 of P at τ*", "s", (2.68, 2.11, 3.27)), section=TIMES, pooled=True)
    for mode, time in CHAIN_TIMES.items():
        yield replace(
            _read(f"chain time {mode}", f"mode {mode} of P at τ*", "s", time, 0.01), section=TIMES, pooled=True
        )
    yield replace(
        _mean("noise floor of P_r", "noise floor of P_r", "s", (0.72, 0.64, 0.83), "calculated"),
        section=TIMES,
        pooled=True,
    )
    yield replace(
        _mean("noise floor of P", "noise floor of P", "s", (0.615, 0.54, 0.72), "plot"),
        section=TIMES,
        how="Shuffled at τ*; the paper's one shuffle is at one frame.",
        pooled=True,
    )
    yield replace(
        _mean("two-state time", "relaxation time of runs and pirouettes, Λ_c⁻¹", "s", (3.48, 3.03, 3.86)),
        section=TIMES,
        how="One division of all worms, at 12 frames; the paper divides each worm anew, at 11.",
    )


def _state_figures() -> Iterator[Published]:
    figures = [
        _read("coherence", "coherence of runs and pirouettes, χ", "", 0.84, 0.01),
        _read("pirouette measure", "measure of pirouettes", "", 0.246, 0.003),
        _mean("biexponential long", "longer time of the two exponentials", "s", (23.21, 18.00, 29.09)),
        _mean("biexponential short", "shorter time of the two exponentials", "s", (3.86, 3.44, 4.42)),
        _mean("biexponential relaxation", "relaxation time from both, Λ̂⁻¹", "s", (3.313, 2.985, 3.709)),
        _range("rate pirouette to run", "rate of leaving pirouettes", "1/s", (0.22, 0.147, 0.301)),
        _range("rate run to pirouette", "rate of leaving runs", "1/s", (0.068, 0.040, 0.121)),
        _range(
            "simulated rate pirouette to run", "rate of leaving pirouettes, simulated", "1/s", (0.214, 0.139, 0.291)
        ),
        _range("simulated rate run to pirouette", "rate of leaving runs, simulated", "1/s", (0.067, 0.039, 0.118)),
        # of these only the ends were published
        _range(
            "cross-validated rate pirouette to run",
            "rate of leaving pirouettes, simulated from other blocks",
            "1/s",
            (0.24, 0.15, 0.33),
        ),
        _range(
            "cross-validated rate run to pirouette",
            "rate of leaving runs, simulated from other blocks",
            "1/s",
            (0.085, 0.04, 0.13),
        ),
        replace(
            _mean("mesoscopic dwell", "mean stay in the seven states", "s", (1.658, 1.635, 1.683)),
            spread="95 % of events",
        ),
    ]
    for name, (measure, velocity, *_) in MESOSTATES.items():
        figures.append(_read(f"measure of {name}", f"measure of {name}", "", measure, 0.003))
        figures.append(_read(f"velocity of {name}", f"mean phase velocity in {name}", "cycles/s", velocity, 0.0005,
                             "printed"))  # fmt: skip
    for (before, after), share in JUMPS.items():
        figures.append(_read(f"jump of {before} to {after}", f"{before}, then {after}", "", share, 0.005))
    for name, length in WAVELENGTHS.items():
        figures.append(_read(f"wavelength of {name}", f"median wavelength in {name}", "body lengths", length, 0.01))
    for figure in figures:
        yield replace(figure, section=STATES)


def _posture_figures() -> Iterator[Published]:
    figures = [
        _read("a1 zero", "first zero of the autocorrelation of a₁", "s", 0.62, 0.03),
        _read("a1 minimum", "minimum of the autocorrelation of a₁", "", -0.38, 0.01),
        _read("a1 minimum time", "time of this minimum", "s", 0.95, 0.03),
        _read("a1 peak", "first peak of the autocorrelation of a₁", "", 0.24, 0.01),
        _read("a1 peak time", "time of this peak", "s", 1.8, 0.05),
        _read("a2 minimum", "minimum of the autocorrelation of a₂", "", -0.30, 0.01),
        _read("a3 at 1 s", "autocorrelation of a₃ at 1 s", "", 0.58, 0.01),
        _read("a3 at 2 s", "autocorrelation of a₃ at 2 s", "", 0.27, 0.01),
        _read("a3 at 5 s", "autocorrelation of a₃ at 5 s", "", 0.09, 0.01),
        _read("a4 minimum", "minimum of the autocorrelation of a₄", "", -0.19, 0.01),
        _read("a5 minimum", "minimum of the autocorrelation of a₅", "", -0.20, 0.01),
        _range("reversals", "reversals", "1/min", (3.16, 1.85, 5.24)),
        _range("ventral turns", "ventral turns", "1/min", (2.0, 1.10, 3.41)),
        _range("dorsal turns", "dorsal turns", "1/min", (0.3, 0.03, 0.67)),
        _range("simulated reversals", "reversals, simulated", "1/min", (3.5, 2.19, 5.50)),
        _range("simulated ventral turns", "ventral turns, simulated", "1/min", (2.1, 1.17, 3.76)),
        replace(
            _mean("mixing time of data", "time by which prediction from data fails", "s", (5.19, 4.50, 5.88)),
            spread="95 % of events",
        ),
        replace(
            _mean("mixing time of simulations", "time by which simulations fail to predict", "s", (4.56, 4.31, 5.06)),
            spread="95 % of events",
        ),
    ]
    for k, rate in enumerate(PIROUETTE_RATES):
        if k in (0, 6, 12):
            minutes = 2.5 * (k + 1)
            figures.append(
                _read(f"pirouettes at {minutes:g} min", f"pirouettes at {minutes:g} min", "1/min", rate, 0.05)
            )
    figures.append(_read("simulated pirouettes", "pirouettes, simulated", "1/min", 3.1, 0.05))
    for figure in figures:
        yield replace(figure, section=POSTURE)


def _path_figures() -> Iterator[Published]:
    for seconds, exponent in EXPONENTS.items():
        what = f"mean local exponent of the squared displacement at {seconds} s"
        yield replace(_read(f"exponent at {seconds} s", what, "", exponent, 0.02), section=PATHS)
    yield replace(
        _mean("drag ratio", "drag ratio α", "", (29.84, 29.27, 30.51)),
        section=PATHS,
        how="Root mean square distance over windows side by side; the paper's interval is over windows, not worms.",
        spread="95 % of events",
    )


def _foraging_figures() -> Iterator[Published]:
    for name, (_, _, msd_10, msd_100, *food) in MESOSTATES.items():
        for seconds, value in ((10, msd_10), (100, msd_100)):
            key = f"MSD of {name} at {seconds} s"
            what = f"mean squared displacement in {name} after {seconds} s"
            yield replace(_read(key, what, "L²", value, 0.1 * value), section=FORAGING)
        for radius, value in zip(RADII, food, strict=True):
            yield replace(_food(name, radius, value), section=FORAGING)
    for radius, value in zip(RADII, AVERAGE_FOOD, strict=True):
        yield replace(_food("the average worm", radius, value), section=FORAGING)


def _food(name: str, radius: float, value: float) -> Published:
    what = f"probability that {name} finds food within {radius:g} L"
    return _read(f"food of {name} at {radius:g} L", what, "", value, 0.005)


def _worm_figures(worm: int) -> Iterator[Published]:
    """List what was published of one worm; the numbers are the paper's, from zero on."""
    slope, simulated, low, high, *far, exponent, speed = WORM_PATHS[worm]
    digits = (0.001, 0.01, 0.1, 0.1)
    figures = [
        _read(f"worm {worm} entropy rate", f"worm {worm}: entropy rate, 11 frames, 1000 microstates", "nat/s",
              WORM_ENTROPY[worm], 0.01, "calculated"),
        _read(f"worm {worm} reversible time", f"worm {worm}: mode 2 of P_r at τ*", "s", WORM_REVERSIBLE[worm], 0.01,
              "calculated"),
        _read(f"worm {worm} slope", f"worm {worm}: slope of the mean squared displacement", "mm²/s", slope, 1e-4,
              "printed"),
        _read(f"worm {worm} exponent", f"worm {worm}: its exponent, 60 to 100 s", "", exponent, 0.01, "calculated"),
        _read(f"worm {worm} speed", f"worm {worm}: speed over one second", "mm/s", speed, 0.001, "calculated"),
        replace(_read(f"worm {worm} simulated slope", f"worm {worm}: slope, simulated", "mm²/s", simulated, 0.0,
                      "printed"), low=low, high=high, spread="95 % of runs"),
    ]  # fmt: skip
    for lag, value, digit in zip(MSD_LAGS, far, digits, strict=True):
        what = f"worm {worm}: mean squared displacement after {lag:g} s"
        figures.append(_read(f"worm {worm} MSD {lag:g} s", what, "mm²", value, digit, "calculated"))
    sections = {"entropy rate": ENTROPY, "reversible time": TIMES}
    for figure in figures:
        section = sections.get(figure.key.split(" ", 2)[2], PATHS)
        yield replace(figure, section=section, of_worms=1, pooled=section == TIMES)
