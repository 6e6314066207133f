"""One small valid file of every format and layout.

To add a format, write a function that writes one file and add it to `SAMPLES`. They are made with numpy, h5py, scipy
and csv, so that they need no program of the formats, and with the same bytes every time as far as those allow.
"""

import csv
import io
import json
import struct
import tempfile
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import Any

import h5py
import numpy as np

URL = "http://127.0.0.1:PORT0/film.mp4"
"""Where a reader could be led astray; `PORT0` becomes a port that is listened to."""

N_FRAMES, N_POINTS, N_MODES = 24, 8, 4
RATE = 25.0
KEYPOINTS = ("nose", "back", "tail")
ANIMALS = ("m1", "m2")
KEY = "what the answers depend on"


def read_recording(path: Path, options: Mapping[str, Any]) -> object:
    from ethomarkov.io import read
    from ethomarkov.recording import Recording

    return _of(Recording, read(path, **options))


def read_basis(path: Path, _: Mapping[str, Any]) -> object:
    from ethomarkov.posture import PostureBasis

    return _of(PostureBasis, PostureBasis.from_file(path, n_modes=3))


def read_study(path: Path, _: Mapping[str, Any]) -> object:
    from ethomarkov.study.study import KEPT, Study

    study = Study.load(path)
    for stage in KEPT:  # results are read when they are asked for
        for name in stage.gives:
            study.graph.result(name)
    return _of(Study, study)


def read_log(path: Path, _: Mapping[str, Any]) -> object:
    from ethomarkov.io.task_log import TaskLog

    log = TaskLog(path, KEY)
    try:
        return [log.recall(10) for _ in range(3)]
    finally:
        log.close()


def read_toml(path: Path, _: Mapping[str, Any]) -> object:
    from ethomarkov.study.settings import SettingsFile, read_settings

    return _of(SettingsFile, read_settings(path))


def _of(kind: type, found: object) -> object:
    if not isinstance(found, kind):
        raise TypeError(f"{found!r} came out where {kind.__name__} should")
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """A valid file.

    Parameters
    ----------
    name
        Of the format and its layout.
    file
        Name of the file; formats are told by its ending as well.
    make
        Writes it.
    options
        With which it is read.
    load
        Reads it.
    seals
        Whether its content is followed by a digest, which has to be made again for a change to get any further.
    writes
        Whether reading may repair the file.
    here
        Whether it is read in the process that asks for it, which a crash would end.
    """

    name: str
    file: str
    make: Callable[[Path], None]
    options: Mapping[str, Any] = field(default_factory=dict)
    load: Callable[[Path, Mapping[str, Any]], object] = read_recording
    seals: bool = False
    writes: bool = False
    here: bool = False


@cache
def content_of(sample_name: str) -> bytes:
    """Make a sample and give its bytes."""
    sample = BY_NAME[sample_name]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / sample.file
        sample.make(path)
        return path.read_bytes()


# --- postures --------------------------------------------------------------------------------------------------------


def waves(n_columns: int = N_MODES, n_frames: int = N_FRAMES) -> np.ndarray:
    rng = np.random.default_rng(0)
    phase = np.cumsum(rng.normal(0.4, 0.1, n_frames))
    values = np.stack([np.cos(phase + k) for k in range(n_columns)], axis=1)
    values[5] = np.nan
    return values.round(4)


def lines() -> np.ndarray:
    """Crawling bodies of about 1 mm, (frames, points, 2)."""
    along, when = np.linspace(0, 1, N_POINTS), np.arange(N_FRAMES)[:, None]
    return np.stack([along + 0.01 * when, 0.1 * np.sin(6 * along + 0.3 * when)], axis=2).round(5)


def poses(n_animals: int = 2) -> tuple[np.ndarray, np.ndarray]:
    """Image coordinates (frames, animals, keypoints, 2) and how sure they are."""
    rng = np.random.default_rng(1)
    positions = rng.uniform(0, 500, (N_FRAMES, n_animals, len(KEYPOINTS), 2)).round(2)
    positions[4, 0] = np.nan
    return positions, rng.uniform(0.7, 1.0, positions.shape[:3]).round(3)


