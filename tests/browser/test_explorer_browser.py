"""The explorer as a user has it: in a browser, by mouse, keyboard and finger."""

import base64
import itertools
import re
import time
from collections.abc import Callable

import numpy as np
import pytest

from ethomarkov.locomotion import propel
from ethomarkov.posture import PostureBasis, centerline_from_angles
from ethomarkov.recording import Recording, Track
from ethomarkov.report.explorer import BODY_SEGMENTS, write_explorer
from ethomarkov.report.results import StudyResults
from ethomarkov.states import DelayEmbedding
from ethomarkov.states.projection import map_sequences
from ethomarkov.study import Settings, run_study

pytestmark = pytest.mark.slow

LAPTOP, PHONE = {"width": 1366, "height": 768}, {"width": 390, "height": 844}
VIEWS = ("map", "time", "path")
PATIENCE = 120.0
"""Seconds after which a thing that was waited for will not come any more."""
# Read from a copy: the browser complains about reading a canvas that is meant to be seen.
READ = """const read = id => {
  explorer.flush();
  const c = document.getElementById(id), copy = new OffscreenCanvas(c.width, c.height);
  const pen = copy.getContext("2d", { willReadFrequently: true });
  pen.drawImage(c, 0, 0);
  return pen.getImageData(0, 0, c.width, c.height);
};"""
COLOURS = (
    "id => { "
    + READ
    + """
  const p = new Uint32Array(read(id).data.buffer);
  const n = {}; for (const v of p) if (v >>> 24 === 255) n[v & 0xffffff] = (n[v & 0xffffff] ?? 0) + 1;
  return n;
}"""
)
PICTURE = "id => { explorer.flush(); return document.getElementById(id).toDataURL(); }"


def place_sequences(study):
    sequences = DelayEmbedding(study.settings.n_delays).transform(study.postures)
    return map_sequences(sequences, study.microstates, method="pca")


def write_page(study, folder):
    results = StudyResults(study, sequence_map=place_sequences(study))
    return write_explorer(results, folder / "explorer.html")


def await_that(page, is_so: Callable[[], bool], what: str) -> None:
    """Wait until something is so; two minutes, because a browser on a busy machine may rest for many seconds."""
    until = time.monotonic() + PATIENCE
    while not is_so():
        assert time.monotonic() < until, what
        page.wait_for_timeout(30)


def await_truth(page, expression: str) -> None:
    """Wait for an expression; playwright's own way evaluates strings inside the page, which its policy forbids."""
    await_that(page, lambda: page.evaluate(expression), expression)


@pytest.fixture
def open_page(browser, page_file):
    """Open the page; at the end there must have been no error and no request but for the page itself."""
    contexts, complaints, requests, opened = [], [], [], set()

    def open_(viewport=LAPTOP, file=page_file, **options):
        context = browser.new_context(viewport=viewport, **options)
        context.set_default_timeout(1000 * PATIENCE)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("request", lambda request: requests.append(request.url))
        opened.add(file.as_uri())
        page.goto(file.as_uri())
        await_truth(page, "window.explorer !== undefined")
        page.wait_for_timeout(100)
        return page

    yield open_
    for context in contexts:
        context.close()
    assert complaints == []
    assert {url for url in requests if not url.startswith("data:")} == opened


@pytest.fixture(scope="module")
def page_file(study, tmp_path_factory):
    return write_page(study, tmp_path_factory.mktemp("explorer"))


@pytest.fixture
def page(open_page):
    return open_page(reduced_motion="reduce")


def chosen(page, name):
    return page.evaluate(f"explorer.now.{name}")


def rgb(code: str) -> str:
    value = int(code)
    return f"#{value & 255:02X}{value >> 8 & 255:02X}{value >> 16 & 255:02X}"


def place_of(page, state: int) -> tuple[float, float]:
    """Where the user sees a microstate, read from the picture that marks it."""
    page.evaluate("k => { explorer.select(k); explorer.flush(); }", state)
    x, y = page.evaluate(
        "() => { "
        + READ
        + """
      const c = read("map-over"), d = c.data;
      const [r, g, b] = [0, 8, 16].map(s => (explorer.palette[explorer.now.state] >> s) & 255);
      let n = 0, sx = 0, sy = 0;
      for (let i = 0; i < d.length; i += 4) if (d[i] === r && d[i + 1] === g && d[i + 2] === b && d[i + 3] === 255) {
        n++; sx += (i / 4) % c.width; sy += Math.floor(i / 4 / c.width);
      }
      return [sx / n, sy / n];
    }"""
    )
    box = page.locator("#map-over").bounding_box()
    return box["x"] + x, box["y"] + y


