"""The evaluation loop of a ranking: errors and losses of all architectures at every epoch, in chunks."""

import time
from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from nasbench1shot1.architecture import Architecture
from nasbench1shot1.experiments.correlation.record import Ranking, blocks_path, scores_path
from nasbench1shot1.experiments.correlation.state import EpochInProgress, RankingState
from nasbench1shot1.ground.errors import InvalidInputError, option
from nasbench1shot1.ground.files import atomic_write, sha256
from nasbench1shot1.one_shot_search.kept_weights import supernet_of
from nasbench1shot1.runs.options import required
from nasbench1shot1.runs.writer import RunWriter
from nasbench1shot1.space import OneShotSpace
from nasbench1shot1.supernets.passes import Pass
from nasbench1shot1.supernets.supernet import Supernet
from nasbench1shot1.supernets.weight_sharing import SharedWeights

CHUNK = 512
"""Number of architectures between two checkpoints."""


class Reporter(Protocol):
    """Receives the progress of a ranking, for a progress bar."""

    def advance(self, epoch: int, architectures: int) -> None:
        """Report a number of newly evaluated architectures of an epoch."""

    def epoch_done(self, line: dict[str, object]) -> None:
        """Report a recorded epoch."""


def run_ranking(state: RankingState, writer: RunWriter[Ranking], reporter: Reporter) -> None:
    """Evaluate all remaining architectures, with a checkpoint after every chunk.

    Raises UserError if the disk is full.
    """
    while state.recorded < len(state.epochs):
        current, shared = state.begin_epoch(), shared_weights_of(state, state.epoch)
        while not current.is_done:
            started = time.perf_counter()
            done = _evaluate_chunk(state, shared, current)
            current.seconds += time.perf_counter() - started
            writer.save(state)
            reporter.advance(state.epoch, done)
        line = _record(state, current, writer)
        reporter.epoch_done(line)


def shared_weights_of(state: RankingState, epoch: int) -> SharedWeights:
    """Return the run's shared weights after an epoch, with the batch-norm statistics of the ranking's options."""
    net, _ = supernet_of(state.run, epoch)
    options, config = state.options, state.run.config
    return SharedWeights(
        net.to(state.images.images.device),
        state.images,
        state.split,
        batch_norm=required(options.batch_norm),
        seed=config["seed"],
        epoch=epoch,
        batch_size=config["batch_size"],
        precision=options.precision,
    )


def scores_of(
    state: RankingState, shared: SharedWeights, architectures: Sequence[Architecture]
) -> tuple[NDArray[np.bool_], NDArray[np.float32]]:
    """Return whether each architecture misclassifies each image, bool (A, N), and the losses (A, N) in nats."""
    passes = passes_of(shared.net, architectures, state.options.preset, state.is_relaxed)
    found = shared.by_image(passes, state.rows)
    return found.wrong, found.losses


def passes_of(net: Supernet, architectures: Sequence[Architecture], preset: str, is_relaxed: bool) -> Sequence[Pass]:
    """Return the passes with which `SharedWeights` evaluates architectures.

    Args:
        net: the supernet.
        architectures: A architectures of the supernet's space.
        preset: "corrected" evaluates each architecture as it is; "original" evaluates it as the published script does.
        is_relaxed: whether the search trained mixtures (DARTS, GDAS, PC-DARTS, SNAS).
    """
    if preset == "corrected":
        return architectures
    passes: Sequence[Pass] = net.space.benchmark.load("original_passes")(net, architectures, is_relaxed)
    return passes


def check_preset(space: OneShotSpace, preset: str) -> None:
    """Raise InvalidInputError for the preset "original" on a space whose cells the published script does not have."""
    is_published = space.benchmark.original_passes is not None and space.cell == space.benchmark.cell
    if preset == "original" and not is_published:
        raise InvalidInputError(
            f"{option('preset', 'original')} evaluates as the published script does, which has only cells of choice "
            f"blocks, and {space.name} has others: use {option('preset', 'corrected')}"
        )


def _evaluate_chunk(state: RankingState, shared: SharedWeights, current: EpochInProgress) -> int:
    """Evaluate the next chunk; return its number of architectures."""
    chunk = slice(current.done, min(current.done + CHUNK, len(current.numbers)))
    wrong, losses = scores_of(state, shared, state.architectures(current.numbers[chunk]))
    current.errors[chunk], current.losses[chunk] = wrong.mean(axis=1), losses.mean(axis=1, dtype=np.float64)
    watched, first = current.watched[chunk], int(current.watched[: current.done].sum())
    for values, kept in zip((wrong, losses), current.blocks, strict=True):
        kept[first : first + int(watched.sum())] = _block_means(values[watched], state.blocks)
    current.done = chunk.stop
    return chunk.stop - chunk.start


def _block_means(values: NDArray[np.generic], blocks: int) -> NDArray[np.float32]:
    """Return means (W, B) over B blocks of consecutive images; block sizes differ by at most one."""
    parts = np.array_split(values, blocks, axis=1)
    return np.stack([part.mean(axis=1, dtype=np.float64) for part in parts], axis=1).astype(np.float32)


def _record(state: RankingState, current: EpochInProgress, writer: RunWriter[Ranking]) -> dict[str, object]:
    """Write the scores of a finished epoch; the epoch counts as recorded once the final checkpoint is written."""
    order, epoch = np.argsort(current.numbers), state.epoch
    numbers, errors, losses = (values[order] for values in (current.numbers, current.errors, current.losses))
    path, blocks = scores_path(writer.folder, epoch), blocks_path(writer.folder, epoch)
    with atomic_write(path) as file:
        np.savez(file, numbers=numbers, errors=errors, losses=losses, image_rows=state.rows.numpy())
    with atomic_write(blocks) as file:
        np.savez(file, errors=current.blocks[0], losses=current.blocks[1])
    line = {
        "epoch": epoch,
        "architectures": len(numbers),
        "images": len(state.rows),
        "mean_error": float(errors.mean(dtype=np.float64)),
        "mean_loss": float(losses.mean(dtype=np.float64)),
        "predicted_best": str(state.space[int(numbers[np.lexsort((losses, errors))[0]])]),
        "scores_sha256": sha256(path),
        "seconds": current.seconds,
        "blocks_sha256": sha256(blocks),
    }
    writer.append_line(line)
    state.recorded, state.current = state.recorded + 1, None
    writer.save(state)
    return line
