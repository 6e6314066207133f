"""The scoreboard as Markdown and as a page."""

from collections.abc import Iterator, Sequence
from importlib import resources

from jinja2 import Environment, StrictUndefined

from ethomarkov.paper.scoring import Row, count_verdicts, show_interval

COLOURS = {
    "agrees": "#1b7837",
    "differs": "#b2182b",
    "resembles": "#2166ac",
    "is unlike": "#8c510a",
    "cannot be judged": "#666666",
}
HEAD = ("figure", "published", "ours", "verdict", "why")
LEGEND = (
    "Two figures with 95 % intervals agree when they differ by no more than 1.96 standard errors of their difference; "
    "overlap is not enough. Where one has an interval, it must hold the other figure, to within the error of reading "
    "or the digits printed. Where none has, only figures that are exact up to their digits are judged. Fewer worms "
    "than the paper had are judged by its range over worms, and not at all where a figure rests on the partition of "
    "all twelve. Every reason names the criterion that decided. Limits of published figures: m, 95 % interval of means "
    "over worms; v, over events; r, 95 % of runs; w, range over worms; e, reading error of plots; d, digits printed. "
    "Sources: printed, read off a plot, calculated from the paper's tables."
)
LETTERS = {
    "95 % of means": "m",
    "95 % of events": "v",
    "95 % of runs": "r",
    "range over worms": "w",
    "reading error": "e",
    "rounding": "d",
}


def render_markdown(rows: Sequence[Row], title: str) -> str:
    """Write the scoreboard as Markdown."""
    lines = [f"# {title}", "", count_verdicts(rows), "", LEGEND]
    for section, members in _sections(rows):
        lines += ["", f"## {section}", "", f"| {' | '.join(HEAD)} |", f"|{'---|' * len(HEAD)}"]
        lines += [f"| {' | '.join(cell.replace('|', '/') for cell in _cells(row))} |" for row in members]
    return "\n".join(lines) + "\n"


def render_html(rows: Sequence[Row], title: str) -> str:
    """Write the scoreboard as one page that needs nothing else."""
    text = resources.files("ethomarkov.paper").joinpath("templates/scoreboard.html").read_text(encoding="utf-8")
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, keep_trailing_newline=True)
    sections = [(name, [(*_cells(row), row.published.how) for row in members]) for name, members in _sections(rows)]
    return environment.from_string(text).render(
        title=title, counts=count_verdicts(rows), legend=LEGEND, head=HEAD, sections=sections, colours=COLOURS
    )


def _cells(row: Row) -> tuple[str, ...]:
    published = row.published
    unit = f" ({published.unit})" if published.unit else ""
    limits = f"{published.value:.4g} ({published.low:.4g}, {published.high:.4g}; {LETTERS[published.spread]})"
    ours = show_interval(row.ours) if row.ours else "–"
    return f"{published.what}{unit}", f"{limits} {published.source}", ours, row.verdict, row.reason


def _sections(rows: Sequence[Row]) -> Iterator[tuple[str, list[Row]]]:
    for section in dict.fromkeys(row.published.section for row in rows):
        yield section, [row for row in rows if row.published.section == section]
