"""Studies of recordings that are read a few at a time: the same numbers as from memory, in any order."""

import json
import pickle
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ethomarkov._core.parallel import sent_to
from ethomarkov.exceptions import EthomarkovWarning, InputFormatError, OutputError, SamplingError
from ethomarkov.io import read, write_recording
from ethomarkov.io.digest import digest
from ethomarkov.io.results import load_result
from ethomarkov.markov import MarkovChain, entropy_rate
from ethomarkov.markov.counts import count_transitions
from ethomarkov.posture import PostureBasis, centerline_from_angles
from ethomarkov.recording import Recording, Track
from ethomarkov.states import DelayEmbedding, Partition, Symbols
from ethomarkov.study import Settings, Study, run_study
from ethomarkov.study import source as sources
from ethomarkov.study import survey as surveys
from ethomarkov.study.counts import count_files
from ethomarkov.study.source import Source
from ethomarkov.study.store import RESULTS_FOLDER
from ethomarkov.study.study import KEPT
from ethomarkov.study.survey import SurveySettings, choose_examples, survey_files

QUICK = Settings(
    n_delays=11,
    lag=0.75,
    n_states=15,
    n_walks=3,
    simulated_minutes=0.5,
    simulation_lag=0.75,
    n_resamples=0,
    n_behaviours=3,
    scan=False,
    seed=2,
)
LOOK = SurveySettings(n_modes=5, n_delays=11, seed=2)


def recording_of(values: np.ndarray, name: str = "worm", kind: str = "amplitude", rate: float = 16.0) -> Recording:
    return Recording.from_tracks([Track(individual=name, values=values)], kind=kind, sampling_rate=rate)


@pytest.fixture(scope="module")
def files(worms, tmp_path_factory) -> tuple[Path, ...]:
    """One file per worm."""
    folder = tmp_path_factory.mktemp("worms")
    names = worms.recording.individuals
    return tuple(write_recording(worms.recording.select([name]), folder / f"{name}.nc") for name in names)


@pytest.fixture(scope="module")
def partition(worms):
    """Microstates found in memory."""
    sequences = DelayEmbedding(11).transform(worms.basis.project(worms.recording))
    return Partition(n_states=40, seed=5).fit(sequences).microstates_


def looked(files, basis=None, how=LOOK, threads=1):
    return survey_files(Source(files=tuple(files)), basis, how, threads=threads)


def stream(files, directory, basis, settings=QUICK, threads=1, **how):
    return run_study(Source(files=tuple(files), **how), settings, basis=basis, directory=directory, threads=threads)


@pytest.fixture
def small_sample(monkeypatch) -> None:
    """Let neither the sample nor the examples hold everything."""
    monkeypatch.setattr(surveys, "SAMPLE_FRAMES", 3000)
    monkeypatch.setattr(surveys, "EXAMPLE_FRAMES", 3800)  # two of the three worms


class Reads:
    """Reads files, and remembers which."""

    def __init__(self, stop_at: int = 10**9) -> None:
        self.names: list[str] = []
        self.stop_at = stop_at

    def __call__(self, file: Path) -> Recording:
        if len(self.names) == self.stop_at:
            raise KeyboardInterrupt
        self.names.append(file.stem)
        return read(file)


# --- against the pipeline in memory ----------------------------------------------------------------------------------


