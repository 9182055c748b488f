"""Checks whether the training of a network fits into memory, before it is built."""

from nasbench1shot1.cell_training.config import EdgeTrainingConfig, TrainingConfig, TrainingOptions
from nasbench1shot1.nasbench101.cell import Cell
from nasbench1shot1.nasbench101.skeleton import parameter_count
from nasbench1shot1.nasbench201.architecture import EdgeArchitecture
from nasbench1shot1.nasbench201.network import STAGES, edge_parameter_count
from nasbench1shot1.runs.memory import check_memory
from nasbench1shot1.runs.options import flag

COPIES = 4  # weights, gradients, and RMSProp's two
EDGE_COPIES = 3  # weights, gradients, and SGD's momentum


def check_fits(config: TrainingConfig, cell: Cell, classes: int, side: int = 32) -> None:
    """Raise InvalidInputError for a network whose training does not fit into the memory of its device.

    `side` is the height and width of an image in pixels.

    Only what every network keeps is counted: weights, gradients, the optimizer's state and every cell's output for
    backpropagation. So a training that passes may still run out of memory.

    Raises InvalidInputError with the estimate.
    """
    parameters = parameter_count(cell, config.skeleton(classes))
    outputs = config.cells_per_stack * _outputs(config.stem_channels, config.stacks, side)
    _check(config, ("stem_channels", "cells_per_stack"), COPIES * parameters, parameters, outputs)


def check_edges_fit(config: EdgeTrainingConfig, architecture: EdgeArchitecture, classes: int, side: int) -> None:
    """Raise as `check_fits`, for the network of an architecture of nb201 and images of `side` × `side` pixels."""
    parameters = edge_parameter_count(architecture.operations, config.channels, config.cells_per_stage, classes)
    outputs = config.cells_per_stage * _outputs(config.channels, STAGES, side)
    _check(config, ("channels", "cells_per_stage"), EDGE_COPIES * parameters, parameters, outputs)


def _check(config: TrainingOptions, sizes: tuple[str, str], kept: int, parameters: int, outputs: int) -> None:
    """Check the numbers that are kept once, and the outputs of all cells, which are kept for every image."""
    numbers = 2 if config.precision == "bfloat16" else 4  # bytes of an activation; all else is float32
    given = " and ".join(f"{flag(name)} {getattr(config, name)}" for name in sizes)
    check_memory(
        4 * kept + numbers * config.batch_size * outputs,
        config.device,
        f"{given} give a network of {parameters:,} parameters, which with gradients, the optimizer's state and the "
        f"feature maps of {config.batch_size} images needs",
        f"lower {', '.join(map(flag, sizes))} or --batch-size",
    )


def _outputs(channels: int, stages: int, side: int) -> int:
    """Return how many numbers the outputs of one cell in every stage have for one image."""
    return sum((channels << stage) * (side >> stage) ** 2 for stage in range(stages))
