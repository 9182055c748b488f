"""The live view of a study: searches, brackets, the best observation, failures and the time left."""

from io import StringIO

import pytest
from rich.console import Console
from tiny_studies import trial

from nasbench1shot1.proposers.brackets import Brackets, BracketState
from nasbench1shot1.tuning.loop import Progress
from nasbench1shot1.tuning.screen import Expectation, StudyScreen

BRACKETS = Brackets(25, 100, 2, iterations=3)


def line(number: int, budget: int, loss: float | None, seconds: float) -> dict[str, object]:
    return {
        "configuration_id": f"0-0-{number}",
        "budget": budget,
        "loss": loss,
        "test_regret": None if loss is None else loss / 10,
        "started": 0.0,
        "finished": seconds,
        "search_seconds": seconds / 2,
    }


def test_the_remaining_time_is_estimated_from_the_plan_and_finished_searches():
    lines = [line(0, 25, 0.06, 100), line(1, 25, None, 50), line(0, 50, 0.05, 200)]
    expectation = Expectation(BRACKETS)
    planned = [stage for iteration in range(3) for stage in BRACKETS.plan(iteration)]
    left = {epochs: sum(n for e, n in planned if e == epochs) for epochs in (25, 50, 100)}
    left[25], left[50] = left[25] - 2, left[50] - 1
    assert dict(expectation.searches_left(lines)) == left
    per_epoch = 350 / 100
    seconds = left[25] * 75 + left[50] * 200 + left[100] * 100 * per_epoch
    assert expectation.seconds_left(lines, 2) == pytest.approx(seconds / 2)
    assert expectation.seconds_left([], 2) is None
    assert expectation.seconds_left(lines, 10**6) == pytest.approx(100 * per_epoch)  # a search is never divided
    running = [(100, 300.0), (25, 10**6)]  # the second one takes longer than expected
    assert expectation.seconds_left(lines, 2, running) == pytest.approx((seconds - 300 - 75) / 2)
    assert Expectation(Brackets(1, 1, 2, 1)).seconds_left(lines[:1], 4, [(1, 1.0)]) == pytest.approx(4 - 1)


def test_the_live_view_names_searches_brackets_best_failures_and_time():
    out = StringIO()
    console = Console(file=out, force_terminal=True, width=100, color_system=None)
    screen = StudyScreen(BRACKETS, [line(0, 25, 0.06, 100)], console)
    with screen:
        screen.show_observation(line(1, 25, None, 50))
    finished = BracketState(0, ((25, 4, 4), (50, 2, 2), (100, 1, 1)))
    brackets = (finished, BracketState(1, ((50, 2, 1), (100, 1, 0))))
    state = Progress(((trial({}, 25, 2), 10.4),), 2, brackets, 2, BRACKETS.planned)
    with console.capture() as captured:
        console.print(screen.view(state))
    text = captured.get()
    assert "0-0-2 at 25 epochs" in text and "10 s" in text
    assert "bracket 1: 1/2 at 50 epochs, 0/1 at 100 epochs" in text and "bracket 0" not in text
    assert "\nbest 6.00 % (0-0-0 at 25 epochs)" in text
    assert f"\n2 of {BRACKETS.planned} searches, 1 diverged; left: about" in text
    assert f"2/{BRACKETS.planned}          0-0-1      25          diverged" in out.getvalue()


def test_the_live_view_has_no_heading_between_searches_and_fits_80_columns():
    console = Console(file=StringIO(), force_terminal=True, width=80, color_system=None)
    observed = [line(number, 1, 0.0612, 0.1) for number in range(999)]
    screen = StudyScreen(Brackets(1, 64, 2, iterations=999), observed, console)
    with console.capture() as captured:
        console.print(screen.view(Progress((), 1, (), 999, 10_999)))
    best, status = map(str.strip, captured.get().splitlines())
    assert best == "best 6.12 % (0-0-0 at 1 epoch)"
    assert status.startswith("999 of 10,999 searches, 0 diverged; left: ")


def test_without_a_terminal_only_rows_appear():
    out = StringIO()
    screen = StudyScreen(BRACKETS, [], Console(file=out, width=100))
    with screen:
        screen.progress(Progress((), 1, (), 0, BRACKETS.planned))
        screen.show_observation(line(0, 50, 0.0612, 14))
    rows = out.getvalue().splitlines()
    assert len(rows) == 2 and rows[1].split() == [*f"1/{BRACKETS.planned} 0-0-0 50 6.12 % 0.61 % 6.12 % 7 s".split()]
