"""Plain arrays, lists and tables in, tables and lines of words out."""

import sys

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import ethomarkov as em
from ethomarkov._core.frame_table import describe_frames
from ethomarkov._core.sampling import Sampling
from ethomarkov._core.segments import Segments
from ethomarkov._core.series import Series
from ethomarkov.exceptions import EthomarkovError, InputFormatError, MissingDependencyError, SamplingError
from ethomarkov.locomotion import Trajectory, skeletons
from ethomarkov.markov import entropy_rate, slow_spectrum
from ethomarkov.posture import PostureBasis
from ethomarkov.selection.choice import Fixed, choose_model
from ethomarkov.states import Microstates, Symbols


def wave(n_frames=200, n_segments=12, seed=0):
    """A travelling wave of changing amplitude, without orientation."""
    rng = np.random.default_rng(seed)
    size = 1 + 0.3 * np.sin(np.arange(n_frames) / 17 + rng.uniform(0, 6))[:, None]
    theta = size * np.sin(2 * np.pi * (np.arange(n_segments) / n_segments / 0.65 - np.arange(n_frames)[:, None] / 25))
    return theta - theta.mean(axis=1, keepdims=True)


POINTS = np.random.default_rng(1).normal(size=(30, 5, 2)).cumsum(axis=1)


