"""Labels of states are not taken for amplitudes; amplitudes are never taken for labels."""

import numpy as np
import pytest

from ethomarkov.exceptions import InputFormatError
from ethomarkov.io import read
from ethomarkov.io.readers.labels import refuse_labels
from ethomarkov.synthetic import simulate_worms

SEEDS = range(20)


def labels(seed, n_states=7, n_frames=500):
    return np.random.default_rng(seed).integers(0, n_states, n_frames).astype(float)


@pytest.mark.parametrize("seed", SEEDS)
def test_labels_are_refused(seed):
    found = labels(seed, n_states=2 + 4 * seed, n_frames=2000)
    found[::7] = np.nan
    for values in (found, found[:, None] + 1, found.reshape(-1, 2), found.astype(np.float32)):
        with pytest.raises(InputFormatError, match="labels of states"):
            refuse_labels(values, "a1")


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("decimals", [1, 2, 6])
def test_rounded_amplitudes_pass(seed, decimals):
    rng = np.random.default_rng(seed)
    walk = np.cumsum(rng.normal(size=(400, 5)), axis=0) * 10 ** rng.uniform(-0.5, 1.5)
    for values in (walk, walk[:, :1], rng.normal(size=(50, 1))):
        refuse_labels(values.round(decimals), "a1")


@pytest.fixture(scope="module")
def worm():
    return simulate_worms(1, 60.0, seed=3).recording.values


@pytest.mark.parametrize("decimals", [1, 2, 3])
def test_a_worm_passes(worm, decimals):
    refuse_labels(worm.round(decimals), "a1")
    refuse_labels(worm[:, :1].round(decimals), "a1")


def test_counts_of_many_values_pass():
    refuse_labels(np.arange(100.0).repeat(5), "a1")


@pytest.mark.parametrize("values", [[], [np.nan] * 9, [1.0, 2.0, 3.0], [5.0, 6.0, 7.0, 5.0]])
def test_too_little_to_tell(values):
    refuse_labels(np.array(values), "a1")


def test_in_a_table_and_an_archive(tmp_path):
    (tmp_path / "a.csv").write_text("a1\n" + "\n".join(f"{label:g}" for label in labels(0)), encoding="utf-8")
    np.savez(tmp_path / "a.npz", amplitudes=labels(0).astype(np.int32)[:, None], fps=16)
    for name in ("a.csv", "a.npz"):
        with pytest.raises(InputFormatError, match=rf"{name}: .* 7 different ones from 0 to 6: these are labels"):
            read(tmp_path / name, sampling_rate=16)
