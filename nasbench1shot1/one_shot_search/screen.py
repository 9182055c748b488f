"""The screen output of a search: before, during and after it."""

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from rich.console import Console

from nasbench1shot1.architecture import Architecture
from nasbench1shot1.evaluator import Baseline, dataset_of_regrets, mean_regret_of
from nasbench1shot1.ground.files import picture_name
from nasbench1shot1.ground.notebooks import console_or_new
from nasbench1shot1.ground.progress import ProgressDisplay
from nasbench1shot1.ground.text import counted, duration, line_printer, percent, row_printer
from nasbench1shot1.images.data_sets import CIFAR10
from nasbench1shot1.one_shot_search.captions import option_texts, shrunk_text, source_elsewhere
from nasbench1shot1.one_shot_search.early_stopping import returned_epoch
from nasbench1shot1.one_shot_search.estimate import expected_seconds
from nasbench1shot1.one_shot_search.events import describe_decisions, phase_starts
from nasbench1shot1.one_shot_search.group import SearchGroup
from nasbench1shot1.one_shot_search.kept_weights import kept_epochs
from nasbench1shot1.one_shot_search.options import dataset_note, non_default_options
from nasbench1shot1.one_shot_search.record import CELLS, FIGURE, SELECTED_EPOCH, Run, SearchRecord
from nasbench1shot1.one_shot_search.state import SearchState
from nasbench1shot1.registry import SCRIPT
from nasbench1shot1.runs.folder import WEIGHTS
from nasbench1shot1.runs.next_command import command_for
from nasbench1shot1.runs.options import required
from nasbench1shot1.runs.record import NOTE
from nasbench1shot1.space import OneShotSpace
from nasbench1shot1.tables.columns import partly_text, source_text
from nasbench1shot1.tables.table import Table

HEADING = "epoch   train loss   one-shot error   test regret   validation regret    time"
ROW = "{epoch:>5}{loss:>13}{error:>17}{test:>14}{valid:>20}{seconds:>6} s"  # fits 80 columns


def announce(state: SearchState, table: Table, folder: Path, console: Console | None) -> Console:
    """Print the settings of the search, and return the console."""
    console = console_or_new(console)
    print_line, config, halves = line_printer(console), state.config, state.split
    stopped = config.early_stopping and returned_epoch(state.eigenvalues) is not None
    left = 0 if stopped else config.epochs - max(state.epoch, 0)
    if not left:
        print_line(f"{folder} is already finished; its summary and pictures are written again.")
        return console
    if state.recorded:
        print_line(f"Resuming {folder} after epoch {state.epoch} of {config.epochs}.")
    if state.unended is not None:
        regret = percent(state.unended.line["test_regret"])
        print_line(
            f"Epoch {state.epoch} is no longer the last one: its line now records the search without the final "
            f"selection (test regret {regret})."
        )
    epochs = counted(config.epochs, "epoch")
    print_line(f"{config.optimizer} on {config.space}, seed {config.seed}, {epochs}, into {folder}")
    if changed := non_default_options(state.options.as_dict()):
        print_line(f"With {', '.join(option_texts(vars(config), changed))}")
    if config.optimizer.startswith(SCRIPT):
        print_line("Its optimizer is a class of this script or notebook: only from there can the search be resumed.")
    if config.hessian_eigenvalue:
        print_line("The Hessian's eigenvalue is recorded in metrics.jsonl, field hessian_eigenvalue.")
    threads = counted(required(config.threads), "thread")
    where = f"{config.device} with {threads}" if config.device == "cpu" else config.device
    size = f"{counted(config.channels, 'channel')} × {counted(config.cells, 'cell')}"
    print_line(f"{config.scale} scale: {size}, on {where}; preset {config.preset}")
    note = f" (bundled; CIFAR-10 has {CIFAR10.training_images:,})" if config.images == "cifar10-sample" else ""
    note += f",{shrunk}" if (shrunk := shrunk_text(vars(config))) else ""
    print_line(f"Images: {len(halves.weights):,} + {len(halves.architecture):,} of {state.images.name}{note}")
    if not state.holds_out_images:
        print_line("All images train the weights, so one-shot errors are measured on training images.")
    has_preset_split = state.net.space.split is None  # others do not validate on these images
    if (seen := halves.nasbench101_validation_images) and has_preset_split:
        print_line(f"Preset {config.preset} searches on {seen:,} images that NAS-Bench-101 validates on.")
    if halves.unknown_images and has_preset_split:
        print_line(f"For {halves.unknown_images:,} images, it is unknown whether NAS-Bench-101 validates on them.")
    if config.space.startswith(SCRIPT):
        print_line("Its space is an object of this script or notebook: only from there can the search be resumed.")
    announce_table(table, print_line)
    dataset = state.images.dataset
    if note := dataset_note(dataset, dataset_of_regrets(table, dataset)):
        print_line(note)
    if len(table.objectives) > 1:
        print_line(f"Regrets in the rows below are on {dataset}.")
    if (baseline := state.judge.baseline(state.net.space.name, table)) is not None and baseline.sentence:
        print_line(baseline.sentence)
    if config.scale == "full" and config.device == "cpu":
        print_line(f"Without a GPU this takes {duration(expected_seconds(state, left))}.")
    return console


