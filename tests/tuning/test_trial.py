"""Trials and outcomes as JSON, as sent between processes."""

import json

import numpy as np
import pytest

from nasbench1shot1.ground.errors import InvalidInputError
from nasbench1shot1.proposers.configurations import to_python_scalars
from nasbench1shot1.tuning.engine.interfaces import Outcome, Trial


def test_numpy_scalars_become_python_numbers_and_survive_json():
    values = {"rate": np.float64(0.1), "width": np.int64(3), "flag": np.bool_(True), "kind": np.str_("a"), "none": None}
    found = to_python_scalars(values)
    assert found == {"rate": 0.1, "width": 3, "flag": True, "kind": "a", "none": None}
    assert [type(value) for value in found.values()] == [float, int, bool, str, type(None)]
    trial = Trial((0, 1, 12), values, np.int64(25), 2, 5)
    again = Trial.from_json(json.loads(json.dumps(trial.as_json())))
    assert again == Trial((0, 1, 12), found, 25, 2, 5)
    assert again.name == "0-1-12 at 25 epochs"
    outcome = Outcome(np.float32(0.5), None, values)
    assert Outcome.from_json(json.loads(json.dumps(outcome.as_json()))) == Outcome(0.5, None, found)


@pytest.mark.parametrize("arguments", [(float("nan"),), (float("inf"),), (None,), (0.5, "diverged")])
def test_an_outcome_has_a_finite_loss_or_a_failure(arguments):
    with pytest.raises(InvalidInputError):
        Outcome(*arguments)
