"""Searching, from named options to a finished run: a new one, one that goes on, or one for each of several seeds."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nasbench1shot1.errors import DamagedFileError, InvalidInputError, OutOfDomainError, SearchStoppedError, UserError
from nasbench1shot1.files import read_json, write_json
from nasbench1shot1.one_shot_search.config import FACTS, SearchConfig, config_class, make_config
from nasbench1shot1.one_shot_search.record import FIGURE, SEEDS, Run, RunWriter, load_run
from nasbench1shot1.runs.compute import cpu_threads
from nasbench1shot1.runs.folder import CHECKPOINT, CONFIG, SUMMARY, check_facts
from nasbench1shot1.runs.options import flag, option_names

if TYPE_CHECKING:
    from rich.console import Console

    from nasbench1shot1.one_shot_search.state import SearchState
    from nasbench1shot1.optimizer import OneShotOptimizer
    from nasbench1shot1.tables.table import Table


def search(
    optimizer: "str | type[OneShotOptimizer] | None" = None,
    *,
    out: str | Path | None = None,
    resume: str | Path | None = None,
    console: "Console | None" = None,
    **options: Any,
) -> Run:
    """Search with a one-shot optimizer, or go on with a search that was stopped.

    Args:
        optimizer: its name, its class, or "module:Class"; "darts" if not given.
        out: the run's folder, which must not exist; `runs/<optimizer>-<space>-<seed>` if not given.
        resume: the folder of a run to go on with. It stands alone; only `epochs` may be given, and only more.
        console: a rich console for the progress; a new one if not given. `Console(quiet=True)` is silent.
        options: the fields of `one_shot_search.config.SearchConfig`: space="s1", epochs=50, seed=0, scale="quick", …

    Returns:
        The finished run.

    Raises:
        UserError: an unknown name or option, a value out of range, a folder in the way, images that are missing, a
            loss that is no number, a full disk. What was recorded stays, and can be resumed.
        SearchStoppedError: Ctrl-C; it names the folder to resume.
    """
    if isinstance(optimizer, type):  # a notebook's own: found again under module and name
        optimizer = f"{optimizer.__module__}:{optimizer.__qualname__}"
    given = options if optimizer is None else {"optimizer": optimizer, **options}
    if resume is not None:
        if out is not None:
            raise InvalidInputError("--resume goes on in the run's own folder: leave out --out")
        return _resume(Path(resume).expanduser(), given, console)
    config = make_config(given).resolved()
    folder = Path(out).expanduser() if out else _default_folder(config, config.seed)
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

    With `resume` (the folder of such a group) finished seeds are kept, a stopped one goes on, and the rest is run;
    no seeds are given then, and of the options only `epochs`. Other arguments and errors as in `search`.
    """
    if resume is not None:
        folder, seeds, options = _group_to_resume(Path(resume).expanduser(), seeds, out, options)
    else:
        folder, seeds, options = _new_group(seeds, out, options)
    try:
        runs = [_seed_run(folder / f"seed-{seed}", {**options, "seed": seed}, console) for seed in seeds]
    except KeyboardInterrupt as stop:
        raise SearchStoppedError(folder) from stop
    except UserError:
        with suppress(OSError):  # nothing was begun: the folder shall not be in the way of a better try
            if not any(folder.glob("seed-*")):
                (folder / SEEDS).unlink()
                folder.rmdir()
        raise
    from nasbench1shot1.one_shot_search.screen import conclude_group
    from nasbench1shot1.tables.table import load_table

    _draw(runs, load_table(options["table"]), folder / FIGURE)
    conclude_group(runs, folder, console)
    return runs


def _default_folder(config: SearchConfig, last: int | str) -> Path:
    return Path("runs") / f"{config.optimizer.rpartition(':')[2]}-{config.space}-{last}"