def times() -> np.ndarray:
    return np.arange(N_FRAMES) / RATE


# --- tables ----------------------------------------------------------------------------------------------------------


def _table(header: list[str], columns: list[np.ndarray], delimiter: str = ",") -> Callable[[Path], None]:
    def make(path: Path) -> None:
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, delimiter=delimiter, lineterminator="\n")
            writer.writerow(header)
            writer.writerows(np.column_stack(columns).tolist())

    return make


def _named_rows(path: Path) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, delimiter=";", lineterminator="\n")
        writer.writerow(["individual", "frame", "nose_x", "nose_y", "tail_x", "tail_y", "centroid_x", "centroid_y"])
        for animal in ("=worm", '"b"'):
            writer.writerows([animal, i, *row, 0.5, 0.25] for i, row in enumerate(waves().tolist()))


def _npz(**arrays: Any) -> Callable[[Path], None]:
    return lambda path: np.savez_compressed(path, **arrays)


def _hdf5_table(path: Path) -> None:
    with h5py.File(path, "w") as file:
        file.create_dataset("angles", data=waves(9), chunks=(8, 9), compression="gzip")
        file["time"], file["individual"] = times(), "worm"


def _native(path: Path) -> None:
    from ethomarkov.io import write_recording
    from ethomarkov.recording import Recording, Track

    track = Track(individual="one", values=waves(), centroid=lines()[:, 0])
    write_recording(Recording.from_tracks([track], kind="amplitude", sampling_rate=RATE), path)


# --- worms -----------------------------------------------------------------------------------------------------------


def wcon_text() -> str:
    points = lines()
    one = {"id": "1", "t": times().tolist(), "x": points[..., 0].tolist(), "y": points[..., 1].tolist(), "ox": [0.0]}
    one["ox"] = [0.0] * N_FRAMES
    one["oy"] = [0.5] * N_FRAMES
    units = {"t": "s", "x": "mm", "y": "mm", "ox": "mm", "oy": "mm"}
    return json.dumps({"units": units, "metadata": {"who": "A. Worm", "seen": URL}, "data": [one]})


def _wcon(path: Path) -> None:
    path.write_text(wcon_text(), encoding="utf-8")


def _wcon_zip(path: Path) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        member = zipfile.ZipInfo("worm.wcon")
        member.compress_type = zipfile.ZIP_DEFLATED
        archive.writestr(member, wcon_text())


TIERPSY_ATTRS = {
    "fps": 25.0,
    "expected_fps": 25.0,
    "time_units": np.bytes_("seconds"),
    "microns_per_pixel": 10.0,
    "xy_units": np.bytes_("micrometers"),
    "ventral_side": np.bytes_("clockwise"),
}
TRAJECTORY = [
    ("frame_number", "<i4"),
    ("worm_index_joined", "<i4"),
    ("skeleton_id", "<i4"),
    ("coord_x", "<f4"),
    ("coord_y", "<f4"),
    ("has_skeleton", "u1"),
    ("is_good_skel", "u1"),
]


def _tierpsy(points: str, table: str) -> Callable[[Path], None]:
    rows = np.zeros(N_FRAMES, dtype=TRAJECTORY)
    rows["frame_number"] = rows["skeleton_id"] = np.arange(N_FRAMES)
    rows["worm_index_joined"] = rows["has_skeleton"] = rows["is_good_skel"] = 1
    old = [("worm_index", "<i4"), ("timestamp", "<i4"), ("skeleton_id", "<i4"), ("length", "<f4")]
    features = np.zeros(N_FRAMES, dtype=old)
    features["worm_index"], features["timestamp"] = 2, np.arange(N_FRAMES)

    def make(path: Path) -> None:
        with h5py.File(path, "w") as file:
            file.create_dataset(points, data=(lines() * 1000).astype("f4"), chunks=(6, N_POINTS, 2), compression="gzip")
            file[table] = features if table == "features_timeseries" else rows
            file["timestamp/time"] = times()
            file["experiment_info"] = np.bytes_(json.dumps({"ventral_side": "clockwise"}))
            file[table].attrs.update(TIERPSY_ATTRS)

    return make


