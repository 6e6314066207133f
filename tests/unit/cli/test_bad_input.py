"""Bad input gets one paragraph, exit code 2, and leaves nothing behind."""

import errno
import json
import os
import pickle
import shutil
import subprocess
import sys
import warnings
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import h5py
import numpy as np
import pytest
import xarray as xr

from ethomarkov.io.seal import SEAL, seal
from ethomarkov.posture import PostureBasis

QUICK = (
    "--delays",
    "11",
    "--lag",
    "0.75",
    "--microstates",
    "12",
    "--walks",
    "2",
    "--simulated-minutes",
    "0.5",
    "--threads",
    "1",
)
RNG_SEED = 0


# --- files, good and bad ---------------------------------------------------------------------------------------------


def postures(n_frames: int = 400, n_columns: int = 3, seed: int = RNG_SEED) -> np.ndarray:
    """Noisy waves: every state comes back, so that any sane setting gives a chain."""
    rng = np.random.default_rng(seed)
    phase = np.cumsum(rng.normal(0.4, 0.2, n_frames))
    return np.stack([np.cos(phase + k) + 0.1 * rng.normal(size=n_frames) for k in range(n_columns)], axis=1)


def write_csv(path: Path, values: np.ndarray, time: np.ndarray | None = None, rate: float = 16.0) -> Path:
    time = np.arange(len(values)) / rate if time is None else time
    header = ",".join(["time", *(f"a{k + 1}" for k in range(values.shape[1]))])
    np.savetxt(path, np.column_stack([time, values]), delimiter=",", header=header, comments="")
    return path


