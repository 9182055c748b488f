"""Recorded runs as evidence: found by figure in folders and in files of `reproduce --pack`, and grouped by setting.

Runs of different settings, such as scales, and runs that were scored on different tables are never pooled.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from nasbench1shot1.experiments.correlation.recomputed import recorded_table, spearman_by_epoch
from nasbench1shot1.experiments.correlation.record import Ranking
from nasbench1shot1.experiments.reproduction.figures.catalogue import FIGURES
from nasbench1shot1.experiments.reproduction.observed import table_of
from nasbench1shot1.experiments.reproduction.records import MARK, SUFFIX, PackedRecords, read_packed
from nasbench1shot1.ground.errors import DamagedFileError, InvalidInputError, option, quote, shorten
from nasbench1shot1.ground.files import as_path
from nasbench1shot1.proxy_training import ProxyTrainings
from nasbench1shot1.registry import search_space
from nasbench1shot1.runs.folder import CONFIG, SUMMARY, read_object
from nasbench1shot1.runs.opening import open_run
from nasbench1shot1.runs.record import RunRecord
from nasbench1shot1.tables.table import load_table
from nasbench1shot1.tuning.record import Study

JOB = re.compile(r"([^/]+)/([^/]+)/seed-(\d+)")
"""Names of the jobs that a figure shows: panel, curve and seed."""
SIZE = ("scale", "preset", "epochs", "images", "images_per_half", "image_side", "channels", "cells", "precision")
"""Options that set the size of a one-shot search."""
EXTENT = ("seconds", "evaluations", "epochs", "dataset", "objective")
"""Options that set the extent of a black-box search."""
OF_RANKING = ("architectures", "image_count")
"""Options and facts that set the extent of a ranking, in addition to the options of its search."""
OF_STUDY = ("config_space", "iterations", "min_budget", "max_budget")
"""Options that set the extent of a tuning study, in addition to the options of its searches."""
OF_PROXIES = ("space", "scale", "preset", "epochs", "images", "images_per_half", "architectures", "precision")
"""Options that set the extent of proxy trainings: their sizes are compared."""


class Setting(NamedTuple):
    """What runs must share to be pooled.

    Attributes:
        options: names and values of the options in `SIZE` or `EXTENT`.
        table: the id of the table that scored the runs.
    """

    options: tuple[tuple[str, Any], ...]
    table: str

    @property
    def config(self) -> dict[str, Any]:
        """The options by name."""
        return dict(self.options)

    def of_length(self, epochs: int | None) -> "Setting":
        """Return the setting with another number of epochs."""
        return self._replace(options=tuple((k, epochs if k == "epochs" else value) for k, value in self.options))

    @property
    def text(self) -> str:
        """The setting in a few words."""
        own = self.config
        if scale := own.get("scale"):
            preset = "" if own["preset"] == "corrected" else f", preset {own['preset']}"
            if "iterations" in own:
                return f"{scale}: {own['iterations']} brackets of up to {own['max_budget']} epochs{preset}"
            size = f", {own['channels']} channels × {own['cells']} cells" if "channels" in own else ""
            ranked = f", {own['architectures']} architectures" if "architectures" in own else ""
            return f"{scale}: {own['epochs']} epochs{size}{ranked}{preset}"
        guided = f", guided by {own['objective']}" if own.get("objective") else ""
        if own.get("seconds") is not None:
            return f"{own['seconds']:,.0f} simulated seconds{guided}"
        return f"{own['evaluations']:,} trainings{guided}"


@dataclass(frozen=True)
class _Place:
    """Where the record of a run is: in a folder, or in a file of `pack` under the name of its job."""

    source: Path
    figure: str
    job: str
    packed: PackedRecords | None = None

    @property
    def parts(self) -> tuple[str, str, int]:
        match = JOB.fullmatch(self.job)
        assert match is not None
        return match[1], match[2], int(match[3])


@dataclass(eq=False)
class Records:
    """The finished runs of figures in some folders, a context manager: files of records are unpacked meanwhile.

    The content of these files stays in memory.

    Attributes:
        folders: each is the folder of a figure, or contains such folders or files of `reproduce --pack`.

    Raises:
        InvalidInputError: a folder does not exist, contains no records, or a file in it is not a file of records.
        DamagedFileError: a file of records is damaged.
        UserError: a file of records cannot be read.
    """

    folders: Sequence[str | Path]
    _opened: dict[_Place, RunRecord] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._places = [place for folder in self.folders for place in _find(folder)]

    def __enter__(self) -> "Records":
        self._scratch = TemporaryDirectory(prefix="claims-")
        return self

    def __exit__(self, *_: object) -> None:
        self._scratch.cleanup()

    @cached_property
    def figures(self) -> set[str]:
        """The figures with records."""
        return {place.figure for place in self._places}

    @cached_property
    def _places_of_curves(self) -> Mapping[tuple[str, str, str], list[_Place]]:
        """The places of runs, by figure, panel and curve."""
        found = defaultdict[tuple[str, str, str], list[_Place]](list)
        for place in self._places:
            panel, curve, _ = place.parts
            found[place.figure, panel, curve].append(place)
        return found

    def runs(self, figure: str, panel: str, curve: str) -> dict[Setting, list[RunRecord]]:
        """Return the runs of a curve by setting, in the order of their seeds; the records are opened once.

        Figures that show the runs of another figure find them in its records.

        Raises:
            InvalidInputError: two records of one seed and setting differ.
            DamagedFileError: a record is damaged.
        """
        owner = FIGURES[figure].runs_of or figure
        folders = {own.key: own.folder for scale in FIGURES[figure].scales.values() for own in scale.panels}
        where = owner, folders.get(panel, panel), curve
        found = dict[Setting, dict[int, tuple[_Place, RunRecord]]]()
        for place in self._places_of_curves[where]:
            run, seed = self._open(place), place.parts[2]
            own = found.setdefault(setting_of(run, self._searched(place, run)), {})
            if seed in own and own[seed][1].shared_lines != run.shared_lines:
                raise InvalidInputError(
                    f"{place.source} and {own[seed][0].source} have different records of {figure}/{place.job} with "
                    "equal settings: remove one of them"
                )
            own.setdefault(seed, (place, run))
        return {setting: [own[seed][1] for seed in sorted(own)] for setting, own in found.items()}

    def _searched(self, place: _Place, run: RunRecord) -> RunRecord | None:
        """Return the search that a ranking evaluates, from the folder or file of the ranking; None for other runs.

        Raises DamagedFileError if it is missing.
        """
        if not isinstance(run, Ranking):
            return None
        name = run.searched_job
        lacking = DamagedFileError(f"{place.source} lacks {name}, whose weights {place.job} ranks: get it again")
        if place.packed is not None and name not in place.packed.runs:
            raise lacking
        try:
            return self._open(replace(place, job=name))
        except InvalidInputError as error:
            raise lacking from error

    def _open(self, place: _Place) -> RunRecord:
        if place not in self._opened:
            if place.packed is not None:
                folder = Path(self._scratch.name) / str(len(self._opened))  # names in an archive are not trusted
                place.packed.unpack(place.job, folder)
                try:
                    self._opened[place] = _opened_run(folder)
                except DamagedFileError as error:
                    raise DamagedFileError(
                        f"{place.source} has a damaged record of {place.job} ({quote(error)}): get the file again"
                    ) from error
            else:
                self._opened[place] = _opened_run(place.source / place.job)
        return self._opened[place]


load_once = lru_cache(maxsize=1)(load_table)
"""`load_table` with a cache of one table: all rankings of a figure use the same one."""


def _opened_run(folder: Path) -> RunRecord:
    run: RunRecord = open_run(folder)
    _ = run.shared_lines, run.summary  # raises if they are damaged
    if isinstance(run, Ranking) and (table := recorded_table(run, load_once)) is not None:
        spearman_by_epoch(run, table, [run.summary["budget"]])  # raises if the summary differs from the scores
    return run


def setting_of(run: RunRecord, searched: RunRecord | None = None) -> Setting:
    """Return the setting of a run; of a ranking, with the options of the search that it evaluates."""
    config = run.config
    names: tuple[str, ...]
    if searched is not None:
        known, names = {**config, **{name: searched.config.get(name) for name in SIZE}}, (*SIZE, *OF_RANKING)
    elif isinstance(run, Study):
        known, names = run.search_config, (*SIZE, *OF_STUDY)
    elif isinstance(run, ProxyTrainings):
        table = table_of(search_space(config["space"]), None).id
        return Setting(tuple((name, config.get(name)) for name in OF_PROXIES), table)
    else:
        known, names = config, SIZE if "scale" in config else EXTENT
    return Setting(tuple((name, known.get(name)) for name in names), str(config["table_id"]))


def planned_seeds(figure: str, curve: str, setting: Setting) -> int | None:
    """Return how many seeds a curve has at the scale of a setting; None if the setting has no scale."""
    scale = FIGURES[figure].scales.get(setting.config.get("scale", ""))
    return None if scale is None else len(scale.seeds) + len(scale.more_seeds.get(curve, ()))


def _find(folder: str | Path) -> Iterator[_Place]:
    """Yield the finished runs of the figures in a folder."""
    path = as_path(folder, "records", is_option=True)
    if not path.is_dir():
        raise InvalidInputError(
            f"{option('records', path)} is not a folder: give a folder with files that {option('pack')} wrote, or the "
            "folder of a figure"
        )
    figures = [each for each in [path, *sorted(path.iterdir())] if (each / MARK).is_file()]
    files = sorted(path.glob(f"*{SUFFIX}"))
    if not figures and not files:
        raise InvalidInputError(
            f"{option('records', path)} contains no records: give a folder with files that {option('pack')} wrote, or "
            "the folder of a figure"
        )
    for each in figures:
        name = _known(each, read_object(each / MARK).get("figure"))
        jobs = sorted(str(config.parent.relative_to(each)) for config in each.glob(f"*/*/*/{CONFIG}"))
        yield from (_Place(each, name, job) for job in jobs if JOB.fullmatch(job) and (each / job / SUMMARY).is_file())
    for each in files:
        packed = read_packed(each)
        name = _known(each, packed.figure)
        yield from (_Place(each, name, job, packed) for job in sorted(packed.runs) if JOB.fullmatch(job))


def _known(path: Path, figure: object) -> str:
    if isinstance(figure, str) and figure in FIGURES:
        return figure
    named = "no figure" if figure is None else f"the unknown figure '{shorten(str(figure))}'"
    raise InvalidInputError(f"{path} names {named}: give records that `nb1shot1 reproduce` wrote")


def has_options(setting: Setting, config: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    """Return whether a run has some options; options of the setting take precedence over those of its config."""
    known = {**config, **setting.config}
    return all(known.get(name) == value for name, value in wanted.items())
