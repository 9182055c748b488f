"""The best configurations of a study."""

from collections.abc import Iterable

import pandas

from nasbench1shot1.ground.errors import InvalidInputError, OutOfDomainError

DEFAULT_ID = "0-0-0"
"""Id of the first configuration of a study: the optimizer's default."""
SHOWN = ("configuration_id", "budget", "loss", "validation_regret", "test_regret", "architecture")


def best_configurations(
    observations: pandas.DataFrame, names: Iterable[str], count: int = 10, budget: int | None = None
) -> pandas.DataFrame:
    """Return the configurations with the lowest loss, each at the budget at which its loss is lowest.

    Args:
        observations: `Study.observations`.
        names: the names of the hyperparameters.
        count: largest number of configurations.
        budget: only consider searches of this many epochs. Default: all.

    Returns:
        Columns `rank` (from 1), `is_default`, `SHOWN` (errors and regrets as fractions; test regret is only reported)
        and the hyperparameters. Equal losses keep the order of observation.

    Raises:
        InvalidInputError: no search has this budget.
        OutOfDomainError: all searches considered diverged.
    """
    own = observations if budget is None else observations[observations["budget"] == budget]
    if not len(own):
        raise InvalidInputError(
            f"the study has no search of {budget} epochs: give {_join_budgets(observations['budget'])}"
        )
    ordered = own[own["loss"].notna()].sort_values("loss", kind="stable")
    if not len(ordered):
        raise OutOfDomainError("all searches diverged, so the study has no best configuration")
    found = ordered.drop_duplicates("configuration_id").head(count)[[*SHOWN, *names]].reset_index(drop=True)
    found.insert(0, "is_default", found["configuration_id"] == DEFAULT_ID)
    found.insert(0, "rank", found.index + 1)
    return found


def _join_budgets(budgets: "pandas.Series[int]") -> str:
    return " or ".join(map(str, sorted(set(budgets)))) or "a budget with observations"
