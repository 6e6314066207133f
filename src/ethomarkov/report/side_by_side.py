"""A second process that works beside this one, for work that a single interpreter cannot do on two cores."""

import contextlib
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Generic, TypeVar

from ethomarkov.io.child import Child, ChildDiedError, Outcome

Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True)
class Begun(Generic[Answer]):
    """A task of the second process.

    Parameters
    ----------
    future
        Of what becomes of it.
    """

    future: "Future[Outcome]"

    def take_back(self) -> bool:
        """Take the task back, and tell whether that was possible: its turn must not have come."""
        return self.future.cancel()

    def answer(self) -> Answer | None:
        """Wait for the answer, with errors and warnings as if the task had run here; None if the process has died."""
        try:
            answer: Answer = self.future.result().unwrap()
        except ChildDiedError:  # as where memory is short: it is to be done here
            return None
        return answer


class SecondProcess:
    """Another process of this machine, which does one task after the other; see `second_process`.

    Parameters
    ----------
    child
        The process.
    thread
        Of this process: hands over tasks, and waits for what becomes of them.
    """

    def __init__(self, child: Child, thread: ThreadPoolExecutor) -> None:
        self._child, self._thread = child, thread

    def begin(self, function: Callable[..., Answer], *arguments: object) -> Begun[Answer]:
        """Queue a task; its function must be one of a module, its arguments and answer plain data."""
        return Begun(self._thread.submit(self._child.call, function, *arguments))


@contextlib.contextmanager
def second_process(*, wanted: bool = True) -> Iterator[SecondProcess | None]:
    """Open a second process that ends with the block, whatever it is at; None if it is not wanted.

    Each of both has one thread of linear algebra, so that they do not fight for cores.
    """
    if not wanted:
        yield None
        return
    child, thread = Child(), ThreadPoolExecutor(max_workers=1)
    from threadpoolctl import threadpool_limits

    try:
        with threadpool_limits(1, user_api="blas"):
            yield SecondProcess(child, thread)
    finally:
        child.interrupt()  # the thread, if it waits for something, hears of it
        thread.shutdown(cancel_futures=True)
        child.end()