class TestRecording:
    @pytest.mark.parametrize(
        "given",
        [wave(), wave().tolist(), pd.DataFrame(wave()), np.ma.masked_array(wave()), wave().astype(">f8"), [wave()]],
        ids=["array", "lists", "table", "masked", "other byte order", "list of one"],
    )
    def test_forms_of_one_animal(self, given):
        recording = em.Recording.from_arrays(given, rate=16.0)
        assert recording.individuals == ("animal_1",)
        assert recording.sampling.rate == 16.0
        assert recording.kind == "angle"
        np.testing.assert_array_equal(recording.values, wave().astype(np.float32))

    def test_forms_of_several_animals(self):
        parts = [wave(50), wave(40, seed=1)]
        both = em.Recording.from_arrays(parts, rate=16.0)
        assert both.individuals == ("animal_1", "animal_2")
        assert both.segments.offsets.tolist() == [0, 50, 90]
        named = em.Recording.from_arrays({"N2": parts[0], "mutant": parts[1].tolist()}, rate=16.0)
        assert named.individuals == ("N2", "mutant")
        np.testing.assert_array_equal(named.values, both.values)
        assert em.Recording.from_arrays(parts, rate=16.0, individuals=["a", "b"]).individuals == ("a", "b")

    def test_rows_with_nan_and_masked_entries_are_gaps(self):
        rows = wave(20)
        rows[7, 3] = np.nan
        assert em.Recording.from_arrays(rows, rate=16.0).segments.bounds.tolist() == [[0, 7, 0], [8, 20, 0]]
        hidden = np.ma.masked_array(wave(20), mask=np.isnan(rows))
        assert em.Recording.from_arrays(hidden, rate=16.0).segments.bounds.tolist() == [[0, 7, 0], [8, 20, 0]]
        table = pd.DataFrame(wave(20)).astype("Float64")
        table.iloc[7, 3] = pd.NA
        assert em.Recording.from_arrays(table, rate=16.0).segments.bounds.tolist() == [[0, 7, 0], [8, 20, 0]]

    @pytest.mark.parametrize("kind", ["centerline", "position"])
    def test_points(self, kind):
        recording = em.Recording.from_arrays(POINTS, rate=30.0, kind=kind)
        np.testing.assert_array_equal(recording.values, POINTS.astype(np.float32))
        listed = em.Recording.from_arrays(list(POINTS), rate=30.0, kind=kind)  # frames, not animals
        assert listed.individuals == ("animal_1",)
        assert em.Recording.from_arrays([POINTS, POINTS[:9]], rate=30.0, kind=kind).segments.n_individuals == 2

    def test_everything_else_that_was_measured(self):
        parts = {"a": wave(30), "b": wave(20)}
        places = [np.arange(60.0).reshape(30, 2), np.ones((20, 2))]
        recording = em.Recording.from_arrays(
            parts, rate=16.0, centroid=places, body_length=[1.0, 1.5], attrs={"length_unit": "mm"}
        )
        np.testing.assert_array_equal(recording.centroid, np.concatenate(places))
        assert recording.body_lengths == {"a": 1.0, "b": 1.5}
        assert recording.dataset.attrs["length_unit"] == "mm"
        some = em.Recording.from_arrays(parts, rate=16.0, centroid={"b": places[1]}, body_length={"b": 2})
        assert np.isnan(some.centroid[:30]).all()
        assert some.body_lengths == {"b": 2.0}
        assert em.Recording.from_arrays(parts, rate=16.0, body_length=0.9).body_lengths == {"a": 0.9, "b": 0.9}
        named = em.Recording.from_arrays(POINTS, rate=16.0, kind="position", labels=["nose", "l", "r", "hip", "tail"])
        assert named.dataset["keypoint"].values.tolist() == ["nose", "l", "r", "hip", "tail"]

    @pytest.mark.parametrize(
        ("given", "options", "words"),
        [
            (wave(), {"kind": "shape"}, "kind='shape' is not known; use one of 'amplitude'"),
            (wave(), {"kind": "position"}, r"shape \(200, 12\); \(frames, points, 2\) is needed.*kind='angle'"),
            (POINTS, {}, r"\(30, 5, 2\).*kind='centerline' \(head first\) or kind='position'"),
            (np.zeros((3, 40, 7)), {}, "Give several animals as a list of arrays"),
            (wave()[:, 0], {}, r"shape \(200,\)"),
            (wave().astype(object), {}, "of type object; an array of numbers is needed"),
            (np.full((5, 2), "0.1"), {}, "of type <U3"),
            (wave() + 1j, {}, "of type complex128"),
            ([[0.1, None], [0.2, 0.3]], {}, "of type object"),
            ([[0.1, 0.2], [0.3]], {}, "lists of different lengths"),
            ([], {}, r"shape \(0,\)"),
            ({}, {}, "no animal was given"),
            ("worm.csv", {}, r"a single str.*ethomarkov\.read"),
            (None, {}, "a single NoneType"),
            (pd.DataFrame({"time": ["a", "b"], "x": [1.0, 2.0]}), {}, r"columns without numbers: time.*drop"),
            ([wave(), wave(n_segments=9)], {}, "all animals need the same"),
            (wave(), {"individuals": ["a", "b"]}, "2 names were given for 1 animals"),
            ([wave(), wave()], {"individuals": ["a", "a"]}, "Two animals are named 'a'"),
            (wave(), {"centroid": np.zeros((9, 2))}, "200 postures but 9 centroids"),
            (wave(), {"centroid": [np.zeros((200, 2))] * 2}, "Centroids of 2 animals were given for 1 animal"),
            (wave(), {"centroid": {"b": np.zeros((200, 2))}}, "Centroids of b were given; the animals are animal_1"),
            (wave(), {"body_length": -1}, "body length of 'animal_1' is -1; a positive number"),
            (wave(), {"body_length": [1.0, 2.0]}, "Body lengths of 2 animals were given for 1 animal"),
            (np.where(np.eye(200, 12) > 0, np.inf, wave()), {}, "hold infinite numbers; use NaN"),
            (np.where(np.eye(200, 12) > 0, np.inf, wave()), {"kind": "amplitude"}, "hold infinite numbers; use NaN"),
        ],
    )
    def test_what_is_wrong_is_said(self, given, options, words):
        with pytest.raises(InputFormatError, match=words):
            em.Recording.from_arrays(given, rate=16.0, **options)

    def test_a_recording_is_one_already(self):
        with pytest.raises(InputFormatError, match="use it as it is"):
            em.Recording.from_arrays(em.Recording.from_arrays(wave(), rate=16.0), rate=16.0)

    @pytest.mark.parametrize("rate", [None, 0, -1, np.nan, "fast"])
    def test_rates(self, rate):
        with pytest.raises(SamplingError, match="frames per second"):
            em.Recording.from_arrays(wave(), rate=rate)
        with pytest.raises(SamplingError, match="rate=16"):
            em.Recording.from_arrays(wave())

    def test_shown_in_a_few_lines(self):
        rows = wave(960)
        rows[:240] = np.nan
        recording = em.Recording.from_arrays(
            {f"w{k}": rows for k in range(40)}, rate=16.0, body_length=1.1, attrs={"length_unit": "mm"}
        )
        lines = repr(recording).splitlines()
        assert lines[0] == "Recording: tangent angles (rad); 40 animals, 40 min at 16 Hz, 25 % missing"
        assert len(lines) <= 6
        assert "w0, w1, w2, w3, … (40 in all)" in lines[2]
        assert recording.headline() in recording._repr_html_()
        assert "<b>" not in em.Recording.from_arrays({"<b>": wave()}, rate=16.0)._repr_html_()

    @pytest.mark.parametrize("kind", ["angle", "amplitude", "centerline", "position"])
    def test_table_is_read_back(self, tmp_path, kind):
        values = wave(30) if kind in ("angle", "amplitude") else POINTS
        values = values.copy()
        values[4] = np.nan
        options = {"labels": ["nose", "left", "right", "hip", "tail"]} if kind == "position" else {}
        recording = em.Recording.from_arrays(
            {"a": values, "b": values[:20]},
            rate=16.0,
            kind=kind,
            centroid={"a": np.arange(60.0).reshape(30, 2)},
            **options,
        )
        table = recording.table()
        assert list(table.columns[:2]) == ["individual", "time"]
        assert len(table) == 50
        assert table.attrs["units"]["time"] == "s"
        table.to_csv(tmp_path / "table.csv", index=False)
        again = em.read(tmp_path / "table.csv")
        assert again.individuals == ("a", "b")
        assert again.kind == kind
        np.testing.assert_allclose(again.values, recording.values, rtol=1e-6, atol=1e-6)
        np.testing.assert_allclose(again.centroid, recording.centroid, rtol=1e-6)

    def test_a_study_of_plain_arrays(self):
        settings = em.Settings(n_delays=3, n_states=8, lag=0.25)
        study = em.run_study(em.Recording.from_arrays([wave(800, seed=k) for k in range(2)], rate=16.0), settings)
        assert study.chain.lag == 0.25
        assert study.postures.segments.individuals == ("animal_1", "animal_2")


