import json
import socket
import sys

import h5py
import numpy as np
import pytest

from ethomarkov.exceptions import InputFormatError, SamplingError
from ethomarkov.io import read

FRAMES = [
    ("frame_id", "u8"),
    ("video", "u4"),
    ("frame_idx", "u8"),
    ("instance_id_start", "u8"),
    ("instance_id_end", "u8"),
]
INSTANCES = [
    ("instance_id", "i8"), ("instance_type", "u1"), ("frame_id", "u8"), ("skeleton", "u4"), ("track", "i4"),
    ("from_predicted", "i8"), ("score", "f4"), ("point_id_start", "u8"), ("point_id_end", "u8"),
    ("tracking_score", "f4"),
]  # fmt: skip
POINTS = [("x", "f8"), ("y", "f8"), ("visible", "?"), ("complete", "?")]
USER, PREDICTED = 0, 1


class Labels:
    """A labels file in the making, written with h5py alone."""

    def __init__(self, path, keypoints):
        self.path, self.keypoints = path, keypoints
        self.frames, self.instances = [], []
        self.points = {USER: [], PREDICTED: []}
        self.tracks, self.videos = ["m1", "m2"], ["film.mp4"]
        self.format_id, self.nested = 1.3, False

    def add_frame(self, number, *instances, video=0):
        """Add a frame with instances (points, scores or None, track, link)."""
        start = len(self.instances)
        for xy, scores, track, link in instances:
            kind = USER if scores is None else PREDICTED
            begin = len(self.points[kind])
            seen = np.isfinite(xy).all(axis=1)
            for i, point in enumerate(xy):
                self.points[kind].append((*point, seen[i], True, *([scores[i]] if kind else [])))
            place = len(self.instances)
            row = (place, kind, len(self.frames), 0, track, link, 1.0, begin, begin + len(xy), 0.0)
            self.instances.append(row)
        self.frames.append((len(self.frames), video, number, start, len(self.instances)))
        return self

    def save(self):
        # nodes of the file are in another order than those of the skeleton
        order = self.keypoints[::-1]
        skeleton = {"nodes": [{"id": order.index(name)} for name in self.keypoints], "links": [], "graph": {}}
        metadata = {
            "nodes": [{"name": name, "weight": 1.0} for name in order],
            "skeletons": [{"nx_graph": skeleton, "description": None} if self.nested else skeleton],
        }
        with h5py.File(self.path, "w") as file:
            group = file.create_group("metadata")
            group.attrs["format_id"], group.attrs["json"] = self.format_id, np.bytes_(json.dumps(metadata))
            file["frames"] = np.array(self.frames, FRAMES)
            file["instances"] = np.array(self.instances, INSTANCES)
            file["points"] = np.array(self.points[USER], POINTS)
            file["pred_points"] = np.array(self.points[PREDICTED], [*POINTS, ("score", "f8")])
            file["tracks_json"] = np.array([np.bytes_(json.dumps([0, name])) for name in self.tracks])
            films = [json.dumps({"backend": {"filename": name}}) for name in self.videos]
            file["videos_json"] = np.array([np.bytes_(film) for film in films])
            file["suggestions_json"] = np.array([b"rubbish"])
        return self.path


@pytest.fixture
def labels(tmp_path, poses):
    return Labels(tmp_path / "s.slp", poses.keypoints)


@pytest.fixture
def tracked(labels, poses):
    """Labels with the poses of both animals, predicted and tracked."""
    for t in range(poses.n_frames):
        labels.add_frame(t, *((poses.positions[t, i], poses.confidence[t, i], i, -1) for i in range(2)))
    return labels


@pytest.fixture
def alone(labels, poses):
    """Labels of one animal that was not tracked."""
    for t in range(poses.n_frames):
        labels.add_frame(t, (poses.positions[t, 0], poses.confidence[t, 0], -1, -1))
    labels.tracks = []
    return labels


