"""Names of states from what the body does in them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ethomarkov._core.sampling import Sampling
from ethomarkov._core.segments import Segments
from ethomarkov._core.series import Series
from ethomarkov.coarse.naming import StateTraits, describe_states, measure_traits, name_states, rename
from ethomarkov.exceptions import InputFormatError
from ethomarkov.posture import wavelength
from ethomarkov.posture.basis import amplitude_series
from ethomarkov.states import Symbols
from ethomarkov.synthetic import simulate_worms
from ethomarkov.synthetic.worm import STATE_NAMES, WormModel

SHARE = [0.210, 0.179, 0.219, 0.146, 0.020, 0.132, 0.094]
VELOCITY = [0.525, 0.604, 0.382, 0.204, 0.055, -0.279, 0.065]
BEND = [0.5, 0.5, -2.0, 1.5, -11.0, 3.0, 14.0]
BEND_SD = [2.6, 2.6, 3.0, 3.5, 4.2, 5.0, 6.0]  # not published; those of the synthetic worm
WAVELENGTH = [0.75, 0.62, 0.68, 0.68, 1.3, 0.75, 1.3]
COLUMNS = ("share", "velocity", "bend", "bend_sd", "wavelength", "speed")


def traits(share=SHARE, velocity=VELOCITY, bend=BEND, bend_sd=BEND_SD, wavelength=None, speed=None):
    nothing = [np.nan] * len(share)
    columns = (share, velocity, bend, bend_sd, wavelength or nothing, speed or nothing)
    return StateTraits(**{name: np.array(column, dtype=float) for name, column in zip(COLUMNS, columns, strict=True)})


def merged(groups):
    """Traits of states that join several of the published ones: moments of a mixture."""
    share, velocity, bend, sd, wave = (np.array(x) for x in (SHARE, VELOCITY, BEND, BEND_SD, WAVELENGTH))
    rows = []
    for group in groups:
        weight = share[group] / share[group].sum()
        mean = weight @ bend[group]
        spread = np.sqrt(weight @ (sd[group] ** 2 + (bend[group] - mean) ** 2))
        rows.append((share[group].sum(), weight @ velocity[group], mean, spread, weight @ wave[group]))
    return traits(*np.array(rows).T.tolist())


def test_published_states():
    assert name_states(traits(wavelength=WAVELENGTH), is_worm=True) == STATE_NAMES


@pytest.mark.parametrize(
    ("groups", "names"),
    [
        ([[4, 5, 6], [0, 1, 2, 3]], ("pirouette", "run")),
        ([[4, 5, 6], [2, 3], [0, 1]], ("pirouette", "slow run", "fast run")),
        ([[4, 5, 6], [2, 3], [0], [1]], ("pirouette", "slow run", "fast wide run", "fast narrow run")),
        (
            [[4, 5, 6], [0], [1], [2], [3]],
            ("pirouette", "fast wide run", "fast narrow run", "slow dorsal", "slow ventral"),
        ),
        (
            [[0], [1], [2], [3], [4], [5, 6]],
            ("fast wide run", "fast narrow run", "slow dorsal", "slow ventral", "dorsal turn", "ventral pirouette"),
        ),
    ],
)
def test_published_levels_of_the_tree(groups, names):
    assert name_states(merged(groups), is_worm=True) == names


def test_macrostates_are_runs_and_pirouettes_only():
    names = name_states(traits(), is_worm=True, macro=True)
    assert names == ("run 2", "run 3", "run 1", "run 4", "pirouette 3", "pirouette 1", "pirouette 2")


@pytest.mark.parametrize("model", [WormModel(), WormModel.second_strain()], ids=["default", "second strain"])
def test_true_states_of_synthetic_worms(model):
    worms = simulate_worms(3, 600, model=model, seed=1)
    postures = amplitude_series(worms.recording, 5)
    symbols = Symbols(
        labels=np.where(postures.segments.valid, worms.truth.states, -1).astype(np.int32),
        n_states=7,
        segments=postures.segments,
        sampling=postures.sampling,
    )
    found = measure_traits(symbols, postures, wavelengths=wavelength(worms.basis.reconstruct(postures)))
    assert name_states(found, is_worm=True) == STATE_NAMES
    reorients = symbols.relabel(np.array([0, 0, 0, 0, 1, 1, 1]))
    assert name_states(measure_traits(reorients, postures), is_worm=True) == ("run", "pirouette")


def test_side_is_absolute_and_speed_relative():
    mirrored = traits(bend=[-b for b in BEND], wavelength=WAVELENGTH)
    other = {"dorsal": "ventral", "ventral": "dorsal"}
    expected = tuple(" ".join(other.get(word, word) for word in name.split()) for name in STATE_NAMES)
    assert name_states(mirrored, is_worm=True) == expected
    slower = traits(velocity=[0.3 * v for v in VELOCITY], wavelength=WAVELENGTH)
    assert name_states(slower, is_worm=True) == STATE_NAMES
    # amplitudes depend on the number of segments of the body; names do not
    finer = traits(bend=[3 * b for b in BEND], bend_sd=[3 * b for b in BEND_SD], wavelength=WAVELENGTH)
    assert name_states(finer, is_worm=True) == STATE_NAMES


def test_fast_runs_without_wavelength():
    by_stride = traits(speed=[0.30, 0.25, 0.2, 0.1, 0.02, 0.1, 0.02])
    assert name_states(by_stride, is_worm=True)[:2] == ("fast wide run", "fast narrow run")
    assert name_states(traits(), is_worm=True)[:2] == ("fast ventral run 1", "fast ventral run 2")
    opposite = traits(bend=[-0.5, *BEND[1:]])
    assert name_states(opposite, is_worm=True)[:2] == ("fast dorsal run", "fast ventral run")


def test_wavelengths_that_hardly_differ_do_not_name():
    alike = traits(bend=[-0.5, *BEND[1:]], wavelength=[0.70, 0.68, *WAVELENGTH[2:]])
    assert name_states(alike, is_worm=True)[:2] == ("fast dorsal run", "fast ventral run")


def test_pauses_turns_of_both_sides_and_unvisited_states():
    found = traits(
        share=[0.6, 0.1, 0.15, 0.15, 0.0],
        velocity=[0.5, 0.03, 0.04, -0.3, np.nan],
        bend=[0.5, 0.2, 0.0, 2.0, np.nan],
        bend_sd=[3.0, 2.0, 12.0, 4.0, np.nan],
    )
    assert name_states(found, is_worm=True) == ("run", "pause", "turn", "reversal", "unvisited")


def test_a_turn_that_drifts_backward_is_still_a_turn():
    drifting = traits(velocity=[*VELOCITY[:6], -0.03], wavelength=WAVELENGTH)
    assert name_states(drifting, is_worm=True)[6] == "ventral turn"


def test_a_strain_that_circles_is_not_always_turning():
    circling = traits(bend=[b + 12 for b in BEND[:4]] + [-11.0, 15.0, 25.0], wavelength=WAVELENGTH)
    names = name_states(circling, is_worm=True)
    assert names[:2] == ("fast wide run", "fast narrow run")
    assert names[4:] == ("dorsal turn", "reversal", "ventral turn")
    assert sum("turn" in name for name in names) == 2


@pytest.mark.parametrize(("velocity", "names"), [([0.2, 0.3], ("pirouette", "run")), ([0.1], ("run",))])
def test_few_states(velocity, names):
    n = len(velocity)
    assert name_states(traits([1 / n] * n, velocity, [0.0] * n, [1.0] * n), is_worm=True) == names


def test_neutral_names_follow_the_share_of_time():
    assert name_states(traits(), is_worm=False)[:3] == ("state B", "state C", "state A")
    many = traits(*[np.linspace(1, 2, 54)[::-1].tolist()] * 4)
    names = name_states(many, is_worm=False)
    assert (names[0], names[25], names[26], names[51], names[52]) == (
        "state A", "state Z", "state AA", "state AZ", "state BA",
    )  # fmt: skip


number = st.floats(-20, 20, allow_subnormal=False)
state = st.tuples(
    st.floats(0.001, 1), st.floats(-1, 1), number, st.floats(0, 10), st.floats(0.3, 1.5), st.floats(0, 0.5)
)


@given(
    rows=st.lists(state, min_size=1, max_size=9, unique_by=lambda row: row[0]),
    is_worm=st.booleans(),
    macro=st.booleans(),
    data=st.data(),
)
def test_names_are_unique_and_do_not_depend_on_the_order(rows, is_worm, macro, data):
    order = data.draw(st.permutations(range(len(rows))))
    names = name_states(traits(*np.array(rows).T.tolist()), is_worm=is_worm, macro=macro)
    shuffled = name_states(traits(*np.array(rows)[list(order)].T.tolist()), is_worm=is_worm, macro=macro)
    assert len(set(names)) == len(rows)
    assert shuffled == tuple(names[k] for k in order)


def crawl(n_frames=400, rate=20.0):
    """Wave forward at 0.5 cycles per second for the first half, backward at 0.25 for the second."""
    half = n_frames // 2
    phase = 2 * np.pi * np.cumsum(np.where(np.arange(n_frames) < half, 0.5, -0.25)) / rate
    bend = np.where(np.arange(n_frames) < half, 3.0, -1.0) + np.where(np.arange(n_frames) % 2, 1.0, -1.0)
    return Series.from_rows(np.stack([6 * np.cos(phase), -6 * np.sin(phase), bend], axis=1), rate)


def halves(segments, rate=20.0, n_states=3):
    labels = (np.arange(segments.n_rows) >= segments.n_rows // 2).astype(np.int32)
    labels[195:205] = -1  # the change of direction belongs to neither
    return Symbols(labels=labels, n_states=n_states, segments=segments.keep(labels >= 0), sampling=Sampling(rate))


def test_traits_by_closed_form():
    postures = crawl()
    symbols = halves(postures.segments)
    s = (np.arange(100) + 0.5) / 100
    angles = postures.with_rows(
        np.where(np.arange(400)[:, None] < 200, np.sin(2 * np.pi * s / 0.8), np.sin(2 * np.pi * s / 0.6))
    )
    speed = np.where(np.arange(400) < 200, 0.2, 0.1)
    speed[:50] = np.nan
    found = measure_traits(symbols, postures, wavelengths=wavelength(angles), speed=speed)
    np.testing.assert_allclose(found.share, [0.5, 0.5, 0])
    np.testing.assert_allclose(found.velocity[:2], [0.5, -0.25], atol=1e-3)
    np.testing.assert_allclose(found.bend[:2], [3, -1], atol=0.02)
    np.testing.assert_allclose(found.bend_sd[:2], [1, 1], atol=0.01)
    np.testing.assert_allclose(found.wavelength[:2], [0.8, 0.6], rtol=0.005)
    np.testing.assert_allclose(found.speed[:2], [0.2, 0.1])
    assert all(np.isnan(getattr(found, name)[2]) for name in COLUMNS[1:])


def test_only_the_rows_of_the_segments_count():
    postures = Series.from_rows(np.ones((8, 3)), 4.0, np.array([0, 4, 8]))
    symbols = Symbols(
        labels=np.array([0, 0, 0, 1, 1, 1, 1, 1], dtype=np.int32),
        n_states=2,
        segments=postures.segments,
        sampling=postures.sampling,
    )
    np.testing.assert_allclose(measure_traits(symbols.mask(0), postures).share, [0.75, 0.25])


def test_what_cannot_be_measured_is_nan():
    postures = crawl()
    symbols = halves(postures.segments)
    plain = measure_traits(symbols, postures)
    assert np.isnan(plain.wavelength).all()
    assert np.isnan(plain.speed).all()
    fly = measure_traits(symbols, postures, is_worm=False)
    assert np.isnan([fly.velocity, fly.bend, fly.bend_sd]).all()
    two_modes = measure_traits(symbols, postures.with_rows(postures.values[:, :2]))
    assert np.isnan([two_modes.velocity, two_modes.bend]).all()


def test_rows_must_agree():
    postures = crawl()
    symbols = halves(postures.segments)
    with pytest.raises(InputFormatError, match="speeds have 3 rows, the states 400"):
        measure_traits(symbols, postures, speed=np.zeros(3))
    with pytest.raises(InputFormatError, match="postures have 10 rows"):
        measure_traits(symbols, Series(values=np.ones((10, 3)), segments=Segments.from_valid(np.ones(10, bool)),
                                       sampling=Sampling(20.0)))  # fmt: skip


def test_rename():
    names = ("run", "pirouette", "pause")
    assert rename(names, {}) == names
    assert rename(names, {"run": "pirouette", "pirouette": "run"}) == ("pirouette", "run", "pause")
    with pytest.raises(InputFormatError, match="No state is named 'runs'; there are 'run', 'pirouette', 'pause'"):
        rename(names, {"runs": "roam"})
    with pytest.raises(InputFormatError, match="Two states are named 'pause'"):
        rename(names, {"run": "pause"})
    with pytest.raises(InputFormatError, match="empty name"):
        rename(names, {"run": " "})


def test_descriptions():
    found = traits([0.8, 0.2], [0.525, -0.279], [0.5, -2.0], [2.6, 5.0], [0.75, np.nan], [0.25, np.nan])
    assert describe_states(found, ("run", "pirouette")) == (
        "run: 80.0% of the time, body wave forward at 0.53 cycles/s, wavelength 0.75 body lengths, "
        "bend a₃ +0.5 ± 2.6 (ventral), speed 0.25 body lengths/s.",
        "pirouette: 20.0% of the time, body wave backward at 0.28 cycles/s, bend a₃ -2.0 ± 5.0 (dorsal).",
    )
    with pytest.raises(InputFormatError, match="1 names for 2 states"):
        describe_states(found, ("run",))
