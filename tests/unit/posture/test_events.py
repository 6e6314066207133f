"""Events in series made by hand."""

import numpy as np
import pytest

from ethomarkov._core.series import Series
from ethomarkov.posture import EventSettings, find_events
from ethomarkov.posture.bodywave import PAPER_COLUMN_SUMS
from ethomarkov.posture.events import EVENT_KINDS

REVERSAL, VENTRAL, DORSAL = range(3)


def forward(n=400, rate=16.0):
    """A worm that crawls forward at half a cycle per second."""
    phase = 2 * np.pi * 0.5 * np.arange(n) / rate
    modes = np.zeros((n, 5))
    modes[:, 0], modes[:, 1] = 6 * np.cos(phase), -6 * np.sin(phase)
    return modes


def listed(events):
    return list(zip(events.kind.tolist(), events.start.tolist(), events.stop.tolist(), strict=True))


def test_forward_crawling_has_no_events():
    events = find_events(Series.from_rows(forward(), 16.0))
    assert listed(events) == []
    assert events.counts().tolist() == [[0, 0, 0]]
    assert EVENT_KINDS == ("reversal", "ventral turn", "dorsal turn")


@pytest.mark.parametrize(("frames", "found"), [(7, 0), (8, 1), (9, 1)])
def test_half_a_second_is_eight_frames_inclusive(frames, found):
    modes = forward()
    modes[100 : 100 + frames, 2] = 16.0
    events = find_events(Series.from_rows(modes, 16.0))
    assert listed(events) == [(VENTRAL, 100, 100 + frames)] * found


@pytest.mark.parametrize(("frames", "found"), [(8, 0), (9, 1)])
def test_the_paper_asks_for_nine_frames(frames, found):
    """Its γ is computed with the wave taken out, so that the third mode alone decides."""
    modes = np.zeros((60, 5))
    modes[:, 0] = 0.01
    modes[20 : 20 + frames, 2] = 3.6e-4 / 2.3211e-5
    events = find_events(Series.from_rows(modes, 16.0), EventSettings.paper())
    assert listed(events) == [(VENTRAL, 20, 20 + frames)] * found


def test_the_paper_tells_sides_by_the_sign_of_gamma():
    modes = np.zeros((80, 5))
    modes[10:30, 2], modes[50:70, 2] = 20.0, -20.0
    assert (modes @ PAPER_COLUMN_SUMS)[15] < -3.5e-4
    events = find_events(Series.from_rows(modes, 16.0), EventSettings.paper())
    assert listed(events) == [(VENTRAL, 10, 30), (DORSAL, 50, 70)]


@pytest.mark.parametrize(("bend", "kinds"), [(15.0, []), (15.001, [VENTRAL]), (-15.0, []), (-15.001, [DORSAL])])
def test_a_turn_exceeds_its_threshold(bend, kinds):
    modes = forward()
    modes[50:80, 2] = bend
    assert find_events(Series.from_rows(modes, 16.0)).kind.tolist() == kinds


def reversing(velocity=-0.5, first=100, stop=160, n=400):
    """Crawl forward, go back between two frames, crawl on."""
    omega = np.full(n, 0.5)
    omega[first:stop] = velocity
    phase = 2 * np.pi * np.cumsum(omega) / 16
    modes = np.zeros((n, 5))
    modes[:, 0], modes[:, 1] = 6 * np.cos(phase), -6 * np.sin(phase)
    return modes


def test_a_reversal_has_its_boundaries():
    events = find_events(Series.from_rows(reversing(), 16.0))
    assert events.kind.tolist() == [REVERSAL]
    # the spline rounds the corners by a frame
    assert abs(events.start[0] - 100) <= 1
    assert abs(events.stop[0] - 160) <= 1


