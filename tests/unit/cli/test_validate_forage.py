"""`ethomarkov validate` and `ethomarkov forage`: files, words and exit codes."""

import contextlib
import csv
import io
import shutil

import numpy as np
import pytest
from ethomarkov.report.paper_parts import gather_parts
from ethomarkov.workflow import Settings, Study, run_study
from ethomarkov.workflow.checks import AnimalCheck, check_animal
from ethomarkov.workflow.states import state_names
from matplotlib.figure import Figure

from ethomarkov.cli.commands.forage import forage
from ethomarkov.cli.commands.validate import validate
from ethomarkov.cli.options import RunningOptions
from ethomarkov.foraging.food import FoodCurve, Matching, StateCoverage
from ethomarkov.io.results import group_name, load_attrs, load_result, load_results, save_results
from ethomarkov.validation.drifting import Drift, EntryRate
from ethomarkov.validation.held_out import HeldOut
from ethomarkov.validation.prediction import PredictionError

KINDS = {
    "recorded_error": PredictionError,
    "simulated_error": PredictionError,
    "held_out": HeldOut,
    "entries": EntryRate,
    "run_entries": EntryRate,
    "drift": Drift,
}
FIGURES = ["agreement.png", "autocorrelation.png", "distributions.png", "prediction.png", "rates.png"]
ONE_CORE = RunningOptions(threads=1)


def rows_of(file):
    with file.open(encoding="utf-8", newline="") as handle:
        return list(csv.DictReader(handle))


def names_in(folder):
    return sorted(path.name for path in folder.iterdir())


def say(command, *args, **options):
    """Call a command and give what it prints."""
    out = io.StringIO()
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(out):
        patch.setenv("COLUMNS", "1000")
        command(*args, **options, running=ONE_CORE)
    return out.getvalue()


@pytest.fixture(scope="module")
def keypoints(recordings, tmp_path_factory):
    """A study of six keypoints: no body wave, no path."""
    directory = tmp_path_factory.mktemp("keypoints")
    settings = Settings(n_delays=11, lag=0.75, n_states=12, n_walks=1, simulated_minutes=0.5, scan=False, n_resamples=0)
    run_study(recordings["position"], settings).save(directory)
    return directory


@pytest.fixture(scope="module")
def validated(study, tmp_path_factory):
    """What `validate` wrote of the two worms, and what it said."""
    out = tmp_path_factory.mktemp("validated") / "not there yet"
    with pytest.MonkeyPatch.context() as patch:  # the figures take most of the time, and have tests of their own
        patch.setattr("ethomarkov.cli.commands.validate.draw_validation_figures", lambda *_: {"rates.png": Figure()})
        return out, say(validate, study.directory, runs=5, repeats=2, out=out)


@pytest.fixture(scope="module")
def foraged(study, tmp_path_factory):
    out = tmp_path_factory.mktemp("foraged")
    return out, say(forage, study.directory, level=2, runs=4, seconds=15.0, out=out)


# --- validate --------------------------------------------------------------------------------------------------------


def test_validate_writes_tables_results_and_figures(validated):
    out, _ = validated
    assert names_in(out) == ["checks.csv", "cross_validation.csv", "rates.png", "validation.csv", "validation.nc"]
    assert (out / "rates.png").read_bytes()[:4] == b"\x89PNG"


def test_validate_says_whether_the_model_can_be_trusted(validated):
    out, words = validated
    table = rows_of(out / "validation.csv")
    n_agree = sum(row["agrees"] == "True" for row in table)
    assert f"{n_agree} of {len(table)} statistics agree." in words
    for row in table:
        line = next(line for line in words.splitlines() if line.startswith(row["statistic"]))
        assert f"{row['animals_agree']} of {row['animals']}" in line
        assert line.rstrip().endswith("agrees" if row["agrees"] == "True" else "differs")
    for part in ("mixing time", "bits per second", "when nothing leaks", f"Written to {out}."):
        assert part in words


def test_results_load_back(validated, study):
    out, words = validated
    loaded = load_results(out / "validation.nc", KINDS)
    assert set(loaded) == set(KINDS)
    whole = Study.load(study.directory)
    assert loaded["held_out"].names == whole.symbols.segments.individuals
    assert loaded["held_out"].explain() in words
    assert loaded["drift"].sentence in words
    assert loaded["run_entries"].counts.shape[0] == 5
    attrs = load_attrs(out / "validation.nc")
    assert attrs["settings"] == whole.settings.model_dump_json()
    for warning in attrs["warnings"].splitlines():
        assert f"note: {warning}" in words


def test_checks_are_the_same_in_both_files_and_from_python(validated, study):
    out, _ = validated
    whole, rows = Study.load(study.directory), rows_of(out / "checks.csv")
    assert len(rows) == 2 * len(rows_of(out / "validation.csv"))
    names = whole.symbols.segments.individuals
    groups = [group_name("animal", k, name) for k, name in enumerate(names)]
    stored_animals = load_results(out / "validation.nc", dict.fromkeys(groups, AnimalCheck))
    for k, name in enumerate(names):
        one, again = stored_animals[groups[k]], check_animal(whole, k, 5)
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
    rows = rows_of(validated[0] / "cross_validation.csv")
    # two worms, three kinds of events and two macrostates, honest and leaky
    assert len(rows) == 2 * 2 * (3 + 2)
    assert {(row["kind"], row["statistic"]) for row in rows} == {
        (kind, name) for kind in ("honest", "leaky") for name in ("event rates", "leaving rates")
    }
    for row in rows:
        assert (row["repeats"], row["expected_inside"]) == ("2", "0.95")
        assert float(row["share_inside"]) in (0.0, 0.5, 1.0)


