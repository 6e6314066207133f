"""What a model says beside what is true: every row by hand, held for one study alone."""

import dataclasses
import math

import numpy as np
import pytest

from ethomarkov._core.interval import Interval
from ethomarkov.exceptions import EthomarkovWarning, InputFormatError
from ethomarkov.study import Settings, Study, run_study
from ethomarkov.synthetic import simulate_worms
from ethomarkov.validation.known_truth import (
    COUNT,
    ESTIMATE,
    ONE_STATE,
    SCORE,
    KnownTruth,
    TruthRow,
    compare_with_truth,
)

BRIEF = Settings(
    n_delays=11, lag=0.75, n_states=60, n_resamples=2, n_walks=2, simulated_minutes=0.5, simulation_lag=0.75, scan=False
)
NEED_TWO = (
    "share of time in runs",
    "share of time in pirouettes",
    "rate run → pirouette",
    "rate pirouette → run",
    "relaxation of these two",
    "frames labelled right",
    "agreement of labels",
)


@pytest.fixture(scope="module")
def made():
    return simulate_worms(4, 300.0, seed=3)


@pytest.fixture(scope="module")
def study(made):
    return run_study(made.recording, BRIEF, basis=made.basis, given={"truth": made.truth})


@pytest.fixture(scope="module")
def model(study):
    return study.model


@pytest.fixture(scope="module")
def rows(study, made):
    drag = Interval(estimate=30.1, low=29.0, high=31.0, level=0.95, over="windows", n=9)
    return rows_of(study.model, made, study.spectrum, drag)


def rows_of(model, made, spectrum, drag=None):
    return {row.quantity: row for row in compare_with_truth(model, made.truth, spectrum, drag).rows}


def with_one_state(model):
    """The same model, had it told no two states apart."""
    flags = np.zeros_like(model.tree.is_supported)
    flags[0] = True
    return dataclasses.replace(model, tree=dataclasses.replace(model.tree, is_supported=flags))


class TestTruth:
    def test_the_two_states_follow_from_the_rates(self, rows, made):
        dwells = made.truth.mean_dwells()
        assert rows["rate run → pirouette"].true == pytest.approx((1 / dwells[:, 0]).mean())
        assert rows["rate pirouette → run"].true == pytest.approx((1 / dwells[:, 1]).mean())
        assert rows["share of time in pirouettes"].true == pytest.approx(0.235)  # as the strain is defined
        assert rows["share of time in runs"].true == pytest.approx(0.765)
        assert rows["relaxation of these two"].true == pytest.approx((1 / (1 / dwells).sum(axis=1)).mean())
        assert rows["slowest relaxation time"].true == pytest.approx(made.truth.relaxation_times().mean())
        assert (rows["drag ratio"].true, rows["number of states"].true) == (30.0, 7.0)

    def test_reversals_are_those_of_a_very_long_walk(self, rows):
        """Four worms of an hour each, all as the law says; visits of half a second and more, counted."""
        long = simulate_worms(4, 3600.0, seed=3).truth
        inside = (long.states == 5).reshape(4, -1)
        edges = [np.flatnonzero(np.diff(one, prepend=False, append=False)).reshape(-1, 2) for one in inside]
        counted = np.mean([(stop - start >= 8).sum() / 60 for start, stop in (one.T for one in edges)])
        assert rows["reversals"].true == pytest.approx(counted, rel=0.06)


