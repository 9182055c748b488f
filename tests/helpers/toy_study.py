"""A study of the toy objective, with a minimal evaluation."""

import json
import time
from contextlib import nullcontext

import pytest
import warm_process
from ConfigSpace import CategoricalHyperparameter, ConfigurationSpace, EqualsCondition, Float, Integer
from forked_jobs import fork_jobs
from toy_objective import COMMAND

from nasbench1shot1.ground.errors import UserError
from nasbench1shot1.ground.files import atomic_write
from nasbench1shot1.jobs.cluster import dask_cluster
from nasbench1shot1.jobs.pool import this_machine, this_process
from nasbench1shot1.proposers.brackets import Brackets
from nasbench1shot1.proposers.configurations import format_id, parse_id
from nasbench1shot1.runs.folder import as_json_line, read_lines, read_object
from nasbench1shot1.runs.lock import locked
from nasbench1shot1.tuning.loop import StudyState, make_proposer, observe_all
from nasbench1shot1.tuning.trials import Outcome, RecordedObservation, TrialJob

BRACKETS = Brackets(1, 4, 2, iterations=8)


def toy_space():
    space = ConfigurationSpace(seed=0)
    kind = CategoricalHyperparameter("kind", ["a", "b", "c"], default_value="b")
    depth = Integer("depth", (1, 9))
    space.add(Float("rate", (1e-3, 1), log=True, default=0.1), Integer("width", (2, 32)), kind, depth)
    space.add(EqualsCondition(depth, kind, "b"))
    return space


class ToyEvaluation:
    """Records observations in metrics.jsonl; `states` are the states for the live view."""

    def __init__(self, folder):
        self.folder, self.path, self.states = folder, folder / "metrics.jsonl", []

    @property
    def lines(self):
        return read_lines(self.path)

    def observations(self):
        if self.path.exists():
            lines = self.lines
            with atomic_write(self.path) as file:  # a master may be killed here, too
                file.write("".join(map(as_json_line, lines)).encode())
        return [
            RecordedObservation(parse_id(line["configuration_id"]), line["budget"], line["loss"], line["finished"])
            for line in self.lines
        ]

    def job(self, trial):
        options = {"study": str(self.folder.absolute()), "name": trial.name, "epochs": trial.epochs}
        options["configuration"] = dict(trial.configuration)
        folder = self.folder / "runs" / f"{format_id(trial.configuration_id)}-{trial.epochs}"
        settings = {"command": COMMAND, "folder": folder, "options": options, "resume_options": options}
        return TrialJob(name=trial.name, **settings, threads=1, trial=trial)

    def outcome(self, job, end):
        if end.error == "DivergedError":
            return Outcome(None, end.failure)
        if end.failure:
            raise UserError(f"{job.name} failed ({end.failure})")
        return Outcome(read_object(job.folder / "summary.json")["loss"], None, {"test_loss": 0.5})

    def record(self, observation):
        line = {
            "number": observation.number,
            "configuration_id": format_id(observation.trial.configuration_id),
            "budget": observation.trial.epochs,
            "configuration": dict(observation.trial.configuration),
            "loss": observation.outcome.loss,
            "failure": observation.outcome.failure,
            "attempts": observation.attempts,
            "continues": observation.trial.continues,
            "model_based": observation.model_based,
            "submitted": observation.submitted,
            "started": observation.started,
            "finished": observation.finished,
            "worker": observation.worker,
            **observation.outcome.values,
        }
        with self.path.open("a") as file:
            file.write(as_json_line(line))

    def progress(self, state):
        self.states.append(state)


def make_study(folder, **toy):
    folder.mkdir(exist_ok=True)
    (folder / "toy.json").write_text(json.dumps(toy))
    return folder


def run_toy(folder, workers=None, seed=0, brackets=BRACKETS, evaluation=None, tuner="bohb"):
    """Run or resume a study and return its evaluation.

    `workers` is a number of processes, the address of a dask scheduler, or None for this process.
    """
    evaluation = evaluation or ToyEvaluation(folder)
    with pytest.MonkeyPatch.context() as patch, locked(folder):
        fork_jobs(patch)
        if isinstance(workers, str):
            opened = dask_cluster(workers)
        else:
            opened = this_machine([{}] * workers) if workers else this_process()
        proposer = make_proposer(tuner, toy_space(), brackets, seed)
        state = StudyState(folder, proposer, evaluation.observations())
        with nullcontext() if state.is_finished else opened as places:
            if not state.is_finished:
                observe_all(state, evaluation, places)
    return evaluation


def observed(folder):
    """The set of observations: configuration, budget and loss."""
    return {
        (line["configuration_id"], json.dumps(line["configuration"], sort_keys=True), line["budget"], line["loss"])
        for line in ToyEvaluation(folder).lines
    }


def in_fork(target, *arguments, **options):
    """Start a function in a forked process in which hpbandster is already imported."""
    context = warm_process.context()
    process = context.Process(target=_joined, args=(warm_process.address(), target, arguments, options))
    process.start()
    return process


def _joined(server, target, arguments, options):
    warm_process.join(server)
    target(*arguments, **options)


def wait_until(condition, seconds=60):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "timed out"
        time.sleep(0.01)