def _wormpose(*groups: str, **attrs: object) -> Callable[[Path], None]:
    def make(path: Path) -> None:
        with h5py.File(path, "w") as file:
            file.attrs.update(attrs)
            for name in groups:
                file[f"{name}/theta"] = np.cumsum(waves(12), axis=1).astype("f4")
                file[f"{name}/scores"] = np.ones(N_FRAMES)

    return make


def _write_mat(path: Path, **arrays: object) -> None:
    """Write a MATLAB file of version 5, with the date of its header taken out."""
    from scipy.io import savemat

    stream = io.BytesIO()
    savemat(stream, arrays, do_compression=path.name.startswith("packed"))
    body = stream.getvalue()
    path.write_bytes(b"MATLAB 5.0 MAT-file".ljust(116) + body[116:])


def _cells() -> np.ndarray:
    cells = np.empty((1, 2), dtype=object)
    cells[0, 0], cells[0, 1] = waves(), waves()[::-1]
    return cells


def _shapes() -> dict[str, np.ndarray]:
    theta = np.stack([waves(12), waves(12)])
    theta[0, 3] = 0.0
    theta[np.isnan(theta)] = 0.0
    return {
        "theta_ensemble": theta,
        "wormCm": 788 * np.ones((2, N_FRAMES, 2)),
        "wormLength": 405 * np.ones((2, N_FRAMES)),
    }


def _write_mat73(path: Path, arrays: Mapping[str, np.ndarray], cells: str = "") -> None:
    """Write as MATLAB 7.3 does: HDF5 behind a block of 512 bytes, cells by reference."""
    with h5py.File(path, "w", userblock_size=512) as file:
        for name, values in arrays.items():
            file[name] = np.asarray(values).T
            file[name].attrs["MATLAB_class"] = np.bytes_("double")
        if cells:
            table = file.create_dataset(cells, (2, 1), dtype=h5py.ref_dtype)
            table.attrs["MATLAB_class"] = np.bytes_("cell")
            for i, cell in enumerate(_cells().ravel()):
                file[f"#refs#/{'zb'[i]}"] = cell.T
                table[i, 0] = file[f"#refs#/{'zb'[i]}"].ref
    with path.open("r+b") as file:
        file.write(b"MATLAB 7.3 MAT-file, Platform: GLNXA64".ljust(124) + b"\x00\x02IM")


def _wormpose_features(path: Path) -> None:
    with h5py.File(path, "w") as file:
        file["skeletons"], file["width"] = 100 * lines(), np.ones((N_FRAMES, N_POINTS))
        file.attrs["framerate"] = RATE


def _tracker2() -> dict[str, Any]:
    """Give the structures of a feature file of Worm Tracker 2."""
    points = 1000 * lines()[:, np.linspace(0, N_POINTS - 1, 49).astype(int)]
    resolution = {"fps": RATE, "micronsPerPixels": {"x": -4.0, "y": 4.0}}
    return {
        "worm": {
            "posture": {"skeleton": {"x": points[..., 0].T, "y": points[..., 1].T}},
            "path": {"coordinates": {"x": points[:, 24, 0][None], "y": points[:, 24, 1][None]}},
        },
        "info": {"video": {"resolution": resolution}, "experiment": {"worm": {"ventralSide": "clockwise"}}},
    }


def _jabs(path: Path, *, version: int) -> None:
    rng = np.random.default_rng(2)
    mice = () if version == 2 else (2,)
    with h5py.File(path, "w") as file:
        group = file.create_group("poseest")
        group.attrs["version"], group.attrs["cm_per_pixel"] = np.array([version, 0], "u2"), np.float32(0.1)
        group["points"] = rng.integers(0, 500, (N_FRAMES, *mice, 12, 2)).astype("u2")
        group["confidence"] = rng.uniform(0.7, 1, (N_FRAMES, *mice, 12)).astype("f4")
        if mice:
            group["instance_count"] = np.full(N_FRAMES, 2, "u1")
            group["instance_track_id"] = np.tile(np.array([0, 1], "u4"), (N_FRAMES, 1))
            group["instance_embed_id"] = np.tile(np.array([1, 2], "u4"), (N_FRAMES, 1))
            group["id_mask"] = np.zeros((N_FRAMES, 2), bool)
            file["static_objects/corners"] = np.zeros((4, 2), "u2")


