"""Whether a state divides into two: the proposed cut, and its tests on held-out animals.

Slow modes alone do not determine the number of states: a phase that is sampled once per turn, and any slowly drifting
variable, predict the future as states do, and no noise floor distinguishes them. Hopping between two states has other
signatures. The memory of labels that are defined by other animals decays at the same rate at short lags as at long
ones; it never changes sign; the mode takes two values rather than many; and the same two sets are found when animals
are resampled.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph
from scipy.sparse.linalg import eigsh

from ethomarkov._core.random import generator
from ethomarkov._core.result import Result
from ethomarkov._core.types import BoolArray, FloatArray, IntArray
from ethomarkov.coarse.coherence import Cut, Flux, cut_along
from ethomarkov.coarse.passage import count_by_unit, resampled_units
from ethomarkov.states.symbols import Symbols

MODES_COMPUTED, MODES_TRIED = 9, 4
DENSE_BELOW = 120
FEWEST_MICROSTATES = 4
MOST_UNITS = 24
SHORTEST_MEMORY = float(np.exp(-1))
STEADY = (0.85, 1.1)
MOST_ROTATION = 0.2
TWO_VALUED = 0.42
OPPOSITE = -0.1
EXPLAINED, N_BINS = 0.3, 20
FOUND_AGAIN = 0.6
FEWEST_HOPS, FEWEST_UNITS = 10, 2
DEGENERATE = 0.1
"""Eigenvalues closer than this are not distinguished in resampled animals: their modes mix."""
MIN_OVERALL = 0.01
"""Least share of all time of a state, however small its parent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Division(Result):
    """A proposed division of a state, and the tests of it.

    Parameters
    ----------
    states
        Microstates of the state that are connected.
    cut
        Their division.
    held_out, error
        Eigenvalue, at the lag, of the two-state chain of labels defined by the other animals, and its standard error.
    steadiness
        Square of the same at half the lag, over that at twice this: one for hopping between two states; less for labels
        that flicker, for phases sampled at a multiple of half their turn, and for slow continuous variables.
    lowest
        Least such eigenvalue at any lag from a frame to eight lags; negative for an oscillation.
    rotation
        Sine of the angle by which the mode rotates within a lag; 0 where it relaxes.
    two_valued
        1 where the mode takes two values, 0 where it is a Gaussian variable or a sine cut at its mean.
    explained
        Share of the mode's variance that a slower continuous mode explains; harmonics are not states.
    gain, gain_error
        Gain of held-out log-likelihood by the division, in nats, and its standard error.
    hops, n_units
        Least number of transitions in either direction; animals (or blocks) with at least one.
    floor
        Largest eigenvalue for shuffled state sequences; NaN where other objections came first.
    stability
        Overlap (Jaccard) of each set, the lower first, with those of resampled animals.
    objections
        Why this is not a division into two states, in words; empty where all tests are passed.
    """

    states: IntArray
    cut: Cut
    held_out: float
    error: float
    steadiness: float
    lowest: float
    rotation: float
    two_valued: float
    explained: float
    gain: float
    gain_error: float
    hops: float
    n_units: int
    floor: float = np.nan
    stability: tuple[float, float] = (np.nan, np.nan)
    objections: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """Transition counts of every animal at several lags, from which divisions are proposed and tested.

    Parameters
    ----------
    symbols
        The state sequences that were counted.
    lag_frames, half_frames
        Lag of the chain, and half of it, at least one frame.
    lags
        From one frame to eight lags, as far as the recordings reach.
    counts
        For every lag, one matrix per animal (or block).
    fitted
        Sum over half the lag, the lag and twice the lag, one matrix per animal: from these cuts are proposed.
    over
        What is resampled: "animals" or "blocks".
    """

    symbols: Symbols
    lag_frames: int
    half_frames: int
    lags: tuple[int, ...]
    counts: dict[int, list[sparse.csr_array]]
    fitted: list[sparse.csr_array]
    over: str

    @classmethod
    def from_symbols(cls, symbols: Symbols, lag: float) -> "Evidence":
        """Count the transitions of every animal, or of blocks of a single one.

        Parameters
        ----------
        symbols
            Microstates in time.
        lag
            Of the chain, in seconds.
        """
        frames = symbols.sampling.frames(lag, "lag")
        half = max(1, round(frames / 2))
        unit, n_units, over = resampled_units(symbols)
        unit, n_units = unit % MOST_UNITS, min(n_units, MOST_UNITS)  # many animals are held out in groups
        wanted = {1, max(1, round(frames / 4)), half, 2 * half, frames, 2 * frames, 4 * frames, 8 * frames}
        reach = max(symbols.segments.longest() // 4, 2 * half, frames)
        lags = tuple(sorted(lag for lag in wanted if lag <= reach))
        counts = {lag: count_by_unit(symbols, lag / symbols.sampling.rate, unit, n_units) for lag in lags}
        together = [lag for lag in {half, frames, 2 * frames} if lag in counts]
        fitted = [_added([counts[lag][u] for lag in together]) for u in range(n_units)]
        return cls(
            symbols=symbols,
            lag_frames=frames,
            half_frames=half,
            lags=lags,
            counts=counts,
            fitted=fitted,
            over=over,
        )

    @property
    def n_units(self) -> int:
        """Animals, or blocks of a single one."""
        return len(self.fitted)


@dataclass(slots=True)
class Leaf:
    """A state while its divisions are tested.

    Parameters
    ----------
    evidence
        Of all states.
    members
        One flag per microstate of the partition.
    continuous
        Slow modes that are continuous, of this state and of those above it, on all microstates.
    states, units
        Connected microstates of the state, and the counts of every animal (or block) on them.
    """

    evidence: Evidence
    members: BoolArray
    continuous: list[FloatArray] = field(default_factory=list)

    states: IntArray = field(init=False)
    units: list[sparse.csr_array] = field(init=False)

    def __post_init__(self) -> None:
        inside = np.flatnonzero(self.members)
        own = [counts[inside][:, inside] for counts in self.evidence.fitted]
        connected = _largest_part(_added(own)) if inside.size else inside
        self.states = inside[connected]
        self.units = [counts[connected][:, connected] for counts in own]

    @property
    def flags(self) -> BoolArray:
        """Flag the connected microstates."""
        return self.on_partition(np.ones(self.states.size, dtype=bool))

    def on_partition(self, inside: BoolArray) -> BoolArray:
        """Spread flags of the connected microstates to all of the partition."""
        flags = np.zeros(self.evidence.symbols.n_states, dtype=bool)
        flags[self.states] = inside
        return flags


@dataclass(frozen=True, slots=True, kw_only=True)
class _Modes:
    """Slow modes of counts averaged with those of reversed time, slowest first, of unit variance."""

    flux: Flux
    eigenvalues: FloatArray
    vectors: FloatArray

    @classmethod
    def of(cls, counts: sparse.csr_array) -> "_Modes":
        flux = Flux.from_counts(counts)
        root = np.sqrt(flux.measure)
        scale = sparse.diags_array(1 / root)
        symmetric = (scale @ flux.matrix @ scale).tocsr()
        n_wanted = min(MODES_COMPUTED + 1, root.size)
        if root.size <= DENSE_BELOW:
            values, vectors = np.linalg.eigh(symmetric.toarray())
        else:
            start = root + np.linspace(-1, 1, root.size) * root.mean()
            values, vectors = eigsh(symmetric, k=n_wanted, which="LA", v0=start, tol=1e-8)
        slowest = np.argsort(values)[::-1][1:n_wanted]
        return cls(flux=flux, eigenvalues=values[slowest], vectors=vectors[:, slowest] / root[:, None])

    def near(self, phi: FloatArray) -> FloatArray:
        """Compute the closest match to a mode of other animals: a mode, or a mixture of modes of close eigenvalues."""
        overlap = (phi * self.flux.measure) @ self.vectors
        closest = int(np.abs(overlap).argmax())
        mixed = np.abs(self.eigenvalues - self.eigenvalues[closest]) < DEGENERATE
        mode: FloatArray = self.vectors[:, mixed] @ overlap[mixed]
        return mode


def propose_divisions(leaf: Leaf, min_measure: float, n_resamples: int, seed: int) -> Iterator[Division]:
    """Propose divisions of a state along its slow modes, slowest first, with the objections to each.

    Parameters
    ----------
    leaf
        The state; continuous modes are added to it.
    min_measure
        Least share of the state's time on either side.
    n_resamples
        Number of resamples of animals.
    seed
        Random seed of resamples and shuffles.
    """
    if leaf.states.size < FEWEST_MICROSTATES:
        return
    total = _added(leaf.units)
    modes = _Modes.of(total)
    others = [_part_of(_without(leaf.units, unit)) for unit in range(len(leaf.units))]
    rotations = _rotations(total, modes)
    least = _least_share(leaf, min_measure)
    n_tried = 0
    for k in range(modes.eigenvalues.size):
        phi = _oriented(modes.vectors[:, k], modes.flux.measure)
        cut = cut_along(modes.flux, phi, float(modes.eigenvalues[k]), k + 2, min_measure=least)
        if cut is None:
            continue
        judged = _judge(leaf, cut, others, rotations[k], least)
        if not judged.objections:
            judged = _look_closer(leaf, judged, least, n_resamples, seed)
        if "continuous" in _kinds(judged):
            leaf.continuous.append(_spread(leaf, phi))
        yield judged
        n_tried += 1
        if n_tried == MODES_TRIED:
            return


def measure_stability(leaf: Leaf, division: Division, n_resamples: int, seed: int) -> tuple[float, float]:
    """Compute the mean overlap of the two sets of a division with those of resampled animals."""
    n = len(leaf.units)
    rng = generator(seed, "division", int(division.states[0]), division.states.size)
    upper, weight = division.cut.upper == 1, Flux.from_counts(_added(leaf.units)).measure
    overlaps = []
    for _ in range(n_resamples):
        weights = np.bincount(rng.integers(n, size=n), minlength=n)
        resampled = _added([float(w) * counts for w, counts in zip(weights.tolist(), leaf.units, strict=True) if w])
        side = _side_in(_part_of(resampled), division.cut, 0.0)
        overlaps.append((0.0, 0.0) if side is None else _overlaps(weight, upper, side))
    lower, higher = np.mean(overlaps, axis=0) if overlaps else (np.nan, np.nan)
    return float(lower), float(higher)


# --- the tests --------------------------------------------------------------------------------------------------------


def _judge(
    leaf: Leaf,
    cut: Cut,
    others: Sequence["_Part | None"],
    rotation: float,
    least: float,
) -> Division:
    """Test a cut on every animal with labels that are defined by the other animals."""
    evidence = leaf.evidence
    sides = [_side_in(part, cut, least) for part in others]
    tables = {lag: _tables(leaf, sides, evidence.counts[lag]) for lag in evidence.lags}
    at_lag = tables[evidence.lag_frames]
    held_out = {lag: _persistence(table.sum(axis=0)) for lag, table in tables.items()}
    everything = leaf.on_partition(cut.upper == 1)
    own = [_persistence(_table(_added(evidence.counts[lag]), leaf.flags, everything)) for lag in evidence.lags]
    gains = _gains(at_lag) / evidence.lag_frames  # pairs of frames overlap by the lag
    hops = np.minimum(at_lag[:, 0, 1], at_lag[:, 1, 0]) / evidence.lag_frames
    gaussian = 2 / np.pi * np.arcsin(np.clip(cut.eigenvalue, 0, 1))
    division = Division(
        states=leaf.states,
        cut=cut,
        held_out=held_out[evidence.lag_frames],
        error=_jackknife_error(at_lag),
        steadiness=_ratio(held_out[evidence.half_frames] ** 2, held_out[2 * evidence.half_frames]),
        lowest=float(np.nanmin([*held_out.values(), *own])),
        rotation=rotation,
        two_valued=_ratio(cut.persistence - gaussian, cut.eigenvalue - gaussian),
        explained=_explained_by(leaf, cut.phi),
        gain=float(gains.sum()),
        gain_error=float(gains.std(ddof=1) * np.sqrt(gains.size)) if gains.size > 1 else np.nan,
        hops=float(hops.sum()),
        n_units=int((hops >= 1).sum()),
    )
    return replace(division, objections=tuple(_object(division, evidence, _mean_overlap(leaf, cut, sides))))


def _object(division: Division, evidence: Evidence, overlap: float) -> list[str]:
    """List the objections to a division in words; the first word gives the kind."""
    memory, steady, values = max(division.held_out, 0.0), division.steadiness, division.two_valued
    enough = division.hops >= FEWEST_HOPS and division.n_units >= min(FEWEST_UNITS, evidence.n_units)
    tests = (
        (division.held_out > SHORTEST_MEMORY, f"short-lived: its labels keep {memory:.0%} of their memory over a lag"),
        (STEADY[0] <= steady <= STEADY[1], f"unsteady: its memory does not decay at one rate (ratio {steady:.2f})"),
        (
            division.lowest > OPPOSITE and division.rotation < MOST_ROTATION,
            "oscillating: its labels return with the opposite sign, as those of a cycle do",
        ),
        (values >= TWO_VALUED, f"continuous: its mode takes many values rather than two (index {values:.2f})"),
        (division.explained < EXPLAINED, "derived: its mode follows a slower variable that is continuous"),
        (overlap >= FOUND_AGAIN, f"unstable: other {evidence.over} define other sets (overlap {overlap:.2f})"),
        (division.gain > 2 * division.gain_error, f"useless: it predicts nothing in held-out {evidence.over}"),
        (enough, f"rare: {division.hops:.0f} transitions in {division.n_units} {evidence.over} are too few"),
    )
    return [objection for passed, objection in tests if not passed]


def _look_closer(leaf: Leaf, division: Division, least: float, n_resamples: int, seed: int) -> Division:
    """Compare a division that passed all quick tests with shuffles and resamples."""
    floor = max(_shuffled_persistence(leaf, least, seed, k) for k in range(8))
    stability = measure_stability(leaf, division, n_resamples, seed)
    objections = []
    if not division.held_out - 2 * division.error > floor:
        objections.append(f"noise: shuffled state sequences persist as much ({floor:.2f})")
    if n_resamples and not min(stability) >= FOUND_AGAIN:
        objections.append(f"unstable: not found again when {leaf.evidence.over} are resampled ({min(stability):.2f})")
    return replace(division, floor=floor, stability=stability, objections=tuple(objections))


def _kinds(division: Division) -> set[str]:
    return {objection.split(":")[0] for objection in division.objections}


# --- labels that other animals define ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class _Part:
    """Slow modes of some animals, on the microstates of a state that are connected in them."""

    modes: _Modes
    rows: IntArray


def _part_of(counts: sparse.csr_array) -> _Part | None:
    rows = _largest_part(counts)
    if rows.size < FEWEST_MICROSTATES:
        return None
    return _Part(modes=_Modes.of(counts[rows][:, rows]), rows=rows)


def _without(units: Sequence[sparse.csr_array], left_out: int) -> sparse.csr_array:
    return _added([counts for k, counts in enumerate(units) if k != left_out] or list(units))


def _side_in(part: _Part | None, cut: Cut, least: float) -> BoolArray | None:
    """Divide the microstates of a state by the data of some animals, along the mode closest to that of the cut.

    Microstates that are not connected in these animals remain on their side.
    """
    if part is None:
        return None
    own = cut_along(part.modes.flux, part.modes.near(cut.phi[part.rows]), 0.0, cut.mode, min_measure=least)
    if own is None:
        return None
    side = np.asarray(cut.upper == 1)
    side[part.rows] = own.upper == 1
    return side


def _overlaps(weight: FloatArray, upper: BoolArray, other: BoolArray) -> tuple[float, float]:
    """Compute the overlap (Jaccard) of the lower and of the upper sets of two divisions."""
    lower = weight[~upper & ~other].sum() / weight[~upper | ~other].sum()
    return float(lower), float(weight[upper & other].sum() / weight[upper | other].sum())


def _mean_overlap(leaf: Leaf, cut: Cut, sides: Sequence[BoolArray | None]) -> float:
    """Compute the mean overlap of the less stable set with those defined by all animals but one."""
    weight = Flux.from_counts(_added(leaf.units)).measure
    upper = np.asarray(cut.upper == 1)
    return float(np.mean([0.0 if side is None else min(_overlaps(weight, upper, side)) for side in sides]))


# --- two-state tables -------------------------------------------------------------------------------------------------


def _tables(leaf: Leaf, sides: Sequence[BoolArray | None], counts: Sequence[sparse.csr_array]) -> FloatArray:
    """Count the transitions of every animal between the sets defined by the other animals."""
    tables = np.zeros((len(counts), 2, 2))
    for k, side in enumerate(sides):
        if side is not None:
            tables[k] = _table(counts[k], leaf.flags, leaf.on_partition(side))
    return tables


def _table(counts: sparse.csr_array, members: BoolArray, upper: BoolArray) -> FloatArray:
    sets = np.stack([members & ~upper, members & upper], axis=1).astype(float)
    return np.asarray(sets.T @ (counts @ sets))


def _persistence(table: FloatArray) -> float:
    """Compute the eigenvalue of the chain of two sets."""
    leaving = table.sum(axis=1)
    if leaving.min() <= 0:
        return float("nan")
    return float(np.trace(table / leaving[:, None]) - 1)


def _jackknife_error(tables: FloatArray) -> float:
    total, n = tables.sum(axis=0), len(tables)
    left_out = np.array([_persistence(total - table) for table in tables])
    known = left_out[np.isfinite(left_out)]
    if known.size < 2:
        return float("nan")
    return float(np.sqrt((n - 1) / n * np.square(known - known.mean()).sum()))


def _gains(tables: FloatArray) -> FloatArray:
    """Compute the log-likelihood of each animal's transitions under those of the others, against independence."""
    total = tables.sum(axis=0)
    gains = np.empty(len(tables))
    for k, table in enumerate(tables):
        others = total - table + 0.5  # no transition is impossible only because it was not observed
        expected = others / others.sum(axis=1, keepdims=True)
        gains[k] = (table * np.log(expected / (others.sum(axis=0) / others.sum()))).sum()
    return gains


def _ratio(numerator: float, denominator: float) -> float:
    return float(numerator / denominator) if denominator > 0 else float("nan")


# --- modes ------------------------------------------------------------------------------------------------------------


def _rotations(counts: sparse.csr_array, modes: _Modes) -> FloatArray:
    """Compute the rotation of each mode within a lag, from counts in the direction of time.

    Projected on the modes, the transitions have an eigenvalue for each; that of a rotating mode is complex.
    """
    projected = modes.vectors.T @ (counts / counts.sum()) @ modes.vectors
    eigenvalues, vectors = np.linalg.eig(projected)
    weight = np.abs(vectors) ** 2
    weight /= weight.sum(axis=0)
    own = eigenvalues[weight.argmax(axis=1)]
    return np.asarray(np.abs(own.imag) / np.maximum(np.abs(own), np.finfo(float).tiny))


def _explained_by(leaf: Leaf, phi: FloatArray) -> float:
    """Compute the largest share of a mode's variance that lies between bins of a slower continuous mode."""
    weight = Flux.from_counts(_added(leaf.units)).measure
    shares = [_between_bins(mode[leaf.states], phi, weight) for mode in leaf.continuous]
    return max(shares, default=0.0)


def _between_bins(slower: FloatArray, phi: FloatArray, weight: FloatArray) -> float:
    known = np.flatnonzero(np.isfinite(slower))
    if known.size < N_BINS:
        return 0.0
    order = known[np.argsort(slower[known], kind="stable")]
    phi, weight = phi[order], weight[order]
    place = np.cumsum(weight) / weight.sum()
    bins = np.minimum((place * N_BINS).astype(int), N_BINS - 1)
    mean = weight @ phi / weight.sum()
    in_bin = np.bincount(bins, weight, N_BINS)
    means = np.bincount(bins, weight * (phi - mean), N_BINS) / np.maximum(in_bin, np.finfo(float).tiny)
    return _ratio(float(in_bin @ means**2), float(weight @ (phi - mean) ** 2))


def _oriented(phi: FloatArray, measure: FloatArray) -> FloatArray:
    """Give a mode the sign with which the side with more time is negative."""
    return phi if measure @ (phi > 0) <= 0.5 else -phi


def _spread(leaf: Leaf, phi: FloatArray) -> FloatArray:
    everywhere = np.full(leaf.evidence.symbols.n_states, np.nan)
    everywhere[leaf.states] = phi
    return everywhere


def _least_share(leaf: Leaf, min_measure: float) -> float:
    """Compute the least share of the state's time on a side: a share of the state's, and a share of all time."""
    everything = sum(float(counts.sum()) for counts in leaf.evidence.fitted)
    own = sum(float(counts.sum()) for counts in leaf.units)
    return max(min_measure, min(MIN_OVERALL, min_measure / 2) * everything / own)


# --- shuffles and sums ------------------------------------------------------------------------------------------------


def _shuffled_persistence(leaf: Leaf, least: float, seed: int, k: int) -> float:
    """Compute the best persistence of a cut after shuffling the microstates of the state within every run."""
    rng = generator(seed, "division", int(leaf.states[0]), leaf.states.size, k)
    part = _part_of(shuffled_counts(leaf.evidence, leaf.flags, rng))
    if part is None:
        return 1.0  # too few visits to connect even a few states: nothing exceeds such noise
    modes = part.modes
    cut = cut_along(modes.flux, modes.vectors[:, 0], float(modes.eigenvalues[0]), 2, min_measure=least)
    return 0.0 if cut is None else cut.persistence


def shuffled_counts(evidence: Evidence, members: BoolArray, rng: np.random.Generator) -> sparse.csr_array:
    """Count transitions between frames of a state after shuffling its microstates within every gap-free run."""
    symbols = evidence.symbols
    labels = np.where(symbols.segments.valid, symbols.labels, 0)
    inside = members[labels] & symbols.segments.valid
    mixed = np.array(symbols.labels)
    run = np.repeat(np.arange(len(symbols.segments)), symbols.segments.lengths)
    rows = np.flatnonzero(symbols.segments.valid)
    rows, run = rows[inside[rows]], run[inside[rows]]
    order = np.lexsort((rng.random(rows.size), run))  # random within a run, runs in place
    mixed[rows] = symbols.labels[rows[order]]
    counts = sparse.csr_array((symbols.n_states, symbols.n_states))
    for lag in {evidence.half_frames, evidence.lag_frames, 2 * evidence.lag_frames} & set(evidence.lags):
        first, last = symbols.segments.pairs(lag)
        both = inside[first] & inside[last]
        pairs = (mixed[first[both]], mixed[last[both]])
        counts = counts + sparse.coo_array((np.ones(pairs[0].size), pairs), shape=counts.shape).tocsr()
    return counts


def _added(matrices: Sequence[sparse.csr_array]) -> sparse.csr_array:
    total = matrices[0]
    for matrix in matrices[1:]:
        total = total + matrix
    return total.tocsr()


def _largest_part(counts: sparse.csr_array) -> IntArray:
    """Find the connected microstates with most of the counts."""
    _, component = csgraph.connected_components(counts, directed=False)
    weight = np.bincount(component, np.asarray((counts + counts.T).sum(axis=1)))
    best = int(weight.argmax())
    return np.flatnonzero(component == best) if weight[best] > 0 else np.empty(0, dtype=np.int64)
