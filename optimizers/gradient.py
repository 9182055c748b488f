"""Base of gradient methods for Λ: any combination of relaxation, temperature, gradient, term of the loss, and rule."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args

from nasbench1shot1.architecture import Architecture
from nasbench1shot1.constraint import Constraint
from nasbench1shot1.ground.errors import InvalidInputError, option, options, unknown_name, value_of
from nasbench1shot1.optimizer import USES_ALL_WEIGHTS, Mixing, SearchStep
from nasbench1shot1.optimizers.adam import BETAS, AdamHyperparameters, AdamOptimizer
from nasbench1shot1.optimizers.components.allowed import AllowedEntries
from nasbench1shot1.optimizers.components.relaxation_kinds import (
    KINDS,
    RELAXATION_NAMES,
    WITH_NOISE,
    RelaxationKind,
    RelaxationName,
)
from nasbench1shot1.optimizers.widths import check_has_widths
from nasbench1shot1.phases import Phase
from nasbench1shot1.reading import Reading
from nasbench1shot1.runs.options import IF_GIVEN, OfLength, OnlyWith, Range
from nasbench1shot1.space import OneShotSpace

if TYPE_CHECKING:
    import torch
    from torch import Tensor

    from nasbench1shot1.optimizers.components.expectation import Expectation

UpdateName = Literal["first-order", "second-order", "implicit"]
"""The names in `updates.UPDATES`."""
TermName = Literal["none", "beta", "zero-one", "zero-one-l1", "dirichlet-kl"]
"""The names in `terms.TERMS`, and none."""
TERM_NAMES = get_args(TermName)[1:]
RuleName = Literal["adam", "exponentiated-gradient"]
TEMPERATURES = ("temperature_max", "temperature_min")
PUBLISHED_WEIGHTS = {"weight_decay": 3e-4, "nesterov": False, "evaluation_batch_norm": "running"}
"""Settings in which the published code of newer methods differs from NAS-Bench-201's published code."""
PUBLISHED_SETTINGS = {**PUBLISHED_WEIGHTS, "augment_scored_images": True}
"""Settings of the published code of most newer methods, which augments the images of both halves."""


