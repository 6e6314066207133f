import pickle
import sys
import warnings
from pathlib import Path

import h5py
import numpy as np
import pytest

from ethomarkov.exceptions import InputFormatError, SamplingError
from ethomarkov.io import read

COORDS = ("x", "y", "likelihood")


def columns_of(poses, *, animals=(), scorer="DLC_resnet50", coords=COORDS):
    """Names of the columns as DeepLabCut has them: scorer, individuals where there are several, bodyparts, coords."""
    return [
        (scorer, *([animal] if animals else []), part, coord)
        for animal in animals or ("",)
        for part in poses.keypoints
        for coord in coords
    ]


def values_of(poses, n_animals=1):
    both = np.concatenate([poses.positions[:, :n_animals], poses.confidence[:, :n_animals, :, None]], axis=3)
    return both.reshape(poses.n_frames, -1).astype(np.float64)


def levels_of(columns):
    return (
        ["scorer", "individuals", "bodyparts", "coords"] if len(columns[0]) == 4 else ["scorer", "bodyparts", "coords"]
    )


def write_csv(path, columns, values, index=None):
    lines = [
        ",".join([level, *names]) for level, names in zip(levels_of(columns), zip(*columns, strict=True), strict=True)
    ]
    for name, row in zip(range(len(values)) if index is None else index, values, strict=True):
        lines.append(",".join([str(name), *("" if np.isnan(value) else repr(float(value)) for value in row)]))
    path.write_text("\n".join(lines) + "\n")
    return path


def to_frame(columns, values, index=None):
    pandas = pytest.importorskip("pandas")
    names = pandas.MultiIndex.from_tuples(columns, names=levels_of(columns))
    return pandas.DataFrame(values, columns=names, index=index)


def save_frame(frame, path, layout, key="df_with_missing"):
    pytest.importorskip("tables")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        frame.to_hdf(path, key=key, format=layout)
    return path


def write_fixed(path, columns, values, index=None, key="df_with_missing"):
    """Write the fixed layout of pandas with h5py alone."""
    with h5py.File(path, "w") as file:
        group = file.create_group(key)
        group.attrs["pandas_type"] = np.bytes_("frame")
        group.attrs["axis0_nlevels"], group.attrs["axis1_variety"] = len(columns[0]), np.bytes_("regular")
        for stem in ("axis0", "block0_items"):
            for place, (level, names) in enumerate(zip(levels_of(columns), zip(*columns, strict=True), strict=True)):
                words, labels = np.unique(np.char.encode(names), return_inverse=True)
                group[f"{stem}_level{place}"], group[f"{stem}_label{place}"] = words, labels
                group[f"{stem}_level{place}"].attrs["name"] = np.bytes_(level)
        group["axis1"] = np.arange(len(values)) if index is None else index
        group["block0_values"] = values
        group["block0_values"].attrs["transposed"] = 1
    return path


def write_table(path, columns, values, index=None, key="df_with_missing"):
    """Write the table layout of pandas with h5py alone."""
    rows = np.zeros(len(values), [("index", "i8"), ("values_block_0", "f8", (values.shape[1],))])
    rows["index"], rows["values_block_0"] = np.arange(len(values)) if index is None else index, values
    with h5py.File(path, "w") as file:
        group = file.create_group(key)
        group.attrs["pandas_type"] = np.bytes_("frame_table")
        group.attrs["info"] = np.bytes_(pickle.dumps({1: {"names": levels_of(columns), "type": "MultiIndex"}}, 0))
        group["table"] = rows
        group["table"].attrs["values_block_0_kind"] = np.bytes_(pickle.dumps(columns, 0))
        group["table"].attrs["index_kind"] = np.bytes_("integer")
    return path


WRITERS = {"csv": write_csv, "fixed": write_fixed, "table": write_table}
ENDINGS = {"csv": "d.csv", "fixed": "d.h5", "table": "t.h5"}


@pytest.fixture(params=WRITERS)
def write(request, tmp_path):
    """Give ``write(columns, values, index=None)`` for every layout."""
    path = tmp_path / ENDINGS[request.param]
    return lambda *content, **more: WRITERS[request.param](path, *content, **more)


