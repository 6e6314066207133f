"""The figures of the paper: what they show, what they leave out and why, and the files."""

import dataclasses
import re
import warnings
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pytest

from ethomarkov._core.segments import Segments
from ethomarkov.exceptions import InputFormatError
from ethomarkov.figures.style import new_figure
from ethomarkov.figures.validation import draw_test_autocorrelation
from ethomarkov.io.results import group_name, load_result, save_results
from ethomarkov.locomotion.ensemble import CrawlRule
from ethomarkov.posture import centerline_from_angles
from ethomarkov.recording import Recording, Track
from ethomarkov.report.held_out import HeldOutCorrelation, summarise_correlation
from ethomarkov.report.paper_comparison import draw_held_out_correlation
from ethomarkov.report.paper_figures import (
    CAPTIONS_FILE,
    FIGURES,
    begin_figures,
    choose_figures,
    is_worth_sharing,
    write_captions,
    write_paper_figures,
)
from ethomarkov.report.paper_figures_main import figure_1, figure_2, figure_3, figure_4
from ethomarkov.report.paper_figures_si import animal_chains, figure_s1, figure_s4, figure_s5, figure_s7, figure_s9
from ethomarkov.report.paper_layout import describe_study
from ethomarkov.report.paper_parts import gather_parts
from ethomarkov.report.path_movies import longest_stretch, typical_stays
from ethomarkov.report.side_by_side import second_process
from ethomarkov.states import Symbols
from ethomarkov.synthetic import simulate_worms
from ethomarkov.validation.splits import Comparison, CrossValidation, FitRule
from ethomarkov.workflow import Settings, run_study
from ethomarkov.workflow.runs import animal_model, measured_displacement, simulate_runs, state_model
from ethomarkov.workflow.states import state_names
from ethomarkov.workflow.study import MACRO
from ethomarkov.workflow.validate import CORRELATION

LOOK = Path(__file__).parents[3] / "docs" / "look.md"
QUICK = Settings(n_delays=11, lag=0.75, n_states=40, n_walks=2, simulated_minutes=1.0, n_behaviours=3, n_resamples=0)


@pytest.fixture(autouse=True)
def few_resamples(monkeypatch):
    """Intervals need hundreds of fits; here they are drawn, and tested elsewhere."""
    for module in ("paper_figures_main", "paper_parts"):
        monkeypatch.setattr(f"ethomarkov.report.{module}.N_RESAMPLES", 3)


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
def parts(study, alone):
    return gather_parts(study, alone)


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


def save_runs(study, directory: Path, *, states: bool = False, seconds: float = 30.0) -> None:
    rule = CrawlRule(duration=seconds, n_runs=2, length_unit="body lengths" if states else "mm")
    if states:
        models = [state_model(study, study.finest, k) for k in range(study.finest)]
    else:
        models = [animal_model(study, k) for k in range(2)]
    found = [simulate_runs(study, model, rule) for model in models]
    results: dict[str, object] = {group_name("runs", k, one.name): one for k, one in enumerate(found)}
    if not states:
        results["measured"] = measured_displacement(study, seconds)
    save_results(directory / "simulation.nc", results, {"settings": study.settings.model_dump_json()})


# --- what a study alone gives ----------------------------------------------------------------------------------------


def test_traces_of_figure_1_are_the_longest_stretch(study, parts):
    figure = figure_1(study, parts).figure
    lines = axes_of(figure, "data, ").lines
    rows = longest_stretch(study, 0).values[: 60 * 16].astype(float)
    assert len(lines) == 5
    shown = lines[0].get_ydata()
    np.testing.assert_allclose(shown - shown.mean(), rows[:, 0] - rows[:, 0].mean(), atol=1e-4)
    assert "Body wave" in titles(figure)
    assert letters(figure) == ["a", "b", "c"]


