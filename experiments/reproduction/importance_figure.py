"""Figure 16 of NAS-Bench-1Shot1 as `reproduce` uses it: the importance of hyperparameters at every budget."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import pandas

from nasbench1shot1.experiments.reproduction.figure import FigureJob, FigureResults
from nasbench1shot1.experiments.reproduction.figures import Panel, PaperFigure
from nasbench1shot1.experiments.reproduction.searches import title_line
from nasbench1shot1.experiments.reproduction.studies import (
    StudiedFigure,
    diverged_text,
    plan_text,
    quick_text,
    unfinished_text,
)
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
from nasbench1shot1.ground.text import line_printer
from nasbench1shot1.tables.table import Table
from nasbench1shot1.tuning.record import Study

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from rich.console import Console


@dataclass(frozen=True, eq=False)
class Importances(FigureResults):
    """The analyses of all finished studies, pooled over seeds; a `figure.FigureResults`.

    Losses are the values that the tuner saw, even if another table is in use.
    """

    name: str
    figure: PaperFigure
    found: Sequence[tuple[Panel, Sequence[Study]]]
    seeds: int

    @cached_property
    def frame(self) -> pandas.DataFrame:
        """Return the importances of every panel, as `importance.importances` does."""
        return pandas.concat([importances(studies).assign(panel=panel.key) for panel, studies in self.found])

    @cached_property
    def pairwise(self) -> dict[str, pandas.DataFrame]:
        """Return the interactions at the budget with the most searches, by panel; empty without hypershap."""
        if not is_installed():
            return {}
        return {panel.key: interactions(studies, _most_searched(studies)) for panel, studies in self.found}

    def as_table(self) -> pandas.DataFrame:
        """Return one row per panel, evaluator, budget and hyperparameter or pair: `value`, `observations`."""
        names = {"hyperparameter": "first", "importance": "value"}
        frames = [self.frame.rename(columns=names).assign(second="", evaluator=FANOVA)]
        studies = {panel.key: of for panel, of in self.found}
        for panel, pairs in self.pairwise.items():
            budget = _most_searched(studies[panel])
            values = pairs.rename(columns={"interaction": "value"})
            count = len(list_observations(studies[panel], budget))
            frames.append(values.assign(panel=panel, evaluator=HYPERSHAP, budget=budget, observations=count))
        columns = ["panel", "evaluator", "budget", "observations", "first", "second", "value"]
        return pandas.concat(frames, ignore_index=True)[columns]

    def draw(self) -> "Figure":
        """Return the picture, as `importance.draw_importances` does."""
        return draw_importances([self._row(*pair) for pair in self.found], self._title(), self._caption())

    def show(self, console: "Console") -> None:
        """Print the importances."""
        from rich.table import Table as Screen

        names = order_of(self.frame)
        screen = Screen("panel", "budget", "searches", *names)
        for (panel, budget), rows in self.frame.groupby(["panel", "budget"], sort=False):
            values = rows.set_index("hyperparameter")["importance"].reindex(names)
            cells = ["–" if np.isnan(value) else f"{100 * value:.0f} %" for value in values]
            screen.add_row(str(panel), str(budget), str(rows["observations"].iloc[0]), *cells)
        console.print(screen)
        line_printer(console)(f"Fraction of the variance of the validation error, by {FANOVA}")

    def _row(self, panel: Panel, studies: Sequence[Study]) -> Row:
        budgets = studies[0].options.brackets.budgets
        points = {
            budget: np.array([[of[name] for name in PAIR] for of, _ in list_observations(studies, budget)]).reshape(
                -1, 2
            )
            for budget in budgets
        }
        surfaces = {budget: marginal(studies, PAIR, budget) for budget in budgets}
        frame = self.frame[self.frame["panel"] == panel.key]
        return Row(panel.title, surfaces, points, frame, self.pairwise.get(panel.key))

    def _title(self) -> str:
        studies = [study for _, of in self.found for study in of]
        return "\n".join([title_line(self.name, self.figure.title), *plan_text(studies, self.seeds)])

    def _caption(self) -> str:
        studies = [study for _, of in self.found for study in of]
        counts = {(panel.key, curve.key): len(of) for panel, of in self.found for curve in panel.curves}
        lines = [
            "surfaces: prediction of a random forest, averaged over the other hyperparameters; dots: searches"
            + (f"; {self.seeds} studies of a space are pooled" if self.seeds > 1 else ""),
            f"importance: {FANOVA}; the rest of the variance is due to interactions",
        ]
        if self.pairwise:
            lines.append(f"interactions: {HYPERSHAP}, at the budget with the most searches; not comparable with fANOVA")
        lines += [*unfinished_text(self.figure, counts, self.seeds), *diverged_text(studies), *quick_text(studies)]
        return "\n".join([*lines, f"validation errors: table {studies[0].config['table_id']}, as the tuner saw them"])


@dataclass(frozen=True)
class ImportanceFigure(StudiedFigure):
    """A figure of the importance of hyperparameters; a `figure.ReproducedFigure`."""

    def results(self, jobs: Sequence[FigureJob], table: Table) -> Importances | None:
        """Return the analyses of the finished studies; None if there is none."""
        found = [(panel, studies) for panel, _, studies in self.studies(jobs)]
        return Importances(self.name, self.figure, found, len({job.options["seed"] for job in jobs})) if found else None


def _most_searched(studies: Sequence[Study]) -> int:
    """Return the budget with the most searches that did not diverge (ties: the smallest)."""
    budgets = studies[0].options.brackets.budgets
    return max(budgets, key=lambda budget: (len(list_observations(studies, budget)), -budget))
