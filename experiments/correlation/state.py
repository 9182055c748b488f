"""A ranking between two chunks of architectures: what is evaluated, and what a checkpoint holds of it."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from nasbench1shot1.architecture import Architecture
from nasbench1shot1.experiments.correlation.options import RankingOptions
from nasbench1shot1.experiments.correlation.selection import Indices, in_sharing_order, selected
from nasbench1shot1.images.batches import epoch_generator
from nasbench1shot1.images.image_set import ImageSet
from nasbench1shot1.images.splits import Split
from nasbench1shot1.one_shot_search.record import Run
from nasbench1shot1.runs.checkpoints import taking_up
from nasbench1shot1.space import OneShotSpace

BLOCKS = 64
"""Into so many blocks the images are divided to measure the reliability of the ranking."""
RELIABILITY_ARCHITECTURES = 2_000
"""Of at most so many architectures, drawn at random, are block means kept."""


@dataclass
class EpochInProgress:
    """The scores of one epoch so far, in the order of evaluation; NaN where an architecture has none yet.

    Attributes:
        numbers: int64 (A,), in the order in which they are evaluated.
        done: how many are evaluated.
        errors: float32 (A,), fractions.
        losses: float32 (A,), nats.
        watched: bool (A,), whose scores on every block of images are kept.
        blocks: float32 (2, W, B), errors and losses of the W watched architectures on B blocks of images.
        seconds: spent so far.
    """

    numbers: Indices
    done: int
    errors: NDArray[np.float32]
    losses: NDArray[np.float32]
    watched: NDArray[np.bool_]
    blocks: NDArray[np.float32]
    seconds: float = 0.0

    @property
    def is_done(self) -> bool:
        """Return whether every architecture is evaluated."""
        return self.done == len(self.numbers)


@dataclass
class RankingState:
    """All that a ranking needs and changes.

    Attributes:
        options: the resolved options.
        run: the search whose shared weights are evaluated.
        space: of the run.
        images: of the run, on the device.
        split: its halves.
        rows: int64 (N,), the evaluated images: rows of the architecture half, in random order.
        epochs: to evaluate, ascending.
        identity: what a checkpoint must fit.
        recorded: how many epochs are finished.
        current: the epoch in progress; None between two epochs.
    """

    options: RankingOptions
    run: Run
    space: OneShotSpace
    images: ImageSet
    split: Split
    rows: torch.Tensor
    epochs: Sequence[int]
    identity: dict[str, Any]
    recorded: int = 0
    current: EpochInProgress | None = field(default=None)

    @property
    def epoch(self) -> int:
        """Return the epoch that is evaluated now."""
        return self.epochs[self.recorded]

    def begin_epoch(self) -> EpochInProgress:
        """Return the epoch in progress, a new one if there is none."""
        if self.current is None:
            numbers = selected(self.options, self.space, self.run, self.epoch)
            order = in_sharing_order([self.space[int(number)] for number in numbers])
            self.current = _empty(numbers[order], self._watched(len(numbers)), self.blocks)
        return self.current

    @property
    def blocks(self) -> int:
        """Return into how many blocks the images are divided."""
        return min(BLOCKS, len(self.rows))

    def architectures(self, numbers: Indices) -> list[Architecture]:
        """Return the architectures of those numbers."""
        return [self.space[int(number)] for number in numbers]

    def _watched(self, count: int) -> NDArray[np.bool_]:
        drawn = torch.randperm(count, generator=epoch_generator(self.options.seed, "reliability", 0)).numpy()
        return np.isin(np.arange(count), drawn[:RELIABILITY_ARCHITECTURES])

    def state_dict(self) -> dict[str, Any]:
        """Return what a checkpoint holds."""
        current = self.current
        arrays = ("numbers", "errors", "losses", "watched", "blocks")
        return {
            "run": self.identity,
            "recorded": self.recorded,
            "current": current
            and {
                **{name: torch.from_numpy(getattr(current, name)) for name in arrays},
                "done": current.done,
                "seconds": current.seconds,
            },
        }

    def load_state_dict(self, state: dict[str, Any], path: Path) -> None:
        """Restore what `state_dict` returned, read from `path`; raises as `runs.checkpoints.taking_up`."""
        with taking_up(state, path, self.identity, "ranking"):
            stored = state["current"]
            arrays = {
                name: value.numpy() if hasattr(value, "numpy") else value for name, value in (stored or {}).items()
            }
            self.recorded = int(state["recorded"])
            self.current = EpochInProgress(**arrays) if stored else None


def _empty(numbers: Indices, watched: NDArray[np.bool_], blocks: int) -> EpochInProgress:
    errors, losses = (np.full(len(numbers), np.nan, np.float32) for _ in range(2))
    return EpochInProgress(numbers, 0, errors, losses, watched, np.zeros((2, int(watched.sum()), blocks), np.float32))
