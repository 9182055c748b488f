"""Guarantees of every tuner: the default comes first, and a resumed study proposes the same as an uninterrupted one.

Each session proposes in a separate process, because Python's string hashes differ between processes. The sessions
of all tuners share a process.
"""

import json
import os
import subprocess
import sys
from typing import Any, get_args

import pytest
from toy_study import toy_space

from nasbench1shot1.tuning.options import Tuner

CODE = """
import json, sys, warnings
warnings.simplefilter("ignore")
from toy_objective import loss_of
from toy_study import toy_space
from nasbench1shot1.proposers.brackets import Brackets
from nasbench1shot1.proposers.bracket_proposer import Proposal
from nasbench1shot1.tuning.loop import make_proposer

def proposals(tuner, recorded):
    proposer = make_proposer(tuner, toy_space(), Brackets(1, 2, 2, 8, only_maximum=tuner == "random"), 0)
    while not proposer.is_finished:
        if recorded:
            identity, *rest = recorded.pop(0)
            proposal = proposer.repeat(Proposal(tuple(identity), *rest))
        else:
            proposal = proposer.propose()
        yield proposal.configuration_id, proposal.configuration, proposal.epochs, proposal.model_based
        proposer.observe(proposal.configuration_id, proposal.epochs, loss_of(proposal.configuration, proposal.epochs))

print(json.dumps({tuner: list(proposals(tuner, recorded)) for tuner, recorded in json.loads(sys.argv[1]).items()}))
"""
Sessions = dict[str, list[Any]]
"""Of every tuner, the proposals of a study."""


def proposals(recorded: Sessions, seed_of_hashes: int) -> Sessions:
    """Studies of all tuners, each continued after the recorded proposals."""
    environment = {**os.environ, "PYTHONHASHSEED": str(seed_of_hashes), "PYTHONPATH": os.pathsep.join(sys.path)}
    arguments = [sys.executable, "-c", CODE, json.dumps(recorded)]
    done = subprocess.run(arguments, env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    found: Sessions = json.loads(done.stdout.splitlines()[-1])
    return found


@pytest.fixture(scope="module")
def whole() -> Sessions:
    return proposals({tuner: [] for tuner in get_args(Tuner)}, seed_of_hashes=1)


@pytest.mark.parametrize("tuner", get_args(Tuner))
def test_the_first_configuration_is_the_default(whole: Sessions, tuner: Tuner) -> None:
    default, epochs = dict(toy_space().get_default_configuration()), 2 if tuner == "random" else 1
    assert whole[tuner][0] == [[0, 0, 0], default, epochs, False]
    assert all(configuration != default for identity, configuration, *_ in whole[tuner] if identity != [0, 0, 0])


def test_a_resumed_study_proposes_the_same_as_an_uninterrupted_one(whole: Sessions) -> None:
    assert [tuner for tuner in whole if any(model_based for *_, model_based in whole[tuner])] == ["bohb", "smac"]
    assert proposals({tuner: lines[:12] for tuner, lines in whole.items()}, seed_of_hashes=2) == whole
