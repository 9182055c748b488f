"""What the jobs of a figure need: their expected time on this machine, and their plan."""

from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping, Sequence

from nasbench1shot1.experiments.planning.plan import Plan, Row, duration_note, image_notes
from nasbench1shot1.experiments.reproduction.kinds import FigureJob, Pace
from nasbench1shot1.ground.errors import UserError
from nasbench1shot1.ground.text import duration
from nasbench1shot1.jobs.job import Workers
from nasbench1shot1.jobs.pool import makespan
from nasbench1shot1.runs.work import Work

Counts = MutableMapping[Pace, Work]
"""Work of a whole run, by `FigureJob.task`."""
Report = Callable[[str], None]
"""Receives what is being done, in words."""
START_UP = 5.0
"""Seconds for a process to start, and to draw a picture at the end; measured on two CPU cores."""
Paces = Mapping[Pace, float]
"""Expected seconds of a unit, such as an epoch, by `FigureJob.pace`."""


# Time -----------------------------------------------------------------------------------------------------------------


def seconds_of_unit(job: FigureJob) -> float:
    """Time a few steps of a job, and return the expected seconds of a unit, such as an epoch."""
    return job.of.seconds(job)


def measure(jobs: Sequence[FigureJob]) -> dict[Pace, float]:
    """Time a few steps of every kind of job on this machine; official images may be missing."""
    return {pace: seconds_of_unit(job) for pace, job in first_of_each_pace(jobs).items()}


def first_of_each_pace(jobs: Sequence[FigureJob]) -> dict[Pace, FigureJob]:
    """Return the jobs whose steps are timed, by pace."""
    found = dict[Pace, FigureJob]()
    for job in jobs:
        found.setdefault(job.pace, job)
    return found


def seconds_left(job: FigureJob, paces: Paces, done: int) -> float:
    """Return the remaining seconds of a job after `done` units, including the start of its process."""
    return START_UP + (job.units - done) * paces[job.pace]


def by_stage(jobs: Sequence[FigureJob]) -> list[list[FigureJob]]:
    """Return jobs by stage, in their order."""
    return [[job for job in jobs if job.stage == stage] for stage in sorted({job.stage for job in jobs})]


def describe_time(jobs: Sequence[FigureJob], paces: Paces, workers: int) -> str:
    """Return the expected duration of unfinished jobs in a sentence.

    Args:
        jobs: at least one job.
        paces: what `measure` returned for the jobs.
        workers: number of jobs that run at the same time.
    """
    lengths = ([seconds_left(job, paces, job.units_done()) for job in stage] for stage in by_stage(jobs))
    return f"This will take {duration(sum(makespan(seconds, workers) for seconds in lengths))}."


# Plans ----------------------------------------------------------------------------------------------------------------


def no_report(text: str) -> None:
    """Ignore what is being done."""


def count(jobs: Iterable[FigureJob], counts: Counts, report: Report) -> None:
    """Count the work of jobs, unless work of equal jobs is known already. Official images may be missing."""
    new = {job.task: job for job in jobs if job.task not in counts}
    for task, job in _reported("Counting the work of", new, report):
        counts[task] = job.of.work(job)


def _reported(doing: str, jobs: Mapping[Pace, FigureJob], report: Report) -> Iterator[tuple[Pace, FigureJob]]:
    """Iterate over jobs by key; report what is being done, and each of several jobs when it begins."""
    if jobs:
        report(f"{doing} {'the run' if len(jobs) == 1 else f'{len(jobs)} kinds of runs'} …")
    for number, (key, job) in enumerate(jobs.items(), start=1):
        if len(jobs) > 1:
            report(f"{number}/{len(jobs)} {job.panel}/{job.curve}, {job.of.nouns[0]} of {job.extent}")
        yield key, job


def time_steps(jobs: Mapping[Pace, FigureJob], workers: Workers, report: Report) -> tuple[dict[Pace, float], list[str]]:
    """Time a few steps of jobs where they would run, as far as the tables there allow; images may be missing.

    Return the seconds of a unit by pace, and why the steps of the other jobs could not be timed.
    """
    paces, failures = dict[Pace, float](), list[str]()
    for pace, job in _reported("Timing steps of", jobs, report):
        try:
            paces[pace] = workers.call(seconds_of_unit, job)
        except UserError as error:
            failures.append(error.for_command_line)
    return paces, failures


def figure_plan(
    title: str,
    jobs: Sequence[FigureJob],
    counts: Counts,
    gpus: Sequence[str],
    workers: Workers | None,
    report: Report = no_report,
    parts: Sequence[float] = (),
) -> Plan:
    """Return the plan of unfinished jobs, with a row for each curve and kind of run.

    Args:
        title: the title of the plan.
        jobs: the jobs, at least one.
        counts: the work of equal jobs, if it is known; what is counted is added.
        gpus: names of GPUs.
        workers: where steps are timed; None if they are not timed.
        report: receives what is being done, in words.
        parts: the relative lengths of the parts of a single job that its workers share, such as the searches of a
            study. Default: each worker runs whole jobs.
    """
    count(jobs, counts, report)
    timed = first_of_each_pace(jobs)
    paces, failures = ({}, []) if workers is None else time_steps(timed, workers, report)
    expected = {job.name: _expected_seconds(job, counts, paces, timed) for job in jobs}
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
    notes = [f"Some steps could not be timed: {message}." for message in dict.fromkeys(failures)]
    if workers is not None:
        notes += _duration(jobs, expected, workers.count, parts)
    notes += image_notes((str((job.search or job.options).get("images")) for job in jobs), workers is not None)
    return Plan(title, tuple(rows), tuple(gpus), tuple(notes))


def _duration(
    jobs: Sequence[FigureJob], expected: Mapping[str, float | None], at_once: int, parts: Sequence[float]
) -> list[str]:
    """Return how long jobs take with their workers in a sentence; nothing if a time is unknown."""
    if None in expected.values():
        return []
    stages = [[expected[job.name] or 0.0 for job in stage] for stage in by_stage(jobs)]
    if parts:
        ((of_job,),) = stages
        stages = [[of_job * part / sum(parts) for part in parts]]
    return [duration_note(sum(makespan(stage, at_once) for stage in stages), min(at_once, sum(map(len, stages))))]


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
