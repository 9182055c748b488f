"""The screen output of a study: its plan, a live view of searches and brackets, and its result."""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table as Screen
from rich.text import Text

from nasbench1shot1.ground.files import PictureFormat, picture_name
from nasbench1shot1.ground.text import counted, duration, line_printer, percent
from nasbench1shot1.images.data_sets import CIFAR10
from nasbench1shot1.jobs.pool import WorkerOptions
from nasbench1shot1.one_shot_search.captions import shrunk_text
from nasbench1shot1.one_shot_search.record import with_source
from nasbench1shot1.proposers.brackets import Brackets, BracketState
from nasbench1shot1.proposers.configurations import observations_of_model
from nasbench1shot1.tuning.config_spaces import to_json
from nasbench1shot1.tuning.options import TUNERS
from nasbench1shot1.tuning.record import TRAJECTORY, Study, best, size_text
from nasbench1shot1.tuning.trials import Trial

if TYPE_CHECKING:
    from nasbench1shot1.tables.table import Table
    from nasbench1shot1.tuning.loop import Progress

HEADING = "   done  configuration  epochs  {guide:>10} error  test regret     best     time"
ROW = "{done:>7}{configuration:>15}{epochs:>8}{error:>18}{regret:>13}{best:>9}{seconds:>9}"  # fits 80 columns
MOST_BRACKETS = 6
"""Number of unfinished brackets that the live view lists."""


class StudyScreen:
    """Reports a study on a console; a context manager. Without a terminal, only the observations' rows appear."""

    def __init__(
        self, brackets: Brackets, lines: Sequence[Mapping[str, Any]], console: Console, guide: str = "validation"
    ) -> None:
        self._heading = HEADING.format(guide=guide)
        self._print_line, self._lines, self._planned = line_printer(console), list(lines), brackets.planned
        self._expectation = Expectation(brackets)
        self._live = Live(console=console, transient=True, auto_refresh=False) if console.is_terminal else None

    def __enter__(self) -> Self:
        if len(self._lines) < self._planned:
            self._print_line(self._heading)
        if self._live:
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live:
            self._live.stop()

    def show_observation(self, line: Mapping[str, Any]) -> None:
        """Print an observation's row; for a diverged search, also how it diverged."""
        self._lines.append(line)
        incumbent = best(self._lines)
        self._print_line(
            ROW.format(
                done=f"{len(self._lines)}/{self._planned}",
                configuration=line["configuration_id"],
                epochs=line["budget"],
                error="diverged" if line["loss"] is None else percent(line["loss"]),
                regret=percent(line["test_regret"]),
                best=percent(incumbent["loss"] if incumbent else None),
                seconds=f"{line['search_seconds'] or 0:.0f} s",
            )
        )

    def progress(self, state: "Progress") -> None:
        """Show searches, brackets, the best observation, failures and the time left; only on a terminal."""
        if self._live:
            self._live.update(self.view(state), refresh=True)

    def view(self, state: "Progress") -> Group:
        """Return the live view."""
        return Group(
            *([_running(state.running)] if state.running else []),
            *(Text(_bracket(bracket)) for bracket in _unfinished(state.brackets)),
            *map(Text, self._status(state)),
        )

    def _status(self, state: "Progress") -> list[str]:
        """Return two lines, which fit 80 columns."""
        incumbent, failed = best(self._lines), sum(line["loss"] is None for line in self._lines)
        running = [(trial.epochs, seconds) for trial, seconds in state.running]
        left = self._expectation.seconds_left(self._lines, state.workers, running)
        ended = f"{state.observed} of {counted(state.planned, 'search')}, {failed} diverged"
        return [
            "nothing found yet" if incumbent is None else f"best {percent(incumbent['loss'])} ({_where(incumbent)})",
            f"{ended}; left: {'unknown' if left is None else duration(left)}",
        ]


class Expectation:
    """Estimates the remaining time of a study from the searches that have ended."""

    def __init__(self, brackets: Brackets) -> None:
        self._planned = brackets.searches

    def seconds_left(
        self, lines: Sequence[Mapping[str, Any]], workers: int, running: Sequence[tuple[int, float]] = ()
    ) -> float | None:
        """Return the expected remaining seconds; None before the first search has ended.

        The workers share the remaining searches, but never divide a single search.

        Args:
            lines: the observations.
            workers: number of searches at the same time.
            running: epochs and elapsed seconds of the searches that have begun.
        """
        if not lines:
            return None
        left = self.searches_left(lines) - Counter(epochs for epochs, _ in running)
        begun = [max(_mean_seconds(lines, epochs) - elapsed, 0.0) for epochs, elapsed in running]
        each = {epochs: _mean_seconds(lines, epochs) for epochs in left}
        total = sum(begun) + sum(count * each[epochs] for epochs, count in left.items())
        return max([total / workers, *begun, *each.values()])

    def searches_left(self, lines: Sequence[Mapping[str, Any]]) -> Counter[int]:
        """Return the number of searches that have not ended, by their epochs."""
        return self._planned - Counter(line["budget"] for line in lines)


def _mean_seconds(lines: Sequence[Mapping[str, Any]], budget: int) -> float:
    """Return the mean duration of searches of a budget; for a new budget, from the mean time per epoch."""
    seconds = [line["finished"] - line["started"] for line in lines if line["budget"] == budget]
    if seconds:
        return float(sum(seconds)) / len(seconds)
    total = sum(line["finished"] - line["started"] for line in lines)
    return float(budget * total / sum(line["budget"] for line in lines))


