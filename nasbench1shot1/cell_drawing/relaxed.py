"""The graph of a cell during a search: all candidate edges with their mixing weights."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from nasbench1shot1.architecture import Architecture
from nasbench1shot1.cell_drawing.graph import cell_graph
from nasbench1shot1.ground.errors import InvalidInputError
from nasbench1shot1.nasbench101.architecture import CellArchitecture
from nasbench1shot1.nasbench101.cell import OPERATIONS
from nasbench1shot1.nasbench201.architecture import EdgeArchitecture
from nasbench1shot1.nasbench201.operations import EDGES
from nasbench1shot1.nasbench201.operations import OPERATIONS as EDGE_OPERATIONS

if TYPE_CHECKING:
    import networkx

Parameters = Mapping[str, NDArray[Any]]


def relaxed_graph(arch: Architecture, parameters: Parameters) -> "networkx.DiGraph[int]":
    """Return the graph of `cell_graph` with all candidate edges; weights are softmaxes of the parameters.

    The label of a chosen operation includes its weight.

    Args:
        arch: the architecture that the parameters select.
        parameters: raw architecture parameters Λ for every key of the space's `mixing_shapes()`.

    Raises:
        InvalidInputError: architectures of this type cannot be drawn, or parameters have another shape.
    """
    graph = cell_graph(arch)
    _check_shapes(arch, parameters)
    mixed = {key: _softmax(values) for key, values in parameters.items()}
    if isinstance(arch, CellArchitecture):
        _weigh_parents(graph, arch, mixed)
    elif isinstance(arch, EdgeArchitecture):
        _weigh_operations(graph, arch, mixed["operations"])
    return graph


def _check_shapes(arch: Architecture, parameters: Parameters) -> None:
    wanted: dict[str, tuple[int, ...]] = {"operations": (len(EDGES), len(EDGE_OPERATIONS))}
    if isinstance(arch, CellArchitecture):
        nodes = len(arch.parents)
        wanted = {"operations": (nodes - 1, len(OPERATIONS)), "output_edges": (nodes,)}
        wanted |= {f"input_edges/{node}": (node,) for node in range(1, nodes)}
    for key, shape in wanted.items():
        if key in parameters and np.shape(parameters[key]) != shape:
            raise InvalidInputError(
                f"parameters['{key}'] has the shape {np.shape(parameters[key])}, not {shape}: give the parameters of "
                "one epoch, such as run.architecture_parameters[key][-1] for every key"
            )
    if "operations" not in parameters:
        raise InvalidInputError("parameters lack 'operations': give an array for every key of space.mixing_shapes()")


def _weigh_parents(graph: "networkx.DiGraph[int]", arch: CellArchitecture, mixed: Parameters) -> None:
    for block, operation in enumerate(arch.operations, start=1):
        graph.nodes[block]["label"] += f" {mixed['operations'][block - 1, operation]:.2f}"
    graph.graph["vertex_characters"] += len(" 0.00")
    for node in range(1, len(arch.parents) + 1):
        key = "output_edges" if node == len(arch.parents) else f"input_edges/{node}"
        for parent, weight in enumerate(mixed.get(key, np.ones(node)).tolist()):
            if not graph.has_edge(parent, node):
                graph.add_edge(parent, node, label="", chosen=False)
            graph.edges[parent, node]["weight"] = weight


def _weigh_operations(graph: "networkx.DiGraph[int]", arch: EdgeArchitecture, mixed: NDArray[Any]) -> None:
    for (target, source), operation, weights in zip(EDGES, arch.operations, mixed, strict=True):
        chosen, weight = graph.has_edge(source, target), float(weights[operation])
        text = f"{EDGE_OPERATIONS[operation]}\n{weight:.2f}"
        graph.add_edge(source, target, label=text, chosen=chosen, weight=weight)


def _softmax(values: NDArray[Any]) -> NDArray[np.float64]:
    powers = np.exp(np.asarray(values, np.float64) - np.max(values, axis=-1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=-1, keepdims=True))
