"""The analyses that `nb1shot1 statistics` offers for a table, by name.

`GENERIC` lists the analyses of every benchmark. The record of a benchmark can name more (`Benchmark.statistics`).
"""

from collections.abc import Mapping, Sequence

from nasbench1shot1.benchmark import Benchmark
from nasbench1shot1.experiments.space_statistics.analysis import Analysis
from nasbench1shot1.experiments.space_statistics.pareto import PARETO_FRONTS
from nasbench1shot1.ground.errors import InvalidInputError, alternatives, unknown_name
from nasbench1shot1.registry import benchmarks
from nasbench1shot1.tables.table import Table

GENERIC = {"pareto-fronts": PARETO_FRONTS}
"""The analyses that every benchmark has, because they follow from the descriptions of a table's columns."""


def offered(benchmark: Benchmark) -> dict[str, Analysis]:
    """Return the analyses of a benchmark: its own, and all generic ones whose names it does not use itself."""
    own: Mapping[str, Analysis] = benchmark.load("statistics") if benchmark.statistics else {}
    return {**own, **{name: analysis for name, analysis in GENERIC.items() if name not in own}}


def analyses_of(table: Table, names: Sequence[str] = ()) -> dict[str, Analysis]:
    """Return analyses by name; without names, all analyses of the table's benchmark.

    Raises InvalidInputError for an unknown analysis, or one of another benchmark.
    """
    analyses = offered(table.benchmark)
    if others := [name for name in names if name not in analyses]:
        known = [*analyses, *(name for benchmark in benchmarks() for name in offered(benchmark))]
        if unknown := [name for name in others if name not in known]:
            raise unknown_name("analysis", unknown[0], dict.fromkeys(known))
        raise InvalidInputError(
            f"'{others[0]}' does not apply to the table {table.id} of {table.benchmark.title}: "
            f"choose {alternatives(analyses)}"
        )
    return {name: analyses[name] for name in names or analyses}


def check_options(table: Table, given: Mapping[str, bool]) -> None:
    """Raise InvalidInputError for an option that no analysis of the table's benchmark takes.

    Args:
        table: the table in use.
        given: names of options of `Analysis.takes`, and whether the user gave a value.
    """
    takes = {name for analysis in offered(table.benchmark).values() for name in analysis.takes}
    if refused := [name for name, is_given in given.items() if is_given and name not in takes]:
        raise InvalidInputError(f"--{refused[0]} does not apply to the analyses of {table.benchmark.title}: remove it")
