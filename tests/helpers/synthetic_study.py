"""Study folders without searching: Hyperband's plan, a known loss, and values from the real table."""

import json
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import nasbench1shot1 as nb
from nasbench1shot1.architecture import Architecture
from nasbench1shot1.evaluator import score
from nasbench1shot1.ground.files import write_json
from nasbench1shot1.one_shot_search.options import search_options
from nasbench1shot1.one_shot_search.record import summarise as summarise_search
from nasbench1shot1.proposers.brackets import Brackets
from nasbench1shot1.runs.folder import COMMON, CONFIG_SPACE, METRICS, SUBMISSIONS, SUMMARY, description
from nasbench1shot1.runs.options import option_names, options_to_record
from nasbench1shot1.runs.record import DIGEST, digest
from nasbench1shot1.tables.table import Table, load_table
from nasbench1shot1.tuning.config_spaces import FOLDER, read_config_space, write_config_space
from nasbench1shot1.tuning.options import TuningOptions, study_options
from nasbench1shot1.tuning.record import SEARCH_OPTIONS, Study, folder_of
from nasbench1shot1.tuning.record import summarise as summarise_study

FACTS = {
    "space_id": "id",
    "table_id": "t",
    "dataset": "cifar10",
    "images_sha256": "0",
    "weight_images": 320,
    "architecture_images": 320,
}
SMALL = {"scale": "quick", "images_per_half": 160, "device": "cpu", "threads": 1}
Quality = Callable[[Mapping[str, Any]], float]


def by_weight_decay(configuration: Mapping[str, Any]) -> float:
    """Distance of weight decay from its maximum on the logarithmic range of cs1 to cs3: 0 (best) to 1."""
    return float((np.log(1e-3) - np.log(configuration["weight_decay"])) / np.log(1e2))


def write_study(
    folder: Path,
    *,
    quality: Quality = by_weight_decay,
    diverges: Quality = lambda configuration: False,
    config_space: str | Any = "cs2",
    seed: int = 0,
    runs: bool = False,
    finished: bool = True,
    searches: Mapping[str, Any] = SMALL,
    **options: Any,
) -> Study:
    """Write the folder of a study in which a smaller `quality` gives better architectures.

    Args:
        folder: the study's folder.
        quality: maps a configuration to a number from 0 to 1; independent of the budget.
        diverges: whether the search of a configuration fails.
        config_space: a bundled space by name, or a ConfigSpace space.
        seed: seed of configurations and architectures.
        runs: whether to write the folders of the searches, too.
        finished: whether to write a summary.
        searches: options of every search.
        options: options of the study.
    """
    named = isinstance(config_space, str)
    space = read_config_space(FOLDER / f"{config_space}.json") if named else config_space
    tuning = TuningOptions(
        **{"seed": seed, "iterations": 6, "config_space": config_space if named else "own", **options}
    )
    own = {name: getattr(tuning, name) for name in ("optimizer", "space", "seed")}
    shared = study_options({**own, **searches}).shared(space)
    folder.mkdir(parents=True)
    write_json(
        folder / "config.json",
        description("tuning", {COMMON: options_to_record(tuning)}, {SEARCH_OPTIONS: shared, **FACTS}),
    )
    write_json(folder / "environment.json", {})
    write_config_space(space, folder / CONFIG_SPACE)
    submissions, lines = _events(tuning, space, quality, diverges)
    _write_lines(folder / SUBMISSIONS, submissions)
    _write_lines(folder / METRICS, lines)
    if finished:
        summary = summarise_study(Study.open(folder), lines, table())
        write_json(folder / SUMMARY, {**summary, "table_id": FACTS["table_id"], DIGEST: digest(lines)})
    for line in lines if runs else []:
        _write_run(folder / line["folder"], tuning, line)
    return Study.open(folder)


def tune(*, out: Path, **options: Any) -> None:
    """Write a study; a command for `jobs.Job` with the options of `nb.tune`."""
    own = {name: value for name, value in options.items() if name in option_names(TuningOptions)}
    write_study(out, searches={name: value for name, value in options.items() if name not in own}, **own)


