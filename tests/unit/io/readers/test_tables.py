import csv

import h5py
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ethomarkov.exceptions import EthomarkovError, InputFormatError, SamplingError
from ethomarkov.io import read, write_recording
from ethomarkov.recording import Recording, Track
from ethomarkov.recording.orientation import remove_orientation

OTHER_FORMATS = ("stephens", "stephens-shapes", "movement", "sleap", "sleap-labels", "deeplabcut", "nwb", "npz", "hdf5")
KINDS = ("amplitude", "angle", "centerline", "position")


def write_text(path, text):
    path.write_text(text, encoding="utf-8")
    return path


def rows(n_frames=6, n_columns=3, seed=0):
    return np.random.default_rng(seed).normal(size=(n_frames, n_columns)).round(4)


def table(columns, *, delimiter=","):
    """Write a mapping from column to cells as text."""
    lines = [delimiter.join(columns)]
    lines += [delimiter.join(map(str, cells)) for cells in zip(*columns.values(), strict=True)]
    return "\n".join(lines) + "\n"


def posture(names, seed=0, n_frames=6):
    return dict(zip(names, rows(n_frames, len(names), seed).T, strict=True))


class TestCsv:
    @pytest.mark.parametrize("delimiter", [",", ";", "\t"])
    def test_amplitudes(self, tmp_path, delimiter):
        columns = {"time": np.arange(6) / 20, **posture(["a1", "a2", "a3"])}
        recording = read(write_text(tmp_path / "fly.csv", table(columns, delimiter=delimiter)))
        assert recording.kind == "amplitude"
        assert recording.individuals == ("fly",)
        assert recording.sampling.rate == pytest.approx(20)
        np.testing.assert_array_equal(recording.values, rows().astype(np.float32))

    def test_columns_may_stand_in_any_order(self, tmp_path):
        values = posture(["a1", "a2", "a3"])
        columns = {"a3": values["a3"], "time": np.arange(6), "a1": values["a1"], "a2": values["a2"]}
        recording = read(write_text(tmp_path / "fly.csv", table(columns)))
        np.testing.assert_array_equal(recording.values, rows().astype(np.float32))

    def test_tenth_column_follows_the_ninth(self, tmp_path):
        names = [f"a{i + 1}" for i in range(11)]
        recording = read(write_text(tmp_path / "f.csv", table(posture(sorted(names)))), sampling_rate=1)
        expected = rows(6, 11)[:, np.argsort(np.argsort(names))]
        np.testing.assert_array_equal(recording.values, expected.astype(np.float32))

    @pytest.mark.parametrize("missing", ["", "nan", "NaN", "NA", " "])
    def test_missing_cells(self, tmp_path, missing):
        columns = {"a1": [1, missing, 3, 4], "a2": [5, 6, 7, 5]}
        recording = read(write_text(tmp_path / "fly.csv", table(columns)), sampling_rate=10)
        assert recording.segments.valid.tolist() == [True, False, True, True]

    def test_blank_line_in_a_table_of_one_column_is_missing(self, tmp_path):
        recording = read(write_text(tmp_path / "fly.csv", "a1\n1\n\n3\n4\n"), sampling_rate=1)
        assert recording.segments.valid.tolist() == [True, False, True, True]

    def test_blank_lines_between_rows_are_skipped(self, tmp_path):
        assert len(read(write_text(tmp_path / "f.csv", "a1,a2\n1,2\n\n3,4\n\n"), sampling_rate=1).values) == 2

    def test_individuals_may_alternate(self, tmp_path):
        columns = {"individual": ["b", "a"] * 3, "time": np.repeat(np.arange(3) / 4, 2), **posture(["a1"])}
        recording = read(write_text(tmp_path / "two.csv", table(columns)))
        assert recording.individuals == ("b", "a")
        assert recording.sampling.rate == pytest.approx(4)
        expected = np.concatenate([rows(6, 1)[::2], rows(6, 1)[1::2]])
        np.testing.assert_array_equal(recording.values, expected.astype(np.float32))

    def test_frame_needs_a_rate(self, tmp_path):
        path = write_text(tmp_path / "f.csv", table({"frame": [0, 1, 4, 5, 6, 7], **posture(["a1"])}))
        with pytest.raises(SamplingError, match="sampling_rate="):
            read(path)
        recording = read(path, sampling_rate=2)
        assert recording.time[-1] == 3.5
        assert recording.segments.bounds[:, :2].tolist() == [[0, 2], [4, 8]]

    def test_no_time_needs_a_rate(self, tmp_path):
        path = write_text(tmp_path / "f.csv", table(posture(["a1"])))
        with pytest.raises(SamplingError, match="sampling_rate="):
            read(path)
        with pytest.raises(SamplingError, match="positive"):
            read(path, sampling_rate=0)

    @pytest.mark.parametrize("start", [0, 1])
    def test_angles_are_unwrapped_and_level(self, tmp_path, start):
        body = np.linspace(0, 2 * np.pi, 8) * np.linspace(0.8, 1.0, 5)[:, None]
        names = [f"theta_{i + start}" for i in range(8)]
        columns = dict(zip(names, np.angle(np.exp(1j * body)).T, strict=True))
        recording = read(write_text(tmp_path / "f.csv", table(columns)), sampling_rate=1)
        assert recording.kind == "angle"
        np.testing.assert_allclose(recording.values, body - body.mean(axis=1, keepdims=True), atol=1e-6)

    @pytest.mark.parametrize("names", [["x_0", "y_0", "x_1", "y_1"], ["x_1", "x_2", "y_1", "y_2"], ["0_x", "0_y"]])
    def test_centerline(self, tmp_path, names):
        values = posture(names)
        recording = read(write_text(tmp_path / "f.csv", table(values)), sampling_rate=1)
        assert recording.kind == "centerline"
        x = [name for name in names if "x" in name]
        np.testing.assert_array_equal(recording.values[:, :, 0], np.array([values[n] for n in x], np.float32).T)

    @pytest.mark.parametrize("pattern", ["{name}_{axis}", "{axis}_{name}"])
    def test_keypoints(self, tmp_path, pattern):
        names = [pattern.format(name=name, axis=axis) for name in ("nose", "left_ear", "tail") for axis in "xy"]
        path = write_text(tmp_path / "f.csv", table(posture(names)))
        recording = read(path, sampling_rate=1)
        assert recording.kind == "position"
        assert recording.dataset["keypoint"].values.tolist() == ["nose", "left_ear", "tail"]
        np.testing.assert_array_equal(recording.values, rows(6, 6).reshape(6, 3, 2).astype(np.float32))
        chosen = read(path, sampling_rate=1, keypoints=("tail", "left_ear", "nose"), as_centerline=True)
        assert chosen.kind == "centerline"
        np.testing.assert_array_equal(chosen.values, recording.values[:, ::-1])

    def test_centroid_and_byte_order_mark(self, tmp_path):
        text = "\ufeff" + table(posture([" A1", "Centroid_X", "centroid_y"]))
        recording = read(write_text(tmp_path / "f.csv", text), sampling_rate=1)
        np.testing.assert_array_equal(recording.centroid, rows()[:, 1:].astype(np.float32))

    def test_several_files_are_joined(self, tmp_path):
        paths = [tmp_path / "one.csv", tmp_path / "two.csv"]
        for path, seed in zip(paths, (1, 2), strict=True):
            write_text(path, table({"time": np.arange(6) / 5, **posture(["a1"], seed)}))
        assert read(paths).individuals == ("one", "two")

    def test_mixed_rates_of_two_files(self, tmp_path):
        paths = [tmp_path / "one.csv", tmp_path / "two.csv"]
        for path, rate in zip(paths, (5, 6), strict=True):
            write_text(path, table({"time": np.arange(6) / rate, **posture(["a1"])}))
        with pytest.raises(SamplingError, match=r"one.csv is sampled at 5 Hz and two.csv at 6 Hz"):
            read(paths)

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("time,a1,individaul\n0,1,x\n", "'individaul' is not understood. Did you mean 'individual'"),
            ("time,thetta_3\n0,1\n", "Did you mean 'theta_3'"),
            ("time,speed\n0,1\n", "'speed' is not understood. Accepted are a1"),
            ("a1,centriod_x,centriod_y\n1,2,3\n", "Did you mean 'centroid_x'"),
            ("a1,theta_0\n1,2\n", r"amplitudes and tangent angles .*exactly one kind"),
            ("time,individual\n1,2\n", "no posture"),
            ("a1,a2\n", "a header but no rows"),
            ("a1,a2\n1,2\n3,oops\n", r"Line 3, column 'a2' holds 'oops'"),
            ("a1;a2\n1;2\n3,5;4\n", r"Line 3, column 'a1' holds '3,5'.*decimal point"),
            ("a1,a2\n1,2\n3\n", "Line 3 has 1 cells, the header 2"),
            ("a1,a1\n1,2\n", "stands twice"),
            ("a1,a3\n1,2\n", "a2 is missing"),
            ("a2,a3\n1,2\n", "a1 is missing"),
            ("x_0,y_0,x_1\n1,2,3\n", "Point '1' has no y column"),
            ("x_0,y_0,nose_x,nose_y\n1,2,3,4\n", "some named"),
            ("a1,centroid_x\n1,2\n", "Only one of centroid_x"),
            (",a1\n0,1\n", "Column 1 has no name"),
            ("individual,a1\nx,1\n,2\n", "1 rows name no individual"),
            ("1,2,3\n4,5,6\n", "3 numbers instead of column names"),
            ("time,a1\n0,1\n0,2\n1,3\n", "duplicate times"),
            ("time,a1,a2\n0,1,7\n1,2,7\n2,3,7\n", "never changes"),
        ],
    )
    def test_bad_tables(self, tmp_path, text, message):
        with pytest.raises(EthomarkovError, match=message) as caught:
            read(write_text(tmp_path / "bad.csv", text))
        assert "bad.csv" in str(caught.value)

    def test_basis_is_told_apart(self, tmp_path):
        np.savetxt(tmp_path / "EigenWorms.csv", np.eye(100), delimiter=",")
        with pytest.raises(InputFormatError, match="--basis"):
            read(tmp_path / "EigenWorms.csv")

    def test_other_encodings_are_refused(self, tmp_path):
        (tmp_path / "latin.csv").write_bytes("individual,a1\nFächer,1\n".encode("latin-1"))
        with pytest.raises(InputFormatError, match="UTF-8"):
            read(tmp_path / "latin.csv")

    def test_oversized_cells_are_refused(self, tmp_path):
        path = write_text(tmp_path / "big.csv", f'a1,a2\n"{"1" * (csv.field_size_limit() + 1)}",2\n')
        with pytest.raises(InputFormatError, match="not a table"):
            read(path)

    @pytest.mark.slow
    def test_a_long_table_is_read(self, tmp_path):
        columns = {"individual": ["worm"] * 100_000, "time": np.arange(100_000) / 16, **posture_long(6)}
        write_text(tmp_path / "long.csv", table(columns))
        assert len(read(tmp_path / "long.csv").values) == 100_000


