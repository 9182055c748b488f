"""The analyses that `nb1shot1 statistics` offers for a table, by name.

`GENERIC` lists the analyses of every benchmark. The record of a benchmark can name more (`Benchmark.statistics`).
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas

from nasbench1shot1.benchmark import Benchmark
from nasbench1shot1.display.colours import Colors
from nasbench1shot1.display.style import AnyStyle
from nasbench1shot1.experiments.space_statistics.analysis import Analysis
from nasbench1shot1.experiments.space_statistics.pareto import PARETO_FRONTS
from nasbench1shot1.ground.errors import InvalidInputError, alternatives, option, unknown_name
from nasbench1shot1.ground.files import check_writable
from nasbench1shot1.registry import benchmarks
from nasbench1shot1.runs.folder import CONFIG, SUMMARY, read_object
from nasbench1shot1.tables.table import Table, load_table

if TYPE_CHECKING:
    from nasbench1shot1.display.axes import Axes

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


def draw_statistics(
    analysis: str,
    data: "pandas.DataFrame | Table | str | Path | None" = None,
    ax: "Axes | Iterable[Axes] | None" = None,
    *,
    style: AnyStyle | None = None,
    colors: Colors | None = None,
    labels: Sequence[str] | str | None = None,
    **options: Any,
) -> "Axes | list[Axes]":
    """Run an analysis of a table, as `nb1shot1 statistics` does, and draw it with a caption about the data.

    Args:
        analysis: the name of an analysis, such as "pareto-fronts"; it must apply to the table's benchmark.
        data: a table, its folder or name; or the data frame that the function of the analysis returned. Default: the
            table in use.
        ax: the axes to draw on; a sequence for an analysis with several panels. Default: the axes of a new figure that
            is not registered with pyplot.
        style: "screen" (default), "paper" (without title and caption, as wide as a column or a page), "dark", an
            `nb.FigureStyle`, or settings of matplotlib (docs/figures.md).
        colors: a colour, a sequence of one colour per label of the legend, or colours by label.
        labels: new labels of the legend.
        options: the options that the analysis takes: dataset, split, predicted, space, kind, mark (as on the command
            line) and seed.

    Returns:
        The axes, or a list of axes if there are several panels; `ax.figure.savefig("picture.svg")` writes the picture.

    Raises:
        InvalidInputError: the analysis is unknown or does not apply to the table; it does not take an option; or `ax`,
            `style`, `colors` or `labels` do not fit.
        OutOfDomainError: the table lacks values that the analysis needs.
    """
    if isinstance(data, pandas.DataFrame):
        every = {name: of for benchmark in benchmarks() for name, of in offered(benchmark).items()}
        if analysis not in every:
            raise unknown_name("analysis", analysis, every)
        found, frame, takes = every[analysis], data, set[str]()
    else:
        table = data if isinstance(data, Table) else load_table(data)
        found = analyses_of(table, [analysis])[analysis]
        takes = {"seed" if name == "rng" else name for name in found.takes}
    if refused := [name for name in options if name not in takes]:
        raise InvalidInputError(f"{option(refused[0])} does not apply to {analysis}: remove it")
    if not isinstance(data, pandas.DataFrame):
        frame = found.run(table, **options)
    axes = found.draw(frame, ax=ax, style=style, colors=colors, labels=labels)
    return axes if len(axes) > 1 else axes[0]


def check_out(out: Path) -> None:
    """Raise UserError if a folder cannot be written, is a file, or holds a run or another summary."""
    check_writable(out)
    if out.exists() and not out.is_dir():
        raise InvalidInputError(f"'{out}' is a file: choose another {option('out')}")
    has_other = (out / SUMMARY).exists() and "refusals" not in read_object(out / SUMMARY)
    if has_other or (out / CONFIG).exists():
        raise InvalidInputError(f"'{out}' holds something other than statistics: choose another {option('out')}")


def check_options(analyses: Mapping[str, Analysis], table: Table, given: Mapping[str, bool]) -> None:
    """Raise InvalidInputError for an option that none of the analyses takes.

    Args:
        analyses: the analyses that will run, by name.
        table: the table in use.
        given: names of options of `Analysis.takes`, and whether the user gave a value.
    """
    takes = {name for analysis in analyses.values() for name in analysis.takes}
    if refused := [name for name, is_given in given.items() if is_given and name not in takes]:
        every = len(analyses) == len(offered(table.benchmark))
        which = f"the analyses of {table.benchmark.title}" if every else " and ".join(analyses)
        raise InvalidInputError(f"{option(refused[0])} does not apply to {which}: remove it")
