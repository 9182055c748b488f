"""Screen output of a ranking: the announcement, the progress and the results."""

import math
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table as Screen

from nasbench1shot1.experiments.correlation.criteria import TOP_SHARES, top_size
from nasbench1shot1.experiments.correlation.options import ALL
from nasbench1shot1.experiments.correlation.record import BY_EPOCH, CORRELATIONS, SCATTER
from nasbench1shot1.ground.errors import option
from nasbench1shot1.ground.files import PictureFormat, picture_name
from nasbench1shot1.ground.progress import ProgressDisplay
from nasbench1shot1.ground.text import counted, duration, line_printer, percent, print_table
from nasbench1shot1.one_shot_search.kept_weights import kept_epochs
from nasbench1shot1.tables.columns import source_text

if TYPE_CHECKING:
    from nasbench1shot1.experiments.correlation.expectation import Expectation
    from nasbench1shot1.experiments.correlation.state import RankingState
    from nasbench1shot1.tables.table import Table

UNDEFINED = "undefined"
LONG = 3600
"""Seconds of evaluation above which the announcement advises a sample of architectures."""


def announce(state: "RankingState", table: "Table", out: Any, expected: "Expectation", console: Console) -> None:
    """Print what will be evaluated and the estimated duration."""
    print_line, options, config = line_printer(console), state.options, state.run.config
    print_line(f"{config['optimizer']} on {config['space']}, seed {config['seed']}: {state.run.folder}, into {out}")
    epochs = ", ".join(map(str, state.epochs))
    word = "Epoch" if len(state.epochs) == 1 else "Epochs"
    print_line(f"{word} {epochs}; architectures: {options.architectures}; {counted(len(state.rows), 'image')}")
    newer = [epoch for epoch in kept_epochs(state.run) if epoch > max(state.epochs)]
    if newer and options.epochs == ALL:
        newer_epochs = counted(len(newer), "newer epoch")
        print_line(f"Not ranked here: {newer_epochs} with saved weights. To rank all epochs, choose another folder.")
    if state.auto_images:
        print_line(_auto_text(options.images, state.auto_images))
    print_line(f"Batch-norm {options.batch_norm}, preset {options.preset}, on {options.device}")
    print_line(f"Table {table.id}")
    if options.bounds:
        print_line(f"Only architectures with {options.bounds.words} are ranked.")
    if table.partial_note:
        print_line(table.partial_note)
    print_line(_duration_text(expected))
    if options.architectures == ALL and expected.evaluation > LONG:
        print_line(
            "To save time, rank a sample: stop this ranking, and start another with "
            f"{option('architectures', 400)} and another {option('out')}."
        )


def _duration_text(expected: "Expectation") -> str:
    """Return the estimated duration in a sentence."""
    total = duration(expected.evaluation + expected.statistics)
    if not expected.evaluation:
        return f"All architectures are evaluated; the statistics will take {total}."
    if total == duration(0):
        return f"This will take {total}."
    parts = [f"{duration(getattr(expected, part))} for the {part}" for part in ("evaluation", "statistics")]
    return f"This will take {total}: {' and '.join(parts)}."


def _auto_text(option: str, found: Mapping[str, Any]) -> str:
    """Return a sentence about the correlation that images="auto" reached, and whether it missed the threshold."""
    images, source = counted(found["images"], "image"), " (extrapolated)" if found["extrapolated"] else ""
    reached = f"a split-half Spearman correlation of {found['spearman']:.3f}{source}"
    if found["reached"]:
        return f"Number of images ({option}): {images} give {reached}; the threshold is {found['threshold']:g}."
    return (
        f"Number of images ({option}): all {images} of the architecture half miss the threshold of "
        f"{found['threshold']:g} and give {reached}."
    )


