"""The black-box studies of a figure: one job per curve, each in a separate folder."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from nasbench1shot1.black_box_search.options import black_box_options
from nasbench1shot1.black_box_search.record import BlackBoxStudy
from nasbench1shot1.black_box_search.repeats import Repeats, table_of_study, with_dataset
from nasbench1shot1.experiments.reproduction.figure import FigureJob, Kind, Options, job_fields
from nasbench1shot1.ground.errors import InvalidInputError, OutOfDomainError
from nasbench1shot1.ground.text import percent
from nasbench1shot1.registry import search_space
from nasbench1shot1.tables.table import load_table

SEARCH = "nasbench1shot1.black_box_search.studying:black_box"


@dataclass(frozen=True, kw_only=True)
class BlackBoxJob(FigureJob):
    """A black-box study of a figure, with a name such as "s1/random/seed-0".

    Attributes:
        advice: advice in the error message if the table does not cover the space.
    """

    NOUNS, UNIT, VERB = ("study", "studies"), "search", "searched"
    FREE: ClassVar[tuple[str, ...]] = ()  # the results depend on the table

    advice: str

    @property
    def units(self) -> int:
        """Number of searches."""
        return int(self.options["repeats"])

    @property
    def kind(self) -> Kind:
        """Panel and curve, because the cost differs between optimizers and spaces."""
        return "black-box", self.panel, self.curve

    @property
    def repeats(self) -> Repeats:
        """The searches of the study."""
        options = black_box_options(self.options)
        return Repeats(options, table_of_study(options))

    def seconds_per_unit(self) -> float:
        """Return the wall-clock seconds of one search on this machine."""
        repeats = self.repeats
        repeats.line(0)  # opens the table's columns
        started = time.perf_counter()
        repeats.line(1)
        return time.perf_counter() - started

    def check_data(self) -> None:
        """Raise UserError if the table lacks the data set, the budget or architectures of the space."""
        options = black_box_options(self.options)
        with_dataset(options, table := load_table(options.common.table))
        try:
            table_of_study(options)
        except (OutOfDomainError, InvalidInputError) as error:
            space = search_space(options.common.space).name
            raise InvalidInputError(f"the table {table.id} does not cover {space}: {self.advice}") from error

    def record(self) -> BlackBoxStudy:
        """Open the study's folder."""
        return BlackBoxStudy.open(self.folder)

    def outcome(self) -> str:
        """Return the mean test regret of the final incumbents, in words."""
        found = self.record().summary["test_regret"]
        return "no test regret" if found is None else f"mean test regret {percent(found['mean'])}"


def resolve_studies(options: Sequence[Options]) -> list[dict[str, Any]]:
    """Return the options of several studies with all defaults filled in for the current machine.

    Raises:
        InvalidInputError: an option is unknown or a value is out of range.
        OutOfDomainError: the table lacks the data set or budget.
    """
    found = map(black_box_options, options)
    return [with_dataset(each, load_table(each.common.table)).as_dict() for each in found]


def study_job(panel: str, curve: str, out: Path, options: Options, advice: str) -> BlackBoxJob:
    """Return a job with resolved options; its folder is a subfolder of the figure's folder `out`."""
    return BlackBoxJob(command=SEARCH, advice=advice, **job_fields(panel, curve, out, options))
