"""`nb.objective`: from names and options to an objective, new or resumed."""

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nasbench1shot1.black_box_search.options import black_box_options
from nasbench1shot1.black_box_search.record import OTHERS
from nasbench1shot1.black_box_search.repeats import table_of_study, with_table
from nasbench1shot1.black_box_search.studying import begin_study
from nasbench1shot1.ground.arguments import options_by_keyword
from nasbench1shot1.ground.errors import InvalidInputError, either, flag, option, shorten
from nasbench1shot1.ground.files import as_path
from nasbench1shot1.objectives.objective import SEVERAL_WORKERS, Objective
from nasbench1shot1.objectives.recording import OutsideOptimizer, OutsideRepeats, StudyRecorder
from nasbench1shot1.registry import names, with_names
from nasbench1shot1.tables.table import load_table

if TYPE_CHECKING:
    from nasbench1shot1.space import SearchSpace

NAME = "own-optimizer"
"""Default label of the optimizer."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9 ._+()-]{0,99}")
_ELSEWHERE = {
    "optimizer": "name your optimizer with name=",
    "repeats": "call reset() to begin each search",
    "simulated_workers": f"a function trains one architecture at a time; {SEVERAL_WORKERS}",
    "workers": f"a function runs in this process; {SEVERAL_WORKERS}",
    "scheduler": f"a function runs in this process; {SEVERAL_WORKERS}",
}
"""Options of `nb.black_box` that an objective does not have, with what to do instead."""


@options_by_keyword('nb.objective("s1", evaluations=280)')
def objective(
    space: "str | SearchSpace | None" = None,
    *,
    name: str = NAME,
    objective: "str | Sequence[str] | None" = None,
    out: str | Path | None = None,
    resume: str | Path | None = None,
    allow_module: str | None = None,
    **options: Any,
) -> Objective:
    """Return a function that an optimizer of another library can call to train architectures on the simulated clock.

    Args:
        space: an `nb.SearchSpace`, or the name of one. Default: s1.
        name: name of the optimizer, for the record, labels and captions. It must not be the name of an optimizer of
            this package.
        objective: a metric of the table that has a direction (higher or lower is better), or a list of metrics. The
            first one determines the incumbents. It needs a counterpart on test images, in which the search is scored.
            Default: validation_accuracy, whose cost is the validation error.
        out: folder of a new study that records all searches; it must not exist. Default: nothing is recorded.
        resume: folder of a study to continue. It can only be combined with `allow_module`.
        allow_module: module that `resume` may import because the study's config.json names it.
        options: options of `nb.black_box` (`black_box_search.options.BlackBoxConfig`). `seconds` or `evaluations` limit
            each search (default: the limit of `nb.black_box` on this space). Other options are `seed`, `first_repeat`,
            `epochs`, `dataset`, `table`, `reference`, `deduplicate`, `continuation`, `decision_seconds`, and bounds
            such as `max_flops=1e8` or `bounds="flops=1e8"`.

    Raises:
        UserError: a name or option is unknown, a value is out of range, the folder exists or another process is writing
            to it, or the table lacks the objective.
    """
    if resume is not None:
        given = [space, objective, out, *options.values()]
        if any(value is not None for value in given) or name != NAME:
            raise InvalidInputError(
                f"{option('resume')} continues with the study's own options: remove the other options"
            )
        return _resumed(as_path(resume, "resume", is_option=True), allow_module)
    check_name(name)
    for taken, advice in _ELSEWHERE.items():
        if options.get(taken) is not None:
            raise InvalidInputError(f"{option(taken)} does not apply to nb.objective: {advice}")
    first, others = _several(objective)
    given_options = with_names({"space": space, "objective": first, **options}) | {"optimizer": name}
    found = black_box_options(given_options, OutsideOptimizer)
    found = with_table(found, load_table(found.common.table), given_options)
    one = replace(found, common=replace(found.common, repeats=1))
    repeats = OutsideRepeats(one, table_of_study(found), others=tuple(others))
    begun = begin_study(repeats)
    made = Objective(repeats)  # checks everything before a folder is made
    if out is not None:
        about = {metric: repeats.table.about(metric, repeats.objective.validation).entry() for metric in others}
        labels = {OTHERS: about} if others else {}
        made.record(StudyRecorder.start(as_path(out, "out", is_option=True), repeats, begun, labels))
    return made


def _resumed(folder: Path, allow_module: str | None) -> Objective:
    recorder = StudyRecorder.resume(folder, allow_module)
    assert isinstance(recorder.repeats, OutsideRepeats)
    made = Objective(recorder.repeats)
    made.record(recorder)
    return made


def _several(objective: Any) -> tuple[str | None, list[str]]:
    """Return the first metric and the others; raises InvalidInputError if there is none, or one twice."""
    if objective is None or isinstance(objective, str):
        return objective, []
    found = list(objective) if isinstance(objective, Sequence) else []
    if not found or not all(isinstance(one, str) for one in found) or len(set(found)) < len(found):
        raise InvalidInputError(
            f"objective={shorten(repr(objective))} is not a metric or a list of different metrics: give one metric, "
            "such as 'validation_accuracy', or a list"
        )
    return found[0], found[1:]


def check_name(name: Any) -> None:
    """Raise InvalidInputError for a name that cannot be a label, or belongs to an optimizer of this package."""
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        said = shorten(repr(name))
        cannot = either(f"{said} cannot be a label", f"name={said} cannot be the name of an optimizer")
        where = either(f", as in {flag('csv')} FILE:LABEL", "")
        raise InvalidInputError(f"{cannot}: use letters, digits, spaces and . _ + - ( ){where}")
    if name in (*names("black_box_optimizers"), *names("optimizers")):
        advice = either(f"label, as in {flag('csv')} FILE:LABEL", f"name, or run it with nb.black_box('{name}')")
        raise InvalidInputError(f"'{name}' is an optimizer of this package: give another {advice}")
