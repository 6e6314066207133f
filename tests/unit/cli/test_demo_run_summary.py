"""The whole study from the command line."""

import functools
import json
import math
import re
import shutil

import h5py
import numpy as np
import pytest

from ethomarkov.io import read, write_recording
from ethomarkov.report.summary import summarize
from ethomarkov.study import Settings, Study, run_study

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
BRIEF = (*QUICK, "--no-scan")
"""For what the scan has no part in; it takes most of the time of so small a study."""
DEMO = ("--worms", "2", "--minutes", "2")
PARTS = ["animals.csv", "provenance.json", "report.html", "settings.toml", "study.nc", "summary.json"]
DEMO_PARTS = sorted([*PARTS, "results"])


def names_in(directory) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


def variables(directory) -> dict[str, np.ndarray]:
    """Every array and number of a study file; not the moment at which it was written."""
    found = {}

    def collect(name: str, item: h5py.Group | h5py.Dataset) -> None:
        if isinstance(item, h5py.Dataset):
            found[f"/{name}"] = np.asarray(item.asstr()[()] if h5py.check_string_dtype(item.dtype) else item[()])
        else:
            found.update({f"/{name}@{key}": np.asarray(value) for key, value in item.attrs.items() if key[0] != "_"})

    with h5py.File(directory / "study.nc") as file:
        file.visititems(collect)
    return found


def assert_same(one: dict[str, np.ndarray], other: dict[str, np.ndarray]) -> None:
    assert one.keys() == other.keys()
    for name, values in one.items():
        assert values.dtype == other[name].dtype, name
        np.testing.assert_array_equal(values, other[name], err_msg=name)


def reject_constant(word: str) -> None:
    raise AssertionError(f"{word} is not JSON")


