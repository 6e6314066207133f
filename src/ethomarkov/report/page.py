"""The report: one HTML file that needs nothing else."""

import base64
import io
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from jinja2 import Environment, StrictUndefined
from markupsafe import Markup
from matplotlib.figure import Figure

from ethomarkov import __version__
from ethomarkov._core.interval import Interval
from ethomarkov._core.series import Series
from ethomarkov._core.words import count_of
from ethomarkov.coarse.examples import typical_dwells
from ethomarkov.figures.layout import Layout, can_draw, compose
from ethomarkov.figures.panel import Results
from ethomarkov.figures.style import save_figure, state_colours
from ethomarkov.io.atomic import atomic_path
from ethomarkov.posture import centerline_from_angles
from ethomarkov.report.commands import COMMANDS
from ethomarkov.report.policy import content_policy, read_template
from ethomarkov.study.files import REPORT_FILE

SCRIPTS = ("crawl", "clips")
CRAWL_SECONDS, CLIP_SECONDS = 60.0, 6.0
CRAWL_POINTS = 26
IMAGES: dict[str, Layout] = {
    "data": Layout((("coverage",), ("traces",)), width=8.5),
    "choice": COMMANDS["choose"]["choice.png"],
    "scan": Layout((("entropy_rates", "entropy_gains"),), width=8.5),
    "states": Layout((("relaxation_times", "cut_by_share"),), width=8.5),
    "ethogram": Layout((("macro_ethogram",),), width=8.5),
    "tree": COMMANDS["states"]["tree.png"],
    "transitions": Layout((("time_budget", "transitions"),), width=9.5),
    "autocorrelation": Layout((("simulated_autocorrelations",),), width=10.5),
    "paths": Layout((("simulated_paths",),), width=5.0),
}
"""Pictures that the page speaks of."""
SECTIONS: tuple[tuple[str, str, Layout], ...] = (
    ("Kinetics", "kinetics", COMMANDS["states"]["kinetics.png"]),
    ("Postures of the states", "kinetics", COMMANDS["states"]["postures.png"]),
    ("How far simulated animals get", "runs", COMMANDS["simulate"]["displacement.png"]),
    ("Diffusion, animal by animal", "runs", COMMANDS["simulate"]["diffusion.png"]),
    ("The drag ratio", "reconstruction", COMMANDS["path"]["drag.png"]),
    ("Agreement", "agreements", COMMANDS["validate"]["agreement.png"]),
    ("Foraging", "foraging", COMMANDS["forage"]["forage.png"]),
)
"""Further sections: title, the result without which there is none, and the picture."""


def write_report(results: Results, directory: Path) -> Path:
    """Write ``report.html`` into a directory.

    Parameters
    ----------
    results
        Of a study, by name; see `ethomarkov.report.results`.
    directory
        Where the page goes.
    """
    page = render_report(results)
    target = directory / REPORT_FILE
    with atomic_path(target) as temporary:
        temporary.write_text(page, encoding="utf-8")
    return target


def render_report(results: Results) -> str:
    """Make the page as text.

    Nothing in it can reach the network: its own policy forbids every request, and every script but those it brings.

    Parameters
    ----------
    results
        Of a study, by name; those that are not there are left out.
    """
    scripts = {name: Markup(read_template(f"{name}.js")) for name in SCRIPTS}
    ledger = results["ledger"]
    return (
        _environment()
        .from_string(read_template("report.html"))
        .render(
            scripts=scripts,
            policy=content_policy(scripts.values()),
            summary=results["summary"],
            settings={name: _setting(value) for name, value in results["settings"].model_dump().items()},
            images=_images(results),
            sections=list(_sections(results)),
            agreements=results.get("agreements") or (),
            truth=results.get("known_truth"),
            ledger=ledger.totals(),
            losses=[entry for entry in ledger.entries if entry.lost],
            crawl=_crawl(results),
            clips=_clips(results),
            version=__version__,
        )
    )


def _images(results: Results) -> dict[str, Markup]:
    """Draw the pictures that the page speaks of, as far as there are results."""
    drawn = {name: compose(layout, results).figure for name, layout in IMAGES.items()}
    return {name: _embed(figure) for name, figure in drawn.items() if figure is not None}


def held_sections(results: Results) -> dict[str, Layout]:
    """List the sections for which other commands made results, by title."""
    held = {title: layout for title, need, layout in SECTIONS if results.get(need) is not None}
    return {title: layout for title, layout in held.items() if can_draw(layout, results)}


def _sections(results: Results) -> Iterator[tuple[str, str, Markup]]:
    """Draw them: title, caption and picture."""
    for title, layout in held_sections(results).items():
        drawn = compose(layout, results)
        if drawn.figure is not None:
            yield title, drawn.caption, _embed(drawn.figure)


def _embed(figure: Figure) -> Markup:
    """Turn a figure into an image that lives inside the page."""
    stream = io.BytesIO()
    save_figure(figure, stream, format="png")
    return Markup("data:image/png;base64," + base64.b64encode(stream.getvalue()).decode())


def _crawl(results: Results) -> dict[str, object] | None:
    """Pack a minute of a simulated body as it crawls, for the animation."""
    path, basis = results["path"], results["body_basis"]
    if path is None or basis is None:
        return None
    angles = basis.reconstruct(results["simulated"])
    start, stop, _ = angles.segments.bounds[0]
    stop = min(stop, start + _frames(CRAWL_SECONDS, angles.sampling.rate))
    body = centerline_from_angles(angles.values[start:stop], path.heading[start:stop])
    body = body - body.mean(axis=1, keepdims=True) + path.centroid[start:stop, None]
    points = np.linspace(0, body.shape[1] - 1, CRAWL_POINTS).round().astype(int)
    packed = body[:, points].astype("<f4").tobytes()
    return {
        "frames": int(stop - start),
        "points": CRAWL_POINTS,
        "rate": angles.sampling.rate,
        "data": base64.b64encode(packed).decode(),
    }


def _clips(results: Results) -> dict[str, object] | None:
    """Pack a typical dwell in each state as outlines of the body, for small animations."""
    basis, postures, symbols = results["body_basis"], results["postures"], results["finest_states"]
    if basis is None:
        return None
    names, rate, clips = results["names"][symbols.n_states], postures.sampling.rate, []
    for name, colour, (start, stop) in zip(names, state_colours(len(names)), typical_dwells(symbols), strict=True):
        if start < 0:
            continue
        rows = slice(start, min(stop, start + _frames(CLIP_SECONDS, rate)))
        angles = basis.reconstruct(Series.from_rows(postures.values[rows], rate)).values
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


def _format_interval(limits: dict[str, float], unit: str = "") -> str:
    """Write an interval as people do, and say over what it was taken."""
    interval = Interval(**limits)  # type: ignore[arg-type]
    if not np.isfinite(interval.estimate):
        return "not defined"
    if not np.isfinite(interval.low):
        return f"{interval.estimate:.3g} {unit}"
    return f"{interval} {unit} over {interval.n} {interval.over}"


def _setting(value: object) -> object:
    return "by the recording" if value is None else value
