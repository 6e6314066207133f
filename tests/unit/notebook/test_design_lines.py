"""Every line that the notebook promises: a study in one line, results that show themselves, views as calls."""

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
import xarray as xr
from matplotlib.axes import Axes

import ethomarkov as em
from ethomarkov._core.series import Series
from ethomarkov.exceptions import InputFormatError, SamplingError, SettingsError
from ethomarkov.figures.layout import Drawn

QUICK = {"n_delays": 11, "lag": 0.75, "n_states": 15, "n_walks": 2, "simulated_minutes": 0.5, "simulation_lag": 0.75}


@pytest.fixture(autouse=True)
def no_window():
    """Draw without a screen, and leave no figure open."""
    import matplotlib.pyplot as plt

    before = mpl.get_backend()
    plt.switch_backend("Agg")
    yield
    plt.close("all")
    plt.switch_backend(before)


@pytest.fixture(scope="module")
def files(made_once):
    """Recordings of two worms as files, and the modes of their postures."""

    def make(folder):
        made = em.simulate_worms(2, 120.0, seed=3)
        for k, name in enumerate(made.recording.individuals):
            em.write_recording(made.recording.select([name]), folder / f"worm{k}.npz")
        np.savetxt(folder / "EigenWorms.csv", made.basis.vectors, delimiter=",")

    return made_once("notebook files", make)


@pytest.fixture(scope="module")
def directory(made_once, files):
    def make(folder):
        em.run(str(files / "worm*.npz"), folder, basis=files / "EigenWorms.csv", n_behaviours=3, **QUICK)

    return made_once("notebook study", make)


@pytest.fixture
def study(directory):
    return em.load(directory)


class TestRun:
    def test_a_pattern_of_files_and_settings_by_keyword(self, study):
        assert study.individuals == ("worm0", "worm1") or study.postures.segments.n_individuals == 2
        assert (study.settings.lag, study.settings.n_states) == (0.75, 15)

    def test_it_is_cached(self, directory, files, monkeypatch):
        def computed(*_, **__):
            raise AssertionError("computed again")

        monkeypatch.setattr("ethomarkov.study.graph.Graph._compute", computed)
        em.run(str(files / "worm*.npz"), directory, basis=files / "EigenWorms.csv", n_behaviours=3, **QUICK)

    def test_arrays(self, worms):
        angles = worms.basis.reconstruct(worms.basis.project(worms.recording)).values
        study = em.run(angles, rate=16.0, **QUICK)
        assert study.postures.sampling.rate == 16.0
        assert study.directory is None

    def test_a_recording_and_a_settings_object(self, worms):
        settings = em.Settings(**QUICK)
        study = em.run(worms.recording, basis=worms.basis, settings=settings, n_states=12)
        assert (study.settings.n_states, study.settings.lag) == (12, 0.75)

    def test_no_file_of_that_pattern(self, tmp_path):
        with pytest.raises(InputFormatError, match="no file has such a name"):
            em.run(str(tmp_path / "worm*.h5"))

    def test_a_setting_that_does_not_exist(self, worms):
        with pytest.raises(SettingsError, match="did you mean n_states"):
            em.run(worms.recording, n_state=5)

    def test_how_a_recording_is_read_comes_too_late(self, worms):
        with pytest.raises(InputFormatError, match="this is a recording already"):
            em.run(worms.recording, rate=16.0)

    def test_kind_is_for_arrays(self, files):
        with pytest.raises(InputFormatError, match="kind= is for arrays"):
            em.run(files / "worm0.npz", kind="angle")

    def test_what_is_no_recording(self):
        with pytest.raises(InputFormatError):
            em.run(3.5, rate=16.0)


