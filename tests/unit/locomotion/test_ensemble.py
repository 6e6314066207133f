"""Ensembles of crawling animals: the same whatever the blocks and cores, and true to the rule."""

import dataclasses

import numpy as np
import pytest

from ethomarkov.exceptions import InputFormatError
from ethomarkov.locomotion import propel
from ethomarkov.locomotion.ensemble import CrawlSettings, crawl, gather, move
from ethomarkov.simulation.animal import MarkovAnimal
from ethomarkov.states import DelayEmbedding, Partition
from ethomarkov.synthetic import simulate_worms

RULE = CrawlSettings(duration=15.0, n_runs=5, body_length=0.8, length_unit="mm")
N_FRAMES = 15 * 16
MEASURES = {
    "end": lambda _, path: path.centroid[-1],
    "way": lambda _, path: np.asarray(np.linalg.norm(np.diff(path.centroid, axis=0), axis=1).sum()),
    "postures": lambda postures, _: postures.values[::40],
}


@pytest.fixture(scope="module")
def basis():
    return simulate_worms(1, 10.0, seed=0).basis


@pytest.fixture(scope="module")
def animal():
    worms = simulate_worms(1, 90.0, seed=4)
    postures = worms.basis.project(worms.recording)
    sequences = DelayEmbedding(11).transform(postures)
    symbols = Partition(10, seed=0).fit(sequences).label(sequences)
    return MarkovAnimal.from_symbols("worm", symbols, postures, 11, 0.75)


@pytest.fixture(scope="module")
def reference(animal, basis):
    return gather(crawl(animal, basis, RULE, rng=2), MEASURES)


@pytest.mark.parametrize(("per_block", "threads"), [(1, 1), (2, 2), (16, 2)])
def test_blocks_and_cores_change_nothing(animal, basis, reference, per_block, threads):
    rule = dataclasses.replace(RULE, runs_per_block=per_block)
    found = gather(crawl(animal, basis, rule, rng=2, threads=threads), MEASURES, threads=threads)
    for name in MEASURES:
        np.testing.assert_array_equal(found.values[name], reference.values[name])
    n_kept = min(per_block, 5)
    assert found.postures.segments.n_individuals == found.path.segments.n_individuals == n_kept
    np.testing.assert_array_equal(found.path.centroid, reference.path.centroid[: n_kept * N_FRAMES])


def test_fewer_runs_are_the_first_of_many(animal, basis, reference):
    found = gather(crawl(animal, basis, dataclasses.replace(RULE, n_runs=2), rng=2), MEASURES)
    for name in MEASURES:
        np.testing.assert_array_equal(found.values[name], reference.values[name][:2])


def test_measures_of_any_shape_one_row_per_run(reference):
    assert {name: values.shape for name, values in reference.values.items()} == {
        "end": (5, 2),
        "way": (5,),
        "postures": (5, N_FRAMES // 40, reference.postures.n_components),
    }


def test_values_belong_to_their_run(reference, basis):
    """Row k is measured on the path of run k, which is the path of its own postures."""
    for k in range(5):
        path = propel(reference.postures.cut(k), RULE.drag_ratio, 0.8, "mm", basis=basis)
        np.testing.assert_array_equal(reference.path.cut(k).centroid, path.centroid)
        np.testing.assert_array_equal(reference.values["end"][k], path.centroid[-1])
        np.testing.assert_array_equal(reference.values["postures"][k], reference.postures.cut(k).values[::40])
    assert len(np.unique(reference.values["way"])) == 5


def test_progress_counts_the_runs(animal, basis):
    told = []
    rule = dataclasses.replace(RULE, runs_per_block=2)
    gather(crawl(animal, basis, rule), {}, n_runs=5, progress=lambda *words: told.append(words))
    assert told == [("runs", 2, 5), ("runs", 4, 5), ("runs", 5, 5)]


def test_no_run_at_all_is_refused(animal, basis):
    with pytest.raises(InputFormatError, match="no run"):
        gather(crawl(animal, basis, dataclasses.replace(RULE, n_runs=0)), MEASURES)
    with pytest.raises(InputFormatError, match="no run"):
        gather([], MEASURES)


def test_a_measure_that_fails_is_heard(animal, basis):
    def fail(postures, path):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        gather(crawl(animal, basis, RULE), {"fail": fail}, threads=2)


def test_paths_grow_with_the_body(reference, basis):
    small, large = (
        move(reference.postures, basis, dataclasses.replace(RULE, body_length=length)) for length in (1.0, 3.0)
    )
    np.testing.assert_allclose(large.centroid, 3 * small.centroid, rtol=1e-12)
    np.testing.assert_array_equal(large.heading, small.heading)
    np.testing.assert_allclose(reference.path.centroid, 0.8 * small.centroid, rtol=1e-12)
    assert reference.path.length_unit == "mm"


def test_a_ring_keeps_paths_inside_and_steps_as_long(reference, basis):
    free = reference.path
    radius = 0.5 * float(np.linalg.norm(free.centroid, axis=1).max())
    ringed = move(reference.postures, basis, dataclasses.replace(RULE, ring_radius=radius))
    assert np.linalg.norm(ringed.centroid, axis=1).max() <= radius * (1 + 1e-6)
    for k in range(5):
        steps = [np.linalg.norm(np.diff(path.cut(k).centroid, axis=0), axis=1) for path in (free, ringed)]
        np.testing.assert_allclose(steps[1], steps[0], rtol=1e-9, atol=1e-12)
    assert not np.allclose(ringed.centroid, free.centroid)


def test_a_wide_ring_changes_nothing(reference, basis):
    ringed = move(reference.postures, basis, dataclasses.replace(RULE, ring_radius=1e6))
    np.testing.assert_array_equal(ringed.centroid, reference.path.centroid)
