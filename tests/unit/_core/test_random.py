"""One seed, many named streams."""

import itertools

import numpy as np

from ethomarkov._core.random import as_generator, generator


def first_numbers(seed, *names):
    return tuple(generator(seed, *names).integers(2**62, size=4).tolist())


def test_same_names_and_seed_give_the_same_stream():
    assert first_numbers(3, "walk", 7) == first_numbers(3, "walk", 7)


def test_streams_do_not_depend_on_the_order_in_which_they_are_made():
    names = [("walk", i) for i in range(5)]
    forward = {name: first_numbers(0, *name) for name in names}
    backward = {name: first_numbers(0, *name) for name in reversed(names)}
    assert forward == backward


def test_every_name_and_seed_has_its_own_stream():
    keys = [(seed, *names) for seed in (0, 1, 2) for names in ((), ("a",), ("b",), ("a", "b"), ("ab",), ("b", "a"))]
    keys += [(0, "walk", i) for i in range(200)]
    streams = [first_numbers(*key) for key in keys]
    assert len(set(streams)) == len(streams)


def test_a_stream_is_known_across_versions():
    """Published numbers are promised to be reproducible, so the way from names to streams is frozen."""
    known = [0.8839926446814765, 0.11695194886790206, 0.08464782102434398]
    np.testing.assert_array_equal(generator(0, "walk", 7).random(3), known)


def test_named_streams_are_uncorrelated():
    draws = np.array([generator(0, "worm", i).normal(size=4000) for i in range(12)])
    off_diagonal = [abs(np.corrcoef(a, b)[0, 1]) for a, b in itertools.combinations(draws, 2)]
    assert max(off_diagonal) < 4.5 / np.sqrt(4000)


def test_a_generator_is_passed_on_and_a_seed_is_opened():
    rng = np.random.default_rng(5)
    assert as_generator(rng) is rng
    assert as_generator(5).random() == np.random.default_rng(5).random()
