"""Which timescales stand above noise, and at which lag."""

from pathlib import Path

from matplotlib.figure import Figure
from rich.console import Console

from ethomarkov.cli.options import RunningOptions, require_at_least
from ethomarkov.cli.terminal import progress_bar
from ethomarkov.cli.work import at_work
from ethomarkov.figures.scan import draw_lag_scan, draw_spectrum
from ethomarkov.figures.style import figure_style, new_figure, save_figures
from ethomarkov.io.atomic import check_writable
from ethomarkov.io.results import save_results
from ethomarkov.markov.lag_scan import LagScan, lag_grid, scan_lags
from ethomarkov.markov.noise_floor import NoiseFloor, Shuffles, noise_floor
from ethomarkov.markov.selection import Choice, choose_lag
from ethomarkov.markov.spectrum import Spectrum, slow_spectrum, slow_times
from ethomarkov.workflow import Study

DEFAULT = RunningOptions()


def timescales(
    study: Path,
    *,
    out: Path | None = None,
    shuffles: int = 100,
    lags: int = 30,
    longest_lag: float = 10.0,
    modes: int = 30,
    running: RunningOptions = DEFAULT,
) -> None:
    """Measure relaxation times against the lag and above a noise floor.

    Parameters
    ----------
    study
        Directory that `ethomarkov run` wrote.
    out
        Directory for timescales.nc and timescales.png; the study's own by default.
    shuffles
        Shuffled sequences for the noise floor.
    lags
        Lags to try, up to the longest.
    longest_lag
        In seconds.
    modes
        Modes of the chain to find.
    """
    for value, name in ((shuffles, "--shuffles"), (lags, "--lags"), (modes, "--modes")):
        require_at_least(value, 1, name)
    require_at_least(longest_lag, 0, "--longest-lag")
    loaded = Study.load(study)
    target = out or (study if study.is_dir() else study.parent)
    check_writable(target)
    console = Console(quiet=running.quiet)
    with at_work(running) as threads, progress_bar(console, quiet=running.quiet) as progress:
        grid = lag_grid(loaded.symbols, longest_lag, lags)
        scanned = scan_lags(loaded.symbols, grid, threads=threads, progress=progress)
        how = Shuffles(n=shuffles, seed=running.chosen_seed)
        floor = noise_floor(loaded.symbols, loaded.chain.lag, shuffles=how, threads=threads, progress=progress)
        spectrum = slow_spectrum(loaded.chain, modes)
    choice = choose_lag(scanned.slowest(), rng=running.chosen_seed)
    write_timescales(scanned, floor, spectrum, choice, target)
    save_figures(draw_timescales_figure(scanned, floor, spectrum, choice), target)
    for line in _findings(loaded, spectrum, floor, choice):
        console.print(line, highlight=False, markup=False, soft_wrap=True)
    console.print(f"Tables in {target / 'timescales.nc'}, drawn in {target / 'timescales.png'}.", markup=False)


def _findings(study: Study, spectrum: Spectrum, floor: NoiseFloor, choice: Choice) -> list[str]:
    n_significant = floor.significant_modes(spectrum)
    cycles = [
        f"{period:.3g} s (decays in {decay:.3g} s)"
        for kind, period, decay in zip(spectrum.kinds, spectrum.periods, spectrum.decay_times, strict=True)
        if kind == "oscillating"
    ]
    lines = [
        slow_times(study.chain).explain(),
        f"{n_significant} of the first {spectrum.eigenvalues.size} modes stand above noise: shuffled symbols reach "
        f"{floor.time(0.975):.3g} s at this lag (97.5 % of {floor.eigenvalues.size} shuffles).",
        choice.reason,
        *choice.warnings,
    ]
    if cycles:
        lines.append(f"Cycles among them, by period: {', '.join(dict.fromkeys(cycles[:6]))}.")
    return lines


def write_timescales(scanned: LagScan, floor: NoiseFloor, spectrum: Spectrum, choice: Choice, out: Path) -> None:
    """Write relaxation times into a directory.

    Parameters
    ----------
    scanned, floor, spectrum
        Against the lag, of shuffled symbols, and of the chain.
    choice
        The lag that would be chosen.
    out
        Directory.
    """
    results = {"lag_scan": scanned, "noise_floor": floor, "spectrum": spectrum}
    save_results(out / "timescales.nc", results, {"lag": choice.value})


def draw_timescales_figure(
    scanned: LagScan, floor: NoiseFloor, spectrum: Spectrum, choice: Choice
) -> dict[str, Figure]:
    """Draw relaxation times above noise and against the lag, by file name."""
    with figure_style():
        figure = new_figure(10, 3.8)
        left, right = figure.subplots(1, 2)
        draw_spectrum(left, spectrum, floor)
        draw_lag_scan(right, scanned, choice.value)
    return {"timescales.png": figure}