def test_every_view_shows_something(page):
    for view in (*VIEWS, "body"):
        assert sum(page.evaluate(COLOURS, view).values()) > 300, view
    assert page.locator("#legend li").count() == 2
    assert page.locator("#successors button").count() == 5


def test_a_level_of_the_tree_recolours_all_views(page, study):
    before = {view: page.evaluate(COLOURS, view) for view in VIEWS}
    page.locator("#tree [role=radio]").nth(3).click()
    wanted = {"#88CCEE", "#CC6677", "#DDCC77", "#332288"}
    for view in VIEWS:
        after = {rgb(code): n for code, n in page.evaluate(COLOURS, view).items()}
        assert wanted <= set(after), view
        assert not {"#56B4E9", "#E69F00"} & set(after), view
        assert {"#56B4E9", "#E69F00"} <= {rgb(code) for code in before[view]}, view
    assert page.locator("#legend li").count() == 4
    assert page.locator("#tree [aria-checked=true]").count() == 1


def test_a_quantity_recolours_all_views_and_the_legend(page):
    before = {view: page.evaluate(PICTURE, view) for view in VIEWS}
    page.select_option("#colour", label="bend a₃")
    for view in VIEWS:
        assert page.evaluate(PICTURE, view) != before[view], view
    assert "bend a₃" in page.locator("#legend").inner_text()
    assert page.locator("#tree [aria-checked=true]").count() == 0


def test_hovering_shows_a_microstate_and_a_click_keeps_it(page):
    spot = place_of(page, 7)
    page.evaluate("explorer.select(3)")
    page.mouse.move(*spot)
    assert page.locator("#body-title").inner_text() == "Microstate 7"
    assert page.locator("#tip").inner_text().startswith("7 · ")
    page.mouse.move(5, 5)
    assert page.locator("#body-title").inner_text() == "Microstate 3"
    page.mouse.click(*spot)
    page.mouse.move(5, 5)
    assert page.locator("#body-title").inner_text() == "Microstate 7"


def test_what_is_said_of_a_microstate_is_true(page, study):
    page.evaluate("explorer.select(7)")
    row = int(study.chain.state_index[7])
    share = study.chain.stationary[row]
    facts = page.locator("#facts").inner_text()
    assert float(re.search(r"share of time\s+([\d.]+) %", facts)[1]) == pytest.approx(100 * share, rel=0.05)
    assert f"{study.symbols.visits()[7]:,} sequences" in facts
    probabilities = np.sort(study.chain.transition[[row]].toarray()[0])[::-1][:5]
    shown = [float(text.rstrip(" %")) for text in page.locator("#successors .percent").all_inner_texts()]
    np.testing.assert_allclose(shown, 100 * probabilities, rtol=0.1)


def test_a_successor_can_be_followed(page):
    page.evaluate("explorer.select(7)")
    name = page.locator("#successors .name", has_not_text="stays").first
    number = int(name.inner_text().split(" ")[0])
    name.click()
    assert chosen(page, "state") == number


def test_a_click_plays_the_posture_sequence(open_page):
    page = open_page()
    page.mouse.click(*place_of(page, 11))
    pictures = set()

    def three_were_seen() -> bool:
        pictures.add(page.evaluate(PICTURE, "body"))
        return len(pictures) >= 3

    await_that(page, three_were_seen, "three postures")
    page.click("#recorded")
    page.evaluate("explorer.flush()")
    assert re.match(r"worm_0\d, [\d.]+ s", page.locator("#window").inner_text())


def test_nothing_moves_by_itself_for_those_who_want_it_still(page):
    still = page.evaluate(PICTURE, "body")
    page.wait_for_timeout(400)
    assert page.evaluate(PICTURE, "body") == still
    page.click("#play")
    await_that(page, lambda: page.evaluate(PICTURE, "body") != still, "another posture")


