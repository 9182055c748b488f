"""Tests of claims on the tables and spaces themselves: counts, known architectures, correlations and means."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nasbench1shot1.experiments.claims.claim import MEASURED, TABLE_VALUES, Row, Subject
from nasbench1shot1.experiments.claims.evidence import Records
from nasbench1shot1.experiments.claims.verdicts import (
    NORMAL,
    NOT_REPRODUCED,
    REPRODUCED,
    Floats,
    Interval,
    Level,
    Strength,
    decided,
    of_number,
    of_ordering,
)
from nasbench1shot1.experiments.rank_correlation import pearson
from nasbench1shot1.experiments.reproduction.figures.parts import DATA_SETS
from nasbench1shot1.experiments.space_statistics.depth_and_width import depth_and_width
from nasbench1shot1.experiments.space_statistics.nats_bench.measurements import Measurements
from nasbench1shot1.experiments.space_statistics.nats_bench.published_tables import (
    CELLS,
    COLUMNS,
    TABLE_5,
    TABLE_6,
    known_cells,
    published_value,
)
from nasbench1shot1.experiments.space_statistics.operation_replacement import operation_replacement
from nasbench1shot1.ground.bootstrap import draw_resamples, percentile_interval
from nasbench1shot1.registry import search_space
from nasbench1shot1.tables.table import Table, load_table

RESAMPLES = 300
"""Resamples of the architectures for intervals of correlations."""
FEWEST_CELLS = 30
"""Smallest number of cells of which a mean decides anything."""
TOPOLOGY, SAMPLE = "nb201", "nb101-sample"


@dataclass(frozen=True, kw_only=True)
class TableTest:
    """A test that needs no runs.

    Attributes:
        compute: returns the rows.
        command: the command that prints the values.
        how: how the claim is tested.
        subject: what the claim is about.
    """

    compute: Callable[[], Sequence[Row]]
    command: str
    how: str = ""
    subject: Subject = TABLE_VALUES

    def rows(self, records: Records) -> Sequence[Row]:
        """Return the rows; see `claim.Evidence`."""
        return self.compute()


@cache
def _table(name: str) -> Table:
    return load_table(name)


# Counts ---------------------------------------------------------------------------------------------------------------


def counts(published: Mapping[str, int], kind: str, *rules: str | None, tolerance: int = 0) -> Sequence[Row]:
    """Return a row for each space, with the counts under the first rule that gives all published numbers.

    If no rule does, the counts are those under the first rule.

    Args:
        published: published numbers by space.
        kind: the kind of the counted architectures.
        rules: counting rules of `SearchSpace.count`, in words of that method. Default: the only rule.
        tolerance: half a unit of the last digit that is printed.
    """
    found = {rule: {space: _count(space, kind, rule) for space in published} for rule in rules or (None,)}
    rule, ours = next(((rule, own) for rule, own in found.items() if own == published), next(iter(found.items())))
    by_rule = f", rule '{rule}'" if rule else ""
    return [_counted(space, number, ours[space], tolerance, by_rule) for space, number in published.items()]


def counts_by_kind(space: str, published: Mapping[str, int]) -> Sequence[Row]:
    """Return a row for each kind of architectures of a space, with published numbers by kind."""
    found = search_space(space)
    words = {kind: found.kind_descriptions.get(kind, kind) for kind in published}
    return [_counted(words[kind], number, found.count(kind)) for kind, number in published.items()]


def _counted(part: str, published: int, ours: int, tolerance: int = 0, rule: str = "") -> Row:
    return Row(
        part=part,
        published=f"{published:,}",
        value=Interval(ours),
        verdict=REPRODUCED if abs(ours - published) <= tolerance else NOT_REPRODUCED,
        level="paper",
        setting=f"enumeration{rule}",
        n="all",
        digits=0,
    )


def _count(space: str, kind: str, rule: str | None) -> int:
    found = search_space(space)
    return found.count(kind) if rule is None else found.count(kind, rule)


# NAS-Bench-201 and NATS-Bench -----------------------------------------------------------------------------------------


def accuracies(cell: str, places: Sequence[tuple[str, str]] = COLUMNS) -> Sequence[Row]:
    """Return the accuracies of a row of NAS-Bench-201's table 5, "optimal", "ResNet" or "all skip"."""
    table = _table(TOPOLOGY)
    frame = known_cells(table)
    shown = _all(table) if cell == "optimal" else _shown(table, "one architecture", 1, "paper", "architecture")
    rows = []
    for dataset, split in places:
        own = frame[(frame["cell"] == cell) & (frame["dataset"] == dataset) & (frame["split"] == split)].iloc[0]
        published = published_value(TABLE_5[cell], dataset, split)
        rows.append(
            _number(
                f"{DATA_SETS[dataset]}, {split}",
                published,
                Interval(100 * float(own["accuracy"])),
                shown,
                tolerance=0.005,
                digits=2,
            )
        )
    return rows


