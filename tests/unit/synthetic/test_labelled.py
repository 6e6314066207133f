"""Systems with a known number of states."""

import numpy as np
import pytest

from ethomarkov.exceptions import InputFormatError
from ethomarkov.synthetic import SYSTEMS, make_system

N_STATES = {"worms": 7, "separable worms": 7, "oscillators": 3, "frequencies": 3, "two and three": 5, "four wells": 4}
TWO = ("rare", "overlapping", "overdamped", "underdamped", "lorenz")


@pytest.mark.parametrize("name", SYSTEMS)
class TestSystem:
    def test_has_a_state_for_every_frame_of_every_animal(self, name):
        system = make_system(name, n_animals=2, duration=120.0, seed=3)
        assert len(system.states) == len(system.series.values)
        assert system.series.segments.n_individuals == 2
        assert system.n_states == N_STATES.get(name, 2 if name in TWO else 1)

    def test_depends_on_the_seed_alone(self, name):
        first, again, other = (make_system(name, n_animals=1, duration=30.0, seed=seed) for seed in (1, 1, 2))
        np.testing.assert_array_equal(first.series.values, again.series.values)
        assert not np.array_equal(first.series.values, other.series.values, equal_nan=True)


def test_animals_of_one_recording_differ():
    values = make_system("oscillators", n_animals=2, duration=30.0).series.values
    assert not np.allclose(values[:480], values[480:])


def test_share_of_time_follows_from_the_rates():
    system = make_system("rare", n_animals=20, duration=2000.0)
    assert np.mean(system.states == 1) == pytest.approx(4 / 64, rel=0.1)


def test_refuses_an_unknown_name():
    with pytest.raises(InputFormatError, match="four wells"):
        make_system("five wells")
