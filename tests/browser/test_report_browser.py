"""The report in a browser, which holds it to its own policy."""

import pytest

from ethomarkov.report.page import write_report
from ethomarkov.report.results import StudyResults

pytestmark = pytest.mark.slow

STILL = "() => [...document.querySelectorAll('canvas')].map(canvas => canvas.toDataURL())"
STRANGER = "<script>window.stranger = 1</script><img src=x onerror='window.stranger = 2'>"


@pytest.fixture(scope="module")
def report(study, tmp_path_factory):
    return write_report(StudyResults(study), tmp_path_factory.mktemp("report"))


@pytest.fixture
def opened(browser):
    """Open a page, and collect what the browser says about it."""
    context = browser.new_context(reduced_motion="reduce")
    page = context.new_page()
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    yield page, complaints
    context.close()


def test_the_report_works_under_its_policy(report, opened):
    page, complaints = opened
    page.goto(report.as_uri())
    blank = page.evaluate("() => document.createElement('canvas').toDataURL()")
    drawn = page.evaluate(STILL)
    assert len(drawn) > 1
    assert len({blank, *drawn}) == 1 + len(drawn)
    assert page.evaluate("() => [...document.images].every(image => image.complete && image.naturalWidth > 0)")
    page.click("#play")
    assert page.text_content("#play") == "Pause"
    assert complaints == []


def test_the_policy_stops_what_is_not_of_the_report(report, opened, tmp_path):
    page, complaints = opened
    altered = tmp_path / "altered.html"
    altered.write_text(report.read_text(encoding="utf-8").replace("</h1>", f"</h1>{STRANGER}", 1), encoding="utf-8")
    page.goto(altered.as_uri())
    assert page.evaluate("() => window.stranger === undefined")
    assert page.text_content("#play") == "Play"
    assert len([one for one in complaints if "Content Security Policy" in one]) >= 2
