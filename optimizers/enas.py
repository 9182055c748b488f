"""ENAS (Pham et al., Efficient Neural Architecture Search via Parameter Sharing, ICML 2018; NAS-Bench-1Shot1,
algorithm 5). See docs/enas.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, Literal

from nasbench1shot1.architecture import Architecture
from nasbench1shot1.constraint import REJECTIONS
from nasbench1shot1.ground.errors import DivergedError, InvalidInputError, option
from nasbench1shot1.nasbench101.cell import OPERATIONS
from nasbench1shot1.optimizers.sampling import RepeatedSelection, RepeatedSelectionHyperparameters, SamplingOptimizer
from nasbench1shot1.phases import Phase
from nasbench1shot1.runs.options import IF_GIVEN, RATE, Range
from nasbench1shot1.runs.schedules import Cosine
from nasbench1shot1.scales import below_full
from nasbench1shot1.space import OneShotSpace

if TYPE_CHECKING:
    import torch
    from torch import Tensor

    from nasbench1shot1.optimizers.enas_controller import ControllerSettings, Samples
    from nasbench1shot1.supernets.weight_sharing import SharedWeights

FEASIBILITY_SAMPLES = 64
"""Number of samples that estimate the gradient of the controller's probability of the architectures within bounds."""
BETAS, EPSILON = (0.1, 0.999), 1e-3  # settings of the controller's Adam, as published
DRAWN_AT_ONCE = 64  # architectures; drawing them one by one takes ten times as long
BIAS_START = 10.0  # initial value of the favoured operations' learned bias, as published
UNFAVOURED = "conv1x1-bn-relu"


@dataclass(frozen=True, kw_only=True)
class ENASHyperparameters(RepeatedSelectionHyperparameters):
    """Options of ENAS's controller; most defaults come from the published NAS-Bench-1Shot1 code (docs/enas.md)."""

    candidates: Annotated[int, Range(1)] = 100
    """Number of architectures that the controller draws and the shared weights score after every epoch."""
    controller_steps: Annotated[int, Range(0)] = 300
    """Number of controller steps after every epoch; each uses one sampled architecture."""
    controller_learning_rate: Annotated[float, RATE] = 3.5e-4
    """Learning rate of the controller (Adam)."""
    controller_entropy_weight: Annotated[float, Range(0)] = 1e-4
    """Weight of the controller's entropy (nats) relative to the accuracy (a fraction)."""
    controller_baseline_decay: Annotated[float, Range(0, 1)] = 0.99
    """Decay of the baseline, an exponential moving average of rewards."""
    controller_baseline_from_zero: bool = False
    """Start the baseline at 0, as in the published code, instead of at the first reward."""
    controller_reward_scale: Annotated[float, Range(above=0)] = 100.0
    """Scaling factor of accuracy and weighted entropy; with 1, Adam's epsilon exceeds most gradients."""
    controller_hidden: Annotated[int, Range(1)] = 64
    """Number of hidden units of the controller's LSTM."""
    controller_temperature: Annotated[float, Range(above=0)] = 5.0
    """Divisor of the controller's scores before the tanh."""
    controller_tanh_constant: Annotated[float, Range(above=0)] = 2.5
    """Bound of the controller's scores: the factor of the tanh."""
    controller_operation_tanh_reduction: Annotated[float, Range(above=0)] = 5.0
    """Divisor of --controller-tanh-constant for operations."""
    controller_average_parents: bool = False
    """Average the log-probabilities of a node's parents, as in the published code, instead of using their joint
    log-probability."""
    controller_operation_bias: Annotated[float, Range(0)] = 0.0
    """Bias added to the scores of conv3x3 and maxpool3x3, and subtracted from conv1x1's."""
    controller_layers: Annotated[int | None, Range(1, 100), IF_GIVEN] = None
    """Number of layers of the controller's LSTM. Default: 1."""
    controller: Annotated[Literal["corrected", "nasbench201"] | None, IF_GIVEN] = None
    """Network and gradient of the controller. corrected: separate layers for each decision, the gradient of the
    expected reward with entropy, and a baseline that follows every reward. nasbench201: as in NAS-Bench-201's published
    code (docs/enas.md). Default: corrected."""
    controller_beta1: Annotated[float | None, Range(0, below=1), IF_GIVEN] = None
    """First beta of the controller's Adam, less than 1. Default: 0.1."""
    controller_grad_clip: Annotated[float | None, Range(0), IF_GIVEN] = None
    """Maximum norm of the controller's gradient; 0 disables clipping. Default: 0."""
    controller_architectures: Annotated[int | None, Range(1), IF_GIVEN] = None
    """Number of sampled architectures over which a controller step averages its gradient. Default: 1."""
    learning_rate_period: Annotated[int | None, Range(1), IF_GIVEN] = None
    """Number of epochs in which the weights' learning rate falls to its minimum, and then rises again, repeatedly.
    Default: the number of epochs."""


