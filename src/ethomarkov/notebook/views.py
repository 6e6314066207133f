"""Views of a study as files and figures: the page, the explorer, figures of the paper, movies, new animals."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from ethomarkov.exceptions import InputFormatError
from ethomarkov.figures.layout import Drawn
from ethomarkov.io.atomic import atomic_path, check_writable
from ethomarkov.model.application import Application
from ethomarkov.model.application import apply_model as label_new_animals
from ethomarkov.notebook.running import as_recording
from ethomarkov.paper.figures import choose_figures
from ethomarkov.paper.layout import draw_paper_figure
from ethomarkov.paper.results import PaperResults
from ethomarkov.report.explorer import write_explorer as write_explorer_page
from ethomarkov.report.movies import write_crawl, write_pair, write_tour
from ethomarkov.report.page import render_report
from ethomarkov.report.results import StudyResults
from ethomarkov.study import Study
from ethomarkov.study.defaults import MOVIE_SECONDS
from ethomarkov.study.files import EXPLORER_FILE, REPORT_FILE
from ethomarkov.study.study import apply_study

PAPER_STAGE = "published_scan"
MovieKind = Literal["postures", "crawl", "tour"]


def write_report(study: Study, out: str | Path | None = None) -> Path:
    """Write the report of a study, and give the path of the page.

    Parameters
    ----------
    study
        With all that was asked of it.
    out
        The page, or a directory for it; ``report.html`` in the study's own directory by default.
    """
    target = _target(study, out, REPORT_FILE)
    page = render_report(results_of(study))
    with atomic_path(target) as temporary:
        temporary.write_text(page, encoding="utf-8")
    return target


def write_explorer(study: Study, out: str | Path | None = None, method: Literal["umap", "pca"] | None = None) -> Path:
    """Write the explorer of a study, and give the path of the page.

    Parameters
    ----------
    study
        To explore.
    out
        The page, or a directory for it; ``explorer.html`` in the study's own directory by default.
    method
        Of the map; by default the one that the study has, or else UMAP.
    """
    target = _target(study, out, EXPLORER_FILE)
    placed = study.held("sequence_map") if method is None else None
    placed = study.compute("sequence_map", method=method or "umap") if placed is None else placed
    return write_explorer_page(results_of(study, sequence_map=placed), target)


def draw_figure(study: Study, number: str | int) -> Drawn:
    """Draw a figure of the paper for a study; what it lacks is in ``left_out``, with what makes it.

    Parameters
    ----------
    study
        With all that was asked of it.
    number
        As in the paper: 1 to 5, "S1" to "S10".
    """
    (chosen,) = choose_figures([str(number)])[:1]
    return draw_paper_figure(chosen, results_of(study))


def write_movie(study: Study, kind: MovieKind = "postures", out: str | Path | None = None, **options: Any) -> Path:  # noqa: ANN401
    """Make a movie of a study, and give its path.

    Parameters
    ----------
    study
        Of animals whose body can be drawn.
    kind
        "postures" shows data above a simulation, "crawl" a simulated animal that draws its path, "tour" a typical
        sequence of every state.
    out
        The file (.mp4 or .gif), or a directory for it; the study's own directory by default.
    options
        ``animal`` (name; the first by default) and ``seconds`` of "postures" and "crawl", ``level`` of a tour.
    """
    seconds, level = float(options.pop("seconds", MOVIE_SECONDS)), options.pop("level", None)
    animal = options.pop("animal", None)
    if kind not in ("postures", "crawl", "tour") or options:
        raise InputFormatError(
            f"A movie is of the kind 'postures', 'crawl' or 'tour', not {kind!r}, and takes animal=, seconds= and "
            f"level={', not ' + ', '.join(options) if options else ''}."
        )
    study.model.body_basis()
    target, results = _target(study, out, f"{kind}.mp4", (".mp4", ".gif")), results_of(study)
    if kind == "tour":
        write_tour(results, target, study.graph.progress, level=level)
        return target
    step = study.model.steps[0]
    minutes = max(2, -(-seconds // step)) * step / 60
    found = study.compute("runs", animal=animal or study.individuals[0], n_runs=1, minutes=minutes)
    write = write_pair if kind == "postures" else write_crawl
    write(results, found.runs[0], target, study.graph.progress, seconds)
    return target


def apply_model(study: Study, recordings: Any, out: str | Path | None, reading: Mapping[str, Any]) -> Application:  # noqa: ANN401
    """Label new animals with the states of a study, and tell whether its model covers them.

    Parameters
    ----------
    study
        Whose model.
    recordings, reading
        New animals, and how they are read; see `run`.
    out
        Directory in which the result is cached; None keeps it in memory.
    """
    recording = as_recording(recordings, reading)
    if out is None:
        return label_new_animals(study.model, recording, threads=study.graph.threads)
    found: Application = apply_study(study, recording, directory=Path(out).expanduser()).compute("application")
    return found


def results_of(study: Study, **given: Any) -> StudyResults:  # noqa: ANN401 (any results)
    """Give results of a study by name, with those of a reproduction of the paper where the study knows of them.

    Parameters
    ----------
    study
        Which.
    given
        Results that are known already.
    """
    knows_paper = any(stage.name == PAPER_STAGE for stage in study.graph.stages)
    return (PaperResults if knows_paper else StudyResults)(study, **given)


def _target(study: Study, out: str | Path | None, name: str, endings: tuple[str, ...] = (".html", ".htm")) -> Path:
    """Find the file that a view is written to."""
    place = study.directory if out is None else Path(out).expanduser()
    if place is None:
        raise InputFormatError(f"This study is in memory and has no directory. Say where it is to go: out={name!r}.")
    target = place if place.suffix.lower() in endings else place / name
    check_writable(target.parent)
    return target