def announce_table(table: Table, print_line: Callable[[str], None]) -> None:
    """Print which table gives the regrets, and what its values are."""
    print_line(f"Table {table.id}")
    for note in table.notes():
        print_line(note)


class SearchProgress(ProgressDisplay):
    """Reports a search on a console; a context manager. Without a terminal, it only prints a row per epoch.

    Lines report the beginning of each phase, if the search has several, and the decisions of a method in an epoch.

    Args:
        steps: number of steps of every epoch, from epoch 1.
        first_epoch: the first epoch that is not recorded.
        console: for the progress.
        phases: the name of the phase of every epoch, from epoch 1. Default: a single phase.
        space: the space of the search, to describe decisions. Default: decisions are not shown.
        structure: what the method had changed before the first epoch (`OneShotOptimizer.structure`).
        images: number of training images of every epoch, by which the bar weighs steps. Default: steps count equally.
    """

    def __init__(
        self,
        steps: Sequence[int],
        first_epoch: int,
        console: Console,
        *,
        phases: Sequence[str] = (),
        space: OneShotSpace | None = None,
        structure: Mapping[str, Any] | None = None,
        images: Sequence[int] = (),
    ) -> None:
        self._print_line = row_printer(console, HEADING)
        super().__init__(console)
        epochs, self._work = len(steps), images or steps
        done = sum(self._work[: max(first_epoch - 1, 0)])
        first = f"epoch {min(first_epoch, epochs)}/{epochs}" + (
            "  measuring the untrained supernet" if first_epoch == 0 else ""
        )
        self._task = self._bar.add_task(first, total=sum(self._work), completed=done)
        self._steps, self._regret = steps, "–"
        self._phases = {e: f"{name}, {_span(e, phases)}" for e, name in phase_starts(phases).items()}
        self._space, self._structure = space, structure or {}
        self._step, self._training_share, self._began, self._trained = 0, 1.0, time.monotonic(), 0.0

    def step(self, epoch: int, loss: float | None) -> None:
        """Advance the bar by a step; after an epoch's last step, only the evaluation remains."""
        self._step += 1
        if self._step == 1 and (phase := self._phases.get(epoch)):
            self._print_line(f"{'':>5}  phase: {phase}")
        trains = self._step < (last := self._steps[epoch - 1])
        if loss is not None or self._step in (1, last):
            now = "evaluating" if not trains else "training" if loss is None else f"loss {loss:.3f}"
            self._bar.update(
                self._task, description=f"epoch {epoch}/{len(self._steps)}  {now}  test regret {self._regret}"
            )
        if not trains:
            self._trained = time.monotonic()
        self._bar.advance(self._task, self._training_share * self._work[epoch - 1] / last)

    def epoch_done(self, line: dict[str, Any]) -> None:
        """Print an epoch's row, and measure the share of an epoch's time that training takes."""
        now = time.monotonic()
        if self._step:
            self._training_share = (self._trained - self._began) / max(now - self._began, 1e-9)
        self._began, self._step = now, 0
        self._bar.update(self._task, completed=sum(self._work[: line["epoch"]]))
        self._regret = percent(line["test_regret"])
        loss = line["train_loss"]
        self._print_line(
            ROW.format(
                epoch=line["epoch"],
                loss="–" if loss is None else f"{loss:.3f}",
                error=percent(line["one_shot_validation_error"], 1),
                test=self._regret,
                valid=percent(line["validation_regret"]),
                seconds=f"{line['search_seconds']:.0f}",
            )
        )
        before, self._structure = self._structure, line.get("structure", {})
        if self._space is not None and (text := describe_decisions(self._space, before, self._structure)):
            self._print_line(f"{'':>5}  {text}")
        if (selected := line.get(SELECTED_EPOCH)) is not None:
            self._print_line(f"{'':>5}  selected: the architecture of epoch {selected}")


def _span(epoch: int, phases: Sequence[str]) -> str:
    """Return the epochs of the phase that begins with an epoch, in words."""
    last = epoch
    while last < len(phases) and phases[last] == phases[epoch - 1]:
        last += 1
    return f"epoch {epoch}" if last == epoch else f"epochs {epoch} to {last}"


def progress(state: SearchState, console: Console) -> SearchProgress:
    """Return the reporter that shows the bar and a row per epoch."""
    epochs = range(1, state.config.epochs + 1)
    steps, images = [state.steps(epoch) for epoch in epochs], [len(state.rows(epoch)[0]) for epoch in epochs]
    more: dict[str, Any] = {"phases": [state.phase(epoch).name for epoch in epochs], "images": images}
    more |= {"space": state.net.space, "structure": state.method.structure()}
    return SearchProgress(steps, state.epoch + 1, console, **more)


