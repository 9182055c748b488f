"""The state of a ranking: its options and inputs, the selected architectures, the scores so far, its checkpoint."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from nasbench1shot1.architecture import Architecture
from nasbench1shot1.constraint import Constraint
from nasbench1shot1.experiments.correlation.options import ALL, CONTROLLER, RankingOptions, is_list
from nasbench1shot1.ground.errors import InvalidInputError, option, quote, quoted_option
from nasbench1shot1.ground.files import as_path, read_text, sha256
from nasbench1shot1.ground.text import counted, listed_lines
from nasbench1shot1.images.batches import epoch_generator
from nasbench1shot1.images.image_set import ImageSet
from nasbench1shot1.images.splits import Split
from nasbench1shot1.one_shot_search.kept_weights import method_of, untrained_method
from nasbench1shot1.one_shot_search.record import Run
from nasbench1shot1.optimizer import OneShotOptimizer
from nasbench1shot1.runs.checkpoints import checked_restore
from nasbench1shot1.space import OneShotSpace
from nasbench1shot1.supernets.weight_sharing import shared_passes

BLOCKS = 64
"""Number of blocks of images whose means measure the reliability of a ranking."""
RELIABILITY_ARCHITECTURES = 2_000
"""Maximum number of architectures, drawn at random, whose block means are kept."""
CONTROLLER_DRAWS = 100
"""Number of samples from ENAS's controller (NAS-Bench-1Shot1, section 5)."""
_IN_PLACE, _DISTINCT = "no_loose_ends", "unique"
Indices = NDArray[np.int64]


@dataclass
class EpochInProgress:
    """The scores of one epoch so far, in the order of evaluation; NaN for architectures not yet evaluated.

    Attributes:
        numbers: int64 (A,), numbers of the architectures in the order of evaluation.
        done: number of architectures that are evaluated.
        errors: float32 (A,), fractions.
        losses: float32 (A,), nats.
        watched: bool (A,), whether the scores of an architecture on every block of images are kept.
        blocks: float32 (2, W, B), errors and losses of the W watched architectures on B blocks of images.
        seconds: time spent on this epoch so far.
    """

    numbers: Indices
    done: int
    errors: NDArray[np.float32]
    losses: NDArray[np.float32]
    watched: NDArray[np.bool_]
    blocks: NDArray[np.float32]
    seconds: float = 0.0

    @property
    def is_done(self) -> bool:
        """Whether every architecture is evaluated."""
        return self.done == len(self.numbers)


