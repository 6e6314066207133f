"""The figures of the paper: what they show, what they leave out and why, and the files."""

import dataclasses
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import warnings
from concurrent.futures import Future
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pytest

from ethomarkov.exceptions import EthomarkovWarning, InputFormatError, RareStateWarning
from ethomarkov.figures.layout import Drawn
from ethomarkov.figures.style import new_figure
from ethomarkov.figures.validation import draw_held_out_correlation
from ethomarkov.io.results import load_result, save_results
from ethomarkov.model.behaviour import MACRO
from ethomarkov.paper.figures import (
    CAPTIONS_FILE,
    Answer,
    SharedFigures,
    choose_figures,
    is_worth_sharing,
    share_figures,
    write_captions,
    write_paper_figures,
)
from ethomarkov.paper.layout import FIGURES, describe_study, draw_paper_figure
from ethomarkov.paper.results import open_results
from ethomarkov.posture import centerline_from_angles
from ethomarkov.posture.stretch import longest_stretch
from ethomarkov.recording import Recording, Track
from ethomarkov.report.results import StudyResults
from ethomarkov.study import Settings, Study, run_study
from ethomarkov.study.store import RESULTS_FOLDER
from ethomarkov.synthetic import simulate_worms
from ethomarkov.validation.held_out_correlation import CORRELATION, summarise_correlation
from ethomarkov.validation.splits import Comparison, CrossValidation, FitSettings

LOOK = Path(__file__).parents[3] / "docs" / "look.md"
QUICK = Settings(n_delays=11, lag=0.75, n_states=40, n_walks=2, simulated_minutes=1.0, n_behaviours=3, n_resamples=0)


@pytest.fixture(autouse=True)
def few_resamples(monkeypatch):
    """Intervals need hundreds of fits; here they are drawn, and tested elsewhere."""
    monkeypatch.setattr("ethomarkov.report.results.N_RESAMPLES", 3)


@pytest.fixture(scope="module")
def worms():
    return simulate_worms(2, 120.0, seed=3)


@pytest.fixture(scope="module")
def study(worms):
    return run_study(worms.recording, QUICK, basis=worms.basis)


@pytest.fixture(scope="module")
def alone(study, tmp_path_factory) -> Path:
    """A directory that holds the study and nothing else."""
    directory = tmp_path_factory.mktemp("alone")
    study.save(directory)
    return directory


@pytest.fixture(scope="module")
def results(study):
    return StudyResults(study)


@pytest.fixture(scope="module")
def keypoints(worms):
    """The same animals as keypoints, which have no body wave and no path."""
    angles = worms.basis.reconstruct(worms.basis.project(worms.recording)).values
    points = centerline_from_angles(angles[:, ::20], np.linspace(0, 3, len(angles), dtype=np.float32))
    offsets = worms.recording.segments.offsets
    tracks = [
        Track(individual=name, values=points[offsets[i] : offsets[i + 1]])
        for i, name in enumerate(worms.recording.individuals)
    ]
    labels = [f"point {k}" for k in range(points.shape[1])]
    recording = Recording.from_tracks(tracks, kind="position", sampling_rate=16.0, labels=labels)
    return run_study(recording, QUICK)


def titles(figure) -> list[str]:
    return [axes.get_title(loc="left") for axes in figure.axes]


def axes_of(figure, title: str):
    return next(axes for axes in figure.axes if axes.get_title(loc="left").startswith(title))


def letters(figure) -> list[str]:
    return [
        text.get_text() for axes in figure.axes for text in axes.texts if re.fullmatch("[a-f]", text.get_text() or " ")
    ]


# --- what a study alone gives ----------------------------------------------------------------------------------------


def test_traces_of_figure_1_are_the_longest_stretch(study, results):
    figure = draw_paper_figure("1", results).figure
    lines = axes_of(figure, "data, ").lines
    rows = longest_stretch(study.postures).values[: 60 * 16].astype(float)
    assert len(lines) == 5
    shown = lines[0].get_ydata()
    np.testing.assert_allclose(shown - shown.mean(), rows[:, 0] - rows[:, 0].mean(), atol=1e-4)
    assert "Body wave" in titles(figure)
    assert letters(figure) == ["a", "b", "c"]


