"""The best configurations of a study, and their transfer to other spaces."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas

from nasbench1shot1.ground.errors import InvalidInputError, OutOfDomainError, UserError
from nasbench1shot1.tuning.record import Study

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
        known = " or ".join(map(str, sorted(set(observations["budget"])))) or "a budget with observations"
        raise InvalidInputError(f"the study has no search of {budget} epochs: give {known}")
    ordered = own[own["loss"].notna()].sort_values("loss", kind="stable")
    if not len(ordered):
        raise OutOfDomainError("all searches diverged, so the study has no best configuration")
    found = ordered.drop_duplicates("configuration_id").head(count)[[*SHOWN, *names]].reset_index(drop=True)
    found.insert(0, "is_default", found["configuration_id"] == DEFAULT_ID)
    found.insert(0, "rank", found.index + 1)
    return found


def best_of(study: Study, budget: int) -> dict[str, Any]:
    """Return the hyperparameters of a finished study's best search of a number of epochs, by validation error.

    Raises:
        UserError: the study is not finished, or all searches of this budget diverged.
        InvalidInputError: the study has no search of this budget.
    """
    if not study.is_finished:
        raise study.unfinished_error()
    found = best_configurations(study.observations, (), count=1, budget=budget)
    return dict(study.configurations[str(found["configuration_id"].iloc[0])])


# Transfer to other spaces: table 2 of NAS-Bench-1Shot1 ----------------------------------------------------------------


def transfer_table(regrets: Mapping[tuple[str, str], Sequence[float]]) -> pandas.DataFrame:
    """Return mean and standard deviation of the final test regret of each setting.

    Args:
        regrets: final test regrets of the runs as fractions, by panel and curve.

    Returns:
        Columns `panel`, `curve`, `runs`, `test_regret_mean`, `test_regret_std` (n - 1; NaN for one run).
    """
    rows = []
    for (panel, curve), values in regrets.items():
        series = pandas.Series(values, dtype="float64")
        rows.append((panel, curve, len(series), series.mean(), series.std()))
    return pandas.DataFrame(rows, columns=["panel", "curve", "runs", "test_regret_mean", "test_regret_std"])


def search_with_best(
    out: Any = None, *, resume: Any = None, best: Mapping[str, Any] | None = None, **options: Any
) -> None:
    """Run or resume a search with the hyperparameters of a study's best search; a command of `jobs.job.Job`.

    Args:
        out: the folder of a new search.
        resume: the folder of a stopped search.
        best: `study`, the folder of the finished study, and `budget`, the number of epochs of its searches to consider.
        options: options of the search, which the hyperparameters override.

    Raises UserError as `best_of` and `nb.search` do.
    """
    from nasbench1shot1.one_shot_search.options import search_options
    from nasbench1shot1.one_shot_search.searching import SearchKind, search
    from nasbench1shot1.runs.running import start_run

    if resume is not None:
        search(resume=resume, **options)
        return
    if best is None:
        raise UserError("a transferred search needs the folder of a study and a budget")
    found = best_of(Study.open(best["study"]), best["budget"])
    start_run(SearchKind(), search_options({**options, **found}, varied=found), Path(out))