LABELS = np.random.default_rng(0).integers(0, 4, 300)


def symbols_of(labels, rate=16.0):
    labels = np.asarray(labels, dtype=np.int32)
    return Symbols(labels=labels, n_states=4, segments=Segments.from_valid(labels >= 0), sampling=Sampling(rate))


class TestChain:
    @pytest.mark.parametrize(
        "given",
        [
            LABELS,
            LABELS.tolist(),
            LABELS.astype(float),
            LABELS.astype("u1"),
            [LABELS],
            pd.Series(LABELS),
            {"a": LABELS},
        ],
        ids=["array", "list", "floats", "bytes", "list of one", "column", "mapping"],
    )
    def test_forms_of_one_animal(self, given):
        expected = em.MarkovChain.from_symbols(symbols_of(LABELS), 0.125)
        chain = em.MarkovChain.from_symbols(given, lag=0.125, rate=16.0)
        np.testing.assert_array_equal(chain.transition.toarray(), expected.transition.toarray())
        np.testing.assert_array_equal(chain.stationary, expected.stationary)
        assert (chain.lag, chain.n_states) == (expected.lag, expected.n_states)

    def test_pairs_cross_neither_gaps_nor_animals(self):
        chain = em.MarkovChain.from_symbols([[0, 1, -1, 0, 1], [0, 1, 0]], lag=1.0, rate=1.0)
        np.testing.assert_array_equal(chain.transition.toarray(), [[0, 1], [1, 0]])
        across = em.MarkovChain.from_symbols([[0, 1, 0, 0], [1, 0, 1]], lag=1.0, rate=1.0)
        np.testing.assert_allclose(across.transition.toarray(), [[1 / 3, 2 / 3], [1, 0]])
        missing = em.MarkovChain.from_symbols([0.0, 1.0, np.nan, 0.0, 1.0, 0.0], lag=1.0, rate=1.0)
        np.testing.assert_array_equal(missing.transition.toarray(), [[0, 1], [1, 0]])

    @pytest.mark.parametrize(
        ("given", "words"),
        [
            ([0, 1.5, 0], "'animal_1' hold 1.5 at frame 1; whole numbers from 0 on"),
            ([0, -2, 0], "hold -2 at frame 1"),
            ([0, np.inf, 0], "hold infinite numbers"),
            (["run", "turn"], "of type <U4"),
            (np.zeros((3, 4)), r"shape \(3, 4\); one whole number per frame"),
            ("labels", "a single str"),
            (Series.from_rows(np.zeros((3, 1)), 16.0), r"a Series was given.*series\.values"),
            ([], "leaves no transition"),
        ],
    )
    def test_what_is_wrong_is_said(self, given, words):
        with pytest.raises(EthomarkovError, match=words):
            em.MarkovChain.from_symbols(given, lag=0.0625, rate=16.0)

    def test_rates(self):
        with pytest.raises(SamplingError, match=r"rate is unknown.*rate=16\.0"):
            em.MarkovChain.from_symbols(LABELS, lag=1.0)
        symbols = symbols_of(LABELS)
        em.MarkovChain.from_symbols(symbols, 0.125, rate=16)
        with pytest.raises(SamplingError, match=r"sampled at 16 Hz\. Leave out the rate"):
            em.MarkovChain.from_symbols(symbols, 0.125, rate=15.0)

    def test_a_lag_that_is_no_whole_frame(self):
        with pytest.raises(SamplingError, match=r"lag=3\.03 s is 48\.48 frames.*Use 3 s or 3\.0625 s"):
            em.MarkovChain.from_symbols(LABELS, lag=3.03, rate=16.0)

    def test_two_states_in_closed_form(self):
        a, b, lag = 0.1, 0.25, 0.5
        counts = sparse.csr_array(np.array([[1 - a, a], [b, 1 - b]]) * 1000)
        chain = em.MarkovChain.from_counts(counts, lag)
        np.testing.assert_allclose(chain.relaxation_times(), [-lag / np.log(1 - a - b)])
        pi = np.array([b, a]) / (a + b)
        h = -sum(pi[i] * p * np.log(p) for i, row in enumerate([[1 - a, a], [b, 1 - b]]) for p in row) / lag
        assert chain.entropy_rate() == pytest.approx(h)
        assert chain.headline() == "2 microstates, lag 0.5 s, slowest relaxation 1.16 s"

    def test_methods_are_the_functions(self):
        chain = em.MarkovChain.from_symbols(np.random.default_rng(3).integers(0, 90, 20_000), lag=1.0, rate=4.0)
        assert chain.entropy_rate() == entropy_rate(chain)
        np.testing.assert_array_equal(chain.relaxation_times(3), slow_spectrum(chain, 3).relaxation_times)
        assert chain.relaxation_times().shape == (10,)
        for n in (0, -1, 2.5, True, None):
            with pytest.raises(InputFormatError, match="relaxation times were asked for"):
                chain.relaxation_times(n)

    def test_headlines_never_fail(self):
        one = em.MarkovChain.from_symbols([0, 0, 0], lag=1.0, rate=1.0)
        assert one.headline() == "1 microstate, lag 1 s"
        flip = em.MarkovChain.from_symbols([0, 1, 0, 1, 3], lag=1.0, rate=1.0)  # λ = -1, no relaxation
        assert flip.headline() == "2 of 4 microstates, lag 1 s"

    def test_the_model_of_deeptime(self):
        deeptime = pytest.importorskip("deeptime.markov.msm")
        rng = np.random.default_rng(5)
        labels = [np.abs(np.cumsum(rng.integers(-1, 2, n)) % 12 - 6) for n in (3000, 2000)]  # back and forth, no cycle
        chain = em.MarkovChain.from_symbols(labels, lag=0.25, rate=16.0)
        model = chain.to_deeptime()
        theirs = deeptime.MaximumLikelihoodMSM(reversible=False, lagtime=4).fit_fetch(labels)
        np.testing.assert_allclose(model.transition_matrix, theirs.transition_matrix, atol=1e-12)
        np.testing.assert_allclose(model.stationary_distribution, theirs.stationary_distribution, atol=1e-9)
        assert model.lagtime == 0.25
        np.testing.assert_allclose(model.timescales(1), theirs.timescales(1) / 16.0, rtol=1e-6)
        np.testing.assert_allclose(model.timescales(1), chain.relaxation_times(1), rtol=1e-6)

    def test_deeptime_is_missing(self, monkeypatch):
        for name in ("deeptime", "deeptime.markov", "deeptime.markov.msm"):
            monkeypatch.setitem(sys.modules, name, None)
        chain = em.MarkovChain.from_symbols(LABELS, lag=1.0, rate=16.0)
        with pytest.raises(MissingDependencyError, match=r'pip install "ethomarkov\[deeptime\]"'):
            chain.to_deeptime()


