"""Scoring what is there, stage by stage, and going on after any interruption."""

import json
import shutil

import numpy as np
import pytest

from ethomarkov._core.parallel import sent_to
from ethomarkov._core.series import Series
from ethomarkov.exceptions import EthomarkovWarning
from ethomarkov.io.results import load_group_attrs, load_result, save_results
from ethomarkov.locomotion import Trajectory
from ethomarkov.markov.entropy_scan import ScanSettings
from ethomarkov.paper import kinetics
from ethomarkov.paper.data import PaperData, synthetic_paper_data
from ethomarkov.paper.published import ENTROPY_RATES, GAINS, N_WORMS
from ethomarkov.paper.reproduce import TARGETS, ReproduceSettings, reproduce_paper
from ethomarkov.paper.stages import ALL_STAGES, PAPER_STAGES, scan_grid
from ethomarkov.study import Settings, Study
from ethomarkov.study.graph import TICKS
from ethomarkov.study.study import KEPT
from ethomarkov.validation import validate
from ethomarkov.validation.prediction import PredictionSettings
from ethomarkov.validation.splits import Comparison, CrossValidation, FitSettings

SMALL = ReproduceSettings(
    n_runs=3,
    n_shuffles=2,
    n_repeats=2,
    n_held_out=1,
    small_scan=True,
    seed=1,
    study=Settings.paper().model_copy(update={"n_states": 20, "n_behaviours": 3}),
)
OWN = [one.name for one in KEPT]
ASKED = [one.name for one in ALL_STAGES if one.name in (*TARGETS, "known_truth")]
STAGE_NAMES = [*OWN, *ASKED]


