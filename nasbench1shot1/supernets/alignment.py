"""How well cells agree on the mixing weights that they share (Movahedi et al.: Λ-DARTS, ICLR 2023)."""

from collections.abc import Sequence

import torch
from torch import Tensor


def mean_cosine(gradients: Sequence[Tensor], cells: int) -> Tensor:
    """Return the mean cosine between the gradients of all pairs of cells, a scalar in [-1, 1].

    Args:
        gradients: the gradients of all mixing weights, cell by cell, with equal shapes in each cell.
        cells: number of cells, at least 2. Pairs with a zero gradient count as 0.
    """
    units, _ = unit_gradients(gradients, cells)
    return (units.sum(dim=0).square().sum() - units.square().sum()) / (cells * (cells - 1))


def unit_gradients(gradients: Sequence[Tensor], cells: int) -> tuple[Tensor, Tensor]:
    """Return the unit vectors of the cells' gradients, (cells, size), and the inverse of their norms, (cells, 1).

    Arguments are as for `mean_cosine`. For a gradient of zero, both are zero.
    """
    flat = torch.cat([gradient.flatten() for gradient in gradients]).view(cells, -1)
    norms = flat.norm(dim=1, keepdim=True)
    inverse = torch.where(norms > 0, 1 / norms, 0)
    return flat * inverse, inverse
