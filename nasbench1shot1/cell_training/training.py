"""Trainings as a kind of run: `nb.train_cell`, and what a training gives to the life cycle of all runs."""

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nasbench1shot1.architecture import Architecture, is_text_form
from nasbench1shot1.cell_training.options import TrainingOptions, check_options, options_of
from nasbench1shot1.cell_training.record import Training, load_training, summarise
from nasbench1shot1.ground.arguments import options_by_keyword
from nasbench1shot1.ground.errors import InvalidInputError, either, flag
from nasbench1shot1.ground.files import as_path
from nasbench1shot1.runs.folder import CONFIG
from nasbench1shot1.runs.kind import Begun, Kind
from nasbench1shot1.runs.options import check_unchanged, recorded_options, typed_options
from nasbench1shot1.runs.running import run, start_run
from nasbench1shot1.runs.writer import RunWriter

if TYPE_CHECKING:
    from rich.console import Console

    from nasbench1shot1.cell_training.loop import TrainingState
    from nasbench1shot1.tables.table import Table


@options_by_keyword("nb.train_cell(arch, epochs=108)")
def train_cell(
    x: Any = None,
    *,
    out: str | Path | None = None,
    resume: str | Path | None = None,
    table: "Table | None" = None,
    console: "Console | None" = None,
    **options: Any,
) -> Training:
    """Train the network of an architecture with its benchmark's protocol, or resume an interrupted training.

    Args:
        x: an Architecture, a Cell, an object with `matrix` and `ops`, or a string: an architecture or a cell's hash.
        out: folder for the training, which must not exist. Default: `runs/cell-<hash>-<epochs>-<seed>`, or
            `runs/<space>-<index>-<epochs>-<seed>` for an architecture of nb201 or nats-size.
        resume: folder of a training to resume. Cannot be combined with `out`; other arguments must match the training.
        table: the table in which a hash is looked up. Default: the table in use.
        console: a rich console for the progress; `Console(quiet=True)` is silent. Default: a new console.
        options: options such as epochs=4, seed=0 or scale="quick": the fields of
            `nasbench101.training_options.TrainingConfig` or, for an architecture of nb201, of
            `nasbench201.training_options.EdgeTrainingConfig`, or, for an architecture of nats-size, of
            `nats_size.training_options.WidthTrainingConfig`.

    Returns:
        The finished training. It has `trainable_parameters` and the evaluation `final`, whose metrics have the same
        form as a table's; for NAS-Bench-101 also the evaluations `halfway` and `initial`.

    Raises:
        UserError: the cell or an option is unknown, a value is out of range, the folder already exists, images are
            missing, the loss is infinite or NaN, or the disk is full. The record is kept and can be resumed.
        RunStoppedError: the user pressed Ctrl-C; the message names the folder to resume.
    """
    kind = TrainingKind(x, table)
    return run(kind, options, out=out, resume=resume, console=console)


def train_and_evaluate(x: Any, config: TrainingOptions, out: str | Path) -> Training:
    """Train a network without output, for callers that show their own progress.

    Args:
        x: an Architecture, a Cell, or an object with `matrix` and `ops`, such as a ModelSpec.
        config: the options of the architecture's benchmark, such as a `TrainingConfig`; they need not be resolved.
        out: folder for the training, which must not exist.

    Returns the same value and raises the same errors as `train_cell`.
    """
    from rich.console import Console

    return start_run(
        TrainingKind(x), config.resolved(), as_path(out, "out", is_option=True), console=Console(quiet=True)
    )


def find_architecture(x: Any, table: "Table | None") -> Any:
    """Return the architecture or cell to train: `x` itself, or what it means if it is a string.

    Raises:
        InvalidInputError: the architecture is not in its space, or the string is not an architecture, a hash or an
            index.
        OutOfDomainError: the hash is not in the table.
    """
    if not isinstance(x, str):
        return x
    if is_text_form(x):
        from nasbench1shot1.registry import search_space

        arch = Architecture.parse(x)
        search_space(arch.space).index(arch)
        return arch
    if table is None:
        from nasbench1shot1.tables.table import load_table

        table = load_table()
    return table.network(table.row_of(table.keys.item_of(x)))


