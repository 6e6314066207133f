"""Files made by hand to harm: nothing in them runs, leads out, hangs or swells; each is refused in one paragraph."""

import hashlib
import io
import json
import os
import pickle
import struct
import subprocess
import sys
import zipfile
from pathlib import Path

import h5py
import numpy as np
import pytest

from fuzz.harness import READ, REFUSED, Case, watching
from fuzz.mutations import MARKER, URL, payload
from fuzz.samples import (
    BY_NAME,
    KEY,
    N_FRAMES,
    Sample,
    content_of,
    deeplabcut_fixed,
    deeplabcut_table,
    npy_bytes,
    read_basis,
    read_log,
    read_toml,
    wcon_text,
)

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="what a process uses is read from /proc")
SECRET = "secret.h5"
PROTOCOLS = (0, 1, 2, 3, 4, 5)


@pytest.fixture(scope="module")
def watch():
    with watching() as one:
        with h5py.File(one.folder / "files" / SECRET, "w") as file:
            file["x"] = np.arange(N_FRAMES * 4.0).reshape(N_FRAMES, 4)
        yield one


def refused(watch, content: bytes, file: str, **more) -> str:
    """Read a file that must be refused and do nothing else, and give the message."""
    sample = Sample(name="hostile", file=file, make=lambda path: None, **({"options": {"sampling_rate": 25.0}} | more))
    outcome = watch.read(Case(sample=sample, content=content))
    assert (outcome.kind, outcome.wrong) == (REFUSED, ()), outcome.message
    return outcome.message


def harmless(watch, content: bytes, file: str, **more) -> str:
    """Read a file that may be read, if nothing else happens."""
    sample = Sample(name="hostile", file=file, make=lambda path: None, **({"options": {"sampling_rate": 25.0}} | more))
    outcome = watch.read(Case(sample=sample, content=content))
    assert (outcome.kind in (READ, REFUSED), outcome.wrong) == (True, ()), outcome.message
    return outcome.kind


def hdf5_bytes(tmp_path: Path, make, start: bytes = b"") -> bytes:
    path = tmp_path / "made.h5"
    path.write_bytes(start)
    with h5py.File(path, "r+" if start else "w") as file:
        make(file)
    return path.read_bytes()


def zipped(**members: bytes) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, body in members.items():
            archive.writestr(name, body)
    return stream.getvalue()


# --- pickles ---------------------------------------------------------------------------------------------------------


def test_the_payload_would_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for protocol in PROTOCOLS:
        pickle.loads(payload(protocol))
        (tmp_path / MARKER).rmdir()


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_pickles_in_arrays_of_numpy(watch, protocol):
    objects = npy_bytes({"descr": "|O", "fortran_order": False, "shape": (1,)}, payload(protocol))
    for name in ("amplitudes.npy", "time.npy", "individual.npy"):
        members = {"amplitudes.npy": _array(np.ones((9, 2))), name: objects}
        refused(watch, zipped(**members), "a.npz")
    refused(watch, payload(protocol), "a.npz")
    refused(watch, objects, "a.npy")


def _array(values: np.ndarray) -> bytes:
    stream = io.BytesIO()
    np.save(stream, values)
    return stream.getvalue()


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize(("layout", "make"), [("fixed", deeplabcut_fixed), ("table", deeplabcut_table)])
def test_pickles_in_every_attribute_of_pandas(watch, tmp_path, layout, make, protocol):
    path = tmp_path / "whole.h5"
    make(path)
    whole = path.read_bytes()
    with h5py.File(path) as file:
        places = [("/", key) for key in file.attrs]
        file.visititems(lambda name, item: places.extend((name, key) for key in item.attrs))
    chosen = places[protocol :: len(PROTOCOLS)]  # every place with one protocol, every protocol in many places
    assert len(chosen) > 3
    for name, key in chosen:

        def change(file, name=name, key=key):
            file[name].attrs[key] = np.bytes_(payload(protocol))

        harmless(watch, hdf5_bytes(tmp_path, change, whole), "aDLC.h5")


