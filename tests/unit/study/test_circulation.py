"""Net transitions between states."""

import dataclasses

import numpy as np
import pytest

from ethomarkov._core.segments import Segments
from ethomarkov.states import Symbols
from ethomarkov.study.circulation import _count_pairs, _net_flux


def walk(transition, n_frames, seed):
    rng, states = np.random.default_rng(seed), [0]
    for _ in range(n_frames - 1):
        states.append(int(rng.choice(len(transition), p=transition[states[-1]])))
    return np.array(states, dtype=np.int32)


def ring(forward, backward):
    """A ring of three states that is gone round one way more often than the other."""
    stay = 1 - forward - backward
    return np.array([[stay, forward, backward], [backward, stay, forward], [forward, backward, stay]])


def symbols_of(model, labels):
    segments = Segments.from_valid(np.ones(labels.size, dtype=bool))
    return Symbols(labels=labels, n_states=3, segments=segments, sampling=model.symbols.sampling)


@pytest.mark.parametrize(("forward", "backward"), [(0.2, 0.05), (0.1, 0.1)])
def test_a_ring_goes_round_as_its_probabilities_say(model, forward, backward):
    """Uniform law: the net flux is a third of the difference of the two probabilities, per step."""
    found = []
    for seed in range(10):
        symbols = symbols_of(model, walk(ring(forward, backward), 20_000, seed))
        counts, over = _count_pairs(symbols, symbols.sampling.interval)
        assert over == "blocks"
        found.append(_net_flux(counts.sum(axis=0), symbols.sampling.interval))
    expected = (forward - backward) / 3 / symbols.sampling.interval
    mean, spread = np.mean(found, axis=0), np.std(found, axis=0) / np.sqrt(len(found))
    for i in range(3):
        assert mean[i, (i + 1) % 3] == pytest.approx(expected, abs=4 * spread[i, (i + 1) % 3] + 1e-12)
    np.testing.assert_allclose(mean, -mean.T, atol=1e-12)


def test_of_a_study(study):
    found = study.compute("circulation", level=study.finest)
    assert found.names == study.names(study.finest)
    np.testing.assert_allclose(found.net, -found.net.T, atol=1e-12)
    assert (found.low <= found.net).all()
    assert (found.net <= found.high).all()
    assert 0 <= found.share <= 1
    table = found.table().set_index(["from", "to"])
    assert len(table) == len(found.names) * (len(found.names) - 1)
    assert table.net[found.names[0], found.names[1]] == found.net[0, 1]
    assert table.low[found.names[1], found.names[0]] == found.low[1, 0]
    # what goes into a state comes out of it, but for the first and last pairs of every stretch
    assert np.abs(found.net.sum(axis=1)).max() < 0.2


def test_two_states_are_balanced(study):
    """A walk between two states goes there as often as back, but for the ends of stretches."""
    found = study.compute("circulation", level=2)
    assert abs(found.net[0, 1]) < 0.1
    assert found.low[0, 1] <= 0 <= found.high[0, 1]


def test_a_new_name_is_shown(study):
    named = study.replace(settings=study.settings.model_copy(update={"names": {study.given_names(2)[0]: "crawl"}}))
    assert named.compute("circulation", level=2).names[0] == "crawl"
    assert dataclasses.is_dataclass(study.compute("circulation", level=2))