def test_labels_and_counts_are_those_of_the_pipeline_in_memory(worms, files, partition, tmp_path):
    how = (worms.basis, partition, 11)
    found = count_files(Source(files=files, labels=tmp_path), looked(files, worms.basis).survey, how, 12)
    whole = read(files)
    symbols = partition.label(DelayEmbedding(11).transform(worms.basis.project(whole)))
    for frames, counts in ((12, found.lagged), (1, found.framewise)):
        np.testing.assert_array_equal(counts.toarray(), count_transitions(symbols, frames).toarray())
    stored = [load_result(tmp_path / f"{name}.nc", "symbols", Symbols) for name in whole.individuals]
    np.testing.assert_array_equal(np.concatenate([one.labels for one in stored]), symbols.labels)
    assert [one.segments.individuals for one in stored] == [(name,) for name in whole.individuals]
    np.testing.assert_array_equal(found.frames, whole.segments.count_rows())
    np.testing.assert_array_equal(found.windows, symbols.segments.count_rows())
    assert found.transitions.sum() == found.lagged.sum()
    visits = [np.bincount(one.labels[one.labels >= 0], minlength=40) for one in stored]
    np.testing.assert_array_equal(found.visits.toarray(), visits)
    assert (found.individuals, found.files) == (whole.individuals, tuple(file.name for file in files))
    own = [entropy_rate(MarkovChain.from_symbols(symbols.mask(i), 1 / 16)) for i in range(3)]
    np.testing.assert_allclose(found.entropy_rates, own, rtol=1e-12)


@pytest.mark.slow
def test_a_study_that_fits_is_the_study_in_memory(worms, files, study, tmp_path):
    # those of the fixture
    settings = Settings(
        n_delays=11,
        lag=0.75,
        n_states=15,
        n_behaviours=7,
        n_walks=3,
        simulated_minutes=0.5,
        simulation_lag=0.75,
        seed=2,
    )
    found = stream(files, tmp_path, worms.basis, settings)
    assert found.settings == study.settings
    # those that do not say where the frames come from
    same = {name for one in KEPT for name in one.gives} - {"survey", "measured", "counts", "animals"}
    for name in sorted(same):
        assert digest(found.graph.result(name)) == digest(study.graph.result(name)), name
    np.testing.assert_array_equal(found.measured.centroid, study.measured.centroid)
    for name in ("frames", "windows", "transitions", "entropy_rates", "shares"):
        np.testing.assert_array_equal(getattr(found.animals, name), getattr(study.animals, name))
    assert (found.animals.individuals, found.animals.is_whole) == (study.animals.individuals, True)


@pytest.mark.parametrize("kind", ["angle", "centerline", "position"])
def test_a_basis_from_sums_is_the_basis_from_all_postures(kind, worms, tmp_path):
    angles = worms.basis.reconstruct(worms.basis.project(worms.recording)).values[:, ::5]
    points = centerline_from_angles(angles, np.zeros(len(angles), dtype=np.float32))
    values = {"angle": angles, "centerline": points, "position": points[:, ::4]}[kind]
    parts = [recording_of(values[first : first + 600], f"w{first}", kind) for first in (0, 1920, 3840)]
    files = tuple(write_recording(part, tmp_path / f"{k}.nc") for k, part in enumerate(parts))
    found = looked(files, how=SurveySettings(n_modes=4, n_delays=None, seed=0)).basis
    expected = PostureBasis.fit(read(files), 4)
    assert found is not None
    assert (found.features, found.source) == (expected.features, expected.source)
    for name in ("vectors", "mean", "explained_variance"):
        np.testing.assert_allclose(getattr(found, name), getattr(expected, name), rtol=1e-7, atol=1e-9)


def test_a_sample_for_a_fitted_basis_holds_its_amplitudes(worms, tmp_path):
    angles = worms.basis.reconstruct(worms.basis.project(worms.recording)).values[:1920, ::5]
    file = write_recording(recording_of(angles, kind="angle"), tmp_path / "a.nc")
    found, basis = looked([file], how=SurveySettings(n_modes=3, n_delays=None, seed=0))
    assert basis is not None
    expected = basis.project(read(file))
    np.testing.assert_allclose(
        found.sample.values[found.sample.segments.valid], expected.values[expected.segments.valid], atol=2e-6
    )


# --- nothing depends on order, workers or batches --------------------------------------------------------------------


