"""What a newcomer sees before anything runs."""

import subprocess
import sys

import pytest

from ethomarkov import __version__
from ethomarkov.cli.app import COMMANDS, GROUPS

HEAVY = ("numpy", "scipy", "sklearn", "xarray", "matplotlib", "numba", "pydantic", "h5py")


def test_help_lists_every_command_in_the_order_of_work(cli):
    code, out, err = cli("--help")
    assert code == 0
    assert err == ""
    words = [line.strip("│ ").split(" ")[0] for line in out.splitlines() if line.startswith("│")]
    assert [word for word in words if word in COMMANDS] == list(COMMANDS)
    headings = [line.strip("╭─╮ ") for line in out.splitlines() if line.startswith("╭")]
    assert headings[:-1] == list(GROUPS)


def test_no_arguments_show_the_help(cli):
    code, out, _ = cli()
    assert code == 0
    assert "Usage" in out


def test_version(cli):
    code, out, _ = cli("--version")
    assert code == 0
    assert out.strip() == __version__


@pytest.mark.parametrize("command", list(COMMANDS))
def test_help_of_a_command(cli, command):
    code, out, err = cli(command, "--help")
    assert code == 0
    assert err == ""
    assert "Usage" in out


def test_help_of_run_explains_the_options_of_the_issue(cli):
    _, out, _ = cli("run", "--help")
    for option in ("--out", "--basis", "--quiet", "--seed", "--threads", "--rate", "--fill-gaps", "--resample"):
        assert option in out


def loaded_by(*commands: tuple[str, ...]) -> list[str]:
    """Run commands in a new process, and list the heavy packages that it has imported."""
    script = (
        "import sys\n"
        "from ethomarkov.cli.app import main\n"
        f"for words in {commands!r}:\n"
        "    sys.argv = ['ethomarkov', *words]\n"
        "    try:\n"
        "        main()\n"
        "    except SystemExit as stop:\n"
        "        assert not stop.code, stop.code\n"
        f"print('LOADED', *(name for name in {HEAVY!r} if name in sys.modules))\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=300)
    return done.stdout.splitlines()[-1].split()[1:]


def test_help_needs_no_scientific_package():
    assert loaded_by(("--help",)) == []


def test_help_of_commands_needs_none_either():
    """Only settings are read, for the options that come from them."""
    assert loaded_by(*((command, "--help") for command in COMMANDS)) == ["pydantic"]


def test_answers_that_need_no_scientific_package(finished_study):
    summary = ("summary", str(finished_study.directory))
    assert loaded_by(summary, (*summary, "--json"), ("data", "explain")) == []


def test_a_reader_that_goes_away_is_no_error(finished_study):
    """As behind ``| head -1``; what is printed must be more than a pipe holds."""
    arguments = ["summary", str(finished_study.directory), "--json"]
    script = f"import sys; sys.argv = ['ethomarkov', *{arguments!r}]; from ethomarkov.cli.app import main; main()"
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen([sys.executable, "-c", script], **pipes) as process:
        process.stdout.close()
        assert process.stderr.read() == ""
        assert process.wait(timeout=60) == 141


def test_modules_beside_the_data_are_not_imported(tmp_path):
    """joblib starts this helper process of Python when it is imported, in the directory of the user."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "multiprocessing.py").write_text("from pathlib import Path\nPath('ran').touch()\n")
    program = tmp_path / "bin" / "program.py"
    program.write_text(
        "import contextlib, sys\n"
        "from ethomarkov.cli.app import main\n"
        "sys.argv = ['ethomarkov', '--version']\n"
        "with contextlib.suppress(SystemExit):\n"
        "    main()\n"
        "from multiprocessing import resource_tracker\n"
        "resource_tracker.ensure_running()\n"
        "resource_tracker._resource_tracker._stop()\n"  # waits for it
    )
    subprocess.run([sys.executable, str(program)], cwd=tmp_path / "data", check=True, timeout=300)
    assert not (tmp_path / "data" / "ran").exists()


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("frobnicate",), "frobnicate"),
        (("run", "a.csv", "--out", "x", "--frobnicate", "3"), "--frobnicate"),
        (("run", "a.csv"), "--out"),
        (("convert", "a.csv"), "--out"),
        (("run", "--out", "x"), "files"),
        (("inspect",), "files"),
        (("summary",), "study"),
        (("run", "a.csv", "--out", "x", "--microstates", "many"), "states"),
        (("run", "a.csv", "--out", "x", "--rate", "abc"), "rate"),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_mistakes_of_use_are_named(cli, arguments, named, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, out, err = cli(*arguments)
    assert code == 2
    assert named.lower() in err.lower()
    assert "Traceback" not in out + err
    assert list(tmp_path.iterdir()) == []


def test_an_interrupt_ends_quietly(cli, tmp_path, monkeypatch, files):
    def interrupt(*args: object, **kwargs: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("ethomarkov.study.study.run_study", interrupt)
    code, out, err = cli("run", files["nc"], "--out", tmp_path)
    assert code == 130
    assert f"type it again: ethomarkov run {files['nc']} --out {tmp_path}" in err
    assert err.count("\n") == 1
    assert "Traceback" not in out + err
    assert list(tmp_path.iterdir()) == []