def _leap(path: Path) -> None:
    positions, confidence = poses(1)
    with h5py.File(path, "w") as file:
        file["positions_pred"] = positions[:, 0].transpose(0, 2, 1).astype("f4")
        file["conf_pred"] = confidence[:, 0].astype("f4")


def _leap_mat(path: Path) -> None:
    positions, confidence = poses(1)
    _write_mat(path, positions_pred=positions[:, 0].transpose(1, 2, 0), conf_pred=confidence[:, 0].T)


def basis() -> np.ndarray:
    return np.linalg.qr(np.vander(np.linspace(-1, 1, 20), 4, increasing=True))[0]


def _basis_csv(path: Path) -> None:
    np.savetxt(path, basis(), delimiter=",", fmt="%.12g")


# --- poses -----------------------------------------------------------------------------------------------------------


def _deeplabcut_csv(*animals: str, scorer: str = "DLC_resnet50") -> Callable[[Path], None]:
    positions, confidence = poses(max(len(animals), 1))
    columns = [(a, k, c) for a in range(positions.shape[1]) for k in KEYPOINTS for c in ("x", "y", "likelihood")]
    header = [["scorer"] + [scorer] * len(columns)]
    if animals:
        header.append(["individuals"] + [animals[a] for a, _, _ in columns])
    header.append(["bodyparts"] + [k for _, k, _ in columns])
    header.append(["coords"] + [c for _, _, c in columns])
    values = np.concatenate([positions, confidence[..., None]], axis=3).reshape(N_FRAMES, -1)

    def make(path: Path) -> None:
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerows(header)
            writer.writerows([i, *("" if np.isnan(v) else v for v in row)] for i, row in enumerate(values.tolist()))

    return make


def _tables_attrs(item: h5py.HLObject, **attrs: object) -> None:
    """Set attributes as PyTables does: words in UTF-8 of fixed length, what is pickled as bytes."""
    for name, value in attrs.items():
        if isinstance(value, str):
            item.attrs.create(name, value.encode(), dtype=h5py.string_dtype("utf-8", len(value)))
        else:
            item.attrs[name] = np.bytes_(value) if isinstance(value, bytes) else value


def _deeplabcut_values() -> np.ndarray:
    positions, confidence = poses(1)
    return np.concatenate([positions, confidence[..., None]], axis=3).reshape(N_FRAMES, -1)


def _tables_group(file: h5py.File, **attrs: object) -> h5py.Group:
    _tables_attrs(file, CLASS="GROUP", PYTABLES_FORMAT_VERSION="2.1", TITLE=h5py.Empty("S1"), VERSION="1.0")
    group = file.create_group("df_with_missing")
    _tables_attrs(group, CLASS="GROUP", TITLE=h5py.Empty("S1"), VERSION="1.0", encoding="UTF-8", errors="strict")
    _tables_attrs(group, **attrs)
    return group


def _tables_array(group: h5py.Group, place: str, values: np.ndarray, **attrs: object) -> None:
    group[place] = values
    _tables_attrs(group[place], CLASS="ARRAY", FLAVOR="numpy", TITLE=h5py.Empty("S1"), VERSION="2.4")
    _tables_attrs(group[place], transposed=np.uint8(1), **attrs)


