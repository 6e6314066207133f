import h5py
import numpy as np
import pytest
import scipy.io

from ethomarkov.exceptions import InputFormatError, SamplingError
from ethomarkov.io import ReadOptions, matlab, read, registry
from ethomarkov.io.readers.stephens import read_eigenworms


def worms(n_animals=3, n_frames=40, n_modes=5, seed=0):
    rng = np.random.default_rng(seed)
    cells = rng.normal(size=(n_animals, n_frames, n_modes)).astype(np.float32).astype(float)
    cells[0, 5:9] = np.nan
    cells[-1, 3, 2] = 0.0
    return list(cells)


def write_cells(path, cells, *, variable="tr", userblock=512, empty=None):
    """Write as MATLAB v7.3 does: references by name that do not sort in the order of the cells."""
    with h5py.File(path, "w", userblock_size=userblock) as file:
        refs = file.create_group("#refs#")
        refs.create_dataset("a", data=np.zeros(2, np.uint64)).attrs["MATLAB_empty"] = np.uint8(1)
        names = [f"{chr(ord('z') - i)}{i}" for i in range(len(cells))]
        for name, cell in zip(names, cells, strict=True):
            refs.create_dataset(name, data=np.asarray(cell).T)
        table = file.create_dataset(variable, (len(cells), 1), dtype=h5py.ref_dtype)
        for i, name in enumerate(names):
            table[i, 0] = refs["a" if i == empty else name].ref
        table.attrs["MATLAB_class"] = np.bytes_("cell")
    if userblock:
        with path.open("r+b") as file:
            file.write(b"MATLAB 7.3 MAT-file, Platform: GLNXA64")


