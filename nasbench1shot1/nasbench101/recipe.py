"""NAS-Bench-101's training protocol: RMSProp, a cosine schedule per step, batches that cross the ends of epochs."""

import math
from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor

from nasbench1shot1.cell_training.parts import Parts, canonical_order, held_out, official_tests, parts_of
from nasbench1shot1.cell_training.recipe import Recipe, ShuffledStream, Stop, check_network_fits, stage_outputs
from nasbench1shot1.cell_training.record import EPOCH, FINAL, HALFWAY, INITIAL
from nasbench1shot1.ground.errors import InvalidInputError, option
from nasbench1shot1.ground.text import counted
from nasbench1shot1.images.data_sets import CIFAR10
from nasbench1shot1.images.image_set import ImageSet
from nasbench1shot1.images.splits import VALIDATION_START
from nasbench1shot1.nasbench101.cost import as_cell, has_nasbench101_channels, multiply_adds, parameter_count
from nasbench1shot1.nasbench101.network import CellNetwork, build_network
from nasbench1shot1.nasbench101.training_options import TrainingConfig

COPIES = 4  # weights, gradients, and RMSProp's two buffers
FEWEST_STEPS = 4
"""Smallest number of steps that allows an initial, a half-way and a final evaluation."""


class CellRecipe(Recipe):
    """The training of a cell."""

    WHOLE_BATCHES = True
    MEAN = (125.31 / 255, 122.95 / 255, 113.87 / 255)
    STD = (62.99 / 255, 62.09 / 255, 66.70 / 255)

    def __init__(self, x: Any, config: TrainingConfig) -> None:
        self.cell, self._config = as_cell(x), config
        cells = counted(config.stacks * config.cells_per_stack, "cell")
        self.title, self.size = f"Cell {self.cell.hash}", f"{counted(config.stem_channels, 'channel')} × {cells}"
        self.name = f"cell-{self.cell.hash[:8]}"
        self.identity = {"matrix": self.cell.matrix.tolist(), "ops": list(self.cell.ops)}
        self.facts = {"cell_hash": self.cell.hash, **self.identity}

    @property
    def has_published_network(self) -> bool:
        """Whether the vertices have the channels that they have in NAS-Bench-101; True for cells that it lacks."""
        config = self._config
        if config.numbering == "nasbench101" or not self.cell.is_valid:
            return True
        return has_nasbench101_channels(self.cell, config.skeleton(CIFAR10.classes))

    @property
    def folder(self) -> str:
        """A name with the whole hash."""
        return f"cell-{self.cell.hash}"

    def flops(self, images: ImageSet) -> int:
        """Return the multiply-adds of convolutions and the dense layer for one image."""
        return multiply_adds(self.cell, self._config.skeleton(images.classes), images.side)

    def parts(self, images: ImageSet) -> Parts:
        """Divide an image set; the complete CIFAR-10 is divided as in NAS-Bench-101."""
        return divide(images)

    def stops(self, images: int) -> list[Stop]:
        """Return the ends of all epochs, and the steps of the evaluations."""
        config = self._config
        return stops(config.epochs, images, config.batch_size, config.evaluate_every)

    def stream(self, rows: Tensor) -> ShuffledStream:
        """Return a stream of complete batches from consecutive random orders of all rows."""
        return ShuffledStream(rows, self._config.batch_size, self._config.seed)

    def learning_rate(self, step: int, last: Stop) -> float:
        """Return the learning rate of a cosine schedule per step; it is zero in the first step."""
        return learning_rate(step, last.step, self._config.learning_rate)

    def check_fits(self, images: ImageSet) -> None:
        """Raise InvalidInputError if the training cannot fit into memory."""
        config = self._config
        parameters = parameter_count(self.cell, config.skeleton(images.classes))
        outputs = config.cells_per_stack * stage_outputs(config.stem_channels, config.stacks, images.side)
        check_network_fits(config, ("stem_channels", "cells_per_stack"), parameters, COPIES, outputs)

    def network(self, classes: int, generator: torch.Generator) -> CellNetwork:
        """Return the cell's network."""
        config = self._config
        return build_network(
            self.cell,
            stem_channels=config.stem_channels,
            stacks=config.stacks,
            cells_per_stack=config.cells_per_stack,
            classes=classes,
            numbering=config.numbering,
            batch_norm_momentum=config.batch_norm_momentum,
            generator=generator,
        )

    def optimizer(self, net: torch.nn.Module) -> "TensorFlowRMSProp":
        """Return RMSProp as TensorFlow 1 defines it."""
        config = self._config
        return TensorFlowRMSProp(
            net.parameters(),
            config.learning_rate,
            decay=config.rms_decay,
            momentum=config.momentum,
            epsilon=config.rms_epsilon,
            weight_decay=config.weight_decay,
        )