def deeplabcut_fixed(path: Path) -> None:
    """Write a frame as pandas does in its fixed layout."""
    levels = {"scorer": ["DLC"], "bodyparts": sorted(KEYPOINTS), "coords": ["likelihood", "x", "y"]}
    codes = [[0] * 9, [1, 1, 1, 0, 0, 0, 2, 2, 2], [1, 2, 0] * 3]
    with h5py.File(path, "w") as file:
        group = _tables_group(file, pandas_type="frame", ndim=2, nblocks=1, axis1_variety="regular")
        for axis in ("axis0", "block0_items"):
            _tables_attrs(group, **{f"{axis}_variety": "multi", f"{axis}_nlevels": 3})
            for i, (name, words) in enumerate(levels.items()):
                about = {"kind": "string", "name": name, "nan_rep": h5py.Empty("S1"), f"{axis}_name{name}": name}
                _tables_array(group, f"{axis}_level{i}", np.array(words, dtype="S"), **about)
                _tables_array(group, f"{axis}_label{i}", np.array(codes[i], dtype="i1"))
        _tables_array(group, "axis1", np.arange(N_FRAMES), kind="integer", name=b"N.")
        _tables_array(group, "block0_values", _deeplabcut_values())


def _pickled_columns() -> bytes:
    """Give the list of column names as the text protocol of pickle, which is what PyTables stores."""
    rows = [f"(VDLC\nV{k}\nV{c}\nt" for k in KEYPOINTS for c in ("x", "y", "likelihood")]
    return ("(l" + "".join(row + "a" for row in rows)).encode()


def deeplabcut_table(path: Path) -> None:
    """Write a frame as pandas does in its table layout."""
    values = _deeplabcut_values()
    rows = np.zeros(N_FRAMES, dtype=[("index", "<i8"), ("values_block_0", "<f8", (values.shape[1],))])
    rows["index"], rows["values_block_0"] = np.arange(N_FRAMES), values
    names = b"(dVnames\n(lVscorer\naVbodyparts\naVcoords\nasVtype\nVMultiIndex\ns"
    with h5py.File(path, "w") as file:
        group = _tables_group(
            file,
            pandas_type="frame_table",
            table_type="appendable_frame",
            levels=1,
            nan_rep=b"N.",
            data_columns=b"(l.",
            index_cols=b"(l(I0\nVindex\nta.",
            values_cols=b"(lVvalues_block_0\na.",
            info=b"(dI1\n" + names + b"sVindex\n(dsVvalues_block_0\n(ds.",
            non_index_axes=b"(l(I1\n" + _pickled_columns() + b"ta.",
        )
        group.create_dataset("table", data=rows, maxshape=(None,), chunks=(16,))
        _tables_attrs(
            group["table"],
            CLASS="TABLE",
            TITLE=h5py.Empty("S1"),
            VERSION="2.7",
            NROWS=N_FRAMES,
            FIELD_0_NAME="index",
            FIELD_0_FILL=0,
            FIELD_1_NAME="values_block_0",
            FIELD_1_FILL=0.0,
            index_kind="integer",
            values_block_0_dtype="float64",
            values_block_0_kind=_pickled_columns() + b".",
            values_block_0_meta=b"N.",
        )


def _sleap_analysis(path: Path) -> None:
    positions, confidence = poses()
    with h5py.File(path, "w") as file:
        file["tracks"] = positions.transpose(1, 3, 2, 0)
        file["point_scores"] = confidence.transpose(1, 2, 0)
        file["node_names"] = np.array(KEYPOINTS, dtype="S")
        file["track_names"] = np.array(ANIMALS, dtype="S")
        file["track_occupancy"] = np.ones((N_FRAMES, 2), "u1")
        file["video_path"] = URL
        file["labels_path"] = URL


SLEAP_FRAMES = [("frame_id", "<u8"), ("video", "<u4"), ("frame_idx", "<u8")]
SLEAP_FRAMES += [("instance_id_start", "<u8"), ("instance_id_end", "<u8")]
SLEAP_INSTANCES = [("instance_id", "<i8"), ("instance_type", "u1"), ("frame_id", "<u8"), ("skeleton", "<u4")]
SLEAP_INSTANCES += [("track", "<i4"), ("from_predicted", "<i8"), ("score", "<f4"), ("point_id_start", "<u8")]
SLEAP_INSTANCES += [("point_id_end", "<u8"), ("tracking_score", "<f4")]
SLEAP_POINTS = [("x", "<f8"), ("y", "<f8"), ("visible", "?"), ("complete", "?")]