class TestStudy:
    def test_a_few_lines(self, study):
        text = repr(study)
        assert len(text.splitlines()) <= 8 and len(text) < 800
        assert text.startswith("Study of 2 animals, 4.0 min at 16 Hz")
        assert "15, lag 0.75 s" in text

    def test_a_card(self, study):
        page = study._repr_html_()
        assert page.startswith("<div") and "2 animals" in page and len(page) < 4000

    def test_nothing_is_computed_to_show_it(self, worms):
        from ethomarkov.study.study import begin_study

        begun = begin_study(worms.recording)
        assert repr(begun) == "Study of which nothing is computed yet\n  directory  in memory"

    def test_choice(self, study):
        assert "0.75 s" in study.choice.explain()
        assert "ModelChoice" in repr(study.choice)

    def test_frames(self, study):
        frames = study.frames(level=3)
        assert list(frames.columns[:4]) == ["individual", "time", "microstate", "state"]
        assert len(frames) == study.postures.segments.n_rows
        assert set(frames["state"].dropna()) <= set(study.names(3))

    def test_bouts(self, study):
        bouts = study.bouts(level=3)
        assert {"individual", "state", "start", "stop", "duration", "censored"} <= set(bouts.columns)
        np.testing.assert_allclose(bouts["stop"] - bouts["start"], bouts["duration"])

    def test_kinetics_as_a_table(self, study):
        table = study.kinetics(level=3).table()
        assert isinstance(table, pd.DataFrame)
        assert list(table["state"]) == list(study.names(3))

    def test_a_level_that_the_tree_has_not(self, study):
        for ask in (study.kinetics, study.frames, study.bouts):
            with pytest.raises(InputFormatError, match="30"):
                ask(level=30)

    def test_validation_with_a_picture(self, study):
        assert isinstance(study.validation(n_runs=4).plot(), Axes)

    def test_runs_are_as_long_as_the_recordings_and_as_many_as_take_a_minute(self, study):
        from ethomarkov.study.effort import scaled_options

        chosen = scaled_options(study, "runs", {"animal": "each"})
        assert chosen["minutes"] == pytest.approx(2.0)
        assert 20 <= chosen["n_runs"] <= 1000
        assert scaled_options(study, "runs", {"n_runs": 3, "minutes": 1.0}) == {"n_runs": 3, "minutes": 1.0}
        assert scaled_options(study, "validation", {"n_runs": 4}) == {"n_runs": 4, "entry_walks": 4}
        assert scaled_options(study, "kinetics", {}) == {}

    def test_larger_studies_get_fewer_runs(self, study, monkeypatch):
        from ethomarkov.study.effort import scaled_options

        monkeypatch.setattr(type(study.graph), "estimate", lambda *_, **__: 1.0)
        assert scaled_options(study, "runs", {})["n_runs"] == 100

    def test_the_finest_level_by_default(self, study):
        assert study.circulation().names == study.names(study.finest)

    def test_an_option_that_an_analysis_has_not(self, study):
        with pytest.raises(SettingsError, match="n_run"):
            study.validation(n_run=4)

    def test_plots(self, study):
        assert isinstance(study.plot.tree(), Axes)
        assert isinstance(study.plot.ethogram(), Axes)

    def test_plots_are_listed(self, study):
        assert {"tree", "ethogram", "relaxation_times"} <= set(dir(study.plot))
        assert "study.plot.tree()" in repr(study.plot)

    def test_a_picture_that_does_not_exist(self, study):
        with pytest.raises(AttributeError, match=r"there are .*ethogram"):
            _ = study.plot.etogram

    def test_a_picture_of_what_was_not_asked_for(self, study):
        with pytest.raises(InputFormatError, match=r"make them with `study\.foraging\(\)`"):
            study.plot.food_curve()

    def test_figure(self, study):
        study.sequence_map(method="pca")  # else the figure makes a map by UMAP, which takes its time
        drawn = study.figure("4")
        assert isinstance(drawn, Drawn) and drawn.figure is not None
        assert drawn._repr_html_().startswith('<img src="data:image/png;base64,')
        assert study.figure(1).caption == study.figure("1").caption

    def test_simulate(self, study):
        runs = study.model.simulate(duration=60, n_runs=2, rng=1)
        assert isinstance(runs, Series) and runs.segments.n_individuals == 2

    def test_to_xarray(self, study):
        assert isinstance(study.to_xarray(), xr.Dataset)

    def test_intervals_of_pynapple(self, study):
        pytest.importorskip("pynapple")
        intervals = study.to_pynapple(level=2)
        assert set(intervals) == set(study.individuals)
        assert set(intervals[study.individuals[0]]["state"]) <= set(study.names(2))

    def test_dataset_of_movement(self, study):
        pytest.importorskip("movement")
        assert study.to_movement(level=2).sizes["individuals"] == 2

    def test_report(self, study, tmp_path):
        page = study.report(tmp_path)
        assert page == tmp_path / "report.html" and page.read_text(encoding="utf-8").lower().startswith(
            "<!doctype html>"
        )

    def test_explore(self, study, tmp_path):
        page = study.explore(tmp_path / "look.html", method="pca")
        assert page.name == "look.html" and page.stat().st_size > 1000

    def test_a_study_in_memory_is_told_where_to_write(self, worms):
        study = em.run(worms.recording, basis=worms.basis, **QUICK)
        with pytest.raises(InputFormatError, match=r"out=.report\.html."):
            study.report()

    def test_apply(self, study, files):
        found = study.apply(files / "worm1.npz")
        assert found.flag == ("covered",)

    def test_summary(self, study):
        assert study.summary()["choices"]["n_states"] == 15

    def test_methods_tell_their_settings(self):
        import inspect

        assert list(inspect.signature(em.Study.kinetics).parameters) == ["level"]
        assert {"n_runs", "n_held_out", "n_repeats"} <= set(inspect.signature(em.Study.validation).parameters)
        assert "level" in em.Study.kinetics.__doc__


