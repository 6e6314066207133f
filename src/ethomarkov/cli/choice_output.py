"""Files and figures of `choose`: the choice, relaxation times, and the published entropy rates."""

from pathlib import Path

from matplotlib.figure import Figure

from ethomarkov.figures.choice import draw_choice
from ethomarkov.figures.scan import draw_entropy_rates, draw_gains, draw_lag_scan, draw_spectrum
from ethomarkov.figures.style import figure_style, new_figure
from ethomarkov.io.results import save_results
from ethomarkov.markov.lag_scan import LagScan
from ethomarkov.markov.noise_floor import NoiseFloor
from ethomarkov.markov.selection import EntropyTable, choose_n_states
from ethomarkov.markov.spectrum import Spectrum
from ethomarkov.selection import ModelChoice

CHOICE_FILE, SCAN_FILE, TIMESCALES_FILE = "choice.nc", "scan.nc", "timescales.nc"


def write_choice(choice: ModelChoice, out: Path) -> None:
    """Write a choice into a directory."""
    chosen = {"n_delays": choice.n_delays, "n_states": choice.n_states, "lag": choice.lag}
    save_results(out / CHOICE_FILE, {"choice": choice}, chosen)


def draw_choice_figure(choice: ModelChoice, interval: float) -> dict[str, Figure]:
    """Draw what was compared and chosen, by file name; nothing where nothing was compared.

    Parameters
    ----------
    choice
        What was compared.
    interval
        Seconds per frame.
    """
    if not choice.delays.size:
        return {}
    return {"choice.png": draw_choice(choice, interval)}


def write_scan(table: EntropyTable, out: Path) -> None:
    """Write entropy rates into a directory."""
    save_results(out / SCAN_FILE, {"scan": table}, {})


def draw_scan_figure(table: EntropyTable) -> dict[str, Figure]:
    """Draw entropy rates and what each further frame gains (Fig. 1b, S1a), by file name."""
    with figure_style():
        figure = new_figure(10, 3.8)
        left, right = figure.subplots(1, 2)
        draw_entropy_rates(left, table)
        draw_gains(right, table, int(choose_n_states(table).value))
    return {"scan.png": figure}


def write_timescales(scanned: LagScan, floor: NoiseFloor, spectrum: Spectrum, out: Path) -> None:
    """Write relaxation times into a directory.

    Parameters
    ----------
    scanned, floor, spectrum
        Against the lag, of shuffled states, and of the chain.
    out
        Directory.
    """
    save_results(out / TIMESCALES_FILE, {"lag_scan": scanned, "noise_floor": floor, "spectrum": spectrum}, {})


def draw_timescales_figure(scanned: LagScan, floor: NoiseFloor, spectrum: Spectrum, lag: float) -> dict[str, Figure]:
    """Draw relaxation times above noise and against the lag, by file name."""
    with figure_style():
        figure = new_figure(10, 3.8)
        left, right = figure.subplots(1, 2)
        draw_spectrum(left, spectrum, floor)
        draw_lag_scan(right, scanned, lag)
    return {"timescales.png": figure}
