"""Studies whose searches take a second."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any
from unittest.mock import patch

from rich.console import Console

import nasbench1shot1 as nb
from nasbench1shot1.jobs.pool import this_process
from nasbench1shot1.registry import search_space
from nasbench1shot1.runs.folder import SUMMARY
from nasbench1shot1.tables.table import table_for
from nasbench1shot1.tuning.evaluation import trial_job, trial_outcome
from nasbench1shot1.tuning.record import Study
from nasbench1shot1.tuning.trials import Outcome, Trial

TINY: dict[str, Any] = {
    "scale": "quick",
    "channels": 2,
    "cells": 1,
    "images_per_half": 40,
    "batch_size": 32,
    "threads": 1,
    "device": "cpu",
}
BUDGETS: dict[str, Any] = {"min_budget": 1, "max_budget": 2}


def tiny_study(folder: Path, **options: Any) -> Study:
    """Write the folder of a study without evaluating anything; None means that an option is not given."""
    given = {name: value for name, value in {**TINY, **BUDGETS, **options}.items() if value is not None}
    return tune_without_searches(out=folder, **given)


def tune_without_searches(**arguments: Any) -> Study:
    """Call `nb.tune`, but search nothing and do not finish the study."""
    kind = "nasbench1shot1.tuning.tuning.StudyKind"
    with (
        patch(f"{kind}.loop", lambda *_: None),
        patch(f"{kind}.summarise", lambda *_: {}),
        patch(f"{kind}.present", lambda *_: None),
    ):
        study = nb.tune(console=Console(quiet=True), **arguments)
    (study.folder / SUMMARY).unlink()
    return Study.open(study.folder)


def trial(configuration: Mapping[str, Any], epochs: int = 1, number: int = 0, **fields: Any) -> Trial:
    return Trial((0, 0, number), configuration, epochs, **fields)


def evaluate(study: Study, asked: Trial) -> Outcome:
    """Evaluate a trial, with its search in this process."""
    shared = study.shared_options
    table = table_for(search_space(study.options.space), shared["table"], shared["reference"])
    job = trial_job(study, asked)
    with this_process() as workers:
        return trial_outcome(study, table, job, workers.submit(job).result())
