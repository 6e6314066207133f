"""Digests tell different contents apart, and equal ones not."""

import dataclasses

import numpy as np
import pytest
import xarray as xr
from scipy import sparse

from ethomarkov._core.ledger import Ledger
from ethomarkov._core.series import Series
from ethomarkov.io.digest import canonical, digest
from ethomarkov.io.results import load_result, save_results
from ethomarkov.markov import MarkovChain
from ethomarkov.states import Symbols

DIFFERENT = [
    None, True, False, 0, 1, 0.0, 1.0, -0.0, "", "0", "none", (), ((),), (0,), ("0",), (0, 1), ((0, 1),), {}, {"a": 0},
    {"a": 1}, {"b": 0}, np.zeros(1), np.zeros(1, dtype=np.float32), np.zeros(2), np.zeros((1, 2)), np.zeros((2, 1)),
    np.array([0]), np.array(["a", "bc"]), np.array(["ab", "c"]), sparse.csr_array(np.eye(2)),
    sparse.csr_array(np.eye(3)[:2]), Ledger(),
    xr.Dataset({"x": ("t", np.zeros(2))}), xr.Dataset({"x": ("s", np.zeros(2))}),
    xr.Dataset({"x": ("t", np.zeros(2))}, attrs={"unit": "mm"}),
]  # fmt: skip


def test_different_contents_have_different_digests():
    digests = [digest(value) for value in DIFFERENT]
    assert len(set(digests)) == len(DIFFERENT)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (1, np.int64(1)),
        (0.5, np.float64(0.5)),
        (True, np.bool_(True)),
        ((1, 2), [1, 2]),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
        (np.arange(6.0).reshape(2, 3), np.asfortranarray(np.arange(6.0).reshape(2, 3))),
        (np.arange(6.0)[::2], np.arange(6.0)[::2].copy()),
        (np.array(["a", "b"]), np.array(["a", "b"], dtype=object)),
    ],
)
def test_how_it_is_kept_does_not_matter(one, other):
    assert digest(one) == digest(other)


def test_the_order_of_sparse_entries_does_not_matter():
    rows, columns, values = np.array([0, 0, 1]), np.array([2, 0, 1]), np.array([1.0, 2.0, 3.0])
    shuffled = sparse.csr_array((values, columns, np.array([0, 2, 3])), shape=(2, 3))
    ordered = sparse.csr_array(sparse.coo_array((values, (rows, columns)), shape=(2, 3)))
    assert digest(shuffled) == digest(ordered)
    assert canonical(shuffled).indices.tolist() == [0, 2, 1]
    assert shuffled.indices.tolist() == [2, 0, 1]  # the caller's own is left alone


def test_where_a_recording_lay_does_not_matter():
    data = xr.Dataset({"x": ("t", np.zeros(2))})
    assert digest(data.assign_attrs(source_file="a")) == digest(data.assign_attrs(source_file="b"))


def test_what_has_no_digest_is_named():
    with pytest.raises(TypeError, match="object"):
        digest({"a": object()})


def results():
    labels = np.random.default_rng(0).integers(0, 5, 400).astype(np.int32)
    series = Series.from_rows(np.random.default_rng(1).normal(size=(400, 3)), 16.0)
    symbols = Symbols(labels=labels, n_states=5, segments=series.segments, sampling=series.sampling)
    return [series, symbols, MarkovChain.from_symbols(symbols, 0.25)]


@pytest.mark.parametrize("made", results(), ids=lambda made: type(made).__name__)
def test_a_file_does_not_change_the_digest(made, tmp_path):
    save_results(tmp_path / "r.nc", {"it": made}, {})
    assert digest(load_result(tmp_path / "r.nc", "it", type(made))) == digest(made) == digest(canonical(made))


def test_equal_results_make_equal_bytes(tmp_path):
    for name in ("a.nc", "b.nc"):
        save_results(
            tmp_path / name, {f"outer/{k}": made for k, made in enumerate(results())}, {"x": 1}, {"outer": {"key": "k"}}
        )
    assert (tmp_path / "a.nc").read_bytes() == (tmp_path / "b.nc").read_bytes()


def test_any_change_of_a_chain_changes_its_digest():
    chain = results()[2]
    changed = [
        dataclasses.replace(chain, lag=0.5),
        dataclasses.replace(chain, stationary=chain.stationary[::-1]),
        dataclasses.replace(chain, transition=sparse.csr_array(chain.transition.T)),
    ]
    assert len({digest(one) for one in (chain, *changed)}) == 4