class TestAmplitudes:
    @pytest.mark.parametrize(("variable", "userblock"), [("tr", 512), ("modes_of_worms", 512), ("tr", 0)])
    def test_cells_come_in_their_own_order(self, tmp_path, variable, userblock):
        path, cells = tmp_path / "stitched.mat", worms()
        write_cells(path, cells, variable=variable, userblock=userblock)
        recording = read(path, sampling_rate=8)
        assert recording.kind == "amplitude"
        assert recording.sampling.rate == 8.0
        assert recording.dataset.attrs["rate_source"] == "stated"
        assert recording.individuals == ("worm_00", "worm_01", "worm_02")
        assert recording.dataset.attrs["source_format"] == "stephens"
        np.testing.assert_array_equal(recording.values, np.concatenate(cells).astype(np.float32))

    def test_zero_is_an_amplitude(self, tmp_path):
        write_cells(tmp_path / "tr.mat", worms())
        assert read(tmp_path / "tr.mat", sampling_rate=8).segments.count_rows().tolist() == [36, 40, 40]

    def test_all_modes_are_kept_and_rate_can_be_stated(self, tmp_path):
        write_cells(tmp_path / "tr.mat", worms(n_modes=6))
        recording = read(tmp_path / "tr.mat", sampling_rate=8)
        assert recording.values.shape[1] == 6
        assert recording.sampling.rate == 8.0

    def test_older_matlab_file(self, tmp_path):
        cells = np.empty((1, 3), dtype=object)
        cells[0, :] = worms()
        scipy.io.savemat(tmp_path / "old.mat", {"tr": cells})
        values = read(tmp_path / "old.mat", sampling_rate=8).values
        np.testing.assert_array_equal(values, np.concatenate(worms()).astype(np.float32))

    @pytest.mark.parametrize("n_modes", [5, 6])
    def test_the_rate_of_the_published_recording_is_known(self, tmp_path, n_modes):
        write_cells(tmp_path / "tr.mat", worms(1, 33_600, n_modes))
        recording = read(tmp_path / "tr.mat")
        assert recording.sampling.rate == 16.0
        assert recording.dataset.attrs["rate_source"] == "published layout"
        assert read(tmp_path / "tr.mat", sampling_rate=20).sampling.rate == 20.0

    @pytest.mark.parametrize(
        ("n_frames", "n_modes", "variable"), [(33_599, 5, "tr"), (33_600, 4, "tr"), (33_600, 5, "x")]
    )
    def test_no_rate_is_invented(self, tmp_path, n_frames, n_modes, variable):
        write_cells(tmp_path / "tr.mat", worms(1, n_frames, n_modes), variable=variable)
        with pytest.raises(SamplingError, match="sampling_rate="):
            read(tmp_path / "tr.mat")

    @pytest.mark.parametrize("lowest", [-1, 0, 1])
    @pytest.mark.parametrize("shape", [(200, 1), (1, 200), (33_600, 5)])
    @pytest.mark.parametrize("kind", [float, np.uint8, np.int16])
    def test_labels_are_no_amplitudes(self, tmp_path, lowest, shape, kind):
        states = (
            np.random.default_rng(0).integers(max(lowest, 0) if kind is np.uint8 else lowest, 8, shape).astype(kind)
        )
        if kind is float:
            states[0, 0] = np.nan
        cells = np.empty((1, 2), dtype=object)
        cells[0, :] = [states, states]
        scipy.io.savemat(tmp_path / "labels.mat", {"tr": cells})
        with pytest.raises(InputFormatError, match="labels of states, not posture amplitudes"):
            read(tmp_path / "labels.mat", sampling_rate=16)

    @pytest.mark.parametrize("decimals", [0, 1, 2, 6])
    @pytest.mark.parametrize("seed", range(5))
    def test_rounded_amplitudes_are_no_labels(self, tmp_path, seed, decimals):
        cells = [np.round(cell, decimals) for cell in worms(seed=seed)]
        write_cells(tmp_path / "tr.mat", cells)
        assert len(read(tmp_path / "tr.mat", sampling_rate=16).values) == 120

    def test_many_cells_of_one_large_array(self, tmp_path, monkeypatch):
        write_cells(tmp_path / "tr.mat", worms())
        monkeypatch.setattr(matlab, "check_declared", lambda what, *_: refused.append(what))
        refused = []
        registry.read_here(str(tmp_path / "tr.mat"), "auto", ReadOptions(sampling_rate=16))
        assert refused == [f"{tmp_path / 'tr.mat'}: tr"]

    def test_tr_is_preferred(self, tmp_path):
        path = tmp_path / "two.mat"
        write_cells(path, worms())
        with h5py.File(path, "r+") as file:
            file["other"] = file["tr"][:1]
        assert len(read(path, sampling_rate=8).individuals) == 3

    def test_several_cell_arrays_are_named(self, tmp_path):
        path = tmp_path / "two.mat"
        write_cells(path, worms(), variable="one")
        with h5py.File(path, "r+") as file:
            file["two"] = file["one"][()]
        with pytest.raises(InputFormatError, match="cell arrays one, two"):
            read(path)

    @pytest.mark.parametrize(
        ("cell", "message"),
        [
            (np.full((5, 60), 0.5), "modes in rows"),
            (np.full((60, 100), 0.5), "at most 20 modes"),
            (np.full((3, 4, 5), 0.5), "shape"),
        ],
    )
    def test_cells_of_other_shapes(self, tmp_path, cell, message):
        write_cells(tmp_path / "tr.mat", [cell, cell])
        with pytest.raises(InputFormatError, match=message):
            read(tmp_path / "tr.mat")

    def test_empty_cell(self, tmp_path):
        write_cells(tmp_path / "tr.mat", worms(), empty=1)
        with pytest.raises(InputFormatError, match="Cell 2 of tr"):
            read(tmp_path / "tr.mat")

    def test_differing_numbers_of_modes(self, tmp_path):
        write_cells(tmp_path / "tr.mat", [*worms(1), *worms(1, n_modes=6)])
        with pytest.raises(InputFormatError, match="all animals need the same"):
            read(tmp_path / "tr.mat", sampling_rate=8)

    def test_truncated_older_file(self, tmp_path):
        path = tmp_path / "old.mat"
        scipy.io.savemat(path, {"theta_ensemble": np.ones((2, 50, 10))})
        path.write_bytes(path.read_bytes()[:200])
        with pytest.raises(InputFormatError, match=r"old\.mat"):
            read(path)


