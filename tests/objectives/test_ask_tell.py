"""`nb.AskTell`: outside optimizers with ask and tell, on several simulated workers and in several processes."""

from pathlib import Path
from typing import Any

import numpy as np
import own_ask_tell
import pytest
from black_box_tables import S1, smooth_table
from forked_jobs import fork_jobs
from own_ask_tell import Halving, Sweep, nothing, sweep, undeclared
from refusals import refuses
from rich.console import Console

import nasbench1shot1 as nb
from nasbench1shot1.black_box_search.options import black_box_options
from nasbench1shot1.black_box_search.repeats import Repeats
from nasbench1shot1.registry import black_box_optimizer

QUIET = Console(quiet=True)


def study(folder: Path, make: Any, **options: Any) -> nb.BlackBoxStudy:
    short = {"space": "s1", "evaluations": 20, "repeats": 6, "console": QUIET}
    return nb.black_box(nb.AskTell(make), out=folder, **{**short, **options})


def test_results_arrive_in_the_order_of_the_simulated_clock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Sweep] = []
    monkeypatch.setattr(own_ask_tell, "Sweep", lambda *given: made.append(Sweep(*given)) or made[-1])
    folder = tmp_path / "table"
    smooth_table().save(folder)
    found = study(
        tmp_path / "study", sweep, table=folder, simulated_workers=4, repeats=1, evaluations=None, seconds=330
    )
    searched = next(one for one in made if one.told)  # others only state their budgets
    told = searched.told
    assert [seconds for *_, seconds in told] == [108.0] * 12  # four workers finish three trainings each
    assert len(searched.asked) == 16
    assert all(any(configuration is asked for asked in searched.asked) for configuration, *_ in told)
    assert (found.lines[0]["evaluations"], found.lines[0]["simulated_seconds"]) == (12, 324.0)
    assert found.lines[0]["validation_error"] == min(values[0] for _, values, _ in told)
    assert found.config["optimizer"] == "own_ask_tell:sweep"


def test_worker_processes_and_resuming_give_the_same_study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fork_jobs(monkeypatch)
    here = study(tmp_path / "here", Sweep, simulated_workers=3)
    there = study(tmp_path / "there", Sweep, simulated_workers=3, workers=2)
    assert nb.open_run(there.folder).lines == here.lines
    half = study(tmp_path / "half", Sweep, simulated_workers=3, repeats=3)
    assert nb.black_box(resume=half.folder, repeats=6, console=QUIET).lines == here.lines


def test_budgets_are_snapped_and_must_be_declared(tmp_path: Path) -> None:
    found = study(tmp_path / "study", Halving, repeats=2)
    assert list(found.feedback_repeats) == ["4", "36"]
    with refuses(nb.InvalidInputError, "36", "4", "budgets"):
        study(tmp_path / "other", undeclared)


def test_numbers_of_architectures_can_have_epochs() -> None:
    given = {"optimizer": "own_ask_tell:Numbered", "space": "s1", "evaluations": 2}
    method: Any = Repeats(black_box_options(given), nb.load_table()).method(np.random.default_rng(0))
    queries = [method.ask(), method.ask()]
    assert [query.epochs for query in queries] == [36, 4]
    assert [S1.index(query.architecture) for query in queries] == method._own.asked
    method.tell(queries[1], 0.25, 9.0)
    assert method._own.told == [(method._own.asked[1], (0.25,), 9.0)]


def test_proposals_outside_space_and_bounds_are_told_at_no_cost() -> None:
    given = {"optimizer": "own_ask_tell:Sweep", "space": "s1", "evaluations": 15, "max_parameters": 2.5e6}
    repeats = Repeats(black_box_options(given), nb.load_table())
    method: Any = repeats.method(np.random.default_rng(0))
    query = method.ask()
    told = method._own.told
    assert repeats.constraint is not None and repeats.constraint.allows(query.architecture)
    assert {(values, seconds) for _, values, seconds in told} <= {((1.0,), 0.0)}
    method.tell(query, 0.25, 9.0)
    assert told[-1][1:] == ((0.25,), 9.0)
    assert nb.search_space("s1").name == S1.name == black_box_optimizer("own_ask_tell:Sweep").make(S1, 0).space.name


def local(space: nb.SearchSpace, seed: int) -> Sweep:
    return Sweep(space, seed)


@pytest.mark.parametrize("make", [lambda space, seed: Sweep(space, seed), Sweep(S1, 0).ask, 3])
def test_a_function_without_a_findable_name_is_refused(make: Any) -> None:
    with refuses(nb.InvalidInputError):
        nb.AskTell(make)


def test_what_make_returns_must_have_ask_and_tell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with refuses(nb.InvalidInputError, "nothing", "ask"):
        study(tmp_path / "study", nothing)
    assert not (tmp_path / "study").exists()
    monkeypatch.setattr(local, "__module__", "__main__")
    monkeypatch.setattr("__main__.local", local, raising=False)
    with refuses(nb.InvalidInputError, "local", "script"):
        study(tmp_path / "study", local, workers=2)
    assert len(study(tmp_path / "study", local, repeats=1).lines) == 1  # in this process, a script's own is fine


class WithoutBudgets(Sweep):
    budgets: Any = ()


class WithOneNumber(Sweep):
    budgets: Any = 12


@pytest.mark.parametrize("make", [WithoutBudgets, WithOneNumber])
def test_budgets_must_be_a_list_with_numbers(tmp_path: Path, make: Any) -> None:
    with refuses(nb.InvalidInputError, make.__name__, "budgets", make.budgets):
        study(tmp_path / "study", make)
