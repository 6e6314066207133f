"""The command line run in this process, and recordings to run it on."""

import dataclasses
import os
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from ethomarkov.cli.app import main
from ethomarkov.io import write_recording
from ethomarkov.posture import PostureBasis, centerline_from_angles
from ethomarkov.recording import Recording, Track
from ethomarkov.synthetic import simulate_worms

QUICK = ("--states", "12", "--walks", "2", "--minutes", "0.5", "--threads", "1")
"""Options that keep a study below a second."""

Outcome = tuple[int, str, str]
Cli = Callable[..., Outcome]


def run_main(capsys: pytest.CaptureFixture[str], arguments: tuple[object, ...]) -> Outcome:
    """Run the command line as the console script does and collect what it says."""
    capsys.readouterr()
    before = sys.argv
    sys.argv = ["ethomarkov", *map(str, arguments)]
    code = 0
    try:
        main()
    except SystemExit as stop:
        code = stop.code if isinstance(stop.code, int) else int(stop.code is not None)
    finally:
        sys.argv = before
    said = capsys.readouterr()
    return code, said.out, said.err


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Cli:
    """Give ``cli(*args) -> (exit_code, stdout, stderr)``, on a terminal wide enough not to break lines."""
    monkeypatch.setenv("COLUMNS", "4000")
    return lambda *arguments: run_main(capsys, arguments)


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
        "angle": with_posture(worms, "angle", angles[:, ::4]),
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
    """A study made once for all tests, and what was said while it ran."""

    directory: Path
    stdout: str
    stderr: str


@pytest.fixture(scope="session")
def study(files, basis_file, tmp_path_factory) -> Ran:
    """A finished study of the two worms; nobody may write into it."""
    directory = tmp_path_factory.mktemp("study") / "made by run"
    said = _capture(("run", files["nc"], "--basis", basis_file, "--out", directory, *QUICK))
    return Ran(directory, *said)


def _capture(arguments: tuple[object, ...]) -> tuple[str, str]:
    """Run the command line outside any test, where capsys cannot be had."""
    import contextlib
    import io

    out, err = io.StringIO(), io.StringIO()
    before, columns = sys.argv, os.environ.get("COLUMNS")
    sys.argv = ["ethomarkov", *map(str, arguments)]
    os.environ["COLUMNS"] = "4000"
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            main()
    finally:
        sys.argv = before
        os.environ.pop("COLUMNS")
        if columns is not None:
            os.environ["COLUMNS"] = columns
    return out.getvalue(), err.getvalue()
