"""The searches of a study, each with a number and recorded as one line, by this process or in parts by others.

Each search depends only on the study's options and its own number, so the merged record of separate processes equals
the record of a single process. Until a part of consecutive searches is merged, it has its own folder in the study's
folder. For example, `parts/00050-25` holds 25 searches from number 50.
"""

import math
import shutil
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from nasbench1shot1.architecture import Architecture
from nasbench1shot1.black_box_optimizer import BlackBoxOptimizer
from nasbench1shot1.black_box_search.goal import Goal
from nasbench1shot1.black_box_search.options import BlackBoxOptions, recorded_study
from nasbench1shot1.black_box_search.record import BlackBoxStudy, StudyPart, part_folder, started_parts
from nasbench1shot1.black_box_search.simulation import Incumbent, Limits, SearchResult, TableTrainings, simulate
from nasbench1shot1.evaluator import Score, score, scores_on_other_datasets
from nasbench1shot1.ground.errors import InvalidInputError, OutOfDomainError, UserError, alternatives
from nasbench1shot1.jobs.job import Job, Workers
from nasbench1shot1.jobs.pool import Watcher, open_workers, run_jobs, this_machine
from nasbench1shot1.registry import search_space
from nasbench1shot1.runs.folder import CONFIG, METRICS, PARTS, check_facts, count_lines, description, read_lines
from nasbench1shot1.runs.lifecycle import existing_run, new_run
from nasbench1shot1.runs.next_command import resume_options
from nasbench1shot1.runs.writer import RunWriter
from nasbench1shot1.space import SearchSpace
from nasbench1shot1.tables.description import Objective
from nasbench1shot1.tables.table import Table, table_for

SEARCHES = 125
"""Maximum number of searches in a part. A process takes a second to start, and only whole parts are merged."""


@dataclass(frozen=True, eq=False)
class Repeats:
    """The searches of a study, each determined by the study's options and its own number.

    Attributes:
        options: the options of the study.
        table: the table in use.
    """

    options: BlackBoxOptions
    table: Table

    @cached_property
    def space(self) -> SearchSpace:
        """The search space."""
        return search_space(self.options.common.space)

    @cached_property
    def objective(self) -> Objective:
        """The metrics that guide and judge the searches, and their trainings."""
        return self.table.objective(self.options.common.dataset, self.options.common.objective)

    @cached_property
    def goal(self) -> Goal:
        """The descriptions of the metrics that guide and judge the searches."""
        return Goal.from_objective(self.table, self.objective)

    def check_objective(self) -> None:
        """Check the option `objective`, if it is given, before the first search.

        Raises:
            InvalidInputError: neither high nor low values of the metric are better.
            OutOfDomainError: the table lacks the metric for all networks of the space, at all budgets or at `epochs`.
        """
        if self.options.common.objective is None:
            return
        about, table, space = self.goal.guide, self.table, self.space.name
        about.cost(0.0)  # raises for a metric without a direction
        values = table.stored(about.metric, self.objective.validation)
        rows = table.members(space)
        known = [epochs for epochs in table.epochs if values and np.isfinite(values.values(rows, epochs, "all")).any()]
        if not known:
            raise OutOfDomainError(
                f"the table {table.id} has no {about.words} of any network of {space}: choose another --objective or "
                "--table"
            )
        if self.epochs not in known:
            raise OutOfDomainError(
                f"the table {table.id} has the {about.words} of {space} only at {alternatives(known)} epochs, not at "
                f"{self.epochs}: give --epochs {known[-1]}"
            )

    @cached_property
    def limits(self) -> Limits:
        """The limits of each search."""
        config = self.options.common
        ends = {name: value for name in ("seconds", "evaluations") if (value := getattr(config, name)) is not None}
        return Limits(workers=config.simulated_workers, decision_seconds=config.decision_seconds, **ends)

    @cached_property
    def _scores(self) -> dict[str, Score]:
        return {}

    def line(self, repeat: int) -> dict[str, Any]:
        """Run the search with a given number and return its line of metrics.jsonl.

        Raises:
            UserError: no training ends within the time limit, or the table lacks a value.
        """
        found = self.search(repeat)
        if not found.incumbents:
            raise self._no_training_error(repeat, found)
        best = found.incumbents[-1]
        scored, config = self.score(best.architecture), self.options.common
        return {
            "repeat": repeat,
            "architecture": str(best.architecture),
            "validation_error": best.validation_error,
            "test_error": scored.table_test_error,
            "test_regret": scored.test_regret,
            "validation_regret": scored.validation_regret,
            "test_measured": scored.test_measured,
            "evaluations": found.evaluations,
            "simulated_seconds": found.seconds,
            "other_datasets": scores_on_other_datasets(best.architecture, self.table, config.dataset, config.objective),
            "incumbents": [self._entry(incumbent) for incumbent in found.incumbents],
        }

    def _no_training_error(self, repeat: int, found: SearchResult) -> InvalidInputError:
        """Return the error for a search in which no training ended."""
        if not found.started:
            name = self.options.method.__name__
            return InvalidInputError(f"{name}.ask() returned None before any training: return a Query")
        return InvalidInputError(
            f"no training of search {repeat} ended within {self.limits.seconds:g} simulated seconds: increase --seconds"
        )

    def search(self, repeat: int) -> SearchResult:
        """Run the search with a given number. Its optimizer and its table use separate random generators."""
        config = self.options.common
        streams = np.random.SeedSequence((config.seed, repeat)).spawn(2)
        own, drawn = (np.random.default_rng(stream) for stream in streams)
        method = self.method(own)
        trainings = TableTrainings(self.space, self.table, config.dataset, drawn, config.deduplicate, config.objective)
        return simulate(method, trainings, self.limits)

    def method(self, rng: np.random.Generator) -> BlackBoxOptimizer:
        """Return a search's optimizer. Raises UserError if it lacks a package or refuses the space or budgets."""
        return self.options.method(self.space, self.options.own, self.epochs, self.budgets, rng)

    @property
    def epochs(self) -> int:
        """The training epochs of methods with a single budget."""
        return self.options.common.epochs or self.table.full_budget

    @cached_property
    def budgets(self) -> tuple[int, ...]:
        """The budgets of methods with several budgets: those at which most networks have the observed metric.

        On CIFAR-100 and ImageNet16-120, the table of NAS-Bench-201 has validation accuracies after 200 epochs for only
        a few networks.
        """
        guide, training = self.objective.validation_metric, self.objective.validation
        return self.table.epochs_of(guide, training) or self.table.epochs

    def score(self, arch: Architecture) -> Score:
        """Return the table's values of an architecture after full training; results are cached.

        Raises InvalidInputError for an architecture outside the space. The table itself identifies only the network.
        """
        if (text := str(arch)) not in self._scores:
            self.space.index(arch)
            self._scores[text] = score(arch, self.table, self.options.common.dataset, self.options.common.objective)
        return self._scores[text]

    def _entry(self, incumbent: Incumbent) -> list[Any]:
        """Return an incumbent as a list, in the order of `record.INCUMBENT`."""
        scored = self.score(incumbent.architecture)
        return [
            incumbent.seconds,
            incumbent.evaluations,
            str(incumbent.architecture),
            incumbent.validation_error,
            scored.table_test_error,
            scored.test_regret,
        ]


