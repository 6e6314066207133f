import json
import pickle
import sys

import h5py
import numpy as np
import pytest
import xarray as xr

from ethomarkov.exceptions import InputFormatError, MissingDependencyError, SamplingError
from ethomarkov.io import read

KEYPOINTS = ["nose", "back", "tail"]
ANIMALS = ["m1", "m2"]
N_FRAMES = 12


def poses(seed=0):
    """Image coordinates (frames, animals, keypoints, 2) and confidence, with a gap and an unsure keypoint."""
    rng = np.random.default_rng(seed)
    positions = rng.uniform(0, 500, (N_FRAMES, 2, 3, 2)).astype(np.float32)
    confidence = rng.uniform(0.7, 1.0, (N_FRAMES, 2, 3)).astype(np.float32)
    positions[4, 0] = np.nan
    confidence[7, 1, 2] = 0.1
    return positions, confidence


def expected(animal, positions, confidence, threshold=0.6):
    values = positions[:, animal] * np.array([1, -1], np.float32)
    values[confidence[:, animal] < threshold] = np.nan
    return values


def check(recording, *, rate=25.0, individuals=tuple(ANIMALS)):
    positions, confidence = poses()
    assert recording.kind == "position"
    assert recording.individuals == individuals
    assert recording.sampling.rate == pytest.approx(rate)
    assert recording.dataset["keypoint"].values.tolist() == KEYPOINTS
    assert recording.dataset.attrs["length_unit"] == "pixel"
    assert recording.dataset.attrs["y_axis"] == "up"
    wanted = np.concatenate([expected(i, positions, confidence) for i in range(len(individuals))])
    np.testing.assert_allclose(recording.values, wanted, rtol=1e-5)


def movement_dataset(*, plural=False, attrs=None, time=None):
    keypoint, individual = ("keypoints", "individuals") if plural else ("keypoint", "individual")
    positions, confidence = poses()
    return xr.Dataset(
        {
            "position": (("time", "space", keypoint, individual), positions.transpose(0, 3, 2, 1)),
            "confidence": (("time", keypoint, individual), confidence.transpose(0, 2, 1)),
        },
        coords={
            "time": np.arange(N_FRAMES) / 25 if time is None else time,
            "space": ["x", "y"],
            keypoint: KEYPOINTS,
            individual: ANIMALS,
        },
        attrs={"fps": 25.0, "time_unit": "seconds", "ds_type": "poses"} if attrs is None else attrs,
    )


class TestMovement:
    @pytest.mark.parametrize("plural", [False, True])
    @pytest.mark.parametrize("engine", ["h5netcdf", "scipy"])
    def test_both_spellings_and_both_netcdf(self, tmp_path, plural, engine):
        movement_dataset(plural=plural).to_netcdf(tmp_path / "m.nc", engine=engine)
        recording = read(tmp_path / "m.nc")
        check(recording)
        assert recording.dataset.attrs["source_format"] == "movement"

    def test_rate_from_times(self, tmp_path):
        movement_dataset(attrs={"time_unit": "seconds"}).to_netcdf(tmp_path / "m.nc", engine="h5netcdf")
        check(read(tmp_path / "m.nc"))

    def test_frames_need_a_rate(self, tmp_path):
        frames = movement_dataset(attrs={"time_unit": "frames", "fps": "None"}, time=np.arange(N_FRAMES))
        frames.to_netcdf(tmp_path / "m.nc", engine="h5netcdf")
        with pytest.raises(SamplingError, match="sampling_rate="):
            read(tmp_path / "m.nc")
        check(read(tmp_path / "m.nc", sampling_rate=30), rate=30)

    def test_another_rate_keeps_every_frame(self, tmp_path):
        movement_dataset().to_netcdf(tmp_path / "m.nc", engine="h5netcdf")
        check(read(tmp_path / "m.nc", sampling_rate=30), rate=30)

    def test_options(self, tmp_path):
        movement_dataset().to_netcdf(tmp_path / "m.nc", engine="h5netcdf")
        recording = read(tmp_path / "m.nc", keypoints=("tail", "back", "nose"), as_centerline=True, min_confidence=0)
        assert recording.kind == "centerline"
        wanted = np.concatenate([expected(i, *poses(), threshold=0) for i in range(2)])
        np.testing.assert_array_equal(recording.values, wanted[:, ::-1])

    def test_without_confidence(self, tmp_path):
        movement_dataset().drop_vars("confidence").to_netcdf(tmp_path / "m.nc", engine="h5netcdf")
        assert np.isnan(read(tmp_path / "m.nc").values).any(axis=(1, 2)).sum() == 1

    def test_three_dimensions_are_refused(self, tmp_path):
        flat = movement_dataset()
        deep = xr.concat(
            [flat, flat.isel(space=[0]).assign_coords(space=["z"])],
            "space",
            data_vars="minimal",
            join="outer",
            compat="override",
            coords="minimal",
        )
        deep.to_netcdf(tmp_path / "m.nc", engine="h5netcdf")
        with pytest.raises(InputFormatError, match=r"3 coordinates; only x and y"):
            read(tmp_path / "m.nc")

    def test_boxes_are_refused(self, tmp_path):
        movement_dataset().isel(keypoint=0).to_netcdf(tmp_path / "m.nc", engine="h5netcdf")
        with pytest.raises(InputFormatError, match="not bounding boxes"):
            read(tmp_path / "m.nc")


