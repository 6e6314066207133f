"""Names of the files in a study's directory."""

from pathlib import Path

from ethomarkov.exceptions import InputFormatError

STUDY_FILE = "study.nc"
RESULTS_FOLDER = "results"
SUMMARY_FILE = "summary.json"
REPORT_FILE = "report.html"
EXPLORER_FILE = "explorer.html"


def find_study(place: Path) -> Path:
    """Give the file of a study, named itself or by its directory.

    Parameters
    ----------
    place
        Directory that `ethomarkov run` wrote, or the file in it.
    """
    file = place / STUDY_FILE if place.is_dir() else place
    if not file.exists():
        raise InputFormatError(f"{file}: no study there. Make one with `ethomarkov run FILES --out DIRECTORY`.")
    if file.suffix != Path(STUDY_FILE).suffix:
        raise InputFormatError(
            f"{file}: is not a study, which is a directory or ends in .nc. If it is a recording, make a study of it: "
            f"`ethomarkov run {file} --out DIRECTORY`."
        )
    return file