@pytest.mark.parametrize("version", [b"1.0", b"2.1"])
@pytest.mark.parametrize("pseudoatom", [None, b"object", b"vlstring"])
@pytest.mark.parametrize("place", ["axis1", "axis0_level1", "block0_values", "block0_items_level1"])
def test_lists_of_pickles_of_tables(watch, tmp_path, version, pseudoatom, place):
    deeplabcut_fixed(tmp_path / "whole.h5")

    def change(file):
        file.attrs["PYTABLES_FORMAT_VERSION"] = np.bytes_(version)
        group = file["df_with_missing"]
        del group[place]
        made = group.create_dataset(place, (1,), dtype=h5py.vlen_dtype("u1"), maxshape=(None,), chunks=(1,))
        made[0] = np.frombuffer(payload(2), dtype="u1")
        made.attrs["CLASS"], made.attrs["FLAVOR"] = np.bytes_(b"VLARRAY"), np.bytes_(b"Object")
        made.attrs["kind"], made.attrs["VERSION"] = np.bytes_(b"object"), np.bytes_(b"1.0")
        if pseudoatom:
            made.attrs["PSEUDOATOM"] = np.bytes_(pseudoatom)

    refused(watch, hdf5_bytes(tmp_path, change, (tmp_path / "whole.h5").read_bytes()), "aDLC.h5")


class _Dotted:
    """A name with dots, which protocol 4 allows, leads from a module of ours to any that it imports."""

    def __init__(self, module: str, name: str, *arguments: object) -> None:
        self.module, self.name, self.arguments = module, name, arguments

    def dump(self) -> bytes:
        words = b"".join(b"\x8c" + bytes([len(word)]) + word.encode() for word in (self.module, self.name))
        return b"\x80\x04" + words + b"\x93" + pickle.dumps(self.arguments, 4)[11:-1] + b"R."


def task_log(*bodies: bytes) -> bytes:
    """Give a log of tasks whose records are whole."""
    records = (KEY.encode(), *bodies)
    assert content_of("task-log").startswith(_record(records[0]))
    return b"".join(map(_record, records))


def _record(body: bytes) -> bytes:
    return struct.pack("<Q", len(body)) + hashlib.blake2b(body, digest_size=16).digest() + body


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_pickles_in_logs_of_tasks(watch, protocol):
    inside = payload(protocol)
    for body in (inside, pickle.dumps((0, 0, 1), protocol), b"\0" * 8, b""):
        assert harmless(watch, task_log(body), "a.tasks", load=read_log, writes=True, here=True) == READ


@pytest.mark.parametrize("module", ["ethomarkov.study.cluster", "ethomarkov.io.task_log", "ethomarkov.io.child"])
def test_dotted_names_in_logs_of_tasks(watch, module):
    for name in ("os.mkdir", "subprocess.os.mkdir", "Path.mkdir", "contextlib.os.mkdir"):
        body = _Dotted(module, name, MARKER).dump()
        assert harmless(watch, task_log(body), "a.tasks", load=read_log, writes=True, here=True) == READ


# --- MATLAB ----------------------------------------------------------------------------------------------------------


def mat_bytes(**arrays: object) -> bytes:
    from scipy.io import savemat

    stream = io.BytesIO()
    savemat(stream, arrays)
    return stream.getvalue()


# Where that byte is the type of numbers most values end the process that reads, which takes a second to start again.
@pytest.mark.parametrize(
    ("name", "values"), [("stephens-v5", (0, 8, 10, 19, 255)), ("shapes-v5", range(256)), ("basis-v5", range(256))]
)
def test_any_value_of_the_byte_at_which_scipy_crashes(watch, name, values):
    whole = content_of(name)
    sample = BY_NAME[name]
    for value in values:
        changed = whole[:224] + bytes([value]) + whole[225:]
        harmless(watch, changed, sample.file, options=sample.options, load=sample.load)


