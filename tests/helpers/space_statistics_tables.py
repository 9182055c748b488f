"""Tables with known answers for the tests of the space statistics."""

from collections.abc import Callable

import numpy as np

from nasbench1shot1.nasbench101.cell import Cell
from nasbench1shot1.nasbench101.encoding import to_arrays
from nasbench1shot1.nasbench101.sources import RETRAINED, read_source
from nasbench1shot1.search_spaces.nasbench101 import SPACE as NB101
from nasbench1shot1.tables.table import Table

MEASURED = {"fidelity": "measured", "epochs": [108]}


def all_cells(vertices: int) -> np.ndarray:
    """Encodings of all cells of at most this many vertices."""
    codes = np.asarray(NB101.encodings("unique"))
    return codes[codes >> np.uint64(31) <= vertices]


NASBENCH101 = {"version": "1", "keyed_by": "nasbench101", "datasets": ["cifar10"], "spaces": []}


def synthetic_table(codes: np.ndarray, columns: dict[str, np.ndarray], about: dict[str, dict] | None = None) -> Table:
    """A table of some cells with made-up metrics (R, repeats) at 108 epochs, measured unless `about` says otherwise.

    Rows are in the order given, under made-up hashes that ascend.
    """
    digests = np.zeros((len(codes), 16), np.uint8)
    digests[:, 12:] = np.arange(len(codes), dtype=">u4").view(np.uint8).reshape(-1, 4)
    stored = {name: values.reshape(len(codes), 1, -1).astype(float) for name, values in columns.items()}
    repeats = next(iter(stored.values())).shape[2]
    meta = {**NASBENCH101, "name": "synthetic", "epochs": [108], "repeats": repeats}
    meta["columns"] = {name: (about or {}).get(name, MEASURED) for name in stored}
    kept = {"hash": digests, "cell": codes, "trainable_parameters": np.arange(1, len(codes) + 1)}
    return Table.from_columns({**kept, **stored}, meta)


def small_table(
    accuracy: Callable[[np.ndarray], np.ndarray],
    vertices: int = 5,
    seconds: Callable | None = None,
    split: str = "validation",
) -> Table:
    """A table of all cells of at most this many vertices; accuracy (and seconds) are functions of the encodings."""
    codes = all_cells(vertices)
    columns = {f"{split}_accuracy": accuracy(codes)}
    if seconds is not None:
        columns["training_time"] = seconds(codes)
    return synthetic_table(codes, columns)


def operation_counts(codes: np.ndarray) -> np.ndarray:
    """Number of vertices with each operation, (N, 3)."""
    return (to_arrays(codes)[1][:, :, None] == np.arange(3)).sum(axis=1)


def retrained_table() -> Table:
    """Real and complete: EC-NAS's trainings of all 91 cells of up to four vertices, 4 budgets, 3 repeats."""
    arrays = read_source(RETRAINED)
    order = np.lexsort((arrays["repeat"], arrays["epochs"], *arrays["hash"].T[::-1]))
    arrays = {name: values[order] for name, values in arrays.items() if len(np.atleast_1d(values)) == len(order)}
    names = {"valid_acc": "validation_accuracy", "test_acc": "test_accuracy", "train_acc": "train_accuracy"}
    columns = {stored: arrays[name].reshape(91, 4, 3) for name, stored in names.items()}
    columns["training_time"] = arrays["train_time_s"].reshape(91, 4, 3)
    first = slice(None, None, 12)
    about = {"fidelity": "measured", "epochs": [4, 12, 36, 108]}
    meta = {**NASBENCH101, "name": "ecnas-4v", "epochs": [4, 12, 36, 108], "repeats": 3}
    meta["columns"] = dict.fromkeys(columns, about)
    graphs_of = zip(*(arrays[name][first] for name in ("adjacency", "ops", "n_vertices")), strict=True)
    cells = [cell_of(adjacency, ops, n) for adjacency, ops, n in graphs_of]
    columns["hash"] = arrays["hash"][first]
    columns["cell"] = np.array([cell.encoding for cell in cells], np.uint64)
    columns["trainable_parameters"] = arrays["params"][first].astype(np.int64)
    return Table.from_columns(columns, meta)


def cell_of(adjacency: np.ndarray, ops: np.ndarray, n: int) -> Cell:
    """A cell of one of the sources."""
    names = {-1: "input", 0: "conv3x3-bn-relu", 1: "conv1x1-bn-relu", 2: "maxpool3x3", -2: "output"}
    return Cell(adjacency[:n, :n], [names[int(op)] for op in ops[:n]])
