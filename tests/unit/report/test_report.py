"""The report: one page that needs nothing else."""

import base64
import dataclasses
import hashlib
import html
import json
import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from ethomarkov._core.interval import Interval
from ethomarkov._core.sampling import Sampling
from ethomarkov.figures.layout import compose
from ethomarkov.recording import Recording, Track
from ethomarkov.report.page import IMAGES, SECTIONS, _clips, held_sections, render_report, write_report
from ethomarkov.report.policy import content_policy
from ethomarkov.report.results import StudyResults
from ethomarkov.report.summary import summarize
from ethomarkov.study import Study, run_study
from ethomarkov.synthetic import simulate_worms
from ethomarkov.validation.validate import Agreement

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
HOSTILE = ("<b>x</b>", "</script><script>alert(1)</script>", '"&amp;', "虫 $x$")


@pytest.fixture(scope="module")
def page(study, tmp_path_factory) -> Path:
    return write_report(StudyResults(study), tmp_path_factory.mktemp("report"))


class Links(HTMLParser):
    """Everything that a page would fetch, and the tags that it holds."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.fetched: list[str] = []
        self.tags: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.fetched += [value or "" for name, value in attrs if name in ("src", "href", "data", "poster", "srcset")]


def words_of(page: Path) -> str:
    """What a reader sees, without markup, scripts and pictures."""
    text = re.sub(r"<(script|style)\b.*?</\1>", " ", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", text)).split())


def test_the_page_needs_nothing_else(page):
    text = page.read_text(encoding="utf-8")
    links = Links(text)
    assert links.fetched
    assert all(link.startswith("data:") for link in links.fetched)
    outside = re.sub(r'data:[^"]*', "", text)
    assert not re.search(r"""(src|href)\s*=\s*["']?\s*(https?:)?//""", outside)
    assert not re.search(r"@import|url\(\s*['\"]?http|fetch\(|XMLHttpRequest", outside)
    assert "link" not in links.tags


def test_the_page_may_fetch_nothing_and_run_its_own_scripts_only(page):
    text = page.read_text(encoding="utf-8")
    policy = re.search(r'<meta http-equiv="Content-Security-Policy" content="([^"]+)">', text)[1]
    assert text.index("Content-Security-Policy") < text.index("<style>")
    scripts = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
    assert len(scripts) == 2
    digests = [base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts]
    assert policy == str(content_policy(scripts))
    assert all(f"'sha256-{digest}'" in policy for digest in digests)
    assert policy.startswith("default-src 'none'; ")
    assert "http" not in policy
    assert not re.search(r"script-src[^;]*unsafe", policy)
    # what stands in attributes would be no script of the policy's
    assert not re.search(
        r"""<[^>]*\s(on\w+|href)\s*=|javascript:""", re.sub(r"<script.*?</script>", "", text, flags=re.DOTALL)
    )


def test_minutes_between_frames_can_be_drawn(study):
    slow = study.replace(postures=dataclasses.replace(study.postures, sampling=Sampling(1e-3)))
    _, traces = compose(IMAGES["data"], StudyResults(slow)).figure.axes
    assert all(line.get_xdata().size == 2 for line in traces.lines)
    assert all(clip["frames"] >= 1 for clip in _clips(StudyResults(slow))["clips"])


def test_a_page_without_scripts_may_run_none():
    assert "script-src 'none';" in content_policy([])


def test_every_picture_is_a_png_with_words_for_those_who_cannot_see_it(page):
    images = re.findall(r'<img src="data:image/png;base64,([^"]+)" alt="([^"]+)"', page.read_text(encoding="utf-8"))
    assert len(images) == 8
    for content, words in images:
        assert base64.b64decode(content, validate=True).startswith(b"\x89PNG")
        assert words