def show_result(run: Run, table: Table, console: Console) -> None:
    """Print the result, the mean regret of the space for comparison, and the paths of the files."""
    summary, print_line = run.summary, line_printer(console)
    if summary["final_epoch"] < summary["searched_epochs"]:
        print_line(
            f"Stopped after epoch {summary['searched_epochs']}, because the Hessian's eigenvalue grew; back to the "
            f"architecture of epoch {summary['final_epoch']}."
        )
    of = "" if (selected := summary.get(SELECTED_EPOCH)) is None else f" (of epoch {selected})"
    print_line(f"Final architecture{of}: '{summary['architecture']}'")
    space = Architecture.parse(summary["architecture"]).space
    dataset, others = run.config.get("dataset"), other_regrets(summary, table)
    where = f" on {dataset}" if others else ""
    print_line(f"Test regret{where}: {format_regret(summary, 'test')}{_mean_regret(run, table, space, dataset)}")
    for line in others:
        print_line(line)
    if text := baseline_text(run.baseline, where):
        print_line(text)
    if NOTE in summary:
        print_line(summary[NOTE])
    cells, regret = (run.folder / picture_name(name, run.config.get("format")) for name in (CELLS, FIGURE))
    if cells.is_file():
        print_line(f"Cells by epoch: {cells}")
    print_line(f"Picture: {regret}")
    if kept := kept_epochs(run):
        print_line(f"Supernet weights of {counted(len(kept), 'epoch')}: {run.folder / WEIGHTS}")
        command = command_for("correlate", run.folder)
        print_line(f"To rank architectures by these weights: {command}")


def show_group_result(group: SearchGroup, table: Table, console: Console) -> None:
    """Print the test regret of several seeds and the path of their picture."""
    print_line = line_printer(console)
    for line in group_regrets(group[0], [run.summary for run in group], table):
        print_line(line)
    for note in dict.fromkeys(run.summary[NOTE] for run in group if NOTE in run.summary):
        print_line(note)
    print_line(f"Picture of all: {group.folder / picture_name(FIGURE, group[0].config.get('format'))}")


def group_regrets(run: SearchRecord, summaries: Sequence[Mapping[str, Any]], table: Table) -> list[str]:
    """Return the mean and standard deviation of the test regrets of several runs, also on other data sets of the table.

    Args:
        run: one of the runs.
        summaries: their summaries. The result is empty for a single run, or if a regret is missing.
        table: the table behind the summaries.
    """
    if len(summaries) < 2 or (main := _spread([summary["test_regret"] for summary in summaries])) is None:
        return []
    dataset, space = run.config.get("dataset"), Architecture.parse(summaries[0]["architecture"]).space
    regrets = {
        name: _spread([summary["other_datasets"][name]["test_regret"] for summary in summaries])
        for name in summaries[0].get("other_datasets", {})
    }
    known = {name: found for name, found in regrets.items() if found}
    others = [f"Test regret on {name}: {found}{source_elsewhere(table, name)}" for name, found in known.items()]
    source = partly_text(summary["test_measured"] for summary in summaries)
    where = f" on {dataset}" if others else ""
    which = f"Test regret{where} of {len(summaries)} seeds, mean ± standard deviation"
    return [f"{which}: {main} ({source}){_mean_regret(run, table, space, dataset)}", *others]


def _spread(regrets: Sequence[float | None]) -> str | None:
    """Return the mean and the standard deviation of regrets in percent; None if one is unknown."""
    known = [regret for regret in regrets if regret is not None]
    if len(known) < len(regrets):
        return None
    return f"{percent(statistics.mean(known))} ± {percent(statistics.stdev(known))}"


def other_regrets(summary: Mapping[str, Any], table: Table) -> list[str]:
    """Return a line for each other data set of the table on which the test regret is known."""
    others = summary.get("other_datasets", {}).items()
    known = ((dataset, found["test_regret"]) for dataset, found in others if found["test_regret"] is not None)
    return [f"Test regret on {name}: {percent(regret)}{source_elsewhere(table, name)}" for name, regret in known]


def format_regret(result: Mapping[str, Any], split: Literal["test", "validation"]) -> str:
    """Return a regret of a line or summary in percent, and whether it is measured, predicted or unknown."""
    if (regret := result[f"{split}_regret"]) is not None:
        return f"{percent(regret)} ({source_text(bool(result[f'{split}_measured']))})"
    is_known = any(result[f"table_{of}_error"] is not None for of in ("test", "validation"))
    return f"{percent(regret)} ({f'its {split} accuracy is ' if is_known else ''}not in the table)"


def baseline_text(baseline: Baseline | None, where: str = "") -> str:
    """Return the test regret of the baseline of a search; empty without a baseline or if it is unknown."""
    if baseline is None or baseline.test_regret is None:
        return ""
    return f"Test regret{where} of the baseline, {baseline.words}: {percent(baseline.test_regret)} ({baseline.source})"


def _mean_regret(run: SearchRecord, table: Table, space: str, dataset: str | None) -> str:
    within = None if run.baseline is None else run.baseline.bounds
    if (mean := mean_regret_of(space, dataset, table, within)) is None:
        return ""
    if within is not None:
        return f"; the mean within the bounds is {percent(mean)}"
    which = "the" if table.is_partial else "all"
    where = " in the table" if table.is_partial else ""
    return f"; the mean over {which} {table.benchmark.networks[1]} of {space}{where} is {percent(mean)}"
