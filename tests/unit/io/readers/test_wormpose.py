"""WormPose: both of its result files, as its own saver lays them out."""

import h5py
import numpy as np
import pytest

from ethomarkov import io
from ethomarkov.exceptions import InputFormatError, SamplingError

N_FRAMES, N_ANGLES = 20, 15


@pytest.fixture
def bends():
    """Angles along the body with zero mean; the second frame is missing."""
    rng = np.random.default_rng(0)
    angles = np.cumsum(rng.normal(0, 0.4, (N_FRAMES, N_ANGLES)), axis=1)
    angles -= angles.mean(axis=1, keepdims=True)
    angles[1] = np.nan
    return angles


def as_stored(bends):
    """Turn every body to some direction and wrap the angles to (-π, π], as arctan2 gives them."""
    turned = bends + np.linspace(0, 30, len(bends))[:, None]
    return np.angle(np.exp(1j * turned)).astype(np.float32)


def save(path, groups, **attrs):
    path.parent.mkdir(exist_ok=True)
    with h5py.File(path, "w") as file:
        for key, value in attrs.items():
            file.attrs[key] = value
        for name, theta in groups.items():
            group = file.create_group(name)
            group["theta"] = theta
            group["scores"] = np.ones(len(theta))
    return path


def test_reads_resolved_angles(tmp_path, bends):
    theta = as_stored(bends)
    both = np.stack([theta, theta], axis=1)
    path = save(tmp_path / "video_3" / "results.h5", {"original": theta + 1, "unaligned": both, "resolved": theta})
    recording = io.read(path, sampling_rate=25)
    assert recording.kind == "angle"
    assert recording.individuals == ("video_3",)
    assert recording.sampling.rate == 25
    # Images have y down, so the angles change sign.
    np.testing.assert_allclose(recording.values, -bends, atol=1e-4)
    assert recording.dataset.attrs["source_format"] == "wormpose"
    assert recording.dataset.attrs["ventral_side"] == "unknown"


@pytest.mark.parametrize("best", [0, 1, 2, 3])
def test_prefers_the_most_processed_angles(tmp_path, bends, best):
    order = ("smooth", "interp", "raw", "orig")
    groups = {name: as_stored(bends + (i == best) * np.sin(np.arange(N_ANGLES))) for i, name in enumerate(order)}
    groups = {name: groups[name] for name in order[best:]}
    recording = io.read(save(tmp_path / "v" / "processed_results.h5", groups, frame_rate=16.0))
    wanted = bends + np.sin(np.arange(N_ANGLES))
    np.testing.assert_allclose(recording.values, -(wanted - wanted.mean(axis=1, keepdims=True)), atol=1e-4)
    assert recording.dataset.attrs["wormpose_group"] == order[best]
    assert recording.sampling.rate == 16


def test_stated_rate_wins(tmp_path, bends):
    path = save(tmp_path / "v" / "processed_results.h5", {"smooth": as_stored(bends)}, frame_rate=16.0)
    assert io.read(path, sampling_rate=8).sampling.rate == 8


@pytest.mark.parametrize(("flip", "side"), [(True, "anticlockwise"), (False, "unknown")])
def test_keeps_the_common_ventral_side(tmp_path, bends, flip, side):
    path = save(
        tmp_path / "v" / "processed_results.h5", {"raw": as_stored(bends)}, frame_rate=16.0, dorsal_ventral_flip=flip
    )
    recording = io.read(path)
    np.testing.assert_allclose(recording.values, -bends, atol=1e-4)
    assert recording.dataset.attrs["ventral_side"] == side
    assert recording.dataset.attrs["dorsal_ventral_flip"] == str(flip).lower()


def test_a_partly_missing_body_is_missing(tmp_path, bends):
    theta = as_stored(bends)
    theta[4, 3] = np.nan
    recording = io.read(save(tmp_path / "worm_a.h5", {"resolved": theta}), sampling_rate=1)
    assert np.isnan(recording.values[4]).all()
    assert recording.individuals == ("worm_a",)


def test_names_the_animal_by_folder_of_a_bare_file_name(tmp_path, bends, monkeypatch):
    save(tmp_path / "video_9" / "results.h5", {"resolved": as_stored(bends)})
    monkeypatch.chdir(tmp_path / "video_9")
    assert io.read("results.h5", sampling_rate=1).individuals == ("video_9",)


