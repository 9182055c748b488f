"""Steps, learning rates and evaluations of a training, for each benchmark."""

import math
from typing import NamedTuple

from nasbench1shot1.ground.errors import InvalidInputError
from nasbench1shot1.ground.text import counted

FEWEST_STEPS = 4
"""Smallest number of steps that allows an initial, a half-way and a final evaluation."""
INITIAL, HALFWAY, FINAL = "initial", "halfway", "final"
EPOCH = "epoch"
"""An evaluation at the end of an epoch before the last, in trainings of NAS-Bench-201."""


class Stop(NamedTuple):
    """A step after which something is recorded."""

    step: int
    """Number of steps done by then."""
    epochs: float
    """Nominal number of epochs done by then."""
    evaluation: str | None
    """`INITIAL`, `HALFWAY`, `FINAL` or `EPOCH`; None for the end of an epoch without evaluation."""


def steps(epochs: float, images: int, batch_size: int) -> int:
    """Return the number of complete batches in a number of epochs; batches may cross the ends of epochs."""
    return int(epochs * images / batch_size)


def stops(epochs: int, images: int, batch_size: int) -> list[Stop]:
    """Return all steps after which something is recorded, in order.

    As published, there are three evaluations. The first, counted as epoch 0, is after the first step, whose learning
    rate is 0. The second is after int(0.5 · epochs · images / batch_size) steps, and the third after the last step.

    Raises:
        InvalidInputError: there are fewer than `FEWEST_STEPS` steps.
    """
    total = steps(epochs, images, batch_size)
    if total < FEWEST_STEPS:
        raise InvalidInputError(
            f"{images:,} images in batches of {batch_size} are only {counted(total, 'step')} in "
            f"{counted(epochs, 'epoch')}, but a training needs {FEWEST_STEPS}: lower --batch-size or raise --epochs"
        )
    ends = [Stop(steps(e, images, batch_size), float(e), None) for e in range(1, epochs)]
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


def epoch_stops(epochs: int, images: int, batch_size: int, evaluate_every: int) -> list[Stop]:
    """Return the ends of all epochs. Each epoch uses all images; its last batch may be smaller."""
    steps_per_epoch = math.ceil(images / batch_size)
    stops = []
    for epoch in range(1, epochs + 1):
        evaluation = FINAL if epoch == epochs else EPOCH if epoch % evaluate_every == 0 else None
        stops.append(Stop(epoch * steps_per_epoch, float(epoch), evaluation))
    return stops


def epoch_learning_rate(epoch: int, epochs: int, first: float) -> float:
    """Return the learning rate of an epoch, 0 … epochs - 1: a cosine schedule that reaches zero after the last epoch.

    The published scheduler also receives the position within an epoch, but uses it only for warm-up, which the protocol
    does not have (`CosineAnnealingLR` in AutoDL-Projects).
    """
    return first * 0.5 * (1 + math.cos(math.pi * epoch / epochs))
