"""What a search says on the screen before, during and after."""

import time
from collections.abc import Callable
from pathlib import Path

import torch
from rich.console import Console

from nasbench1shot1.optimizer import Batch
from nasbench1shot1.progress import SearchProgress
from nasbench1shot1.run_record import FIGURE, Run
from nasbench1shot1.search_state import SearchState
from nasbench1shot1.table import Table


def announce(state: SearchState, table: Table, folder: Path, console: Console | None) -> Console:
    """Say what is about to happen and with what; returns the console."""
    console = console or Console()
    config, halves = state.config, state.split
    where = f"{config.device} ({config.threads} threads)" if config.device == "cpu" else config.device
    say = _sayer(console)
    proxy = f"{config.channels} channels × {config.cells} cells"
    images = f"{len(halves.weights):,} + {len(halves.architecture):,} images"
    say(f"{config.optimizer} on {state.net.space.id}, {config.scale} scale: {proxy}, {images}, {config.epochs} epochs")
    say(f"On {where}, into {folder}")
    if config.images == "cifar10-sample":
        say(f"Images: the {len(state.images):,} of CIFAR-10 that the package carries (of 50,000).")
    if halves.validation_images:
        say(f"Preset {config.preset} searches on {halves.validation_images:,} images that NAS-Bench-101 validates on.")
    if table.name == "nb101-embedded":
        say(f"Table {table.id}: estimates, test accuracy predicted; results for a paper need the official file.")
    left = (config.epochs or 0) - max(state.epoch, 0)
    if config.scale == "full" and config.device == "cpu" and left:
        say(f"Without a GPU this takes about {_duration(left * seconds_per_epoch(state))}.")
    return console


def progress(state: SearchState, console: Console) -> SearchProgress:
    """The bar and the epochs' lines."""
    config = state.config
    steps = -(-len(state.split.weights) // (config.batch_size or 1))
    return SearchProgress(f"{config.optimizer} {config.space}", config.epochs or 0, steps, state.epoch + 1, console)


def conclude(run: Run, console: Console) -> None:
    """Say what came out and where it lies."""
    summary, say = run.summary, _sayer(console)
    regret, measured = summary["test_regret"], summary["test_measured"]
    value = (
        "not in this table" if regret is None else f"{100 * regret:.2f} % ({'measured' if measured else 'predicted'})"
    )
    say(f"Final architecture: {summary['architecture']}")
    say(f"Test regret: {value}")
    say(f"Picture: {run.folder / FIGURE}")


def seconds_per_epoch(state: SearchState) -> float:
    """How long an epoch will take, from a timed pass of a quarter batch that changes nothing."""
    size = max((state.config.batch_size or 4) // 4, 2)
    device = state.images.images.device
    batch = Batch(torch.zeros(size, 3, 32, 32, device=device), torch.zeros(size, dtype=torch.int64, device=device))
    mixing = state.method.evaluation_mixing()
    state.net.eval()  # running statistics stay as they are
    started = time.perf_counter()
    torch.autograd.grad(state.loss(mixing, batch), list(state.net.parameters()), allow_unused=True)
    per_image = (time.perf_counter() - started) / size
    # A pass for the weights, one for Λ, and a third of one for the one-shot error.
    return per_image * (2 * len(state.split.weights) + len(state.split.architecture) / 3)


def _duration(seconds: float) -> str:
    if seconds < 5400:
        return f"{max(seconds / 60, 1):.0f} min"
    return f"{seconds / 3600:.0f} h" if seconds < 100 * 3600 else f"{seconds / 86400:.0f} days"


def _sayer(console: Console) -> Callable[[str], None]:
    def say(text: str) -> None:
        console.print(text, highlight=False, soft_wrap=True)

    return say