def _running(trials: "Sequence[tuple[Trial, float]]") -> Screen:
    screen = Screen("search", "time", box=None)
    for trial, seconds in trials:
        screen.add_row(Text(trial.name), f"{seconds:.0f} s")
    return screen


def _unfinished(brackets: Sequence[BracketState]) -> list[BracketState]:
    open_ones = [of for of in brackets if any(finished < planned for _, planned, finished in of.stages)]
    return open_ones[:MOST_BRACKETS]


def _bracket(bracket: BracketState) -> str:
    stages = [f"{finished}/{planned} at {counted(epochs, 'epoch')}" for epochs, planned, finished in bracket.stages]
    return f"bracket {bracket.number}: {', '.join(stages)}"


def _where(line: Mapping[str, Any]) -> str:
    return f"{line['configuration_id']} at {counted(line['budget'], 'epoch')}"


def announce(
    study: Study, table: "Table", brackets: Brackets, done: int, workers: WorkerOptions, console: Console
) -> None:
    """Print the plan and the settings of the study."""
    print_line, config, shared = line_printer(console), study.config, study.shared_options
    tuner = TUNERS[config["tuner"]]
    print_line(
        f"Tuning {config['optimizer']} with {tuner} on {config['space']}, seed {config['seed']}, into {study.folder}"
    )
    print_line(f"Hyperparameters: {'; '.join(_ranges(study))}")
    print_line(f"{_plan(brackets)}{f', {done:,} done' if done else ''}; continuation: {config['continuation']}")
    if config["tuner"] != "random":
        print_line(_random_text(brackets, observations_of_model(study.config_space)))
    if done == brackets.planned:
        print_line("All searches are done. To extend the study, resume it with more iterations.")
    at_once = f"{counted(workers.workers or 1, 'worker')} on this machine"
    on_cluster = f"Workers of the dask scheduler {workers.scheduler}"
    where = f"{shared['device']} with {counted(shared['threads'], 'thread')}"
    print_line(f"{on_cluster if workers.scheduler else at_once}; each search on {where}")
    size = size_text(shared)
    halves = f"{config['weight_images']:,} + {config['architecture_images']:,} of {shared['images']}"
    note = f" (bundled; CIFAR-10 has {CIFAR10.training_images:,})" if shared["images"] == "cifar10-sample" else ""
    note += f",{shrunk}" if (shrunk := shrunk_text(shared)) else ""
    print_line(f"{shared['scale']} scale: {size}; preset {shared['preset']}; images: {halves}{note}")
    print_line(f"Objective: {study.guide} error in the table {table.id}, {_repeat(config['repeat'])}")
    for sentence in filter(None, (study.guide_sentence, study.baseline.sentence if study.baseline else "")):
        print_line(sentence)
    for note in table.notes():
        print_line(note)


def show_result(
    summary: Mapping[str, Any], folder: Path, console: Console, format: PictureFormat | None = None
) -> None:
    """Print the summary of a study, and the folder that holds it."""
    print_line = line_printer(console)
    guide = str(summary.get("objective", "validation_accuracy")).removesuffix("_accuracy")
    ended, by_model = counted(summary["observations"], "search"), summary["model_based"]
    none = "no configuration was proposed by the model"
    proposed = f"{by_model} had a model-based configuration" if by_model else none
    print_line(f"{ended} ended; {summary['diverged']} diverged, and {proposed}.")
    if best_found := summary["best"]:
        values = ", ".join(f"{name} {_shorten(value)}" for name, value in best_found["configuration"].items())
        print_line(f"Best configuration: {values}")
        if (others := summary["equally_good"] - 1) > 0:
            print_line(f"{counted(others, 'later search')} reached the same {guide} error.")
        print_line(f"Its architecture after {counted(best_found['budget'], 'epoch')}: '{best_found['architecture']}'")
        error = with_source(best_found["table_validation_error"], best_found["validation_measured"])
        regret = with_source(best_found["test_regret"], best_found["test_measured"])
        print_line(f"{guide.capitalize()} error {error}, test regret {regret}")
    print_line(f"Record: {folder}; picture: {folder / picture_name(TRAJECTORY, format)}")


def _shorten(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _plan(brackets: Brackets) -> str:
    """Return the number of planned searches and their epochs in words."""
    *others, largest = map(str, brackets.budgets)
    epochs = f"{', '.join(others)} or {largest} epochs" if others else counted(brackets.max_budget, "epoch")
    return f"{counted(brackets.planned, 'search')} of {epochs}"


def _random_text(brackets: Brackets, needed: int) -> str:
    """Return a sentence about the random configurations before a model has enough observations of one budget."""
    most = max(brackets.searches.values())
    only = f"; in this study, at most {most} will have, so no model is fitted" if most < needed else ""
    return (
        f"Until {needed} searches of the same number of epochs have ended, all configurations but the first, the "
        f"default, are random{only}."
    )


def _repeat(repeat: str) -> str:
    return "mean over its repeats" if repeat == "mean" else "one random repeat"


def _ranges(study: Study) -> list[str]:
    """Return the hyperparameters in words, numbers with their ranges."""
    found = []
    for hyperparameter in to_json(study.config_space)["hyperparameters"]:
        bounds = [f"{hyperparameter[end]:g}" for end in ("lower", "upper") if end in hyperparameter]
        scale = " (log)" if hyperparameter.get("log") else ""
        found.append(f"{hyperparameter['name']} {' to '.join(bounds)}".rstrip() + scale)
    return found
