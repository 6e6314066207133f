"""The explorer: one page with linked views of a study, which needs nothing else."""

import base64
from collections.abc import Iterator
from pathlib import Path

import matplotlib as mpl
import numpy as np
from jinja2 import Environment, StrictUndefined
from markupsafe import Markup
from matplotlib.colors import to_hex

from ethomarkov import __version__
from ethomarkov._core.types import FloatArray, IntArray
from ethomarkov._core.words import count_of
from ethomarkov.exceptions import InputFormatError
from ethomarkov.figures.maps import DIVERGING, OMEGA_LIMITS, SEQUENTIAL
from ethomarkov.figures.panel import Results
from ethomarkov.figures.style import state_colours
from ethomarkov.io.atomic import atomic_path
from ethomarkov.markov import MarkovChain
from ethomarkov.markov.spectrum import relaxation_time, reversible_modes
from ethomarkov.report.policy import content_policy, read_template
from ethomarkov.states import Symbols
from ethomarkov.states.symbols import mean_by_state

Packed = dict[str, object]

# Twenty bytes a frame and four characters for three bytes keep the page below 25 MB.
MOST_FRAMES = 800_000
MISSING_CODE = 65_535
N_MODES, N_COLOURS, BODY_SEGMENTS = 4, 64, 48
SHOWN_SHARE = 0.98
SUBSCRIPTS = "₀₁₂₃₄₅₆₇₈₉"


def write_explorer(results: Results, target: Path) -> Path:
    """Write the explorer of a study into a file.

    Parameters
    ----------
    results
        Of the study by name, with a `sequence_map`.
    target
        The HTML file.

    Examples
    --------
    >>> import tempfile
    >>> from ethomarkov.report import StudyResults
    >>> import ethomarkov as em
    >>> worms = em.simulate_worms(2, 30.0, seed=1)
    >>> settings = em.Settings(n_delays=4, n_states=8, lag=0.25, n_behaviours=2, scan=False, n_resamples=0)
    >>> settings = settings.model_copy(update={"n_walks": 1, "simulated_minutes": 0.1, "simulation_lag": 0.25})
    >>> study = em.run_study(worms.recording, settings, basis=worms.basis)
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     page = write_explorer(StudyResults(study), Path(directory) / "explorer.html").read_text(encoding="utf-8")
    >>> page[:15]
    '<!DOCTYPE html>'
    """
    page = render_explorer(results)
    with atomic_path(target) as temporary:
        temporary.write_text(page, encoding="utf-8")
    return target


def render_explorer(results: Results) -> str:
    """Make the page as text.

    Nothing in it can reach the network: its own policy forbids every request, and every script but the one it brings.

    Parameters
    ----------
    results
        Of the study by name, with a `sequence_map`; of more than 800,000 frames the first are shown.
    """
    _check_map(results)
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    script = read_template("explorer.js")
    return environment.from_string(read_template("explorer.html")).render(
        script=Markup(script), policy=content_policy([script]), data=pack_study(results), version=__version__
    )


def pack_study(results: Results) -> Packed:
    """Collect what the page shows, with arrays as base64.

    Per frame there is only what differs from frame to frame: its microstate, its place on the map and on the path, and
    its posture. All that is coloured is stored per microstate.
    """
    symbols, postures, chain, placed = (results[name] for name in ("symbols", "postures", "chain", "sequence_map"))
    segments, path = symbols.segments, results["shown_path"]
    n_rows = min(segments.n_rows, MOST_FRAMES)
    return {
        "animals": list(segments.individuals),
        "offsets": np.minimum(segments.offsets, n_rows).tolist(),
        "rate": postures.sampling.rate,
        "lag": chain.lag,
        "lagFrames": postures.sampling.frames(chain.lag),
        "delays": results["settings"].n_delays,
        "about": _about(results, n_rows),
        "mapSource": placed.source,
        "labels": pack_array(_labels(symbols)[:n_rows]),
        "frames": quantise(placed.frames[:n_rows]),
        "centers": pack_array(placed.centers.astype("<f4")),
        "postures": quantise(postures.values[:n_rows]),
        "path": None if path is None else quantise(path.centroid[:n_rows]),
        "pathUnit": "" if path is None else path.length_unit,
        "pathIsMeasured": results["measured_path"] is not None,
        "sequences": pack_array(results["microstates"].centers.astype("<f4")),
        "share": pack_array(_on_microstates(chain, chain.stationary).astype("<f4")),
        "chain": _chain(chain),
        "quantities": list(_quantities(results)),
        "levels": [_level(results, level) for level in results["tree"].levels],
        "body": _body(results),
        "scales": {"diverging": _scale(DIVERGING), "sequential": _scale(mpl.colormaps[SEQUENTIAL])},
    }


def pack_array(values: FloatArray | IntArray) -> Packed:
    """Write an array as base64 with its type, little-endian."""
    little = np.ascontiguousarray(values, dtype=values.dtype.newbyteorder("<"))
    return {"type": little.dtype.str[1:], "data": base64.b64encode(little.tobytes()).decode()}