def posture_long(n_modes):
    return posture([f"a{i + 1}" for i in range(n_modes)], n_frames=100_000)


class TestNpz:
    @pytest.mark.parametrize(
        ("name", "kind", "shape"),
        [
            ("amplitudes", "amplitude", (8, 3)),
            ("modes", "amplitude", (8, 3)),
            ("angles", "angle", (8, 5)),
            ("theta", "angle", (8, 5)),
            ("centerline", "centerline", (8, 4, 2)),
            ("points", "centerline", (8, 4, 2)),
            ("positions", "position", (8, 4, 2)),
        ],
    )
    @pytest.mark.parametrize("ending", ["npz", "h5"])
    def test_spellings(self, tmp_path, name, kind, shape, ending):
        values = np.random.default_rng(0).uniform(-1, 1, shape)
        path = tmp_path / f"fly.{ending}"
        if ending == "npz":
            np.savez(path, **{name: values}, fps=20)
        else:
            with h5py.File(path, "w") as file:
                file[name], file["fps"] = values, 20
        recording = read(path)
        expected = remove_orientation(values)[0] if kind == "angle" else values
        assert (recording.kind, recording.individuals, recording.sampling.rate) == (kind, ("fly",), 20.0)
        np.testing.assert_array_equal(recording.values, expected.astype(np.float32))

    @pytest.mark.parametrize(("name", "shape"), [("amplitudes", (2, 8, 3)), ("positions", (2, 8, 3, 2))])
    def test_several_animals_stacked(self, tmp_path, name, shape):
        values = np.random.default_rng(0).normal(size=shape)
        centroid = np.random.default_rng(1).normal(size=(2, 8, 2))
        np.savez(
            tmp_path / "two.npz", **{name: values}, time=np.arange(8) / 5, centroid_mm=centroid, body_length=[1.0, 2.0]
        )
        recording = read(tmp_path / "two.npz")
        assert recording.individuals == ("animal_1", "animal_2")
        assert recording.sampling.rate == pytest.approx(5)
        assert recording.body_lengths == {"animal_1": 1.0, "animal_2": 2.0}
        assert recording.dataset.attrs["length_unit"] == "mm"
        np.testing.assert_array_equal(recording.values, values.reshape(-1, *shape[2:]).astype(np.float32))
        np.testing.assert_array_equal(recording.centroid, centroid.reshape(-1, 2).astype(np.float32))

    def test_names(self, tmp_path):
        np.savez(
            tmp_path / "a.npz",
            positions=np.random.default_rng(0).normal(size=(6, 2, 2)),
            keypoints=["nose", "tail"],
            individual=["p", "p", "p", "q", "q", "q"],
            sampling_rate=3,
            basis=np.eye(3),
        )
        recording = read(tmp_path / "a.npz")
        assert recording.individuals == ("p", "q")
        assert recording.dataset["keypoint"].values.tolist() == ["nose", "tail"]

    def test_names_in_hdf5_and_one_name_for_all(self, tmp_path):
        with h5py.File(tmp_path / "a.h5", "w") as file:
            file["positions"] = np.random.default_rng(0).normal(size=(6, 2, 2))
            file["keypoints"] = ["nose", "tail"]
            file["individual"] = "mäuse"
            file["fps"] = 3
        recording = read(tmp_path / "a.h5")
        assert recording.individuals == ("mäuse",)
        assert recording.dataset["keypoint"].values.tolist() == ["nose", "tail"]

    def test_matlab_arrays_are_turned(self, tmp_path):
        with h5py.File(tmp_path / "a.mat", "w", userblock_size=512) as file:
            file["modes"] = rows().T
            file["modes"].attrs["MATLAB_class"] = np.bytes_("double")
        np.testing.assert_array_equal(read(tmp_path / "a.mat", sampling_rate=1).values, rows().astype(np.float32))

    def test_stated_rate_wins(self, tmp_path):
        np.savez(tmp_path / "a.npz", amplitudes=rows(), fps=20)
        assert read(tmp_path / "a.npz", sampling_rate=10).sampling.rate == 10

    @pytest.mark.parametrize(
        ("arrays", "message"),
        [
            ({"amplitudes": np.array([1, None])}, "Pickled arrays are never loaded"),
            ({"amplitudes": rows(), "angles": rows()}, "amplitudes and angles"),
            ({"amplitudes": rows(), "modes": rows()}, "amplitudes and modes"),
            ({"amplitudes": rows(), "centriod": rows()}, "Did you mean 'centroid'"),
            ({"centroid": rows()}, "no posture"),
            ({"amplitudes": rows()[:, 0]}, r"shape \(6,\)"),
            ({"centerline": rows(6, 3)[:, None]}, r"shape \(6, 1, 3\)"),
            ({"amplitudes": rows().astype(str)}, "real numbers"),
            ({"amplitudes": rows(), "centroid": rows(5, 2)}, r"\(6, 2\) is needed"),
            ({"amplitudes": rows(), "time": np.arange(5)}, r"time has shape \(5,\)"),
            ({"amplitudes": rows(), "individual": ["a"] * 5}, r"individual has shape \(5,\)"),
            ({"amplitudes": rows(), "fps": [1, 2]}, "single number"),
            ({"amplitudes": rows(), "fps": 1, "sampling_rate": 1}, "keep one"),
            ({"amplitudes": rows(), "fps": 1, "body_length": [1, 2]}, "1 animals"),
            ({"amplitudes": rows()[None].repeat(2, 0), "fps": 1, "individual": ["a", "a"]}, "same name"),
            ({"positions": rows(6, 4).reshape(6, 2, 2), "fps": 1, "keypoints": ["a", "a"]}, "same name"),
            ({"amplitudes": rows(), "time": np.zeros(6)}, "All times are equal"),
        ],
    )
    def test_bad_arrays(self, tmp_path, arrays, message):
        np.savez(tmp_path / "bad.npz", **arrays)
        with pytest.raises(EthomarkovError, match=message) as caught:
            read(tmp_path / "bad.npz")
        assert "bad.npz" in str(caught.value)

    def test_an_array_without_a_name(self, tmp_path):
        np.save(tmp_path / "a.npy", rows())
        with pytest.raises(InputFormatError, match=r"np\.savez"):
            read(tmp_path / "a.npy")

    def test_groups_are_no_arrays(self, tmp_path):
        with h5py.File(tmp_path / "a.h5", "w") as file:
            file.create_group("amplitudes")
        with pytest.raises(InputFormatError, match="is a group"):
            read(tmp_path / "a.h5")

    def test_damaged_archive(self, tmp_path):
        path = tmp_path / "a.npz"
        np.savez(path, amplitudes=rows(60))
        data = bytearray(path.read_bytes())
        data[400:700] = bytes(300)
        path.write_bytes(data)
        with pytest.raises(InputFormatError, match="copy it again"):
            read(path)

    def test_named_format_of_another_file(self, tmp_path):
        path = write_text(tmp_path / "a.csv", "a1\n1\n2\n")
        with pytest.raises(InputFormatError, match="not an NPZ"):
            read(path, format="npz")
        with pytest.raises(InputFormatError, match="cannot be read"):
            read(path, format="hdf5")

    @pytest.mark.parametrize("format", OTHER_FORMATS)
    def test_every_format_says_that_a_table_is_not_its_own(self, tmp_path, format):
        path = write_text(tmp_path / "a.csv", "a1\n1\n2\n")
        with pytest.raises(EthomarkovError, match=r"a\.csv"):
            read(path, format=format, sampling_rate=1)

    @pytest.mark.real
    def test_worm_6(self, shared_data):
        recording = read(shared_data("worm6.npz"))
        assert recording.kind == "amplitude"
        assert recording.individuals == ("worm6",)
        assert recording.values.shape == (33600, 5)
        assert recording.sampling.rate == 16.0
        assert int((~recording.segments.valid).sum()) == 434
        assert recording.dataset.attrs["length_unit"] == "mm"
        assert recording.centroid.shape == (33600, 2)


