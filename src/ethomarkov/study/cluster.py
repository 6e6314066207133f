"""Tasks in other processes or on other computers, by Dask: the one module that knows it."""

import asyncio
import contextlib
import difflib
import itertools
import logging
import os
import pickle
import re
import shutil
import subprocess
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, TypeAlias

from ethomarkov._core.optional import require
from ethomarkov._core.parallel import ONE_THREAD, run_alone, sent_to
from ethomarkov.exceptions import EthomarkovError, EthomarkovWarning, InputFormatError
from ethomarkov.study.cluster_settings import ClusterSettings

PLACES = ("local", "slurm")
ADDRESS = re.compile(r"(tcp|tls)://([\w.-]+|\[[0-9a-fA-F:]+\]):\d+")
SLURM_JOBS = 8
TASKS_PER_THREAD = 4
FEWEST_LOSSES = 3
SECONDS_TO_ANSWER = 8
SECONDS_BETWEEN_SUBMISSIONS = 60.0
SECONDS_BETWEEN_STARTS, SECONDS_TO_COME_BACK = 2.0, 30.0
LOOPBACK = "127.0.0.1"
ENVIRONMENT = ONE_THREAD | {"PYTHONSAFEPATH": "1"}
"""Of a worker. A pickle.py in the directory where it starts, among the user's data, is not imported."""

Outcome = tuple[Any, BaseException | None]
Client: TypeAlias = Any
Future: TypeAlias = Any
Servers: TypeAlias = Any
"""Types of Dask, which may not be installed."""


@contextlib.contextmanager
def cluster(where: str, settings: ClusterSettings | None = None, *, threads: int = 1) -> Iterator[None]:
    """Send the tasks of everything inside to other processes or computers.

    Parameters
    ----------
    where
        "local" for processes of this computer, "slurm" for jobs, tcp://host:port or tls://host:port for the workers of
        a Dask scheduler; tasks run here when it is empty.
    settings
        What the cluster is asked for.
    threads
        Processes on this computer, where the settings do not say.

    Notes
    -----
    Answers are the same wherever tasks run. A script that sends tasks to processes of this computer needs Python's
    ``if __name__ == "__main__":``.
    """
    if not where:
        yield
        return
    check_place(where)
    settings = settings or ClusterSettings()
    with _dask_rules(settings), _opened(where, settings, threads) as client:
        n_threads = threads if where == "local" else (settings.workers or SLURM_JOBS) * settings.cores
        with sent_to(DaskWorkers(client=client, n_threads=n_threads, retries=settings.retries)):
            yield


