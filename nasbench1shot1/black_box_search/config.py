"""The options that all black-box studies share, each with its type, range, default and help."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from nasbench1shot1.files import PictureFormat
from nasbench1shot1.runs.options import Range
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

    optimizer: str = "regularized-evolution"
    """Black-box optimizer: random, regularized-evolution, non-regularized-evolution, reinforce, local-search, tpe,
    smac, hyperband, bohb, or module:Class."""
    space: str = "s1"
    """Search space: s1, s2, s3, nb101, nb101-mini, nb201, or your own, as module:object or by its registered name
    (docs/own_space.md)."""
    repeats: Annotated[int, Range(1, 10**6)] = 500
    """Number of independent searches."""
    seed: Annotated[int, Range(0)] = 0
    """Random seed of the study. Search r is seeded with (seed, r)."""
    seconds: Annotated[float | None, Range(above=0)] = None
    """Time limit of a search in simulated seconds; trainings that end later do not count. Default: 1e7 (nb201: 12,000),
    or no limit if --evaluations is given."""
    evaluations: Annotated[int | None, Range(1)] = None
    """Maximum number of trainings per search (NAS-Bench-1Shot1: 280). Default: no limit."""
    epochs: Annotated[int | None, Range(1)] = None
    """Training epochs of methods with a single budget. Default: the table's full budget (nb201: 12)."""
    dataset: str | None = None
    """Data set of the search, if the table has several: cifar10, cifar100 or ImageNet16-120. Default: the first."""
    deduplicate: bool = False
    """Train a cell only once per budget: repeated queries return the first result at no cost."""
    simulated_workers: Annotated[int, Range(1, 10**6)] = 1
    """Number of trainings that run in parallel on the simulated clock."""
    decision_seconds: Annotated[float, Range(0)] = 0.0
    """Cost of each decision of the optimizer in simulated seconds, in addition to the training."""
    table: str | None = None
    """Folder or name of the table. Default: $NB1SHOT1_TABLE, or else embedded (nb201: nb201)."""
    reference: Reference | None = None
    """present: measure regret from the best networks that the table has. Default: it must have all of the space."""
    format: PictureFormat | None = None
    """File format of the picture. Default: png."""
