"""Screens in a terminal of 80 columns, and lines that stay whole in a pipe."""

import io
import os
import pty
import sys
import termios
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import compared_runs as make
import pytest
from rich.console import Console
from rich.table import Table

from nasbench1shot1.cli import main
from nasbench1shot1.ground.terminal import print_line, terminal_width, wrap_text
from nasbench1shot1.ground.text import line_printer, print_table, print_to_stderr
from nasbench1shot1.tuning.screen import HEADING, ROW

TEXT = "a sentence that is wider than the terminal"
CELL = "s1:0|0,1|0,2|1,3|2,4:conv3x3,conv1x1,maxpool3x3,conv3x3"
TOPOLOGY = "nb201:|nor_conv_3x3~0|+|nor_conv_3x3~0|nor_conv_3x3~1|+|skip_connect~0|nor_conv_3x3~1|nor_conv_3x3~2|"
TINY = "--scale quick --channels 2 --cells 1 --images-per-half 40 --batch-size 20 --epochs 1 --keep-weights-every 1"
SCREENS = [
    "table info",
    "table info --table nb201",
    "table list",
    "table verify --table nb101-sample",
    "data info",
    "space s1",
    "reproduce",
    f"query {CELL}",
    f"query {TOPOLOGY}",
    f"search {TINY} --optimizer gdas --partial-channels 2 --out run",
    "report group",
    "compare group study",
    "blackbox --space s1 --repeats 2 --evaluations 3 --out black-box",
    "statistics cost known-cells --table nb101-sample --out results",
    "query s1:0",
    f"query {CELL} --format svg",
    "search --optimizer dart",
    "correlate group",
    "compare group",
    "report study --reference presents",
]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("line", SCREENS)
def test_a_screen_fits_80_columns(line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only a word, such as an architecture or a path, may be wider than the terminal: it would be copied in parts."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TERM", "dumb")
    terminal = Terminal()
    monkeypatch.setattr(sys, "stdout", terminal)
    monkeypatch.setattr(sys, "stderr", terminal)
    if "group" in line:
        make.group(Path("group"), [(3, 2), (6, 5)])
    if "study" in line:
        make.black_box(Path("study"))
    try:
        main(line.split())
    except SystemExit as stop:
        assert stop.code == 2
    shown = terminal.getvalue().splitlines()
    assert shown
    assert [text for text in shown if len(text) > 80 and " " in text.strip()] == []


NARROW = [f"query {TOPOLOGY}", "space s1", "table info", "compare group study"]


@pytest.mark.parametrize("line", NARROW)
@pytest.mark.parametrize("columns", [20, 40])
def test_a_narrow_terminal_shows_whole_names_and_values(
    line: str, columns: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", str(columns))
    if "group" in line:
        make.group(Path("group"), [(3, 2), (6, 5)])
        make.black_box(Path("study"))
    main(line.split())
    assert "…" not in capsys.readouterr().out


@pytest.mark.parametrize("columns", range(14, 70))
@pytest.mark.parametrize("no_wrap", [False, True])
def test_no_column_of_a_table_is_cut(columns: int, no_wrap: bool) -> None:
    """Neither a name, nor a number, nor a whole column is lost, and words stay whole if they fit."""
    table = Table()
    for heading in ("label", "n", "mean [range]", "median"):
        table.add_column(heading, no_wrap=no_wrap)
    table.add_row("regularized-evolution", "500", "1.082 [0.529, 1.635]", "1.048")
    console = Console(file=(shown := io.StringIO()), width=columns, markup=False)
    print_table(table, console)
    found = Counter(character for character in shown.getvalue() if character.isalnum())
    cells = "".join(str(cell) for of in table.columns for cell in (of.header, *of.cells))
    assert found == Counter(filter(str.isalnum, cells))
    assert max(map(len, shown.getvalue().splitlines())) <= columns
    if columns >= 55 or (columns >= 50 and not no_wrap):
        assert "regularized-evolution" in shown.getvalue() and "1.048" in shown.getvalue()


def test_rows_of_a_study_fit_80_columns_and_their_heading() -> None:
    values = {"done": "280/280", "configuration": "(99, 0, 99)", "epochs": 1000}
    row = ROW.format(**values, error="diverged", regret="10.00 %", best="10.00 %", seconds="99999 s")
    assert len(HEADING.format(guide="validation")) == len(
        ROW.format(done="", configuration="", epochs="", error="", regret="", best="", seconds="")
    )
    assert len(row) <= 80


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("one two three four five", ["one two three", "  four five"]),
        (f"Final architecture: '{CELL}'", ["Final", "  architecture:", f"  '{CELL}'"]),
        ("the cell 'a b c d e f g h' is here", ["the cell", "  'a b c d e f g h'", "  is here"]),
        ("the search's weights, the run's table", ["the search's", "  weights, the", "  run's table"]),
        ("run `pip install x y z` first", ["run", "  `pip install x y z`", "  first"]),
        ("To rank: nb1shot1 correlate runs/a", ["To rank:", "  nb1shot1 correlate runs/a"]),
        ("as nb1shot1 table import a.npz does it", ["as", "  nb1shot1 table import a.npz", "  does it"]),
        ("write --optimizer gdas, --out runs/a", ["write", "  --optimizer gdas,", "  --out runs/a"]),
        ("images at 16 × 16 pixels", ["images at", "  16 × 16 pixels"]),
        ("  a        b        c", ["  a        b", "  c"]),
        ("short\nline by line by line", ["short", "line by line by", "  line"]),
    ],
)
def test_text_to_copy_is_not_broken(text: str, shown: list[str]) -> None:
    assert wrap_text(text, 16) == "\n".join(shown)