def test_without_other_commands_the_lines_name_them(study, parts):
    left_out = figure_2(study, parts).left_out
    assert [line.split(" ")[0] for line in left_out] == ["(b)", "(c)", "(d)"]
    assert all("`ethomarkov validate STUDY`" in line for line in left_out)
    assert figure_3(study, parts).left_out == (
        "(b) there are no runs of the animals yet; make them with `ethomarkov simulate STUDY`.",
    )
    nothing = figure_s9(study, parts)
    assert nothing.figure is None
    assert "--state each" in nothing.left_out[0]


def test_captions_only_speak_of_what_is_drawn(study, parts):
    found = figure_2(study, parts)
    assert "(a) " in found.caption
    assert "(b) " not in found.caption
    assert "2 animals, 4 min in all at 16 Hz" in found.caption
    assert f"lag {study.chain.lag:.3g} s" in describe_study(study)


def test_figure_4_shows_the_shares_of_the_tree(study, parts):
    found = figure_4(study, parts)
    assert found.left_out == ()
    words = " ".join(text.get_text() for axes in found.figure.axes for text in axes.texts)
    for name, share in zip(state_names(study, study.finest), study.tree.measures_at(study.finest), strict=True):
        assert name in words.replace("\n", " ")
        assert f"{100 * share:.0f} %" in words
    stays = axes_of(found.figure, "Stays (band").get_legend().get_texts()
    assert [text.get_text().split(",")[0] for text in stays] == list(state_names(study, MACRO))


def test_figure_s1_marks_the_settings(study, parts):
    figure = figure_s1(study, parts).figure
    assert letters(figure) == ["a", "b", "c"]
    marks = [text.get_text() for axes in figure.axes for text in axes.get_legend().get_texts()]
    assert f"K = {study.settings.n_delays} frames" in marks
    assert f"τ = {study.chain.lag:.3g} s" in marks


def test_figure_s4_counts_successors_of_every_animal(study, parts):
    chains = animal_chains(study)
    assert len(chains) == 2
    found = figure_s4(study, parts)
    words = [text.get_text() for text in axes_of(found.figure, "Successors").get_legend().get_texts()]
    assert f"median {np.median(np.diff(study.chain.transition.indptr)):g}" in words
    assert letters(found.figure) == ["d", "e", "f"]
    assert [line[:3] for line in found.left_out] == ["(a)", "(b)", "(c)"]


def test_figure_s7_marks_the_cut(study, parts):
    axes = figure_s7(study, parts).figure.axes[0]
    marked = [line for line in axes.lines if line.get_marker() == "x"]
    height = np.interp(study.cut.threshold, study.cut.thresholds, study.cut.curve)
    assert marked[0].get_ydata() == pytest.approx([height])


@pytest.mark.slow
def test_panels_do_not_cover_each_other(study, parts):
    """Axes keep apart in every figure, once laid out."""
    for number in ("1", "2", "4", "S1", "S4"):
        figure = FIGURES[number](study, parts).figure
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
    save_runs(study, directory / "simulation")
    save_runs(study, directory / "states of mine", states=True)
    return directory


def test_runs_are_found_and_told_apart(study, simulated):
    parts = gather_parts(study, simulated)
    assert parts.remarks == ()
    assert tuple(one.name for one in parts.animal_runs) == study.symbols.segments.individuals
    assert tuple(one.name for one in parts.state_runs) == state_names(study, study.finest)
    drawn = figure_s9(study, parts)
    assert drawn.left_out == ()
    assert "2 runs" in drawn.caption
    rows = figure_s5(study, parts).figure
    for one in parts.animal_runs:
        lines = axes_of(rows, one.name).lines
        data = parts.measured.msd[parts.measured.names.index(one.name)]
        np.testing.assert_allclose(lines[0].get_ydata(), data)
        np.testing.assert_allclose(lines[1].get_ydata(), one.displacement.msd.mean(axis=0))