def _sleap_rows() -> dict[str, np.ndarray]:
    positions, confidence = poses()
    n_points = len(KEYPOINTS)
    frames = np.zeros(N_FRAMES, dtype=SLEAP_FRAMES)
    frames["frame_id"] = frames["frame_idx"] = np.arange(N_FRAMES)
    frames["instance_id_start"] = 2 * np.arange(N_FRAMES)
    frames["instance_id_end"] = 2 * np.arange(1, N_FRAMES + 1)
    instances = np.zeros(2 * N_FRAMES, dtype=SLEAP_INSTANCES)
    order = np.arange(2 * N_FRAMES)
    instances["instance_id"], instances["instance_type"] = order, 1
    instances["frame_id"], instances["track"], instances["from_predicted"] = order // 2, order % 2, -1
    instances["score"], instances["point_id_start"] = 1, n_points * order
    instances["point_id_end"] = n_points * (order + 1)
    points = np.zeros(2 * N_FRAMES * n_points, dtype=[*SLEAP_POINTS, ("score", "<f8")])
    points["x"], points["y"] = positions[..., 0].ravel(), positions[..., 1].ravel()
    points["visible"], points["score"] = np.isfinite(points["x"]), confidence.ravel()
    return {"frames": frames, "instances": instances, "pred_points": points, "points": np.zeros(0, SLEAP_POINTS)}


def _sleap_labels(path: Path) -> None:
    nodes = [{"name": name, "weight": 1.0} for name in KEYPOINTS]
    skeleton = {
        "directed": True,
        "graph": {"name": "mouse", "num_edges_inserted": 0},
        "links": [],
        "multigraph": True,
        "nodes": [{"id": i} for i in range(len(KEYPOINTS))],
    }
    metadata = {"version": "2.0.0", "skeletons": [skeleton], "nodes": nodes, "videos": [], "tracks": []}
    metadata |= {"suggestions": [], "negative_anchors": {}, "provenance": {}}
    video = {"filename": URL, "backend": {"type": "MediaVideo", "filename": URL, "grayscale": False}}
    words = {"videos_json": [video], "tracks_json": [[0, name] for name in ANIMALS], "suggestions_json": []}
    with h5py.File(path, "w") as file:
        group = file.create_group("metadata")
        group.attrs["format_id"], group.attrs["json"] = 1.2, np.bytes_(json.dumps(metadata))
        for name, rows in _sleap_rows().items():
            file[name] = rows
        for name, values in words.items():
            texts = [json.dumps(value) for value in values]
            file.create_dataset(name, data=np.array(texts, dtype=object), dtype=h5py.string_dtype(), maxshape=(None,))


def _movement(engine: str) -> Callable[[Path], None]:
    def make(path: Path) -> None:
        import xarray as xr

        positions, confidence = poses()
        dataset = xr.Dataset(
            {
                "position": (("time", "space", "keypoint", "individual"), positions.transpose(0, 3, 2, 1)),
                "confidence": (("time", "keypoint", "individual"), confidence.transpose(0, 2, 1)),
            },
            coords={"time": times(), "space": ["x", "y"], "keypoint": list(KEYPOINTS), "individual": list(ANIMALS)},
            attrs={"fps": RATE, "time_unit": "seconds", "ds_type": "poses", "source_file": URL},
        )
        dataset.to_netcdf(path, engine=engine)

    return make


def _typed(item: h5py.HLObject, namespace: str, kind: str, **attrs: object) -> h5py.HLObject:
    item.attrs.update({"namespace": namespace, "neurodata_type": kind, "object_id": f"id of {item.name}", **attrs})
    return item


