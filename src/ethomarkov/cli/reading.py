"""Recordings as the command line asks for them."""

from pathlib import Path
from typing import TYPE_CHECKING

from ethomarkov.cli.options import ReadingOptions
from ethomarkov.cli.progress import current_progress

if TYPE_CHECKING:
    from ethomarkov.posture import PostureBasis
    from ethomarkov.recording import Recording


def read_recordings(files: tuple[Path, ...], options: ReadingOptions) -> "Recording":
    """Read files and apply to each the repairs that were asked for, resampling before filling."""
    from ethomarkov.io import read
    from ethomarkov.recording import Recording, fill_gaps, resample

    progress, n_read = current_progress(), 0
    if progress is not None:
        progress("reading", 0, len(files))

    def repair(recording: Recording) -> Recording:
        nonlocal n_read
        n_read += 1
        if progress is not None:
            progress("reading", n_read, len(files))
        if options.resample is not None:
            recording = resample(recording, options.resample)
        return recording if options.fill_gaps is None else fill_gaps(recording, options.fill_gaps)

    return read(
        files,
        options.format,
        prepare=repair,
        sampling_rate=options.rate,
        min_confidence=options.min_confidence,
        keypoints=options.keypoints,
        as_centerline=options.as_centerline,
        view=options.view,
        untracked=options.untracked,
        min_frames=options.min_frames,
        min_share=options.min_share,
    )


def read_basis(file: Path | None, n_modes: int) -> "PostureBasis | None":
    """Read posture modes where a file of them is named."""
    from ethomarkov.posture import PostureBasis

    return None if file is None else PostureBasis.from_file(file, n_modes)
