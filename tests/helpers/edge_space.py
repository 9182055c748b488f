"""A minimal space of NAS-Bench-201 for tests of networks: indices and one-hot mixing weights."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

import nasbench1shot1 as nb
from nasbench1shot1.nasbench201.benchmark import BENCHMARK
from nasbench1shot1.nasbench201.numbering import all_operations, index_of

EDGE_CELL = "nasbench1shot1.nasbench201.supernet:EdgeCell"
AFFINE_EDGE_CELL = "nasbench1shot1.nasbench201.supernet:AffineEdgeCell"


class EdgeSpace(nb.OneShotSpace):
    """All 15,625 architectures, by official index."""

    name, id, kinds = "nb201", "edges-of-tests", ("all",)
    benchmark = BENCHMARK
    table = split = None
    search_defaults = scale_defaults = {}  # noqa: RUF012

    def __init__(self, cell: str = EDGE_CELL) -> None:
        self.cell = cell

    def __len__(self) -> int:
        return 5**6

    def __getitem__(self, index: int) -> nb.EdgeArchitecture:
        return nb.EdgeArchitecture("nb201", all_operations()[self.checked_number(index)].tolist())

    def index(self, arch: nb.Architecture) -> int:
        if not isinstance(arch, nb.EdgeArchitecture):
            raise nb.InvalidInputError(f"{arch} is not in nb201")
        return index_of(arch.operations)

    def mixing_shapes(self) -> dict[str, tuple[int, ...]]:
        return {"operations": (6, 5)}

    def one_hot(self, arch: nb.EdgeArchitecture) -> dict[str, NDArray[np.float32]]:
        return {"operations": np.eye(5, dtype=np.float32)[list(arch.operations)]}

    def _unused(self, *arguments: Any, **named: Any) -> Any:
        raise NotImplementedError

    count = numbers = sample = neighbours = configuration_space = from_configuration = to_configuration = _unused
    choices = discretise = _unused