@pytest.fixture(scope="module", autouse=True)
def few_samples():
    """Resample and predict no more than a test needs."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kinetics, "N_RESAMPLES", 5)
        patch.setattr(
            validate, "prediction_settings", lambda _: PredictionSettings(method="paper-filled", n_samples=20)
        )
        yield


@pytest.fixture(scope="module")
def worms():
    return synthetic_paper_data(2, 75.0, seed=5)


@pytest.fixture(scope="module")
def whole(worms, tmp_path_factory):
    """The reproduction without interruption, and where it was kept."""
    directory = tmp_path_factory.mktemp("whole")
    return reproduce_paper(worms, SMALL, directory=directory), directory


def parts_in(directory):
    """Names of the stages that have a file of their own."""
    return {file.stem.split("-")[0] for file in (directory / "results").glob("*.nc")}


def digests_in(directory):
    """Digests of the content of all results that have a file of their own, by file."""
    files = sorted((directory / "results").glob("*.nc"))
    return {file.name: load_group_attrs(file)[file.stem.split("-")[0]]["digests"] for file in files}


def assert_same(directory, other):
    for name in ("study.nc", "settings.toml"):
        assert (directory / name).read_bytes() == (other / name).read_bytes(), name
    assert digests_in(directory) == digests_in(other)


class Stopped(BaseException):
    """As Ctrl-C: no error that anything may catch."""


def stop_when(condition):
    """Stop at the first report that fulfils a condition."""

    def report(what, done, total):
        if condition(what, done):
            raise Stopped

    return report


# --- stages ----------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_all_stages_are_told(whole):
    done, directory = whole
    assert not done.errors
    assert [one.stage for one in done.records] == STAGE_NAMES
    assert all(one.seconds >= 0 and one.cpu_seconds >= 0 and one.peak_gb > 0 for one in done.records)
    told = json.loads((directory / "provenance.json").read_text(encoding="utf-8"))["stages"]
    assert [one["stage"] for one in told] == OWN
    # one store: the study, and a file for every further result; nothing twice, nothing left over
    assert {file.name for file in directory.iterdir()} == {"study.nc", "settings.toml", "provenance.json", "results"}
    assert sorted(file.suffix for file in (directory / "results").iterdir()) == [".nc"] * len(ASKED)
    assert parts_in(directory) == set(ASKED)


@pytest.mark.slow
def test_the_study_stands_by_itself(whole):
    done, directory = whole
    loaded = Study.load(directory)
    assert loaded.settings == done.study.settings
    np.testing.assert_array_equal(loaded.symbols.labels, done.study.symbols.labels)
    assert loaded.held("foraging").coverage.share.shape[1] == 3
    assert repr(loaded.held("known_truth")) == repr(done.truth)
    assert loaded.graph.strangers() == []
    of_paper = Study.load(directory, ALL_STAGES)
    for one in PAPER_STAGES:
        assert repr(of_paper.held(one.name)) == repr(done.results[one.name])


@pytest.mark.slow
def test_a_directory_changes_nothing(whole, worms):
    alone = reproduce_paper(worms, SMALL, threads=2)
    assert repr(alone.rows) == repr(whole[0].rows)
    assert [one.stage for one in alone.records] == STAGE_NAMES


@pytest.mark.slow
def test_tasks_can_be_sent_away(whole, worms):
    """Functions and tasks of all stages survive the way to another computer, and give the same there."""
    cloudpickle = pytest.importorskip("cloudpickle")
    sent = []

    class Elsewhere:
        def run(self, function, tasks):
            for task in tasks:
                sent.append(cloudpickle.dumps((function, task)))
                there, its = cloudpickle.loads(sent[-1])
                with sent_to(None):
                    yield there(its)

    with sent_to(Elsewhere()):
        done = reproduce_paper(worms, SMALL)
    assert len(sent) > 20
    assert repr(done.rows) == repr(whole[0].rows)


@pytest.mark.slow
def test_a_second_call_computes_nothing(whole, worms):
    done, directory = whole
    before = {file: file.read_bytes() for file in (directory / "study.nc", *(directory / "results").iterdir())}
    again = reproduce_paper(worms, SMALL, directory=directory)
    assert repr(again.rows) == repr(done.rows)
    assert again.study.graph.records == {}
    assert again.records == done.records
    assert {file: file.read_bytes() for file in before} == before


@pytest.mark.slow
def test_the_progress_only_goes_on(worms):
    told = []
    reproduce_paper(worms, SMALL, progress=lambda *one: told.append(one))
    ticks = [done for _, done, _ in told]
    assert ticks == sorted(ticks)
    assert (ticks[0], ticks[-1]) == (0, TICKS)
    assert {total for _, _, total in told} == {TICKS}
    assert {what for what, _, _ in told} >= set(STAGE_NAMES)


@pytest.mark.slow
def test_stopped_in_every_stage_and_resumed(whole, worms, tmp_path):
    """Stopped at the beginning of every stage in turn, it goes on with that stage and ends the same."""
    for name in STAGE_NAMES:
        with pytest.raises(Stopped):
            reproduce_paper(worms, SMALL, directory=tmp_path, progress=stop_when(lambda what, _, at=name: what == at))
        before = OWN[: OWN.index(name)] if name in OWN else ASKED[: ASKED.index(name)]
        assert parts_in(tmp_path) == set(before)
    done = reproduce_paper(worms, SMALL, directory=tmp_path)
    assert repr(done.rows) == repr(whole[0].rows)
    assert_same(tmp_path, whole[1])


@pytest.mark.slow
def test_a_damaged_result_is_said_and_computed_again(whole, worms, tmp_path):
    shutil.copytree(whole[1], tmp_path, dirs_exist_ok=True)
    (file,) = (tmp_path / "results").glob("animal_runs-*.nc")
    file.write_bytes(file.read_bytes()[:-1])
    with pytest.warns(EthomarkovWarning, match=rf"{file.name}: is damaged .* computed again") as told:
        done = reproduce_paper(worms, SMALL, directory=tmp_path)
    assert len(told) == 1
    assert set(done.study.graph.records) == {"animal_runs"}
    assert repr(done.rows) == repr(whole[0].rows)
    assert_same(tmp_path, whole[1])


@pytest.mark.slow
def test_stopped_before_the_stages_of_the_study_were_cleared_away(whole, worms, tmp_path):
    """A stop between writing the study and removing the files of its stages costs nothing."""
    shutil.copytree(whole[1], tmp_path, dirs_exist_ok=True)
    with pytest.raises(Stopped):
        reproduce_paper(worms, SMALL, directory=tmp_path / "b", progress=stop_when(lambda what, _: what == OWN[-1]))
    for file in (tmp_path / "b" / "results").glob("*.nc"):
        shutil.copy(file, tmp_path / "results")
    shutil.rmtree(tmp_path / "b")
    done = reproduce_paper(worms, SMALL.model_copy(update={"n_shuffles": 1}), directory=tmp_path)
    assert not done.errors
    assert set(done.study.graph.records) == {"worm_relaxation"}


@pytest.mark.slow
def test_stopped_inside_stages_and_resumed(whole, worms, tmp_path):
    """Tasks that were finished before the stop are not done again, and the result is the same."""
    for name in ("state_runs", "animal_runs", "published_splits", "published_scan"):
        started = []

        def second_report(what, _, at=name, started=started):
            started.extend([what] if what == at else [])
            return len(started) == 2  # the first tells that the stage begins

        with pytest.raises(Stopped):
            reproduce_paper(worms, SMALL, directory=tmp_path, progress=stop_when(second_report))
        (log,) = (tmp_path / "results").glob(f"{name}-*.tasks")
        assert log.stat().st_size > 1000
        if name in ("animal_runs", "published_splits"):  # a damaged log costs time, and nothing else
            data = bytearray(log.read_bytes())
            data[len(data) // 2] ^= 8
            log.write_bytes(data)
    reproduce_paper(worms, SMALL, directory=tmp_path)
    assert_same(tmp_path, whole[1])
    assert not list((tmp_path / "results").glob("*.tasks"))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("changes", "computed"),
    [
        ({"n_runs": 2}, {"animal_runs", "state_runs", "foraging"}),
        ({"n_shuffles": 3}, {"worm_relaxation"}),
        ({"n_repeats": 1}, {"published_splits"}),
        ({"n_held_out": 0}, {"held_out_splits"}),
    ],
    ids=["n_runs", "n_shuffles", "n_repeats", "n_held_out"],
)
def test_only_what_depends_on_a_setting_is_computed_again(whole, worms, tmp_path, changes, computed):
    shutil.copytree(whole[1], tmp_path, dirs_exist_ok=True)
    done = reproduce_paper(worms, SMALL.model_copy(update=changes), directory=tmp_path)
    assert set(done.study.graph.records) == computed
    # what was there before is there still
    assert reproduce_paper(worms, SMALL, directory=tmp_path).study.graph.records == {}


@pytest.mark.slow
def test_what_cannot_be_computed_is_told_after_a_restart_too(worms, tmp_path):
    """Without the shapes of modes there is no body: paths and food cannot be had, all else is judged."""
    bare = PaperData(recording=worms.recording, worms=worms.worms)
    done = reproduce_paper(bare, SMALL, directory=tmp_path)
    rows = {row.published.key: row for row in done.rows}
    for what in ("drag ratio", "confined runs", "food"):
        assert f"({what}: " in rows["drag ratio"].reason
    assert "tangent angles" in rows["drag ratio"].reason
    assert rows["reversible time 2"].ours is not None
    assert rows["simulated rate run to pirouette"].ours is not None
    assert set(done.errors) == {"reconstruction", "state_runs", "foraging"}
    assert "foraging" not in done.results
    assert repr(reproduce_paper(bare, SMALL, directory=tmp_path).rows) == repr(done.rows)


# --- results ---------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_validation_and_foraging_come_from_the_study(whole):
    done, _ = whole
    validation = done.study.held("validation")
    assert [one.name for one in validation.animals] == list(done.study.symbols.segments.individuals)
    assert {one.checks[0].n_runs for one in validation.animals} == {3}
    assert set(validation.cross_validation) == {"held-out", "as published"}
    assert len(validation.cross_validation["as published"].unassigned) == 2
    animals = done.results["animal_runs"].animals
    assert len(animals) == 2
    assert animals[1].runs.displacement.msd.shape[0] == 3
    assert done.study.held("foraging").level == done.study.finest
    assert [one.name for one in done.results["state_runs"].runs] == list(done.study.names(done.study.finest))


def test_the_grid_has_all_published_cells():
    small, full = (scan_grid(is_small=small, seed=0) for small in (True, False))
    for grid in (small, full):
        assert {(k, n) for k in grid.n_delays for n in grid.n_states} >= set(ENTROPY_RATES)
        assert {k + 1 for k in GAINS} | set(GAINS) <= set(grid.n_delays)
        assert list(grid.n_delays) == sorted(grid.n_delays)
    assert (full.n_delays, full.n_states) == (ScanSettings().n_delays, ScanSettings().n_states)
    assert (len(full.n_delays), len(full.n_states)) == (20, 14)


def test_cross_validations_survive_a_file(tmp_path):
    rng = np.random.default_rng(0)
    comparisons = {
        "transition rates": Comparison(test=rng.random((2, 3, 2)), simulated=rng.random((2, 3, 4, 2))),
        "autocorrelation": Comparison(test=rng.random((2, 3, 5, 7)), simulated=rng.random((2, 3, 4, 5, 7))),
    }
    found = CrossValidation(
        comparisons=comparisons, unassigned=np.zeros(2), fit=FitSettings(), individuals=("a", "b", "c")
    )
    save_results(tmp_path / "x.nc", {"x": found}, {})
    again = load_result(tmp_path / "x.nc", "x", CrossValidation)
    assert list(again.comparisons) == list(comparisons)
    for name, one in comparisons.items():
        np.testing.assert_array_equal(again.comparisons[name].test, one.test)
        np.testing.assert_array_equal(again.comparisons[name].simulated, one.simulated)
    assert (again.fit, again.individuals) == (found.fit, found.individuals)


# --- the scoreboard --------------------------------------------------------------------------------------------------


def test_straight_paths_alone():
    """Speed v and MSD v² τ² of worms that never turn; all else cannot be judged, and says why."""
    n_frames, speed = 3200, 0.1
    line = np.stack([np.arange(n_frames) * speed / 16, np.zeros(n_frames)], axis=1)
    rows = np.tile(line, (N_WORMS, 1))
    path = Trajectory.from_points(rows, Series.from_rows(rows, 16.0, np.arange(N_WORMS + 1) * n_frames), "mm")
    done = reproduce_paper(PaperData(paths=path))
    assert done.study is None
    found = {row.published.key: row for row in done.rows}
    assert found["worm 6 speed"].ours.estimate == pytest.approx(speed)
    assert found["worm 6 speed"].verdict == "differs"
    assert found["worm 3 MSD 10 s"].ours.estimate == pytest.approx(1.0)
    assert found["exponent at 40 s"].ours.estimate == pytest.approx(2.0)
    assert found["worm 0 exponent"].ours.estimate == pytest.approx(2.0)
    assert found["chain time 2"].verdict == "cannot be judged"
    assert "needs postures" in found["chain time 2"].reason
    assert "postures of this worm" in found["worm 6 entropy rate"].reason


@pytest.mark.slow
def test_synthetic_worms():
    paper_data = synthetic_paper_data(2, 330.0, seed=5)
    settings = Settings.paper().model_copy(update={"n_states": 40})
    done = reproduce_paper(paper_data, SMALL.model_copy(update={"study": settings}))
    found = {row.published.key: row for row in done.rows}
    assert {row.verdict for row in done.rows if row.published.source != "truth"} <= {
        "resembles",
        "is unlike",
        "cannot be judged",
    }
    truth = found["truth: drag ratio"]
    assert truth.published.value == 30.0
    assert 25 < truth.ours.estimate < 36
    assert found["truth: share of time in pirouettes"].verdict in ("agrees", "differs")
    assert found["truth: share of time in pirouettes"].reason.startswith("by our interval: ")
    assert [row.quantity for row in done.truth.rows][-1] == "number of states"
    judged = [row for row in done.rows if row.verdict != "cannot be judged"]
    assert all(row.reason.startswith("by ") for row in judged)
    assert found["entropy rate K=11 N=100"].ours is not None
    # too few sequences for so many microstates
    assert found["entropy rate K=11 N=3162"].verdict == "cannot be judged"
    assert found["simulated reversals"].ours.estimate > 0
    assert not any(key.startswith("worm ") for key in found)
    assert done.study.settings.n_states == 40