def _events(
    tuning: TuningOptions, space: Any, quality: Quality, diverges: Quality
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """All trials of the plan, in the order of evaluation by one worker."""
    space.seed(tuning.seed)
    submissions: list[dict[str, Any]] = []
    lines: list[dict[str, Any]] = []
    brackets: Brackets = tuning.brackets
    clock = 0.0
    for bracket in range(brackets.iterations):
        losses: dict[str, float] = {}
        configurations: dict[str, dict[str, Any]] = {}
        for stage, (epochs, count) in enumerate(brackets.plan(bracket)):
            if stage == 0:
                for number in range(count):
                    drawn = space.get_default_configuration() if not submissions and not number else None
                    values = dict(drawn or space.sample_configuration())
                    configurations[f"{bracket}-0-{number}"] = {
                        k: getattr(v, "item", lambda v=v: v)() for k, v in values.items()
                    }
                chosen = list(configurations)
            else:
                chosen = sorted(losses, key=losses.__getitem__)[:count]
            losses = {}
            for identity in chosen:
                common = {
                    "number": len(lines),
                    "configuration_id": identity,
                    "budget": epochs,
                    "model_based": bracket > 2,
                }
                submissions.append(
                    {**common, "configuration": configurations[identity], "after": len(lines), "submitted": clock}
                )
                line = _line(common, configurations[identity], tuning, quality, diverges, clock)
                losses[identity] = np.inf if line["loss"] is None else line["loss"]
                lines.append(line)
                clock = line["finished"]
    return submissions, lines


def _line(
    common: Mapping[str, Any],
    configuration: Any,
    tuning: TuningOptions,
    quality: Quality,
    diverges: Quality,
    clock: float,
) -> dict[str, Any]:
    values: dict[str, Any] = dict.fromkeys(Study.FIELDS)
    identity = tuple(map(int, common["configuration_id"].split("-")))
    values |= {**common, "submitted": clock, "started": clock + 0.5, "finished": clock + 0.5 + common["budget"]}
    values |= {"attempts": 1, "worker": "here.local-0", "folder": str(folder_of(identity, common["budget"]))}  # type: ignore[arg-type]
    if diverges(configuration):
        return {**values, "failure": "the loss is NaN in epoch 1"}
    ranked = architectures(tuning.space)
    arch = ranked[round(min(max(quality(configuration), 0.0), 1.0) * (len(ranked) - 1))]
    found = score(arch, table()).fields(10.0 * common["budget"])
    values |= {name: value for name, value in found.items() if name in values}
    return {**values, "loss": values["table_validation_error"], "architecture": str(arch)}


@cache
def table() -> Table:
    return load_table()


@cache
def architectures(space: str, number: int = 60) -> list[Architecture]:
    """Some architectures of a space with a predicted test accuracy, sorted by validation error in the table."""
    rng, of = np.random.default_rng(0), nb.search_space(space)
    drawn = []
    while len(drawn) < number:
        if not table().query(arch := of.sample(rng)).is_measured("test_accuracy"):
            drawn.append(arch)
    return sorted(drawn, key=lambda arch: score(arch, table()).table_validation_error or 1.0)


def _write_run(folder: Path, tuning: TuningOptions, line: Mapping[str, Any]) -> None:
    """A search whose last epoch has the observed architecture; a diverged search ends after its first epoch."""
    rng, ranked = np.random.default_rng(line["number"]), architectures(tuning.space)
    found = [ranked[int(rng.integers(len(ranked)))] for _ in range(2 if line["loss"] is None else line["budget"] + 1)]
    if line["architecture"] is not None:
        found[-1] = Architecture.parse(line["architecture"])
    options = {"optimizer": tuning.optimizer, "space": tuning.space, "scale": "quick", "epochs": line["budget"]}
    write_run(folder, found, {**options, "device": "cpu", "threads": 1})


def write_run(folder: Path, found: list[Architecture], options: Mapping[str, Any]) -> nb.Run:
    """A finished search with these architectures preferred after epochs 0, 1, …."""
    write_json(folder / "config.json", description("search", search_options(options).sections(), FACTS))
    empty = {**dict.fromkeys(nb.Run.FIELDS), "one_shot_validation_error": 0.5, "other_datasets": {}}
    lines = [
        {**empty, "epoch": epoch, "architecture": str(arch), **score(arch, table()).fields(10.0 * epoch)}
        for epoch, arch in enumerate(found)
    ]
    _write_lines(folder / METRICS, lines)
    summary = summarise_search(nb.load_run(folder).config, lines, FACTS["table_id"])
    write_json(folder / SUMMARY, {**summary, DIGEST: digest(lines)})
    return nb.load_run(folder)


def _write_lines(path: Path, lines: list[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(line, allow_nan=False) + "\n" for line in lines), encoding="utf-8")
