"""Recordings: postures of one or several animals in time, with their gaps."""

from ethomarkov.recording.cleaning import fill_gaps, resample
from ethomarkov.recording.left_out import leave_out_short
from ethomarkov.recording.recording import Recording, merge_recordings
from ethomarkov.recording.tracks import Track

__all__ = ["Recording", "Track", "fill_gaps", "leave_out_short", "merge_recordings", "resample"]
