"""Scoring what is there, stage by stage, and going on after any interruption."""

import dataclasses
import json

import numpy as np
import pytest

from ethomarkov._core.parallel import sent_to
from ethomarkov._core.series import Series
from ethomarkov.exceptions import EthomarkovWarning
from ethomarkov.io.results import load_attrs
from ethomarkov.locomotion import Path
from ethomarkov.markov.entropy_scan import ScanGrid
from ethomarkov.paper.data import PaperData, synthetic_paper_data
from ethomarkov.paper.published import ENTROPY_RATES, GAINS, N_WORMS
from ethomarkov.paper.scoring import Found
from ethomarkov.validation.prediction import PredictionRule
from ethomarkov.validation.splits import Comparison, CrossValidation, FitRule
from ethomarkov.workflow import Settings, Study, study_findings, validate
from ethomarkov.workflow.findings import FindingTable, point
from ethomarkov.workflow.kept_splits import KeptSplits
from ethomarkov.workflow.reproduce import REPRODUCTION_FILE, reproduce_paper
from ethomarkov.workflow.reproduction_stages import ReproduceSettings, reproduction_stages, scan_grid
from ethomarkov.workflow.stages import STAGES

SMALL = ReproduceSettings(
    n_runs=3,
    n_shuffles=2,
    n_repeats=2,
    n_honest=1,
    small_scan=True,
    seed=1,
    study=Settings.paper().model_copy(update={"n_states": 20, "n_behaviours": 3}),
)
STAGE_NAMES = [stage.name for stage in (*STAGES, *reproduction_stages(2, 3))]


