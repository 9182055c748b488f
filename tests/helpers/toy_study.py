"""A study of the toy objective, with a minimal recorder."""

import json
import time
from functools import partial

import pytest
import warm_process
from ConfigSpace import CategoricalHyperparameter, ConfigurationSpace, EqualsCondition, Float, Integer
from forked_jobs import fork_jobs

from nasbench1shot1.proposers.brackets import Brackets
from nasbench1shot1.proposers.configurations import format_id, parse_id
from nasbench1shot1.runs.folder import as_json_line, read_lines
from nasbench1shot1.tuning.engine.interfaces import Pace, RecordedObservation, Timing
from nasbench1shot1.tuning.engine.local_workers import local_workers
from nasbench1shot1.tuning.engine.master import run_study

FAST = Timing(wait_for_workers=60, ping_interval=0.1, answers_within=5, missed_pings=3, most_deaths=99)
QUICK = Pace(look_every=0.1, answers_within=5)
BRACKETS = Brackets(1, 4, 2, iterations=8)


def toy_space():
    space = ConfigurationSpace(seed=0)
    kind = CategoricalHyperparameter("kind", ["a", "b", "c"], default_value="b")
    depth = Integer("depth", (1, 9))
    space.add(Float("rate", (1e-3, 1), log=True, default=0.1), Integer("width", (2, 32)), kind, depth)
    space.add(EqualsCondition(depth, kind, "b"))
    return space


class ToyRecorder:
    """Records observations in metrics.jsonl; `states` are the states for the live view."""

    def __init__(self, folder):
        self.path, self.states = folder / "metrics.jsonl", []

    @property
    def lines(self):
        return read_lines(self.path)

    def observations(self):
        if self.path.exists():
            self.path.write_text("".join(map(as_json_line, self.lines)))
        return [
            RecordedObservation(parse_id(line["configuration_id"]), line["budget"], line["loss"], line["finished"])
            for line in self.lines
        ]

    def steps_done(self, trial):
        path = self.path.parent / "steps"
        lines = path.read_text().splitlines() if path.exists() else []
        return sum(line.startswith(f"{trial.name} step") for line in lines)

    def record_observation(self, observation):
        line = {
            "number": observation.number,
            "configuration_id": format_id(observation.trial.configuration_id),
            "budget": observation.trial.epochs,
            "configuration": dict(observation.trial.configuration),
            "loss": observation.outcome.loss,
            "failure": observation.outcome.failure,
            "attempts": observation.trial.attempt,
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


def run_toy(folder, seed=0, workers=1, brackets=BRACKETS, timing=FAST, **options):
    """Run or resume a study with local workers, and return its recorder."""
    recorder = ToyRecorder(folder)
    start = partial(local_workers, folder, "toy_objective:evaluator", [{}] * workers, 1, QUICK)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("nasbench1shot1.tuning.engine.local_workers.AGAIN_AFTER", 0.2)
        fork_jobs(patch)
        run_study(folder, toy_space(), brackets, recorder, start, seed=seed, timing=timing, **options)
    return recorder


def observed(folder):
    """The set of observations: configuration, budget and loss."""
    return {
        (line["configuration_id"], json.dumps(line["configuration"], sort_keys=True), line["budget"], line["loss"])
        for line in ToyRecorder(folder).lines
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
