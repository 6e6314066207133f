"""The demonstration."""

from pathlib import Path

from rich.console import Console

from ethomarkov.cli.options import RunningOptions, require_at_least, require_minutes
from ethomarkov.cli.outcome import print_outcome, write_outcome
from ethomarkov.cli.terminal import progress_bar
from ethomarkov.cli.work import at_work
from ethomarkov.io.atomic import check_writable
from ethomarkov.study import Settings, run_study
from ethomarkov.synthetic import simulate_worms

DEFAULT = RunningOptions()


def demo(
    *,
    out: Path = Path("ethomarkov-demo"),
    worms: int = 6,
    minutes: float = 10.0,
    running: RunningOptions = DEFAULT,
) -> None:
    """Simulate a few synthetic worms, run the whole study on them, and set what it finds beside the truth.

    Parameters
    ----------
    out
        Directory of the results.
    worms
        Synthetic worms to record.
    minutes
        Duration of each recording.
    """
    require_at_least(worms, 1, "--worms")
    require_at_least(minutes, 0.1, "--minutes")
    require_minutes(worms, minutes, "--worms and --minutes")
    check_writable(out)
    console, settings = Console(quiet=running.quiet), Settings(seed=running.chosen_seed)
    with at_work(running) as threads, progress_bar(console, quiet=running.quiet) as progress:
        made = simulate_worms(worms, minutes * 60, seed=running.chosen_seed, threads=threads, progress=progress)
        study = run_study(
            made.recording,
            settings,
            basis=made.basis,
            directory=out,
            given={"truth": made.truth},
            threads=threads,
            progress=progress,
        )
        with study.locked():
            known = study.compute("known_truth")
        figures = write_outcome(study, out)
    print_outcome(console, figures, out, known)
