"""Finished runs that `--join` adds to a figure: black-box studies, or one-shot searches."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from nasbench1shot1.black_box_search.record import BlackBoxStudy
from nasbench1shot1.experiments.reproduction.figures.parts import Figure, Panel
from nasbench1shot1.experiments.reproduction.kinds import FigureJob
from nasbench1shot1.ground.errors import InvalidInputError, alternatives, option
from nasbench1shot1.ground.files import as_path
from nasbench1shot1.jobs.job import is_started
from nasbench1shot1.one_shot_search.group import SearchGroup
from nasbench1shot1.one_shot_search.record import Run, open_search
from nasbench1shot1.runs.folder import CONFIG, SEEDS
from nasbench1shot1.runs.record import RunRecord

_FREE = frozenset(
    {"seed", "table", "table_id", "reference", "device", "threads", "keep_weights_every", "format", "style", "grown"}
)
"""Options and facts in which the pooled searches of one curve may differ."""


def open_joined(figure: Figure, panels: Sequence[Panel], folders: Sequence[str | Path]) -> tuple[RunRecord, ...]:
    """Open the runs that a figure shows beside its own; a run that is given twice counts once.

    Args:
        figure: the figure, which has `joins`.
        panels: the panels that it shows.
        folders: folders of black-box studies; or of one-shot searches, of groups of seeds, or of other figures, all of
            whose searches are added.

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
        runs = list(SearchGroup.open(place).runs)
    else:
        found = [place] if is_started(place) else sorted(of.parent for of in place.glob(f"*/*/seed-*/{CONFIG}"))
        runs = [open_search(each) for each in found]
    if not runs:
        raise InvalidInputError(
            f"{place} contains no searches: give the folder of a search, of a group of seeds, or of a figure such as "
            "nats-figure7"
        )
    spaces = list(dict.fromkeys(panel.options["space"] for panel in panels))
    for run in runs:
        if run.config["space"] not in spaces:
            shown = alternatives(spaces)
            raise InvalidInputError(
                f"{run.folder} searched {run.config['space']}, but the figure shows {shown}: give searches of {shown}"
            )
    return runs


_OPENED: Mapping[str, Callable[[Sequence[Panel], str | Path], Sequence[RunRecord]]] = {
    "studies": _studies,
    "searches": _searches,
}


def check_joined(figure: Figure, jobs: Sequence[FigureJob], joined: Sequence[RunRecord]) -> None:
    """Raise InvalidInputError if joined searches lack `Figure.shared_options`, or cannot be pooled with each other.

    Searches are pooled if they have the same space and optimizer. They must have different seeds and otherwise the same
    options.
    """
    searches = [run for run in joined if isinstance(run, Run)] if figure.shared_options else []
    own, first = {job.options["space"]: job.options for job in jobs}, dict[tuple[str, str], Run]()
    seeds = dict[tuple[str, str, int], Run]()
    for run in searches:
        space, optimizer, seed = (run.config[name] for name in ("space", "optimizer", "seed"))
        for name in figure.shared_options:
            if (wanted := own[space][name]) != (has := run.config[name]):
                raise InvalidInputError(
                    f"'{run.folder}' has {option(name, has)}, but the searches of the figure have "
                    f"{option(name, wanted)}: join searches of the same size, or choose another {option('scale')}"
                )
        other = first.setdefault((space, optimizer), run)
        if differing := [name for name in run.config if name not in _FREE and run.config[name] != other.config[name]]:
            raise InvalidInputError(
                f"'{run.folder}' and '{other.folder}' searched {space} with {optimizer}, but differ in {differing[0]}: "
                "join only one of them"
            )
        same = seeds.setdefault((space, optimizer, seed), run)
        if same is not run:
            raise InvalidInputError(
                f"'{run.folder}' and '{same.folder}' are searches with the same seed, {seed}: join only one of them"
            )