def test_a_pipe_gets_whole_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "20")
    pipe, other_pipe, terminal = io.StringIO(), io.StringIO(), Terminal()
    line_printer(Console(file=pipe))(TEXT)
    print_line(TEXT, other_pipe)
    print_line(TEXT, terminal)
    assert pipe.getvalue() == other_pipe.getvalue() == f"{TEXT}\n"
    assert max(map(len, terminal.getvalue().splitlines())) <= 20


def test_errors_fit_their_own_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not the terminal of standard output, which may be a file."""
    monkeypatch.delenv("COLUMNS", raising=False)
    ours, theirs = pty.openpty()
    with os.fdopen(ours, "rb"), os.fdopen(theirs, "w") as terminal:
        termios.tcsetwinsize(theirs, (24, 30))
        assert terminal_width(terminal) == 30
        termios.tcsetwinsize(theirs, (24, 0))
        assert terminal_width(terminal) == 80
        monkeypatch.setenv("COLUMNS", "50")
        assert terminal_width(terminal) == 50


def test_lines_fit_the_width_of_a_given_console(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    terminal = Terminal()
    line_printer(Console(file=terminal, width=20))(TEXT)
    assert max(map(len, terminal.getvalue().splitlines())) <= 20


@pytest.mark.parametrize("stream", [None, SimpleNamespace(write=lambda text: None, flush=lambda: None)])
def test_a_stream_that_is_not_a_file_is_written_to(stream: object, monkeypatch: pytest.MonkeyPatch) -> None:
    """Standard error is None in programs without a console, and a logger's stream elsewhere."""
    monkeypatch.setattr(sys, "stderr", stream)
    print_to_stderr(TEXT)


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("search --epochs two", "--epochs must be a whole number, not 'two' (see nb1shot1 search --help)"),
        ("search --scale fast", "unknown scale 'fast' (known: full, long, medium, quick; see nb1shot1 search --help)"),
        ("search --nesterov maybe", "--nesterov must be yes or no, not 'maybe' (see nb1shot1 search --help)"),
        ("export", "an argument is missing: give the folder of a study of nb1shot1 tune (see nb1shot1 export --help)"),
        (
            "query --what --table nb201",
            "unknown option '--what' (known: --budget, --dataset, --draw, --epochs, --format, --help, --space, "
            "--style, --table, --width)",
        ),
        ("blackbox --seed", "--seed needs a value (see nb1shot1 blackbox --help)"),
        (
            "report",
            "an argument is missing: give the folder of a run; with --html, also several folders (see nb1shot1 report "
            "--help)",
        ),
        (
            "search --seed 0-3",
            "--seed must be a whole number, not '0-3'; did you mean --seeds 0-3? (see nb1shot1 search --help)",
        ),
        ("search --seed x", "--seed must be a whole number, not 'x' (see nb1shot1 search --help)"),
        (
            "blackbox --seed 0,1",  # the command has no --seeds
            "--seed must be a whole number, not '0,1' (see nb1shot1 blackbox --help)",
        ),
        ("search --gpus v100", "--gpus applies only to plans: add --dry-run, or remove it"),
        ("query", "an argument is missing: give an architecture, or the hash of a cell (see nb1shot1 query --help)"),
    ],
)
def test_errors_are_plain_text_on_a_colour_terminal(
    line: str, shown: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The parser of options colours its messages if standard output is a terminal."""
    monkeypatch.setattr(sys, "stdout", Terminal())
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    with pytest.raises(SystemExit):
        main(line.split())
    assert capsys.readouterr().err == f"nb1shot1: {shown}\n"


def test_a_line_is_not_broken_before_a_percent_sign() -> None:
    assert wrap_text("the mean over all architectures is 7.31 %", 40).splitlines()[-1].strip() == "7.31 %"