class TestContent:
    def test_predicted_tracks(self, tracked, check):
        recording = read(tracked.save(), sampling_rate=25)
        check(recording)
        assert recording.dataset.attrs["source_format"] == "sleap-labels"

    def test_nested_skeletons(self, tracked, check):
        tracked.nested = True
        check(read(tracked.save(), sampling_rate=25))

    def test_no_other_package_is_needed(self, tracked, check, monkeypatch):
        for name in ("movement", "sleap_io"):
            monkeypatch.setitem(sys.modules, name, None)
        check(read(tracked.save(), sampling_rate=25))

    def test_rate_is_needed(self, tracked):
        with pytest.raises(SamplingError, match=r"hold no frame rate.*--rate"):
            read(tracked.save())

    def test_frames_in_any_order(self, tracked, check):
        tracked.frames = tracked.frames[::-1]
        check(read(tracked.save(), sampling_rate=25))

    def test_holes_are_missing_frames(self, alone):
        alone.frames = [(i, v, n + 3 * (n > 5) + 7, a, b) for i, v, n, a, b in alone.frames]
        recording = read(alone.save(), sampling_rate=10)
        assert recording.time[0] == pytest.approx(0.7)
        assert np.flatnonzero(np.isnan(recording.values).all(axis=(1, 2))).tolist() == [4, 6, 7, 8]

    def test_one_animal_without_tracks(self, alone, check):
        check(read(alone.save(), sampling_rate=25), individuals=("individual_0",))

    def test_old_files_count_from_the_corner_of_a_pixel(self, alone):
        new = read(alone.save(), sampling_rate=25).values
        alone.format_id = 1.0
        old = read(alone.save(), sampling_rate=25).values
        np.testing.assert_allclose(old - new, np.broadcast_to([-0.5, 0.5], new.shape) + 0 * new, atol=1e-4)

    def test_a_track_with_two_instances_in_a_frame(self, tracked, poses):
        tracked.add_frame(3, (poses.positions[3, 0], poses.confidence[3, 0], 0, -1))
        with pytest.raises(InputFormatError, match="'m1' has two instances in frame 3"):
            read(tracked.save(), sampling_rate=25)

    def test_tracks_of_the_same_name(self, tracked):
        tracked.tracks = ["m", "m"]
        with pytest.raises(InputFormatError, match="Two animals are named 'm'"):
            read(tracked.save(), sampling_rate=25)


class TestUserInstances:
    @pytest.mark.parametrize("how", ["track", "link"])
    def test_what_a_person_drew_wins(self, labels, poses, how):
        drawn = poses.positions[:, 0] + 1000
        for t in range(poses.n_frames):
            first = len(labels.instances)
            mine = (drawn[t], None, 0 if how == "track" else 1, -1 if how == "track" else first)
            labels.add_frame(t, (poses.positions[t, 0], poses.confidence[t, 0], 0, -1), mine)
        recording = read(labels.save(), sampling_rate=25)
        assert recording.individuals == ("m1" if how == "track" else "m2",)
        np.testing.assert_allclose(recording.values, drawn * [1, -1], rtol=1e-6)

    def test_without_tracks(self, labels, poses):
        labels.tracks = []
        for t in range(poses.n_frames):
            drawn = [(poses.positions[t, 1] + 1000, None, -1, -1)] if t % 2 else []
            labels.add_frame(t, (poses.positions[t, 1], poses.confidence[t, 1], -1, -1), *drawn)
        recording = read(labels.save(), sampling_rate=25, min_confidence=0)
        shift = np.where(np.arange(poses.n_frames) % 2, 1000, 0)[:, None, None]
        np.testing.assert_allclose(recording.values, (poses.positions[:, 1] + shift) * [1, -1], rtol=1e-6)


class TestUntracked:
    @pytest.fixture
    def loose(self, labels, poses):
        labels.tracks = []
        for t in range(poses.n_frames):
            labels.add_frame(t, *((poses.positions[t, i], poses.confidence[t, i], -1, -1) for i in range(2)))
        return labels

    def test_they_are_refused(self, loose):
        with pytest.raises(InputFormatError, match=r"24 of 24 instances belong to no track, up to 2.*--untracked"):
            read(loose.save(), sampling_rate=25)

    def test_they_are_animals_when_asked_for(self, loose, check):
        recording = read(loose.save(), sampling_rate=25, untracked=True)
        check(recording, individuals=("individual_0", "individual_1"))

    def test_beside_tracks(self, tracked, poses, check):
        for t in range(20, 23):
            tracked.add_frame(t, (poses.positions[0, 0], poses.confidence[0, 0], -1, -1))
        with pytest.raises(InputFormatError, match="3 of 27 instances belong to no track"):
            read(tracked.save(), sampling_rate=25)
        both = read(tracked.save(), sampling_rate=25, untracked=True)
        assert both.individuals == ("m1", "m2", "individual_0")
        check(both.select(["m1", "m2"]))


