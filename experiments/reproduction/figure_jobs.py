"""From a figure of `figures` to its jobs: panels and curves are selected, and options are filled in."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatch
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from nasbench1shot1.display.curves import checked_spread
from nasbench1shot1.display.style import Spread
from nasbench1shot1.experiments.reproduction.figures.catalogue import FIGURES
from nasbench1shot1.experiments.reproduction.figures.nasbench_1shot1 import (
    OTHER_FIGURES,
    STUDY_SEED,
    TRANSFERRED,
    TUNED_ON,
)
from nasbench1shot1.experiments.reproduction.figures.parts import (
    METHODS,
    Curve,
    Figure,
    Options,
    Panel,
    Scale,
    method_curves,
    space_panel,
)
from nasbench1shot1.experiments.reproduction.joining import open_joined
from nasbench1shot1.experiments.reproduction.kinds import KINDS, FigureJob, JobKind
from nasbench1shot1.experiments.reproduction.observed import lacking
from nasbench1shot1.ground.errors import InvalidInputError, option, unknown_name
from nasbench1shot1.jobs.pool import WorkerOptions
from nasbench1shot1.registry import search_space
from nasbench1shot1.runs.machine import check_threads
from nasbench1shot1.runs.options import absolute_file, checked_seeds
from nasbench1shot1.runs.record import RunRecord
from nasbench1shot1.scales import SCALES
from nasbench1shot1.tables.names import resolve_table_name
from nasbench1shot1.tables.table import Table, load_table

if TYPE_CHECKING:
    from nasbench1shot1.experiments.reproduction.results.base import Results

Resolve = Callable[[str, Sequence[Options]], list[dict[str, Any]]]
CLOCKS = ("seconds", "evaluations")
"""Options that limit black-box searches, of which only one can be given."""
_SHARED = ("preset", "device", "threads", "precision")
"""Options that a ranking takes from its search where they are given."""


@dataclass(frozen=True)
class Reproduction:
    """A figure, or the selected part of it.

    Attributes:
        name: name of the figure, such as "figure2".
        figure: its data.
        only: patterns of the selected panels and curves.
        joined: finished runs that the figure shows beside its own.
    """

    name: str
    figure: Figure
    only: tuple[str, ...] = ()
    joined: tuple[RunRecord, ...] = ()

    @property
    def kind(self) -> JobKind:
        """The kind of the runs that the figure shows."""
        return KINDS[self.figure.runs]

    @property
    def owner(self) -> str:
        """The name of the figure whose runs this figure shows: its own name by default."""
        return self.figure.runs_of or self.name

    def split_options(self, options: Options) -> tuple[WorkerOptions, dict[str, Any]]:
        """Return where the jobs run, and the other given options; their paths are absolute for workers anywhere.

        Raises InvalidInputError for an option that does not apply to the figure, and for values out of range.
        """
        where, given = WorkerOptions.split(options)
        unset = self.kind.inapplicable | self.figure.fixed
        if unfit := sorted(name for name in unset if given.get(name, False) is not False):
            raise InvalidInputError(f"{option(unfit[0])} does not apply to {self.name}: remove it")
        check_threads(given.get("threads"))
        if given.get("images") is not None:
            given["images"] = absolute_file(given["images"])
        if given.get("table") is not None:
            given["table"] = resolve_table_name(given["table"])
        return where, given

    def size(self, scale: str) -> str:
        """Return the amount of work at a scale, such as "90 × 50 epochs" or "27 × 50 to 250 epochs"."""
        own = self.selected(scale)
        runs = [own.options_of(*pair) for _, pairs in own.by_seed() for pair in pairs]
        return self.kind.size([self.kind.adapt(run) for run in runs])

    def selected(self, scale: str, space: str | None = None) -> Scale:
        """Return the selected panels and curves of a scale.

        Args:
            scale: "full", "long", "medium" or "quick".
            space: shows the curves of the first panel on this space instead.

        Raises InvalidInputError if the figure lacks the scale, nothing is selected, or the figure has fixed spaces.
        """
        if scale not in self.figure.scales:
            if scale in SCALES:
                known = " or ".join(option("scale", name) for name in self.figure.scales)
                raise InvalidInputError(f"{self.name} has no {scale} scale: use {known}")
            raise unknown_name("scale", scale, SCALES)
        own = self.figure.scales[scale]
        if space is not None:
            if not self.figure.takes_space:
                raise InvalidInputError(
                    f"{option('space')} does not apply to {self.name}, whose spaces are fixed: remove it"
                )
            own = replace(own, panels=(space_panel(search_space(space).name, own.panels[0].curves),))
        found = replace(own, panels=_select(own.panels, self.only, self.figure.default_curves))
        if not found.panels:
            panels = [panel.key for panel in own.panels]
            pairs = [f"{panel.key}/{curve.key}" for panel, curve in own.pairs()]
            has = ", ".join(panels if len(panels) > 1 else pairs)
            raise InvalidInputError(
                f"{option('only', ','.join(self.only))} selects nothing at the {scale} scale: choose among {has}"
            )
        return found

    def on_table(self, scale: str, given: Options, call: Callable[..., Any]) -> Self:
        """Return the figure that the table allows: `Figure.otherwise` if the searches would observe missing values.

        Arguments and errors are as for `jobs`; the errors of `observed.lacking` are also raised.
        """
        if (other := self.figure.otherwise) is None:
            return self
        searches = [(panel.options["space"], panel.options["dataset"]) for panel in self.selected(scale).panels]
        found = call(lacking, searches, given.get("table"), given.get("epochs"))
        if not found.values:
            return self
        lacks = " and ".join(f"no {values}" for values in found.values)
        return replace(self, figure=replace(other, note=f"The table {found.table} has {lacks}. {other.note}"))

    def jobs(
        self, scale: str, out: Path, given: Options, seeds: Sequence[int] | None, call: Callable[..., Any]
    ) -> list[FigureJob]:
        """Return the jobs of the figure in the order in which they start: seed by seed.

        Args:
            scale: "full", "long", "medium" or "quick".
            out: the figure's folder.
            given: options of all jobs, which override the figure's own options.
            seeds: seeds of every curve. Default: the seeds of the scale.
            call: `Workers.call`, which fills in defaults on the machine of the workers.

        Raises:
            InvalidInputError: an unknown scale or option, a value out of range, or bad seeds.
        """
        seeds = None if seeds is None else checked_seeds(seeds)
        if not self.kind.has_many_seeds and len(seeds or ()) > 1:
            raise InvalidInputError(
                f"{self.name} takes a single seed, because each study has many searches: give one seed"
            )
        own = self.selected(scale, given.get("space"))
        own = own if seeds is None else own.with_seeds(seeds)

        def resolve(kind: str, options: Sequence[Options]) -> list[dict[str, Any]]:
            found: list[dict[str, Any]] = call(_resolve_all, kind, options)
            return found

        if self.figure.runs == "ranking":
            return _rankings(FIGURES[self.figure.runs_of].scales[scale], own, out, given, resolve)
        if self.figure.runs == "transfer":
            return _transfers(own, out, given, resolve)
        return _runs(self.figure.runs, own, out, given, resolve, self.figure.needs_official)

    def finished(self, jobs: Sequence[FigureJob]) -> list[tuple[Panel, Curve, list[FigureJob]]]:
        """Return every curve with finished runs that the figure shows, in the order of the figure, and these runs."""
        runs = dict[tuple[str, str], list[FigureJob]]()
        for job in self.shown(jobs):
            if job.is_finished:
                runs.setdefault((job.panel, job.curve), []).append(job)
        pairs = [pair for scale in self.figure.scales.values() for pair in scale.pairs()]
        known = {(panel.key, curve.key): (panel, curve) for panel, curve in pairs}
        curves, order = {curve.key: curve for _, curve in pairs}, list(known)
        found = []
        for place in sorted(runs, key=lambda place: order.index(place) if place in known else len(order)):
            panel, curve = known.get(place) or (space_panel(place[0], ()), curves[place[1]])  # --space
            found.append((panel, curve, runs[place]))
        return found

    def shown(self, jobs: Sequence[FigureJob]) -> list[FigureJob]:
        """Return the jobs whose results the figure shows, for example the rankings without their searches."""
        return [job for job in jobs if job.of.open == self.kind.open]

    def table(self, jobs: Sequence[FigureJob], given: Options) -> Table:
        """Return the table that scores the runs: the given table, or else the table of the first job or in use."""
        return load_table(given.get("table") or jobs[0].options.get("table"))

    def results(self, jobs: Sequence[FigureJob], table: Table, spread: Spread | None = None) -> "Results | None":
        """Return the results of the finished runs, scored on a table; None if there is nothing to draw.

        Args:
            jobs: the result of `jobs`.
            table: the table.
            spread: what bands show. Default: "ci".

        Raises OutOfDomainError if the table lacks an architecture.
        """
        from nasbench1shot1.experiments.reproduction.results.base import Found, drawing_of

        finished = self.finished(jobs)
        own = [Found(panel, curve, [job.record() for job in of_curve]) for panel, curve, of_curve in finished]
        if not own:
            return None
        shown, band, drawing = self.shown(jobs), checked_spread(spread), drawing_of(self.figure)
        found = drawing.with_joined(own, self.joined)
        results = drawing(self.figure, jobs, shown, table, found, self.joined, band)
        return results if len(results.frame) else None


def open_figure(name: str, only: Sequence[str] = (), joined: Sequence[str | Path] = ()) -> Reproduction:
    """Return a figure, or the selected part of it.

    Args:
        name: "figure2", …: a key of `figures.FIGURES`.
        only: keys of panels or of curves, or "panel/curve", each with optional `*` wildcards. A curve is selected if
            one of them matches.
        joined: folders of finished runs that the figure shows beside its own, as in `joining.open_joined`.

    Raises:
        InvalidInputError: the name is unknown, one of `only` matches nothing at any scale, or a run cannot be joined.
        UserError: a run to join is not finished.
    """
    if name not in FIGURES:
        raise unknown_figure(name)
    figure = FIGURES[name]
    pairs = [(panel.key, curve.key) for scale in figure.scales.values() for panel, curve in scale.pairs()]
    for pattern in only:
        if not any(_is_selected(*pair, [pattern]) for pair in pairs):
            panels, curves = (dict.fromkeys(keys) for keys in zip(*pairs, strict=True))
            raise unknown_name(f"part of {name}", pattern, [*panels, *curves])
    if joined and not figure.joins:
        fitting = ", ".join(name for name, each in FIGURES.items() if each.joins)
        raise InvalidInputError(f"{option('join')} does not apply to {name} (only to {fitting}): remove it")
    shown = [panel for scale in figure.scales.values() for panel in _select(scale.panels, only, figure.default_curves)]
    return Reproduction(name, figure, tuple(only), open_joined(figure, shown, joined))


def unknown_figure(name: str, commands: Sequence[str] = ()) -> InvalidInputError:
    """Return the error for a name that is neither a key of `figures.FIGURES` nor one of some commands."""
    number = re.fullmatch(r"(?:fig\D*)?(\d+)", name)
    if number and (what := OTHER_FIGURES.get(int(number[1]))):
        return InvalidInputError(
            f"reproduce does not draw figure {number[1]} of the paper, which shows {what} (known: {', '.join(FIGURES)})"
        )
    return unknown_name("figure or command" if commands else "figure", name, [*FIGURES, *commands])


def _select(panels: Sequence[Panel], only: Sequence[str], usual: Sequence[str]) -> tuple[Panel, ...]:
    """Return the panels with their selected curves: by default, and in panels that are selected whole, the usual ones.

    A panel is selected whole by a pattern that matches its key. `usual` has patterns of curves; without any, all curves
    are usual.
    """
    found = []
    for panel in panels:
        whole = not only or any(fnmatch(panel.key, pattern) for pattern in only)
        patterns = [*only, *((usual or "*") if whole else ())]
        curves = tuple(curve for curve in panel.curves if _is_named(panel.key, curve.key, patterns))
        found += [replace(panel, curves=curves)] if curves else []
    return tuple(found)


def _is_named(panel: str, curve: str, patterns: Sequence[str]) -> bool:
    """Return whether a pattern matches a curve's key or "panel/curve"."""
    return any(fnmatch(name, pattern) for pattern in patterns for name in (curve, f"{panel}/{curve}"))


