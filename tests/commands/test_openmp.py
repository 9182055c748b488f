"""Spin time of OpenMP threads: the command line shortens it unless the user set one."""

import json

import pytest
from command_line import new_process

from nasbench1shot1.cli import SPIN_COUNT, SPIN_VARIABLES, SPINS, limit_spinning

CODE = f"""
import os, sys
for name in {SPIN_VARIABLES!r}:
    os.environ.pop(name, None)
os.environ.update(eval(sys.argv.pop(1)))
from nasbench1shot1 import cli
real = cli._main
def checked(arguments):
    assert "torch" not in sys.modules
    real(arguments)
cli._main = checked
cli.main()
import json
print(json.dumps({{name: os.environ[name] for name in {SPIN_VARIABLES!r} if name in os.environ}}))
"""


@pytest.mark.parametrize("chosen", [{}, {"OMP_WAIT_POLICY": "ACTIVE"}, {SPIN_COUNT: "7"}, {"OMP_NUM_THREADS": "2"}])
def test_a_short_spin_time_is_set_unless_the_user_set_one(chosen: dict[str, str]) -> None:
    environment = dict(chosen)
    limit_spinning(environment)
    has_chosen = any(name in chosen for name in SPIN_VARIABLES)
    assert environment == (chosen if has_chosen else {**chosen, SPIN_COUNT: str(SPINS)})


@pytest.mark.parametrize("chosen", [{}, {"OMP_WAIT_POLICY": "PASSIVE"}, {SPIN_COUNT: "5"}])
def test_the_command_line_sets_the_spin_time_before_torch_is_imported(chosen: dict[str, str]) -> None:
    done = new_process(repr(chosen), "--version", code=CODE)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1]) == (chosen or {SPIN_COUNT: str(SPINS)})
