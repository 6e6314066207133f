"""Time the stages at the size of the paper, each beside its peer in the same run, and how they grow.

Without names all stages run but the heavy ones, which take minutes each; ``--out FILE`` also writes the tables.
"""

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import stages
from data import Data, prepare
from timing import GROWTH, GROWTH_HEADER, HEADER, ROW

from ethomarkov.io.atomic import atomic_path
from ethomarkov.study.bench import describe_machine

LARGE = "large"
KNOWN = {stage.__name__: stage for stage in (*stages.QUICK, *stages.HEAVY)}


def run_stages(names: list[str], say: Callable[[str], None]) -> list[str]:
    """Run stages, each in a process of its own so that its memory is its own, print the tables, and list failures."""
    growth: list[str] = []
    failed: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        _child(folder, "prepare").check_returncode()
        say(HEADER)
        for name in names:
            done = _child(folder, name)
            for line in done.stdout.splitlines():
                if line.startswith(ROW):
                    say(line.removeprefix(ROW))
                elif line.startswith(GROWTH):
                    growth.append(line.removeprefix(GROWTH))
            failed += [name] if done.returncode else []
    if growth:
        say("\n".join(["", GROWTH_HEADER, *growth]))
    return failed


def _child(folder: str, name: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, __file__, "--here", folder, name]
    return subprocess.run(command, check=False, stdout=subprocess.PIPE, text=True)


def main() -> None:
    """Read the command line and run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help=f"of {', '.join([*KNOWN, LARGE])}")
    parser.add_argument("--out", type=Path, help="Markdown file for the tables")
    parser.add_argument("--here", metavar="FOLDER", type=Path, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if unknown := set(asked.names) - {*KNOWN, LARGE, "prepare"}:
        parser.error(f"{', '.join(sorted(unknown))}: not known; there are {', '.join([*KNOWN, LARGE])}")
    if asked.here is not None:
        _run_here(asked.here, asked.names[0])
        return
    lines: list[str] = []

    def say(text: str) -> None:
        lines.append(text)
        print(text, flush=True)

    say(f"{datetime.now(UTC):%Y-%m-%d}, {describe_machine().sentence}.\n")
    names = asked.names or [stage.__name__ for stage in stages.QUICK]
    chosen = [name for name in names if name != LARGE]
    failed = run_stages(chosen, say) if chosen else []
    if LARGE in names:
        large = Path(__file__).with_name("large.py")
        say("\n" + subprocess.run([sys.executable, large], check=True, stdout=subprocess.PIPE, text=True).stdout)
    if asked.out is not None:
        with atomic_path(asked.out) as temporary:
            temporary.write_text("\n".join(lines) + "\n", encoding="utf-8")
    if failed:
        sys.exit(f"failed: {', '.join(failed)}")


def _run_here(folder: Path, name: str) -> None:
    if name == "prepare":
        prepare(folder)
    else:
        KNOWN[name](Data(folder))


if __name__ == "__main__":
    main()