def below_best(datasets: Sequence[str], published: Mapping[str, float], about: float = 0.5) -> Sequence[Row]:
    """Return how far the ResNet cell is below the best test accuracy, in percentage points.

    Args:
        datasets: data sets.
        published: published differences by the compared architectures, "all" or "as many parameters".
        about: tolerance.
    """
    table = _table(TOPOLOGY)
    found = Measurements(table)
    place = found.place(CELLS["ResNet"])
    assert place is not None  # the table is complete
    rows = []
    for rivals, number in published.items():
        for dataset in datasets:
            accuracy, parameters = found.column(dataset, "test").accuracy, found.cost(dataset, "trainable_parameters")
            best = np.nanmax(accuracy if rivals == "all" else accuracy[parameters == parameters[place]])
            gap = Interval(100 * float(best - accuracy[place]))
            part = f"{DATA_SETS[dataset]}, {rivals}"
            rows.append(_number(part, number, gap, _all(table), tolerance=about, digits=2))
    return rows


def schedule(moments: Mapping[tuple[int, int], Sequence[tuple[str, str]]]) -> Sequence[Row]:
    """Return Pearson's r of CIFAR-10 validation accuracy at moments of table 6 with some final accuracies."""
    table = _table(TOPOLOGY)
    found = Measurements(table)
    rows = []
    for moment, places in moments.items():
        start = found.column("cifar10", "validation", moment[0]).accuracy
        for dataset, split in places:
            value = correlation(start, found.column(dataset, split).accuracy)
            published = published_value(TABLE_6[moment], dataset, split)
            part = f"{moment[0]} of {moment[1]} epochs: {DATA_SETS[dataset]}, {split}"
            rows.append(_number(part, published, value, _all(table), tolerance=0.00005, digits=4))
    return rows


FALL_AMONG_BEST = (
    "The values are Pearson's r of test accuracies among all architectures, minus Pearson's r among the best 1 % on "
    "CIFAR-10. 'Sharply' is not tested: any fall confirms the claim, and a smaller range of accuracies alone lowers r."
)


def top_correlations(name: str, share: float = 0.01) -> Sequence[Row]:
    """Return by how much Pearson's r of two data sets' test accuracies falls among the best by CIFAR-10 accuracy.

    Args:
        name: the table.
        share: share of the best architectures.
    """
    table = _table(name)
    found = Measurements(table)
    best_first = np.argsort(-found.column("cifar10", "test").accuracy, kind="stable")
    n = round(share * len(best_first))
    rows = []
    for dataset in ("cifar100", "ImageNet16-120"):
        first, second = (found.column(of, "test").accuracy[best_first] for of in ("cifar10", dataset))
        pair, falls = all_and_best(first, second, n)
        rows.append(_fall(f"CIFAR-10 and {DATA_SETS[dataset]}", pair, falls, [table], n))
    return rows


def all_and_best(a: Floats, b: Floats, n: int) -> tuple[tuple[float, float], Floats]:
    """Return Pearson's r of all architectures and of the best, and by how much it falls in `RESAMPLES` resamples.

    Each resample has its own best architectures.

    Args:
        a, b: (N,) values of the architectures, the best architecture first.
        n: number of the best architectures.
    """

    def both(rows: NDArray[np.int64]) -> tuple[float, float]:
        return pearson(a[rows], b[rows]), pearson(a[rows[:n]], b[rows[:n]])

    resamples = draw_resamples(len(a), RESAMPLES, np.random.default_rng(0))
    everything = np.arange(len(a))
    ascending = (np.repeat(everything, np.bincount(drawn, minlength=len(a))) for drawn in resamples)
    falls = [every - top for every, top in map(both, ascending)]
    return both(everything), np.array(falls)


