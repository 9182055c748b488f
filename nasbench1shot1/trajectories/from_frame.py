"""`nb.study_from_frame`: a data frame of trainings as a black-box study."""

import shutil
import tempfile
import weakref
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nasbench1shot1.black_box_search.options import BlackBoxConfig, black_box_options
from nasbench1shot1.black_box_search.record import BlackBoxStudy
from nasbench1shot1.black_box_search.repeats import table_of_study, with_table
from nasbench1shot1.black_box_search.studying import begin_study
from nasbench1shot1.ground.errors import InvalidInputError, OutOfDomainError, option
from nasbench1shot1.ground.files import as_path
from nasbench1shot1.objectives.recording import OutsideOptimizer, OutsideRepeats, StudyRecorder
from nasbench1shot1.objectives.starting import check_name
from nasbench1shot1.registry import search_space, with_names
from nasbench1shot1.runs.folder import TRAJECTORY
from nasbench1shot1.runs.lifecycle import check_is_new
from nasbench1shot1.tables.references import Reference
from nasbench1shot1.tables.table import Table, load_table
from nasbench1shot1.trajectories.trainings import Incumbents, Trainings

if TYPE_CHECKING:
    import pandas

    from nasbench1shot1.space import SearchSpace

NAME = "trajectory"
"""Default label of the optimizer."""


@dataclass(frozen=True, eq=False)
class TrajectoryRepeats(OutsideRepeats):
    """Searches that another program recorded.

    Attributes:
        options, table, asked: as in `OutsideRepeats`.
        has_seconds: whether the program recorded a clock; the table's training times do not matter.
        has_losses: whether the program recorded validation errors.
    """

    has_seconds: bool = True
    has_losses: bool = True

    @property
    def is_timed(self) -> bool:
        """Whether the times of the incumbents are known."""
        return self.has_seconds

    def check_objective(self) -> None:
        """Raise OutOfDomainError if the table has no validation accuracy, which the incumbents need."""
        try:
            super().check_objective()
        except OutOfDomainError as error:
            raise OutOfDomainError(
                f"the table {self.table.id} has no validation accuracy of any network of {self.space.name}, which "
                f"selects the incumbents: choose another {option('table')}"
            ) from error

    def feedback_repeats(self) -> dict[str, list[int]]:
        """Return the numbers of repeats as `Repeats` does; empty if it is unknown what the program observed."""
        return super().feedback_repeats() if self.has_losses else {}


def study_from_frame(
    frame: "pandas.DataFrame",
    space: "str | SearchSpace | None" = None,
    *,
    table: "str | Path | Table | None" = None,
    name: str = NAME,
    out: str | Path | None = None,
    dataset: str | None = None,
    reference: Reference | None = None,
    epochs: int | None = None,
) -> BlackBoxStudy:
    """Return a black-box study of the trainings that another program recorded.

    Incumbents and regrets are computed from the table. The incumbent is the architecture with the lowest validation
    error so far.

    Args:
        frame: one row for each training, in the order of their ends within each run. Columns:
            `run`: name or number of the search. Without it, all rows belong to one search.
            `seconds`: the clock at the end of the training; or `evaluation`: its number in its run, from 1; or both.
            `architecture`: a text, the identifier of a network, such as NAS-Bench-101's MD5, or a number of the space.
            Without it, a column for each parameter of the space's configuration.
            `epochs` (optional): the budget, as in a call of `nb.objective`. Default: the argument `epochs`.
            `validation_error` (optional): the value that the program observed. It must be a repeat or the mean of the
            table. Without this column, the mean over repeats decides about incumbents.
            All other columns are ignored.
        space: an `nb.SearchSpace`, or the name of one. Default: s1.
        table: an `nb.Table` that has a folder, or the folder or name of a table. Default: the table of `nb.black_box`.
        name: name of the optimizer, for the record, labels and captions. It must not be an optimizer of this package.
        out: folder of the study; it must not exist. Default: a temporary folder that exists as long as the result.
        dataset: the data set of the search, if the table has several. Default: the first.
        reference: "present" if the table may lack architectures, as in `nb.black_box`.
        epochs: the budget of all trainings of a frame without the column `epochs`. Default: `default_epochs` of an
            objective.

    Raises:
        UserError: a column is missing; a value is missing or impossible; the table lacks an architecture or has another
            validation error; the clock of a run decreases; two rows are one training; or the folder exists. Nothing is
            written.
    """
    options = {"space": space, "table": table, "dataset": dataset, "reference": reference, "epochs": epochs}
    return make_study(frame, name, out, name, options)


def make_study(
    frame: "pandas.DataFrame", name: str, out: str | Path | None, source: str, options: Mapping[str, Any]
) -> BlackBoxStudy:
    """Return the study of a frame's trainings.

    Args:
        frame, name, out: as in `study_from_frame`.
        source: where the trainings come from, which comparisons show instead of a temporary folder.
        options: the other arguments of `study_from_frame`, by name.

    Raises the errors of `study_from_frame`.
    """
    check_name(name)
    given = with_names({**options, "optimizer": name})
    given = {key: value for key, value in given.items() if value is not None}
    if out is not None:
        check_is_new(as_path(out, "out", is_option=True))
    trainings = Trainings.of_frame(frame, search_space(given.get("space") or BlackBoxConfig.space))
    repeats = _repeats(trainings, given)
    begun = begin_study(repeats)
    incumbents = Incumbents(repeats)
    results = [incumbents.of_run(*run) for run in trainings.runs.items()]
    repeats.asked.update(incumbents.budgets)
    lines = [repeats.line_of(number, result) for number, result in enumerate(results)]
    about = {"losses": trainings.has_losses, "runs": list(trainings.runs)}
    if out is not None:
        folder = as_path(out, "out", is_option=True)
        with StudyRecorder.start(folder, repeats, begun, {TRAJECTORY: about}) as recorder:
            recorder.append(*lines)
            return recorder.finish()
    scratch = tempfile.mkdtemp(prefix="nb1shot1-")
    about["source"] = source
    try:
        with StudyRecorder.start(Path(scratch) / name, repeats, begun, {TRAJECTORY: about}) as recorder:
            recorder.append(*lines)
            study = recorder.finish(draws=False)
    except BaseException:
        shutil.rmtree(scratch, ignore_errors=True)
        raise
    weakref.finalize(study, shutil.rmtree, scratch, ignore_errors=True)
    return study


def _repeats(trainings: Trainings, given: Mapping[str, Any]) -> TrajectoryRepeats:
    """Return the searches of the runs; the limit of each is the end of the longest run."""
    if trainings.has_seconds and not trainings.last:
        raise InvalidInputError("the column 'seconds' is 0 in all rows: number the trainings in 'evaluation' instead")
    counted = {**given, "evaluations": trainings.most}
    options = black_box_options(counted, OutsideOptimizer)
    options = with_table(options, load_table(options.common.table), counted)
    changed: dict[str, Any] = {"repeats": len(trainings.runs)}
    if trainings.has_seconds:
        changed |= {"seconds": trainings.last, "evaluations": None}
    options = replace(options, common=replace(options.common, **changed))
    table = table_of_study(options)
    return TrajectoryRepeats(options, table, has_seconds=trainings.has_seconds, has_losses=trainings.has_losses)