class PickledWorkers:
    """Other computers, as far as tasks and answers can tell."""

    def run(self, function: Callable[[Any], Any], tasks: Sequence[Any]) -> Iterator[Any]:
        for task in tasks:
            there, what = pickle.loads(pickle.dumps((function, task)))
            yield pickle.loads(pickle.dumps(there(what)))


def test_order_threads_batches_and_workers_change_no_byte(worms, files, partition, small_sample, tmp_path, monkeypatch):
    def passes(name: str, files: Sequence[Path], threads: int = 1) -> tuple[str, str, list[bytes]]:
        found = looked(files, worms.basis, threads=threads).survey
        how, given = (worms.basis, partition, 11), Source(files=tuple(files), labels=tmp_path / name)
        counted = count_files(given, found, how, 12, threads=threads)
        labels = [(tmp_path / name / file.name).read_bytes() for file in sorted(files)]
        return digest(found), digest(counted), labels

    plain = passes("plain", files)
    assert passes("reversed", files[::-1], threads=2) == plain
    with sent_to(PickledWorkers()):
        assert passes("workers", files) == plain
    monkeypatch.setattr(sources, "BATCH_PARTS", 1)
    assert passes("batches", (files[1], files[2], files[0])) == plain


@pytest.mark.slow
def test_order_and_threads_change_no_byte_of_the_study(worms, files, small_sample, tmp_path):
    for name, given, threads in (("plain", files, 1), ("other", files[::-1], 2)):
        stream(given, tmp_path / name, worms.basis, threads=threads)
    assert (tmp_path / "plain" / "study.nc").read_bytes() == (tmp_path / "other" / "study.nc").read_bytes()


# --- the sample ------------------------------------------------------------------------------------------------------


def ramp_files(folder: Path, lengths: Sequence[int]) -> tuple[Path, ...]:
    """Animals whose postures say which animal and which frame they are."""
    folder.mkdir(exist_ok=True)
    made = []
    for k, n in enumerate(lengths):
        rows = np.stack([np.full(n, k) + np.linspace(0, 0.5, n), np.arange(n)], axis=1)
        made.append(write_recording(recording_of(rows, f"w{k}"), folder / f"w{k}.nc"))
    return tuple(made)


def sampled_frames(files: Sequence[Path], limit: int, monkeypatch, seed: int = 0) -> set[tuple[int, int]]:
    monkeypatch.setattr(surveys, "SAMPLE_FRAMES", limit)
    sample = looked(files, how=SurveySettings(n_modes=2, n_delays=4, seed=seed)).survey.sample
    for start, stop, _ in sample.segments:  # a run of the sample is a run of the recording
        np.testing.assert_array_equal(np.diff(sample.values[start:stop, 1]), 1)
    rows = sample.values[sample.segments.valid]
    frames = {(int(animal), int(frame)) for animal, frame in rows}
    assert len(frames) == len(rows)
    return frames


def test_the_sample_is_bounded_and_grows_by_addition(tmp_path, monkeypatch):
    files = ramp_files(tmp_path, [4000, 4000, 2013])
    small, large = (sampled_frames(files, limit, monkeypatch) for limit in (2000, 6000))
    assert 2000 - 40 <= len(small) <= 2000  # stretches of ten sequences of four frames
    assert 6000 - 40 <= len(large) <= 6000
    assert small < large
    everything = sampled_frames(files, 100_000, monkeypatch)
    assert everything == {(k, frame) for k, n in enumerate((4000, 4000, 2013)) for frame in range(n)}
    assert sampled_frames(files, 2000, monkeypatch, seed=1) != small


def test_every_recording_gives_its_share(tmp_path, monkeypatch):
    files = ramp_files(tmp_path, [8000, 8000, 24000])
    found = sampled_frames(files, 8000, monkeypatch)
    shares = np.bincount([animal for animal, _ in found]) / len(found)
    # 200 stretches of 1000, drawn without return: the standard error of the last share is 0.031
    np.testing.assert_allclose(shares, [0.2, 0.2, 0.6], atol=0.1)


