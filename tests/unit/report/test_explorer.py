"""The explorer: what is packed into the page, and who may see it."""

import base64
import dataclasses
import hashlib
import json
import re
from html.parser import HTMLParser

import numpy as np
import pytest

from ethomarkov.cli.commands.explore import explore
from ethomarkov.exceptions import EthomarkovWarning, InputFormatError
from ethomarkov.locomotion import propel
from ethomarkov.posture import phase_velocity
from ethomarkov.recording import Recording, Track
from ethomarkov.report import explorer
from ethomarkov.report.explorer import MISSING_CODE, pack_array, pack_study, quantise, render_explorer
from ethomarkov.report.results import StudyResults
from ethomarkov.states import DelayEmbedding
from ethomarkov.states.projection import map_sequences
from ethomarkov.study import Study, run_study
from ethomarkov.study.store import RESULTS_FOLDER
from ethomarkov.synthetic import simulate_worms

HOSTILE = ("<b>x</b>", "</script><script>alert(1)</script>", '"&amp;', "虫 $x$")


def place(study):
    sequences = DelayEmbedding(study.settings.n_delays).transform(study.postures)
    return map_sequences(sequences, study.microstates, method="pca")


def unpack(packed) -> np.ndarray:
    return np.frombuffer(base64.b64decode(packed["data"]), dtype="<" + packed["type"])


def restore(packed) -> np.ndarray:
    codes = unpack(packed["codes"]).reshape(-1, len(packed["low"]))
    values = np.array(packed["low"]) + np.array(packed["step"]) * codes
    return np.where(codes == MISSING_CODE, np.nan, values)


def data_of(page: str) -> dict:
    return json.loads(re.search(r'type="application/json">(.*?)</script>', page, re.DOTALL)[1])


@pytest.fixture(scope="module")
def placed(study):
    return place(study)


@pytest.fixture(scope="module")
def packed(study, placed):
    return pack_study(StudyResults(study, sequence_map=placed))


@pytest.fixture(scope="module")
def page(study, placed):
    return render_explorer(StudyResults(study, sequence_map=placed))


def test_quantised_columns_are_within_half_a_step_and_gaps_stay_gaps():
    values = np.random.default_rng(0).normal(size=(500, 3)) * [1.0, 100.0, 0.0] + [0, 0, 7.0]
    values[[3, 77], 1] = np.nan
    found = quantise(values)
    back = restore(found)
    known = np.isfinite(values).all(axis=1)
    assert np.isnan(back[~known]).all()
    assert (np.abs(back - values)[known] <= 0.5001 * np.array(found["step"]) + 1e-12).all()
    np.testing.assert_allclose(np.array(found["step"][:2]), np.ptp(values[known], axis=0)[:2] / (MISSING_CODE - 1))


def test_columns_without_any_value_are_all_missing():
    assert np.isnan(restore(quantise(np.full((4, 2), np.nan)))).all()


def test_arrays_are_little_endian():
    packed = pack_array(np.array([1, 256], dtype=">i4"))
    assert packed["type"] == "i4"
    assert base64.b64decode(packed["data"]) == b"\x01\0\0\0\0\x01\0\0"


def test_every_frame_has_its_microstate_posture_and_places(study, placed, packed):
    labels = unpack(packed["labels"])
    np.testing.assert_array_equal(labels, np.where(study.symbols.segments.valid, study.symbols.labels, -1))
    for name, values in (
        ("frames", placed.frames),
        ("postures", study.postures.values),
        ("path", study.measured.centroid),
    ):
        back = restore(packed[name])
        np.testing.assert_array_equal(np.isnan(back), np.isnan(values))
        np.testing.assert_allclose(back, values, atol=1e-5 * (np.nanmax(values) - np.nanmin(values)))
    assert packed["pathIsMeasured"]
    assert packed["offsets"] == study.symbols.segments.offsets.tolist()