def _nwb(path: Path) -> None:
    positions, confidence = poses(1)
    with h5py.File(path, "w") as file:
        _typed(file, "core", "NWBFile", nwb_version="2.7.0")
        for name in ("acquisition", "analysis", "specifications", "stimulus/presentation", "stimulus/templates"):
            file.create_group(name)
        date = "2024-01-01T00:00:00+00:00"
        file["file_create_date"] = [date]
        for name in ("session_start_time", "timestamps_reference_time"):
            file[name] = date
        file["identifier"], file["session_description"] = "i", "d"
        subject = _typed(file.create_group("general/subject"), "core", "Subject")
        subject["subject_id"], subject["species"] = "mouse_7", "Mus musculus"
        _typed(file.create_group("processing/behavior"), "core", "ProcessingModule", description="d")
        pose = _typed(file.create_group("processing/behavior/Pose"), "ndx-pose", "PoseEstimation")
        for i, node in enumerate(KEYPOINTS):
            about = {"comments": "none", "description": "none"}
            series = _typed(pose.create_group(node), "ndx-pose", "PoseEstimationSeries", **about)
            series["data"], series["confidence"] = positions[:, 0, i].astype("f4"), confidence[:, 0, i].astype("f4")
            series["data"].attrs.update({"unit": "pixels", "conversion": 1.0, "offset": 0.0, "resolution": -1.0})
            series["reference_frame"], series["starting_time"] = "upper left", 0.0
            series["starting_time"].attrs.update({"rate": RATE, "unit": "seconds"})


# --- beside recordings -----------------------------------------------------------------------------------------------


def _study(path: Path) -> None:
    from ethomarkov.recording import Recording, Track
    from ethomarkov.study import Settings, run_study

    track = Track(individual="one", values=waves(3, 400)[6:])
    recording = Recording.from_tracks([track], kind="amplitude", sampling_rate=16.0)
    run_study(recording, Settings(n_delays=11, lag=0.75, n_states=12, n_walks=2, simulated_minutes=0.1)).save(
        path.parent
    )


def _task_log(path: Path) -> None:
    from ethomarkov.io.task_log import TaskLog

    log = TaskLog(path, KEY)
    for _ in range(2):
        log.recall(10)
        for index, answer in enumerate([np.arange(6.0).reshape(2, 3), (1, 2.5, "three", None), {"a": np.float32(1.5)}]):
            log.note(index, answer)
    log.close()


def _settings(path: Path) -> None:
    path.write_text('seed = 1\nn_delays = 4\nlag = 0.5\nunfolding = "matched"\n[names]\n"state A" = "run"\n')


def npy_bytes(header: Mapping[str, object], body: bytes = b"") -> bytes:
    """Give an array of numpy with a header of one's own."""
    text = (repr(dict(header)) + "\n").encode()
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text + body