class TestContent:
    @pytest.mark.parametrize("scorer", ["DLC_resnet50", "heatmap_tracker"])
    def test_one_animal(self, write, poses, check, scorer):
        path = write(columns_of(poses, scorer=scorer), values_of(poses))
        recording = read(path, sampling_rate=25)
        check(recording, individuals=("individual_0",))
        assert recording.dataset.attrs["source_format"] == "deeplabcut"

    def test_several_animals(self, write, poses, check):
        check(read(write(columns_of(poses, animals=poses.animals), values_of(poses, 2)), sampling_rate=25))

    def test_no_other_package_is_needed(self, write, poses, check, monkeypatch):
        for name in ("movement", "tables", "sleap_io"):
            monkeypatch.setitem(sys.modules, name, None)
        path = write(columns_of(poses), values_of(poses))
        check(read(path, sampling_rate=25), individuals=("individual_0",))

    def test_rate_is_needed(self, write, poses):
        with pytest.raises(SamplingError, match=r"hold no frame rate.*--rate"):
            read(write(columns_of(poses), values_of(poses)))

    def test_holes_are_missing_frames(self, write, poses):
        numbers = np.arange(poses.n_frames) + 3 * (np.arange(poses.n_frames) > 5) + 7
        recording = read(write(columns_of(poses), values_of(poses), index=numbers), sampling_rate=10)
        assert recording.time[0] == pytest.approx(0.7)
        missing = np.isnan(recording.values).all(axis=(1, 2))
        assert np.flatnonzero(missing).tolist() == [4, 6, 7, 8]

    @pytest.mark.parametrize(
        ("numbers", "message"),
        [
            (np.arange(12)[::-1], r"goes back from 11 to 10 \(row 2\)"),
            (np.arange(12) // 2, r"number 0 is there twice \(row 2\)"),
            (np.append(np.arange(11), 10**12), "a frame number is probably damaged"),
        ],
    )
    def test_wrong_frame_numbers(self, write, poses, numbers, message):
        with pytest.raises(InputFormatError, match=message):
            read(write(columns_of(poses), values_of(poses), index=numbers), sampling_rate=25)

    def test_unique_body_parts_belong_to_no_animal(self, write, poses, check):
        corners = [("DLC", "single", part, coord) for part in ("corner1", "corner2") for coord in COORDS]
        columns = columns_of(poses, animals=poses.animals, scorer="DLC") + corners
        values = np.hstack([values_of(poses, 2), np.random.default_rng(1).uniform(0.7, 1, (poses.n_frames, 6))])
        path = write(columns, values)
        check(read(path, sampling_rate=25))
        alone = read(path, sampling_rate=25, keypoints=("corner2", "corner1"))
        assert alone.individuals == ("single",)
        np.testing.assert_allclose(alone.values[:, 1], values[:, [-6, -5]] * [1, -1], rtol=1e-6)

    def test_animals_with_different_parts(self, write, poses):
        columns = columns_of(poses, animals=poses.animals)
        columns = [(s, a, "ear" if (a, p) == ("m2", "tail") else p, c) for s, a, p, c in columns]
        with pytest.raises(InputFormatError, match="'m2' has the body parts nose, back, ear, 'm1' nose, back, tail"):
            read(write(columns, values_of(poses, 2)), sampling_rate=25)

    def test_several_scorers_are_asked_for(self, write, poses, check):
        columns = columns_of(poses, scorer="A") + columns_of(poses, scorer="B")
        path = write(columns, np.hstack([values_of(poses) + 1, values_of(poses)]))
        with pytest.raises(InputFormatError, match=r"2 scorers \(A, B\).*view="):
            read(path, sampling_rate=25)
        check(read(path, sampling_rate=25, view="B"), individuals=("individual_0",))

    def test_three_dimensions_are_refused(self, write, poses):
        with pytest.raises(InputFormatError, match="x, y and z; only x and y"):
            read(write(columns_of(poses, coords=("x", "y", "z")), values_of(poses)), sampling_rate=25)

    def test_without_likelihood_nothing_is_unsure(self, write, poses):
        path = write(columns_of(poses, coords=("x", "y")), poses.positions[:, 1].reshape(poses.n_frames, -1))
        assert np.isfinite(read(path, sampling_rate=25).values).all()

    def test_further_columns_are_passed_over(self, write, poses, check):
        columns = columns_of(poses, coords=(*COORDS, "x_ens_var"))
        values = np.insert(values_of(poses), [3, 6, 9], -1.0, axis=1)
        check(read(write(columns, values), sampling_rate=25), individuals=("individual_0",))


class TestTrainingLabels:
    IMAGES = tuple(f"labeled-data/mouse/img{i:03d}.png" for i in range(12))

    def test_csv(self, tmp_path, poses):
        path = write_csv(tmp_path / "d.csv", columns_of(poses), values_of(poses), self.IMAGES)
        with pytest.raises(InputFormatError, match=r"training labels: single images \(labeled-data/mouse/img000"):
            read(path, sampling_rate=25)

    def test_csv_with_folders_as_columns(self, tmp_path, poses):
        text = write_csv(tmp_path / "d.csv", columns_of(poses), values_of(poses), self.IMAGES).read_text().splitlines()
        text = [line.replace(",", ",,,", 1) for line in text[:3]] + [line.replace("/", ",", 2) for line in text[3:]]
        (tmp_path / "d.csv").write_text("\n".join(text))
        with pytest.raises(InputFormatError, match="training labels"):
            read(tmp_path / "d.csv", sampling_rate=25)

    def test_fixed_layout(self, tmp_path, poses):
        path = write_fixed(tmp_path / "d.h5", columns_of(poses), values_of(poses), np.char.encode(self.IMAGES))
        with pytest.raises(InputFormatError, match="training labels"):
            read(path, sampling_rate=25)

    @pytest.mark.parametrize("levels", [1, 3])
    @pytest.mark.parametrize("layout", ["fixed", "table"])
    def test_as_pandas_writes_them(self, tmp_path, poses, layout, levels):
        pandas = pytest.importorskip("pandas")
        index = list(self.IMAGES)
        if levels > 1:
            if layout == "table":
                pytest.skip("pandas cannot write these")
            index = pandas.MultiIndex.from_tuples([tuple(name.split("/")) for name in index])
        path = save_frame(to_frame(columns_of(poses), values_of(poses), index), tmp_path / "d.h5", layout)
        with pytest.raises(InputFormatError, match="training labels"):
            read(path, sampling_rate=25)

    def test_by_their_name(self, tmp_path, poses):
        path = write_fixed(tmp_path / "CollectedData_me.h5", columns_of(poses), values_of(poses))
        with pytest.raises(InputFormatError, match="training labels"):
            read(path, sampling_rate=25)

    def test_other_words_are_no_frame_numbers(self, tmp_path, poses):
        path = write_csv(tmp_path / "d.csv", columns_of(poses), values_of(poses), [f"f{i}" for i in range(12)])
        with pytest.raises(InputFormatError, match="A row is named 'f0'; the number of its frame"):
            read(path, sampling_rate=25)


class TestPandasFiles:
    @pytest.mark.parametrize("layout", ["fixed", "table"])
    @pytest.mark.parametrize("key", ["df_with_missing", "keypoints", "a/b"])
    def test_equal_to_what_pandas_reads(self, tmp_path, poses, check, layout, key):
        pandas = pytest.importorskip("pandas")
        frame = to_frame(columns_of(poses, animals=poses.animals), values_of(poses, 2))
        path = save_frame(frame, tmp_path / "d.h5", layout, key)
        pandas.testing.assert_frame_equal(pandas.read_hdf(path), frame)
        check(read(path, sampling_rate=25))

    @pytest.mark.parametrize("layout", ["fixed", "table"])
    def test_numbers_of_several_sizes(self, tmp_path, poses, check, layout):
        frame = to_frame(columns_of(poses), values_of(poses))
        frame = frame.astype(dict.fromkeys(frame.columns[1::3], "float32"))
        path = save_frame(frame, tmp_path / "d.h5", layout)
        check(read(path, sampling_rate=25), individuals=("individual_0",))

    @pytest.mark.parametrize("layout", ["fixed", "table"])
    def test_times_are_no_frame_numbers(self, tmp_path, poses, layout):
        pandas = pytest.importorskip("pandas")
        index = pandas.date_range("2024-01-01", periods=poses.n_frames, freq="s")
        path = save_frame(to_frame(columns_of(poses), values_of(poses), index), tmp_path / "d.h5", layout)
        with pytest.raises(InputFormatError, match=r"named by datetime64.*frame numbers are needed"):
            read(path, sampling_rate=25)

    def test_seconds_are_no_frame_numbers(self, tmp_path, poses):
        path = write_fixed(tmp_path / "d.h5", columns_of(poses), values_of(poses), np.arange(12) / 25)
        with pytest.raises(InputFormatError, match=r"frame number 0.04; a whole number"):
            read(path, sampling_rate=25)

    def test_two_tables_without_the_usual_name(self, tmp_path, poses):
        for key in ("a", "b"):
            save_frame(to_frame(columns_of(poses), values_of(poses)), tmp_path / "d.h5", "fixed", key)
        with pytest.raises(InputFormatError, match="holds the tables a, b"):
            read(tmp_path / "d.h5", sampling_rate=25)

    def test_a_table_with_plain_columns(self, tmp_path):
        pandas = pytest.importorskip("pandas")
        frame = pandas.DataFrame({"x": [1.0, 2.0], "y": [3.0, 4.0]})
        for layout in ("fixed", "table"):
            path = save_frame(frame, tmp_path / f"{layout}.h5", layout)
            with pytest.raises(InputFormatError, match="several levels of names"):
                read(path, sampling_rate=25)


class TestCsv:
    def lines(self, tmp_path, poses):
        return write_csv(tmp_path / "d.csv", columns_of(poses), values_of(poses)).read_text().splitlines()

    @pytest.mark.parametrize("cell", ["1_5", "0x1f", "1,5", "one", "\u0661\u0665", "--1"])
    def test_what_is_no_number(self, tmp_path, poses, cell):
        lines = self.lines(tmp_path, poses)
        cells = lines[5].split(",")
        lines[5] = ",".join([*cells[:4], f'"{cell}"', *cells[5:]])
        (tmp_path / "d.csv").write_text("\n".join(lines), encoding="utf-8")
        with pytest.raises(InputFormatError, match=rf"Line 6, column DLC_resnet50 back x holds '{cell}'"):
            read(tmp_path / "d.csv", sampling_rate=25)

    def test_a_frame_number_with_an_underscore(self, tmp_path, poses):
        lines = self.lines(tmp_path, poses)
        (tmp_path / "d.csv").write_text("\n".join([*lines[:-1], "1_1" + lines[-1].removeprefix("11")]))
        with pytest.raises(InputFormatError, match="A row is named '1_1'"):
            read(tmp_path / "d.csv", sampling_rate=25)

    def test_a_row_that_is_too_short(self, tmp_path, poses):
        lines = self.lines(tmp_path, poses)
        (tmp_path / "d.csv").write_text("\n".join([*lines[:-1], lines[-1].rpartition(",")[0]]))
        with pytest.raises(InputFormatError, match="Line 15 has 9 cells, the header 10"):
            read(tmp_path / "d.csv", sampling_rate=25)

    @pytest.mark.parametrize("ending", ["\r\n", "\n\n"])
    def test_any_ends_of_lines(self, tmp_path, poses, check, ending):
        lines = self.lines(tmp_path, poses)
        text = "\ufeff" + "\n".join(lines[:3]) + "\n" + ending.join([*lines[3:], ""])
        (tmp_path / "d.csv").write_bytes(text.encode())
        check(read(tmp_path / "d.csv", sampling_rate=25), individuals=("individual_0",))

    @pytest.mark.parametrize(
        ("data", "message"),
        [
            (b"scorer,a,a\nrubbish\n", "first lines name scorer; scorer, bodyparts and coords"),
            (b"scorer\n", "first lines name scorer"),
            (b"scorer,a\nbodyparts,n\ncoords,x\n0,1\n", "'n' has the columns x; x and y are needed"),
            (b"scorer,a,a\nbodyparts,n,n\ncoords,x,y\n", "0 of 0 frames"),
            (b"scorer,a,a\nbodyparts,n,n\ncoords,x,x\n0,1,2\n", "Two columns are named a, n, x"),
            (b"scorer,\xff\n", "not UTF-8"),
            (b'scorer,"' + b"a" * 200_000, "is no CSV"),
        ],
    )
    def test_broken_files_are_told(self, tmp_path, data, message):
        (tmp_path / "d.csv").write_bytes(data)
        with pytest.raises(InputFormatError, match=message):
            read(tmp_path / "d.csv", sampling_rate=25)


def test_another_file_by_this_name(tmp_path):
    (tmp_path / "d.csv").write_text("a1,a2\n1,2\n")
    with pytest.raises(InputFormatError, match=r"a file of DeepLabCut is needed.*--format"):
        read(tmp_path / "d.csv", format="deeplabcut", sampling_rate=25)
    with h5py.File(tmp_path / "d.h5", "w") as file:
        file["x"] = [1.0]
    with pytest.raises(InputFormatError, match="holds no table of pandas, only x"):
        read(tmp_path / "d.h5", format="deeplabcut", sampling_rate=25)


# --- hostile files ---------------------------------------------------------------------------------------------


class Marker:
    """Makes a file when it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return (Path.touch, (self.path,))


@pytest.fixture
def fixed(tmp_path, poses):
    return write_fixed(tmp_path / "d.h5", columns_of(poses), values_of(poses))


@pytest.fixture
def table(tmp_path, poses):
    return write_table(tmp_path / "t.h5", columns_of(poses), values_of(poses))


def put_objects(file, name, payload):
    """Store a pickle as PyTables 1 did: it is loaded without a word when the array is read."""
    kept = dict(file[name].attrs)
    del file[name]
    file.create_dataset(name, (1,), h5py.vlen_dtype(np.uint8))
    file[name][0] = np.frombuffer(payload, np.uint8)
    for key, value in {**kept, "CLASS": b"VLARRAY", "FLAVOR": b"Object", "VERSION": b"1.0"}.items():
        file[name].attrs[key] = np.bytes_(value) if isinstance(value, bytes) else value
    file.attrs["PYTABLES_FORMAT_VERSION"] = np.bytes_("1.6")


@pytest.mark.parametrize("name", ["axis0_level1", "axis0_label1", "block0_items_level0", "axis1", "block0_values"])
def test_pickled_arrays_do_not_run(tmp_path, fixed, name):
    marker = tmp_path / "it ran"
    with h5py.File(fixed, "r+") as file:
        put_objects(file, f"df_with_missing/{name}", pickle.dumps(Marker(marker)))
    with pytest.raises(InputFormatError, match=r"pickled objects|numbers are needed"):
        read(fixed, sampling_rate=25)
    assert not marker.exists()
    pickle.loads(pickle.dumps(Marker(marker)))  # the payload is a real one
    assert marker.exists()


@pytest.mark.parametrize("protocol", [0, 2, 5])
@pytest.mark.parametrize(("where", "name"), [("table", "values_block_0_kind"), ("", "info")])
def test_pickled_attributes_do_not_run(tmp_path, table, where, name, protocol):
    marker = tmp_path / "it ran"
    with h5py.File(table, "r+") as file:
        payload = pickle.dumps([Marker(marker)], protocol)
        file[f"df_with_missing/{where}"].attrs[name] = np.void(payload) if b"\0" in payload else np.bytes_(payload)
    with pytest.raises(InputFormatError, match=r"could run code|no names of columns"):
        read(table, sampling_rate=25)
    assert not marker.exists()


def test_attributes_that_are_not_needed_are_not_looked_at(tmp_path, fixed, check):
    marker = tmp_path / "it ran"
    with h5py.File(fixed, "r+") as file:
        file.attrs["TITLE"] = file["df_with_missing"].attrs["extra"] = np.bytes_(pickle.dumps(Marker(marker), 0))
    check(read(fixed, sampling_rate=25), individuals=("individual_0",))
    assert not marker.exists()


def test_a_table_in_another_file_is_refused(tmp_path, fixed):
    with h5py.File(tmp_path / "link.h5", "w") as file:
        file["door"] = h5py.ExternalLink(str(fixed), "/")
        file["df_with_missing"] = h5py.SoftLink("/door/df_with_missing")
    with pytest.raises(InputFormatError, match="link to another file"):
        read(tmp_path / "link.h5", sampling_rate=25)


def test_circles_end(fixed, check):
    with h5py.File(fixed, "r+") as file:
        file["df_with_missing/up"] = file["/"]
        file["df_with_missing/again"] = h5py.SoftLink("/df_with_missing")
    check(read(fixed, sampling_rate=25), individuals=("individual_0",))


def replace(path, name, **dataset):
    with h5py.File(path, "r+") as file:
        group = file["df_with_missing"]
        attrs = dict(group[name].attrs)
        del group[name]
        group.create_dataset(name, **dataset).attrs.update(attrs)
    return path


@pytest.mark.parametrize(
    ("name", "dataset", "message"),
    [
        ("block0_values", {"shape": (10**9, 900), "dtype": "f8", "compression": "gzip"}, "needs .* MB"),
        ("block0_values", {"data": np.ones((12, 3))}, r"9 columns for numbers of shape \(12, 3\)"),
        ("block0_values", {"data": np.ones(9)}, "9 columns for numbers of shape"),
        ("block0_values", {"data": np.ones((12, 9), complex)}, "numbers are needed"),
        ("axis0_label1", {"data": np.full(9, 7)}, "points to names that"),
        ("axis0_label1", {"data": np.full(9, -1)}, "points to names that"),
        ("axis0_label1", {"data": np.zeros(4, int)}, "no columns with several levels"),
        ("axis0_level1", {"shape": (10**12,), "dtype": "S8", "compression": "gzip"}, "needs .* MB"),
        ("axis0_level1", {"data": np.full(3, b"nose")}, "Two columns are named"),
        ("block0_items_level1", {"data": np.full(3, b"nose")}, "two columns"),
        ("axis1", {"data": np.arange(5)}, "5 names for 12 rows"),
    ],
)
def test_damaged_fixed_layouts_are_told(fixed, name, dataset, message):
    with pytest.raises(InputFormatError, match=message):
        read(replace(fixed, name, **dataset), sampling_rate=25)


@pytest.mark.parametrize("name", ["axis0_level1", "axis0_label2", "axis1", "block0_values", "block0_items_label0"])
def test_incomplete_fixed_layouts_are_told(fixed, name):
    with h5py.File(fixed, "r+") as file:
        del file["df_with_missing"][name]
    with pytest.raises(InputFormatError, match=r"Use the CSV file beside it|levels of names"):
        read(fixed, sampling_rate=25)


ROW = [("index", "i8"), ("values_block_0", "f8", (9,))]


@pytest.mark.parametrize(
    ("dataset", "message"),
    [
        ({"shape": (10**12,), "dtype": ROW, "compression": "gzip"}, "needs .* MB"),
        ({"data": np.zeros(4, ROW[1:])}, "has no index"),
        ({"data": np.zeros((2, 2))}, "has no index"),
        ({"data": np.zeros(4, [ROW[0], ("values_block_0", "S3", (9,))])}, "numbers are needed"),
        ({"data": np.zeros(4, [ROW[0], ("values_block_0", "f8", (5,))])}, r"9 columns for numbers of shape \(4, 5\)"),
        ({"data": np.zeros(4, ROW[:1])}, "no numbers for any column"),
        ({"data": np.zeros(4, [*ROW, ("values_block_1", "f8", (9,))])}, "is not complete"),
    ],
)
def test_damaged_table_layouts_are_told(table, dataset, message):
    with pytest.raises(InputFormatError, match=message):
        read(replace(table, "table", **dataset), sampling_rate=25)
