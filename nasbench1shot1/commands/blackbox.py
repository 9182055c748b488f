"""`nb1shot1 blackbox`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Generic, Self, TypeVar

from nasbench1shot1.black_box_search.options import BlackBoxConfig
from nasbench1shot1.commands.arguments import optimizer_name
from nasbench1shot1.commands.dry_run import check_dry_run, show_dry_run
from nasbench1shot1.commands.help_screen import OWN, default_variants
from nasbench1shot1.commands.options import Asked, Hidden, named_options
from nasbench1shot1.display.options import PICTURES
from nasbench1shot1.jobs.pool import WorkerOptions
from nasbench1shot1.runs.options import option_names
from nasbench1shot1.tables.bounds import NAMES as BOUNDS

Own = TypeVar("Own")


@dataclass(frozen=True, kw_only=True)
class BlackBox(Generic[Own]):
    """Repeat a black-box search on a table with a simulated clock.

    Each training costs the training time recorded in the table. The result is the test regret of the incumbent over
    simulated time. This help shows the options of the optimizer selected with --optimizer. See docs/black_box.md.
    """

    GROUPS: ClassVar[Mapping[str, Sequence[str]]] = {
        "What to search": ("optimizer", "space", "dataset", "objective", "seed", *BOUNDS),
        "Scale": ("repeats", "first_repeat", "seconds", "evaluations", "epochs"),
        "Simulation": ("deduplicate", "continuation", "simulated_workers", "decision_seconds"),
        "This optimizer": (OWN,),
        "Measuring": ("table", "reference"),
        "Workers": option_names(WorkerOptions),
        "Pictures": (*PICTURES, "spread"),
        "Running": ("out", "resume", "dry_run"),
    }

    common: BlackBoxConfig
    """Options of every study."""
    own: Own
    """Options of this optimizer."""
    where: WorkerOptions
    """Where the searches run."""
    out: Path | None = None
    """Folder of the new study; it must not exist. Default: runs/blackbox-OPTIMIZER-SPACE-SEED."""
    dry_run: bool = False
    """Print the expected time, memory and disk space, and stop."""
    resume: Path | None = None
    """Folder of a stopped study to resume. Other options must equal the recorded ones; only --repeats may increase."""
    allow_module: str | None = None
    """Module that --resume may import because the study's config.json names it. Importing a module runs its code."""

    named: Hidden[frozenset[str]] = frozenset()
    """Names of the given options, set by `cli`. On resuming, their values are compared with the recorded values."""

    @classmethod
    def choose(cls, asked: Asked) -> Self:
        """Return the command's defaults for the optimizer that the command line names.

        Raises InvalidInputError if the optimizer is unknown.
        """
        from nasbench1shot1.black_box_search.options import help_defaults
        from nasbench1shot1.registry import black_box_optimizer

        name = optimizer_name(asked.options, "black_box_optimizers", BlackBoxConfig.optimizer)
        common, own = help_defaults(black_box_optimizer(name), name, {})
        return cls(common=common, own=own, where=WorkerOptions())  # type: ignore[arg-type]

    def explain(self, unknown: str) -> None:
        """Raise InvalidInputError for an option that belongs only to other optimizers."""
        from nasbench1shot1.black_box_search.options import METHODS
        from nasbench1shot1.registry import black_box_optimizer

        METHODS.check_options(black_box_optimizer(self.common.optimizer), [unknown])

    def variants(self) -> dict[str, dict[str, Any]]:
        """Return the defaults that depend on the space, for help."""
        from nasbench1shot1.black_box_search.options import help_defaults
        from nasbench1shot1.registry import BUILT_IN, black_box_optimizer

        name = self.common.optimizer

        def defaults(setting: Mapping[str, str]) -> dict[str, Any]:
            common, own = help_defaults(black_box_optimizer(name), name, setting)
            return {option: v for option, v in {**vars(common), **vars(own)}.items() if option != "space"}

        return default_variants(defaults, [("space", space) for space in BUILT_IN["search_spaces"]])

    def run(self) -> None:
        """Run or resume the study."""
        from nasbench1shot1.black_box_search.studying import black_box

        given = named_options(self.named, self.common, self.own, self.where)
        if self.dry_run:
            check_dry_run(self.out, resume=self.resume)
            show_dry_run("blackbox", **given)
            return
        black_box(out=self.out, resume=self.resume, allow_module=self.allow_module, **given)
