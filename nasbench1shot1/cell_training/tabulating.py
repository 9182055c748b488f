"""The columns of a table from finished trainings, with a repeat for each seed."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nasbench1shot1.benchmark import Benchmark
from nasbench1shot1.cell_training.record import ACCURACIES, HALFWAY, Training
from nasbench1shot1.ground.text import counted
from nasbench1shot1.runs.folder import ENVIRONMENT, read_object
from nasbench1shot1.tables.columns import Moment, standard
from nasbench1shot1.tables.description import Meta, exact_entry
from nasbench1shot1.tables.formats import compact
from nasbench1shot1.tables.references import PRESENT

Floats = NDArray[np.float64]
METRICS = (*ACCURACIES, "training_time")
"""The metrics of every evaluation."""
VERSIONS = ("nasbench1shot1", "git", "python", "platform", "torch", "cuda", "gpu")
"""The facts of environment.json that describe how values were measured."""


def tabulate(
    name: str,
    of: Benchmark,
    networks: Sequence[Any],
    seeds: Sequence[int],
    options: Mapping[str, Any],
    trainings: Mapping[tuple[int, int], Training],
) -> tuple[dict[str, NDArray[Any]], Meta]:
    """Return the arguments of `Table.from_columns` for finished trainings, with a repeat for each seed.

    A column of a metric at the end of trainings has the shape (R, 1, K), and a learning curve (R, epochs, K), for R
    networks and K seeds. Missing trainings, and epochs without an evaluation, are NaN.

    Args:
        name: the name of the table.
        of: the benchmark.
        networks: R distinct architectures or cells.
        seeds: K seeds, ascending.
        options: the resolved options that all trainings share.
        trainings: finished trainings, at least one, by the positions of their network and their seed.

    Raises InvalidInputError if a network cannot be a row of a table.
    """
    columns, rows = of.load("keys").columns_of(networks)
    found = {(int(rows[network]), repeat): training for (network, repeat), training in trainings.items()}
    about = {column: exact_entry("of the trained networks") for column in columns}
    first, budget, shape = next(iter(found.values())), int(options["epochs"]), (len(networks), len(seeds))
    dataset = str(first.summary["dataset"])
    moments: dict[Moment, tuple[str, str]] = {
        "end": ("", "at the end of training"),
        "halfway": ("halfway_", "half-way through the training"),
        budget: (f"curve{budget}_", "after every epoch"),
    }
    for moment, (prefix, method) in moments.items():
        repeats = {"repeats": list(range(len(seeds)))} if isinstance(moment, int) else {}
        for metric, values in _values(found, shape, moment, budget).items():
            if np.isnan(values).all():
                continue
            columns[f"{prefix}{metric}"], stored = compact(values)
            caveat = {"caveat": _time_caveat(options)} if metric == "training_time" else {}
            column = standard(metric, dataset, epochs=(budget,), moment=moment, **caveat)
            about[f"{prefix}{metric}"] = column.entry(sources=[], method=method, **repeats, **stored)
    for metric in ("trainable_parameters", "flops"):
        costs = np.full(shape[0], np.nan)
        for (row, _), training in found.items():
            value = training.summary.get(metric)
            costs[row] = np.nan if value is None else value
        if not np.isnan(costs).all():
            columns[metric] = costs if np.isnan(costs).any() else costs.astype(np.int64)
            about[metric] = standard(metric, dataset).entry(sources=[], method="of the trained network")
    return columns, {
        "name": name,
        "version": "1",
        "keyed_by": of.name,
        "datasets": [dataset],
        "epochs": [budget],
        "repeats": len(seeds),
        "seeds": list(seeds),
        "spaces": [],
        "reference": PRESENT,
        **_origin(of, options, list(trainings.values())),
        "columns": about,
    }


def _values(
    found: Mapping[tuple[int, int], Training], shape: tuple[int, int], moment: Moment, budget: int
) -> dict[str, Floats]:
    """Return the values of every metric at a moment, (networks, epochs, seeds), from trainings by row and repeat."""
    epochs = budget if isinstance(moment, int) else 1
    values = {metric: np.full((shape[0], epochs, shape[1]), np.nan) for metric in METRICS}
    for (row, repeat), training in found.items():
        for place, line in _lines(training, moment, budget):
            for metric in METRICS:
                values[metric][row, place, repeat] = np.nan if line[metric] is None else line[metric]
    return values


def _lines(training: Training, moment: Moment, budget: int) -> Iterable[tuple[int, Mapping[str, Any]]]:
    """Return the lines of a training that belong to a moment, with their place in the column."""
    if moment == "end":
        return [(0, training.lines[-1])]
    if moment == "halfway":
        return [(0, line) for line in training.lines if line["evaluation"] == HALFWAY]
    whole = {int(line["epochs"]): line for line in training.lines if line["epochs"] in range(1, budget + 1)}
    return [(epoch - 1, line) for epoch, line in whole.items()]


def _origin(of: Benchmark, options: Mapping[str, Any], trainings: Sequence[Training]) -> dict[str, Any]:
    """Return how the values of a table were measured: a description in words, and the facts."""
    parts = trainings[0].config["parts"]
    is_protocol = all(training.config["is_protocol"] for training in trainings)
    differs = "" if is_protocol else "with images, networks or options that differ from "
    return {
        "description": (
            f"{counted(len(trainings), 'training')} of {counted(int(options['epochs']), 'epoch')} at the "
            f"{options['scale']} scale, {differs or 'by '}the protocol of {of.title}. Images: {parts}. All accuracies "
            "and times are measured; times are seconds on the machine that trained the networks."
        ),
        "trainings": {
            "options": shared_options(options),
            "images": parts,
            "images_sha256": sorted({training.config["images_sha256"] for training in trainings}),
            "is_protocol": is_protocol,
            "environments": _environments(trainings),
        },
    }


def shared_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of trainings as a table records them: an image file by its name, without its folder."""
    return {**options, "images": Path(options["images"]).name}


def _environments(trainings: Sequence[Training]) -> list[dict[str, Any]]:
    """Return the distinct versions and machines of trainings."""
    found: list[dict[str, Any]] = []
    for training in trainings:
        recorded = read_object(training.folder / ENVIRONMENT)
        if (facts := {name: recorded.get(name) for name in VERSIONS}) not in found:
            found.append(facts)
    return found


def _time_caveat(options: Mapping[str, Any]) -> str:
    device = str(options["device"])
    where = f"a CPU with {counted(int(options['threads']), 'thread')}" if device == "cpu" else device
    return f"seconds of training steps on {where}; other programs may have slowed some trainings down"