def check_place(where: str) -> None:
    """Refuse a place that is neither known nor an address."""
    if where in PLACES or ADDRESS.fullmatch(where):
        return
    close = difflib.get_close_matches(where.lower(), PLACES, n=1)
    if ADDRESS.fullmatch(f"tcp://{where}"):
        close = [f"tcp://{where}"]
    hint = f" Did you mean {close[0]}?" if close else ""
    raise InputFormatError(
        f"The cluster is {where!r}; local, slurm, tcp://host:port or tls://host:port is needed.{hint}"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class DaskWorkers:
    """Workers of a Dask scheduler, as `sent_to` takes them.

    Parameters
    ----------
    client
        Connected to the scheduler.
    n_threads
        Threads that are expected; those that are there count if they are more.
    retries
        How often a task is tried again.
    """

    client: Client
    n_threads: int = 1
    retries: int = 3

    def run(self, function: Callable[[Any], Any], tasks: Sequence[Any]) -> Iterator[Any]:
        """Apply a function to every task and give the answers in order, as they come.

        A few tasks per thread are under way at any time. An error is raised when the turn of its task comes, so that it
        is the one that would have been raised here.
        """
        if not tasks:
            return
        flight = _Flight(workers=self, function=self._hold(function), places={})
        waiting, landed, turn = iter(enumerate(tasks)), dict[int, Outcome](), 0
        arriving = _distributed().as_completed(loop=self.client.loop)
        try:
            for place, task in itertools.islice(waiting, self._window()):
                arriving.add(flight.send(place, task))
            for batch in arriving.batches():
                for future, outcome in self._fetch(batch):
                    landed[flight.places.pop(future)] = outcome
                    future.release()
                for place, task in itertools.islice(waiting, len(batch)):
                    arriving.add(flight.send(place, task))
                while turn in landed:
                    yield _answer(*landed.pop(turn))
                    turn += 1
        finally:
            self.client.cancel(list(flight.places))

    def _hold(self, function: Callable[[Any], Any]) -> Future:
        """Keep a function among the workers.

        It is the answer of a task, not data: the scheduler makes it anew when the worker that holds it is lost.
        """
        return self.client.submit(pickle.loads, _dumps(function), pure=False, retries=self.retries)

    def _window(self) -> int:
        present: list[int] = list(self.client.nthreads().values())
        return TASKS_PER_THREAD * max(sum(present), self.n_threads)

    def _fetch(self, batch: list[Future]) -> Iterator[tuple[Future, Outcome]]:
        """Fetch the answers of tasks that are done, or their errors."""
        # those whose worker was lost in the meantime are done anew
        good = [future for future in batch if future.status not in ("error", "cancelled")]
        for future, packed in zip(good, self.client.gather(good), strict=True):
            yield future, pickle.loads(packed)
        for future in set(batch).difference(good):
            yield future, (None, _error(future))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Flight:
    """Tasks under way."""

    workers: DaskWorkers
    function: Future
    places: dict[Future, int]

    def send(self, place: int, task: object) -> Future:
        # as bytes: Dask would look into tuples and lists for tasks and futures of its own
        workers = self.workers
        future = workers.client.submit(work, self.function, _dumps(task), pure=False, retries=workers.retries)
        self.places[future] = place
        return future


def work(function: Callable[[Any], Any], packed: bytes) -> bytes:
    """Do one task on a worker.

    Errors of this package are about the data, and trying again would not help; they are answers. Dask tries again
    after any other.
    """
    task = pickle.loads(packed)
    try:
        outcome: Outcome = run_alone(function, task), None
    except EthomarkovError as error:
        outcome = None, error
    return _dumps(outcome)


def _error(future: Future) -> BaseException:
    """Say why a task has no answer."""
    if future.cancelled():
        return EthomarkovError("The Dask scheduler was lost, and the tasks with it. Start it and run this again.")
    error: BaseException = future.exception()
    if isinstance(error, _distributed().KilledWorker):
        return EthomarkovError(
            f"A task was given up because {error.allowed_failures + 1} workers were lost while they did it. They may "
            "have needed more memory or time: raise memory or walltime under [cluster] in the file of settings, and "
            "look into the logs of the workers."
        )
    return error


def _answer(answer: object, error: BaseException | None) -> object:
    if error is not None:
        raise error
    return answer


@contextlib.contextmanager
def _dask_rules(settings: ClusterSettings) -> Iterator[None]:
    """Set what Dask reads from its configuration, and give it a place for its files that is removed afterwards."""
    _distributed()  # its import loads the defaults
    dask = require("dask", extra="cluster", purpose="clusters")
    rules: dict[str, str | int | list[str]] = {
        "distributed.scheduler.allowed-failures": max(FEWEST_LOSSES, settings.retries),
        # recordings travel with the function, once
        "distributed.admin.large-graph-warning-threshold": "1TB",
        # no pages: they would tell every user of this computer what is computed
        "distributed.scheduler.http.routes": [],
        "distributed.worker.http.routes": [],
        **{f"distributed.nanny.{_moment(name)}.{name}": value for name, value in ENVIRONMENT.items()},
    }
    with _same_environment(), tempfile.TemporaryDirectory(prefix="ethomarkov-") as folder:
        rules["temporary-directory"] = folder
        with dask.config.set(rules):
            yield


def _moment(name: str) -> str:
    """Tell when a variable of a worker is set: before it starts where libraries look at it while they are loaded.

    Dask sets those in this process as well, and numba refuses to go on where its number of threads has changed.
    """
    return "environ" if name.startswith("NUMBA") else "pre-spawn-environ"


@contextlib.contextmanager
def _same_environment() -> Iterator[None]:
    """Take back what Dask sets in the environment of this process for the sake of those that it starts."""
    before = {name: os.environ.get(name) for name in ENVIRONMENT}
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


@contextlib.contextmanager
def _opened(where: str, settings: ClusterSettings, threads: int) -> Iterator[Client]:
    """Give a client of the cluster."""
    with contextlib.ExitStack() as stack:
        address = where
        if where == "local":
            address = stack.enter_context(_local(settings, threads))
        elif where == "slurm":
            address = stack.enter_context(_slurm(settings))
        yield stack.enter_context(_connect(address))


@contextlib.contextmanager
def _local(settings: ClusterSettings, threads: int) -> Iterator[Servers]:
    """Start processes on this computer, which nobody reaches from outside, and no other user from inside.

    Keys are made for this run, and known to its processes alone: whoever could talk to them could have them run code.
    """
    n_workers = settings.workers or threads
    require("cryptography", extra="cluster", purpose="clusters")
    processes = _distributed().LocalCluster(
        n_workers=n_workers,
        threads_per_worker=1,
        processes=True,
        host=LOOPBACK,
        security=_distributed().Security.temporary(),
        dashboard_address=None,
        scheduler_kwargs={"dashboard_address": f"{LOOPBACK}:0"},  # else port 8787, or a warning that it is taken
        memory_limit=settings.memory,
        silence_logs=logging.CRITICAL,
    )
    upkeep = _Upkeep(processes, n_workers)
    with processes, _kept_up(upkeep.start, SECONDS_BETWEEN_STARTS):
        yield processes


class _Upkeep:
    """Starts processes of this computer that are lacking.

    Dask starts a lost process again under its old name. Where the old one comes back at the same moment, one of them is
    refused for its name, and Dask believes in a process that is not there; so after a while others are started under
    new names.

    Parameters
    ----------
    processes
        The cluster.
    n_workers
        Processes that it should have.
    """

    def __init__(self, processes: Servers, n_workers: int) -> None:
        self._processes, self._n_workers = processes, n_workers
        self._complete = time.monotonic()

    def start(self) -> None:
        """Start what is lacking."""
        there = {worker.name for worker in list(self._processes.scheduler.workers.values())}
        if len(there) >= self._n_workers:
            self._complete = time.monotonic()
        elif time.monotonic() - self._complete > SECONDS_TO_COME_BACK:
            lost = [name for name in list(self._processes.worker_spec) if name not in there]
            self._processes._i = 1 + max(self._processes.worker_spec, default=0)
            for name in lost:
                self._processes.worker_spec.pop(name, None)
            self._complete = time.monotonic()
        self._processes.scale(self._n_workers)


@contextlib.contextmanager
def _slurm(settings: ClusterSettings) -> Iterator[Servers]:
    """Submit jobs from here, where the scheduler runs."""
    if shutil.which("sbatch") is None:
        raise EthomarkovError(
            "sbatch was not found, so that no SLURM job can be submitted. Run this on a login node of the cluster, or "
            "use --cluster local."
        )
    with slurm_cluster(settings) as made:
        _check_job(made.job_script())
        n_jobs = settings.workers or SLURM_JOBS
        with _kept_up(lambda: made.scale(jobs=n_jobs), SECONDS_BETWEEN_SUBMISSIONS):
            yield made


def slurm_cluster(settings: ClusterSettings) -> Servers:
    """Describe the SLURM jobs; `scale` submits them."""
    jobqueue = require("dask_jobqueue", extra="cluster", purpose="SLURM")
    return jobqueue.SLURMCluster(
        cores=settings.cores,
        processes=1,
        memory=settings.memory,
        walltime=settings.walltime,
        queue=settings.queue or None,
        account=settings.account or None,
        job_name="ethomarkov",
        job_extra_directives=list(settings.job_extra),
        job_script_prologue=[*settings.prologue, *(f"export {name}={value}" for name, value in ENVIRONMENT.items())],
        log_directory=settings.log_directory or None,
        interface=settings.interface or None,
        scheduler_options={"dashboard": False, "dashboard_address": f"{LOOPBACK}:0"} | settings.scheduler_options,
        silence_logs=logging.CRITICAL,
    )


def _check_job(script: str) -> None:
    """Ask SLURM whether it would take the job; Dask would wait for ever for one that is refused."""
    with tempfile.TemporaryDirectory(prefix="ethomarkov-") as folder:
        file = Path(folder) / "job.sh"
        file.write_text(script, encoding="utf-8")
        asked = subprocess.run(["sbatch", "--test-only", str(file)], capture_output=True, text=True, check=False)
    if asked.returncode:
        raise EthomarkovError(
            f"SLURM refuses the job: {asked.stderr.strip()}. Correct queue, account, memory, walltime or job_extra "
            "under [cluster] in the file of settings."
        )


@contextlib.contextmanager
def _kept_up(start: Callable[[], None], seconds: float) -> Iterator[None]:
    """Start workers, and start again those that were lost.

    Dask gives up jobs that end, and processes that are not back within its `lost-worker-timeout`, which takes longer
    on a busy computer.
    """
    over = threading.Event()

    def keep_up() -> None:
        start()
        while not over.wait(seconds):
            start()

    thread = threading.Thread(target=keep_up, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


@contextlib.contextmanager
def _connect(address: str | Servers) -> Iterator[Client]:
    """Connect to a scheduler."""
    if isinstance(address, str):
        _check_scheduler(address)
    try:
        client = _distributed().Client(address, set_as_default=False, timeout=SECONDS_TO_ANSWER)
    except OSError as error:
        raise _nobody_answers(address) from error
    with client:
        if isinstance(address, str) and not client.nthreads():
            warnings.warn(
                f"The scheduler at {address} has no workers; tasks wait until one joins: `dask worker {address}`.",
                EthomarkovWarning,
                stacklevel=2,
            )
        yield client


def _check_scheduler(address: str) -> None:
    """Ask who is at an address, because the client of Dask waits for ever for one that accepts and stays silent."""
    if address.startswith("tls") and not _distributed().Security().tls_ca_file:
        raise EthomarkovError(
            f"{address}: certificates are needed, and Dask's configuration names none. Name them under "
            "distributed.comm.tls, as docs/clusters.md shows."
        )
    try:
        # in a thread, because notebooks have a loop of their own in this one
        with _dask_says_nothing(), ThreadPoolExecutor(max_workers=1) as thread:
            kind = thread.submit(asyncio.run, _ask_kind(address)).result()
    except OSError as error:
        raise _nobody_answers(address) from error
    except Exception as error:  # rubbish may fail anywhere in what decodes it
        raise EthomarkovError(
            f"What answers at {address} does not speak as Dask does ({error}). Give the address that `dask scheduler` "
            "prints."
        ) from error
    if kind != "Scheduler":
        raise EthomarkovError(f"At {address} is a {kind} of Dask. Give the address that `dask scheduler` prints.")


async def _ask_kind(address: str) -> str:
    """Ask a server of Dask what it is; nothing that it says is unpickled."""
    distributed = _distributed()
    async with asyncio.timeout(SECONDS_TO_ANSWER):
        how = distributed.Security().get_connection_args("client")
        comm = await distributed.comm.connect(address, timeout=SECONDS_TO_ANSWER, deserialize=False, **how)
        try:
            await comm.write({"op": "identity", "reply": True})
            return str((await comm.read())["type"])
        finally:
            comm.abort()


@contextlib.contextmanager
def _dask_says_nothing() -> Iterator[None]:
    """Leave what is wrong with an answer to our own message; Dask would print a traceback as well."""
    logger = logging.getLogger("distributed")
    before = logger.level
    logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        logger.setLevel(before)


def _nobody_answers(address: str | Servers) -> EthomarkovError:
    return EthomarkovError(
        f"No Dask scheduler answers at {address} within {SECONDS_TO_ANSWER} s. Start one with `dask scheduler`, and "
        "give the address that it prints."
    )


def _dumps(value: object) -> bytes:
    packed: bytes = require("cloudpickle", extra="cluster", purpose="clusters").dumps(value)
    return packed


def _distributed() -> ModuleType:
    return require("distributed", extra="cluster", purpose="clusters")
