"""Time the streamed study for more and more worms, one file each: seconds and memory against the number of frames."""

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path

import numpy as np

from ethomarkov.io import write_recording
from ethomarkov.posture import PostureBasis
from ethomarkov.recording import Recording, Track
from ethomarkov.study import Settings
from ethomarkov.study.source import Source
from ethomarkov.study.study import run_study
from ethomarkov.synthetic import simulate_worms

N_WORMS = (3, 10, 30, 100)
N_SIMULATED, SECONDS, RATE = 12, 2100.0, 16.0
JITTER = 0.05
THREADS = 2
HEADER = "| worms | frames | seconds | CPU s | peak GB | labels MB | {} | load |"


def make_files(folder: Path, n_worms: int) -> list[Path]:
    """Write worms made from a dozen simulated ones: begun elsewhere, a little larger or smaller, with noise."""
    simulated = simulate_worms(N_SIMULATED, SECONDS, seed=0).recording
    offsets, files = simulated.segments.offsets, []
    for k in range(n_worms):
        rng, one = np.random.default_rng(k), k % N_SIMULATED
        rows = slice(offsets[one], offsets[one + 1])
        values = np.roll(simulated.values[rows], rng.integers(offsets[one + 1] - offsets[one]), axis=0)
        values = values * rng.normal(1, JITTER) + rng.normal(0, JITTER, values.shape)
        track = Track(individual=f"worm_{k:05d}", values=values.astype(np.float32), body_length=1.0)
        recording = Recording.from_tracks([track], kind="amplitude", sampling_rate=RATE)
        files.append(write_recording(recording, folder / f"worm_{k:05d}.nc"))
    return files


def stream_once(out: Path, files: list[Path]) -> dict[str, object]:
    """Stream files and tell how long every pass took, and how much memory at most."""
    begun: dict[str, float] = {}

    def note(what: str, done: int, total: int) -> None:
        begun.setdefault(what, time.process_time())

    started, cpu = time.perf_counter(), time.process_time()
    settings = Settings(n_states=1000, scan=False)
    basis, source = PostureBasis.analytic(), Source(files=tuple(files))
    found = run_study(source, settings, basis=basis, directory=out, threads=THREADS, progress=note)
    seconds, ended = time.perf_counter() - started, time.process_time()
    marks = [cpu, *(begun[name] for name in ("postures", "microstates", "counts", "chain")), ended]
    return {
        "frames": int(found.animals.frames.sum()),
        "seconds": seconds,
        "cpu": ended - cpu,
        "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6,
        "labels": sum(file.stat().st_size for file in (out / "labels").iterdir()) / 1e6,
        "passes": [after - before for before, after in pairwise(marks)],
    }


def growth(frames: list[float], values: list[float]) -> str:
    """Give the slope of a quantity against frames, both in logarithms, over all sizes and over the last two."""
    logs = np.log(np.array([frames, values]))
    last = np.diff(logs[1])[-1] / np.diff(logs[0])[-1]
    return f"{np.polyfit(logs[0], logs[1], 1)[0]:.2f} over all sizes, {last:.2f} over the last two"


def main(sizes: list[int]) -> None:
    passes = ("first pass CPU s", "examples and choice", "microstates", "second pass", "states, simulation, writing")
    print(HEADER.format(" | ".join(passes)))
    print(f"|{'---|' * (7 + len(passes))}")
    found = []
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "worms"
        folder.mkdir()
        files = make_files(folder, max(sizes))
        for n in sizes:
            command = [sys.executable, __file__, "--child", str(Path(scratch) / f"out{n}"), str(folder), str(n)]
            done = subprocess.run(command, check=True, capture_output=True, text=True)
            one = json.loads(done.stdout)
            found.append(one)
            times = " | ".join(f"{seconds:.1f}" for seconds in one["passes"])
            numbers = f"{one['seconds']:.0f} | {one['cpu']:.0f} | {one['peak']:.2f} | {one['labels']:.1f}"
            print(f"| {n} | {one['frames']:,} | {numbers} | {times} | {os.getloadavg()[0]:.1f} |", flush=True)
        size = sum(file.stat().st_size for file in files) / len(files) / 1e6
    if len(found) > 1:
        frames = [one["frames"] for one in found]
        print(f"\nA file holds {size:.2f} MB. Growth exponents:")
        for name in ("seconds", "cpu", "peak"):
            print(f"{name}: {growth(frames, [one[name] for one in found])}")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        out, folder, n_worms = Path(sys.argv[2]), Path(sys.argv[3]), int(sys.argv[4])
        print(json.dumps(stream_once(out, sorted(folder.iterdir())[:n_worms])))
    else:
        main([int(n) for n in sys.argv[1:]] or list(N_WORMS))