def put(path: Path, content: bytes | str) -> Path:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def truncated(source: Path, target: Path) -> Path:
    content = source.read_bytes()
    return put(target, content[: len(content) * 6 // 10])


def netcdf(path: Path, **attrs: object) -> Path:
    """A recording as we write it, with some attributes changed (None: removed)."""
    from ethomarkov.io import write_recording
    from ethomarkov.recording import Recording, Track

    track = Track(individual="one", values=postures())
    write_recording(Recording.from_tracks([track], kind="amplitude", sampling_rate=16.0), path)
    if attrs:
        with h5py.File(path, "a") as file:
            for name, value in attrs.items():
                del file.attrs[name]
                if value is not None:
                    file.attrs[name] = value
    return path


def tierpsy(path: Path) -> Path:
    with h5py.File(path, "w") as file:
        file["skeletons"] = np.random.default_rng(0).normal(size=(400, 49, 2))
        file.create_group("features_events/worm_1")
    return path


def wcon(**units: str) -> str:
    angle = np.cumsum(np.random.default_rng(0).normal(size=(60, 6)), axis=0)
    record = {"id": "w", "t": (np.arange(60) / 16).tolist(), "x": np.cos(angle).tolist(), "y": np.sin(angle).tolist()}
    return json.dumps({"units": {"t": "s", "x": "mm", "y": "mm"} | units, "data": [record]})


def zipped(path: Path, **members: str) -> Path:
    return zip_of(path, members)


def zip_of(path: Path, members: dict[str, str]) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return path


def with_gap_in_time(kind: str) -> np.ndarray:
    time = np.arange(400) / 16
    time[7] = {"duplicate": time[6], "back": time[3], "nan": np.nan}[kind]
    return time


def changed(column: int | slice, value: float, rows: slice = slice(None)) -> np.ndarray:
    values = postures()
    values[rows, column] = value
    return values


@dataclass(frozen=True)
class Bad:
    """One kind of bad input.

    `make` writes the file and returns it; `words` must all stand in the message, `{file}` for the file's own name.
    """

    make: Callable[[Path], Path]
    words: tuple[str, ...]
    options: tuple[str, ...] = ()


REMEDY = (  # what a user can do; every message offers at least one of these
    "check", "copy", "export", "save", "state", "use ", "name ", "choose", "remove", "rename", "correct", "ask",
    "sort", "keep", "bring", "give", "leave", "transpose", "make ", "number", "at least", "run it again", "update",
    "write ", "needs", "is needed", "are needed", "convert", "should be", "known are",
)  # fmt: skip

FILES = {
    "missing file": Bad(lambda p: p / "nowhere.csv", ("{file}", "no such file")),
    "empty file": Bad(lambda p: put(p / "empty.csv", b""), ("{file}", "empty")),
    "text": Bad(lambda p: put(p / "letter.txt", "Dear reader,\nthis is no table.\n"), ("{file}", "column")),
    "text of no known ending": Bad(lambda p: put(p / "letter.doc", "Dear reader,\n"), ("{file}", "csv")),
    "random bytes": Bad(lambda p: put(p / "noise.h5", np.random.default_rng(0).bytes(3000)), ("{file}", "recognised")),
    "picture": Bad(
        lambda p: put(p / "worm.png", b"\x89PNG\r\n\x1a\n" + np.random.default_rng(0).bytes(3000)),
        ("{file}", "recognised"),
    ),
    "picture named csv": Bad(
        lambda p: put(p / "worm.csv", b"\x89PNG\r\n\x1a\n" + np.random.default_rng(0).bytes(3000)), ("{file}",)
    ),
    "directory": Bad(lambda p: p, ("{file}", "directory")),
    "truncated netCDF": Bad(lambda p: truncated(netcdf(p / "w.nc"), p / "cut.nc"), ("{file}", "truncated")),
    "truncated Tierpsy": Bad(
        lambda p: truncated(tierpsy(p / "w.hdf5"), p / "cut_features.hdf5"), ("{file}", "truncated")
    ),
    "HDF5 signature alone": Bad(lambda p: put(p / "cut.h5", b"\x89HDF\r\n\x1a\n"), ("{file}", "truncated")),
    "truncated zip": Bad(
        lambda p: truncated(zipped(p / "w.zip", recording=wcon()), p / "cut.wcon.zip"), ("{file}", "truncated")
    ),
    "truncated npz": Bad(lambda p: truncated(npz(p / "w.npz"), p / "cut.npz"), ("{file}", "truncated")),
    "truncated WCON": Bad(lambda p: put(p / "cut.wcon", wcon()[:900]), ("{file}", "JSON", "truncated")),
    "damaged numbers in netCDF": Bad(lambda p: damaged_netcdf(p / "hurt.nc"), ("{file}",)),
    "damaged header in npz": Bad(lambda p: damaged_npz(p / "hurt.npz"), ("{file}",)),
    "WCON with unknown unit": Bad(lambda p: put(p / "w.wcon", wcon(x="furlong")), ("{file}", "furlong", "mm")),
    "WCON with a length as time": Bad(lambda p: put(p / "w.wcon", wcon(t="mm")), ("{file}", "units.t", "ms")),
    "zip with an absolute member": Bad(
        lambda p: zip_of(p / "w.zip", {"/etc/recording.wcon": wcon()}), ("{file}", "/etc/recording.wcon")
    ),
    "zip with a member above": Bad(
        lambda p: zip_of(p / "w.zip", {"../recording.wcon": wcon()}), ("{file}", "../recording.wcon")
    ),
    "zip with one good and one bad member": Bad(
        lambda p: zip_of(p / "w.zip", {"recording.wcon": wcon(), "a/../../evil": "x"}), ("{file}", "a/../../evil")
    ),
    "zip with two recordings": Bad(
        lambda p: zip_of(p / "w.zip", {"a.wcon": wcon(), "b.wcon": wcon()}), ("{file}", "2")
    ),
    "all frames missing": Bad(
        lambda p: write_csv(p / "none.csv", np.full((50, 3), np.nan)), ("{file}", "0 of 50 frames")
    ),
    "one frame": Bad(
        lambda p: write_csv(p / "one.csv", postures(1)), ("{file}", "1 of 1 frame", "two"), ("--rate", "16")
    ),
    "one frame with its time": Bad(lambda p: write_csv(p / "one.csv", postures(1)), ("{file}", "1", "frame", "two")),
    "rate missing": Bad(lambda p: npz(p / "w.npz", sampling_rate=None), ("{file}", "rate", "unknown", "--rate")),
    "rate missing, frames counted": Bad(
        lambda p: put(p / "f.csv", "frame,a1\n0,1\n1,3\n2,2\n"), ("{file}", "rate", "--rate")
    ),
    "rate missing in netCDF": Bad(lambda p: netcdf(p / "w.nc", sampling_rate=None), ("{file}", "sampling_rate")),
    "rate in netCDF is text": Bad(lambda p: netcdf(p / "w.nc", sampling_rate="abc"), ("{file}", "sampling", "abc")),
    "rate in npz is text": Bad(lambda p: npz(p / "w.npz", sampling_rate="abc"), ("{file}", "sampling_rate")),
    "rate in npz is nan": Bad(lambda p: npz(p / "w.npz", sampling_rate=np.nan), ("{file}", "rate", "nan")),
    "rate in npz is zero": Bad(lambda p: npz(p / "w.npz", sampling_rate=0.0), ("{file}", "rate", "0")),
    "infinite values": Bad(
        lambda p: write_csv(p / "inf.csv", changed(1, np.inf, slice(5, 8))), ("{file}", "3", "infinite")
    ),
    "constant column": Bad(lambda p: write_csv(p / "flat.csv", changed(1, 3.0)), ("{file}", "2", "constant")),
    "duplicate times": Bad(
        lambda p: write_csv(p / "twice.csv", postures(), with_gap_in_time("duplicate")),
        ("{file}", "duplicate", "0.375"),
    ),
    "times going back": Bad(
        lambda p: write_csv(p / "back.csv", postures(), with_gap_in_time("back")), ("{file}", "back", "0.1875")
    ),
    "a time missing": Bad(lambda p: write_csv(p / "t.csv", postures(), with_gap_in_time("nan")), ("{file}", "times")),
    "all times equal": Bad(
        lambda p: write_csv(p / "t.csv", postures(), np.ones(400)), ("{file}", "times are equal", "--rate")
    ),
    "csv in Latin-1": Bad(
        lambda p: put(p / "latin.csv", "individual,time,a1\nvér,0,1\n".encode("latin-1")), ("{file}", "UTF-8")
    ),
    "csv in UTF-16": Bad(
        lambda p: put(p / "wide.csv", "individual,time,a1\nver,0,1\n".encode("utf-16")), ("{file}", "csv")
    ),
    "csv with a header only": Bad(lambda p: put(p / "head.csv", "time,a1,a2\n"), ("{file}", "no rows")),
    "csv without a header": Bad(lambda p: put(p / "bare.csv", "0,1,2\n1,2,3\n"), ("{file}", "header")),
    "csv with a word in a number": Bad(
        lambda p: put(p / "word.csv", "time,a1\n0,1\n1,one\n2,3\n"), ("{file}", "Line 3", "'a1'", "one")
    ),
    "csv with a misspelt column": Bad(
        lambda p: put(p / "w.csv", "indvidual,time,a1\nx,0,1\ny,1,3\n"), ("{file}", "indvidual", "individual")
    ),
    "a study instead of a recording": Bad(lambda p: not_a_recording(p / "study.nc"), ("{file}",)),
}


def npz(path: Path, **changes: object) -> Path:
    arrays = {"amplitudes": postures(), "sampling_rate": 16.0} | changes
    np.savez(path, **{name: value for name, value in arrays.items() if value is not None})
    return path


def damaged_netcdf(path: Path) -> Path:
    """Spoil the packed numbers of a file that still opens."""
    content = bytearray(netcdf(path).read_bytes())
    with h5py.File(path) as file:
        chunk = file["amplitude"].id.get_chunk_info(0)
    content[chunk.byte_offset : chunk.byte_offset + 64] = bytes(64)
    return put(path, bytes(content))


def damaged_npz(path: Path) -> Path:
    """Spoil the header of an array inside a valid archive."""
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("amplitudes.npy", b"\x93NUMPY\x01\x00\x76\x00{'descr': ('<f8', 'fort" + b" " * 100)
    return path


def not_a_recording(path: Path) -> Path:
    xr.Dataset({"a": ("x", [1.0, 2.0])}).to_netcdf(path, engine="h5netcdf")
    return path


# --- the check -------------------------------------------------------------------------------------------------------


def listing(folder: Path) -> dict[str, bytes | None]:
    return {str(path): path.read_bytes() if path.is_file() else None for path in sorted(folder.rglob("*"))}


def assert_one_paragraph(code: int, out: str, err: str, words: tuple[str, ...]) -> None:
    assert code == 2, out + err
    assert "Traceback" not in out + err
    message = err.strip()
    assert message.count("error:") == 1
    assert "\n" not in message
    for word in words:
        assert word.lower() in message.lower()
    assert any(remedy in message.lower() for remedy in REMEDY), message


@pytest.mark.parametrize("command", ["run", "inspect"])
@pytest.mark.parametrize("name", FILES)
def test_bad_file(cli, tmp_path, name, command):
    case = FILES[name]
    source = tmp_path / "in"
    source.mkdir()
    file = case.make(source)
    before = listing(tmp_path)
    out = tmp_path / "results" if command == "run" else tmp_path / "drawn.png"
    said = cli(command, file, "--out", out, *case.options)
    assert_one_paragraph(*said, tuple(word.replace("{file}", str(file)) for word in case.words))
    assert listing(tmp_path) == before


@pytest.mark.usefixtures("reads_here")
def test_damaged_attributes(cli, tmp_path, monkeypatch):
    """Files whose attributes cannot be decoded were met by flipping bytes at random."""
    file = netcdf(tmp_path / "hurt.nc")

    def fail(*args: object) -> None:
        raise OSError("Can't synchronously read data (ran off end of input buffer while decoding)")

    monkeypatch.setattr(h5py.AttributeManager, "__getitem__", fail)
    assert_one_paragraph(*cli("inspect", file), (str(file),))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--rate", "nan"), ("rate", "nan")),
        (("--rate", "0"), ("rate", "0")),
        (("--rate", "-3"), ("rate", "-3")),
        (("--rate", "inf"), ("rate", "inf")),
        (("--resample", "nan"), ("resample",)),
        (("--resample", "0"), ("resample",)),
        (("--resample", "1e-9"), ("resample",)),
        (("--fill-gaps", "nan"), ("fill",)),
        (("--fill-gaps", "inf"), ("fill",)),
        (("--fill-gaps", "-1"), ("fill",)),
        (("--min-confidence", "2"), ("confidence", "2")),
        (("--format", "matlab"), ("matlab", "csv", "wcon")),
        (("--keypoints", "nose"), ("keypoints", "amplitudes")),
        (("--as-centerline",), ("centerline", "amplitudes")),
        (("--delays", "5000"), ("delays", "400")),
        (("--delays", "0"), ("--delays", "0")),
        (("--lag", "5000"), ("lag", "5000", "24.375")),
        (("--lag", "0.1"), ("lag", "0.0625", "0.125")),
        (("--lag", "inf"), ("lag", "inf")),
        (("--lag", "nan"), ("--lag", "nan")),
        (("--microstates", "5000"), ("states", "390")),
        (("--microstates", "1"), ("--microstates", "1", "2")),
        (("--modes", "0"), ("--modes", "0")),
        (("--walks", "0"), ("--walks", "0")),
        (("--simulated-minutes", "inf"), ("--simulated-minutes", "inf")),
        (("--simulated-minutes", "0"), ("--simulated-minutes", "0")),
        (("--drag-ratio", "inf"), ("--drag-ratio", "inf")),
        (("--drag-ratio", "-1"), ("--drag-ratio", "-1")),
        (("--seed", "-1"), ("--seed", "-1")),
        (("--threads", "-1"), ("threads", "-1")),
        (("--threads", "0"), ("threads", "0")),
        (("--threads", "100000"), ("--threads", "100000", "1,024")),
        (("--rate", "1e300"), ("--rate", "1e+300")),
        (("--rate", "1e-300"), ("--rate", "1e-300")),
        (("--lag", "1e308"), ("--lag", "1e+308")),
        (("--fill-gaps", "1e308"), ("--fill-gaps", "1e+308")),
        (("--microstates", "1" + "0" * 400), ("--microstates", "1,000,000")),
        (("--delays", "1" + "0" * 19), ("--delays", "1,000,000")),
        (("--walks", "1000000"), ("n_walks", "500,000")),
        (("--simulated-minutes", "1e9"), ("simulated_minutes", "2,000,000,000")),
        (("--seed", "1" + "0" * 400), ("--seed", "at most")),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) and value[0].startswith("--") else None,
)
def test_bad_option(cli, tmp_path, options, words):
    source = write_csv(tmp_path / "good.csv", postures())
    quick = [QUICK[i : i + 2] for i in range(0, len(QUICK), 2) if QUICK[i] != options[0]]
    if options[0] == "--rate":
        source = put(tmp_path / "good.csv", source.read_text().replace("time", "frame", 1))
    before = listing(tmp_path)
    said = cli("run", source, "--out", tmp_path / "results", *(word for pair in quick for word in pair), *options)
    assert_one_paragraph(*said, words)
    assert [path for path in listing(tmp_path) if path not in before and Path(path).is_file()] == []


