"""Trainings of several networks with several seeds: one folder of ordinary trainings, and a table of their results."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nasbench1shot1.benchmark import benchmark
from nasbench1shot1.cell_training.group import ARCHITECTURE, FOLDER, TrainingGroup, decoded_network
from nasbench1shot1.cell_training.lists import Listed, listed, networks_of, recipes_of
from nasbench1shot1.cell_training.options import TrainingOptions
from nasbench1shot1.cell_training.record import Training, load_training
from nasbench1shot1.cell_training.training import architecture_text, train_cell
from nasbench1shot1.ground.arguments import options_by_keyword
from nasbench1shot1.ground.errors import InvalidInputError, UserError, either, option, quoted_option
from nasbench1shot1.ground.files import as_path, write_json
from nasbench1shot1.ground.text import counted, duration, line_printer
from nasbench1shot1.jobs.job import Job, Workers, is_finished, is_started
from nasbench1shot1.jobs.pool import WorkerOptions, makespan, run_jobs
from nasbench1shot1.jobs.process import usable_cores
from nasbench1shot1.jobs.progress import JobsProgress
from nasbench1shot1.registry import check_importable
from nasbench1shot1.runs.folder import TRAININGS
from nasbench1shot1.runs.lifecycle import list_names, locked_folder, occupied_error
from nasbench1shot1.runs.machine import check_recorded_device, check_threads, cpu_threads
from nasbench1shot1.runs.options import check_unchanged, checked_seeds
from nasbench1shot1.runs.running import check_equal_options

if TYPE_CHECKING:
    from rich.console import Console

    from nasbench1shot1.cell_training.recipe import Recipe
    from nasbench1shot1.tables.table import Table

TRAINING = "nasbench1shot1.cell_training.several:train_listed"
"""What a worker runs, as module:function."""
OF_MACHINE = ("threads", "device")
"""Options whose defaults depend on the machine: a group keeps its own when it continues elsewhere."""


@options_by_keyword("nb.train_cells(architectures, seeds=[0, 1, 2], epochs=12)")
def train_cells(
    architectures: Sequence[Any],
    *,
    seeds: Sequence[int] = (0,),
    out: str | Path | None = None,
    into: str | Path | None = None,
    table: "Table | None" = None,
    console: "Console | None" = None,
    **options: Any,
) -> TrainingGroup:
    """Train the networks of several architectures with several seeds, each as `train_cell` does.

    Trainings are in `out/<network>/seed-<seed>`. A second call with the same `out` continues the group: finished
    trainings are kept, and stopped ones are resumed. `architectures` and `seeds` may then have more entries than
    before. All trainings of a group have the same options. To use other options, such as another learning rate, choose
    another `out`.

    Args:
        architectures: distinct architectures of one benchmark; each as in `train_cell`, or an official index.
        seeds: the random seeds.
        out: folder of the trainings. Default: `runs/trainings`.
        into: folder of a table with the results, which is written once all trainings are finished. It must not exist,
            unless it contains an earlier table of these trainings. Default: no table is written.
        table: the table in which hashes and indices are looked up. Default: the table of the listed architectures; the
            table in use if there are only hashes and indices.
        console: a rich console for the output. Default: a new console.
        options: options of every training, as in `train_cell`, except that `evaluate_every` is 1 by default, to record
            learning curves. The fields of `jobs.pool.WorkerOptions`, such as workers=2, select where the
            trainings run. Default: in this process, one after another.

    Returns:
        The group, a sequence of its trainings, with `table()` and `to_frame()`.

    Raises:
        UserError: an architecture or option is invalid, or two architectures are the same network (nothing is written);
            or trainings failed, after all others are finished.
        KeyboardInterrupt: Ctrl-C; the message explains how to continue.
    """
    return train_list(listed(architectures), seeds=seeds, out=out, into=into, table=table, console=console, **options)


def train_list(
    entries: Sequence[Listed],
    *,
    seeds: Sequence[int],
    out: str | Path | None,
    into: str | Path | None,
    table: "Table | None",
    console: "Console | None",
    **options: Any,
) -> TrainingGroup:
    """Train the networks of a list whose entries know their places, such as the lines of a file; see `train_cells`."""
    from nasbench1shot1.ground.notebooks import console_or_new

    workers, options = WorkerOptions.split(options)
    console = console_or_new(console)
    folder = as_path(out, "out", is_option=True) if out is not None else Path("runs") / "trainings"
    plan = plan_trainings(entries, seeds, folder, table, workers, options)
    target = None if into is None else as_path(into, "into", is_option=True)
    if target is not None:
        check_table_folder(target, plan.group)
    state = plan.check()
    with workers.open_or_here(plan.config.device, int(plan.config.threads or 1), console) as places:
        _announce(plan, places.count, state, console)
        with cpu_threads(plan.config.threads):  # trainings in this process
            failures = _run(plan, places, console)
    if failures:
        name, message = next(iter(failures.items()))
        failed = f"{len(failures)} of {counted(len(plan.jobs), 'training')} failed, the first being {name} ({message})"
        raise UserError(
            f"{failed}: fix the cause and {either('run the same command again', 'repeat the call')}, or read the "
            f"finished trainings with nb.open_run('{folder}')"
        )
    group = TrainingGroup.open(folder)
    if target is not None:
        _write_table(group, target, console)
    return group


def train_listed(
    network: Mapping[str, Any],
    family: str,
    *,
    out: str | Path | None = None,
    resume: str | Path | None = None,
    **options: Any,
) -> Training:
    """Train one network of a group; what a worker runs.

    Args:
        network: an entry of `TrainingGroup.networks`.
        family: name of the benchmark.
        out, resume, options: as in `train_cell`.
    """
    place = Path(str(resume if out is None else out))
    x = decoded_network(benchmark(family), network, place.parent.parent)
    return train_cell(x, out=out, resume=resume, **options)


# The plan: which trainings there are ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Plan:
    """The trainings of a group before anything is written.

    Attributes:
        group: the group as it will be recorded.
        config: the options of the first seed.
        networks: the architectures and cells, in the order of `group.networks`.
        jobs: a job for every training, seed by seed.
    """

    group: TrainingGroup
    config: TrainingOptions
    networks: list[Any]
    jobs: list[Job]

    @property
    def todo(self) -> list[Job]:
        """The jobs that are not finished."""
        return [job for job in self.jobs if not job.is_finished]

    def check(self) -> Any:
        """Return the state of the first training before its first step; raises the errors that it would raise."""
        from nasbench1shot1.cell_training.loop import begin

        with cpu_threads(self.config.threads):
            return begin(self.networks[0], self.config)


def plan_trainings(
    entries: Sequence[Listed],
    seeds: Sequence[int],
    folder: Path,
    table: "Table | None",
    workers: WorkerOptions,
    given: Mapping[str, Any],
) -> Plan:
    """Check everything that can be checked without images, and return what has to run; nothing is written."""
    seeds = tuple(sorted(checked_seeds(seeds)))
    if "seed" in given:
        raise InvalidInputError(f"{option('seed')} sets a single seed: remove it, and give {option('seeds')}")
    found, networks = networks_of(entries, table)
    recorded = _recorded(folder)
    defaults: dict[str, Any] = {"evaluate_every": 1}
    if recorded is not None:
        check_recorded_device(folder, recorded.options.get("device"))
        defaults |= {name: recorded.options[name] for name in OF_MACHINE if name in recorded.options}
    elif workers.workers not in (None, 1):
        defaults["threads"] = max(usable_cores() // int(workers.workers or 1), 1)
    known = {name: value for name, value in given.items() if value is not None}
    options = found.load("training").from_options({**defaults, **known, "seed": seeds[0]})
    if recorded is None:
        check_threads(options.threads)
    shared = {name: value for name, value in options.as_dict().items() if name != "seed"}
    methods = recipes_of(entries, networks, options)
    recorded_networks = tuple(_entry(network, method) for network, method in zip(networks, methods, strict=True))
    group = TrainingGroup(folder, found, recorded_networks, seeds, shared)
    if not workers.is_here:
        check_importable(found.name, "benchmark")
    if recorded is not None:
        _check_continues(recorded, group)
    jobs = [_job(group, options, *place) for place in group.places()]
    for job in jobs:
        if is_started(job.folder):
            check_unchanged(job.folder, load_training(job.folder).config, {**shared, "seed": job.options["seed"]}, ())
    return Plan(group, options, networks, jobs)


def _recorded(folder: Path) -> TrainingGroup | None:
    """Return the group in a folder; None if the folder is new. Raises InvalidInputError if it holds anything else."""
    names = list_names(folder)
    if TRAININGS in names:
        return TrainingGroup.open(folder)
    if names or (folder.exists() and not folder.is_dir()):
        raise occupied_error(folder, is_started(folder), is_finished(folder))
    return None


def _check_continues(recorded: TrainingGroup, group: TrainingGroup) -> None:
    """Raise InvalidInputError unless a group has the recorded options, and all recorded networks and seeds."""
    where = recorded.folder
    if recorded.benchmark is not group.benchmark:
        raise InvalidInputError(
            f"'{where}' holds trainings of {recorded.benchmark.title}: choose another {option('out')}"
        )
    check_equal_options(where, recorded.options, group.options, "group of trainings")
    ours = {entry[FOLDER]: _identity(entry) for entry in group.networks}
    for entry in recorded.networks:
        if entry[FOLDER] not in ours:
            raise InvalidInputError(
                f"'{where}' also trains {entry[FOLDER]}, which the list lacks: add it, or choose another "
                f"{option('out')}"
            )
        if ours[entry[FOLDER]] != _identity(entry):
            raise InvalidInputError(
                f"'{where}' trains {entry[FOLDER]} with another numbering of its vertices: give the architecture as "
                f"before, or choose another {option('out')}"
            )
    if lacking := sorted(set(recorded.seeds) - set(group.seeds)):
        raise InvalidInputError(
            f"'{where}' also has the seed {lacking[0]}: add it to {option('seeds')}, or choose another {option('out')}"
        )


def _entry(network: Any, method: "Recipe") -> dict[str, Any]:
    """Return the entry of a network in trainings.json."""
    return {FOLDER: method.folder, ARCHITECTURE: architecture_text(network), **method.facts}


def _identity(entry: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of an entry that determine the network: another text may mean the same cell."""
    return {name: value for name, value in entry.items() if name != ARCHITECTURE}


