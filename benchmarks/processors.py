"""How much the results of studies differ between kinds of processor.

The same recordings are studied in one process for each setting that makes OpenBLAS, numpy or numba take the code of
another processor; every study is compared with that of the usual setting, and the largest differences are printed:
the share of frames in another microstate or state, relative differences of times and rates, differences of shares of
time. Name other settings as ``python benchmarks/processors.py VARIABLE=VALUE ...``.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import ethomarkov as em
from ethomarkov.coarse.passage import hopping_rates, mean_first_passage
from ethomarkov.io import read
from ethomarkov.markov.spectrum import slowest_times
from ethomarkov.study.study import Study, run_study

SETTINGS = (
    "OPENBLAS_CORETYPE=Haswell",
    "OPENBLAS_CORETYPE=Prescott",
    "NPY_DISABLE_CPU_FEATURES=X86_V4",
    "NUMBA_CPU_NAME=generic",
)
N_STUDIES, N_WORMS, SECONDS = 12, 6, 1200.0  # shorter ones have too few near-ties to differ
HEADER = "| setting | equal studies | microstates | relaxation | passages | rates | shares | states |"


def numbers(study: Study) -> dict[str, np.ndarray]:
    """What is compared: labels, and what is made of them at the level of two states."""
    group = study.tree.states_at(2)
    states = study.states(2)
    shares = np.bincount(states.labels[states.segments.valid], minlength=2) / states.segments.valid.sum()
    slow = slowest_times(study.chain)
    return {
        "labels": study.symbols.labels,
        "states": states.labels,
        "shares": shares,
        "relaxation": np.array([slow.relaxation, slow.reversibilized]),
        "passages": mean_first_passage(study.chain, group)[[0, 1], [1, 0]],
        "rates": hopping_rates(study.symbols, group, study.chain.lag).rates[[0, 1], [1, 0]],
    }


def study_all(folder: Path, name: str) -> None:
    """Study every recording; every other one finds its posture modes itself."""
    for seed in range(N_STUDIES):
        recording = read(folder / f"worms{seed}.nc")
        settings = em.Settings(n_states=1000, n_walks=1, simulated_minutes=0.5, scan=False, n_resamples=0, seed=seed)
        basis = em.PostureBasis.analytic() if seed % 2 else None
        study = run_study(recording, settings, basis=basis, threads=1)
        np.savez(folder / f"{name}-{seed}.npz", **numbers(study))


def differences(usual: Path, other: Path) -> np.ndarray:
    """Share of frames in another microstate, relative differences of numbers, differences of shares and states."""
    a, b = np.load(usual), np.load(other)
    relative = [np.abs(b[key] / a[key] - 1).max() for key in ("relaxation", "passages", "rates")]
    elsewhere, changed = (np.mean(a[key] != b[key]) for key in ("labels", "states"))
    return np.array([elsewhere, *relative, np.abs(a["shares"] - b["shares"]).max(), changed])


def main() -> None:
    """Make the recordings, study them in child processes, and print the largest differences."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for seed in range(N_STUDIES):
            em.write_recording(em.simulate_worms(N_WORMS, SECONDS, seed=seed).recording, folder / f"worms{seed}.nc")
        print(HEADER)
        print("|---" * (HEADER.count("|") - 1) + "|")
        for setting in ("usual", *(sys.argv[1:] or SETTINGS)):
            variable = dict([setting.split("=", 1)]) if "=" in setting else {}
            command = [sys.executable, __file__, "--here", name, setting]
            subprocess.run(command, check=True, env=os.environ | variable)
            each = np.array(
                [differences(folder / f"usual-{k}.npz", folder / f"{setting}-{k}.npz") for k in range(N_STUDIES)]
            )
            equal = int((each == 0).all(axis=1).sum())
            print(
                f"| {setting} | {equal} of {N_STUDIES} |", " | ".join(f"{worst:.1e}" for worst in each.max(axis=0)), "|"
            )


if __name__ == "__main__":
    if sys.argv[1:2] == ["--here"]:
        study_all(Path(sys.argv[2]), sys.argv[3])
    else:
        main()
