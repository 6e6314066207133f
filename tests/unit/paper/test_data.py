"""Finding what is at hand of the paper."""

import h5py
import numpy as np
import pytest
from scipy.io import savemat

from ethomarkov.exceptions import InputFormatError
from ethomarkov.paper.data import MISSING, bridge, find_paper_data
from ethomarkov.posture import PostureBasis

FRAMES = 33_600


def walk(n_frames, seed=0, step=0.01):
    return np.cumsum(np.random.default_rng(seed).normal(0, step, (n_frames, 2)), axis=0)


def write_basis(folder, name="EigenWorms.csv"):
    np.savetxt(folder / name, PostureBasis.analytic().vectors, delimiter=",", fmt="%.17g")


def one_worm(folder, n_missing, n_frames=FRAMES):
    modes = np.random.default_rng(0).normal(0, 5, (n_frames, 5)).astype(np.float32)
    modes[100 : 100 + n_missing] = np.nan
    np.savez(folder / "one.npz", modes=modes, centroid_mm=walk(n_frames), fps=16.0)


class TestPaperData:
    @pytest.mark.parametrize(("missing", "worm"), [(434, 6), (MISSING[11], 11), (60, 8), (1000, -1)])
    def test_a_worm_is_known_by_what_it_lacks(self, tmp_path, missing, worm):
        one_worm(tmp_path, missing)
        write_basis(tmp_path, "eigenworms.csv")
        found = find_paper_data(tmp_path)
        assert found.worms == (worm,)
        assert found.sentence == "postures of 1 worm of twelve"
        assert found.basis.n_modes == 5
        assert (found.paths, found.scan, found.lags) == (None, None, None)

    def test_a_shorter_recording_is_no_worm_of_the_paper(self, tmp_path):
        one_worm(tmp_path, 430, n_frames=20_000)
        write_basis(tmp_path)
        assert find_paper_data(tmp_path).worms == (-1,)

    def test_tables_and_paths(self, tmp_path):
        np.savez(tmp_path / "a.npz", centroid_mm=np.zeros((12, 50, 2)), fps=16.0)
        rates = np.ones((2, 3, 12))
        np.savez(tmp_path / "b.npz", entropy_rates=rates, entropies=rates, K_range=[1, 2], seed_range=[10, 100, 1000])
        np.savez(tmp_path / "c.npz", timescales_s=np.full((12, 2, 20), 3.0), lag_frames=[1, 12])
        found = find_paper_data(tmp_path)
        assert found.recording is None
        assert found.paths.segments.n_individuals == 12
        np.testing.assert_allclose(found.scan.entropy_rate, 16.0)
        np.testing.assert_allclose(found.lags.lags, [1 / 16, 0.75])
        assert "all twelve" in found.sentence

    def test_the_whole_dataset(self, tmp_path):
        """Postures at 16 Hz and paths at 32 Hz, in counts and pixels; the cells are stored in another order."""
        n_frames, n_worms = 64, 3
        amplitudes = np.random.default_rng(1).normal(0, 5, (n_worms, n_frames, 5))
        with h5py.File(tmp_path / "PNAS2011-DataStitched.mat", "w") as file:
            refs = file.create_group("#refs#")
            cells = [refs.create_dataset(name, data=amplitudes[i].T).ref for i, name in enumerate("dbc")]
            cell = file.create_dataset("tr", (1, n_worms), dtype=h5py.ref_dtype)
            cell.attrs["MATLAB_class"] = np.bytes_("cell")
            cell[0] = cells
        counts = 788 * (1 + np.arange(n_worms * 2 * n_frames * 2).reshape(n_worms, 2 * n_frames, 2))
        angles = np.random.default_rng(2).normal(0, 0.3, (n_worms, 2 * n_frames, 100))
        lengths = np.full((n_worms, 2 * n_frames), 405.0 * 0.7)
        savemat(tmp_path / "shapes.mat", {"theta_ensemble": angles, "wormCm": counts, "wormLength": lengths})
        write_basis(tmp_path)
        found = find_paper_data(tmp_path)
        np.testing.assert_allclose(found.recording.values, amplitudes.reshape(-1, 5), rtol=1e-6)
        np.testing.assert_allclose(found.recording.centroid, counts[:, ::2].reshape(-1, 2) / 788, rtol=1e-6)
        assert list(found.recording.body_lengths.values()) == pytest.approx([0.7] * n_worms)
        assert found.recording.sampling.rate == 16.0

    def test_nothing_there(self, tmp_path):
        with pytest.raises(InputFormatError, match="data fetch costa2024"):
            find_paper_data(tmp_path)
        with pytest.raises(InputFormatError, match="no directory"):
            find_paper_data(tmp_path / "absent")

    def test_postures_without_their_modes(self, tmp_path):
        one_worm(tmp_path, 0, n_frames=100)
        with pytest.raises(InputFormatError, match=r"EigenWorms\.csv"):
            find_paper_data(tmp_path)

    def test_a_broken_file_is_named(self, tmp_path):
        (tmp_path / "a.npz").write_bytes(b"no archive")
        with pytest.raises(InputFormatError, match=r"a\.npz"):
            find_paper_data(tmp_path)


def test_lost_positions_are_bridged_by_straight_lines():
    track = np.array([[[0.0, 0.0], [np.nan, np.nan], [2.0, 4.0], [3.0, np.nan], [4.0, 8.0]]])
    np.testing.assert_allclose(bridge(track)[0], [[0, 0], [1, 2], [2, 4], [3, 6], [4, 8]])
    assert np.isnan(track[0, 1, 0])