def _new_group(
    seeds: Sequence[int], out: str | Path | None, options: dict[str, Any]
) -> tuple[Path, list[int], dict[str, Any]]:
    if not seeds or "seed" in options:
        raise InvalidInputError("give several seeds, as --seeds 0-5, and leave out --seed")
    config = make_config({**options, "seed": min(seeds)}).resolved()
    folder = Path(out).expanduser() if out else _default_folder(config, "seeds")
    if folder.exists():
        raise InvalidInputError(f"{folder} exists already: go on with --resume {folder}, or choose another --out")
    resolved = {name: value for name, value in config.as_dict().items() if name != "seed"}
    write_json(folder / SEEDS, {"seeds": [int(seed) for seed in seeds], "options": resolved})
    return folder, list(seeds), resolved


def _group_to_resume(
    folder: Path, seeds: Sequence[int], out: str | Path | None, options: dict[str, Any]
) -> tuple[Path, list[int], dict[str, Any]]:
    if seeds or out is not None or set(options) - {"epochs"}:
        raise InvalidInputError("--resume of several seeds stands alone: leave out all other options but --epochs")
    if not (folder / SEEDS).is_file():
        raise InvalidInputError(f"{folder} is no group of seeds: it has no {SEEDS}")
    recorded = read_json(folder / SEEDS)
    try:
        group, seeds = {**recorded["options"], **options}, list(recorded["seeds"])
        epochs, wanted = recorded["options"]["epochs"], group["epochs"]
        shrinks = wanted < epochs
    except (KeyError, TypeError) as error:
        raise DamagedFileError(f"{folder / SEEDS} is damaged: restore it, or resume its runs one by one") from error
    if shrinks:
        raise InvalidInputError(f"{folder} has runs of {epochs} epochs: --epochs may only grow, not to {wanted}")
    if options:
        make_config({**group, "seed": min(seeds, default=0)}).resolved()  # before anything is written
        write_json(folder / SEEDS, {**recorded, "options": group})
    return folder, seeds, group


def _seed_run(folder: Path, options: dict[str, Any], console: "Console | None") -> Run:
    if (folder / CONFIG).exists():
        return _resume(folder, {"epochs": options["epochs"]}, console)
    return _start(make_config(options).resolved(), folder, console)


def _start(config: SearchConfig, folder: Path, console: "Console | None") -> Run:
    from nasbench1shot1.one_shot_search.state import begin
    from nasbench1shot1.runs.environment import environment
    from nasbench1shot1.tables.table import load_table

    table = load_table(config.table)
    _check_covers(table, config.space)
    with cpu_threads(config.threads):
        state = begin(config)
        _check_is_no_other(folder, config)
        writer = RunWriter.create(
            folder, {**config.as_dict(), **_facts(state, table), "grown": []}, environment(config.device)
        )
        with writer.locked(), writer.removed_if_nothing_is_recorded():
            return _finish(state, table, writer, console)


def _check_is_no_other(folder: Path, config: SearchConfig) -> None:
    """Refuse a folder that holds a search with other options, naming one of them: resuming it would not be this one."""
    if not (folder / CONFIG).is_file():
        return
    recorded = load_run(folder).config
    for name, ours in config.as_dict().items():
        if name in recorded and recorded[name] != ours:
            raise InvalidInputError(
                f"{folder} holds another search ({flag(name)} {recorded[name]}, not {ours}): choose another --out"
            )


def _resume(folder: Path, given: dict[str, Any], console: "Console | None") -> Run:
    from nasbench1shot1.one_shot_search.state import begin
    from nasbench1shot1.runs.checkpoints import load_checkpoint
    from nasbench1shot1.tables.table import load_table

    recorded = load_run(folder).config
    config = _grown(folder, recorded, given).resolved()
    table = load_table(config.table)
    _check_covers(table, config.space)
    with cpu_threads(config.threads):
        state = begin(config)
        check_facts(folder, recorded, _facts(state, table))
        writer = RunWriter(folder)
        with writer.locked():
            if (folder / CHECKPOINT).exists():
                state.load_state_dict(load_checkpoint(folder / CHECKPOINT), folder / CHECKPOINT)
            else:
                writer.check_nothing_is_lost("finished epochs")
            writer.cut(state.epoch, state.net.space.mixing_shapes())
            if config.epochs != recorded["epochs"]:
                _record_growth(folder, recorded, config, state.epoch)
            return _finish(state, table, writer, console)


