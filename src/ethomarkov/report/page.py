"""The report: one HTML file that needs nothing else."""

import base64
import io
from collections.abc import Callable
from pathlib import Path

import numpy as np
from jinja2 import Environment, StrictUndefined
from markupsafe import Markup
from matplotlib.figure import Figure

from ethomarkov import __version__
from ethomarkov._core.interval import Interval
from ethomarkov._core.series import Series
from ethomarkov._core.words import count_of
from ethomarkov.coarse.kinetics import jump_chain, time_budget
from ethomarkov.figures.choice import draw_choice
from ethomarkov.figures.kinetics import draw_transition_graph
from ethomarkov.figures.recording import draw_coverage, draw_traces
from ethomarkov.figures.scan import draw_entropy_rates, draw_gains, draw_spectrum
from ethomarkov.figures.simulation import draw_paths
from ethomarkov.figures.states import draw_coherence, draw_ethogram, draw_time_budget
from ethomarkov.figures.style import figure_style, new_figure, save_figure, state_colours
from ethomarkov.figures.validation import draw_autocorrelations
from ethomarkov.io.atomic import atomic_path
from ethomarkov.markov.selection import choose_n_states
from ethomarkov.posture import centerline_from_angles
from ethomarkov.report.extras import Extras, embed_png
from ethomarkov.report.path_movies import typical_stays
from ethomarkov.report.policy import content_policy, read_template
from ethomarkov.report.state_figures import tree_figure
from ethomarkov.validation.correlation import autocorrelation
from ethomarkov.workflow.states import state_names
from ethomarkov.workflow.study import MACRO, Study
from ethomarkov.workflow.summary import Figures, summarize

REPORT_FILE = "report.html"
SCRIPTS = ("crawl", "clips")
CORRELATED_SECONDS = 6.0
CRAWL_SECONDS, CLIP_SECONDS = 60.0, 6.0
CRAWL_POINTS = 26


def write_report(study: Study, directory: Path, figures: Figures | None = None) -> Path:
    """Write ``report.html`` into a directory.

    Parameters
    ----------
    study
        What was found.
    directory
        Where the page goes.
    figures
        Key figures, if they were computed before.
    """
    page = render_report(study, figures)
    target = directory / REPORT_FILE
    with atomic_path(target) as temporary:
        temporary.write_text(page, encoding="utf-8")
    return target


def render_report(study: Study, figures: Figures | None = None, extras: Extras | None = None) -> str:
    """Make the page as text.

    Nothing in it can reach the network: its own policy forbids every request, and every script but those it brings.

    Parameters
    ----------
    study
        What was found.
    figures
        Key figures, if they were computed before.
    extras
        What other commands found.
    """
    scripts = {name: Markup(read_template(f"{name}.js")) for name in SCRIPTS}
    return (
        _environment()
        .from_string(read_template("report.html"))
        .render(
            scripts=scripts,
            policy=content_policy(scripts.values()),
            summary=figures or summarize(study),
            settings={name: _setting(value) for name, value in study.settings.model_dump().items()},
            images={name: _embed(draw(study)) for name, draw in _drawings(study).items()},
            ledger=study.ledger.totals(),
            losses=[entry for entry in study.ledger.entries if entry.lost],
            crawl=_crawl(study),
            clips=_clips(study),
            extras=extras or Extras(),
            version=__version__,
        )
    )


def _drawings(study: Study) -> dict[str, Callable[[Study], Figure]]:
    drawings: dict[str, Callable[[Study], Figure]] = {
        "data": _draw_data,
        "states": _draw_states,
        "ethogram": _draw_ethogram,
        "tree": tree_figure,
        "transitions": _draw_transitions,
        "autocorrelation": _draw_autocorrelations,
    }
    if study.choice.delays.size:
        drawings["choice"] = _draw_choice
    if study.scan is not None:
        drawings["scan"] = _draw_scan
    if study.path is not None:
        drawings["paths"] = _draw_paths
    return drawings


def _draw_data(study: Study) -> Figure:
    segments, rate = study.postures.segments, study.postures.sampling.rate
    with figure_style():
        bars = 0.6 + 0.2 * min(segments.n_individuals, 40)
        figure = new_figure(8.5, bars + 2.8)
        upper, lower = figure.subplots(2, 1, height_ratios=[bars, 2.4])
        draw_coverage(upper, segments, rate)
        start, stop, _ = segments.bounds[segments.lengths.argmax()]
        rows = study.postures.values[start : min(stop, start + _frames(60.0, rate)), :5]
        draw_traces(lower, rows, rate, [f"$a_{k + 1}$" for k in range(rows.shape[1])], "mode amplitudes")
    return figure


def _draw_choice(study: Study) -> Figure:
    noise = study.noise_floor.time(0.975) if study.noise_floor is not None else None
    return draw_choice(study.choice, study.postures.sampling.interval, noise)


