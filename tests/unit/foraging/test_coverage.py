"""Areas swept by bodies of which geometry knows the answer."""

import itertools

import numpy as np
import pytest

from ethomarkov._core.sampling import Sampling
from ethomarkov._core.series import Series
from ethomarkov.exceptions import InputFormatError
from ethomarkov.foraging.coverage import (
    Footprint,
    SweepSettings,
    count_disc_cells,
    coverage_measure,
    food_radii,
    footprints,
    measure_coverage,
)
from ethomarkov.locomotion import propel, skeletons
from ethomarkov.locomotion.trajectory import Trajectory
from ethomarkov.posture import PostureBasis

WIDTH = 0.05
TILT = 0.3  # turns tracks away from the rows of the grid


def straight(centroid, heading, n_segments=100, rate=16.0, body_length=1.0):
    """A straight rod; its heading points from head to tail."""
    centroid = np.asarray(centroid, dtype=float) * body_length
    heading = np.broadcast_to(np.asarray(heading, dtype=float), len(centroid))
    postures = Series.from_rows(np.zeros((len(centroid), n_segments)), rate)
    path = Trajectory(centroid=centroid, heading=heading, segments=postures.segments, sampling=Sampling(rate))
    return postures, path


def line(angle, step, n):
    return step * np.arange(n)[:, None] * np.array([np.cos(angle), np.sin(angle)])


def crawling(seconds=10.0, rate=16.0):
    basis = PostureBasis.analytic()
    t = np.arange(int(seconds * rate)) / rate
    amplitudes = np.zeros((t.size, basis.n_modes))
    amplitudes[:, 0], amplitudes[:, 1] = 6 * np.cos(np.pi * t), -6 * np.sin(np.pi * t)
    postures = Series.from_rows(amplitudes, rate)
    return postures, propel(postures, 30.0, basis=basis), basis


def area_of(body, **rule):
    return measure_coverage(*body, settings=SweepSettings(**rule)).area[0]


def brute_footprint(joints, radius, pitch):
    """Cells whose middle is near any segment of any frame, one by one."""
    low = np.floor((joints.reshape(-1, 2).min(axis=0) - radius) / pitch).astype(int) - 1
    high = np.ceil((joints.reshape(-1, 2).max(axis=0) + radius) / pitch).astype(int) + 1
    cells = np.stack(np.meshgrid(*(np.arange(a, b) for a, b in zip(low, high, strict=True)), indexing="ij"), -1)
    middles = (cells + 0.5) * pitch
    near = np.zeros(cells.shape[:2], dtype=bool)
    for body in joints:
        for a, b in itertools.pairwise(body):
            d = b - a
            along = np.clip((middles - a) @ d / (d @ d), 0, 1)
            near |= np.linalg.norm(middles - a - along[..., None] * d, axis=-1) <= radius
    return {tuple(cell) for cell in cells[near].tolist()}


def test_static_body_is_a_capsule():
    body = straight(np.zeros((5, 2)), TILT)
    expected = WIDTH + np.pi * WIDTH**2 / 4
    assert area_of(body, cells_per_width=20) == pytest.approx(expected, rel=2e-3)
    assert area_of(body) == pytest.approx(expected, rel=0.02)


def test_rod_moving_along_itself_adds_length_times_width():
    n, step = 400, 0.02
    body = straight(line(TILT, step, n), TILT + np.pi)
    expected = (1 + (n - 1) * step) * WIDTH + np.pi * WIDTH**2 / 4
    assert area_of(body) == pytest.approx(expected, rel=5e-3)


def test_rod_moving_sideways_covers_a_rounded_rectangle():
    n, step = 200, 0.02
    travelled = (n - 1) * step
    body = straight(line(TILT, step, n), TILT + np.pi / 2)
    r = WIDTH / 2
    expected = (1 + 2 * r) * (travelled + 2 * r) - (4 - np.pi) * r**2
    assert area_of(body) == pytest.approx(expected, rel=3e-3)