def table_of_study(options: BlackBoxOptions) -> Table:
    """Open the table of a study, with the networks of its space as a reference; raises the errors of `table_for`."""
    config = options.common
    return table_for(search_space(config.space), config.table, config.reference)


def with_dataset(options: BlackBoxOptions, table: Table) -> BlackBoxOptions:
    """Return the options with the data set filled in; the default is the table's first data set.

    Raises OutOfDomainError if the table lacks the budget or the data set of the options.
    """
    config = options.common
    if config.dataset not in (None, *(found := [objective.dataset for objective in table.objectives])):
        raise OutOfDomainError(
            f"the table {table.id} has no values for searches on {config.dataset}: choose {alternatives(found)}"
        )
    if config.epochs is not None:
        table.fidelity(config.epochs)  # raises OutOfDomainError for a missing budget
    return replace(options, common=replace(config, dataset=table.objective(config.dataset).dataset))


@dataclass(frozen=True)
class Places:
    """Where the searches of a study run.

    Attributes:
        workers: number of processes on this machine. Default: only this process.
        scheduler: address of a dask scheduler whose workers run the searches instead.
    """

    workers: int | None = None
    scheduler: str | None = None

    @property
    def is_local(self) -> bool:
        """Whether all searches run in this process."""
        return self.scheduler is None and self.workers in (None, 1)


class Progress(Protocol):
    """Receives the number of finished searches."""

    def recorded(self, searches: int) -> None:
        """Receive the number of finished searches, merged or still in parts."""


def run_parts(
    options: BlackBoxOptions, writer: RunWriter[BlackBoxStudy], last: int, places: Places, progress: Progress
) -> None:
    """Run all searches that are not recorded yet, up to but excluding `last`, and append their lines in order.

    Raises UserError if a part fails. All lines before the first missing line are recorded.
    """
    with _workers(places) as workers:
        spans = divide(started_parts(writer.folder), writer.recorded, last, workers.count)
        jobs = [_job(options, writer.folder, first, count) for first, count in spans]
        merging = _Merging(writer, jobs, progress)
        failures = run_jobs(jobs, workers, merging)
    merging.merge()
    if failures:
        name, sentence = next(iter(failures.items()))
        started = writer.recorded or any(read_lines(job.folder / METRICS) for job in jobs)
        advice = f"continue with {resume_options(writer.folder)}" if started else "start the study again"
        raise UserError(f"{name} failed ({sentence}): fix the cause, then {advice}")
    shutil.rmtree(writer.folder / PARTS, ignore_errors=True)