def test_without_other_commands_the_lines_name_them(study, results):
    left_out = draw_paper_figure("2", results).left_out
    assert [line.partition(") ")[0] for line in left_out] == ["(b, c, d"]
    assert "`ethomarkov validate STUDY`" in left_out[0]
    assert draw_paper_figure("3", results).left_out == (
        "(b) there are no runs of the animals yet; make them with `ethomarkov simulate STUDY`.",
    )
    nothing = draw_paper_figure("S9", results)
    assert nothing.figure is None
    assert "--state each" in nothing.left_out[0]


def test_captions_only_speak_of_what_is_drawn(study, results):
    found = draw_paper_figure("2", results)
    assert "(a) " in found.caption
    assert "(b) " not in found.caption
    assert "2 animals, 4 min in all at 16 Hz" in found.caption
    assert f"lag {study.chain.lag:.3g} s" in describe_study(results)


def test_figure_4_shows_the_shares_of_the_tree(study, results):
    found = draw_paper_figure("4", results)
    assert found.left_out == ()
    words = " ".join(text.get_text() for axes in found.figure.axes for text in axes.texts)
    for name, share in zip(study.names(study.finest), study.tree.measures_at(study.finest), strict=True):
        assert name in words.replace("\n", " ")
        assert f"{100 * share:.0f} %" in words
    dwells = axes_of(found.figure, "Dwells (band").get_legend().get_texts()
    assert [text.get_text().split(",")[0] for text in dwells] == list(study.names(MACRO))


def test_figure_s1_marks_the_settings(study, results):
    figure = draw_paper_figure("S1", results).figure
    assert letters(figure) == ["a", "b", "c"]
    marks = [text.get_text() for axes in figure.axes for text in axes.get_legend().get_texts()]
    assert f"K = {study.settings.n_delays} frames" in marks
    assert f"τ = {study.chain.lag:.3g} s" in marks


def test_figure_s4_counts_successors_of_every_animal(study, results):
    assert len(results["animal_chains"]) == 2
    found = draw_paper_figure("S4", results)
    words = [text.get_text() for text in axes_of(found.figure, "Successors").get_legend().get_texts()]
    assert f"median {np.median(np.diff(study.chain.transition.indptr)):g}" in words
    assert letters(found.figure) == ["d", "e", "f"]
    assert [line[:9] for line in found.left_out] == ["(a, b, c)"]


def test_figure_s7_marks_the_cut(study, results):
    axes = draw_paper_figure("S7", results).figure.axes[0]
    marked = [line for line in axes.lines if line.get_marker() == "x"]
    height = np.interp(study.cut.threshold, study.cut.thresholds, study.cut.curve)
    assert marked[0].get_ydata() == pytest.approx([height])


@pytest.mark.slow
def test_panels_do_not_cover_each_other(study, results):
    """Axes keep apart in every figure, once laid out."""
    for number in ("1", "2", "4", "S1", "S4"):
        figure = draw_paper_figure(number, results).figure
        figure.draw_without_rendering()
        boxes = [axes.get_window_extent() for axes in figure.axes]
        for k, (axes, box) in enumerate(zip(figure.axes, boxes, strict=True)):
            if axes.get_title(loc="left"):  # colour bars have none, and are narrow
                assert min(box.width, box.height) > 50, number
            assert not any(box.overlaps(other) for other in boxes[k + 1 :]), number


# --- with results of other commands ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def simulated(study, tmp_path_factory) -> Path:
    """A directory with runs of the animals, and of the states."""
    directory = tmp_path_factory.mktemp("simulated")
    study.save(directory)
    loaded = Study.load(directory)
    loaded.compute("runs", n_runs=2, minutes=0.5)
    loaded.compute("state_runs", level=study.finest, n_runs=2, minutes=0.5)
    return directory


def test_runs_are_found_and_told_apart(study, simulated):
    results = StudyResults(Study.load(simulated))
    assert results.remarks == ()
    assert tuple(one.name for one in results["runs"]) == study.individuals
    assert tuple(one.name for one in results["state_runs"]) == study.names(study.finest)
    drawn = draw_paper_figure("S9", results)
    assert drawn.left_out == ()
    assert "2 runs" in drawn.caption
    rows, measured = draw_paper_figure("S5", results).figure, results["displacement"]
    for one in results["runs"]:
        lines = axes_of(rows, one.name).lines
        np.testing.assert_allclose(lines[0].get_ydata(), measured.msd[measured.names.index(one.name)])
        np.testing.assert_allclose(lines[1].get_ydata(), one.displacement.msd.mean(axis=0))


