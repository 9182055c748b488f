"""Stand-alone networks of architectures, as their benchmarks train them, and checks of the sizes of networks."""

import inspect
from typing import TYPE_CHECKING, Any

from nasbench1shot1.benchmark import Benchmark, benchmarks
from nasbench1shot1.ground.arguments import check_torch_generator, positive_number
from nasbench1shot1.ground.errors import unknown_name

if TYPE_CHECKING:
    from torch.nn import Module

LARGEST_SIZES = {"classes": 10**6, "side": 2**16}
"""Largest sizes of those that only multiply counts, which must fit into 64 bits; memory limits the others."""


def network_size(name: str, value: Any) -> int:
    """Return a size of a network, such as its `channels` or `classes`, as an int.

    Raises InvalidInputError if it is not a whole number of at least 1, or exceeds its limit in `LARGEST_SIZES`.
    """
    return positive_number(name, value, LARGEST_SIZES.get(name))


def benchmark_of(x: Any) -> Benchmark:
    """Return the benchmark of an architecture or cell; for other objects, such as a ModelSpec, the first benchmark."""
    found = getattr(x, "benchmark", None)
    return found if isinstance(found, Benchmark) else next(benchmarks())


def build_network(x: Any, **options: Any) -> "Module":
    """Build the stand-alone network of an architecture with new weights; its benchmark defines the defaults.

    Args:
        x: an architecture; for NAS-Bench-101 also a Cell, or an object with `matrix` and `ops`, such as a ModelSpec.
        options: the options of the function that the benchmark's record names as `network`. For NAS-Bench-101, they are
            the options of `nasbench101.network.build_network` (stem_channels, stacks, cells_per_stack, classes,
            numbering, batch_norm_momentum, generator); for nb201, they are the options of
            `nasbench201.network.build_edge_network` (channels, cells_per_stage, classes, generator).

    Returns:
        A `torch.nn.Module`, (N, 3, H, W) normalised images → (N, classes) logits.

    Raises:
        InvalidInputError: x is not an architecture or a cell, or an option is unknown or out of range.
    """
    build = benchmark_of(x).load("network")
    known = list(inspect.signature(build).parameters)[1:]
    for option in options:
        if option not in known:
            raise unknown_name("option of this network", option, known)
    if options.get("generator") is not None:
        check_torch_generator(options["generator"])
    network: Module = build(x, **options)
    return network
