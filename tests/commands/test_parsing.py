"""Parsing of a command line: types of values, forms of options, and which error names which option."""

import shlex
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import pytest

from nasbench1shot1.cli import main
from nasbench1shot1.commands.options import Hidden, Positional, command_options, with_given
from nasbench1shot1.commands.parsing import parse, parse_some
from nasbench1shot1.ground.errors import InvalidInputError


@dataclass(frozen=True)
class Inner:
    """Options in a record."""

    rate: float = 0.1
    epochs: int | None = None
    mode: Literal["batch", "running"] | None = "batch"


@dataclass(frozen=True, kw_only=True)
class Example:
    """A command."""

    folders: Positional[tuple[Path, ...]] = ()
    inner: Inner = field(default_factory=Inner)
    loud: bool = False
    compile: bool = True
    wise: bool | None = None
    labels: tuple[str, ...] | None = None
    budgets: tuple[int, ...] = ()
    out: Path | None = None
    hidden: Hidden[int] = 3


@dataclass(frozen=True)
class Needy:
    """A command with requirements."""

    what: Positional[str]
    """A thing. Or two."""
    out: Path


def parsed(line: str, command: Any = Example) -> dict[str, Any]:
    return parse("example", list(command_options(command, None)), shlex.split(line))


@pytest.mark.parametrize(
    ("line", "given"),
    [
        ("", {}),
        ("--rate 1e-3 --epochs 3", {"rate": 0.001, "epochs": 3}),
        ("--rate -1", {"rate": -1.0}),
        ("--rate=2 --epochs=None", {"rate": 2.0, "epochs": None}),
        ("--epochs 3 --epochs=4", {"epochs": 4}),
        ("--mode running", {"mode": "running"}),
        ("--mode None", {"mode": None}),
        ("--loud --no-compile", {"loud": True, "compile": False}),
        ("--wise yes", {"wise": True}),
        ("--wise False", {"wise": False}),
        ("--labels A B --out x", {"labels": ("A", "B"), "out": Path("x")}),
        ("--labels A --labels B", {"labels": ("A", "B")}),
        ("--budgets 4 12", {"budgets": (4, 12)}),
        ("a --epochs 3 b", {"folders": (Path("a"), Path("b")), "epochs": 3}),
        ("a -- --b", {"folders": (Path("a"), Path("--b"))}),
    ],
)
def test_values_have_the_type_of_their_field(line: str, given: dict[str, Any]) -> None:
    found = parsed(line)
    assert found == given
    assert {name: type(value) for name, value in found.items()} == {name: type(value) for name, value in given.items()}
    resolved = with_given(Example(), found)
    assert {**vars(resolved), **vars(resolved.inner)}.items() >= given.items()
    assert resolved.hidden == 3


@pytest.mark.parametrize(
    ("line", "named"),
    [
        ("--epochs abc", "--epochs must be a whole number, not 'abc'"),
        ("--epochs 1.5", "--epochs must be a whole number, not '1.5'"),
        ("--rate None", "--rate must be a number, not 'None'"),
        ("--wise maybe", "--wise must be yes or no, not 'maybe'"),
        ("--budgets 4 x", "--budgets must be a whole number, not 'x'"),
        ("--mode runing", "unknown mode 'runing'; did you mean 'running'?"),
        ("--out", "--out needs a value"),
        ("--out --loud", "--out needs a value"),
        ("--labels", "--labels needs a value"),
        ("a --budgets --loud", "--budgets needs a value"),
        ("--out ''", "--out is '', an empty string"),
        ("--out=", "--out is '', an empty string"),
        ("''", "an argument is '', an empty string"),
        ("--epoch 3", "unknown option '--epoch'; did you mean '--epochs'?"),
        ("--epoch=3", "unknown option '--epoch'; did you mean '--epochs'?"),
        ("--no-epochs", "unknown option '--no-epochs'; did you mean '--epochs'?"),
        ("--hidden 3", "unknown option '--hidden'"),
        ("-x", "unexpected argument '-x'"),
    ],
)
def test_an_error_names_the_option_and_the_value(line: str, named: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        parsed(line)
    assert caught.value.for_command_line.startswith(named)


@pytest.mark.parametrize(
    ("line", "named"),
    [
        ("", "an argument is missing: give a thing ("),
        ("a", "--out is missing ("),
        ("a b", "unexpec"),
        ("-- -1 --out x", "'--out' follows --, after which all words are arguments: "),
    ],
)
def test_what_is_required_is_named(line: str, named: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        parsed(line, Needy)
    assert caught.value.for_command_line.startswith(named)


def test_some_options_are_parsed_before_the_others_are_known() -> None:
    some = [option for option in command_options(Example, None) if option.name in ("out", "wise")]
    asked = parse_some("example", some, ["--unknown", "3", "--out", "x", "word", "--wise=no"])
    assert asked.options == {"out": Path("x"), "wise": False}
    assert asked.other_words == ["--unknown", "3", "word"]


@pytest.mark.parametrize("labels", [["--labels", "A", "B"], ["--labels", "A,B"], ["--labels=A,B"]])
def test_compare_takes_labels_in_both_forms(labels: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from nasbench1shot1.experiments.comparison import comparing

    taken = []

    def compare_tasks(runs: Any, labels: Any, *_: Any, **__: Any) -> None:
        taken.append((runs, list(labels)))
        raise InvalidInputError("enough")

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(comparing, "compare_tasks", compare_tasks)
    with pytest.raises(SystemExit):
        main(["compare", "x", "y", *labels])
    assert taken == [((Path("x"), Path("y")), ["A", "B"])]
