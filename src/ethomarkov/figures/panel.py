"""Panels: what a part of a figure shows, the results that it needs, and the words below it."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from matplotlib.axes import Axes

Results = Mapping[str, Any]
"""Results by name; missing or None where there is none."""
Function = TypeVar("Function", bound=Callable[..., None])

NO_WAVE = "the postures of this study have no body wave"
NO_BODY = "the postures of this study are no tangent angles, so the body has no outline and no path"
NO_PATH = "no path was measured"


def lacking(what: str, command: str) -> str:
    """Say that results are missing, and which command makes them."""
    return f"there are no {what} yet; make them with `ethomarkov {command}`"


REASONS: dict[str, str] = {
    "body_basis": NO_BODY,
    "phase_velocity": NO_WAVE,
    "path": NO_BODY,
    "measured_path": NO_PATH,
    "postures": lacking("postures", "run FILES --out STUDY"),
    "simulated": lacking("simulated postures", "run FILES --out STUDY"),
    "choice": lacking("choices", "run FILES --out STUDY"),
    "symbols": lacking("state sequences", "run FILES --out STUDY"),
    "chain": lacking("chains", "run FILES --out STUDY"),
    "frame_chain": lacking("chains", "run FILES --out STUDY"),
    "animal_chains": lacking("chains of the animals", "run FILES --out STUDY"),
    "spectrum": lacking("relaxation times", "choose STUDY"),
    "scan": lacking("entropy rates", "choose FILES --entropy --out STUDY"),
    "lag_scan": lacking("relaxation times against the lag", "choose STUDY"),
    "slow_modes": "the chain has no slow mode",
    "sequence_map": lacking("maps", "map STUDY"),
    "cut": lacking("divisions", "run FILES --out STUDY"),
    "set_coherence": lacking("divisions", "run FILES --out STUDY"),
    "simulation_choice": lacking("simulated postures", "run FILES --out STUDY"),
    "tree": lacking("states", "run FILES --out STUDY"),
    "names": lacking("names of states", "run FILES --out STUDY"),
    "macrostates": lacking("states", "run FILES --out STUDY"),
    "finest_states": lacking("states", "run FILES --out STUDY"),
    "macro_dwells": lacking("dwell times", "states STUDY"),
    "frame_dwells": lacking("dwell times", "states STUDY"),
    "macro_budget": lacking("time budgets", "states STUDY"),
    "coarse_times": lacking("relaxation times of the states", "states STUDY"),
    "dwells": lacking("dwell times", "states STUDY"),
    "jumps": lacking("transitions", "states STUDY"),
    "budget": lacking("time budgets", "states STUDY"),
    "kinetics": lacking("kinetics", "states STUDY"),
    "posture_correlation": lacking("autocorrelations", "run FILES --out STUDY"),
    "simulated_correlation": lacking("autocorrelations", "run FILES --out STUDY"),
    "checks": lacking("comparisons of the animals with their models", "validate STUDY"),
    "agreements": lacking("comparisons of the animals with their models", "validate STUDY"),
    "animal_correlation": lacking("comparisons of the animals with their models", "validate STUDY"),
    "run_correlation": lacking("comparisons of the animals with their models", "validate STUDY"),
    "animal_density": lacking("comparisons of the animals with their models", "validate STUDY"),
    "run_density": lacking("comparisons of the animals with their models", "validate STUDY"),
    "predictions": lacking("errors of prediction", "validate STUDY"),
    "splits": lacking("cross-validations", "validate STUDY --repeats 50"),
    "split_means": lacking("cross-validations", "validate STUDY --repeats 50"),
    "held_out_correlation": lacking("cross-validations", "validate STUDY --repeats 50"),
    "runs": lacking("runs of the animals", "simulate STUDY"),
    "posture_spectra": lacking("runs of the animals", "simulate STUDY"),
    "diffusion": f"{NO_PATH} that is long enough for a diffusion coefficient",
    "state_runs": lacking("runs of the states", "simulate STUDY --state each --out STUDY/simulation_states"),
    "reconstruction": lacking("fits of the drag ratio", "path STUDY"),
    "drag_example": lacking("fits of the drag ratio", "path STUDY"),
    "foraging": lacking("foraging animals", "forage STUDY"),
    "foraging_paths": lacking("foraging animals", "forage STUDY"),
}
"""Why a result is missing: the command that makes it, or why the study cannot have it."""
RESTS_ON: dict[str, tuple[str, ...]] = {
    "runs": ("body_basis",),
    "posture_spectra": ("body_basis",),
    "diffusion": ("body_basis", "runs"),
    "state_runs": ("body_basis",),
    "reconstruction": ("body_basis", "measured_path"),
    "drag_example": ("body_basis", "measured_path", "reconstruction"),
    "foraging": ("body_basis",),
    "foraging_paths": ("body_basis", "foraging"),
}
"""Results without which others cannot be: then their absence is the reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """One part of a figure, on one or several axes.

    Parameters
    ----------
    name
        By which layouts call it.
    draw
        Draws it onto axes, from the results that its other parameters name.
    needs, wishes
        Results without which it is left out, and those that it shows if they are there.
    caption
        What it shows: text, or a function of results.
    unless
        A function of results that gives the reason why they cannot be shown, or None.
    n_axes
        Number of its axes, or a function of results.
    columns
        Its axes form a grid of so many columns, if it stands alone in its row; None for one row.
    width, height
        Of one of its axes: relative to its neighbours, and in inches; the height may be a function of results.
    """

    name: str
    draw: Callable[..., None]
    needs: tuple[str, ...]
    wishes: tuple[str, ...] = ()
    caption: str | Callable[..., str] = ""
    unless: Callable[..., str | None] | None = None
    n_axes: int | Callable[..., int] = 1
    columns: int | None = None
    width: float = 1.0
    height: float | Callable[..., float] = 3.4

    def why_not(self, results: Results) -> str | None:
        """Say why it cannot be drawn; None if it can."""
        for need in self.needs:
            if results.get(need) is None:
                return explain_missing(need, results)
        return None if self.unless is None else ask(self.unless, results)

    def draw_on(self, axes: Sequence[Axes], results: Results) -> None:
        """Draw it from results."""
        arguments = {name: results.get(name) for name in (*self.needs, *self.wishes)}
        self.draw(axes if self.n_axes != 1 else axes[0], **arguments)