def consistency(one: str, other: str) -> Sequence[Row]:
    """Return by how much Spearman's ρ of two data sets' test accuracies is higher in one table than in another."""
    tables, rows = (_table(one), _table(other)), []
    for dataset in ("cifar100", "ImageNet16-120"):
        (a, b), (c, d) = (
            [_ranks(found.column(of, "test").accuracy) for of in ("cifar10", dataset)]
            for found in map(Measurements, tables)
        )
        pair, rng = (pearson(a, b), pearson(c, d)), np.random.default_rng(0)
        falls = _resampled(a, b, rng) - _resampled(c, d, rng)
        rows.append(_fall(f"CIFAR-10 and {DATA_SETS[dataset]}", pair, falls, tables))
    return rows


def bigger_is_better(name: str) -> Sequence[Row]:
    """Return Spearman's ρ of parameters and test accuracy on each data set."""
    table = _table(name)
    found = Measurements(table)
    rows = []
    for dataset in DATA_SETS:
        accuracy = found.column(dataset, "test").accuracy
        parameters = found.cost(dataset, "trainable_parameters").astype(np.float64)
        value, strength = correlation(_ranks(parameters), _ranks(accuracy)), Strength("paper", len(accuracy), 1)
        verdict, shown = of_ordering(value, strength), _shown(table, "all architectures", len(accuracy), "paper")
        rows.append(Row(part=DATA_SETS[dataset], published="> 0", value=value, verdict=verdict, digits=3, **shown))
    return rows


def correlation(a: Floats, b: Floats) -> Interval:
    """Return Pearson's r of (N,) values with its 95 % bootstrap interval over the N architectures."""
    low, high = percentile_interval(_resampled(a, b, np.random.default_rng(0)))
    return Interval(pearson(a, b), float(low), float(high))


def _resampled(a: Floats, b: Floats, rng: np.random.Generator) -> Floats:
    """Return Pearson's r of (N,) values in `RESAMPLES` resamples of the N architectures."""
    n = len(a)
    x, y = a - a.mean(), b - b.mean()
    moments = np.stack([x, y, x * x, y * y, x * y], axis=1)
    times = (np.bincount(drawn, minlength=n) for drawn in draw_resamples(n, RESAMPLES, rng))
    mean_x, mean_y, xx, yy, xy = np.array([counts @ moments for counts in times]).T / n
    found: Floats = (xy - mean_x * mean_y) / np.sqrt((xx - mean_x**2) * (yy - mean_y**2))
    return found


def _ranks(values: Floats) -> Floats:
    from scipy.stats import rankdata

    found: Floats = rankdata(values)
    return found


def _fall(part: str, pair: tuple[float, float], falls: Floats, tables: Sequence[Table], n: int | None = None) -> Row:
    """Return the row for "one correlation is lower than another".

    Args:
        part: the part of the claim.
        pair: the correlation that is claimed to be higher, and the other one.
        falls: the first correlation minus the second one, in resamples of the architectures.
        tables: the tables from which the two correlations were computed, or the one table of both.
        n: number of architectures behind the second correlation. Default: all architectures of the tables.
    """
    low, high = percentile_interval(falls)
    value = Interval(pair[0] - pair[1], float(low), float(high))
    sizes = list(map(len, tables)) if n is None else [n]
    shown: dict[str, Any] = {
        "level": "paper",
        "setting": f"{pair[0]:.3f} against {pair[1]:.3f}",
        "n": f"{' and '.join(f'{size:,}' for size in sizes)} architectures",
        "source": MEASURED,
        "table": " and ".join(table.id for table in tables),
    }
    verdict = of_ordering(value, Strength("paper", min(sizes), 1))
    return Row(part=part, published="> 0", value=value, verdict=verdict, digits=3, **shown)


# NAS-Bench-101 --------------------------------------------------------------------------------------------------------


