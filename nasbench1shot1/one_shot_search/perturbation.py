"""Perturbed mixing weights while the supernet's weights train (SDARTS: Chen and Hsieh, ICML 2020, section 4)."""

import torch
from torch import Tensor

from nasbench1shot1.ground.errors import InvalidInputError, option
from nasbench1shot1.one_shot_search.state import SearchState
from nasbench1shot1.optimizer import Batch, Mixing

ASCENT_STEPS = 7
STEP_SHARE = 2.5  # total length of all ascent steps, relative to the largest change
LEAST_SUM = 1e-12  # sum of perturbed weights up to which they keep their old values


class Perturbation:
    """Maps mixing weights and a batch to perturbed mixing weights, as `config.perturbation` selects; Λ does not change.

    "random" adds uniform noise in ±ε; "adversarial" climbs the loss of the training batch in ε-bounded steps along
    the gradient's sign. ε grows linearly to `config.perturbation_size` in the last epoch. No weight becomes negative,
    and each vector keeps its sum, as in the authors' code. Unlike there, zero weights stay zero, so that only sampled
    operations are used.
    """

    def __init__(self, state: SearchState, epoch: int) -> None:
        self._state, self._kind = state, state.config.perturbation
        self._size = state.config.perturbation_size * epoch / state.config.epochs
        self._generator = state.generator("perturbation", epoch)

    def __call__(self, mixing: Mixing, batch: Batch) -> Mixing:
        """Return the mixing with perturbed weights; sampled choices stay unchanged.

        Raises InvalidInputError if the mixing has no weights.
        """
        if self._kind == "none":
            return mixing
        if mixing.weights is None:
            raise InvalidInputError(
                f"{self._state.config.optimizer} gives no mixing weights to perturb: give "
                f"{option('perturbation', 'none')}"
            )
        clean = mixing.tensors()
        changed = self._random(clean) if self._kind == "random" else self._adversarial(mixing, batch)
        return mixing.with_tensors(iter([_as_shares(new, old) for new, old in zip(changed, clean, strict=True)]))

    def _random(self, clean: list[Tensor]) -> list[Tensor]:
        noise = [torch.empty(tensor.shape).uniform_(-1, 1, generator=self._generator) for tensor in clean]
        return [old + self._size * new.to(old.device, non_blocking=True) for old, new in zip(clean, noise, strict=True)]

    def _adversarial(self, mixing: Mixing, batch: Batch) -> list[Tensor]:
        clean, weights = mixing.tensors(), dict(self._state.net.named_parameters())
        moved, step = clean, STEP_SHARE * self._size / ASCENT_STEPS
        for _ in range(ASCENT_STEPS):
            leaves = [tensor.detach().requires_grad_() for tensor in moved]
            loss = self._state.loss_at(weights, mixing.with_tensors(iter(leaves)), batch)
            gradients = torch.autograd.grad(loss, leaves, materialize_grads=True)  # a path may not use all of them
            climbed = [leaf.detach() + step * g.sign() for leaf, g in zip(leaves, gradients, strict=True)]
            bounds = [(old - self._size, old + self._size) for old in clean]
            moved = [new.clamp(*bound) for new, bound in zip(climbed, bounds, strict=True)]
        return moved


def _as_shares(changed: Tensor, clean: Tensor) -> Tensor:
    """Return weights that are not negative, stay zero where they were zero, and keep their sum along the last axis."""
    kept = torch.where(clean > 0, changed.clamp(min=0), 0)
    total = kept.sum(dim=-1, keepdim=True)
    return torch.where(total > LEAST_SUM, kept * clean.sum(dim=-1, keepdim=True) / total.clamp(min=LEAST_SUM), clean)
