"""Movies of a study."""

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter
from rich.console import Console

from ethomarkov._core.types import Progress
from ethomarkov.cli.options import RunningOptions, require_at_least
from ethomarkov.cli.terminal import progress_bar
from ethomarkov.cli.work import at_work
from ethomarkov.exceptions import InputFormatError
from ethomarkov.io.atomic import check_writable
from ethomarkov.locomotion.ensemble import CrawlRule
from ethomarkov.report.path_movies import MOVIE_SECONDS, write_crawl, write_pair, write_tour
from ethomarkov.workflow import Study
from ethomarkov.workflow.paths import body_basis
from ethomarkov.workflow.runs import Runs, animal_model, simulate_runs

DEFAULT = RunningOptions()
Kind = Literal["postures", "crawl", "tour"]


def movie(
    study: Path,
    *,
    kind: Kind = "postures",
    animal: str | None = None,
    level: int | None = None,
    seconds: float = MOVIE_SECONDS,
    gif: Annotated[bool, Parameter(negative=())] = False,
    out: Path | None = None,
    running: RunningOptions = DEFAULT,
) -> None:
    """Make a movie of a study.

    Parameters
    ----------
    study
        Directory that `ethomarkov run` wrote.
    kind
        "postures" shows data above a simulation, "crawl" a simulated animal that draws its path, "tour" a typical
        sequence of every state.
    animal
        Name of the animal whose model is simulated; the first by default.
    level
        Number of states of the tour; the finest by default.
    seconds
        Of the movie; a tour lasts as long as its sequences.
    gif
        Write a GIF, for slides, instead of an MP4.
    out
        Directory of the movie; `movies` in the study's own by default.
    """
    require_at_least(seconds, 1, "--seconds")
    loaded = Study.load(study)
    body_basis(loaded)
    if level is not None:
        loaded.tree.nodes_at(level)
    individual = _individual(loaded, animal)
    target = out or (study if study.is_dir() else study.parent) / "movies"
    check_writable(target)
    file = target / f"{kind}{'.gif' if gif else '.mp4'}"
    console = Console(quiet=running.quiet)
    with at_work(running), progress_bar(console, quiet=running.quiet) as progress:
        if kind == "tour":
            write_tour(loaded, file, progress, level=level)
        else:
            _write_run(loaded, kind, individual, file, (seconds, running.chosen_seed, progress))
    console.print(f"Filmed in {file}.", highlight=False, markup=False, soft_wrap=True)


def _individual(study: Study, animal: str | None) -> int:
    names = study.symbols.segments.individuals
    if animal is None:
        return 0
    if animal not in names:
        raise InputFormatError(
            f"--animal is {animal!r}; the study has {', '.join(map(repr, names))}. Name one of these."
        )
    return names.index(animal)


def _write_run(study: Study, kind: Kind, individual: int, file: Path, how: tuple[float, int, Progress | None]) -> None:
    seconds, seed, progress = how
    runs = _simulate(study, individual, seconds, seed)
    write = write_pair if kind == "postures" else write_crawl
    write(study, runs, file, progress, seconds)


def _simulate(study: Study, individual: int, seconds: float, seed: int) -> Runs:
    """Simulate one run, in body lengths."""
    lag = study.simulation_choice.chosen_lag
    rule = CrawlRule(
        duration=max(2, -(-seconds // lag)) * lag,
        n_runs=1,
        drag_ratio=study.settings.drag_ratio,
        scheme=study.settings.scheme,
        method=study.settings.unfolding,
    )
    return simulate_runs(study, animal_model(study, individual), rule, seed=seed)
