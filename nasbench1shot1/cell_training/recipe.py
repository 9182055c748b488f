"""What a benchmark's training protocol consists of: its recipe, and the parts from which recipes are made."""

from abc import ABC, abstractmethod
from dataclasses import replace
from typing import Any, ClassVar, NamedTuple

import torch
from torch import Tensor, nn

from nasbench1shot1.benchmark import load
from nasbench1shot1.cell_training.options import TrainingOptions
from nasbench1shot1.cell_training.parts import Parts
from nasbench1shot1.ground.errors import option
from nasbench1shot1.images.augment import Augmentation
from nasbench1shot1.images.batches import epoch_generator
from nasbench1shot1.images.data_sets import CIFAR10
from nasbench1shot1.images.image_set import ImageSet
from nasbench1shot1.runs.machine import check_memory


class Stop(NamedTuple):
    """A step after which something is recorded."""

    step: int
    """Number of steps done by then."""
    epochs: float
    """Nominal number of epochs done by then."""
    evaluation: str | None
    """The name of the evaluation (`record.FINAL`, …); None for the end of an epoch without evaluation."""


class Recipe(ABC):
    """How a benchmark trains the network of one architecture.

    Args:
        x: an architecture or a cell.
        config: the resolved options.

    Raises:
        InvalidInputError: the options do not support the architecture.

    Attributes:
        WHOLE_BATCHES: whether an evaluation omits the images that do not fill a batch.
        MEAN, STD: mean and standard deviation with which the benchmark normalises CIFAR-10, as fractions of 255.
        title: the architecture, for the screen.
        size: the size of the network, for the screen.
        name: the part of the default folder's name that identifies the architecture.
        identity: the architecture, for checkpoints.
        facts: the architecture, for config.json.
    """

    WHOLE_BATCHES: ClassVar[bool] = False
    MEAN: ClassVar[tuple[float, float, float]] = CIFAR10.mean
    STD: ClassVar[tuple[float, float, float]] = CIFAR10.std

    title: str
    size: str
    name: str
    identity: dict[str, Any]
    facts: dict[str, Any]

    @abstractmethod
    def __init__(self, x: Any, config: Any) -> None: ...

    @property
    def has_published_network(self) -> bool:
        """Whether this is the network that the benchmark trained for the architecture, apart from its size."""
        return True

    @property
    def folder(self) -> str:
        """A folder name that no other architecture of the benchmark has."""
        return self.name

    def flops(self, images: ImageSet) -> int | None:
        """Return the multiply-adds of the network for one image, as the benchmark counts them; None if unknown."""
        return None

    @abstractmethod
    def parts(self, images: ImageSet) -> Parts:
        """Divide an image set; raises InvalidInputError if it has too few images."""

    @abstractmethod
    def stops(self, images: int) -> list[Stop]:
        """Return all steps after which something is recorded, for a number of training images."""

    @abstractmethod
    def stream(self, rows: Tensor) -> "ShuffledStream":
        """Return the batches of the training images with these rows, (N,)."""

    @abstractmethod
    def learning_rate(self, step: int, last: Stop) -> float:
        """Return the learning rate of a step, 0 … last.step - 1."""

    @abstractmethod
    def check_fits(self, images: ImageSet) -> None:
        """Raise InvalidInputError if the training cannot fit into memory."""

    @abstractmethod
    def network(self, classes: int, generator: torch.Generator) -> nn.Module:
        """Return the network on the CPU: (N, 3, H, W) normalised images → (N, classes) logits."""

    @abstractmethod
    def optimizer(self, net: nn.Module) -> torch.optim.Optimizer:
        """Return the optimizer; the loop sets the learning rate of its groups before every step."""

    def augmentation(self, images: ImageSet) -> Augmentation:
        """Return the augmentation of training images: a black border, random crops and flips, without cutout.

        Its mean and standard deviation normalise all images.
        """
        own = Augmentation.of(images)
        return replace(own, mean=self.MEAN, std=self.STD) if images.mean == CIFAR10.mean else own