def strip_nan(value):
    """Write what JSON cannot hold as null."""
    if isinstance(value, dict):
        return {key: strip_nan(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [strip_nan(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


# --- demo ------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def short() -> dict[str, object]:
    """Replacements for short simulations without the scan, which the user's own demo below has."""
    settings = functools.partial(Settings, n_walks=2, simulated_minutes=0.5, scan=False)
    return {"ethomarkov.study.Settings": settings}


@pytest.fixture
def short_demo(cli, monkeypatch, short):
    for place, instead in short.items():
        monkeypatch.setattr(place, instead)
    return lambda *arguments: cli("demo", *DEMO, *arguments)


@pytest.fixture(scope="module")
def demo(ran_once, short):
    """The demonstration of seed 7 on one thread."""
    return ran_once("demo", lambda out: ("demo", *DEMO, "--seed", 7, "--threads", 1, "--out", out), patched=short)


def test_demo_writes_study_and_report_and_tells_the_truth_beside_it(demo):
    directory, out = demo.directory, demo.stdout
    assert demo.stderr == ""
    assert names_in(directory) == DEMO_PARTS
    stages = {file.name.rpartition("-")[0] for file in (directory / "results").iterdir()}
    assert stages == {"known_truth", "reconstruction"}
    assert "2 animals, 4.0 min at 16 Hz" in out
    table = out.partition("estimate beside truth")[2].partition("These worms are synthetic, so the truth is known.")[0]
    for row in ("share of time in runs (%)", "rate run → pirouette (1/s)", "slowest relaxation time (s)", "drag ratio"):
        assert row in table
    assert re.search(r"number of states +\d +7 +–", table)
    *_, where, following = out.rstrip().splitlines()
    assert where.startswith("Open ")
    assert following.startswith("Next: ethomarkov ")
    assert str(directory / "report.html") in out
    page = (directory / "report.html").read_text(encoding="utf-8")
    first, second = page.index("<table"), page.index("<table", page.index("<table") + 1)
    assert 'class="truth"' in page[first:second]
    assert "<td>number of states</td>" in page[first:second]


def test_the_truth_of_a_demo_is_shown_again_for_this_demo_alone(cli, demo, no_pictures, files, tmp_path):
    """`report` finds it; a later run on other animals into the same directory does not."""
    tmp_path = demo.copy_to(tmp_path / "demo")
    (tmp_path / "report.html").unlink()
    assert cli("report", tmp_path)[0] == 0
    assert 'class="truth"' in (tmp_path / "report.html").read_text(encoding="utf-8")
    assert cli("run", files["nc"], "--out", tmp_path, *BRIEF, "--quiet") == (0, "", "")
    assert list((tmp_path / "results").glob("known_truth-*.nc"))
    assert Study.load(tmp_path).held("known_truth") is None
    for command in ((), ("report", tmp_path)):
        said = cli(*command) if command else (0, "", "")
        assert said[0] == 0
        assert 'class="truth"' not in (tmp_path / "report.html").read_text(encoding="utf-8")
    assert f"{tmp_path / 'results'}: results of reconstruction, known_truth are of another study" in said[1]


@pytest.mark.slow
def test_demo_as_users_run_it(cli, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert cli("demo", *DEMO, "--quiet") == (0, "", "")
    assert names_in(tmp_path / "ethomarkov-demo") == DEMO_PARTS


@pytest.mark.parametrize("threads", [1, 2])
def test_demo_is_the_same_again_on_one_thread_and_on_two(demo, short_demo, no_pictures, tmp_path, threads):
    assert short_demo("--quiet", "--out", tmp_path, "--seed", 7, "--threads", threads) == (0, "", "")
    assert_same(variables(demo.directory), variables(tmp_path))


def test_another_seed_makes_another_demo(demo, short_demo, no_pictures, tmp_path):
    assert short_demo("--quiet", "--out", tmp_path, "--seed", 8, "--threads", 1) == (0, "", "")
    first, other = variables(demo.directory), variables(tmp_path)
    for name in ("/modes", "/simulation/simulated/values", "/path/path/centroid"):
        assert first[name].shape == other[name].shape
        assert not np.array_equal(first[name], other[name], equal_nan=True)


# --- run -------------------------------------------------------------------------------------------------------------


def test_run_writes_study_and_report_and_says_where(finished_study):
    assert names_in(finished_study.directory) == PARTS
    assert finished_study.stderr == ""
    assert "2 animals, 4.0 min at 16 Hz" in finished_study.stdout
    assert str(finished_study.directory / "report.html") in finished_study.stdout


def test_run_is_reproducible(cli, no_pictures, files, basis_file, finished_study, tmp_path):
    assert cli("run", files["nc"], "--basis", basis_file, "--out", tmp_path, *QUICK, "--quiet") == (0, "", "")
    assert_same(variables(tmp_path), variables(finished_study.directory))


def test_run_is_the_same_on_two_threads(cli, no_pictures, files, basis_file, finished_study, tmp_path):
    options = (*QUICK[:-1], "2", "--quiet")
    assert cli("run", files["nc"], "--basis", basis_file, "--out", tmp_path, *options)[0] == 0
    assert_same(variables(tmp_path), variables(finished_study.directory))


@pytest.mark.parametrize("kind", ["angle", "centerline", "position", "amplitude"])
def test_run_takes_every_kind_of_posture(cli, files, tmp_path, kind):
    code, out, err = cli("run", files[kind], "--out", tmp_path, *BRIEF)
    assert (code, err) == (0, "")
    assert names_in(tmp_path) == PARTS
    found = variables(tmp_path)
    assert found["/modes"].shape == (3840, 5)
    assert ("/path/path/centroid" in found) == (kind in ("angle", "centerline"))
    assert ("/survey/basis/vectors" in found) == (kind != "amplitude")
    assert ("run" in out and "pirouette" in out) == (kind in ("angle", "centerline"))
    assert "nan" not in out


def test_run_on_amplitudes_with_their_basis_crawls(finished_study):
    found = variables(finished_study.directory)
    assert np.isfinite(found["/path/path/centroid"]).all()
    assert found["/survey/basis/vectors"].shape == (100, 5)
    assert "run" in finished_study.stdout
    assert "pirouette" in finished_study.stdout


def test_a_square_basis_is_cut_to_the_modes(cli, no_pictures, files, worms, finished_study, tmp_path):
    vectors = worms.basis.vectors
    rest = np.linalg.svd(vectors, full_matrices=True)[0][:, vectors.shape[1] :]
    np.savetxt(tmp_path / "square.csv", np.hstack([vectors, rest]), delimiter=",", fmt="%.17g")
    out = tmp_path / "s"
    assert cli("run", files["nc"], "--basis", tmp_path / "square.csv", "--out", out, *BRIEF, "--quiet")[0] == 0
    here, there = variables(out), variables(finished_study.directory)
    np.testing.assert_array_equal(here["/survey/basis/vectors"], there["/survey/basis/vectors"])
    np.testing.assert_array_equal(here["/path/path/centroid"], there["/path/path/centroid"])


def test_csv_npz_and_netcdf_give_the_same_model(cli, no_pictures, files, tmp_path):
    found = {}
    for ending in ("nc", "npz", "csv"):
        assert cli("run", files[ending], "--out", tmp_path / ending, *BRIEF, "--quiet")[0] == 0
        found[ending] = variables(tmp_path / ending)
    for ending in ("npz", "csv"):
        np.testing.assert_array_equal(found[ending]["/microstate"], found["nc"]["/microstate"])
        centroids = (found[name]["/postures/measured/centroid"] for name in (ending, "nc"))
        np.testing.assert_allclose(*centroids, rtol=1e-6)


def test_several_files_are_joined(cli, no_pictures, recordings, tmp_path):
    one = recordings["amplitude"]
    parts = [write_recording(one.select([name]), tmp_path / f"{name}.csv") for name in one.individuals]
    assert cli("run", *parts, "--out", tmp_path / "joined", *BRIEF, "--quiet")[0] == 0
    assert Study.load(tmp_path / "joined").individuals == one.individuals


def test_a_second_run_replaces_the_first(cli, no_pictures, files, tmp_path):
    (tmp_path / "notes of mine.txt").write_text("keep me")
    assert cli("run", files["angle"], "--out", tmp_path, *BRIEF, "--quiet")[0] == 0
    first = variables(tmp_path)
    assert cli("run", files["nc"], "--out", tmp_path, *BRIEF, "--seed", 9, "--quiet")[0] == 0
    assert names_in(tmp_path) == sorted(["notes of mine.txt", *PARTS])
    second = variables(tmp_path)
    assert "/path/path/centroid" in first
    assert "/path/path/centroid" not in second
    assert "<canvas" not in (tmp_path / "report.html").read_text()


def test_names_with_spaces_and_letters_of_any_language(cli, no_pictures, files, tmp_path):
    folder = tmp_path / "Würmer und große Pläne 虫"
    folder.mkdir()
    source = shutil.copy(files["csv"], folder / "aufnahme 1 (größer).csv")
    assert cli("run", source, "--out", folder / "Ergebnis ✓", *BRIEF, "--quiet") == (0, "", "")
    assert names_in(folder / "Ergebnis ✓") == PARTS
    _, out, _ = cli("inspect", source, "--out", folder / "Bild ☂.png")
    assert str(folder / "Bild ☂.png") in out


@pytest.mark.parametrize("name", ["my [red] worms", "[", "100% {x}"])
def test_names_that_look_like_markup_are_shown_as_they_are(cli, files, tmp_path, name):
    (tmp_path / name).mkdir()
    source = shutil.copy(files["nc"], tmp_path / name / "worms.nc")
    target = tmp_path / name / "copy.csv"
    code, out, _ = cli("convert", source, "--out", target)
    assert code == 0
    assert str(target) in out


def test_read_only_files_can_be_read(cli, no_pictures, files, tmp_path):
    source = tmp_path / "locked.nc"
    shutil.copy(files["nc"], source)
    source.chmod(0o444)
    assert cli("run", source, "--out", tmp_path / "s", *BRIEF, "--quiet") == (0, "", "")


@pytest.mark.parametrize("rate", [12.5, 0.9])
def test_rates_that_are_no_whole_number_serve(cli, no_pictures, files, basis_file, tmp_path, rate):
    brief = [word for word in BRIEF if word not in ("--lag", "0.75")]  # which is no whole number of frames there
    arguments = ("run", files["nc"], "--basis", basis_file, "--resample", rate, "--out", tmp_path, *brief)
    code, out, err = cli(*arguments)
    assert (code, err) == (0, "")
    assert f"at {rate:g} Hz" in out


def test_two_states_are_enough(cli, no_pictures, files, tmp_path):
    """A chain of two states may swap them at every step, so that its second eigenvalue is negative."""
    smallest = [2 if word == "12" else word for word in QUICK]
    code, _out, err = cli("run", files["nc"], "--out", tmp_path, "--modes", 1, *smallest)
    assert (code, err) == (0, "")
    json.loads(cli("summary", tmp_path, "--json")[1], parse_constant=reject_constant)


# --- summary ---------------------------------------------------------------------------------------------------------


def test_summary_prints_what_run_printed(cli, finished_study):
    code, out, err = cli("summary", finished_study.directory)
    assert (code, err) == (0, "")
    *lines, following = (line.rstrip() for line in out.strip().splitlines())
    assert following == finished_study.stdout.splitlines()[-1]
    assert lines == [line.rstrip() for line in finished_study.stdout.strip().splitlines()[: len(lines)]]


def test_summary_as_json_equals_the_study_in_memory(cli, finished_study, files, worms):
    code, out, err = cli("summary", finished_study.directory / "study.nc", "--json")  # the file serves as well
    assert (code, err) == (0, "")
    found = json.loads(out, parse_constant=reject_constant)
    settings = Settings(n_delays=11, lag=0.75, n_states=12, n_walks=2, simulated_minutes=0.5)
    fresh = summarize(run_study(read(files["nc"]), settings, basis=worms.basis))
    fresh["data"]["basis"] = found["data"]["basis"]  # the file's name there, "analytic worm" here
    assert found == json.loads(json.dumps(strip_nan(fresh)))
    assert found["data"]["animals"] == 2
    assert found["data"]["frames"] == 3840
    assert found["choices"]["lag"] == 0.75


def test_json_of_one_short_animal_has_no_nan(cli, no_pictures, recordings, tmp_path):
    """One animal has intervals over blocks, and a single walk has none."""
    one = recordings["angle"].select(["worm_00"])
    write_recording(one, tmp_path / "one.nc")
    options = (*QUICK[:2], "--walks", "1", "--simulated-minutes", "0.012")
    code, out, err = cli("run", tmp_path / "one.nc", "--out", tmp_path / "s", *options)
    assert (code, err) == (0, "")
    assert "nan" not in out
    page = (tmp_path / "s" / "report.html").read_text().partition("<script")[0]
    assert not re.search(r"\bnan\b", page)
    found = json.loads(cli("summary", tmp_path / "s", "--json")[1], parse_constant=reject_constant)
    assert found["chain"]["slowest_relaxation_s"]["over"] == "blocks"
    assert found["simulation"]["speed_body_lengths_per_s"]["low"] is None


def test_tables_fit_a_narrow_terminal(cli, finished_study, monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    _, out, _ = cli("summary", finished_study.directory)
    assert max(map(len, out.splitlines()[:-1])) <= 60  # what to type next is one line, to be copied
    assert "…" not in out
