"""Panels of a report: runs with comparable regrets, as curves over each axis and as a table of results."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from nasbench1shot1.black_box_search.goal import Goal, objective_sentence
from nasbench1shot1.display.axes import ZERO_NOTE
from nasbench1shot1.display.colours import MOST_BANDS
from nasbench1shot1.display.curves import LEVEL_COLOUR, Pooled, Trace, describe_band, log_floor, pool
from nasbench1shot1.display.marked_networks import line_look
from nasbench1shot1.display.style import Spread
from nasbench1shot1.evaluator import Baseline, common_baseline, dataset_of_regrets
from nasbench1shot1.experiments.comparison.comparing import mean_regret
from nasbench1shot1.experiments.comparison.entries import (
    EPOCHS,
    EVALUATIONS,
    OVER,
    SEARCH_TIME,
    SIMULATED_TIME,
    Entry,
    Facts,
    Floats,
    Over,
)
from nasbench1shot1.experiments.comparison.opening import check_comparable, separate
from nasbench1shot1.experiments.comparison.statistics import final_source, sources_text
from nasbench1shot1.experiments.report_page.subjects import Subject
from nasbench1shot1.experiments.rescoring import difference, recorded_table
from nasbench1shot1.ground.errors import InvalidInputError, in_words
from nasbench1shot1.ground.text import counted
from nasbench1shot1.one_shot_search.regret_curve import MEAN_LOOK, mean_name
from nasbench1shot1.reference_points import NO_REGRETS, Asked, MarkedRegrets, marked_regrets
from nasbench1shot1.registry import search_space, table_of_run
from nasbench1shot1.runs.folder import CONFIG
from nasbench1shot1.tables.references import Reference
from nasbench1shot1.tables.table import Table

AXES: Mapping[Over, tuple[str, str]] = {
    EPOCHS: ("Epochs", "epochs"),
    SEARCH_TIME: ("Search time", "search time [s]"),
    SIMULATED_TIME: ("Simulated time", "simulated time [s]"),
    EVALUATIONS: ("Trainings", "number of trainings"),
}
"""The name of each axis in its switch, and its label."""
PARTS = ("search space", "data set", "table", "objective", "bounds", "scale")
"""What all runs of a panel share, in the order of `Key`."""


BASELINE_LOOK: Mapping[str, Any] = {"color": LEVEL_COLOUR, "linestyle": (0, (6.4, 1.6, 1, 1.6))}
"""The line of the baseline, as in all pictures."""


class Level(NamedTuple):
    """A horizontal line: its name, its regret, and its colour and dashes as arguments of `Axes.plot`."""

    name: str
    regret: float
    look: Mapping[str, Any]


class Key(NamedTuple):
    """What must be equal for runs to share a panel; None: the run, such as a black-box study, has no scale."""

    space: str
    dataset: str
    table: str
    objective: str
    bounds: str
    scale: str | None


@dataclass(frozen=True)
class Scoring:
    """How a report scores architectures, and what its bands show.

    Attributes:
        table: the table that scores all architectures, by name or folder. Default: the recorded regrets.
        reference: the reference of regrets on this table. Default: each run's option.
        spread: what bands show. Default: "ci".
        mark: networks whose regrets are horizontal lines.
    """

    table: str | None = None
    reference: Reference | None = None
    spread: Spread | None = None
    mark: Sequence[Asked] = ()

    def table_for(self, entry: Entry) -> Table | None:
        """Return the table for the architectures of a run; None for the recorded regrets."""
        if self.table is None and self.reference is None:
            return None
        return table_of_run(entry.run.search_config, entry.folder / CONFIG, self.table, self.reference)


@dataclass(frozen=True, eq=False)
class Drawn:
    """A run in a panel: its repetitions over every axis that it supports.

    Attributes:
        subject: the run.
        traces: the repetitions with a result, by axis; empty if there is no result yet.
    """

    subject: Subject
    traces: Mapping[Over, Sequence[Trace]]

    @property
    def entry(self) -> Entry:
        """The run in comparisons."""
        assert self.subject.entry is not None
        return self.subject.entry

    @property
    def repetitions(self) -> Sequence[Trace]:
        """The repetitions over one of the axes."""
        return next(iter(self.traces.values()), [])

    @property
    def final(self) -> Floats:
        """The known final regrets of the repetitions, as recorded."""
        found = np.array([trace.result for trace in self.repetitions], np.float64)
        return found[~np.isnan(found)]

    @property
    def source(self) -> str:
        """Whether the final regrets are measured or predicted, in words; empty without a result."""
        return final_source(self.repetitions) if self.repetitions else ""


def source_of(drawn: Iterable[Drawn]) -> str:
    """Return how far the regrets of runs are measured, as `statistics.sources_text`; empty without a result."""
    traces = [trace for of in drawn for trace in of.repetitions]
    return sources_text(traces) if traces else ""


@dataclass(frozen=True, eq=False)
class Panel:
    """Runs with comparable regrets.

    Attributes:
        key: what the runs share.
        drawn: the runs.
        goal: the metrics of their objective.
        scoring: how architectures are scored.
        table: the table behind the regrets; None if it cannot be opened.
    """

    key: Key
    drawn: Sequence[Drawn]
    goal: Goal
    scoring: Scoring
    table: Table | None
    marked: MarkedRegrets = field(default=NO_REGRETS)

    @property
    def axes(self) -> list[Over]:
        """The axes over which at least one run has a curve; the first is one that most runs have."""
        found = [axis for axis in OVER if any(axis in of.traces for of in self.drawn)]
        many = {axis: sum(axis in of.traces for of in self.drawn) for axis in found}
        return sorted(found, key=lambda axis: (axis == SEARCH_TIME, -many[axis], OVER.index(axis)))

    @cached_property
    def curves(self) -> dict[Over, dict[str, Pooled]]:
        """The curve of each run by axis and label, as recorded."""
        return {
            axis: {
                of.subject.label: pool(of.traces[axis], spread=self.scoring.spread, whole=axis == EPOCHS)
                for of in self.drawn
                if axis in of.traces
            }
            for axis in self.axes
        }

    @property
    def has_bands(self) -> bool:
        """Whether bands are shown at first: few enough curves have one."""
        return sum(len(of.repetitions) > 1 for of in self.drawn) <= MOST_BANDS

    def floor(self, axis: Over) -> float:
        """The lower edge of a logarithmic axis of regrets, as recorded."""
        return log_floor(self.curves[axis].values())

    @property
    def title(self) -> str:
        """The title of the panel."""
        scale = f", {self.key.scale} scale" if self.key.scale else ""
        return f"{self.goal.title} on {self.space}, {self.key.dataset}{scale}"

    @property
    def space(self) -> str:
        """The short name of the search space."""
        return str(self.drawn[0].entry.configs[0]["space"])

    @cached_property
    def baseline(self) -> Baseline | None:
        """The bounds of all runs and their baseline; None without bounds."""
        found = common_baseline({name: of for each in self.drawn for name, of in each.entry.baselines.items()})
        if found is None or self.table is None or self.table.id == self.drawn[0].entry.configs[0]["table_id"]:
            return found
        space = search_space(self.space).name
        return Baseline.of(space, self.table, found.bounds, self.key.dataset, self.goal.guide.metric)

    def levels(self) -> list[Level]:
        """Return the horizontal lines: the mean of the space, the baseline, marked networks."""
        found, baseline = list[Level](), self.baseline
        mean = mean_regret(self.drawn[0].entry, self.table, self.key.dataset, self.goal, baseline)
        if mean is not None:
            is_partial = self.table is not None and self.table.is_partial
            found.append(Level(mean_name(baseline, is_partial), mean, MEAN_LOOK))
        if baseline is not None and baseline.test_regret is not None:
            source = self.goal.source(baseline.test_measured)
            name = f"{baseline.words} ({source})" if source else baseline.words
            found.append(Level(name, baseline.test_regret, BASELINE_LOOK))
        for name, place, regret, is_measured in self.marked.regrets:
            source = "measured" if is_measured else "predicted"
            found.append(Level(f"{name} ({source})", regret, line_look(place)))
        return found

    def notes(self) -> list[str]:
        """Return sentences about the regrets, the bands and the clocks, and about what is missing."""
        drawn = [of for of in self.drawn if of.traces]
        sentences = [
            f"{self.goal.title} of the preferred architecture; table {self.key.table} ({source_of(drawn)})."
            if drawn
            else "",
            "" if self.table is None or not drawn else as_sentence(self.table.fidelity()),
            "" if self.table is None else self.table.partial_note,
            objective_sentence({of.subject.label: of.entry.goal for of in self.drawn}),
            self.baseline.sentence if self.baseline else "",
            self._band_text(drawn),
            " ".join(dict.fromkeys(of.entry.CLOCK for of in drawn if SIMULATED_TIME in of.traces)),
            ZERO_NOTE if any((of.centre == 0).any() for found in self.curves.values() for of in found.values()) else "",
            *dict.fromkeys(of.entry.origin for of in drawn),
            *dict.fromkeys(of.entry.note for of in drawn),
            self.marked.note,
            self._missing_text(drawn),
        ]
        return [sentence for sentence in sentences if sentence]

    def _band_text(self, drawn: Sequence[Drawn]) -> str:
        several = [of for of in drawn if len(of.repetitions) > 1]
        single = ", ".join(of.subject.label for of in drawn if len(of.repetitions) == 1)
        alone = f"n = 1 for {single}: one run has no interval." if single else ""
        if not several:
            return alone
        is_cut = any(curve.is_cut for curves in self.curves.values() for curve in curves.values())
        said = describe_band(self.scoring.spread, [len(of.repetitions) for of in drawn], None, is_cut=is_cut)
        return f"Lines and bands: {said} over n runs. {alone}".strip()

    def _missing_text(self, drawn: Sequence[Drawn]) -> str:
        lacking = [
            f"{missing:,} of {counted(len(of.repetitions), 'result')} of {of.subject.label}"
            for of in drawn
            if (missing := len(of.repetitions) - len(of.final))
        ]
        return f"Not in the table: {', '.join(lacking)}." if lacking else ""


def panels_of(subjects: Sequence[Subject], scoring: Scoring) -> list[Panel]:
    """Return the panels of a report: each has the runs whose regrets are comparable.

    A black-box study has no scale; it is drawn beside the searches of every scale.

    Raises the errors of `Entry.repetitions`, and InvalidInputError if the searches of one group differ.
    """
    tables = {subject.label: scoring.table_for(subject.entry) for subject in subjects if subject.entry}
    keys = {subject.label: _key(subject.entry, tables[subject.label]) for subject in subjects if subject.entry}
    separated = separate(
        [subject for subject in subjects if subject.entry],
        lambda subject: keys[subject.label]._replace(scale=None),
        lambda subject: keys[subject.label].scale,
    )
    return [
        _panel(key._replace(scale=scale), own, scoring, tables[own[0].label]) for (key, scale), own in separated.items()
    ]


def _key(entry: Entry, table: Table | None) -> Key:
    facts: Facts = check_comparable([entry], table is not None)
    baseline = common_baseline(entry.baselines)
    bounds = baseline.described if baseline else ""
    scored_on = facts.table if table is None else table.id
    dataset = facts.dataset if table is None else dataset_of_regrets(table, facts.dataset)
    return Key(facts.space, dataset, scored_on, facts.objective, bounds, entry.scale)


def _panel(key: Key, subjects: Sequence[Subject], scoring: Scoring, table: Table | None) -> Panel:
    entries = [of.entry for of in subjects if of.entry]
    drawn = [Drawn(of, _traces(of.entry, table)) for of in subjects if of.entry]
    goal = entries[0].goal
    if table is not None:
        goal = goal.on_table(table, key.dataset)
    behind = recorded_table(entries[0].run) if table is None else table
    marked = marked_regrets(scoring.mark, behind, entries[0].run)
    return Panel(key, drawn, goal, scoring, behind, marked)


def _traces(entry: Entry, table: Table | None) -> dict[Over, Sequence[Trace]]:
    """Return the repetitions of a run over every axis for which its values are known.

    Raises the error of the first axis if there is none for any axis.
    """
    found, error = dict[Over, Sequence[Trace]](), None
    for axis in entry.axes:
        try:
            if traces := entry.repetitions(axis, table):
                found[axis] = traces
        except InvalidInputError as lacking:  # for example, a table without training times has no simulated time
            error = error or lacking
    if error is not None and not found:
        raise error
    return found


def differences(panels: Sequence[Panel]) -> list[str]:
    """Return a sentence for each run with a recorded error that its table contradicts (`rescoring.difference`)."""
    found = (difference(record, panel.table) for panel in panels for of in panel.drawn for record in of.entry.records)
    return [as_sentence(said) for said in dict.fromkeys(found) if said]


def separated_text(panels: Sequence[Panel]) -> str:
    """Return a sentence about why runs are in separate panels; empty for one panel."""
    columns = zip(PARTS, *(panel.key for panel in panels), strict=True)
    differing = [name for name, *values in columns if len(set(values)) > 1]
    if len(panels) < 2:
        return ""
    return (
        f"The runs are in {len(panels)} panels, because they differ in {in_words(differing)}: regrets are comparable "
        "only within a panel."
    )


def as_sentence(text: str) -> str:
    """Return a text with a capital first letter and a full stop; empty text stays empty."""
    return f"{text[:1].upper()}{text[1:]}." if text else ""
