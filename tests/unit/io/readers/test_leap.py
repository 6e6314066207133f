"""LEAP: predictions are read, training labels are refused."""

import h5py
import numpy as np
import pytest
import scipy.io

from ethomarkov import io
from ethomarkov.exceptions import InputFormatError, SamplingError

N_FRAMES, N_JOINTS = 25, 4


def predictions(seed=0):
    """Give positions (frames, 2, joints) and confidences (frames, joints) as the Python program stores them."""
    rng = np.random.default_rng(seed)
    positions = rng.integers(0, 192, (N_FRAMES, 2, N_JOINTS)).astype(np.int32)
    confidence = np.ones((N_FRAMES, N_JOINTS), np.float32)
    confidence[3, 1] = 0.2
    return positions, confidence


def save_python(path):
    with h5py.File(path, "w") as file:
        file["positions_pred"], file["conf_pred"] = predictions()
        file.attrs["box_path"] = "box.h5"


def save_matlab(path):
    positions, confidence = predictions()
    scipy.io.savemat(path, {"positions_pred": positions.T, "conf_pred": confidence.T})


def save_structure(path):
    positions, confidence = predictions()
    scipy.io.savemat(path, {"preds": {"positions_pred": positions.T.astype(np.float32), "conf_pred": confidence.T}})


def save_v73_structure(path):
    with h5py.File(path, "w", userblock_size=512) as file:
        file["preds/positions_pred"], file["preds/conf_pred"] = predictions()


@pytest.mark.parametrize("save", [save_python, save_matlab, save_structure, save_v73_structure])
def test_predictions(tmp_path, save):
    save(tmp_path / "fly.mat")
    recording = io.read(tmp_path / "fly.mat", sampling_rate=100)
    assert (recording.kind, recording.individuals, recording.sampling.rate) == ("position", ("fly",), 100)
    assert recording.dataset["keypoint"].values.tolist() == ["joint_0", "joint_1", "joint_2", "joint_3"]
    expected = predictions()[0].transpose(0, 2, 1) * [1.0, -1.0]
    expected[3, 1] = np.nan
    np.testing.assert_allclose(recording.values, expected)
    assert recording.dataset.attrs["source_format"] == "leap"


def test_the_rate_must_be_stated(tmp_path):
    save_python(tmp_path / "a.h5")
    with pytest.raises(SamplingError, match="--rate"):
        io.read(tmp_path / "a.h5")


def save_labels_v73(path, positions):
    with h5py.File(path, "w", userblock_size=512) as file:
        refs = file.create_group("#refs#")
        refs["a"] = np.array([[104], [101]], np.uint16)
        file["positions"], file["initialization"] = positions, np.full(positions.shape, np.nan)
        nodes = file.create_dataset("skeleton/nodes", (1, N_JOINTS), dtype=h5py.ref_dtype)
        nodes[0] = [refs["a"].ref] * N_JOINTS
        cells = file.create_dataset("history", (1, 1), dtype=h5py.ref_dtype)  # as a stray cell array
        cells[0] = [refs["a"].ref]


def save_labels_old(path, positions):
    nodes = np.array(["head", "thorax", "wingL", "wingR"], dtype=object)
    skeleton = {"nodes": nodes, "edges": np.ones((3, 2))}
    scipy.io.savemat(path, {"positions": positions.T, "skeleton": skeleton, "boxPath": "box.h5", "history": nodes})


@pytest.mark.parametrize("save", [save_labels_v73, save_labels_old])
@pytest.mark.parametrize("n_labelled", [5, N_FRAMES])
def test_training_labels_are_refused(tmp_path, save, n_labelled):
    positions = predictions()[0].astype(np.float32)
    positions[n_labelled:] = np.nan
    save(tmp_path / "fly.labels.mat", positions)
    with pytest.raises(InputFormatError, match="training labels") as caught:
        io.read(tmp_path / "fly.labels.mat", sampling_rate=100)
    assert "truncated" not in str(caught.value)


@pytest.mark.parametrize(
    ("positions", "confidence", "message"),
    [
        (np.ones((5, 3, 4)), None, r"\(5, 3, 4\)"),
        (np.ones((5, 2, 4)), np.ones((5, 3)), r"conf_pred has shape \(5, 3\)"),
    ],
)
def test_shapes_that_do_not_fit(tmp_path, positions, confidence, message):
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["positions_pred"] = positions
        if confidence is not None:
            file["conf_pred"] = confidence
    with pytest.raises(InputFormatError, match=message):
        io.read(tmp_path / "a.h5", sampling_rate=1)


def test_another_structure_by_that_name(tmp_path):
    scipy.io.savemat(tmp_path / "a.mat", {"preds": {"accuracy": 0.9}})
    with pytest.raises(InputFormatError, match=r"lacks positions_pred.*It holds preds \(1, 1\) struct"):
        io.read(tmp_path / "a.mat", sampling_rate=1)
