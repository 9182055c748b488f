"""The supernet of a recorded search, with the weights saved at an epoch."""

from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from nasbench1shot1 import registry
from nasbench1shot1.ground.errors import DamagedFileError, InvalidInputError, alternatives, option
from nasbench1shot1.images.batches import epoch_generator
from nasbench1shot1.one_shot_search.options import recorded_search
from nasbench1shot1.runs.checkpoints import load_checkpoint
from nasbench1shot1.runs.folder import CONFIG, kept_weights, weights_path
from nasbench1shot1.supernets.presets import preset_of
from nasbench1shot1.supernets.supernet import Supernet
from nasbench1shot1.supernets.widening import draw_visible_channels

if TYPE_CHECKING:
    from nasbench1shot1.optimizer import OneShotOptimizer


class KeptRun(Protocol):
    """The part of a search's record (`nb.Run`) that this module needs."""

    @property
    def folder(self) -> Path:
        """The folder of the run."""

    @property
    def config(self) -> dict[str, Any]:
        """Every option by name."""

    @property
    def architecture_parameters(self) -> dict[str, NDArray[np.float32]]:
        """Raw Λ after every epoch."""


def supernet_of(run: KeptRun, epoch: int) -> tuple[Supernet, dict[str, Tensor]]:
    """Return a run's network after an epoch, on the CPU and in evaluation mode, and Λ after that epoch.

    Batch-norm's running statistics are from training.

        Args:
            run: a search with `--keep-weights-every`.
            epoch: one of `kept_epochs(run)`.

        Raises:
            InvalidInputError: the run did not save this epoch's weights (the message names the saved epochs), or its
                configuration names a space by a module that is not imported.
            DamagedFileError: the file does not hold the weights of this run's network at that epoch.
    """
    registry.check_trusted("search_spaces", "space", run.config["space"], run.folder / CONFIG)
    content, config = _read_epoch(run, epoch), run.config
    try:
        weights = content["supernet"]
        net = Supernet(
            registry.one_shot(registry.search_space(config["space"])),
            config["channels"],
            config["cells"],
            preset_of(config),
            classes=len(weights["classifier.bias"]),
            partial_channels=content.get("partial_channels", config["partial_channels"]),
        )
        if config.get("channel_sampling") == "random":
            draw_visible_channels(net, epoch_generator(config["seed"], "visible", epoch))
        net.load_state_dict(weights)
        is_of_epoch = content["epoch"] == epoch
        parameters = {key: torch.from_numpy(of[epoch]) for key, of in run.architecture_parameters.items()}
    except (KeyError, IndexError, TypeError, RuntimeError) as error:
        raise _mismatch_error(run, epoch) from error
    if not is_of_epoch:
        raise _mismatch_error(run, epoch)
    return net.eval(), parameters


def method_of(run: KeptRun, epoch: int) -> "OneShotOptimizer":
    """Return a run's optimizer in its state after an epoch, on the CPU, with a fresh generator with seed 0.

    Args:
        run: as for `supernet_of`.
        epoch: one of `kept_epochs(run)`.

    Raises:
        InvalidInputError: as for `supernet_of`.
        DamagedFileError: the file does not hold the state of this run's optimizer.
    """
    content, method = _read_epoch(run, epoch), untrained_method(run)
    try:
        method.load_state_dict(content["method"])
    except (KeyError, IndexError, TypeError, ValueError, RuntimeError) as error:
        raise _mismatch_error(run, epoch) from error
    return method


def untrained_method(run: KeptRun) -> "OneShotOptimizer":
    """Return a run's optimizer with its recorded options on the CPU, in its initial state with seed 0.

    Raises InvalidInputError if the optimizer or the space belongs to a module that is not imported.
    """
    for group, kind in (("optimizers", "optimizer"), ("search_spaces", "space")):
        registry.check_trusted(group, kind, run.config[kind], run.folder / CONFIG)
    options = recorded_search({**run.config, "device": "cpu"}, run.folder / CONFIG)
    space = registry.search_space(run.config["space"])
    generator = torch.Generator().manual_seed(0)
    return options.create_method(registry.one_shot(space), generator, torch.device("cpu"))


def _read_epoch(run: KeptRun, epoch: int) -> dict[str, Any]:
    """Return the content of an epoch's file; raises InvalidInputError if the epoch was not saved."""
    if epoch not in (kept := kept_epochs(run)):
        raise _not_saved_error(run, epoch, kept)
    return load_checkpoint(weights_path(run.folder, epoch))


def require_kept_epochs(run: KeptRun) -> list[int]:
    """Return `kept_epochs`; raises InvalidInputError, which says how to save weights, if there is none."""
    if kept := kept_epochs(run):
        return kept
    raise _not_saved_error(run, 0, [])


def kept_epochs(run: KeptRun) -> list[int]:
    """Return the epochs whose weights a run saved, ascending."""
    return list(kept_weights(run.folder))


def _not_saved_error(run: KeptRun, epoch: int, kept: list[int]) -> InvalidInputError:
    if not kept:
        return InvalidInputError(
            f"'{run.folder}' kept no supernet weights: search again with {option('keep_weights_every', 1)} (or every "
            "N epochs)"
        )
    return InvalidInputError(f"'{run.folder}' did not keep the weights of epoch '{epoch}': choose {alternatives(kept)}")


def _mismatch_error(run: KeptRun, epoch: int) -> DamagedFileError:
    return DamagedFileError(
        f"'{weights_path(run.folder, epoch)}' does not hold the weights of this run at that epoch: restore the file"
    )