@dataclass
class RankingState:
    """The inputs and the progress of a ranking.

    Attributes:
        options: the resolved options.
        run: the search whose shared weights are evaluated.
        space: the space of the run.
        images: the image set of the run, on the device.
        split: the two halves of the images.
        rows: int64 (N,), the evaluated images: rows of the architecture half, in random order.
        epochs: the epochs to evaluate, ascending.
        identity: facts that must equal those in a checkpoint.
        auto_images: what `images="auto"` found; None for another number of images.
        recorded: number of finished epochs.
        current: the epoch in progress; None between two epochs.
        summary: the results, once all epochs are evaluated.
        constraint: the bounds within which architectures are ranked; None without any.
    """

    options: RankingOptions
    run: Run
    space: OneShotSpace
    images: ImageSet
    split: Split
    rows: torch.Tensor
    epochs: Sequence[int]
    identity: dict[str, Any]
    auto_images: Mapping[str, Any] | None = None
    recorded: int = 0
    current: EpochInProgress | None = field(default=None)
    summary: dict[str, Any] | None = field(default=None)
    constraint: Constraint | None = None
    _selected: dict[int | None, Indices] = field(default_factory=dict, init=False, repr=False)

    @property
    def epoch(self) -> int:
        """The epoch to evaluate now."""
        return self.epochs[self.recorded]

    @property
    def is_relaxed(self) -> bool:
        """Whether the search trained mixtures (DARTS, GDAS, PC-DARTS, SNAS)."""
        return self._method.is_relaxed

    @property
    def learns_parameters(self) -> bool:
        """Whether the search learned Λ, so that the probability is a predictor."""
        return self._method.learns_parameters

    @cached_property
    def _method(self) -> OneShotOptimizer:
        """The optimizer of the run in its initial state."""
        return untrained_method(self.run)

    def numbers(self, epoch: int) -> Indices:
        """Return `select_numbers` of an epoch; it is computed once, or once per epoch for a controller's samples.

        Raises the errors of `select_numbers`.
        """
        key = epoch if self.options.architectures == CONTROLLER else None
        if key not in self._selected:
            self._selected[key] = select_numbers(self.options, self.space, self.run, epoch, self.constraint)
        return self._selected[key]

    def begin_epoch(self) -> EpochInProgress:
        """Return the epoch in progress, or begin the next epoch."""
        if self.current is None:
            numbers = self.numbers(self.epoch)
            order = in_sharing_order(self.space, self.architectures(numbers))
            self.current = _empty(numbers[order], self._watched(len(numbers)), self.blocks)
        return self.current

    @property
    def blocks(self) -> int:
        """The number of blocks of images."""
        return min(BLOCKS, len(self.rows))

    def architectures(self, numbers: Indices) -> list[Architecture]:
        """Return the architectures with the given numbers."""
        return [self.space[int(number)] for number in numbers]

    def _watched(self, count: int) -> NDArray[np.bool_]:
        drawn = torch.randperm(count, generator=epoch_generator(self.options.seed, "reliability", 0)).numpy()
        return np.isin(np.arange(count), drawn[:RELIABILITY_ARCHITECTURES])

    def state_dict(self) -> dict[str, Any]:
        """Return the content of a checkpoint."""
        current = self.current
        arrays = ("numbers", "errors", "losses", "watched", "blocks")
        return {
            "run": self.identity,
            "recorded": self.recorded,
            "current": current
            and {
                **{name: torch.from_numpy(getattr(current, name)) for name in arrays},
                "done": current.done,
                "seconds": current.seconds,
            },
        }

    def load_state_dict(self, state: dict[str, Any], path: Path) -> None:
        """Restore what `state_dict` returned, read from `path`; raises the errors of `checkpoints.checked_restore`."""
        with checked_restore(state, path, self.identity, "ranking"):
            stored = state["current"]
            arrays = {
                name: value.numpy() if hasattr(value, "numpy") else value for name, value in (stored or {}).items()
            }
            self.recorded = int(state["recorded"])
            self.current = EpochInProgress(**arrays) if stored else None


def _empty(numbers: Indices, watched: NDArray[np.bool_], blocks: int) -> EpochInProgress:
    errors, losses = (np.full(len(numbers), np.nan, np.float32) for _ in range(2))
    return EpochInProgress(numbers, 0, errors, losses, watched, np.zeros((2, int(watched.sum()), blocks), np.float32))


# Selection and order of the architectures -----------------------------------------------------------------------------


def select_numbers(
    options: RankingOptions, space: OneShotSpace, run: Run, epoch: int, constraint: Constraint | None = None
) -> Indices:
    """Return the numbers of the architectures to evaluate at an epoch, ascending and distinct, (A,).

    With bounds, only architectures within them are selected; a random sample is drawn from these.

    Raises:
        InvalidInputError: the option `architectures` has none of its forms, selects fewer than three architectures, or
            names an architecture that is not in the space; or the run's optimizer has no controller.
    """
    numbers = _numbers(options, space, run, epoch, constraint)
    if len(numbers) < 3:
        within = f" within the bounds {constraint.words}" if constraint else ""
        raise InvalidInputError(
            f"{quoted_option('architectures', options.architectures)} selects "
            f"{counted(len(numbers), 'architecture')}{within}: a ranking needs at least 3"
        )
    return numbers