@pytest.mark.parametrize(("velocity", "found"), [(-0.1, 0), (-0.3, 1)])
def test_a_reversal_is_faster_than_a_fifth_of_a_cycle(velocity, found):
    assert find_events(Series.from_rows(reversing(velocity), 16.0)).counts()[0, REVERSAL] == found


@pytest.mark.parametrize(("bend", "kinds"), [(12.9, [REVERSAL]), (14.0, []), (16.0, [VENTRAL]), (-12.9, [REVERSAL])])
def test_a_reversal_stays_straight(bend, kinds):
    modes = reversing()
    modes[:, 2] = bend
    assert find_events(Series.from_rows(modes, 16.0)).kind.tolist() == kinds


def test_an_event_cut_by_a_gap_is_two():
    modes = forward()
    modes[100:120, 2] = 20.0
    modes[110] = np.nan
    events = find_events(Series.from_rows(modes, 16.0))
    assert listed(events) == [(VENTRAL, 100, 110), (VENTRAL, 111, 120)]
    modes[106] = np.nan
    assert listed(find_events(Series.from_rows(modes, 16.0))) == [(VENTRAL, 111, 120)]


def test_an_event_does_not_pass_to_the_next_animal():
    modes = forward(40)
    modes[14:26, 2] = 20.0
    series = Series.from_rows(modes, 16.0, np.array([0, 20, 40]), ("a", "b"))
    assert listed(find_events(series)) == []
    modes[10:30, 2] = 20.0
    events = find_events(series.with_rows(modes))
    assert listed(events) == [(VENTRAL, 10, 20), (VENTRAL, 20, 30)]
    assert events.individual.tolist() == [0, 1]


def test_rates_are_per_observed_minute():
    modes = forward(960 * 2)
    for first in (100, 300, 500):
        modes[first : first + 20, 2] = 20.0
    modes[960 : 960 + 480] = np.nan  # half of the second minute is lost
    series = Series.from_rows(modes, 16.0, np.array([0, 1920, 1920]), ("a", "never seen"))
    events = find_events(series)
    np.testing.assert_allclose(events.observed, [90.0, 0.0])
    np.testing.assert_allclose(events.rates()[0], [0, 3 / 1.5, 0])
    assert np.isnan(events.rates()[1]).all()


def test_duration_follows_the_rate():
    modes = forward(400, 30.0)
    modes[50:64, 2], modes[150:165, 2] = 20.0, 20.0
    assert listed(find_events(Series.from_rows(modes, 30.0))) == [(VENTRAL, 150, 165)]


def test_events_come_in_order_of_time():
    modes = reversing()
    modes[200:220, 2], modes[20:40, 2] = 20.0, -20.0
    events = find_events(Series.from_rows(modes, 16.0))
    assert events.kind.tolist() == [DORSAL, REVERSAL, VENTRAL]
    assert (np.diff(events.start) > 0).all()


@pytest.mark.real
def test_rates_of_a_real_worm_lie_in_the_published_range(shared_data):
    """Per minute, of twelve worms: reversals 1.8 to 5.3, ventral turns 1.1 to 3.5, dorsal turns below 0.7."""
    series = Series.from_rows(np.load(shared_data("worm6.npz"))["modes"], 16.0)
    reversal, ventral, dorsal = find_events(series, EventSettings.paper()).rates()[0]
    assert 1.8 < reversal < 5.3
    assert 1.1 < ventral < 3.5
    assert dorsal < 0.75


def test_the_table_lists_events_of_every_animal():
    modes = np.concatenate([forward(), forward()])
    modes[420:430, 2] = 20.0
    modes[100:120, 2] = -20.0
    events = find_events(Series.from_rows(modes, 16.0, np.array([0, 400, 800]), ("a", "b")))
    rows = events.table().values.tolist()
    assert rows == [["a", "dorsal turn", 100, 120, 1.25], ["b", "ventral turn", 420, 430, 0.625]]
    assert events.headline() == "0 reversals, 1 ventral turn, 1 dorsal turn in 2 animals"