def write_sleap(path, order=None, *, nodes=KEYPOINTS, tracks=ANIMALS, scores=True):
    """Write an analysis file in SLEAP's order, or in another that is stated in `dims`."""
    positions, confidence = poses()
    usual = ("frame", "track", "node", "xy")
    stored = order or ("track", "xy", "node", "frame")
    with h5py.File(path, "w") as file:
        file["tracks"] = positions.transpose([usual.index(dim) for dim in stored])
        if scores:
            kept = [dim for dim in stored if dim != "xy"]
            file["point_scores"] = confidence.transpose([usual.index(dim) for dim in kept])
        if order is not None:
            file["tracks"].attrs["dims"] = json.dumps(stored)
            file["point_scores"].attrs["dims"] = json.dumps(kept)
        file["node_names"] = [name.encode() for name in nodes]
        file["track_names"] = np.array([name.encode() for name in tracks], dtype="S8")
        file["track_occupancy"] = np.ones((N_FRAMES, 2), np.uint8)


class TestSleap:
    @pytest.mark.parametrize("order", [None, ("track", "xy", "node", "frame"), ("frame", "track", "node", "xy")])
    def test_any_order_of_dimensions(self, tmp_path, order):
        write_sleap(tmp_path / "s.analysis.h5", order)
        check(read(tmp_path / "s.analysis.h5", sampling_rate=25))

    def test_without_track_names_and_scores(self, tmp_path):
        write_sleap(tmp_path / "s.h5", tracks=[], scores=False)
        recording = read(tmp_path / "s.h5", sampling_rate=25)
        assert recording.individuals == ("individual_0", "individual_1")
        assert np.isnan(recording.values).any(axis=(1, 2)).sum() == 1

    def test_rate_is_needed(self, tmp_path):
        write_sleap(tmp_path / "s.h5")
        with pytest.raises(SamplingError, match="hold no frame rate"):
            read(tmp_path / "s.h5")

    def test_names_that_do_not_fit(self, tmp_path):
        write_sleap(tmp_path / "s.h5", nodes=["nose", "tail"])
        with pytest.raises(InputFormatError, match="2 node names"):
            read(tmp_path / "s.h5", sampling_rate=1)

    def test_unknown_dimensions(self, tmp_path):
        write_sleap(tmp_path / "s.h5")
        with h5py.File(tmp_path / "s.h5", "r+") as file:
            file["tracks"].attrs["dims"] = json.dumps(["a", "b", "c", "d"])
        with pytest.raises(InputFormatError, match="dimensions a, b, c, d"):
            read(tmp_path / "s.h5", sampling_rate=1)


def dlc_csv(path, *, animals=(), scorer="DLC_resnet50"):
    positions, confidence = poses()
    n_animals = max(len(animals), 1)
    columns = [(a, k, c) for a in range(n_animals) for k in range(3) for c in ("x", "y", "likelihood")]
    header = [["scorer"] + [scorer] * len(columns)]
    if animals:
        header.append(["individuals"] + [animals[a] for a, _, _ in columns])
    header.append(["bodyparts"] + [KEYPOINTS[k] for _, k, _ in columns])
    header.append(["coords"] + [c for _, _, c in columns])
    both = np.concatenate([positions[:, :n_animals], confidence[:, :n_animals, :, None]], axis=3).reshape(N_FRAMES, -1)
    lines = [",".join(row) for row in header]
    lines += [",".join([str(i), *("" if np.isnan(v) else repr(float(v)) for v in row)]) for i, row in enumerate(both)]
    path.write_text("\n".join(lines) + "\n")
    return path


