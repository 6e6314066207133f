"""Tasks on a cluster: the same answers as here, whatever happens to workers."""

import contextlib
import http.client
import os
import re
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from ethomarkov._core import parallel
from ethomarkov._core.parallel import map_tasks, sent_to
from ethomarkov.exceptions import (
    ConnectivityError,
    EthomarkovError,
    EthomarkovWarning,
    InputFormatError,
    MissingDependencyError,
    SettingsError,
)
from ethomarkov.markov import MarkovChain
from ethomarkov.markov.entropy_scan import ScanSettings, scan_entropy
from ethomarkov.markov.noise_floor import Shuffles, noise_floor
from ethomarkov.simulation.symbols import simulate_symbols
from ethomarkov.study import Settings, run_study
from ethomarkov.study import cluster as module
from ethomarkov.study.cluster import DaskWorkers, check_place, cluster, slurm_cluster
from ethomarkov.study.cluster_settings import ClusterSettings
from ethomarkov.synthetic import simulate_worms
from ethomarkov.validation.splits import FitSettings, block_splits, cross_validate

dask = pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")
pytest.importorskip("cryptography")
psutil = pytest.importorskip("psutil")
pytest.importorskip("dask_jobqueue")
pytest.importorskip("cloudpickle").register_pickle_by_value(sys.modules[__name__])  # workers cannot import tests


@pytest.fixture(scope="module")
def workers():
    """Two processes, to which a test sends tasks if it wants to."""
    with cluster("local", ClusterSettings(workers=2, retries=2)):
        inside = parallel._workers.get()
        with sent_to(None):
            yield inside


@pytest.fixture(scope="module")
def postures():
    worms = simulate_worms(3, 60.0, seed=5)
    return worms.basis.project(worms.recording)


def wait_until(true, seconds=120):
    deadline = time.monotonic() + seconds
    while not true() and time.monotonic() < deadline:
        time.sleep(0.02)
    return true()


def everywhere(workers, compute):
    """The same from one thread, two threads and two processes."""
    here = [compute(threads) for threads in (1, 2)]
    with sent_to(workers):
        return [*here, compute(1)]


class TestSameAnswers:
    @pytest.mark.slow
    def test_a_whole_study_to_the_byte(self, workers, tmp_path):
        """Stages, kept tasks and all: one thread, two threads, two processes."""
        worms = simulate_worms(2, 90.0, seed=4)
        settings = Settings(
            n_delays=11, lag=0.75, n_states=10, n_walks=2, simulated_minutes=0.2, n_resamples=3, n_behaviours=3
        )
        places = (tmp_path / name for name in ("one", "two", "far"))

        def compute(threads):
            directory = next(places)
            run_study(worms.recording, settings, basis=worms.basis, directory=directory, threads=threads)
            return (directory / "study.nc").read_bytes()

        one, two, far = everywhere(workers, compute)
        assert one == two == far

    @pytest.mark.slow
    def test_entropy_scan(self, workers, postures):
        grid = ScanSettings(n_delays=(1, 4, 8), n_states=(5, 20), first_iterations=4, further_iterations=2, seed=3)
        one, two, far = everywhere(workers, lambda threads: scan_entropy(postures, grid, threads=threads))
        assert np.isfinite(one.entropy_rate).all()
        for other in (two, far):
            np.testing.assert_array_equal(one.entropy_rate, other.entropy_rate)
            np.testing.assert_array_equal(one.entropy, other.entropy)

    def test_noise_floor(self, workers, random_walks):
        chain, symbols = random_walks
        how = Shuffles(n=9, seed=4)
        one, two, far = everywhere(workers, lambda n: noise_floor(symbols, chain.lag, shuffles=how, threads=n))
        assert np.unique(one.eigenvalues).size == 9
        np.testing.assert_array_equal(one.eigenvalues, two.eigenvalues)
        np.testing.assert_array_equal(one.eigenvalues, far.eigenvalues)

    def test_cross_validation(self, workers, postures):
        fit = FitSettings(n_delays=3, n_states=15, lag=0.25, n_runs=3, max_iterations=4, min_measure=0.0, seed=6)
        splits = block_splits(postures.segments, 4, 1, 2, rng=0)
        statistics = {"spread": lambda series, _: np.nanstd(series.values, axis=0)}
        one, two, far = everywhere(
            workers, lambda n: cross_validate(postures, fit, splits, statistics, threads=n).comparisons["spread"]
        )
        assert np.isfinite(one.simulated).all()
        for other in (two, far):
            np.testing.assert_array_equal(one.simulated, other.simulated)
            np.testing.assert_array_equal(one.test, other.test)


