"""The base class of one-shot optimizers, which own the parameters Λ and turn them into mixing weights."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import wraps
from inspect import isfunction
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from nasbench1shot1.architecture import Architecture
from nasbench1shot1.constraint import Constraint
from nasbench1shot1.ground.arguments import check_torch_generator, is_integer
from nasbench1shot1.ground.errors import InvalidInputError, shorten
from nasbench1shot1.ground.plugins import imported
from nasbench1shot1.hyperparameters import Hyperparameters as Hyperparameters
from nasbench1shot1.phases import Phase, bilevel_phases
from nasbench1shot1.reading import Reading as Reading
from nasbench1shot1.runs.storable import check_checkpoint_values, check_json_values
from nasbench1shot1.space import OneShotSpace, as_one_shot
from nasbench1shot1.supernets.passes import Batch as Batch
from nasbench1shot1.supernets.passes import Mixing as Mixing

if TYPE_CHECKING:
    import torch
    from torch import Tensor

    from nasbench1shot1.supernets.weight_sharing import SharedWeights

INITIAL_SPREAD = 1e-3  # standard deviation of the initial Λ, as published

WITHOUT_STEPS_OF_LAMBDA = dict.fromkeys(
    ("augment_architecture_images", "draw_with_replacement"), "this method takes no steps of Λ"
)
"""`unused_options` of methods without steps of Λ."""

_A_MIXING = (Mixing, "a Mixing, such as Mixing(weights) or Mixing(path=architecture)")
_PAIRS = (Sequence, "a list of pairs of whole numbers")
_RETURNED: Mapping[str, tuple[type | str, str]] = {
    "mixing": _A_MIXING,
    "weight_mixing": _A_MIXING,
    "evaluation_mixing": _A_MIXING,
    "weight_loss": ("torch:Tensor", "a scalar tensor"),
    "architecture": (Architecture, "an nb.Architecture"),
    "preferences": (Mapping, "a dict with a tensor for every key of Λ"),
    "frozen_weights": (Collection, "a collection of names of weights"),
    "structure": (Mapping, "a dict of JSON values"),
    "state_dict": (dict, "a dict"),
    "scorings": _PAIRS,
    "mixture_scorings": _PAIRS,
    "scorings_at_end": _PAIRS,
}
"""What methods of a one-shot optimizer must return: the type, or a reference to a type that is not imported here, and
a description of it."""


def _check_weights(name: str, mixing: Mixing) -> None:
    """Raise InvalidInputError unless mixing weights are mappings from names to tensors, and a path an architecture."""
    if not isinstance(mixing.path, Architecture | None):
        raise InvalidInputError(
            f"{name}() must return an nb.Architecture as the path, not an object of type {type(mixing.path).__name__}"
        )
    tensor, given = imported("torch:Tensor"), {} if mixing.weights is None else mixing.weights
    for weights in given if isinstance(given, tuple) else (given,):
        is_mapping = isinstance(weights, Mapping)
        wrong = [value for value in weights.values() if not isinstance(value, tensor)] if is_mapping else [weights]
        if wrong:
            raise InvalidInputError(
                f"{name}() must return mixing weights that map names to tensors, not an object of type "
                f"{type(wrong[0]).__name__}"
            )


def _check_scalar(name: str, loss: Tensor) -> None:
    """Raise InvalidInputError unless a loss has exactly one entry, as a backward pass requires."""
    if loss.numel() != 1:
        raise InvalidInputError(f"{name}() must return a scalar tensor, not a tensor of shape {tuple(loss.shape)}")


def _check_pairs(name: str, pairs: Sequence[Any]) -> None:
    """Raise InvalidInputError unless each entry is a pair of whole numbers."""
    for pair in pairs:
        if not isinstance(pair, Sequence) or len(pair) != 2 or not all(map(is_integer, pair)):
            raise InvalidInputError(f"{name}() must return {_PAIRS[1]}, not a list with {shorten(repr(pair))}")


def check_initialised(method: OneShotOptimizer) -> None:
    """Raise InvalidInputError unless `__init__` of a method has set all attributes, and a tensor for every key of Λ."""
    name, wanted = type(method).__name__, ("space", "hyperparameters", "parameters", "generator", "device")
    if missing := [attribute for attribute in wanted if not hasattr(method, attribute)]:
        raise InvalidInputError(
            f"{name}.__init__() must set {', '.join(missing)}: call super().__init__(space, hyperparameters, "
            "generator, device)"
        )
    keys, tensor = method.space.mixing_shapes(), imported("torch:Tensor")
    given: Any = method.parameters
    if not isinstance(given, Mapping):
        wrong = f"it is an object of type {type(given).__name__}"
    elif other := [key for key, value in given.items() if not isinstance(value, tensor)]:
        wrong = f"'{other[0]}' is an object of type {type(given[other[0]]).__name__}"
    elif absent := [key for key in keys if key not in given]:
        wrong = f"'{absent[0]}' is missing"
    else:
        return
    raise InvalidInputError(
        f"{name}.parameters must be a dict with a tensor for each of {', '.join(keys)}, but {wrong}"
    )


_CHECKS: Mapping[str, Callable[[str, Any], None]] = {
    "mixing": _check_weights,
    "weight_mixing": _check_weights,
    "evaluation_mixing": _check_weights,
    "weight_loss": _check_scalar,
    "structure": check_json_values,
    "state_dict": check_checkpoint_values,
    "scorings": _check_pairs,
    "mixture_scorings": _check_pairs,
    "scorings_at_end": _check_pairs,
}
"""Checks of results that have the right type, by the method that returns them."""

USES_ALL_WEIGHTS = {"unused_weights": "each step of this method uses all weights that are not excluded"}
"""`unused_options` of methods whose steps use all weights."""


def _checked(
    method: Callable[..., Any], name: str, wanted: type | str, words: str, check: Callable[[str, Any], None] | None
) -> Callable[..., Any]:
    """Return a method that raises InvalidInputError, with its name, if its result has a wrong type or fails a check."""

    @wraps(method)
    def checked(*arguments: Any, **named: Any) -> Any:
        found = method(*arguments, **named)
        kind = imported(wanted) if isinstance(wanted, str) else wanted
        if not isinstance(found, kind) or isinstance(found, str):  # a string is a collection, too
            given = "None" if found is None else f"an object of type {type(found).__name__}"
            raise InvalidInputError(f"{name}() must return {words}, not {given}")
        if check is not None:
            check(name, found)
        return found

    return checked


@dataclass(frozen=True)
class SearchStep:
    """Everything that an optimizer may use in one step of a search.

    Attributes:
        loss: (mixing, batch) → scalar, the supernet's cross-entropy.
        logits: (mixing, images) → (N, classes), the supernet's class scores, as for rewards.
        loss_at: (weights, mixing, batch) → scalar, the cross-entropy with other tensors in place of the supernet's
            weights; the running statistics of batch-norm do not change.
        weights: the supernet's weights by name.
        operations: for each operation with weights at each place, its name and the names of its weights.
        weight_batch: the batch of the weight half on which the weight step of this step trains. It follows the step of
            Λ, or precedes it with `trains_weights_first`.
        architecture_batch: a batch of the architecture half.
        weight_optimizer: the SGD optimizer of the supernet's weights.
        frozen: names of weights that no step changes any more.
    """

    loss: Callable[[Mixing, Batch], Tensor]
    logits: Callable[[Mixing, Tensor], Tensor]
    loss_at: Callable[[Mapping[str, Tensor], Mixing, Batch], Tensor]
    weights: Mapping[str, Tensor]
    operations: Mapping[str, Sequence[str]]
    weight_batch: Batch
    architecture_batch: Batch
    weight_optimizer: torch.optim.Optimizer
    frozen: Collection[str] = ()

    def trains(self, name: str) -> bool:
        """Return whether the following weight step can change a weight."""
        return self.weights[name].requires_grad and name not in self.frozen


@dataclass(frozen=True)
class WeightStep:
    """A step of the weights, between its backward pass and the clipping of its gradients.

    Attributes:
        mixing: the mixing weights of the pass, after any perturbation. If the method's `mixing_gradients` asks for it,
            they are leaves whose `.grad` is the gradient of the loss.
        batch: the batch of the pass.
        loss: its cross-entropy, before `weight_loss`, a scalar without a gradient.
        weights: the supernet's weights by name; `.grad` is what the step will use, None for a weight that the pass does
            not use or that does not train.
        operations, loss_at: as in `SearchStep`.
    """

    mixing: Mixing
    batch: Batch
    loss: Tensor
    weights: Mapping[str, Tensor]
    operations: Mapping[str, Sequence[str]]
    loss_at: Callable[[Mapping[str, Tensor], Mixing, Batch], Tensor]


class OneShotOptimizer(ABC):
    """Base class of one-shot methods.

    A search consists of `phases`. In every epoch, the search loop calls `begin_epoch`; in every step,
    `architecture_step`, then `weight_mixing`, `weight_loss` and `adjust_gradients` for the weight step (or the other
    way round, see `trains_weights_first`); after the steps, `end_epoch`. It then calls `choose`, `evaluation_mixing`
    and `architecture`, also before training (epoch 0). After the last `choose`, it calls `end_search`. In a phase that
    does not move Λ, such as a warm-up, `architecture_step` and `end_epoch` are not called.

    Attributes:
        space: the search space.
        parameters: Λ, a tensor for every key of `space.mixing_shapes()`, recorded after every epoch.
        Hyperparameters: the dataclass of the method's own options.
        defaults: defaults of common options that differ for this method.
        original_defaults: defaults that differ under the preset "original".
        scale_defaults: defaults that differ at a scale, by its name, such as "quick".
        family_defaults: defaults that differ on the spaces of a benchmark, by its name (`Benchmark.name`).
        original_family_defaults: defaults that differ on these spaces under the preset "original"; they override
            `original_defaults`.
        constraint: the bounds of the search; None without any (`constrain`).
    """

    Hyperparameters: ClassVar[type[Hyperparameters]] = Hyperparameters
    defaults: ClassVar[Mapping[str, Any]] = {}
    original_defaults: ClassVar[Mapping[str, Any]] = {}
    scale_defaults: ClassVar[Mapping[str, Mapping[str, Any]]] = {}
    family_defaults: ClassVar[Mapping[str, Mapping[str, Any]]] = {}
    original_family_defaults: ClassVar[Mapping[str, Mapping[str, Any]]] = {}
    constraint: Constraint | None = None

    def __init_subclass__(cls, **named: Any) -> None:
        """Check what the methods of a subclass return, so that an error names the method instead of its callers."""
        super().__init_subclass__(**named)
        for name, (wanted, words) in _RETURNED.items():
            if isfunction(method := vars(cls).get(name)):
                setattr(cls, name, _checked(method, f"{cls.__name__}.{name}", wanted, words, _CHECKS.get(name)))

    def __init__(
        self, space: OneShotSpace, hyperparameters: Any, generator: torch.Generator, device: torch.device
    ) -> None:
        """Draw Λ from `generator`, which must be on the CPU, so that the values do not depend on the device."""
        import torch

        check_torch_generator(generator)
        self.space, self.hyperparameters = as_one_shot(space), hyperparameters
        self.parameters = {
            key: (INITIAL_SPREAD * torch.randn(shape, generator=generator)).to(device).requires_grad_()
            for key, shape in self.space.mixing_shapes().items()
        }
        self.generator, self.device = generator, device

    def constrain(self, constraint: Constraint) -> None:
        """Take the bounds of the search, before its first epoch; not called without bounds.

        By default, they are stored as `constraint`, and a method need not use them: if the architecture that it prefers
        is outside the bounds, the loop records the most probable network within them under Λ. A method whose loss or
        reward depends on costs finds them in `constraint.costs`: a function of an architecture (`Cost.of`), the limit,
        and the costs of all architectures by their number (`Cost.by_number`), for expectations.
        """
        self.constraint = constraint

    @classmethod
    def reading(cls, hyperparameters: Any, epoch: int, epochs: int) -> Reading:
        """Return how Λ, as recorded after an epoch, maps to mixing weights, for pictures. Default: by a softmax.

        Args:
            hyperparameters: the options of the search, an instance of `Hyperparameters`.
            epoch: the epoch, 0 … epochs.
            epochs: number of epochs of the search when it trained this epoch.
        """
        return Reading()

    def phases(self, epochs: int, warm_start_epochs: int) -> Sequence[Phase]:
        """Return the phases of a search; their epochs must add up to `epochs`.

        Default: `warm_start_epochs` epochs that train the weights alone, then a bilevel search. The result may only
        depend on the arguments and on the hyperparameters. Raises InvalidInputError if the epochs cannot be divided.
        """
        return bilevel_phases(epochs, warm_start_epochs)

    def check_length(self, phases: Sequence[Phase], steps: int) -> None:  # noqa: B027  an intended default
        """Raise InvalidInputError if a search of this length ends before the method differs from another one.

        Args:
            phases: the phases of the search.
            steps: number of weight steps of the first epoch.
        """

    def check_images(self, weight_images: int, architecture_images: int) -> None:  # noqa: B027  an intended default
        """Raise InvalidInputError if the method needs more images than the halves of a search have."""

    def begin_epoch(self, epoch: int, epochs: int, generator: torch.Generator) -> None:
        """Begin an epoch, 1 … epochs; all random numbers of the method in this epoch must come from `generator`."""
        self.generator = generator

    @classmethod  # noqa: B027  an intended default
    def check_space(cls, space: OneShotSpace) -> None:
        """Raise InvalidInputError if the method cannot search a space, before anything is read or built."""

    @classmethod
    def unused_options(cls, hyperparameters: Any) -> Mapping[str, str]:
        """Return options, common or its own, that have no effect on the method, with the reason: "because …".

        Giving one of them is refused. An option that depends on a single other option declares this in its annotation
        (`runs.options.OnlyWith`).
        """
        return {}

    @property
    def learns_parameters(self) -> bool:
        """Whether Λ is learned, so that it encodes a probability of every architecture.

        Otherwise, Λ only marks the chosen architecture.
        """
        return any(value.requires_grad for value in self.parameters.values())

    @property
    def is_relaxed(self) -> bool:
        """Whether the weights are trained with mixing weights that depend on Λ, instead of with single paths."""
        return self.learns_parameters

    @property
    def mixes_candidates(self) -> bool:
        """Whether weight steps mix the candidates of at least one choice, so that mixing weights can be perturbed."""
        return self.is_relaxed

    @property
    def evaluates_relaxation(self) -> bool:
        """Whether `evaluation_mixing` depends on Λ continuously, as the Hessian with respect to Λ needs."""
        return self.is_relaxed

    @property
    def mixes_shares(self) -> bool:
        """Whether each vector of mixing weights is positive and adds up to 1, so that it can be normalised."""
        return True

    @property
    def option_needing_bounds(self) -> str | None:
        """The name of an option that is set and only applies to searches with bounds on costs; None without any."""
        return None

    @property
    def selects_epoch(self) -> bool:
        """Whether the search returns the architecture of an epoch that the method selects, instead of the last one."""
        return False

    @property
    def selected_epoch(self) -> int | None:
        """After `end_search`: the epoch whose architecture the method selected; None if it did not select an epoch."""
        return None

    @property
    def trains_weights_first(self) -> bool:
        """Whether every step trains the weights before Λ, instead of after it."""
        return False

    @property
    def is_annealed(self) -> bool:
        """Whether mixing weights depend increasingly steeply on Λ, so that the Hessian with respect to Λ grows."""
        return False

    @property
    def evaluates_with_noise(self) -> bool:
        """Whether `evaluation_mixing` is random; if so, the one-shot error uses a new sample for every batch."""
        return False

    @property
    def changes_structure(self) -> bool:
        """Whether the method changes `structure` during a search, so that only the last epoch has its architecture."""
        return False

    @property
    def scored_mixtures(self) -> int:
        """Number of mixings that the rest of a search scores on the whole architecture half, to estimate times."""
        return 0

    @property
    def has_final_selection(self) -> bool:
        """Whether `end_search` changes the record of the last epoch. Default: whether the method overrides it."""
        return type(self).end_search is not OneShotOptimizer.end_search

    @property
    def learns_to_sample(self) -> bool:
        """Whether the method learns a distribution of architectures, from which its `sample()` draws."""
        return False

    @abstractmethod
    def mixing(self) -> Mixing:
        """Return the mixing weights of one training pass, differentiable with respect to Λ or sampled."""

    @property
    def mixing_gradients(self) -> Literal["none", "shared", "per-cell"]:
        """The gradients of mixing weights that `adjust_gradients` reads.

        none: no gradients; shared: the gradients of the mixing weights of the pass; per-cell: every mixed place has its
        own copy of them, and the mixing of the `WeightStep` has a tuple of these copies.
        """
        return "none"

    @property
    def auxiliary_skip(self) -> float:
        """The factor with which mixtures of operations add their inputs to their outputs in the steps of this epoch."""
        return 0.0

    def weight_mixing(self) -> Mixing:
        """Return the mixing weights of a weight step, from which no gradient flows to Λ. Default: `mixing`."""
        return self.mixing()

    def weight_loss(self, loss: Tensor) -> Tensor:
        """Return the loss that a weight step minimises, given the cross-entropy, both scalars."""
        return loss

    def adjust_gradients(self, step: WeightStep) -> None:  # noqa: B027  an intended default
        """Change the gradients of a weight step in place, or only read them; weights that it did not use have none."""

    def frozen_weights(self) -> Collection[str]:
        """Return the names of weights that no step changes any more, not even by momentum or weight decay."""
        return ()

    def structure(self) -> Mapping[str, Any]:
        """Return what the method has changed in the supernet, such as fixed choices, as JSON values for the record.

        Empty if nothing is changed. The state itself belongs to `state_dict`.
        """
        return {}

    def architecture_step(self, step: SearchStep) -> None:  # noqa: B027  an intended default
        """Update Λ once; does nothing by default, for methods whose Λ is not updated by gradients."""

    def end_epoch(self, shared: SharedWeights) -> None:  # noqa: B027
        """Make the method's updates at the end of an epoch, given the supernet's current weights."""

    def choose(self, shared: SharedWeights) -> None:  # noqa: B027
        """Choose the architecture of this epoch, for methods that score candidates with the shared weights."""

    def end_search(self, shared: SharedWeights) -> None:  # noqa: B027
        """Choose the architecture that the search returns, for methods with a final selection.

        With `has_final_selection`, it is called once, after `choose` in the last epoch; `architecture`, `parameters`
        and `evaluation_mixing` are then recorded for that epoch. The loop undoes its effects with `load_state_dict`
        before it writes the checkpoint, so that a finished search can be continued for more epochs. It is not called if
        a search stops early. It may only change state that `load_state_dict` restores.
        """

    def evaluation_mixing(self) -> Mixing:
        """Return the mixing weights for measuring the one-shot validation error."""
        return self.mixing()

    def architecture(self) -> Architecture:
        """Return the architecture that the method currently prefers."""
        return self.space.discretise(self.parameters)

    def preferences(self) -> Mapping[str, Tensor]:
        """Return Λ as it decides about architectures: much lower for excluded entries. Default: Λ itself.

        With bounds, the most probable network under these values is recorded if `architecture` is outside the bounds.
        """
        return self.parameters

    def scorings(self, batch_size: int, architecture_images: int) -> Sequence[tuple[int, int]]:
        """Return the work of `end_epoch` and `choose` per epoch, to estimate times: (architectures, images of each)."""
        return ()

    def mixture_scorings(self, batch_size: int, images: int) -> Sequence[tuple[int, int]]:
        """Return further work of `choose` per epoch, to estimate times: (mixings, images of each).

        Args:
            batch_size: number of images of a training step.
            images: number of images of a half.
        """
        return ()

    def score_mixing(self, shared: SharedWeights, rows: Tensor) -> None:
        """Score one mixing on rows of the image set, as in `scored_mixtures` and `mixture_scorings`, to time it."""
        shared.scores([self.evaluation_mixing()], rows)

    def remaining_share(self, epoch: int, phases: Sequence[Phase]) -> float:
        """Return the share of the initial work, 0 … 1, that a step of an epoch needs, to estimate times. Default: 1.

        It falls as candidates are excluded, and may be an expectation. Between two shares, times are interpolated.
        """
        return 1.0

    def rehearse(self, epoch: int, phases: Sequence[Phase]) -> None:  # noqa: B027  an intended default
        """Exclude about as many candidates as before an epoch, chosen arbitrarily, so that its steps can be timed.

        It is called on a copy of the method, before `begin_epoch`, with ascending epochs.
        """

    def scorings_at_end(self, batch_size: int, architecture_images: int) -> Sequence[tuple[int, int]]:
        """Return the work of `end_search`, to estimate times: (architectures or mixings, images of each)."""
        return ()

    @abstractmethod
    def state_dict(self) -> dict[str, Any]:
        """Return everything that `load_state_dict` needs to continue, as tensors and Python values."""

    @abstractmethod
    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore the state that `state_dict` returned."""
