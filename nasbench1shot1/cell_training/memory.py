"""Checks whether the training of a cell fits into memory, before its network is built."""

from nasbench1shot1.cell_training.config import TrainingConfig
from nasbench1shot1.nasbench101.cell import Cell
from nasbench1shot1.nasbench101.skeleton import parameter_count
from nasbench1shot1.runs.memory import check_memory

COPIES = 4  # weights, gradients, and RMSProp's two


def check_fits(config: TrainingConfig, cell: Cell, classes: int, side: int = 32) -> None:
    """Raise InvalidInputError for a network whose training does not fit into the memory of its device.

    `side` is the height and width of an image in pixels.

    Only what every network keeps is counted: weights, gradients, the optimizer's state and every cell's output for
    backpropagation. So a training that passes may still run out of memory.

    Raises InvalidInputError with the estimate.
    """
    parameters = parameter_count(cell, config.skeleton(classes))
    numbers = 2 if config.precision == "bfloat16" else 4  # bytes of an activation; all else is float32
    check_memory(
        4 * COPIES * parameters + numbers * config.batch_size * _activations(config, side),
        config.device,
        f"--stem-channels '{config.stem_channels}' and --cells-per-stack '{config.cells_per_stack}' give a network of "
        f"{parameters:,} parameters, which with gradients, the optimizer's state and the feature maps of "
        f"{config.batch_size} images needs",
        "lower --stem-channels, --cells-per-stack or --batch-size",
    )


def _activations(config: TrainingConfig, side: int) -> int:
    """Return how many numbers the outputs of all cells have for one image of `side` pixels in height and width."""
    maps = ((config.stem_channels << stack) * (side >> stack) ** 2 for stack in range(config.stacks))
    return config.cells_per_stack * sum(maps)
