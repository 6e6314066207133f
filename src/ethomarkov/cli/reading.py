"""Recordings as the command line asks for them."""

from pathlib import Path

from ethomarkov.cli.options import ReadingOptions
from ethomarkov.io import read
from ethomarkov.recording import Recording, fill_gaps, resample


def read_recordings(files: tuple[Path, ...], options: ReadingOptions) -> Recording:
    """Read files and apply to each the repairs that were asked for, resampling before filling."""

    def repair(recording: Recording) -> Recording:
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