class TestPropel:
    def test_forms(self):
        theta = wave()
        path = em.propel(theta, rate=16.0, drag_ratio=30)
        assert path.segments.individuals == ("animal_1",)
        same = em.propel(em.Recording.from_arrays(theta, rate=16.0), 30)
        np.testing.assert_array_equal(path.centroid, same.centroid)
        np.testing.assert_array_equal(path.centroid, em.propel(theta.tolist(), 30, rate=16.0).centroid)
        # a series is taken as it is, with what is left of the mean
        np.testing.assert_allclose(path.centroid, em.propel(Series.from_rows(theta, 16.0)).centroid, atol=1e-5)

    def test_the_direction_of_the_camera_does_not_matter(self):
        turned = wave() + np.linspace(0, 9, 200)[:, None]
        wrapped = (turned + np.pi) % (2 * np.pi) - np.pi
        expected = em.propel(wave(), rate=16.0)
        for given in (turned, wrapped):
            np.testing.assert_allclose(em.propel(given, rate=16.0).centroid, expected.centroid, atol=1e-4)

    def test_several_animals(self):
        parts = {"a": wave(50), "b": wave(40, seed=1)}
        both = em.propel(parts, rate=16.0, body_length=np.array([1.0, 2.0]))
        assert both.segments.individuals == ("a", "b")
        alone = em.propel(parts["b"], rate=16.0, body_length=2.0)
        np.testing.assert_array_equal(both.cut(1).centroid, alone.centroid)
        listed = em.propel(list(parts.values()), rate=16.0, body_length=[1.0, 2.0])
        np.testing.assert_array_equal(listed.centroid, both.centroid)

    def test_a_recording_of_centerlines(self):
        """The bodies of a known path, drawn as points, come back as angles and give the path."""
        theta = wave(120, 100)
        path = em.propel(theta, rate=16.0)
        points = skeletons(path, theta)
        found = em.propel(em.Recording.from_arrays(points, rate=16.0, kind="centerline"))
        np.testing.assert_allclose(found.centroid, path.centroid, atol=2e-3)

    def test_amplitudes(self):
        basis = PostureBasis.analytic(30)
        amplitudes = np.random.default_rng(0).normal(size=(50, 5)).cumsum(axis=0) * 0.1
        expected = em.propel(Series.from_rows(amplitudes, 16.0), basis=basis).centroid
        np.testing.assert_array_equal(em.propel(amplitudes, rate=16.0, basis=basis).centroid, expected)
        recording = em.Recording.from_arrays(amplitudes, rate=16.0, kind="amplitude")
        np.testing.assert_array_equal(em.propel(recording, basis=basis).centroid, expected)
        with pytest.raises(InputFormatError, match=r"posture mode amplitudes; a path needs tangent angles.*basis="):
            em.propel(recording)

    @pytest.mark.parametrize(
        ("given", "words"),
        [
            (em.Recording.from_arrays(POINTS, rate=16.0, kind="position"), "holds keypoints; a path needs tangent"),
            (POINTS, r"\(30, 5, 2\); \(frames, segments\) is needed.*kind='centerline'"),
            ([wave(), wave(n_segments=5)], "12 .*animal_1.*, 5 .*animal_2.* segments; all need the same"),
            ("path.csv", "a single str"),
            (Symbols.from_labels([0, 1], rate=16.0), "a Symbols was given, and plain numbers are needed"),
            (np.where(np.eye(20, 12) > 0, np.inf, 0.0), "infinite numbers; use NaN"),
        ],
    )  # fmt: skip
    def test_what_is_wrong_is_said(self, given, words):
        with pytest.raises(InputFormatError, match=words):
            em.propel(given, rate=16.0)

    def test_rates(self):
        with pytest.raises(SamplingError, match=r"rate=16\.0"):
            em.propel(wave())
        with pytest.raises(SamplingError, match="Leave out the rate"):
            em.propel(Series.from_rows(wave(), 16.0), rate=30.0)
        assert em.propel(Series.from_rows(wave(), 16.0), rate=16.0).sampling.rate == 16.0

    def test_gaps(self):
        rows = wave(30)
        rows[10] = np.nan
        path = em.propel(rows, rate=16.0)
        assert path.segments.bounds.tolist() == [[0, 10, 0], [11, 30, 0]]
        assert np.isnan(path.centroid[10]).all()


