"""Layouts of the figures of the paper: Fig. 1 to 5 and S1 to S10."""

from ethomarkov._core.words import count_of
from ethomarkov.figures.layout import Drawn, Layout, compose
from ethomarkov.figures.panel import Results

FIGURES: dict[str, Layout] = {
    "1": Layout(
        (("a recorded_traces", "bodies"), ("b entropy_rates", "c motion_on_map")),
        "Posture sequences that predict best, and the space that they form",
    ),
    "2": Layout(
        (
            ("a recorded_traces", "simulated_traces"),
            ("b autocorrelations",),
            ("c rates_of_events", "d transition_rates"),
            ("e macrostates_on_map", "path_in_states"),
        ),
        "The Markov model across timescales",
    ),
    "3": Layout(
        (("a example_paths", "b first_displacement", "diffusion_coefficients"),), "Paths from simulated postures"
    ),
    "4": Layout(
        (
            ("a chain_on_map", "relaxation_times"),
            ("b slowest_mode_on_map", "pooled_survival", "survival"),
            ("c tree_of_states",),
            ("dwell_distribution", "transitions"),
        ),
        "Slow modes, and the states that they divide",
    ),
    "5": Layout((("a foraging_examples", "b food_curve", "c time_and_food"),), "What animals find in the states", 15.0),
    "S1": Layout((("a entropy_gains", "b times_by_lag", "c macrostate_times"),), "Sequence length and lag"),
    "S2": Layout((("a kymographs",), ("b prediction_errors",)), "Simulated postures"),
    "S3": Layout((("mode_densities",),), "Distributions of the modes"),
    "S4": Layout(
        (
            ("a held_out_correlations",),
            ("b held_out_events", "c held_out_transition_rates"),
            ("d successors", "e visits", "f transition_probabilities"),
        ),
        "Cross-validation, and sampling of the chain",
    ),
    "S5": Layout((("a drag_loss", "best_drag_ratios", "drag_window"), ("b displacements",)), "From postures to paths"),
    "S6": Layout((("further_modes_on_map",),), "Further slow modes"),
    "S7": Layout((("cut_by_mode",),), "Where to divide the slowest mode", 6.5),
    "S8a": Layout((("a traits_of_states",),), "What the body does in the states", 10.5),
    "S8b": Layout((("b postures_of_states",),), "Postures in the states", 8.5),
    "S9": Layout((("a state_displacements", "b state_bearings"),), "Paths within the states"),
    "S10": Layout((("entries",),), "Behaviour in the course of time", 8.0),
}
"""Figures by their number in the paper."""


def draw_paper_figure(number: str, results: Results) -> Drawn:
    """Draw a figure of the paper as far as results go.

    Parameters
    ----------
    number
        Its number, a key of `FIGURES`.
    results
        By name; see `ethomarkov.report.results`.
    """
    return compose(FIGURES[number], results, describe_study(results))


def describe_study(results: Results) -> str:
    """Write one sentence about animals and settings, for captions."""
    postures, chain, settings = results["postures"], results["chain"], results["settings"]
    sampling = postures.sampling
    minutes = sampling.seconds(len(postures.values)) / 60
    n_animals = results["symbols"].segments.n_individuals
    return (
        f"{count_of(n_animals, 'animal')}, {minutes:.3g} min in all at {sampling.rate:g} Hz; {settings.n_modes} modes, "
        f"sequences of {settings.n_delays} frames ({sampling.seconds(settings.n_delays):.3g} s), {chain.states.size} "
        f"of {settings.n_states} microstates in the chain, lag {chain.lag:.6g} s, seed {settings.seed}."
    )
