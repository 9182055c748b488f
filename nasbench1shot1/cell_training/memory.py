"""Check that the training of a network fits into memory, before the network is built."""

from nasbench1shot1.cell_training.config import EdgeTrainingConfig, TrainingConfig, TrainingOptions
from nasbench1shot1.nasbench101.cell import Cell
from nasbench1shot1.nasbench101.skeleton import parameter_count
from nasbench1shot1.nasbench201.architecture import EdgeArchitecture
from nasbench1shot1.nasbench201.network import STAGES, edge_parameter_count
from nasbench1shot1.runs.machine import check_memory
from nasbench1shot1.runs.options import flag

COPIES = 4  # weights, gradients, and RMSProp's two buffers
EDGE_COPIES = 3  # weights, gradients, and SGD's momentum


def check_fits(config: TrainingConfig, cell: Cell, classes: int, side: int = 32) -> None:
    """Raise InvalidInputError if the training of a network does not fit into the memory of its device.

    `side` is the height and width of an image in pixels.

    The estimate is a lower bound: weights, gradients, the optimizer's state and every cell's output for
    backpropagation. A training that passes may therefore still run out of memory.

    The error contains the estimate.
    """
    parameters = parameter_count(cell, config.skeleton(classes))
    outputs = config.cells_per_stack * _outputs(config.stem_channels, config.stacks, side)
    _check(config, ("stem_channels", "cells_per_stack"), COPIES * parameters, parameters, outputs)


def check_edges_fit(config: EdgeTrainingConfig, architecture: EdgeArchitecture, classes: int, side: int) -> None:
    """Do the check of `check_fits` for an architecture of nb201 and images of `side` × `side` pixels."""
    parameters = edge_parameter_count(architecture.operations, config.channels, config.cells_per_stage, classes)
    outputs = config.cells_per_stage * _outputs(config.channels, STAGES, side)
    _check(config, ("channels", "cells_per_stage"), EDGE_COPIES * parameters, parameters, outputs)


def _check(config: TrainingOptions, sizes: tuple[str, str], kept: int, parameters: int, outputs: int) -> None:
    """Check the memory of the numbers that are stored once and of the cell outputs, which are stored per image."""
    numbers = 2 if config.precision == "bfloat16" else 4  # bytes per activation; all other numbers are float32
    given = " and ".join(f"{flag(name)} {getattr(config, name)}" for name in sizes)
    check_memory(
        4 * kept + numbers * config.batch_size * outputs,
        config.device,
        f"{given} give a network of {parameters:,} parameters, which with gradients, the optimizer's state and the "
        f"feature maps of {config.batch_size} images needs",
        f"lower {', '.join(map(flag, sizes))} or --batch-size",
    )


def _outputs(channels: int, stages: int, side: int) -> int:
    """Return the number of output values for one image, of one cell in every stage."""
    return sum((channels << stage) * (side >> stage) ** 2 for stage in range(stages))
