"""Whether an installation is well, and what is said when it is not."""

import importlib.metadata
import json

import pytest

from ethomarkov.cli import checks
from ethomarkov.cli.checks import Check, check_installation


def found(what: str) -> Check:
    return next(one for one in check_installation() if one.what == what)


def test_this_installation_is_well(cli):
    """What tests themselves need is there; extras and chromium may be missing."""
    code, out, err = cli("doctor")
    assert (code, err) == (0, "")
    for word in ("numpy", "cores", "linear algebra", "memory", "cache of kernels", "this directory", "ffmpeg"):
        assert word in out
    assert out.endswith("No problems.\nNext: ethomarkov demo\n")


def test_as_json(cli):
    code, out, _ = cli("doctor", "--json")
    assert code == 0
    rows = json.loads(out)
    assert {row["state"] for row in rows} <= {"ok", "note"}
    assert all(row["remedy"] or row["state"] != "problem" for row in rows)
    assert {row["what"]: row["found"] for row in rows}["numpy"] == importlib.metadata.version("numpy")


def test_a_problem_gives_a_code_and_a_remedy(cli, monkeypatch):
    broken = Check(what="ffmpeg", state="problem", found="does not run", remedy="Install [it] again.")
    monkeypatch.setattr(checks, "CHECKS", (lambda: iter([broken]),))
    code, out, _ = cli("doctor")
    assert code == 1
    assert "Install [it] again." in out
    assert "1 problem: ffmpeg." in out
    assert "Next:" not in out
    assert cli("doctor", "--json")[0] == 1


def test_a_package_that_is_missing(monkeypatch):
    real = importlib.metadata.version

    def version(name: str) -> str:
        if name in ("numba", "pynapple"):
            raise importlib.metadata.PackageNotFoundError(name)
        return "1.0" if name == "scipy" else real(name)

    monkeypatch.setattr(importlib.metadata, "version", version)
    assert found("numba").state == "problem"
    assert "pip install" in found("numba").remedy
    assert found("scipy").state == "problem"  # older than the package asks for
    assert found("pynapple").state == "note"
    assert "ethomarkov[pynapple]" in found("pynapple").remedy


def test_directories_that_cannot_be_written(monkeypatch, tmp_path):
    refused = tmp_path / "cache"
    monkeypatch.setattr(checks, "_is_writable", lambda place: place != refused)
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(refused))
    assert found("cache of kernels").state == "problem"
    assert "NUMBA_CACHE_DIR" in found("cache of kernels").remedy
    refused.mkdir()
    monkeypatch.chdir(refused)
    assert found("this directory").state == "problem"
    assert found("temporary directory").state != "problem"


@pytest.mark.parametrize(("free", "state"), [(0.5, "note"), (16.0, "ok"), (None, "note")])
def test_little_memory_is_noted(monkeypatch, free, state):
    monkeypatch.setattr(checks, "_memory_gb", lambda: (None if free is None else 32.0, free))
    assert found("memory").state == state


def test_threads_that_the_environment_limits(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    assert "OMP_NUM_THREADS=1" in found("threads").found


def test_a_program_that_does_not_run(monkeypatch):
    def refuse(*_: object, **__: object) -> None:
        raise OSError("exec format error")

    monkeypatch.setattr(checks.subprocess, "run", refuse)
    assert found("ffmpeg").state == "problem"
    assert "imageio-ffmpeg" in found("ffmpeg").remedy