def test_a_click_in_the_ethogram_moves_the_cursor_on_map_and_path(page, study):
    before = {view: page.evaluate(PICTURE, view) for view in ("map-over", "path-over", "time-over")}
    box = page.locator("#time-over").bounding_box()
    page.mouse.click(box["x"] + 0.6 * box["width"], box["y"] + 1.5 * (box["height"] - 20) / 2)
    frame = chosen(page, "frame")
    offsets = study.symbols.segments.offsets
    assert offsets[1] <= frame < offsets[2]
    assert 0.5 < (frame - offsets[1]) / (offsets[2] - offsets[1]) < 0.65
    assert chosen(page, "state") == study.symbols.labels[frame]
    for view, picture in before.items():
        assert page.evaluate(PICTURE, view) != picture, view
    assert page.locator("#path-title").inner_text() == "Path of worm_01"


def test_time_can_be_zoomed_dragged_and_shown_whole(page):
    box = page.locator("#time-over").bounding_box()
    middle = (box["x"] + box["width"] / 2, box["y"] + 20)
    page.mouse.move(*middle)
    page.mouse.wheel(0, -400)
    await_truth(page, "explorer.now.from > 0 && explorer.now.to < 120")
    begin, end = chosen(page, "from"), chosen(page, "to")
    assert 0 < begin < end < 120
    page.mouse.down()
    page.mouse.move(middle[0] - 200, middle[1], steps=4)
    page.mouse.up()
    assert chosen(page, "from") > begin
    assert chosen(page, "to") - chosen(page, "from") == pytest.approx(end - begin)
    page.click("#time-fit")
    assert (chosen(page, "from"), chosen(page, "to")) == (0, 120)


def test_the_map_can_be_zoomed(page):
    before = page.evaluate(PICTURE, "map")
    page.click("#map-in")
    zoomed = page.evaluate(PICTURE, "map")
    page.click("#map-fit")
    assert zoomed != before
    assert page.evaluate(PICTURE, "map") == before


def test_simulation_walks_the_chain_and_crawls(page, study):
    page.select_option("#speed", "16")
    page.click("#simulate")
    await_truth(page, "explorer.simulation.length > 600")
    page.click("#simulate")
    visited, trail = page.evaluate(
        "() => { const s = explorer.simulation; return [s.visited, [...s.trail.slice(0, 2 * s.length)]]; }"
    )
    P, index = study.chain.transition, study.chain.state_index
    assert len(visited) > 30
    assert all(P[index[a], index[b]] > 0 for a, b in itertools.pairwise(visited))
    path = np.reshape(trail, (-1, 2))
    steps = np.linalg.norm(np.diff(path, axis=0), axis=1)
    assert 0 < steps.max() < 0.2
    assert 0.3 < np.linalg.norm(np.ptp(path, axis=0)) < 30
    assert sum(page.evaluate(COLOURS, "path").values()) > 50
    page.click("#simulate")
    assert page.evaluate("explorer.simulation === null")
    page.evaluate("explorer.flush()")
    assert page.locator("#path-title").inner_text() == "Path of worm_00"


def test_a_still_simulated_animal_stays_and_its_button_says_what_it_does(page):
    page.click("#simulate")
    assert page.locator("#simulate").inner_text() == "Stop"
    page.click("#simulate")
    length = page.evaluate("explorer.simulation.length")
    page.wait_for_timeout(200)
    assert page.evaluate("explorer.simulation.length") == length
    assert page.locator("#simulate").inner_text() == "Back to recording"


def test_crawling_follows_resistive_force_theory(page, study):
    start, stop, _ = study.postures.segments.bounds[study.postures.segments.lengths.argmax()]
    rows = study.postures.values[start : min(stop, start + 300)]
    path = page.evaluate(
        """([rows, alpha]) => {
          let x = 0, y = 0, heading = 0, before = explorer.shapeOf(rows[0]); const out = [[0, 0]];
          for (const row of rows.slice(1)) {
            const after = explorer.shapeOf(row), [dx, dy, turn] = explorer.propel(before, after, alpha);
            const a = heading + turn / 2;
            x += Math.cos(a) * dx - Math.sin(a) * dy; y += Math.sin(a) * dx + Math.cos(a) * dy;
            heading += turn; before = after;
            out.push([x, y]);
          }
          return out;
        }""",
        [rows.tolist(), study.settings.drag_ratio],
    )
    along = (np.arange(BODY_SEGMENTS) + 0.5) / BODY_SEGMENTS
    place = (np.arange(study.basis.n_features) + 0.5) / study.basis.n_features
    coarse = PostureBasis(
        vectors=np.stack([np.interp(along, place, column) for column in study.basis.vectors.T], axis=1),
        mean=np.interp(along, place, study.basis.mean),
        explained_variance=study.basis.explained_variance,
        features="angle",
        source="fewer segments",
    )
    series = type(study.postures).from_rows(rows, study.postures.sampling)
    same = propel(series, study.settings.drag_ratio, basis=coarse).centroid
    np.testing.assert_allclose(path, same, atol=1e-5)
    fine = propel(series, study.settings.drag_ratio, basis=study.basis).centroid
    assert np.linalg.norm(np.asarray(path) - fine, axis=1).max() < 0.03 * np.linalg.norm(np.ptp(fine, axis=0))