class TestFound:
    def test_shares_are_means_over_animals(self, rows, model):
        states, segments = model.states(2), model.symbols.segments
        pirouette = model.names(2).index("pirouette")
        shares = [(states.labels[segments.mask(i).valid] == pirouette).mean() for i in range(segments.n_individuals)]
        row = rows["share of time in pirouettes"]
        assert row.estimate == pytest.approx(np.mean(shares))
        assert (row.over, row.n) == ("animals", 4)

    def test_scores_are_those_of_the_frames(self, rows, model, made):
        states = model.states(2)
        known, pirouette = states.segments.valid, model.names(2).index("pirouette")
        hidden, labels = made.truth.is_pirouette[known], states.labels[known] == pirouette
        right = [(labels == hidden)[hidden == side].mean() for side in (False, True)]
        assert rows["frames labelled right"].estimate == pytest.approx(np.mean(right))
        assert rows["frames labelled right"].estimate > 0.8
        assert 0.3 < rows["agreement of labels"].estimate < 1
        assert rows["agreement of labels"].contains is None

    def test_labels_that_are_the_truth_score_one(self, study, model, made):
        """Microstates that are the hidden states themselves, divided as they are."""
        labels = np.where(model.symbols.labels >= 0, made.truth.states, -1).astype(np.int32)
        names = model.names(2)
        first, second = model.tree.nodes_at(2)
        node = {"run": first, "pirouette": second} if names[0] == "run" else {"run": second, "pirouette": first}
        node_of = np.array([node["pirouette" if k >= 4 else "run"] for k in range(7)])
        tree = dataclasses.replace(model.tree, node_of=node_of)
        symbols = dataclasses.replace(model.symbols, labels=labels, n_states=7)
        perfect = dataclasses.replace(model, tree=tree, symbols=symbols)
        found = rows_of(perfect, made, study.spectrum)
        assert found["frames labelled right"].estimate == 1
        assert found["agreement of labels"].estimate == pytest.approx(1)
        assert found["share of time in pirouettes"].contains
        assert "drag ratio" not in found

    def test_the_number_of_states_says_why_it_is_small(self, rows, model):
        row = rows["number of states"]
        assert row.estimate == model.tree.n_supported < 7
        assert (row.kind, row.contains) == (COUNT, None)
        assert "1.4 s of a posture sequence and a lag" in row.note

    def test_units_other_than_animals_are_named(self, rows):
        assert rows["drag ratio"].note == "Interval over 9 windows."
        assert rows["reversals"].note.endswith("at least 0.5 s.")

    def test_rows_that_need_two_states_say_so(self, study, made):
        rows = rows_of(with_one_state(study.model), made, study.spectrum)
        assert [what for what, row in rows.items() if row.note == ONE_STATE] == list(NEED_TWO)
        for what in NEED_TWO:
            assert math.isnan(rows[what].estimate)
            assert (rows[what].show_estimate(), rows[what].verdict) == (("–", ""), "–")
            assert math.isfinite(rows[what].true)
        assert math.isfinite(rows["reversals"].estimate)
        assert (rows["number of states"].estimate, rows["number of states"].true) == (1, 7)

    def test_one_worm_has_intervals_over_blocks(self):
        made = simulate_worms(1, 600.0, seed=3)
        alone = run_study(made.recording, BRIEF, basis=made.basis)
        told = dataclasses.replace(alone.tree, is_supported=np.ones_like(alone.tree.is_supported))
        found = rows_of(dataclasses.replace(alone.model, tree=told), made, alone.spectrum)
        for what in NEED_TWO:
            assert found[what].note.endswith("Interval over 20 blocks.")
        assert found["reversals"].contains is None

    def test_the_truth_of_other_worms_is_refused(self, study):
        with pytest.raises(InputFormatError, match="9600 frames, the study 19200"):
            compare_with_truth(study.model, simulate_worms(2, 300.0).truth, study.spectrum)


def row(kind=ESTIMATE, unit="s", **changes):
    values = {"estimate": 3.2, "low": 2.37, "high": 4.3, "true": 3.32} | changes
    return TruthRow(quantity="x", unit=unit, kind=kind, level=0.95, over="animals", n=6, note="", **values)


