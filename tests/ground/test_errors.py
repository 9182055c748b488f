"""Messages of errors: one line of bounded length, whatever value is in them."""

import pickle
from pathlib import Path

import numpy as np
import pytest

from nasbench1shot1.api.statistics import UnknownCellError
from nasbench1shot1.ground.errors import (
    DamagedFileError,
    InvalidInputError,
    UserError,
    option,
    quote,
    quoted_option,
    switch,
    unknown_name,
    value_of,
)


def test_a_message_is_one_printable_line() -> None:
    assert str(UserError("'a\nb\x1b[2J\udcff\0' Λ – fine")) == "'a\\nb\\x1b[2J\\udcff\\x00' Λ – fine"
    assert str(UnknownCellError("no 'x'")) == "no 'x'"


def test_long_values_are_not_repeated_in_full() -> None:
    said = str(InvalidInputError(f"{quoted_option('table', 'x' * 70_000)} is not a table: give another"))
    assert said.startswith('table="xxx') and said.endswith('xxx" is not a table: give another')
    assert len(said) < 600
    assert str(UserError(said)) == said
    assert len(str(DamagedFileError("x y " * 20_000))) <= 4_000
    assert str(UserError("x" * 500)) == "x" * 500
    said = unknown_name("option", "--" + "a" * 70_000, ["--out", "--table"]).for_command_line
    assert said.startswith("unknown option '--aaaaa") and said.endswith("(known: --out, --table)")
    assert len(said) < 250


def test_a_similar_option_is_suggested_without_listing_all() -> None:
    known = [f"--option-{i}" for i in range(45)]
    said = unknown_name("option", "--optoin-7", known).for_command_line
    assert said.endswith("did you mean '--option-7'? (--help lists all)")
    assert unknown_name("option", "--xyz", known).for_command_line.count("--option-") == 45
    assert str(unknown_name("option", "epoch", ["epochs"])) == "unknown option 'epoch'; did you mean 'epochs'?"
    assert str(unknown_name("preset", "orignal", ["original"])).endswith("? (known: original)")


@pytest.mark.parametrize("kind", [UserError, InvalidInputError, DamagedFileError, UnknownCellError])
def test_errors_can_be_pickled(kind: type[UserError]) -> None:
    error = pickle.loads(pickle.dumps(kind(f"lower {option('epochs', 3)} \n")))  # noqa: S301
    assert type(error) is kind
    assert (str(error), error.for_command_line) == ("lower epochs=3 \\n", "lower --epochs 3 \\n")


@pytest.mark.parametrize(
    ("placeholder", "on_the_command_line", "in_python"),
    [
        (option("learning_rate"), "--learning-rate", "learning_rate="),
        (option("epochs", 3), "--epochs 3", "epochs=3"),
        (option("learning_rate", 1e-05), "--learning-rate 1e-05", "learning_rate=1e-05"),
        (option("cutout_schedule", None), "--cutout-schedule None", "cutout_schedule=None"),
        (option("scale", "quick"), "--scale quick", 'scale="quick"'),
        (option("resume", "runs/a b"), "--resume 'runs/a b'", 'resume="runs/a b"'),
        (option("out", 'a "b" \n'), "--out 'a \"b\" \\n'", "out='a \"b\" \\n'"),
        (option("resume", Path("123")), "--resume 123", 'resume="123"'),
        (option("table", "1e5"), "--table 1e5", 'table="1e5"'),
        (option("out", "None"), "--out None", 'out="None"'),
        (option("workers", np.int64(2)), "--workers 2", "workers=2"),
        (quoted_option("images", "many"), "--images 'many'", 'images="many"'),
        (value_of("batch_size"), "--batch-size", "batch_size"),
        (switch("hessian_eigenvalue"), "--hessian-eigenvalue", "hessian_eigenvalue=True"),
    ],
)
def test_placeholders_name_options_in_the_syntax_of_the_caller(
    placeholder: str, on_the_command_line: str, in_python: str
) -> None:
    error = InvalidInputError(f"lower {placeholder}, to --x 1")
    assert error.for_command_line == f"lower {on_the_command_line}, to --x 1"
    assert str(error).startswith(f"lower {in_python}, to ")
    assert repr(error) == f"InvalidInputError({str(error)!r})"
    assert error.options == (on_the_command_line.split()[0].removeprefix("--").replace("-", "_"),)
    assert str(pickle.loads(pickle.dumps(error))) == str(error)  # noqa: S301