def shapes(n_animals=2, n_frames=30, n_segments=12):
    rng = np.random.default_rng(1)
    theta = 0.3 * rng.normal(size=(n_animals, n_frames, n_segments)) + 1.0
    theta[0, 4:7] = 0.0
    path = rng.normal(size=(n_animals, n_frames, 2)) * 788
    path[-1, 2] = 0.0
    path[-1, 3, 0] = 0.0
    length = 405 * np.linspace(0.5, 0.7, n_animals)[:, None] * np.ones((1, n_frames))
    length[:, :3] = 0.0
    return {"theta_ensemble": theta, "wormCm": path, "wormLength": length}


class TestShapes:
    def test_angles_path_and_length(self, tmp_path):
        stored = shapes()
        scipy.io.savemat(tmp_path / "shapes.mat", stored)
        recording = read(tmp_path / "shapes.mat", sampling_rate=30)
        theta = stored["theta_ensemble"]
        assert recording.kind == "angle"
        assert recording.sampling.rate == 30.0
        assert recording.dataset.attrs["length_unit"] == "mm"
        assert recording.segments.count_rows().tolist() == [27, 30]
        values = recording.values.reshape(theta.shape)
        expected = theta - theta.mean(axis=2, keepdims=True)
        np.testing.assert_allclose(values[1], expected[1], atol=1e-6)
        assert np.isnan(values[0, 4:7]).all()
        centroid = recording.centroid.reshape(2, 30, 2)
        assert np.isnan(centroid[1, 2]).all()
        assert np.isnan(centroid).sum() == 2
        np.testing.assert_allclose(centroid[0], stored["wormCm"][0] / 788, rtol=1e-6)
        assert recording.body_lengths == pytest.approx({"worm_00": 0.5, "worm_01": 0.7})

    def test_angles_are_unwrapped_along_the_body(self, tmp_path):
        body = np.linspace(0, 2 * np.pi, 20)[None, None] * np.linspace(0.9, 1.1, 10)[None, :, None]
        scipy.io.savemat(tmp_path / "shapes.mat", {"theta_ensemble": np.angle(np.exp(1j * (body + 0.1)))})
        values = read(tmp_path / "shapes.mat", sampling_rate=30).values
        np.testing.assert_allclose(values, body[0] - body[0].mean(axis=1, keepdims=True), atol=1e-5)

    @pytest.mark.parametrize(
        "reshape",
        [
            lambda length: length.T,
            lambda length: length[..., None],
            lambda length: np.median(length, axis=1)[:, None],
            lambda length: np.median(length, axis=1)[None],
        ],
    )
    def test_lengths_in_other_shapes(self, tmp_path, reshape):
        stored = shapes()
        scipy.io.savemat(tmp_path / "s.mat", stored | {"wormLength": reshape(stored["wormLength"])})
        recording = read(tmp_path / "s.mat", sampling_rate=30)
        assert recording.body_lengths == pytest.approx({"worm_00": 0.5, "worm_01": 0.7})

    def test_without_path_and_length(self, tmp_path):
        scipy.io.savemat(tmp_path / "s.mat", {"theta_ensemble": shapes()["theta_ensemble"]})
        recording = read(tmp_path / "s.mat", sampling_rate=16)
        assert recording.centroid is None
        assert recording.body_lengths == {}
        assert recording.sampling.rate == 16.0

    def test_single_animal_keeps_its_dimensions(self, tmp_path):
        scipy.io.savemat(tmp_path / "s.mat", shapes(n_animals=1))
        assert read(tmp_path / "s.mat", sampling_rate=30).body_lengths == pytest.approx({"worm_00": 0.5})

    def test_the_rate_of_the_published_shapes_is_known(self, tmp_path):
        scipy.io.savemat(tmp_path / "s.mat", shapes(12, 30, 100))
        recording = read(tmp_path / "s.mat")
        assert recording.sampling.rate == 32.0
        assert recording.dataset.attrs["rate_source"] == "published layout"

    @pytest.mark.parametrize(("n_animals", "n_segments", "without"), [(11, 100, ""), (12, 99, ""), (12, 100, "wormCm")])
    def test_no_rate_is_invented(self, tmp_path, n_animals, n_segments, without):
        stored = shapes(n_animals, 30, n_segments)
        scipy.io.savemat(tmp_path / "s.mat", {name: values for name, values in stored.items() if name != without})
        with pytest.raises(SamplingError, match="sampling_rate="):
            read(tmp_path / "s.mat")

    def test_saved_as_v73(self, tmp_path):
        with h5py.File(tmp_path / "s.mat", "w") as file:
            for name, values in shapes().items():
                file[name] = values.T
        scipy.io.savemat(tmp_path / "old.mat", shapes())
        new, old = (read(tmp_path / name, sampling_rate=30) for name in ("s.mat", "old.mat"))
        np.testing.assert_array_equal(new.values, old.values)

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            ({"wormLength": np.ones((2, 7))}, r"wormLength has shape \(2, 7\)"),
            ({"wormCm": np.ones((2, 7, 2))}, r"wormCm has shape \(2, 7, 2\)"),
            ({"theta_ensemble": np.ones((30, 12))}, r"theta_ensemble has shape \(30, 12\)"),
        ],
    )
    def test_shapes_that_do_not_fit_are_told(self, tmp_path, change, message):
        scipy.io.savemat(tmp_path / "s.mat", shapes() | change)
        with pytest.raises(InputFormatError, match=message):
            read(tmp_path / "s.mat")