def test_the_chain_is_that_of_the_study(study, packed):
    first, following, probability = (unpack(packed["chain"][name]) for name in ("first", "next", "probability"))
    dense = np.zeros((study.chain.n_states,) * 2)
    dense[np.ix_(study.chain.states, study.chain.states)] = study.chain.transition.toarray()
    for k, row in enumerate(dense):
        found = np.zeros(study.chain.n_states)
        found[following[first[k] : first[k + 1]]] = probability[first[k] : first[k + 1]]
        np.testing.assert_allclose(found, row, atol=1e-7)


def test_microstates_that_are_not_connected_lead_nowhere(study, placed):
    from ethomarkov.coarse.tree import restrict

    members = np.arange(study.chain.n_states) % 4 > 0
    part = restrict(study.chain, members)
    packed = pack_study(StudyResults(study.replace(chain=part), sequence_map=placed))
    lengths = np.diff(unpack(packed["chain"]["first"]))
    connected = part.state_index >= 0
    assert not connected.all()
    np.testing.assert_array_equal(lengths > 0, connected)
    np.testing.assert_array_equal(np.isfinite(unpack(packed["share"])), connected)


def test_levels_have_the_names_and_shares_of_the_tree(study, packed):
    assert len(packed["levels"]) == len(study.tree.levels)
    for level, found in zip(study.tree.levels, packed["levels"], strict=True):
        assert found["names"] == list(study.names(level))
        assert len(found["colours"]) == level
        np.testing.assert_array_equal(unpack(found["states"]), study.tree.states_at(level))
        np.testing.assert_allclose(found["shares"], study.tree.measures_at(level))


def test_colours_are_means_over_the_frames_of_a_microstate(study, packed):
    omega = phase_velocity(study.postures)
    valid = study.symbols.segments.valid & np.isfinite(omega)
    expected = [omega[valid & (study.symbols.labels == k)].mean() for k in range(study.symbols.n_states)]
    found = {one["label"]: unpack(one["values"]) for one in packed["quantities"]}
    np.testing.assert_allclose(found["phase velocity ω"], expected, rtol=1e-5)
    visits = study.symbols.visits()
    np.testing.assert_allclose(10 ** found["visits"].astype(float) / 100, visits / visits.sum(), rtol=1e-5)
    assert [name[:12] for name in found if name.startswith("slow")] == [f"slow mode φ{k}" for k in "₂₃₄₅"]


def test_the_page_may_fetch_nothing_and_run_its_own_script_only(page):
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', page)[1]
    assert policy.startswith("default-src 'none'")
    assert "http" not in policy
    script = re.search(r"<script>(.*?)</script>", page, re.DOTALL)[1]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in policy
    assert re.findall(r"""(?:src|href)\s*=\s*["']?([^"' >]+)""", page) == ["data:,"]
    assert not re.search(r"fetch\(|XMLHttpRequest|innerHTML|insertAdjacentHTML|document\.write|eval\(", page)


class Tags(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)


def test_names_stay_text(worms, quick, page):
    offsets = worms.recording.segments.offsets
    tracks = [
        Track(individual=name, values=worms.recording.values[offsets[0] : offsets[1]][600 * i : 600 * (i + 1) + 60])
        for i, name in enumerate(HOSTILE[:3])
    ]
    recording = Recording.from_tracks(tracks, kind="amplitude", sampling_rate=16.0)
    hostile = run_study(recording, quick, basis=worms.basis)
    named = hostile.names(2)[0]
    settings = hostile.settings.model_copy(update={"names": {named: HOSTILE[1]}})
    hostile = hostile.replace(settings=settings)
    made = render_explorer(StudyResults(hostile, sequence_map=place(hostile)))
    assert data_of(made)["animals"] == list(HOSTILE[:3])
    assert HOSTILE[1] in data_of(made)["levels"][1]["names"]
    assert Tags(made).tags == Tags(page).tags


