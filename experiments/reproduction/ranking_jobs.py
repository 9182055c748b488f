"""The jobs of figure 3: for every curve and seed, a search, then a ranking by the shared weights of the search."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nasbench1shot1.experiments.correlation.record import Ranking
from nasbench1shot1.experiments.reproduction.figure import FigureJob, Kind, Options
from nasbench1shot1.experiments.reproduction.figures import PaperFigure
from nasbench1shot1.experiments.reproduction.jobs import SearchJob, jobs_of
from nasbench1shot1.ground.errors import InvalidInputError
from nasbench1shot1.ground.text import counted
from nasbench1shot1.jobs.job import is_started
from nasbench1shot1.one_shot_search.options import search_options

SEARCH_AND_RANK = "nasbench1shot1.experiments.reproduction.ranking_jobs:search_and_rank"
RANKED_EPOCHS = {"full": 5, "quick": 3}
"""Number of ranked epochs of a search, evenly spaced (paper: every tenth epoch)."""
RANKING: dict[str, dict[str, Any]] = {
    "full": {"architectures": "all", "images": "1000"},
    "quick": {"architectures": "100", "images": "200", "resamples": 10},
}
"""Options of the rankings by scale. The paper evaluates on the 10,000 test images of CIFAR-10."""
FEW = "controller"
"""Architectures that are ranked for ENAS at the full scale: 100 samples from its controller, as in the paper."""
_SHARED = ("preset", "device", "threads", "precision")
"""Options that a ranking takes from its search where they are given."""


@dataclass(frozen=True, kw_only=True)
class RankingJob(FigureJob):
    """A search and its ranking, named, for example, "s1/darts/seed-0". The job's folder is the ranking's folder.

    The options are the search's options; the option "ranking" holds the ranking's options.
    """

    NOUNS, UNIT, VERB = ("ranking", "rankings"), "searched or ranked epoch", "made"

    @property
    def search(self) -> SearchJob:
        """The job of the search alone."""
        options = {name: value for name, value in self.options.items() if name != "ranking"}
        return SearchJob(
            name=self.name,
            command="",
            folder=search_folder(self.folder),
            options=options,
            panel=self.panel,
            curve=self.curve,
        )

    @property
    def units(self) -> int:
        """Number of searched epochs plus ranked epochs."""
        return self.search.units + self.search.units // int(self.options["keep_weights_every"])

    @property
    def extent(self) -> str:
        """Return the numbers of searched and of ranked epochs in words."""
        searched = self.search.units
        return f"{searched} searched and {counted(self.units - searched, 'ranked epoch')}"

    @property
    def kind(self) -> Kind:
        """Optimizer and space, on which the time per epoch depends."""
        return self.search.kind

    def units_done(self) -> int:
        """Return the number of recorded epochs, searched plus ranked."""
        return min(self.search.units_done() + self._lines(), self.units)

    def seconds_per_unit(self) -> float:
        """Return the mean seconds per epoch, over searched and ranked epochs."""
        from nasbench1shot1.one_shot_search.estimate import seconds_to_score

        options, ranked = search_options(dict(self.search.options)), self.units - self.search.units
        ranking = self.options["ranking"]
        architectures = _count(str(self.options["space"]), ranking["architectures"])
        seconds = self.search.units * self.search.seconds_per_unit()
        return (seconds + ranked * seconds_to_score(options, architectures, int(ranking["images"]))) / self.units

    def check_data(self) -> None:
        """Raise UserError if the images are missing, or if the ranking needs more than the architecture half has."""
        from nasbench1shot1.one_shot_search.state import load_halves

        _, halves = load_halves(search_options(dict(self.search.options)).common)
        needed, half = int(self.options["ranking"]["images"]), len(halves.architecture)
        if needed > half:
            raise InvalidInputError(
                f"the rankings need {needed:,} images, but the architecture half of --images {self.options['images']} "
                f"has {half:,}: give a larger image set, or use --scale quick"
            )

    def record(self) -> Ranking:
        """Open the ranking's folder."""
        return Ranking.open(self.folder)

    def recorded_options(self) -> dict[str, Any] | None:
        """Return the recorded options of the search and, once it has begun, the ranking; None before the search."""
        found = self.search.recorded_options()
        if found is None or not is_started(self.folder):
            return None if found is None else {**found, "ranking": self.options["ranking"]}
        wanted, config = self.options["ranking"], self.record().config
        scored_anew = {name: wanted[name] for name in ("table",) if name in wanted}
        return {**found, "ranking": {**{name: config.get(name) for name in wanted}, **scored_anew}}

    def outcome(self) -> str:
        """Return Spearman's ρ at the last epoch, in words."""
        *_, last = self.record().summary["epochs"].values()
        found = last.get("spearman_error")
        return "Spearman's ρ is undefined" if found is None else f"Spearman's ρ of one-shot error {found['value']:.3f}"