def test_rod_turning_in_place_covers_a_disc():
    angles = np.linspace(0, np.pi, 200)
    body = straight(np.zeros((200, 2)), angles)
    # on the default grid the disc is 21 cells in radius, and the count itself is uncertain by about a cell in a hundred
    assert area_of(body, cells_per_width=10) == pytest.approx(np.pi * (0.5 + WIDTH / 2) ** 2, rel=2e-3)


def test_track_on_a_circle_covers_an_annulus():
    # a rod that stands radially on its circle of radius 3
    turn = np.linspace(0, 2 * np.pi, 2000)
    centroid = 3 * np.stack([np.cos(turn), np.sin(turn)], axis=1)
    expected = np.pi * (3.525**2 - 2.475**2)
    assert area_of(straight(centroid, turn)) == pytest.approx(expected, rel=2e-3)


def test_curved_body_on_its_own_circle():
    # a body bent to the arc of a circle of radius 1 that crawls around it: an annulus of the body's width
    n_segments, n = 100, 400
    bend = (np.arange(n_segments) + 0.5) / n_segments - 0.5
    arc = Series.from_rows(np.tile(bend, (n, 1)), 16.0)
    turn = np.linspace(0, 2 * np.pi, n)
    # the tangent at the middle of the body is at a right angle to the radius; the centroid lies inside the circle
    inside = np.mean(np.cos(bend))
    centroid = inside * np.stack([np.cos(turn), np.sin(turn)], axis=1)
    path = Trajectory(centroid=centroid, heading=turn + np.pi / 2, segments=arc.segments, sampling=Sampling(16.0))
    assert area_of((arc, path)) == pytest.approx(np.pi * (1.025**2 - 0.975**2), rel=0.01)


@pytest.mark.parametrize("angle", [TILT, TILT + np.pi / 2, 1.0])
@pytest.mark.parametrize("cells_per_width", [1, 2, 4])
def test_no_holes_at_ten_widths_per_frame(angle, cells_per_width):
    n, step = 10, 10 * WIDTH
    # forward, sideways and obliquely to the body
    body = straight(line(TILT, step, n), angle)
    slow = straight(line(TILT, step / 40, 40 * (n - 1) + 1), angle)
    rule = SweepSettings(cells_per_width=cells_per_width)
    prints = (footprints(*one, settings=rule)[0] for one in (body, slow))
    found, expected = ({tuple(cell) for cell in one.cells.tolist()} for one in prints)
    assert len(expected - found) <= 0.01 * len(expected)
    # what is missing lies on the outline: with all neighbours covered it would be a hole
    around = [(i, j) for i in (-1, 0, 1) for j in (-1, 0, 1) if (i, j) != (0, 0)]
    assert not [c for c in expected - found if all((c[0] + i, c[1] + j) in found for i, j in around)]


def test_cells_are_those_near_the_body_of_some_frame():
    postures, path, basis = crawling(seconds=1.0)
    rule = SweepSettings(centre="centroid")
    found = footprints(postures, path, basis=basis, settings=rule)[0]
    # chords of two segments, as the kernel draws them
    joints = skeletons(path, postures, basis=basis)[:, ::2]
    drawn = {tuple(cell) for cell in found.cells.tolist()}
    expected = brute_footprint(joints, WIDTH / 2, rule.pitch)
    assert expected <= drawn
    # the rest is motion between frames
    between = [joints[:-1] + share * np.diff(joints, axis=0) for share in np.linspace(0, 1, 9)]
    assert drawn <= brute_footprint(np.concatenate(between), WIDTH / 2 * 1.03, rule.pitch)


def test_single_frame_equals_the_oracle_exactly():
    postures, path, basis = crawling(seconds=1.0)
    still = Series.from_rows(postures.values[:1], 16.0)
    place = Trajectory(
        centroid=path.centroid[:1], heading=path.heading[:1], segments=still.segments, sampling=Sampling(16.0)
    )
    for cells in (2, 5):
        rule = SweepSettings(centre="centroid", cells_per_width=cells)
        joints = skeletons(place, still, basis=basis)[:, :: max(1, int(100 * rule.pitch))]
        found = footprints(still, place, basis=basis, settings=rule)[0]
        assert {tuple(c) for c in found.cells.tolist()} == brute_footprint(joints, WIDTH / 2, rule.pitch)


