"""A study frame by frame: the dataset, the root of its file, tables of frames and bouts."""

import dataclasses
import itertools
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import h5py
import numpy as np
import pytest
import xarray as xr

from ethomarkov.exceptions import InputFormatError, MissingDependencyError
from ethomarkov.markov.slow_modes import SlowModes
from ethomarkov.study import Study
from ethomarkov.study.frames import N_SLOW_MODES, frame_dataset, study_bouts, to_movement

OF_READERS = {"int8", "int16", "int32", "float32", "float64", "bytes8"}


@pytest.fixture(scope="module")
def stored(study, tmp_path_factory):
    """The file of the small study."""
    return study.save(tmp_path_factory.mktemp("stored"))


@pytest.fixture(scope="module")
def data(study):
    return study.to_xarray()


def test_every_frame_has_its_animal_time_and_states(study, data):
    segments, rate = study.postures.segments, study.postures.sampling.rate
    assert dict(data.sizes)["frame"] == segments.n_rows
    for i, name in enumerate(study.individuals):
        own = data.where(data["individual_index"] == i, drop=True)
        assert data["individual_name"].values[i] == name
        np.testing.assert_allclose(own["time"], np.arange(own.sizes["frame"]) / rate)
        first, n_frames = int(data["first_frame"][i]), int(data["n_frames"][i])
        assert (data["individual_index"][first : first + n_frames] == i).all()
    np.testing.assert_array_equal(data["microstate"], study.symbols.labels)
    for level in study.tree.levels[1:]:
        states = data[f"state_{level}"]
        np.testing.assert_array_equal(states, study.states(level).labels)
        assert states.dtype == np.int32
        assert states.attrs["flag_values"].tolist() == [-1, *range(level)]
        assert len(states.attrs["flag_meanings"].split()) == level + 1
        assert tuple(json.loads(states.attrs["state_names"])) == study.names(level)
        assert tuple(data[f"state_{level}_name"].values) == study.names(level)
        of_microstates = np.append(data[f"state_{level}_of_microstate"].values, -1)
        np.testing.assert_array_equal(of_microstates[data["microstate"]], states)


def test_what_is_missing_is_told(study, data):
    """-1 in labels, which stay whole numbers, and NaN in all else."""
    missing = ~study.postures.segments.valid
    assert missing.any()
    assert (data["microstate"].values[missing] == -1).all()
    assert np.isnan(data["modes"].values[missing]).all()
    no_microstate = data["microstate"].values < 0
    assert np.isnan(data["phi_2"].values[no_microstate]).all()
    assert np.isfinite(data["phi_2"].values[np.isin(data["microstate"].values, study.chain.states)]).all()


def test_slow_modes_are_those_of_the_figures(study, data):
    shown = SlowModes.from_chain(study.symbols, study.chain, N_SLOW_MODES)
    for k in range(N_SLOW_MODES):
        np.testing.assert_array_equal(data[f"phi_{k + 2}"], shown.values[:, k].astype(np.float32))
        assert data[f"phi_{k + 2}"].attrs["relaxation_time_seconds"] == pytest.approx(shown.relaxation_times[k])
    law = data["stationary"].values
    np.testing.assert_array_equal(law[study.chain.states], study.chain.stationary)
    assert np.nansum(law) == pytest.approx(1.0)


def test_the_root_of_the_file_is_the_same(study, data, stored):
    with xr.open_dataset(stored, engine="h5netcdf") as found:
        xr.testing.assert_equal(found.load(), data)
        assert set(found.coords) == set(data.coords)
        for name, one in data.variables.items():
            assert {key: str(value) for key, value in found[name].attrs.items()} == {
                key: str(value) for key, value in one.attrs.items()
            }
            assert found[name].dtype == one.dtype
        assert found.attrs["Conventions"] == "CF-1.11"
        assert found.attrs["title"].startswith("Study of 3 animals")
        assert json.loads(found.attrs["settings"])["lag"] == study.settings.lag
        assert "ncvar_get" in found.attrs["how_to_open"]


def test_every_variable_of_the_file_says_what_it_is(stored):
    seen = []

    def look(name, item):
        if isinstance(item, h5py.Dataset) and not bytes(item.attrs.get("NAME", b"")).startswith(
            b"This is a netCDF dim"
        ):
            seen.append(name)
            assert item.dtype.name in OF_READERS, name
            assert len(item.attrs["long_name"]) > 2, name
            assert item.attrs["units"], name

    with h5py.File(stored) as file:
        file.visititems(look)
    assert len(seen) > 100


def test_the_groups_stay_open_to_xarray(stored, study):
    with xr.open_datatree(stored, engine="h5netcdf") as tree:
        assert tree["postures/postures"]["values"].dims == ("frame", "component")
        simulated = tree["simulation/simulated"]["values"]
        assert simulated.sizes[simulated.dims[0]] == len(study.simulated.values)


