"""What `--dry-run` of commands does: plans of runs, and their screens."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from nasbench1shot1.ground.errors import InvalidInputError, option, switch
from nasbench1shot1.ground.text import print_to_stderr
from nasbench1shot1.runs.devices import USUAL

if TYPE_CHECKING:
    from nasbench1shot1.experiments.planning.plan import Plan


def make_plan(what: str, gpus: Sequence[str] = USUAL, measure: bool = True, **options: Any) -> "Plan":
    """Return `experiments.plans.make_plan`, which is imported only here; print on standard error what is being done."""
    from nasbench1shot1.experiments.plans import make_plan

    return make_plan(what, gpus, measure, report=print_to_stderr, **options)


def show_plan(made: "Plan") -> None:
    """Print a plan."""
    from nasbench1shot1.experiments.planning.screen import show
    from nasbench1shot1.ground.text import literal_console

    show(made, literal_console())


def show_dry_run(command: str, **options: Any) -> None:
    """Print the plan of the runs of a command instead of running them: what `--dry-run` does."""
    show_plan(make_plan(command, **options))


def check_dry_run(**others: object) -> None:
    """Raise InvalidInputError for given options that do not apply to a dry run, such as `resume`."""
    if given := [name for name, value in others.items() if value]:
        raise InvalidInputError(f"{switch('dry_run')} plans new runs: remove {option(given[0])}")
