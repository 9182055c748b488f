"""Selection and order of the architectures that a ranking evaluates."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from nasbench1shot1.architecture import Architecture
from nasbench1shot1.experiments.correlation.options import ALL, CONTROLLER, RankingOptions, is_list
from nasbench1shot1.ground.errors import InvalidInputError
from nasbench1shot1.ground.files import as_path, sha256
from nasbench1shot1.ground.text import counted
from nasbench1shot1.images.batches import epoch_generator
from nasbench1shot1.nasbench101.architecture import CellArchitecture
from nasbench1shot1.nasbench101.shared_passes import sharing_key
from nasbench1shot1.one_shot_search.kept_weights import method_of
from nasbench1shot1.one_shot_search.record import Run
from nasbench1shot1.space import OneShotSpace

CONTROLLER_DRAWS = 100
"""Number of samples from ENAS's controller (NAS-Bench-1Shot1, section 5)."""
_IN_PLACE, _DISTINCT = "no_loose_ends", "unique"

Indices = NDArray[np.int64]


def select_numbers(options: RankingOptions, space: OneShotSpace, run: Run, epoch: int) -> Indices:
    """Return the numbers of the architectures to evaluate at an epoch, ascending and distinct, (A,).

    Raises:
        InvalidInputError: the option `architectures` has none of its forms, selects fewer than three architectures, or
            names an architecture that is not in the space; or the run's optimizer has no controller.
    """
    numbers = _numbers(options, space, run, epoch)
    if len(numbers) < 3:
        raise InvalidInputError(
            f"--architectures '{options.architectures}' selects {counted(len(numbers), 'architecture')}: a ranking "
            "needs at least 3"
        )
    return numbers


def _numbers(options: RankingOptions, space: OneShotSpace, run: Run, epoch: int) -> Indices:
    text = options.architectures
    if options.copies == "one" and text != ALL and not text.isdecimal():
        raise InvalidInputError(
            f"--copies one does not apply to --architectures '{text}': give all or a number, or remove --copies"
        )
    if text == CONTROLLER:
        if not method_of(run, epoch).learns_to_sample:
            raise InvalidInputError(
                f"--architectures controller requires a run of enas, but '{run.folder}' is a run of "
                f"{run.config['optimizer']}: give all, a number or a text file"
            )
        return controller_draws(run, space, epoch, options.seed)
    if text == ALL or text.isdecimal():
        everything = _all(space, options.copies)
        return everything if text == ALL else _sample(everything, int(text), options.seed)
    return np.unique([space.index(arch) for arch in _read_list(as_path(text, "--architectures"))])


def list_facts(architectures: str) -> dict[str, str]:
    """Return the SHA-256 of a text file of architectures, which must not change while they are ranked, by its name.

    Empty for other selections. Raises InvalidInputError for a file that cannot be read.
    """
    if not is_list(architectures):
        return {}
    path = as_path(architectures, "--architectures")
    _read_list(path)
    return {"architectures_sha256": sha256(path)}


def controller_draws(run: Run, space: OneShotSpace, epoch: int, seed: int) -> Indices:
    """Return the distinct architectures, without loose ends, among 100 samples from the controller at an epoch."""
    method = method_of(run, epoch)
    method.generator = epoch_generator(seed, "controller", epoch)
    with torch.no_grad():
        drawn = [method.sample() for _ in range(CONTROLLER_DRAWS)]  # type: ignore[attr-defined]
    return np.unique([space.index(space.without_loose_ends(arch)) for arch in drawn])


def in_sharing_order(architectures: Sequence[Architecture]) -> Indices:
    """Return the order (A,) in which architectures are evaluated: consecutive ones share their first blocks."""
    keys = [sharing_key(arch) if isinstance(arch, CellArchitecture) else (str(arch),) for arch in architectures]
    return np.array(sorted(range(len(keys)), key=keys.__getitem__), np.int64)


def _all(space: OneShotSpace, copies: str) -> Indices:
    kind = _DISTINCT if copies == "one" else _IN_PLACE
    return np.asarray(space.numbers(kind if kind in space.kinds else space.kinds[0]), np.int64)


def _sample(numbers: Indices, count: int, seed: int) -> Indices:
    if count > len(numbers):
        raise InvalidInputError(
            f"--architectures {count} is more than the {len(numbers):,} available: lower it, or give all"
        )
    rng = np.random.default_rng([seed, 0])
    return np.sort(rng.choice(numbers, count, replace=False))


def _read_list(path: Path) -> list[Architecture]:
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInputError(
            f"--architectures '{path}' is not all, controller, a number or a readable text file ({error}): correct it"
        ) from error
    return [Architecture.parse(line) for line in lines if line.strip()]
