"""Assembly of a table's columns from single trainings of NAS-Bench-201, with a repeat for each seed."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nasbench1shot1.ground.errors import InvalidInputError
from nasbench1shot1.ground.files import reason
from nasbench1shot1.nasbench201.architecture import EdgeArchitecture
from nasbench1shot1.nasbench201.network import edge_parameter_count
from nasbench1shot1.nasbench201.numbering import N_ARCHITECTURES, all_operations, index_of
from nasbench1shot1.nasbench201.trainings import CLASSES, DATASETS, EPOCHS, IMAGES, OBJECTIVES, SEEDS
from nasbench1shot1.table_import.compact import Floats, compact
from nasbench1shot1.table_import.nasbench201_values import final_values
from nasbench1shot1.tables.description import ALL_METRICS, MEMBER, PARAMETERS
from nasbench1shot1.tables.folder import Columns, Meta
from nasbench1shot1.tables.metric_column import stored_counts, to_counts

_LEGACY_SEED = 888
"""If an architecture's trainings state different costs, the official API uses the value of this seed."""


class TrialAssembly:
    """Collects the final values of every training (about 35 MB) by architecture, data set, budget and seed.

    Args:
        source: name of the file, for messages.

    Attributes:
        left_out: number of omitted trainings, whose budgets are not 12 or 200 epochs.
    """

    def __init__(self, source: str) -> None:
        self.left_out = 0
        self._source, self._trainings = source, 0
        shape = N_ARCHITECTURES, len(DATASETS)
        self._values = np.full((*shape, len(EPOCHS), len(SEEDS), len(ALL_METRICS)), np.nan)
        self._costs = np.full((*shape, 2), np.nan)
        """Parameters and FLOPs, in millions."""
        self._is_known = np.zeros(N_ARCHITECTURES, bool)

    def __len__(self) -> int:
        return self._trainings

    def add(self, architecture: Any, trainings: Mapping[Any, Mapping[str, Any]]) -> None:
        """Add the trainings of an architecture.

        Args:
            architecture: its official string.
            trainings: the fields of the official `ResultsCount`, by data set and seed.

        Raises:
            InvalidInputError: the string, a data set or a seed is unknown; a training lacks a field, or has an
                impossible value.
        """
        row = self._row(architecture)
        for key, fields in trainings.items():
            try:
                self._add_training(row, key, fields)
            except InvalidInputError as error:
                raise InvalidInputError(
                    f"{self._source}: the training {key} of {architecture} {error.for_command_line}"
                ) from None
            except (AttributeError, KeyError, TypeError, ValueError) as error:
                raise InvalidInputError(
                    f"{self._source}: the training {key} of {architecture} does not have the format of NAS-Bench-201's "
                    f"files ({type(error).__name__}: {reason(error)}): download the file again"
                ) from error

    def _row(self, architecture: Any) -> int:
        try:
            found = EdgeArchitecture.from_text(architecture)
        except (InvalidInputError, TypeError):
            found = None
        if found is None:
            raise InvalidInputError(f"{self._source} has {architecture!r}, which is not a NAS-Bench-201 architecture")
        return index_of(found.operations)

    def _add_training(self, row: int, key: tuple[str, int], fields: Mapping[str, Any]) -> None:
        dataset, seed = key
        if dataset not in DATASETS or seed not in SEEDS:
            raise InvalidInputError(f"does not have a data set of {', '.join(DATASETS)} and a seed of {SEEDS}")
        epochs = int(fields["epochs"])
        if epochs not in EPOCHS:
            self.left_out += 1
            return
        place = row, DATASETS.index(dataset)
        self._values[(*place, EPOCHS.index(epochs), SEEDS.index(seed))] = final_values(fields, dataset)
        if seed == _LEGACY_SEED or np.isnan(self._costs[place]).any():
            self._costs[place] = _possible_costs(fields)
        self._is_known[row] = True
        self._trainings += 1

    def finish(self) -> tuple[Columns, Meta]:
        """Arrange the trainings.

        Returns:
            The columns of a table, and its description without name and version.

        Raises InvalidInputError if there are no trainings with 12 or 200 epochs.
        """
        rows = np.flatnonzero(self._is_known)
        if not len(rows):
            raise InvalidInputError(f"{self._source} has no trainings with 12 or 200 epochs")
        columns: Columns = {"index": rows.astype(np.uint16)}
        about: dict[str, dict[str, Any]] = {"index": _exact("the official index")}
        if len(rows) == N_ARCHITECTURES:
            columns[f"{MEMBER}nb201"], about[f"{MEMBER}nb201"] = rows.astype(np.uint16), _exact("all rows")
        for d, dataset in enumerate(DATASETS):
            self._add_metrics(rows, d, columns, about)
            parameters, flops = self._costs_of(rows, d)
            columns[f"{dataset}.{PARAMETERS}"] = parameters
            about[f"{dataset}.{PARAMETERS}"] = _exact("as the file states them; counted where it does not")
            if flops is not None:
                columns[f"{dataset}.flops"], about[f"{dataset}.flops"] = flops, _exact("as the file states them")
        trained = self._values[rows]
        epochs = [e for i, e in enumerate(EPOCHS) if not np.isnan(trained[:, :, i]).all()]
        return columns, {
            "keyed_by": "nasbench201",
            "datasets": list(DATASETS),
            "objectives": list(OBJECTIVES),
            "epochs": epochs,
            "repeats": len(SEEDS),
            "seeds": list(SEEDS),
            "spaces": ["nb201"] if len(rows) == N_ARCHITECTURES else [],
            "columns": about,
        }

    def _add_metrics(self, rows: NDArray[np.int64], d: int, columns: Columns, about: dict[str, dict[str, Any]]) -> None:
        """Add the columns of a data set that have values, at the budgets that have values."""
        for m, metric in enumerate(ALL_METRICS):
            values = self._values[rows, d, :, :, m]
            there = [i for i in range(len(EPOCHS)) if not np.isnan(values[:, i]).all()]
            if not there:
                continue
            name, values = f"{DATASETS[d]}.{metric}", values[:, there]
            columns[name], stored = _compact(values, _images(DATASETS[d], metric))
            known = {str(EPOCHS[i]): int((~np.isnan(values[:, k])).sum()) for k, i in enumerate(there)}
            method = "at the end of training" if metric.endswith(("accuracy", "loss")) else "sum over all epochs"
            measured = {"fidelity": "measured", "sources": [], "method": method, "known": known}
            about[name] = {**measured, "epochs": [EPOCHS[i] for i in there], **stored}

    def _costs_of(self, rows: NDArray[np.int64], d: int) -> tuple[NDArray[Any], NDArray[Any] | None]:
        """Return the parameters, counted if the file does not state them, and the FLOPs, None if no row has them."""
        parameters, flops = np.rint(1e6 * self._costs[rows, d]).T
        for i in np.flatnonzero(np.isnan(parameters)):
            parameters[i] = edge_parameter_count(all_operations()[rows[i]].tolist(), classes=CLASSES[DATASETS[d]])
        if np.isnan(flops).any():
            return parameters.astype(np.int32), None if np.isnan(flops).all() else flops
        return parameters.astype(np.int32), flops.astype(np.int32)


def _possible_costs(fields: Mapping[str, Any]) -> tuple[float, float]:
    """Return parameters and FLOPs in millions, NaN if unknown; raises InvalidInputError for impossible numbers."""
    costs = float(fields["params"]), float(fields["flop"])
    for name, millions in zip(("parameters", "FLOPs"), costs, strict=True):
        if not (math.isnan(millions) or 0 <= 1e6 * millions < 2**31):
            raise InvalidInputError(f"has {millions:g} million {name}, which is impossible")
    return costs


def _images(dataset: str, metric: str) -> int | None:
    """Return the number of images of an accuracy; None for other metrics."""
    split, _, kind = metric.partition("_")
    return IMAGES[dataset].get(split) if kind == "accuracy" else None


def _exact(method: str) -> dict[str, Any]:
    return {"fidelity": "exact", "sources": [], "method": method}


def _compact(values: Floats, images: int | None) -> tuple[NDArray[Any], dict[str, Any]]:
    """Store accuracies as image counts if possible, and other values in the smallest exact type."""
    counts = to_counts(values, images) if images else None
    if images is None or counts is None:
        return compact(values)
    return stored_counts(counts, images), {"images": images}
