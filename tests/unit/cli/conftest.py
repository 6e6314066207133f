"""The command line run in this process, and recordings to run it on."""

import contextlib
import dataclasses
import io
import json
import math
import os
import shutil
import sys
import types
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure

from ethomarkov.cli.app import main
from ethomarkov.exceptions import SamplingError
from ethomarkov.io import write_recording
from ethomarkov.paper.results import open_results
from ethomarkov.paper.stages import ALL_STAGES
from ethomarkov.posture import PostureBasis, centerline_from_angles
from ethomarkov.recording import Recording, Track
from ethomarkov.recording.orientation import remove_orientation
from ethomarkov.report.page import held_sections
from ethomarkov.study.version import code_version
from ethomarkov.synthetic import simulate_worms

QUICK = (
    "--delays",
    "11",
    "--lag",
    "0.75",
    "--microstates",
    "12",
    "--walks",
    "2",
    "--simulated-minutes",
    "0.5",
    "--threads",
    "1",
)
"""Options that keep a study below a second."""

Outcome = tuple[int, str, str]
Cli = Callable[..., Outcome]


def call(*arguments: object) -> Outcome:
    """Run the command line as the console script does, and collect what it says."""
    out, err = io.StringIO(), io.StringIO()
    code = 0
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        patch.setattr(sys, "argv", ["ethomarkov", *map(str, arguments)])
        patch.setenv("COLUMNS", os.environ.get("COLUMNS", "1000"))
        patch.setenv("PYTHONSAFEPATH", "1")  # as `main` does; given back afterwards
        for pause in ("SECONDS_BETWEEN_LINES", "FIRST_SIGN"):  # else the machine decides what is said
            patch.setattr(f"ethomarkov.cli.progress.{pause}", 1e6)
        patch.setattr("ethomarkov.cli.desk.WORTH_TELLING", 1e6)
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                main()
            except SystemExit as stop:
                code = stop.code if isinstance(stop.code, int) else int(stop.code is not None)
    return code, out.getvalue(), err.getvalue()


@pytest.fixture
def cli(monkeypatch: pytest.MonkeyPatch) -> Cli:
    """Give ``cli(*args) -> (exit_code, stdout, stderr)``, on a terminal wide enough not to break lines."""
    monkeypatch.setenv("COLUMNS", "1000")
    return call


@pytest.fixture(scope="session", autouse=True)
def versions_of_the_code() -> None:
    """Read the code of all stages before any test replaces a part of it, which would count as other code."""
    for stage in ALL_STAGES:
        code_version(stage.function)


@pytest.fixture(autouse=True)
def failures_leave_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep nothing of runs that fail; else what took more than five seconds is kept, and the machine decides."""
    monkeypatch.setattr("ethomarkov.study.study.WORTH_KEEPING", math.inf)


NO_PICTURES: Mapping[str, object] = {"ethomarkov.report.page._embed": lambda _: "data:,"}
"""Leaves the pictures of the report out; drawing them takes most of a small study's time."""


