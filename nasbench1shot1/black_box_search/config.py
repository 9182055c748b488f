"""The options that all black-box studies share, each with its type, range, default and help."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from nasbench1shot1.ground.files import PictureFormat
from nasbench1shot1.runs.options import Names, Range, TableName
from nasbench1shot1.tables.coverage import Reference

FACTS: dict[str, type] = {"space_id": str, "table_id": str}
"""Fields of config.json that identify the data of a study, with their types."""
FAMILY_DEFAULTS: Mapping[str, Mapping[str, Any]] = {
    "nasbench101": {"seconds": 1e7},  # NAS-Bench-101, section 5
    "nasbench201": {"seconds": 12_000.0, "epochs": 12},  # NAS-Bench-201, section 4 and appendix B
}
"""Defaults of common options for families of spaces (`SearchSpace.family`). Other families need an explicit limit."""


@dataclass(frozen=True, kw_only=True)
class BlackBoxConfig:
    """The options of every black-box study."""

    optimizer: Annotated[str, Names("black_box_optimizers", "your own as module:Class")] = "regularized-evolution"
    """Black-box optimizer."""
    space: Annotated[str, Names("search_spaces", "your own as module:object")] = "s1"
    """Search space (docs/spaces.md, docs/own_space.md)."""
    repeats: Annotated[int, Range(1, 10**6)] = 500
    """Number of independent searches."""
    seed: Annotated[int, Range(0)] = 0
    """Random seed of the study. Search r is seeded with (seed, r)."""
    seconds: Annotated[float | None, Range(above=0)] = None
    """Time limit of a search in simulated seconds; trainings that end later do not count. If --evaluations
    is given, there is no time limit by default."""
    evaluations: Annotated[int | None, Range(1)] = None
    """Maximum number of trainings per search (NAS-Bench-1Shot1: 280). Default: no limit."""
    epochs: Annotated[int | None, Range(1)] = None
    """Training epochs of methods with a single budget. Default: the table's full budget."""
    dataset: str | None = None
    """Data set of the search, if the table has several: cifar10, cifar100 or ImageNet16-120. Default: the first."""
    deduplicate: bool = False
    """Train a cell only once per budget: repeated queries return the first result at no cost."""
    simulated_workers: Annotated[int, Range(1, 10**6)] = 1
    """Number of trainings that run in parallel on the simulated clock."""
    decision_seconds: Annotated[float, Range(0)] = 0.0
    """Cost of each decision of the optimizer in simulated seconds, in addition to the training."""
    table: TableName | None = None
    """Folder or name of the table. Default: $NB1SHOT1_TABLE, or else embedded."""
    reference: Reference | None = None
    """Reference of the regret. present: the best network in the table, even if the table lacks part of the space.
    Default: the best network of the space, all of which the table must have."""
    format: PictureFormat | None = None
    """File format of the picture. Default: png."""
