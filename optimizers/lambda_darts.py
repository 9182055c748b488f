"""Λ-DARTS (Movahedi et al.: Λ-DARTS: Mitigating Performance Collapse by Harmonizing Operation Selection among Cells,
ICLR 2023). See docs/lambda_darts.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

from nasbench1shot1.ground.errors import InvalidInputError, option
from nasbench1shot1.optimizer import Mixing, WeightStep
from nasbench1shot1.optimizers.darts import DARTS
from nasbench1shot1.optimizers.gradient import PUBLISHED_WEIGHTS, GradientHyperparameters
from nasbench1shot1.phases import Phase
from nasbench1shot1.runs.options import RATE, OfLength, OnlyWith, Range
from nasbench1shot1.space import OneShotSpace

if TYPE_CHECKING:
    import torch
    from torch import Tensor


@dataclass(frozen=True, kw_only=True)
class LambdaDARTSHyperparameters(GradientHyperparameters):
    """Options of Λ-DARTS: DARTS with a regulariser of the weights that aligns the gradients of the cells."""

    architecture_learning_rate: Annotated[float, RATE, OfLength.STEP] = 1e-4
    """Learning rate of Λ (Adam)."""
    alignment: Annotated[float, Range(0)] = 0.25
    """Weight of the alignment in the last epoch; it grows linearly from 0 over the epochs."""
    alignment_step: Annotated[float, Range(above=0), OnlyWith("alignment")] = 1e-4
    """Step length of the finite difference, as the norm over all cells."""

    def check(self) -> None:
        """Raise InvalidInputError also for flooding, which can reverse the compared gradients."""
        super().check()
        self.check_not_flooded("Λ-DARTS")


class LambdaDARTS(DARTS):
    """DARTS in which every weight step also aligns the gradients that the cells send to their mixing weights.

    With the gradient g of a cell's own copy of the mixing weights, the objective to maximise is the mean cosine of g
    over all pairs of cells. Its gradient with respect to the weights is a finite difference of two further passes.
    """

    Hyperparameters = LambdaDARTSHyperparameters
    defaults = {"epochs": 100}  # noqa: RUF012
    original_family_defaults = {"nasbench201": {**PUBLISHED_WEIGHTS, "weights_first": True}}  # noqa: RUF012
    hyperparameters: LambdaDARTSHyperparameters

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.weight_of_alignment = 0.0

    @property
    def mixing_gradients(self) -> Literal["per-cell"]:
        """The gradients of every cell, which are compared."""
        return "per-cell"

    @classmethod
    def check_space(cls, space: OneShotSpace) -> None:
        """Raise InvalidInputError if the cells do not share Λ, so that their gradients cannot be compared."""
        if not space.has_equal_cells:
            raise InvalidInputError(
                f"Λ-DARTS compares the gradients of cells that share Λ, but each layer of {space.name} has its own "
                "part of Λ: choose another space or optimizer"
            )

    def check_length(self, phases: Sequence[Phase], steps: int) -> None:
        """Raise InvalidInputError if the alignment never gets a weight."""
        super().check_length(phases, steps)
        if self.hyperparameters.alignment and sum(phase.epochs for phase in phases) == 1:
            raise InvalidInputError(
                f"{option('epochs', 1)} has only the first epoch, in which the weight of the alignment is 0: "
                f"raise it, or give {option('alignment', 0)}"
            )

    def begin_epoch(self, epoch: int, epochs: int, generator: torch.Generator) -> None:
        """Set the weight of the alignment."""
        super().begin_epoch(epoch, epochs, generator)
        self.weight_of_alignment = self.hyperparameters.alignment * (epoch - 1) / max(epochs - 1, 1)

    def adjust_gradients(self, step: WeightStep) -> None:
        """Add the gradient of the alignment to the gradients of the weights."""
        import torch

        if not self.weight_of_alignment:
            return
        leaves, cells = step.mixing.tensors(), step.mixing.weights
        assert isinstance(cells, tuple)  # a search with one cell is refused
        gradients = [torch.zeros_like(leaf) if leaf.grad is None else leaf.grad for leaf in leaves]
        directions = alignment_directions(gradients, len(cells))
        length = torch.stack([direction.norm() for direction in directions]).norm()
        epsilon = self.hyperparameters.alignment_step / length.clamp_min(1e-30)
        trained = {name: weight for name, weight in step.weights.items() if weight.grad is not None}
        behind, ahead = (
            _weight_gradients(step, trained, _moved(step.mixing, directions, sign * epsilon)) for sign in (-1, 1)
        )
        for weight, before, after in zip(trained.values(), behind, ahead, strict=True):
            assert weight.grad is not None
            weight.grad += self.weight_of_alignment * (before - after) / (2 * epsilon)


def alignment_directions(gradients: Sequence[Tensor], cells: int) -> list[Tensor]:
    """Return the gradient of `supernets.alignment.mean_cosine` with respect to each of the cells' gradients.

    Args:
        gradients: the gradients of all mixing weights, cell by cell, with equal shapes in each cell.
        cells: number of cells n, at least 2.

    Returns:
        δ = 2 / (n (n - 1)) · (I - u uᵀ) Σ u / ‖g‖ for every cell, with u = g / ‖g‖, in the shapes of `gradients`. A
        cell whose gradient is zero has no direction: its u and δ are zero.
    """
    from nasbench1shot1.supernets.alignment import unit_gradients

    shapes = [gradient.shape for gradient in gradients[: len(gradients) // cells]]
    units, inverse = unit_gradients(gradients, cells)
    total = units.sum(dim=0)
    directions = 2 / (cells * (cells - 1)) * inverse * (total - units * (units @ total)[:, None])
    sizes = [shape.numel() for shape in shapes]
    return [part.view(shape) for of in directions for part, shape in zip(of.split(sizes), shapes, strict=True)]


def _moved(mixing: Mixing, directions: Sequence[Tensor], by: Tensor) -> Mixing:
    tensors = [old.detach() + by * direction for old, direction in zip(mixing.tensors(), directions, strict=True)]
    return mixing.with_tensors(iter(tensors))


def _weight_gradients(step: WeightStep, trained: dict[str, Tensor], mixing: Mixing) -> Sequence[Tensor]:
    """Return the gradients of the weights that train, under other mixing weights."""
    import torch

    weights = {name: weight.detach() for name, weight in step.weights.items()}
    leaves = {name: weights[name].requires_grad_() for name in trained}
    loss = step.loss_at({**weights, **leaves}, mixing, step.batch)
    return torch.autograd.grad(loss, list(leaves.values()), materialize_grads=True)
