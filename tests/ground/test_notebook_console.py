"""In a notebook, the output of a call is one text in which live displays are redrawn."""

from collections.abc import Callable

import pytest
from rich.console import Console
from rich.progress import Progress

from nasbench1shot1.ground.notebooks import CellOutput, console_or_new, notebook_console


@pytest.fixture
def shown() -> list[str]:
    return []


@pytest.fixture
def progress(shown: list[str]) -> Callable[..., Progress]:
    return lambda **options: Progress(console=notebook_console(shown.append), auto_refresh=False, **options)


def test_printed_lines_form_one_text(shown):
    console = notebook_console(shown.append)
    console.print("[b]first[/b]")
    console.print("second")
    assert shown == ["first", "first\nsecond"]


@pytest.mark.parametrize(("is_transient", "left"), [(True, "a row"), (False, "a row\nsearch")])
def test_a_bar_is_redrawn_below_the_rows_and_removed_if_transient(is_transient, left, shown, progress):
    with progress(transient=is_transient) as bar:
        task = bar.add_task("search", total=4)
        bar.advance(task)
        bar.refresh()
        quarter = shown[-1]
        bar.console.print("a row")
        below = shown[-1]
        bar.advance(task)
        bar.refresh()
    assert quarter.startswith("search") and "25%" in quarter
    assert below.splitlines()[0] == "a row" and "25%" in below.splitlines()[1] and len(below.splitlines()) == 2
    assert "50%" in "".join(shown) and "25%" not in shown[-1]
    assert shown[-1].startswith(left) and len(shown[-1].splitlines()) == len(left.splitlines())


def test_the_text_is_shown_only_when_it_changes(shown):
    output = CellOutput(shown.append)
    for text in ("a", "\x1b[?25l", "\x1b[31m\x1b[0m", "\n"):
        output.write(text)
        output.flush()
    assert shown == ["a"]


def test_a_carriage_return_overwrites_the_line(shown):
    output = CellOutput(shown.append)
    output.write("10 of 12\r 9")
    output.write("\n\nnext\x1b[9A\r\x1b[2Kabove")
    output.flush()
    assert shown == ["above\n\nnext"]
    output.write("\r11")
    output.flush()
    assert shown[-1] == "11ove\n\nnext"


def test_a_given_console_is_used_and_outside_notebooks_the_default_is_plain():
    console = Console()
    assert console_or_new(console) is console
    assert console_or_new(None, stderr=True).stderr
    assert not isinstance(console_or_new(None).file, CellOutput)