@pytest.fixture
def no_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave the pictures of the report out."""
    for place, instead in NO_PICTURES.items():
        monkeypatch.setattr(place, instead)


def _no_fit(*_: object, **__: object) -> None:
    raise SamplingError("left out by the tests")


NO_FIGURES: Mapping[str, object] = {
    "ethomarkov.report.commands.draw_command_figures": lambda *_: {},
    "ethomarkov.study.analyses.paper_biexponential": _no_fit,
}
"""Leaves out figures and the bootstrap of the published fit: they are slow, and have tests of their own."""


@pytest.fixture(scope="session")
def without_figures() -> Mapping[str, object]:
    """Replacements that leave out what is slow, for commands that run once."""
    return {**NO_PICTURES, **NO_FIGURES}


@pytest.fixture
def no_figures(monkeypatch: pytest.MonkeyPatch, without_figures: Mapping[str, object]) -> None:
    """Leave out figures of commands, pictures of the report, and the bootstrap of the published fit."""
    for place, instead in without_figures.items():
        monkeypatch.setattr(place, instead)


@pytest.fixture(scope="session")
def worms():
    """Two synthetic worms of two minutes: mode amplitudes at 16 Hz, with a path and body lengths."""
    return simulate_worms(2, 120.0, seed=3)


def with_posture(worms, kind: str, values: np.ndarray, labels: list[str] | None = None) -> Recording:
    """Give the synthetic worms' postures as another kind."""
    recording = worms.recording
    offsets = recording.segments.offsets
    tracks = [
        Track(
            individual=name,
            values=values[offsets[i] : offsets[i + 1]],
            centroid=None if kind == "position" else recording.centroid[offsets[i] : offsets[i + 1]],
            body_length=None if kind == "position" else recording.body_lengths[name],
        )
        for i, name in enumerate(recording.individuals)
    ]
    return Recording.from_tracks(tracks, kind=kind, sampling_rate=16.0, labels=labels, attrs={"length_unit": "mm"})


@pytest.fixture(scope="session")
def recordings(worms) -> dict[str, Recording]:
    """The same worms as amplitudes, angles, centerlines and keypoints."""
    series = worms.basis.project(worms.recording)
    angles = worms.basis.reconstruct(series).values
    wandering = np.linspace(0, 3, len(angles), dtype=np.float32)
    points = centerline_from_angles(angles[:, ::4], wandering) * 0.7
    return {
        "amplitude": worms.recording,
        "angle": with_posture(worms, "angle", remove_orientation(angles[:, ::4])[0]),
        "centerline": with_posture(worms, "centerline", points),
        "position": with_posture(worms, "position", points[:, ::5], ["nose", "neck", "mid", "hip", "tail", "tip"]),
    }


@pytest.fixture(scope="session")
def files(recordings, tmp_path_factory) -> dict[str, Path]:
    """Files of the recordings by kind (.nc), and of the amplitudes by ending (.csv, .npz)."""
    folder = tmp_path_factory.mktemp("recordings")
    made = {kind: write_recording(one, folder / f"{kind}.nc") for kind, one in recordings.items()}
    made |= {ending: write_recording(recordings["amplitude"], folder / f"worms.{ending}") for ending in ("csv", "npz")}
    return made | {"nc": made["amplitude"]}


@pytest.fixture(scope="session")
def basis_file(tmp_path_factory) -> Path:
    """The synthetic worm's own modes, as a user would hand over EigenWorms.csv."""
    path = tmp_path_factory.mktemp("basis") / "modes.csv"
    np.savetxt(path, PostureBasis.analytic().vectors, delimiter=",", fmt="%.17g")
    return path


@dataclasses.dataclass(frozen=True)
class Ran:
    """The directory of a command that ran once for all tests, and what it said; nobody may write into it."""

    directory: Path
    stdout: str
    stderr: str

    def copy_to(self, target: Path) -> Path:
        """Copy the directory for a test that writes into it."""
        return Path(shutil.copytree(self.directory, target))


@pytest.fixture(scope="session")
def ran_once(made_once) -> Callable[..., Ran]:
    """Give ``ran_once(name, arguments, start=, patched=)``: a command that runs once for all workers.

    `arguments` makes its arguments from its directory, which begins as a copy of `start`; `patched` are replacements
    by their import path while it runs.
    """

    def run(
        name: str,
        arguments: Callable[[Path], tuple[object, ...]],
        start: Path | None = None,
        patched: Mapping[str, object] = types.MappingProxyType({}),
    ) -> Ran:
        def make(folder: Path) -> None:
            if start is not None:
                shutil.copytree(start, folder / "made")
            with pytest.MonkeyPatch.context() as patch:
                patch.setenv("COLUMNS", "1000")
                for place, instead in patched.items():
                    patch.setattr(place, instead)
                code, out, err = call(*arguments(folder / "made"))
            assert code == 0, err
            (folder / "stdout").write_text(out, encoding="utf-8")
            (folder / "stderr").write_text(err, encoding="utf-8")

        folder = made_once(name, make)
        said = ((folder / file).read_text(encoding="utf-8") for file in ("stdout", "stderr"))
        return Ran(folder / "made", *said)

    return run


