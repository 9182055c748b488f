"""A table from a data frame of trained networks: one row for each training, in the form that `to_frame` describes."""

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from nasbench1shot1.benchmark import benchmark
from nasbench1shot1.ground.errors import InvalidInputError, option, quoted_option, shorten, unknown_name
from nasbench1shot1.space import SearchSpace
from nasbench1shot1.tables.added_column import free_name
from nasbench1shot1.tables.columns import STANDARD, Column, Floats, Moment
from nasbench1shot1.tables.description import (
    DATASET_NAME,
    MEMBER,
    UNNAMED_DATASET,
    Meta,
    exact_entry,
    find_problem_of_column,
)
from nasbench1shot1.tables.folder import Columns
from nasbench1shot1.tables.frame_arrays import FrameArrays
from nasbench1shot1.tables.frame_keys import Trainings, check_spelling, plain_name, similar_name
from nasbench1shot1.tables.frame_metrics import Metrics, NewColumn
from nasbench1shot1.tables.keys import RowKeys
from nasbench1shot1.tables.references import PRESENT, incomplete_coverage_error
from nasbench1shot1.tables.table import Table
from nasbench1shot1.tables.to_frame import ARCHITECTURE, ATTRIBUTE, DATASET, EPOCHS, REPEAT, SEED
from nasbench1shot1.tables.writing import with_columns

if TYPE_CHECKING:
    import pandas

DEFAULT_NAME, DEFAULT_VERSION = "own", "1"
KEYS = (ARCHITECTURE, DATASET, EPOCHS, REPEAT, SEED)
"""The columns of a frame that identify trainings."""
FrameReference = Literal["all", "present"]
"""The networks that define zero regret: all networks of the space, or those that the table has."""


def table_from_frame(
    frame: "pandas.DataFrame",
    *,
    space: SearchSpace,
    columns: Mapping[str, Column] | None = None,
    name: str | None = None,
    version: str | None = None,
    dataset: str | None = None,
    measured: bool = True,
    percent: bool = False,
    source: str | None = None,
    reference: FrameReference = "all",
) -> Table:
    """Create a table in memory from a data frame with a row for each training of an architecture (docs/own_table.md).

    The result of `Table.to_frame` has this form: an equal table is created from it, with the same descriptions.

    Args:
        frame: the trainings. Its columns are:

            - "architecture": the architecture, its text, its network's identifier (such as a cell's hash or a
              benchmark's own string) or its number in the space; or a column for each hyperparameter of
              `space.configuration_space()`
            - "epochs": the budget
            - "dataset" (optional): the data set
            - "repeat" (optional): the number of the repeat, from 0; or "seed": its random seed; "mean" in rows that
              have means over repeats
            - standard metrics, such as "validation_accuracy", and the metrics of `columns`; missing values are NaN.
              Learning curves also give the values at the end of their trainings, if the frame has no others
        space: the space of the architectures.
        columns: descriptions of other metrics by the names of the frame's columns. A metric without `epochs` has one
            value for each network if all rows of the network have the same value, and otherwise one value for each
            training. It has one value for each training if half-way values or learning curves of it are described, too.
        name: name of the table. Default: the name of the table that the frame comes from, or else "own".
        version: version of the table. Default: the version of that table, or else "1".
        dataset: the data set of a frame that does not name one. Default: "default".
        measured: whether the values of standard metrics are measurements, rather than predictions. With False, this
            also applies to columns that another table described as measured (`frame.attrs`).
        percent: whether all fractions, such as accuracies, are given in percent.
        source: where the values come from, for the description.
        reference: "all" requires a table with all networks of the space, the best of which defines zero regret. With
            "present", the best network that the table has defines zero regret.

    Raises:
        InvalidInputError: the frame has a wrong, missing or contradictory value. The message names the row, counted
            from 1, and the column.
        OutOfDomainError: the frame lacks networks of the space, and `reference` is not "present".
    """
    given = {} if columns is None else columns
    _check_arguments(frame, space, given, dataset, reference)
    keys: type[RowKeys] = space.benchmark.load("keys")
    before = _description(frame)
    if dataset is not None and DATASET in frame:
        raise InvalidInputError(
            f"{option('dataset', dataset)} applies to trainings without the column '{DATASET}': remove one of them"
        )
    first = dataset or next(iter(before.get("datasets", ())), UNNAMED_DATASET)
    trainings = Trainings.of_frame(frame, space, keys, first)
    ordered = [of for of in before.get("datasets", ()) if of in trainings.datasets]
    datasets = tuple(dict.fromkeys([*ordered, *trainings.datasets]))
    for name_of_set in datasets:
        if name_of_set not in before.get("datasets", ()):
            check_spelling(name_of_set)
    _check_data_sets(given, datasets)
    described = before.get("columns", {})
    metrics = Metrics(frame, datasets, given, described, measured, percent, (source,) if source else ())
    arrays = FrameArrays(trainings, before.get("seeds", ()))
    stored, entries = _columns(frame, trainings, metrics, arrays, {*keys.COLUMNS, *keys.DERIVED})
    if not stored:
        raise InvalidInputError("the frame has no value of a metric: add a column such as 'validation_accuracy'")
    kept = set(before.get("epochs", ())) - _budgets(described)  # budgets at which no metric had values
    epochs = sorted(kept | arrays.budgets) or sorted(set(trainings.epochs.tolist()))
    objectives = [of for of in before.get("objectives", ()) if {of["validation"], of["test"]} <= set(datasets)]
    replaced = ("columns", "objectives", "reference", "seeds")
    meta: Meta = {
        **{field: said for field, said in before.items() if field not in replaced},
        "name": name or before.get("name", DEFAULT_NAME),
        "version": version or before.get("version", DEFAULT_VERSION),
        "keyed_by": space.benchmark.name,
        "datasets": list(datasets),
        **({"objectives": objectives} if objectives else {}),
        "epochs": epochs,
        "repeats": len(arrays.seeds) or max(arrays.repeats, before.get("repeats", 1)),
        **({"seeds": arrays.seeds} if arrays.seeds else {}),
        **({"source": {"text": source}} if source else {}),
        "spaces": [],
        "columns": {**{key: exact_entry("of the architectures") for key in trainings.identity}, **entries},
    }
    for column, entry in entries.items():
        if wrong := find_problem_of_column(column, entry, meta):
            raise InvalidInputError(f"the frame cannot become a table, because it {wrong}")
    return _with_reference({**trainings.identity, **stored}, meta, space, reference)


