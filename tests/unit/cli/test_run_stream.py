"""`ethomarkov run --stream`: files, words and exit codes."""

import csv

import numpy as np
import pytest

from ethomarkov.io import read, write_recording
from ethomarkov.posture import PostureBasis
from ethomarkov.study import Settings, Study, run_study
from ethomarkov.study.source import Source

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


ONE_EXAMPLE = {"ethomarkov.study.survey.EXAMPLE_FRAMES": 2000}
"""Lets a study hold the frames of one of the two worms."""


@pytest.fixture(scope="module")
def worm_files(recordings, made_once):
    """One file per worm; the names of the animals need care in a terminal."""
    whole = recordings["amplitude"]
    folder = made_once(
        "worm files",
        lambda folder: [
            write_recording(whole.select([name]), folder / f"[red] {name}.nc") for name in whole.individuals
        ],
    )
    return sorted(folder.iterdir())


def table_in(directory) -> list[dict[str, str]]:
    with (directory / "animals.csv").open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def streamed(worm_files, basis_file, ran_once, without_figures):
    """The command, run once for all tests."""
    return ran_once(
        "streamed",
        lambda out: ("run", *worm_files, "--stream", "--basis", basis_file, "--out", out, *QUICK),
        patched={**without_figures, **ONE_EXAMPLE},
    )


@pytest.fixture(scope="module")
def at_once(worm_files, basis_file, ran_once, without_figures):
    """The same files, read at once."""
    return ran_once(
        "at once",
        lambda out: ("run", *worm_files, "--basis", basis_file, "--out", out, *QUICK),
        patched=without_figures,
    )


def test_stream_writes_study_report_table_and_labels(streamed, worm_files):
    directory, out = streamed.directory, streamed.stdout
    assert streamed.stderr == ""
    names = sorted(path.name for path in directory.iterdir())
    parts = ["animals.csv", "labels", "provenance.json", "report.html", "settings.toml", "study.nc", "summary.json"]
    assert names == parts
    assert sorted(path.name for path in (directory / "labels").iterdir()) == sorted(file.name for file in worm_files)
    frames = int(read(worm_files).segments.lengths.sum())
    words = " ".join(out.split())
    assert f"Chain and states come from 2 animals of 2 files, {frames:,} frames" in words
    assert "all other figures from 1 example animal." in words
    assert f"2 animals of 2 files, {frames:,} frames" in (directory / "report.html").read_text()
    assert str(directory / "study.nc") in out


def test_the_files_hold_what_python_gives(streamed, worm_files, basis_file, tmp_path, monkeypatch):
    for place, instead in ONE_EXAMPLE.items():
        monkeypatch.setattr(place, instead)
    settings = Settings(n_delays=11, lag=0.75, n_states=12, n_walks=2, simulated_minutes=0.5, scan=False)
    basis = PostureBasis.from_file(basis_file, 5)
    found = run_study(Source(files=tuple(worm_files)), settings, basis=basis, directory=tmp_path)
    one, other = (Study.load(directory) for directory in (streamed.directory, tmp_path))
    for stage, again in zip(one.entries(), other.entries(), strict=True):
        assert stage.digests == again.digests
    rows, animals = table_in(streamed.directory), found.animals
    assert [row["individual"] for row in rows] == list(animals.individuals)
    assert [row["file"] for row in rows] == list(animals.files)
    assert [int(row["windows"]) for row in rows] == animals.windows.tolist()
    assert [int(row["transitions"]) for row in rows] == animals.transitions.tolist()
    rates = [float(row["entropy_rate_nat_per_s"]) for row in rows]
    np.testing.assert_allclose(rates, animals.entropy_rates, rtol=1e-5)
    shares = [[float(row[name]) for name in row if name.startswith("share_")] for row in rows]
    np.testing.assert_allclose(shares, animals.shares, rtol=1e-5)


def test_a_run_at_once_lists_its_animals_too(at_once):
    assert at_once.stderr == ""
    assert "example animal" not in at_once.stdout
    whole, rows = Study.load(at_once.directory), table_in(at_once.directory)
    assert [row["individual"] for row in rows] == list(whole.individuals)
    assert [int(row["frames"]) for row in rows] == [int(n) for n in whole.animals.frames]
    assert whole.animals.is_whole
    shares = [[float(row[name]) for name in row if name.startswith("share_")] for row in rows]
    np.testing.assert_allclose(np.sum(shares, axis=1), 1, atol=1e-5)


def test_a_later_report_still_says_what_comes_from_examples(cli, streamed, no_pictures, tmp_path):
    """Whatever command writes it."""
    directory = streamed.copy_to(tmp_path / "study")
    (directory / "report.html").unlink()
    assert cli("report", directory)[0] == 0
    for said in ((directory / "report.html").read_text(encoding="utf-8"), cli("summary", directory)[1]):
        assert "Chain and states come from 2 animals of 2 files" in " ".join(said.split())


@pytest.mark.slow
@pytest.mark.usefixtures("no_figures")
def test_other_commands_go_on_from_there(cli, streamed, tmp_path):
    directory = streamed.copy_to(tmp_path / "study")
    code, out, err = cli("summary", directory)
    assert (code, err) == (0, "")
    assert "1 animal," in out  # whose frames are there
    assert "from 2 animals of 2 files" in out
    code, _, err = cli("simulate", directory, "--runs", 2, "--minutes", 0.2, "--threads", 1, "--quiet")
    assert (code, err) == (0, "")
    whole = Study.load(directory)
    assert len(whole.animals.individuals) == 2
    assert len(whole.individuals) == 1
    assert [one.name for one in whole.held("runs").runs] == list(whole.individuals)


def test_mistakes_end_with_a_message(cli, worm_files, files, tmp_path):
    for wrong, words in (
        ([tmp_path / "nothing.nc"], "no such file"),
        ([worm_files[0], worm_files[0]], "named twice"),
        ([worm_files[0], files["angle"]], "Give recordings of one kind"),
        ([worm_files[0], "--microstates", "1"], "--microstates is 1"),
    ):
        code, out, err = cli("run", "--stream", *wrong, "--out", tmp_path / "out", "--quiet")
        assert code == 2
        assert words in err
        assert "Traceback" not in out + err
    assert not (tmp_path / "out").exists()
