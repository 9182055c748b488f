"""A local dask cluster whose worker processes run one job at a time."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager

from distributed import LocalCluster


@contextmanager
def dask_workers(count: int, **options: object) -> Iterator[LocalCluster]:
    with LocalCluster(n_workers=count, threads_per_worker=1, dashboard_address=":0", **options) as cluster:
        yield cluster


def kill_worker(process: int, cluster: LocalCluster) -> None:
    """Send SIGKILL to a worker process of the cluster."""
    assert process in {nanny.pid for nanny in cluster.workers.values()}
    os.kill(process, signal.SIGKILL)
