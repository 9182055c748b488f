"""Batches are determined by seed, stream and epoch."""

import itertools

import numpy as np
import pytest
import torch

from nasbench1shot1.ground.errors import InvalidInputError
from nasbench1shot1.images.batches import batches, endless_batches, epoch_generator


def test_an_epoch_visits_every_row_once() -> None:
    rows = np.arange(100, 205)
    found = list(batches(rows, 10, epoch_generator(0, "weights", 1)))
    assert [len(batch) for batch in found] == [10] * 10 + [5]
    assert found[0].dtype == torch.int64
    assert sorted(torch.cat(found).tolist()) == rows.tolist()
    assert torch.cat(found).tolist() != rows.tolist()
    assert len(list(batches(rows, 10, epoch_generator(0, "weights", 1), drop_last=True))) == 10


def test_endless_batches_restart_in_another_order() -> None:
    stream = endless_batches(np.arange(7), 3, epoch_generator(0, "architecture", 1))
    rounds = [torch.cat(list(itertools.islice(stream, 3))).tolist() for _ in range(3)]
    assert [sorted(order) for order in rounds] == [list(range(7))] * 3
    assert len({tuple(order) for order in rounds}) == 3
    first = list(batches(np.arange(7), 3, epoch_generator(0, "architecture", 1)))
    assert torch.cat(first).tolist() == rounds[0]


def test_generators_depend_only_on_seed_stream_and_epoch() -> None:
    def draw(seed: int, stream: str, epoch: int) -> tuple[int, ...]:
        return tuple(torch.randint(2**31, (4,), generator=epoch_generator(seed, stream, epoch)).tolist())

    torch.manual_seed(123)
    keys = list(itertools.product([0, 1, 12], ["weights", "architecture"], [0, 1, 2, 12]))
    assert len({draw(*key) for key in keys}) == len(keys)
    assert draw(0, "weights", 1) == draw(0, "weights", 1)
    seed = int.from_bytes(bytes.fromhex("b9248eb4a877829d"), "little")  # of `printf 0/weights/1 | sha256sum`
    assert epoch_generator(0, "weights", 1).initial_seed() % 2**64 == seed


@pytest.mark.parametrize(("rows", "size", "drop"), [(0, 1, False), (5, 0, False), (5, 6, True)])
def test_zero_batches_are_an_immediate_error(rows: int, size: int, drop: bool) -> None:
    for make in (batches, endless_batches):
        with pytest.raises(InvalidInputError, match="batch"):
            make(np.arange(rows), size, torch.Generator(), drop)
