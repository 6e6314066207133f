"""The scoreboard as Markdown and as a page."""

import html
from collections.abc import Iterator, Sequence

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
    "all twelve. Every reason names the rule that decided. Limits of published figures: m, 95 % interval of means over "
    "worms; v, over events; r, 95 % of runs; w, range over worms; e, reading error of plots; d, digits printed. "
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
    parts = [
        "<!doctype html><html lang='en'><head><meta charset='utf-8'>",
        "<meta name='viewport' content='width=device-width'>",
        f"<title>{html.escape(title)}</title><style>{STYLE}</style></head><body>",
        f"<h1>{html.escape(title)}</h1><p><b>{count_verdicts(rows)}</b></p><p>{html.escape(LEGEND)}</p>",
    ]
    for section, members in _sections(rows):
        heads = "".join(f"<th scope='col'>{name}</th>" for name in HEAD)
        parts.append(f"<h2>{html.escape(section)}</h2><table><thead><tr>{heads}</tr></thead><tbody>")
        parts += [_html_row(row) for row in members]
        parts.append("</tbody></table>")
    return "".join([*parts, "</body></html>\n"])


STYLE = (
    "body{font:15px/1.45 system-ui,sans-serif;max-width:72rem;margin:2rem auto;padding:0 1rem;color:#222}"
    "table{border-collapse:collapse;width:100%;margin-bottom:1.5rem}th,td{text-align:left;vertical-align:top;"
    "padding:.3rem .6rem;border-bottom:1px solid #ddd}td:nth-child(2),td:nth-child(3){white-space:nowrap}"
    ".verdict{font-weight:600;white-space:nowrap}small{color:#555}"
)


def _html_row(row: Row) -> str:
    what, published, ours, verdict, why = (html.escape(cell) for cell in _cells(row))
    how = f"<br><small>{html.escape(row.published.how)}</small>" if row.published.how else ""
    colour = COLOURS[row.verdict]
    return (
        f"<tr><td>{what}{how}</td><td>{published}</td><td>{ours}</td>"
        f"<td class='verdict' style='color:{colour}'>{verdict}</td><td>{why}</td></tr>"
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