def replacements(published: Mapping[tuple[str, str], float]) -> Sequence[Row]:
    """Return the mean change of validation accuracy if one operation is replaced by another, in percentage points.

    Args:
        published: changes by replaced and new operation.
    """
    table = _table(SAMPLE)
    frame = operation_replacement(table)
    rows = []
    for pair, number in published.items():
        own = frame[(frame["replaced"] == pair[0]) & (frame["by"] == pair[1])].iloc[0]
        change, error = 100 * float(own["accuracy_change"]), 100 * float(own["accuracy_error"])
        value, n = Interval(change, change - NORMAL * error, change + NORMAL * error), int(own["replacements"])
        strength = Strength("sample", n, 1)
        verdict = decided(partial(of_number, value, number, 0.005), strength)
        shown = _shown(table, f"sample of {len(table):,} cells", n, "sample", "pairs")
        names = " replaced by ".join(_OPERATIONS[name] for name in pair)
        rows.append(Row(part=names, published=f"{number:g}", value=value, digits=2, **verdict, **shown))
    return rows


_OPERATIONS = {"conv3x3-bn-relu": "3×3 convolution", "conv1x1-bn-relu": "1×1 convolution", "maxpool3x3": "max-pooling"}


def steps(measure: str, better: Mapping[int, Sequence[int]]) -> Sequence[Row]:
    """Return by how much the mean validation accuracy at some depths or widths exceeds those at others.

    Args:
        measure: "depth" or "width".
        better: for each better value, the worse ones.
    """
    table = _table(SAMPLE)
    frame = depth_and_width(table)
    own = frame[frame["measure"] == measure].set_index("value")
    rows = []
    for one, other in ((one, other) for one, others in better.items() for other in others):
        gap = 100 * float(own["accuracy"][one] - own["accuracy"][other])
        error = 100 * NORMAL * float(np.hypot(own["accuracy_error"][one], own["accuracy_error"][other]))
        cells = [int(own["cells"][of]) for of in (one, other)]
        value = Interval(gap, gap - error, gap + error)
        shown = _shown(table, f"sample of {len(table):,} cells", cells, "sample", "cells")
        verdict = decided(partial(of_ordering, value), Strength("sample", min(cells), FEWEST_CELLS))
        part = f"{measure} {one} better than {measure} {other}"
        rows.append(Row(part=part, published="> 0", value=value, digits=2, **verdict, **shown))
    return rows


def costs() -> Sequence[Row]:
    """Return the rank correlations of training time, parameters and validation accuracy."""
    table = _table(SAMPLE)
    columns = {
        "training time": np.asarray(table.values("training_time", 108)).mean(axis=-1),
        "parameters": np.asarray(table.column("trainable_parameters"), np.float64),
        "accuracy": np.asarray(table.values("validation_accuracy", 108)).mean(axis=-1),
    }
    names = list(columns)
    rows = []
    for a, b in ((names[0], names[1]), (names[0], names[2]), (names[1], names[2])):
        value, n = correlation(_ranks(columns[a]), _ranks(columns[b])), len(table)
        shown = _shown(table, f"sample of {n:,} cells", n, "sample", "cells")
        verdict = decided(partial(of_ordering, value), Strength("sample", n, 1))
        rows.append(Row(part=f"{a} and {b}", published="> 0", value=value, digits=3, **verdict, **shown))
    return rows


# Rows -----------------------------------------------------------------------------------------------------------------


def _all(table: Table) -> dict[str, Any]:
    return _shown(table, "all architectures", len(table), "paper")


def _shown(
    table: Table, setting: str, n: int | Sequence[int], level: Level, noun: str = "architectures"
) -> dict[str, Any]:
    numbers = " and ".join(f"{number:,}" for number in ([n] if isinstance(n, int) else n))
    return {"level": level, "setting": setting, "n": f"{numbers} {noun}", "source": MEASURED, "table": table.id}


def _number(part: str, published: float, value: Interval, shown: dict[str, Any], tolerance: float, digits: int) -> Row:
    verdict = of_number(value, published, tolerance, Strength("paper", 1, 1))
    text = f"{published:.{digits}f}" if tolerance < 0.1 else f"about {published:g}"
    return Row(part=part, published=text, value=value, verdict=verdict, digits=digits, **shown)
