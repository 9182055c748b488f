"""Rankings on a page: a scatter plot of true against one-shot errors, and a table of their correlations."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nasbench1shot1.display.colours import BLUE, VERMILION
from nasbench1shot1.display.marked_networks import LOOKS
from nasbench1shot1.experiments.correlation.analysis import Correlations, correlations_so_far
from nasbench1shot1.experiments.correlation.drawing import (
    X_LABELS,
    MarkedRank,
    highest_shown,
    marked_ranks,
    settings_text,
    spearman_row,
)
from nasbench1shot1.experiments.correlation.outcome import epoch_summary
from nasbench1shot1.experiments.correlation.record import Ranking
from nasbench1shot1.experiments.correlation.truth import table_of_ranking, truth_fields
from nasbench1shot1.experiments.report_page.charts import line, rounded
from nasbench1shot1.experiments.report_page.markup import NO_VALUE, Cell, Markup, sortable_table
from nasbench1shot1.experiments.report_page.panels import Scoring
from nasbench1shot1.experiments.report_page.subjects import Subject
from nasbench1shot1.ground.errors import InvalidInputError, option
from nasbench1shot1.ground.text import counted
from nasbench1shot1.tables.table import Table

HEADING = "True errors against one-shot errors"
MOST_DOTS, LONGEST_SCATTER, FEWEST_DOTS = 12_000, 1_500, 100
"""Largest number of architectures in all scatter plots of a page and in one of them, which bounds its size; each plot
has at least the smallest number."""
SOURCES = ("predicted", "measured")
KINDS = ((BLUE, "predicted by the table"), (VERMILION, "measured"))
"""Colours and names of the true errors, in the order of `SOURCES`."""
NAMES = {"error": "One-shot error", "loss": "One-shot loss"}


def dots_per_ranking(rankings: int) -> int:
    """Return how many architectures each scatter plot of a page has at most."""
    return min(LONGEST_SCATTER, max(FEWEST_DOTS, MOST_DOTS // max(rankings, 1)))


@dataclass(frozen=True, eq=False)
class Ranked:
    """A ranking with a result.

    Attributes:
        subject: the run.
        ranking: its record.
        table: the table with the true errors.
        scoring: how architectures are scored.
    """

    subject: Subject
    ranking: Ranking
    table: Table
    scoring: Scoring

    @cached_property
    def correlations(self) -> Correlations:
        """The correlations of all evaluated epochs, and the predictions and true errors of the last one."""
        return correlations_so_far(self.ranking, self.table)

    @cached_property
    def marked(self) -> tuple[list[MarkedRank], list[str]]:
        """The networks to mark that the ranking evaluated, and sentences about the others."""
        return marked_ranks(self.scoring.mark, self.table, self.correlations.predictions)

    @property
    def name(self) -> str:
        """The title of the scatter plot."""
        config, epoch = self.ranking.config, self.correlations.predictions.epoch
        return f"{self.subject.label}: {config['space']}, seed {config['run_seed']}, after epoch {epoch}"

    def scatter(self, most: int) -> dict[str, Any]:
        """Return the scatter plot for `scatter.js`, with at most `most` architectures besides the marked ones."""
        frame, _, predictions, truth = self.correlations
        chosen = self._chosen(most)
        measured = truth.measured[chosen]
        assert predictions.numbers is not None
        found = []
        for name, label in X_LABELS.items():
            row = spearman_row(frame, predictions.epoch, truth, name)
            is_error = name == "error"
            values = (100 if is_error else 1) * predictions.values[name][chosen]
            found.append(
                {
                    "key": name,
                    "name": NAMES[name],
                    "label": label,
                    "unit": "%" if is_error else "nats",
                    "digits": 2 if is_error else None,
                    "correlation": f"Spearman's ρ = {row['value']:.3f}" if row else "Spearman's ρ is undefined",
                    "interval": _interval_text(row),
                    "values": [float(f"{value:.5g}") for value in values],
                }
            )
        shares = [np.count_nonzero(~measured), np.count_nonzero(measured)]
        return {
            "name": self.name,
            "space": self.ranking.config["space"],
            "vertical": f"{truth.split} error in the table after {truth.budget} epochs [%]",
            "predictors": found,
            "truth": [float(f"{100 * value:.5g}") for value in truth.errors[chosen]],
            "of": "".join("01"[of] for of in measured.astype(int)),
            "kinds": [
                {**line({"color": colour, "linestyle": "-"}), "label": f"{text} ({shown:,})", "source": source}
                for (colour, text), source, shown in zip(KINDS, SOURCES, shares, strict=True)
            ],
            "numbers": predictions.numbers[chosen].tolist(),
            "marks": [self._mark(mark, chosen) for mark in self.marked[0]],
        }

    @cached_property
    def _shown(self) -> NDArray[np.int64]:
        """The places of the architectures whose true error is known and not far above all others."""
        truth = self.correlations.truth
        return np.flatnonzero(truth.errors <= highest_shown(truth))

    def _chosen(self, most: int) -> NDArray[np.int64]:
        """Return the places of the drawn architectures, ascending: a random sample, and the marked ones."""
        drawn = self._shown
        if len(drawn) > most:
            drawn = np.random.default_rng(0).choice(drawn, most, replace=False)
        return np.unique(np.r_[drawn, [mark.at for mark in self.marked[0]]].astype(np.int64))

    @staticmethod
    def _mark(mark: MarkedRank, chosen: NDArray[np.int64]) -> dict[str, Any]:
        colour, marker, _ = LOOKS[mark.place % len(LOOKS)]
        look = line({"color": colour, "linestyle": "-", "marker": marker})
        return {**look, "label": mark.name, "at": int(np.searchsorted(chosen, mark.at))}

    def notes(self, most: int) -> list[str]:
        """Return sentences about the plot, the evaluation and the true errors."""
        truth, shown = self.correlations.truth, len(self._shown)
        known = int(truth.known.sum())
        count = "The plot shows a random sample of {:,} of {}; the correlation is over all of them."
        return [
            count.format(most, counted(known, "architecture")) if shown > most else "",
            f"Not shown: {counted(known - shown, 'architecture')} with a larger true error." if known > shown else "",
            f"Supernet of {str(self.ranking.config['optimizer']).rpartition(':')[2]}. "
            f"{settings_text(self.ranking, {truth.budget: truth_fields(truth, self.table)}, truth)}",
            *self.marked[1],
        ]

    def rows(self) -> list[list[object]]:
        """Return a row of the table of correlations for each evaluated epoch."""
        frame, truth = self.correlations.frame, self.correlations.truth
        summaries = {epoch: epoch_summary(frame, truth, epoch) for epoch in self.ranking.scored_epochs}
        return [[self.subject.label, Cell(epoch, epoch), *_cells(found)] for epoch, found in summaries.items()]


def _cells(found: dict[str, dict[str, float]]) -> list[Cell]:
    """Return the cells of an epoch in the table of correlations, from the third on."""
    count = max((int(of["n"]) for of in found.values()), default=0)
    return [
        Cell(f"{count:,}", count),
        *(_with_interval(found.get(name)) for name in ("spearman_error", "spearman_loss")),
        _value(found.get("kendall_error"), 3),
        _value(found.get("p@10_error"), 2),
        _value(found.get("regret_error"), 2, 100),
    ]


HEADINGS = ("Ranking", "Epoch", "n", "ρ of errors", "ρ of losses", "Kendall's τ", "P@10 %", "Regret [%]")


def correlation_table(ranked: Sequence[Ranked]) -> Markup:
    """Return the sortable table of the correlations of rankings, with a row for each evaluated epoch."""
    return sortable_table("Correlations", HEADINGS, [row for of in ranked for row in of.rows()])


TABLE_NOTE = (
    "ρ: Spearman's correlation with the true errors, and its 95 % interval (bootstrap over architectures). Kendall's "
    "τ, P@10 % and regret are computed from one-shot errors. P@10 %: of the tenth of the architectures that is ranked "
    "best, the share that belongs to the truly best tenth. Regret: the true error of the architecture ranked first, "
    "minus the smallest one of all ranked architectures. P@10 % and regret are expected values over all orders of "
    "architectures with equal one-shot errors."
)


def ranked(subject: Subject, scoring: Scoring) -> Ranked | None:
    """Return a ranking with the table of its true errors; None if no epoch is evaluated yet.

    Raises:
        InvalidInputError: the search was removed, or the table in use is not the one that was recorded.
        UserError: the table cannot be opened.
    """
    ranking = subject.record
    if not ranking.lines:
        return None
    named = scoring.table or ranking.options.table or ranking.space.table
    table = table_of_ranking(ranking.run, ranking.space, named, scoring.reference)
    recorded = ranking.config["table_id"]
    if scoring.table is None and table.id != recorded:
        raise InvalidInputError(
            f"'{ranking.folder}' has true errors of the table {recorded}, but its table is now {table.id}: give one "
            f"with {option('table')}"
        )
    return Ranked(subject, ranking, table, scoring)


def _interval_text(row: dict[str, Any] | None) -> str:
    if row is None:
        return ""
    return f"95 % interval: {row['low']:.3f} to {row['high']:.3f}; {counted(int(row['n']), 'architecture')}"


def _with_interval(found: dict[str, float] | None) -> Cell:
    if found is None:
        return Cell(NO_VALUE)
    return Cell(f"{found['value']:.3f} ({found['low']:.3f} to {found['high']:.3f})", rounded(found["value"]))


def _value(found: dict[str, float] | None, digits: int, scale: float = 1) -> Cell:
    if found is None:
        return Cell(NO_VALUE)
    return Cell(f"{scale * found['value']:.{digits}f}", rounded(scale * found["value"]))
