"""Where the work of a command is done."""

import contextlib
from collections.abc import Iterator

from ethomarkov.cli.options import RunningOptions
from ethomarkov.cli.terminal import limited_threads
from ethomarkov.study.cluster import cluster
from ethomarkov.study.cluster_settings import ClusterSettings


@contextlib.contextmanager
def at_work(running: RunningOptions, cluster_settings: ClusterSettings | None = None) -> Iterator[int]:
    """Keep to the cores that were asked for, send tasks to the cluster if there is one, and tell how many cores."""
    with limited_threads(running.threads) as threads, cluster(running.cluster, cluster_settings, threads=threads):
        yield threads
