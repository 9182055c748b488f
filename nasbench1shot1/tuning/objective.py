"""What a study minimizes: the table's validation error of the architecture that a search returns.

It is never the one-shot error. Source: NAS-Bench-1Shot1 (Zela, Siems and Hutter, ICLR 2020), section 5; the published
code looks up one random repeat (optimizers/bohb_one_shot, worker.py).
"""

import math
from typing import Literal

import numpy as np

from nasbench1shot1.architecture import Architecture
from nasbench1shot1.ground.errors import InvalidInputError
from nasbench1shot1.registry import one_shot, search_space
from nasbench1shot1.tables.items import Item
from nasbench1shot1.tables.table import Table
from nasbench1shot1.tuning.engine.interfaces import Trial


def objective(
    arch: Architecture,
    table: Table,
    repeat: Literal["mean", "random"],
    seed: int,
    trial: Trial,
    dataset: str | None = None,
) -> float:
    """Return the validation error of an architecture after the table's full training, a fraction.

    It is 1 for an architecture that is missing from a table of only part of the space (`Table.covering`).

    Args:
        arch: what the search of the trial returned.
        table: the table in use.
        repeat: the mean over the table's training repeats, or a random repeat. A random repeat depends only on the seed
            and the trial, so that a resumed study gets it again.
        seed: the seed of the study.
        trial: the evaluated configuration and its epochs.
        dataset: the data set of the search. Default: the data set of the table's first objective.

    Raises:
        OutOfDomainError: the table has no row for the architecture, or no such objective.
    """
    if table.is_partial and arch not in table:
        return 1.0  # the worst error, so that the tuner avoids the configuration
    rng = np.random.default_rng((seed, *trial.configuration_id, trial.epochs)) if repeat == "random" else None
    training = table.objective(dataset).validation
    return 1 - float(table.query(arch, run=repeat, rng=rng, dataset=training).validation_accuracy)


def check_has_objective(table: Table, space: str, dataset: str | None = None) -> None:
    """Raise InvalidInputError if a table has no validation accuracy for a sampled architecture of a space.

    `dataset` is as in `objective`. Raises OutOfDomainError if the table has no such objective.
    """
    found = one_shot(search_space(space))
    arch: Item = found.sample(np.random.default_rng(0))
    if table.is_partial:  # then it may lack that one
        arch = table.hashes(table.members(found.name)[:1])[0]
    if math.isnan(table.query(arch, dataset=table.objective(dataset).validation).validation_accuracy):
        raise InvalidInputError(
            f"the table {table.id} has no validation accuracy after {table.full_budget} epochs, which a study "
            "minimizes: give another --table"
        )