@pytest.fixture(scope="module")
def random_walks():
    """A chain of twelve states in two loosely coupled halves, and five walks on it."""
    rng = np.random.default_rng(1)
    weight = rng.random((12, 12)) + 0.1
    weight[:6, 6:] *= 0.05
    weight[6:, :6] *= 0.05
    chain = MarkovChain.from_counts(sparse.csr_array(weight), 1.0)
    symbols = simulate_symbols(chain, 600, n_walks=5, rng=2)
    return MarkovChain.from_symbols(symbols, 1.0), symbols


class TestTasks:
    def test_answers_come_in_order_from_both_processes(self, workers, tmp_path):
        def slow_first(task):
            (tmp_path / str(os.getpid())).touch()
            if task == 0:
                wait_until(lambda: len(list(tmp_path.iterdir())) == 2)
            return task, os.getpid()

        told = []
        with sent_to(workers):
            answers = map_tasks(slow_first, range(40), progress=lambda *call: told.append(call))
        assert [task for task, _ in answers] == list(range(40))
        pids = {pid for _, pid in answers}
        assert len(pids) == 2
        assert os.getpid() not in pids
        assert told == [("tasks", done, 40) for done in range(1, 41)]

    def test_nothing_to_do(self, workers):
        assert list(workers.run(abs, [])) == []

    def test_a_task_is_what_was_given(self, workers):
        """Dask takes a tuple that begins with a function for a call, and looks for futures in lists."""
        tasks = [(abs, -1), [(max, 1, 2)], {"a": (abs, -1)}, None]
        assert list(workers.run(lambda task: task, tasks)) == tasks

    def test_a_slow_task_does_not_hold_up_the_others(self, workers, tmp_path):
        """One task waits until all others are done, which are more than are under way at any time."""
        n_tasks = 3 * module.TASKS_PER_THREAD * 2

        def wait_for_others(task):
            (tmp_path / str(task)).touch()
            if task == 0:
                wait_until(lambda: len(list(tmp_path.iterdir())) == n_tasks)
            return len(list(tmp_path.iterdir())) if task == 0 else task

        answers = list(workers.run(wait_for_others, range(n_tasks)))
        assert answers == [n_tasks, *range(1, n_tasks)]

    def test_only_a_few_are_under_way(self, workers, monkeypatch):
        send, under_way = module._Flight.send, []

        def counted(flight, place, task):
            future = send(flight, place, task)
            under_way.append(len(flight.places))
            return future

        monkeypatch.setattr(module._Flight, "send", counted)
        assert list(workers.run(abs, range(100))) == list(range(100))
        assert len(under_way) == 100
        assert 1 < max(under_way) <= 2 * module.TASKS_PER_THREAD

    def test_answers_may_be_written_to(self, workers):
        (answer,) = workers.run(np.zeros, [100_000])
        answer[0] = 1.0

    def test_one_thread_of_linear_algebra(self, workers):
        def pools(_):
            import threadpoolctl

            return [pool["num_threads"] for pool in threadpoolctl.threadpool_info()], os.environ["NUMBA_NUM_THREADS"]

        threads, numba = next(workers.run(pools, [0]))
        assert set(threads) == {1}
        assert numba == "1"

    def test_modules_beside_the_data_are_not_imported(self, workers):
        assert list(workers.run(lambda _: sys.flags.safe_path, range(4))) == [True] * 4

    def test_nobody_else_is_reached_or_listened_to(self, workers):
        here = psutil.Process()
        sockets = [one for process in (here, *here.children(recursive=True)) for one in process.net_connections("inet")]
        listening = {one.laddr.ip for one in sockets if one.status == psutil.CONN_LISTEN}
        assert listening == {"127.0.0.1"}

    def test_an_address_is_joined_and_left_as_it_was(self, workers):
        with certificates(workers.client.security), cluster(workers.client.scheduler.address):
            pids = map_tasks(lambda _: os.getpid(), range(3))
        assert os.getpid() not in pids
        assert next(workers.run(abs, [-1])) == 1