@dataclass(frozen=True, kw_only=True)
class GradientHyperparameters(AdamHyperparameters):
    """Options of all gradient methods; each method sets its own defaults."""

    relaxation: RelaxationName = "softmax"
    """Relaxation that turns Λ into mixing weights: softmax, gumbel, gumbel-operations, single-path, sigmoid,
    dirichlet, reinmax, or (for widths) interpolation (docs/optimizers.md)."""
    temperature_max: float = 1.0
    """Temperature of the relaxation in the first epoch, from which it falls linearly."""
    temperature_min: float = 1.0
    """Temperature of the relaxation in the last epoch."""
    temperature_ends_after: bool = False
    """Reach the minimum temperature one epoch after the last, as in the published code."""
    draws: Annotated[int, Range(1, 1000)] = 1
    """Number of samples per forward pass, which the cells use in turn."""
    evaluation_noise: Annotated[bool, OnlyWith("relaxation", WITH_NOISE)] = False
    """Also sample for the one-shot error, as in the published code, instead of using the mode."""
    update: UpdateName = "first-order"
    """Gradient of Λ: first-order (at the current weights), second-order (through one virtual weight step) or implicit
    (through the optimum of the weights, iDARTS)."""
    neumann_terms: Annotated[int | None, Range(0, 100), OnlyWith("update", ("implicit",)), IF_GIVEN] = None
    """Order K at which the Neumann series of --update implicit is truncated. Default: 2."""
    term: Annotated[TermName | None, IF_GIVEN] = None
    """Term added to the loss of Λ; none removes a method's own term. Default: none."""
    term_weight: Annotated[float | None, Range(0), OnlyWith("term", TERM_NAMES), IF_GIVEN] = None
    """Weight of the term; beta's weight grows from 0 to this value. Default: beta: 50; zero-one and zero-one-l1: 10;
    dirichlet-kl: 0.001."""
    term_epochs: Annotated[int | None, Range(1), OfLength.EPOCHS, OnlyWith("term", ("beta",)), IF_GIVEN] = None
    """Number of epochs over which beta's weight grows (published: 100). Default: the number of epochs."""
    cost_weight: Annotated[float | None, Range(0), IF_GIVEN] = None
    """Weight of a penalty in the loss of Λ: Σ max(E / bound - 1, 0) over the expected values E of all bounded costs.
    Default: 0."""
    rule: Annotated[RuleName | None, IF_GIVEN] = None
    """Update rule of Λ: adam, or exponentiated-gradient on the mixing weights (GAEA). Default: adam."""
    flooding: Annotated[float | None, Range(0), IF_GIVEN] = None
    """Level b of the weights' loss L, in nats: the weights minimise |L - b| + b (β-DARTS++). 0 disables flooding.
    Default: 0."""
    exclude_none: Annotated[bool | None, IF_GIVEN] = None
    """Exclude the operation `none`, whose output is zero, from all choices, on spaces that have it. Default: no."""

    @property
    def kind(self) -> RelaxationKind:
        """The kind of the relaxation."""
        return KINDS[self.relaxation]

    @property
    def active_term(self) -> str | None:
        """The name of the term that is added to the loss of Λ, if any."""
        return None if self.term == "none" else self.term

    def temperature_at(self, epoch: int, epochs: int) -> float:
        """Return the temperature of an epoch, 1 … epochs."""
        share = (epoch - 1) / (epochs if self.temperature_ends_after else max(epochs - 1, 1))
        return self.temperature_max + share * (self.temperature_min - self.temperature_max)

    def check(self) -> None:
        """Raise InvalidInputError for a value that is out of range, and for meaningless combinations."""
        super().check()
        for name, known in (("relaxation", RELAXATION_NAMES), ("update", get_args(UpdateName))):
            if getattr(self, name) not in known:
                raise unknown_name(name, getattr(self, name), known)
        self._check_term()
        self._check_rule()
        if self.cost_weight != type(self).cost_weight:  # a default only has an effect with bounds: see `constrain`
            self.check_penalty()
        if self.update != "first-order":
            self.check_not_flooded(option("update", self.update))
        if not 0 < self.temperature_min <= self.temperature_max < math.inf:
            raise InvalidInputError(
                f"the temperature cannot fall from {option('temperature_max', self.temperature_max)} to "
                f"{option('temperature_min', self.temperature_min)}: both must be finite and more than 0, and the "
                "maximum at least the minimum"
            )
        if self.draws > 1 and (why := self.kind.one_sample):
            raise InvalidInputError(f"the relaxation {self.relaxation} {why}: give {option('draws', 1)}")
        if self.relaxation == "dirichlet" and (self.temperature_max, self.temperature_min) != (1.0, 1.0):
            usual = {field.name: field.default for field in fields(self)}
            changed = {name: getattr(self, name) for name in TEMPERATURES if getattr(self, name) != 1}
            is_given = all(usual[name] == 1 for name in changed)
            advice = f"remove {options(changed)}" if is_given else f"give {options(dict.fromkeys(TEMPERATURES, 1))}"
            raise InvalidInputError(f"{option('relaxation', 'dirichlet')} has no temperature: {advice}")
        if self.relaxation == "reinmax" and self.temperature_min < 1:
            raise InvalidInputError(
                f"ReinMax needs temperatures of at least 1, not {option('temperature_min', self.temperature_min)}: "
                f"give {options({'temperature_min': 1, 'temperature_max': max(self.temperature_max, 1)})}"
            )

    def check_mixes_all(self, reason: str) -> None:
        """Raise InvalidInputError if passes mix only sampled candidates; `reason` is a sentence about the method."""
        if self.kind.samples:
            *suitable, last = [name for name, kind in KINDS.items() if not kind.samples]
            raise InvalidInputError(
                f"{reason}, but {option('relaxation', self.relaxation)} mixes only sampled candidates: use "
                f"{', '.join(suitable)} or {last}"
            )

    def check_not_flooded(self, name: str) -> None:
        """Raise InvalidInputError for flooding; `name` is a method or update that uses the weights' gradients."""
        if self.flooding:
            raise InvalidInputError(
                f"{option('flooding', self.flooding)} can reverse the gradients that {name} uses: remove it"
            )

    def _check_term(self) -> None:
        from nasbench1shot1.optimizers.components.terms import TERMS

        if self.active_term is None:
            return
        if self.relaxation not in (suitable := TERMS[self.active_term].relaxations):
            raise InvalidInputError(
                f"the term {self.term} cannot be used with {option('relaxation', self.relaxation)}: use "
                f"{' or '.join(suitable)}, or give {option('term', 'none')}"
            )

    def check_penalty(self) -> None:
        """Raise InvalidInputError for a penalty on costs that the relaxation or the rule does not support."""
        if self.cost_weight and self.kind.encoding != "softmax":
            raise InvalidInputError(
                f"an expected cost needs the softmax of Λ, which {option('relaxation', self.relaxation)} does not use: "
                f"use softmax or gumbel, or give {option('cost_weight', 0)}"
            )
        if self.cost_weight and self.rule == "exponentiated-gradient":
            raise InvalidInputError(
                f"{option('cost_weight', self.cost_weight)} penalises a function of Λ, but the exponentiated gradient "
                f"updates mixing weights: give {option('cost_weight', 0)} or {option('rule', 'adam')}"
            )

    def _check_rule(self) -> None:
        if self.rule != "exponentiated-gradient":
            return
        adam = option("rule", "adam")
        if self.kind.encoding != "softmax" or self.kind.mixes_widths:
            raise InvalidInputError(
                f"the exponentiated gradient needs mixing weights that are a softmax of Λ, not "
                f"{option('relaxation', self.relaxation)}: use softmax or gumbel, or give {adam}"
            )
        if self.kind.estimates_gradient:
            raise InvalidInputError(
                "the exponentiated gradient needs the gradient of mixing weights, and ReinMax estimates the gradient "
                f"of Λ: use gumbel-operations, or give {adam}"
            )
        if self.architecture_grad_clip:
            raise InvalidInputError(
                "the exponentiated gradient does not clip, so it cannot be combined with "
                f"{option('architecture_grad_clip', self.architecture_grad_clip)}: give "
                f"{option('architecture_grad_clip', 0)} or {adam}"
            )
        if self.architecture_beta1 not in (None, BETAS[0]):
            raise InvalidInputError(
                f"{option('architecture_beta1', self.architecture_beta1)} belongs to Adam, not to the exponentiated "
                f"gradient: give {option('architecture_beta1', BETAS[0])} or {adam}"
            )
        if self.active_term is not None:
            raise InvalidInputError(
                f"{option('term', self.term)} is a function of Λ, but the exponentiated gradient updates mixing "
                f"weights: give {option('term', 'none')} or {adam}"
            )


