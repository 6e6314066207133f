"""The two estimators as scikit-learn's users know them: its own checks, pipelines, searches, plain arrays."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.exceptions import NotFittedError
from sklearn.metrics import pairwise_distances
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from ethomarkov._core.series import Series
from ethomarkov.exceptions import EthomarkovError, InputFormatError, SamplingError
from ethomarkov.recording import Recording
from ethomarkov.states import DelayEmbedding, Partition, Symbols

NEIGHBOURS = {
    "check_methods_sample_order_invariance": "a sequence is made of neighbouring rows, so that their order matters",
    "check_methods_subset_invariance": "a row alone, as the check gives them, is too short for a sequence",
}
TOO_LONG = {"check_estimators_pickle": "the gaps of the check's data leave no eleven frames in a row"}


def expected_failures(estimator):
    if not isinstance(estimator, DelayEmbedding) or estimator.n_delays == 1:
        return {}
    return NEIGHBOURS if estimator.n_delays <= 6 else NEIGHBOURS | TOO_LONG


@parametrize_with_checks(
    [
        Partition(n_states=3),
        Partition(n_states=3, method="minibatch"),
        DelayEmbedding(n_delays=1),
        DelayEmbedding(n_delays=3),
        DelayEmbedding(),
    ],
    expected_failed_checks=expected_failures,
)
def test_checks_of_scikit_learn(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def rows():
    """Three slow components with a few gaps."""
    rng = np.random.default_rng(0)
    rows = np.cumsum(rng.normal(size=(600, 3)), axis=0) * 0.3
    rows[rng.random(600) < 0.01] = np.nan
    return rows


class TestDelays:
    @pytest.mark.parametrize("n_delays", [1, 2, 5])
    def test_rows_are_those_of_the_series(self, rows, n_delays):
        series = DelayEmbedding(n_delays).transform(Series.from_rows(rows, 16.0))
        plain = DelayEmbedding(n_delays).fit_transform(rows)
        expected = np.where(series.segments.valid[:, None], series.values, np.nan)
        np.testing.assert_array_equal(plain.astype(np.float32), expected)
        assert plain.dtype == np.float64
        assert DelayEmbedding(n_delays).fit_transform(rows.astype(np.float32)).dtype == np.float32

    def test_names_of_columns(self, rows):
        table = pd.DataFrame(rows, columns=["a1", "a2", "a3"])
        embedding = DelayEmbedding(3).fit(table).set_output(transform="pandas")
        found = embedding.transform(table)
        assert list(found.columns[:4]) == ["a1_t-1", "a2_t-1", "a3_t-1", "a1_t+0"]
        np.testing.assert_array_equal(found["a2_t+1"].iloc[1:-1][found["a2_t+1"].notna()], _next(rows)[:, 1])
        with pytest.raises(NotFittedError):
            DelayEmbedding(3).get_feature_names_out()

    @pytest.mark.parametrize("n_delays", [0, -1, 2.5, "3", None, True])
    def test_lengths_are_checked_in_fit(self, rows, n_delays):
        embedding = DelayEmbedding(n_delays)
        with pytest.raises(SamplingError, match="a whole number from 1 on"):
            embedding.fit(rows)

    def test_no_sequence_fits(self):
        with pytest.raises(SamplingError, match="longest gap-free stretch is 4 frames"):
            DelayEmbedding(5).transform([[0.0], [1.0], [np.nan], [2.0], [3.0], [4.0], [5.0]])


def _next(rows):
    """Rows after those whose neighbours are known."""
    known = np.isfinite(rows).all(axis=1)
    return rows[2:][known[:-2] & known[1:-1] & known[2:]]


class TestPartition:
    def test_labels_are_those_of_the_series(self, rows):
        series = Series.from_rows(rows, 16.0)
        plain, other = Partition(20, seed=1).fit(rows), Partition(20, seed=1).fit(series)
        np.testing.assert_array_equal(plain.cluster_centers_, other.microstates_.centers)
        np.testing.assert_array_equal(plain.predict(rows), other.label(series).labels)
        np.testing.assert_array_equal(plain.predict(rows), plain.labels_)
        np.testing.assert_array_equal(plain.predict(rows) == -1, np.isnan(rows).any(axis=1))
        symbols = plain.predict(series)
        assert isinstance(symbols, Symbols)
        np.testing.assert_array_equal(symbols.labels, plain.labels_)
        np.testing.assert_array_equal(Partition(20, seed=1).fit_predict(series).labels, plain.labels_)

    def test_prediction_equals_that_of_kmeans_with_the_same_centers(self, rows):
        known = rows[np.isfinite(rows).all(axis=1)]
        ours = Partition(20).fit(rows)
        theirs = KMeans(20, n_init=1, random_state=0).fit(known)
        theirs.cluster_centers_ = np.ascontiguousarray(ours.cluster_centers_, dtype=float)
        assert (ours.predict(known) == theirs.predict(known)).mean() > 0.999  # but for rounding at borders
        np.testing.assert_allclose(ours.transform(known), theirs.transform(known), atol=1e-4)
        assert ours.score(known) == pytest.approx(theirs.score(known) / len(known), rel=1e-4)

    def test_distances_of_missing_rows(self, rows):
        partition = Partition(5).fit(rows)
        distances, known = partition.transform(rows), np.isfinite(rows).all(axis=1)
        assert np.isnan(distances[~known]).all()
        expected = pairwise_distances(rows[known], partition.cluster_centers_)
        np.testing.assert_allclose(distances[known], expected, atol=1e-5)
        of_series = partition.transform(Series.from_rows(rows, 16.0))
        np.testing.assert_allclose(of_series.values[known], expected, atol=1e-5)
        assert partition.get_feature_names_out().tolist() == [f"partition{k}" for k in range(5)]

    def test_score_leaves_out_missing_rows(self, rows):
        partition, known = Partition(5).fit(rows), np.isfinite(rows).all(axis=1)
        assert partition.score(rows) == pytest.approx(partition.score(rows[known]), rel=1e-12)
        assert partition.score(rows) == pytest.approx(
            -(partition.transform(rows[known]).min(axis=1) ** 2).mean(), rel=1e-5
        )
        assert partition.score(Series.from_rows(rows, 16.0)) == partition.score(rows)
        with pytest.raises(InputFormatError, match="All of 2 rows are missing"):
            partition.score(np.full((2, 3), np.nan))

    def test_labels_of_earlier_rows_are_forgotten(self, rows):
        partition = Partition(5).fit(pd.DataFrame(rows, columns=["a", "b", "c"]))
        assert partition.labels_.shape == (600,)
        partition.fit(Series.from_rows(rows[:, :2], 16.0))
        assert not hasattr(partition, "labels_")
        assert not hasattr(partition, "feature_names_in_")
        assert partition.n_features_in_ == 2

    def test_pieces(self, rows):
        whole = Partition(5).partial_fit(rows[:300]).partial_fit(rows[300:])
        series = (
            Partition(5).partial_fit(Series.from_rows(rows[:300], 16.0)).partial_fit(Series.from_rows(rows[300:], 1.0))
        )
        np.testing.assert_array_equal(whole.cluster_centers_, series.cluster_centers_)

    @pytest.mark.parametrize(
        "wrong",
        [{"n_states": 0}, {"n_states": 2.5}, {"n_states": "7"}, {"method": "ward"}, {"max_iterations": 0}, {"seed": -1},
         {"seed": None}, {"threads": 0}, {"threads": True}],
    )  # fmt: skip
    def test_parameters_are_checked_in_fit(self, rows, wrong):
        partition = Partition(**wrong)
        with pytest.raises(InputFormatError, match=next(iter(wrong))):
            partition.fit(rows)

    def test_before_fit(self, rows):
        for ask in (Partition().predict, Partition().transform, Partition().score):
            with pytest.raises(NotFittedError):
                ask(rows)
        with pytest.raises(NotFittedError):
            Partition().label(Series.from_rows(rows, 16.0))


RECORDING = Recording.from_arrays(np.random.default_rng(0).normal(size=(50, 4)), rate=16.0, kind="amplitude")
WRONG = [
    ("worm.csv", r"A str was given.*ethomarkov\.read"),
    ({"a": [1, 2]}, "A dict was given"),
    (RECORDING, r"a Recording has to be projected first: basis\.project\(recording\)"),
    (Symbols.from_labels([0, 1, 0], rate=4.0), "it holds microstates already"),
    ([np.zeros((5, 2)), np.zeros((6, 2))], r"A list of 2 arrays was given.*Series\.from_arrays"),
]


@pytest.mark.parametrize(("given", "words"), WRONG, ids=lambda item: type(item).__name__)
@pytest.mark.parametrize("estimator", [Partition(2), DelayEmbedding(2)])
def test_wrong_types_are_told_what_to_do(estimator, given, words):
    with pytest.raises(EthomarkovError, match=words):
        estimator.fit(given)
    fitted = clone(estimator).fit(np.random.default_rng(0).normal(size=(50, 2)))
    ask = fitted.predict if isinstance(fitted, Partition) else fitted.transform
    with pytest.raises(EthomarkovError, match=words):
        ask(given)


def test_label_takes_a_series_alone(rows):
    with pytest.raises(InputFormatError, match="Use predict for plain rows"):
        Partition(3).fit(rows).label(rows)


def test_numbers_beyond_single_precision(rows):
    with pytest.raises(InputFormatError, match="single precision"):
        Partition(3).fit(rows * 1e200)


class TestTogether:
    def test_pipeline_equals_the_steps(self, rows):
        pipeline = make_pipeline(DelayEmbedding(5), Partition(10, seed=2))
        labels = pipeline.fit_predict(rows)
        series = DelayEmbedding(5).transform(Series.from_rows(rows, 16.0))
        np.testing.assert_array_equal(labels, Partition(10, seed=2).fit(series).label(series).labels)
        np.testing.assert_array_equal(pipeline.predict(rows), labels)

    def test_series_flow_through_a_pipeline(self, rows):
        series = Series.from_rows(rows, 16.0)
        symbols = make_pipeline(DelayEmbedding(5), Partition(10, seed=2)).fit(series).predict(series)
        assert symbols.sampling.rate == 16.0
        assert symbols.n_states == 10

    def test_grid_search(self, rows):
        pipeline = Pipeline([("delays", DelayEmbedding()), ("partition", Partition(seed=3))])
        grid = {"delays__n_delays": [1, 3], "partition__n_states": [2, 20]}
        search = GridSearchCV(pipeline, grid, cv=KFold(3), error_score="raise").fit(rows)
        scores = dict(zip(map(str, search.cv_results_["params"]), search.cv_results_["mean_test_score"], strict=True))
        assert len(scores) == 4
        assert search.best_params_ == {
            "delays__n_delays": 1,
            "partition__n_states": 20,
        }  # fewest components, most states
        by_hand = []
        for train, test in KFold(3).split(rows):
            fitted = make_pipeline(DelayEmbedding(3), Partition(20, seed=3)).fit(rows[train])
            by_hand.append(fitted.score(rows[test]))
        assert scores[str({"delays__n_delays": 3, "partition__n_states": 20})] == pytest.approx(np.mean(by_hand))

    def test_copies(self, rows):
        pipeline = make_pipeline(DelayEmbedding(3), Partition(6, seed=4)).fit(rows)
        again = pickle.loads(pickle.dumps(pipeline))
        np.testing.assert_array_equal(again.predict(rows), pipeline.predict(rows))
        fresh = clone(pipeline).set_params(partition__n_states=7)
        with pytest.raises(NotFittedError):
            fresh.predict(rows)
        assert fresh.fit(rows).predict(rows).max() == 6
