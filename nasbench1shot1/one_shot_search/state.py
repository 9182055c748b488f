"""The state of a search between two epochs: supernet, optimizers and images, and the content of a checkpoint."""

import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional as F

from nasbench1shot1.evaluator import Judge
from nasbench1shot1.ground.errors import InvalidInputError
from nasbench1shot1.images.augment import Augmentation
from nasbench1shot1.images.batches import epoch_generator
from nasbench1shot1.images.image_set import ImageSet
from nasbench1shot1.images.splits import Split
from nasbench1shot1.one_shot_search.options import SearchConfig, SearchOptions
from nasbench1shot1.one_shot_search.record import Parameters
from nasbench1shot1.one_shot_search.writer import Unended
from nasbench1shot1.optimizer import Batch, Mixing, OneShotOptimizer, SearchStep
from nasbench1shot1.phases import Data, Phase, check_phases, phase_at
from nasbench1shot1.runs.checkpoints import checked_restore
from nasbench1shot1.runs.options import required
from nasbench1shot1.supernets.layers import other_buffers, unchanged_statistics
from nasbench1shot1.supernets.passes import class_scores
from nasbench1shot1.supernets.presets import Preset
from nasbench1shot1.supernets.supernet import Supernet
from nasbench1shot1.supernets.weight_sharing import SharedWeights
from nasbench1shot1.supernets.widening import draw_visible_channels, set_partial_channels


