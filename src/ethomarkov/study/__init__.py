"""Studies: a keyed graph of stages, its store on disk, its settings, and where the work is done."""

from ethomarkov.study.settings import CompleteSettings as CompleteSettings
from ethomarkov.study.settings import Settings as Settings
from ethomarkov.study.study import Study as Study
from ethomarkov.study.study import run_study as run_study