class ENAS(SamplingOptimizer, RepeatedSelection):
    """Train one architecture per step, which a controller draws.

    After each epoch, the controller learns with REINFORCE which architectures are accurate with the shared weights.

    With bounds, the controller is conditioned on the architectures within them, as in TabNAS (Yang et al., NeurIPS
    2022, arXiv:2204.07615, section 3): samples outside the bounds are redrawn, and log p(y) becomes log p(y) - log p(V)
    for the architectures V within them. `FEASIBILITY_SAMPLES` samples estimate the gradient of log p(V).
    """

    Hyperparameters = ENASHyperparameters
    defaults = {"batch_size": 64, "weight_decay": 1e-4, "grad_clip": 0.25}  # noqa: RUF012
    original_defaults = {  # noqa: RUF012
        "candidates": 1000,
        "candidate_batches": 1,
        "controller_entropy_weight": 1e-6,  # 1e-4 relative to an accuracy in percent
        "controller_average_parents": True,
        "controller_baseline_from_zero": True,
        "controller_operation_bias": 0.25,
    }
    scale_defaults = below_full(candidates=100, candidate_batches=2, controller_steps=30)
    family_defaults = {  # noqa: RUF012
        "nasbench201": {
            "epochs": 250,
            "batch_size": 128,
            "learning_rate": 0.05,
            "learning_rate_min": 5e-4,
            "weight_decay": 2.5e-4,
            "candidate_batches": 2,
            "finalists": 1,
            "controller_hidden": 32,
            "controller_learning_rate": 1e-3,
            "controller_operation_tanh_reduction": 1.0,
        }
    }
    original_family_defaults = {  # noqa: RUF012
        "nats_size": {"controller_operation_bias": 0.0, "controller_average_parents": False},  # no operations, parents
        "nasbench201": {  # ENAS.py and search_model_enas_utils.py in AutoDL-Projects
            "candidates": 10,
            "candidate_batches": 1,
            "final_candidates": 100,
            "scored_batch_size": 128,
            "own_images": True,
            "augment_scored_images": True,
            "unused_weights": "decayed-after-use",
            "learning_rate_period": 10,
            "controller_average_parents": False,
            "controller_baseline_from_zero": False,
            "controller_operation_bias": 0.0,
            "controller_entropy_weight": 1e-4,
            "controller_reward_scale": 1.0,
            "controller_steps": 50,
            "controller_architectures": 20,
            "controller_layers": 2,
            "controller": "nasbench201",
            "controller_beta1": 0.0,
            "controller_grad_clip": 5.0,
        },
    }
    hyperparameters: ENASHyperparameters

    def __init__(
        self, space: OneShotSpace, hyperparameters: Any, generator: torch.Generator, device: torch.device
    ) -> None:
        import torch

        from nasbench1shot1.optimizers.enas_controller import Controller

        super().__init__(space, hyperparameters, generator, device)
        self.controller = Controller(self.space, controller_settings(self.space, self.hyperparameters), generator)
        beta1 = hyperparameters.controller_beta1
        betas = BETAS if beta1 is None else (beta1, BETAS[1])
        self.adam = torch.optim.Adam(
            self.controller.parameters(), hyperparameters.controller_learning_rate, betas, EPSILON
        )
        self.baseline: float | None = 0.0 if hyperparameters.controller_baseline_from_zero else None
        self._drawn: list[Architecture] = []

    @property
    def learns_to_sample(self) -> bool:
        """True: the search trains the controller."""
        return True

    def begin_epoch(self, epoch: int, epochs: int, generator: torch.Generator) -> None:
        """Discard architectures drawn in advance, which came from the generator of the previous epoch."""
        super().begin_epoch(epoch, epochs, generator)
        self._drawn = []

    def sample(self) -> Architecture:
        """Return one architecture drawn by the current controller."""
        import torch

        if not self._drawn:
            with torch.no_grad():
                self._drawn = list(self.controller.sample(self.generator, DRAWN_AT_ONCE).architectures)
        return self._drawn.pop(0)

    def end_epoch(self, shared: SharedWeights) -> None:
        """Train the controller by REINFORCE; each architecture is scored on a batch of the architecture half.

        Raises DivergedError if the controller has diverged.
        """
        import torch

        at_start = self.baseline
        for _ in range(self.hyperparameters.controller_steps):
            self.reinforce(self._scored(shared), at_start)
        self._drawn = []  # drawn by the controller before these steps
        if not all(torch.isfinite(weight).all() for weight in self.controller.parameters()):
            raise DivergedError(
                "a weight of the controller diverged (infinite or NaN): search again with a lower "
                f"{option('controller_learning_rate')}"
            )

    def _scored(self, shared: SharedWeights) -> Iterator[tuple[Samples, float]]:
        """Yield the architectures of a controller step, and the accuracy of each on a batch of its own."""
        for _ in range(self.hyperparameters.controller_architectures or 1):
            samples = self._sample_to_learn()
            errors = shared.errors(samples.architectures, shared.rows(shared.batch_size, self.generator))
            yield samples, 1 - float(errors[0])

    def _sample_to_learn(self) -> Samples:
        """Return one sampled architecture; with bounds, one within them, with its conditional log-probability.

        All samples of a step come from `FEASIBILITY_SAMPLES` draws: the controller learns from the first one within the
        bounds, and the mean log-probability of the others estimates the gradient of log p(V).
        """
        constraint = self.constraint
        if constraint is None:
            return self.controller.sample(self.generator)
        for _ in range(REJECTIONS // FEASIBILITY_SAMPLES):
            drawn = self.controller.sample(self.generator, FEASIBILITY_SAMPLES)
            kept = [place for place, arch in enumerate(drawn.architectures) if constraint.allows(arch)]
            if kept:
                return conditioned(drawn, kept)
        raise constraint.rejections_error()

    def reinforce(self, scored: Iterable[tuple[Samples, float]], at_start: float | None) -> None:
        """Take one step of the controller, which makes sampled architectures more or less probable.

        Args:
            scored: `controller_architectures` sampled architectures, each with its accuracy, a fraction.
            at_start: the baseline at the start of the epoch, for the controller of NAS-Bench-201.
        """
        from torch.nn.utils import clip_grad_norm_

        self.adam.zero_grad()
        for samples, accuracy in scored:
            self._add_gradients(samples, accuracy, at_start)
        if self.hyperparameters.controller_grad_clip:
            clip_grad_norm_(self.controller.parameters(), self.hyperparameters.controller_grad_clip)
        self.adam.step()

    def _add_gradients(self, samples: Samples, accuracy: float, at_start: float | None) -> None:
        """Add the controller's gradient for one sampled architecture, and update the baseline."""
        import torch

        settings = self.hyperparameters
        decay, scale = settings.controller_baseline_decay, settings.controller_reward_scale
        reward, weight = scale * accuracy, scale * settings.controller_entropy_weight
        published = settings.controller == "nasbench201"
        rewarded = reward + weight * (samples.entropy if published else samples.entropy.detach())
        if published:
            baseline: Any = reward if at_start is None else at_start + (1 - decay) * (rewarded - at_start)
            self.baseline = float(torch.as_tensor(baseline).detach())
        else:
            observed = float(rewarded.detach())
            baseline = observed if self.baseline is None else self.baseline
            self.baseline = baseline + (1 - decay) * (observed - baseline)
        if published:
            loss = -((rewarded - baseline) * samples.log_probability).mean()
        else:
            loss = reinforce_loss(samples, torch.tensor([reward]), float(baseline), weight)
        (loss / (settings.controller_architectures or 1)).backward()

    def phases(self, epochs: int, warm_start_epochs: int) -> Sequence[Phase]:
        """Return the usual phases; with a period, the learning rate falls and rises with it."""
        phases, period = super().phases(epochs, warm_start_epochs), self.hyperparameters.learning_rate_period
        if period is None:
            return phases
        starts = (1, warm_start_epochs + 1)[: len(phases)]
        return [replace(phase, schedule=Cosine(period, start)) for phase, start in zip(phases, starts, strict=True)]

    def scorings(self, batch_size: int, architecture_images: int) -> list[tuple[int, int]]:
        """Return the work for the architectures of all controller steps on a batch each, and for the selection."""
        settings = self.hyperparameters
        scored = settings.controller_steps * (settings.controller_architectures or 1)
        steps = (scored, min(batch_size, architecture_images))
        return [steps, *super().scorings(batch_size, architecture_images)]

    def state_dict(self) -> dict[str, Any]:
        """Return the chosen architecture, the controller, Adam's moments and the baseline."""
        own = {"controller": self.controller.state_dict(), "adam": self.adam.state_dict(), "baseline": self.baseline}
        return {**super().state_dict(), **deepcopy(own)}  # without a copy, Adam's moments would keep changing

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore the state that `state_dict` returned."""
        super().load_state_dict(state)
        self.controller.load_state_dict(state["controller"])
        self.adam.load_state_dict(state["adam"])
        self.baseline, self._drawn = state["baseline"], []


def reinforce_loss(samples: Samples, rewards: Tensor, baseline: float, entropy_weight: float) -> Tensor:
    """Return a scalar whose expected gradient is ∇ -E[reward + entropy_weight · entropy]; rewards are (N,).

    The entropy depends on the controller in two ways: through the decisions that are reached (so it counts as a
    reward), and through the distributions of these decisions (so it is differentiated). A baseline that does not depend
    on the samples does not change the expectation (Williams 1992).
    """
    advantages = rewards + entropy_weight * samples.entropy.detach() - baseline
    return -(advantages * samples.log_probability + entropy_weight * samples.entropy).mean()


def conditioned(drawn: Samples, kept: Sequence[int]) -> Samples:
    """Return the first kept sample, with a log-probability whose gradient is that of log p(y | V).

    The gradient of log p(V) is estimated by the mean gradient of log p(z) over the other kept samples z; these are
    independent of y. With a single kept sample, its own gradient is the estimate, and the step changes nothing but the
    entropy.

    Args:
        drawn: samples of the controller.
        kept: the places of the samples within the bounds V, ascending, at least one.
    """
    first, others = kept[:1], kept[1:] or kept
    of_bounds = drawn.log_probability[list(others)].mean()
    return replace(
        drawn,
        architectures=tuple(drawn.architectures[place] for place in first),
        decisions=[picks[list(first)] for picks in drawn.decisions],
        log_probability=drawn.log_probability[list(first)] - of_bounds,
        entropy=drawn.entropy[list(first)],
    )


def controller_settings(space: OneShotSpace, hyperparameters: ENASHyperparameters) -> ControllerSettings:
    """Return the controller's settings; raises InvalidInputError for an option that does not apply to the space."""
    from nasbench1shot1.optimizers.enas_controller import ControllerSettings

    favoured = hyperparameters.controller_operation_bias
    if favoured:
        _check_operations(space)
    if hyperparameters.controller_average_parents:
        _check_parents(space)
    signs = [-1 if operation == UNFAVOURED else 1 for operation in OPERATIONS]
    return ControllerSettings(
        hidden=hyperparameters.controller_hidden,
        temperature=hyperparameters.controller_temperature,
        tanh_constant=hyperparameters.controller_tanh_constant,
        operation_tanh_reduction=hyperparameters.controller_operation_tanh_reduction,
        average_picks=hyperparameters.controller_average_parents,
        operation_bias=tuple(favoured * sign for sign in signs) if favoured else (),
        operation_bias_start=tuple(BIAS_START * (sign > 0) for sign in signs) if favoured else (),
        layers=hyperparameters.controller_layers or 1,
        shared=hyperparameters.controller == "nasbench201",
    )


def _check_operations(space: OneShotSpace) -> None:
    entries = {choice.entries for choice in space.choices() if choice.key == space.operation_key}
    if entries != {len(OPERATIONS)}:
        raise InvalidInputError(
            f"{option('controller_operation_bias')} is for the operations {', '.join(OPERATIONS)}, which {space.name} "
            "does not have: set it to 0"
        )


def _check_parents(space: OneShotSpace) -> None:
    if all(choice.picks == 1 for choice in space.choices()):
        raise InvalidInputError(
            f"{option('controller_average_parents', True)} averages over several parents of a node, but {space.name} "
            f"has no choice of several parents: give {option('controller_average_parents', False)}"
        )
