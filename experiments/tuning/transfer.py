"""Does the best configuration of one space help on other spaces? Table 2 of NAS-Bench-1Shot1."""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas

from nasbench1shot1.experiments.tuning.best import best_configurations
from nasbench1shot1.ground.errors import UserError
from nasbench1shot1.tuning.record import Study


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
    """Run or resume a search with the hyperparameters of a study's best search; a command of `jobs.Job`.

    Args:
        out: the folder of a new search.
        resume: the folder of a stopped search.
        best: `study`, the folder of the finished study, and `budget`, the number of epochs of its searches to consider.
        options: options of the search, which the hyperparameters override.

    Raises UserError as `best_of` and `nb.search` do.
    """
    from nasbench1shot1.one_shot_search.searching import search

    if resume is not None:
        search(resume=resume, **options)
        return
    if best is None:
        raise UserError("a transferred search needs the folder of a study and a budget")
    search(out=out, **{**options, **best_of(Study.open(best["study"]), best["budget"])})