AT_RATE = {"sampling_rate": RATE}
CENTRED = [f"{axis}_{i}" for i in range(N_POINTS) for axis in "xy"]
SAMPLES = (
    Sample(name="native", file="a.nc", make=_native),
    Sample(name="csv-amplitudes", file="a.csv", make=_table(["time", "a1", "a2", "a3", "a4"], [times(), waves()])),
    Sample(
        name="csv-angles",
        file="a.csv",
        make=_table(["time", *(f"theta_{i}" for i in range(9))], [times(), waves(9)]),
    ),
    Sample(
        name="csv-centerline",
        file="a.csv",
        make=_table(["time", *CENTRED], [times(), lines().reshape(N_FRAMES, -1)]),
    ),
    Sample(name="csv-keypoints", file="a.csv", make=_named_rows, options=AT_RATE),
    Sample(name="tsv", file="a.tsv", make=_table(["time", "a1", "a2", "a3", "a4"], [times(), waves()], "\t")),
    Sample(name="npz-amplitudes", file="a.npz", make=_npz(amplitudes=waves(), sampling_rate=RATE)),
    Sample(name="npz-angles", file="a.npz", make=_npz(angles=np.stack([waves(9)] * 2), time=times())),
    Sample(
        name="npz-centerline",
        file="a.npz",
        make=_npz(centerline=lines(), fps=RATE, centroid_mm=lines()[:, 0], body_length=1.0, individual="w"),
    ),
    Sample(
        name="npz-keypoints",
        file="a.npz",
        make=_npz(positions=poses(1)[0][:, 0], keypoints=np.array(KEYPOINTS), sampling_rate=RATE, length_unit="px"),
    ),
    Sample(name="hdf5", file="a.h5", make=_hdf5_table),
    Sample(name="wcon", file="a.wcon", make=_wcon),
    Sample(name="wcon-zip", file="a.wcon.zip", make=_wcon_zip),
    Sample(
        name="tierpsy-featuresN",
        file="a_featuresN.hdf5",
        make=_tierpsy("coordinates/skeletons", "trajectories_data"),
    ),
    Sample(
        name="tierpsy-features",
        file="a_features.hdf5",
        make=_tierpsy("coordinates/skeletons", "features_timeseries"),
    ),
    Sample(name="tierpsy-skeletons", file="a_skeletons.hdf5", make=_tierpsy("skeleton", "trajectories_data")),
    Sample(name="wormpose-results", file="results.h5", make=_wormpose("unaligned", "resolved"), options=AT_RATE),
    Sample(
        name="wormpose-processed",
        file="processed_results.h5",
        make=_wormpose("raw", "interp", "smooth", frame_rate=RATE, dorsal_ventral_flip=True),
    ),
    Sample(name="stephens-v5", file="a.mat", make=lambda path: _write_mat(path, tr=_cells()), options=AT_RATE),
    Sample(name="stephens-v7", file="packed.mat", make=lambda path: _write_mat(path, tr=_cells()), options=AT_RATE),
    Sample(name="stephens-v7.3", file="a.mat", make=lambda path: _write_mat73(path, {}, "tr"), options=AT_RATE),
    Sample(name="shapes-v5", file="a.mat", make=lambda path: _write_mat(path, **_shapes()), options=AT_RATE),
    Sample(name="shapes-v7.3", file="a.mat", make=lambda path: _write_mat73(path, _shapes()), options=AT_RATE),
    Sample(name="basis-csv", file="EigenWorms.csv", make=_basis_csv, load=read_basis),
    Sample(
        name="basis-v5", file="EigenWorms.mat", make=lambda path: _write_mat(path, EigenWorms=basis()), load=read_basis
    ),
    Sample(
        name="basis-v7.3",
        file="EigenWorms.mat",
        make=lambda path: _write_mat73(path, {"EigenWorms": basis()}),
        load=read_basis,
    ),
    Sample(name="deeplabcut-csv", file="aDLC.csv", make=_deeplabcut_csv(), options=AT_RATE),
    Sample(name="deeplabcut-csv-multi", file="aDLC.csv", make=_deeplabcut_csv(*ANIMALS), options=AT_RATE),
    Sample(name="deeplabcut-fixed", file="aDLC.h5", make=deeplabcut_fixed, options=AT_RATE),
    Sample(name="deeplabcut-table", file="aDLC.h5", make=deeplabcut_table, options=AT_RATE),
    Sample(name="lightning-pose", file="a.csv", make=_deeplabcut_csv(scorer="heatmap_tracker"), options=AT_RATE),
    Sample(name="sleap-labels", file="a.slp", make=_sleap_labels, options=AT_RATE),
    Sample(name="sleap-analysis", file="a.analysis.h5", make=_sleap_analysis, options=AT_RATE),
    Sample(name="movement-netcdf4", file="a.nc", make=_movement("h5netcdf")),
    Sample(name="movement-netcdf3", file="a.nc", make=_movement("scipy")),
    Sample(name="nwb", file="a.nwb", make=_nwb),
    Sample(name="wormpose-features", file="features.h5", make=_wormpose_features),
    Sample(name="tracker2", file="a_features.mat", make=lambda path: _write_mat(path, **_tracker2())),
    Sample(name="jabs-v2", file="a_pose_est_v2.h5", make=partial(_jabs, version=2), options=AT_RATE),
    Sample(name="jabs-v5", file="a_pose_est_v5.h5", make=partial(_jabs, version=5), options=AT_RATE),
    Sample(name="leap-hdf5", file="a.h5", make=_leap, options=AT_RATE),
    Sample(name="leap-v5", file="a.mat", make=_leap_mat, options=AT_RATE),
    Sample(name="study", file="study.nc", make=_study, load=read_study, seals=True),
    Sample(name="task-log", file="a.tasks", make=_task_log, load=read_log, writes=True, here=True),
    Sample(name="settings", file="settings.toml", make=_settings, load=read_toml, here=True),
)
BY_NAME = {sample.name: sample for sample in SAMPLES}