def test_the_key_figures_stand_in_the_page(page, study):
    figures, words = summarize(study), words_of(page)
    assert "2 animals" in words
    assert "4.0 minutes at 16 Hz" in words
    assert f"{100 * figures['data']['missing_share']:.1f} % missing" in words
    assert f"{figures['chain']['relaxation_times_s'][0]:.2f} s" in words
    assert f"{figures['chain']['entropy_rate_nat_per_s']:.1f} nat/s" in words
    for state in figures["macrostates"]["states"]:
        assert state["name"] in words
        assert f"{100 * state['share_of_time']:.1f} %" in words
    for kind in ("reversal", "ventral turn", "dorsal turn"):
        assert kind in words


def test_the_ledger_and_the_settings_stand_in_the_page(page, study):
    words = words_of(page)
    for entry in study.ledger.totals():
        assert f"{entry.before:,} {entry.after:,} {entry.lost:,} {entry.reason}" in words
    for name, value in study.settings.model_dump().items():
        assert f"{name} {'by the recording' if value is None else value}" in words


def test_no_word_of_the_page_is_nan_or_none(page):
    assert not re.search(r"\b(nan|None|inf)\b", words_of(page))


def test_the_page_is_a_proper_document(page):
    text = page.read_text(encoding="utf-8")
    assert text.startswith("<!DOCTYPE html>")
    assert '<html lang="en">' in text
    assert '<meta charset="utf-8">' in text
    assert "{{" not in text
    assert "{%" not in text


def test_the_crawl_is_a_body_of_one_length(page):
    text = page.read_text(encoding="utf-8")
    packed = json.loads(re.search(r'<script id="crawl-data"[^>]*>(.*?)</script>', text, re.DOTALL)[1])
    points = np.frombuffer(base64.b64decode(packed["data"]), dtype="<f4")
    body = points.reshape(packed["frames"], packed["points"], 2)
    assert packed["rate"] == 16.0
    assert np.isfinite(body).all()
    lengths = np.linalg.norm(np.diff(body, axis=1), axis=2).sum(axis=1)
    np.testing.assert_allclose(lengths, 1.0, atol=0.03)


@pytest.mark.usefixtures("no_pictures")
def test_names_of_animals_are_escaped(worms, quick, tmp_path):
    """Names come from files of other people; none of them may become markup."""
    values = worms.recording.values
    tracks = [Track(individual=name, values=values[k * 900 : k * 900 + 900]) for k, name in enumerate(HOSTILE)]
    study = run_study(Recording.from_tracks(tracks, kind="amplitude", sampling_rate=16.0), quick)
    renamed = dataclasses.replace(study.measured, source="<img src=http://x/y.png>")
    text = write_report(StudyResults(study.replace(measured=renamed)), tmp_path).read_text(encoding="utf-8")
    for name in HOSTILE[:2]:
        assert name not in text
    assert "<script>alert" not in text
    assert html.escape(HOSTILE[0]) in text
    assert text.count("<script") == text.count("</script>") == (2 if study.path is not None else 0)
    assert "<img src=http" not in text


@pytest.mark.usefixtures("no_pictures")
def test_the_source_of_the_basis_is_escaped(study, tmp_path):
    """The name of the file with the posture modes is the user's, too."""
    basis = dataclasses.replace(study.basis, source="<b>modes</b>.csv")
    text = write_report(StudyResults(study.replace(basis=basis)), tmp_path).read_text(encoding="utf-8")
    assert "<b>modes</b>" not in text
    assert "&lt;b&gt;modes&lt;/b&gt;" in text


@pytest.mark.usefixtures("no_pictures")
def test_a_study_without_a_path_has_no_crawl(worms, quick, tmp_path):
    page = write_report(StudyResults(run_study(worms.recording, quick)), tmp_path)
    assert "canvas" not in Links(page.read_text(encoding="utf-8")).tags
    assert "--basis" in words_of(page)
    assert "reversal" not in words_of(page)


def test_an_existing_report_is_replaced_only_when_complete(study, tmp_path, monkeypatch):
    (tmp_path / "report.html").write_text("old")

    def fail(figure: object) -> None:
        raise RuntimeError("a figure failed")

    monkeypatch.setattr("ethomarkov.report.page._embed", fail)
    with pytest.raises(RuntimeError):
        write_report(StudyResults(study), tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]
    assert (tmp_path / "report.html").read_text() == "old"


