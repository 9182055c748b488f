"""From figure 3 to its jobs: for every curve and seed a search, then the ranking by its shared weights."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nasbench1shot1.experiments.correlation.record import Ranking
from nasbench1shot1.experiments.reproduction.figure import FigureJob, Kind, Options
from nasbench1shot1.experiments.reproduction.figures import PaperFigure
from nasbench1shot1.experiments.reproduction.jobs import SearchJob, jobs_of
from nasbench1shot1.jobs.folders import is_started
from nasbench1shot1.one_shot_search.options import search_options

SEARCH_AND_RANK = "nasbench1shot1.experiments.reproduction.ranking_jobs:search_and_rank"
RANKED_EPOCHS = {"full": 5, "quick": 3}
"""How often the weights of a search are ranked, evenly over its epochs (paper: every tenth)."""
RANKING: dict[str, dict[str, Any]] = {
    "full": {"architectures": "all", "images": "1000"},
    "quick": {"architectures": "100", "images": "200", "resamples": 10},
}
"""Options of the rankings by scale. The paper evaluates on the 10,000 test images of CIFAR-10."""
FEW = "controller"
"""The architectures of ENAS at the full scale: 100 draws of its controller, as in the paper."""
_SHARED = ("preset", "device", "threads", "precision")
"""Options that a ranking takes from its search where they are given."""


@dataclass(frozen=True, kw_only=True)
class RankingJob(FigureJob):
    """A search and its ranking; the job's folder is the ranking's. Named "s1/darts/seed-0".

    Its options are those of the search, and "ranking", those of the ranking.
    """

    NOUNS, UNIT, VERB = ("ranking", "rankings"), "epoch", "made"

    @property
    def search(self) -> SearchJob:
        """The search alone."""
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
        """Number of epochs, searched and ranked."""
        return self.search.units + self.search.units // int(self.options["keep_weights_every"])

    @property
    def kind(self) -> Kind:
        """Optimizer and space."""
        return self.search.kind

    def units_done(self) -> int:
        """Return the number of epochs on record, searched and ranked."""
        return min(self.search.units_done() + self._lines(), self.units)

    def seconds_per_unit(self) -> float:
        """Return the mean seconds of an epoch, searched or ranked."""
        from nasbench1shot1.one_shot_search.estimate import seconds_to_score

        options, ranked = search_options(dict(self.search.options)), self.units - self.search.units
        ranking = self.options["ranking"]
        architectures = _count(str(self.options["space"]), ranking["architectures"])
        seconds = self.search.units * self.search.seconds_per_unit()
        return (seconds + ranked * seconds_to_score(options, architectures, int(ranking["images"]))) / self.units

    def record(self) -> Ranking:
        """Open the ranking's folder."""
        return Ranking.open(self.folder)

    def recorded_options(self) -> dict[str, Any] | None:
        """Return the options of the search and, if it has begun, of the ranking; None before the search has."""
        found = self.search.recorded_options()
        if found is None or not is_started(self.folder):
            return None if found is None else {**found, "ranking": self.options["ranking"]}
        wanted, config = self.options["ranking"], self.record().config
        scored_anew = {name: wanted[name] for name in ("table",) if name in wanted}
        return {**found, "ranking": {**{name: config.get(name) for name in wanted}, **scored_anew}}

    def outcome(self) -> str:
        """Return the last Spearman correlation in words."""
        *_, last = self.record().summary["epochs"].values()
        found = last.get("spearman_error")
        return "Spearman's ρ is undefined" if found is None else f"Spearman's ρ of error {found['value']:.3f}"


def search_and_rank(
    out: str | Path | None = None,
    *,
    resume: str | Path | None = None,
    ranking: Mapping[str, Any] | None = None,
    **options: Any,
) -> None:
    """Search into the folder "OUT-search", or resume the search there; then rank by its shared weights into `out`.

    Args:
        out: the folder of the ranking.
        resume: the folder of a ranking that was stopped.
        ranking: options of `nb.correlate`.
        options: options of `nb.search`.

    Raises UserError as both do. An undefined correlation is not an error here.
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
    """Return the folder of the search beside a ranking's."""
    return folder.with_name(f"{folder.name}-search")


def ranking_jobs(
    figure: PaperFigure,
    scale: str,
    out: Path,
    given: Options,
    seeds: Sequence[int] | None,
    resolve: Callable[[Sequence[Options]], list[dict[str, Any]]],
) -> list[RankingJob]:
    """Return the jobs of figure 3; arguments and errors are those of `jobs.jobs_of`."""
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
    """Return how many architectures a ranking evaluates, for estimates."""
    from nasbench1shot1.experiments.correlation.selection import CONTROLLER_DRAWS
    from nasbench1shot1.registry import search_space

    if architectures == FEW:
        return CONTROLLER_DRAWS
    return search_space(space).count("no_loose_ends") if architectures == "all" else int(architectures)
