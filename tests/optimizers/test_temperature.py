"""Temperature schedule of a relaxation: corrected, and as in GDAS's published code."""

import numpy as np
import pytest
import torch
from tiny_search import SMALL_SPACE, generator

from nasbench1shot1.optimizers.gdas import GDAS
from nasbench1shot1.optimizers.snas import SNAS


def temperatures(epochs: int, **options) -> list[float]:
    kind = GDAS.Hyperparameters(**options)
    made = GDAS(SMALL_SPACE, kind, generator(0), torch.device("cpu"))
    seen = [made.temperature]
    for epoch in range(1, epochs + 1):
        made.begin_epoch(epoch, epochs, generator(epoch))
        seen.append(made.temperature)
    return seen


@pytest.mark.parametrize("epochs", [2, 15, 50])
def test_the_temperature_falls_linearly_to_its_minimum_in_the_last_epoch(epochs):
    seen = temperatures(epochs)
    assert seen[0] == seen[1] == 10
    assert seen[-1] == pytest.approx(0.1, abs=1e-12)
    assert np.diff(seen[1:]) == pytest.approx(np.full(epochs - 1, -9.9 / (epochs - 1)))
    assert temperatures(1)[-1] == 10


def published() -> dict:
    own = set(GDAS.Hyperparameters.__dataclass_fields__)
    return {name: value for name, value in GDAS.original_defaults.items() if name in own}


@pytest.mark.parametrize("epochs", [1, 4, 100])
def test_the_published_temperature_reaches_its_minimum_after_the_last_epoch(epochs):
    seen = temperatures(epochs, **published())
    assert seen[1:] == pytest.approx([10 - 9 * (e - 1) / epochs for e in range(1, epochs + 1)])


@pytest.mark.parametrize("epochs", [2, 50])
def test_the_temperature_of_snas_falls_from_one_to_its_minimum_in_the_last_epoch(epochs):
    made = SNAS(SMALL_SPACE, SNAS.Hyperparameters(), generator(0), torch.device("cpu"))
    for epoch, wanted in ((1, 1.0), (epochs, 0.03)):
        made.begin_epoch(epoch, epochs, generator(epoch))
        assert made.temperature == pytest.approx(wanted, abs=1e-12)