def test_a_long_file_gives_at_most_four_mean_shares(tmp_path, monkeypatch):
    files = ramp_files(tmp_path, [40_000, *[400] * 15])
    found = sampled_frames(files, 8000, monkeypatch)
    assert sum(animal == 0 for animal, _ in found) == 4 * 8000 // 16


def test_the_sample_of_a_file_does_not_hold_the_file(tmp_path, monkeypatch):
    answers = []
    original = surveys._survey_file
    monkeypatch.setattr(surveys, "_survey_file", lambda task: answers.append(original(task)) or answers[-1])
    monkeypatch.setattr(surveys, "SAMPLE_FRAMES", 400)
    looked(ramp_files(tmp_path, [4000]), how=SurveySettings(n_modes=2, n_delays=4, seed=0))
    held = sum((one.rows if one.rows.base is None else one.rows.base).nbytes for one in answers[0].stretches)
    assert held <= 400 * 2 * 4


# --- examples --------------------------------------------------------------------------------------------------------


def test_the_chain_is_of_all_animals_and_the_frames_of_examples(worms, files, small_sample, tmp_path):
    found = stream(files, tmp_path, worms.basis)
    kept = found.symbols.segments.individuals
    assert len(kept) == 2
    assert set(kept) < set(worms.recording.individuals)
    assert found.animals.individuals == worms.recording.individuals
    stored = [load_result(tmp_path / "labels" / file.name, "symbols", Symbols) for file in files]
    total = sum(count_transitions(one, 12) for one in stored)
    chain = MarkovChain.from_counts(total.tocsr(), 0.75)
    assert found.animals.n_unseen == 0
    np.testing.assert_array_equal(found.chain.transition.toarray(), chain.transition.toarray())
    own = [one.labels for one in stored if one.segments.individuals[0] in kept]
    np.testing.assert_array_equal(found.symbols.labels, np.concatenate(own))
    framewise = sum(count_transitions(one, 1) for one in stored)
    assert found.animals.entropy_rate == entropy_rate(MarkovChain.from_counts(framewise.tocsr(), 1 / 16))
    group = found.tree.states_at(found.finest)
    for one, row in zip(stored, found.animals.shares, strict=True):
        states = group[one.labels[one.labels >= 0]]
        counted = [np.mean(states[states >= 0] == k) for k in range(found.finest)]
        np.testing.assert_allclose(row, counted, rtol=1e-12)
    again = Study.load(tmp_path)
    for name in (name for one in KEPT for name in one.gives):
        assert digest(again.graph.result(name)) == digest(found.graph.result(name)), name


def test_a_study_of_examples_knows_that_it_is_one(worms, files, small_sample, tmp_path):
    """What was loaded says of which animals it holds the frames, and which only enter the chain."""
    made = stream(files, tmp_path, worms.basis)
    found = Study.load(tmp_path)
    table = found.animals
    assert table.individuals == worms.recording.individuals
    assert not table.is_whole
    assert tuple(np.array(table.individuals)[table.is_example]) == found.individuals == made.individuals
    assert table.is_example.sum() == 2
    assert table.files == tuple(file.name for file in files)
    assert set(found.compute("kinetics").budget.shape) == {2}
    assert set(found.model.individuals) == set(found.individuals)


def test_a_study_of_all_animals_knows_that_too(worms, files, study, tmp_path):
    stream(files, tmp_path, worms.basis)
    assert Study.load(tmp_path).animals.is_whole
    assert study.animals.is_whole
    assert study.animals.files == ("",) * 3


def test_a_new_tree_of_examples_needs_no_file(worms, files, small_sample, tmp_path):
    stream(files, tmp_path, worms.basis)
    loaded = Study.load(tmp_path)
    smaller = loaded.with_settings(n_behaviours=2)
    assert smaller.animals.shares.shape == (3, 2)
    np.testing.assert_allclose(smaller.animals.shares.sum(axis=1), 1.0)
    fresh = stream(files, tmp_path / "fresh", worms.basis, QUICK.model_copy(update={"n_behaviours": 2}))
    assert digest(smaller.animals) == digest(fresh.animals)


