"""Searching, from named options to a finished run: a new one, or one that is resumed."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nasbench1shot1.ground.arguments import options_by_keyword
from nasbench1shot1.ground.errors import InvalidInputError
from nasbench1shot1.ground.files import as_path, write_json
from nasbench1shot1.one_shot_search.callbacks import Callback, CallbackReporter, check_callbacks, tensorboard_callbacks
from nasbench1shot1.one_shot_search.options import (
    SearchConfig,
    SearchOptions,
    data_facts,
    recorded_search,
    search_options,
)
from nasbench1shot1.one_shot_search.overwriting import REPLACE, moved_aside, restore_moved_aside
from nasbench1shot1.one_shot_search.record import Run, SearchWriter, open_search
from nasbench1shot1.registry import check_trusted, one_shot, search_space, with_names
from nasbench1shot1.runs.folder import CONFIG, SUMMARY, check_facts, description, updated_description
from nasbench1shot1.runs.lifecycle import check_is_new, existing_run, new_run
from nasbench1shot1.runs.machine import cpu_threads
from nasbench1shot1.runs.options import check_unchanged, flag

if TYPE_CHECKING:
    from rich.console import Console

    from nasbench1shot1.one_shot_search.state import SearchState
    from nasbench1shot1.optimizer import OneShotOptimizer
    from nasbench1shot1.tables.table import Table


@options_by_keyword('nb.search("darts", space="s1")')
def search(
    optimizer: "str | type[OneShotOptimizer] | None" = None,
    *,
    out: str | Path | None = None,
    resume: str | Path | None = None,
    overwrite: bool = False,
    tensorboard: bool = False,
    allow_module: str | None = None,
    console: "Console | None" = None,
    callbacks: Sequence[Callback] = (),
    **options: Any,
) -> Run:
    """Search with a one-shot optimizer, or resume a search that was stopped.

    Args:
        optimizer: its name, its class, or "module:Class"; "darts" if not given.
        out: the run's folder, which must not exist; `runs/<optimizer>-<space>-<seed>` if not given.
        resume: the folder of a run to resume. Cannot be combined with other options, except `epochs`, which may only
            increase.
        overwrite: replace the search, or group of searches, that `out` holds. It is deleted, with its `report-…`
            folders, once the new search has recorded an epoch; if the new search fails before, it is put back. A folder
            that also holds other files, or what `nb.Recorder` recorded, is refused.
        tensorboard: write event files for TensorBoard into the run's folder (needs the extra `tensorboard`). It is not
            recorded: give it again on resuming.
        allow_module: on resuming, a module that may be imported because the run's config.json names it. Not needed for
            registered optimizers, for a module that is imported already, or where `optimizer` is given.
        console: a rich console for the progress; a new one if not given. `Console(quiet=True)` is silent.
        callbacks: functions that are called with an `Epoch` (`one_shot_search.callbacks`) after every recorded epoch.
            They cannot change the search. If one raises, the search stops, and can be resumed; config.json does not
            record them.
        options: the fields of `one_shot_search.options.SearchConfig`: space="s1", epochs=50, seed=0, scale="quick", …,
            and the fields of the optimizer's `Hyperparameters`. `space` may be an `nb.OneShotSpace` that a module has
            as an attribute, `table` an `nb.Table` that has a folder.

    Returns:
        The finished run.

    Raises:
        UserError: an unknown name or option, a value out of range, a folder in the way, images that are missing, a
            loss that is infinite or NaN, a full disk. What was recorded stays, and can be resumed.
        RunStoppedError: Ctrl-C; it names the folder to resume.
    """
    if isinstance(optimizer, type):  # a notebook's own: found again under module and name
        optimizer = f"{optimizer.__module__}:{optimizer.__qualname__}"
    if "seeds" in options:
        raise InvalidInputError("nb.search runs one search: give several seeds to nb.search_seeds")
    options = with_names(options)
    given = options if optimizer is None else {"optimizer": optimizer, **options}
    check_callbacks(callbacks)
    with tensorboard_callbacks(tensorboard) as events:
        if resume is not None:
            check_resumed(out, overwrite)
            return resume_search(as_path(resume, "--resume"), given, console, allow_module, [*callbacks, *events])
        wanted = search_options(given)
        folder = as_path(out, "--out") if out is not None else default_folder(wanted, wanted.common.seed)
        return start_search(wanted, folder, console, [*callbacks, *events], overwrite)


def check_resumed(out: str | Path | None, overwrite: bool) -> None:
    """Raise InvalidInputError for arguments of a new run that are given together with `resume`."""
    if out is not None:
        raise InvalidInputError("--resume continues in the run's own folder: remove --out")
    if overwrite:
        raise InvalidInputError("--resume continues the run: remove --overwrite")


def default_folder(options: SearchOptions, last: int | str) -> Path:
    """Return the folder of a search, or of a group of them, that names no other."""
    common = options.common
    return Path("runs") / f"{common.optimizer.rpartition(':')[2]}-{search_space(common.space).name}-{last}"


def start_search(
    options: SearchOptions,
    folder: Path,
    console: "Console | None",
    callbacks: Sequence[Callback] = (),
    overwrite: bool = False,
) -> Run:
    """Search in a new folder; raises the errors of `search`."""
    from nasbench1shot1.one_shot_search.state import begin
    from nasbench1shot1.runs.machine import environment

    table = table_of_search(options.common)
    with cpu_threads(options.common.threads):
        state = begin(options)  # first, because errors in options come before errors about the folder
        table.objective(state.images.dataset)
        with moved_aside(folder, overwrite) as discards:
            _check_is_no_other(folder, options)
            check_is_new(folder, REPLACE)
            with new_run(folder, SearchWriter, Run) as writer:
                facts = {**_facts(state, table), "grown": []}
                writer.describe(description(Run.KIND, options.sections(), facts), environment(options.common.device))
                return _finish(state, table, writer, console, [*callbacks, *discards])


def check_data(options: SearchOptions) -> None:
    """Raise the UserError that a search would raise before it writes anything, such as for missing images."""
    from nasbench1shot1.one_shot_search.state import begin

    table = table_of_search(options.common)
    state = begin(replace(options, common=replace(options.common, device="cpu")))
    table.objective(state.images.dataset)


def resume_search(
    folder: Path,
    given: Mapping[str, Any],
    console: "Console | None",
    allow_module: str | None = None,
    callbacks: Sequence[Callback] = (),
) -> Run:
    """Continue the search in a folder; arguments and errors as for `search`."""
    from nasbench1shot1.one_shot_search.state import begin

    restore_moved_aside(folder)
    open_search(folder)
    given = {name: value for name, value in given.items() if value is not None}
    with moved_aside(folder, overwrite=False) as discards, existing_run(folder, SearchWriter, Run) as writer:
        recorded = open_search(folder).config
        options = _resumed_options(folder, recorded, given, allow_module)
        table = table_of_search(options.common)
        with cpu_threads(options.common.threads):
            state = begin(options)
            check_facts(folder, recorded, _facts(state, table))
            writer.restore(state)
            if options.common.epochs != recorded["epochs"]:
                _record_growth(folder, recorded, options.common.epochs, state.epoch)
            return _finish(state, table, writer, console, [*callbacks, *discards])


def _check_is_no_other(folder: Path, options: SearchOptions) -> None:
    """Raise InvalidInputError if a folder holds a search with other options, and name one of these options."""
    if not (folder / CONFIG).is_file():
        return
    check_equal_options(folder, open_search(folder).config, options.as_dict())


def check_equal_options(folder: Path, recorded: Mapping[str, Any], options: Mapping[str, Any]) -> None:
    """Raise InvalidInputError if the search, or the group, in a folder has another value of an option."""
    for name, ours in options.items():
        if name in recorded and recorded[name] != ours:
            raise InvalidInputError(
                f"'{folder}' holds another search ({flag(name)} {recorded[name]}, not {ours}): {REPLACE}choose another "
                "--out"
            )


def _resumed_options(
    folder: Path, recorded: Mapping[str, Any], given: Mapping[str, Any], allow_module: str | None
) -> SearchOptions:
    """Return the recorded options, with more epochs if given; other given options must equal the recorded ones."""
    if given.get("optimizer") != recorded["optimizer"]:  # naming it is a permission, too
        check_trusted("optimizers", "optimizer", recorded["optimizer"], folder / CONFIG, allow_module)
    if given.get("space") != recorded["space"]:
        check_trusted("search_spaces", "space", recorded["space"], folder / CONFIG, allow_module)
    if "optimizer" in given:  # the other options depend on it
        check_unchanged(folder, recorded, {"optimizer": given["optimizer"]}, ())
    kept = recorded_search(recorded, folder / CONFIG)
    wanted = search_options({**kept.as_dict(), **given})
    check_unchanged(folder, recorded, {name: wanted.as_dict()[name] for name in given}, ("epochs",))
    return wanted


def _record_growth(folder: Path, recorded: Mapping[str, Any], epochs: int, epoch: int) -> None:
    """Record in config.json that the first epochs followed the schedules of a shorter run."""
    (folder / SUMMARY).unlink(missing_ok=True)  # of the shorter run
    growth = {"from": recorded["epochs"], "to": epochs, "after_epoch": epoch}
    write_json(folder / CONFIG, updated_description(folder, {"epochs": epochs, "grown": [*recorded["grown"], growth]}))


def table_of_search(config: SearchConfig) -> "Table":
    """Open the table of a search, with the networks of its space as a reference.

    Raises InvalidInputError for a space without relaxation, and as `tables.table.table_for` does.
    """
    from nasbench1shot1.tables.table import table_for

    return table_for(one_shot(search_space(config.space)), config.table, config.reference)


def _facts(state: "SearchState", table: "Table") -> dict[str, Any]:
    """Return the data of a run: fields of config.json besides the options."""
    return data_facts(state.net.space, table, state.images, state.split)


def _finish(
    state: "SearchState",
    table: "Table",
    writer: SearchWriter,
    console: "Console | None",
    callbacks: Sequence[Callback],
) -> Run:
    """Search to the end, then write the summary and the pictures."""
    from nasbench1shot1.one_shot_search.loop import run_search
    from nasbench1shot1.one_shot_search.pictures import save_pictures
    from nasbench1shot1.one_shot_search.record import summarise
    from nasbench1shot1.one_shot_search.screen import announce, progress, show_result

    console = announce(state, table, writer.folder, console)
    with progress(state, console) as bar:
        run_search(state, table, writer, CallbackReporter(bar, state, writer.folder, callbacks))
    run = open_search(writer.folder)
    writer.finish(summarise(run.config, Run.read_lines(writer.folder), table.id))
    save_pictures(run, table, state.config.format)
    show_result(run, table, console)
    return run