def test_a_number_of_many_digits(cli, tmp_path):
    code, out, err = cli("run", tmp_path / "a.csv", "--out", tmp_path / "o", "--microstates", "9" * 5000)
    assert code == 2
    assert "Traceback" not in out + err


@pytest.fixture
def strange_paths(tmp_path) -> dict[str, Path]:
    (tmp_path / "loop").symlink_to("loop")
    return {"loop": tmp_path / "loop", "within a loop": tmp_path / "loop" / "x", "long": tmp_path / ("x" * 300)} | {
        "zero byte": tmp_path / "a\0b"
    }


@pytest.mark.parametrize("kind", ["loop", "within a loop", "long", "zero byte"])
@pytest.mark.parametrize("option", ["files", "--out", "--settings", "--basis"])
def test_paths_that_no_file_can_have(cli, tmp_path, strange_paths, kind, option):
    path = strange_paths[kind]
    source = write_csv(tmp_path / "good.csv", postures())
    before = listing(tmp_path)
    chosen = {"files": source, "--out": tmp_path / "o"} | {option: path}
    said = cli("run", chosen.pop("files"), *(word for pair in chosen.items() for word in pair), *QUICK)
    assert_one_paragraph(*said, ("cannot be the path of a file", str(path).partition("\0")[0][:150]))
    assert listing(tmp_path) == before


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("demo", "--minutes", "1e9"), ("--minutes", "100,000")),
        (("demo", "--worms", "1000000000"), ("--worms", "1,000,000")),
        (("bench", "--quick", "--minutes", "100000"), ("--minutes", "100,000")),
    ],
    ids=" ".join,
)
def test_more_than_can_be_computed(cli, tmp_path, monkeypatch, options, words):
    monkeypatch.chdir(tmp_path)
    assert_one_paragraph(*cli(*options), words)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (MemoryError(), ("not enough memory",)),
        (OSError(errno.EBADF, "Bad file descriptor", "w.nc"), ("Bad file descriptor", "w.nc")),
    ],
    ids=["memory", "disk"],
)
def test_what_the_machine_refuses(cli, tmp_path, monkeypatch, error, words):
    def fail(*args: object, **options: object) -> None:
        raise error

    monkeypatch.setattr("ethomarkov.cli.commands.inspect.read_recordings", fail)
    assert_one_paragraph(*cli("inspect", write_csv(tmp_path / "good.csv", postures())), words)


