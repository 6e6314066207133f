"""The shape of the body: centerlines, angles, modes, the body wave and behavioural events."""

from ethomarkov.posture.angles import centerline_from_angles, flip_dorsal_ventral, flip_head_tail, tangent_angles
from ethomarkov.posture.basis import PostureBasis
from ethomarkov.posture.bodywave import head_tail_bend, paper_gamma, phase_velocity, wavelength
from ethomarkov.posture.centerline import even_centerline
from ethomarkov.posture.egocentric import align_keypoints
from ethomarkov.posture.events import Events, EventSettings, find_events

__all__ = [
    "EventSettings",
    "Events",
    "PostureBasis",
    "align_keypoints",
    "centerline_from_angles",
    "even_centerline",
    "find_events",
    "flip_dorsal_ventral",
    "flip_head_tail",
    "head_tail_bend",
    "paper_gamma",
    "phase_velocity",
    "tangent_angles",
    "wavelength",
]
