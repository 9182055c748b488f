"""`nb1shot1 tune`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar, Generic, Self, TypeVar

from nasbench1shot1.commands.arguments import optimizer_name
from nasbench1shot1.commands.dry_run import USUAL_GPUS, GPUOptions, check_dry_run, show_dry_run
from nasbench1shot1.commands.help_screen import OWN
from nasbench1shot1.commands.options import Asked, Hidden, named_options
from nasbench1shot1.commands.search import MEASURING, RUNNING, SCALE, WEIGHTS, search_variants
from nasbench1shot1.display.options import PICTURES
from nasbench1shot1.jobs.pool import WorkerOptions
from nasbench1shot1.one_shot_search.options import SearchConfig
from nasbench1shot1.runs.options import Range, option_names
from nasbench1shot1.tables.bounds import NAMES as BOUNDS
from nasbench1shot1.tuning.options import SET_BY_THE_STUDY, TuningOptions, check_not_set

Own = TypeVar("Own")


@dataclass(frozen=True, kw_only=True)
class SharedConfig(SearchConfig):
    """The options of every search of a study: all but those that the study sets."""

    optimizer: Hidden[str] = SearchConfig.optimizer
    space: Hidden[str] = SearchConfig.space
    seed: Hidden[int] = SearchConfig.seed
    epochs: Hidden[int] = SearchConfig.epochs
    keep_weights_every: Hidden[int] = SearchConfig.keep_weights_every
    threads: Annotated[int | None, Range(1)] = None
    """Number of CPU threads of each search; results are reproducible only with an equal number. Default: the CPU cores
    divided by --workers, or PyTorch's choice on a GPU."""


@dataclass(frozen=True, kw_only=True)
class Tune(Generic[Own]):
    """Tune the hyperparameters of a one-shot optimizer: each evaluation is a search.

    Search epochs are the budget, and the objective is the table's validation error of the architecture that a search
    returns. This help shows the options of the optimizer that --optimizer selects. See docs/tuning.md.
    """

    GROUPS: ClassVar[Mapping[str, Sequence[str]]] = {
        "What to tune": ("optimizer", "space", "preset", "config_space", "objective", "seed", *BOUNDS),
        "Tuning": ("tuner", "min_budget", "max_budget", "eta", "iterations", "continuation", "repeat"),
        "Scale": SCALE,
        "Training of the weights": WEIGHTS,
        "This optimizer": (OWN,),
        "Measuring": MEASURING,
        "Workers": option_names(WorkerOptions),
        "Pictures": PICTURES,
        "Running": RUNNING,
    }

    tuning: TuningOptions
    """Options of the study."""
    common: SharedConfig
    """Options of every search, except hyperparameters of the configuration space."""
    own: Own
    """Options of this optimizer in every search."""
    where: WorkerOptions
    """Where the searches run."""
    out: Path | None = None
    """Folder of the new study; it must not exist. Default: runs/tune-OPTIMIZER-SPACE-TUNER-SEED."""
    dry_run: bool = False
    """Print steps, FLOPs, memory, disk and expected hours, and stop; official images may be missing."""
    expected: GPUOptions = USUAL_GPUS
    """The GPUs of a dry run."""
    resume: Path | None = None
    """Folder of a stopped study to resume. Only --iterations may increase; --workers and --scheduler may change."""
    allow_module: str | None = None
    """Module that --resume may import because the study's config.json names it. Importing a module runs its code."""

    named: Hidden[frozenset[str]] = frozenset()
    """Names of the given options, set by `cli`; on resuming, their values are compared with the recorded ones."""

    @classmethod
    def choose(cls, asked: Asked) -> Self:
        """Return the command's defaults for the optimizer that the command line names.

        Raises InvalidInputError if the optimizer is unknown.
        """
        from nasbench1shot1.one_shot_search.options import help_defaults
        from nasbench1shot1.registry import optimizer

        name = optimizer_name(asked.options, "optimizers", TuningOptions.optimizer)
        common, own = help_defaults(optimizer(name), name, {})
        shared = SharedConfig(**{n: v for n, v in vars(common).items() if n not in SET_BY_THE_STUDY})
        return cls(tuning=TuningOptions(optimizer=name), common=shared, own=own, where=WorkerOptions())  # type: ignore[arg-type]

    def explain(self, unknown: str) -> None:
        """Raise InvalidInputError for an option that belongs only to other optimizers, or that the study sets."""
        from nasbench1shot1.one_shot_search.options import METHODS
        from nasbench1shot1.registry import optimizer

        check_not_set([unknown])
        METHODS.check_options(optimizer(self.tuning.optimizer), [unknown])

    def variants(self) -> dict[str, dict[str, Any]]:
        """Return the defaults of searches that depend on scale, preset and space, for help."""
        return search_variants(self.tuning.optimizer)

    def run(self) -> None:
        """Tune."""
        from nasbench1shot1.tuning.tuning import tune

        given = named_options(self.named, self.common, self.own, self.tuning, self.where)
        self.expected.check(self.dry_run)
        if self.dry_run:
            check_dry_run(self.out, resume=self.resume)
            show_dry_run("tune", self.expected, **given)
            return
        tune(out=self.out, resume=self.resume, allow_module=self.allow_module, **given)
