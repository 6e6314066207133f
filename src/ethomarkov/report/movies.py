"""Movies of a study: data above simulation (Movie 1), an animal that draws its path (Movie 2), a tour of the states."""

from pathlib import Path
from typing import TYPE_CHECKING

from ethomarkov._core.series import Series
from ethomarkov._core.types import Progress
from ethomarkov.coarse.examples import typical_dwells
from ethomarkov.exceptions import InputFormatError
from ethomarkov.figures.panel import Results
from ethomarkov.figures.style import state_colours
from ethomarkov.locomotion import propel
from ethomarkov.movies import Behaviour, Shot, crawl_scene, posture_pair_scene, tour_scene, write_movie
from ethomarkov.posture import PostureBasis
from ethomarkov.posture.stretch import longest_stretch
from ethomarkov.states import DelayEmbedding
from ethomarkov.study.defaults import MOVIE_SECONDS

if TYPE_CHECKING:
    from ethomarkov.validation.runs import Runs

TOUR_SECONDS = 8.0
PAIR_FILE, CRAWL_FILE, TOUR_FILE = "postures.mp4", "crawl.mp4", "tour.mp4"


def write_movies(
    results: Results, runs: "Runs", out: Path, progress: Progress | None = None, seconds: float = MOVIE_SECONDS
) -> tuple[Path, Path]:
    """Make both movies of the first run of an ensemble.

    Parameters
    ----------
    results, runs
        Of the study by name, and simulated runs of one of its animals or states.
    out
        Directory of the movies.
    progress
        Called now and then.
    seconds
        Of the movies.
    """
    return (
        write_pair(results, runs, out / PAIR_FILE, progress, seconds),
        write_crawl(results, runs, out / CRAWL_FILE, progress, seconds),
    )


def write_pair(
    results: Results, runs: "Runs", file: Path, progress: Progress | None = None, seconds: float = MOVIE_SECONDS
) -> Path:
    """Make the movie of data above simulation; see `write_movies`."""
    basis, postures = _body_basis(results), results["postures"]
    names = postures.segments.individuals
    own = names.index(runs.name) if runs.name in names else 0
    pair = posture_pair_scene(
        basis.reconstruct(longest_stretch(postures, own)),
        basis.reconstruct(runs.postures.cut(0)),
        names=(f"data, {names[own]}", f"simulation of {runs.name}"),
        shot=Shot(duration=_duration(runs, seconds)),
    )
    return write_movie(pair, file, progress=progress)


def write_crawl(
    results: Results, runs: "Runs", file: Path, progress: Progress | None = None, seconds: float = MOVIE_SECONDS
) -> Path:
    """Make the movie of an animal that draws its path; see `write_movies`."""
    crawl = crawl_scene(
        runs.path.cut(0),
        _body_basis(results).reconstruct(runs.postures.cut(0)),
        body_length=runs.body_length,
        behaviour=_behaviour(results, runs),
        shot=Shot(duration=_duration(runs, seconds)),
    )
    return write_movie(crawl, file, progress=progress)


def write_tour(
    results: Results, file: Path, progress: Progress | None = None, *, level: int | None = None, loops: int = 3
) -> Path:
    """Make the movie of a typical sequence of every state, side by side.

    Parameters
    ----------
    results
        Of a study with tangent angles, by name.
    file
        Ends in .mp4 or .gif.
    progress
        Called after every frame.
    level
        Number of states; the finest by default.
    loops
        How often the longest sequence is shown.
    """
    basis, postures, settings, tree = (_body_basis(results), *(results[x] for x in ("postures", "settings", "tree")))
    level = max(tree.levels) if level is None else level
    symbols = results["symbols"].relabel(tree.states_at(level))
    names, colours, dwells = results["names"][level], state_colours(symbols.n_states), typical_dwells(symbols)
    visited = [state for state, (start, _) in enumerate(dwells.tolist()) if start >= 0]
    most = round(TOUR_SECONDS * postures.sampling.rate)
    rows = [slice(start, min(stop, start + most)) for start, stop in dwells[visited].tolist()]
    sequences = [Series.from_rows(postures.values[row], postures.sampling) for row in rows]
    scene = tour_scene(
        [basis.reconstruct(one) for one in sequences],
        [names[state] for state in visited],
        [colours[state] for state in visited],
        paths=[propel(one, settings.drag_ratio, basis=basis, scheme=settings.scheme) for one in sequences],
        loops=loops,
    )
    return write_movie(scene, file, progress=progress)


def _body_basis(results: Results) -> PostureBasis:
    """Give the basis that turns postures into a body, or say that there is none."""
    basis: PostureBasis | None = results["body_basis"]
    if basis is None:
        raise InputFormatError(
            "Movies need tangent angles along the body, and this study has none. For amplitudes, run it again with the "
            "shapes of their modes (--basis)."
        )
    return basis


def _duration(runs: "Runs", seconds: float) -> float:
    return min(seconds, len(runs.postures.cut(0).values) / runs.postures.sampling.rate)


def _behaviour(results: Results, runs: "Runs") -> Behaviour:
    """Tell what the simulated animal does, by the microstates of its own postures."""
    tree = results["tree"]
    level = max(tree.levels)
    sequences = DelayEmbedding(results["settings"].n_delays).transform(runs.postures.cut(0))
    labels = results["microstates"].label(sequences).relabel(tree.states_at(level)).labels
    return Behaviour(labels=labels, names=results["names"][level], colours=state_colours(level))