def element(kind: int, body: bytes) -> bytes:
    return struct.pack("<II", kind, len(body)) + body.ljust(-(-len(body) // 8) * 8, b"\0")


def mat_matrix(name: bytes, flags: int, *rest: bytes, shape: tuple[int, ...] = (1, 1)) -> bytes:
    """Give a MATLAB file with one array of a class of one's own."""
    parts = [
        element(6, struct.pack("<II", flags, 0)),
        element(5, struct.pack(f"<{len(shape)}i", *shape)),
        element(1, name),
        *rest,
    ]
    head = b"MATLAB 5.0 MAT-file".ljust(124) + b"\x00\x01IM"
    return head + element(14, b"".join(parts))


@pytest.mark.parametrize(
    "content",
    [
        mat_matrix(b"tr", 16, element(14, b"")),  # a function handle
        mat_matrix(b"tr", 17, element(1, b"java"), element(1, b"java.lang.Runtime"), element(14, b"")),  # opaque
        mat_matrix(b"tr", 17, element(1, b"MCOS"), element(1, b"string"), element(14, b"")),
        mat_matrix(b"tr", 3, element(1, b"evil")),  # an object
        mat_matrix(b"tr", 1, shape=(2**30, 2**30)),  # cells that are not there
        mat_matrix(b"tr", 6, element(9, b"\0" * 64), shape=(2**31 - 1, 2**31 - 1)),
        mat_matrix(b"theta_ensemble", 6, element(9, b"\0" * 64), shape=(-1, 5, 5)),
        mat_matrix(b"tr", 5, element(5, b"\xff" * 8), element(5, b"\xff" * 8), element(9, b"\0" * 8), shape=(9, 9)),
        mat_matrix(b"tr", 1, *[mat_matrix(b"", 1)[128:]] * 3, shape=(3, 1)),
    ],
    ids=["function", "java", "string", "object", "cells", "numbers", "negative", "sparse", "nested"],
)
def test_matlab_classes_and_sizes(watch, content):
    refused(watch, content, "a.mat")
    refused(watch, content, "EigenWorms.mat", load=read_basis)


def test_cells_in_cells(watch):
    inner = element(6, struct.pack("<II", 6, 0)) + element(5, struct.pack("<ii", 1, 1)) + element(1, b"")
    inner = element(14, inner + element(9, struct.pack("<d", 1.0)))
    for _ in range(2000):
        head = element(6, struct.pack("<II", 1, 0)) + element(5, struct.pack("<ii", 1, 1)) + element(1, b"")
        inner = element(14, head + inner)
    refused(watch, mat_matrix(b"tr", 1, inner), "a.mat")


# --- what leads out of a file ----------------------------------------------------------------------------------------


def external_link(file, name):
    file[name] = h5py.ExternalLink(SECRET, "/x")


def soft_through_external(file, name):
    file["hidden/door"] = h5py.ExternalLink(SECRET, "/")
    file[name] = h5py.SoftLink("/hidden/door/x")


def storage_elsewhere(file, name):
    file.create_dataset(name, (N_FRAMES, 4), "f8", external=[(SECRET, 0, h5py.h5f.UNLIMITED)])


def device_as_storage(file, name):
    file.create_dataset(name, (N_FRAMES, 4), "f8", external=[("/dev/zero", 0, h5py.h5f.UNLIMITED)])


def virtual(file, name):
    layout = h5py.VirtualLayout((N_FRAMES, 4), "f8")
    layout[...] = h5py.VirtualSource(SECRET, "x", (N_FRAMES, 4))
    file.create_virtual_dataset(name, layout)


MAIN_DATASET = {
    "native": "amplitude",
    "hdf5": "angles",
    "tierpsy-featuresN": "coordinates/skeletons",
    "tierpsy-skeletons": "skeleton",
    "wormpose-results": "resolved/theta",
    "wormpose-features": "skeletons",
    "stephens-v7.3": "#refs#/z",
    "shapes-v7.3": "theta_ensemble",
    "basis-v7.3": "EigenWorms",
    "deeplabcut-fixed": "df_with_missing/block0_values",
    "deeplabcut-table": "df_with_missing/table",
    "sleap-labels": "pred_points",
    "sleap-analysis": "tracks",
    "movement-netcdf4": "position",
    "nwb": "processing/behavior/Pose/nose/data",
    "jabs-v2": "poseest/points",
    "leap-hdf5": "positions_pred",
}


@pytest.mark.parametrize(
    "lead_out", [external_link, soft_through_external, storage_elsewhere, device_as_storage, virtual]
)
@pytest.mark.parametrize("name", MAIN_DATASET)
def test_no_reader_follows_what_leads_out(watch, tmp_path, name, lead_out):
    def change(file):
        del file[MAIN_DATASET[name]]
        lead_out(file, MAIN_DATASET[name])

    def beside(file):
        lead_out(file, "somewhere/deep")

    sample = BY_NAME[name]
    for how in (change, beside):
        content = hdf5_bytes(tmp_path, how, content_of(name))
        message = refused(watch, content, sample.file, options=sample.options, load=sample.load)
        assert "other file" in message or "another file" in message


@pytest.mark.parametrize("shape", [(10**12, 4), (10**8, 4), (2**62, 4)])
@pytest.mark.parametrize("name", MAIN_DATASET)
def test_no_reader_believes_declared_sizes(watch, tmp_path, name, shape):
    def change(file):
        old = file[MAIN_DATASET[name]]
        dtype, attrs, extent = old.dtype, dict(old.attrs), (*shape[:1], *old.shape[1:])
        del file[MAIN_DATASET[name]]
        chunks = tuple(min(n, 64) for n in extent)
        made = file.create_dataset(MAIN_DATASET[name], extent, dtype, chunks=chunks, compression="gzip")
        made.attrs.update(attrs)
        if name == "stephens-v7.3":
            file["tr"][0, 0] = made.ref

    sample = BY_NAME[name]
    content = hdf5_bytes(tmp_path, change, content_of(name))
    assert len(content) < 300_000
    refused(watch, content, sample.file, options=sample.options, load=sample.load)


@pytest.mark.parametrize("count", [1, 200])
def test_attributes_as_large_as_hdf5_allows(watch, tmp_path, count):
    def change(file):
        for i in range(count):
            file.attrs[f"a{i}"] = "x" * 60_000

    assert harmless(watch, hdf5_bytes(tmp_path, change, content_of("hdf5")), "a.h5", options={}) == READ


def test_groups_within_groups(watch, tmp_path):
    def change(file):
        group = file
        for i in range(500):
            group = group.create_group(str(i % 10))

    harmless(watch, hdf5_bytes(tmp_path, change, content_of("hdf5")), "a.h5", options={})


@pytest.mark.parametrize(
    "address", [URL, "file:///etc/hostname", "/dev/zero", "../../film.mp4", "\\\\host\\share\\a.mp4"]
)
def test_films_of_sleap_are_not_opened(watch, tmp_path, address):
    video = {"filename": address, "backend": {"type": "MediaVideo", "filename": address, "shape": [1, 1, 1, 1]}}

    def change(file):
        file["videos_json"][0] = json.dumps(video)

    content = hdf5_bytes(tmp_path, change, content_of("sleap-labels"))
    assert harmless(watch, content, "a.slp") == READ


# --- what is no file -------------------------------------------------------------------------------------------------


def special(watch, path: Path) -> str:
    sample = Sample(name="special", file=path.name, make=lambda path: None, options={"sampling_rate": 25.0})
    outcome = watch.read_path(path, Case(sample=sample, content=b""))
    assert (outcome.kind, outcome.wrong) == (REFUSED, ()), outcome.message
    return outcome.message


@pytest.fixture
def place(watch):
    path = watch.folder / "files" / "special.csv"
    yield path
    path.unlink(missing_ok=True)


def test_pipes_are_refused_at_once(watch, place):
    os.mkfifo(place)
    special(watch, place)


@pytest.mark.parametrize("device", ["/dev/zero", "/dev/null", "/dev/tty", "/dev/random"])
def test_devices_are_refused_at_once(watch, place, device):
    if not Path(device).exists():
        pytest.skip(f"{device} is not there")
    special(watch, Path(device))
    place.symlink_to(device)
    special(watch, place)


def test_links_to_themselves(watch, place):
    place.symlink_to(place)
    special(watch, place)


def test_sockets_folders_and_nothing(watch, place):
    import socket

    with socket.socket(socket.AF_UNIX) as one:
        one.bind(str(place))
        special(watch, place)
    place.unlink()
    special(watch, watch.folder)
    special(watch, place)
    place.write_bytes(b"")
    special(watch, place)


def test_names_that_no_file_can_have(watch):
    special(watch, watch.folder / ("x" * 300 + ".csv"))
    special(watch, Path("/proc/self/mem"))


# --- archives --------------------------------------------------------------------------------------------------------


def test_names_that_climb_out_of_an_archive(watch):
    for name in ("../../up.npy", "/abs.npy", "..\\up.npy", "a/../../b.npy"):
        refused(watch, zipped(**{name: _array(np.ones((9, 2)))}), "a.npz")
    for name in ("../../up.wcon", "/abs.wcon", "a/../../b.wcon"):
        harmless(watch, zipped(**{name: wcon_text().encode()}), "a.wcon.zip", options={})


@pytest.mark.parametrize("n_bytes", [50, 300, 2000])
def test_archives_that_swell(watch, n_bytes):
    """Much that packs into little; what is read stays within the limits."""
    header = {"descr": "<f8", "fortran_order": False, "shape": (n_bytes * 2**20 // 8 // 4, 4)}
    harmless(watch, swelling("amplitudes.npy", npy_bytes(header), b"\0", n_bytes), "a.npz")


@pytest.mark.parametrize("start", [b"", wcon_text().encode(), b'{"a":'], ids=["nothing", "wcon", "object"])
@pytest.mark.parametrize("repeated", [b"[", b" ", b"1"])
def test_text_that_swells(watch, start, repeated):
    refused(watch, swelling("a.wcon", start, repeated, 500), "a.wcon.zip")


def swelling(name: str, start: bytes, repeated: bytes, n_megabytes: int) -> bytes:
    """Give an archive below 10 MB with a member of many megabytes."""
    stream = io.BytesIO()
    with (
        zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive,
        archive.open(name, "w", force_zip64=True) as member,
    ):
        member.write(start)
        for _ in range(n_megabytes):
            member.write(repeated * 2**20)
    assert len(stream.getvalue()) < 10 * 2**20
    return stream.getvalue()


def test_archives_in_archives_and_overlapping_ones(watch):
    inner = zipped(**{"a.wcon": wcon_text().encode()})
    refused(watch, zipped(**{"a.wcon.zip": inner}), "a.wcon.zip")
    refused(watch, zipped(**{f"{i}.npy": b"" for i in range(20_000)}), "a.npz")


@pytest.mark.parametrize(
    "shape", [(2**40, 4), (-1, 4), (2**31, 2**31), (0, 4), (10**9,), tuple([1] * 40), (2.5, 1), "x", (True, 4)]
)
def test_arrays_that_declare_more_than_they_hold(watch, shape):
    header = {"descr": "<f8", "fortran_order": False, "shape": shape}
    refused(watch, zipped(**{"amplitudes.npy": npy_bytes(header, b"\0" * 320)}), "a.npz")


@pytest.mark.parametrize(
    "descr", ["<f8" * 100, "O", [("a", "O")], "V1000000000", "U1000000000", ("f8", (10**9,)), "m8"]
)
def test_kinds_of_numbers_that_are_none(watch, descr):
    header = {"descr": descr, "fortran_order": False, "shape": (9, 4)}
    refused(watch, zipped(**{"amplitudes.npy": npy_bytes(header, b"\0" * 320)}), "a.npz")


def test_headers_of_numpy_that_are_code(watch):
    for code in (f"__import__('os').mkdir('{MARKER}')", "[" * 5000, "9" * 60_000, "{'a':" * 3000, "()" * 9):
        body = (code + "\n").encode()
        header = b"\x93NUMPY\x02\x00" + struct.pack("<I", len(body)) + body
        refused(watch, zipped(**{"amplitudes.npy": header}), "a.npz")


# --- text ------------------------------------------------------------------------------------------------------------


def test_one_wrong_time_makes_no_millions_of_rows(watch):
    rows = [f"{i / 16},0.5,{i % 7}" for i in range(40)]
    for wrong in ("5625000", "1e300", "-1e300", "nan", "inf", "9e15"):
        refused(watch, "\n".join(["time,a1,a2", *rows, f"{wrong},1,2"]).encode(), "a.csv", options={})
    refused(
        watch, "\n".join(["frame,a1,a2", *(f"{i},0.5,{i % 7}" for i in range(40)), "90000000,1,2"]).encode(), "a.csv"
    )


@pytest.mark.parametrize(
    "cell", ["1_5", "0x10", "1e", "--1", "1,5", "=1+1", "@SUM(A1)", "\x001", "٣", "1 5", "True", "1j"]
)
def test_cells_that_are_no_numbers(watch, cell):
    rows = [f"{i / 16},0.5,{i % 7}" for i in range(40)]
    refused(watch, "\n".join(["time,a1,a2", *rows, f'{40 / 16},"{cell}",2']).encode(), "a.csv", options={})


@pytest.mark.parametrize("name", ["wcon", "wcon-zip"])
def test_json_that_is_deep_or_long(watch, name):
    sample = BY_NAME[name]
    for body in ("[" * 10**6, '{"data":' * 10**5, '{"units":{},"data":' + "9" * 10**6 + "}", '{"units": 1e999999}'):
        content = zipped(**{"a.wcon": body.encode()}) if "zip" in name else body.encode()
        refused(watch, content, sample.file)


@pytest.mark.parametrize(
    "text",
    [
        "a = " + "[" * 10**5,
        "a." * 10**5 + "a = 1",
        "seed = " + "9" * 5000,
        "a = {" * 10**4,
        "\0",
        "\ufeff" * 9,
        "[[" * 999,
    ],
    ids=["arrays", "dots", "digits", "tables", "null", "marks", "brackets"],
)
def test_settings_that_are_deep_or_long(watch, text):
    harmless(watch, text.encode(), "settings.toml", load=read_toml, here=True)


def test_rows_and_cells_without_end(watch):
    refused(watch, b"time,a1\n" + b'"' + b"1" * 9_000_000, "a.csv", options={})
    refused(watch, b"a1," * 2_000_000, "a.csv")
    refused(watch, b"\n" * 9_000_000, "a.csv")
    refused(watch, ("scorer" + ",DLC" * 10**6).encode(), "a.csv")


def test_an_entity_of_text_is_no_file(watch):
    for content in (
        b"<!DOCTYPE x [<!ENTITY a SYSTEM 'file:///etc/hostname'>]><x>&a;</x>",
        b"#!/bin/sh\nmkdir touched\n",
    ):
        for file in ("a.csv", "a.wcon", "a.nc", "a.h5", "a.mat", "a.npz", "a.slp", "a.nwb"):
            refused(watch, content, file)


# --- by command ------------------------------------------------------------------------------------------------------


def test_the_long_run_is_a_command():
    done = subprocess.run(
        [
            sys.executable,
            Path(__file__).with_name("run.py"),
            "--files",
            "4",
            "--format",
            "csv-angles",
            "--format",
            "wcon",
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "csv-angles" in done.stdout
