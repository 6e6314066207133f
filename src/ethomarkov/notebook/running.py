"""A study in one line, from files, from arrays, or from its directory."""

import dataclasses
import glob
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ethomarkov.exceptions import InputFormatError, SettingsError
from ethomarkov.io import read
from ethomarkov.io.options import ReadOptions
from ethomarkov.notebook.progress import shown_progress
from ethomarkov.paper.stages import ALL_STAGES
from ethomarkov.posture import PostureBasis
from ethomarkov.recording import Recording
from ethomarkov.study import Settings, Study, run_study
from ethomarkov.study.settings import read_settings

RATE, FORMAT, KIND = "rate", "format", "kind"
READING = frozenset(item.name for item in dataclasses.fields(ReadOptions)) | {RATE, FORMAT, KIND}
"""Keywords that say how recordings are read; all others are settings."""


def run(
    recordings: Any,  # noqa: ANN401 (files, arrays or a recording)
    out: str | Path | None = None,
    *,
    basis: str | Path | PostureBasis | None = None,
    settings: Settings | str | Path | None = None,
    threads: int | None = None,
    progress: bool = True,
    **options: Any,  # noqa: ANN401 (settings, and how files are read)
) -> Study:
    """Run a study: posture sequences, microstates, chain, timescales, states, simulated animals and their paths.

    Parameters
    ----------
    recordings
        Files (a path, a pattern such as ``"worm*.hdf5"``, or several of these), a `Recording`, or plain arrays as for
        `Recording.from_arrays`.
    out
        Directory in which every result is cached; None keeps the study in memory.
    basis
        Posture modes, or a file of them; fitted to the recordings by default.
    settings
        A `Settings` or a TOML file of settings; single ones may be given by keyword.
    threads
        Cores to use, all by default; the results do not depend on it.
    progress
        Whether to show how far the work is.
    options
        Settings by name (``lag=1.0``, ``n_states=500``; see `Settings`), and how files or arrays are read: ``rate``
        (Hz), ``format``, ``kind``, ``keypoints``, ``min_confidence``, ``as_centerline``, ``view``; see `read`.

    Examples
    --------
    >>> import ethomarkov as em
    >>> worms = em.simulate_worms(2, 60.0, seed=1)
    >>> study = em.run(worms.recording, basis=worms.basis, n_delays=4, n_states=8, lag=0.5, n_walks=1, scan=False)
    >>> study.chain.lag
    0.5
    """
    reading = {name: options.pop(name) for name in list(options) if name in READING}
    chosen = _settings(settings, options)
    recording = as_recording(recordings, reading)
    modes = PostureBasis.from_file(Path(basis), chosen.n_modes) if isinstance(basis, str | Path) else basis
    cores, line = threads or os.cpu_count() or 1, shown_progress(progress)
    place = None if out is None else Path(out).expanduser()
    return run_study(recording, chosen, basis=modes, directory=place, stages=ALL_STAGES, threads=cores, progress=line)


def load(directory: str | Path, *, threads: int | None = None, progress: bool = True) -> Study:
    """Load a study from its directory; results are read when they are asked for.

    Parameters
    ----------
    directory
        That `run` or ``ethomarkov run`` wrote, or the file ``study.nc`` in it.
    threads
        Cores for what is computed later, all by default.
    progress
        Whether to show how far the work is.

    Examples
    --------
    >>> import tempfile
    >>> import ethomarkov as em
    >>> worms = em.simulate_worms(2, 60.0, seed=1)
    >>> with tempfile.TemporaryDirectory() as place:
    ...     quick = dict(n_delays=4, n_states=8, lag=0.5, n_walks=1, scan=False)
    ...     _ = em.run(worms.recording, place, basis=worms.basis, **quick)
    ...     em.load(place).chain.n_states
    8
    """
    study = Study.load(Path(directory).expanduser(), ALL_STAGES)
    return study.working(threads or os.cpu_count() or 1, shown_progress(progress))


def as_recording(recordings: Any, reading: Mapping[str, Any]) -> Recording:  # noqa: ANN401 (files, arrays, a recording)
    """Make a recording of files, of plain arrays, or of a recording itself.

    Parameters
    ----------
    recordings
        See `run`.
    reading
        How they are read, by name.
    """
    if isinstance(recordings, Recording):
        if reading:
            raise InputFormatError(
                f"{', '.join(sorted(reading))} would say how files or arrays are read, and this is a recording "
                "already. Leave it out."
            )
        return recordings
    if _are_files(recordings):
        how = {("sampling_rate" if name == RATE else name): value for name, value in reading.items()}
        if KIND in how:
            raise InputFormatError("kind= is for arrays; files say themselves what they hold. Leave it out.")
        return read(_files(recordings), how.pop(FORMAT, "auto"), **how)
    return Recording.from_arrays(recordings, **reading)


def _are_files(recordings: object) -> bool:
    if isinstance(recordings, Sequence) and not isinstance(recordings, str):
        return len(recordings) > 0 and all(isinstance(one, str | Path) for one in recordings)
    return isinstance(recordings, str | Path)


def _files(recordings: Any) -> list[Path]:  # noqa: ANN401 (one name or several)
    """List the files that names and patterns stand for, each pattern in the order of names."""
    names = [recordings] if isinstance(recordings, str | Path) else list(recordings)
    files: list[Path] = []
    for name in names:
        path = Path(name).expanduser()
        if path.exists() or not glob.has_magic(str(path)):
            files.append(path)
            continue
        matches = sorted(glob.glob(str(path), recursive=True))  # noqa: PTH207 (Path.glob takes no absolute pattern)
        if not matches:
            raise InputFormatError(f"{name}: no file has such a name, looked for from {Path.cwd()}. Check the pattern.")
        files += map(Path, matches)
    return files


def _settings(settings: Settings | str | Path | None, single: Mapping[str, Any]) -> Settings:
    if isinstance(settings, Settings):
        given = settings.model_dump(exclude_unset=True)
    elif settings is None:
        given = {}
    else:
        file = read_settings(Path(settings))
        given = {name: value for name, value in file.values.items() if name != "cluster"}
    try:
        return Settings.model_validate(given | dict(single))
    except SettingsError as error:
        unknown = [name for name in single if name not in Settings.model_fields]
        if not unknown:
            raise
        raise SettingsError(f"{error} How files are read is said by {', '.join(sorted(READING))}.") from error
