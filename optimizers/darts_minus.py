"""DARTS- (Chu et al.: DARTS-: Robustly Stepping out of Performance Collapse Without Indicators, ICLR 2021).

See docs/darts_minus.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

from nasbench1shot1.ground.errors import InvalidInputError, option
from nasbench1shot1.optimizers.darts import DARTS
from nasbench1shot1.optimizers.gradient import PUBLISHED_SETTINGS, GradientHyperparameters
from nasbench1shot1.runs.options import IF_GIVEN, OnlyWith, Range

if TYPE_CHECKING:
    import torch

    from nasbench1shot1.space import OneShotSpace


FADING = (None, "linear", "cosine", "slow-cosine")
"""Values of `skip_schedule` under which the factor falls; None is linear."""


@dataclass(frozen=True, kw_only=True)
class DARTSMinusHyperparameters(GradientHyperparameters):
    """Options of DARTS-: DARTS with an auxiliary skip connection, which fades out, in every mixture."""

    skip_max: Annotated[float, Range(0)] = 1.0
    """Factor of the auxiliary skip connections in the first epoch; it falls to 0."""
    skip_ends_after: Annotated[bool, OnlyWith("skip_max"), OnlyWith("skip_schedule", FADING)] = False
    """Let the factor reach 0 one epoch after the last, as in the published code, instead of in the last epoch."""
    skip_schedule: Annotated[
        Literal["linear", "cosine", "slow-cosine", "constant"] | None, OnlyWith("skip_max"), IF_GIVEN
    ] = None
    """Schedule of the factor: linear; cosine (half a period); slow-cosine (a quarter of a period); or constant, which
    does not fall. Default: linear."""

    def check(self) -> None:
        """Raise InvalidInputError for a value that is out of range, and for relaxations without mixtures."""
        super().check()
        self.check_mixes_all("DARTS- adds a skip connection to mixtures")
        if self.skip_max == 0:
            raise InvalidInputError(
                f"DARTS- with {option('skip_max', self.skip_max)} is DARTS: raise it, or use "
                f"{option('optimizer', 'darts')}"
            )


FACTORS: dict[str, Callable[[float], float]] = {
    "linear": lambda share: 1 - share,
    "cosine": lambda share: (1 + math.cos(math.pi * share)) / 2,
    "slow-cosine": lambda share: math.cos(math.pi / 2 * share) if share < 1 else 0.0,
    "constant": lambda share: 1.0,
}
"""The factor as a function of the share of the schedule that has passed, by its name in `skip_schedule`."""


class DARTSMinus(DARTS):
    """DARTS whose mixtures of operations also add β x, with a factor β that falls to 0.

    The skip connection as an operation competes with the other operations, while the auxiliary one helps the weights to
    train. It is not a part of any architecture.
    """

    Hyperparameters = DARTSMinusHyperparameters
    original_defaults = {"batch_size": 64, "skip_ends_after": True}  # noqa: RUF012
    original_family_defaults = {"nasbench201": PUBLISHED_SETTINGS}  # noqa: RUF012
    hyperparameters: DARTSMinusHyperparameters

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.skip = self.hyperparameters.skip_max

    @classmethod
    def check_space(cls, space: OneShotSpace) -> None:
        """Raise InvalidInputError if the cells of a space have no mixtures that add their input."""
        space.check_cells("auxiliary-skip", "DARTS-")

    @property
    def auxiliary_skip(self) -> float:
        """β, the weight of the auxiliary skip connection."""
        return self.skip

    def begin_epoch(self, epoch: int, epochs: int, generator: torch.Generator) -> None:
        """Set β of the epoch."""
        super().begin_epoch(epoch, epochs, generator)
        steps = epochs if self.hyperparameters.skip_ends_after else max(epochs - 1, 1)
        self.skip = self.hyperparameters.skip_max * FACTORS[self.hyperparameters.skip_schedule or "linear"](
            (epoch - 1) / steps
        )

    def structure(self) -> Mapping[str, Any]:
        """Return what other gradient methods return, and β while it is not 0."""
        return {**super().structure(), **({"auxiliary_skip": self.skip} if self.skip else {})}
