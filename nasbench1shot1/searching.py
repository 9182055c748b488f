"""The public face of searching: from named options to a finished run. Thin: it only puts the parts together."""

import os
from collections.abc import Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nasbench1shot1.errors import DamagedFileError, InvalidInputError, SearchStoppedError, unknown_name
from nasbench1shot1.files import read_json, write_json
from nasbench1shot1.run_record import CHECKPOINT, CONFIG, FIGURE, SUMMARY, Run, RunWriter, load_run
from nasbench1shot1.search_config import SearchConfig, make_config

if TYPE_CHECKING:
    from rich.console import Console

    from nasbench1shot1.search_state import SearchState
    from nasbench1shot1.table import Table

SEEDS = "seeds.json"


def search(
    optimizer: str | None = None,
    *,
    out: str | Path | None = None,
    resume: str | Path | None = None,
    console: "Console | None" = None,
    **options: Any,
) -> Run:
    """Search with a one-shot optimizer, or go on with a search that was stopped.

    Args:
        optimizer: its name; "darts" if not given.
        out: the run's folder, which must not exist; `runs/<optimizer>-<space>-<seed>` if not given.
        resume: the folder of a run to go on with. It stands alone; only `epochs` may be given, and only more.
        console: a rich console for the progress; a new one if not given. `Console(quiet=True)` is silent.
        options: the fields of `search_config.SearchConfig`: space="s1", epochs=50, seed=0, scale="quick", …

    Returns:
        The finished run.

    Raises:
        UserError: an unknown name or option, a value out of range, a folder in the way, images that are missing, a
            loss that is no number, a full disk. What was recorded stays, and can be resumed.
        SearchStoppedError: Ctrl-C; it names the folder to resume.
    """
    given = options if optimizer is None else {"optimizer": optimizer, **options}
    if resume is not None:
        if out is not None:
            raise InvalidInputError("--resume goes on in the run's own folder: leave out --out")
        return _resume(Path(resume).expanduser(), given, console)
    config = make_config(given).resolved()
    folder = Path(out).expanduser() if out else Path("runs") / f"{config.optimizer}-{config.space}-{config.seed}"
    return _start(config, folder, console)


def search_seeds(
    seeds: Sequence[int],
    *,
    out: str | Path | None = None,
    resume: str | Path | None = None,
    console: "Console | None" = None,
    **options: Any,
) -> list[Run]:
    """One search for each seed, in `out/seed-<seed>`, and `out/regret.png` with their mean and spread.

    With `resume` (the folder of such a group) finished seeds are kept, a stopped one goes on, and the rest is run.
    Other arguments and errors as in `search`.
    """
    if resume is not None:
        folder = Path(resume).expanduser()
        recorded = read_json(folder / SEEDS)
        if options or seeds or out is not None:
            raise InvalidInputError("--resume of several seeds stands alone: leave out the other options")
        seeds, config_options = recorded["seeds"], recorded["options"]
    else:
        config = make_config({**options, "seed": min(seeds)}).resolved()
        folder = Path(out).expanduser() if out else Path("runs") / f"{config.optimizer}-{config.space}-seeds"
        if folder.exists():
            raise InvalidInputError(f"{folder} exists already: go on with --resume {folder}, or choose another --out")
        config_options = {name: value for name, value in config.as_dict().items() if name != "seed"}
        write_json(folder / SEEDS, {"seeds": list(seeds), "options": config_options})
    try:
        runs = [_seed_run(folder / f"seed-{seed}", {**config_options, "seed": seed}, console) for seed in seeds]
    except SearchStoppedError as stop:
        raise SearchStoppedError(folder) from stop
    _draw(runs, runs[0].config["table_id"], folder / FIGURE)
    return runs


def _seed_run(folder: Path, options: dict[str, Any], console: "Console | None") -> Run:
    if (folder / CONFIG).exists():
        return _resume(folder, {}, console)
    return _start(make_config(options).resolved(), folder, console)


