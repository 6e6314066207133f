"""Feature files of Worm Tracker 2, of both kinds of MATLAB files."""

import h5py
import numpy as np
import pytest
import scipy.io

from ethomarkov import io
from ethomarkov.exceptions import InputFormatError, SamplingError

N_FRAMES = 15


def skeleton():
    """Draw a worm of about 1 mm, (frames, 49, 2) in micrometres; frames 4 and 5 are missing."""
    along = np.linspace(0, 1000, 49)
    when = np.arange(N_FRAMES)[:, None]
    points = np.stack([along + 20 * when, 80 * np.sin(along / 150 + 0.4 * when)], axis=2)
    points[4:6] = np.nan
    return points


def features(points, *, scale=(4.1, 4.1), fps=25.5, side="anticlockwise", centroid=None):
    resolution = {"fps": fps, "height": 480.0}
    if scale is not None:
        resolution["micronsPerPixels"] = {"x": scale[0], "y": scale[1]}
    worm = {"posture": {"skeleton": {"x": points[..., 0].T, "y": points[..., 1].T}}, "locomotion": {"speed": 1.0}}
    if centroid is not None:
        worm["path"] = {"coordinates": {"x": centroid[None, :, 0], "y": centroid[None, :, 1]}}
    info = {"video": {"resolution": resolution, "length": {"frames": float(len(points))}}}
    return {"worm": worm, "info": info | {"experiment": {"worm": {"ventralSide": side, "strain": "N2"}}}}


def save_v73(path, stored):
    """Lay structures out as groups, arrays with their dimensions the other way round, words as numbers."""

    def put(group, values):
        for name, value in values.items():
            if isinstance(value, dict):
                put(group.create_group(name), value)
            elif isinstance(value, str):
                text = group.create_dataset(name, data=np.array([[ord(letter)] for letter in value], np.uint16))
                text.attrs["MATLAB_class"] = np.bytes_("char")
            else:
                group.create_dataset(name, data=np.atleast_2d(value).T)

    with h5py.File(path, "w", userblock_size=512) as file:
        put(file, stored)
    with path.open("r+b") as file:
        file.write(b"MATLAB 7.3 MAT-file, Platform: GLNXA64")


def save_old(path, stored):
    scipy.io.savemat(path, stored)


@pytest.fixture(params=[save_old, save_v73])
def save(request, tmp_path):
    def to(stored, name="N2 on food_features.mat"):
        request.param(tmp_path / name, stored)
        return tmp_path / name

    return to


def test_skeletons_in_millimetres_as_in_the_video(save):
    points = skeleton()
    recording = io.read(save(features(points)))
    assert (recording.kind, recording.individuals) == ("centerline", ("N2 on food",))
    assert recording.sampling.rate == 25.5
    # the image is the stage turned by half a turn, with y down: x changes its sign, y does so twice
    np.testing.assert_allclose(recording.values, points * [-1e-3, 1e-3], rtol=1e-5)
    np.testing.assert_allclose(recording.centroid, points.mean(axis=1) * [-1e-3, 1e-3], rtol=1e-4)
    assert recording.segments.count_rows().tolist() == [N_FRAMES - 2]
    attrs = recording.dataset.attrs
    assert (attrs["length_unit"], attrs["ventral_side"], attrs["y_axis"]) == ("mm", "anticlockwise", "up")
    assert attrs["source_format"] == "worm-tracker-2"
    length = np.nanmedian(np.hypot(*np.diff(points, axis=1).transpose(2, 0, 1)).sum(axis=1))
    assert recording.body_lengths["N2 on food"] == pytest.approx(length * 1e-3)


@pytest.mark.parametrize(
    ("scale", "signs"),
    [((4, 4), (-1, 1)), ((-4, -4), (1, -1)), ((-4, 4), (1, 1)), ((4, -4), (-1, -1)), (None, (-1, 1))],
)
def test_the_signs_of_the_scale_turn_the_axes(save, scale, signs):
    points = skeleton()
    values = io.read(save(features(points, scale=scale))).values
    np.testing.assert_allclose(values, points * np.array(signs) * 1e-3, rtol=1e-5)


def test_the_centroid_of_the_contour(save):
    points = skeleton()
    centroid = np.nan_to_num(points.mean(axis=1), nan=7.0) + 3
    recording = io.read(save(features(points, centroid=centroid)))
    np.testing.assert_allclose(recording.centroid, centroid * [-1e-3, 1e-3], rtol=1e-4)


@pytest.mark.parametrize("side", ["", "L", "unknown"])
def test_unknown_ventral_side(save, side):
    assert io.read(save(features(skeleton(), side=side))).dataset.attrs["ventral_side"] == "unknown"


@pytest.mark.parametrize("fps", [np.nan, "fast", np.array([1.0, 2.0])])
def test_a_rate_that_is_none(save, fps):
    path = save(features(skeleton(), fps=fps))
    with pytest.raises(SamplingError, match="sampling_rate="):
        io.read(path)
    assert io.read(path, sampling_rate=30).sampling.rate == 30


def test_shapes_that_do_not_fit(save):
    with pytest.raises(InputFormatError, match=r"x of shape \(40, 15\)"):
        io.read(save(features(skeleton()[:, :40])))
    stored = features(skeleton())
    stored["worm"]["posture"]["skeleton"]["y"] = np.zeros((49, 3))
    with pytest.raises(InputFormatError, match=r"y of shape \(49, 3\)"):
        io.read(save(stored))


def test_without_a_skeleton(save):
    stored = features(skeleton())
    stored["worm"]["posture"] = {"bends": 1.0}
    with pytest.raises(InputFormatError, match="holds no skeleton"):
        io.read(save(stored))


def test_nothing_but_missing_frames(save):
    with pytest.raises(InputFormatError, match="0 of 15 frames"):
        io.read(save(features(np.full((15, 49, 2), np.nan))))
