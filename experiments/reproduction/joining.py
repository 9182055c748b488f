"""Finished runs that `--join` adds to a figure: black-box studies, or one-shot searches."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from nasbench1shot1.black_box_search.record import BlackBoxStudy
from nasbench1shot1.experiments.reproduction.figures.parts import Figure, Panel
from nasbench1shot1.experiments.reproduction.kinds import FigureJob
from nasbench1shot1.ground.errors import InvalidInputError, UserError, alternatives, either, flag, option
from nasbench1shot1.ground.files import as_path
from nasbench1shot1.ground.text import typed
from nasbench1shot1.jobs.job import is_started
from nasbench1shot1.one_shot_search.group import SearchGroup
from nasbench1shot1.one_shot_search.options import FACTS
from nasbench1shot1.one_shot_search.record import Run, open_search
from nasbench1shot1.registry import BUILT_IN
from nasbench1shot1.runs.folder import CONFIG, RECORDED, SEEDS, read_description
from nasbench1shot1.runs.next_command import resume_command
from nasbench1shot1.runs.record import RunRecord

_FREE = frozenset({"space", "seed", "table", "table_id", "device", "threads", "keep_weights_every", "format", "style"})
"""Options and facts that may differ between the searches of one row."""


@dataclass(frozen=True, eq=False)
class Row:
    """Joined searches that differ only in their spaces and seeds.

    Attributes:
        optimizer: the recorded name of the optimizer.
        name: the name of the row.
        searches: the searches.
    """

    optimizer: str
    name: str
    searches: Sequence[RunRecord]


def open_joined(figure: Figure, panels: Sequence[Panel], folders: Sequence[str | Path]) -> tuple[RunRecord, ...]:
    """Open the runs that a figure shows beside its own; a run that is given twice counts once.

    Args:
        figure: the figure, which has `joins`.
        panels: the panels of the figure, at any scale.
        folders: folders of black-box studies, or of one-shot searches, groups of seeds, or other figures. All searches
            of a folder are added.

    Raises:
        InvalidInputError: a folder has no such run; a study has no simulated times; or a search is of a space that the
            figure does not show.
        UserError: a run is not finished.
    """
    found = [run for folder in folders for run in _OPENED[figure.joins](panels, folder)]
    runs = {run.folder.absolute(): run for run in found}.values()
    _ = [run.summary for run in runs]  # raises if one is not finished
    return tuple(runs)


def _studies(panels: Sequence[Panel], folder: str | Path) -> Sequence[RunRecord]:
    study = BlackBoxStudy.open(folder)
    if not study.is_timed:
        raise InvalidInputError(
            f"'{study.folder}' has no simulated times, because its table {study.config['table_id']} lacks training "
            f"times, but the figure is over simulated time: remove it from {option('join')}"
        )
    return [study]


def _searches(panels: Sequence[Panel], folder: str | Path) -> Sequence[RunRecord]:
    place = as_path(folder, "join", is_option=True)
    if not place.is_dir():
        raise InvalidInputError(f"there is no folder '{place}': give the folder of finished searches")
    if (place / SEEDS).is_file():
        runs = _group(place)
    elif is_started(place) and read_description(place)[0] == RECORDED:
        raise InvalidInputError(
            f"'{place}' was recorded with nb.Recorder, so the size of its search is not known: draw it with "
            f"{either('nb1shot1 compare', 'nb.compare')}"
        )
    else:
        found = [place] if is_started(place) else sorted(of.parent for of in place.glob(f"*/*/seed-*/{CONFIG}"))
        runs = [open_search(each) for each in found]
    if not runs:
        raise InvalidInputError(
            f"'{place}' contains no searches: give the folder of a search, of a group of seeds, or of a figure such as "
            "nats-figure7"
        )
    spaces = list(dict.fromkeys(panel.options["space"] for panel in panels))
    for run in runs:
        if run.config["space"] not in spaces:
            shown = alternatives(spaces)
            raise InvalidInputError(
                f"'{run.folder}' searched {run.config['space']}, but the figure shows {shown}: give searches of {shown}"
            )
    return runs


def _group(folder: Path) -> list[Run]:
    """Return the searches of a group of seeds; raises UserError if some of them are not finished."""
    group = SearchGroup.open(folder)
    if not group.is_finished:
        finished = sum(run.is_finished for run in group.runs)
        raise UserError(
            f"'{folder}' has {finished} finished searches, of {len(group.seeds)}: finish the others with "
            f"{resume_command('search', folder)}"
        )
    return list(group.runs)


_OPENED: Mapping[str, Callable[[Sequence[Panel], str | Path], Sequence[RunRecord]]] = {
    "studies": _studies,
    "searches": _searches,
}


def check_joined(figure: Figure, jobs: Sequence[FigureJob], joined: Sequence[RunRecord]) -> None:
    """Raise InvalidInputError if a joined search differs from the figure in one of `Figure.shared_options`.

    The same error is raised for searches of the figure itself, and for two searches of a row with equal seeds or
    different images.
    """
    if not figure.shared_options:
        return
    options_on, folders = {job.options["space"]: job.options for job in jobs}, {job.folder.resolve() for job in jobs}
    for run in joined:
        if run.folder.resolve() in folders:
            raise InvalidInputError(f"'{run.folder}' is a search of the figure itself: remove it from {option('join')}")
        for name in figure.shared_options:
            if (wanted := options_on[run.config["space"]].get(name)) != (found := run.config.get(name)):
                raise InvalidInputError(
                    f"'{run.folder}' has {_named(name, found)}, but the searches of the figure have "
                    f"{_named(name, wanted)}: join searches with the same value, or choose another {option('scale')}"
                )
    for row in rows_of(joined):
        known = dict[tuple[str, int], RunRecord]()
        for run in row.searches:
            place = run.config["space"], run.config["seed"]
            if (same := known.setdefault(place, run)) is not run:
                raise InvalidInputError(
                    f"'{same.folder}' and '{run.folder}' both have seed {place[1]}: join only one of them"
                )


def _named(name: str, value: object) -> str:
    """Return how a message names a value of an option: `--cells 3`, or "no --images-per-half"."""
    return f"no {option(name)}" if value is None else option(name, value)


def rows_of(joined: Sequence[RunRecord], taken: Collection[str] = ()) -> list[Row]:
    """Return joined one-shot searches as rows of a table, in the order in which they begin.

    A row has the name of its optimizer's class. If another row or a built-in optimizer has this name, the row has the
    whole reference instead, such as "my_module:MyMethod". "(joined)" follows the name of a built-in
    optimizer. If an optimizer searched one space with different options, each setting is a row whose name contains
    these options.

    Args:
        joined: the searches.
        taken: names that rows cannot have.

    Raises InvalidInputError if searches of one optimizer have images of different content.
    """
    used = {*BUILT_IN["optimizers"], *taken}
    by_optimizer = dict[str, list[RunRecord]]()
    for run in joined:
        by_optimizer.setdefault(run.config["optimizer"], []).append(run)
    found = []
    for optimizer, searches in by_optimizer.items():
        short = optimizer.rpartition(":")[2]
        name = next(name for name in (short, optimizer, f"{optimizer} (joined)") if name not in used)
        used.add(name)
        rows = dict[str, list[RunRecord]]()
        varied = _varied(searches)
        for run in searches:
            rows.setdefault(_settings(run, varied), []).append(run)
        found += [Row(optimizer, f"{short} {settings}" if settings else name, own) for settings, own in rows.items()]
    return found


def _varied(searches: Sequence[RunRecord]) -> list[str]:
    """Return the options in which searches of one optimizer on the same space differ; raises as `rows_of`."""
    found = dict[str, None]()
    first = dict[str, RunRecord]()
    for run in searches:
        other = first.setdefault(run.config["space"], run)
        for name in {**other.config, **run.config}:  # some options are only recorded if given
            if name not in _FREE and other.config.get(name) != run.config.get(name):
                if name in (*FACTS, "grown"):
                    raise InvalidInputError(
                        f"'{other.folder}' and '{run.folder}' differ in {name}: join only one of them"
                    )
                found[name] = None
    return list(found)


def _settings(run: RunRecord, names: Sequence[str]) -> str:
    """Return the recorded values of options as on the command line; options without a value are left out."""
    values = {name: run.config[name] for name in names if run.config.get(name) is not None}
    return " ".join(f"{flag(name)} {typed(value)}" for name, value in values.items())