@pytest.mark.slow
def test_the_page_works_in_a_browser(page, tmp_path):
    browser = next((found for name in BROWSERS if (found := shutil.which(name))), None)
    if browser is None:
        pytest.skip(f"none of {', '.join(BROWSERS)} was found; install one with apt-get install chromium")
    done = subprocess.run(
        [
            browser,
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--no-first-run",
            f"--user-data-dir={tmp_path}",
            "--dump-dom",
            "--virtual-time-budget=3000",
            "--enable-logging=stderr",
            "--v=0",
            page.as_uri(),
        ],
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    console = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
    assert [line for line in console if re.search("uncaught|error|refused|policy", line, re.IGNORECASE)] == []
    assert re.search(r'<button id="play">(Pause|Play)</button>', done.stdout)
    assert done.stdout.count("<img src=") == 8
    assert '<canvas id="crawl"' in done.stdout


@pytest.mark.usefixtures("no_pictures")
def test_clips_show_a_dwell_in_every_state(study):
    words = render_report(StudyResults(study))
    packed = json.loads(re.search(r'<script id="clip-data" type="application/json">(.*?)</script>', words)[1])
    assert [clip["name"] for clip in packed["clips"]] == list(study.names(study.finest))
    assert words.count('<canvas class="clip"') == len(packed["clips"])
    for clip in packed["clips"]:
        body = np.frombuffer(base64.b64decode(clip["data"]), "<f4").reshape(clip["frames"], packed["points"], 2)
        lengths = np.linalg.norm(np.diff(body, axis=1), axis=2).sum(axis=1)
        assert (lengths > 0.8).all()
        assert (lengths < 1.01).all()


def agreement(name: str, value: float) -> Agreement:
    interval = Interval(estimate=value, low=0.0, high=1.0, level=0.95, over="animals", n=2)
    return Agreement(name=name, unit="mm/s", data=interval, simulation=interval, n_agree=0, n_animals=2)


@pytest.mark.usefixtures("no_pictures")
def test_results_of_other_commands_join(study):
    """Each section has its picture and the words of its panels, and there is none without results."""
    alone = StudyResults(study)
    assert held_sections(alone) == {}
    page = render_report(StudyResults(study, agreements=(agreement("<b>speed</b>", 0.123),)))
    assert "<h2>Agreement</h2>" in page
    assert "data:,1 axes" in page
    assert "Every statistic of the simulations as a ratio to that of the data." in page
    assert "&lt;b&gt;speed&lt;/b&gt;" in page
    assert "0.123" in page
    assert "differs" in page
    assert not [title for title, _, _ in SECTIONS if title != "Agreement" and f"<h2>{title}</h2>" in page]


@pytest.fixture
def asked(study, tmp_path) -> Path:
    """A directory with a study and what `path` asks of it."""
    study.save(tmp_path)
    Study.load(tmp_path).compute("reconstruction", window=10.0)
    return tmp_path


def test_what_was_asked_of_a_study_joins_whoever_asked(asked):
    results = StudyResults(Study.load(asked))
    assert list(held_sections(results)) == ["The drag ratio"]
    assert results.remarks == ()


def test_results_of_other_animals_do_not_join(asked, worms, quick):
    """What was asked of the animals before must not enter the report of others in the same directory."""
    others = simulate_worms(1, 60.0, seed=8)
    run_study(others.recording, quick, basis=worms.basis, directory=asked)
    results = StudyResults(Study.load(asked))
    assert held_sections(results) == {}
    (remark,) = results.remarks
    assert "results of reconstruction are of another study" in remark


def test_results_of_another_model_do_not_join(asked, study):
    reordered = dataclasses.replace(study.microstates, centers=study.microstates.centers[::-1])
    study.replace(microstates=reordered).save(asked)
    results = StudyResults(Study.load(asked))
    assert held_sections(results) == {}
    assert len(results.remarks) == 1
