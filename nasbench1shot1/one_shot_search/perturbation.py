"""Perturbed mixing weights while the supernet's weights train (SDARTS: Chen and Hsieh, ICML 2020, section 4)."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch import Tensor

from nasbench1shot1.ground.errors import InvalidInputError, option
from nasbench1shot1.one_shot_search.options import PerturbationVariant
from nasbench1shot1.one_shot_search.state import SearchState
from nasbench1shot1.optimizer import Batch, Mixing

STEPS = 7  # of an adversarial perturbation, as in the authors' code
PUBLISHED_START = 0.03  # largest change in the first epoch of the authors' code
LEAST_SUM = 1e-12  # sum of perturbed weights up to which they keep their old values


@dataclass(frozen=True)
class Details:
    """Properties of a variant of the perturbation, besides its kind and size.

    Attributes:
        start: the largest change ε in the first epoch (`largest_change`).
        on_simplex: whether each step ends with `onto_simplex`; otherwise `_as_shares` follows the last step.
        random_start: whether the ascent starts at a random point within ±ε.
        ascent: total length of all steps of the ascent, in units of ε.
        running_statistics: whether batch-norm uses its running statistics during the ascent.
        keeps_gains: whether a result that lowers the loss is dropped.
    """

    start: float | None
    on_simplex: bool
    random_start: bool
    ascent: float
    running_statistics: bool
    keeps_gains: bool


VARIANTS: dict[PerturbationVariant, Details] = {
    "corrected": Details(None, False, False, 2.5, False, False),
    "published": Details(PUBLISHED_START, True, True, 2.0, True, True),
}
"""The details by the names of the option `perturbation_variant`; "published" is the authors' code."""


class Perturbation:
    """Maps mixing weights and a batch to perturbed mixing weights, as `config.perturbation` selects; Λ does not change.

    "random" adds uniform noise in ±ε; "adversarial" climbs the loss of the training batch in ε-bounded steps along
    the gradient's sign. In the variant "corrected", no weight becomes negative, and each vector keeps its sum, whatever
    it is, and its zeros, so that only sampled operations are used.
    """

    def __init__(self, state: SearchState, epoch: int) -> None:
        self._state, config = state, state.config
        self._kind, self._steps = config.perturbation, config.perturbation_steps or STEPS
        self._details = VARIANTS[config.perturbation_variant or "corrected"]
        self._size = largest_change(epoch, config.epochs, config.perturbation_size, self._details.start)
        self._generator = state.generator("perturbation", epoch)

    def __call__(self, mixing: Mixing, batch: Batch) -> Mixing:
        """Return the mixing with perturbed weights; sampled choices stay unchanged.

        Raises InvalidInputError if the mixing has no weights.
        """
        if self._kind == "none":
            return mixing
        if mixing.weights is None:
            raise InvalidInputError(
                f"{self._state.config.optimizer} has no mixing weights to perturb: give "
                f"{option('perturbation', 'none')}"
            )
        clean = mixing.tensors()
        changed = self._with_noise(clean) if self._kind == "random" else self._adversarial(mixing, batch)
        if not self._details.on_simplex:
            changed = [_as_shares(new, old) for new, old in zip(changed, clean, strict=True)]
        return mixing.with_tensors(iter(changed))

    def _projected(self, changed: Sequence[Tensor]) -> list[Tensor]:
        """Return weights after a step, which are normalised if each step is."""
        return [onto_simplex(new) for new in changed] if self._details.on_simplex else list(changed)

    def _with_noise(self, clean: Sequence[Tensor]) -> list[Tensor]:
        noise = [torch.empty(tensor.shape).uniform_(-1, 1, generator=self._generator) for tensor in clean]
        moved = [
            old + self._size * new.to(old.device, non_blocking=True) for old, new in zip(clean, noise, strict=True)
        ]
        return self._projected(moved)

    def _adversarial(self, mixing: Mixing, batch: Batch) -> list[Tensor]:
        clean, weights = mixing.tensors(), dict(self._state.net.named_parameters())
        step = self._details.ascent * self._size / self._steps

        def loss(of: Sequence[Tensor]) -> Tensor:
            return self._state.loss_at(weights, mixing.with_tensors(iter(of)), batch)

        with self._batch_norm():
            moved = self._with_noise(clean) if self._details.random_start else clean
            for _ in range(self._steps):
                leaves = [tensor.detach().requires_grad_() for tensor in moved]
                gradients = torch.autograd.grad(loss(leaves), leaves, materialize_grads=True)  # a path uses only some
                climbed = [leaf.detach() + step * g.sign() for leaf, g in zip(leaves, gradients, strict=True)]
                bounds = [(old - self._size, old + self._size) for old in clean]
                moved = self._projected([new.clamp(*bound) for new, bound in zip(climbed, bounds, strict=True)])
            if self._details.keeps_gains:
                with torch.no_grad():
                    return clean if loss(clean) > loss(moved) else moved
        return moved

    @contextmanager
    def _batch_norm(self) -> Iterator[None]:
        """Let batch-norm use running statistics, if the variant does."""
        net = self._state.net
        was_training = net.training
        if self._details.running_statistics:
            net.eval()
        try:
            yield
        finally:
            net.train(was_training)


def largest_change(epoch: int, epochs: int, size: float, start: float | None) -> float:
    """Return the largest change ε of a mixing weight in an epoch, 1 … epochs.

    Without `start`, ε grows from 0 to `size` in the last epoch; otherwise from `start` in the first epoch to `size` one
    epoch after the last, as in the authors' code.
    """
    return size * epoch / epochs if start is None else start + (size - start) * (epoch - 1) / epochs


def onto_simplex(changed: Tensor) -> Tensor:
    """Return weights that are clipped to [0, 1] and divided by their sum along the last axis, as in the authors' code.

    A vector without a positive weight becomes one-hot at its largest entry.
    """
    clipped = changed.clamp(0, 1)
    total = clipped.sum(dim=-1, keepdim=True)
    largest = torch.nn.functional.one_hot(changed.argmax(dim=-1), changed.shape[-1]).to(changed.dtype)
    return torch.where(total > 0, clipped / torch.where(total > 0, total, 1), largest)


def _as_shares(changed: Tensor, clean: Tensor) -> Tensor:
    """Return weights that are not negative, stay zero where they were zero, and keep their sum along the last axis."""
    kept = torch.where(clean > 0, changed.clamp(min=0), 0)
    total = kept.sum(dim=-1, keepdim=True)
    return torch.where(total > LEAST_SUM, kept * clean.sum(dim=-1, keepdim=True) / total.clamp(min=LEAST_SUM), clean)