class TestFilms:
    @pytest.fixture
    def views(self, tracked, poses):
        tracked.videos = ["C:\\films\\top.mp4", "https://example.invalid/side.mp4"]
        for t in range(poses.n_frames):
            instances = ((poses.positions[t, i] + 1000, poses.confidence[t, i], i, -1) for i in range(2))
            tracked.add_frame(t, *instances, video=1)
        return tracked

    def test_one_is_asked_for(self, views, check):
        path = views.save()
        with pytest.raises(InputFormatError, match=r"2 films \(C:\\films\\top\.mp4, https://example.*--view"):
            read(path, sampling_rate=25)
        for name in ("top", "top.mp4", "C:\\films\\top.mp4"):
            check(read(path, sampling_rate=25, view=name))
        assert np.nanmin(read(path, sampling_rate=25, view="side").values[..., 0]) > 900

    def test_an_unknown_one(self, views):
        with pytest.raises(InputFormatError, match="no film 'bottom'"):
            read(views.save(), sampling_rate=25, view="bottom")

    def test_films_without_instances_do_not_count(self, tracked, check):
        tracked.videos = ["a.mp4", "b.mp4", "c.mp4"]
        check(read(tracked.save(), sampling_rate=25))

    def test_films_of_the_same_name(self, views, check):
        views.videos = ["a.mp4", "a.mp4"]
        path = views.save()
        with pytest.raises(InputFormatError, match=r"2 films \(a\.mp4 \(0\), a\.mp4 \(1\)\)"):
            read(path, sampling_rate=25)
        check(read(path, sampling_rate=25, view="a.mp4 (0)"))

    def test_embedded_films_by_their_number(self, views, check):
        views.frames = [(i, 15 * v, n, a, b) for i, v, n, a, b in views.frames]
        path = views.save()
        films = [{"backend": {"filename": ".", "dataset": f"video{number}/video"}} for number in (0, 15)]
        with h5py.File(path, "r+") as file:
            del file["videos_json"]
            file["videos_json"] = [json.dumps(film) for film in films]
        check(read(path, sampling_rate=25, view="video0/video"))

    def test_nothing_is_requested(self, tracked, check, monkeypatch):
        def fail(*_args, **_options):
            raise AssertionError("the network was used")

        for name in ("socket", "create_connection", "getaddrinfo"):
            monkeypatch.setattr(socket, name, fail)
        tracked.videos = ["https://example.invalid/film.mp4"]
        check(read(tracked.save(), sampling_rate=25))


def test_equal_to_what_sleap_io_reads(tmp_path):
    """Users' instances, links, tracks and hidden points of several videos."""
    sio = pytest.importorskip("sleap_io")
    rng = np.random.default_rng(3)
    skeleton = sio.Skeleton(nodes=["nose", "back", "tail"], edges=[("nose", "back"), ("back", "tail")])
    tracks = [sio.Track("a"), sio.Track("b")]
    videos = [sio.Video(filename=f"{name}.mp4", open_backend=False) for name in ("top", "side")]
    frames = []
    for video in videos:
        for t in rng.permutation(30)[:20]:
            instances = []
            for track in tracks:
                xy = np.where(rng.random((3, 1)) < 0.1, np.nan, rng.uniform(0, 100, (3, 2)))
                scores = rng.uniform(0.7, 1, 3)
                predicted = sio.PredictedInstance.from_numpy(xy, skeleton=skeleton, point_scores=scores, track=track)
                instances.append(predicted)
                if rng.random() < 0.3:
                    points = rng.uniform(0, 100, (3, 2))
                    mine = sio.Instance.from_numpy(points, skeleton=skeleton, track=track)
                    mine.from_predicted = predicted if rng.random() < 0.5 else None
                    instances.append(mine)
            frames.append(sio.LabeledFrame(video=video, frame_idx=int(t), instances=instances))
    made = sio.Labels(videos=videos, skeletons=[skeleton], tracks=tracks, labeled_frames=frames)
    sio.save_slp(made, str(tmp_path / "s.slp"), embed=False)
    stored = sio.load_slp(str(tmp_path / "s.slp"), open_videos=False)
    for place, view in enumerate(("top", "side")):
        wanted = stored.numpy(video=stored.videos[place]) * [1, -1]
        found = read(tmp_path / "s.slp", sampling_rate=1, view=view)
        for animal, name in enumerate(("a", "b")):
            one = found.select([name])
            rows = np.round(one.time).astype(int)
            np.testing.assert_allclose(one.values, wanted[rows, animal], rtol=1e-6)
            assert np.isnan(np.delete(wanted[:, animal], rows, axis=0)).all()