def _workers(places: Places) -> AbstractContextManager[Workers]:
    if places.scheduler is None:
        return this_machine([{}] * (places.workers or 1))
    return open_workers(places.scheduler, places.workers, "cpu", 1)


def divide(started: Sequence[tuple[int, int]], recorded: int, last: int, workers: int) -> list[tuple[int, int]]:
    """Divide the searches `recorded` to `last` - 1 into parts, keeping the parts that have begun.

    New parts have at most `SEARCHES` searches and are distributed evenly over the workers.

    Args:
        started: first search and number of searches of each part that has started, of any size, in ascending order.
        recorded: number of recorded searches.
        last: number of searches of the study.
        workers: number of workers.

    Returns:
        First search and number of searches of each part, in ascending order.
    """
    rounds = math.ceil((last - recorded) / (workers * SEARCHES))
    size = math.ceil((last - recorded) / (workers * max(rounds, 1)))
    parts: list[tuple[int, int]] = []
    for first, count in [*started, (last, 0)]:
        if recorded < first + count <= last:
            parts += [(start, min(size, first - start)) for start in range(recorded, first, size)]
            parts += [(first, count)] if count else []
            recorded = first + count
    return parts


def _job(options: BlackBoxOptions, study: Path, first: int, count: int) -> Job:
    return Job(
        name=f"searches {first} to {first + count - 1}",
        command="nasbench1shot1.black_box_search.repeats:run_part",
        folder=part_folder(study, first, count),
        options={"study": str(study), "first": first, "count": count, "optimizer": options.common.optimizer},
        threads=1,
    )


class _Merging(Watcher[Job]):
    """Moves the lines of finished parts into the study, in order."""

    def __init__(self, writer: RunWriter[BlackBoxStudy], jobs: Sequence[Job], progress: Progress) -> None:
        self._writer, self._jobs, self._progress = writer, list(jobs), progress

    def tick(self, waiting: Sequence[Job]) -> None:
        """Report the number of finished searches."""
        open_lines = sum(count_lines(job.folder / METRICS) for job in self._jobs)
        self._progress.recorded(self._writer.recorded + open_lines)

    def finished(self, job: Job) -> None:
        """Merge all parts that can be merged."""
        self.merge()

    def merge(self) -> None:
        """Append the lines of finished parts that directly follow the last recorded search."""
        while self._jobs and self._jobs[0].is_finished:
            job = self._jobs.pop(0)
            recorded = self._writer.recorded
            self._writer.append_lines([line for line in StudyPart.read_lines(job.folder) if line["repeat"] >= recorded])
            self._progress.recorded(self._writer.recorded)


def run_part(
    *, out: Path | None = None, resume: Path | None = None, study: str = "", first: int = 0, count: int = 0, **_: Any
) -> None:
    """Run a part in this process: a new part in `out`, or the remaining searches of the part in `resume`.

    Args:
        out: folder of a new part.
        resume: folder of a stopped part; the other arguments are then ignored.
        study: folder of the study.
        first: number of the first search.
        count: number of searches.

    Raises UserError under the conditions of `Repeats.line`.
    """
    if out is not None:
        options = BlackBoxStudy.open(study)
        with new_run(out, RunWriter[StudyPart], StudyPart) as writer:
            facts = {name: options.config[name] for name in ("space_id", "table_id")}
            own = recorded_study(options.config, Path(study) / CONFIG)
            described = {**facts, **options.goal.fields(), "first": first, "count": count}
            writer.describe(description(StudyPart.KIND, own.sections(), described), {})
            _search(own, writer, described)
        return
    assert resume is not None
    with existing_run(resume, RunWriter[StudyPart], StudyPart) as writer:
        part = StudyPart.open(resume)
        writer.keep_complete_lines()
        _search(recorded_study(part.config, resume / CONFIG), writer, part.config)


def _search(options: BlackBoxOptions, writer: RunWriter[StudyPart], facts: Mapping[str, Any]) -> None:
    repeats = Repeats(options, table_of_study(options))
    check_facts(writer.folder, facts, {"space_id": repeats.space.id, "table_id": repeats.table.id})
    for repeat in range(facts["first"] + writer.recorded, facts["first"] + facts["count"]):
        writer.append_line(repeats.line(repeat))
    writer.finish({"first": facts["first"], "count": facts["count"]})
