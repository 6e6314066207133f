"""Figures that commands write: layouts of panels by command and file."""

from matplotlib.figure import Figure

from ethomarkov.figures.layout import Layout, compose
from ethomarkov.figures.panel import Results

COMMANDS: dict[str, dict[str, Layout]] = {
    "map": {
        "map.png": Layout((("motion_on_map", "slowest_mode_on_map"), ("further_modes_on_map",)), width=11.4),
        "chain.png": Layout(
            (("chain_on_map", "macrostates_on_map"), ("successors", "visits", "transition_probabilities")), width=11.0
        ),
    },
    "choose": {
        "choice.png": Layout((("memory", "information"), ("microstate_numbers", "lag_times")), width=8.5),
        "scan.png": Layout((("entropy_rates", "entropy_gains"),), width=10.0),
        "timescales.png": Layout((("relaxation_times", "times_by_lag"),), width=10.0),
    },
    "states": {
        "tree.png": Layout((("tree_of_states",),), width=10.5),
        "ethogram.png": Layout((("ethogram",),), width=9.5),
        "kinetics.png": Layout(
            (("cut_by_mode", "survival", "macrostate_times"), ("chapman_kolmogorov", "macro_time_budget")), width=11.0
        ),
        "states.png": Layout((("time_budget", "transitions"), ("dwell_distribution",))),
        "traits.png": Layout((("traits_of_states",),), width=10.5),
        "postures.png": Layout((("postures_of_states",),), width=8.5),
    },
    "simulate": {
        "kymographs.png": Layout((("run_kymographs",),), width=8.0),
        "spectra.png": Layout((("unfolding_spectra",),), width=9.5),
        "states.png": Layout((("state_paths",), ("state_displacements", "state_bearings"))),
        "displacement.png": Layout((("displacements",),)),
        "paths.png": Layout((("run_paths",),), width=5.6),
        "diffusion.png": Layout((("diffusion_coefficients",),), width=5.0),
    },
    "path": {"drag.png": Layout((("drag_loss", "best_drag_ratios", "drag_window"),), width=14.0)},
    "validate": {
        "agreement.png": Layout((("agreement",),), width=10.5),
        "autocorrelation.png": Layout((("autocorrelations",),), width=10.5),
        "distributions.png": Layout((("mode_densities",),), width=10.5),
        "prediction.png": Layout((("prediction_errors", "held_out_gain", "entries"),), width=14.0),
        "rates.png": Layout((("rates_of_events", "transition_rates"),), width=11.6),
        "cross_validation.png": Layout(
            (("held_out_correlations",), ("cross_validated_events", "cross_validated_transition_rates")), width=13.6
        ),
    },
    "forage": {"forage.png": Layout((("foraging_examples", "food_curve", "time_and_food"),), width=15.0)},
}
"""Layouts by command and file name."""


def draw_command_figures(command: str, results: Results) -> dict[str, Figure]:
    """Draw the figures of a command, by file name; those of which nothing can be drawn are left out.

    Parameters
    ----------
    command
        Its name, a key of `COMMANDS`.
    results
        By name; see `ethomarkov.report.results`.

    Examples
    --------
    >>> draw_command_figures("forage", {})  # without a result nothing is drawn
    {}
    """
    drawn = {name: compose(layout, results).figure for name, layout in COMMANDS[command].items()}
    return {name: figure for name, figure in drawn.items() if figure is not None}
