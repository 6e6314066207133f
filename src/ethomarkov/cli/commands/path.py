"""Paths from postures, and the drag ratio that explains measured paths."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.markup import escape

from ethomarkov.cli.options import RunningOptions, require_at_least
from ethomarkov.cli.terminal import progress_bar
from ethomarkov.cli.work import at_work
from ethomarkov.figures.style import save_figures
from ethomarkov.io.atomic import check_writable
from ethomarkov.io.results import save_results
from ethomarkov.io.spreadsheet import write_table
from ethomarkov.locomotion.displacement import Diffusion, diffusion, msd, paper_lags
from ethomarkov.locomotion.drag import DragSearch
from ethomarkov.report.path_figures import draw_reconstruction_figures
from ethomarkov.workflow import Study
from ethomarkov.workflow.paths import Reconstruction, reconstruct_paths

DEFAULT = RunningOptions()


def path(
    study: Path,
    *,
    out: Path | None = None,
    window: float = 100.0,
    windows: int | None = None,
    running: RunningOptions = DEFAULT,
) -> None:
    """Compute the paths of a study's animals from their postures, and fit the drag ratio to their measured paths.

    Parameters
    ----------
    study
        Directory that `ethomarkov run` wrote.
    out
        Directory for path.nc, path.csv and figures; `path` in the study's own by default.
    window
        Seconds of path that are compared at once.
    windows
        Windows drawn at random; by default all that fit side by side.
    """
    require_at_least(window, 0, "--window")
    if windows is not None:
        require_at_least(windows, 1, "--windows")
    loaded = Study.load(study)
    target = out or (study if study.is_dir() else study.parent) / "path"
    check_writable(target)
    console = Console(quiet=running.quiet)
    search = DragSearch(window=window, n_windows=windows, scheme=loaded.settings.scheme)
    with at_work(running) as threads, progress_bar(console, quiet=running.quiet):
        found = reconstruct_paths(loaded, search, threads=threads)
        spread = measured_diffusion(found)
        write_paths(loaded, found, spread, target)
        save_figures(draw_reconstruction_figures(loaded, found), target)
    for line in _findings(found, spread):
        console.print(line, highlight=False, markup=False, soft_wrap=True)
    console.print(f"\nWritten to {escape(str(target))}.", highlight=False, soft_wrap=True)


def measured_diffusion(found: Reconstruction) -> Diffusion | None:
    """Fit the diffusion coefficient of the measured paths; None where there are none, or they are short."""
    if found.measured is None:
        return None
    rate = found.measured.sampling.rate
    lags = np.unique(np.rint(paper_lags() * rate).astype(int)) / rate
    displacement = msd(found.measured, lags, across_gaps=True)
    known = np.isfinite(displacement.msd[:, displacement.lags <= 100]).any()
    return diffusion(displacement) if known else None


def write_paths(study: Study, found: Reconstruction, spread: Diffusion | None, out: Path) -> None:
    """Write computed paths and a table into a directory.

    Parameters
    ----------
    study, found
        The paths of its animals.
    spread
        Diffusion of the measured ones; see `measured_diffusion`.
    out
        Directory.
    """
    results: dict[str, object] = {"reconstruction": found}
    if spread is not None:
        results["diffusion"] = spread
    save_results(out / "path.nc", results, {"settings": study.settings.model_dump_json()})
    write_table(out / "path.csv", _rows(study, found, spread))


def _rows(study: Study, found: Reconstruction, spread: Diffusion | None) -> Iterator[dict[str, object]]:
    for k, name in enumerate(study.symbols.segments.individuals):
        computed = found.computed.of(k).speed()
        row: dict[str, object] = {
            "animal": name,
            "length_unit": found.computed.length_unit,
            "body_length": float(found.body_length[k]),
            "body_length_is_fitted": found.is_fitted,
            "speed_computed": float(np.nanmean(computed)) if np.isfinite(computed).any() else float("nan"),
            "speed_correlation": float(found.speed_correlation[k]),
        }
        if found.drag is not None:
            fit = found.drag.median_by_individual[k]
            row |= {"drag_ratio": fit.estimate, "drag_low": fit.low, "drag_high": fit.high}
        if spread is not None:
            row |= {"diffusion": float(spread.coefficient[k]), "exponent": float(spread.exponent[k])}
        yield row


def _findings(found: Reconstruction, spread: Diffusion | None) -> Iterator[str]:
    if found.measured is None:
        yield "No measured path was recorded: paths are in body lengths, and no drag ratio could be fitted."
        return
    unit = found.measured.length_unit
    shown = ", ".join(f"{length:.3g}" for length in found.body_length)
    how = "fitted to the measured speeds at the study's drag ratio" if found.is_fitted else "as recorded"
    yield f"Body lengths ({unit}), {how}: {shown}."
    known = found.speed_correlation[np.isfinite(found.speed_correlation)]
    if known.size:
        yield (
            f"Speed over one second, computed against measured: correlation {known.mean():.3f} "
            f"({known.min():.3f} to {known.max():.3f} over {known.size} animals)."
        )
    yield from _drag_findings(found)
    if spread is not None:
        yield f"Diffusion of the measured paths between 60 and 100 s: {spread.interval} {unit}²/s (slope / 4)."
        if spread.caution:
            yield spread.caution


def _drag_findings(found: Reconstruction) -> Iterator[str]:
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
