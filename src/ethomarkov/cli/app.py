"""The command line: commands by import path, so that ``--help`` needs no scientific package.

What this module itself imports is little, so that Ctrl-C is answered from the first moment.
"""

import contextlib
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TextIO

from ethomarkov.cli.interrupt import answered, is_stopping

if TYPE_CHECKING:
    from cyclopts import App, CycloptsError
    from rich.console import Console

GROUPS = {
    "Start": {
        "demo": "Simulate a few synthetic worms and run the whole study on them.",
        "inspect": "Say what is in recording files, and draw it.",
        "convert": "Write recordings in another format.",
        "run": "Run a study on your recordings.",
        "summary": "Print the key figures of a study.",
    },
    "Look": {
        "report": "Write the report of a study again, with the results of other commands.",
        "explore": "Explore a study in the browser: map, postures, ethogram, paths.",
        "figures": "Draw the figures of the paper for a study.",
        "movie": "Make a movie of a study: data above simulation, a crawling animal, or a tour of its states.",
        "map": "Draw the space of posture sequences of a study in two dimensions.",
    },
    "Ask": {
        "choose": "Choose sequence length, number of microstates and lag, and say why; timescales above noise.",
        "states": "Divide the behaviour of a study into a tree of states; name and time them.",
        "simulate": "Simulate many runs of a study's animals or states, and how far they get.",
        "path": "Compute paths from recorded postures, and fit the drag ratio to measured paths.",
        "validate": "Compare a study's animals with simulated ones, and say whether the model can be trusted.",
        "forage": "Compare what the states of a study find when food is at a distance.",
        "apply": "Apply a study's model to new recordings, and tell whether it may be trusted there.",
    },
    "Hand on": {
        "export": "Write states, bouts and frames of a study for other programs.",
    },
    "Paper and maintenance": {
        "reproduce": "Reproduce the paper from its data, or from synthetic worms, and score every published figure.",
        "data": "Fetch the paper's data, or say how to get it.",
        "bench": "Time the stages of a study on this machine, and say what larger studies would need.",
        "doctor": "Check this installation: versions, cores, memory, caches, programs, permissions.",
    },
}
"""Commands in the order of work."""
COMMANDS = {name: text for group in GROUPS.values() for name, text in group.items()}

RENAMED = {"scan": "choose", "timescales": "choose", "stream": "run --stream"}
"""Commands of earlier versions, and what does their work now."""
RENAMED_OPTIONS = {
    "--output": "--out",
    "--into": "--out",
    "--levels": "--states",
    "--n-states": "--microstates",
    "--n-behaviours": "--states",
    "--n-modes": "--modes",
    "--n-delays": "--delays",
    "--n-walks": "--walks",
    "--n-resamples": "--resamples",
    "--n-runs": "--runs",
    "--n-shuffles": "--shuffles",
    "--jobs": "--threads",
}
"""Options of earlier versions or of Python, and what they are called here."""
READING = frozenset(COMMANDS) - {"demo", "data", "bench", "doctor", "summary"}
"""Commands that begin by reading recordings or a study."""
AT_ONCE = frozenset({"summary", "doctor", "explain"})
"""Commands that answer before a progress could be read."""
BROKEN_PIPE = 141
"""Exit code of a program whose reader has gone, as shells have it."""
HELP = frozenset({"--help", "-h"})


def main() -> None:
    """Run the command line; mistakes of use and of input end with one message and exit code 2."""
    # Python's own helper processes start in the user's directory; a pickle.py there, among the data, is not to run.
    os.environ["PYTHONSAFEPATH"] = "1"
    with answered():
        code = _run(sys.argv[1:])
        if code:
            sys.exit(code)


def _run(arguments: Sequence[str]) -> int:
    """Run one command, and give its exit code."""
    from rich.console import Console

    console = Console(stderr=True)
    if arguments[:1] == ["help"]:
        arguments = [*arguments[1:], "--help"]
    if arguments and arguments[0] in RENAMED:
        new = RENAMED[arguments[0]]
        see = f"see `ethomarkov {new.split()[0]} --help`"
        return _refuse(console, f"`{arguments[0]}` is now `ethomarkov {new}`; {see}.")
    is_asked = bool(arguments) and arguments[0] in COMMANDS and not HELP.intersection(arguments)
    if is_asked and arguments[0] in READING:
        from ethomarkov.io.confined import start_early

        start_early()  # it gets ready while this process imports what the command needs
    is_shown = is_asked and not AT_ONCE.intersection(arguments[:2]) and "--quiet" not in arguments
    with _progress(console, is_shown):
        return _obey(console, arguments)


