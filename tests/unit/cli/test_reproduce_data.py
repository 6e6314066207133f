"""The commands that reproduce the paper and fetch its data."""

import csv

import numpy as np
import pytest

from ethomarkov.io.download import DownloadError, FetchedFile


def test_data_explain_needs_no_network(cli, tmp_path):
    code, out, err = cli("data", "explain", "--into", tmp_path)
    assert (code, err) == (0, "")
    assert "https://doi.org/10.34740/kaggle/ds/3882219" in out
    assert f"ethomarkov reproduce --data {tmp_path}" in out


def test_data_fetch_says_what_came(cli, tmp_path, monkeypatch):
    files = (
        FetchedFile(path=tmp_path / "a.mat", size=1234, sha256="ab" * 32, verified=False),
        FetchedFile(path=tmp_path / "b.csv", size=5, sha256="cd" * 32, verified=True),
    )
    monkeypatch.setattr("ethomarkov.cli.commands.data.fetch_dataset", lambda name, into: files)
    code, out, _ = cli("data", "fetch", "costa2024", "--into", tmp_path)
    assert code == 0
    first, second, *_ = out.splitlines()
    assert "1,234 bytes" in first
    assert "ab" * 32 in first
    assert "unverified" in first
    assert second.endswith("(verified)")


def test_data_fetch_without_a_network(cli, tmp_path, monkeypatch):
    def refuse(name, into):
        raise DownloadError("costa2024 could not be fetched (no connection). By hand: open it.")

    monkeypatch.setattr("ethomarkov.cli.commands.data.fetch_dataset", refuse)
    code, out, err = cli("data", "fetch", "--into", tmp_path)
    assert code == 2
    assert "By hand" in err
    assert "Traceback" not in out + err


def test_unknown_datasets(cli, tmp_path):
    code, _, err = cli("data", "fetch", "other2024", "--into", tmp_path)
    assert code == 2
    assert "costa2024" in err


@pytest.fixture
def paths(tmp_path):
    """Measured paths of twelve animals that go straight on at 0.1 mm/s."""
    folder = tmp_path / "data"
    folder.mkdir()
    line = np.stack([np.arange(3200) * 0.1 / 16, np.zeros(3200)], axis=1)
    np.savez(folder / "paths.npz", centroid_mm=np.tile(line, (12, 1, 1)), fps=16.0)
    return folder


def test_reproduce_from_paths_alone(cli, paths, tmp_path):
    out_folder = tmp_path / "out"
    code, out, err = cli("reproduce", "--data", paths, "--out", out_folder, "--quick", "--threads", "1")
    assert (code, err) == (0, "")
    assert "measured paths of all twelve" in out
    assert sorted(file.name for file in out_folder.iterdir()) == ["scoreboard.csv", "scoreboard.html", "scoreboard.md"]
    with (out_folder / "scoreboard.csv").open(encoding="utf-8", newline="") as handle:
        rows = {row["key"]: row for row in csv.DictReader(handle)}
    assert float(rows["worm 6 speed"]["ours"]) == pytest.approx(0.1)
    assert rows["worm 6 speed"]["verdict"] == "differs"
    assert rows["drag ratio"]["verdict"] == "cannot be judged"
    page = (out_folder / "scoreboard.html").read_text(encoding="utf-8")
    assert "The paper reproduced from measured paths of all twelve" in page
    assert "cannot be judged" in page


@pytest.mark.parametrize(
    ("arguments", "named"),
    [(("--runs", "1"), "--runs"), (("--worms", "0"), "--worms"), (("--data", "absent"), "absent")],
)
def test_mistakes_are_named(cli, tmp_path, monkeypatch, arguments, named):
    monkeypatch.chdir(tmp_path)
    code, out, err = cli("reproduce", *arguments)
    assert code == 2
    assert named in err
    assert "Traceback" not in out + err
    assert list(tmp_path.iterdir()) == []
