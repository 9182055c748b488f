r"""Tables and texts for a paper: Markdown, LaTeX with booktabs, and a paragraph for the section on methods.

In each column, the lowest value is bold. A value is underlined if its method is not significantly worse than the one
with the lowest value, by the deciding rank test (`Comparison.better`). LaTeX tables need `\usepackage{booktabs}`.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from nasbench1shot1.experiments.comparison.drawing import Tasks, objective_text
from nasbench1shot1.experiments.comparison.entries import CLOCK_WORDS
from nasbench1shot1.experiments.comparison.overall import AverageRanks
from nasbench1shot1.experiments.comparison.rank_tests import FEWEST, SIGNIFICANT
from nasbench1shot1.experiments.comparison.sentences import (
    TEST_WORDS,
    brackets_text,
    clock_text,
    common_time_text,
    counts_text,
    different_settings_text,
    method_name,
    missing_text,
    narrow_range_text,
    progress_text,
    range_text,
    reference_text,
    remarks,
    row_name,
    settings_text,
    software_text,
    statistics_text,
    tables_text,
    texts_per_task,
    untested_text,
)
from nasbench1shot1.experiments.comparison.statistics import ANYTIME, COMMON, END, LOG_ANYTIME, Comparison
from nasbench1shot1.ground.errors import in_words
from nasbench1shot1.ground.text import counted, markdown_table

COLUMNS = {
    "final": ("final mean", "final", "mean", END),
    "common": ("common-time mean", "common", "mean", COMMON),
    "median": ("final median", "final", "median", END),
    "anytime": ("anytime mean", "anytime", "mean", ANYTIME),
    "log_anytime": ("anytime mean, log axis", "log_anytime", "mean", LOG_ANYTIME),
}
"""The columns of a table of measures: heading, beginning of columns in `results`, statistic, moment of the tests."""
MOST_BESIDE = 4
"""Maximum number of columns with intervals beside their values, so that a LaTeX table fits a page."""
MOST_LINES = 25
"""Maximum number of lines of a LaTeX table with several parts, so that it fits a page of an article below its caption,
which has a dozen lines."""
LATEX = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "_": r"\_",
    "%": r"\%",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "–": "--",
    "±": r"$\pm$",
    "×": r"$\times$",
    "−": "$-$",
    "≥": r"$\geq$",
    "≤": r"$\leq$",
    "Λ": r"$\Lambda$",
    "µ": r"$\mu$",
    "χ²": r"$\chi^2$",
}
"""Characters that LaTeX does not print as they are."""


class Cell(NamedTuple):
    """A cell of a table.

    Attributes:
        text: its value or its name.
        is_best: whether its value is the lowest of its column.
        is_tied: whether its method is not significantly worse than the best one by the rank test.
        interval: the interval of the value, such as "[0.64, 0.84]"; it is printed smaller.
    """

    text: str
    is_best: bool = False
    is_tied: bool = False
    interval: str = ""


@dataclass(frozen=True)
class PaperTable:
    """A table in parts, such as one for each task.

    Attributes:
        headings: the headings of the columns.
        parts: rows of cells, by the title of their part; a single part has an empty title.
        caption: text that explains the table without the text around it.
        label: name of the table for references in LaTeX.
        stacked: in LaTeX, intervals are below their values.
    """

    headings: Sequence[str]
    parts: Mapping[str, Sequence[Sequence[Cell]]]
    caption: str
    label: str
    stacked: bool = False

    def markdown(self) -> str:
        """Return the table in Markdown, with its caption below. Underlining is `<u>`, which Markdown lacks."""
        rows = []
        for title, part in self.parts.items():
            rows += [[f"*{title}*", *[""] * (len(self.headings) - 1)]] if title else []
            rows += [[_in_markdown(cell) for cell in row] for row in part]
        return f"{markdown_table(self.headings, rows)}\n{self.caption}\n"

    def latex(self) -> str:
        r"""Return the table in LaTeX; `\usepackage{booktabs}` is needed.

        A `table` environment cannot continue on the next page. If the parts have more than `MOST_LINES` lines, further
        environments therefore continue the first one, with a short caption that refers to it.
        """
        width, tables, lines_left = len(self.headings), [list[str]()], MOST_LINES
        for title, part in self.parts.items():
            rows = [rf"\multicolumn{{{width}}}{{l}}{{\emph{{{escape(title)}}}}} \\"] if title else []
            rows += [line for row in part for line in self._latex_lines(row)]
            if tables[-1] and len(rows) > lines_left:
                tables.append([])
                lines_left = MOST_LINES
            lines_left -= len(rows)
            tables[-1] += [r"\midrule", *rows]
        captions = [[rf"\caption{{{escape(self.caption)}}}", rf"\label{{{self.label}}}"]]
        captions += [[rf"\caption{{Continuation of Table~\ref{{{self.label}}}.}}"]] * (len(tables) - 1)
        return "\n".join(self._latex_environment(caption, rows) for caption, rows in zip(captions, tables, strict=True))

    def _latex_environment(self, caption: Sequence[str], rows: Sequence[str]) -> str:
        """Return a `table` environment with the headings of this table."""
        above = [r"\begin{table}", r"\centering", *caption]
        narrow = r"\small\setlength{\tabcolsep}{4pt}"  # only for this table, not for its caption
        begin = rf"\begin{{tabular}}{{l{'r' * (len(self.headings) - 1)}}}"
        heading = " & ".join(map(self._latex_heading, self.headings)) + r" \\"
        end = [r"\bottomrule", r"\end{tabular}", r"\end{table}", ""]
        return "\n".join([*above, narrow, begin, r"\toprule", heading, *rows, *end])

    def _latex_lines(self, row: Sequence[Cell]) -> list[str]:
        if not self.stacked:
            return [" & ".join(map(_in_latex, row)) + r" \\"]
        below = [_small(cell.interval) for cell in row]
        lines = [[_in_latex(cell._replace(interval="")) for cell in row], *([below] if any(below) else [])]
        return [" & ".join(line).rstrip() + r" \\" for line in lines]

    @staticmethod
    def _latex_heading(heading: str) -> str:
        """Return a heading in LaTeX, broken after commas, before names of statistics, at slashes and before "time"."""
        parts = [escape(part) for part in re.split("/|(?<=,) | (?=mean|median|rank)|(?<=-)(?=time)", heading)]
        lines = r" \\ ".join(parts)
        return parts[0] if len(parts) == 1 else rf"\shortstack[r]{{{lines}}}"


def escape(text: str) -> str:
    r"""Return a text with LaTeX's special characters escaped, safe after commands with optional arguments.

    After `\\` and `\midrule`, LaTeX would read a bracket or a star at the beginning of a text as their argument.
    """
    escaped = re.sub("|".join(map(re.escape, LATEX)), lambda found: LATEX[found[0]], text)
    return f"{{}}{escaped}" if escaped.startswith(("[", "*")) else escaped


def _in_latex(cell: Cell) -> str:
    text = escape(cell.text)
    marked = rf"\textbf{{{text}}}" if cell.is_best else rf"\underline{{{text}}}" if cell.is_tied else text
    return f"{marked} {_small(cell.interval)}".rstrip()


def _small(interval: str) -> str:
    return rf"{{\scriptsize {interval}}}" if interval else ""


def _in_markdown(cell: Cell) -> str:
    marked = f"**{cell.text}**" if cell.is_best else f"<u>{cell.text}</u>" if cell.is_tied else cell.text
    return f"{marked} {cell.interval}".rstrip()


# Tables ---------------------------------------------------------------------------------------------------------------


def measure_table(tasks: Tasks) -> PaperTable:
    """Return final and anytime regrets with their intervals: a row for each method, and a part for each task."""
    columns = [name for name in COLUMNS if any(_has_measure(own, name) for own in tasks.values())]
    parts = {}
    for name, comparison in tasks.items():
        cells = [_column(comparison, column, _digits(tasks)) for column in columns]
        parts[name if len(tasks) > 1 else ""] = [
            [
                Cell(row_name(contender.label, contender.entry)),
                Cell(f"{contender.n:,}"),
                *(own[number] for own in cells),
            ]
            for number, contender in enumerate(comparison.contenders)
        ]
    headings = ["method", "n", *(COLUMNS[name][0] for name in columns)]
    stacked = len(columns) > MOST_BESIDE
    return PaperTable(headings, parts, _caption(tasks, is_of_tasks=False), "tab:comparison", stacked)


def task_table(tasks: Tasks, ranks: AverageRanks | None = None) -> PaperTable:
    """Return the mean final regrets: a row for each method, a column for each task, and the average rank if known."""
    labels = list(dict.fromkeys(of.label for own in tasks.values() for of in own.contenders))
    columns = []
    for comparison in tasks.values():
        cells = _column(comparison, "final", _digits(tasks))
        found = dict(zip([of.label for of in comparison.contenders], cells, strict=True))
        columns.append([found.get(label, Cell("–")) for label in labels])
    headings = ["method", *tasks]
    if ranks is not None:
        averages = ranks.averages
        texts = [f"{averages[label]:.2f}" if label in averages else "–" for label in labels]
        columns.append([Cell(text, is_best=text == f"{averages.iloc[0]:.2f}") for text in texts])
        headings.append("average rank")
    rows = [[Cell(label), *(column[number] for column in columns)] for number, label in enumerate(labels)]
    return PaperTable(headings, {"": rows}, _caption(tasks, is_of_tasks=True, ranks=ranks), "tab:tasks", stacked=True)


def _has_measure(comparison: Comparison, name: str) -> bool:
    _, prefix, statistic, moment = COLUMNS[name]
    if moment == COMMON and not comparison.ends_differ:
        return False
    if moment == LOG_ANYTIME and not comparison.has_log_areas:
        return False
    return moment == END or bool(comparison.results[f"{prefix}_{statistic}"].notna().any())


def _column(comparison: Comparison, name: str, digits: int) -> list[Cell]:
    """Return the cells of a measure, one for each method. Unfinished runs are neither best nor tied."""
    _, prefix, statistic, moment = COLUMNS[name]
    results, goal = comparison.results, comparison.goal
    between = ("low", "high") if statistic == "mean" else ("median_low", "median_high")
    values, lows, highs = (results[f"{prefix}_{of}"].to_numpy(np.float64) for of in (statistic, *between))
    if np.isnan(values).all():
        return [Cell("–") for _ in values]
    labels, better = list(results["label"]), comparison.better(moment)
    is_done = np.array([of.entry.progress is None for of in comparison.contenders])
    finished = np.where(is_done, values, np.nan)
    best = None if np.isnan(finished).all() else int(np.nanargmin(finished))
    cells = []
    for label, value, low, high, done in zip(labels, values, lows, highs, is_done, strict=True):
        pair = frozenset((label, "" if best is None else labels[best]))
        is_tied = best is not None and bool(done) and pair in better and better[pair] != labels[best]
        text = "–" if np.isnan(value) else goal.number(value, digits)
        interval = "" if np.isnan(low) else f"[{goal.number(low, digits)}, {goal.number(high, digits)}]"
        is_best = best is not None and bool(done and value == values[best])
        cells.append(Cell(text, is_best, is_tied, interval))
    return cells


def _digits(tasks: Tasks) -> int:
    """Return the decimal places of percentages: two, or three if one of the mean final regrets is below 0.1 %."""
    means = np.concatenate([own.results["final_mean"].to_numpy(np.float64) for own in tasks.values()])
    return 3 if (means[means > 0] < 1e-3).any() else 2


# Texts ----------------------------------------------------------------------------------------------------------------


def _caption(tasks: Tasks, is_of_tasks: bool, ranks: AverageRanks | None = None) -> str:
    each, own = next(iter(tasks.values())), list(tasks.values())
    where = in_words(dict.fromkeys(f"{of.space} ({of.facts.dataset})" for of in own))
    what = f"Mean final {each.goal.regret}" if is_of_tasks else each.goal.title
    counts = dict.fromkeys(map(counts_text, own))
    n = f"; {next(iter(counts))}" if len(counts) == 1 else ""
    sentences = [
        f"{each.goal.with_unit(what)} on {where}, over {CLOCK_WORDS[each.over]}{n}.",
        brackets_text(tasks),
        *([] if is_of_tasks else [_common_sentence(tasks), _anytime_sentence(tasks)]),
        *texts_per_task(tasks, lambda own: [different_settings_text(own)]),
        *remarks(tasks),
        *texts_per_task(tasks, lambda own: [_marks_sentence(own), untested_text(own)]),
        _ranks_sentence(ranks) if ranks else "",
        f"Benchmark table: {tables_text(tasks, with_curves=not is_of_tasks)}. {_references(tasks)}",
        *_bounds(tasks),
        *texts_per_task(tasks, lambda own: [_missing_sentence(own), progress_text(own)]),
    ]
    return " ".join(filter(None, sentences))


def _missing_sentence(comparison: Comparison) -> str:
    text = missing_text(comparison)
    return f"{text} They are not counted in n." if text else ""


def _marks_sentence(comparison: Comparison) -> str:
    if len(comparison.contenders) < 2:
        return ""
    is_open = any(of.entry.progress is not None for of in comparison.contenders)
    lowest = "lowest value of a finished run" if is_open else "lowest value"
    if not (tested := comparison.better(END)):
        return f"Bold: {lowest}; no rank tests, which need at least {FEWEST} runs of each method."
    test = TEST_WORDS[comparison.test].removeprefix("two-sided ").replace("tests", "test")
    return (
        f"Bold: {lowest}; underlined: not significantly worse (two-sided {test}, Holm's correction for "
        f"{counted(len(tested), 'pair')}, p ≥ {SIGNIFICANT})."
    )


def _references(tasks: Tasks) -> str:
    space = "the same space" if len({own.space for own in tasks.values()}) > 1 else None
    found = {name: reference_text(own, space) for name, own in tasks.items()}
    return f"Regret: {_by_task(found, tasks)}."


def _bounds(tasks: Tasks) -> list[str]:
    """Return sentences about the bounds of the tasks that have any."""
    return texts_per_task(tasks, lambda own: [own.baseline.sentence if own.baseline else ""])


def _common_sentence(tasks: Tasks) -> str:
    if not any(own.ends_differ for own in tasks.values()):
        return ""
    found = {name: common_time_text(own) for name, own in tasks.items() if own.overlaps}
    return f"Common time: the last time that all curves reach, {_by_task(found, tasks)}."


def _anytime_sentence(tasks: Tasks) -> str:
    ranges = {name: range_text(own) for name, own in tasks.items()}
    known = {name: text for name, text in ranges.items() if text}
    if not known:
        return ""
    logarithmic = "; log axis: the same on a logarithmic axis" if next(iter(tasks.values())).has_log_areas else ""
    return " ".join(
        [
            f"Anytime: area under the curve {_by_task(known, tasks)}, divided by the length of the range{logarithmic}.",
            *texts_per_task(tasks, lambda own: [narrow_range_text(own)]),
        ]
    )


def _by_task(texts: Mapping[str, str], tasks: Tasks) -> str:
    """Return the text that all tasks share, or else the different texts, each with the names of its tasks."""
    if len(texts) == len(tasks) and len(set(texts.values())) == 1:
        return next(iter(texts.values()))
    names = dict[str, list[str]]()
    for name, text in texts.items():
        names.setdefault(text, []).append(name)
    return "; ".join(f"{text} ({', '.join(of)})" for text, of in names.items())


def _ranks_sentence(ranks: AverageRanks) -> str:
    statistic, p = ranks.friedman
    tasks, methods = ranks.ranks.shape
    return (
        f"Average ranks over {tasks} tasks: Friedman test, χ² = {statistic:.2f}, p = {p:.2g} with {methods} methods; "
        f"Nemenyi's critical difference is {ranks.critical_difference:.2f} (5 %)."
    )


def methods_text(tasks: Tasks, ranks: AverageRanks | None = None) -> str:
    """Return a paragraph on how runs were compared, for the section on methods of a paper.

    It names seeds, budgets and sizes of the searches, tables, measured or predicted values, the reference of the
    regret, bounds, clock, numbers of runs, statistics, tests and corrections, and versions.
    """
    own, each = list(tasks.values()), next(iter(tasks.values()))
    counts = dict.fromkeys(map(counts_text, own))
    per_task = [f"{name}: {counts_text(comparison)}" for name, comparison in tasks.items()]
    labels = in_words(dict.fromkeys(method_name(of.label) for comparison in own for of in comparison.contenders))
    where = in_words(dict.fromkeys(f"{of.space} ({of.facts.dataset})" for of in own))
    clock = " ".join(filter(None, dict.fromkeys(map(clock_text, own))))
    tests = {comparison.test for comparison in own if len(comparison.rank_tests)}
    sentences = [
        f"We compared {labels} on {where} over {CLOCK_WORDS[each.over]}.",
        settings_text(tasks),
        clock,
        f"Number of searches of each method: {next(iter(counts)) if len(counts) == 1 else '; '.join(per_task)}.",
        *texts_per_task(tasks, lambda own: [_missing_sentence(own)]),
        f"Architectures were scored on {tables_text(tasks)}.",
        _references(tasks),
        *_bounds(tasks),
        "The final regret is the regret of the architecture that a search prefers at its end.",
        *texts_per_task(tasks, lambda own: [objective_text(own)]),
        _common_sentence(tasks),
        _anytime_sentence(tasks),
        *remarks(tasks),
        statistics_text(tasks),
        *(_test_sentence(test) for test in sorted(tests)),
        *texts_per_task(tasks, lambda own: [untested_text(own)]),
        "Effect sizes are A12 (Vargha and Delaney, 2000)." if tests else "",
        _ranks_sentence(ranks) if ranks else "",
        f"Statistics were computed with {software_text()}.",
    ]
    return " ".join(filter(None, sentences)) + "\n"


def _test_sentence(test: str) -> str:
    words = TEST_WORDS["Wilcoxon" if test == "Wilcoxon" else "Mann–Whitney"]
    dropped = " (differences of zero are dropped)" if test == "Wilcoxon" else ""
    return (
        f"Pairs of methods were compared by {words}{dropped}. The p-values are corrected by Holm's method for the "
        f"pairs of each task and measure; we call differences with p < {SIGNIFICANT} significant."
    )
