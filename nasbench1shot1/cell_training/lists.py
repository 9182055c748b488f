"""Lists of architectures to train: reading a file, and turning its entries into distinct networks of one benchmark."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from nasbench1shot1.architecture import is_text_form
from nasbench1shot1.benchmark import Benchmark
from nasbench1shot1.cell_training.options import TrainingOptions
from nasbench1shot1.cell_training.training import find_architecture
from nasbench1shot1.ground.errors import InvalidInputError, UserError, quote
from nasbench1shot1.ground.files import read_text
from nasbench1shot1.ground.text import listed_lines
from nasbench1shot1.networks import benchmark_of

if TYPE_CHECKING:
    from nasbench1shot1.cell_training.recipe import Recipe
    from nasbench1shot1.tables.table import Table


class Listed(NamedTuple):
    """An entry of a list.

    Attributes:
        place: where it is, for messages, such as "line 3 of architectures.txt".
        x: an architecture, a cell, or a text: an architecture, a cell's hash or an official index.
    """

    place: str
    x: Any


def read_list(file: Path) -> list[Listed]:
    """Read architectures from a text file, one per line; text after # is a comment, and empty lines are skipped.

    Raises UserError if the file cannot be read, InvalidInputError if it contains no architectures.
    """
    try:
        text = read_text(file)
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or "it is not UTF-8 text"
        raise UserError(
            f"cannot read the list '{file}' ({why}): give a text file with one architecture per line"
        ) from error
    found = [Listed(f"line {number} of {file}", line) for number, line in listed_lines(text)]
    if not found:
        raise InvalidInputError(f"the list '{file}' contains no architectures: write one per line")
    return found


def listed(architectures: Any) -> list[Listed]:
    """Return the entries of a list in Python; raises InvalidInputError if it is not a list or is empty."""
    if isinstance(architectures, str) or not hasattr(architectures, "__iter__"):
        raise InvalidInputError(f"architectures must be a list of architectures, not {architectures!r}")
    found = [Listed(f"architectures[{number}]", x) for number, x in enumerate(architectures)]
    if not found:
        raise InvalidInputError("architectures is empty: give at least one architecture")
    return found


def networks_of(entries: Sequence[Listed], table: "Table | None") -> tuple[Benchmark, list[Any]]:
    """Return the benchmark of a list, and its architectures and cells in order.

    Args:
        entries: the list.
        table: the table in which hashes and indices are looked up. Default: the table of the architectures in the list;
            if it has only hashes and indices, the table in use.

    Raises InvalidInputError or OutOfDomainError, which names the entry, if one is unknown or of another benchmark.
    """
    found: list[Any] = [None] * len(entries)
    texts = [isinstance(entry.x, str | int | np.integer) and not is_text_form(entry.x) for entry in entries]
    for i in sorted(range(len(entries)), key=texts.__getitem__):  # first those that need no table
        first = next((network for network in found if network is not None), None)
        if texts[i] and table is None:
            table = _table(None if first is None else benchmark_of(first))
        x = str(entries[i].x) if texts[i] else entries[i].x
        try:
            found[i] = find_architecture(x, table)
            network_of = benchmark_of(found[i])
        except UserError as error:
            raise type(error)(f"{entries[i].place}: {quote(error)}") from error
        if first is not None and network_of is not benchmark_of(first):
            raise InvalidInputError(
                f"{entries[i].place} is an architecture of {network_of.title}, but other entries are of "
                f"{benchmark_of(first).title}: make a list for each benchmark"
            )
    return benchmark_of(found[0]), found


def _table(of: Benchmark | None) -> "Table":
    from nasbench1shot1.tables.table import load_table

    return load_table(None if of is None else of.table)


def recipes_of(entries: Sequence[Listed], networks: Sequence[Any], config: TrainingOptions) -> "list[Recipe]":
    """Return the recipe of every network.

    Raises InvalidInputError, which names the entry, if the options do not support a network, if a network cannot be a
    row of a table, or if two entries are the same network.
    """
    from nasbench1shot1.cell_training.recipe import recipe

    keys, places, found = config.BENCHMARK.load("keys"), dict[str, str](), []
    for entry, network in zip(entries, networks, strict=True):
        try:
            method = recipe(network, config)
            keys.columns_of([network])
        except UserError as error:
            raise type(error)(f"{entry.place}: {quote(error)}") from error
        if method.folder in places:
            raise InvalidInputError(
                f"{entry.place} is the same {config.BENCHMARK.networks[0]} as {places[method.folder]}: remove one of "
                "them"
            )
        places[method.folder] = entry.place
        found.append(method)
    return found
