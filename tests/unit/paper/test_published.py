"""The table of published values."""

import numpy as np
import pytest

from ethomarkov.paper.published import (
    JUMPS,
    MESOSTATES,
    N_WORMS,
    WORM_ENTROPY,
    WORM_PATHS,
    WORM_REVERSIBLE,
    published_figures,
)


class TestPublishedFigures:
    def test_every_figure_is_named_once_and_lies_within_its_limits(self):
        figures = published_figures()
        keys = [one.key for one in figures]
        assert len(set(keys)) == len(keys) > 200
        assert all(one.low <= one.value <= one.high for one in figures)
        assert all(one.section and one.what for one in figures)
        assert {one.of_worms for one in figures} == {1, N_WORMS}

    def test_worms_are_added_as_asked(self):
        alone, one = len(published_figures(())), len(published_figures([6]))
        assert one - alone == 10
        found = {figure.key: figure for figure in published_figures([6])}
        assert found["worm 6 entropy rate"].value == 18.63
        assert found["worm 6 slope"].value == 0.2399
        assert (found["worm 6 simulated slope"].low, found["worm 6 simulated slope"].high) == (0.111, 0.297)

    def test_tables_agree_among_themselves(self):
        """What is published twice is the same: means over worms, shares of all states, probabilities."""
        found = {figure.key: figure for figure in published_figures()}
        assert np.mean(WORM_ENTROPY) == pytest.approx(found["entropy rate K=11 N=1000"].value, abs=0.006)
        assert np.std(WORM_ENTROPY, ddof=1) == pytest.approx(1.97, abs=0.006)
        assert np.mean(WORM_REVERSIBLE) == pytest.approx(found["reversible time 2"].value, abs=0.006)
        states = np.array(list(MESOSTATES.values()))
        assert states[:, 0].sum() == pytest.approx(1.0, abs=0.001)
        np.testing.assert_allclose(states[:, 4:].sum(axis=0), 1.0, atol=0.02)
        pirouettes = [MESOSTATES[name][0] for name in ("dorsal turn", "reversal", "ventral turn")]
        assert sum(pirouettes) == pytest.approx(found["pirouette measure"].value, abs=0.001)
        leaving = {name: sum(p for (before, _), p in JUMPS.items() if before == name) for name, _ in JUMPS}
        assert all(0.8 < total < 1.005 for total in leaving.values())
        # a straight line through 60 and 100 s has about the printed slope
        slopes = [(row[7] - row[6]) / 40 for row in WORM_PATHS]
        np.testing.assert_allclose(slopes, [row[0] for row in WORM_PATHS], rtol=0.05)