def quantise(values: FloatArray) -> Packed:
    """Write columns as whole numbers of 16 bits between their own limits; rows with a gap are missing.

    The error is at most half a step: one part in 131,000 of the range.
    """
    known = np.isfinite(values).all(axis=1)
    shown = values[known].astype(float)
    low, high = (shown.min(axis=0), shown.max(axis=0)) if len(shown) else np.zeros((2, values.shape[1]))
    step = np.maximum(high - low, np.finfo(np.float32).tiny) / (MISSING_CODE - 1)
    codes = np.full(values.shape, MISSING_CODE, dtype=np.uint16)
    codes[known] = np.rint((shown - low) / step)
    return {"codes": pack_array(codes), "low": low.tolist(), "step": step.tolist()}


def _check_map(results: Results) -> None:
    placed, wanted = results["sequence_map"], (results["symbols"].segments.n_rows, results["microstates"].n_states)
    found = (len(placed.frames), len(placed.centers))
    if wanted != found:
        raise InputFormatError(
            f"The map has {found[0]} frames and {found[1]} microstates, the study {wanted[0]} and {wanted[1]}. Make it "
            "again with `ethomarkov map`."
        )


def _about(results: Results, n_rows: int) -> str:
    segments, rate = results["symbols"].segments, results["postures"].sampling.rate
    n_states, n_delays = results["microstates"].n_states, results["settings"].n_delays
    words = (
        f"{count_of(segments.n_individuals, 'animal')} · {segments.n_rows / rate / 60:.0f} minutes at {rate:g} Hz · "
        f"{count_of(n_states, 'microstate')} of {count_of(n_delays, 'frame')}"
    )
    return words if n_rows == segments.n_rows else f"{words} · the first {n_rows:,} of {segments.n_rows:,} frames"


def _labels(symbols: Symbols) -> IntArray:
    labels = np.where(symbols.segments.valid, symbols.labels, -1)
    return labels.astype(np.int16 if symbols.n_states <= np.iinfo(np.int16).max else np.int32)


def _on_microstates(chain: MarkovChain, values: FloatArray) -> FloatArray:
    """Spread values of connected states over all microstates; NaN for the others."""
    spread = np.full(chain.n_states, np.nan)
    spread[chain.states] = values
    return spread


def _chain(chain: MarkovChain) -> Packed:
    """Write the chain by rows, numbered by microstate; those that are not connected lead nowhere."""
    counts = np.zeros(chain.n_states, dtype=np.int64)
    counts[chain.states] = np.diff(chain.transition.indptr)
    return {
        "first": pack_array(np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)),
        "next": pack_array(chain.states[chain.transition.indices].astype(np.int32)),
        "probability": pack_array(chain.transition.data.astype(np.float32)),
    }


def _quantities(results: Results) -> Iterator[Packed]:
    """Give what can be shown as a colour, one value per microstate."""
    symbols, chain, omega = results["symbols"], results["chain"], results["phase_velocity"]
    if omega is not None:
        yield _quantity("phase velocity ω", "cycles/s", mean_by_state(symbols, omega), OMEGA_LIMITS)
        yield _quantity("bend a₃", "", mean_by_state(symbols, results["postures"].values[:, 2]))
    values, modes = reversible_modes(chain, min(N_MODES, chain.states.size - 1))
    for k, (value, mode) in enumerate(zip(values, modes.T, strict=True)):
        time = relaxation_time(float(value), chain.lag)
        yield _quantity(f"slow mode φ{SUBSCRIPTS[k + 2]} ({time:.2g} s)", "", _on_microstates(chain, mode))
    visits = symbols.visits().astype(float)
    with np.errstate(divide="ignore"):
        shares = np.where(visits > 0, np.log10(100 * visits / visits.sum()), np.nan)
    known = shares[np.isfinite(shares)]
    limits = (float(known.min()), float(known.max()))
    yield {**_quantity("visits", "log₁₀ % of time", shares, limits), "scale": "sequential"}


def _quantity(label: str, unit: str, values: FloatArray, limits: tuple[float, float] | None = None) -> Packed:
    """Write a quantity; without limits they are symmetric and 98 % of the microstates lie within."""
    if limits is None:
        reach = float(np.nanquantile(np.abs(values), SHOWN_SHARE))
        limits = (-reach, reach)
    packed = pack_array(values.astype(np.float32))
    return {"label": label, "unit": unit, "values": packed, "limits": list(limits), "scale": "diverging"}


def _level(results: Results, level: int) -> Packed:
    """Write the states of a level: those of the microstates, names, colours and shares of time."""
    return {
        "states": pack_array(results["tree"].states_at(level).astype(np.int16)),
        "names": list(results["names"][level]),
        "colours": list(state_colours(level)),
        "shares": results["tree"].measures_at(level).tolist(),
    }


def _body(results: Results) -> Packed:
    """Write how amplitudes become a body: tangent angles, keypoints, or none."""
    basis = results["basis"]
    if basis is None:
        return {"kind": "amplitude"}
    rows = np.column_stack([basis.mean, basis.vectors])
    if basis.features == "angle":
        along = (np.arange(BODY_SEGMENTS) + 0.5) / BODY_SEGMENTS
        place = (np.arange(basis.n_features) + 0.5) / basis.n_features
        rows = np.stack([np.interp(along, place, row) for row in rows.T], axis=1)
    return {
        "kind": basis.features,
        "mean": pack_array(rows[:, 0].astype(np.float32)),
        "modes": pack_array(rows[:, 1:].T.astype(np.float32)),
        "dragRatio": results["settings"].drag_ratio,
    }


def _scale(colours: mpl.colors.Colormap) -> list[str]:
    return [to_hex(colour) for colour in colours(np.linspace(0, 1, N_COLOURS))]
