"""Mode amplitudes and microstates of recordings."""

import numpy as np

from ethomarkov._core.series import Series
from ethomarkov.posture import PostureBasis
from ethomarkov.posture.basis import amplitude_series
from ethomarkov.recording import Recording
from ethomarkov.states import DelayEmbedding, Microstates, Symbols


def fit_basis(recording: Recording, n_modes: int, given: PostureBasis | None) -> PostureBasis | None:
    """Use the given basis, or fit one; amplitudes without a basis need none.

    Parameters
    ----------
    recording
        Of any kind.
    n_modes
        Modes to fit, at most.
    given
        Posture modes; None to fit them.
    """
    if given is not None or recording.kind == "amplitude":
        return given
    n_features = recording.values[0].size if recording.kind != "centerline" else n_modes
    return PostureBasis.fit(recording, min(n_modes, n_features))


def project_postures(recording: Recording, n_modes: int, basis: PostureBasis | None) -> Series:
    """Compute the mode amplitudes of a recording; amplitudes without a basis are used as they are.

    Parameters
    ----------
    recording
        Of the kind that the basis is of, or of amplitudes.
    n_modes
        Modes to keep of amplitudes that come without a basis.
    basis
        Posture modes, as from `fit_basis`.
    """
    if basis is None:
        return amplitude_series(recording, min(n_modes, recording.values.shape[1]))
    return basis.project(recording)


def label_postures(postures: Series, microstates: Microstates, n_delays: int, *, threads: int = 1) -> Symbols:
    """Label every posture sequence with its nearest microstate; postures too short for any sequence have no label.

    Parameters
    ----------
    postures
        Mode amplitudes in time.
    microstates, n_delays
        The partition, and frames per sequence.
    threads
        Cores to use; the result does not depend on it.
    """
    if postures.segments.longest() < n_delays:
        nowhere = np.full(postures.segments.n_rows, -1, dtype=np.int32)
        segments = postures.segments.keep(nowhere >= 0)
        return Symbols(labels=nowhere, n_states=microstates.n_states, segments=segments, sampling=postures.sampling)
    return microstates.label(DelayEmbedding(n_delays).transform(postures), threads=threads)


def label_recording(
    recording: Recording, *, basis: PostureBasis | None, microstates: Microstates, n_delays: int, threads: int = 1
) -> Symbols:
    """Label every posture sequence of a recording with its nearest microstate.

    Parameters
    ----------
    recording
        Of the kind that the basis is of, or of amplitudes.
    basis, microstates, n_delays
        What was learned: posture modes, the partition, and frames per sequence.
    threads
        Cores to use; the result does not depend on it.
    """
    n_modes = microstates.centers.shape[1] // n_delays
    return label_postures(project_postures(recording, n_modes, basis), microstates, n_delays, threads=threads)