def divide(images: ImageSet) -> Parts:
    """Divide an image set deterministically.

    The complete CIFAR-10 is divided as in NAS-Bench-101. Training images 0–39,999, in canonical order, are for training
    and 40,000–49,999 for validation; the 10,000 test images are for testing. `parts.held_out` describes the division of
    any other set.

    Raises:
        InvalidInputError: a class has too few images.
    """
    if (tests := official_tests(images, (CIFAR10.name,))) is None:
        return held_out(images)
    order = canonical_order(images)
    train, validation = torch.from_numpy(order).split([VALIDATION_START, len(order) - VALIDATION_START])
    return parts_of(images, train, validation, tests, "the images that NAS-Bench-101 took", is_official=True)


def steps(epochs: float, images: int, batch_size: int) -> int:
    """Return the number of complete batches in a number of epochs; batches may cross the ends of epochs."""
    return int(epochs * images / batch_size)


def stops(epochs: int, images: int, batch_size: int, evaluate_every: int | None = None) -> list[Stop]:
    """Return all steps after which something is recorded, in order.

    As published, there are three named evaluations. The first, counted as epoch 0, is after the first step, whose
    learning rate is 0. The second is after int(0.5 · epochs · images / batch_size) steps, and the third after the last
    step. With `evaluate_every` N, there is also an evaluation after every N epochs.

    Raises:
        InvalidInputError: there are fewer than `FEWEST_STEPS` steps.
    """
    total = steps(epochs, images, batch_size)
    if total < FEWEST_STEPS:
        raise InvalidInputError(
            f"{images:,} images in batches of {batch_size} are only {counted(total, 'step')} in "
            f"{counted(epochs, 'epoch')}, but a training needs {FEWEST_STEPS}: lower {option('batch_size')} or raise "
            f"{option('epochs')}"
        )
    every = evaluate_every or epochs
    ends = [Stop(steps(e, images, batch_size), float(e), EPOCH if e % every == 0 else None) for e in range(1, epochs)]
    evaluations = [
        Stop(1, 0.0, INITIAL),
        Stop(steps(0.5 * epochs, images, batch_size), 0.5 * epochs, HALFWAY),
        Stop(total, float(epochs), FINAL),
    ]
    by_step = {stop.step: stop for stop in [*ends, *evaluations] if stop.step > 0}  # evaluations take precedence
    return [by_step[step] for step in sorted(by_step)]


def learning_rate(step: int, total: int, first: float) -> float:
    """Return the learning rate of a step, 0 … total - 1: a cosine schedule to zero, except that the first rate is zero.

    The first step therefore updates the statistics of batch norm and RMSProp, but no weights.
    """
    return 0.0 if step == 0 else first * 0.5 * (1 + math.cos(math.pi * step / total))


class TensorFlowRMSProp(torch.optim.Optimizer):
    """RMSProp as in TensorFlow 1 (`tf.train.RMSPropOptimizer`), with momentum and L2 regularisation of all parameters.

    The update with g, the gradient of the loss plus weight_decay · ½ Σ p², is:

        rms      ← decay · rms + (1 - decay) · g²          rms starts at one, not at zero
        momentum ← momentum · momentum + lr · g / √(rms + epsilon)      epsilon under the root; lr inside
        p        ← p - momentum

    Args:
        params: the parameters to optimize.
        lr: learning rate; every step reads it from `param_groups[i]["lr"]`.
        decay: decay of the moving average of squared gradients.
        momentum: momentum of the steps.
        epsilon: constant added to the moving average before the square root.
        weight_decay: coefficient of the L2 term.
    """

    def __init__(
        self,
        params: Iterable[Tensor],
        lr: float,
        decay: float = 0.9,
        momentum: float = 0.9,
        epsilon: float = 1.0,
        weight_decay: float = 0.0,
    ) -> None:
        settings = {"lr": lr, "decay": decay, "momentum": momentum, "epsilon": epsilon, "weight_decay": weight_decay}
        super().__init__(params, settings)

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> None:  # type: ignore[override]
        """Update all parameters that have a gradient; `closure` is not called."""
        for group in self.param_groups:
            moved = [(p, p.grad) for p in group["params"] if p.grad is not None]
            if moved:
                self._step(group, [p for p, _ in moved], [gradient for _, gradient in moved])

    def _step(self, group: dict[str, Any], params: list[Tensor], of_loss: list[Tensor]) -> None:
        gradients = torch._foreach_add(of_loss, params, alpha=group["weight_decay"])
        rms = [self._slots(p)["rms"] for p in params]
        momentum = [self._slots(p)["momentum"] for p in params]
        torch._foreach_mul_(rms, group["decay"])
        torch._foreach_addcmul_(rms, gradients, gradients, 1 - group["decay"])
        roots = torch._foreach_add(rms, group["epsilon"])
        torch._foreach_sqrt_(roots)
        torch._foreach_mul_(momentum, group["momentum"])
        torch._foreach_addcdiv_(momentum, gradients, roots, group["lr"])
        torch._foreach_sub_(params, momentum)

    def _slots(self, parameter: Tensor) -> dict[str, Tensor]:
        slots: dict[str, Tensor] = self.state[parameter]
        if not slots:
            slots["rms"] = torch.ones_like(parameter, memory_format=torch.preserve_format)
            slots["momentum"] = torch.zeros_like(parameter, memory_format=torch.preserve_format)
        return slots
