"""A session of a study: from where it was stopped to its end, on this machine and on the machines that join it."""

import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nasbench1shot1.ground.files import picture_name, save_figure
from nasbench1shot1.jobs.job import LOOK_EVERY
from nasbench1shot1.jobs.pool import places
from nasbench1shot1.registry import search_space
from nasbench1shot1.runs.folder import CONFIG, check_facts
from nasbench1shot1.runs.lifecycle import existing_run
from nasbench1shot1.tuning.engine.interfaces import Timing, WorkerProcesses
from nasbench1shot1.tuning.engine.study import local_workers, no_workers, run_study
from nasbench1shot1.tuning.export import write_hpbandster_files
from nasbench1shot1.tuning.record import TRAJECTORY, Study, StudyWriter

if TYPE_CHECKING:
    from rich.console import Console

    from nasbench1shot1.tables.table import Table

EVALUATION = "nasbench1shot1.tuning.evaluation:evaluation"


def run_session(folder: Path, console: "Console | None") -> Study:
    """Run a recorded study to its end; raises as `tuning.tune` does."""
    from nasbench1shot1.ground.notebooks import console_or_new
    from nasbench1shot1.tables.space_table import table_for
    from nasbench1shot1.tuning.result import summarise, trajectory_figure
    from nasbench1shot1.tuning.screen import show_result

    console = console_or_new(console)
    with existing_run(folder, StudyWriter, Study) as writer:
        study = Study.open(folder)
        space, shared = search_space(study.options.space), study.shared_options
        table = table_for(space, shared["table"], shared.get("reference"))
        facts = {"space_id": space.id, "table_id": table.id}
        check_facts(folder, study.config, facts)
        _observe_all(study, table, writer, console)
        study = Study.open(folder)
        write_hpbandster_files(study)  # the process may have been killed between the last observation and its files
        writer.finish(summarise(study, study.lines, table.id))
        save_figure(
            trajectory_figure(study, study.lines, table), folder / picture_name(TRAJECTORY, shared.get("format"))
        )
    study = Study.open(folder)
    show_result(study.summary, study.folder, console, shared.get("format"))
    return study


def wait_for_study(folder: Path, seconds: float) -> Study:
    """Open a study, once its folder holds one; raises InvalidInputError if it does not appear in time."""
    deadline = time.monotonic() + seconds
    while not (folder / CONFIG).is_file() and time.monotonic() < deadline:
        time.sleep(LOOK_EVERY)
    return Study.open(folder)


def _observe_all(study: Study, table: "Table", writer: StudyWriter, console: "Console") -> None:
    """Observe every planned search that is not recorded yet."""
    from nasbench1shot1.tuning.recording import StudyRecorder, recorded_lines
    from nasbench1shot1.tuning.screen import StudyScreen, announce

    options, brackets = study.options, study.options.brackets
    lines = recorded_lines(writer)
    announce(study, table, brackets, len(lines), console)
    with StudyScreen(brackets, lines, console) as screen:
        run_study(
            study.folder,
            study.config_space,
            brackets,
            StudyRecorder(writer, lines, table, screen),
            _workers(study),
            seed=options.seed,
            tuner=options.tuner,
            host=options.host,
            port=options.port,
            timing=Timing(wait_for_workers=options.wait_for_workers),
        )


def _workers(study: Study) -> Callable[[], AbstractContextManager[WorkerProcesses]]:
    """Return what starts the study's workers on this machine."""
    import torch

    wanted, shared = study.options.workers, study.shared_options
    if not wanted:
        return no_workers
    where = places(wanted, shared["device"], shared["threads"], torch.cuda.device_count())
    arguments: tuple[Any, ...] = (study.folder, EVALUATION, where, shared["threads"])
    return partial(local_workers, *arguments)
