"""Tables of s1's cells with known answers, and optimizers that propose given architectures."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

import numpy as np

import nasbench1shot1 as nb
from nasbench1shot1.black_box_optimizer import Query
from nasbench1shot1.hyperparameters import Hyperparameters
from nasbench1shot1.nasbench101.encoding import to_arrays
from nasbench1shot1.tables.columns import Column

S1 = nb.search_space("s1")
BUDGETS = (4, 12, 36, 108)


def s1_table(
    accuracies: np.ndarray,
    seconds: np.ndarray,
    test_accuracies: np.ndarray | None = None,
    others: Mapping[Column, np.ndarray] = MappingProxyType({}),
) -> nb.Table:
    """A measured table of s1's 2,685 cells: accuracies (2685, 4, repeats) in [0, 1], seconds likewise.

    Rows are in the order of `S1.enumerate_cells()`, under made-up hashes that ascend. `others` are further columns.
    """
    codes = np.asarray(S1.enumerate_cells()[1])
    digests = np.zeros((len(codes), 16), np.uint8)
    digests[:, 12:] = np.arange(len(codes), dtype=">u4").view(np.uint8).reshape(-1, 4)
    about = {"fidelity": "measured", "epochs": list(BUDGETS)}
    values = {
        "validation_accuracy": accuracies,
        "test_accuracy": accuracies if test_accuracies is None else test_accuracies,
        "training_time": seconds,
    }
    columns = {"hash": digests, "cell": codes, "trainable_parameters": np.arange(1, len(codes) + 1), **values}
    columns["member_s1"] = np.arange(len(codes))
    columns |= {column.metric: stored for column, stored in others.items()}
    entries = dict.fromkeys(values, about) | {column.metric: column.entry() for column in others}
    meta = {"name": "made-up", "version": "1", "keyed_by": "nasbench101", "datasets": ["cifar10"]}
    meta |= {"epochs": list(BUDGETS), "repeats": accuracies.shape[2]}
    return nb.Table.from_columns(columns, {**meta, "spaces": ["s1"], "columns": entries})


def convolutions() -> np.ndarray:
    """Number of 3×3 convolutions in each cell of s1, (2685,)."""
    return (to_arrays(np.asarray(S1.enumerate_cells()[1]))[1] == 0).sum(axis=1)


def smooth_table(repeats: int = 1, others: Mapping[Column, np.ndarray] = MappingProxyType({})) -> nb.Table:
    """A table whose accuracy increases with 3×3 convolutions and budget; training takes `budget` seconds."""
    quality = 0.5 + 0.1 * convolutions()
    accuracies = quality[:, None, None] - 0.1 / np.array(BUDGETS)[None, :, None] + np.zeros((1, 1, repeats))
    seconds = np.broadcast_to(np.array(BUDGETS, float)[None, :, None], accuracies.shape).copy()
    return s1_table(accuracies, seconds, others=others)


def noisy_table() -> nb.Table:
    """A table with three repeats of accuracy and time."""
    rng, shape = np.random.default_rng(5), (len(convolutions()), len(BUDGETS), 3)
    return s1_table(rng.uniform(0.5, 1, shape), rng.uniform(1, 9, shape))


def saved(table: nb.Table, folder: Path) -> nb.Table:
    """Save a table in a folder, and open it again."""
    table.save(folder)
    return nb.load_table(folder)


class ScriptedProposals(nb.BlackBoxOptimizer):
    """Proposes given queries in order and records the results."""

    def __init__(self, queries: Sequence[Query | None], budgets: Sequence[int] = BUDGETS) -> None:
        super().__init__(S1, Hyperparameters(), budgets[-1], budgets, np.random.default_rng(0))
        self.queries, self.told = list(queries), []

    @property
    def used_budgets(self) -> tuple[int, ...]:
        return self.budgets

    def ask(self) -> Query | None:
        return self.queries.pop(0) if self.queries else None

    def tell(self, query: Query, validation_error: float, seconds: float) -> None:
        self.told.append((query, validation_error, seconds))