# --- damaged and hostile files ---------------------------------------------------------------------------------


def set_column(name, column, value):
    def edit(file):
        rows = file[name][()]
        rows[column][0] = value
        file[name][...] = rows

    return edit


def put(name, **dataset):
    def edit(file):
        del file[name]
        file.create_dataset(name, **dataset)

    return edit


def set_json(text):
    def edit(file):
        file["metadata"].attrs["json"] = np.bytes_(text)

    return edit


def set_format(value):
    def edit(file):
        file["metadata"].attrs["format_id"] = value

    return edit


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (set_column("frames", "instance_id_end", 10**15), "beyond the 24 of the file"),
        (set_column("frames", "instance_id_end", 2**64 - 1), "beyond the 24 of the file"),
        (set_column("frames", "instance_id_end", 24), "beyond the 24 of the file"),
        (set_column("frames", "frame_idx", 2**63), "frame number is probably damaged|a whole number is needed"),
        (set_column("frames", "frame_idx", 10**12), "frame number is probably damaged"),
        (set_column("instances", "point_id_start", 2**64 - 1), "3 points each"),
        (set_column("instances", "point_id_end", 2), "3 points each"),
        (set_column("instances", "track", 7), "of track 7, but there are 2 tracks"),
        (set_column("instances", "skeleton", 5), "Instances have 2 skeletons"),
        (put("frames", data=np.zeros(0, FRAMES)), "There are no instances"),
        (put("frames", data=np.zeros((3, 5))), "no table with numbers in the columns video, frame_idx"),
        (put("frames", data=np.zeros(3, [(name, "f8") for name, _ in FRAMES])), "no table with numbers"),
        (put("instances", data=np.zeros(3, [("track", "S3")])), "no table with numbers"),
        (put("instances", shape=(10**12,), dtype=INSTANCES, compression="gzip"), "needs .* MB"),
        (put("pred_points", data=np.zeros(3, [*POINTS, ("score", "f8")])), "beyond the 3 rows of pred_points"),
        (put("pred_points", data=np.zeros(99, POINTS)), "no table with numbers in the columns score"),
        (put("tracks_json", data=np.array([b"[0]", b"[1]"])), "no pairs"),
        (put("tracks_json", data=np.array([b"{", b"["])), "hold no JSON"),
        (put("tracks_json", data=np.arange(2)), "text is needed"),
        (put("videos_json", data=np.array([b"nonsense"])), "hold no JSON"),
        (set_json("[" * 50_000), "hold no JSON"),
        (set_json("[]"), "hold no skeletons"),
        (set_json("{}"), "skeleton is not stored as SLEAP does"),
        (set_json('{"skeletons": [{"nodes": [{"id": 99}]}], "nodes": []}'), "skeleton is not stored as SLEAP does"),
        (set_json('{"skeletons": [3], "nodes": []}'), "skeleton is not stored as SLEAP does"),
        (set_format(3.0), r"Its format is 3; .*analysis file"),
        (set_format("new"), "a number is needed"),
    ],
)
def test_damaged_files_are_told(tracked, edit, message):
    path = tracked.save()
    with h5py.File(path, "r+") as file:
        edit(file)
    with pytest.raises(InputFormatError, match=message):
        read(path, sampling_rate=25)


def test_instances_that_share_points_are_refused(tracked):
    """Otherwise a small file could ask for any number of points."""
    path = tracked.save()
    with h5py.File(path, "r+") as file:
        rows = file["instances"][()]
        rows["point_id_start"], rows["point_id_end"] = 0, 3
        file["instances"][...] = rows
        put("pred_points", data=np.zeros(20, [*POINTS, ("score", "f8")]))(file)
    with pytest.raises(InputFormatError, match="beyond the 20 rows"):
        read(path, sampling_rate=25)


def test_another_file_by_this_name(tmp_path):
    with h5py.File(tmp_path / "s.slp", "w") as file:
        file["x"] = [1.0]
    with pytest.raises(InputFormatError, match=r"a labels file of SLEAP is needed.*--format"):
        read(tmp_path / "s.slp", format="sleap-labels", sampling_rate=25)
