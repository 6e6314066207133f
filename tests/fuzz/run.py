"""Read many damaged files: ``python tests/fuzz/run.py --files 10000 --seed 1 [--format csv-angles …] [--keep DIR]``."""

import argparse
import sys
import time
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1]))

from fuzz.harness import Summary, run
from fuzz.samples import BY_NAME


def main() -> int:
    asked = _parser().parse_args()
    began = time.monotonic()

    def tell(summary: Summary) -> None:
        if summary.n_files % 100 == 0:
            spent = time.monotonic() - began
            print(f"{summary.n_files} files, {len(summary.failures)} failed, {spent:.0f} s", flush=True)  # noqa: T201

    formats = asked.format or list(BY_NAME)
    summary = run(formats, asked.files, seed=asked.seed, first=asked.first, keep=asked.keep, tell=tell)
    print(summary)  # noqa: T201
    return 1 if summary.failures else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="Make damaged files from seeds, read them, and count what becomes.")
    parser.add_argument("--files", type=int, default=1000, help="how many, shared among the formats")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, help="where to begin counting, to make one file again")
    parser.add_argument("--format", action="append", choices=list(BY_NAME), help="only this one; may be repeated")
    parser.add_argument("--keep", type=Path, help="folder for files that do what must not happen")
    return parser


if __name__ == "__main__":
    sys.exit(main())