class GradientOptimizer(AdamOptimizer):
    """A one-shot method that trains the weights with a relaxation of Λ, and Λ with the gradient through it.

    Attributes:
        allowed: the entries of each choice that the method has not excluded; only these are computed.
    """

    Hyperparameters = GradientHyperparameters
    hyperparameters: GradientHyperparameters

    def __init__(
        self, space: OneShotSpace, hyperparameters: Any, generator: torch.Generator, device: torch.device
    ) -> None:
        super().__init__(space, hyperparameters, generator, device)
        if self.hyperparameters.kind.mixes_widths:
            check_has_widths(space, option("relaxation", self.hyperparameters.relaxation))
        self._check_operations()
        self.temperature, self.progress = self.hyperparameters.temperature_max, 0.0
        self.allowed = AllowedEntries(self.space)
        if self.hyperparameters.exclude_none:
            self._exclude_none()
        if self.hyperparameters.rule == "exponentiated-gradient":
            from nasbench1shot1.optimizers.components.rules import start_uniformly

            start_uniformly(self.parameters)

    def _check_operations(self) -> None:
        """Raise InvalidInputError for options that apply to operations if the space has none."""
        from nasbench1shot1.optimizers.components.terms import TERMS

        settings, space, term = self.hyperparameters, self.space, self.hyperparameters.active_term
        if space.operation_key in self.parameters:
            return
        of_operations = {
            "term": term if term and TERMS[term].keys == "operations" else None,
            "relaxation": settings.relaxation if settings.kind.separates_operations else None,
        }
        for name, value in of_operations.items():
            if value is not None:
                raise InvalidInputError(
                    f"{option(name, value)} applies to operations, and {space.name} has no mixing weights "
                    f"'{space.operation_key}': choose another {value_of(name)} or space"
                )

    def _exclude_none(self) -> None:
        """Exclude `none`; raises InvalidInputError if the space does not have it."""
        space, entry = self.space, self.space.zero_operation
        if entry is None:
            raise InvalidInputError(
                f"{option('exclude_none', True)} needs the operation none, which {space.name} lacks: remove it, or "
                "choose another space"
            )
        for number, choice in enumerate(space.choices()):
            if choice.key == space.operation_key:
                self.allowed.drop(number, entry)
        self.allowed.start_here()

    @classmethod
    def unused_options(cls, hyperparameters: Any) -> Mapping[str, str]:
        """Return `unused_weights` if steps use all weights; `temperature_ends_after` if the temperature is constant."""
        is_constant = hyperparameters.temperature_min == hyperparameters.temperature_max
        return {
            **({} if hyperparameters.kind.samples else USES_ALL_WEIGHTS),
            **({"temperature_ends_after": "the temperature is constant"} if is_constant else {}),
        }

    @property
    def mixes_candidates(self) -> bool:
        """Whether the mixing weights of at least one choice are not one-hot in weight steps."""
        one_hot, operations = self.hyperparameters.kind.one_hot, self.space.operation_key
        return any(
            choice.picks > 1 or one_hot == "none" or (one_hot == "operations" and choice.key != operations)
            for choice in self.space.choices()
        )

    @property
    def mixes_shares(self) -> bool:
        """Whether each vector of mixing weights is positive and adds up to 1."""
        is_changed = self.changes_structure or self.allowed.is_restricted
        return self.hyperparameters.kind.gives_shares and not is_changed

    @property
    def is_annealed(self) -> bool:
        """Whether the temperature falls."""
        return self.hyperparameters.temperature_min < self.hyperparameters.temperature_max

    @property
    def evaluates_with_noise(self) -> bool:
        """Whether the option `evaluation_noise` is set."""
        return self.hyperparameters.evaluation_noise

    def check_length(self, phases: Sequence[Phase], steps: int) -> None:
        """Raise InvalidInputError if a growing term never gets a weight."""
        from nasbench1shot1.optimizers.components.terms import TERMS

        term = self.hyperparameters.active_term
        if term and TERMS[term].grows and sum(phase.epochs for phase in phases) == 1:
            raise InvalidInputError(
                f"{option('epochs', 1)} has only the first epoch, in which the weight of the term {term} is 0: "
                f"raise it, or give {option('term', 'none')}"
            )

    def begin_epoch(self, epoch: int, epochs: int, generator: torch.Generator) -> None:
        """Set the temperature of the epoch."""
        super().begin_epoch(epoch, epochs, generator)
        settings = self.hyperparameters
        self.temperature = settings.temperature_at(epoch, epochs)
        self.progress = min((epoch - 1) / (settings.term_epochs or epochs), 1.0)

    @classmethod
    def reading(cls, hyperparameters: Any, epoch: int, epochs: int) -> Reading:
        """Return the mean of the relaxation at the temperature of an epoch."""
        from nasbench1shot1.optimizers.components.relaxation import reading

        return reading(hyperparameters.relaxation, hyperparameters.temperature_at(max(epoch, 1), epochs))

    def mixing(self) -> Mixing:
        """Return the relaxation of Λ at this epoch's temperature, with its noise, if any."""
        return self._relax(self.generator)

    def next_mixing(self) -> Mixing:
        """Return the mixing weights that the next call of `mixing` returns, without a gradient."""
        import torch

        noise = self.generator.get_state()
        with torch.no_grad():
            mixing = self.mixing()
        self.generator.set_state(noise)
        return mixing

    def evaluation_mixing(self) -> Mixing:
        """Return the relaxation without noise, or with noise if `evaluation_noise` is set."""
        return self._relax(self.generator if self.hyperparameters.evaluation_noise else None)

    def _relax(self, generator: torch.Generator | None) -> Mixing:
        from nasbench1shot1.optimizers.components.relaxation import RELAXATIONS

        relax, draws = RELAXATIONS[self.hyperparameters.relaxation], self.hyperparameters.draws
        parameters = self.allowed.masked(self.parameters)
        if draws > 1:
            repeated = {key: value.expand(draws, *value.shape) for key, value in parameters.items()}
            mixing = relax(self.space, repeated, self.temperature, generator).unstacked()
        else:
            mixing = relax(self.space, parameters, self.temperature, generator)
        if not self.allowed.is_restricted:
            return mixing
        return self.allowed.restrict(mixing).with_each(self.allowed.fixed)

    def architecture(self) -> Architecture:
        """Return Λ discretised, without excluded entries."""
        return self.space.discretise(self.preferences())

    def preferences(self) -> Mapping[str, Tensor]:
        """Return Λ minus a large penalty for excluded entries."""
        return self.allowed.ranked(self.parameters)

    def structure(self) -> Mapping[str, Any]:
        """Return the allowed entries of every choice of which some are excluded."""
        return self.allowed.structure()

    def weight_loss(self, loss: Tensor) -> Tensor:
        """Return the loss, mirrored at the flooding level where it is below that level (Ishida et al., ICML 2020)."""
        level = self.hyperparameters.flooding
        return (loss - level).abs() + level if level else loss

    def architecture_step(self, step: SearchStep) -> None:
        """Update Λ once by its rule, with the gradient that `update` selects and the gradient of the term, if any."""
        import torch

        from nasbench1shot1.optimizers.components.updates import UPDATES

        mixing = self.mixing()
        tensors = mixing.tensors()
        leaves = [tensor.detach().requires_grad_() for tensor in tensors]
        passed = sampled = mixing.with_tensors(iter(leaves))
        if self.hyperparameters.kind.estimates_gradient:
            passed = self.allowed.restrict(replace(sampled, operations=None))  # the gradient needs all outputs
        own: dict[str, dict[str, Any]] = {
            "second-order": {"sampled": sampled},
            "implicit": {"neumann_terms": self.hyperparameters.neumann_terms},
        }
        update = self.hyperparameters.update
        of_mixing = UPDATES[update](step, passed, leaves, **own.get(update, {}))
        if self.hyperparameters.rule == "exponentiated-gradient":
            self._exponentiate(tensors, of_mixing)
            return
        parameters = list(self.parameters.values())
        gradients = torch.autograd.grad(tensors, parameters, of_mixing, allow_unused=True)
        self.descend(self._with_costs(self._with_term(gradients)))

    def _with_term(self, gradients: tuple[Tensor | None, ...]) -> tuple[Tensor | None, ...]:
        """Return gradients of Λ with those of the term added."""
        from nasbench1shot1.optimizers.components.terms import term_gradients

        settings, term = self.hyperparameters, self.hyperparameters.active_term
        if term is None:
            return gradients
        weight, share = settings.term_weight, self.progress
        added = term_gradients(term, self.space, self.parameters, weight, share, self.allowed)
        return tuple(extra if of is None else of + extra for of, extra in zip(gradients, added, strict=True))

    @property
    def option_needing_bounds(self) -> str | None:
        """`cost_weight`, if it is set."""
        return "cost_weight" if self.hyperparameters.cost_weight else None

    def constrain(self, constraint: Constraint) -> None:
        """Take the bounds of the search; raises InvalidInputError if it cannot penalise expected costs."""
        super().constrain(constraint)
        self.hyperparameters.check_penalty()
        if self.hyperparameters.cost_weight:
            from nasbench1shot1.optimizers.components.expectation import check_summable

            check_summable(self.space)

    @cached_property
    def _expectations(self) -> list[Expectation]:
        """The expectation under Λ of each bounded cost."""
        from nasbench1shot1.optimizers.components.expectation import Expectation

        costs = () if self.constraint is None else self.constraint.costs
        return [Expectation(self.space, cost.by_number) for cost in costs]

    def _with_costs(self, gradients: tuple[Tensor | None, ...]) -> tuple[Tensor | None, ...]:
        """Return the gradients of Λ plus those of the penalty on expected costs under the allowed entries."""
        import torch

        from nasbench1shot1.optimizers.components.expectation import excess

        weight = self.hyperparameters.cost_weight
        if not weight or self.constraint is None:
            return gradients
        leaves = {key: value.detach().requires_grad_() for key, value in self.parameters.items()}
        limits = [cost.limit for cost in self.constraint.costs]
        penalty = weight * excess(self._expectations, limits, self.allowed.masked(leaves))
        added = torch.autograd.grad(penalty, list(leaves.values()), materialize_grads=True)
        return tuple(extra if of is None else of + extra for of, extra in zip(gradients, added, strict=True))

    def _exponentiate(self, tensors: list[Tensor], of_mixing: list[Tensor]) -> None:
        """Move Λ = log θ with ∂L/∂θ.

        A plain softmax gives θ as a leaf, as in the published code. The derivative through it would differ by a
        constant, which moves θ differently where θ is raised to its minimum.
        """
        import torch

        from nasbench1shot1.optimizers.components.rules import LEAST_SHARE, exponentiate, gradients_of_shares

        settings, parameters = self.hyperparameters, self.allowed.masked(self.parameters)
        if settings.kind.has_noise or self.temperature != 1:
            leaves = list(self.parameters.values())
            found = torch.autograd.grad(tensors, leaves, of_mixing, materialize_grads=True)
            gradients = gradients_of_shares(parameters, found)
        else:
            gradients = dict(zip(parameters, of_mixing, strict=True))
        exponentiate(parameters, gradients, settings.architecture_learning_rate, settings.architecture_weight_decay)
        if self.allowed.is_restricted:
            for key, value in self.parameters.items():  # records need finite entries
                value.data.copy_(parameters[key].detach().nan_to_num(neginf=math.log(LEAST_SHARE)))

    def state_dict(self) -> dict[str, Any]:
        """Return Λ, Adam's moments, the temperature and, if entries are excluded, those that are not."""
        allowed = self.allowed.state_dict() if self.allowed.is_restricted else {}
        return {**super().state_dict(), "temperature": self.temperature, **allowed}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore the state that `state_dict` returned."""
        super().load_state_dict(state)
        self.temperature = state["temperature"]
        if "allowed" in state:
            self.allowed.load_state_dict(state)
        else:
            self.allowed.clear()
