"""ENAS's controller of a tiny space, for tests."""

from itertools import permutations, product

import torch

from nasbench1shot1.optimizers.enas_controller import Controller, ControllerSettings
from nasbench1shot1.search_spaces.choice_blocks import ChoiceBlockSpace

TINY = ChoiceBlockSpace("tiny", "tiny-v1", n_parents=(1, 1, 2))  # 3 operations, 1 of 2, 3 operations, 2 of 3


def generator(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def controller(space=TINY, seed: int = 0, **options) -> Controller:
    """A controller with strong preferences; initially they are almost uniform."""
    made = Controller(space, ControllerSettings(**options), generator(seed))
    with torch.no_grad():
        for weight in made.parameters():
            weight.normal_(0, 2, generator=generator(seed + 1))
    return made.double()


def every_decision(space) -> list[torch.Tensor]:
    """All decisions with picks in every order, (all, picks) for each choice."""
    per_choice = [list(permutations(range(choice.entries), choice.picks)) for choice in space.choices()]
    return [torch.tensor(list(taken)) for taken in zip(*product(*per_choice), strict=True)]