class TestKeys:
    """Processes of this computer talk to those alone that know the keys of the run."""

    def test_every_process_asks_for_them(self, workers):
        for address in addresses(workers):
            assert address.startswith("tls://")
            with pytest.raises(EthomarkovError, match="No Dask scheduler answers"):
                module._check_scheduler(address.replace("tls://", "tcp://"))

    def test_others_do_not_open(self, workers):
        scheduler = workers.client.scheduler.address
        with certificates(distributed.Security.temporary()), pytest.raises(EthomarkovError, match="No Dask scheduler"):
            module._check_scheduler(scheduler)

    def test_none_are_told(self):
        with pytest.raises(EthomarkovError, match=r"^tls://127\.0\.0\.1:1: certificates are needed"):
            module._check_scheduler("tls://127.0.0.1:1")

    def test_without_the_package_that_makes_them(self, monkeypatch):
        monkeypatch.setitem(sys.modules, "cryptography", None)
        told = r'cryptography is needed .*"ethomarkov\[cluster\]"'
        with pytest.raises(MissingDependencyError, match=told), cluster("local"):
            pass

    def test_no_page_tells_what_is_computed(self, workers):
        here = psutil.Process()
        ports = {
            one.laddr.port
            for process in (here, *here.children(recursive=True))
            for one in process.net_connections("inet")
            if one.status == psutil.CONN_LISTEN
        }
        guarded = {int(address.rpartition(":")[2]) for address in addresses(workers)}
        assert guarded < ports  # the others are of HTTP
        for port in ports - guarded:
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
            connection.request("GET", "/info/main/workers.html")
            assert connection.getresponse().status == 404
            connection.close()


def addresses(workers):
    """Of the scheduler, its workers, and the processes that watch them."""
    info = workers.client.scheduler_info()["workers"]
    return [workers.client.scheduler.address, *info, *(one["nanny"] for one in info.values())]


def certificates(security):
    """Name keys in the configuration of Dask, as users do."""
    names = {"ca-file": security.tls_ca_file}
    names |= {"client.key": security.tls_client_key, "client.cert": security.tls_client_cert}
    return dask.config.set({f"distributed.comm.tls.{name}": value for name, value in names.items()})


class TestErrors:
    def test_ours_arrive_as_themselves_and_are_not_tried_again(self, workers, tmp_path):
        def fail(task):
            (tmp_path / f"{task} {time.monotonic_ns()}").touch()
            raise ConnectivityError(f"task {task} has no chain.")

        with sent_to(workers), pytest.raises(ConnectivityError, match=r"^task 7 has no chain\.$"):
            map_tasks(fail, [7])
        assert len(list(tmp_path.iterdir())) == 1

    def test_others_arrive_as_themselves_after_retries(self, workers, tmp_path):
        def fail(task):
            (tmp_path / f"{task} {time.monotonic_ns()}").touch()
            raise KeyError(task)

        with sent_to(workers), pytest.raises(KeyError, match="7"):
            map_tasks(fail, [7])
        assert len(list(tmp_path.iterdir())) == 1 + workers.retries

    def test_what_fails_once_is_tried_again(self, workers, tmp_path):
        def fail_once(task):
            if not (tmp_path / str(task)).exists():
                (tmp_path / str(task)).touch()
                raise OSError("the disk is away")
            return task

        assert list(workers.run(fail_once, range(3))) == [0, 1, 2]

    def test_the_first_in_order_is_raised(self, workers):
        def fail(task):
            time.sleep(0.3 if task == 1 else 0.0)
            if task:
                raise ConnectivityError(f"task {task}")
            return task

        answers = workers.run(fail, range(6))
        assert next(answers) == 0
        with pytest.raises(ConnectivityError, match="task 1"):
            next(answers)


