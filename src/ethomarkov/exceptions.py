"""Errors and warnings of the package.

Every message says what was found, what is needed and what to do about it.
"""


class EthomarkovError(Exception):
    """Base of every error raised on purpose by this package."""


class InputFormatError(EthomarkovError, ValueError):
    """A file or array is not in a form that can be read."""


class SettingsError(InputFormatError):
    """Settings are unknown, or not possible; the message names every one."""


class SamplingError(EthomarkovError, ValueError):
    """Times, rates or durations do not fit together."""


class ConnectivityError(EthomarkovError, ValueError):
    """The data leave no connected chain to estimate."""


class OutputError(EthomarkovError, OSError):
    """A result cannot be written where it was asked for."""


class MissingDependencyError(EthomarkovError, ImportError):
    """A package of an optional extra is not installed."""


class EthomarkovWarning(UserWarning):
    """Base of every warning of this package."""


class RareStateWarning(EthomarkovWarning):
    """Some microstates are visited too rarely to be trusted."""
