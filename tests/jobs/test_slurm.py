"""The examples of docs/jobs.md on a real Slurm cluster of two virtual nodes on this machine."""

import re
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from conftest import CHECKOUT
from rich.console import Console
from same_search import assert_same_search
from slurm_cluster import kill_node, missing_programs, run, slurm, wait_until

import nasbench1shot1 as nb

pytestmark = pytest.mark.skipif(
    bool(missing_programs()), reason=f"Slurm is not installed here: {', '.join(missing_programs())}"
)
PAGE = (CHECKOUT / "docs" / "jobs.md").read_text()
SMALL: dict[str, Any] = {"scale": "quick", "channels": 2, "cells": 1, "images_per_half": 40, "batch_size": 20}
SMALL |= {"device": "cpu", "threads": 1}
OPTIONS = " ".join(f"--{name.replace('_', '-')} {value}" for name, value in SMALL.items())
Cluster = tuple[Path, dict[str, str]]


@pytest.fixture
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """The folder and the environment of a cluster, in which `nb1shot1` is this checkout's."""
    folder = tmp_path_factory.mktemp("slurm")
    with slurm(folder) as environment:
        path = f"{Path(sys.executable).parent}:{environment['PATH']}"
        yield folder, {**environment, "PATH": path}


def example(start: str) -> str:
    """Return the block of code of the page that begins with a line."""
    blocks = re.findall(r"^```\w+\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    return next(str(block) for block in blocks if block.startswith(start))


def recorded(folder: Path) -> int:
    path = folder / "metrics.jsonl"
    return path.read_text().count("\n") if path.exists() else 0


def adapted(text: str, changes: dict[str, str]) -> str:
    """Return a text with other values, each of which must occur in it."""
    for old, new in changes.items():
        assert old in text, old
        text = text.replace(old, new)
    return text


def test_a_job_array_survives_a_killed_node_and_becomes_a_group(cluster: Cluster, tmp_path: Path) -> None:
    folder, environment = cluster
    script = adapted(
        example("#!/bin/bash"),
        {
            "--array=0-9 ": "--array=0-1 ",
            "--cpus-per-task=4 --mem=16G --gres=gpu:1": "--ntasks-per-node=1 --mem=2500M",
            "--threads 4": f"{OPTIONS} --epochs 60",
        },
    )
    (tmp_path / "array.sh").write_text(script)
    run(environment, "sbatch", f"--chdir={tmp_path}", tmp_path / "array.sh")
    group = tmp_path / "runs" / "darts-s1"
    wait_until(lambda: all(recorded(group / f"seed-{seed}") > 2 for seed in (0, 1)))
    kill_node(folder, run(environment, "squeue", "--noheader", "--format=%N").split()[0])
    wait_until(lambda: not run(environment, "squeue", "--noheader"))
    logs = [(tmp_path / f"darts-{seed}.log").read_text() for seed in (0, 1)]
    assert sum("resum" in log.lower() for log in logs) == 1, logs
    found = nb.search_seeds(
        [0, 1], optimizer="darts", space="s1", epochs=60, out=group, console=Console(quiet=True), **SMALL
    )
    assert found.is_finished
    for seed, searched in enumerate(found):
        whole = nb.search(out=tmp_path / f"whole-{seed}", seed=seed, epochs=60, console=Console(quiet=True), **SMALL)
        assert_same_search(searched, whole)


def test_a_task_that_reaches_its_time_limit_continues_in_the_queue(cluster: Cluster, tmp_path: Path) -> None:
    """Slurm's shortest limit is a minute, and it looks every half minute whether a limit is near."""
    _, environment = cluster
    changes = {
        "--array=0-9 ": "--array=3 ",
        "--cpus-per-task=4 --mem=16G --gres=gpu:1": "--ntasks-per-node=1 --mem=2500M",
        "--time=24:00:00": "--time=1",
        "USR1@300": "USR1@50",
        "--threads 4": f"{OPTIONS} --epochs 9000",
    }
    (tmp_path / "array.sh").write_text(adapted(example("#!/bin/bash"), changes))
    run(environment, "sbatch", f"--chdir={tmp_path}", tmp_path / "array.sh")
    folder = tmp_path / "runs" / "darts-s1" / "seed-3"
    wait_until(lambda: "Restarts=1" in run(environment, "scontrol", "show", "job", "1"))
    stopped = recorded(folder)
    wait_until(lambda: recorded(folder) > stopped + 1)
    run(environment, "scancel", "--name=array.sh")
    assert [line["epoch"] for line in nb.open_run(folder).lines] == list(range(recorded(folder)))


def test_seeds_studies_and_trainings_run_on_workers_of_dask_and_survive_a_killed_node(
    cluster: Cluster, tmp_path: Path
) -> None:
    folder, environment = cluster
    changes = {
        'queue="gpu"': 'queue="cpu"',
        "job_cpu=4,": "job_cpu=1, interface='lo',",
        'memory="16GB"': 'memory="2500MB"',
        'job_extra_directives=["--gres=gpu:1"],': "",
        'worker_extra_args=["--resources", "GPU=1", "--lifetime", "23h", "--lifetime-stagger", "10m"]': (
            'worker_extra_args=["--lifetime", "23h"]'
        ),
        'scheduler_options={"port": 8786}': 'scheduler_options={"port": 0, "dashboard_address": ":0"}',
        "minimum=1, maximum=20": "minimum=1, maximum=2",
    }
    (tmp_path / "cluster.py").write_text(adapted(example("# cluster.py"), changes))
    line = [sys.executable, tmp_path / "cluster.py"]
    with subprocess.Popen(line, env=environment, cwd=tmp_path, stdout=subprocess.PIPE, text=True) as started:
        assert started.stdout is not None
        try:
            where: dict[str, Any] = {"scheduler": started.stdout.readline().strip(), "console": Console(quiet=True)}
            with ThreadPoolExecutor() as pool:
                options = {**SMALL, "epochs": 60}
                seeds = pool.submit(nb.search_seeds, [0, 1], out=tmp_path / "seeds", **where, **options)
                wait_until(lambda: all(recorded(tmp_path / "seeds" / f"seed-{seed}") > 2 for seed in (0, 1)))
                kill_node(folder, run(environment, "squeue", "--noheader", "--format=%N").split()[0])
                group = seeds.result()
            study = nb.tune(
                optimizer="gdas", space="s1", out=tmp_path / "study", **where, **SMALL,
                min_budget=1, max_budget=2, eta=2, iterations=1,
            )  # fmt: skip
            space = nb.search_space("s1")
            trained = nb.train_cells(
                [space[0], space[4711]], seeds=[0], out=tmp_path / "trainings", **where,
                scale="quick", stem_channels=2, cells_per_stack=1, batch_size=250, epochs=1, device="cpu", threads=1,
            )  # fmt: skip
        finally:
            started.kill()
    for seed, searched in enumerate(group):
        whole = nb.search(out=tmp_path / f"whole-{seed}", seed=seed, console=Console(quiet=True), **options)
        assert_same_search(searched, whole)
    assert study.is_finished
    assert trained.table().query(space[4711]).test_accuracy > 0