ANIMAL_NAMES = st.text(st.characters(codec="utf-8", categories=("L", "N", "P", "Zs")), min_size=1, max_size=6)


def random_track(name, kind, n_features, *, centroid, rng):
    n_frames = int(rng.integers(3, 30))
    shape = (n_frames, n_features) if kind in ("amplitude", "angle") else (n_frames, n_features, 2)
    values = (
        remove_orientation(rng.uniform(-0.7, 0.7, shape))[0]
        if kind == "angle"
        else 10 ** rng.uniform(-3, 3) * rng.normal(size=shape)
    )
    gap = rng.random(n_frames) < rng.choice([0.0, 0.3])
    values[1:-1][gap[1:-1]] = np.nan
    if values.ndim == 3:
        values[1, 0] = np.nan
    return Track(
        individual=name,
        values=values,
        time=rng.uniform(0, 100) + np.arange(n_frames) / 16,
        centroid=rng.normal(size=(n_frames, 2)) if centroid else None,
        body_length=rng.uniform(0.5, 2.0) if centroid and rng.random() < 0.5 else None,
    )


@st.composite
def recordings(draw):
    kind = draw(st.sampled_from(KINDS))
    n_features = draw(st.integers(1 if kind == "amplitude" else 2, 4))
    names = draw(st.lists(ANIMAL_NAMES, min_size=1, max_size=3, unique=True))
    keypoints = ["nose", "left ear", "Ohr,rechts", "tail"][:n_features] if kind == "position" else None
    rng, centroid = np.random.default_rng(draw(st.integers(0, 2**32))), draw(st.booleans())
    tracks = [random_track(name, kind, n_features, centroid=centroid, rng=rng) for name in names]
    return Recording.from_tracks(tracks, kind=kind, sampling_rate=16.0, labels=keypoints)