def test_what_the_groups_hold_is_not_stored_twice(stored):
    with h5py.File(stored) as file:
        assert file["modes"] == file["postures/postures/values"]
        assert file["microstate"] == file["microstates/symbols/labels"]


def test_a_study_does_not_read_the_root(stored, study, monkeypatch):
    """Its results come from the groups, and nothing is computed for the root."""
    monkeypatch.setattr("ethomarkov.study.study.frame_dataset", lambda study: pytest.fail("computed"))
    loaded = Study.load(stored)
    np.testing.assert_array_equal(loaded.symbols.labels, study.symbols.labels)
    np.testing.assert_array_equal(loaded.postures.values, study.postures.values)


def test_a_flipped_byte_of_the_root_is_seen(stored, tmp_path):
    content = bytearray(stored.read_bytes())
    with h5py.File(stored) as file:
        place = file["state_2"].id.get_chunk_info(0).byte_offset
    content[place + 5] ^= 1
    (tmp_path / "study.nc").write_bytes(content)
    with pytest.raises(InputFormatError, match="is damaged"):
        Study.load(tmp_path)


def test_equal_studies_make_equal_bytes(stored, tmp_path):
    Study.load(stored).save(tmp_path)
    assert (tmp_path / "study.nc").read_bytes() == stored.read_bytes()


def test_a_study_of_an_earlier_layout_is_refused(study, tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr("ethomarkov.study.study.STUDY_SCHEMA", "ethomarkov-study/4")
        study.save(tmp_path)
    with pytest.raises(InputFormatError, match=r"schema 'ethomarkov-study/4', .* has to be run again"):
        Study.load(tmp_path)


# --- tables ----------------------------------------------------------------------------------------------------------


def test_frames_as_a_table(study, data):
    table = study.frames()
    modes = [f"mode_{k + 1}" for k in range(study.postures.n_components)]
    phi = [f"phi_{k + 2}" for k in range(N_SLOW_MODES)]
    assert list(table) == ["individual", "time", "microstate", "state", *phi, *modes]
    assert len(table) == data.sizes["frame"]
    names, labels = study.names(study.finest), study.states(study.finest).labels
    assert table["state"].isna().tolist() == (labels < 0).tolist()
    assert table["state"].dropna().tolist() == [names[label] for label in labels[labels >= 0]]
    np.testing.assert_array_equal(table[modes].to_numpy(), data["modes"].values)
    assert set(study.frames(2)["state"].dropna()) == set(study.names(2))
    assert table.attrs["units"]["time"] == "s"


def test_frames_and_bouts_take_new_names(study):
    old = study.names(2)[0]
    renamed = study.replace(settings=study.settings.model_copy(update={"names": {old: "=dwelling"}}))
    assert "=dwelling" in set(renamed.frames(2)["state"])
    assert "=dwelling" in set(renamed.bouts(2)["state"])
    assert "=dwelling" in renamed.to_xarray()["state_2_name"].values


def test_bouts_are_what_the_frames_say(study):
    """Counted anew from the table of frames, one frame after the other."""
    frames, bouts = study.frames(2), study.bouts(2)
    assert list(bouts)[:6] == ["individual", "state", "start", "stop", "duration", "censored"]
    rate, expected = study.postures.sampling.rate, []
    for name, own in frames.groupby("individual", sort=False):
        states = [state if isinstance(state, str) else "" for state in own["state"]]
        edges = [k for k in range(len(states) + 1) if k in (0, len(states)) or states[k] != states[k - 1]]
        for first, stop in itertools.pairwise(edges):
            begins = first == 0 or not states[first - 1]
            ends = stop == len(states) or not states[stop]
            if states[first]:
                expected.append((name, states[first], first / rate, stop / rate, begins, ends))
    columns = ["individual", "state", "start", "stop", "censored_start", "censored_end"]
    assert list(bouts[columns].itertuples(index=False, name=None)) == expected
    np.testing.assert_allclose(bouts["duration"], bouts["stop"] - bouts["start"])
    assert (bouts["censored"] == (bouts["censored_start"] | bouts["censored_end"])).all()
    assert 0 < bouts["censored"].sum() < len(bouts)


@pytest.mark.parametrize("ask", [Study.frames, Study.bouts], ids=["frames", "bouts"])
def test_a_level_that_is_not_there_is_named_with_those_that_are(study, ask):
    with pytest.raises(InputFormatError, match=r"level is 99; this study can be read at 1, 2, .*--states 99"):
        ask(study, 99)


def test_a_study_without_a_division_has_one_state(study):
    whole = study.replace(tree=study.tree.upto(1))
    assert "state_1" in whole.to_xarray()
    assert set(whole.frames()["state"].dropna()) == set(whole.names(1))


def test_a_study_that_holds_some_animals_says_so(study):
    """As one that was streamed does."""
    animals = study.animals
    more = {
        field.name: np.concatenate([value, value])
        for field in dataclasses.fields(animals)
        if isinstance(value := getattr(animals, field.name), np.ndarray)
    }
    names = animals.individuals
    twice = dataclasses.replace(
        animals, individuals=(*names, *(f"{name} of another day" for name in names)), files=animals.files * 2, **more
    )
    attrs = frame_dataset(study.replace(animals=twice)).attrs
    assert attrs["title"].startswith("Study of 6 animals")
    assert attrs["individuals"].startswith("3 animals of 6, as examples")
    assert frame_dataset(study).attrs["individuals"] == "All 3 animals of the study."


# --- the page about the file -----------------------------------------------------------------------------------------

PAGE = Path(__file__).parents[3] / "docs" / "study_file.md"
SCRIPT = Path(__file__).parents[3] / "examples" / "read_study.R"


def blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL)


