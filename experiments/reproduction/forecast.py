"""From the jobs of a figure to its plan: their work, and their expected time on this machine."""

from collections.abc import Callable, Iterable, Mapping, MutableMapping, Sequence
from typing import NamedTuple

from nasbench1shot1.experiments.planning.plan import Plan, Row
from nasbench1shot1.experiments.reproduction.kinds import FigureJob, Pace
from nasbench1shot1.experiments.reproduction.progress import START_UP, by_stage, first_of_each_pace, missing_images
from nasbench1shot1.ground.errors import UserError
from nasbench1shot1.ground.text import duration
from nasbench1shot1.jobs.job import Workers
from nasbench1shot1.jobs.makespan import makespan
from nasbench1shot1.runs.work import Work

Counts = MutableMapping[Pace, Work]
"""Work of a whole run, by `FigureJob.task`."""
Report = Callable[[str], None]
"""Receives what is being done, in words."""


def no_report(text: str) -> None:
    """Ignore what is being done."""


class Timing(NamedTuple):
    """Seconds of a unit by pace, as far as steps could be timed, and why the others could not."""

    paces: dict[Pace, float]
    failures: list[str]


def count(jobs: Iterable[FigureJob], counts: Counts, report: Report) -> None:
    """Count the work of jobs, unless work of equal jobs is known already. Official images may be missing."""
    new = {job.task: job for job in jobs if job.task not in counts}
    if new:
        report(f"Counting the work of {_kinds(len(new))} …")
    for task, job in new.items():
        counts[task] = job.of.work(job)


def _kinds(number: int) -> str:
    return "the run" if number == 1 else f"{number} kinds of runs"


def time_steps(jobs: Sequence[FigureJob]) -> Timing:
    """Time a few steps of every kind of job on this machine, as far as its tables allow; images may be missing."""
    found = Timing({}, [])
    for pace, job in first_of_each_pace(jobs).items():
        try:
            found.paces[pace] = job.of.seconds(job)
        except UserError as error:
            found.failures.append(error.for_command_line)
    return found


def figure_plan(
    title: str,
    jobs: Sequence[FigureJob],
    counts: Counts,
    gpus: Sequence[str],
    workers: Workers | None,
    report: Report = no_report,
) -> Plan:
    """Return the plan of unfinished jobs, with a row for each curve and kind of run.

    Args:
        title: the title of the plan.
        jobs: the jobs, at least one.
        counts: the work of equal jobs, if it is known; what is counted is added.
        gpus: names of GPUs.
        workers: where steps are timed; None if they are not timed.
        report: receives what is being done, in words.
    """
    count(jobs, counts, report)
    timed = first_of_each_pace(jobs)
    if workers is not None:
        report(f"Timing steps of {_kinds(len(timed))} …")
    timing = Timing({}, []) if workers is None else workers.call(time_steps, jobs)
    expected = {job.name: _expected_seconds(job, counts, timing.paces, timed) for job in jobs}
    curves = dict[tuple[str, ...], list[FigureJob]]()
    for job in jobs:
        curves.setdefault((job.panel, job.curve, job.kind), []).append(job)
    rows = []
    for (panel, curve, _), own in curves.items():
        work = Work()
        for job in own:
            work = work.followed_by(counts[job.task].repeated(_share_left(job)))
        seconds = [expected[job.name] for job in own]
        known = None if None in seconds else sum(filter(None, seconds))
        rows.append(Row(f"{panel}/{curve}", own[0].of.nouns[0], len(own), work, known))
    notes = [*map(_untimed, dict.fromkeys(timing.failures))]
    if workers is not None:
        notes += [f"Steps are timed on random images of the size of {name}." for name in missing_images(jobs)]
        notes += _duration(jobs, expected, workers.count)
    return Plan(title, tuple(rows), tuple(gpus), tuple(notes))


def _untimed(message: str) -> str:
    return f"Some steps could not be timed: {message}."


def _duration(jobs: Sequence[FigureJob], expected: Mapping[str, float | None], at_once: int) -> list[str]:
    """Return how long jobs take with their workers in a sentence; nothing if a time is unknown."""
    if None in expected.values():
        return []
    lengths = ([expected[job.name] or 0.0 for job in stage] for stage in by_stage(jobs))
    seconds = sum(makespan(stage, at_once) for stage in lengths)
    together = f"With {min(at_once, len(jobs))} runs at once, this" if min(at_once, len(jobs)) > 1 else "This"
    return [f"{together} will take {duration(seconds)} on this machine."]


def _expected_seconds(
    job: FigureJob, counts: Counts, paces: Mapping[Pace, float], timed: Mapping[Pace, FigureJob]
) -> float | None:
    """Return the expected seconds that are left of a job, including the start of its process; None if unknown.

    Of jobs that share a pace, one was timed. The time of the others is proportional to their FLOPs.
    """
    if job.pace not in paces:
        return None
    model = timed[job.pace]
    flops, known = counts[job.task].flops.total, counts[model.task].flops.total
    seconds = model.units * paces[job.pace] * flops / known if known else job.units * paces[job.pace]
    return START_UP + seconds * _share_left(job)


def _share_left(job: FigureJob) -> float:
    return (job.units - job.units_done()) / job.units
