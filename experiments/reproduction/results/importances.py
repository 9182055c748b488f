"""Figure 16 of NAS-Bench-1Shot1: the importance of hyperparameters at every budget."""

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import pandas

from nasbench1shot1.display.colours import Colors
from nasbench1shot1.display.style import AnyStyle
from nasbench1shot1.experiments.reproduction.results.base import Found
from nasbench1shot1.experiments.reproduction.results.trajectories import StudyResults
from nasbench1shot1.experiments.tuning.importance import (
    FANOVA,
    HYPERSHAP,
    PAIR,
    Row,
    draw_importances,
    importances,
    interactions,
    is_installed,
    list_observations,
    marginal,
    order_of,
)
from nasbench1shot1.tuning.record import Study

if TYPE_CHECKING:
    from nasbench1shot1.display import axes


class Importances(StudyResults):
    """The analyses of all finished studies, pooled over seeds.

    Losses are the values that the tuner saw, even if another table is in use.
    """

    @cached_property
    def importances(self) -> pandas.DataFrame:
        """The importances of every panel, as `importance.importances` returns them."""
        return pandas.concat([importances(found.runs).assign(panel=found.panel.key) for found in self.found])

    @cached_property
    def pairwise(self) -> dict[str, pandas.DataFrame]:
        """The interactions at the budget with the most searches, by panel; empty without hypershap."""
        if not is_installed():
            return {}
        return {found.panel.key: interactions(found.runs, _most_searched(found.runs)) for found in self.found}

    @cached_property
    def frame(self) -> pandas.DataFrame:
        """One row per panel, evaluator, budget and hyperparameter or pair: `value`, `observations`."""
        names = {"hyperparameter": "first", "importance": "value"}
        frames = [self.importances.rename(columns=names).assign(second="", evaluator=FANOVA)]
        studies = {found.panel.key: found.runs for found in self.found}
        for panel, pairs in self.pairwise.items():
            budget = _most_searched(studies[panel])
            values = pairs.rename(columns={"interaction": "value"})
            count = len(list_observations(studies[panel], budget))
            frames.append(values.assign(panel=panel, evaluator=HYPERSHAP, budget=budget, observations=count))
        columns = ["panel", "evaluator", "budget", "observations", "first", "second", "value"]
        return pandas.concat(frames, ignore_index=True)[columns]

    def headings(self) -> tuple[str, ...]:
        """Return the column headings of the summary."""
        return "panel", "budget", "searches", *order_of(self.importances)

    def rows(self) -> list[list[str]]:
        """Return the importances."""
        rows = []
        for (panel, budget), own in self.importances.groupby(["panel", "budget"], sort=False):
            values = own.set_index("hyperparameter")["importance"].reindex(order_of(self.importances))
            cells = ["–" if np.isnan(value) else f"{100 * value:.0f} %" for value in values]
            rows.append([str(panel), str(budget), str(own["observations"].iloc[0]), *cells])
        return rows

    def notes(self) -> list[str]:
        """Return what the numbers are."""
        return [f"Fraction of the variance of the validation error, by {FANOVA}"]

    def draw(
        self,
        style: AnyStyle | None = None,
        *,
        colors: Colors | None = None,
        labels: Sequence[str] | str | None = None,
    ) -> "axes.Figure":
        """Return the picture, as `importance.draw_importances` does; colours and labels are those of the budgets."""
        pooled = f"; {self.seeds} studies of a space are pooled" if self.seeds > 1 else ""
        lines = [
            f"surfaces: prediction of a random forest, averaged over the other hyperparameters; dots: searches{pooled}",
            "each surface has its own colour scale",
            f"importance: {FANOVA}; the rest of the variance is due to interactions",
        ]
        if self.pairwise:
            lines.append(f"interactions: {HYPERSHAP}, at the budget with the most searches; not comparable with fANOVA")
        seen = f"validation errors: table {self.runs[0].config['table_id']}, as the tuner saw them"
        caption = self.caption(*lines, self.proposals(), table=seen)
        rows = [self._row(found) for found in self.found]
        return draw_importances(rows, self.plan_title(), caption, style, colors=colors, labels=labels)

    def _row(self, found: Found) -> Row:
        budgets = found.runs[0].options.brackets.budgets
        points = {
            budget: np.array([[of[name] for name in PAIR] for of, _ in list_observations(found.runs, budget)])
            for budget in budgets
        }
        surfaces = {budget: marginal(found.runs, PAIR, budget) for budget in budgets}
        frame = self.importances[self.importances["panel"] == found.panel.key]
        pairs = self.pairwise.get(found.panel.key)
        return Row(found.panel.title, surfaces, {b: p.reshape(-1, 2) for b, p in points.items()}, frame, pairs)


def _most_searched(studies: Sequence[Study]) -> int:
    """Return the budget with the most searches that did not diverge (ties: the smallest)."""
    budgets = studies[0].options.brackets.budgets
    return max(budgets, key=lambda budget: (len(list_observations(studies, budget)), -budget))
