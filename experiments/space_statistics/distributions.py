"""Distributions of accuracies, of the noise of trainings, and of errors in each space with and without loose ends."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas
from numpy.typing import ArrayLike, NDArray

from nasbench1shot1.display.axis import Axis
from nasbench1shot1.display.charts import Mark, Panel, Series
from nasbench1shot1.display.colours import COLOURS, LINES
from nasbench1shot1.display.marked_networks import marked
from nasbench1shot1.experiments.counts import choice_block_space
from nasbench1shot1.experiments.space_statistics.marked_rows import marked_rows
from nasbench1shot1.experiments.space_statistics.values import (
    SPLITS,
    Floats,
    Values,
    accuracy,
    check_enough,
    known_values,
    no_values_error,
    values_or_nan,
)
from nasbench1shot1.ground.errors import OutOfDomainError
from nasbench1shot1.ground.text import counted_range
from nasbench1shot1.nasbench101.architecture import live_blocks
from nasbench1shot1.nasbench101.encoding import EDGE_BITS, VERTEX_BIT, edge_bit
from nasbench1shot1.reference_points import Asked
from nasbench1shot1.search_spaces.choice_blocks import N_OPERATIONS, ChoiceBlockSpace
from nasbench1shot1.search_spaces.wirings import labellings, pruned_matrix
from nasbench1shot1.tables.table import Table

_STEPS = 2000
"""Maximum number of steps of a curve, more than a figure has pixels."""
LEAST_NOISE = 0.01
"""Smallest noise that a logarithmic axis shows, in percentage points."""
SPACES = ("s1", "s2", "s3")
SHARE = Axis("share of cells at or below")
KINDS = {"loose_ends": ("with loose ends", "-"), "no_loose_ends": ("without", "--")}


# Accuracies and noise: NAS-Bench-101's figure 2 -----------------------------------------------------------------------


def accuracy_distribution(
    table: Table, epochs: int | None = None, predicted: bool = False, mark: Iterable[Asked] | None = None
) -> pandas.DataFrame:
    """Return the empirical distribution functions of training, validation and test accuracy, means over repeats.

    Returns:
        A data frame with `split`, `accuracy` (fraction, ascending) and `share`, the fraction of cells at or below it,
        thinned to 2,000 steps. `attrs["lacking"]` lists the splits without values, `attrs["medians"]` has the medians
        of the others, and `attrs["marks"]` the accuracies of marked networks (`marked_rows`): test if the table has it.

    Raises OutOfDomainError if no split has values.
    """
    epochs = table.full_budget if epochs is None else epochs
    known = {split: values_or_nan(table, accuracy(split), epochs, predicted) for split in SPLITS}
    present = {split: values for split, values in known.items() if len(values.rows)}
    if not present:
        raise no_values_error(table, accuracy("validation"), epochs, predicted)
    curves = {split: values.mean[values.rows] for split, values in present.items()}
    fewest = min(present.values(), key=lambda values: len(values.rows))
    lacking, kind = [split for split in SPLITS if split not in present], "" if predicted else "measured "
    split = next(split for split in reversed(SPLITS) if split in present)
    marks, absent = _marked_values(mark, table, present[split])
    notes = [f"the table has no {kind}{' or '.join(lacking)} accuracy at {epochs} epochs"] if lacking else []
    notes += [f"vertical lines: {split} accuracy"] if marks else []
    frame = _stack(curves, "split", "accuracy")
    frame.attrs = fewest.attributes(
        quantity=f"{', '.join(present)} accuracy at {epochs} epochs",
        predicted=any(values.predicted for values in present.values()),
        lacking=lacking,
        medians={split: float(np.median(curve)) for split, curve in curves.items()},
        marks=marks,
        notes=[*notes, *absent],
    )
    return frame


def noise_distribution(table: Table, split: str = "test", predicted: bool = False) -> pandas.DataFrame:
    """Return the empirical distribution functions of training noise, the standard deviation over repeats (n - 1).

    Cells with a single repeat are left out.

    Returns:
        A data frame with `epochs`, `noise` (fraction, ascending) and `share`, the fraction of cells at or below it,
        thinned to 2,000 steps. `attrs["medians"]` has the medians by budget.

    Raises OutOfDomainError if the table has no measurements, or only one repeat; estimates have no noise.
    """
    curves, counts, used, last = {}, np.zeros(0, int), np.zeros(0, int), None
    for epochs in table.epochs:
        values = values_or_nan(table, accuracy(split), epochs)
        known = np.isfinite(values.repeats).sum(axis=1)
        if len(rows := np.flatnonzero(known > 1)):
            repeats = values.repeats[rows]
            varies = np.nanmax(repeats, axis=1) > np.nanmin(repeats, axis=1)
            curves[epochs] = np.where(varies, np.nanstd(repeats, axis=1, ddof=1), 0.0)  # without a rounding error
            counts, used, last = known[rows], rows, values
    if last is None:
        if len(values.rows) == 0:
            raise no_values_error(table, accuracy(split), epochs, predicted=False)
        raise OutOfDomainError(
            f"the table {table.id} has one repeat of each training, so its noise cannot be estimated: open a table "
            "with several (the official data of NAS-Bench-101 has three)"
        )
    frame = _stack(curves, "epochs", "noise")
    medians = {epochs: float(np.median(curve)) for epochs, curve in curves.items()}
    frame.attrs = last.attributes(used, split=split, medians=medians)
    frame.attrs["quantity"] = (
        f"{counted_range(counts.tolist(), 'repeat')} of {split} accuracy at {', '.join(map(str, curves))} epochs"
    )
    return frame


def accuracy_panels(frame: pandas.DataFrame) -> list[Panel]:
    """Return the distribution functions of accuracy, one line for each split."""
    shown = [frame.loc[frame["share"] >= 0.02, "accuracy"].min(), *(of["value"] for of in frame.attrs["marks"])]
    across = Axis("accuracy [%]", low=max(0, 100 * float(min(shown)) - 1), high=100 * frame["accuracy"].max() + 0.5)
    lines = [
        marked(of["name"], of["place"], x=100 * of["value"], source=_marked_text(of)) for of in frame.attrs["marks"]
    ]
    return [Panel("Accuracies", across, SHARE, [*_curves(frame, "split", "accuracy", " %"), *lines])]


def noise_panels(frame: pandas.DataFrame) -> list[Panel]:
    """Return the distribution functions of noise, one line for each budget."""
    positive = 100 * frame.loc[frame["noise"] > 0, "noise"]
    log = bool(positive.max() > LEAST_NOISE)  # otherwise, a logarithmic axis would be empty
    low = max(float(positive.quantile(0.01)), LEAST_NOISE) if log else None
    label = f"deviation of {frame.attrs['split']} accuracy over repeats [percentage points]"
    marks = _curves(frame, "epochs", "noise", " points")
    return [Panel("Noise of training", Axis(label, log=log, low=low), SHARE, marks)]


def _curves(frame: pandas.DataFrame, key: str, value: str, unit: str) -> list[Series]:
    """Return the distribution function of each group, with its median."""
    marks = []
    for line, (name, of) in zip(LINES, frame.groupby(key, sort=False), strict=False):
        label = str(name) if key == "split" else f"{name} {key}"
        detail = f", median {100 * frame.attrs['medians'][name]:.2f}{unit}"
        marks.append(_steps(of[value], of["share"], label=label, detail=detail, line=line))
    return marks


def _steps(values: ArrayLike, shares: ArrayLike, **look: Any) -> Series:
    """Return a distribution function of ascending fractions in percent, which rises from 0 at the first one."""
    at = 100 * np.asarray(values, np.float64)
    return Series(np.append(at[:1], at), np.append(0.0, shares), steps=True, **look)


def _stack(curves: "dict[str, Floats] | dict[int, Floats]", key: str, value: str) -> pandas.DataFrame:
    parts = []
    for name, values in curves.items():
        steps, counts = np.unique(values, return_counts=True)
        share = np.cumsum(counts) / len(values)
        kept = np.unique(np.linspace(0, len(steps) - 1, min(_STEPS, len(steps))).round().astype(int))
        parts.append(pandas.DataFrame({key: name, value: steps[kept], "share": share[kept]}))
    return pandas.concat(parts, ignore_index=True)


# Errors in each space: NAS-Bench-1Shot1's figure 6 --------------------------------------------------------------------


def error_distribution(
    table: Table,
    spaces: Sequence[str | ChoiceBlockSpace] = SPACES,
    split: str = "test",
    epochs: int | None = None,
    predicted: bool = False,
    mark: Iterable[Asked] | None = None,
) -> pandas.DataFrame:
    """Return the error of every distinct cell of spaces, and the number of architectures of each kind with this cell.

    Args:
        table: a table of NAS-Bench-101; cells without a value are dropped.
        spaces: choice-block spaces, or their names.
        split: "test", "validation" or "train".
        epochs: budget. Default: the table's full budget.
        predicted: use estimates if the metric is not measured.
        mark: networks that the figure marks, as in `marked_rows`. Default: none.

    Returns:
        A data frame with a row for every known cell: `space`, `hash`, `error` (fraction, mean over repeats), and the
        weights `loose_ends` (number of architectures, counting every operation) and `no_loose_ends` (number of distinct
        live parts in place). `attrs["sizes"]` has the number of architectures of each kind in each space.

    Raises:
        OutOfDomainError: no row has a value, or no row in these spaces.
        InvalidInputError: a space or the split is unknown, or a space does not consist of choice blocks.
    """
    values = known_values(table, accuracy(split), epochs, predicted)
    found, cells = [], np.zeros(len(table), bool)
    for space in map(choice_block_space, spaces):
        frame = _space_rows(table, space)
        cells[frame["row"]] = True
        frame["error"] = 1 - values.mean[frame.pop("row")]
        found.append(frame)
    frame = pandas.concat(found, ignore_index=True).dropna(subset=["error"], ignore_index=True)
    check_enough(len(frame), 1, f"cells of {', '.join(map(str, spaces))} with {values.what}", table)
    known = np.flatnonzero(cells & ~np.isnan(values.mean))
    sizes = {space.name: {kind: space.count(kind) for kind in KINDS} for space in map(choice_block_space, spaces)}
    marks, absent = _marked_values(mark, table, values)
    notes = [f"cells of {', '.join(sizes)}, weighted by the number of architectures that they represent", *absent]
    frame.attrs = values.attributes(
        known, split=split, sizes=sizes, distinct_cells=len(known), notes=notes, marks=marks
    )
    return frame[["space", "hash", "error", *KINDS]]


def error_panels(frame: pandas.DataFrame) -> list[Panel]:
    """Return the distribution functions of error for each space, with loose ends (solid) and without (dashed)."""
    marks: list[Mark] = []
    for colour, (space, of_space) in zip(COLOURS, frame.groupby("space", sort=False), strict=False):
        ordered = of_space.sort_values("error")
        for kind, (words, line) in KINDS.items():
            known, size = ordered[kind].sum(), frame.attrs["sizes"][space][kind]
            look: dict[str, Any] = {"label": f"{space} {words}", "color": colour, "line": line}
            share, detail = ordered[kind].cumsum() / known, f": {known:,} of {size:,} known"
            marks.append(_steps(ordered["error"], share, detail=detail, **look))
    for of in frame.attrs["marks"]:
        error = {**of, "value": 1 - of["value"]}
        marks.append(marked(of["name"], of["place"], x=100 * error["value"], source=_marked_text(error)))
    least = 100 * frame["error"].min() - 1
    ticks = {float(tick): str(tick) for tick in (5, 6, 7, 8, 10, 15, 20, 30, 50, 90) if tick >= least}
    across, up = (
        Axis(f"{frame.attrs['split']} error [%]", log=True, ticks=ticks),
        Axis("share of architectures at or below"),
    )
    return [Panel("Errors in each space", across, up, marks)]


def _marked_values(
    mark: Iterable[Asked] | None, table: Table, values: Values
) -> tuple[list[dict[str, Any]], list[str]]:
    """Return the networks to mark with their values and sources, and sentences about networks without values."""
    marks, absent = marked_rows(mark or (), table, values.rows)
    for of in marks:
        row = of.pop("row")
        of |= {"value": float(values.mean[row]), "source": values.source_of(row)}
    return marks, absent


def _marked_text(of: Mapping[str, Any]) -> str:
    return f"{100 * of['value']:.2f} %, {of['source']}"


def architecture_counts(space: ChoiceBlockSpace) -> tuple[NDArray[np.uint64], NDArray[np.int64], NDArray[np.int64]]:
    """Return all pruned cells of a space, numbered as in its architectures, and the numbers of these architectures.

    Returns:
        (N,) encodings, some of isomorphic cells; (N,) numbers of architectures with loose ends, whose sum is
        `space.count("loose_ends")`; (N,) numbers of distinct live parts in place, whose sum is
        `space.count("no_loose_ends")`.
    """
    with_loose_ends, without, graphs = Counter[bytes](), Counter[bytes](), {}
    loose_end_free = set(space.loose_end_free_wirings)
    for i, wiring in enumerate(space.wirings):
        matrix = pruned_matrix(wiring)
        key = matrix.tobytes()
        graphs[key] = matrix
        with_loose_ends[key] += N_OPERATIONS ** (space.n_blocks - len(live_blocks(wiring)))
        without[key] += i in loose_end_free
    codes = [_all_labelled(matrix) for matrix in graphs.values()]
    sizes = [len(of_graph) for of_graph in codes]
    weights = [np.repeat([counts[key] for key in graphs], sizes) for counts in (with_loose_ends, without)]
    return np.concatenate(codes), weights[0], weights[1]


def _space_rows(table: Table, space: ChoiceBlockSpace) -> pandas.DataFrame:
    """Return a row for every distinct cell in the table."""
    codes, loose_ends, no_loose_ends = architecture_counts(space)
    rows = table.rows_of_encodings(codes)
    known = rows >= 0
    weights = [np.bincount(rows[known], w[known], len(table)).astype(np.int64) for w in (loose_ends, no_loose_ends)]
    kept = np.flatnonzero(weights[0])
    columns = dict(zip(KINDS, (w[kept] for w in weights), strict=True))
    return pandas.DataFrame(
        {"space": space.name, "hash": table.hashes(kept) if len(kept) else [], "row": kept} | columns
    )


def _all_labelled(matrix: NDArray[np.int8]) -> NDArray[np.uint64]:
    """Return the encodings of a pruned graph with all its labellings."""
    n = len(matrix)
    edges = sum(1 << edge_bit(int(x), int(y)) for x, y in zip(*np.nonzero(matrix), strict=True))
    labels = labellings(n - 2)
    operations: NDArray[np.int64] = (labels << EDGE_BITS + 2 * np.arange(n - 2)).sum(axis=1)
    return np.asarray(operations + (edges | n << VERTEX_BIT), np.uint64)
