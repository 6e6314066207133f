"""Names of the files in a study's directory."""

STUDY_FILE = "study.nc"
RESULTS_FOLDER = "results"
SUMMARY_FILE = "summary.json"
REPORT_FILE = "report.html"
EXPLORER_FILE = "explorer.html"
