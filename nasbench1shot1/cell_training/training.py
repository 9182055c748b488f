"""Training a cell, from named options to a finished training: a new one, or one that goes on."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from nasbench1shot1.architecture import Architecture
from nasbench1shot1.cell_training.config import OPTIONS, PROTOCOL, TrainingConfig, make_config
from nasbench1shot1.cell_training.record import (
    KIND,
    Training,
    load_training,
    read_training_lines,
    summarise,
)
from nasbench1shot1.errors import DamagedFileError, InvalidInputError, TrainingStoppedError
from nasbench1shot1.nasbench101.skeleton import as_cell
from nasbench1shot1.runs.compute import cpu_threads
from nasbench1shot1.runs.folder import CHECKPOINT, CONFIG, FolderWriter, check_facts
from nasbench1shot1.runs.options import flag

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
    """Train the network of a cell as NAS-Bench-101 trained its own, or go on with a training that was stopped.

    Args:
        x: an Architecture, a Cell, anything with `matrix` and `ops`; or, as a text, an architecture or a cell's hash.
        out: the training's folder, which must not exist; `runs/cell-<hash>-<epochs>-<seed>` if not given.
        resume: the folder of a training to go on with; it stands alone.
        table: where a hash is looked up; the one in use if not given.
        console: a rich console for the progress; a new one if not given. `Console(quiet=True)` is silent.
        options: the fields of `cell_training.config.TrainingConfig`: epochs=4, seed=0, scale="quick", …

    Returns:
        The finished training: `final`, `halfway` and `initial` in the table's form, `trainable_parameters`.

    Raises:
        UserError: no such cell, an unknown option, a value out of range, a folder in the way, images that are missing,
            a loss that is no number, a full disk. What was recorded stays, and can be resumed.
        TrainingStoppedError: Ctrl-C; it names the folder to resume.
    """
    if resume is not None:
        if out is not None:
            raise InvalidInputError("--resume goes on in the training's own folder: leave out --out")
        return _resume(Path(resume).expanduser(), x, options, table, console)
    if x is None:
        raise InvalidInputError("there is nothing to train: give an architecture, a cell or its hash")
    return _start(find(x, table), make_config(options).resolved(), out, console)


def train_and_evaluate(x: Any, config: TrainingConfig, out: str | Path) -> Training:
    """Train a cell in silence, for callers that show their own progress.

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
    folder = Path(out or f"runs/cell-{cell.hash[:8]}-{config.epochs}-{config.seed}").expanduser()
    with cpu_threads(config.threads):
        state = begin(cell, config)
        architecture = str(x) if isinstance(x, Architecture) else None
        recorded = {"kind": KIND, **config.as_dict(), "architecture": architecture, **_facts(state)}
        writer = FolderWriter.create(folder, recorded, environment(str(state.device)))
        with writer.locked(), writer.removed_if_nothing_is_recorded():
            return _finish(state, writer, console)


def _resume(
    folder: Path, x: Any, options: dict[str, Any], table: "Table | None", console: "Console | None"
) -> Training:
    from nasbench1shot1.cell_training.state import begin
    from nasbench1shot1.runs.checkpoints import load_checkpoint

    training = load_training(folder)
    config = _recorded_config(training, options).resolved()
    if x is not None and as_cell(find(x, table)) != training.cell:
        raise InvalidInputError(f"{folder} trains another cell, {training.config['cell_hash']}: leave the cell out")
    with cpu_threads(config.threads):
        state = begin(training.cell, config)
        check_facts(folder, training.config, _facts(state))
        writer = FolderWriter(folder)
        with writer.locked():
            if (folder / CHECKPOINT).exists():
                state.load_state_dict(load_checkpoint(folder / CHECKPOINT), folder / CHECKPOINT)
            else:
                writer.check_nothing_is_lost("recorded evaluations")
            _cut(writer, state)
            return _finish(state, writer, console)


def _recorded_config(training: Training, options: dict[str, Any]) -> TrainingConfig:
    """The recorded configuration; anything given must equal it."""
    recorded = training.config
    if missing := [name for name in OPTIONS if name not in recorded]:
        raise DamagedFileError(f"{training.folder / CONFIG} lacks '{missing[0]}': restore it, or start a new training")
    wanted = make_config(options)
    for name in options:
        if getattr(wanted, name) != recorded[name]:
            raise InvalidInputError(
                f"{training.folder} is trained with {flag(name)} {recorded[name]}, not {options[name]}: a training "
                "keeps its options, as every budget has an annealing of its own; start a new one for others"
            )
    return make_config({name: recorded[name] for name in OPTIONS})


def _cut(writer: FolderWriter, state: "TrainingState") -> None:
    """Remove what was written after the checkpoint; raises DamagedFileError if a line before it is missing."""
    lines = read_training_lines(writer.folder)[: state.recorded]
    if [line["step"] for line in lines] != [stop.step for stop in state.stops[: state.recorded]]:
        raise DamagedFileError(
            f"{writer.folder} has a checkpoint of step {state.step} but lacks lines before it: restore metrics.jsonl, "
            "or start a new training"
        )
    writer.keep_lines(lines)


def _facts(state: "TrainingState") -> dict[str, Any]:
    """What a training is made with besides its options."""
    parts, config = state.parts, state.config.as_dict()
    return {
        "cell_hash": state.cell.hash,
        "matrix": state.cell.matrix.tolist(),
        "ops": list(state.cell.ops),
        "trainable_parameters": sum(parameter.numel() for parameter in state.net.parameters()),
        "images_sha256": parts.train.images.sha256,
        "parts": parts.description,
        "steps": state.stops[-1].step,
        "is_protocol": parts.is_official and all(config[name] == value for name, value in PROTOCOL.items()),
    }


def _finish(state: "TrainingState", writer: FolderWriter, console: "Console | None") -> Training:
    """Train to the end, then write the summary; the caller holds the folder's lock."""
    from nasbench1shot1.cell_training.loop import run_training
    from nasbench1shot1.cell_training.screen import announce, conclude, progress

    try:
        console = announce(state, writer.folder, console)
        with progress(state, console) as bar:
            run_training(state, writer, bar)
        training = load_training(writer.folder)
        writer.finish(summarise(training.config, training.lines))
    except KeyboardInterrupt as stop:
        raise TrainingStoppedError(writer.folder) from stop
    conclude(training, console)
    return training
