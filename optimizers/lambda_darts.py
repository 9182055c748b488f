"""Λ-DARTS (Movahedi et al.: Λ-DARTS: Mitigating Performance Collapse by Harmonizing Operation Selection among Cells,
ICLR 2023). See docs/lambda_darts.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from nasbench1shot1.optimizer import Mixing, WeightStep
from nasbench1shot1.optimizers.darts import DARTS
from nasbench1shot1.optimizers.gradient import GradientHyperparameters
from nasbench1shot1.runs.options import Range

if TYPE_CHECKING:
    import torch
    from torch import Tensor


@dataclass(frozen=True, kw_only=True)
class LambdaDARTSHyperparameters(GradientHyperparameters):
    """Options of Λ-DARTS: DARTS, with a term in the weights' loss that aligns the gradients of the cells."""

    architecture_learning_rate: Annotated[float, Range(0)] = 1e-4
    """Learning rate of Λ (Adam)."""
    alignment: Annotated[float, Range(0)] = 0.25
    """Weight of the alignment in the last epoch; it grows linearly from 0."""
    alignment_step: Annotated[float, Range(above=0)] = 1e-4
    """Length of the finite difference, for all cells together."""


class LambdaDARTS(DARTS):
    """DARTS in which every weight step also aligns the gradients that the cells send to their mixing weights.

    With the gradient g of a cell's own copy of the mixing weights, the objective to maximise is the mean cosine of g
    over all pairs of cells. Its gradient with respect to the weights is a finite difference of two further passes.
    """

    Hyperparameters = LambdaDARTSHyperparameters
    defaults = {"epochs": 100}  # noqa: RUF012
    hyperparameters: LambdaDARTSHyperparameters

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.weight_of_alignment = 0.0

    @property
    def mixing_gradients(self) -> str:
        """Return "per-cell", because gradients of cells are compared."""
        return "per-cell"

    def begin_epoch(self, epoch: int, epochs: int, generator: torch.Generator) -> None:
        """Set the weight of the alignment."""
        super().begin_epoch(epoch, epochs, generator)
        self.weight_of_alignment = self.hyperparameters.alignment * (epoch - 1) / max(epochs - 1, 1)

    def adjust_gradients(self, step: WeightStep) -> None:
        """Add the gradient of the alignment to the gradients of the weights."""
        import torch

        if not self.weight_of_alignment:
            return
        leaves, copies = step.mixing.tensors(), len(step.mixing.weights or ())
        directions = alignment_directions([leaf.grad for leaf in leaves], copies)
        length = torch.stack([direction.norm() for direction in directions]).norm()
        epsilon = self.hyperparameters.alignment_step / length.clamp_min(1e-30)
        trained = {name: weight for name, weight in step.weights.items() if weight.grad is not None}
        behind, ahead = (
            _weight_gradients(step, trained, _moved(step.mixing, directions, sign * epsilon)) for sign in (-1, 1)
        )
        for weight, before, after in zip(trained.values(), behind, ahead, strict=True):
            assert weight.grad is not None
            weight.grad += self.weight_of_alignment * (before - after) / (2 * epsilon)


def alignment_directions(gradients: Sequence[Tensor | None], cells: int) -> list[Tensor]:
    """Return the gradient of the mean cosine between the cells' gradients, with respect to each of them.

    Args:
        gradients: the gradients of all mixing weights, cell by cell; None for an unused one counts as zero.
        cells: number of cells n.

    Returns:
        δ = 2 / (n (n - 1)) · (I - u uᵀ) Σ u / ‖g‖ for every cell, with u = g / ‖g‖, in the shapes of `gradients`.
    """
    import torch

    found = [gradient for gradient in gradients if gradient is not None]
    per_cell = len(found) // cells
    flat = [torch.cat([g.flatten() for g in found[c * per_cell : (c + 1) * per_cell]]) for c in range(cells)]
    norms = [of_cell.norm().clamp_min(1e-30) for of_cell in flat]
    units = [of_cell / norm for of_cell, norm in zip(flat, norms, strict=True)]
    total, pairs = torch.stack(units).sum(dim=0), max(cells * (cells - 1), 1)
    directions = []
    for unit, norm, of_cell in zip(units, norms, range(cells), strict=True):
        direction = 2 / pairs * (total - unit * (unit @ total)) / norm
        shapes = [gradient.shape for gradient in found[of_cell * per_cell : (of_cell + 1) * per_cell]]
        parts = direction.split([shape.numel() for shape in shapes])
        directions += [part.view(shape) for part, shape in zip(parts, shapes, strict=True)]
    return directions


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
