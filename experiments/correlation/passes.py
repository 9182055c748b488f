"""Sub-networks as a ranking evaluates them: correctly, or as the published script does."""

from collections.abc import Sequence

import torch
from torch import Tensor

from nasbench1shot1.architecture import Architecture
from nasbench1shot1.ground.errors import InvalidInputError
from nasbench1shot1.nasbench101.architecture import CellArchitecture
from nasbench1shot1.nasbench101.cell import MAX_VERTICES
from nasbench1shot1.nasbench101.supernet import ChoiceBlockCell
from nasbench1shot1.space import OneShotSpace
from nasbench1shot1.supernets.passes import Mixing, Pass, without_last_edge
from nasbench1shot1.supernets.presets import PRESETS
from nasbench1shot1.supernets.supernet import Supernet, cell_class, to_tensors

OUTPUT_EDGES = "output_edges"


def passes_of(net: Supernet, architectures: Sequence[Architecture], preset: str, is_relaxed: bool) -> Sequence[Pass]:
    """Return the passes with which `SharedWeights` evaluates architectures.

    Args:
        net: the supernet.
        architectures: A architectures of the supernet's space.
        preset: "corrected" evaluates each architecture as it is. "original" follows the published script, which drops
            the edge from the last block to the output in spaces of four blocks (s1 and s2).
        is_relaxed: whether the search trained mixtures (DARTS, GDAS, PC-DARTS, SNAS). If so, "original" weights
            operations by the softmax of their one-hot vector, and every node takes the mean of its inputs.
    """
    if preset == "corrected":
        return architectures
    return [_published(net, arch, is_relaxed) for arch in architectures]


def check_preset(space: OneShotSpace, preset: str) -> None:
    """Raise InvalidInputError for the preset "original" on a space whose cells the published script does not have."""
    if preset == "original" and not issubclass(cell_class(space), ChoiceBlockCell):
        raise InvalidInputError(
            f"--preset original evaluates as the published script does, which has only cells of choice blocks, and "
            f"{space.name} has others: use --preset corrected"
        )


def _published(net: Supernet, arch: Architecture, is_relaxed: bool) -> Pass:
    assert isinstance(arch, CellArchitecture)  # `check_preset` has refused other spaces
    is_cut = drops_last_edge(len(arch.operations))
    if not is_relaxed:
        return without_last_edge(arch) if is_cut else arch
    one_hot = to_tensors(net.space.one_hot(arch), net.classifier.weight.device)
    if is_cut:
        one_hot[OUTPUT_EDGES][-1] = 0
    weights = cell_class(net.space).as_evaluated(one_hot, PRESETS["original"])
    return Mixing({key: _finite(value) for key, value in weights.items()})


def drops_last_edge(blocks: int) -> bool:
    """Return whether the published script drops the edge from the last block to the output.

    In cells that are padded to seven vertices, the script deletes two rows instead of a row and a column.
    """
    return blocks + 2 < MAX_VERTICES


def _finite(weights: Tensor) -> Tensor:
    """Replace NaN, which is the mean over zero edges (0 / 0), by zero."""
    return torch.nan_to_num(weights, nan=0.0)
