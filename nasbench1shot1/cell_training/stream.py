"""The endless, shuffled stream of training images, cut into batches."""

import torch
from torch import Tensor

from nasbench1shot1.images.batches import epoch_generator


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

    def batch(self, step: int) -> Tensor:
        """Return the rows of a step, 0, 1, …: int64 (batch_size,) or, at the end of an epoch, the remaining rows."""
        steps_per_epoch = -(-len(self._rows) // self._batch_size)
        epoch, place = divmod(step, steps_per_epoch)
        return self._shuffled_rows(epoch)[place * self._batch_size : (place + 1) * self._batch_size]
