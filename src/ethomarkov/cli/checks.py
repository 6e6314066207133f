"""Checks of an installation: what was found, whether it serves, and what to do where it does not."""

import importlib.metadata
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ethomarkov import __version__

State = Literal["ok", "note", "problem"]
PACKAGE = "ethomarkov"
SHOWN = ("numpy", "scipy", "numba", "scikit-learn", "h5py", "xarray", "pandas", "matplotlib", "pydantic")
"""Packages whose version is shown even if nothing is wrong."""
EXTRAS = {
    "dask": ("cluster", "--cluster"),
    "deeptime": ("deeptime", "chain.to_deeptime()"),
    "movement": ("movement", "objects of movement"),
    "pynapple": ("pynapple", "objects of pynapple"),
}
"""Packages of extras, with the name of the extra and what it is for."""
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
LITTLE_MEMORY, LITTLE_SPACE = 2.0, 1.0
"""In GB."""
THREAD_VARIABLES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS")


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One thing that was looked at.

    Parameters
    ----------
    what
        Was looked at.
    state
        Whether it serves: "ok", "note" for what is worth knowing, "problem" for what has to be mended.
    found
        In words.
    remedy
        What to do; empty where nothing has to be done.
    """

    what: str
    state: State
    found: str
    remedy: str = ""


def check_installation() -> list[Check]:
    """Look at everything that commands need."""
    return [one for group in CHECKS for one in group()]


def _versions() -> Iterator[Check]:
    yield Check(what=PACKAGE, state="ok", found=f"{__version__} in {Path(__file__).parents[1]}")
    is_new = sys.version_info >= (3, 11)
    yield Check(
        what="Python",
        state="ok" if is_new else "problem",
        found=f"{platform.python_version()} ({platform.system()} {platform.machine()})",
        remedy="" if is_new else "Install Python 3.11 or later.",
    )
    for name in SHOWN:
        yield _package(name)


def _package(name: str) -> Check:
    """Look for a package that is needed, in a version that serves."""
    again = f"Install it again: pip install --upgrade {PACKAGE}"
    try:
        found = importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return Check(what=name, state="problem", found="missing", remedy=again)
    wanted = _needed_versions().get(name)
    if wanted is not None and not wanted(found):
        return Check(what=name, state="problem", found=f"{found}, which does not serve", remedy=again)
    return Check(what=name, state="ok", found=found)


def _needed_versions() -> dict[str, Callable[[str], bool]]:
    """Read which versions this package needs; nothing where it is not installed as a package."""
    try:
        from packaging.requirements import Requirement

        needed = [Requirement(line) for line in importlib.metadata.requires(PACKAGE) or ()]
    except (ImportError, importlib.metadata.PackageNotFoundError):
        return {}
    return {one.name: one.specifier.contains for one in needed if one.marker is None}


def _extras() -> Iterator[Check]:
    for name, (extra, purpose) in EXTRAS.items():
        try:
            yield Check(what=name, state="ok", found=importlib.metadata.version(name))
        except importlib.metadata.PackageNotFoundError:
            remedy = f'For {purpose}: pip install "{PACKAGE}[{extra}]"'
            yield Check(what=name, state="note", found="not installed, and needed only for extras", remedy=remedy)


def _cores() -> Iterator[Check]:
    cores = os.cpu_count() or 1
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else cores
    limited = usable < cores
    yield Check(
        what="cores",
        state="note" if limited else "ok",
        found=f"{usable} of {cores}" if limited else str(cores),
        remedy=f"This process may use only some: add --threads {usable}." if limited else "",
    )
    told = [f"{name}={os.environ[name]}" for name in THREAD_VARIABLES if name in os.environ]
    if told:
        yield Check(what="threads", state="note", found=", ".join(told), remedy="Unset it for all cores.")


def _algebra() -> Iterator[Check]:
    try:
        import numpy as np
        from threadpoolctl import threadpool_info
    except ImportError as error:
        yield Check(what="linear algebra", state="problem", found=str(error), remedy="Install numpy again.")
        return
    np.linalg.eigvals(np.eye(2))
    found = [f"{one['internal_api']} {one['version']}, {one['num_threads']} threads" for one in threadpool_info()]
    yield Check(what="linear algebra", state="ok", found="; ".join(found) or "of numpy itself")


def _memory() -> Iterator[Check]:
    total, free = _memory_gb()
    if total is None or free is None:
        yield Check(what="memory", state="note", found="the system does not tell")
        return
    is_little = free < LITTLE_MEMORY
    yield Check(
        what="memory",
        state="note" if is_little else "ok",
        found=f"{free:.1f} of {total:.1f} GB free",
        remedy="Close other programs, or use --stream for large recordings." if is_little else "",
    )


def _memory_gb() -> tuple[float | None, float | None]:
    """Give total and available memory in GB; None where the system does not tell."""
    try:
        lines = dict(line.split(":", 1) for line in Path("/proc/meminfo").read_text().splitlines())
        total, free = (float(lines[name].split()[0]) / 1e6 for name in ("MemTotal", "MemAvailable"))
    except (OSError, KeyError, ValueError):
        return None, None
    return total, free


def _cache() -> Iterator[Check]:
    """Look where compiled kernels are kept, as numba does: beside the code, or in the user's own directory."""
    told = os.environ.get("NUMBA_CACHE_DIR")
    places = [Path(told)] if told else [Path(__file__).parents[1], _user_cache()]
    for place in places:
        if _is_writable(place):
            yield Check(what="cache of kernels", state="ok", found=f"{place} (numba)")
            return
    yield Check(
        what="cache of kernels",
        state="problem",
        found=f"{' and '.join(map(str, places))} cannot be written",
        remedy="Kernels are compiled at every start. Set NUMBA_CACHE_DIR to a directory that you may write.",
    )


