"""Paths from postures, and the drag ratio that explains measured paths."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from ethomarkov.cli.desk import open_study
from ethomarkov.cli.options import RunningOptions, require_at_least
from ethomarkov.study.defaults import DRAG_WINDOW

if TYPE_CHECKING:
    from ethomarkov.locomotion.displacement import Diffusion
    from ethomarkov.model.paths import Reconstruction

DEFAULT = RunningOptions()


def path(
    study: Path,
    *,
    out: Path | None = None,
    window: float = DRAG_WINDOW,
    windows: int | None = None,
    running: RunningOptions = DEFAULT,
) -> None:
    """Compute the paths of a study's animals from their postures, and fit the drag ratio to their measured paths.

    Parameters
    ----------
    study
        Directory that `ethomarkov run` wrote.
    out
        Directory for path.csv and figures; `path` in the study's own by default.
    window
        Seconds of path that are compared at once.
    windows
        Windows drawn at random; by default all that fit side by side.
    """
    require_at_least(window, 0, "--window")
    if windows is not None:
        require_at_least(windows, 1, "--windows")
    from ethomarkov.model.paths import measured_diffusion
    from ethomarkov.report.tables import path_tables

    desk = open_study(study, running, out, "path")
    with desk.working():
        found: Reconstruction = desk.compute(
            "reconstruction", window=window, n_windows=windows, drag_scheme=desk.study.settings.scheme
        )
        spread = measured_diffusion(found)
        desk.write(path_tables(found, spread))
        desk.draw("path", reconstruction=found)
    desk.say(*_conclusions(found, spread))
    desk.close()


def _conclusions(found: "Reconstruction", spread: "Diffusion | None") -> Iterator[str]:
    if found.measured is None:
        yield "No measured path was recorded: paths are in body lengths, and no drag ratio could be fitted."
        return
    unit = found.measured.length_unit
    shown = ", ".join(f"{length:.3g}" for length in found.body_length)
    how = "fitted to the measured speeds at the study's drag ratio" if found.is_fitted else "as recorded"
    yield f"Body lengths ({unit}), {how}: {shown}."
    known = found.speed_correlation[found.speed_correlation == found.speed_correlation]  # not NaN
    if known.size:
        yield (
            f"Speed over one second, computed against measured: correlation {known.mean():.3f} "
            f"({known.min():.3f} to {known.max():.3f} over {known.size} animals)."
        )
    yield from _drag_conclusions(found)
    if spread is not None:
        yield f"Diffusion of the measured paths between 60 and 100 s: {spread.interval} {unit}²/s (slope / 4)."
        if spread.caution:
            yield spread.caution


def _drag_conclusions(found: "Reconstruction") -> Iterator[str]:
    if found.drag is None:
        yield "No gap-free stretch is as long as a window, so no drag ratio could be fitted; use a shorter --window."
        return
    counts = ", ".join(f"{number} {status}" for status, number in found.drag.status_counts.items())
    yield f"Drag ratio: median {found.drag.median} over {len(found.drag.status)} windows ({counts})."
    if found.is_fitted:
        yield (
            "The body length was fitted at the study's drag ratio, so this drag ratio is not independent of it; a "
            "recorded body length would make it so."
        )
    if found.drag.is_mirrored.any():
        yield f"The measured paths of {int(found.drag.is_mirrored.sum())} animals are mirror images and were mirrored."
