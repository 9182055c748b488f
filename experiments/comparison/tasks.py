"""Comparisons on several tasks: a search space, a data set, a table and a scale each."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

import numpy as np
import pandas

from nasbench1shot1.experiments.comparison import overall, paper, sentences
from nasbench1shot1.experiments.comparison.entries import Floats
from nasbench1shot1.experiments.comparison.opening import PARTS
from nasbench1shot1.experiments.comparison.overall import AverageRanks
from nasbench1shot1.experiments.comparison.statistics import END, Comparison
from nasbench1shot1.ground.errors import InvalidInputError, UserError, quote
from nasbench1shot1.ground.notebooks import Displayed
from nasbench1shot1.ground.text import counted
from nasbench1shot1.ground.values import copied_property


@dataclass(frozen=True, eq=False, repr=False)
class TaskComparison(Displayed):
    """Runs on one or several tasks. Regrets of different tasks are not comparable, so each task has its own comparison.

    Methods are identified by their labels: runs with equal labels on different tasks are runs of one method.

    Attributes:
        tasks: the comparison on each task, by the name of the task, such as "s1" or "nb201/cifar100".
    """

    tasks: Mapping[str, Comparison]

    def __repr__(self) -> str:
        return f"TaskComparison({counted(len(self.tasks), 'task')}: {'; '.join(map(repr, self.tasks.values()))})"

    DRAWING = "nasbench1shot1.experiments.comparison.comparing:plot_tasks"

    def _as_html(self) -> str:
        return "".join(comparison._repr_html_() for comparison in self.tasks.values())

    @property
    def separation(self) -> str:
        """A sentence about what separates the tasks; empty for a single task."""
        if len(self.tasks) == 1:
            return ""
        columns = [part for part in PARTS if part in self.results]
        differing = [PARTS[part] for part in columns if self.results[part].nunique(dropna=True) > 1]
        return (
            f"The runs are on {counted(len(self.tasks), 'task')} ({', '.join(self.tasks)}): regrets of different "
            f"{' or '.join(differing)} are not comparable, so each task has its own panel and table."
        )

    @copied_property
    def results(self) -> pandas.DataFrame:
        """The `Comparison.results` of all tasks, below each other; the first column is the name of the task."""
        return self._joined({name: own.results for name, own in self.tasks.items()})

    @copied_property
    def rank_tests(self) -> pandas.DataFrame:
        """The `Comparison.rank_tests` of all tasks, below each other; the first column is the name of the task."""
        return self._joined({name: own.rank_tests for name, own in self.tasks.items()})

    @staticmethod
    def _joined(frames: Mapping[str, pandas.DataFrame]) -> pandas.DataFrame:
        named = []
        for name, frame in frames.items():
            copy = frame.copy()
            copy.insert(0, "task", name)
            named.append(copy)
        return pandas.concat([frame for frame in named if len(frame)] or named[:1], ignore_index=True)

    @property
    def warnings(self) -> list[str]:
        """A sentence for each reason to doubt the comparison of a task, with the tasks that it is about."""
        return sentences.texts_per_task(
            self.tasks,
            lambda own: [
                *sentences.notes(own),
                sentences.no_common_time_text(own, has_advice=True),
                sentences.narrow_range_text(own),
                sentences.different_settings_text(own),
                *own.warnings,
            ],
        )

    # Over the tasks

    def means(self, moment: str = END) -> pandas.DataFrame:
        """Return the mean regret of each method (column) on each task (row); NaN where a method has no runs.

        Args:
            moment: one of `Comparison.moments`: "final", "common", "anytime" or "log_anytime".
        """
        means = {}
        for name, own in self.tasks.items():
            of_label = own.results.set_index("label")[f"{moment}_mean"].dropna()
            means[name] = dict(zip(of_label.index, of_label.astype(float), strict=True))
        return pandas.DataFrame.from_dict(means, orient="index").reindex(list(self.tasks))

    def average_ranks(self, moment: str = END) -> AverageRanks:
        """Return the ranks of the methods that have runs on all tasks, with Friedman's and Nemenyi's tests.

        Args:
            moment: as in `means`.

        Raises:
            InvalidInputError: there are fewer than five tasks or three methods, or two tasks have the same space and
                data set, so that their ranks would count twice.
        """
        pairs = [(own.facts.space, own.facts.dataset) for own in self.tasks.values()]
        if len(set(pairs)) < len(pairs):
            space, dataset = next(pair for pair in pairs if pairs.count(pair) > 1)
            raise InvalidInputError(
                f"several tasks have the space {space} and the data set {dataset}, but average ranks need one table "
                "and one scale: compare the runs of each separately"
            )
        return AverageRanks.of(self.means(moment).dropna(axis="columns"))

    @property
    def ranks(self) -> AverageRanks | None:
        """The `average_ranks` of final regrets; None if the runs do not allow any."""
        try:
            return self.average_ranks()
        except UserError:
            return None

    @property
    def ranks_note(self) -> str:
        """A sentence about why there are no average ranks, or about the methods without; empty for a single task."""
        if len(self.tasks) == 1:
            return ""
        try:
            self.average_ranks()
        except UserError as error:
            said = quote(error)
            return f"{said[0].upper()}{said[1:]}."
        means = self.means()
        partial = [str(label) for label in means if means[label].isna().any()]
        return f"Without average ranks, because they lack runs on some tasks: {', '.join(partial)}." if partial else ""

    @copied_property
    def win_tie_loss(self) -> pandas.DataFrame:
        """For each pair of methods, the numbers of tasks on which the first is better, not different, or worse.

        A method is better if its final regrets are significantly lower by the rank test of the task
        (`Comparison.better`). Columns: first, second, wins, ties, losses and tasks (their sum).
        """
        labels = list(dict.fromkeys(of.label for own in self.tasks.values() for of in own.contenders))
        return overall.win_tie_loss(labels, {name: own.better(END) for name, own in self.tasks.items()})

    @copied_property
    def distributions(self) -> pandas.DataFrame:
        """The final regrets of all runs: columns task, label, regret, and share, the share of runs up to this regret.

        Methods with a single run on a task are left out.
        """
        frames = []
        for name, comparison in self.tasks.items():
            for label, values in comparison.samples[END].items():
                known = np.sort(values[~np.isnan(values)])
                if len(known) > 1:
                    shares = overall.shares_below(known, known)
                    frames.append(pandas.DataFrame({"task": name, "label": label, "regret": known, "share": shares}))
        return pandas.concat(frames, ignore_index=True) if frames else pandas.DataFrame()

    def drawn_tasks(self, labels: Mapping[str, Collection[str]]) -> dict[str, Comparison]:
        """Return the comparisons with only the methods that a figure shows, given their labels by task."""
        return {
            name: replace(own, contenders=[of for of in own.contenders if of.label in labels[name]])
            for name, own in self.tasks.items()
            if labels.get(name)
        }

    @copied_property
    def relative(self) -> dict[str, list[Floats]]:
        """The final regrets of each method on each task, relative to the mean regret of the task's space.

        By label; 0 is the best network and 1 the mean network. Only methods with runs on all tasks. Empty if the mean
        of a space is unknown or zero.
        """
        if not all(own.mean for own in self.tasks.values()):
            return {}
        found: dict[str, list[Floats]] = {}
        for comparison in self.tasks.values():
            for label, values in comparison.samples[END].items():
                if _known(values):
                    found.setdefault(label, []).append(values[~np.isnan(values)] / (comparison.mean or np.nan))
        return {label: samples for label, samples in found.items() if len(samples) == len(self.tasks)}

    @copied_property
    def profile(self) -> pandas.DataFrame:
        """The performance profile over the tasks: columns label, at, share, low and high.

        `share` is the share of a method's runs whose relative final regret (`relative`) is at most `at`; every task has
        the same weight. `low` and `high` are its 95 % confidence interval; NaN for methods with fewer than six runs on
        some task. Empty for a single task, or with fewer than two methods that have runs on all tasks.
        """
        if len(self.tasks) == 1 or len(self.relative) < 2:
            return pandas.DataFrame()
        every = np.concatenate([values for samples in self.relative.values() for values in samples])
        positive = every[every > 0]
        if not len(positive):
            return pandas.DataFrame()
        low, high = 0.9 * float(positive.min()), 1.1 * float(positive.max())
        thresholds = np.geomspace(low, high, overall.PROFILE_POINTS)
        frames = [
            overall.performance_profile(samples, thresholds).assign(label=label)
            for label, samples in self.relative.items()
        ]
        joined = pandas.concat(frames, ignore_index=True)
        return joined[["label", *(name for name in joined if name != "label")]]

    # For a paper

    def table(self) -> paper.PaperTable:
        """Return the table of final and anytime regrets with `latex()` and `markdown()`; a part for each task."""
        return paper.measure_table(self.tasks)

    def task_table(self) -> paper.PaperTable:
        """Return the table of mean final regrets with a column for each task, and average ranks if there are any."""
        return paper.task_table(self.tasks, self.ranks)

    def methods_text(self) -> str:
        """Return a paragraph on how the runs were compared, for the section on methods of a paper."""
        return paper.methods_text(self.tasks, self.ranks)


def _known(values: Floats) -> bool:
    return bool((~np.isnan(values)).any())