def test_figures_find_the_cross_validation(validated, study, monkeypatch, tmp_path):
    monkeypatch.setattr("ethomarkov.report.paper_parts.N_RESAMPLES", 3)
    whole, out = Study.load(study.directory), validated[0]
    parts = gather_parts(whole, out.parent)
    assert parts.remarks == ()
    assert parts.held_out.individuals == whole.symbols.segments.individuals
    assert (parts.held_out.n_splits, parts.held_out.n_runs) == (2, 2 * 39)
    np.testing.assert_allclose(parts.held_out.test[:, :, :, 0], 1, rtol=1e-6)
    assert (parts.held_out.test[:, 1] <= parts.held_out.test[:, 2]).all()
    assert len(parts.splits) == 2 * (3 + 2)
    # A validation without repeats leaves the table of an earlier one beside it, which is not taken for its own.
    names = [group_name("animal", k, name) for k, name in enumerate(whole.symbols.segments.individuals)]
    later = load_results(out / "validation.nc", KINDS | dict.fromkeys(names, AnimalCheck))
    save_results(tmp_path / "validation.nc", later, load_attrs(out / "validation.nc"))
    shutil.copy(out / "cross_validation.csv", tmp_path)
    parts = gather_parts(whole, tmp_path)
    assert len(parts.animals) == 2
    assert (parts.held_out, parts.splits) == (None, ())


@pytest.mark.slow
def test_keypoints_are_validated_without_paths(keypoints, cli):
    """By default the files go into the study."""
    code, words, err = cli("validate", keypoints, "--runs", "3", "--threads", "1", "--quiet")
    assert (code, words, err) == (0, "", "")
    out = keypoints / "validation"
    assert names_in(out) == sorted(["checks.csv", "validation.csv", "validation.nc", *FIGURES])
    names = [row["statistic"] for row in rows_of(out / "validation.csv")]
    assert "standard deviation of a5" in names
    assert not {"reversals", "speed over one second", "diffusion coefficient"} & set(names)
    assert sum(name.startswith("rate of leaving") for name in names) == 2


@pytest.mark.parametrize("options", [("--runs", "1"), ("--repeats", "-1"), ("--threads", "0")])
def test_bad_options_of_validate(cli, study, tmp_path, options):
    code, out, err = cli("validate", study.directory, "--out", tmp_path / "v", *options)
    assert code == 2
    assert options[0] in err
    assert "Traceback" not in out + err
    assert not (tmp_path / "v").exists()


@pytest.mark.parametrize("command", ["validate", "forage"])
def test_no_study_there(cli, tmp_path, command):
    code, out, err = cli(command, tmp_path)
    assert code == 2
    assert "no study" in err
    assert "Traceback" not in out + err


# --- forage ----------------------------------------------------------------------------------------------------------


def test_forage_writes_a_row_per_state_and_radius(foraged, study):
    out, words = foraged
    assert names_in(out) == ["forage.csv", "forage.nc", "forage.png"]
    kinds = {"curve": FoodCurve, "coverage": StateCoverage, "matching": Matching}
    curve, coverage, matching = load_results(out / "forage.nc", kinds).values()
    assert curve.names == state_names(Study.load(study.directory), 2)
    rows = rows_of(out / "forage.csv")
    assert len(rows) == curve.probability.size == 60
    table = np.array([[float(row[key]) for key in ("probability", "low", "high", "coverage")] for row in rows])
    expected = [curve.probability, curve.low, curve.high, coverage.share.mean(axis=1)]
    np.testing.assert_allclose(table.T.reshape(4, 2, 30), expected)
    assert [row["state"] for row in rows[::30]] == list(curve.names)
    for name, share in zip(curve.names, matching.time_share, strict=True):
        line = next(line for line in words.splitlines() if line.startswith(name))
        assert line.rstrip().endswith(f"{share:.3f}")
    for part in ("within r body lengths", "0.55", "24", "correlation of", f"Written to {out}."):
        assert part in words


def test_the_published_raster_misses_what_lies_between_its_points(foraged, study, tmp_path, cli):
    options = ("--level", 2, "--runs", 4, "--seconds", 15, "--threads", 1, "--raster", "--width", 0.01, "--quiet")
    assert cli("forage", study.directory, "--out", tmp_path, *options) == (0, "", "")
    body, raster = (load_result(out / "forage.nc", "coverage", StateCoverage).share for out in (foraged[0], tmp_path))
    assert (raster[:, :, -1] < body[:, :, -1]).all()
    # its cells are as wide as a body of the default width, whatever the width
    assert (raster[:, :, -1] > 0.1 * body[:, :, -1]).all()


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
def test_bad_options_of_forage(cli, study, tmp_path, options, words):
    code, out, err = cli("forage", study.directory, "--out", tmp_path / "f", *options)
    assert code == 2
    assert words in err
    assert "Traceback" not in out + err
    assert not (tmp_path / "f").exists()


def test_keypoints_do_not_forage(cli, keypoints, tmp_path):
    code, out, err = cli("forage", keypoints, "--out", tmp_path / "f")
    assert code == 2
    assert err.count("tangent angles") == 1
    assert "Traceback" not in out + err
    assert not (tmp_path / "f").exists()
