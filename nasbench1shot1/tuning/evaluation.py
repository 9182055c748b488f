"""The evaluation of a trial: a search in the study's folder, and the objective of the study.

A study minimizes the table's validation error of the architecture that a search returns, never the one-shot error.
Source: NAS-Bench-1Shot1 (Zela, Siems and Hutter, ICLR 2020), section 5; the published code looks up one random repeat
(optimizers/bohb_one_shot, worker.py).

The process that runs `nb1shot1 tune` reads the outcomes from the folders of the searches. A worker only searches.
"""

import math
import shutil
from pathlib import Path
from typing import Any, Literal

import numpy as np

from nasbench1shot1.architecture import Architecture
from nasbench1shot1.ground.errors import DivergedError, InvalidInputError, UserError, option
from nasbench1shot1.ground.files import atomic_write, open_regular, write_json
from nasbench1shot1.jobs.cluster import PATIENCE
from nasbench1shot1.jobs.job import Ended, is_finished, is_started, wait_until_free
from nasbench1shot1.jobs.process import DIVERGED, one_line_error
from nasbench1shot1.one_shot_search.options import search_options
from nasbench1shot1.one_shot_search.record import PARAMETERS, Run, open_search
from nasbench1shot1.one_shot_search.searching import SearchKind, search
from nasbench1shot1.registry import one_shot, search_space
from nasbench1shot1.runs.folder import CHECKPOINT, CONFIG, ENVIRONMENT, METRICS, read_object
from nasbench1shot1.runs.lifecycle import locked_folder
from nasbench1shot1.runs.next_command import resume_command
from nasbench1shot1.runs.running import start_run
from nasbench1shot1.tables.keys import Item
from nasbench1shot1.tables.table import Table
from nasbench1shot1.tuning.options import study_settings
from nasbench1shot1.tuning.record import Study, folder_of
from nasbench1shot1.tuning.trials import Outcome, Trial, TrialJob

FAILURE = "failure.json"
"""File in the folder of a search that diverged, with the error message."""
COMMAND = "nasbench1shot1.tuning.evaluation:search_trial"
COPIED = (ENVIRONMENT, METRICS, PARAMETERS, CHECKPOINT, CONFIG)
"""Files of a search that another search continues. config.json comes last: with it, a folder can be resumed."""


def trial_job(study: Study, trial: Trial) -> TrialJob:
    """Return the search of a trial as a job."""
    shorter = _shorter_search(study, trial)
    options = {
        **study.shared_options,
        **study_settings(study.options, trial.epochs),
        **trial.configuration,
        **({"continues": str(shorter)} if shorter else {}),
    }
    return TrialJob(
        name=trial.name,
        command=COMMAND,
        folder=(study.folder / folder_of(trial.configuration_id, trial.epochs)).absolute(),
        options=options,
        resume_options={"epochs": trial.epochs},
        threads=options["threads"],
        gpu=options["device"] != "cpu",
        trial=trial,
    )


def trial_outcome(study: Study, table: Table, job: TrialJob, end: Ended) -> Outcome:
    """Return the objective of a search that has ended, with the values `architecture` and `search_seconds`.

    A search that diverged, or whose record cannot be read, has no loss.

    Raises:
        UserError: the search failed for another reason, which would also fail other trials; it names the log, if any.
        InvalidInputError: the table of its worker is not the study's table.
        OutOfDomainError: the table has no row for the architecture.
    """
    if end.error == DIVERGED:
        return Outcome(None, UserError(end.failure).for_command_line, {"search_seconds": _seconds_of(job.folder)})
    if end.failure:
        output = f"its output is in {job.log}; " if job.log.is_file() else ""  # a refused job has none
        raise UserError(
            f"the search of {job.name} failed ({end.failure}): {output}fix the cause, then continue with "
            f"{resume_command(study.COMMAND, study.folder)}"
        )
    try:
        run = open_search(job.folder)
        found, arch = run.config["table_id"], Architecture.parse(run.summary["architecture"])
        seconds = search_seconds(run)
    except (UserError, OSError, LookupError, TypeError, ValueError) as error:
        return Outcome(None, f"its record cannot be read ({one_line_error(error)})", {"search_seconds": 0.0})
    if found != study.config["table_id"]:
        raise InvalidInputError(
            f"the study uses the table {study.config['table_id']}, but on {end.worker} this name refers to {found}: "
            f"install {study.config['table_id']}"
        )
    loss = loss_of(study, table, arch, job.trial)
    return Outcome(loss, values={"architecture": str(run.summary["architecture"]), "search_seconds": seconds})


def _seconds_of(folder: Path) -> float:
    """Return the search time of a diverged search; 0 if it has no readable record."""
    try:
        return search_seconds(open_search(folder)) if is_started(folder) else 0.0
    except (UserError, OSError, LookupError, TypeError, ValueError):
        return 0.0


