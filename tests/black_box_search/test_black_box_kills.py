"""Black-box studies whose master, dask workers and worker processes are killed at random times (`killing`)."""

import random
from collections import Counter
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from killing import KILLS, PIDS, dask_processes, last_pids, run_with_kills, start_master
from rich.console import Console

import nasbench1shot1 as nb
from nasbench1shot1.jobs.job import run_until_finished

STUDY = "nasbench1shot1.black_box_search.studying:black_box"
OPTIONS = {"optimizer": "random", "space": "s1", "evaluations": 25, "repeats": 300}


def search(folder: Path, where: dict[str, Any]) -> None:
    """Run the study to its end, or resume it."""
    run_until_finished(STUDY, folder, {**OPTIONS, **where}, where, console=Console(quiet=True))


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> nb.BlackBoxStudy:
    folder = tmp_path_factory.mktemp("whole") / "study"
    run_until_finished(STUDY, folder, OPTIONS, console=Console(quiet=True))
    return nb.BlackBoxStudy.open(folder)


@pytest.mark.parametrize("is_cluster", [False, True], ids=["local", "dask"])
def test_kills_neither_lose_nor_repeat_nor_change_a_search(
    tmp_path: Path, whole: nb.BlackBoxStudy, is_cluster: bool
) -> None:
    rng, killed, studies = random.Random(3), Counter[str](), 0
    with dask_processes(tmp_path, 2) if is_cluster else nullcontext() as cluster:
        where = {"scheduler": cluster.address} if cluster else {"workers": 2}
        while killed.total() < KILLS:
            folder = tmp_path / f"study-{studies}"
            killed += run_with_kills(
                lambda of=folder: start_master(search, of, where),
                {"process": lambda: last_pids(tmp_path / PIDS)} | ({"worker": cluster.pids} if cluster else {}),
                rng,
                KILLS - killed.total(),
                *([cluster.revive] if cluster else []),
                mean=0.4,
                turn=studies,
            )
            made = nb.BlackBoxStudy.open(folder)
            assert made.lines == whole.lines
            assert made.summary == whole.summary
            studies += 1
    print(f"{where}: {dict(killed)} in {studies} studies")
    assert killed["master"] and killed["process"]