def search_and_rank(
    out: str | Path | None = None,
    *,
    resume: str | Path | None = None,
    ranking: Mapping[str, Any] | None = None,
    **options: Any,
) -> None:
    """Run or resume a search in the folder "OUT-search", then rank by its shared weights in the folder `out`.

    Args:
        out: the folder of a new ranking.
        resume: the folder of a stopped ranking.
        ranking: options of `nb.correlate`.
        options: options of `nb.search`.

    Raises UserError as `nb.search` and `nb.correlate` do, except for undefined correlations.
    """
    from nasbench1shot1.experiments.correlation.correlating import rank
    from nasbench1shot1.one_shot_search.searching import search

    if resume is not None:
        rank(resume=resume)
        return
    assert out is not None
    folder = search_folder(Path(out))
    run = search(resume=folder) if is_started(folder) else search(out=folder, **options)
    rank(run, out=out, **(ranking or {}))


def search_folder(folder: Path) -> Path:
    """Return the folder of the search that belongs to a ranking's folder."""
    return folder.with_name(f"{folder.name}-search")


def ranking_jobs(
    figure: PaperFigure,
    scale: str,
    out: Path,
    given: Options,
    seeds: Sequence[int] | None,
    resolve: Callable[[Sequence[Options]], list[dict[str, Any]]],
) -> list[RankingJob]:
    """Return the jobs of figure 3; arguments and errors as in `jobs.jobs_of`."""
    epochs = int(given.get("epochs") or figure.epochs_at(scale))
    every = max(1, epochs // RANKED_EPOCHS.get(scale, 1))
    searches = jobs_of(figure, scale, out, {**given, "keep_weights_every": every}, seeds, resolve)
    return [_with_ranking(search, scale, every, given) for search in searches]


def _with_ranking(search: SearchJob, scale: str, every: int, given: Options) -> RankingJob:
    usual, half = RANKING[scale], search.options["images_per_half"]
    own = {name: search.options[name] for name in _SHARED if given.get(name) is not None}
    if given.get("table") is not None:
        own["table"] = given["table"]
    if scale == "full" and search.options["optimizer"] == "enas":
        own["architectures"] = FEW
    if half is not None:
        own["images"] = str(min(half, int(usual["images"])))
    ranking = {**usual, "epochs": f"every:{every}", "threads": search.options["threads"], **own}
    fields = {name: getattr(search, name) for name in ("name", "folder", "threads", "gpu", "panel", "curve")}
    return RankingJob(command=SEARCH_AND_RANK, options={**search.options, "ranking": ranking}, **fields)


def _count(space: str, architectures: str) -> int:
    """Return the number of architectures that a ranking evaluates, for time estimates."""
    from nasbench1shot1.experiments.correlation.state import CONTROLLER_DRAWS
    from nasbench1shot1.registry import search_space

    if architectures == FEW:
        return CONTROLLER_DRAWS
    return search_space(space).count("no_loose_ends") if architectures == "all" else int(architectures)