def _check_arguments(frame: Any, space: Any, columns: Any, dataset: Any, reference: str) -> None:
    import pandas

    if not isinstance(frame, pandas.DataFrame):
        raise InvalidInputError(f"the trainings are of the type '{type(frame).__name__}': give a pandas.DataFrame")
    if not isinstance(space, SearchSpace):
        name = shorten(space) if isinstance(space, str) else "s1"
        raise InvalidInputError(
            f"{shorten(repr(space))} is not a search space: give an nb.SearchSpace, such as nb.search_space('{name}')"
        )
    if benchmark(space.benchmark.name) != space.benchmark:
        raise InvalidInputError(
            f"'{space.benchmark.name}' is not the benchmark of {space.name}: register the benchmark of the space, or "
            "name it by its import path, such as nb.Benchmark(name='my_space:BENCHMARK', …)"
        )
    if not len(frame):
        raise InvalidInputError("the frame has no rows: give at least one training")
    names = list(frame.columns)
    if strange := [name for name in names if not isinstance(name, str) or not name]:
        raise InvalidInputError(f"the name of a column is {shorten(repr(strange[0]))}: rename it to a non-empty text")
    if twice := [name for name in names if names.count(name) > 1]:
        raise InvalidInputError(f"there are two columns '{twice[0]}': rename or remove one of them")
    if reference not in ("all", PRESENT):
        raise unknown_name("reference", reference, ("all", PRESENT))
    if dataset is not None and not (isinstance(dataset, str) and DATASET_NAME.fullmatch(dataset)):
        raise InvalidInputError(
            f"{quoted_option('dataset', shorten(str(dataset)))} cannot be the name of a data set: use at most 50 "
            "letters, digits and -"
        )
    if not isinstance(columns, Mapping):
        raise InvalidInputError(f"columns={shorten(repr(columns))} is not a mapping from names to nb.Column: give one")
    for name, column in columns.items():
        if name in KEYS:
            raise InvalidInputError(f"the column '{name}' is not a metric: remove its description")
        if not isinstance(column, Column):
            raise InvalidInputError(f"'{name}' is described by {shorten(repr(column))}: give an nb.Column")
        if name not in names:
            others = [other for other in names if other not in (*columns, *KEYS, *STANDARD)]
            if likely := similar_name(plain_name(name), others):
                raise InvalidInputError(f"the column '{shorten(likely)}' is probably '{name}': rename it")
            raise InvalidInputError(f"the column '{name}' is missing: add it, or remove its description")
        if column.means:
            raise InvalidInputError(f"'{name}' is described with means: write 'mean' in the column 'repeat' instead")
        if (known := STANDARD.get(column.metric)) and _meaning(column) != _meaning(known):
            raise InvalidInputError(
                f"'{name}' is described as {column.metric} with another quantity, split, unit or direction than this "
                "standard metric has: remove the description, or name another metric"
            )


def _meaning(column: Column) -> tuple[str | None, ...]:
    """Return what determines how values of a metric are compared."""
    return column.quantity, column.split, column.unit, column.direction


