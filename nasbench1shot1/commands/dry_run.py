"""What `--dry-run` of commands does: plans of runs, and their screens."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nasbench1shot1.ground.errors import InvalidInputError, option, switch
from nasbench1shot1.ground.text import print_to_stderr
from nasbench1shot1.runs.devices import USUAL, GPUName

if TYPE_CHECKING:
    from nasbench1shot1.experiments.planning.plan import Plan


@dataclass(frozen=True, kw_only=True)
class GPUOptions:
    """The GPUs of a dry run."""

    gpus: tuple[GPUName, ...] | None = None
    """With --dry-run: GPUs for which hours are estimated from their published throughput. Default: rtx-2080-ti, v100,
    a100 and h100."""

    def check(self, is_dry: bool) -> None:
        """Raise InvalidInputError for GPUs that are given without a dry run."""
        if self.gpus is not None and not is_dry:
            raise InvalidInputError(f"{option('gpus')} applies only to plans: add {switch('dry_run')}, or remove it")


USUAL_GPUS = GPUOptions()
"""The default of commands."""


def make_plan(what: str, gpus: Sequence[str] = USUAL, measure: bool = True, **options: Any) -> "Plan":
    """Return `experiments.plans.make_plan`, which is imported only here; print on standard error what is being done."""
    from nasbench1shot1.experiments.plans import make_plan

    return make_plan(what, gpus, measure, report=print_to_stderr, **options)


def show_plan(made: "Plan") -> None:
    """Print a plan."""
    from nasbench1shot1.experiments.planning.screen import show
    from nasbench1shot1.ground.text import literal_console

    show(made, literal_console())


def show_dry_run(command: str, on: GPUOptions = USUAL_GPUS, **options: Any) -> None:
    """Print the plan of the runs of a command instead of running them: what `--dry-run` does."""
    show_plan(make_plan(command, on.gpus or USUAL, **options))


def check_dry_run(out: Path | None = None, **others: object) -> None:
    """Raise InvalidInputError for given options that do not apply to a dry run, such as `resume`.

    `out` is the folder of the new run, if it is given; it must not exist.
    """
    from nasbench1shot1.runs.lifecycle import check_is_new

    if given := [name for name, value in others.items() if value]:
        raise InvalidInputError(f"{switch('dry_run')} plans new runs: remove {option(given[0])}")
    if out is not None:
        check_is_new(out)
