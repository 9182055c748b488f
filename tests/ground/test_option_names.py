"""Messages name options through the placeholders of `ground.errors`, never literally: found in the syntax trees."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from nasbench1shot1 import cli
from nasbench1shot1.commands.options import Asked, command_options
from nasbench1shot1.ground.plugins import imported

ROOT = Path(__file__).parents[2]
FOLDERS = ("nasbench1shot1", "search_spaces", "optimizers", "experiments")
OF_THE_COMMAND_LINE = ("nasbench1shot1/commands/", "nasbench1shot1/cli.py", "experiments/claims/")
"""Modules whose texts only appear on the command line or show its commands; their errors use placeholders, too."""
FLAG = re.compile(r"--[a-z]")
JUSTIFIED = {
    "nasbench1shot1/ground/errors.py": {" (--help lists all)"},  # only if the unknown option is written with --
    "nasbench1shot1/commands/parsing.py": {"--help"},  # of the known options, in the error for an unknown one
    # Calls in Python, which have no command
    "nasbench1shot1/black_box_search/record.py": {
        "' is not finished: continue in Python with nb.objective(resume='",
    },
    "nasbench1shot1/black_box_search/studying.py": {
        "' is not part of this package: continue it in Python with nb.objective(resume='",
    },
    "nasbench1shot1/objectives/recording.py": {
        ", which nb.objective did not record: continue it with nb.black_box(resume='",
    },
    "nasbench1shot1/objectives/starting.py": {"name=", "objective="},
    "nasbench1shot1/tables/from_frame.py": {
        ": register the benchmark of the space, or name it by its import path, such as "
        "nb.Benchmark(name='my_space:BENCHMARK', …)",
    },
    "nasbench1shot1/registry.py": {"space="},  # with a class, which the command line cannot give
    "nasbench1shot1/runs/machine.py": {"--always", "--dirty", "--abbrev=40"},  # arguments of git
    "nasbench1shot1/tables/added_column.py": {  # of nb.Column, which no command has
        " has budgets, so it belongs to one training: describe it with dataset="
    },
}
ANY_ERROR = {"Exception", "BaseException"}


@cache
def trees() -> dict[str, ast.Module]:
    """The syntax tree of each module of the product."""
    paths = [path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.py"))]
    return {str(path.relative_to(ROOT)): ast.parse(path.read_text()) for path in paths}


def name_of(node: ast.AST | None) -> str:
    """The last part of a name such as `errors.UserError`; empty for another expression."""
    return getattr(node, "id", getattr(node, "attr", ""))


@cache
def kinds_of_errors() -> frozenset[str]:
    """The names of `UserError` and its subclasses."""
    bases = {node.name: set(map(name_of, node.bases)) for tree in trees().values() for node in classes(tree)}
    found, before = {"UserError"}, set[str]()
    while found != before:
        before = set(found)
        found |= {name for name, of in bases.items() if of & found}
    return frozenset(found)


def classes(tree: ast.AST) -> Iterator[ast.ClassDef]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.ClassDef))


def messages(tree: ast.AST) -> Iterator[ast.AST]:
    """The calls that make errors for users, and all that is raised."""
    makers = {*kinds_of_errors(), "unknown_name"}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and name_of(node.func) in makers:
            yield node
        elif isinstance(node, ast.Raise) and node.exc is not None:
            yield node.exc


def texts(node: ast.AST) -> Iterator[str]:
    """The texts in a tree, including the constant parts of f-strings, but no docstrings."""
    described = {id(of.value) for of in ast.walk(node) if isinstance(of, ast.Expr)}
    for of in ast.walk(node):
        if isinstance(of, ast.Constant) and isinstance(of.value, str) and id(of) not in described:
            yield of.value


def faults(pattern: re.Pattern[str], path: str, parts: Iterator[ast.AST]) -> set[str]:
    """The texts of a module that match a pattern without a justification."""
    found = {text for part in parts for text in texts(part) if pattern.search(text)}
    return {f"{path}: {text!r}" for text in found - JUSTIFIED.get(path, set())}


def options_of_commands() -> set[str]:
    """The names of the options of all commands, with their default optimizers."""
    names = set()
    for command in cli.COMMANDS.values():
        target = imported(f"nasbench1shot1.commands.{command.target}")
        chosen = target.choose(Asked({}, [])) if hasattr(target, "choose") else None
        names |= {option.name for option in command_options(target, chosen) if option.flag}
    return names


def test_no_text_that_python_callers_may_see_names_an_option_as_the_command_line_does() -> None:
    found = set[str]()
    for path, tree in trees().items():
        found |= faults(FLAG, path, messages(tree) if path.startswith(OF_THE_COMMAND_LINE) else iter([tree]))
    assert found == set()


def test_no_message_names_an_option_of_a_command_as_python_does() -> None:
    names = "|".join(sorted(options_of_commands()))
    pattern = re.compile(rf"(?<![\w.])({names})=")
    assert {"epochs", "dataset", "out", "allow_module"} <= set(names.split("|"))
    found = set[str]()
    for path, tree in trees().items():
        found |= faults(pattern, path, messages(tree))
    assert found == set()


def test_messages_quote_other_errors_with_their_placeholders() -> None:
    found = []
    for path, tree in trees().items():
        for handler in (node for node in ast.walk(tree) if isinstance(node, ast.ExceptHandler) and node.name):
            caught = set(map(name_of, ast.walk(handler.type))) if handler.type else ANY_ERROR
            if caught & (kinds_of_errors() | ANY_ERROR):
                found += [f"{path}:{node.lineno}" for node in ast.walk(handler) if writes(node, str(handler.name))]
    assert found == []


def writes(node: ast.AST, name: str) -> bool:
    """Whether an expression is `{name}` in an f-string, or `str(name)`."""
    values = [node.value] if isinstance(node, ast.FormattedValue) else []
    if isinstance(node, ast.Call) and name_of(node.func) == "str":
        values = node.args
    return any(name_of(value) == name for value in values)


@pytest.mark.parametrize(
    ("code", "is_found"),
    [
        ("raise UserError(f'give {x} --seeds')", True),
        ("def f():\n    '''Says --seeds.'''\n    return f'lower {option(\"seeds\")}'", False),
        ("advice = 'add --seeds'", True),
    ],
)
def test_flags_are_found_in_any_text_but_docstrings(code: str, is_found: bool) -> None:
    assert bool(faults(FLAG, "x.py", iter([ast.parse(code)]))) is is_found