def test_results_of_another_model_are_not_used(study, simulated, tmp_path):
    shutil.copytree(simulated / RESULTS_FOLDER, tmp_path / RESULTS_FOLDER)
    reordered = dataclasses.replace(study.microstates, centers=study.microstates.centers[::-1])
    study.replace(microstates=reordered).save(tmp_path)
    results = open_results(tmp_path)
    assert results["runs"] is None
    assert results["state_runs"] is None
    (remark,) = results.remarks
    assert "results of runs, state_runs are of another study" in remark


def test_data_in_another_unit_are_not_drawn_beside_runs(simulated):
    loaded = Study.load(simulated)
    results = StudyResults(loaded)
    data = dataclasses.replace(results["displacement"], length_unit="cm")
    rows = draw_paper_figure("S5", StudyResults(loaded, displacement=data)).figure
    one = results["runs"][0]
    np.testing.assert_allclose(axes_of(rows, one.name).lines[0].get_ydata(), one.displacement.msd.mean(axis=0))


def test_new_names_of_states_cost_no_runs(study, simulated):
    first, *others = study.names(study.finest)
    results = StudyResults(Study.load(simulated).with_settings(names={first: "something else"}))
    assert tuple(one.name for one in results["runs"]) == study.individuals
    assert [one.name for one in results["state_runs"]] == ["something else", *others]
    assert "something else" in " ".join(titles(draw_paper_figure("S9", results).figure) + words_of("S9", results))


def words_of(number: str, results) -> list[str]:
    figure = draw_paper_figure(number, results).figure
    return [text.get_text() for axes in figure.axes if axes.get_legend() for text in axes.get_legend().get_texts()]


def test_damaged_results_are_told_and_not_used(study, tmp_path):
    study.save(tmp_path)
    Study.load(tmp_path).compute("sequence_map", method="pca", seed=5)
    (file,) = (tmp_path / RESULTS_FOLDER).glob("sequence_map-*.nc")
    file.write_bytes(b"no map")
    with pytest.warns(EthomarkovWarning, match=r"sequence_map-\w+\.nc: is damaged"):
        placed = StudyResults(Study.load(tmp_path))["sequence_map"]
    assert placed.method == "pca"
    np.testing.assert_array_equal(placed.frames, StudyResults(study)["sequence_map"].frames)


def held_out(n_splits: int, *, n_runs: int = 3, missing: bool = False) -> CrossValidation:
    """A cross-validation of two animals and five modes, whose autocorrelations are random."""
    rng = np.random.default_rng(0)
    test = rng.normal(size=(n_splits, 2, 5, 7))
    simulated = rng.normal(size=(n_splits, 2, n_runs, 5, 7))
    if missing:  # the last lag has no pair anywhere, that before it in one split only
        test[..., -1] = simulated[..., -1] = np.nan
        test[0, ..., -2] = np.nan
    return CrossValidation(
        comparisons={CORRELATION: Comparison(test=test, simulated=simulated)},
        unassigned=np.zeros(n_splits),
        fit=FitSettings(n_delays=3, n_states=4, lag=0.75),
        individuals=("first", "second"),
    )


@pytest.mark.parametrize("missing", [False, True])
def test_held_out_curves_from_the_file_are_those_of_all_splits(missing, tmp_path):
    found = held_out(4, missing=missing)
    save_results(tmp_path / "v.nc", {"splits": found}, {})
    kept = summarise_correlation(load_result(tmp_path / "v.nc", "splits", CrossValidation))
    assert (kept.n_splits, kept.n_runs, kept.individuals) == (4, 12, ("first", "second"))
    ours, whole = new_figure(4, 2).subplots(1, 2)
    draw_held_out_correlation(ours, kept, 3, individual=1)
    draw_held_out_correlation(whole, summarise_correlation(found), 3, individual=1)
    test = found.comparisons[CORRELATION].test[:, 1, 3]
    known = np.isfinite(test).any(axis=0)
    np.testing.assert_allclose(ours.lines[0].get_ydata()[known], np.nanmean(test[:, known], axis=0), atol=1e-6)
    for one, other in zip(ours.lines, whole.lines, strict=True):
        np.testing.assert_allclose(one.get_xydata(), other.get_xydata(), atol=1e-6)
        assert one.get_color() == other.get_color()
    for one, other in zip(ours.collections, whole.collections, strict=True):
        np.testing.assert_allclose(one.get_paths()[0].vertices, other.get_paths()[0].vertices, atol=1e-6)