class TestWords:
    @pytest.mark.parametrize(
        ("one", "shown"),
        [
            (row(), ("x (s)", "3.20", "(2.37, 4.30)", "3.32", "yes")),
            (row(true=4.31), ("x (s)", "3.20", "(2.37, 4.30)", "4.31", "no")),
            (row(low=math.nan, high=math.nan), ("x (s)", "3.20", "", "3.32", "–")),
            (row(unit="share", estimate=0.2449, low=0.19, high=0.31, true=0.235),
             ("x (%)", "24.5", "(19.0, 31.0)", "23.5", "yes")),
            (row(SCORE, "share", estimate=0.92, low=0.905, high=0.935, true=1.0),
             ("x (%)", "92.0", "(90.5, 93.5)", "≤ 100", "–")),
            (row(COUNT, "", estimate=2, low=math.nan, high=math.nan, true=7), ("x", "2", "", "7", "–")),
            (row(unit="", estimate=29.995, low=29.9922, high=30.005, true=30), ("x", "29.995", "(29.992, 30.005)",
             "30.000", "yes")),
        ],
    )  # fmt: skip
    def test_numbers_have_the_digits_that_their_intervals_are_worth(self, one, shown):
        assert (one.label, *one.show_estimate(), one.show_true(), one.verdict) == shown

    def test_the_sentence_counts(self):
        known = KnownTruth(rows=(row(), row(true=9.0), row(COUNT)))
        assert known.sentence.startswith("1 of 2 intervals contain the truth (95 % intervals over 6 animals;")
        assert KnownTruth(rows=(row(COUNT),)).sentence == "No interval could be had."
        assert known.headline() == "1 of 2 intervals contain the truth"
        assert known.table().contains.tolist() == [True, False, None]
        assert known.table().true.tolist() == [3.32, 9.0, 3.32]


class TestHeld:
    """The comparison is an analysis of the study: held for this very study, and for no other."""

    @pytest.fixture
    def kept(self, made, tmp_path):
        """The study in a directory, as a run leaves it, with its truth beside it."""
        again = run_study(made.recording, BRIEF, basis=made.basis, directory=tmp_path, given={"truth": made.truth})
        return again.compute("known_truth"), tmp_path

    def test_it_comes_with_the_drag_ratio_of_the_reconstruction(self, study, made):
        known = study.compute("known_truth")
        drag = study.compute("reconstruction").drag.median
        assert repr(known) == repr(compare_with_truth(study.model, made.truth, study.spectrum, drag))
        row = next(row for row in known.rows if row.quantity == "drag ratio")
        assert (row.true, row.estimate) == (30.0, drag.estimate)

    def test_it_comes_back_for_this_very_study_alone(self, kept):
        known, directory = kept
        loaded = Study.load(directory)
        assert repr(loaded.held("known_truth")) == repr(known)  # NaN equals nothing
        assert repr(loaded.compute("known_truth")) == repr(known)
        assert loaded.with_settings(names={"run": "roam"}).held("known_truth") is not None
        other = loaded.with_settings(n_behaviours=3)
        other.tree  # noqa: B018 (grown)
        assert other.held("known_truth") is None

    def test_a_study_that_is_run_again_without_its_truth_still_holds_it(self, kept, made):
        known, directory = kept
        again = run_study(made.recording, BRIEF, basis=made.basis, directory=directory)
        assert repr(Study.load(directory).held("known_truth")) == repr(known)
        assert not again.graph.records

    def test_a_study_learns_its_truth_later(self, made, tmp_path):
        run_study(made.recording, BRIEF, basis=made.basis, directory=tmp_path)
        later = run_study(made.recording, BRIEF, basis=made.basis, directory=tmp_path, given={"truth": made.truth})
        known = later.compute("known_truth")
        assert repr(Study.load(tmp_path).held("known_truth")) == repr(known)

    def test_other_animals_have_another_truth(self, kept):
        _, directory = kept
        others = simulate_worms(4, 300.0, seed=4)
        run_study(others.recording, BRIEF, basis=others.basis, directory=directory, given={"truth": others.truth})
        assert Study.load(directory).held("known_truth") is None
        assert Study.load(directory).graph.strangers() == ["reconstruction", "known_truth"]

    def test_a_damaged_file_is_no_truth(self, kept):
        _, directory = kept
        (file,) = directory.glob("results/known_truth-*.nc")
        file.write_bytes(file.read_bytes()[:-1])
        with pytest.warns(EthomarkovWarning, match="known_truth.* is damaged"):
            assert Study.load(directory).held("known_truth") is None
