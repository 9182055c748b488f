"""One search for each of several seeds: a group of runs in one folder, with a picture of mean and spread."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nasbench1shot1.display.axes import save_figure
from nasbench1shot1.ground.arguments import options_by_keyword
from nasbench1shot1.ground.errors import DamagedFileError, InvalidInputError, RunStoppedError, UserError
from nasbench1shot1.ground.files import as_path, picture_name, write_json
from nasbench1shot1.ground.text import counted
from nasbench1shot1.named_data import with_names
from nasbench1shot1.one_shot_search.callbacks import Callback, check_callbacks, check_tensorboard, tensorboard_callbacks
from nasbench1shot1.one_shot_search.group import SearchGroup
from nasbench1shot1.one_shot_search.options import SearchOptions, search_options
from nasbench1shot1.one_shot_search.overwriting import REPLACE, moved_aside, restore_moved_aside
from nasbench1shot1.one_shot_search.parallel_seeds import (
    check_parallel,
    search_in_workers,
    with_threads,
    workers_option,
)
from nasbench1shot1.one_shot_search.record import FIGURE, Run
from nasbench1shot1.one_shot_search.searching import (
    check_data,
    check_equal_options,
    check_resumed,
    default_folder,
    resume_search,
    start_search,
)
from nasbench1shot1.registry import check_trusted
from nasbench1shot1.runs.folder import CONFIG, SEEDS, SUMMARY, read_object
from nasbench1shot1.runs.lifecycle import list_names, locked_folder, occupied_error
from nasbench1shot1.runs.next_command import resume_command
from nasbench1shot1.runs.options import check_range

if TYPE_CHECKING:
    from rich.console import Console


@options_by_keyword('nb.search_seeds([0, 1], optimizer="darts")')
def search_seeds(
    seeds: Sequence[int] = (),
    *,
    out: str | Path | None = None,
    resume: str | Path | None = None,
    workers: int | None = None,
    overwrite: bool = False,
    tensorboard: bool = False,
    allow_module: str | None = None,
    console: "Console | None" = None,
    callbacks: Sequence[Callback] = (),
    **options: Any,
) -> SearchGroup:
    """Run one search for each seed, in `out/seed-<seed>`, and draw `out/regret.png` with their mean and spread.

    With `resume` (the folder of such a group) finished seeds are kept, a stopped one is resumed, and the others are
    run; no seeds are given then, and of the options only `epochs`.

    Args:
        seeds: the seeds of the searches.
        out: as in `search`; default: `runs/<optimizer>-<space>-seeds`.
        resume: the folder of a group to resume.
        workers: number of searches at the same time, each in a process of its own, without `callbacks`. Default: 1,
            which searches in this process. Results depend on `threads`, not on the number of workers; but at full scale
            on a CPU, the default of `threads` is the number of cores divided by the number of parallel searches.
        overwrite, tensorboard, allow_module, console, callbacks, options: as in `search`.

    Returns:
        The group, a sequence of the finished runs in the order of the seeds.

    Raises:
        UserError: as in `search`; with several workers, after the searches that did not fail are finished.
        RunStoppedError: Ctrl-C; it names the folder to resume.
    """
    from nasbench1shot1.ground.notebooks import console_or_new

    _check_workers(workers)
    check_callbacks(callbacks)
    if tensorboard:
        check_tensorboard()
    options, workers, console = with_names(options), workers or 1, console_or_new(console)
    if resume is not None:
        check_resumed(out, overwrite)
        folder, wanted = _group_to_resume(as_path(resume, "--resume"), seeds, options, allow_module)
    else:
        folder, wanted = _new_group(seeds, out, options, workers)
        if not overwrite:
            _check_is_free(folder, wanted)
    if workers > 1:
        check_parallel(wanted[0], callbacks)
    if workers > 1 or overwrite:
        check_data(wanted[0])
    with moved_aside(folder, overwrite) as discards, locked_folder(folder), _resumable(folder, workers):
        if resume is None:
            _check_is_free(folder, wanted)  # again, now that no other process writes there
        _write_group(folder, wanted)
        if workers > 1:
            search_in_workers(folder, wanted, workers, console, discards, tensorboard, overwrite)
        else:
            with tensorboard_callbacks(tensorboard) as events:
                _search_here(folder, wanted, console, [*callbacks, *events, *discards])
    return _finish_group(SearchGroup.open(folder), wanted[0], console)


@contextmanager
def _resumable(folder: Path, workers: int) -> Iterator[None]:
    """Let Ctrl-C name the command to resume a group, and an error remove a group without runs."""
    try:
        yield
    except KeyboardInterrupt as stop:
        raise RunStoppedError(folder, resume_command(Run.COMMAND, folder, workers_option(workers))) from stop
    except UserError:
        _remove_if_not_started(folder)
        raise


def _remove_if_not_started(folder: Path) -> None:
    """Remove the files of a group without runs, which would block the next attempt."""
    with suppress(OSError):
        if not any(folder.glob(f"seed-*/{CONFIG}")):
            for path in (folder / SEEDS, *folder.glob("seed-*.log")):
                path.unlink()


def _search_here(
    group: Path, wanted: Sequence[SearchOptions], console: "Console | None", callbacks: Sequence[Callback]
) -> None:
    """Run the searches of a group one after the other."""
    for options in wanted:
        folder = group / f"seed-{options.common.seed}"
        if (folder / CONFIG).exists():  # it must have been started with the group's options
            resume_search(folder, options.as_dict(), console, callbacks=callbacks)
        else:
            start_search(options, folder, console, callbacks)


def _finish_group(group: SearchGroup, options: SearchOptions, console: "Console") -> SearchGroup:
    from nasbench1shot1.one_shot_search.regret_curve import regret_figure
    from nasbench1shot1.one_shot_search.screen import show_group_result
    from nasbench1shot1.tables.table import load_table

    table = load_table(options.common.table)  # only for its caption
    figure = regret_figure(group.runs, [run.metrics for run in group], table)
    save_figure(figure, group.folder / picture_name(FIGURE, options.common.format))
    show_group_result(group, console)
    return group


def _new_group(
    seeds: Sequence[int], out: str | Path | None, options: dict[str, Any], workers: int
) -> tuple[Path, list[SearchOptions]]:
    """Check the options of every seed; nothing is written."""
    _check_is_list(seeds)
    seeds = list(seeds)  # perhaps a generator, or an array
    if not seeds:
        raise InvalidInputError("seeds is empty: give at least one seed")
    if "seed" in options:
        raise InvalidInputError("give several seeds as --seeds, and remove --seed")
    if len(set(seeds)) < len(seeds):
        raise InvalidInputError(f"seeds {list(seeds)} repeat one: give each seed once")
    shared = with_threads(options, min(workers, len(seeds)))
    wanted = [search_options({**shared, "seed": seed}) for seed in seeds]
    folder = as_path(out, "--out") if out is not None else default_folder(wanted[0], "seeds")
    return folder, wanted


def _check_workers(workers: object) -> None:
    check_range("workers", workers, 1)
    if workers is not None and not isinstance(workers, Integral):
        raise InvalidInputError(f"workers must be a whole number, not {workers!r}")


def _check_is_list(seeds: object) -> None:
    if isinstance(seeds, str) or not isinstance(seeds, Iterable):
        raise InvalidInputError(f"seeds must be a list of whole numbers, not {seeds!r}")


def _check_is_free(folder: Path, wanted: Sequence[SearchOptions]) -> None:
    """Refuse a folder that holds anything: a group to resume, a group with other options, or what is not a group."""
    names = list_names(folder)
    if SEEDS in names:
        shared = {name: value for name, value in wanted[0].as_dict().items() if name != "seed"}
        with suppress(DamagedFileError):  # a damaged group is not replaced either
            check_equal_options(folder, SearchGroup.open(folder).options, shared)
    if names or (folder.exists() and not folder.is_dir()):
        is_finished = {CONFIG, SUMMARY} <= names or (SEEDS in names and _is_finished(folder))
        raise occupied_error(folder, SEEDS in names or CONFIG in names, is_finished, REPLACE)


def _is_finished(folder: Path) -> bool:
    """Return whether all searches of a group are finished; False if its record is damaged."""
    with suppress(DamagedFileError):
        return SearchGroup.open(folder).is_finished
    return False


def _write_group(folder: Path, wanted: Sequence[SearchOptions]) -> None:
    shared = {name: value for name, value in wanted[0].as_dict().items() if name != "seed"}
    content = {"seeds": [options.common.seed for options in wanted], "options": shared}
    if not (folder / SEEDS).is_file() or read_object(folder / SEEDS) != content:
        write_json(folder / SEEDS, content)


def _group_to_resume(
    folder: Path,
    seeds: Sequence[int],
    given: dict[str, Any],
    allow_module: str | None,
) -> tuple[Path, list[SearchOptions]]:
    if len(list(seeds)) or set(given) - {"epochs"}:
        raise InvalidInputError("--resume of several seeds cannot be combined with other options, except --epochs")
    restore_moved_aside(folder)
    group = SearchGroup.open(folder)
    recorded_seeds, recorded = group.seeds, group.options
    where = folder / SEEDS
    check_trusted("optimizers", "optimizer", recorded.get("optimizer", ""), where, allow_module)
    check_trusted("search_spaces", "space", recorded.get("space", ""), where, allow_module)
    before = _options_per_seed(recorded_seeds, recorded, where)
    wanted = [search_options({**options.as_dict(), **given}) for options in before]
    epochs, more = before[0].common.epochs, wanted[0].common.epochs
    if more < epochs:
        raise InvalidInputError(
            f"'{folder}' has runs of {counted(epochs, 'epoch')}: --epochs may only increase, not fall to {more}"
        )
    return folder, wanted


def _options_per_seed(seeds: Sequence[int], recorded: dict[str, Any], where: Path) -> list[SearchOptions]:
    try:
        return [search_options({**recorded, "seed": seed}) for seed in seeds]
    except InvalidInputError as error:
        raise DamagedFileError(
            f"{where} is damaged ({error.for_command_line}): restore it, or resume its runs one by one"
        ) from error