def test_figure_s4_shows_held_out_curves_of_the_first_animal(study, results):
    kept = summarise_correlation(held_out(4))
    found = draw_paper_figure("S4", StudyResults(study, held_out_correlation=kept))
    assert letters(found.figure) == ["a", "d", "e", "f"]
    assert "held-out data of first" in found.caption
    assert [line[:6] for line in found.left_out] == ["(b, c)"]
    for mode in range(5):
        line = axes_of(found.figure, f"Mode $a_{{{mode + 1}}}$").lines[0]
        np.testing.assert_array_equal(line.get_ydata(), kept.test[0, 0, mode])


# --- animals without a body wave -------------------------------------------------------------------------------------


@pytest.mark.slow
def test_keypoints_leave_body_and_path_out(keypoints):
    results = StudyResults(keypoints)
    drawn = {number: draw_paper_figure(number, results) for number in FIGURES}
    missing = {number for number, found in drawn.items() if found.figure is None}
    assert missing == {"3", "5", "S2", "S3", "S5", "S8a", "S8b", "S9", "S10"}
    for number in ("3", "5", "S5", "S8b", "S9"):
        assert "tangent angles" in drawn[number].left_out[0]
    assert "no body wave" in drawn["S8a"].left_out[0]
    assert letters(drawn["1"].figure) == ["a", "b"]
    assert "Body wave" not in titles(drawn["1"].figure)


# --- files -----------------------------------------------------------------------------------------------------------