def basis(n_segments=30, n_modes=30):
    return np.linalg.qr(np.random.default_rng(2).normal(size=(n_segments, n_segments)))[0][:, :n_modes]


class TestEigenworms:
    @pytest.mark.parametrize("n_modes", [5, 30])
    @pytest.mark.parametrize("write", ["csv", "mat", "v73"])
    def test_columns_are_modes(self, tmp_path, write, n_modes):
        wanted = basis(n_modes=n_modes)
        path = tmp_path / ("EigenWorms.csv" if write == "csv" else "EigenWorms.mat")
        if write == "csv":
            np.savetxt(path, wanted, delimiter=",")
        elif write == "mat":
            scipy.io.savemat(path, {"EigenWorms": wanted})
        else:
            with h5py.File(path, "w", userblock_size=512) as file:
                file["EigenWorms"] = wanted.T
        found = read_eigenworms(path)
        assert found.dtype == np.float64
        np.testing.assert_allclose(found, wanted, atol=1e-15)

    @pytest.mark.parametrize(
        ("matrix", "message"),
        [
            (basis(30, 5).T, "Transpose"),
            (2 * basis(), "not orthonormal"),
            (np.where(np.eye(30), np.nan, basis()), "30 of 900 entries are not finite"),
            (1e200 * basis() * np.where(np.arange(30) % 2, 1, -1), "not orthonormal"),
        ],
    )
    def test_other_matrices_are_refused(self, tmp_path, matrix, message):
        np.savetxt(tmp_path / "b.csv", matrix, delimiter=",")
        with pytest.raises(InputFormatError, match=message):
            read_eigenworms(tmp_path / "b.csv")

    @pytest.mark.parametrize(
        ("text", "message"), [("a,b\n1,2\n", "not a table of numbers"), ("\n", "no text"), (None, "no such file")]
    )
    def test_other_files_are_refused(self, tmp_path, text, message):
        if text is not None:
            (tmp_path / "b.csv").write_text(text)
        with pytest.raises(InputFormatError, match=message):
            read_eigenworms(tmp_path / "b.csv")

    def test_other_variables_are_named(self, tmp_path):
        scipy.io.savemat(tmp_path / "b.mat", {"modes": basis()})
        with pytest.raises(InputFormatError, match="holds modes"):
            read_eigenworms(tmp_path / "b.mat")

    @pytest.mark.parametrize("name", ["EigenWorms.mat", "EigenWorms.csv"])
    def test_a_basis_is_no_recording(self, tmp_path, name):
        path = tmp_path / name
        if name.endswith("mat"):
            scipy.io.savemat(path, {"EigenWorms": basis()})
        else:
            np.savetxt(path, basis(100, 100), delimiter=",")
        with pytest.raises(InputFormatError, match="--basis"):
            read(path)

    @pytest.mark.real
    def test_published_basis(self, shared_data):
        assert read_eigenworms(shared_data("eigenworms.csv")).shape == (100, 100)