class TestLostWorkers:
    @pytest.mark.slow
    def test_cost_a_retry_only(self, workers, tmp_path):
        """Both processes are killed in the middle of a task, and with them the function that they hold."""
        condemned = set(workers.client.run(os.getpid).values())

        def note(task):
            (tmp_path / f"{task} {os.getpid()}").touch()
            if task >= 4 and os.getpid() in condemned:
                os.kill(os.getpid(), signal.SIGKILL)
            return task, os.getpid()

        answers = list(workers.run(note, range(40)))
        assert [task for task, _ in answers] == list(range(40))
        started = [tuple(map(int, name.name.split())) for name in tmp_path.iterdir()]
        died = set(started) - set(answers)
        assert {pid for _, pid in died} == condemned
        assert len(condemned) == 2

    @pytest.mark.slow
    def test_are_replaced_when_they_do_not_come_back(self):
        """A process that takes longer to start again than Dask waits for is not the end."""
        with dask.config.set({"distributed.deploy.lost-worker-timeout": "0.01s"}), cluster("local", threads=1):
            workers = parallel._workers.get()
            assert isinstance(workers, DaskWorkers)
            (condemned,) = workers.client.run(os.getpid).values()

            def die_once(task):
                if os.getpid() == condemned:
                    os.kill(condemned, signal.SIGKILL)
                return task

            assert list(workers.run(die_once, range(3))) == [0, 1, 2]
            (reborn,) = wait_until(lambda: workers.client.scheduler_info()["workers"])
            assert reborn.startswith("tls://")

    @pytest.mark.slow
    def test_one_that_dask_still_believes_in_is_replaced_under_a_new_name(self, monkeypatch):
        monkeypatch.setattr("ethomarkov.study.cluster.SECONDS_TO_COME_BACK", 0.5)
        with dask.config.set({"distributed.deploy.lost-worker-timeout": "1h"}), cluster("local", threads=1):
            workers = parallel._workers.get()
            assert isinstance(workers, DaskWorkers)
            servers = workers.client.cluster
            ((name, nanny),) = servers.workers.items()
            servers.sync(nanny.close)
            assert wait_until(lambda: set(servers.workers) - {name} and workers.client.nthreads())
            assert list(workers.run(abs, [-1, -2])) == [1, 2]

    @pytest.mark.slow
    def test_a_task_that_kills_its_worker_is_given_up(self, workers):
        def die(task):
            os.kill(os.getpid(), signal.SIGKILL)

        with pytest.raises(EthomarkovError, match=r"4 workers were lost .* raise memory or walltime"):
            list(workers.run(die, [0]))
        assert list(workers.run(abs, [-2])) == [2]


