"""The scoreboard as Markdown and as a page."""

from html.parser import HTMLParser

from ethomarkov.paper.scoreboard import render_html, render_markdown
from ethomarkov.paper.scoring import VERDICTS


def test_markdown(rows):
    text = render_markdown(rows, "Title")
    lines = [line for line in text.splitlines() if line.startswith("|")]
    assert len(lines) == 2 + len(rows)
    assert {line.count("|") for line in lines} == {6}
    assert "10 (8, 12; m) printed" in text
    assert "11 (10, 12)" in text


def test_the_page_is_whole_and_says_verdicts_in_words(rows):
    page = render_html(rows, "A & B")
    stack, seen = [], []

    class Checker(HTMLParser):
        def handle_starttag(self, tag, attrs):
            seen.append((tag, dict(attrs)))
            if tag not in ("meta", "br"):
                stack.append(tag)

        def handle_endtag(self, tag):
            assert stack.pop() == tag

    Checker().feed(page)
    assert stack == []
    assert not any("src" in attrs or "href" in attrs for _, attrs in seen)
    assert "A &amp; B" in page
    assert "a | &lt;figure&gt;" in page
    assert "no data &amp; no path" in page
    assert all(verdict in page for verdict in VERDICTS if verdict in {row.verdict for row in rows})
    assert sum(tag == "tr" for tag, _ in seen) == 1 + len(rows)