def _job(group: TrainingGroup, config: TrainingOptions, network: Mapping[str, Any], seed: int, folder: Path) -> Job:
    options = {"network": dict(network), "family": group.benchmark.name, **group.options, "seed": seed}
    return Job(
        name=f"{network[FOLDER]}/seed-{seed}",
        command=TRAINING,
        folder=folder,
        options=options,
        resume_options=options,
        threads=config.threads,
        gpu=config.device != "cpu",
    )


# The table ------------------------------------------------------------------------------------------------------------


def check_table_folder(folder: Path, group: TrainingGroup) -> None:
    """Raise InvalidInputError if a folder contains trainings, or anything but a table that a group's table can replace.

    Such a table has trainings with the same options and images, and no network or seed that the group lacks. Errors of
    writing are also raised.
    """
    from nasbench1shot1.cell_training.tabulating import shared_options
    from nasbench1shot1.tables.folder import META
    from nasbench1shot1.tables.table import load_table
    from nasbench1shot1.tables.writing import check_target

    where = folder.resolve()
    for place in (group.folder, *(of_training for _, _, of_training in group.places())):
        if where in (place.resolve(), *place.resolve().parents):
            raise InvalidInputError(
                f"{quoted_option('into', folder)} contains the trainings, or will contain them: choose another "
                f"{option('into')}"
            )
    check_target(folder)
    if not (folder / META).is_file():
        return
    old = load_table(str(folder.absolute()))
    made = old.info().get("trainings")
    made = made if isinstance(made, dict) else {}
    options = shared_options(made["options"]) if "options" in made else None
    images = {training.config["images_sha256"] for training in group.runs}  # none before the first training
    has_images = not images or images == set(made.get("images_sha256", ()))
    ours = {_identifier(group.network(entry)) for entry in group.networks}
    is_part = set(old.hashes(range(len(old)))) <= ours and set(old.seeds) <= set(group.seeds)
    if options != shared_options(group.options) or not has_images or not is_part:
        raise InvalidInputError(
            f"'{folder}' contains the table {old.id}, which is not an earlier table of these trainings: choose another "
            f"{option('into')}"
        )


