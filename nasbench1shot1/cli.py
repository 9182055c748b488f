"""The command line `nb1shot1`. Each command is a typed dataclass in a module that is imported when the command runs."""

import os
import sys
from collections.abc import Iterable, MutableMapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from nasbench1shot1.ground.errors import InvalidInputError, RunStoppedError, UserError, alternatives, unknown_name
from nasbench1shot1.ground.plugins import imported
from nasbench1shot1.ground.terminal import guarded_output, print_error

INTERRUPTED = 130  # exit code that a shell reports after Ctrl-C
HELP = ("-h", "--help")
SELECTING = ("optimizer", "resume", "allow_module", "list", "table")
"""The options that select which other options a command has."""
SPIN_COUNT = "GOMP_SPINCOUNT"
SPINS = 100  # microseconds; libgomp itself uses 100 if it has more threads than cores
SPIN_VARIABLES = (SPIN_COUNT, "OMP_WAIT_POLICY")
"""Environment variables that set how long a waiting thread spins before it sleeps."""


@dataclass(frozen=True)
class Command:
    """A command: its one-line help, and the dataclass of its options, whose method `run` executes it."""

    help: str
    target: str


COMMANDS = {
    "search": Command("search with a one-shot optimizer and record regret per epoch", "search:Search"),
    "train": Command("train architectures with their benchmark's protocol", "train:Train"),
    "report": Command("score a run on any table, or write a web page about runs", "report:Report"),
    "correlate": Command("rank architectures by shared weights against the table", "correlate:Correlate"),
    "tune": Command("tune an optimizer's hyperparameters with BOHB or SMAC", "tune:Tune"),
    "blackbox": Command("search a table with a black-box optimizer", "blackbox:BlackBox"),
    "compare": Command("compare runs of any kind: figure, table, rank tests", "compare:Compare"),
    "reproduce": Command("reproduce a figure of one of the papers", "reproduce:Reproduce"),
    "plan": Command("estimate the work, memory and hours of a figure's runs", "plan:Plan"),
    "claims": Command("test the papers' claims on recorded runs, with verdicts", "claims:Claims"),
    "export": Command("write a study for Optuna or DeepCAVE", "export:Export"),
    "space": Command("print the sizes of the search spaces, next to published sizes", "space:Space"),
    "statistics": Command("run the papers' analyses on a table: figures and CSV files", "statistics:Statistics"),
    "query": Command("look up an architecture or a hash in the table", "query:Query"),
    "table list": Command("list the tables that --table accepts by name", "table:List"),
    "table info": Command("describe a table and the accuracy of its predictions", "table:Info"),
    "table verify": Command("verify the checksums of a table", "table:Verify"),
    "table import": Command("import a benchmark's official file, or a CSV of your trainings", "table:Import"),
    "table download": Command("download and import NAS-Bench-101 (499 MB or 1.95 GB)", "table:Download"),
    "table build": Command("rebuild the bundled table of estimates", "table:Build"),
    "data info": Command("list the installed image sets", "data:Info"),
    "data download": Command("download the official CIFAR-10 (170 MB) or CIFAR-100", "data:Download"),
    "data import": Command("import a data set, or your own images as .npz", "data:Import"),
}


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line; exits with 2 on bad input, 130 on Ctrl-C."""
    if "" not in sys.path:
        sys.path.append("")  # "module:Class" also finds a module in the current folder, as with python -m
    limit_spinning(os.environ)  # before anything imports torch
    with guarded_output():
        _main(list(sys.argv[1:] if arguments is None else arguments))


def _main(arguments: list[str]) -> None:
    try:
        if not arguments or arguments[0] in HELP:
            print(_overview())
        elif arguments[1:] and arguments[1] in HELP and (group := _group(arguments[0])):
            print(_overview_of_group(arguments[0], group))
        elif arguments[0] == "--version":
            from nasbench1shot1 import __version__

            print(__version__)
        else:
            _run(arguments)
    except UserError as error:
        print_error(error.for_command_line)
        sys.exit(2)
    except KeyboardInterrupt as stop:
        told = str(stop) or "stopped before anything new was recorded"
        if isinstance(stop, RunStoppedError):
            told = f"stopped; continue with: {_program()} {stop.command}"
        print(file=sys.stderr)
        print_error(told)
        sys.exit(INTERRUPTED)


def _program() -> str:
    """Return the name for calling this program again, or its path if its folder is not in PATH."""
    from pathlib import Path
    from shutil import which

    called = Path(sys.argv[0])
    return str(called) if called.name == "nb1shot1" and len(called.parts) > 1 and not which("nb1shot1") else "nb1shot1"


def _run(arguments: list[str]) -> None:
    try:
        os.getcwd()  # noqa: PTH109 - pathlib would have to be imported
    except FileNotFoundError as error:
        raise UserError("the current folder no longer exists: change to another folder") from error
    name, rest = _split(arguments)
    command = imported(f"nasbench1shot1.commands.{COMMANDS[name].target}")
    words = [word for word in rest if word not in HELP]
    wants_help, default = len(words) < len(rest), None
    if hasattr(command, "choose"):  # the available options depend on some of them
        default = command.choose(_asked(name, command, words, wants_help))
    if wants_help:
        _show_help(name, command, default)
        return
    from nasbench1shot1.commands.options import command_options, with_given
    from nasbench1shot1.commands.parsing import parse  # here, because not all help needs it

    given = parse(name, list(command_options(command, default)), words, getattr(default, "explain", lambda _: None))
    resolved = with_given(command if default is None else default, given)
    (replace(resolved, named=frozenset(given)) if hasattr(resolved, "named") else resolved).run()


def _asked(name: str, command: Any, words: Sequence[str], wants_help: bool) -> Any:
    """Return the `Asked` of a command line; raises for a run that this command cannot resume."""
    from nasbench1shot1.commands.options import Asked, command_options

    if not words:  # the help of a command: importing the parser takes longer than the rest
        return Asked({}, [])
    from nasbench1shot1.commands.parsing import parse_some
    from nasbench1shot1.runs.opening import check_resumable

    selecting = [option for option in command_options(command, None) if option.name in SELECTING]
    asked = parse_some(name, selecting, words)
    if "resume" in asked.options and not wants_help:
        check_resumable(asked.options["resume"], name)
    return asked


def _show_help(name: str, options: Any, default: Any) -> None:
    """Print the help of a command. A command's method `variants` returns the defaults in other settings."""
    from nasbench1shot1.commands.help_screen import help_screen

    variants = default.variants() if hasattr(default, "variants") else {}
    print(help_screen(name, options, default, variants), end="")