def test_paths_are_computed_where_none_was_measured(study, placed):
    unmeasured = dataclasses.replace(study.measured, centroid=np.full_like(study.measured.centroid, np.nan))
    packed = pack_study(StudyResults(study.replace(measured=unmeasured), sequence_map=placed))
    assert not packed["pathIsMeasured"]
    assert packed["pathUnit"] == "body lengths"
    expected = propel(study.postures, study.settings.drag_ratio, basis=study.basis).centroid
    np.testing.assert_allclose(restore(packed["path"]), expected, atol=1e-4 * np.nanmax(np.abs(expected)))


def test_amplitudes_without_shapes_have_no_body_and_no_path(worms, quick):
    bare = Recording.from_tracks(
        [Track(individual="a", values=worms.recording.values[:1500])], kind="amplitude", sampling_rate=16.0
    )
    study = run_study(bare, quick)
    packed = pack_study(StudyResults(study, sequence_map=place(study)))
    assert packed["body"] == {"kind": "amplitude"}
    assert packed["path"] is None
    assert packed["quantities"][0]["label"].startswith("slow mode φ₂")


def test_a_long_study_is_cut_and_says_so(study, placed, monkeypatch):
    monkeypatch.setattr(explorer, "MOST_FRAMES", 2500)
    packed = pack_study(StudyResults(study, sequence_map=placed))
    assert unpack(packed["labels"]).size == 2500
    assert packed["offsets"] == [0, 1920, 2500]
    assert "the first 2,500 of 3,840 frames" in packed["about"]


def test_a_map_of_another_study_is_refused(study, placed):
    other = dataclasses.replace(placed, frames=placed.frames[:-1])
    with pytest.raises(InputFormatError, match="3839 frames and 12 microstates, the study 3840 and 12"):
        render_explorer(StudyResults(study, sequence_map=other))


# --- the command -----------------------------------------------------------------------------------------------------


@pytest.fixture
def mapped(study, tmp_path):
    """A directory with the study and a map of it."""
    study.save(tmp_path)
    Study.load(tmp_path).compute("sequence_map", method="pca")
    return tmp_path


def test_the_command_writes_the_page_with_the_map_that_is_there(mapped, placed, capsys):
    before = set((mapped / RESULTS_FOLDER).iterdir())
    explore(mapped)  # without a map there would be one by UMAP
    packed = data_of((mapped / "explorer.html").read_text(encoding="utf-8"))
    assert packed["mapSource"] == placed.source
    np.testing.assert_allclose(restore(packed["frames"]), placed.frames, atol=1e-4 * np.nanmax(np.abs(placed.frames)))
    assert set((mapped / RESULTS_FOLDER).iterdir()) == before
    assert "explorer.html" in capsys.readouterr().out.replace("\n", "")


def test_a_map_of_former_animals_is_not_used(mapped, worms, quick):
    later = run_study(simulate_worms(1, 60.0, seed=8).recording, quick, basis=worms.basis, directory=mapped)
    assert later.held("sequence_map") is None
    explore(mapped, out=mapped / "deep" / "page.html", method="pca")
    packed = data_of((mapped / "deep" / "page.html").read_text(encoding="utf-8"))
    frames = place(later).frames
    np.testing.assert_allclose(restore(packed["frames"]), frames, atol=1e-4 * np.nanmax(np.abs(frames)))


def test_a_damaged_map_is_named_and_made_again(mapped, placed):
    (file,) = (mapped / RESULTS_FOLDER).glob("sequence_map-*.nc")
    file.write_bytes(b"not a map")
    with pytest.warns(EthomarkovWarning, match=r"sequence_map-\w+\.nc: is damaged .* computed again"):
        explore(mapped, method="pca")
    assert data_of((mapped / "explorer.html").read_text(encoding="utf-8"))["mapSource"] == placed.source


def test_a_file_and_a_server_exclude_each_other(tmp_path):
    with pytest.raises(InputFormatError, match="--serve writes no file"):
        explore(tmp_path, out=tmp_path / "page.html", serve=True)