def _grown(folder: Path, recorded: dict[str, Any], given: dict[str, Any]) -> SearchConfig:
    """The recorded configuration, with more epochs if they were given; anything else given must equal it."""
    names = _options_of(folder, recorded)
    wanted = make_config({"optimizer": recorded["optimizer"], **given})
    for name in sorted(given, key=lambda name: name != "optimizer"):  # the others depend on that
        if name != "epochs" and (value := getattr(wanted, name)) != recorded.get(name, value):
            raise InvalidInputError(
                f"{folder} was searched with {flag(name)} {recorded[name]}, not {given[name]}: a run keeps its options "
                "(only --epochs may grow); start a new run for others"
            )
    config = make_config({name: recorded[name] for name in names})
    epochs = wanted.epochs if given.get("epochs") is not None else config.epochs
    if epochs < config.epochs:
        raise InvalidInputError(f"{folder} is a run of {config.epochs} epochs: --epochs may only grow, not to {epochs}")
    return replace(config, epochs=epochs)


def _options_of(folder: Path, recorded: dict[str, Any]) -> tuple[str, ...]:
    """The names of the options of a recorded search, all of which must be there."""
    from nasbench1shot1.registry import optimizer

    names = option_names(config_class(optimizer(recorded["optimizer"]))) if "optimizer" in recorded else ("optimizer",)
    if missing := [name for name in names if name not in recorded]:
        raise DamagedFileError(f"{folder / CONFIG} lacks '{missing[0]}': restore it, or start a new run")
    if recorded["epochs"] is None:
        raise DamagedFileError(f"{folder / CONFIG} has no number of epochs: restore it, or start a new run")
    return names


def _record_growth(folder: Path, recorded: dict[str, Any], config: SearchConfig, epoch: int) -> None:
    """Say in the configuration that the schedules of the first epochs were those of a shorter run."""
    (folder / SUMMARY).unlink(missing_ok=True)  # of the shorter run
    growth = {"from": recorded["epochs"], "to": config.epochs, "after_epoch": epoch}
    write_json(folder / CONFIG, {**recorded, "epochs": config.epochs, "grown": [*recorded.get("grown", []), growth]})


def _check_covers(table: "Table", name: str) -> None:
    """Refuse a space without relaxation, and a table that lacks cells of it at once, not once one is preferred."""
    import numpy as np

    from nasbench1shot1.registry import one_shot, search_space

    space, rng = one_shot(search_space(name)), np.random.default_rng(0)
    try:
        if space.name not in table.spaces:
            table.rows([space.sample(rng) for _ in range(20)])
    except OutOfDomainError as error:
        raise InvalidInputError(
            f"the table {table.id} does not hold all of {name}: search on --table embedded, or on the official data"
        ) from error


def _facts(state: "SearchState", table: "Table") -> dict[str, Any]:
    """What a run was made with besides its options."""
    halves = (len(state.split.weights), len(state.split.architecture))
    return dict(zip(FACTS, (state.net.space.id, table.id, state.images.sha256, *halves), strict=True))


def _finish(state: "SearchState", table: "Table", writer: RunWriter, console: "Console | None") -> Run:
    """Search to the end, then write the summary and the picture; the caller holds the folder's lock."""
    from nasbench1shot1.one_shot_search.loop import run_search
    from nasbench1shot1.one_shot_search.screen import announce, conclude, progress
    from nasbench1shot1.one_shot_search.summary import summarise

    try:
        console = announce(state, table, writer.folder, console)
        with progress(state, console) as bar:
            run_search(state, table, writer, bar)
        run = load_run(writer.folder)
        writer.finish(summarise(run.config, run.lines, table.id))
        _draw([run], table, writer.folder / FIGURE)
    except KeyboardInterrupt as stop:
        raise SearchStoppedError(writer.folder) from stop
    conclude(run, table, console)
    return run


def _draw(runs: list[Run], table: "Table", path: Path) -> None:
    from nasbench1shot1.experiments.anytime_regret import regret_figure, save_figure

    save_figure(regret_figure(runs, [run.metrics for run in runs], table.id, table.fidelity()), path)