def test_examples_are_whole_animals_in_an_order_of_their_own(worms, files):
    survey = looked(files, worms.basis).survey
    chosen = [tuple(choose_examples(survey, seed)) for seed in range(20)]
    assert chosen == [(0, 1, 2)] * 20  # all of them fit
    firsts = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(surveys, "EXAMPLE_FRAMES", 1)
        firsts = [tuple(choose_examples(survey, seed)) for seed in range(20)]
    assert {len(one) for one in firsts} == {1}  # at least one, however long
    assert set(firsts) == {(0,), (1,), (2,)}


def test_microstates_that_no_example_visits_leave_the_chain(worms, tmp_path, monkeypatch):
    values = worms.recording.values
    strange = np.concatenate([values[:1920], values[:1920] + 40])  # half of its time is spent where no other goes
    parts = {"a": values[1920:3840], "b": values[3840:], "strange": strange}
    files = tuple(write_recording(recording_of(rows, name), tmp_path / f"{name}.nc") for name, rows in parts.items())
    survey = looked(files, worms.basis).survey
    monkeypatch.setattr(surveys, "choose_examples", lambda *_: np.array([0, 1]))
    assert survey.animals[2] == "strange"
    found = stream(files, tmp_path / "out", worms.basis)
    seen = found.symbols.visits() > 0
    assert found.animals.n_unseen == np.sum(~seen) > 0
    assert seen[found.chain.states].all()
    assert np.isfinite(found.simulated.values).all()


# --- stopped and changed runs ----------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_stopped_run_goes_on(worms, files, small_sample, tmp_path):
    stopped = Reads(stop_at=7)  # three in the first pass, two examples, two in the second pass
    with pytest.raises(KeyboardInterrupt):
        stream(files, tmp_path, worms.basis, read=stopped)
    names = [file.stem for file in files]
    assert sorted(path.stem for path in (tmp_path / "labels").iterdir()) == names[:2]
    assert not (tmp_path / "study.nc").exists()
    later = Reads()
    found = stream(files, tmp_path, worms.basis, read=later)
    assert later.names == [names[2]]  # the last file
    plain = stream(files, tmp_path / "plain", worms.basis)
    assert digest(found.animals) == digest(plain.animals)
    assert (tmp_path / "study.nc").read_bytes() == (tmp_path / "plain" / "study.nc").read_bytes()


@pytest.mark.slow
def test_provenance_tells_of_files_and_stages(worms, files, tmp_path):
    found = stream(files, tmp_path, worms.basis)
    told = json.loads((tmp_path / "provenance.json").read_text(encoding="utf-8"))
    assert [name for name, _, _ in told["inputs"]["files"]] == [file.name for file in files]
    assert [size for _, size, _ in told["inputs"]["files"]] == [file.stat().st_size for file in files]
    stages = {one["stage"]: one for one in told["stages"]}
    assert list(stages) == [one.name for one in KEPT]
    assert {one.stage: one.key for one in found.entries()} == {name: one["key"] for name, one in stages.items()}
    assert all(one["seconds"] >= 0 and one["peak_gb"] > 0 for one in stages.values())
    assert not (tmp_path / RESULTS_FOLDER).exists()