@pytest.fixture(scope="session")
def finished_study(files, basis_file, ran_once) -> Ran:
    """A finished study of the two worms; nobody may write into it."""
    return ran_once("study", lambda out: ("run", files["nc"], "--basis", basis_file, "--out", out, *QUICK))


@pytest.fixture(scope="session")
def validated(finished_study, ran_once) -> Ran:
    """A study that `validate` was asked about, with one figure: they are slow, and have tests of their own."""
    return ran_once(
        "validated",
        lambda directory: ("validate", directory, "--runs", 5, "--repeats", 2, "--threads", 1),
        start=finished_study.directory,
        patched={"ethomarkov.report.commands.draw_command_figures": lambda *_: {"rates.png": Figure()}},
    )


@pytest.fixture(scope="session")
def foraged(finished_study, ran_once) -> Ran:
    """A study that `forage` was asked about."""
    return ran_once(
        "foraged",
        lambda directory: ("forage", directory, "--level", 2, "--runs", 4, "--seconds", 15, "--threads", 1),
        start=finished_study.directory,
    )


@dataclasses.dataclass(frozen=True)
class Asked:
    """A study that all commands were asked about, and after each of them what was said and what a report would show."""

    directory: Path
    said: Mapping[str, Outcome]
    sections: Mapping[str, tuple[str, ...]]


EVERYTHING: Mapping[str, tuple[object, ...]] = {
    "states": ("--states", 2, "--resamples", 0),
    "simulate": ("--runs", 2, "--minutes", 8),
    "simulate states": ("--state", "each", "--runs", 2, "--minutes", 1),
    "path": ("--window", 20, "--windows", 3),
    "validate": ("--runs", 3, "--repeats", 2),
    "forage": ("--runs", 3, "--seconds", 10),
    "map": ("--method", "pca"),
    "choose": ("--shuffles", 2),
}
"""Commands that ask something of a study, and options that keep them short."""


@pytest.fixture(scope="session")
def everything() -> Callable[[Path], dict[str, tuple[object, ...]]]:
    """Give ``everything(directory)``: what is asked of the study there, command by command."""

    def commands(directory: Path) -> dict[str, tuple[object, ...]]:
        quiet = ("--threads", 1, "--quiet")
        return {name: (name.split()[0], directory, *options, *quiet) for name, options in EVERYTHING.items()}

    return commands


@pytest.fixture(scope="session")
def asked(finished_study, made_once, everything, without_figures) -> Asked:
    """A study that was asked everything, without figures; nobody may write into it."""

    def make(folder: Path) -> None:
        shutil.copytree(finished_study.directory, folder / "study")
        said, sections = {}, {}
        with pytest.MonkeyPatch.context() as patch:
            for place, instead in without_figures.items():
                patch.setattr(place, instead)
            for name, arguments in everything(folder / "study").items():
                said[name] = call(*arguments)
                sections[name] = list(held_sections(open_results(folder / "study")))
        (folder / "log.json").write_text(json.dumps({"said": said, "sections": sections}), encoding="utf-8")

    folder = made_once("asked", make)
    log = json.loads((folder / "log.json").read_text(encoding="utf-8"))
    return Asked(
        directory=folder / "study",
        said={name: tuple(one) for name, one in log["said"].items()},
        sections={name: tuple(one) for name, one in log["sections"].items()},
    )


@pytest.fixture
def study(finished_study, tmp_path_factory) -> Ran:
    """A copy of the finished study, for commands that keep their results in it."""
    copy = finished_study.copy_to(tmp_path_factory.mktemp("copy") / "study")
    return dataclasses.replace(finished_study, directory=copy)
