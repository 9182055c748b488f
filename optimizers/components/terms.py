"""Terms that can be added to the loss of Λ, whatever the relaxation.

The authors define their terms for edges with equal numbers of operations. Here, a choice vector is one vector of Λ
with the entries of one choice: a row of `operations`, or the inputs of a node. A term is a mean or a sum over choice
vectors, so that long vectors do not count more than short ones. Entries that the method has excluded are not in them.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from nasbench1shot1.optimizers.components.allowed import AllowedEntries
from nasbench1shot1.optimizers.components.relaxation_kinds import KINDS, Encoding
from nasbench1shot1.space import OneShotSpace

Parameters = Mapping[str, Tensor]


@dataclass(frozen=True)
class Term:
    """A term of the loss of Λ.

    Attributes:
        value: (choice vectors, with a shape (entries,) each) → scalar, without its weight.
        weight: its default weight.
        grows: whether the weight grows linearly from 0 over the epochs of the schedule.
        keys: the keys of Λ that it applies to: "all", or "operations" (`space.operation_key`).
        encoding: the function of Λ for which it is defined.
    """

    value: Callable[[Sequence[Tensor]], Tensor]
    weight: float
    grows: bool
    keys: Literal["all", "operations"]
    encoding: Encoding

    @property
    def relaxations(self) -> list[str]:
        """The relaxations with which it has a meaning: those with its encoding, except for mixtures of widths."""
        return [name for name, kind in KINDS.items() if kind.encoding == self.encoding and not kind.mixes_widths]


def beta(vectors: Sequence[Tensor]) -> Tensor:
    """Return the mean over all choice vectors of log Σ exp(Λ) (Ye et al.: β-DARTS, CVPR 2022, section 3.2)."""
    return torch.stack([vector.logsumexp(dim=-1) for vector in vectors]).mean()


def zero_one(vectors: Sequence[Tensor]) -> Tensor:
    """Return the mean over all operations of -(σ(Λ) - ½)² (Chu et al.: FairDARTS, ECCV 2020, equation 5)."""
    return -(torch.cat(list(vectors)).sigmoid() - 0.5).square().mean()


def zero_one_l1(vectors: Sequence[Tensor]) -> Tensor:
    """Return the mean over all operations of -|σ(Λ) - ½| (FairDARTS; `--sep_loss l1` of its code)."""
    return -(torch.cat(list(vectors)).sigmoid() - 0.5).abs().mean()


def dirichlet_kl(vectors: Sequence[Tensor]) -> Tensor:
    """Return the sum over all choice vectors of KL(Dir(elu(Λ) + 1) ‖ Dir(1)) (Chen et al.: DrNAS, ICLR 2021)."""
    from nasbench1shot1.optimizers.components.relaxation import concentrations

    divergences = []
    for vector in vectors:
        drawn = torch.distributions.Dirichlet(concentrations(vector))
        flat = torch.distributions.Dirichlet(torch.ones_like(vector))
        divergences.append(torch.distributions.kl_divergence(drawn, flat))
    return torch.stack(divergences).sum()


TERMS: dict[str, Term] = {
    "beta": Term(beta, 50.0, True, "all", "softmax"),
    "zero-one": Term(zero_one, 10.0, False, "operations", "sigmoid"),
    "zero-one-l1": Term(zero_one_l1, 10.0, False, "operations", "sigmoid"),
    "dirichlet-kl": Term(dirichlet_kl, 1e-3, False, "all", "dirichlet"),
}
"""The terms by their name in the option `term`."""


def term_gradients(
    name: str,
    space: OneShotSpace,
    parameters: Parameters,
    weight: float | None,
    share: float,
    allowed: AllowedEntries | None = None,
) -> list[Tensor]:
    """Return the gradient of a weighted term for every tensor of Λ.

    Args:
        name: one of `TERMS`.
        space: the search space.
        parameters: Λ.
        weight: the weight of the term. Default: its own.
        share: the share of the schedule that has passed, by which a growing weight is multiplied.
        allowed: the entries that the method has not excluded; the gradients of all others are 0. Default: all.
    """
    term = TERMS[name]
    factor = (term.weight if weight is None else weight) * (share if term.grows else 1.0)
    leaves = {key: value.detach().requires_grad_() for key, value in parameters.items()}
    of_term = {space.operation_key: leaves[space.operation_key]} if term.keys == "operations" else leaves
    loss = factor * term.value((allowed or AllowedEntries(space)).vectors(of_term))
    return list(torch.autograd.grad(loss, list(leaves.values()), materialize_grads=True))
