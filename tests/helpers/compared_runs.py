"""Run folders for comparisons without searching: known architectures and clocks, values from the real table."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import synthetic_study as synthetic
from rich.console import Console

import nasbench1shot1 as nb
from nasbench1shot1.ground.files import write_json
from nasbench1shot1.one_shot_search.group import SearchGroup
from nasbench1shot1.one_shot_search.record import PARAMETERS, PARAMETERS_DIGEST, parameters_digest, split_by_epoch
from nasbench1shot1.tuning.record import Study

FACTS = {"space_id": "nb101-s1-v1", "dataset": "cifar10"}


def search(folder: Path, ranks: Sequence[int], *, finished: bool = True, **options: Any) -> nb.Run:
    """A search that preferred architectures of s1 with these ranks (0: lowest error) after epochs 0, 1, …."""
    found = [synthetic.architectures("s1")[rank] for rank in ranks]
    own = {"optimizer": "darts", "space": "s1", "scale": "quick", "epochs": 4, "device": "cpu", "threads": 1}
    folder.mkdir(parents=True)
    synthetic.write_run(folder, found, {**own, **options})
    if not finished:
        (folder / "summary.json").unlink()
    with_facts(folder)
    return nb.load_run(folder)


def group(folder: Path, ranks: Sequence[Sequence[int]], started: int | None = None, **options: Any) -> SearchGroup:
    """A group of seeds 0, 1, …; the first `started` have started (default: all)."""
    folder.mkdir(parents=True)
    options = {"optimizer": "darts", "space": "s1", "epochs": 4, **options}
    write_json(folder / "seeds.json", {"seeds": list(range(len(ranks))), "options": options})
    for seed, own in enumerate(ranks[:started]):
        search(folder / f"seed-{seed}", own, seed=seed, **options)
    return SearchGroup.open(folder)


def black_box(folder: Path, optimizer: str = "random", **options: Any) -> nb.BlackBoxStudy:
    own = {"space": "s1", "repeats": 5, "evaluations": 6, **options}
    return nb.black_box(optimizer, out=folder, console=Console(quiet=True), **own)


def tuning(folder: Path, **options: Any) -> Study:
    synthetic.write_study(folder, **{"iterations": 2, "min_budget": 2, "max_budget": 4, **options})
    with_facts(folder)
    return Study.open(folder)


def with_facts(folder: Path, **facts: Any) -> Path:
    """Record the real (or the given) facts about the data of a run."""
    path = folder / "config.json"
    known = {**FACTS, "table_id": synthetic.table().id, **facts}
    path.write_text(json.dumps({**json.loads(path.read_text()), **known}))
    return folder


def with_parameters(run: nb.Run, seed: int = 0) -> nb.Run:
    """Record random Λ for every epoch of a search; the recorded architectures do not follow from it."""
    rng, shapes = np.random.default_rng(seed), nb.search_space(run.config["space"]).mixing_shapes()
    drawn = {key: rng.normal(size=(len(run.lines), *shape)).astype(np.float32) for key, shape in shapes.items()}
    np.savez(run.folder / PARAMETERS, **drawn)
    summary = run.folder / "summary.json"
    if summary.exists():
        found = {PARAMETERS_DIGEST: parameters_digest(split_by_epoch(drawn))}
        summary.write_text(json.dumps({**json.loads(summary.read_text()), **found}))
    return nb.load_run(run.folder)
