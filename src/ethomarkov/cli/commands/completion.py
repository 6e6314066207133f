"""Completion of commands and options by the shell."""

from typing import Literal

from ethomarkov.cli.desk import Frame
from ethomarkov.exceptions import InputFormatError


def completion(*, shell: Literal["bash", "zsh", "fish", "powershell"] | None = None) -> None:
    """Let the shell complete commands and options when Tab is pressed.

    Parameters
    ----------
    shell
        Which; the one in use by default.
    """
    from cyclopts.completion.detect import ShellDetectionError

    from ethomarkov.cli.app import make_app

    try:
        file = make_app().install_completion(shell=shell)
    except ShellDetectionError as error:
        raise InputFormatError(
            "It is not known which shell this is; bash, zsh, fish or powershell is needed. Name it, as in "
            "`ethomarkov --install-completion --shell bash`."
        ) from error
    Frame().say(f"Written to {file}. Open a new shell, type `ethomarkov ` and press Tab.")