def test_two_runs_do_not_write_into_one_directory(worms, files, tmp_path):
    def read_while_another_starts(file):
        stream(files, tmp_path / "out", worms.basis)
        return read(file)

    with pytest.raises(OutputError, match="another run is writing there"):
        stream(files, tmp_path / "out", worms.basis, read=read_while_another_starts)
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_only_what_a_change_concerns_is_done_again(worms, files, tmp_path):
    def read_again(settings: Settings, reading: str = "") -> list[str]:
        reads = Reads()
        stream(files, tmp_path, worms.basis, settings, read=reads, reading=reading)
        return reads.names

    names = [file.stem for file in files]
    assert read_again(QUICK) == 3 * names
    assert read_again(QUICK) == []
    slower = QUICK.model_copy(update={"lag": 1.0})
    assert read_again(slower) == []  # labels do not depend on the lag
    assert read_again(QUICK.model_copy(update={"n_states": 14})) == names
    assert read_again(QUICK, reading="other") == 3 * names
    (tmp_path / "labels" / files[1].name).write_bytes(b"damaged")
    with pytest.warns(EthomarkovWarning, match=f"{files[1].name}: is damaged .* computed again"):
        assert read_again(slower, reading="other") == [names[1]]
    files[0].touch()
    assert read_again(slower, reading="other") == [*names, *names, names[0]]


# --- names, gaps and mistakes ----------------------------------------------------------------------------------------


def test_animals_of_the_same_name_are_named_after_their_files(worms, tmp_path):
    values = worms.recording.values
    parts = {"x.nc": values[:1920], "y.nc": values[1920:3840]}
    files = tuple(write_recording(recording_of(rows), tmp_path / name) for name, rows in parts.items())
    found = stream(files, tmp_path / "out", worms.basis)
    assert found.animals.individuals == ("x:worm", "y:worm") == read(files).individuals
    assert found.symbols.segments.individuals == ("x:worm", "y:worm")


def test_files_of_the_same_name_have_labels_of_their_own(worms, tmp_path):
    files = []
    for k, folder in enumerate(("one", "two")):
        (tmp_path / folder).mkdir()
        rows = worms.recording.values[1920 * k : 1920 * (k + 1)]
        files.append(write_recording(recording_of(rows), tmp_path / folder / "worm.nc"))
    found = stream(files, tmp_path / "out", worms.basis)
    assert len(set(found.animals.individuals)) == 2
    assert found.animals.files == tuple(map(str, files))
    assert len(list((tmp_path / "out" / "labels").iterdir())) == 2
    np.testing.assert_array_equal(found.animals.windows, found.symbols.segments.count_rows())


def test_an_animal_too_short_for_a_sequence_has_a_row_and_no_labels(worms, files, tmp_path):
    short = write_recording(recording_of(worms.recording.values[100:108], "short"), tmp_path / "short.nc")
    found = stream((*files, short), tmp_path / "out", worms.basis)
    assert found.animals.individuals[0] == "short"
    assert found.animals.frames[0] > 0
    assert (found.animals.windows[0], found.animals.transitions[0]) == (0, 0)
    assert np.isnan(found.animals.entropy_rates[0])
    assert np.isnan(found.animals.shares[0]).all()
    assert "short" not in found.symbols.segments.individuals


def test_wrong_files_are_refused(worms, files, tmp_path):
    with pytest.raises(InputFormatError, match="No file was given"):
        Source(files=())
    with pytest.raises(InputFormatError, match="named twice"):
        Source(files=(files[0], files[0].parent / "." / files[0].name))
    with pytest.raises(InputFormatError, match="no such file"):
        Source(files=(tmp_path / "nothing.nc",))
    rng = np.random.default_rng(0)
    other = write_recording(recording_of(rng.normal(size=(99, 5)), rate=20.0), tmp_path / "other.nc")
    with pytest.raises(SamplingError, match=r"20 Hz.*16 Hz"):
        looked((*files, other))
    angles = write_recording(recording_of(rng.normal(size=(99, 7)), kind="angle"), tmp_path / "angles.nc")
    with pytest.raises(InputFormatError, match=r"angles.*shape \(7,\).*amplitudes.*shape \(5,\)"):
        looked((*files, angles))


def test_a_lag_beyond_all_stretches_is_refused(worms, files, tmp_path):
    with pytest.raises(SamplingError, match=r"lag=500 s leaves no transition"):
        stream(files, tmp_path, worms.basis, QUICK.model_copy(update={"lag": 500.0}))
