"""Help of every command: groups, defaults, names, width and imports."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Literal, get_args

import pytest

from nasbench1shot1.cli import COMMANDS, main
from nasbench1shot1.commands.help_screen import default_variants, help_screen, help_text
from nasbench1shot1.commands.options import Asked, Hidden, Positional, command_options
from nasbench1shot1.commands.search import Search
from nasbench1shot1.optimizers.components.relaxation import RELAXATIONS
from nasbench1shot1.optimizers.components.relaxation_kinds import KINDS, RELAXATION_NAMES
from nasbench1shot1.optimizers.components.terms import TERMS
from nasbench1shot1.optimizers.components.updates import UPDATES
from nasbench1shot1.optimizers.gradient import TermName, UpdateName
from nasbench1shot1.registry import BUILT_IN, listed_names
from nasbench1shot1.runs.options import Form, Names
from nasbench1shot1.scales import SCALES
from tests.helpers.command_line import new_process

HEAVY = ("torch", "pandas", "matplotlib", "scipy", "sklearn")
IMPORTS = f"""
import contextlib, io, json, sys
from nasbench1shot1.cli import COMMANDS, main
found = {{}}
for name in [*COMMANDS, *(f"search --optimizer {{name}}" for name in {list(BUILT_IN["optimizers"])})]:
    with contextlib.redirect_stdout(io.StringIO()):
        main([*name.split(), "--help"])
    found[name] = [module for module in {HEAVY} if module in sys.modules]