def _split(arguments: list[str]) -> tuple[str, list[str]]:
    """Return the command in the first one or two words, and the remaining words."""
    one, two = arguments[0], " ".join(arguments[:2])
    if one in COMMANDS:
        return one, arguments[1:]
    if two in COMMANDS:
        return two, arguments[2:]
    group = _group(one)
    if group and len(arguments) == 1:
        raise InvalidInputError(f"'{one}' is incomplete: add {alternatives(name.split()[1] for name in group)}")
    raise unknown_name("command", two if group else one, group or COMMANDS)


def _group(word: str) -> list[str]:
    """Return the two-word commands that begin with a word."""
    return [name for name in COMMANDS if name.startswith(word + " ")]


def _overview() -> str:
    lines = _with_help(COMMANDS)
    return "\n".join(
        [
            "usage: nb1shot1 COMMAND [--options]",
            "",
            "One-shot architecture search on NAS-Bench-101, NAS-Bench-201 and NATS-Bench.",
            "",
            *lines,
            "",
            "nb1shot1 COMMAND --help lists options. To begin: nb1shot1 search --scale quick",
        ]
    )


def _overview_of_group(word: str, names: Iterable[str]) -> str:
    """Return the help of the commands that begin with a word, as `nb1shot1 table --help` shows it."""
    advice = f"nb1shot1 {word} COMMAND --help lists a command's options."
    return "\n".join([f"usage: nb1shot1 {word} COMMAND [--options]", "", *_with_help(names), "", advice])


def _with_help(names: Iterable[str]) -> list[str]:
    """Return a line for each command, with its help."""
    listed = list(names)
    width = max(map(len, listed))
    return [f"  {name:<{width}}  {COMMANDS[name].help}" for name in listed]


def limit_spinning(environment: MutableMapping[str, str]) -> None:
    """Make waiting threads sleep after a short spin, unless the environment has one of `SPIN_VARIABLES`.

    By default, GNU's OpenMP library, which PyTorch's CPU wheels for Linux contain, spins for milliseconds. If other
    programs use the cores, a spinning thread keeps the thread that it waits for from running: a search took several
    times longer (benchmarks/README.md). Results do not change. The library reads the variables when it is loaded, so
    this only has an effect before torch is imported, and on processes that are started later.
    """
    if not any(name in environment for name in SPIN_VARIABLES):
        environment[SPIN_COUNT] = str(SPINS)