def _shorter_search(study: Study, trial: Trial) -> Path | None:
    """Return the folder of the search that a trial continues; None if it starts anew, as after a diverged search."""
    if study.options.continuation == "restart" or trial.continues is None:
        return None
    folder = (study.folder / folder_of(trial.configuration_id, trial.continues)).absolute()
    return folder if is_finished(folder) else None


def search_trial(
    out: Path | None = None, resume: Path | None = None, continues: str | None = None, **options: Any
) -> None:
    """Search for a trial; the other arguments are as in `search`.

    Args:
        out: the folder of a new search.
        resume: the folder of a search to resume.
        continues: the folder of a finished, shorter search. A new search continues a copy of it.
        options: options of the search; on resuming, its epochs.

    Raises:
        DivergedError: the search diverged, now or before. The folder then has a failure.json with the message.
        UserError: as in `search`.
    """
    folder = Path(resume or out or "")
    if (folder / FAILURE).is_file():
        raise DivergedError(str(read_object(folder / FAILURE)["failure"]))
    if out is not None and continues is not None:
        copy_run(Path(continues), folder)
        out, resume, options = None, folder, {name: options[name] for name in ("optimizer", "space", "epochs")}
    try:
        if resume is None:
            start_run(SearchKind(), search_options(options, varied=options), folder)
        else:
            search(resume=resume, **options)
    except DivergedError as error:
        folder.mkdir(parents=True, exist_ok=True)  # a search that diverges at once leaves none
        write_json(folder / FAILURE, {"failure": error.for_command_line})
        raise


def copy_run(source: Path, folder: Path) -> None:
    """Copy a finished search so that it can be continued; an unfinished copy is completed.

    Raises:
        InvalidInputError: another process is writing to the folder, or the source is not a search.
    """
    open_search(source)
    wait_until_free(folder, PATIENCE)
    with locked_folder(folder):
        if not is_started(folder):
            for name in COPIED:
                with open_regular(source / name) as original, atomic_write(folder / name) as copy:
                    shutil.copyfileobj(original, copy)


def search_seconds(run: Run) -> float:
    """Return the search time of all recorded epochs in seconds, excluding a shorter search that was continued."""
    if not run.lines:
        return 0.0
    grown = run.config["grown"]
    before = run.lines[grown[-1]["after_epoch"]]["search_seconds"] if grown else 0.0
    return float(run.lines[-1]["search_seconds"] - before)


def loss_of(study: Study, table: Table, arch: Architecture, trial: Trial) -> float:
    """Return the loss of a study's trial that found an architecture; raises the errors of `objective`."""
    config = study.config
    return objective(arch, table, config["repeat"], config["seed"], trial, config["dataset"], config.get("objective"))


def objective(
    arch: Architecture,
    table: Table,
    repeat: Literal["mean", "random"],
    seed: int,
    trial: Trial,
    dataset: str | None = None,
    metric: str | None = None,
) -> float:
    """Return the validation error of an architecture after the table's full training, a fraction.

    It is 1 for an architecture that is missing from a table of only part of the space (`Table.covering`).

    Args:
        arch: what the search of the trial returned.
        table: the table in use.
        repeat: the mean over the table's training repeats, or a random repeat. A random repeat depends only on the seed
            and the trial, so that a resumed study gets it again.
        seed: the seed of the study.
        trial: the evaluated configuration and its epochs.
        dataset: the data set of the search. Default: the data set of the table's first objective.
        metric: the accuracy whose error is returned instead, such as "test_accuracy". Default: validation accuracy.

    Raises:
        OutOfDomainError: the table has no row for the architecture, or no such objective.
    """
    if table.is_partial and arch not in table:
        return 1.0  # the worst error, so that the tuner avoids the configuration
    rng = np.random.default_rng((seed, *trial.configuration_id, trial.epochs)) if repeat == "random" else None
    guide = table.objective(dataset, metric)
    found = table.query(arch, run=repeat, rng=rng, dataset=guide.validation)
    return 1 - float(getattr(found, guide.validation_metric))


def check_has_objective(table: Table, space: str, dataset: str | None = None, metric: str | None = None) -> None:
    """Raise InvalidInputError if a table has no validation accuracy for a sampled architecture of a space.

    `dataset` and `metric` are as in `objective`. Raises OutOfDomainError if the table has no such objective.
    """
    found = one_shot(search_space(space))
    arch: Item = found.sample(np.random.default_rng(0))
    if table.is_partial:  # then it may lack that one
        arch = table.hashes(table.members(found.name)[:1])[0]
    guide = table.objective(dataset, metric)
    if math.isnan(getattr(table.query(arch, dataset=guide.validation), guide.validation_metric)):
        words = guide.validation_metric.replace("_", " ")
        ask = f", or {option('objective', 'test_accuracy')} to tune on test values" if metric is None else ""
        raise InvalidInputError(
            f"the table {table.id} has no {words} after {table.full_budget} epochs, which a study optimizes: give "
            f"another {option('table')}{ask}"
        )
