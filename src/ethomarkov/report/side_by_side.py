"""A second process that works beside this one, for work that a single interpreter cannot do on two cores."""

import contextlib
import os
import pickle
import signal
import subprocess
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from ethomarkov._core.parallel import ONE_THREAD

Answer = TypeVar("Answer")

SECONDS_TO_END = 10.0
_SERVE = f"from {__name__} import serve; serve()"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Outcome:
    """What became of a task: its answer or its error, and its warnings."""

    answer: Any = None
    error: Exception | None = None
    told: tuple[tuple[str, type[Warning]], ...] = ()


@dataclass(frozen=True, slots=True)
class Begun(Generic[Answer]):
    """A task of the second process.

    Parameters
    ----------
    future
        Of what becomes of it.
    """

    future: "Future[_Outcome]"

    def take_back(self) -> bool:
        """Take the task back, and tell whether that was possible: its turn must not have come."""
        return self.future.cancel()

    def answer(self) -> Answer | None:
        """Wait for the answer, with errors and warnings as if the task had run here; None if the process has died."""
        try:
            outcome = self.future.result()
        except (EOFError, OSError, pickle.UnpicklingError):  # as where memory is short: it is to be done here
            return None
        for message, category in outcome.told:
            warnings.warn(message, category, stacklevel=2)
        if outcome.error is not None:
            raise outcome.error
        answer: Answer = outcome.answer
        return answer


class SecondProcess:
    """Another process of this machine, which does one task after the other; see `second_process`.

    Parameters
    ----------
    worker
        The process, which calls `serve`.
    thread
        Of this process: hands over tasks, and waits for what becomes of them.
    """

    def __init__(self, worker: "subprocess.Popen[bytes]", thread: ThreadPoolExecutor) -> None:
        self._worker, self._thread = worker, thread

    def begin(self, function: Callable[..., Answer], *arguments: object) -> Begun[Answer]:
        """Queue a task; its function must be one of a module, and arguments and answer small."""
        return Begun(self._thread.submit(self._ask, function, arguments))

    def _ask(self, function: Callable[..., object], arguments: tuple[object, ...]) -> _Outcome:
        tasks, outcomes = self._worker.stdin, self._worker.stdout
        if tasks is None or outcomes is None:
            raise EOFError
        pickle.dump((function, arguments), tasks)
        tasks.flush()
        outcome: _Outcome = pickle.load(outcomes)
        return outcome


@contextlib.contextmanager
def second_process(*, wanted: bool = True) -> Iterator[SecondProcess | None]:
    """Open a second process that ends with the block, whatever it is at; None if it is not wanted.

    Each of both has one thread of linear algebra, so that they do not fight for cores.

    Unlike a process of `multiprocessing` it does not run the user's script again, which needs no main guard.
    """
    if not wanted:
        yield None
        return
    worker = subprocess.Popen(
        [sys.executable, "-P", "-c", _SERVE],  # a pickle.py among the user's data is not ours to import
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=os.environ | ONE_THREAD | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
        start_new_session=True,  # Ctrl-C is for the first process, which ends this one
    )
    from threadpoolctl import threadpool_limits

    thread = ThreadPoolExecutor(max_workers=1)
    try:
        with threadpool_limits(1, user_api="blas"):
            yield SecondProcess(worker, thread)
    finally:
        _end(worker)  # the thread, if it waits for something, hears of it
        thread.shutdown(cancel_futures=True)
        worker.communicate()


def _end(worker: "subprocess.Popen[bytes]") -> None:
    """End a process at what it is doing; it has a moment to clear away what is half-written."""
    worker.terminate()
    try:
        worker.wait(SECONDS_TO_END)
    except subprocess.TimeoutExpired:
        worker.kill()


def serve() -> None:
    """Do the tasks of another process until it ends: in by the standard input, out by the standard output."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())  # an exception, so that files are cleared away
    outcomes = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what tasks print must not come among the outcomes
    with contextlib.suppress(EOFError):
        while True:
            function, arguments = pickle.load(sys.stdin.buffer)
            pickle.dump(_attempt(function, arguments), outcomes)
            outcomes.flush()


def _attempt(function: Callable[..., object], arguments: tuple[object, ...]) -> _Outcome:
    answer, error = None, None
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("default")
        try:
            answer = function(*arguments)
        except Exception as found:  # it is raised where the answer is asked for
            error = found
            error.add_note(f"In the second process:\n{''.join(traceback.format_exception(found))}")
    return _Outcome(answer=answer, error=error, told=tuple((str(one.message), one.category) for one in told))
