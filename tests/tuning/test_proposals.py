"""Every tuner's promise: a study that was stopped proposes what an uninterrupted one does.

Each session proposes in a process of its own, because Python's hashes of strings differ between processes.
"""

import json
import os
import subprocess
import sys
from typing import Any, get_args

import pytest

from nasbench1shot1.tuning.engine.interfaces import Tuner

CODE = """
import json, sys, warnings
warnings.simplefilter("ignore")
from toy_objective import loss_of
from toy_study import toy_space
from nasbench1shot1.tuning.engine.brackets import Brackets
from nasbench1shot1.tuning.engine.proposer import Proposal, make_proposer

tuner, iterations, recorded = json.loads(sys.argv[1])
proposer = make_proposer(tuner, toy_space(), Brackets(1, 2, 2, iterations, only_maximum=tuner == "random"), 0)
lines = []
while not proposer.is_finished:
    if len(lines) < len(recorded):
        identity, *rest = recorded[len(lines)]
        proposal = proposer.repeat(Proposal(tuple(identity), *rest))
    else:
        proposal = proposer.propose()
    lines.append([proposal.configuration_id, proposal.configuration, proposal.epochs, proposal.model_based])
    proposer.observe(proposal.configuration_id, proposal.epochs, loss_of(proposal.configuration, proposal.epochs))
print(json.dumps(lines))
"""


def proposals(tuner: str, iterations: int, seed_of_hashes: int, recorded: list[Any] | None = None) -> list[Any]:
    environment = {**os.environ, "PYTHONHASHSEED": str(seed_of_hashes), "PYTHONPATH": os.pathsep.join(sys.path)}
    arguments = [sys.executable, "-c", CODE, json.dumps([tuner, iterations, recorded or []])]
    done = subprocess.run(arguments, env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    found: list[Any] = json.loads(done.stdout.splitlines()[-1])
    return found


@pytest.mark.parametrize("tuner", get_args(Tuner))
def test_a_stopped_study_proposes_what_an_uninterrupted_one_does(tuner: str) -> None:
    whole = proposals(tuner, 9, seed_of_hashes=1)
    assert tuner == "random" or any(model_based for *_, model_based in whole)
    assert proposals(tuner, 9, seed_of_hashes=2, recorded=whole[:12]) == whole