def test_results_of_another_model_are_not_used(study, simulated):
    other = dataclasses.replace(study, settings=study.settings.model_copy(update={"seed": 77}))
    parts = gather_parts(other, simulated)
    assert parts.animal_runs == ()
    assert len(parts.remarks) == 2
    assert all("other settings" in remark for remark in parts.remarks)


def test_data_in_another_unit_are_not_drawn_beside_runs(study, simulated):
    parts = gather_parts(study, simulated)
    data = dataclasses.replace(parts.measured, length_unit="cm")
    rows = figure_s5(study, dataclasses.replace(parts, measured=data)).figure
    one = parts.animal_runs[0]
    np.testing.assert_allclose(axes_of(rows, one.name).lines[0].get_ydata(), one.displacement.msd.mean(axis=0))


def test_new_names_of_states_leave_runs_of_animals_alone(study, simulated):
    first = state_names(study, study.finest)[0]
    settings = study.settings.model_copy(update={"names": {first: "something else"}})
    parts = gather_parts(dataclasses.replace(study, settings=settings), simulated)
    assert len(parts.animal_runs) == 2
    assert parts.state_runs == ()


def test_damaged_results_are_a_remark(study, tmp_path):
    (tmp_path / "map.nc").write_bytes(b"no map")
    parts = gather_parts(study, tmp_path)
    assert parts.sequence_map.method == "pca"
    assert [line for line in parts.remarks if "map.nc" in line]


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
        fit=FitRule(n_delays=3, n_states=4, lag=0.75),
        individuals=("first", "second"),
    )


@pytest.mark.parametrize("missing", [False, True])
def test_held_out_curves_from_the_file_are_those_of_all_splits(missing, tmp_path):
    found = held_out(4, missing=missing)
    save_results(tmp_path / "v.nc", {"honest": summarise_correlation(found)}, {})
    kept = load_result(tmp_path / "v.nc", "honest", HeldOutCorrelation)
    assert (kept.n_splits, kept.n_runs, kept.individuals) == (4, 12, ("first", "second"))
    ours, whole = new_figure(4, 2).subplots(1, 2)
    draw_held_out_correlation(ours, kept, 3, individual=1)
    draw_test_autocorrelation(whole, found.comparisons[CORRELATION], kept.lags, 3, individual=1)
    for one, other in zip(ours.lines, whole.lines, strict=True):
        np.testing.assert_allclose(one.get_xydata(), other.get_xydata(), atol=1e-6)
        assert one.get_color() == other.get_color()
    for one, other in zip(ours.collections, whole.collections, strict=True):
        np.testing.assert_allclose(one.get_paths()[0].vertices, other.get_paths()[0].vertices, atol=1e-6)


def test_figure_s4_shows_held_out_curves_of_the_first_animal(study, parts):
    kept = summarise_correlation(held_out(4))
    found = figure_s4(study, dataclasses.replace(parts, held_out=kept))
    assert letters(found.figure) == ["a", "d", "e", "f"]
    assert "held-out data of first" in found.caption
    assert [line[:3] for line in found.left_out] == ["(b)", "(c)"]
    for mode in range(5):
        line = axes_of(found.figure, f"Mode $a_{{{mode + 1}}}$").lines[0]
        np.testing.assert_array_equal(line.get_ydata(), kept.test[0, 0, mode])


# --- animals without a body wave -------------------------------------------------------------------------------------


@pytest.mark.slow
def test_keypoints_leave_body_and_path_out(keypoints, tmp_path):
    keypoints.save(tmp_path)
    parts = gather_parts(keypoints, tmp_path)
    drawn = {number: draw(keypoints, parts) for number, draw in FIGURES.items()}
    missing = {number for number, found in drawn.items() if found.figure is None}
    assert missing == {"3", "5", "S2", "S3", "S5", "S8a", "S8b", "S9", "S10"}
    for number in ("3", "5", "S5", "S8b", "S9"):
        assert "tangent angles" in drawn[number].left_out[0]
    assert "no body wave" in drawn["S8a"].left_out[0]
    assert letters(drawn["1"].figure) == ["a", "b"]
    assert "Body wave" not in titles(drawn["1"].figure)