def _user_cache() -> Path:
    home = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(home).expanduser() / "numba"


def _places() -> Iterator[Check]:
    for what, place, cure in (
        ("temporary directory", Path(tempfile.gettempdir()), "Set TMPDIR to a directory that you may write."),
        ("this directory", Path.cwd(), "Go to a directory that you may write, or name one with --out."),
    ):
        if not _is_writable(place):
            yield Check(what=what, state="problem", found=f"{place} cannot be written", remedy=cure)
            continue
        space = shutil.disk_usage(place).free / 1e9
        is_little = space < LITTLE_SPACE
        yield Check(
            what=what,
            state="note" if is_little else "ok",
            found=f"{place}, {space:.1f} GB free",
            remedy="Free some space: studies may need it." if is_little else "",
        )


def _is_writable(directory: Path) -> bool:
    """Tell whether files can be made in a directory, or in the first above it that exists."""
    existing = next((one for one in (directory, *directory.absolute().parents) if one.exists()), None)
    try:
        with tempfile.TemporaryFile(dir=existing):
            return existing is not None
    except OSError:
        return False


def _programs() -> Iterator[Check]:
    try:
        from imageio_ffmpeg import get_ffmpeg_exe

        program = get_ffmpeg_exe()
        subprocess.run([program, "-version"], capture_output=True, check=True, timeout=20)
        yield Check(what="ffmpeg", state="ok", found=program)
    except (ImportError, RuntimeError, OSError, subprocess.SubprocessError) as error:
        cure = "Movies need it: pip install --force-reinstall imageio-ffmpeg"
        yield Check(what="ffmpeg", state="problem", found=f"does not run ({error})", remedy=cure)
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    found = browser or "none; only tests of the pages use one"
    yield Check(what="chromium", state="ok" if browser else "note", found=found)


CHECKS: tuple[Callable[[], Iterator[Check]], ...] = (
    _versions,
    _cores,
    _algebra,
    _memory,
    _cache,
    _places,
    _programs,
    _extras,
)
"""In the order in which they are shown."""