@pytest.mark.slow
def test_nothing_is_left_behind(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    before = dict(os.environ)
    with cluster("local", threads=2):
        assert os.environ.get("NUMBA_NUM_THREADS") == before.get("NUMBA_NUM_THREADS")
        assert [path.name[:11] for path in tmp_path.iterdir()] == ["ethomarkov-"]
        workers = parallel._workers.get()
        assert isinstance(workers, DaskWorkers)
        pids = set(workers.client.run(os.getpid).values())
        assert len(pids) == 2
        assert pids.issuperset(map_tasks(lambda _: os.getpid(), range(8)))
    assert list(tmp_path.iterdir()) == []
    assert all_end(pids)
    assert dict(os.environ) == before
    assert map_tasks(lambda _: os.getpid(), [0]) == [os.getpid()]


class TestPlaces:
    def test_nowhere_is_here(self):
        with cluster("", ClusterSettings(), threads=2):
            assert parallel._workers.get() is None

    @pytest.mark.parametrize(
        "where", ["local", "slurm", "tcp://10.0.0.7:8786", "tcp://login-1.uni.edu:80", "tcp://[::1]:8786", "tls://a:1"]
    )
    def test_known(self, where):
        check_place(where)

    @pytest.mark.parametrize(
        ("where", "hint"),
        [
            ("slrum", " Did you mean slurm?"),
            ("Local", " Did you mean local?"),
            ("login-1:8786", " Did you mean tcp://login-1:8786?"),
            ("tcp://login-1", ""),
            ("tcp://login-1:8786/", ""),
            ("kubernetes", ""),
        ],
    )
    def test_unknown(self, where, hint):
        with pytest.raises(InputFormatError) as caught, cluster(where):
            pass
        assert (
            str(caught.value)
            == f"The cluster is {where!r}; local, slurm, tcp://host:port or tls://host:port is needed.{hint}"
        )

    def test_nobody_answers(self, monkeypatch):
        monkeypatch.setattr(module, "SECONDS_TO_ANSWER", 0.5)
        silent = "tcp://127.0.0.1:1"
        with pytest.raises(EthomarkovError, match=f"No Dask scheduler answers at {silent} "), cluster(silent):
            pass

    @pytest.mark.parametrize(
        ("said", "told"),
        [
            (b"", "No Dask scheduler answers at"),
            (b"\x10", "No Dask scheduler answers at"),
            (b"HTTP/1.1 400 Bad Request\r\n\r\n", "does not speak as Dask does"),
            (bytes(1000), "does not speak as Dask does"),
            (struct.pack("<4Q", 24, 1, 8, 0) + b"\xc1" * 8, "does not speak as Dask does"),
        ],
        ids=["nothing", "one byte", "http", "zeros", "no msgpack"],
    )
    def test_something_else_answers(self, monkeypatch, capfd, said, told):
        monkeypatch.setattr(module, "SECONDS_TO_ANSWER", 0.5)
        with socket.create_server(("127.0.0.1", 0)) as server:
            address = f"tcp://127.0.0.1:{server.getsockname()[1]}"
            threading.Thread(target=talk, args=(server, said), daemon=True).start()
            with pytest.raises(EthomarkovError, match=told), cluster(address):
                pass
        assert capfd.readouterr() == ("", "")

    def test_a_worker_is_no_scheduler(self, workers):
        address = next(iter(workers.client.scheduler_info()["workers"]))
        with certificates(workers.client.security), pytest.raises(EthomarkovError, match="is a Worker of Dask"):
            module._check_scheduler(address)

    def test_nobody_works(self):
        scheduler = {"dashboard_address": "127.0.0.1:0"}
        with distributed.LocalCluster(n_workers=0, dashboard_address=None, scheduler_kwargs=scheduler) as empty:
            address = empty.scheduler_address
            with pytest.warns(EthomarkovWarning, match=f"no workers; .* `dask worker {address}`"), cluster(address):
                pass

    @pytest.mark.parametrize("missing", ["distributed", "dask"])
    def test_without_dask(self, monkeypatch, missing):
        monkeypatch.setitem(sys.modules, missing, None)
        with pytest.raises(MissingDependencyError) as caught, cluster("local"):
            pass
        assert str(caught.value) == f'{missing} is needed for clusters: pip install "ethomarkov[cluster]"'

    def test_without_slurm(self, monkeypatch, tmp_path):
        monkeypatch.setenv("PATH", str(tmp_path))
        with pytest.raises(EthomarkovError, match="sbatch was not found"), cluster("slurm"):
            pass

    @pytest.mark.slow
    def test_dask_is_imported_when_it_is_needed(self):
        script = (
            "import sys, ethomarkov.study.cluster\n"
            "print([name for name in ('dask', 'distributed', 'dask_jobqueue') if name in sys.modules])"
        )
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60)
        assert done.stdout == "[]\n"

    def test_one_module_knows_dask(self):
        """The import contract sees statements, and not `require`."""
        source = Path(module.__file__).parents[1]
        named = re.compile(
            r"[\"'](dask|distributed|dask_jobqueue)[\"'.]|import (dask|distributed)|from (dask|distributed)"
        )
        knowing = {path.name for path in source.rglob("*.py") if named.search(path.read_text(encoding="utf-8"))}
        # the check of an installation only looks for the name among installed packages
        assert knowing == {"cluster.py", "checks.py"}


def talk(server, said):
    """Accept whoever comes, say something, and hold the line."""
    held = []
    with contextlib.suppress(OSError):
        while True:
            held.append(server.accept()[0])
            held[-1].sendall(said)


class TestSettings:
    def test_unknown_ones_are_refused(self):
        with pytest.raises(SettingsError, match="partition"):
            ClusterSettings.model_validate({"partition": "short"})

    @pytest.mark.parametrize(
        "wrong",
        [{"workers": 0}, {"cores": 0}, {"memory": "4"}, {"memory": "lots"}, {"walltime": "4h"}, {"retries": -1}],
    )
    def test_impossible_ones_are_refused(self, wrong):
        with pytest.raises(SettingsError):
            ClusterSettings.model_validate(wrong)

    def test_survive_being_written(self):
        settings = ClusterSettings(job_extra=("--exclusive",), scheduler_options={"port": 8786}, memory="2.5 GiB")
        assert ClusterSettings.model_validate_json(settings.model_dump_json()) == settings