print(json.dumps(found))
"""
Shown = Callable[..., str]


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Shown:
    """Return a function that returns the help of a command in a terminal of 80 columns."""
    monkeypatch.setenv("COLUMNS", "80")

    def help_of(*words: str) -> str:
        main([*words, "--help"])
        return capsys.readouterr().out

    return help_of


def in_one_line(text: str) -> str:
    return " ".join(text.split())


def test_help_imports_nothing_heavy() -> None:
    found = json.loads(new_process(code=IMPORTS).stdout)
    assert found.keys() >= COMMANDS.keys()
    assert {name: modules for name, modules in found.items() if modules} == {}


@pytest.mark.parametrize("name", COMMANDS)
def test_help_fits_80_columns_and_gives_each_default_once(name: str, shown: Shown) -> None:
    text = shown(*name.split())
    assert text.startswith(f"usage: nb1shot1 {name}")
    assert max(map(len, text.splitlines())) <= 80
    for unwanted in ("None", "Default:", "TEXT)", "own options"):
        assert unwanted not in text
    for option in in_one_line(text).split(" --")[1:]:
        assert option.count("(default:") <= 1


@pytest.mark.parametrize(
    ("name", "headings"),
    [
        ("search", "What to search,Scale,Training of the weights,This optimizer,Measuring,Workers,Pictures,Running"),
        ("tune", "What to tune,Tuning,Scale,Training of the weights,This optimizer,Measuring,Workers,Pictures,Running"),
        ("blackbox", "What to search,Scale,Simulation,This optimizer,Measuring,Workers,Pictures,Running"),
        ("correlate", "Arguments,What to evaluate,Measuring,Pictures,Running"),
        ("train", "Arguments,Scale,Training,Measuring,Several architectures,Workers,Running"),
        ("reproduce", "Arguments,What to reproduce,Searches and trainings,Workers,Pictures,Running"),
        ("query", "Arguments,Options"),
    ],
)
def test_options_are_in_groups(name: str, headings: str, shown: Shown) -> None:
    text = shown(name)
    assert [line[:-1] for line in text.splitlines() if line.endswith(":") and line[0].isupper()] == headings.split(",")


@pytest.mark.parametrize("name", ["query", "train", "export"])
def test_help_has_an_example(name: str, shown: Shown) -> None:
    assert f"\n  nb1shot1 {name} " in shown(name)


def test_the_options_of_the_optimizer_are_a_group(shown: Shown) -> None:
    text = shown("search", "--optimizer", "enas")
    own = text.partition("\nThis optimizer:")[2].partition("\nMeasuring:")[0]
    assert "--controller-steps" in own
    assert "--finalists" in own
    assert "--relaxation" not in text
    assert text.count("--controller-steps INT") == 1
    assert "module:Class. (default: darts)" in in_one_line(text), "not the selected one"


def test_defaults_by_scale_come_from_the_table_of_the_scale(shown: Shown) -> None:
    text = in_one_line(shown("search"))
    for value in SCALES["quick"].values():
        assert f"--scale quick: {value}" in text
    channels = "--channels INT Number of channels in the supernet's first stack."
    scales = "--scale long: 8; --scale medium: 8; --scale quick: 8"
    assert f"{channels} (default: 16; {scales}; --space nats-size: 64)" in text
    assert "--compile Compile the supernet" in text, "a flag that is not the default has no --no-compile"
    of_original = "--preset original: running; --preset original --space nb201: batch-in-cells"
    assert f"(default: recalibrated; {of_original})" in text
    batches = "--scale long: 64; --scale medium: 64; --scale quick: 64; --space nb201: 64; --space nats-size: 64; "
    assert f"{batches}--scale quick --space nb201: 32; " in text
    assert "--scale quick --space nats-size: 32)" in text


def test_defaults_of_a_black_box_optimizer_on_a_space(shown: Shown) -> None:
    text = in_one_line(shown("blackbox"))
    assert "(default: 1e7; --space nb201: 12000; --space nats-size: 20000)" in text
    assert "(default: the table's full budget; --space nb201: 12; --space nats-size: 12)" in text


WITHOUT_DEFAULTS = {"seeds", "resume", "allow_module"}
"""Options of `search` that ask for something else when they are given, and have no value otherwise."""


@pytest.mark.parametrize("optimizer", BUILT_IN["optimizers"])
def test_every_option_of_a_search_gives_its_default_or_says_how_it_is_determined(optimizer: str) -> None:
    """Flags are off unless they are given."""
    command = Search.choose(Asked({"optimizer": optimizer}, []))
    for option in command_options(Search, command):
        if option.name not in WITHOUT_DEFAULTS and option.default is not False:
            text = help_text(option, {})
            assert text.endswith(")") and text.partition(" (default: ")[2].strip(")"), (option.name, text)


def test_every_common_option_of_a_search_is_under_its_heading(shown: Shown) -> None:
    text = shown("search")
    last = text.partition("\nRunning:")[2]
    assert "--channel-sampling" in text and "--channel-sampling" not in last
    assert {line.split()[0] for line in last.splitlines() if line.startswith("  --")} == RUNNING


RUNNING = {
    *(
        "--out",
        "--overwrite",
        "--resume",
        "--dry-run",
        "--gpus",
        "--tensorboard",
        "--allow-module",
        "--device",
        "--threads",
    ),
    *("--precision", "--compile", "--keep-weights-every"),
}


def test_registered_names_are_listed(shown: Shown) -> None:
    text = in_one_line(shown("search"))
    assert f"One-shot optimizer: {', '.join(BUILT_IN['optimizers'])}, or your own as module:Class." in text
    assert "s1, s2, s3, nb201, nats-size, or your own as module:object." in text
    assert "nb101-mini" in in_one_line(shown("blackbox"))
    assert "figure17, table2, nas101-figure7" in in_one_line(shown("reproduce"))
    assert listed_names("search_spaces") == list(BUILT_IN["search_spaces"])


def test_the_choices_of_an_option_are_implemented() -> None:
    assert tuple(RELAXATIONS) == tuple(KINDS) == RELAXATION_NAMES
    assert get_args(TermName) == ("none", *TERMS)
    assert get_args(UpdateName) == tuple(UPDATES)


def test_variants_of_defaults() -> None:
    def defaults(setting: dict[str, str]) -> dict[str, int]:
        quick, small = setting.get("scale") == "quick", setting.get("space") == "small"
        return {"epochs": 15 if quick else 250 if small else 50, "side": 16 if quick and small else 32, "cells": 9}

    found = default_variants(defaults, [("scale", "quick"), ("space", "small"), ("space", "s1")])
    assert found == {
        "--scale quick": {"epochs": 15},
        "--space small": {"epochs": 250},
        "--scale quick --space small": {"side": 16},
    }


@dataclass
class Bare:
    """Do something, with 50 % effort."""

    what: Annotated[Positional[str], Form("THING")]
    """A thing."""
    needed: int
    mode: Literal["a", "b"] = "a"
    """Mode. Default: never shown, as there is one."""
    limit: float | None = None
    """Limit in %. Default: none."""
    wise: bool | None = None
    """Whether to be wise."""
    space: Annotated[str, Names("search_spaces")] = "s1"
    """Space. Some are large."""
    loud: bool = True
    """Whether to shout."""
    hidden: Hidden[int] = 3


def test_the_help_of_a_dataclass_comes_from_its_docstring(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    expected = [
        *("usage: nb1shot1 bare THING --needed INT [OPTIONS]", "", "Do something, with 50 % effort.", ""),
        *("Arguments:", "  THING              A thing. (required)", "", "Options:"),
        "  --needed INT       (required)",
        "  --mode {a,b}       Mode. (default: a; --scale quick: b)",
        "  --limit FLOAT      Limit in %. (default: none)",
        "  --wise {yes,no}    Whether to be wise.",
        "  --space NAME       Space: s1, s2, s3, nb101, nb101-mini, nb101-5v, nb201,",
        "                     nats-size. Some are large. (default: s1)",
        "  --loud, --no-loud  Whether to shout. (default: yes)",
    ]
    assert help_screen("bare", Bare, None, {"--scale quick": {"mode": "b"}}).splitlines() == expected


class First:
    """An optimizer with settings of its own."""

    @dataclass(frozen=True)
    class Hyperparameters:
        """Settings."""

        rate: float = 0.1
        """Rate of the first."""


class Second:
    """Another optimizer of the same module, whose settings have the same names."""

    @dataclass(frozen=True)
    class Hyperparameters:
        """Settings."""

        rate: float = 0.1
        """Rate of the second."""


def test_nested_classes_with_equal_names_keep_their_own_help() -> None:
    @dataclass(frozen=True)
    class Hyperparameters:
        """Settings."""

        rate: float = 0.1
        """Rate of the third."""

    records = (First.Hyperparameters, Second.Hyperparameters, Hyperparameters)
    found = [option.help for record in records for option in command_options(record, None)]
    assert found == ["Rate of the first.", "Rate of the second.", "Rate of the third."]
