"""The whole study: settings, stages, files."""

from ethomarkov.workflow.config import Settings
from ethomarkov.workflow.study import Study, run_study

__all__ = ["Settings", "Study", "run_study"]
