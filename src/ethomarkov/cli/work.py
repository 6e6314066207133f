"""Where the work of a command is done."""

import contextlib
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ethomarkov.cli.options import RunningOptions

if TYPE_CHECKING:
    from ethomarkov.study.cluster_settings import ClusterSettings


@contextlib.contextmanager
def at_work(running: RunningOptions, cluster_settings: "ClusterSettings | None" = None) -> Iterator[int]:
    """Keep to the cores that were asked for, send tasks to the cluster if there is one, and tell how many cores."""
    from threadpoolctl import threadpool_limits

    from ethomarkov.study.cluster import cluster

    cores = count_cores(running)
    with threadpool_limits(cores), cluster(running.cluster, cluster_settings, threads=cores):
        yield cores


def count_cores(running: RunningOptions) -> int:
    """Give the number of cores that a command may use."""
    return running.threads or os.cpu_count() or 1