def test_a_failed_run_leaves_no_empty_directory(cli, tmp_path):
    source = write_csv(tmp_path / "good.csv", postures())
    assert cli("run", source, "--out", tmp_path / "deep" / "results", "--delays", 5000)[0] == 2
    assert [path.name for path in tmp_path.iterdir()] == ["good.csv"]


@pytest.mark.parametrize(
    "options",
    [
        ("--minutes", "nan"),
        ("--minutes", "0"),
        ("--minutes", "-1"),
        ("--worms", "0"),
        ("--worms", "-1"),
        ("--seed", "-1"),
    ],
    ids=" ".join,
)
def test_bad_option_of_demo(cli, tmp_path, options):
    short = () if options[0] == "--minutes" else ("--minutes", "1")
    said = cli("demo", "--out", tmp_path / "d", "--quiet", *short, *options)
    assert_one_paragraph(*said, (options[0].strip("-"),))
    assert list(tmp_path.rglob("*.*")) == []


# --- several files ---------------------------------------------------------------------------------------------------


def test_mixed_rates(cli, tmp_path):
    one = write_csv(tmp_path / "slow.csv", postures(), rate=16.0)
    other = write_csv(tmp_path / "fast.csv", postures(seed=1), rate=20.0)
    before = listing(tmp_path)
    said = cli("run", one, other, "--out", tmp_path / "results")
    assert_one_paragraph(*said, ("slow.csv", "fast.csv", "16 Hz", "20 Hz", "--resample"))
    assert listing(tmp_path) == before


