"""Movies of a study: data above simulation (Movie 1), and an animal that draws its path (Movie 2)."""

from pathlib import Path

from ethomarkov._core.series import Series
from ethomarkov._core.types import Progress
from ethomarkov.figures.style import state_colours
from ethomarkov.movies import Behaviour, Shot, crawl_scene, posture_pair_scene, write_movie
from ethomarkov.states import DelayEmbedding
from ethomarkov.workflow.paths import body_basis
from ethomarkov.workflow.runs import Runs
from ethomarkov.workflow.states import state_names
from ethomarkov.workflow.study import Study

MOVIE_SECONDS = 60.0
PAIR_FILE, CRAWL_FILE = "postures.mp4", "crawl.mp4"


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
    basis = body_basis(study)
    names = study.symbols.segments.individuals
    own = names.index(runs.name) if runs.name in names else 0
    simulated = basis.reconstruct(runs.postures.of(0))
    length = min(seconds, len(simulated.values) / simulated.sampling.rate)
    pair = posture_pair_scene(
        basis.reconstruct(_from_longest(study, own)),
        simulated,
        names=(f"data, {names[own]}", f"simulation of {runs.name}"),
        shot=Shot(duration=length),
    )
    crawl = crawl_scene(
        runs.path.of(0),
        simulated,
        body_length=runs.body_length,
        behaviour=_behaviour(study, runs),
        shot=Shot(duration=length),
    )
    return (
        write_movie(pair, out / PAIR_FILE, progress=progress),
        write_movie(crawl, out / CRAWL_FILE, progress=progress),
    )


def _from_longest(study: Study, individual: int) -> Series:
    """Give an animal's longest stretch without a gap."""
    mine = study.postures.of(individual)
    start, stop, _ = mine.segments.bounds[mine.segments.lengths.argmax()]
    return Series.from_rows(mine.values[start:stop], mine.sampling)


def _behaviour(study: Study, runs: Runs) -> Behaviour:
    """Tell what the simulated animal does, by the microstates of its own postures."""
    sequences = DelayEmbedding(study.settings.n_delays).transform(runs.postures.of(0))
    labels = study.microstates.label(sequences).relabel(study.tree.states_at(study.finest)).labels
    names = state_names(study, study.finest)
    return Behaviour(labels=labels, names=names, colours=state_colours(len(names)))
