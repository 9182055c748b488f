"""Networks that figures mark: the reference points of a benchmark by name, or any other network of a table."""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from nasbench1shot1.architecture import Architecture
from nasbench1shot1.display.marked_networks import Marked, marked
from nasbench1shot1.evaluator import Judge
from nasbench1shot1.ground.errors import InvalidInputError, option, quote, quoted_option, shorten, unknown_name
from nasbench1shot1.ground.text import percent
from nasbench1shot1.registry import search_space
from nasbench1shot1.runs.folder import CONFIG
from nasbench1shot1.runs.record import RunRecord
from nasbench1shot1.tables.keys import Item
from nasbench1shot1.tables.table import Table

Asked = str | Architecture | tuple[str, Item]
"""A network to mark: the name of a reference point, an architecture or its text, a hash or an index; or a name for the
legend together with a network."""


class ReferencePoint(NamedTuple):
    """A network and its name in legends."""

    name: str
    network: Item


def default_points(table: Table) -> list[ReferencePoint]:
    """Return the reference point that figures of single points mark: the first of the table's benchmark, if any."""
    known = table.benchmark.reference_points
    return [ReferencePoint(name, Architecture.parse(text)) for name, text in list(known.items())[:1]]


def reference_points(asked: Iterable[Asked], table: Table) -> list[ReferencePoint]:
    """Return the networks to mark.

    Args:
        asked: names of the benchmark's reference points, such as "ResNet cell" or "resnet-cell"; architectures, or
            whatever else the table can look up; or pairs of a name and a network.
        table: the table behind the figure.

    Raises InvalidInputError if a text is neither a name nor a network of the table's benchmark.
    """
    given = [asked] if isinstance(asked, str | Architecture) else list(asked)
    return list(dict.fromkeys(_point(each, table) for each in given))


def _point(asked: Asked, table: Table) -> ReferencePoint:
    if isinstance(asked, tuple):
        return ReferencePoint(str(asked[0]), _network(asked[1], table))
    known = {_plain(name): name for name in table.benchmark.reference_points}
    if isinstance(asked, str) and (name := known.get(_plain(asked))):
        return ReferencePoint(name, Architecture.parse(table.benchmark.reference_points[name]))
    return ReferencePoint(shorten(str(asked), 60), _network(asked, table))


def _plain(name: str) -> str:
    """Return a name in the form in which names are compared: lower case, with spaces between words."""
    return name.lower().replace("-", " ").replace("_", " ").strip()


def _network(asked: Item, table: Table) -> Item:
    """Return what a table can look up; raises InvalidInputError if it cannot."""
    found = asked
    is_name = isinstance(asked, str) and not {":", "|"} & set(asked)
    try:
        if isinstance(asked, str):
            found = table.keys.item_of(asked) if is_name else Architecture.parse(asked)
        found in table  # noqa: B015, raises for a network of another benchmark
    except InvalidInputError as error:
        if is_name:
            names = [*table.benchmark.reference_points]
            raise unknown_name("reference point", str(asked), names, ", and any architecture") from None
        raise InvalidInputError(f"{quoted_option('mark', shorten(str(asked)))}: {quote(error)}") from None
    return found


def missing_note(points: Iterable[ReferencePoint], table: Table) -> str:
    """Return a sentence about the networks that the table lacks, for a caption; empty if there are none."""
    names = [point.name for point in points if point.network not in table]
    return f"Not in the table {table.id}, so not marked: {', '.join(names)}." if names else ""


class MarkedRegrets(NamedTuple):
    """The test regrets of marked networks.

    Attributes:
        regrets: for each network that has one: its name, its place among the marked networks, the regret as the table
            has it, and whether its test value is measured.
        note: a sentence about the others, for a caption; empty if there are none.
    """

    regrets: Sequence[tuple[str, int, float, bool]] = ()
    note: str = ""

    def levels(
        self, scale: float = 100.0, text: Callable[[float], str] = percent, floor: float | None = None
    ) -> list[Marked]:
        """Return a horizontal line for each network, for axes of regrets.

        Args:
            scale: factor from a regret to the unit of the axes.
            text: writes a regret with its unit.
            floor: lower edge of logarithmic axes, as a regret, where smaller regrets are drawn.
        """
        return [
            marked(
                name,
                place,
                y=scale * (regret if floor is None else max(regret, floor)),
                source=f"{text(regret)}, {'measured' if is_measured else 'predicted'}",
            )
            for name, place, regret, is_measured in self.regrets
        ]


NO_REGRETS = MarkedRegrets()
"""For figures without marked networks."""


def marked_regrets(asked: Iterable[Asked] | None, table: Table | None, run: RunRecord) -> MarkedRegrets:
    """Return the test regrets of the networks to mark in a figure of a run, relative to its space and bounds.

    Args:
        asked: the networks, as in `reference_points`; None: nothing is marked.
        table: the table behind the regrets of the figure; None: it cannot be opened.
        run: the run; with several, one of them, because they have one space, objective and bounds.

    Raises InvalidInputError if a text is neither a name nor a network of the table's benchmark, or there is no table.
    """
    if not asked:
        return NO_REGRETS
    if table is None:
        raise InvalidInputError(
            f"{option('mark')} needs the table that the run recorded, but it cannot be opened: score the run on "
            "another table"
        )
    points, judge = reference_points(asked, table), Judge.from_config(run.config, run.folder / CONFIG)
    space = search_space(run.config["space"]).name
    known = [point for point in points if point.network in table]
    scores = {point: judge.score_in(space, point.network, table) for point in known}
    regrets = [
        (point.name, place, found.test_regret, found.test_measured)
        for place, point in enumerate(points)
        if (found := scores.get(point)) is not None and found.test_regret is not None
    ]
    unknown = [point.name for point, found in scores.items() if found.test_regret is None]
    lacking = f"The table {table.id} has no test regret of {', '.join(unknown)}." if unknown else ""
    return MarkedRegrets(regrets, " ".join(filter(None, [missing_note(points, table), lacking])))
