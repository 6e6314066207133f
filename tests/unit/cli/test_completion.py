"""Completion of commands and options by the shell."""

import shutil
import subprocess

import pytest

from ethomarkov.cli.app import COMMANDS


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A home of our own, so that no start-up file of the user is touched."""
    for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "ZSH_CUSTOM", "ZDOTDIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_scripts_know_every_command(cli, home, shell):
    code, out, err = cli("--install-completion", "--shell", shell)
    assert (code, err) == (0, "")
    script = max((file for file in home.rglob("*") if file.is_file()), key=lambda file: file.stat().st_size)
    assert str(script) in out
    text = script.read_text(encoding="utf-8")
    assert [command for command in COMMANDS if command not in text] == []
    assert "microstates" in text


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is absent")
@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (("su",), ["summary"]),
        (("do",), ["doctor"]),
        (("run", "--micro"), ["--microstates"]),
        (("map", "--method", ""), ["umap", "pca"]),
    ],
)
def test_bash_completes(cli, home, words, offered):
    cli("--install-completion", "--shell", "bash")
    script = home / ".local" / "share" / "bash-completion" / "completions" / "ethomarkov"
    typed = " ".join(f"'{word}'" for word in ("ethomarkov", *words))
    lines = f'source "{script}"; COMP_WORDS=({typed}); COMP_CWORD={len(words)}; _ethomarkov; echo "${{COMPREPLY[@]}}"'
    done = subprocess.run(["bash", "--norc", "-c", lines], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.split() == offered


def test_an_unknown_shell_is_asked_for(cli, home, monkeypatch):
    from cyclopts.completion import detect

    def refuse() -> None:
        raise detect.ShellDetectionError("no idea")

    monkeypatch.setattr(detect, "detect_shell", refuse)
    code, _, err = cli("--install-completion")
    assert code == 2
    assert "--shell bash" in err
    assert list(home.iterdir()) == []