def test_the_lines_of_python_on_the_page_run(stored, study, tmp_path, monkeypatch):
    shutil.copytree(stored.parent, tmp_path / "study")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("matplotlib.pyplot.show", lambda: None)
    names = {}
    for block in blocks("python"):
        exec(block, names)
    drawn = names["plt"].gcf()
    np.testing.assert_array_equal(names["frames"]["time"], names["data"]["time"])
    assert drawn.axes
    assert names["rows"].shape[0] == len(study.individuals)
    names["plt"].close("all")
    names["data"].close()


def test_the_lines_of_r_on_the_page_are_those_of_the_script():
    """Which was run; a test needs no R."""
    (page,), script = blocks("r"), SCRIPT.read_text(encoding="utf-8").splitlines()
    assert [line for line in page.splitlines() if line and line not in script] == []


def test_the_page_names_every_variable_of_the_root(data):
    told = re.findall(r"`(\w+)`", PAGE.read_text(encoding="utf-8").partition("## Python")[0])
    kinds = {re.sub(r"state_\d+", "state_L", re.sub(r"phi_\d+", "phi_2", str(name))) for name in data.variables}
    assert kinds <= set(told)


def test_r_reads_the_file(stored, study, tmp_path):
    """Where R and ncdf4 are installed."""
    rscript = shutil.which("Rscript") or sys.executable  # which fails too
    if subprocess.run([rscript, "-e", "library(ncdf4)"], capture_output=True, check=False).returncode:
        pytest.skip("R with the package ncdf4 is not installed (Debian: r-base-core, r-cran-ncdf4)")
    asked = [rscript, str(SCRIPT), str(stored), str(tmp_path / "ethogram.png")]
    said = subprocess.run(asked, capture_output=True, text=True, check=True, encoding="utf-8").stdout
    assert f"{len(study.postures.values)} frames, at 16 frames per second" in said
    assert (tmp_path / "ethogram.png").stat().st_size > 1000
    shares = study.frames().groupby("individual")["state"].value_counts(normalize=True)
    for name in study.individuals:
        row = next(line for line in said.splitlines() if line.split()[:1] == [name] and len(line.split()) == 8)
        told = [float(number) for number in row.split()[1:]]
        wanted = [shares.get((name, state), 0.0) for state in study.names(study.finest)]
        np.testing.assert_allclose(told, wanted, atol=6e-4)


# --- objects of other programs ---------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
def test_movement_takes_the_dataset(study):
    datasets = pytest.importorskip("movement.validators.datasets", reason="movement is not installed (extra peers)")
    found = to_movement(study, 2)
    datasets.ValidPosesInputs.validate(found)
    assert found.attrs["fps"] == study.postures.sampling.rate
    states, offsets = study.states(2), study.postures.segments.offsets
    for i, name in enumerate(study.individuals):
        own = found.sel({found["state"].dims[1]: name})
        rows = slice(offsets[i], offsets[i + 1])
        np.testing.assert_array_equal(own["state"].values[: rows.stop - rows.start], states.labels[rows])
        measured = own["position"].values[: rows.stop - rows.start, :, 0]
        np.testing.assert_array_equal(measured, study.measured.centroid[rows].astype(float))


def test_pynapple_takes_the_bouts_of_a_study(study):
    pytest.importorskip("pynapple", reason="pynapple is not installed (extra peers)")
    found = study_bouts(study, 2).to_pynapple()
    assert list(found) == list(study.individuals)
    for name, intervals in found.items():
        own = study.bouts(2)
        own = own[own["individual"] == name]
        np.testing.assert_allclose(intervals.start, own["start"])
        assert list(intervals["state"]) == own["state"].tolist()
        assert list(intervals["censored"]) == own["censored"].tolist()


@pytest.mark.parametrize(
    ("module", "ask"),
    [("movement.io.load_poses", to_movement), ("pynapple", lambda study: study_bouts(study).to_pynapple())],
    ids=["movement", "pynapple"],
)
def test_a_missing_package_is_named_with_the_way_to_get_it(study, module, ask, monkeypatch):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingDependencyError, match=rf'pip install "ethomarkov\[{module.partition(".")[0]}\]"'):
        ask(study)