ROUND_TRIP = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))


class TestRoundTrip:
    @ROUND_TRIP
    @given(recordings())
    def test_npz_is_exact(self, tmp_path_factory, recording):
        path = write_recording(recording, tmp_path_factory.mktemp("npz") / "r.npz")
        again = read(path)
        assert again.kind == recording.kind
        assert again.individuals == recording.individuals
        assert again.sampling == recording.sampling
        assert again.body_lengths == recording.body_lengths
        np.testing.assert_array_equal(again.values, recording.values)
        np.testing.assert_array_equal(again.time, recording.time)
        np.testing.assert_array_equal(again.segments.offsets, recording.segments.offsets)
        assert (again.centroid is None) == (recording.centroid is None)
        if recording.centroid is not None:
            np.testing.assert_array_equal(again.centroid, recording.centroid)

    @ROUND_TRIP
    @given(recordings())
    def test_csv_keeps_seven_digits(self, tmp_path_factory, recording):
        path = write_recording(recording, tmp_path_factory.mktemp("csv") / "r.csv")
        again = read(path)
        assert again.kind == recording.kind
        assert again.individuals == recording.individuals
        assert again.sampling.rate == pytest.approx(recording.sampling.rate, rel=1e-9)
        np.testing.assert_allclose(again.values, recording.values, rtol=2e-6, atol=1e-6)
        np.testing.assert_array_equal(again.segments.valid, recording.segments.valid)
        if recording.centroid is not None:
            np.testing.assert_allclose(again.centroid, recording.centroid, rtol=2e-6)

    def test_units_and_keypoints_survive_npz(self, tmp_path):
        track = Track(individual="m", values=np.random.default_rng(0).normal(size=(5, 2, 2)), centroid=rows(5, 2))
        recording = Recording.from_tracks(
            [track], kind="position", sampling_rate=3, labels=["a", "b"], attrs={"length_unit": "cm"}
        )
        again = read(write_recording(recording, tmp_path / "m.npz"))
        assert again.dataset.attrs["length_unit"] == "cm"
        assert again.dataset["keypoint"].values.tolist() == ["a", "b"]

    @pytest.mark.parametrize("labels", [None, ["centroid", "b"], [" a", "b"], ["a;;;;", "b"]])
    def test_keypoints_that_a_csv_cannot_name(self, tmp_path, labels):
        track = Track(individual="m", values=np.random.default_rng(0).normal(size=(5, 2, 2)))
        recording = Recording.from_tracks([track], kind="position", sampling_rate=3, labels=labels)
        with pytest.raises(InputFormatError, match="cannot be told apart"):
            write_recording(recording, tmp_path / "m.csv")
        assert not list(tmp_path.iterdir())