def _identifier(network: Any) -> str:
    """Return the identifier of an architecture or a cell in tables."""
    return str(network.network_id if hasattr(network, "network_id") else network.hash)


def _write_table(group: TrainingGroup, folder: Path, console: "Console") -> None:
    table = group.table(folder.resolve().name)
    check_table_folder(folder, group)  # now the images of the trainings are known
    table.save(folder)
    line_printer(console)(f"Table {table.id}: {folder}")


# Running --------------------------------------------------------------------------------------------------------------


def _announce(plan: Plan, workers: int, state: Any, console: "Console") -> None:
    """Print what is trained, how much is finished, and how long the rest takes."""
    print_line, group, todo = line_printer(console), plan.group, plan.todo
    networks = f"{len(group.networks)} {group.benchmark.networks[len(group.networks) != 1]}"
    epochs, finished = counted(plan.config.epochs, "epoch"), len(plan.jobs) - len(todo)
    print_line(
        f"{networks} × {counted(len(group.seeds), 'seed')}: {counted(len(plan.jobs), 'training')} of {epochs}, into "
        f"{group.folder}; {finished} finished"
    )
    print_line(f"{plan.config.scale} scale, {state.parts.description}")
    if todo and not console.quiet:  # steps are timed for this line
        at_once = min(workers, len(todo))
        seconds = makespan([_seconds(plan)] * len(todo), at_once)
        print_line(f"{counted(len(todo), 'training')} to go, {at_once} at once: this will take {duration(seconds)}.")