class RankingProgress(ProgressDisplay):
    """Context manager of a progress bar over the architectures of all epochs, with a line per finished epoch."""

    def __init__(self, total: int, done: int, console: Console) -> None:
        self._print_line = line_printer(console)
        super().__init__(console)
        self._task = self._bar.add_task("evaluating", total=total, completed=done)
        self._started = time.monotonic()

    def advance(self, epoch: int, architectures: int) -> None:
        """Advance the bar by a number of architectures."""
        self._bar.update(self._task, description=f"epoch {epoch}", advance=architectures)

    def epoch_done(self, line: dict[str, object]) -> None:
        """Print the line of a finished epoch."""
        self._print_line(
            f"epoch {line['epoch']}: {line['architectures']:,} architectures, mean one-shot error "
            f"{percent(float(str(line['mean_error'])), 1)}, {float(str(line['seconds'])):.0f} s"
        )

    def statistics(self, epochs: int) -> None:
        """Reset the bar for the statistics of all epochs, which follow the evaluation."""
        self._print_line("Computing correlations and their confidence intervals …")
        self._bar.reset(self._task, total=epochs, description="statistics")

    def step(self, share: float) -> None:
        """Advance the bar of the statistics by a share of an epoch."""
        self._bar.advance(self._task, share)


def show(summary: Mapping[str, Any], folder: Path, console: Console, format: PictureFormat | None = None) -> None:
    """Print the correlations of every epoch in a ranking's summary, and the paths of the files."""
    print_line = line_printer(console)
    source = source_text(summary["measured"], digits=1)
    title = f"True {summary['split']} errors after {summary['budget']} epochs: {source}"
    headings = ("epoch", "Spearman (error)", "Spearman (loss)", "Kendall", "P@10 %", "regret")
    screen = Screen(*headings, title=title, title_justify="left", box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for epoch, of in summary["epochs"].items():
        screen.add_row(epoch, *_cells(of))
    print_table(screen, console)
    print_line("Kendall, P@10 % (a share) and regret: of the one-shot error; regret: within the ranked architectures.")
    if any(_is_expected(of["p@10_error"]) for of in summary["epochs"].values() if "p@10_error" in of):
        print_line("P@10 % is the expected value over all orders of architectures with equal one-shot errors.")
    for name, of in summary["reliability"].items():
        images = counted(of["images_per_half"], "image")
        what = f"{name}, epoch {of['epoch']}, {images} per half"
        print_line(f"Split-half Spearman correlation ({what}): {of['spearman']:.3f}")
    for line in _undefined(summary["undefined"]):
        print_line(line)
    print_line(f"Correlations: {folder / CORRELATIONS}")
    for label, name in (("Correlation by epoch", BY_EPOCH), ("Scatter plot", SCATTER)):
        print_line(f"{label}: {folder / picture_name(name, format)}")


def _cells(of: dict[str, dict[str, float]]) -> list[str]:
    cells = [_interval(of.get(name)) for name in ("spearman_error", "spearman_loss")]
    values = [f"{of[name]['value']:.2f}" if name in of else UNDEFINED for name in ("kendall_error", "p@10_error")]
    return [*cells, *values, percent(of["regret_error"]["value"]) if "regret_error" in of else UNDEFINED]


def _is_expected(precision: Mapping[str, float]) -> bool:
    """Return whether P@10 % is not a share of a whole number of architectures, because some are tied."""
    hits = precision["value"] * top_size(TOP_SHARES["10"], int(precision["n"]))
    return not math.isclose(hits, round(hits), abs_tol=1e-6)


def _interval(of: dict[str, float] | None) -> str:
    return UNDEFINED if of is None else f"{of['value']:.3f} [{of['low']:.2f}, {of['high']:.2f}]"


def _undefined(undefined: Sequence[dict[str, Any]]) -> list[str]:
    """Return one line per cause, with the number of cases."""
    causes: dict[str, list[Any]] = {}
    for of in undefined:
        causes.setdefault(of["cause"], []).append(of["where"])
    return [f"Undefined in {counted(len(places), 'case')}: {cause}" for cause, places in causes.items()]