class TestDeepLabCut:
    @pytest.mark.parametrize("scorer", ["DLC_resnet50", "heatmap_tracker"])
    def test_one_animal(self, tmp_path, scorer):
        pytest.importorskip("movement")
        path = dlc_csv(tmp_path / "d.csv", scorer=scorer)
        check(read(path, sampling_rate=25), individuals=("individual_0",))

    def test_several_animals(self, tmp_path):
        pytest.importorskip("movement")
        check(read(dlc_csv(tmp_path / "d.csv", animals=ANIMALS), sampling_rate=25))

    @pytest.mark.parametrize("format", ["table", "fixed"])
    def test_pandas_file(self, tmp_path, format):
        pytest.importorskip("movement")
        write_dlc_hdf5(tmp_path / "d.h5", format)
        check(read(tmp_path / "d.h5", sampling_rate=25), individuals=("individual_0",))

    def test_rate_is_needed(self, tmp_path):
        pytest.importorskip("movement")
        with pytest.raises(SamplingError, match="hold no frame rate"):
            read(dlc_csv(tmp_path / "d.csv"))

    def test_broken_file_is_told(self, tmp_path):
        pytest.importorskip("movement")
        (tmp_path / "d.csv").write_text("scorer,a,a\nrubbish\n")
        with pytest.raises(InputFormatError, match="movement cannot read it"):
            read(tmp_path / "d.csv", sampling_rate=25)

    def test_older_movement(self, tmp_path, monkeypatch):
        pytest.importorskip("movement")
        import movement.io

        monkeypatch.delattr(movement.io, "load_dataset")
        check(read(dlc_csv(tmp_path / "d.csv"), sampling_rate=25), individuals=("individual_0",))


def write_dlc_hdf5(path, format):
    import pandas

    names = ["scorer", "bodyparts", "coords"]
    columns = pandas.MultiIndex.from_product([["DLC"], KEYPOINTS, ["x", "y", "likelihood"]], names=names)
    positions, confidence = poses()
    values = np.concatenate([positions[:, 0], confidence[:, 0, :, None]], axis=2).reshape(N_FRAMES, -1)
    pandas.DataFrame(values.astype(float), columns=columns).to_hdf(path, key="df_with_missing", format=format)


class Danger:
    def __reduce__(self):
        return (eval, ("1/0",))


@pytest.mark.parametrize("protocol", [0, 2, 5])
def test_pickles_that_could_run_are_refused(tmp_path, protocol):
    path = tmp_path / "d.h5"
    with h5py.File(path, "w") as file:
        file.create_group("df_with_missing").attrs["non_index_axes"] = np.bytes_(pickle.dumps(Danger(), protocol))
    with pytest.raises(InputFormatError, match="could run code"):
        read(path, sampling_rate=25)


def test_missing_movement_is_told(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "movement", None)
    monkeypatch.setitem(sys.modules, "movement.io", None)
    monkeypatch.setitem(sys.modules, "movement.io.load_poses", None)
    with pytest.raises(MissingDependencyError, match=r'd.csv: movement is needed .*pip install "ethomarkov\[pose\]"'):
        read(dlc_csv(tmp_path / "d.csv"), sampling_rate=25)


def test_sleap_labels(tmp_path):
    pytest.importorskip("movement")
    sleap_io = pytest.importorskip("sleap_io")
    positions, confidence = poses()
    skeleton = sleap_io.Skeleton(nodes=list(KEYPOINTS))
    tracks = [sleap_io.Track(name) for name in ANIMALS]
    video = sleap_io.Video(filename="film.mp4", open_backend=False)
    frames = [
        sleap_io.LabeledFrame(
            video=video,
            frame_idx=t,
            instances=[
                sleap_io.PredictedInstance.from_numpy(
                    positions[t, i], skeleton=skeleton, point_scores=confidence[t, i], score=1.0, track=tracks[i]
                )
                for i in range(2)
            ],
        )
        for t in range(N_FRAMES)
    ]
    labels = sleap_io.Labels(videos=[video], skeletons=[skeleton], tracks=tracks, labeled_frames=frames)
    sleap_io.save_slp(labels, str(tmp_path / "s.slp"), embed=False)
    check(read(tmp_path / "s.slp", sampling_rate=25))
