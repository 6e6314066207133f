"""`ethomarkov stream`: files, words and exit codes."""

import csv

import numpy as np
import pytest
from ethomarkov.workflow import Settings, Study
from ethomarkov.workflow.streaming import Source, stream_study

from ethomarkov.io import read, write_recording
from ethomarkov.posture import PostureBasis

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
    "--no-scan",
)


@pytest.fixture(scope="module")
def worm_files(recordings, tmp_path_factory):
    """One file per worm; the names of the animals need care in a terminal."""
    folder = tmp_path_factory.mktemp("worms")
    whole = recordings["amplitude"]
    return [write_recording(whole.select([name]), folder / f"[red] {name}.nc") for name in whole.individuals]


def table_in(directory) -> list[dict[str, str]]:
    with (directory / "animals.csv").open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def made() -> dict[str, tuple]:
    """What the command made and said, once it ran."""
    return {}


@pytest.fixture
def streamed(cli, no_pictures, worm_files, basis_file, made, tmp_path_factory):
    """The command, run once for all tests."""
    if not made:
        directory = tmp_path_factory.mktemp("streamed") / "out"
        made["once"] = directory, cli("stream", *worm_files, "--basis", basis_file, "--out", directory, *QUICK)
    return made["once"]


def test_stream_writes_study_report_table_and_labels(streamed, worm_files):
    directory, (code, out, err) = streamed
    assert (code, err) == (0, "")
    names = sorted(path.name for path in directory.iterdir())
    assert names == [
        "animals.csv",
        "labels",
        "provenance.json",
        "report.html",
        "settings.toml",
        "study.nc",
        "survey.nc",
    ]
    assert sorted(path.name for path in (directory / "labels").iterdir()) == sorted(file.name for file in worm_files)
    frames = int(read(worm_files).segments.lengths.sum())
    words = " ".join(out.split())
    assert f"Chain and states come from 2 animals of 2 files, {frames:,} frames" in words
    assert "2 example animals" in words
    assert f"2 animals of 2 files, {frames:,} frames" in (directory / "report.html").read_text()
    assert str(directory / "animals.csv") in out


def test_the_files_hold_what_python_gives(streamed, worm_files, basis_file, tmp_path):
    directory, _ = streamed
    settings = Settings(n_delays=11, lag=0.75, n_states=12, n_walks=2, simulated_minutes=0.5, scan=False)
    basis = PostureBasis.from_file(basis_file, 5)
    found = stream_study(Source(files=tuple(worm_files)), tmp_path, settings, basis=basis)
    assert (directory / "study.nc").read_bytes() == (tmp_path / "study.nc").read_bytes()
    rows = table_in(directory)
    assert [row["individual"] for row in rows] == list(found.animals.individuals)
    assert [int(row["windows"]) for row in rows] == found.animals.windows.tolist()
    assert [int(row["transitions"]) for row in rows] == found.animals.transitions.tolist()
    rates = [float(row["entropy_rate_nat_per_s"]) for row in rows]
    np.testing.assert_allclose(rates, found.animals.entropy_rates, rtol=1e-5)
    shares = [[float(row[name]) for name in row if name.startswith("share_")] for row in rows]
    np.testing.assert_allclose(shares, found.animals.shares, rtol=1e-5)


@pytest.mark.slow
def test_other_commands_go_on_from_there(cli, streamed):
    directory, _ = streamed
    code, out, err = cli("summary", directory)
    assert (code, err) == (0, "")
    assert "2 animals" in out
    code, _, err = cli("simulate", directory, "--runs", 2, "--minutes", 0.2, "--threads", 1, "--quiet")
    assert (code, err) == (0, "")
    assert Study.load(directory).symbols.segments.n_individuals == 2


def test_mistakes_end_with_a_message(cli, worm_files, files, tmp_path):
    for wrong, words in (
        ([tmp_path / "nothing.nc"], "no such file"),
        ([worm_files[0], worm_files[0]], "named twice"),
        ([worm_files[0], files["angle"]], "Give recordings of one kind"),
        ([worm_files[0], "--microstates", "1"], "--microstates is 1"),
    ):
        code, out, err = cli("stream", *wrong, "--out", tmp_path / "out", "--quiet")
        assert code == 2
        assert words in err
        assert "Traceback" not in out + err
    assert not (tmp_path / "out").exists()