@pytest.fixture(scope="module", autouse=True)
def few_samples():
    """Resample and predict no more than a test needs."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(study_findings, "N_RESAMPLES", 5)
        patch.setattr(validate, "prediction_rule", lambda _: PredictionRule(method="paper-filled", n_samples=20))
        yield


@pytest.fixture(scope="module")
def worms():
    return synthetic_paper_data(2, 75.0, seed=5)


@pytest.fixture(scope="module")
def whole(worms, tmp_path_factory):
    """The reproduction without interruption, and where it was kept."""
    directory = tmp_path_factory.mktemp("whole")
    return reproduce_paper(worms, SMALL, directory=directory), directory


def kept_stages(directory):
    told = json.loads((directory / "provenance.json").read_text(encoding="utf-8"))["stages"]
    return {one["stage"] for one in told if one["kept"]}, [one["stage"] for one in told]


def assert_same(directory, other):
    for name in ("study.nc", REPRODUCTION_FILE, "settings.toml"):
        assert (directory / name).read_bytes() == (other / name).read_bytes(), name


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
    assert kept_stages(directory) == (set(), STAGE_NAMES)
    assert [one.stage for one in done.records] == STAGE_NAMES
    assert all(one.seconds >= 0 and one.cpu_seconds >= 0 and one.peak_gb > 0 for one in done.records)
    assert not (directory / ".stages").exists()
    assert json.loads(load_attrs(directory / REPRODUCTION_FILE)["settings"])["n_runs"] == 3


@pytest.mark.slow
def test_the_study_stands_by_itself(whole):
    done, directory = whole
    loaded = Study.load(directory)
    assert loaded.settings == done.study.settings
    np.testing.assert_array_equal(loaded.symbols.labels, done.study.symbols.labels)


@pytest.mark.slow
def test_a_directory_changes_nothing(whole, worms):
    alone = reproduce_paper(worms, SMALL, threads=2)
    assert repr(alone.rows) == repr(whole[0].rows)


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
    before = (directory / REPRODUCTION_FILE).read_bytes()
    again = reproduce_paper(worms, SMALL, directory=directory)
    assert repr(again.rows) == repr(done.rows)
    assert kept_stages(directory) == (set(STAGE_NAMES), STAGE_NAMES)
    assert [one.finished for one in again.records] == [one.finished for one in done.records]
    assert (directory / REPRODUCTION_FILE).read_bytes() == before


@pytest.mark.slow
def test_stopped_in_every_stage_and_resumed(whole, worms, tmp_path):
    """Stopped at the beginning of every stage in turn, it goes on with that stage and ends the same."""
    for name in STAGE_NAMES:
        with pytest.raises(Stopped):
            reproduce_paper(worms, SMALL, directory=tmp_path, progress=stop_when(lambda what, _, at=name: what == at))
        parts = {file.stem for file in (tmp_path / ".stages").glob("*.nc")}
        assert parts == set(STAGE_NAMES[: STAGE_NAMES.index(name)])
    # an earlier reproduction that lies there and is damaged is said, and written anew
    (tmp_path / REPRODUCTION_FILE).write_bytes((whole[1] / REPRODUCTION_FILE).read_bytes()[:-1])
    with pytest.warns(EthomarkovWarning, match=rf"{REPRODUCTION_FILE}: is damaged .* computed again") as told:
        done = reproduce_paper(worms, SMALL, directory=tmp_path)
    assert len(told) == 1
    assert repr(done.rows) == repr(whole[0].rows)
    assert_same(tmp_path, whole[1])


@pytest.mark.slow
def test_stopped_inside_stages_and_resumed(whole, worms, tmp_path):
    """Tasks that were finished before the stop are not done again, and the result is the same."""
    for name in ("entropy_scan", "animal_runs", "state_runs", "leaky_splits"):
        started = []

        def second_report(what, _, at=name, started=started):
            started.extend([what] if what == at else [])
            return len(started) == 2  # the first tells that the stage begins

        with pytest.raises(Stopped):
            reproduce_paper(worms, SMALL, directory=tmp_path, progress=stop_when(second_report))
        log = tmp_path / ".stages" / f"{name}.tasks"
        assert log.stat().st_size > 1000
        if name in ("animal_runs", "leaky_splits"):  # a damaged log costs time, and nothing else
            data = bytearray(log.read_bytes())
            data[len(data) // 2] ^= 8
            log.write_bytes(data)
    reproduce_paper(worms, SMALL, directory=tmp_path)
    assert_same(tmp_path, whole[1])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("changes", "computed"),
    [
        ({"n_runs": 2}, {"animal_runs", "state_runs", "foraging"}),
        ({"n_shuffles": 3}, {"relaxation"}),
        ({"n_repeats": 1}, {"leaky_splits"}),
        ({"n_honest": 0}, {"honest_splits"}),
    ],
    ids=["n_runs", "n_shuffles", "n_repeats", "n_honest"],
)
def test_only_what_depends_on_a_setting_is_computed_again(whole, worms, tmp_path, changes, computed):
    for name in ("study.nc", REPRODUCTION_FILE, "provenance.json"):
        (tmp_path / name).write_bytes((whole[1] / name).read_bytes())
    reproduce_paper(worms, SMALL.model_copy(update=changes), directory=tmp_path)
    kept, names = kept_stages(tmp_path)
    assert set(names) - kept == computed


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
    assert done.foraging() is None
    assert repr(reproduce_paper(bare, SMALL, directory=tmp_path).rows) == repr(done.rows)


# --- results ---------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_validation_and_foraging_come_from_the_stages(whole):
    done, _ = whole
    validation = done.validation()
    assert [one.name for one in validation.animals] == list(done.study.symbols.segments.individuals)
    assert {one.checks[0].n_runs for one in validation.animals} == {3}
    assert set(validation.cross_validation) == {"honest", "leaky"}
    assert len(validation.cross_validation["leaky"].unassigned) == 2
    assert len(done.every("animal")) == 2
    assert done.every("animal")[1].runs.displacement.msd.shape[0] == 3


def test_the_grid_has_all_published_cells():
    small, full = (scan_grid(ReproduceSettings(small_scan=small)) for small in (True, False))
    for grid in (small, full):
        assert {(k, n) for k in grid.n_delays for n in grid.n_states} >= set(ENTROPY_RATES)
        assert {k + 1 for k in GAINS} | set(GAINS) <= set(grid.n_delays)
        assert list(grid.n_delays) == sorted(grid.n_delays)
    assert (full.n_delays, full.n_states) == (ScanGrid().n_delays, ScanGrid().n_states)
    assert (len(full.n_delays), len(full.n_states)) == (20, 14)


def test_findings_survive_a_table():
    found = {"a": Found(interval=point(2.0), n_worms=3, note="so"), "b": Found(interval=point(-1.0))}
    again = FindingTable.from_findings(found).findings()
    assert list(again) == ["a", "b"]
    assert (again["a"].interval.estimate, again["a"].n_worms, again["a"].note) == (2.0, 3, "so")
    assert np.isnan(again["b"].interval.low)


def test_cross_validations_survive_being_kept():
    rng = np.random.default_rng(0)
    comparisons = {
        "leaving rates": Comparison(test=rng.random((2, 3, 2)), simulated=rng.random((2, 3, 4, 2))),
        "autocorrelation": Comparison(test=rng.random((2, 3, 5, 7)), simulated=rng.random((2, 3, 4, 5, 7))),
    }
    found = CrossValidation(comparisons=comparisons, unassigned=np.zeros(2), fit=FitRule(), individuals=("a", "b", "c"))
    again = KeptSplits.from_cross_validation(found).cross_validation()
    assert set(again.comparisons) == set(comparisons)
    np.testing.assert_array_equal(again.comparisons["leaving rates"].simulated, comparisons["leaving rates"].simulated)
    np.testing.assert_allclose(
        again.comparisons["autocorrelation"].test, comparisons["autocorrelation"].test, rtol=1e-7
    )
    assert dataclasses.replace(again, comparisons={}).fit == found.fit


# --- the scoreboard --------------------------------------------------------------------------------------------------


def test_straight_paths_alone():
    """Speed v and MSD v² τ² of worms that never turn; all else cannot be judged, and says why."""
    n_frames, speed = 3200, 0.1
    line = np.stack([np.arange(n_frames) * speed / 16, np.zeros(n_frames)], axis=1)
    rows = np.tile(line, (N_WORMS, 1))
    path = Path.from_points(rows, Series.from_rows(rows, 16.0, np.arange(N_WORMS + 1) * n_frames), "mm")
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