def test_mixed_kinds(cli, tmp_path):
    one = write_csv(tmp_path / "modes.csv", postures())
    other = put(tmp_path / "angles.csv", one.read_text().replace("a1,a2,a3", "theta_0,theta_1,theta_2"))
    said = cli("run", one, other, "--out", tmp_path / "results")
    assert_one_paragraph(*said, ("modes.csv", "angles.csv", "amplitudes", "angles"))


def test_mixed_sizes(cli, tmp_path):
    one = write_csv(tmp_path / "three.csv", postures())
    other = write_csv(tmp_path / "four.csv", postures(n_columns=4))
    said = cli("run", one, other, "--out", tmp_path / "results")
    assert_one_paragraph(*said, ("three.csv", "four.csv", "3", "4"))


@pytest.mark.parametrize("spelling", ["same", "relative", "link"])
def test_the_same_file_twice(cli, tmp_path, monkeypatch, no_pictures, spelling):
    source = write_csv(tmp_path / "good.csv", postures())
    monkeypatch.chdir(tmp_path)
    if spelling == "link":
        (tmp_path / "link.csv").symlink_to(source)
    again = {"same": source, "relative": Path("good.csv"), "link": tmp_path / "link.csv"}[spelling]
    before = listing(tmp_path)
    said = cli("run", source, again, "--out", tmp_path / "results", *QUICK)
    assert_one_paragraph(*said, ("good.csv", "twice"))
    assert listing(tmp_path) == before