@dataclass
class SearchState:
    """Everything that changes during a search, and the data that it uses.

    Attributes:
        epoch: the last finished epoch; -1 before epoch 0 is recorded.
        search_seconds: wall-clock time of all epochs so far.
        eigenvalues: dominant eigenvalue of the Hessian with respect to Λ after every epoch; None where not measured.
        unended: the record that replaces the last epoch's if the search is continued; None before the last epoch, and
            if the method has no final selection.
        draws_globally: whether the method or an epoch has drawn from a global random generator; the creation of the
            supernet does not count.
        recorded_parameters: Λ after the last epoch of this process, as recorded: after a final selection.
    """

    options: SearchOptions
    preset: Preset
    net: Supernet
    weight_optimizer: torch.optim.SGD
    method: OneShotOptimizer
    images: ImageSet
    split: Split
    epoch: int = -1
    search_seconds: float = 0.0
    eigenvalues: list[float | None] = field(default_factory=list)
    unended: Unended | None = None
    draws_globally: bool = False
    recorded_parameters: Parameters = field(default_factory=dict)

    @property
    def config(self) -> SearchConfig:
        """The options that all searches share."""
        return self.options.common

    @cached_property
    def judge(self) -> Judge:
        """How architectures are scored."""
        return Judge(self.images.dataset, within=self.config.bounds)

    @property
    def recorded(self) -> int:
        """Number of recorded epochs, including epoch 0."""
        return self.epoch + 1

    def loss(self, mixing: Mixing, batch: Batch) -> Tensor:
        """Return the cross-entropy of the supernet under mixing weights, a scalar."""
        return F.cross_entropy(self.logits(mixing, batch.images), batch.labels)

    def loss_at(self, weights: Mapping[str, Tensor], mixing: Mixing, batch: Batch) -> Tensor:
        """Return the loss with other tensors in place of the supernet's weights; its buffers stay unchanged.

        Always computed in float32, because such passes often differ by less than bfloat16 resolves.
        """
        copies = {name: buffer.clone() for name, buffer in other_buffers(self.net).items()}
        tensors = {f"net.{name}": tensor for name, tensor in {**weights, **copies}.items()}
        with unchanged_statistics(self.net):
            logits: Tensor = torch.func.functional_call(
                _Uncompiled(self.net), tensors, (batch.images, *mixing.arguments())
            )
        return F.cross_entropy(logits, batch.labels)

    def logits(self, mixing: Mixing, images: Tensor, compiled: bool = True) -> Tensor:
        """Return class scores, (N, classes) float32; `compiled` has an effect only if the search compiles."""
        if not isinstance(mixing, Mixing):
            raise InvalidInputError(
                f"{self.config.optimizer} computes a pass with an object of type {type(mixing).__name__}: give a "
                "Mixing, such as Mixing(weights)"
            )
        return class_scores(self.net, mixing, images, self.config.precision, compiled)

    def step(self, weight_batch: Batch, architecture_batch: Batch) -> SearchStep:
        """Return what an optimizer may use to update Λ."""
        return SearchStep(
            loss=self.loss,
            logits=self.logits,
            loss_at=self.loss_at,
            weights=dict(self.net.named_parameters()),
            operations=self.net.operation_weights,
            weight_batch=weight_batch,
            architecture_batch=architecture_batch,
            weight_optimizer=self.weight_optimizer,
            frozen=self.method.frozen_weights(),
        )

    @cached_property
    def phases(self) -> tuple[Phase, ...]:
        """The phases of the search."""
        return phases_of(self.config, self.method)

    def phase(self, epoch: int) -> Phase:
        """Return the phase of an epoch, 1 … epochs."""
        return phase_at(self.phases, epoch)[0]

    @property
    def holds_out_images(self) -> bool:
        """Whether the images that measure the one-shot error are not used to train the weights."""
        return all(phase.data != "all" for phase in self.phases)

    def learning_rate(self, epoch: int) -> float:
        """Return the weights' learning rate in an epoch, 1 … epochs."""
        phase, number = phase_at(self.phases, epoch)
        return phase.schedule.rate(number, self.config.learning_rate, self.config.learning_rate_min)

    def rows(self, epoch: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the images that train the weights in an epoch, and those that train Λ, as rows of the image set."""
        return half_rows(self.split, self.phase(epoch).data)

    def batch_size(self, epoch: int) -> int:
        """Return the number of images of a training batch in an epoch, 1 … epochs."""
        return self.config.batch_size + self.phase(epoch).batch_increase

    def partial_channels(self, epoch: int) -> int:
        """Return k in an epoch, 0 … epochs: operations see 1/k of the channels of a block."""
        own = self.phase(epoch).partial_channels if epoch > 0 else None
        return own or self.config.partial_channels

    def steps(self, epoch: int) -> int:
        """Return the number of steps of an epoch, 1 … epochs."""
        return -(-len(self.rows(epoch)[0]) // self.batch_size(epoch))

    def augmentation(self, epoch: int) -> Augmentation:
        """Return how training images are augmented in an epoch."""
        probability, schedule = self.config.cutout_probability, self.config.cutout_schedule
        if self.preset.cutout_ramp if schedule is None else schedule == "linear":
            probability *= (epoch - 1) / (self.config.epochs - 1) if self.config.epochs > 1 else 1
        return Augmentation.of(self.images, self.config.cutout_length, probability)

    @property
    def augments_architecture_images(self) -> bool:
        """Whether the images that train Λ are augmented."""
        given = self.config.augment_architecture_images
        return self.preset.augment_architecture_half if given is None else given

    @property
    def augments_scored_images(self) -> bool:
        """Whether the images on which shared weights score architectures are augmented."""
        given = self.config.augment_scored_images
        return self.preset.augment_architecture_half if given is None else given

    def images_of(self, rows: Tensor, augment: Augmentation, drawn: torch.Generator | None) -> Batch:
        """Return images and labels of rows (n,); augmented if a generator is given, otherwise only normalised."""
        pixels, labels = self.images.batch(rows)
        return Batch(augment.normalise(pixels) if drawn is None else augment(pixels, drawn), labels)

    def generator(self, stream: str, epoch: int) -> torch.Generator:
        """Return a random generator for one use in one epoch; it depends only on seed, stream and epoch."""
        return epoch_generator(self.config.seed, stream, epoch)

    def shared_weights(self, epoch: int) -> SharedWeights:
        """Return the shared weights with which methods score architectures after an epoch (0: before training).

        With random partial channels, all scores of an epoch use the same channels, which are drawn here.
        """
        if self.config.channel_sampling == "random":
            draw_visible_channels(self.net, self.generator("visible", epoch))
        return SharedWeights(
            self.net,
            self.images,
            self.split,
            batch_norm=required(self.config.evaluation_batch_norm),
            augmentation=self.augmentation(max(epoch, 1)),
            augments=self.augments_scored_images,
            seed=self.config.seed,
            epoch=epoch,
            batch_size=self.config.batch_size,
            precision=self.config.precision,
            scored_batch_size=self.config.scored_batch_size,
        )

    def state_dict(self) -> dict[str, Any]:
        """Return the content of a checkpoint."""
        return {
            "epoch": self.epoch,
            "search_seconds": self.search_seconds,
            "eigenvalues": list(self.eigenvalues),
            "run": self.identity(),
            "supernet": self.net.state_dict(),
            "weight_optimizer": self.weight_optimizer.state_dict(),
            "method": self.method.state_dict(),
            **({} if self.unended is None else {"unended": _as_tensors(self.unended)}),
            **({"draws_globally": True} if self.draws_globally else {}),
        }

    def identity(self) -> dict[str, Any]:
        """Return what must equal the checkpoint's: space, images and every option except the number of epochs."""
        options = {name: value for name, value in self.options.as_dict().items() if name != "epochs"}
        return {**options, "space": self.net.space.id, "images": self.images.sha256}

    def load_state_dict(self, state: dict[str, Any], path: Path) -> None:
        """Restore the state from a checkpoint that was read from `path`.

        Raises InvalidInputError if it belongs to another run, DamagedFileError if something is missing from it.
        """
        with checked_restore(state, path, self.identity(), "run"):
            set_partial_channels(self.net, self.partial_channels(state["epoch"]))
            self.net.load_state_dict(state["supernet"])
            self.weight_optimizer.load_state_dict(state["weight_optimizer"])
            self.method.load_state_dict(state["method"])
            self.epoch, self.search_seconds = state["epoch"], state["search_seconds"]
            self.eigenvalues = list(state["eigenvalues"])
            self.unended = _from_tensors(state["unended"]) if "unended" in state else None
            self.draws_globally |= "draws_globally" in state
            if len(self.eigenvalues) != self.epoch + 1:
                raise ValueError("every epoch must have an eigenvalue or None")


def global_generators() -> tuple[Any, ...]:
    """Return the states of the global random generators of PyTorch (on the CPU), NumPy and Python, for comparison."""
    numpy = np.random.get_state(legacy=False)  # noqa: NPY002  only to notice that it changes
    key = numpy["state"].pop("key").tobytes()
    return torch.get_rng_state().numpy().tobytes(), key, str(numpy), random.getstate()


def half_rows(split: Split, data: Data) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the images that train the weights, and those that train Λ, as rows of the image set."""
    match data:
        case "halves":
            return split.weights, split.architecture
        case "weight-half":
            return split.weights, split.weights
        case "all":
            together = np.concatenate([split.weights, split.architecture])
            return together, together


def _as_tensors(unended: Unended) -> dict[str, Any]:
    """Return a record as a checkpoint holds it."""
    parameters = {key: torch.from_numpy(value) for key, value in unended.parameters.items()}
    return {"line": dict(unended.line), "parameters": parameters}


def _from_tensors(saved: Mapping[str, Any]) -> Unended:
    """Return the record that `_as_tensors` returned."""
    parameters = {key: value.numpy() for key, value in saved["parameters"].items()}
    return Unended(saved["line"], parameters)


def phases_of(config: SearchConfig, method: OneShotOptimizer) -> tuple[Phase, ...]:
    """Return the phases of a search; raises InvalidInputError if they do not fit its epochs."""
    phases = method.phases(config.epochs, config.warm_start_epochs)
    check_phases(phases, config.epochs)
    return tuple(phases)


class _Uncompiled(nn.Module):
    """The supernet's uncompiled forward pass, because a compiled one would be recompiled for other weights."""

    def __init__(self, net: Supernet) -> None:
        super().__init__()
        self.net = net

    def forward(self, *arguments: Any) -> Tensor:
        """Return the supernet's output."""
        return self.net.forward(*arguments)