SLURM = ClusterSettings(
    workers=2,
    cores=3,
    memory="6GiB",
    walltime="1-02:03:04",
    queue="short",
    account="worms",
    job_extra=("--constraint=haswell", "--exclusive"),
    prologue=("module load python",),
    interface="lo",
)


class TestSlurm:
    def test_the_job_asks_for_what_was_set(self):
        with slurm_cluster(SLURM) as made:
            lines = made.job_script().splitlines()
        for directive in (
            "-J ethomarkov",
            "-p short",
            "-A worms",
            "-n 1",
            "--cpus-per-task=3",
            "--mem=6G",
            "-t 1-02:03:04",
            "--constraint=haswell",
            "--exclusive",
        ):
            assert f"#SBATCH {directive}" in lines
        worker = lines[-1]
        assert worker.startswith(sys.executable)
        for option in ("--nthreads 3", "--memory-limit 6.00GiB", "--interface lo"):
            assert option in worker
        assert "export PYTHONSAFEPATH=1" in lines
        assert lines.index("module load python") < lines.index("export NUMBA_NUM_THREADS=1") < len(lines) - 1

    def test_what_is_empty_is_left_out(self):
        with slurm_cluster(ClusterSettings(interface="lo")) as made:
            script = made.job_script()
        for directive in ("-p", "-A", "-o", "-e"):
            assert f"#SBATCH {directive} " not in script

    def test_a_refused_job_is_told(self, slurm):
        (slurm / "refusal").write_text("sbatch: error: invalid account")
        told = r"SLURM refuses the job: sbatch: error: invalid account\. Correct"
        with pytest.raises(EthomarkovError, match=told), cluster("slurm", ClusterSettings(interface="lo")):
            pass

    @pytest.mark.slow
    def test_jobs_that_end_are_submitted_again(self, slurm, monkeypatch):
        """A stand-in for sbatch runs the job here; the job is killed as it would be at the end of its time."""
        monkeypatch.setattr(module, "SECONDS_BETWEEN_SUBMISSIONS", 0.5)
        settings = ClusterSettings(workers=1, interface="lo", memory="1GB")
        with dask.config.set({"distributed.deploy.lost-worker-timeout": "0.5s"}), cluster("slurm", settings):
            workers = parallel._workers.get()
            assert isinstance(workers, DaskWorkers)
            answers = workers.run(lambda task: (time.sleep(0.1), task)[1], range(30))
            first = [next(answers) for _ in range(5)]
            (job,) = submitted(slurm)
            os.killpg(job, signal.SIGKILL)
            assert [*first, *answers] == list(range(30))
            assert len(submitted(slurm)) == 2
        assert all_end(submitted(slurm))


def all_end(pids):
    """Whether processes end; one that was killed may take a moment on a busy computer."""
    return wait_until(lambda: not any(map(runs, pids)))


def runs(pid):
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def submitted(folder):
    return [int(line) for line in (folder / "jobs").read_text().split()]


@pytest.fixture
def slurm(tmp_path, monkeypatch):
    """Stand-ins for the commands of SLURM, which run jobs on this computer."""
    commands = {
        "sbatch": f"""
            if [ "$1" = --test-only ]; then cat {tmp_path}/refusal >&2 2>/dev/null && exit 1; exit 0; fi
            cp "$1" {tmp_path}/script  # the file is removed when this returns
            setsid bash {tmp_path}/script >/dev/null 2>&1 &
            until kill -0 -- "-$!" 2>/dev/null; do sleep 0.01; done  # scancel ends its group, which starts with setsid
            echo $! >> {tmp_path}/jobs
            echo Submitted batch job $!
        """,
        "scancel": 'kill -KILL -- "-$1" 2>/dev/null',
    }
    for name, lines in commands.items():
        file = tmp_path / "bin" / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(f"#!/bin/bash\n{lines}\n")
        file.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    return tmp_path
