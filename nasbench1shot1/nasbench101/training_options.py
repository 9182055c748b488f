"""The options of NAS-Bench-101's training protocol, with the published values as defaults, and a training's record."""

from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, Literal

from nasbench1shot1.cell_training.options import TrainingOptions
from nasbench1shot1.cell_training.record import COMMON_FACTS, Training
from nasbench1shot1.ground.errors import InvalidInputError
from nasbench1shot1.nasbench101.benchmark import BENCHMARK
from nasbench1shot1.nasbench101.cell import Cell
from nasbench1shot1.nasbench101.cost import Skeleton, as_cell
from nasbench1shot1.runs.folder import CONFIG, damaged_file_error
from nasbench1shot1.runs.options import MOST_EPOCHS, RATE, Range

SCALES: dict[str, dict[str, Any]] = {
    "full": {},
    "quick": {
        "epochs": 12,
        "images": "cifar10-sample",
        "stem_channels": 16,
        "cells_per_stack": 1,
        "batch_size": 50,
        "batch_norm_momentum": 0.1,
    },
}
"""Values that a scale sets for options that are not given; "quick" takes a minute on a CPU."""
FACTS = {"cell_hash": str, "matrix": list, "ops": list, **COMMON_FACTS}
"""Fields of config.json besides the options, with their types."""


@dataclass(frozen=True, kw_only=True)
class TrainingConfig(TrainingOptions):
    """The options for training a cell; the defaults are NAS-Bench-101's protocol."""

    BENCHMARK = BENCHMARK
    SCALES = SCALES
    PUBLISHED = (
        "stem_channels", "stacks", "cells_per_stack", "batch_size", "learning_rate", "momentum", "rms_decay",
        "rms_epsilon", "weight_decay", "batch_norm_momentum", "precision",
    )  # fmt: skip
    RECIPE = "nasbench1shot1.nasbench101.recipe:CellRecipe"
    RECORD = "nasbench1shot1.nasbench101.training_options:CellTraining"

    epochs: Annotated[int, Range(1, MOST_EPOCHS)] = 108
    """Budget: number of training epochs; NAS-Bench-101 has 4, 12, 36 and 108."""
    stem_channels: Annotated[int, Range(1)] = 128
    """Number of channels of the stem and the first stack; each further stack doubles it."""
    stacks: Annotated[int, Range(1, 6)] = 3
    """Number of stacks of cells; the image is halved between stacks."""
    cells_per_stack: Annotated[int, Range(1)] = 3
    """Number of cells per stack."""
    numbering: Literal["given", "nasbench101"] = "given"
    """Order of the vertices: as in the cell (given), or as NAS-Bench-101 trained that cell (nasbench101)."""
    learning_rate: Annotated[float, RATE] = 0.2
    """Initial learning rate; a cosine schedule, updated every step, lowers it to zero. The first step has rate zero."""
    rms_decay: Annotated[float, Range(0, 1)] = 0.9
    """Decay of RMSProp's moving average of squared gradients."""
    rms_epsilon: Annotated[float, Range(0)] = 1.0
    """Constant added to RMSProp's moving average before the square root."""
    weight_decay: Annotated[float, RATE] = 1e-4
    """L2 coefficient λ: adds λ · ½ Σ p² to the loss."""
    batch_norm_momentum: Annotated[float, Range(0, 1)] = 0.003
    """Weight of a new batch in batch-norm's running statistics; 0.003 is TensorFlow's 0.997."""

    def skeleton(self, classes: int) -> Skeleton:
        """Return the network skeleton around the cells; the configuration must be resolved."""
        return Skeleton(
            stem_channels=self.stem_channels,
            stacks=self.stacks,
            cells_per_stack=self.cells_per_stack,
            classes=classes,
        )


class CellTraining(Training):
    """The training of a cell with NAS-Bench-101's protocol."""

    KIND, SUBJECT, OPTIONS, FACTS = "cell training", "cell", TrainingConfig, FACTS
    DESCRIBED = ("architecture", "cell_hash")

    @cached_property
    def trained(self) -> Cell:
        """The cell, not pruned; raises DamagedFileError if config.json does not have one, or another one's hash."""
        try:
            cell = Cell(self.config["matrix"], self.config["ops"])
            is_recorded = cell.hash == self.config["cell_hash"]
        except InvalidInputError as error:
            raise damaged_file_error(self.folder / CONFIG, "its cell is impossible") from error
        if not is_recorded:
            raise damaged_file_error(self.folder / CONFIG, "its cell_hash is the hash of another cell")
        return cell

    @property
    def cell(self) -> Cell:
        """The cell, not pruned."""
        return self.trained

    @staticmethod
    def as_trained(x: Any) -> Cell:
        """Return an architecture, or an object with `matrix` and `ops`, as a cell."""
        return as_cell(x)

    @property
    def network_id(self) -> str:
        """NAS-Bench-101's MD5 of the cell."""
        return self.trained.hash