def test_recordings_can_be_played(page):
    page.evaluate("explorer.selectFrame(400)")
    page.click("#replay")
    await_truth(page, "explorer.now.frame > 410")
    page.click("#replay")  # long before the end, where it stops by itself
    frame = chosen(page, "frame")
    page.wait_for_timeout(150)
    assert chosen(page, "frame") == frame


def test_everything_is_reached_by_keyboard(page):
    reached = []
    for _ in range(40):
        page.keyboard.press("Tab")
        reached.append(page.evaluate("document.activeElement.id || document.activeElement.className"))
        if reached[-1] == "time-over":
            break
    wanted = [
        "colour",
        "speed",
        "theme",
        "map-over",
        "play",
        "mean",
        "recorded",
        "simulate",
        "path-over",
        "level",
        "replay",
        "time-over",
    ]
    assert [name for name in reached if name in wanted] == wanted
    outline = page.evaluate("getComputedStyle(document.activeElement).outlineWidth")
    assert outline == "3px"


def test_arrow_keys_step_microstates(page, study):
    """To the nearest within 45 degrees of the arrow; at the border of the map there is none, and the choice stays."""
    centers = place_sequences(study).centers.astype("f4").astype(float)  # as the page has them
    page.locator("#map-over").focus()
    n_moved = 0
    for state in range(len(centers)):
        for key, towards in {"Left": (-1, 0), "Right": (1, 0), "Up": (0, 1), "Down": (0, -1)}.items():
            off = centers - centers[state]
            along, across = off @ towards, np.abs(off @ towards[::-1])
            reach = np.where((along > 0) & (across <= along), along + across, np.inf)
            expected = int(reach.argmin()) if np.isfinite(reach).any() else state
            page.evaluate("k => explorer.select(k)", state)
            page.keyboard.press(f"Arrow{key}")
            assert chosen(page, "state") == expected, (state, key)
            n_moved += expected != state
    assert 2 * len(centers) < n_moved < 4 * len(centers)
    assert page.locator("#said").inner_text().startswith(f"Microstate {expected}, ")


def test_arrow_keys_step_frames_animals_and_levels(page):
    page.locator("#time-over").focus()
    page.evaluate("explorer.selectFrame(300)")
    page.keyboard.press("ArrowRight")
    assert chosen(page, "frame") == 301
    page.keyboard.press("Shift+ArrowLeft")
    assert chosen(page, "frame") == 285
    page.keyboard.press("ArrowDown")
    assert (chosen(page, "animal"), chosen(page, "frame")) == (1, 1920 + 285)
    page.keyboard.press("+")
    assert chosen(page, "to") - chosen(page, "from") == pytest.approx(80)
    page.locator("#tree [role=radio][tabindex='0']").focus()
    page.keyboard.press("ArrowDown")
    assert page.locator("#legend li").count() == 3
    assert page.evaluate("document.activeElement.getAttribute('aria-checked')") == "true"


