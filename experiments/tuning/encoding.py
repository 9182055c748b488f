"""Encoding of configurations as numbers for a model: each hyperparameter in [0, 1], on its own scale."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas
from numpy.typing import NDArray

from nasbench1shot1.ground.errors import InvalidInputError

if TYPE_CHECKING:
    from ConfigSpace import ConfigurationSpace

    from nasbench1shot1.tuning.record import Study


def encode_observations(
    studies: "Sequence[Study]", budget: int | None = None
) -> tuple[pandas.DataFrame, NDArray[np.float64]]:
    """Return the configurations of all observations of studies, and their losses; diverged searches are left out.

    Args:
        studies: studies of one configuration space, which are pooled.
        budget: only searches of this many epochs. Default: all.

    Returns:
        A frame of N rows as `to_unit_cube` makes it, and the losses (N,) as fractions.

    Raises:
        InvalidInputError: the studies have different configuration spaces.
    """
    found = list_observations(studies, budget)
    losses = np.array([loss for _, loss in found], np.float64)
    return to_unit_cube(studies[0].config_space, [configuration for configuration, _ in found]), losses


def list_observations(studies: "Sequence[Study]", budget: int | None = None) -> list[tuple[dict[str, Any], float]]:
    """Return configurations and losses as `encode_observations` does, with the configurations as mappings."""
    if any(study.config_space != studies[0].config_space for study in studies):
        raise InvalidInputError("studies of different configuration spaces cannot be pooled: analyse them separately")
    return [
        (study.configurations[line["configuration_id"]], line["loss"])
        for study in studies
        for line in study.lines
        if line["loss"] is not None and budget in (None, line["budget"])
    ]


def to_unit_cube(space: "ConfigurationSpace", configurations: Sequence[Mapping[str, Any]]) -> pandas.DataFrame:
    """Return configurations with every number in [0, 1], on a logarithmic scale where the hyperparameter has one.

    A categorical, ordinal or constant hyperparameter becomes the index of its value. An inactive hyperparameter has its
    default.

    Args:
        space: the hyperparameters.
        configurations: values of the active hyperparameters.

    Returns:
        A frame (N, number of hyperparameters).
    """
    columns = {
        name: [_to_vector(of, each.get(name, of.default_value)) for each in configurations]
        for name, of in space.items()
    }
    return pandas.DataFrame(columns, columns=list(space), dtype=np.float64)


def n_choices(hyperparameter: Any) -> int | None:
    """Return the number of values of a categorical, ordinal or constant hyperparameter; None for a number."""
    for attribute in ("choices", "sequence"):
        if hasattr(hyperparameter, attribute):
            return len(getattr(hyperparameter, attribute))
    return 1 if hasattr(hyperparameter, "value") else None


def is_ordered(hyperparameter: Any) -> bool:
    """Return whether the values of a hyperparameter have an order."""
    return not hasattr(hyperparameter, "choices")


def _to_vector(hyperparameter: Any, value: Any) -> float:
    return 0.0 if hasattr(hyperparameter, "value") else float(hyperparameter.to_vector(value))  # here, a constant is 1