class TrainingKind(Kind[TrainingOptions, "TrainingState", Training, RunWriter[Training]]):
    """The training of one architecture's network.

    Args:
        x: as in `train_cell`.
        table: the table in which a hash is looked up.
    """

    RECORD, WRITER, WORD = Training, RunWriter[Training], "training"

    def __init__(self, x: Any, table: "Table | None" = None) -> None:
        self.x, self.table = x, table

    @cached_property
    def network(self) -> Any:
        """The architecture or cell to train; raises InvalidInputError if none is given."""
        if self.x is None:
            several = either(f", or several with {flag('list')} FILE", "")
            raise InvalidInputError(f"no architecture is given: give an architecture, a cell or a cell's hash{several}")
        return find_architecture(self.x, self.table)

    def options(self, given: Mapping[str, Any]) -> TrainingOptions:
        """Return resolved options of the protocol of the architecture's benchmark."""
        return options_of(self.network).from_options(given)

    def recorded_options(self, run: Training) -> TrainingOptions:
        """Return the recorded options."""
        return recorded_options(run.OPTIONS, run.config, run.folder / CONFIG).resolved()

    def resumed_options(self, run: Training, given: Mapping[str, Any], allow_module: str | None) -> TrainingOptions:
        """Return the recorded options; given options and a given architecture must be the recorded ones."""
        check_options(run.OPTIONS, given)
        check_unchanged(run.folder, run.config, typed_options(run.OPTIONS, given), ())
        if self.x is not None and not self._is_trained_by(run):
            raise InvalidInputError(
                f"'{run.folder}' trains another {run.SUBJECT}, {run.network_id}: remove the {run.SUBJECT} from the "
                "command"
            )
        return self.recorded_options(run)

    def _is_trained_by(self, run: Training) -> bool:
        return options_of(self.network) is run.OPTIONS and bool(run.as_trained(self.network) == run.trained)

    def open(self, folder: Path) -> Training:
        """Open a training of any benchmark."""
        return load_training(folder)

    def record_class(self, options: TrainingOptions) -> type[Training]:
        """Return the class of the record of the benchmark's trainings."""
        record: type[Training] = options.record()
        return record

    def default_folder(self, options: TrainingOptions) -> Path:
        """Return `runs/<network>-<epochs>-<seed>`."""
        from nasbench1shot1.cell_training.recipe import recipe

        return Path("runs") / f"{recipe(self.network, options).name}-{options.epochs}-{options.seed}"

    def begin(self, options: TrainingOptions, resumed: Training | None) -> "Begun[TrainingState]":
        """Build the network and read the images."""
        from nasbench1shot1.cell_training.loop import begin

        network = self.network if resumed is None else resumed.trained
        state = begin(network, options)
        parts = state.parts
        facts = {
            **state.recipe.facts,
            "trainable_parameters": sum(parameter.numel() for parameter in state.net.parameters()),
            "images_sha256": parts.train.images.sha256,
            "parts": parts.description,
            "steps": state.stops[-1].step,
            "is_protocol": parts.is_official and options.is_published() and state.recipe.has_published_network,
        }
        if resumed is not None:  # it follows from the options and data, which are compared; its definition can change
            facts["is_protocol"] = resumed.config["is_protocol"]
        assert facts.keys() == options.record().FACTS.keys()
        return Begun(state, facts, {} if "architecture" in facts else {"architecture": architecture_text(network)})

    def loop(self, begun: "Begun[TrainingState]", writer: RunWriter[Training], console: "Console") -> None:
        """Train to the last step."""
        from nasbench1shot1.cell_training.loop import run_training
        from nasbench1shot1.cell_training.screen import announce, progress

        announce(begun.state, writer.shown_folder, console)
        with progress(begun.state, console) as bar:
            run_training(begun.state, writer, bar)

    def summarise(self, run: Training, begun: "Begun[TrainingState]") -> dict[str, Any]:
        """Return the metrics at the end, and at the earlier named evaluations."""
        images = begun.state.parts.train.images
        return summarise(run, images.dataset, begun.state.recipe.flops(images))

    def present(self, run: Training, begun: "Begun[TrainingState]", console: "Console") -> None:
        """Print the result."""
        from nasbench1shot1.cell_training.screen import show_result

        show_result(run, console)


def architecture_text(network: Any) -> str | None:
    """Return the text of an architecture; None for a cell."""
    return str(network) if isinstance(network, Architecture) else None
