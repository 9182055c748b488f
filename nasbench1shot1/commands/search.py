"""`nb1shot1 search`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar, Generic, Self, TypeVar

from nasbench1shot1.commands.arguments import optimizer_name, parse_seeds
from nasbench1shot1.commands.dry_run import USUAL_GPUS, GPUOptions, check_dry_run, show_dry_run
from nasbench1shot1.commands.help_screen import OWN, default_variants
from nasbench1shot1.commands.options import Asked, Hidden, named_options
from nasbench1shot1.display.options import PICTURES
from nasbench1shot1.display.style import Spread
from nasbench1shot1.ground.errors import InvalidInputError, option
from nasbench1shot1.jobs.pool import WorkerOptions
from nasbench1shot1.one_shot_search.options import SearchConfig
from nasbench1shot1.runs.options import Range, Seeds, option_names
from nasbench1shot1.tables.bounds import NAMES as BOUNDS

Own = TypeVar("Own")

WEIGHTS = (
    *("learning_rate", "learning_rate_min", "momentum", "nesterov", "weight_decay", "grad_clip", "warm_start_epochs"),
    *(
        "partial_channels",
        "channel_sampling",
        "batch_norm_affine",
        "perturbation",
        "perturbation_size",
        "perturbation_steps",
    ),
    "perturbation_variant",
    *("cutout_length", "cutout_probability", "cutout_schedule", "unused_weights"),
    *("augment_architecture_images", "draw_with_replacement"),
)
MEASURING = (
    *(
        "evaluation_batch_norm",
        "augment_scored_images",
        "scored_batch_size",
        "hessian_eigenvalue",
        "early_stopping",
        "preferred_error",
        "cell_alignment",
        "table",
        "reference",
    ),
)
RUNNING = ("out", "overwrite", "resume", "dry_run", "gpus", "tensorboard", "allow_module")
SCALE = ("scale", "images", "images_per_half", "image_side", "channels", "cells", "batch_size")


@dataclass(frozen=True, kw_only=True)
class SeedWorkers(WorkerOptions):
    """The options of workers; only groups of seeds use them."""

    workers: Annotated[int | None, Range(1)] = None
    """With --seeds: number of runs at the same time on this machine, each in a separate process. At full scale on a
    CPU, --threads then defaults to the number of cores divided by --workers. Default: 1."""


@dataclass(frozen=True, kw_only=True)
class Search(Generic[Own]):
    """Train a supernet; after every epoch, record the preferred architecture and its regret.

    This help shows the options and the defaults of the optimizer that --optimizer selects. docs/optimizers.md compares
    the options of all optimizers.
    """

    GROUPS: ClassVar[Mapping[str, Sequence[str]]] = {
        "What to search": ("optimizer", "space", "preset", "seed", "seeds", *BOUNDS),
        "Scale": (*SCALE, "epochs"),
        "Training of the weights": WEIGHTS,
        "This optimizer": (OWN,),
        "Measuring": MEASURING,
        "Workers": option_names(WorkerOptions),
        "Pictures": (*PICTURES, "spread"),
        "Running": RUNNING,
    }

    common: SearchConfig
    """Options of every search."""
    own: Own
    """Options of this optimizer."""
    where: SeedWorkers
    """Where the searches of several seeds run."""
    out: Path | None = None
    """Folder of the new run; it must not exist. Default: runs/OPTIMIZER-SPACE-SEED."""
    resume: Path | None = None
    """Folder of a stopped run to resume. Given options must equal the recorded ones; only --epochs may increase."""
    overwrite: bool = False
    """Replace the search in --out, including its reports. The old search is deleted once the new one has recorded an
    epoch. A folder that also holds other files, such as a ranking, is refused."""
    seeds: Seeds | None = None
    """Seeds of several runs, as 0-5 or 1,3,8; the picture shows mean and spread."""
    spread: Spread | None = None
    """With --seeds: what the bands of the picture show. ci: 95 % confidence interval of the mean, or the range of
    fewer than six seeds; std: standard deviation. Default: ci."""
    dry_run: bool = False
    """Print steps, FLOPs, memory, disk and expected hours, and stop; official images may be missing."""
    expected: GPUOptions = USUAL_GPUS
    """The GPUs of a dry run."""
    tensorboard: bool = False
    """Write event files for TensorBoard into the run's folder. In a checkout, first run
    pip install --constraint constraints.txt '.[tensorboard]'."""
    allow_module: str | None = None
    """Module that --resume may import because the run's config.json names it. Importing a module runs its code."""

    named: Hidden[frozenset[str]] = frozenset()
    """Names of the given options, set by `cli`; on resuming, their values are compared with the recorded ones."""

    @classmethod
    def choose(cls, asked: Asked) -> Self:
        """Return the command's defaults for the optimizer that the command line names.

        Raises InvalidInputError if the optimizer is unknown.
        """
        from nasbench1shot1.one_shot_search.options import help_defaults
        from nasbench1shot1.registry import optimizer

        name = optimizer_name(asked.options, "optimizers", SearchConfig.optimizer)
        common, own = help_defaults(optimizer(name), name, {})
        return cls(common=common, own=own, where=SeedWorkers())  # type: ignore[arg-type]

    def explain(self, unknown: str) -> None:
        """Raise InvalidInputError for an option that belongs only to other optimizers."""
        from nasbench1shot1.one_shot_search.options import METHODS
        from nasbench1shot1.registry import optimizer

        METHODS.check_options(optimizer(self.common.optimizer), [unknown])

    def variants(self) -> dict[str, dict[str, Any]]:
        """Return the defaults that depend on scale, preset and space, for help."""
        return search_variants(self.common.optimizer)

    def run(self) -> None:
        """Search."""
        from nasbench1shot1.one_shot_search.record import open_search
        from nasbench1shot1.one_shot_search.searching import search
        from nasbench1shot1.one_shot_search.seeds import search_seeds
        from nasbench1shot1.runs.folder import SEEDS
        from nasbench1shot1.runs.overwriting import restore_moved_aside

        given = named_options(self.named, self.common, self.own)
        where: dict[str, Any] = {"out": self.out, "resume": self.resume, "allow_module": self.allow_module}
        where |= {"overwrite": self.overwrite, "tensorboard": self.tensorboard}
        self.expected.check(self.dry_run)
        if self.dry_run:
            self._plan(given)
            return
        if self.resume is not None:
            restore_moved_aside(self.resume)  # it may be a group
        is_group = self.seeds is not None or (self.resume is not None and (self.resume / SEEDS).exists())
        for_groups = {**self.where.given, **({} if self.spread is None else {"spread": self.spread})}
        if for_groups and not is_group:
            one = option(next(iter(for_groups)))
            if self.resume is not None:
                open_search(self.resume)  # raises if there is no such run
                raise InvalidInputError(f"'{self.resume}' is one search, and {one} is for several: remove {one}")
            raise InvalidInputError(
                f"{one} applies only to searches with several seeds: add {option('seeds')}, such as "
                f"{option('seeds', '0-5')}"
            )
        if self.seeds is not None and self.resume is not None:
            recorded = "the seeds of the group" if (self.resume / SEEDS).exists() else "the seed of the search"
            raise InvalidInputError(f"{option('resume')} continues with {recorded}: remove {option('seeds')}")
        if is_group:
            seeds = [] if self.seeds is None else parse_seeds(self.seeds)
            search_seeds(seeds, **where, **for_groups, **given)
        else:
            search(**where, **given)

    def _plan(self, given: Mapping[str, Any]) -> None:
        out = self.out if self.seeds is None else None  # a group of searches continues in its folder
        check_dry_run(out, resume=self.resume, overwrite=self.overwrite)
        seeds = None if self.seeds is None else parse_seeds(self.seeds)
        show_dry_run("search", self.expected, seeds=seeds, **self.where.given, **given)


def search_variants(name: str) -> dict[str, dict[str, Any]]:
    """Return an optimizer's defaults that depend on scale, preset and space (`default_variants`)."""
    from nasbench1shot1.one_shot_search.options import help_defaults
    from nasbench1shot1.registry import BUILT_IN, listed_names, optimizer

    def defaults(setting: Mapping[str, str]) -> dict[str, Any]:
        common, own = help_defaults(optimizer(name), name, setting)
        return {n: v for n, v in {**vars(common), **vars(own)}.items() if n not in ("scale", "preset", "space")}

    spaces = [space for space in listed_names("one_shot_spaces") if space in BUILT_IN["search_spaces"]]
    scales = [("scale", "long"), ("scale", "medium"), ("scale", "quick")]
    return default_variants(defaults, [*scales, ("preset", "original"), *(("space", s) for s in spaces)])
