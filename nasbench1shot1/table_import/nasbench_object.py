"""Conversion of a `NASBench` object of the published package to a table."""

from collections.abc import Iterator, Mapping
from typing import Any

from nasbench1shot1.ground.errors import InvalidInputError
from nasbench1shot1.nasbench101.tfrecords import Record, Values, check_possible
from nasbench1shot1.table_import.assembly import Assembly
from nasbench1shot1.tables.folder import METRICS
from nasbench1shot1.tables.table import Table

_SOURCE = "the NASBench object"


def table_from_nasbench(obj: Any) -> Table:
    """Create a table from a loaded `nasbench.api.NASBench` object, or a `NASBench` of `nasbench1shot1.api`.

    This takes about as long as importing the file. The table shares no memory with the object; `Table.save` writes it.

    Args:
        obj: an object with `fixed_statistics`, `computed_statistics` and `valid_epochs`, as in the published package.

    Returns:
        A table of measurements in memory, with the object's budgets and repeats.

    Raises:
        InvalidInputError: `obj` is not such an object, has no trainings, or lacks values (like a NASBench object of
            estimates, which has the attribute `table`); or an import would be refused, for example because a repeat
            is missing.
    """
    fixed, computed = _statistics(obj)
    assembly = Assembly(sorted(map(int, obj.valid_epochs)), _SOURCE)
    for hash_, of_cell in fixed.items():
        for record in _records(hash_, of_cell, computed[hash_]):
            assembly.add(record)
    columns, meta = assembly.finish()
    return Table.from_columns(columns, {"name": "nasbench-object", "version": "1", **meta})


def _statistics(obj: Any) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    fixed, computed = (getattr(obj, f"{kind}_statistics", None) for kind in ("fixed", "computed"))
    if not isinstance(fixed, Mapping) or not isinstance(computed, Mapping) or not hasattr(obj, "valid_epochs"):
        raise InvalidInputError(
            f"{type(obj).__name__} is not a NASBench object (it lacks fixed_statistics, computed_statistics or "
            "valid_epochs): give the result of nasbench.api.NASBench(file)"
        )
    if lacking := [hash_ for hash_ in fixed if hash_ not in computed]:
        raise InvalidInputError(f"{_SOURCE} has no trainings of {lacking[0]}: load its file again")
    return fixed, computed


def _records(hash_: str, fixed: Mapping[str, Any], computed: Mapping[Any, Any]) -> Iterator[Record]:
    """Yield the trainings of one cell."""
    try:
        adjacency = "".join(str(int(entry)) for row in fixed["module_adjacency"] for entry in row)
        operations, parameters = ",".join(fixed["module_operations"]), int(fixed["trainable_parameters"])
        for epochs, repeats in computed.items():
            for one in repeats:
                final, halfway = _values(one, "final"), _values(one, "halfway")
                record = Record(hash_, int(epochs), adjacency, operations, parameters, final, halfway, int(epochs) / 2)
                check_possible(record, _SOURCE)
                yield record
    except InvalidInputError:
        raise
    except (KeyError, TypeError, ValueError) as error:
        raise InvalidInputError(
            f"{_SOURCE} lacks values of {hash_} ({type(error).__name__}: {error}); it must have all values of an "
            "official file (if it has estimates, use its attribute table instead)"
        ) from error


def _values(one: Mapping[str, Any], when: str) -> Values:
    validation, test, train, seconds = (float(one[f"{when}_{metric}"]) for metric in METRICS)
    return validation, test, train, seconds