def _numbers(
    options: RankingOptions, space: OneShotSpace, run: Run, epoch: int, constraint: Constraint | None
) -> Indices:
    text = options.architectures
    if options.copies == "one" and text != ALL and not text.isdecimal():
        raise InvalidInputError(
            f"{option('copies', 'one')} does not apply to {quoted_option('architectures', text)}: give all or a "
            f"number, or remove {option('copies')}"
        )
    if text == CONTROLLER:
        if not method_of(run, epoch).learns_to_sample:
            raise InvalidInputError(
                f"{option('architectures', 'controller')} requires a run of enas or tunas, but '{run.folder}' is a "
                f"run of {run.config['optimizer']}: give all, a number or a text file"
            )
        return _within(constraint, space, controller_draws(run, space, epoch, options.seed))
    if text == ALL or text.isdecimal():
        everything = _within(constraint, space, _all(space, options.copies))
        return everything if text == ALL else _sample(everything, int(text), options.seed)
    listed = _read_list(as_path(text, "architectures", is_option=True))
    return _within(constraint, space, np.unique([space.index(arch) for arch in listed]))


def _within(constraint: Constraint | None, space: OneShotSpace, numbers: Indices) -> Indices:
    """Return the numbers of the architectures that are within bounds, if there are bounds."""
    if constraint is None:
        return numbers
    return numbers[[constraint.allows(space[int(number)]) for number in numbers]]


def _all(space: OneShotSpace, copies: str) -> Indices:
    kind = _DISTINCT if copies == "one" else _IN_PLACE
    return np.asarray(space.numbers(kind if kind in space.kinds else space.kinds[0]), np.int64)


def _sample(numbers: Indices, count: int, seed: int) -> Indices:
    if count > len(numbers):
        raise InvalidInputError(
            f"{option('architectures', count)} is more than the {len(numbers):,} available: lower it, or give all"
        )
    rng = np.random.default_rng([seed, 0])
    return np.sort(rng.choice(numbers, count, replace=False))


def _read_list(path: Path) -> list[Architecture]:
    try:
        text = read_text(path)
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInputError(
            f"{quoted_option('architectures', path)} is not all, controller, a number or a readable text file "
            f"({error}): correct it"
        ) from error
    return [_parsed(line, f"line {number} of {path}") for number, line in listed_lines(text)]


def _parsed(text: str, place: str) -> Architecture:
    try:
        return Architecture.parse(text)
    except InvalidInputError as error:
        raise InvalidInputError(f"{place}: {quote(error)}") from error


def list_facts(architectures: str) -> dict[str, str]:
    """Return the SHA-256 of a text file of architectures, which must not change while they are ranked, by its name.

    Empty for other selections. Raises InvalidInputError for a file that cannot be read.
    """
    if not is_list(architectures):
        return {}
    path = as_path(architectures, "architectures", is_option=True)
    _read_list(path)
    return {"architectures_sha256": sha256(path)}


def controller_draws(run: Run, space: OneShotSpace, epoch: int, seed: int) -> Indices:
    """Return the distinct architectures, without loose ends, among 100 samples from the controller at an epoch."""
    method = method_of(run, epoch)
    method.generator = epoch_generator(seed, "controller", epoch)
    with torch.no_grad():
        drawn = [method.sample() for _ in range(CONTROLLER_DRAWS)]  # type: ignore[attr-defined]
    return np.unique([space.index(space.without_loose_ends(arch)) for arch in drawn])


def in_sharing_order(space: OneShotSpace, architectures: Sequence[Architecture]) -> Indices:
    """Return the order (A,) in which architectures are evaluated: consecutive ones share as much work as possible."""
    shared = shared_passes(space)
    keys: list[Any] = [str(arch) if shared is None else shared.sharing_key(arch) for arch in architectures]
    return np.array(sorted(range(len(keys)), key=keys.__getitem__), np.int64)
