"""Finished runs that `--join` adds to a figure: black-box studies, or one-shot searches."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from nasbench1shot1.black_box_search.record import BlackBoxStudy
from nasbench1shot1.experiments.reproduction.figures.parts import Figure, Panel
from nasbench1shot1.experiments.reproduction.kinds import FigureJob
from nasbench1shot1.ground.errors import InvalidInputError, UserError, alternatives, option
from nasbench1shot1.ground.files import as_path
from nasbench1shot1.ground.text import counted
from nasbench1shot1.jobs.job import is_started
from nasbench1shot1.one_shot_search.group import SearchGroup
from nasbench1shot1.one_shot_search.record import Run, open_search
from nasbench1shot1.runs.folder import CONFIG, SEEDS
from nasbench1shot1.runs.next_command import resume_command
from nasbench1shot1.runs.record import RunRecord

_FREE = frozenset({"seed", "table", "table_id", "device", "threads", "keep_weights_every", "format", "style"})
"""Options and facts that may differ between pooled searches."""


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
    if (place / SEEDS).is_file():
        runs = _group(place)
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
    """Return the searches of a group of seeds; raises UserError if some of them have not begun."""
    group = SearchGroup.open(folder)
    if (begun := len(group.runs)) < len(group.seeds):
        raise UserError(
            f"'{folder}' has {begun} of {counted(len(group.seeds), 'search')}: finish it with "
            f"{resume_command('search', folder)}, or join its finished searches one by one"
        )
    return list(group.runs)


_OPENED: Mapping[str, Callable[[Sequence[Panel], str | Path], Sequence[RunRecord]]] = {
    "studies": _studies,
    "searches": _searches,
}


def check_joined(figure: Figure, jobs: Sequence[FigureJob], joined: Sequence[RunRecord]) -> None:
    """Raise InvalidInputError if a joined search differs from the figure in one of `Figure.shared_options`.

    Searches of one optimizer on one space are pooled. Their seeds must differ, and their other options must be equal.
    Searches of the figure itself cannot be joined.
    """
    if not figure.shared_options:
        return
    options_on, folders = {job.options["space"]: job.options for job in jobs}, {job.folder.resolve() for job in jobs}
    pooled = dict[tuple[str, str], dict[int, RunRecord]]()
    for run in joined:
        space, optimizer, seed = (run.config[name] for name in ("space", "optimizer", "seed"))
        if run.folder.resolve() in folders:
            raise InvalidInputError(f"'{run.folder}' is a search of the figure itself: remove it from {option('join')}")
        for name in figure.shared_options:
            if (wanted := options_on[space].get(name)) != (found := run.config.get(name)):
                raise InvalidInputError(
                    f"'{run.folder}' has {_named(name, found)}, but the searches of the figure have "
                    f"{_named(name, wanted)}: join searches with the same value, or choose another {option('scale')}"
                )
        others = pooled.setdefault((space, optimizer), {seed: run})
        if (same := others.setdefault(seed, run)) is not run:
            raise InvalidInputError(f"'{same.folder}' and '{run.folder}' both have seed {seed}: join only one of them")
        first = next(iter(others.values()))
        if differing := _differing(first.config, run.config):
            raise InvalidInputError(
                f"'{first.folder}' and '{run.folder}' searched {space} with {optimizer}, but differ in "
                f"{option(differing[0])}: join searches with equal options"
            )


def _named(name: str, value: object) -> str:
    """Return how a message names a value of an option: `--cells 3`, or "no --images-per-half"."""
    return f"no {option(name)}" if value is None else option(name, value)


def _differing(a: Mapping[str, object], b: Mapping[str, object]) -> list[str]:
    """Return the options and facts that differ between searches of one curve; some are only recorded if given."""
    return [name for name in {**a, **b} if name not in _FREE and a.get(name) != b.get(name)]
