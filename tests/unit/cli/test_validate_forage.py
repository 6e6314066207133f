"""`ethomarkov validate` and `ethomarkov forage`: files, words and exit codes."""

import csv
import shutil
from pathlib import Path

import numpy as np
import pytest

from ethomarkov.foraging.states import ForageSettings, forage_states
from ethomarkov.report.results import StudyResults
from ethomarkov.report.summary import study_warnings
from ethomarkov.study import Settings, Study, run_study
from ethomarkov.validation.checks import observe_animal

FIGURES = ["agreement.png", "autocorrelation.png", "distributions.png", "prediction.png", "rates.png"]
VALIDATE = ("--runs", 5, "--repeats", 2, "--threads", 1)


def rows_of(file):
    with file.open(encoding="utf-8", newline="") as handle:
        return list(csv.DictReader(handle))


def names_in(folder):
    return sorted(path.name for path in folder.iterdir())


def stages_in(directory):
    """List the stages of which a study keeps results."""
    return {file.name.rpartition("-")[0] for file in (directory / "results").iterdir()}


@pytest.fixture(scope="module")
def keypoints(recordings, made_once):
    """A study of six keypoints: no body wave, no path."""
    settings = Settings(n_delays=11, lag=0.75, n_states=12, n_walks=1, simulated_minutes=0.5, scan=False, n_resamples=0)
    return made_once("keypoints", lambda directory: run_study(recordings["position"], settings).save(directory))


# --- validate --------------------------------------------------------------------------------------------------------


def test_validate_writes_tables_and_figures_and_keeps_results(validated):
    out = validated.directory / "validation"
    assert validated.stderr == ""
    assert names_in(out) == ["checks.csv", "cross_validation.csv", "rates.png", "validation.csv"]
    assert (out / "rates.png").read_bytes()[:4] == b"\x89PNG"
    assert stages_in(validated.directory) == {"animal_runs", "predictions", "held_out_splits", "published_splits"}


def test_validate_says_whether_the_model_can_be_trusted(validated):
    out, words = validated.directory / "validation", validated.stdout
    table = rows_of(out / "validation.csv")
    n_agree = sum(row["agrees"] == "True" for row in table)
    assert f"{n_agree} of {len(table)} statistics agree." in words
    for row in table:
        line = next(line for line in words.splitlines() if line.startswith(row["statistic"]))
        assert f"{row['animals_agree']} of {row['animals']}" in line
        assert line.rstrip().endswith("agrees" if row["agrees"] == "True" else "differs")
    told = f"Tables and figures are in {out}. Results are in {validated.directory / 'results'}."
    for part in ("mixing time", "bits per second", "when nothing leaks", told):
        assert part in words


def test_results_load_back(validated):
    words, whole = validated.stdout, Study.load(validated.directory)
    found = whole.held("validation")
    assert found.held_out.names == whole.individuals
    assert found.held_out.explain() in words
    assert found.drift.sentence in words
    assert found.run_entries.counts.shape[0] == 5
    for warning in (*study_warnings(whole), *found.warnings):
        assert f"note {warning}" in words


def test_checks_are_the_same_in_both_files_and_from_python(validated):
    whole, rows = Study.load(validated.directory), rows_of(validated.directory / "validation" / "checks.csv")
    assert len(rows) == 2 * len(rows_of(validated.directory / "validation" / "validation.csv"))
    for k, (name, one) in enumerate(zip(whole.individuals, whole.held("validation").animals, strict=True)):
        again = observe_animal(whole.model, k, 5).check
        mine = [row for row in rows if row["animal"] == name]
        assert [row["statistic"] for row in mine] == [check.statistic for check in again.checks]
        for row, stored, check in zip(mine, one.checks, again.checks, strict=True):
            numbers = [float(row[key]) for key in ("data", "data_low", "simulation", "low", "high", "n_runs")]
            expected = [check.data, check.data_low, check.simulation, check.low, check.high, check.n_runs]
            np.testing.assert_array_equal(numbers, expected)
            assert row["agrees"] == (str(check.agrees) if check.is_known else "")
            np.testing.assert_array_equal([stored.data, stored.high], [check.data, check.high])
        np.testing.assert_array_equal(one.run_correlation.values, again.run_correlation.values)
        np.testing.assert_array_equal(one.density.share, again.density.share)


def test_the_table_of_cross_validation(validated):
    rows = rows_of(validated.directory / "validation" / "cross_validation.csv")
    # two worms, three kinds of events and two macrostates, held-out and as published
    assert len(rows) == 2 * 2 * (3 + 2)
    assert {(row["kind"], row["statistic"]) for row in rows} == {
        (kind, name) for kind in ("held-out", "as published") for name in ("event rates", "transition rates")
    }
    for row in rows:
        assert (row["repeats"], row["expected_inside"]) == ("2", "0.95")
        assert float(row["share_inside"]) in (0.0, 0.5, 1.0)


def test_figures_find_the_cross_validation(validated):
    whole = Study.load(validated.directory)
    results = StudyResults(whole)
    held_out = results["held_out_correlation"]
    assert results.remarks == ()
    assert held_out.individuals == whole.individuals
    assert (held_out.n_splits, held_out.n_runs) == (2, 2 * 39)
    np.testing.assert_allclose(held_out.test[:, :, :, 0], 1, rtol=1e-6)
    assert (held_out.test[:, 1] <= held_out.test[:, 2]).all()
    assert set(results["splits"]) == {"held-out", "as published"}
    assert results["split_means"] is not None


