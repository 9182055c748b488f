"""Training a cell, from named options to a finished training: a new one, or one that is resumed."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from nasbench1shot1.architecture import Architecture
from nasbench1shot1.cell_training.config import PROTOCOL, TrainingConfig, training_config
from nasbench1shot1.cell_training.record import FACTS, Training, load_training, summarise
from nasbench1shot1.errors import InvalidInputError
from nasbench1shot1.ground.paths import as_path
from nasbench1shot1.nasbench101.skeleton import as_cell
from nasbench1shot1.runs.compute import cpu_threads
from nasbench1shot1.runs.description import COMMON, description
from nasbench1shot1.runs.folder import CONFIG, check_facts
from nasbench1shot1.runs.lifecycle import check_is_new, existing_run, new_run
from nasbench1shot1.runs.options import check_kept, recorded_options, typed_options
from nasbench1shot1.runs.writer import RunWriter

if TYPE_CHECKING:
    from rich.console import Console

    from nasbench1shot1.cell_training.state import TrainingState
    from nasbench1shot1.tables.table import Table


def train_cell(
    x: Any = None,
    *,
    out: str | Path | None = None,
    resume: str | Path | None = None,
    table: "Table | None" = None,
    console: "Console | None" = None,
    **options: Any,
) -> Training:
    """Train the network of a cell by NAS-Bench-101's protocol, or resume a stopped training.

    Args:
        x: an Architecture, a Cell, anything with `matrix` and `ops`; or, as a text, an architecture or a cell's hash.
        out: the training's folder, which must not exist; `runs/cell-<hash>-<epochs>-<seed>` if not given.
        resume: the folder of a training to resume; cannot be combined with other options.
        table: where a hash is looked up; the one in use if not given.
        console: a rich console for the progress; a new one if not given. `Console(quiet=True)` is silent.
        options: the fields of `cell_training.config.TrainingConfig`: epochs=4, seed=0, scale="quick", …

    Returns:
        The finished training: `final`, `halfway` and `initial` in the table's form, `trainable_parameters`.

    Raises:
        UserError: no such cell, an unknown option, a value out of range, a folder in the way, images that are missing,
            a loss that is infinite or NaN, a full disk. What was recorded stays, and can be resumed.
        RunStoppedError: Ctrl-C; it names the folder to resume.
    """
    if resume is not None:
        if out is not None:
            raise InvalidInputError("--resume continues in the training's own folder: remove --out")
        return _resume(as_path(resume, "--resume"), x, options, table, console)
    if x is None:
        raise InvalidInputError("no cell was given: give an architecture, a cell or its hash")
    return _start(find(x, table), training_config(options), out, console)


def train_and_evaluate(x: Any, config: TrainingConfig, out: str | Path) -> Training:
    """Train a cell without output, for callers that show their own progress.

    Args:
        x: an Architecture, a Cell, or anything with `matrix` and `ops`, for example a ModelSpec.
        config: need not be resolved.
        out: the training's folder, which must not exist.

    Returns and raises as `train_cell`.
    """
    from rich.console import Console

    return _start(find(x, None), config.resolved(), out, Console(quiet=True))


def find(x: Any, table: "Table | None") -> Any:
    """What is to be trained: x itself, or what its text means.

    Raises:
        InvalidInputError: an architecture of no space, or a text that is neither an architecture nor a hash.
        OutOfDomainError: the table has no such hash.
    """
    if not isinstance(x, str):
        return x
    if ":" in x:
        from nasbench1shot1.registry import search_space

        arch = Architecture.parse(x)
        search_space(arch.space).index(arch)
        return arch
    table = table or _table()
    return table.cell(int(table.rows(x)))


def _table() -> "Table":
    from nasbench1shot1.tables.table import load_table

    return load_table()


def _start(x: Any, config: TrainingConfig, out: str | Path | None, console: "Console | None") -> Training:
    from nasbench1shot1.cell_training.state import begin
    from nasbench1shot1.runs.environment import environment

    cell = as_cell(x)
    folder = as_path(out or f"runs/cell-{cell.hash[:8]}-{config.epochs}-{config.seed}", "--out")
    with cpu_threads(config.threads):
        state = begin(cell, config)  # first, because errors in options come before errors about the folder
        check_is_new(folder)
        facts = {"architecture": str(x) if isinstance(x, Architecture) else None, **_facts(state)}
        with new_run(folder, RunWriter[Training], Training) as writer:
            config_json = description(Training.KIND, {COMMON: config.as_dict()}, facts)
            writer.describe(config_json, environment(str(state.device)))
            return _finish(state, writer, console)


def _resume(folder: Path, x: Any, given: dict[str, Any], table: "Table | None", console: "Console | None") -> Training:
    from nasbench1shot1.cell_training.state import begin

    load_training(folder)
    with existing_run(folder, RunWriter[Training], Training) as writer:
        training = load_training(folder)
        check_kept(folder, training.config, typed_options(TrainingConfig, given), ())
        config = recorded_options(TrainingConfig, training.config, folder / CONFIG).resolved()
        if x is not None and as_cell(find(x, table)) != training.cell:
            raise InvalidInputError(
                f"'{folder}' trains another cell, {training.config['cell_hash']}: remove the cell from the command"
            )
        with cpu_threads(config.threads):
            state = begin(training.cell, config)
            check_facts(folder, training.config, _facts(state))
            writer.restore(state)
            return _finish(state, writer, console)


def _facts(state: "TrainingState") -> dict[str, Any]:
    """What a training is made with besides its options."""
    parts, config = state.parts, state.config.as_dict()
    facts = {
        "cell_hash": state.cell.hash,
        "matrix": state.cell.matrix.tolist(),
        "ops": list(state.cell.ops),
        "trainable_parameters": sum(parameter.numel() for parameter in state.net.parameters()),
        "images_sha256": parts.train.images.sha256,
        "parts": parts.description,
        "steps": state.stops[-1].step,
        "is_protocol": parts.is_official and all(config[name] == value for name, value in PROTOCOL.items()),
    }
    assert facts.keys() == FACTS.keys()
    return facts


def _finish(state: "TrainingState", writer: RunWriter[Training], console: "Console | None") -> Training:
    """Train to the end, then write the summary."""
    from nasbench1shot1.cell_training.loop import run_training
    from nasbench1shot1.cell_training.screen import announce, conclude, progress

    console = announce(state, writer.folder, console)
    with progress(state, console) as bar:
        run_training(state, writer, bar)
    training = load_training(writer.folder)
    writer.finish(summarise(training.config, Training.read_lines(writer.folder)))
    conclude(training, console)
    return training