# --- the basis -------------------------------------------------------------------------------------------------------


BASES = {
    "missing": (lambda p: p / "nowhere.csv", ("{file}", "no such file")),
    "empty": (lambda p: put(p / "b.csv", b""), ("{file}",)),
    "words": (lambda p: put(p / "b.csv", "hello\n"), ("{file}", "hello", "numbers")),
    "random bytes": (lambda p: put(p / "b.csv", np.random.default_rng(0).bytes(999)), ("{file}",)),
    "too few modes": (lambda p: basis(p / "b.csv", PostureBasis.analytic().vectors[:, :2]), ("{file}", "2", "3")),
    "lying": (lambda p: basis(p / "b.csv", PostureBasis.analytic().vectors.T), ("{file}", "Transpose")),
    "no basis": (
        lambda p: basis(p / "b.csv", np.random.default_rng(0).normal(size=(100, 5))),
        ("{file}", "orthonormal"),
    ),
    "not finite": (lambda p: basis(p / "b.csv", np.full((100, 5), np.nan)), ("{file}", "finite")),
}


def basis(path: Path, matrix: np.ndarray) -> Path:
    np.savetxt(path, matrix, delimiter=",", fmt="%.17g")
    return path


@pytest.mark.parametrize("name", BASES)
def test_bad_basis(cli, tmp_path, name):
    make, words = BASES[name]
    source, file = write_csv(tmp_path / "good.csv", postures()), make(tmp_path)
    before = listing(tmp_path)
    said = cli("run", source, "--basis", file, "--modes", 3, "--out", tmp_path / "results", *QUICK)
    assert_one_paragraph(*said, tuple(word.replace("{file}", str(file)) for word in words))
    assert listing(tmp_path) == before


@pytest.mark.parametrize("kind", ["angle", "position"])
def test_basis_of_the_wrong_size(cli, tmp_path, files, basis_file, kind):
    said = cli("run", files[kind], "--basis", basis_file, "--out", tmp_path / "results", *QUICK)
    assert_one_paragraph(*said, (basis_file.name, "100", "25" if kind == "angle" else "(6, 2)", "--basis"))
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


# --- where results go ------------------------------------------------------------------------------------------------


def test_a_file_in_place_of_the_directory(cli, tmp_path):
    source, taken = write_csv(tmp_path / "good.csv", postures()), put(tmp_path / "taken", "mine")
    for target in (taken, taken / "below"):
        said = cli("run", source, "--out", target, *QUICK)
        assert_one_paragraph(*said, (str(target), "--out"))
    assert_one_paragraph(*cli("demo", "--out", taken), (str(taken), "--out"))
    assert taken.read_text() == "mine"


@pytest.mark.parametrize("command", ["convert", "inspect"])
def test_output_below_a_file(cli, tmp_path, command):
    source, taken = write_csv(tmp_path / "good.csv", postures()), put(tmp_path / "taken", "mine")
    target = taken / ("below.nc" if command == "convert" else "below.png")
    assert_one_paragraph(*cli(command, source, "--out", target), (str(target), "--out"))


