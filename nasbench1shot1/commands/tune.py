"""`nb1shot1 tune` and `nb1shot1 tune-worker`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar, Generic, Self, TypeVar

from nasbench1shot1.commands.arguments import optimizer_name
from nasbench1shot1.commands.help_screen import OWN
from nasbench1shot1.commands.options import Asked, Hidden, Positional
from nasbench1shot1.commands.search import MEASURING, RUNNING, SCALE, WEIGHTS, search_variants
from nasbench1shot1.one_shot_search.options import SearchConfig
from nasbench1shot1.runs.machine import MOST_THREADS
from nasbench1shot1.runs.options import Form, Range
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
    threads: Annotated[int | None, Range(1, MOST_THREADS)] = None
    """Number of CPU threads of each search; results are reproducible only with an equal number. Default: the CPU cores
    divided by --workers, or PyTorch's choice on a GPU."""


@dataclass(frozen=True, kw_only=True)
class Tune(Generic[Own]):
    """Tune the hyperparameters of a one-shot optimizer: each evaluation is a search.

    Search epochs are the budget, and the objective is the table's validation error of the architecture that a search
    returns. This help shows the options of the optimizer that --optimizer selects. See docs/tuning.md.
    """

    GROUPS: ClassVar[Mapping[str, Sequence[str]]] = {
        "What to tune": ("optimizer", "space", "preset", "config_space", "seed"),
        "Tuning": ("tuner", "min_budget", "max_budget", "eta", "iterations", "continuation", "repeat"),
        "Scale": SCALE,
        "Training of the weights": WEIGHTS,
        "This optimizer": (OWN,),
        "Measuring": MEASURING,
        "Running": RUNNING,
    }

    tuning: TuningOptions
    """Options of the study."""
    common: SharedConfig
    """Options of every search, except hyperparameters of the configuration space."""
    own: Own
    """Options of this optimizer in every search."""
    out: Path | None = None
    """Folder of the new study; it must not exist. Default: runs/tune-OPTIMIZER-SPACE-TUNER-SEED."""
    resume: Path | None = None
    """Folder of a stopped study to resume. Only --iterations may increase, and --workers, --host, --port and
    --wait-for-workers may change."""
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
        return cls(tuning=TuningOptions(optimizer=name), common=shared, own=own)  # type: ignore[arg-type]

    def explain(self, unknown: str) -> None:
        """Raise InvalidInputError for an option that belongs only to other optimizers, or that the study sets."""
        from nasbench1shot1.one_shot_search.options import check_options
        from nasbench1shot1.registry import optimizer

        check_not_set([unknown])
        check_options(optimizer(self.tuning.optimizer), [unknown])

    def variants(self) -> dict[str, dict[str, Any]]:
        """Return the defaults of searches that depend on scale, preset and space, for help."""
        return search_variants(self.tuning.optimizer)

    def run(self) -> None:
        """Tune."""
        from nasbench1shot1.tuning.tuning import tune

        options = {**vars(self.common), **vars(self.own), **vars(self.tuning)}
        given = {name: value for name, value in options.items() if name in self.named}
        tune(out=self.out, resume=self.resume, allow_module=self.allow_module, **given)


@dataclass(frozen=True)
class TuneWorker:
    """Join a study as a worker, from any machine with access to the study's folder, until the study is finished.

    Start it before or after nb1shot1 tune. If nb1shot1 tune stops, the worker waits for it to be resumed.
    """

    folder: Annotated[Positional[Path], Form("STUDY")]
    """The folder of the study."""
    name: str | None = None
    """Name of this worker, unique on its machine. Default: its process id and a random suffix."""
    host: str | None = None
    """Address or name under which nb1shot1 tune reaches this machine. Default: the address of the
    network interface that leads to it."""
    patience: float = 600.0
    """Seconds to wait for nb1shot1 tune to be started or resumed."""
    allow_module: str | None = None
    """Module that may be imported because the study's config.json names it. Importing a module runs its code."""

    def run(self) -> None:
        """Evaluate configurations until the study is finished."""
        from nasbench1shot1.ground.text import line_printer, literal_console
        from nasbench1shot1.proposers.configurations import require_extra
        from nasbench1shot1.runs.folder import CONFIG
        from nasbench1shot1.runs.options import check_range

        require_extra("hpbandster")
        from nasbench1shot1.tuning.engine.worker import run_worker
        from nasbench1shot1.tuning.evaluation import evaluation
        from nasbench1shot1.tuning.tuning import wait_for_study

        check_range("patience", self.patience, 0)
        print_line = line_printer(literal_console())
        if not (self.folder / CONFIG).is_file():
            print_line(f"waiting for a study in {self.folder}")
        wait_for_study(self.folder, self.patience).check_trusted(self.allow_module)
        evaluate = evaluation(self.folder)
        try:
            run_worker(
                self.folder, evaluate, name=self.name, host=self.host, patience=self.patience, print_line=print_line
            )
        except KeyboardInterrupt as stop:
            raise KeyboardInterrupt("worker stopped; if it was running a search, another worker continues it") from stop
