"""One self-contained page about a study."""

from ethomarkov.report.page import write_report

__all__ = ["write_report"]
