"""Construction of an architecture's stand-alone network, as its benchmark trains it."""

import inspect
from importlib import import_module
from typing import TYPE_CHECKING, Any, overload

from nasbench1shot1.architecture import CELL_NETWORK
from nasbench1shot1.ground.arguments import check_torch_generator
from nasbench1shot1.ground.errors import unknown_name

if TYPE_CHECKING:
    import torch

    from nasbench1shot1.nasbench101.network import CellNetwork
    from nasbench1shot1.nasbench201.architecture import EdgeArchitecture
    from nasbench1shot1.nasbench201.network import EdgeNetwork


@overload
def build_network(
    x: "EdgeArchitecture",
    *,
    channels: int = ...,
    cells_per_stage: int = ...,
    classes: int = ...,
    generator: "torch.Generator | None" = ...,
) -> "EdgeNetwork": ...


@overload
def build_network(
    x: Any,
    *,
    stem_channels: int = ...,
    stacks: int = ...,
    cells_per_stack: int = ...,
    classes: int = ...,
    numbering: str = ...,
    batch_norm_momentum: float = ...,
    generator: "torch.Generator | None" = ...,
) -> "CellNetwork": ...


def build_network(x: Any, **options: Any) -> Any:
    """Build the stand-alone network of an architecture with new weights; the defaults are its benchmark's.

    Args:
        x: an architecture of NAS-Bench-101 or nb201, or of another form with the attribute `NETWORK`; for NAS-Bench-101
            also a Cell, or an object with `matrix` and `ops`, such as a ModelSpec.
        options: for NAS-Bench-101, the options of `nasbench101.network.build_network` (stem_channels, stacks,
            cells_per_stack, classes, numbering, batch_norm_momentum, generator); for nb201, the options of
            `nasbench201.network.build_edge_network` (channels, cells_per_stage, classes, generator).

    Returns:
        A `torch.nn.Module`, (N, 3, H, W) normalised images → (N, classes) logits.

    Raises:
        InvalidInputError: x is not an architecture or a cell, or an option is unknown or out of range.
    """
    module, _, name = (getattr(x, "NETWORK", "") or CELL_NETWORK).partition(":")
    build = getattr(import_module(module), name)
    known = list(inspect.signature(build).parameters)[1:]
    for option in options:
        if option not in known:
            raise unknown_name("option of this network", option, known)
    if options.get("generator") is not None:
        check_torch_generator(options["generator"])
    return build(x, **options)
