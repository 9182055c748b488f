"""Sub-networks as the published ranking script of NAS-Bench-1Shot1 evaluates them (docs/presets.md)."""

from collections.abc import Sequence

import torch

from nasbench1shot1.ground.errors import InvalidInputError
from nasbench1shot1.nasbench101.architecture import CellArchitecture
from nasbench1shot1.nasbench101.cell import MAX_VERTICES
from nasbench1shot1.supernets.passes import Mixing, Pass, Subnetwork
from nasbench1shot1.supernets.presets import PRESETS
from nasbench1shot1.supernets.supernet import Supernet, cell_class, to_tensors

OUTPUT_EDGES = "output_edges"


def original_passes(net: Supernet, architectures: Sequence[CellArchitecture], is_relaxed: bool) -> list[Pass]:
    """Return the passes with which `SharedWeights` evaluates architectures under the preset "original".

    In spaces of four blocks (s1 and s2), the script drops the edge from the last block to the output.

    Args:
        net: a supernet of choice blocks.
        architectures: A architectures of its space.
        is_relaxed: whether the search trained mixtures (DARTS, GDAS, PC-DARTS, SNAS). If so, operations are weighted by
            the softmax of their one-hot vector, and every node takes the mean of its inputs.
    """
    return [_relaxed(net, arch) if is_relaxed else _cut(arch) for arch in architectures]


def drops_last_edge(blocks: int) -> bool:
    """Return whether the published script drops the edge from the last block to the output.

    In cells that are padded to seven vertices, the script deletes two rows instead of a row and a column.
    """
    return blocks + 2 < MAX_VERTICES


def without_last_edge(architecture: CellArchitecture) -> CellArchitecture | Subnetwork:
    """Return an architecture without the edge from its last block to the output.

    An architecture that does not have the edge is returned unchanged. Raises InvalidInputError if the last block is the
    only parent of the output.
    """
    last, parents = len(architecture.operations), architecture.parents[-1]
    if last not in parents:
        return architecture
    return with_output_parents(architecture, tuple(node for node in parents if node != last))


def with_output_parents(architecture: CellArchitecture, kept: Sequence[int]) -> Subnetwork:
    """Return an architecture whose output keeps only some of its parents, at least one, ascending.

    Raises InvalidInputError if `kept` is empty, or contains a node that is not a parent of the output.
    """
    parents = architecture.parents[-1]
    if not kept or tuple(kept) != tuple(node for node in parents if node in kept):
        raise InvalidInputError(
            f"the output of '{architecture}' cannot keep the parents {tuple(kept)!r}: give one or more of {parents}, "
            "ascending"
        )
    path = CellArchitecture.unchecked(
        architecture.space, (*architecture.parents[:-1], tuple(kept)), architecture.operations
    )
    return Subnetwork(architecture, path, ((OUTPUT_EDGES, tuple(node for node in parents if node not in kept)),))


def _cut(architecture: CellArchitecture) -> Pass:
    return without_last_edge(architecture) if drops_last_edge(len(architecture.operations)) else architecture


def _relaxed(net: Supernet, architecture: CellArchitecture) -> Mixing:
    one_hot = to_tensors(net.space.one_hot(architecture), net.classifier.weight.device)
    if drops_last_edge(len(architecture.operations)):
        one_hot[OUTPUT_EDGES][-1] = 0
    weights = cell_class(net.space).as_evaluated(one_hot, PRESETS["original"])
    return Mixing({key: torch.nan_to_num(value, nan=0.0) for key, value in weights.items()})  # 0 / 0: no edge is left