def _is_selected(panel: str, curve: str, only: Sequence[str]) -> bool:
    """Return whether a pattern selects a curve or its panel."""
    return _is_named(panel, curve, only) or any(fnmatch(panel, pattern) for pattern in only)


def _resolve_all(kind: str, options: Sequence[Options]) -> list[dict[str, Any]]:
    return [KINDS[kind].resolve(each) for each in options]


# Plans: what has to run for a figure ----------------------------------------------------------------------------------


def _runs(
    name: str,
    scale: Scale,
    out: Path,
    given: Options,
    resolve: Resolve,
    needs_official: Mapping[str, str] | None = None,
) -> list[FigureJob]:
    """Return one run of a kind for every curve and seed of a scale."""
    kind, places, wanted = KINDS[name], list[tuple[str, str]](), list[dict[str, Any]]()
    for seed, pairs in scale.by_seed():
        of_seed = []
        for panel, curve in pairs:
            of_figure = scale.options_of(panel, curve)
            if any(given.get(clock) is not None for clock in CLOCKS):  # a given clock replaces the figure's
                of_figure = {name: value for name, value in of_figure.items() if name not in CLOCKS}
            options = kind.adapt({**of_figure, **given, "seed": seed})
            if scale.kept_epochs:
                options["keep_weights_every"] = max(1, int(options["epochs"]) // scale.kept_epochs)
            of_seed.append(((panel.key, curve.key), options))
        for place, options in sorted(of_seed, key=lambda job: -kind.expense(job[1])):
            places.append(place)
            wanted.append(options)
    advice, usual = needs_official or {}, f"give a table that covers it with {option('table')}"
    return [
        _job(name, panel, curve, out, options, advice=advice.get(options.get("space", ""), usual))
        for (panel, curve), options in zip(places, resolve(name, wanted), strict=True)
    ]


def _job(kind: str, panel: str, curve: str, out: Path, options: Options, advice: str) -> FigureJob:
    """Return a job with resolved options; its folder is a subfolder of the figure's folder `out`."""
    name = f"{panel}/{curve}/seed-{options['seed']}"
    return FigureJob(
        name=name,
        command=KINDS[kind].command,
        folder=out / name,
        options=options,
        threads=options.get("threads", 1),
        gpu=options.get("device", "cpu").startswith("cuda"),
        panel=panel,
        curve=curve,
        kind=kind,
        advice=advice,
    )


def _rankings(searched: Scale, scale: Scale, out: Path, given: Options, resolve: Resolve) -> list[FigureJob]:
    """Return the searches of another figure that the curves of a scale rank, and then their rankings.

    Args:
        searched: the scale of the other figure.
        scale: the scale. Its curves have the options of rankings, and the option `search`, the panel of the search.
        out, given, resolve: as for `_runs`.
    """
    pairs = scale.pairs()
    wanted = {(curve.options["search"], curve.key) for _, curve in pairs}
    panels = (
        replace(panel, curves=tuple(curve for curve in panel.curves if (panel.key, curve.key) in wanted))
        for panel in searched.panels
    )
    kept = replace(searched, panels=tuple(filter(lambda panel: panel.curves, panels)), seeds=scale.seeds, more_seeds={})
    searches = [replace(job, kind="ranked search") for job in _runs("search", kept, out, given, resolve)]
    by_place = {(job.panel, job.curve, job.options["seed"]): job for job in searches}
    rankings = []
    for seed in scale.seeds:
        for panel, curve in pairs:
            options = {**scale.options_of(panel, curve)}
            search = by_place[options.pop("search"), curve.key, seed]
            name = f"{panel.folder}/{curve.key}/seed-{seed}"
            made = _ranking(search, options, given)
            rankings.append(replace(made, name=name, folder=out / name, panel=panel.key))
    return [*searches, *rankings]


def _ranking(search: FigureJob, usual: Options, given: Options) -> FigureJob:
    """Return the ranking of a search at all epochs with saved weights, with options that given ones override."""
    half = search.options["images_per_half"]
    own = {name: search.options[name] for name in _SHARED if given.get(name) is not None}
    if "batch_norm" in usual:  # a preset would override this
        own.pop("preset", None)
    if given.get("table") is not None:
        own["table"] = given["table"]
    if half is not None:
        own["images"] = str(min(half, int(usual["images"])))
    every, last = search.options["keep_weights_every"], search.options["epochs"]
    epochs = str(last) if every == last else f"every:{every}"
    where = {"run": str(search.folder.absolute()), "epochs": epochs, "threads": search.options["threads"]}
    options = {**where, **usual, **own}
    return replace(
        search, command=KINDS["ranking"].command, kind="ranking", options=options, search=search.options, stage=1
    )


def _transfers(scale: Scale, out: Path, given: Options, resolve: Resolve) -> list[FigureJob]:
    """Return the studies on s3, then the searches that need no study, then the searches that do.

    Studies have the budget of the searches, half of it and twice it.
    """
    searches = _runs("search", scale, out, given, resolve)
    needing = [job for job in searches if job.curve.endswith(TRANSFERRED)]
    names = [name for name in METHODS if name in {job.options["optimizer"] for job in needing}]
    panel = space_panel(TUNED_ON, method_curves(names), config_space="cs2")
    epochs = int(searches[0].options["epochs"])
    tuned = replace(FIGURES["figure5"].scales[scale.options["scale"]], panels=(panel,), seeds=(STUDY_SEED,))
    studies = _runs("study", tuned, out, {**given, "epochs": 2 * epochs}, resolve) if needing else []
    folders = {job.options["optimizer"]: str(job.folder.absolute()) for job in studies}

    def with_best(job: FigureJob) -> FigureJob:
        best = {"study": folders[job.options["optimizer"]], "budget": epochs}
        own = KINDS["transfer"].command
        return replace(job, command=own, kind="transfer", options={**job.options, "best": best}, stage=1)

    return [*studies, *(job for job in searches if job not in needing), *map(with_best, needing)]