class TestShown:
    def test_series(self):
        rows = wave(40, 3)
        rows[5] = np.nan
        series = Series.from_arrays({"a": rows, "b": rows[:10]}, rate=16.0)
        table = series.table()
        assert table.columns.tolist() == ["individual", "time", "component_1", "component_2", "component_3"]
        assert table["individual"].tolist() == ["a"] * 40 + ["b"] * 10
        np.testing.assert_allclose(table["time"], np.r_[np.arange(40), np.arange(10)] / 16)
        np.testing.assert_array_equal(table.iloc[:, 2:].to_numpy(), np.r_[rows, rows[:10]].astype(np.float32))
        assert series.headline() == "50 frames x 3 components of 2 animals, 3.12 s at 16 Hz, 4 % missing"
        assert len(repr(series).splitlines()) < 8

    def test_rows_outside_the_runs_mean_nothing(self):
        embedded = em.DelayEmbedding(3).transform(Series.from_rows(wave(6, 1), 16.0))
        assert embedded.table().isna().any(axis=1).tolist() == [True, False, False, False, False, True]

    def test_symbols(self):
        symbols = Symbols.from_labels([[0, 2, -1], [1]], rate=2.0, n_states=5)
        assert symbols.table()["microstate"].tolist() == [0, 2, -1, 1]
        assert symbols.table()["time"].tolist() == [0.0, 0.5, 1.0, 0.0]
        assert symbols.headline() == "5 states in 4 frames of 2 animals, 2 s at 2 Hz, 25 % missing"
        with pytest.raises(InputFormatError, match="A label is 2, but n_states=2"):
            Symbols.from_labels([0, 2], rate=2.0, n_states=2)

    def test_trajectory(self):
        path = em.propel(wave(), rate=16.0)
        table = path.table()
        assert table.columns.tolist() == ["individual", "time", "x", "y", "heading"]
        np.testing.assert_array_equal(table[["x", "y"]].to_numpy(), path.centroid)
        assert table.attrs["units"] == {"time": "s", "x": "body lengths", "y": "body lengths", "heading": "rad"}
        far = np.linalg.norm(path.centroid[-1])
        assert path.headline() == f"path of 1 animal, 12.5 s at 16 Hz, 0 % missing, up to {far:.3g} body lengths away"

    def test_empty_results_have_headlines(self):
        none = Segments.from_valid(np.zeros(0, dtype=bool))
        assert describe_frames(none, Sampling(16.0)) == "1 animal, 0 s at 16 Hz, 0 % missing"
        series = Series(values=np.zeros((0, 2), np.float32), segments=none, sampling=Sampling(16.0))
        path = Trajectory.from_points(np.zeros((0, 2)), series, "mm")
        states = Microstates(centers=np.zeros((0, 2), np.float32), visits=np.zeros(0, int), inertia=0.0)
        for result in (series, path, states):
            assert result.headline()
            assert repr(result)
        assert series.table().empty

    @pytest.mark.parametrize(
        ("arrays", "words"),
        [(np.zeros(5), r"shapes \(5,\)"), ([np.zeros((5, 2)), np.zeros((5, 3))], r"\(5, 3\) \(animal_2\)")],
    )
    def test_series_of_wrong_shapes(self, arrays, words):
        with pytest.raises(InputFormatError, match=words):
            Series.from_arrays(arrays, rate=16.0)


@pytest.mark.parametrize("rate", [29.97, 1 / 0.033])
def test_chosen_lags_are_whole_frames_at_odd_rates(rate):
    recording = em.Recording.from_arrays([wave(500, 6, seed=k) for k in range(2)], rate=rate)
    study = em.run_study(recording, em.Settings(n_delays=3, n_states=8))
    frames = study.chain.lag * rate
    assert frames == pytest.approx(round(frames), abs=1e-9)
    assert study.settings.lag == pytest.approx(study.chain.lag, rel=1e-12)


@pytest.mark.parametrize("settings", [em.Settings(lag=3.03), em.Settings(n_delays=3, n_states=8, lag=3.03)])
def test_a_lag_that_is_no_whole_frame_is_refused_before_anything_is_chosen(settings):
    postures = Series.from_rows(wave(500, 3), 16.0)
    fixed = Fixed(n_delays=settings.n_delays, n_states=settings.n_states, lag=settings.lag)
    with pytest.raises(SamplingError, match=r"Use 3 s or 3\.0625 s"):
        choose_model(postures, fixed=fixed, progress=lambda *_: pytest.fail("work was begun"))
