"""Messages of errors: one line of bounded length, whatever value is in them."""

import pickle

from nasbench1shot1.api.statistics import UnknownCellError
from nasbench1shot1.errors import DamagedFileError, InvalidInputError, UserError, unknown_name


def test_a_message_is_one_printable_line() -> None:
    assert str(UserError("'a\nb\x1b[2J\udcff\0' Λ – fine")) == "'a\\nb\\x1b[2J\\udcff\\x00' Λ – fine"
    assert str(UnknownCellError("no 'x'")) == "no 'x'"


def test_long_values_are_not_repeated_in_full() -> None:
    said = str(InvalidInputError(f"--table '{'x' * 70_000}' is not a table: give another"))
    assert said.startswith("--table 'xxx") and said.endswith("xxx' is not a table: give another")
    assert len(said) < 600
    assert str(UserError(said)) == said
    assert len(str(DamagedFileError("x y " * 20_000))) <= 4_000
    assert str(UserError("x" * 500)) == "x" * 500
    said = str(unknown_name("option", "--" + "a" * 70_000, ["--out", "--table"]))
    assert said.startswith("unknown option '--aaaaa") and said.endswith("(known: --out, --table)")
    assert len(said) < 250


def test_a_close_option_is_suggested_without_the_list_of_all() -> None:
    known = [f"--option-{i}" for i in range(45)]
    assert str(unknown_name("option", "--optoin-7", known)).endswith("did you mean '--option-7'? (--help lists all)")
    assert str(unknown_name("option", "--xyz", known)).count("--option-") == 45
    assert str(unknown_name("preset", "orignal", ["original"])).endswith("? (known: original)")


def test_errors_travel_between_processes() -> None:
    error = InvalidInputError("a sentence\n")
    assert str(pickle.loads(pickle.dumps(error))) == str(error) == "a sentence\\n"  # noqa: S301


def test_another_word_and_initials_suggest_the_name_that_is_meant() -> None:
    options = ["--learning-rate", "--loss", "--weight-decay", "--architecture-learning-rate"]
    for asked, meant in (("--lr", options[0]), ("--wd", options[2]), ("--alr", options[3]), ("--los", options[1])):
        assert f"did you mean '{meant}'?" in str(unknown_name("option", asked, options))
    assert "did you mean 'cuda'?" in str(unknown_name("device", "gpu", ("auto", "cpu", "cuda", "cuda:0")))