def _start(config: SearchConfig, folder: Path, console: "Console | None") -> Run:
    from nasbench1shot1.environment import environment
    from nasbench1shot1.search_state import begin
    from nasbench1shot1.table import load_table

    config = replace(config, table=config.table or os.environ.get("NB1SHOT1_TABLE"))
    table = load_table(config.table)
    state = begin(config)
    writer = RunWriter.create(folder, {**config.as_dict(), **_facts(state, table)}, environment())
    return _finish(state, table, writer, console)


def _resume(folder: Path, given: dict[str, Any], console: "Console | None") -> Run:
    from nasbench1shot1.checkpoints import load_checkpoint
    from nasbench1shot1.search_state import begin
    from nasbench1shot1.table import load_table

    recorded = load_run(folder).config
    config = _grown(folder, recorded, given).resolved()
    table = load_table(config.table)
    state = begin(config)
    _check_facts(folder, recorded, _facts(state, table))
    if (folder / CHECKPOINT).exists():
        state.load_state_dict(load_checkpoint(folder / CHECKPOINT))
    writer = RunWriter(folder)
    writer.cut(state.epoch)
    if config.epochs != recorded["epochs"]:
        (folder / SUMMARY).unlink(missing_ok=True)  # of the shorter run
        write_json(folder / CONFIG, {**recorded, "epochs": config.epochs})
    return _finish(state, table, writer, console)


def _grown(folder: Path, recorded: dict[str, Any], given: dict[str, Any]) -> SearchConfig:
    """The recorded configuration, with more epochs if they were given; anything else given must equal it."""
    names = [field.name for field in fields(SearchConfig)]
    try:
        config = SearchConfig(**{name: recorded[name] for name in names})
    except KeyError as error:
        raise DamagedFileError(f"{folder / CONFIG} lacks {error}: restore it, or start a new run") from error
    for name, value in given.items():
        if name not in names:
            raise unknown_name("option", name, names)
        if name != "epochs" and value != recorded[name]:
            flag = "--" + name.replace("_", "-")
            raise InvalidInputError(
                f"{folder} was searched with {flag} {recorded[name]}, not {value}: a run keeps its options "
                "(only --epochs may grow); start a new run for others"
            )
    epochs = given.get("epochs", recorded["epochs"])
    if epochs < recorded["epochs"]:
        raise InvalidInputError(
            f"{folder} is a run of {recorded['epochs']} epochs: --epochs may only grow, not to {epochs}"
        )
    return replace(config, epochs=epochs)


def _facts(state: "SearchState", table: "Table") -> dict[str, Any]:
    """What a run was made with besides its options."""
    return {
        "space_id": state.net.space.id,
        "table_id": table.id,
        "images_sha256": state.images.sha256,
        "weight_images": len(state.split.weights),
        "architecture_images": len(state.split.architecture),
    }


def _check_facts(folder: Path, recorded: dict[str, Any], now: dict[str, Any]) -> None:
    for name, value in now.items():
        if recorded.get(name) != value:
            raise InvalidInputError(
                f"{folder} was made with {name} {recorded.get(name)}, but now it is {value}: put back the former"
            )


def _finish(state: "SearchState", table: "Table", writer: RunWriter, console: "Console | None") -> Run:
    """Search to the end, then write the summary and the picture."""
    from nasbench1shot1.search_loop import run_search
    from nasbench1shot1.search_screen import announce, conclude, progress
    from nasbench1shot1.summary import summarise

    console = announce(state, table, writer.folder, console)
    try:
        with progress(state, console) as bar:
            run_search(state, table, writer, bar)
    except KeyboardInterrupt as stop:
        raise SearchStoppedError(writer.folder) from stop
    run = load_run(writer.folder)
    writer.finish(summarise(run.config, run.lines[-1], table.id))
    _draw([run], table.id, writer.folder / FIGURE)
    conclude(run, console)
    return run


def _draw(runs: list[Run], table_id: str, path: Path) -> None:
    from nasbench1shot1.experiments.anytime_regret import regret_figure, save_figure

    save_figure(regret_figure(runs, [run.metrics for run in runs], table_id), path)
