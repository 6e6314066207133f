"""Independent tasks, one after the other or on several cores."""

from collections.abc import Callable, Iterable
from typing import TypeVar

from ethomarkov._core.types import Progress

Task = TypeVar("Task")
Answer = TypeVar("Answer")


def _alone(function: Callable[[Task], Answer], task: Task) -> Answer:
    """Run one of several tasks with one thread of linear algebra, so that they do not fight for cores."""
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1, user_api="blas"):
        return function(task)


def map_tasks(
    function: Callable[[Task], Answer],
    tasks: Iterable[Task],
    *,
    threads: int = 1,
    progress: Progress | None = None,
    what: str = "tasks",
) -> list[Answer]:
    """Apply a function to every task and return the answers in order.

    With ``threads=1`` everything runs here. Otherwise joblib runs it, on its own threads or on whatever backend
    is active (``joblib.parallel_config``). Tasks carry their own seed, so that the answers do not depend on where
    they run.

    Examples
    --------
    >>> map_tasks(abs, [-1, 2])
    [1, 2]
    """
    todo = list(tasks)
    if threads == 1:
        answers = map(function, todo)
    else:
        import joblib

        parallel = joblib.Parallel(n_jobs=threads, prefer="threads", return_as="generator")
        answers = parallel(joblib.delayed(_alone)(function, task) for task in todo)
    done: list[Answer] = []
    for answer in answers:
        done.append(answer)
        if progress is not None:
            progress(what, len(done), len(todo))
    return done