def turned(path, turn):
    rotation = np.array([[np.cos(turn), np.sin(turn)], [-np.sin(turn), np.cos(turn)]])
    return Trajectory(
        centroid=path.centroid @ rotation, heading=path.heading + turn, segments=path.segments, sampling=path.sampling
    )


@pytest.mark.parametrize(("cells", "bias", "spread"), [(2, 0.006, 0.01), (4, 0.002, 0.005), (8, 0.001, 0.002)])
def test_area_converges_and_does_not_depend_on_direction(cells, bias, spread):
    postures, path, basis = crawling()
    rule, fine = SweepSettings(cells_per_width=cells), SweepSettings(cells_per_width=20)
    turns = np.linspace(0, np.pi, 25)
    areas = [measure_coverage(postures, turned(path, turn), basis=basis, settings=rule).area[0] for turn in turns]
    expected = measure_coverage(postures, path, basis=basis, settings=fine).area[0]
    assert np.mean(areas) == pytest.approx(expected, rel=bias)
    assert np.std(areas) < spread * expected


def test_straight_track_through_the_centre_of_a_disc():
    # the head starts at the centre and the rod is drawn behind it: a strip of the disc in both directions
    n, step = 600, 0.02
    body = straight(line(TILT, step, n), TILT + np.pi)
    radii = np.array([0.5, 0.8, 5.0])
    found = measure_coverage(*body, radii, settings=SweepSettings(cells_per_width=10)).share[0]
    h = WIDTH / 2

    def half_strip(r):
        """Area of the points of a disc within h of a diameter, on one side of the centre."""
        return h * np.sqrt(r**2 - h**2) + r**2 * np.arcsin(h / r)

    # within half and 0.8 body lengths the strip goes all the way through; farther away only ahead
    ahead, behind = half_strip(radii), half_strip(np.minimum(radii, 100))
    behind[2] = WIDTH * 1.0 + np.pi * h**2 / 2
    assert found == pytest.approx((ahead + behind) / (np.pi * radii**2), rel=0.01)


def test_whole_disc_is_covered_once():
    turn = np.linspace(0, 6 * np.pi, 600)
    body = straight(np.zeros((600, 2)), turn)
    found = measure_coverage(*body, np.array([0.3, 0.5, 1.0]), settings=SweepSettings(centre="centroid")).share[0]
    assert found[:2].tolist() == [1.0, 1.0]
    assert found[2] == pytest.approx(0.525**2, rel=0.01)


def test_centre_is_head_or_centroid():
    body = straight(np.zeros((3, 2)), TILT)
    radius = np.array([0.4])
    head, centroid = (
        measure_coverage(*body, radius, settings=SweepSettings(centre=centre, cells_per_width=10)).share[0, 0]
        for centre in ("head", "centroid")
    )
    # from the middle the rod leaves the disc on both sides, from the head on one
    h, r = WIDTH / 2, 0.4
    strip = h * np.sqrt(r**2 - h**2) + r**2 * np.arcsin(h / r)
    assert centroid == pytest.approx(2 * strip / (np.pi * r**2), rel=0.02)
    assert head == pytest.approx((strip + np.pi * h**2 / 2) / (np.pi * r**2), rel=0.02)


def test_first_seen_is_when_the_head_arrives():
    n, rate, step = 161, 16.0, 0.025
    body = straight(line(TILT, step, n), TILT + np.pi)
    found = footprints(*body)[0]
    ahead = found.points @ [np.cos(TILT), np.sin(TILT)]
    there = ahead > 0.1
    assert found.first_seen[there] == pytest.approx(ahead[there] / (step * rate), abs=2.5 / rate)
    assert (np.diff(found.first_seen) >= 0).all()


