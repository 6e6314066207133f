"""Commands by import path, so that ``--help`` needs no scientific package."""

import contextlib
import os
import sys
import warnings
from collections.abc import Iterator
from typing import TextIO

from cyclopts import App, CycloptsError
from rich.console import Console
from rich.markup import escape

from ethomarkov import __version__
from ethomarkov.cli.options import check_arguments
from ethomarkov.exceptions import EthomarkovError, EthomarkovWarning

COMMANDS = {
    "demo": "Simulate a few synthetic worms and run the whole study on them.",
    "reproduce": "Reproduce the paper from its data, or from synthetic worms, and score every published figure.",
    "data": "Fetch the paper's data, or say how to get it.",
    "run": "Run a study on your recordings.",
    "choose": "Choose sequence length, number of microstates and lag, and say why; timescales above noise.",
    "states": "Divide the behaviour of a study into a tree of states; name and time them.",
    "simulate": "Simulate many runs of a study's animals or states, and how far they get.",
    "path": "Compute paths from recorded postures, and fit the drag ratio to measured paths.",
    "validate": "Compare a study's animals with simulated ones, and say whether the model can be trusted.",
    "forage": "Compare what the states of a study find when food is at a distance.",
    "map": "Draw the space of posture sequences of a study in two dimensions.",
    "explore": "Explore a study in the browser: map, postures, ethogram, paths.",
    "figures": "Draw the figures of the paper for a study.",
    "movie": "Make a movie of a study: data above simulation, a crawling animal, or a tour of its states.",
    "apply": "Apply a study's model to new recordings, and tell whether it may be trusted there.",
    "report": "Write the report of a study anew, with what other commands found.",
    "summary": "Print the key figures of a study.",
    "inspect": "Say what is in recording files, and draw it.",
    "convert": "Write recordings in another format.",
    "bench": "Time the stages of a study on this machine, and say what larger studies would need.",
}

RENAMED = {"scan": "choose", "timescales": "choose", "stream": "run --stream"}
"""Commands of earlier versions, and what does their work now."""
READING = frozenset(COMMANDS) - {"demo", "data", "bench"}
"""Commands that begin by reading recordings or a study."""
HELP = frozenset({"--help", "-h"})

app = App(
    name="ethomarkov",
    help="Predictive Markov models of animal behaviour across scales, from posture recordings.",
    version=__version__,
    suppress_keyboard_interrupt=False,
)
for _name, _help in COMMANDS.items():
    app.command(f"ethomarkov.cli.commands.{_name}:{_name}", name=_name, help=_help)


def main() -> None:
    """Run the command line; mistakes of use and of input end with one message and exit code 2."""
    # Python's own helper processes start in the user's directory; a pickle.py there, among the data, is not to run.
    os.environ["PYTHONSAFEPATH"] = "1"
    if READING.intersection(sys.argv[1:2]) and not HELP.intersection(sys.argv):
        from ethomarkov.io.confined import start_early

        start_early()  # it gets ready while this process imports what the command needs
    console = Console(stderr=True)
    if sys.argv[1:2] and sys.argv[1] in RENAMED:
        new = RENAMED[sys.argv[1]]
        see = f"see `ethomarkov {new.split()[0]} --help`"
        console.print(f"[bold red]error:[/] `{sys.argv[1]}` is now `ethomarkov {new}`; {see}.")
        sys.exit(2)
    try:
        command, bound, _ = app.parse_args(exit_on_error=False, print_error=True)
        check_arguments(bound.arguments)
        with _notes_on(console):
            command(*bound.args, **bound.kwargs)
    except CycloptsError:
        sys.exit(2)
    except (EthomarkovError, OSError, MemoryError) as error:
        console.print(f"[bold red]error:[/] {escape(_sentence(error))}", soft_wrap=True, highlight=False)
        sys.exit(2)
    except KeyboardInterrupt:
        console.print("interrupted; files appear only when they are complete, so nothing is half-written")
        sys.exit(130)


@contextlib.contextmanager
def _notes_on(console: Console) -> Iterator[None]:
    """Print warnings of the package as notes, without the lines of code that Python adds."""
    plain = warnings.showwarning

    def show(
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        file: TextIO | None = None,
        line: str | None = None,
    ) -> None:
        if issubclass(category, EthomarkovWarning):
            console.print(f"[yellow]note:[/] {escape(str(message))}", soft_wrap=True, highlight=False)
        else:
            plain(message, category, filename, lineno, file, line)

    with warnings.catch_warnings():
        warnings.showwarning = show
        yield


def _sentence(error: BaseException) -> str:
    """Give the message of an error of ours, or a sentence for one of the machine."""
    if isinstance(error, EthomarkovError):
        return str(error)
    if isinstance(error, MemoryError):
        return "there is not enough memory for this. Ask for fewer or shorter parts at once, or use a larger machine."
    return f"the system refuses a file or a connection: {error}. Check it, and run this again."
