"""Independent tasks: one after the other, on several cores, or wherever else they are sent; finished ones are kept."""

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

if TYPE_CHECKING:  # numpy is not needed to send tasks
    from ethomarkov._core.types import Progress

Task = TypeVar("Task")
Answer = TypeVar("Answer")

ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")
"""Environment of a process that works beside others, so that they do not fight for cores."""


class Workers(Protocol):
    """Computers that tasks can be sent to."""

    def run(self, function: Callable[[Any], Any], tasks: Sequence[Any]) -> Iterator[Any]:
        """Apply a function to every task and give the answers in order, as they come."""
        ...


class AnswerLog(Protocol):
    """Where answers are kept, so that work that was interrupted goes on where it stopped."""

    def recall(self, n_tasks: int) -> Mapping[int, Any]:
        """Open the page of the next batch of tasks and give the answers that are known, by index."""
        ...

    def note(self, index: int, answer: object) -> Any:  # noqa: ANN401
        """Keep an answer of this batch, and give it as it will be recalled."""
        ...


_workers: ContextVar[Workers | None] = ContextVar("workers", default=None)
_log: ContextVar[AnswerLog | None] = ContextVar("log", default=None)


@contextlib.contextmanager
def sent_to(workers: Workers | None) -> Iterator[None]:
    """Send the tasks of everything inside to other computers; None keeps them here."""
    token = _workers.set(workers)
    try:
        yield
    finally:
        _workers.reset(token)


@contextlib.contextmanager
def noted_in(log: AnswerLog | None) -> Iterator[None]:
    """Keep the answers of all tasks inside; None keeps nothing."""
    token = _log.set(log)
    try:
        yield
    finally:
        _log.reset(token)


def map_tasks(
    function: Callable[[Task], Answer],
    tasks: Iterable[Task],
    *,
    threads: int = 1,
    progress: "Progress | None" = None,
    what: str = "tasks",
) -> list[Answer]:
    """Apply a function to every task and return the answers in order.

    Inside `sent_to`, other computers do the work. Otherwise it is done here, on joblib's threads if there is more than
    one. Inside `noted_in`, answers are kept and those known from before are not computed again. Tasks carry their own
    seed, so that the answers do not depend on where they run. Tasks within tasks run where they are.

    Examples
    --------
    >>> map_tasks(abs, [-1, 2])
    [1, 2]
    """
    todo, log = list(tasks), _log.get()
    known = dict(log.recall(len(todo))) if log is not None else {}
    missing = [k for k in range(len(todo)) if k not in known]
    n_known = len(known)
    answers = _run(function, [todo[k] for k in missing], threads)
    for done, (k, answer) in enumerate(zip(missing, answers, strict=True), n_known + 1):
        known[k] = answer if log is None else log.note(k, answer)
        if progress is not None:
            progress(what, done, len(todo))
    return [known[k] for k in range(len(todo))]


def map_pieces(function: Callable[[Task], Answer], pieces: Iterable[Task], threads: int) -> list[Answer]:
    """Apply a kernel that frees the interpreter to every piece of a task, on threads if there is more than one.

    Unlike tasks, pieces are short, stay here, and are not kept. A single thread calls the kernel itself: handing every
    piece to another thread costs more than some kernels do.

    Examples
    --------
    >>> map_pieces(abs, [-1, 2], 2)
    [1, 2]
    """
    if threads == 1:
        return [function(piece) for piece in pieces]
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(max_workers=threads) as pool:
        return list(pool.map(function, pieces))


def _run(function: Callable[[Task], Answer], tasks: Sequence[Task], threads: int) -> Iterator[Answer]:
    workers = _workers.get()
    if workers is not None:
        return workers.run(function, tasks)
    if threads == 1:
        return (_alone_here(function, task) for task in tasks)
    return _on_threads(function, tasks, threads)


def _on_threads(function: Callable[[Task], Answer], tasks: Sequence[Task], threads: int) -> Iterator[Answer]:
    """Run tasks side by side, each with one thread of linear algebra, so that they do not fight for cores."""
    import joblib
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1, user_api="blas"):  # once for all: it looks at every library of the process
        parallel = joblib.Parallel(n_jobs=threads, prefer="threads", return_as="generator")
        yield from parallel(joblib.delayed(function)(task) for task in tasks)


def _alone_here(function: Callable[[Task], Answer], task: Task) -> Answer:
    """Run a task in this thread; its own tasks are its own business."""
    with noted_in(None):
        return function(task)


def run_alone(function: Callable[[Task], Answer], task: Task) -> Answer:
    """Run one of several tasks with one thread of linear algebra, so that they do not fight for cores."""
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1, user_api="blas"):
        return function(task)
