"""What a study optimizes: the metric that guides its searches and the metric that judges their results.

By default, validation accuracy guides and test accuracy judges. With the option `objective`, any metric of the table
that has a direction guides. The record then describes both metrics, so that its readers need no table: config.json has
the field `objective_metrics`, and summary.json the fields `objective` and `unit`.

The feedback of a search is noisy where the table has several repeats of an architecture, of which each query draws one.
The field `feedback_repeats` of config.json records their number at each budget.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nasbench1shot1.ground.errors import InvalidInputError, alternatives
from nasbench1shot1.ground.text import counted, percent
from nasbench1shot1.tables.columns import STANDARD, Column, source_text

if TYPE_CHECKING:
    from nasbench1shot1.tables.description import Objective
    from nasbench1shot1.tables.table import Table

FIELD = "objective_metrics"
"""Field of config.json with the descriptions of both metrics, if the objective is not the default."""


FEEDBACK = "feedback_repeats"
"""Field of config.json: for each budget, the smallest and the largest number of repeats of an architecture."""


@dataclass(frozen=True)
class Goal:
    """The two metrics of a study, and how its errors and regrets are written.

    Attributes:
        guide: the metric whose cost the optimizer observes.
        judge: the metric of the test regret.
    """

    guide: Column = STANDARD["validation_accuracy"]
    judge: Column = STANDARD["test_accuracy"]

    @classmethod
    def from_objective(cls, table: "Table", objective: "Objective") -> "Goal":
        """Return the goal of searches on a table for one of its objectives."""
        return cls(
            table.about(objective.validation_metric, objective.validation),
            table.about(objective.test_metric, objective.test),
        )

    def on_table(self, table: "Table", dataset: str) -> "Goal":
        """Return the goal with the descriptions of another table; the default goal is the same on all tables.

        Raises the errors of `Table.objective`.
        """
        if self.is_default:
            return self
        return Goal.from_objective(table, table.objective(dataset, self.guide.metric))

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> "Goal":
        """Return the recorded goal of a study; raises TypeError, KeyError or AttributeError if it is damaged."""
        if config["objective"] is None:
            return cls()
        recorded = config[FIELD]
        return cls(Column.from_entry(recorded["validation"]), Column.from_entry(recorded["test"]))

    def check_recorded(self, recorded: "Goal", folder: Path) -> None:
        """Raise InvalidInputError if the table now describes the metrics differently from the study in a folder.

        A table's id does not depend on descriptions. The default objective has the same unit and direction everywhere.
        """
        for before, now in ((recorded.guide, self.guide), (recorded.judge, self.judge)):
            if not recorded.is_default and _meaning(before) != _meaning(now):
                raise InvalidInputError(
                    f"'{folder}' was made with a table that described {before.metric} as {_meaning(before)}, but the "
                    f"table now describes it as {_meaning(now)}: restore the recorded table, or start a new study"
                )

    def fields(self) -> dict[str, Any]:
        """Return the fields of config.json that describe the metrics; none for the default objective."""
        if self.is_default:
            return {}
        return {FIELD: {"validation": self.guide.entry(), "test": self.judge.entry()}}

    @property
    def is_default(self) -> bool:
        """Whether validation accuracy guides the searches."""
        return self.guide.metric == Goal.guide.metric

    @property
    def is_guided_by_test_values(self) -> bool:
        """Whether the searches observed values on test images."""
        return self.guide.uses_test_images

    def mark(self, label: str) -> str:
        """Return the label of a curve, which states if test values guided the searches."""
        return f"{label} (guided by test values)" if self.is_guided_by_test_values else label

    @property
    def scale(self) -> int:
        """The factor from recorded regrets to drawn ones: fractions are drawn in percent."""
        return 100 if self.judge.unit == "fraction" else 1

    @property
    def unit(self) -> str:
        """The unit of drawn and printed regrets, such as "%" or "ms"; empty for metrics without a unit."""
        return "%" if self.judge.unit == "fraction" else self.judge.unit

    @property
    def regret(self) -> str:
        """The regret in words, such as "test regret", "regret in latency edgegpu" or "regret in test loss"."""
        return "test regret" if self.judge.metric == Goal.judge.metric else f"regret in {self.judge.words}"

    @property
    def regrets(self) -> str:
        """The plural of `regret`, such as "regrets in test loss"."""
        return self.regret.replace("regret", "regrets", 1)

    @property
    def title(self) -> str:
        """The regret in words, capitalized for the beginning of a line."""
        return self.regret[0].upper() + self.regret[1:]

    def with_unit(self, label: str) -> str:
        """Return the label of an axis or a table, followed by the unit of regrets in brackets."""
        return f"{label} [{self.unit}]" if self.unit else label

    def number(self, regret: float, digits: int = 2) -> str:
        """Return a regret without its unit; `digits` are the decimal places of a percentage."""
        if self.judge.unit == "fraction":
            return percent(regret, digits).removesuffix(" %")
        return f"{regret:,.0f}" if abs(regret) >= 1000 else f"{regret:.4g}"

    def text(self, regret: float) -> str:
        """Return a regret with its unit, such as "0.35 %" or "1.25 ms"."""
        return f"{self.number(regret)} {self.unit}".rstrip()

    def source(self, is_measured: bool) -> str:
        """Return whether a regret is "measured" or "predicted"; empty for a metric with exact values."""
        return "" if self.judge.fidelity == "exact" else source_text(is_measured)

    def definition(self, space: str, *, is_partial: bool = False, is_bounded: bool = False) -> str:
        """Return what a regret is relative to, as words that follow "Regret:".

        Args:
            space: the name of the search space.
            is_partial: the reference is the best network in the table, which lacks others of the space.
            is_bounded: the reference is the best network within the bounds of the searches.
        """
        networks = f"the networks of {space} that the table has" if is_partial else f"all networks of {space}"
        networks += " within the bounds" if is_bounded else ""
        if self.judge.metric == Goal.judge.metric:
            return f"test error minus the lowest test error of {networks}"
        return f"distance from the best {self.judge.words} of {networks}"

    def sentence(self) -> str:
        """Return a sentence about the objective, for screens and captions; empty for the default objective."""
        if self.is_default:
            return ""
        warning = " Test values guided the search." if self.is_guided_by_test_values else ""
        return f"Objective: {self.guide.words} ({_scale(self.guide)}).{warning}"


def _scale(metric: Column) -> str:
    """Return unit and direction of a metric in words, such as "ms, lower is better"."""
    return ", ".join(filter(None, (metric.unit, f"{metric.direction} is better")))


def _meaning(metric: Column) -> str:
    """Return in words what values of a metric mean, such as "ms, lower is better, measured"."""
    return f"{_scale(metric)}, {metric.fidelity}"


def common_goal(goals: Iterable[Goal]) -> Goal:
    """Return the goal of several studies; raises InvalidInputError if their objectives differ."""
    by_metric = {goal.guide.metric: goal for goal in goals}
    if len(by_metric) > 1:
        raise InvalidInputError(
            f"studies with different objectives ({', '.join(by_metric)}) are not comparable: draw one objective at a "
            "time"
        )
    return next(iter(by_metric.values()))


def objective_sentence(goals: Mapping[str, Goal]) -> str:
    """Return a sentence about the objectives of runs, by their labels; empty if all have the default one.

    If the objectives differ, the sentence names the runs that test values guided.
    """
    if len({goal.guide.metric for goal in goals.values()}) == 1:
        return next(iter(goals.values())).sentence()
    guided = [label for label, goal in goals.items() if goal.is_guided_by_test_values]
    if not guided:
        return ""
    return f"Test values guided the searches of {', '.join(guided)}. The other runs did not use test values."


def describe_feedback(repeats: Iterable[Mapping[str, Sequence[int]]], goal: Goal | None = None) -> str:
    """Return a sentence about the noise of the feedback, for screens and captions.

    Args:
        repeats: the recorded numbers of repeats of one or several studies, by budget.
        goal: the metrics of the studies. Default: accuracies.
    """
    by_budget = {int(epochs): tuple(numbers) for of_study in repeats for epochs, numbers in of_study.items()}
    if not by_budget:
        return ""
    parts = [f"{_one_of(*numbers)} after {counted(epochs, 'epoch')}" for epochs, numbers in sorted(by_budget.items())]
    if all(most == 1 for _, most in by_budget.values()):
        budgets = alternatives([*map(str, sorted(by_budget))])
        has_budgets = goal is None or goal.is_default or goal.guide.epochs  # a latency has none
        after = f", after {budgets} epochs of training" if has_budgets else ""
        return f"Noise-free feedback: one value per architecture{after}."
    return f"Feedback: {', '.join(parts)} of training."


def describe_workers(counts: Iterable[int]) -> str:
    """Return a sentence about the simulated workers of one or several studies; empty if all have one."""
    found = sorted(set(counts))
    if found == [1]:
        return ""
    return f"Simulated workers: {alternatives([f'{count:,}' for count in found])} (trainings at the same time)."


def _one_of(fewest: int, most: int) -> str:
    """Return what a query observes, given the numbers of repeats of the architectures."""
    if most == 1:
        return "one value per architecture (noise-free)"
    number = f"{most}" if fewest == most else f"{fewest} or {most}" if fewest == most - 1 else f"up to {most}"
    return f"a random one of {number} repeats"
