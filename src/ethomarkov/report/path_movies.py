"""Movies of a study: data above simulation (Movie 1), an animal that draws its path (Movie 2), a tour of the states."""

from pathlib import Path

import numpy as np

from ethomarkov._core.series import Series
from ethomarkov._core.types import IntArray, Progress
from ethomarkov.coarse.kinetics import find_dwells
from ethomarkov.figures.style import state_colours
from ethomarkov.locomotion import propel
from ethomarkov.movies import Behaviour, Shot, crawl_scene, posture_pair_scene, tour_scene, write_movie
from ethomarkov.states import DelayEmbedding, Symbols
from ethomarkov.workflow.paths import body_basis
from ethomarkov.workflow.runs import Runs
from ethomarkov.workflow.states import state_names
from ethomarkov.workflow.study import Study

MOVIE_SECONDS, TOUR_SECONDS = 60.0, 8.0
PAIR_FILE, CRAWL_FILE, TOUR_FILE = "postures.mp4", "crawl.mp4", "tour.mp4"
LONGEST_SHARE = 0.1
"""A typical sequence is chosen from this share of the stays in a state, the longest ones."""


def write_movies(
    study: Study, runs: Runs, out: Path, progress: Progress | None = None, seconds: float = MOVIE_SECONDS
) -> tuple[Path, Path]:
    """Make both movies of the first run of an ensemble.

    Parameters
    ----------
    study, runs
        The study, and simulated runs of one of its animals or states.
    out
        Directory of the movies.
    progress
        Called now and then.
    seconds
        Of the movies.
    """
    return (
        write_pair(study, runs, out / PAIR_FILE, progress, seconds),
        write_crawl(study, runs, out / CRAWL_FILE, progress, seconds),
    )


def write_pair(
    study: Study, runs: Runs, file: Path, progress: Progress | None = None, seconds: float = MOVIE_SECONDS
) -> Path:
    """Make the movie of data above simulation; see `write_movies`."""
    basis = body_basis(study)
    names = study.symbols.segments.individuals
    own = names.index(runs.name) if runs.name in names else 0
    pair = posture_pair_scene(
        basis.reconstruct(longest_stretch(study, own)),
        basis.reconstruct(runs.postures.of(0)),
        names=(f"data, {names[own]}", f"simulation of {runs.name}"),
        shot=Shot(duration=_duration(runs, seconds)),
    )
    return write_movie(pair, file, progress=progress)


def write_crawl(
    study: Study, runs: Runs, file: Path, progress: Progress | None = None, seconds: float = MOVIE_SECONDS
) -> Path:
    """Make the movie of an animal that draws its path; see `write_movies`."""
    crawl = crawl_scene(
        runs.path.of(0),
        body_basis(study).reconstruct(runs.postures.of(0)),
        body_length=runs.body_length,
        behaviour=_behaviour(study, runs),
        shot=Shot(duration=_duration(runs, seconds)),
    )
    return write_movie(crawl, file, progress=progress)


def write_tour(
    study: Study, file: Path, progress: Progress | None = None, *, level: int | None = None, loops: int = 3
) -> Path:
    """Make the movie of a typical sequence of every state, side by side.

    Parameters
    ----------
    study
        With tangent angles.
    file
        Ends in .mp4 or .gif.
    progress
        Called after every frame.
    level
        Number of states; the finest by default.
    loops
        How often the longest sequence is shown.
    """
    basis, level = body_basis(study), study.finest if level is None else level
    names, colours = state_names(study, level), state_colours(len(study.tree.nodes_at(level)))
    stays = typical_stays(study.states(level))
    visited = [state for state, (start, _) in enumerate(stays.tolist()) if start >= 0]
    most = round(TOUR_SECONDS * study.postures.sampling.rate)
    rows = [slice(start, min(stop, start + most)) for start, stop in stays[visited].tolist()]
    sequences = [Series.from_rows(study.postures.values[row], study.postures.sampling) for row in rows]
    drag, scheme = study.settings.drag_ratio, study.settings.scheme
    scene = tour_scene(
        [basis.reconstruct(one) for one in sequences],
        [names[state] for state in visited],
        [colours[state] for state in visited],
        paths=[propel(one, drag, basis=basis, scheme=scheme) for one in sequences],
        loops=loops,
    )
    return write_movie(scene, file, progress=progress)


def typical_stays(symbols: Symbols) -> IntArray:
    """Find a typical long stay in every state: that of median length among the longest tenth.

    Most stays are flicker, and the longest is often an oddity.

    Returns
    -------
    stays
        First row and one past the last, one line per state; ``-1`` if it was never visited.
    """
    dwells = find_dwells(symbols)
    first = symbols.segments.offsets[dwells.individual] + np.rint(dwells.start * symbols.sampling.rate).astype(int)
    stays = np.full((symbols.n_states, 2), -1)
    for state in np.unique(dwells.state).tolist():
        mine = np.flatnonzero(dwells.state == state)
        ordered = mine[np.argsort(dwells.n_steps[mine], kind="stable")]
        longest = ordered[-max(1, round(LONGEST_SHARE * mine.size)) :]
        chosen = longest[longest.size // 2]
        stays[state] = first[chosen], first[chosen] + dwells.n_steps[chosen]
    return stays


def longest_stretch(study: Study, individual: int) -> Series:
    """Give an animal's longest stretch without a gap."""
    mine = study.postures.of(individual)
    start, stop, _ = mine.segments.bounds[mine.segments.lengths.argmax()]
    return Series.from_rows(mine.values[start:stop], mine.sampling)


def _duration(runs: Runs, seconds: float) -> float:
    return min(seconds, len(runs.postures.of(0).values) / runs.postures.sampling.rate)


def _behaviour(study: Study, runs: Runs) -> Behaviour:
    """Tell what the simulated animal does, by the microstates of its own postures."""
    sequences = DelayEmbedding(study.settings.n_delays).transform(runs.postures.of(0))
    labels = study.microstates.label(sequences).relabel(study.tree.states_at(study.finest)).labels
    names = state_names(study, study.finest)
    return Behaviour(labels=labels, names=names, colours=state_colours(len(names)))
