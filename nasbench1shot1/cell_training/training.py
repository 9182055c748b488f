"""Train the network of an architecture: start a new training from options, or resume one."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from nasbench1shot1.architecture import Architecture
from nasbench1shot1.cell_training.options import TrainingOptions, check_options, options_of
from nasbench1shot1.cell_training.record import Training, load_training, summarise
from nasbench1shot1.ground.arguments import options_by_keyword
from nasbench1shot1.ground.errors import InvalidInputError
from nasbench1shot1.ground.files import as_path
from nasbench1shot1.runs.folder import COMMON, CONFIG, check_facts, description
from nasbench1shot1.runs.lifecycle import check_is_new, existing_run, new_run
from nasbench1shot1.runs.machine import cpu_threads
from nasbench1shot1.runs.options import check_unchanged, recorded_options, typed_options
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
            `runs/nb201-<index>-<epochs>-<seed>` for an architecture of nb201.
        resume: folder of a training to resume. Cannot be combined with `out`; other arguments must match the training.
        table: the table in which a hash is looked up. Default: the table in use.
        console: a rich console for the progress; `Console(quiet=True)` is silent. Default: a new console.
        options: options such as epochs=4, seed=0 or scale="quick": the fields of
            `nasbench101.training_options.TrainingConfig` or, for an architecture of nb201, of
            `nasbench201.training_options.EdgeTrainingConfig`.

    Returns:
        The finished training. It has `trainable_parameters` and the evaluation `final`, whose metrics have the same
        form as a table's; for NAS-Bench-101 also the evaluations `halfway` and `initial`.

    Raises:
        UserError: the cell or an option is unknown, a value is out of range, the folder already exists, images are
            missing, the loss is infinite or NaN, or the disk is full. The record is kept and can be resumed.
        RunStoppedError: the user pressed Ctrl-C; the message names the folder to resume.
    """
    if resume is not None:
        if out is not None:
            raise InvalidInputError("--resume continues in the training's own folder: remove --out")
        return _resume(as_path(resume, "--resume"), x, options, table, console)
    if x is None:
        raise InvalidInputError("no architecture was given: give an architecture, a cell or a cell's hash")
    found = find_architecture(x, table)
    return _start(found, options_of(found).from_options(options), out, console)


def train_and_evaluate(x: Any, config: TrainingOptions, out: str | Path) -> Training:
    """Train a network without output, for callers that show their own progress.

    Args:
        x: an Architecture, a Cell, or an object with `matrix` and `ops`, such as a ModelSpec.
        config: the options of the architecture's benchmark, such as a `TrainingConfig`; they need not be resolved.
        out: folder for the training, which must not exist.

    Returns the same value and raises the same errors as `train_cell`.
    """
    from rich.console import Console

    return _start(find_architecture(x, None), config.resolved(), out, Console(quiet=True))


def find_architecture(x: Any, table: "Table | None") -> Any:
    """Return the architecture or cell to train: `x` itself, or what it means if it is a string.

    Raises:
        InvalidInputError: the architecture is not in its space, or the string is neither an architecture nor a hash.
        OutOfDomainError: the hash is not in the table.
    """
    if not isinstance(x, str):
        return x
    if ":" in x or "|" in x:
        from nasbench1shot1.registry import search_space

        arch = Architecture.parse(x)
        search_space(arch.space).index(arch)
        return arch
    table = table or _table()
    return table.network(int(table.rows(x)))


def _table() -> "Table":
    from nasbench1shot1.tables.table import load_table

    return load_table()


def _start(x: Any, config: TrainingOptions, out: str | Path | None, console: "Console | None") -> Training:
    from nasbench1shot1.cell_training.loop import begin
    from nasbench1shot1.cell_training.recipe import recipe
    from nasbench1shot1.runs.machine import environment

    method = recipe(x, config)
    folder = as_path(out or f"runs/{method.name}-{config.epochs}-{config.seed}", "--out")
    with cpu_threads(config.threads):
        state = begin(x, config)  # first, because errors in options come before errors about the folder
        check_is_new(folder)
        facts = {"architecture": str(x) if isinstance(x, Architecture) else None, **_facts(state)}
        record = config.record()
        with new_run(folder, RunWriter[Training], record) as writer:
            config_json = description(record.KIND, {COMMON: config.as_dict()}, facts)
            writer.describe(config_json, environment(str(state.device)))
            return _finish(state, writer, console)


def _resume(folder: Path, x: Any, given: dict[str, Any], table: "Table | None", console: "Console | None") -> Training:
    from nasbench1shot1.cell_training.loop import begin

    record = type(load_training(folder))
    with existing_run(folder, RunWriter[Training], record) as writer:
        training = load_training(folder)
        check_options(record.OPTIONS, given)
        check_unchanged(folder, training.config, typed_options(record.OPTIONS, given), ())
        config = recorded_options(record.OPTIONS, training.config, folder / CONFIG).resolved()
        if x is not None and not _trains(training, find_architecture(x, table)):
            raise InvalidInputError(
                f"'{folder}' trains another {training.SUBJECT}, {training.network_id}: remove the {training.SUBJECT} "
                "from the command"
            )
        with cpu_threads(config.threads):
            state = begin(training.trained, config)
            check_facts(folder, training.config, _facts(state))
            writer.restore(state)
            return _finish(state, writer, console)


def _trains(training: Training, x: Any) -> bool:
    """Return whether a training trains an architecture or cell."""
    return options_of(x) is training.OPTIONS and bool(training.as_trained(x) == training.trained)


def _facts(state: "TrainingState") -> dict[str, Any]:
    """Return the fields of config.json besides the options."""
    parts = state.parts
    facts = {
        **state.recipe.facts,
        "trainable_parameters": sum(parameter.numel() for parameter in state.net.parameters()),
        "images_sha256": parts.train.images.sha256,
        "parts": parts.description,
        "steps": state.stops[-1].step,
        "is_protocol": parts.is_official and state.config.is_published(),
    }
    assert facts.keys() == state.config.record().FACTS.keys()
    return facts


def _finish(state: "TrainingState", writer: RunWriter[Training], console: "Console | None") -> Training:
    """Train to the end, write the summary and return the training."""
    from nasbench1shot1.cell_training.loop import run_training
    from nasbench1shot1.cell_training.screen import announce, progress, show_result

    console = announce(state, writer.folder, console)
    with progress(state, console) as bar:
        run_training(state, writer, bar)
    training = load_training(writer.folder)
    writer.finish(summarise(training))
    show_result(training, console)
    return training
