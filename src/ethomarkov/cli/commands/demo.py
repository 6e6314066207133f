"""The demonstration."""

from pathlib import Path

from ethomarkov.cli.desk import Frame
from ethomarkov.cli.options import RunningOptions, require_at_least, require_minutes

DEFAULT = RunningOptions()


def demo(
    *,
    out: Path = Path("ethomarkov-demo"),
    worms: int = 6,
    minutes: float = 10.0,
    running: RunningOptions = DEFAULT,
) -> None:
    """Simulate a few synthetic worms, run the whole study on them, and set its estimates beside the truth.

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
    from ethomarkov.cli.outcome import print_outcome, write_outcome
    from ethomarkov.study import Settings, run_study
    from ethomarkov.synthetic import simulate_worms

    frame, seed = Frame(out=out, running=running), running.chosen_seed
    with frame.working() as (threads, progress):
        made = simulate_worms(worms, minutes * 60, seed=seed, threads=threads, progress=progress)
        study = run_study(
            made.recording,
            Settings(seed=seed),
            basis=made.basis,
            directory=out,
            given={"truth": made.truth},
            threads=threads,
            progress=progress,
        )
        with study.locked():
            known = study.compute("known_truth")
        figures = write_outcome(study, out, progress)
    print_outcome(frame, figures, out, known)