# --- files -----------------------------------------------------------------------------------------------------------


def test_files_and_captions(study, parts, tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        write_paper_figures(study, parts, tmp_path, ["S7", "5"])
    assert sorted(path.name for path in tmp_path.iterdir()) == [CAPTIONS_FILE, "figS7.pdf", "figS7.png"]
    pdf = (tmp_path / "figS7.pdf").read_bytes()
    assert pdf.startswith(b"%PDF")
    assert b"/FontFile2" in pdf  # TrueType, embedded
    assert b"/Type3" not in pdf
    captions = (tmp_path / CAPTIONS_FILE).read_text(encoding="utf-8")
    assert captions.index("## Fig. 5") < captions.index("## Fig. S7")
    assert "![Fig. S7](figS7.png)" in captions
    assert "- Left out: (a, b, c) there are no foraging animals yet" in captions


def test_no_file_is_left_half_written(study, parts, tmp_path, monkeypatch):
    def fail(figure, target, **options):
        target.write_bytes(b"half")
        raise OSError("disk full")

    monkeypatch.setattr("ethomarkov.report.paper_figures.save_figure", fail)
    with pytest.raises(Exception, match="cannot be written"):
        write_paper_figures(study, parts, tmp_path, ["S7"])
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


# --- typical stays ---------------------------------------------------------------------------------------------------


def test_typical_stay_is_the_median_of_the_longest_tenth(study):
    """Thirty stays of 1 to 30 frames in state 0: of the three longest, that of 29 frames is chosen."""
    lengths = np.random.default_rng(0).permutation(np.arange(1, 31))
    labels = np.concatenate([np.concatenate([np.zeros(n, dtype=int), [1]]) for n in lengths])
    symbols = Symbols(
        labels=labels.astype(np.int32),
        n_states=3,
        segments=Segments.from_valid(np.ones(labels.size, dtype=bool)),
        sampling=study.symbols.sampling,
    )
    (start, stop), other, never = typical_stays(symbols).tolist()
    assert stop - start == 29
    assert (labels[start:stop] == 0).all()
    assert labels[stop] == 1
    assert other[1] - other[0] == 1
    assert never == [-1, -1]


@pytest.mark.slow
def test_figures_of_a_second_process_are_the_same(study, tmp_path):
    study.save(tmp_path)
    numbers = ["1", "S7", "S8a", "S10"]
    alone = write_paper_figures(study, gather_parts(study, tmp_path), tmp_path / "alone", numbers)
    with second_process() as beside:
        begun = begin_figures(beside, tmp_path, tmp_path / "shared", numbers)
        begun["S8a"].future.result()  # two at least are drawn there
        steps = []
        shared = write_paper_figures(
            study,
            gather_parts(study, tmp_path),
            tmp_path / "shared",
            numbers,
            lambda *step: steps.append(step),
            begun,
        )
    assert steps == [("figures", k, 4) for k in (1, 2, 3, 4)]
    assert list(shared) == list(alone)
    assert [found.caption for found in shared.values()] == [found.caption for found in alone.values()]
    files = sorted(path.name for path in (tmp_path / "alone").iterdir())
    assert sorted(path.name for path in (tmp_path / "shared").iterdir()) == files
    for name in files:
        if not name.endswith(".pdf"):  # whose fonts lie in another order in every process
            assert (tmp_path / "shared" / name).read_bytes() == (tmp_path / "alone" / name).read_bytes()


def test_few_figures_are_drawn_here():
    assert is_worth_sharing(2)
    assert not is_worth_sharing(1)
    assert not is_worth_sharing(2, ["1", "S7"])