@pytest.mark.usefixtures("no_figures")
def test_a_validation_without_repeats_is_the_latest_one(cli, validated, tmp_path):
    """The splits of an earlier one are not taken for its own."""
    directory = validated.copy_to(tmp_path / "study")
    assert cli("validate", directory, "--runs", 5, "--threads", 1, "--quiet") == (0, "", "")
    results = StudyResults(Study.load(directory))
    assert len(results["checks"]) == 2
    assert (results["held_out_correlation"], results["splits"]) == (None, None)
    # what was asked for last is shown, computed or not
    assert cli("validate", directory, *VALIDATE, "--quiet") == (0, "", "")
    assert set(StudyResults(Study.load(directory))["splits"]) == {"held-out", "as published"}


@pytest.mark.slow
def test_keypoints_are_validated_without_paths(keypoints, cli, tmp_path):
    """By default the files go into the study."""
    keypoints = Path(shutil.copytree(keypoints, tmp_path / "study"))
    code, words, err = cli("validate", keypoints, "--runs", "3", "--threads", "1", "--quiet")
    assert (code, words, err) == (0, "", "")
    out = keypoints / "validation"
    assert names_in(out) == sorted(["checks.csv", "validation.csv", *FIGURES])
    names = [row["statistic"] for row in rows_of(out / "validation.csv")]
    assert "standard deviation of a5" in names
    assert not {"reversals", "speed over one second", "diffusion coefficient"} & set(names)
    assert sum(name.startswith("transition rate out of") for name in names) == 2


@pytest.mark.parametrize("options", [("--runs", "1"), ("--repeats", "-1"), ("--threads", "0")])
def test_bad_options_of_validate(cli, finished_study, tmp_path, options):
    code, out, err = cli("validate", finished_study.directory, "--out", tmp_path / "v", *options)
    assert code == 2
    assert options[0] in err
    assert "Traceback" not in out + err
    assert not (tmp_path / "v").exists()
    assert not (finished_study.directory / "results").exists()


@pytest.mark.parametrize("command", ["validate", "forage"])
def test_no_study_there(cli, tmp_path, command):
    code, out, err = cli(command, tmp_path)
    assert code == 2
    assert "no study" in err
    assert "Traceback" not in out + err


# --- forage ----------------------------------------------------------------------------------------------------------


def test_forage_writes_a_row_per_state_and_radius(foraged):
    out, words = foraged.directory / "forage", foraged.stdout
    assert foraged.stderr == ""
    assert names_in(out) == ["forage.csv", "forage.png"]
    assert stages_in(foraged.directory) == {"foraging"}
    whole = Study.load(foraged.directory)
    found = whole.held("foraging", level=2)
    curve, matching = found.curve, found.matching
    assert curve.names == whole.names(2)
    rows = rows_of(out / "forage.csv")
    assert len(rows) == curve.probability.size == 60
    table = np.array([[float(row[key]) for key in ("probability", "low", "high", "coverage")] for row in rows])
    expected = [curve.probability, curve.low, curve.high, found.coverage.share.mean(axis=1)]
    np.testing.assert_allclose(table.T.reshape(4, 2, 30), expected)
    assert [row["state"] for row in rows[::30]] == list(curve.names)
    for name, share in zip(curve.names, matching.time_share, strict=True):
        line = next(line for line in words.splitlines() if line.startswith(name))
        assert line.rstrip().endswith(f"{share:.3f}")
    told = f"Tables and figures are in {out}. Results are in {foraged.directory / 'results'}."
    for part in ("within r body lengths", "0.55", "24", "correlation of", told):
        assert part in words


def test_the_food_is_what_python_finds(foraged):
    whole = Study.load(foraged.directory)
    again = forage_states(whole.model, 2, ForageSettings(n_runs=4, seconds=15.0, seed=whole.settings.seed))
    np.testing.assert_array_equal(whole.held("foraging").coverage.share, again.coverage.share)


def test_the_published_raster_misses_what_lies_between_its_points(foraged, tmp_path, cli):
    directory = foraged.copy_to(tmp_path / "study")
    options = ("--level", 2, "--runs", 4, "--seconds", 15, "--threads", 1, "--raster", "--width", 0.01, "--quiet")
    assert cli("forage", directory, "--out", tmp_path / "raster", *options) == (0, "", "")
    whole = Study.load(directory)
    body, raster = (whole.held("foraging", raster=one).coverage.share for one in (False, True))
    assert (raster[:, :, -1] < body[:, :, -1]).all()
    # its cells are as wide as a body of the default width, whatever the width
    assert (raster[:, :, -1] > 0.1 * body[:, :, -1]).all()
    np.testing.assert_array_equal(whole.held("foraging").coverage.share, raster)  # the latest is shown


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--level", "0"), "no level of 0 states"),
        (("--runs", "1"), "--runs"),
        (("--seconds", "1"), "--seconds is 1"),
        (("--seconds", "inf"), "--seconds is inf"),
        (("--width", "0"), "--width 0"),
    ],
)
def test_bad_options_of_forage(cli, finished_study, tmp_path, options, words):
    code, out, err = cli("forage", finished_study.directory, "--out", tmp_path / "f", *options)
    assert code == 2
    assert words in err
    assert "Traceback" not in out + err
    assert not (tmp_path / "f").exists()
    assert not (finished_study.directory / "results").exists()


def test_keypoints_do_not_forage(cli, keypoints, tmp_path):
    code, out, err = cli("forage", keypoints, "--out", tmp_path / "f")
    assert code == 2
    assert err.count("tangent angles") == 1
    assert "Traceback" not in out + err
    assert not (tmp_path / "f").exists()