def test_units_of_the_path_do_not_matter():
    postures, path, basis = crawling(seconds=3.0)
    large = Trajectory(
        centroid=path.centroid * 1.2,
        heading=path.heading,
        segments=path.segments,
        sampling=path.sampling,
        length_unit="mm",
    )
    share = measure_coverage(postures, path, basis=basis).share
    larger = measure_coverage(postures, large, basis=basis, settings=SweepSettings(body_length=1.2)).share
    assert larger == pytest.approx(share, rel=0.01)


def test_every_run_is_a_row():
    postures, path, basis = crawling(seconds=3.0)
    rows = np.concatenate([postures.values, postures.values])
    both = Series.from_rows(rows, 16.0, np.array([0, 48, 96]))
    twice = propel(both, 30.0, basis=basis)
    found = measure_coverage(both, twice, basis=basis)
    one = measure_coverage(postures, path, basis=basis)
    assert found.share.shape == (2, food_radii().size)
    assert (found.share == one.share).all()
    assert found.duration.tolist() == [3.0, 3.0]
    assert (coverage_measure(basis)(both, twice) == one.share[0]).all()


def test_published_raster():
    postures, path, basis = crawling(seconds=20.0)
    found = measure_coverage(postures, path, basis=basis, settings=SweepSettings(method="paper"))
    joints = skeletons(path, postures, basis=basis)
    points = (joints[::8, ::5] - joints[0, 0]).reshape(-1, 2)
    edges = np.linspace(-25, 25, 1001)
    counts, *_ = np.histogram2d(*points.T, bins=(edges, edges))
    middle = (edges[1:] + edges[:-1]) / 2
    distance = np.hypot(*np.meshgrid(middle, middle, indexing="ij"))
    expected = [(counts[distance < r] > 0).sum() / (distance < r).sum() for r in food_radii()]
    assert found.share[0] == pytest.approx(expected, rel=1e-12)
    assert found.area[0] == pytest.approx((counts > 0).sum() * 0.05**2)


def test_published_raster_misses_what_lies_between():
    fast = straight(line(TILT, 0.03, 161), TILT + np.pi / 2)
    assert area_of(fast, method="paper") < 0.5 * area_of(fast)


@pytest.mark.parametrize("pitch", [0.05, 0.025, 1 / 3])
def test_cells_of_a_disc(pitch):
    radii = np.array([0.1, 0.5, 1.0, 3.7])
    middles = (np.arange(-160, 160) + 0.5) * pitch
    distance = np.hypot(*np.meshgrid(middles, middles))
    assert count_disc_cells(tuple(radii), pitch).tolist() == [int((distance < r).sum()) for r in radii]


def test_empty_discs_have_no_share():
    one = Footprint(cells=np.zeros((1, 2), dtype=int), first_seen=np.zeros(1), pitch=1.0)
    assert np.isnan(one.share(np.array([0.1]))[0])
    assert one.share(np.array([1.0]))[0] == 0.25


@pytest.mark.parametrize("wrong", [{"width": 0.0}, {"cells_per_width": -1}, {"centre": "tail"}, {"method": "points"}])
def test_wrong_rules_are_refused(wrong):
    with pytest.raises(InputFormatError, match=next(iter(wrong))):
        SweepSettings(**wrong)


def test_paths_without_a_body_are_refused():
    postures, path = straight(np.zeros((4, 2)), 0.0)
    measured = Trajectory.from_points(path.centroid, postures, "mm")
    with pytest.raises(InputFormatError, match="heading"):
        footprints(postures, measured)
    short = Series.from_rows(postures.values[:3], 16.0)
    with pytest.raises(InputFormatError, match="4 frames"):
        footprints(short, path)
    far = np.array([[0.0, 0.0], [5e4, 5e4]])
    with pytest.raises(InputFormatError, match="cells"):
        footprints(*straight(far, 0.0))


def test_missing_frames_leave_runs_apart():
    postures, _, basis = crawling(seconds=3.0)
    rows = postures.values.copy()
    rows[20] = np.nan
    cut = Series.from_rows(rows, 16.0)
    assert len(footprints(cut, propel(cut, basis=basis), basis=basis)) == 2
