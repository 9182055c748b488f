"""The schedule of a training: its steps, its learning rate and its evaluations, for each benchmark."""

import math
from typing import NamedTuple

from nasbench1shot1.errors import InvalidInputError
from nasbench1shot1.wording import counted

FEWEST_STEPS = 4
"""One for the first evaluation, one more for the one half-way, and a rest."""
INITIAL, HALFWAY, FINAL = "initial", "halfway", "final"
EPOCH = "epoch"
"""An evaluation at the end of an epoch before the last, in trainings of NAS-Bench-201."""


class Stop(NamedTuple):
    """A step after which something is recorded."""

    step: int
    """How many steps are done then."""
    epochs: float
    """How much of the budget that is counted as."""
    evaluation: str | None
    """`INITIAL`, `HALFWAY`, `FINAL`, `EPOCH`, or none: the end of an epoch without evaluation."""


def steps(epochs: float, images: int, batch_size: int) -> int:
    """How many whole batches a number of epochs has; batches run on over the ends of epochs."""
    return int(epochs * images / batch_size)


def stops(epochs: int, images: int, batch_size: int) -> list[Stop]:
    """All steps after which something is recorded, in order.

    As published: an evaluation after the first step, whose learning rate is 0, counted as epoch 0; one after
    int(0.5 · epochs · images / batch_size) steps; one after the last.

    Raises:
        InvalidInputError: too few steps for that.
    """
    total = steps(epochs, images, batch_size)
    if total < FEWEST_STEPS:
        raise InvalidInputError(
            f"{images:,} images in batches of {batch_size} are only {counted(total, 'step')} in "
            f"{counted(epochs, 'epoch')}, and a training needs {FEWEST_STEPS}: lower --batch-size or raise --epochs"
        )
    ends = [Stop(steps(e, images, batch_size), float(e), None) for e in range(1, epochs)]
    evaluations = [
        Stop(1, 0.0, INITIAL),
        Stop(steps(0.5 * epochs, images, batch_size), 0.5 * epochs, HALFWAY),
        Stop(total, float(epochs), FINAL),
    ]
    by_step = {stop.step: stop for stop in [*ends, *evaluations] if stop.step > 0}  # evaluations have their way
    return [by_step[step] for step in sorted(by_step)]


def learning_rate(step: int, total: int, first: float) -> float:
    """The learning rate of a step, 0 … total - 1: a cosine to zero, and zero in the first.

    The first step thus moves the statistics of batch-norm and of RMSProp, and no weight.
    """
    return 0.0 if step == 0 else first * 0.5 * (1 + math.cos(math.pi * step / total))


def epoch_stops(epochs: int, images: int, batch_size: int, evaluate_every: int) -> list[Stop]:
    """Return the ends of all epochs, each of which takes all images; the last batch of an epoch may be smaller."""
    steps_per_epoch = math.ceil(images / batch_size)
    stops = []
    for epoch in range(1, epochs + 1):
        evaluation = FINAL if epoch == epochs else EPOCH if epoch % evaluate_every == 0 else None
        stops.append(Stop(epoch * steps_per_epoch, float(epoch), evaluation))
    return stops


def epoch_learning_rate(epoch: int, epochs: int, first: float) -> float:
    """Return the learning rate of an epoch, 0 … epochs - 1: a cosine that would be zero after the last epoch.

    The published scheduler also receives the position within an epoch, but uses it only for warm-up, which the protocol
    does not have (`CosineAnnealingLR` in AutoDL-Projects).
    """
    return first * 0.5 * (1 + math.cos(math.pi * epoch / epochs))