def test_a_quoted_error_still_names_its_options_in_both_ways() -> None:
    inner = InvalidInputError(f"{value_of('batch_size')} must be 3")
    middle = DamagedFileError(f"a.json is damaged ({quote(inner)})")
    outer = UserError(f"{quote(middle)}: lower {option('batch_size')}")
    assert outer.for_command_line == "a.json is damaged (--batch-size must be 3): lower --batch-size"
    assert str(outer) == "a.json is damaged (batch_size must be 3): lower batch_size="
    assert outer.options == ("batch_size",)
    assert str(UserError(f"{inner}")) == f"{inner}" == str(inner) == "batch_size must be 3"


@pytest.mark.parametrize("forged", ["\ue000", "\ue000a\ue001b", "\ue002\ue001\ue000", "a\ue001b\ue002"])
def test_values_with_the_placeholders_characters_are_escaped(forged: str) -> None:
    error = UserError(f"'{forged}' is not {option('out', forged)}")
    for text in (str(error), error.for_command_line, str(UserError(forged))):
        assert text.isprintable() and "\\ue00" in text


def test_synonyms_and_initials_suggest_the_intended_name() -> None:
    options = ["--learning-rate", "--loss", "--weight-decay", "--architecture-learning-rate"]
    for asked, meant in (("--lr", options[0]), ("--wd", options[2]), ("--alr", options[3]), ("--los", options[1])):
        assert f"'{meant}'" in str(unknown_name("option", asked, options)).partition("?")[0]
        names = [option[2:].replace("-", "_") for option in options]
        assert f"'{names[options.index(meant)]}'?" in str(unknown_name("option", asked[2:], names))
    assert "'cuda'?" in str(unknown_name("device", "gpu", ("auto", "cpu", "cuda", "cuda:0")))
    evolutions = ("random", "regularized-evolution", "reinforce")
    assert "'regularized-evolution'?" in str(unknown_name("optimizer", "rea", evolutions))
    assert "'s1'?" in str(unknown_name("search space", "s4", ("nb201", "s1")))
    assert "?" not in str(unknown_name("option", "--cell", ("--help", "--images")))
    assert "'--cutout-length'?" in str(unknown_name("option", "--cutout", ("--cutout-length", "--out")))
    assert "'search'?" in str(unknown_name("command", "--search", ("search", "space")))


@pytest.mark.parametrize(
    "asked, known, meant",
    [
        ("gads", ("gdas", "sgas", "gaea"), " 'gdas'?"),
        ("s4", ("nb201", "s1", "s2", "s3"), " 's1', 's2' or 's3'?"),
        ("s4", ("nb201", "s1", "s2", "s3", "s5"), None),
        ("conv", ("avg_pool_3x3", "none", "nor_conv_1x1", "nor_conv_3x3"), " 'nor_conv_1x1' or 'nor_conv_3x3'?"),
        ("drats", ("darts", "drnas", "darts-pt"), " 'darts'?"),
        ("mine", (), None),
    ],
)
def test_exchanged_letters_and_equally_close_names(asked: str, known: tuple[str, ...], meant: str | None) -> None:
    said = str(unknown_name("name", asked, known))
    assert said.partition("did you mean")[2].partition(" (known")[0] == (meant or ""), said


def test_yes_and_no_are_named_as_the_command_line_accepts_them():
    error = InvalidInputError(f"give {option('exclude_none', True)} or {option('weights_first', False)}")
    assert error.for_command_line == "give --exclude-none yes or --weights-first no"
    assert str(error) == "give exclude_none=True or weights_first=False"
