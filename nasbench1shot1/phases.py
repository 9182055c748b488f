"""The phases of a one-shot search: epochs with the same settings, such as a warm-up and the search after it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args

from nasbench1shot1.ground.errors import InvalidInputError, option, unknown_name
from nasbench1shot1.ground.text import counted
from nasbench1shot1.runs.schedules import Constant, Cosine

Trained = Literal["all", "batch-norm", "nothing"]
Data = Literal["halves", "weight-half", "all"]
TrainingImages = Literal["weight-half", "all"]
"""The values of an option `training_images`: the images that train the weights."""
USUAL = ("warm-up", "search")
"""Names of the phases of a usual search; records do not name them."""


@dataclass(frozen=True)
class Phase:
    """Consecutive epochs of a search with the same training settings.

    Attributes:
        name: its name in records and on screens, such as "search".
        epochs: number of epochs, at least 1.
        schedule: the learning rate of the weights.
        moves_parameters: whether `architecture_step` and `end_epoch` are called, so that Λ can change.
        trains: the weights that train: "all"; "batch-norm", only the scales and shifts of batch-norm; or "nothing".
        data: the images: "halves", one half for the weights and the other for Λ (bilevel); "weight-half", the weights'
            half for both (single level); "all", both halves together for both.
        weight_steps: number of steps of the weights for each step of Λ.
        batch_increase: number of images by which batches are larger than the search's option `batch_size`.
        partial_channels: k; operations see 1/k of the channels. None: the search's option `partial_channels`.
        clears_momentum: whether the weights begin the phase without the momentum of the epochs before it.
    """

    name: str
    epochs: int
    schedule: Cosine | Constant
    moves_parameters: bool = True
    trains: Trained = "all"
    data: Data = "halves"
    weight_steps: int = 1
    batch_increase: int = 0
    partial_channels: int | None = None
    clears_momentum: bool = False

    def __post_init__(self) -> None:
        """Raise InvalidInputError for a value that the loop does not know, such as a misspelt one."""
        for name, known in (("trains", get_args(Trained)), ("data", get_args(Data))):
            if (value := getattr(self, name)) not in known:
                raise unknown_name(f"value of {name} in a phase", str(value), known)
        for name in ("epochs", "weight_steps", "batch_increase"):
            if not isinstance(getattr(self, name), int):
                raise InvalidInputError(f"{name} of a phase must be a whole number, not {getattr(self, name)!r}")


def bilevel_phases(epochs: int, warm_start_epochs: int = 0, **settings: Data | Trained | int) -> tuple[Phase, ...]:
    """Return the phases of a search that trains the weights alone first, if asked, and then the weights and Λ.

    One cosine schedule spans both.

    Args:
        epochs: number of epochs of the whole search.
        warm_start_epochs: number of epochs of the warm-up, less than `epochs`.
        settings: fields of both phases that differ from their defaults.
    """
    search = Phase("search", epochs - warm_start_epochs, Cosine(epochs, warm_start_epochs + 1), **settings)  # type: ignore[arg-type]
    if not warm_start_epochs:
        return (search,)
    warm_up = replace(search, name="warm-up", epochs=warm_start_epochs, schedule=Cosine(epochs), moves_parameters=False)
    return (warm_up, search)


def data_of_weights(images: TrainingImages) -> Data:
    """Return the data of a phase in which only the weights follow gradients: the halves, or all images."""
    return "all" if images == "all" else "halves"


def refuse_warm_up(method: str, warm_start_epochs: int) -> None:
    """Raise InvalidInputError for a warm-up of a method, given its name, whose phases all train only the weights."""
    if warm_start_epochs:
        raise InvalidInputError(
            f"{method} trains only the weights, so it has no warm-up: remove "
            f"{option('warm_start_epochs', warm_start_epochs)}"
        )


def check_phases(phases: Sequence[Phase], epochs: int) -> None:
    """Raise InvalidInputError unless each phase has epochs and weight steps, and their epochs add up to `epochs`."""
    if not isinstance(phases, Sequence) or not all(isinstance(phase, Phase) for phase in phases):
        raise InvalidInputError(f"phases() must return a list of Phase objects, not {phases!r}")
    for phase in phases:
        if phase.epochs < 1:
            raise InvalidInputError(
                f"{option('epochs', epochs)} leaves no epoch for the phase {phase.name} of the search: raise it"
            )
        if phase.weight_steps < 1:
            raise InvalidInputError(
                f"the phase {phase.name} of the search has {counted(phase.weight_steps, 'weight step')} per step of Λ: "
                "this must be at least 1"
            )
        if phase.batch_increase < 0:
            raise InvalidInputError(
                f"the phase {phase.name} of the search increases batches by {phase.batch_increase} images: this must "
                "be at least 0"
            )
    if (total := sum(phase.epochs for phase in phases)) != epochs:
        raise InvalidInputError(f"the epochs of the search's phases add up to {total}, not {epochs}: change them")


def phase_at(phases: Sequence[Phase], epoch: int) -> tuple[Phase, int]:
    """Return the phase of an epoch of the search, and the number of the epoch in this phase; both count from 1."""
    before = 0
    for phase in phases:
        if epoch <= before + phase.epochs:
            return phase, epoch - before
        before += phase.epochs
    raise IndexError(epoch)


def first_moved_epoch(before: Sequence[Phase], after: Sequence[Phase], trained: int) -> int | None:
    """Return the first trained epoch that would train otherwise in a longer search; None if there is none.

    The length of a cosine schedule may grow: the first epochs of a search that is continued followed a shorter one.

    Args:
        before: the phases of the search.
        after: its phases with more epochs.
        trained: number of epochs that have been trained.
    """
    for epoch in range(1, trained + 1):
        old, new = phase_at(before, epoch)[0], phase_at(after, epoch)[0]
        if _alike(old) != _alike(new):
            return epoch
    return None


def _alike(phase: Phase) -> Phase:
    """Return a phase without what depends on the number of epochs alone."""
    return replace(phase, epochs=1, schedule=Cosine(1) if isinstance(phase.schedule, Cosine) else phase.schedule)