def test_all_controls_have_names(page):
    nameless = page.evaluate("""() => {
      const all = [...document.querySelectorAll("button, select, [tabindex], [role=radio], canvas[role]")];
      return all.filter(e => !(e.getAttribute("aria-label") || e.textContent.trim() || e.labels?.length))
        .map(e => e.outerHTML);
    }""")
    assert nameless == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_words_stand_out_from_the_page_in_both_themes(open_page, scheme):
    page = open_page(color_scheme=scheme)
    ink, paper = page.evaluate("""() => {
      const s = getComputedStyle(document.body);
      return [s.color, s.backgroundColor].map(c => c.match(/[0-9]+/g).map(Number));
    }""")
    assert (np.mean(ink) < 60 and np.mean(paper) > 240) or (np.mean(ink) > 220 and np.mean(paper) < 40)
    assert (np.mean(paper) < 128) == (scheme == "dark")
    page.click("#theme")
    assert page.evaluate("document.documentElement.classList.contains('dark')") == (scheme == "light")


def test_nothing_is_cut_off_on_a_phone(open_page):
    page = open_page(PHONE, device_scale_factor=2, has_touch=True, reduced_motion="reduce")
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    for view in VIEWS:
        assert sum(page.evaluate(COLOURS, view).values()) > 300, view
    box = page.locator("#map-over").bounding_box()
    page.touchscreen.tap(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    assert page.locator("#successors button").count() > 0


@pytest.mark.parametrize("kind", ["amplitude", "position"])
def test_other_animals_have_other_bodies(open_page, study, tmp_path, kind):
    amplitudes = study.postures.values[:1900]
    points = centerline_from_angles(study.basis.reconstruct(study.postures).values[:1900])[:, ::20]
    track = Track(individual="a <i>mouse</i>", values=amplitudes if kind == "amplitude" else points)
    labels = None if kind == "amplitude" else [f"point {k}" for k in range(points.shape[1])]
    recording = Recording.from_tracks([track], kind=kind, sampling_rate=16.0, labels=labels)
    other = run_study(
        recording, Settings(n_delays=11, lag=0.75, n_states=12, n_walks=1, simulated_minutes=0.5, n_modes=4)
    )
    page = open_page(file=write_page(other, tmp_path), reduced_motion="reduce")
    for view in ("map", "time", "body"):
        assert sum(page.evaluate(COLOURS, view).values()) > 300, view
    before = page.evaluate(PICTURE, "body")
    page.click("#simulate")
    await_truth(page, "explorer.simulation.length > 20")
    await_that(page, lambda: page.evaluate(PICTURE, "body") != before, "another posture")
    page.click("#simulate")
    page.click("#simulate")
    page.evaluate("explorer.selectFrame(100)")
    assert page.locator("#clock").inner_text() == "a <i>mouse</i>, 6.25 s"


def test_drawings_are_rehearsed_in_idle_time_unseen(browser, page_file):
    """Two drawings are needed to show the page; the others are there to be compiled, and change nothing."""
    context = browser.new_context(viewport=LAPTOP, reduced_motion="reduce")
    page = context.new_page()
    page.add_init_script(
        """window.drawn = {};
        const put = CanvasRenderingContext2D.prototype.putImageData;
        CanvasRenderingContext2D.prototype.putImageData = function (...given) {
          drawn[this.canvas.id] = (drawn[this.canvas.id] ?? 0) + 1;
          put.apply(this, given);
        };"""
    )
    page.goto(page_file.as_uri())
    await_truth(page, "window.explorer !== undefined")
    early = [page.evaluate(PICTURE, view) for view in VIEWS]
    await_truth(page, "['map', 'time', 'path'].every(id => drawn[id] >= 7)")
    assert [page.evaluate(PICTURE, view) for view in VIEWS] == early
    context.close()


def test_a_laptop_needs_no_scrolling(page):
    assert page.evaluate("document.documentElement.scrollHeight") <= LAPTOP["height"]


def test_the_policy_of_the_page_stops_foreign_scripts(browser, page_file, tmp_path):
    text = page_file.read_text(encoding="utf-8").replace("</main>", "</main><script>window.stranger = 1</script>")
    altered = tmp_path / "altered.html"
    altered.write_text(text, encoding="utf-8")
    context = browser.new_context()
    page = context.new_page()
    page.goto(altered.as_uri())
    await_truth(page, "window.explorer !== undefined")
    assert page.evaluate("window.stranger === undefined")
    context.close()


def test_pictures_are_pictures(page):
    """The oracle of the other tests: two drawings of the same thing are the same bytes."""
    first = page.evaluate(PICTURE, "map")
    assert base64.b64decode(first.partition(",")[2]).startswith(b"\x89PNG")
    assert page.evaluate(PICTURE, "map") == first