def recipe(x: Any, config: TrainingOptions) -> Recipe:
    """Return the recipe that a configuration names; raises the errors of `Recipe`."""
    found: Recipe = load(config.RECIPE, f"the recipe of {type(config).__name__}")(x, config)
    return found


class ShuffledStream:
    """Consecutive random orders of all rows; all batches are complete and may cross the ends of epochs.

    The rows of a step depend only on the seed and the step. A training can therefore resume at any step without saved
    state of the stream.

    Args:
        rows: rows of the training images, int64 (N,).
        batch_size: number of rows per step.
        seed: random seed of the orders.
    """

    def __init__(self, rows: Tensor, batch_size: int, seed: int) -> None:
        self._rows, self._batch_size, self._seed = rows, batch_size, seed
        self._pass, self._shuffled = -1, rows

    @property
    def smallest_batch(self) -> int:
        """Number of rows in the smallest batch."""
        return self._batch_size

    def batch(self, step: int) -> Tensor:
        """Return the rows of a step, 0, 1, …: int64 (batch_size,)."""
        parts, wanted, at = [], self._batch_size, step * self._batch_size
        while wanted:
            number, offset = divmod(at, len(self._rows))
            part = self._shuffled_rows(number)[offset : offset + wanted]
            parts.append(part)
            wanted, at = wanted - len(part), at + len(part)
        return torch.cat(parts)

    def _shuffled_rows(self, number: int) -> Tensor:
        if number != self._pass:
            generator = epoch_generator(self._seed, "order", number)
            self._pass, self._shuffled = number, self._rows[torch.randperm(len(self._rows), generator=generator)]
        return self._shuffled


class EpochStream(ShuffledStream):
    """A random order of all rows in every epoch; batches end with the epoch, so the last one may be smaller."""

    @property
    def smallest_batch(self) -> int:
        """Number of rows in the last batch of an epoch."""
        return len(self._rows) % self._batch_size or self._batch_size

    def batch(self, step: int) -> Tensor:
        """Return the rows of a step, 0, 1, …: int64 (batch_size,) or, at the end of an epoch, the remaining rows."""
        steps_per_epoch = -(-len(self._rows) // self._batch_size)
        epoch, place = divmod(step, steps_per_epoch)
        return self._shuffled_rows(epoch)[place * self._batch_size : (place + 1) * self._batch_size]


def check_network_fits(
    config: TrainingOptions, sizes: tuple[str, ...], parameters: int, copies: int, outputs: int
) -> None:
    """Raise InvalidInputError if the training of a network does not fit into the memory of its device.

    The estimate is a lower bound: weights, gradients, the optimizer's state and every cell's output for
    backpropagation. A training that passes may therefore still run out of memory. The error contains the estimate.

    Args:
        config: the resolved options.
        sizes: the names of the options that determine the size of the network; none if only the architecture does.
        parameters: number of parameters of the network.
        copies: how often they are stored: weights, gradients and the optimizer's buffers.
        outputs: number of output values of all cells for one image.
    """
    numbers = 2 if config.precision == "bfloat16" else 4  # bytes per activation; all other numbers are float32
    given = " and ".join(option(name, getattr(config, name)) for name in sizes)
    subject = f"{given} give" if sizes else "the architecture has"
    lower = f"{', '.join(map(option, sizes))} or {option('batch_size')}" if sizes else option("batch_size")
    check_memory(
        4 * copies * parameters + numbers * config.batch_size * outputs,
        config.device,
        f"{subject} a network of {parameters:,} parameters, which with gradients, the optimizer's state and the "
        f"feature maps of {config.batch_size} images needs",
        f"lower {lower}",
    )


def stage_outputs(channels: int, stages: int, side: int) -> int:
    """Return the output values of one cell in every stage for one image; each stage doubles channels and halves sides.

    `side` is the height and width of an image in pixels.
    """
    return sum((channels << stage) * (side >> stage) ** 2 for stage in range(stages))
