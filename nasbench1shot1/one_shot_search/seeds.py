"""One search for each of several seeds: a group of runs in one folder, with a picture of mean and spread."""

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nasbench1shot1.errors import DamagedFileError, InvalidInputError, RunStoppedError, UserError
from nasbench1shot1.files import save_figure, write_json
from nasbench1shot1.ground.paths import as_path
from nasbench1shot1.named_data import by_name
from nasbench1shot1.one_shot_search.callbacks import Callback
from nasbench1shot1.one_shot_search.group import SearchGroup
from nasbench1shot1.one_shot_search.options import SearchOptions, search_options, search_options_again
from nasbench1shot1.one_shot_search.record import FIGURE, SEEDS, Run
from nasbench1shot1.one_shot_search.searching import default_folder, resume_search, start_search
from nasbench1shot1.registry import check_at_hand
from nasbench1shot1.runs.folder import CONFIG, read_object
from nasbench1shot1.runs.lifecycle import locked_folder, names_in
from nasbench1shot1.wording import counted

if TYPE_CHECKING:
    from rich.console import Console


def search_seeds(
    seeds: Sequence[int],
    *,
    out: str | Path | None = None,
    resume: str | Path | None = None,
    allow_module: str | None = None,
    console: "Console | None" = None,
    callbacks: Sequence[Callback] = (),
    **options: Any,
) -> list[Run]:
    """Run one search for each seed, in `out/seed-<seed>`, and draw `out/regret.png` with their mean and spread.

    With `resume` (the folder of such a group) finished seeds are kept, a stopped one is resumed, and the others are
    run; no seeds are given then, and of the options only `epochs`. Other arguments and errors as in `search`.
    """
    options = by_name(options)
    if resume is not None:
        folder, wanted = _group_to_resume(as_path(resume, "--resume"), seeds, out, options, allow_module)
    else:
        folder, wanted = _new_group(seeds, out, options)
    with locked_folder(folder):
        if resume is None:
            _check_is_free(folder)  # again, now that nobody else writes there
        _write_group(folder, wanted)
        runs = _run_group(folder, wanted, console, callbacks)
    return _conclude(runs, folder, wanted[0], console)


def _run_group(
    folder: Path, wanted: Sequence[SearchOptions], console: "Console | None", callbacks: Sequence[Callback]
) -> list[Run]:
    try:
        return [_seed_run(folder / f"seed-{options.common.seed}", options, console, callbacks) for options in wanted]
    except KeyboardInterrupt as stop:
        raise RunStoppedError(folder, Run.COMMAND) from stop
    except UserError:
        with suppress(OSError):  # nothing was begun: the folder must not be in the way of a better try
            if not any(folder.glob("seed-*")):
                (folder / SEEDS).unlink()
        raise


def _seed_run(folder: Path, options: SearchOptions, console: "Console | None", callbacks: Sequence[Callback]) -> Run:
    if (folder / CONFIG).exists():  # it must have been started with the group's options
        return resume_search(folder, options.as_dict(), console, callbacks=callbacks)
    return start_search(options, folder, console, callbacks)


def _conclude(runs: list[Run], folder: Path, options: SearchOptions, console: "Console | None") -> list[Run]:
    from nasbench1shot1.one_shot_search.regret_curve import regret_figure
    from nasbench1shot1.one_shot_search.screen import conclude_group
    from nasbench1shot1.tables.table import load_table

    table = load_table(options.common.table)  # only for its caption
    save_figure(regret_figure(runs, [run.metrics for run in runs], table.id, table.fidelity()), folder / FIGURE)
    conclude_group(runs, folder, console)
    return runs


def _new_group(
    seeds: Sequence[int], out: str | Path | None, options: dict[str, Any]
) -> tuple[Path, list[SearchOptions]]:
    """Check the options of every seed; nothing is written."""
    if not seeds or "seed" in options:
        raise InvalidInputError("give several seeds, such as --seeds 0-5, and remove --seed")
    if len(set(seeds)) < len(seeds):
        raise InvalidInputError(f"seeds {list(seeds)} repeat one: give each seed once")
    wanted = [search_options({**options, "seed": seed}) for seed in seeds]
    folder = as_path(out, "--out") if out is not None else default_folder(wanted[0], "seeds")
    _check_is_free(folder)
    return folder, wanted


def _check_is_free(folder: Path) -> None:
    """Refuse a folder that holds anything: a group to resume, or what is not a group."""
    names = names_in(folder)
    if names or (folder.exists() and not folder.is_dir()):
        resume = f"continue with --resume {folder}, or " if SEEDS in names or CONFIG in names else ""
        raise InvalidInputError(f"'{folder}' already exists: {resume}choose another --out")


def _write_group(folder: Path, wanted: Sequence[SearchOptions]) -> None:
    shared = {name: value for name, value in wanted[0].as_dict().items() if name != "seed"}
    content = {"seeds": [options.common.seed for options in wanted], "options": shared}
    if not (folder / SEEDS).is_file() or read_object(folder / SEEDS) != content:
        write_json(folder / SEEDS, content)


def _group_to_resume(
    folder: Path,
    seeds: Sequence[int],
    out: str | Path | None,
    given: dict[str, Any],
    allow_module: str | None,
) -> tuple[Path, list[SearchOptions]]:
    if seeds or out is not None or set(given) - {"epochs"}:
        raise InvalidInputError("--resume of several seeds cannot be combined with other options, except --epochs")
    group = SearchGroup.open(folder)
    recorded_seeds, recorded = group.seeds, group.options
    where = folder / SEEDS
    check_at_hand("optimizers", "optimizer", recorded.get("optimizer", ""), where, allow_module)
    check_at_hand("search_spaces", "space", recorded.get("space", ""), where, allow_module)
    before = _of_seeds(recorded_seeds, recorded, where)
    wanted = [search_options_again(options.as_dict(), given) for options in before]
    epochs, more = before[0].common.epochs, wanted[0].common.epochs
    if more < epochs:
        raise InvalidInputError(
            f"'{folder}' has runs of {counted(epochs, 'epoch')}: --epochs may only increase, not fall to {more}"
        )
    return folder, wanted


def _of_seeds(seeds: Sequence[int], recorded: dict[str, Any], where: Path) -> list[SearchOptions]:
    try:
        return [search_options_again(recorded, {"seed": seed}) for seed in seeds]
    except InvalidInputError as error:
        raise DamagedFileError(f"{where} is damaged ({error}): restore it, or resume its runs one by one") from error