class TestPlainArrays:
    def test_recording(self):
        angles = np.random.default_rng(0).normal(size=(200, 20))
        recording = em.Recording.from_arrays(angles, rate=16.0)
        assert recording.kind == "angle" and recording.sampling.rate == 16.0

    def test_chain(self):
        a, b = np.tile([0, 1, 2, 1], 50), [2, 1, 0, 0, 1] * 30
        chain = em.MarkovChain.from_symbols([a, b], lag=0.75, rate=16.0)
        assert chain.entropy_rate() > 0
        assert len(chain.relaxation_times(5)) <= 5

    def test_chain_to_deeptime(self):
        pytest.importorskip("deeptime")
        chain = em.MarkovChain.from_symbols([0, 1, 0, 0, 1, 1, 0] * 20, lag=0.0625, rate=16.0)
        np.testing.assert_allclose(chain.to_deeptime().transition_matrix, chain.transition.toarray())

    def test_propel(self):
        time, along = np.arange(320)[:, None] / 16, np.linspace(0, 1, 20)[None]
        angles = 0.8 * np.cos(2 * np.pi * (1.5 * along - 0.5 * time))
        path = em.propel(angles, rate=16.0, drag_ratio=30)
        assert np.hypot(*(path.centroid[-1] - path.centroid[0])) > 0.5

    def test_a_lag_between_two_frames(self):
        with pytest.raises(SamplingError, match=r"3 s or 3\.0625 s"):
            em.MarkovChain.from_symbols([0, 1, 1, 0] * 100, lag=3.03, rate=16.0)


class TestProgress:
    def test_a_line_is_written_over_itself_and_cleared(self, monkeypatch):
        import io
        import itertools

        from ethomarkov.notebook import progress

        clock = itertools.count()
        monkeypatch.setattr(progress.time, "monotonic", lambda: float(next(clock)))
        stream = io.StringIO()
        line = progress.LineOfProgress(stream)
        for done in range(5):
            line("held_out_splits", done, 5)
        assert "held out splits  80 %" in stream.getvalue()
        line("held_out_splits", 5, 5)
        assert stream.getvalue().endswith(" \r")

    def test_silent_in_a_pipe(self, capsys):
        from ethomarkov.notebook.progress import shown_progress

        assert shown_progress(True) is None