def test_output_onto_a_directory(cli, tmp_path):
    source = write_csv(tmp_path / "good.csv", postures())
    (tmp_path / "folder.nc").mkdir()
    before = listing(tmp_path)
    assert_one_paragraph(*cli("convert", source, "--out", tmp_path / "folder.nc"), ("folder.nc", "directory"))
    assert listing(tmp_path) == before


@pytest.mark.skipif(not Path("/proc/self").is_dir(), reason="needs /proc, where nothing can be made")
def test_a_directory_that_cannot_be_made(cli, tmp_path):
    source = write_csv(tmp_path / "good.csv", postures())
    assert_one_paragraph(*cli("run", source, "--out", "/proc/ethomarkov", *QUICK), ("/proc/ethomarkov", "--out"))


@pytest.mark.skipif(hasattr(os, "geteuid") and os.geteuid() == 0, reason="root may write into any directory")
def test_a_directory_without_permission(cli, tmp_path):
    source = write_csv(tmp_path / "good.csv", postures())
    (tmp_path / "locked").mkdir(mode=0o555)
    said = cli("run", source, "--out", tmp_path / "locked", *QUICK)
    assert_one_paragraph(*said, (str(tmp_path / "locked"), "--out"))


def no_space(*args: object, **kwargs: object) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.parametrize("step", ["pathlib.Path.write_bytes", "pathlib.Path.write_text", "pathlib.Path.replace"])
def test_a_disk_that_fills_up_leaves_the_last_study_whole(cli, tmp_path, monkeypatch, no_pictures, step):
    """Nothing of a new study appears where not all of it can."""
    source, target = write_csv(tmp_path / "good.csv", postures()), tmp_path / "results"
    assert cli("run", source, "--out", target, *QUICK)[0] == 0
    before = listing(target)
    monkeypatch.setattr(step, no_space)
    assert_one_paragraph(*cli("run", source, "--out", target, *QUICK, "--seed", 5), (str(target), "No space left"))
    assert listing(target) == before


