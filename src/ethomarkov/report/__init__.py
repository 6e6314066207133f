"""One self-contained page about a study."""

from ethomarkov.report.page import render_report, write_report

__all__ = ["render_report", "write_report"]