def _obey(console: "Console", arguments: Sequence[str]) -> int:
    """Do what the command line says."""
    from cyclopts import CycloptsError

    from ethomarkov.cli.options import check_arguments
    from ethomarkov.cli.progress import end_progress
    from ethomarkov.exceptions import EthomarkovError

    try:
        app = make_app()
        if arguments and arguments[0] in COMMANDS:
            app[arguments[0]].help = None  # its own page tells more than the line in the list
        command, bound, _ = app.parse_args(arguments, exit_on_error=False, print_error=False)
        check_arguments(bound.arguments)
        with _notes_on(console):
            return _code(command(*bound.args, **bound.kwargs))
    except CycloptsError as error:
        end_progress()
        return _refuse(console, _mistake(error))
    except (EthomarkovError, OSError, MemoryError) as error:
        end_progress()
        if is_stopping():
            raise KeyboardInterrupt from error
        if isinstance(error, BrokenPipeError) and not sys.stdout.isatty():  # nobody reads on, as behind ``| head``
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return BROKEN_PIPE
        return _refuse(console, _sentence(error))


def make_app() -> "App":
    """Make the application with all its commands, none of which is imported before it is asked for."""
    from cyclopts import App, Group, Parameter

    from ethomarkov import __version__

    app = App(
        name="ethomarkov",
        help="Predictive Markov models of animal behaviour across scales, from posture recordings.",
        help_epilogue="Begin with: ethomarkov demo",
        version=__version__,
        default_parameter=Parameter(show_default=_default),
        suppress_keyboard_interrupt=False,
    )
    own = Group("Ethomarkov itself", sort_key=len(GROUPS))
    app["--help"].group = app["--version"].group = own
    for rank, (heading, commands) in enumerate(GROUPS.items()):
        group = Group(heading, sort_key=rank)
        for place, (name, text) in enumerate(commands.items()):
            where = f"ethomarkov.cli.commands.{name}:{name}"
            app.command(where, name=name, help=text, group=group, sort_key=place, help_epilogue="")
    text = "Let the shell complete commands and options (bash, zsh, fish)."
    app.command("ethomarkov.cli.commands.completion:completion", name="--install-completion", help=text, group=own)
    return app


def _default(value: object) -> str | None:
    """Write a default for the help; those that say nothing are left out."""
    return None if value is None or value is False or value in ("", ()) else str(value)


def _code(answer: object) -> int:
    """Give the exit code that a command answers with; most give none."""
    return answer if isinstance(answer, int) else 0


@contextlib.contextmanager
def _progress(console: "Console", is_shown: bool) -> Iterator[None]:
    if not is_shown:
        yield
        return
    from ethomarkov.cli.progress import showing_progress

    with showing_progress(console):
        yield


def _refuse(console: "Console", message: str) -> int:
    from rich.markup import escape

    console.print(f"[bold red]error:[/] {escape(message)}", soft_wrap=True, highlight=False)
    return 2


@contextlib.contextmanager
def _notes_on(console: "Console") -> Iterator[None]:
    """Print warnings of the package as notes, without the lines of code that Python adds."""
    import warnings

    from rich.markup import escape

    from ethomarkov.exceptions import EthomarkovWarning

    plain: Callable[..., Any] = warnings.showwarning

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


def _mistake(error: "CycloptsError") -> str:
    """Say what is wrong with the command line, and what an option of an earlier version is called now."""
    from cyclopts import UnknownOptionError

    if isinstance(error, UnknownOptionError):
        old = (error.token.keyword or error.token.value).partition("=")[0]
        new = RENAMED_OPTIONS.get(old)
        if new is not None and any(new in argument.names for argument in error.argument_collection):
            return f"`{old}` is now `{new}`."
    return str(error)


def _sentence(error: BaseException) -> str:
    """Give the message of an error of ours, or a sentence for one of the machine."""
    from ethomarkov.exceptions import EthomarkovError

    if isinstance(error, EthomarkovError):
        return str(error)
    if isinstance(error, MemoryError):
        return "there is not enough memory for this. Ask for fewer or shorter parts at once, or use a larger machine."
    return f"the system refuses a file or a connection: {error}. Check it, and run this again."
