"""Plain arrays in HDF5: through the one door, and no more than their file may ask for."""

import h5py
import numpy as np
import pytest

from ethomarkov.exceptions import InputFormatError
from ethomarkov.io import read

VALUES = np.random.default_rng(0).normal(size=(6, 2))


def refused(path, message):
    with pytest.raises(InputFormatError, match=message) as caught:
        read(path, sampling_rate=1)
    assert path.name in str(caught.value)


def test_arrays_in_another_file(tmp_path):
    with h5py.File(tmp_path / "secret.h5", "w") as file:
        file["x"] = VALUES
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["amplitudes"] = h5py.ExternalLink("secret.h5", "/x")
    refused(tmp_path / "a.h5", "is a link to another file")


def test_a_link_that_leads_nowhere(tmp_path):
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["amplitudes"], file["time"] = VALUES, h5py.SoftLink("/nowhere")
    refused(tmp_path / "a.h5", "cannot be read")


@pytest.mark.usefixtures("reads_here")
def test_too_much_together(tmp_path, monkeypatch):
    monkeypatch.setattr("ethomarkov.io.limits.FREE_BYTES", 0)
    with h5py.File(tmp_path / "a.h5", "w") as file:
        for name in ("amplitudes", "centroid", "time"):
            file.create_dataset(name, (10_000, 2), "f4", chunks=(100, 2))
    refused(tmp_path / "a.h5", "the sum of its arrays needs")


@pytest.mark.parametrize("dtype", [h5py.vlen_dtype(np.float64), h5py.ref_dtype, "c16", "?", np.dtype([("a", "f8")])])
def test_what_is_no_number_is_not_read(tmp_path, dtype):
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.create_dataset("amplitudes", (6, 2), dtype)
    refused(tmp_path / "a.h5", "real numbers")


def test_an_empty_array(tmp_path):
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["amplitudes"] = h5py.Empty("f8")
    refused(tmp_path / "a.h5", "amplitudes")