def _seconds(plan: Plan) -> float:
    """Return the expected seconds of a training: the mean over a few networks, from timed steps."""
    from nasbench1shot1.cell_training.work import measured_networks, seconds_of_training

    seconds = [seconds_of_training(network, plan.config) for network in measured_networks(plan.networks)]
    return sum(seconds) / len(seconds)


def _run(plan: Plan, workers: Workers, console: "Console") -> dict[str, str]:
    """Run the jobs; return the reasons of failures by name."""
    group = plan.group
    try:
        with locked_folder(group.folder):
            if (group.folder / TRAININGS).is_file():
                _check_continues(TrainingGroup.open(group.folder), group)  # again: no other process writes there now
            write_json(group.folder / TRAININGS, group.content())
            with TrainingsProgress(plan.todo, console) as watcher:
                return run_jobs(plan.todo, workers, watcher)
    except KeyboardInterrupt as stop:
        kept = f"finished trainings stay in {group.folder}"
        raise KeyboardInterrupt(f"stopped; {kept}: repeat the command or the call to continue") from stop


class TrainingsProgress(JobsProgress[Job]):
    """Shows a bar over all trainings, and prints a line for each training that ends; a context manager."""

    def __init__(self, jobs: Sequence[Job], console: "Console") -> None:
        super().__init__(jobs, console)
        self._task = self._bar.add_task("", total=len(jobs))

    def tick(self, waiting: Sequence[Job]) -> None:
        """Move the bar to the number of trainings that have ended."""
        self._bar.update(self._task, completed=len(self._ended), description=f"training {self.count}")
