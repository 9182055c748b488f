"""Small files in the formats of NAS-Bench-201 and NATS-Bench, with made-up trainings of a few architectures."""

from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import torch

from nasbench1shot1.nasbench201.architecture import SPACE_NAME, EdgeArchitecture
from nasbench1shot1.nasbench201.benchmark import CLASSES, IMAGES
from nasbench1shot1.nasbench201.numbering import all_operations

SETS = {
    "cifar10-valid": ("x-valid", "ori-test"),
    "cifar10": ("ori-test",),
    "cifar100": ("x-valid", "x-test", "ori-test"),
    "ImageNet16-120": ("x-valid", "x-test", "ori-test"),
}
SPLITS = {"x-valid": "validation", "x-test": "test", "ori-test": "test"}
ONE_SEED = {12: (777,), 200: (888,)}
ALL_SEEDS = {12: (777,), 200: (777, 888, 999)}


@cache
def names() -> tuple[str, ...]:
    """Strings of all architectures in official order."""
    return tuple(EdgeArchitecture.unchecked(SPACE_NAME, tuple(row)).official for row in all_operations().tolist())


def trial(dataset: str, seed: int, epochs: int, architecture: str, rng: np.random.Generator) -> dict[str, Any]:
    """Fields of a `ResultsCount`; accuracies are percentages computed as means over batches.

    Only the last epoch is evaluated, as in the files of 2020.
    """

    def percents(split: str, size: int) -> list[float]:
        images = IMAGES[dataset][split]
        found: list[float] = (100 * rng.integers(images, size=size) / images).astype(np.float32).tolist()
        return found

    last = [f"{name}@{epochs - 1}" for name in SETS[dataset]]
    keys = [f"{name}@{epoch}" for name in SETS[dataset] for epoch in range(epochs)]
    return {
        "name": dataset,
        "net_state_dict": None,
        "train_acc1es": dict(enumerate(percents("train", epochs))),
        "train_acc5es": None,
        "train_losses": dict(enumerate(rng.random(epochs).tolist())),
        "train_times": dict.fromkeys(range(epochs), 7.5),
        "arch_config": {"channel": 16, "num_cells": 5, "arch_str": architecture, "class_num": CLASSES[dataset]},
        "params": np.float64(0.129306),  # the published files have NumPy's float64 here
        "flop": 15.64737,
        "seed": f"{seed:04d}",
        "epochs": epochs,
        "latency": [np.float64(0.014)],
        "eval_names": list(SETS[dataset]),
        "eval_acc1es": {key: percents(SPLITS[key.partition("@")[0]], 1)[0] for key in last},
        "eval_losses": {key: float(rng.random()) for key in last},
        "eval_times": dict.fromkeys(keys, 2.5),
    }


def results(index: int, epochs: int, seeds: Iterable[int], rng: np.random.Generator) -> dict[str, Any]:
    """Fields of an `ArchResults`: the trainings of an architecture on all data sets with some seeds."""
    architecture, seeds = names()[index], list(seeds)
    return {
        "arch_index": index,
        "arch_str": architecture,
        "all_results": {
            (dataset, seed): trial(dataset, seed, epochs, architecture, rng) for dataset in SETS for seed in seeds
        },
        "dataset_seed": {dataset: list(seeds) for dataset in SETS},
        "clear_net_done": True,
    }


def pth_content(indices: Iterable[int], seeds: dict[int, tuple[int, ...]] = ONE_SEED) -> dict[str, Any]:
    """The dictionary in a `.pth` file."""
    rng, indices = np.random.default_rng(0), list(indices)
    infos = {
        index: {"less": results(index, 12, seeds[12], rng), "full": results(index, 200, seeds[200], rng)}
        for index in indices
    }
    return {"meta_archs": list(names()), "arch2infos": infos, "evaluated_indexes": set(indices)}


def write_pth(path: Path, content: Any) -> Path:
    """Write a file as PyTorch 1.2 did, before its files were zip archives."""
    torch.save(content, path, _use_new_zipfile_serialization=False)
    return path


def by_budget(content: dict[str, Any]) -> dict[int, dict[str, Any]]:
    """The trainings in NATS-Bench's form: by index, then by "12" and "200"."""
    return {index: {"12": both["less"], "200": both["full"]} for index, both in content["arch2infos"].items()}


def write_archive(folder: Path, content: dict[str, Any]) -> Path:
    """Write the folder of an archive with the published package."""
    import nats_bench

    folder.mkdir()
    meta = {"meta_archs": content["meta_archs"], "total_archs": 15_625, "arch2infos": None, "evaluated_indexes": set()}
    nats_bench.pickle_save(meta, str(folder / "meta.pickle"))
    for index, infos in by_budget(content).items():
        nats_bench.pickle_save(infos, str(folder / f"{index:06d}.pickle"))
    return folder


def write_single_file(path: Path, content: dict[str, Any]) -> Path:
    """Write the single file of all architectures, "….pickle.pbz2"."""
    import nats_bench

    whole = {**content, "total_archs": 15_625, "arch2infos": by_budget(content)}
    nats_bench.pickle_save(whole, str(path).removesuffix(".pbz2"))
    return path
