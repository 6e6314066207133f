"""`ethomarkov figures` and `movie`: files, words and exit codes."""

import pytest

from ethomarkov.study import Study

FIGURES_OF_A_STUDY = ("1", "2", "3", "4", "S1", "S2", "S4", "S6", "S7", "S8a", "S8b")
"""Those that need no other command."""


@pytest.fixture(autouse=True)
def few_resamples(monkeypatch):
    """Intervals need hundreds of fits; here they are drawn, and tested elsewhere."""
    monkeypatch.setattr("ethomarkov.report.results.N_RESAMPLES", 3)


@pytest.fixture
def own(study):
    """A copy of the study that a test may write into."""
    return study.directory


def test_some_figures_and_what_they_lack(cli, own):
    code, out, err = cli("figures", own, "--only", "S1", "S7", "5", "--threads", 1)
    assert (code, err) == (0, "")
    assert sorted(path.name for path in (own / "figures").iterdir()) == [
        "captions.md",
        "figS1.pdf",
        "figS1.png",
        "figS7.pdf",
        "figS7.png",
    ]
    assert "`ethomarkov forage STUDY`" in out
    assert "2 of 3 figures drawn" in out


@pytest.mark.slow
def test_all_figures_of_a_study_alone(cli, own):
    code, out, err = cli("figures", own, "--threads", 1)
    assert (code, err) == (0, "")
    drawn = {path.stem.removeprefix("fig") for path in (own / "figures").glob("*.pdf")}
    assert drawn == set(FIGURES_OF_A_STUDY)
    assert drawn == {path.stem.removeprefix("fig") for path in (own / "figures").glob("*.png")}
    for command in ("validate", "simulate", "forage", "path"):
        assert f"`ethomarkov {command} STUDY" in out


@pytest.mark.slow
def test_results_of_other_commands_complete_the_figures(cli, asked, tmp_path, monkeypatch):
    monkeypatch.setattr("ethomarkov.paper.figures.ENDINGS", {})  # drawn, and not written
    code, out, err = cli("figures", asked.directory, "--out", tmp_path, "--threads", 1)
    assert (code, err) == (0, "")
    assert "16 of 16 figures drawn" in out
    assert [line for line in out.splitlines() if line.startswith("Fig. ")] == []


def test_unknown_figures_are_refused_at_once(cli, own):
    code, out, err = cli("figures", own, "--only", "7")
    assert code == 2
    assert "no figure 7" in err
    assert "Traceback" not in out + err
    assert not (own / "figures").exists()


@pytest.mark.parametrize("command", ["figures", "movie"])
def test_no_study_there(cli, tmp_path, command):
    code, out, err = cli(command, tmp_path)
    assert code == 2
    assert "no study" in err
    assert "Traceback" not in out + err


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "options"), [("postures", ()), ("crawl", ("--gif",)), ("tour", ("--level", "2"))])
def test_movies(cli, own, kind, options):
    code, out, err = cli("movie", own, "--kind", kind, "--seconds", 2, "--threads", 1, *options)
    assert (code, err) == (0, "")
    ending = ".gif" if "--gif" in options else ".mp4"
    files = list((own / "movies").iterdir())
    assert [file.name for file in files] == [kind + ending]
    assert files[0].read_bytes()[:12].startswith(b"GIF8" if ending == ".gif" else b"\0\0\0")
    assert str(files[0]) in out


@pytest.mark.parametrize(
    ("options", "named"),
    [(("--animal", "nobody"), "worm_00"), (("--level", "99"), "99"), (("--seconds", "0"), "--seconds")],
)
def test_bad_options_of_movie(cli, own, options, named):
    code, out, err = cli("movie", own, *options)
    assert code == 2
    assert named in err
    assert "Traceback" not in out + err
    assert not (own / "movies").exists()


@pytest.mark.slow
def test_movies_need_a_body(cli, no_pictures, files, tmp_path):
    options = ("--microstates", 12, "--walks", 1, "--no-scan", "--quiet")
    assert cli("run", files["position"], "--out", tmp_path, *options)[0] == 0
    assert not Study.load(tmp_path).is_worm
    code, _, err = cli("movie", tmp_path, "--kind", "tour")
    assert code == 2
    assert "tangent angles" in err
