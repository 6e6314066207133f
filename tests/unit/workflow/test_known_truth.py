"""What is found beside what is true: every row by hand, kept for one study alone."""

import dataclasses
import math

import numpy as np
import pytest

from ethomarkov._core.interval import Interval
from ethomarkov.exceptions import InputFormatError
from ethomarkov.synthetic import simulate_worms
from ethomarkov.workflow import Settings, run_study
from ethomarkov.workflow.known_truth import (
    COUNT,
    ESTIMATE,
    ONE_STATE,
    SCORE,
    TRUTH_FILE,
    KnownTruth,
    TruthRow,
    compare_with_truth,
    load_truth,
    save_truth,
)
from ethomarkov.workflow.states import state_names

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
    return run_study(made.recording, BRIEF, basis=made.basis)


@pytest.fixture(scope="module")
def rows(study, made):
    drag = Interval(estimate=30.1, low=29.0, high=31.0, level=0.95, over="windows", n=9)
    return {row.quantity: row for row in compare_with_truth(study, made.truth, drag).rows}


def with_one_state(study):
    """The same study, had it told no two states apart."""
    flags = np.zeros_like(study.tree.is_supported)
    flags[0] = True
    return dataclasses.replace(study, tree=dataclasses.replace(study.tree, is_supported=flags))


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
    def test_shares_are_means_over_animals(self, rows, study):
        states, segments = study.states(2), study.symbols.segments
        pirouette = state_names(study, 2).index("pirouette")
        shares = [(states.labels[segments.of(i).valid] == pirouette).mean() for i in range(segments.n_individuals)]
        row = rows["share of time in pirouettes"]
        assert row.estimate == pytest.approx(np.mean(shares))
        assert (row.over, row.n) == ("animals", 4)

    def test_scores_are_those_of_the_frames(self, rows, study, made):
        states = study.states(2)
        known, pirouette = states.segments.valid, state_names(study, 2).index("pirouette")
        hidden, labels = made.truth.is_pirouette[known], states.labels[known] == pirouette
        right = [(labels == hidden)[hidden == side].mean() for side in (False, True)]
        assert rows["frames labelled right"].estimate == pytest.approx(np.mean(right))
        assert rows["frames labelled right"].estimate > 0.8
        assert 0.3 < rows["agreement of labels"].estimate < 1
        assert rows["agreement of labels"].contains is None

    def test_labels_that_are_the_truth_score_one(self, study, made):
        """Microstates that are the hidden states themselves, divided as they are."""
        labels = np.where(study.symbols.labels >= 0, made.truth.states, -1).astype(np.int32)
        names = state_names(study, 2)
        first, second = study.tree.nodes_at(2)
        node = {"run": first, "pirouette": second} if names[0] == "run" else {"run": second, "pirouette": first}
        node_of = np.array([node["pirouette" if k >= 4 else "run"] for k in range(7)])
        tree = dataclasses.replace(study.tree, node_of=node_of)
        symbols = dataclasses.replace(study.symbols, labels=labels, n_states=7)
        perfect = dataclasses.replace(study, tree=tree, symbols=symbols)
        found = {row.quantity: row for row in compare_with_truth(perfect, made.truth).rows}
        assert found["frames labelled right"].estimate == 1
        assert found["agreement of labels"].estimate == pytest.approx(1)
        assert found["share of time in pirouettes"].contains
        assert "drag ratio" not in found

    def test_the_number_of_states_says_why_it_is_small(self, rows, study):
        row = rows["number of states"]
        assert row.estimate == study.tree.n_supported < 7
        assert (row.kind, row.contains) == (COUNT, None)
        assert "1.4 s of a posture sequence and a lag" in row.note

    def test_units_other_than_animals_are_named(self, rows):
        assert rows["drag ratio"].note == "Interval over 9 windows."
        assert rows["reversals"].note.endswith("at least 0.5 s.")

    def test_rows_that_need_two_states_say_so(self, study, made):
        rows = {row.quantity: row for row in compare_with_truth(with_one_state(study), made.truth).rows}
        assert [what for what, row in rows.items() if row.note == ONE_STATE] == list(NEED_TWO)
        for what in NEED_TWO:
            assert math.isnan(rows[what].estimate)
            assert (rows[what].show_found(), rows[what].verdict) == (("–", ""), "–")
            assert math.isfinite(rows[what].true)
        assert math.isfinite(rows["reversals"].estimate)
        assert (rows["number of states"].estimate, rows["number of states"].true) == (1, 7)

    def test_one_worm_has_intervals_over_blocks(self):
        made = simulate_worms(1, 600.0, seed=3)
        alone = run_study(made.recording, BRIEF, basis=made.basis)
        told = dataclasses.replace(alone.tree, is_supported=np.ones_like(alone.tree.is_supported))
        rows = compare_with_truth(dataclasses.replace(alone, tree=told), made.truth).rows
        found = {row.quantity: row for row in rows}
        for what in NEED_TWO:
            assert found[what].note.endswith("Interval over 20 blocks.")
        assert found["reversals"].contains is None

    def test_the_truth_of_other_worms_is_refused(self, study):
        with pytest.raises(InputFormatError, match="9600 frames, the study 19200"):
            compare_with_truth(study, simulate_worms(2, 300.0).truth)


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
        assert (one.label, *one.show_found(), one.show_true(), one.verdict) == shown

    def test_the_sentence_counts(self):
        known = KnownTruth(rows=(row(), row(true=9.0), row(COUNT)))
        assert known.sentence.startswith("1 of 2 intervals contain the truth (95 % intervals over 6 animals;")
        assert KnownTruth(rows=(row(COUNT),)).sentence == "No interval could be had."


class TestKept:
    def test_it_comes_back_for_this_very_study_alone(self, study, made, tmp_path):
        known = compare_with_truth(study, made.truth)
        assert load_truth(study, tmp_path) is None
        assert save_truth(study, known, tmp_path) == tmp_path / TRUTH_FILE
        assert repr(load_truth(study, tmp_path)) == repr(known)  # NaN equals nothing
        renamed = dataclasses.replace(study, settings=study.settings.model_copy(update={"names": {"run": "roam"}}))
        assert load_truth(renamed, tmp_path) is not None
        assert load_truth(with_one_state(study), tmp_path) is None

    def test_the_study_is_known_again_from_its_file(self, study, made, tmp_path):
        study.save(tmp_path)
        save_truth(study, compare_with_truth(study, made.truth), tmp_path)
        assert load_truth(type(study).load(tmp_path), tmp_path) is not None

    def test_other_animals_have_another_truth(self, study, made, tmp_path):
        save_truth(study, compare_with_truth(study, made.truth), tmp_path)
        moved = study.postures.with_rows(study.postures.values + np.float32(1e-3))
        assert load_truth(dataclasses.replace(study, postures=moved), tmp_path) is None

    def test_a_damaged_file_is_no_truth(self, study, made, tmp_path):
        file = save_truth(study, compare_with_truth(study, made.truth), tmp_path)
        file.write_bytes(file.read_bytes()[:-1])
        assert load_truth(study, tmp_path) is None