PANELS: dict[str, Panel] = {}
"""All panels by name; `ethomarkov.figures.panels` fills it."""


def panel(**about: Any) -> Callable[[Function], Function]:  # noqa: ANN401 (fields of Panel)
    """Register a function that draws onto axes as a panel; its parameters after the axes are the results it needs.

    A parameter whose annotation admits None is a result that the panel can do without.

    Parameters
    ----------
    about
        Fields of `Panel`: caption, unless, n_axes, columns, width, height.
    """

    def register(function: Function) -> Function:
        _, *parameters = inspect.signature(function).parameters.values()
        is_wish = {one.name: "None" in str(one.annotation) for one in parameters}
        needs = tuple(name for name, optional in is_wish.items() if not optional)
        wishes = tuple(name for name, optional in is_wish.items() if optional)
        name = function.__name__
        PANELS[name] = Panel(name=name, draw=function, needs=needs, wishes=wishes, **about)
        return function

    return register


def ask(question: Any, results: Results) -> Any:  # noqa: ANN401 (a value, or a function of results)
    """Give a value that may depend on results: functions are called with those that their parameters name."""
    if not callable(question):
        return question
    return question(**{name: results.get(name) for name in inspect.signature(question).parameters})


def explain_missing(name: str, results: Results) -> str:
    """Say why there is no result of a name."""
    first = next((other for other in RESTS_ON.get(name, ()) if results.get(other) is None), None)
    return REASONS[name] if first is None else explain_missing(first, results)