def _draw_scan(study: Study) -> Figure:
    with figure_style():
        figure = new_figure(8.5, 3.2)
        left, right = figure.subplots(1, 2)
        if study.scan is not None:
            draw_entropy_rates(left, study.scan)
            draw_gains(right, study.scan, int(choose_n_states(study.scan).value))
    return figure


def _draw_states(study: Study) -> Figure:
    with figure_style():
        figure = new_figure(8.5, 3.0)
        left, right = figure.subplots(1, 2)
        draw_spectrum(left, study.spectrum, study.noise_floor)
        draw_coherence(right, study.cut, study.chain.stationary)
    return figure


def _draw_ethogram(study: Study) -> Figure:
    with figure_style():
        figure = new_figure(8.5, 1.0 + 0.28 * min(study.symbols.segments.n_individuals, 12))
        draw_ethogram(figure.subplots(), study.states(), state_names(study, MACRO))
    return figure


def _draw_transitions(study: Study) -> Figure:
    """Draw time budget and next states at the finest level."""
    symbols, names = study.states(study.finest), state_names(study, study.finest)
    with figure_style():
        figure = new_figure(9.5, 4.4)
        left, right = figure.subplots(1, 2, width_ratios=[1, 1.3])
        draw_time_budget(left, time_budget(symbols), names)
        jumps = jump_chain(symbols, study.chain.lag)
        draw_transition_graph(right, jumps, names, time_share=study.tree.measures_at(study.finest))
    return figure


def _draw_autocorrelations(study: Study) -> Figure:
    sampling = study.postures.sampling
    seconds = sampling.seconds(max(1, round(CORRELATED_SECONDS * sampling.rate)))
    data, simulated = autocorrelation(study.postures, seconds), autocorrelation(study.simulated, seconds, over="runs")
    return draw_autocorrelations(data, simulated)


def _draw_paths(study: Study) -> Figure:
    with figure_style():
        figure = new_figure(5.0, 4.2)
        if study.path is not None:
            draw_paths(figure.subplots(), study.path)
    return figure


def _embed(figure: Figure) -> Markup:
    """Turn a figure into an image that lives inside the page."""
    stream = io.BytesIO()
    save_figure(figure, stream, format="png")
    return embed_png(stream.getvalue())


def _crawl(study: Study) -> dict[str, object] | None:
    """Pack a minute of a simulated body as it crawls, for the animation."""
    if study.path is None or study.basis is None:
        return None
    angles = study.basis.reconstruct(study.simulated)
    start, stop, _ = angles.segments.bounds[0]
    stop = min(stop, start + _frames(CRAWL_SECONDS, angles.sampling.rate))
    body = centerline_from_angles(angles.values[start:stop], study.path.heading[start:stop])
    body = body - body.mean(axis=1, keepdims=True) + study.path.centroid[start:stop, None]
    points = np.linspace(0, body.shape[1] - 1, CRAWL_POINTS).round().astype(int)
    packed = body[:, points].astype("<f4").tobytes()
    return {
        "frames": int(stop - start),
        "points": CRAWL_POINTS,
        "rate": angles.sampling.rate,
        "data": base64.b64encode(packed).decode(),
    }


def _clips(study: Study) -> dict[str, object] | None:
    """Pack a typical stay in each state as outlines of the body, for small animations."""
    if study.basis is None or study.basis.features != "angle":
        return None
    symbols, names = study.states(study.finest), state_names(study, study.finest)
    rate, clips = study.postures.sampling.rate, []
    for name, colour, (start, stop) in zip(names, state_colours(len(names)), typical_stays(symbols), strict=True):
        if start < 0:
            continue
        rows = slice(start, min(stop, start + _frames(CLIP_SECONDS, rate)))
        angles = study.basis.reconstruct(Series.from_rows(study.postures.values[rows], rate)).values
        body = centerline_from_angles(angles)
        body = body - body.mean(axis=1, keepdims=True)
        points = np.linspace(0, body.shape[1] - 1, CRAWL_POINTS).round().astype(int)
        packed = base64.b64encode(body[:, points].astype("<f4").tobytes()).decode()
        clips.append({"name": name, "colour": colour, "frames": len(body), "data": packed})
    return {"points": CRAWL_POINTS, "rate": rate, "clips": clips}


def _frames(seconds: float, rate: float) -> int:
    """Count frames to show; two at least, of recordings with minutes between frames."""
    return max(2, round(seconds * rate))


def _environment() -> Environment:
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.filters |= {
        "count": count_of,
        "interval": _format_interval,
        "percent": lambda share: f"{100 * share:.1f} %",
    }
    return environment


def _format_interval(found: dict[str, float], unit: str = "") -> str:
    """Write an interval as people do, and say over what it was taken."""
    interval = Interval(**found)  # type: ignore[arg-type]
    if not np.isfinite(interval.estimate):
        return "not defined"
    if not np.isfinite(interval.low):
        return f"{interval.estimate:.3g} {unit}"
    return f"{interval} {unit} over {interval.n} {interval.over}"


def _setting(value: object) -> object:
    return "by the recording" if value is None else value