LIMITED = """
import resource, sys
resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))
from ethomarkov.cli.app import main
main()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="needs a limit on the size of files")
@pytest.mark.parametrize("ending", ["nc", "npz", "csv", "png"])
def test_a_disk_that_is_truly_full(tmp_path, files, ending):
    """The operating system refuses to write on; HDF5 must not take the process down with it."""
    import matplotlib.font_manager  # noqa: F401 (on a new machine it writes a list of fonts, which the child could not)

    target = tmp_path / f"copy.{ending}"
    command = "inspect" if ending == "png" else "convert"
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, command, str(files["nc"]), "--out", str(target)],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        env={**os.environ, "COLUMNS": "1000", "JOBLIB_MULTIPROCESSING": "0"},
    )
    assert done.returncode == 2, done.stderr[-500:]
    told = done.stderr[done.stderr.index("error:") :]  # behind lines of progress, on a slow machine
    assert_one_paragraph(done.returncode, "", told, (str(target), "large"))
    assert list(tmp_path.iterdir()) == []


# --- studies that are none -------------------------------------------------------------------------------------------


def test_summary_of_a_directory_without_a_study(cli, tmp_path):
    assert_one_paragraph(*cli("summary", tmp_path), (str(tmp_path), "no study", "ethomarkov run"))
    assert_one_paragraph(*cli("summary", tmp_path / "nowhere"), ("nowhere", "no study", "ethomarkov run"))


def test_summary_of_a_truncated_study(cli, tmp_path, study):
    truncated(study.directory / "study.nc", tmp_path / "study.nc")
    assert_one_paragraph(*cli("summary", tmp_path), (str(tmp_path / "study.nc"), "truncated"))


def test_summary_of_an_empty_study(cli, tmp_path):
    put(tmp_path / "study.nc", b"")
    assert_one_paragraph(*cli("summary", tmp_path), (str(tmp_path / "study.nc"),))


def test_summary_of_a_study_with_a_damaged_part(cli, tmp_path, study):
    """Bytes can be lost in the middle of a file that still opens."""
    content = bytearray((study.directory / "study.nc").read_bytes())
    with h5py.File(study.directory / "study.nc") as file:
        for at in (
            file["postures/postures/values"].id.get_chunk_info(0),
            file["path/path/centroid"].id.get_chunk_info(0),
        ):
            content[at.byte_offset : at.byte_offset + 64] = bytes(64)
    put(tmp_path / "study.nc", bytes(content))
    assert_one_paragraph(*cli("summary", tmp_path), (str(tmp_path / "study.nc"),))


def test_summary_of_a_study_that_lacks_a_part(cli, tmp_path, study):
    put(tmp_path / "study.nc", (study.directory / "study.nc").read_bytes()[: -SEAL.size])
    with h5py.File(tmp_path / "study.nc", "a") as file:
        del file["chain"]
    content = (tmp_path / "study.nc").read_bytes()
    put(tmp_path / "study.nc", content + seal(content))
    assert_one_paragraph(*cli("summary", tmp_path), (str(tmp_path / "study.nc"), "chain"))


ON_STUDIES = ("summary", "report", "figures", "states", "explore", "map", "validate", "forage", "simulate", "path")
ON_STUDIES += ("choose", "movie")


@pytest.mark.parametrize("command", ON_STUDIES)
def test_a_flipped_bit_of_a_study_is_refused(cli, tmp_path, study, command):
    content = bytearray((study.directory / "study.nc").read_bytes())
    content[len(content) // 2] ^= 4
    file = put(tmp_path / "study.nc", bytes(content))
    assert_one_paragraph(*cli(command, tmp_path), (str(file), "is damaged", "`ethomarkov run`"))
    assert [path.name for path in tmp_path.iterdir()] == ["study.nc"]


def test_a_flipped_bit_of_the_model_is_refused(cli, tmp_path, study, files):
    content = bytearray((study.directory / "study.nc").read_bytes())
    content[len(content) // 2] ^= 4
    file = put(tmp_path / "study.nc", bytes(content))
    said = cli("apply", tmp_path, files["nc"], "--out", tmp_path / "out")
    assert_one_paragraph(*said, (str(file), "is damaged"))
    assert [path.name for path in tmp_path.iterdir()] == ["study.nc"]


def test_a_run_mends_a_damaged_study_and_says_so(cli, tmp_path, study, files, basis_file, no_pictures):
    shutil.copytree(study.directory, tmp_path / "study")
    file = tmp_path / "study" / "study.nc"
    whole = file.read_bytes()
    put(file, whole[: len(whole) // 2])
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        code, _, err = cli("run", files["nc"], "--basis", basis_file, "--out", tmp_path / "study", *QUICK)
    assert code == 0
    assert err == f"note: {file}: is damaged or of an older version; what it held is computed again.\n"
    assert file.read_bytes() == whole


def test_summary_of_a_recording(cli, tmp_path):
    file = netcdf(tmp_path / "recording.nc")
    assert_one_paragraph(*cli("summary", file), (str(file), "not a study", "ethomarkov run"))


def test_summary_of_some_other_netcdf(cli, tmp_path):
    file = not_a_recording(tmp_path / "study.nc")
    assert_one_paragraph(*cli("summary", tmp_path), (str(file), "not a study"))


def test_summary_of_a_recording_table(cli, tmp_path):
    file = write_csv(tmp_path / "good.csv", postures())
    assert_one_paragraph(*cli("summary", file), (str(file), "not"))


# --- code in files ---------------------------------------------------------------------------------------------------


class Trap:
    """Unpickling it makes a file."""

    def __init__(self, path: Path) -> None:
        self.path = str(path)

    def __reduce__(self) -> tuple[object, tuple[str, str]]:
        return open, (self.path, "w")


@pytest.mark.parametrize("kind", ["npz", "npy", "pickle named npz", "pickle named npy"])
@pytest.mark.parametrize("command", ["run", "inspect"])
def test_no_pickle_is_ever_loaded(cli, tmp_path, kind, command):
    trap = tmp_path / "sprung"
    file = tmp_path / f"w.{kind[-3:]}"
    if kind == "npz":
        np.savez(file, amplitudes=np.array([Trap(trap)], dtype=object), sampling_rate=16.0)
    elif kind == "npy":
        np.save(file, np.array([Trap(trap)], dtype=object))
    else:
        put(file, pickle.dumps(Trap(trap)))
    assert not trap.exists()
    said = cli(command, file, "--out", tmp_path / ("results" if command == "run" else "drawn.png"))
    assert_one_paragraph(*said, (str(file),))
    assert [path.name for path in tmp_path.iterdir()] == [file.name]


def test_the_trap_would_spring(tmp_path):
    pickle.loads(pickle.dumps(Trap(tmp_path / "sprung"))).close()
    assert (tmp_path / "sprung").exists()