def test_unresolved_head_and_tail(tmp_path, bends):
    theta = as_stored(bends)
    path = save(tmp_path / "v" / "results.h5", {"original": theta, "unaligned": np.stack([theta, theta], axis=1)})
    with pytest.raises(InputFormatError, match=r"head and tail were not resolved.*--score_threshold"):
        io.read(path, sampling_rate=1)


def test_unknown_rate(tmp_path, bends):
    with pytest.raises(SamplingError, match="sampling_rate="):
        io.read(save(tmp_path / "v" / "results.h5", {"resolved": as_stored(bends)}))


def test_all_frames_missing(tmp_path):
    path = save(tmp_path / "v" / "results.h5", {"resolved": np.full((9, 5), np.nan)})
    with pytest.raises(InputFormatError, match="0 of 9 frames"):
        io.read(path, sampling_rate=1)


def test_wrong_shape(tmp_path, bends):
    path = save(tmp_path / "v" / "results.h5", {"resolved": as_stored(bends)[None]})
    with pytest.raises(InputFormatError, match=r"\(1, 20, 15\)"):
        io.read(path, sampling_rate=1)


def test_group_in_place_of_angles(tmp_path):
    path = tmp_path / "results.h5"
    with h5py.File(path, "w") as file:
        file.create_group("resolved/theta")
    with pytest.raises(InputFormatError, match="cannot be read"):
        io.read(path, sampling_rate=1)


def test_truncated_file(tmp_path, bends):
    path = save(tmp_path / "v" / "results.h5", {"resolved": as_stored(bends)})
    path.write_bytes(path.read_bytes()[:1500])
    with pytest.raises(InputFormatError, match="truncated"):
        io.read(path, sampling_rate=1)


def test_damaged_angles(tmp_path, bends):
    path = tmp_path / "results.h5"
    with h5py.File(path, "w") as file:
        stored = file.create_dataset("resolved/theta", data=as_stored(bends), chunks=(5, N_ANGLES), compression="gzip")
        at = stored.id.get_chunk_info(0).byte_offset
    content = bytearray(path.read_bytes())
    content[at : at + 40] = b"\xff" * 40
    path.write_bytes(content)
    with pytest.raises(InputFormatError, match="damaged"):
        io.read(path, sampling_rate=1)


# --- training data ---------------------------------------------------------------------------------------------------


def save_features(path, skeletons, width=True, **attrs):
    path.parent.mkdir(exist_ok=True)
    with h5py.File(path, "w") as file:
        file["skeletons"] = skeletons
        if width:
            file["width"] = np.ones(skeletons.shape[:2])
        for key, value in attrs.items():
            file.attrs[key] = value
    return path


@pytest.fixture
def centerlines():
    along = np.linspace(0, 50, 21)
    points = np.stack([along + np.arange(12)[:, None], 5 * np.sin(along / 10 + np.arange(12)[:, None])], axis=2)
    points[3] = np.nan
    return points


def test_training_data_are_centerlines_with_y_up(tmp_path, centerlines):
    recording = io.read(save_features(tmp_path / "video_4" / "features.h5", centerlines, framerate=30.0))
    assert (recording.kind, recording.individuals, recording.sampling.rate) == ("centerline", ("video_4",), 30)
    np.testing.assert_allclose(recording.values, centerlines * [1, -1], rtol=1e-6)
    attrs = recording.dataset.attrs
    assert (attrs["length_unit"], attrs["source_format"]) == ("pixel", "wormpose-features")
    assert recording.body_lengths["video_4"] == pytest.approx(51.5, abs=2)


def test_training_data_without_rate(tmp_path, centerlines):
    path = save_features(tmp_path / "a.h5", centerlines)
    with pytest.raises(SamplingError, match="sampling_rate="):
        io.read(path)
    assert io.read(path, sampling_rate=9).sampling.rate == 9


@pytest.mark.parametrize("rate", ["fast", [1.0, 2.0], np.nan])
def test_a_rate_that_is_none(tmp_path, centerlines, rate):
    with pytest.raises(SamplingError, match="sampling_rate="):
        io.read(save_features(tmp_path / "a.h5", centerlines, framerate=rate))


def test_training_data_of_other_shapes(tmp_path, centerlines):
    with pytest.raises(InputFormatError, match=r"\(12, 21, 1\)"):
        io.read(save_features(tmp_path / "a.h5", centerlines[..., :1], framerate=30.0))
    with pytest.raises(InputFormatError, match="lacks skeletons or width"):
        io.read(save_features(tmp_path / "b.h5", centerlines, width=False), format="wormpose-features")