def _description(frame: "pandas.DataFrame") -> Mapping[str, Any]:
    """Return the description of the table that a frame comes from; empty if it comes from elsewhere."""
    found = frame.attrs.get(ATTRIBUTE, {})
    if isinstance(found, Mapping) and isinstance(found.get("columns", {}), Mapping):
        return found
    raise InvalidInputError(
        f"frame.attrs['{ATTRIBUTE}'] is not the description of a table: remove it with frame.attrs.clear()"
    )


def _check_data_sets(columns: Mapping[str, Column], datasets: tuple[str, ...]) -> None:
    for name, column in columns.items():
        if {column.dataset, *column.also_of} - {"", *datasets}:
            raise InvalidInputError(
                f"'{name}' is described for the data set '{column.dataset}', which no row has: choose one of "
                f"{', '.join(datasets)}"
            )


def _budgets(described: Mapping[str, Any]) -> set[int]:
    """Return the budgets of the columns of the table that a frame comes from."""
    abouts = [Column.from_entry(of["entry"]) for of in described.values()]
    return {budget for of in abouts for budget in ((of.moment,) if isinstance(of.moment, int) else of.epochs)}


def _columns(
    frame: "pandas.DataFrame", trainings: Trainings, metrics: Metrics, arrays: FrameArrays, reserved: set[str]
) -> tuple[Columns, dict[str, Any]]:
    """Return the arrays and the entries of all metrics by their names in the table, which are not `reserved`."""
    columns = metrics.new_columns(name for name in frame.columns if name not in trainings.names)
    numbers = lru_cache(2)(metrics.numbers)  # data sets share a column; all columns could fill the memory
    made = list[tuple[NewColumn, NDArray[Any], dict[str, Any]]]()
    for new in columns:
        is_whole = new.source != "" and frame[new.source].dtype.kind in "iu"
        if (found := arrays.column(new, _values(new, numbers, trainings), is_whole)) is not None:
            made.append((new, *found))
    names = _names([new for new, *_ in made], trainings.datasets, reserved)
    return (
        {name: array for name, (_, array, _) in zip(names, made, strict=True)},
        {name: entry for name, (*_, entry) in zip(names, made, strict=True)},
    )


def _values(new: NewColumn, numbers: Callable[[str], Floats], trainings: Trainings) -> Floats:
    """Return the numbers of a column, (N,); at budgets at which it has none, the last values of learning curves."""
    values = numbers(new.source) if new.source else np.full(len(trainings.rows), np.nan)
    for curve in new.curves:
        is_end = trainings.are_on(curve.datasets) & (trainings.epochs == curve.about.moment)
        if np.isnan(values[is_end]).all():
            values = np.where(is_end, numbers(curve.source), values)
    return values


def _names(columns: Sequence[NewColumn], datasets: Sequence[str], reserved: set[str]) -> list[str]:
    """Return the names of columns in the table; raises InvalidInputError for two with the same kind of values."""
    found: dict[tuple[str, str, Moment, bool], NewColumn] = {}
    for new in columns:
        for dataset in new.datasets:
            key = new.about.metric, dataset, new.about.moment, new.about.fidelity == "measured"
            if key in found:
                raise InvalidInputError(
                    f"the columns '{found[key].origin}' and '{new.origin}' both have {new.about.fidelity} values of "
                    f"{new.about.metric}: remove one of them, or describe it as another metric or with another fidelity"
                )
            found[key] = new
    names, taken = dict[int, str](), set(reserved)
    for place in sorted(range(len(columns)), key=lambda place: columns[place].about.fidelity == "measured"):
        new = columns[place]  # first estimates, so that their measurements have another name
        name = new.stored if new.stored and new.stored not in taken else free_name(new.about, datasets, taken)
        if name is None:
            raise InvalidInputError(
                f"the table needs the name of the metric {new.about.metric} for another column: describe "
                f"'{new.origin}' as another metric"
            )
        names[place] = name
        taken.add(name)
    return [names[place] for place in range(len(columns))]


def _with_reference(columns: Columns, meta: Meta, space: SearchSpace, reference: FrameReference) -> Table:
    """Return the table, which knows the rows of the space, or is marked as partial."""
    table = Table.from_columns(columns, meta)
    found = table._references.coverage(space)
    if not found.missing:
        member, rows = MEMBER + space.name, found.rows.astype(np.min_scalar_type(len(table) - 1))
        entry = exact_entry(f"the rows of {space.id}")
        return Table(with_columns(table._folder, {member: rows}, {member: entry}, {"spaces": [space.name]}))
    if reference != PRESENT:
        networks = table.benchmark.networks[1]
        raise incomplete_coverage_error(found, space, table.id, networks, has_option=True, is_new=True)
    return Table(with_columns(table._folder, {}, {}, {"reference": PRESENT}))
