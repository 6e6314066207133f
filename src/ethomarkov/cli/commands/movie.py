"""Movies of a study."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from ethomarkov.cli.desk import open_study
from ethomarkov.cli.options import RunningOptions, require_at_least
from ethomarkov.exceptions import InputFormatError
from ethomarkov.study.defaults import MOVIE_SECONDS

if TYPE_CHECKING:
    from ethomarkov.study import Study

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
    from ethomarkov.report.movies import write_crawl, write_pair, write_tour
    from ethomarkov.report.results import StudyResults

    desk = open_study(study, running, out, "movies")
    desk.study.model.body_basis()
    if level is not None:
        desk.study.tree.nodes_at(level)
    individual = _individual(desk.study, animal)
    file = desk.out / f"{kind}{'.gif' if gif else '.mp4'}"
    results = StudyResults(desk.study)
    with desk.working() as (_, progress):
        if kind == "tour":
            write_tour(results, file, progress, level=level)
        else:
            # one run in body lengths, long enough for the movie
            name = desk.study.individuals[individual]
            found = desk.compute("runs", animal=name, n_runs=1, minutes=_minutes(desk.study, seconds))
            write = write_pair if kind == "postures" else write_crawl
            write(results, found.runs[0], file, progress, seconds)
    desk.say(f"Filmed in {file}.")
    desk.suggest()


def _minutes(study: "Study", seconds: float) -> float:
    """Minutes of the whole steps, two at least, that last as long as a movie."""
    step = study.model.steps[0]
    return max(2, -(-seconds // step)) * step / 60


def _individual(study: "Study", animal: str | None) -> int:
    names = study.individuals
    if animal is None:
        return 0
    if animal not in names:
        raise InputFormatError(
            f"--animal is {animal!r}; the study has {', '.join(map(repr, names))}. Name one of these."
        )
    return names.index(animal)