def test_files_and_captions(study, results, tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        write_paper_figures(results, tmp_path, ["S7", "5"])
    assert sorted(path.name for path in tmp_path.iterdir()) == [CAPTIONS_FILE, "figS7.pdf", "figS7.png"]
    pdf = (tmp_path / "figS7.pdf").read_bytes()
    assert pdf.startswith(b"%PDF")
    assert b"/FontFile2" in pdf  # TrueType, embedded
    assert b"/Type3" not in pdf
    captions = (tmp_path / CAPTIONS_FILE).read_text(encoding="utf-8")
    assert captions.index("## Fig. 5") < captions.index("## Fig. S7")
    assert "![Fig. S7](figS7.png)" in captions
    assert "- Left out: (a, b, c) there are no foraging animals yet" in captions


def test_no_file_is_left_half_written(study, results, tmp_path, monkeypatch):
    def fail(path, content):
        path.touch()
        raise OSError("disk full")

    monkeypatch.setattr(Path, "write_bytes", fail)
    with pytest.raises(Exception, match="cannot be written"):
        write_paper_figures(results, tmp_path, ["S7"])
    assert list(tmp_path.iterdir()) == []


def test_figures_are_chosen_by_number():
    assert choose_figures(()) == list(FIGURES)
    assert choose_figures(["s8", "1", "Fig. S10"]) == ["1", "S8a", "S8b", "S10"]
    with pytest.raises(InputFormatError, match="no figure S11"):
        choose_figures(["S11"])


def test_captions_of_nothing():
    assert write_captions({}) == "\n"


def test_the_code_of_the_page_on_looking_runs(alone, tmp_path, monkeypatch, capsys):
    (tmp_path / "study").symlink_to(alone)
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", LOOK.read_text(encoding="utf-8"), re.DOTALL)
    assert len(blocks) == 2
    names: dict[str, object] = {}
    for block in blocks:
        exec(block, names)
    plt.close("all")
    assert (tmp_path / "two_panels.pdf").read_bytes().startswith(b"%PDF")
    assert (tmp_path / "fig4.png").read_bytes()[:4] == b"\x89PNG"
    assert capsys.readouterr().out.startswith("**Slow modes, and the states that they divide.** (a) ")
    for number in FIGURES:
        assert re.search(rf"^\|[^|]*\b{number}\b", LOOK.read_text(encoding="utf-8"), re.MULTILINE), number


# --- a second process ------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_figures_of_a_second_process_are_the_same(alone, tmp_path):
    numbers = ["1", "S7", "S8a", "S10"]
    here = write_paper_figures(open_results(alone), tmp_path / "alone", numbers)
    steps = []
    with share_figures(alone, numbers) as others:
        while len(others._begun) < 2:  # one at least is drawn there, and the next begun
            time.sleep(0.01)
        shared = write_paper_figures(
            open_results(alone), tmp_path / "shared", numbers, lambda *step: steps.append(step), others
        )
    assert steps == [("figures", k, 4) for k in (1, 2, 3, 4)]
    assert list(shared) == list(here)
    assert [found.caption for found in shared.values()] == [found.caption for found in here.values()]
    files = sorted(path.name for path in (tmp_path / "alone").iterdir())
    assert sorted(path.name for path in (tmp_path / "shared").iterdir()) == files
    for name in files:
        if not name.endswith(".pdf"):  # whose fonts lie in another order in every process
            assert (tmp_path / "shared" / name).read_bytes() == (tmp_path / "alone" / name).read_bytes()


@pytest.mark.slow
def test_errors_of_a_second_process_come_back(tmp_path):
    with share_figures(tmp_path / "nothing") as shared, pytest.raises(InputFormatError, match="no study there"):
        list(shared.collect())


class Beside:
    """A second process that has drawn everything already, or failed."""

    def __init__(self, answer):
        self.answer, self.asked = answer, []

    def submit(self, function, *arguments):
        self.asked.append(arguments[-1])
        future = Future()
        if isinstance(self.answer, Exception):
            future.set_exception(self.answer)
        else:
            future.set_result(self.answer)
        return future


def test_warnings_of_a_second_process_come_back():
    """What it heard is said here, as if the figure had been drawn here."""
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        warnings.warn("seldom", RareStateWarning, stacklevel=1)
    answer = Answer(drawn=Drawn(figure=None, caption="words", left_out=("(a) nothing.",)), files={}, heard=heard)
    shared = SharedFigures(Beside(answer), Path("study"), ["1"])
    assert shared.take() is None  # it has been handed over
    with pytest.warns(RareStateWarning, match="seldom"):
        assert list(shared.collect()) == [("1", answer)]


def test_a_second_process_takes_the_last_figures_first():
    beside = Beside(Answer(drawn=Drawn(figure=None, caption=""), files={}))
    shared = SharedFigures(beside, Path("study"), ["1", "2", "3"])
    assert beside.asked == ["3", "2", "1"]
    assert shared.take() is None


def test_a_second_process_that_fails_is_asked_no_more():
    beside = Beside(InputFormatError("broken"))
    shared = SharedFigures(beside, Path("study"), ["1", "2", "3"])
    assert beside.asked == ["3"]
    assert [shared.take(), shared.take(), shared.take()] == ["1", "2", None]
    with pytest.raises(InputFormatError, match="broken"):
        list(shared.collect())


@pytest.mark.slow
def test_a_script_needs_no_main_guard_and_modules_beside_the_data_are_not_imported(alone, tmp_path):
    (tmp_path / "pickle.py").write_text("from pathlib import Path\nPath('ran').touch()\n")
    script = tmp_path / "scripts" / "script.py"
    script.parent.mkdir()
    script.write_text(
        "from pathlib import Path\n"
        "from ethomarkov.paper.figures import share_figures\n"
        f"with share_figures(Path({str(alone)!r})) as shared:\n"
        "    print(next(shared.collect())[1].drawn.left_out)\n"
    )
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert "`ethomarkov validate STUDY`" in done.stdout
    assert done.stderr == ""
    assert not (tmp_path / "ran").exists()


@pytest.mark.slow
def test_an_interrupted_process_leaves_no_file(alone, tmp_path):
    """Ctrl-C reaches both processes, wherever they are."""
    code = (
        "import sys\nfrom pathlib import Path\n"
        "from ethomarkov.paper.figures import share_figures, write_paper_figures\n"
        "from ethomarkov.paper.results import open_results\n"
        "source, out = map(Path, sys.argv[1:])\n"
        "with share_figures(source) as shared:\n"
        "    results, tell = open_results(source), lambda *_: print('one', flush=True)\n"
        "    write_paper_figures(results, out, progress=tell, shared=shared)\n"
    )
    arguments = [sys.executable, "-c", code, str(alone), str(tmp_path)]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True) as process:
        process.stdout.readline()
        os.killpg(process.pid, signal.SIGINT)
        process.wait(timeout=60)
    assert process.returncode != 0
    names = [path.name for path in tmp_path.iterdir()]
    assert names
    assert not [name for name in names if name.startswith(".") or name == CAPTIONS_FILE]


def test_few_figures_are_drawn_here():
    assert is_worth_sharing(2)
    assert not is_worth_sharing(1)
    assert not is_worth_sharing(2, ["1", "S7"])
