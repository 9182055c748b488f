"""`nb1shot1 report`."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from nasbench1shot1.commands.arguments import split_labels
from nasbench1shot1.commands.options import Hidden, Positional
from nasbench1shot1.display.options import PICTURES, USUAL_PICTURES, PictureOptions
from nasbench1shot1.display.style import Spread
from nasbench1shot1.ground.errors import InvalidInputError, flag
from nasbench1shot1.ground.files import PictureFormat, picture_name
from nasbench1shot1.ground.text import line_printer, literal_console, print_to_stdout
from nasbench1shot1.registry import default_table, import_trusted, table_of_run
from nasbench1shot1.runs.folder import CONFIG
from nasbench1shot1.runs.opening import open_run
from nasbench1shot1.runs.options import Form, Mark, Range, TableName
from nasbench1shot1.tables.references import Reference

if TYPE_CHECKING:
    from rich.console import Console

    from nasbench1shot1.black_box_search.record import BlackBoxStudy
    from nasbench1shot1.experiments.reports import Look
    from nasbench1shot1.one_shot_search.group import SearchGroup
    from nasbench1shot1.one_shot_search.record import Run, SearchRecord
    from nasbench1shot1.runs.record import RunRecord
    from nasbench1shot1.tables.table import Table


@dataclass(frozen=True)
class Report:
    """Score a run on a table without searching again, or write a web page about any number of runs.

    nb1shot1 report runs/darts --table nasbench_only108

    nb1shot1 report runs/darts runs/gdas --html report.html

    Without --html, RUN is one search, group of seeds, ranking, tuning study or black-box study. With --html, runs can
    also be trainings (docs/report_page.md). The recorded results are not changed. Of an unfinished run, the report
    shows what has been recorded so far.
    """

    GROUPS: ClassVar[Mapping[str, Sequence[str]]] = {
        "Scoring": ("table", "reference", "mark", "spread", "allow_module"),
        "Files of one run": ("out", *PICTURES),
        "Web page": ("html", "labels", "watch", "overwrite"),
    }

    runs: Annotated[Positional[tuple[Path, ...]], Form("RUN …")]
    """The folder of a run; with --html, also several folders."""
    table: TableName | None = None
    """Folder or name of the table to score on. Default: $NB1SHOT1_TABLE on spaces without a table of their
    own, or else the table of the run; with --html, the recorded regrets."""
    reference: Reference | None = None
    """Reference of the regret. present: the best network in the table, even if the table lacks part of the space.
    Default: the run's option."""
    mark: Mark | None = None
    """Networks to mark in the pictures: reference points such as 'ResNet cell' on nb201 or 'ResNet-like cell' on s1, or
    architectures. Their regrets are horizontal lines. In the scatter plot of a ranking, evaluated networks are
    points."""
    allow_module: str | None = None
    """Module that may be imported because the run's config.json names it. Importing a module runs its code."""
    out: Path | None = None
    """Folder for the summary, the values and the pictures. Default: RUN/report-TABLE."""
    pictures: PictureOptions = USUAL_PICTURES
    """How the pictures look."""
    spread: Spread = "ci"
    """What the bands of several runs show. ci: 95 % confidence interval of the mean, or the range of fewer than
    six runs; std: standard deviation."""
    html: Annotated[Path | None, Form("FILE")] = None
    """Write one HTML file, which opens without a network: curves, cells and Λ over the epochs, tables, options and
    commands."""
    labels: tuple[str, ...] | None = None
    """With --html: labels of the runs, separated by spaces or commas. The label of a single run may contain commas.
    Default: the names of the optimizers."""
    watch: Annotated[float | None, Range(1), Form("SECONDS")] = None
    """With --html: rewrite the page at this interval while runs are in progress, until all are finished or Ctrl-C is
    pressed. An open page reloads itself. Default: write it once."""
    overwrite: bool = False
    """With --html: replace an existing file."""

    named: Hidden[frozenset[str]] = frozenset()
    """Names of the given options, set by `cli`."""

    def run(self) -> None:
        """Write the report and print its summary."""
        unfit = ("out", *PICTURES) if self.html else ("labels", "watch", "overwrite")
        if given := [name for name in unfit if name in self.named]:
            reason = "does not apply to" if self.html else "applies only to"
            advice = "remove one of them" if self.html else f"add {flag('html')}, or remove it"
            raise InvalidInputError(f"{flag(given[0])} {reason} {flag('html')}: {advice}")
        if self.html is not None:
            self._write_page(self.html)
            return
        if len(self.runs) > 1:
            raise InvalidInputError(
                f"{len(self.runs)} runs are given, but only a web page shows several: add {flag('html')} report.html, "
                "or give one run"
            )
        self._report(self.runs[0])

    def _write_page(self, file: Path) -> None:
        """Write the web page, and keep it up to date with `watch`."""
        from nasbench1shot1.experiments.report_page.writing import write_report_page

        options: dict[str, Any] = {name: getattr(self, name) for name in ("table", "reference", "mark", "allow_module")}
        options |= {name: getattr(self, name) for name in ("spread", "watch", "overwrite")}
        labels = split_labels(self.labels) if len(self.runs) > 1 else self.labels
        written = write_report_page(self.runs, file, labels=labels, **options)
        print_to_stdout(f"Written: {written}")

    def _report(self, folder: Path) -> None:
        """Write and print the report of one run."""
        from nasbench1shot1.black_box_search.record import BlackBoxStudy
        from nasbench1shot1.experiments import reports
        from nasbench1shot1.experiments.correlation import screen
        from nasbench1shot1.experiments.correlation.record import Ranking
        from nasbench1shot1.experiments.correlation.truth import table_of_ranking
        from nasbench1shot1.one_shot_search.group import SearchGroup
        from nasbench1shot1.one_shot_search.record import SearchRecord
        from nasbench1shot1.tuning.record import Study
        from nasbench1shot1.tuning.screen import show_result

        import_trusted(self.allow_module)
        record = open_run(folder)
        if isinstance(record, SearchRecord | SearchGroup):
            self._report_searches(record)
        elif isinstance(record, Ranking):
            self._check_no_spread("a ranking")
            own = default_table({"space": record.config["space"], "table": record.options.table})
            table = table_of_ranking(record.run, record.space, self.table or own, self.reference)
            self._write(record, table, reports.write_ranking_report, screen.show)
        elif isinstance(record, Study):
            self._check_no_spread("a tuning study")
            self._write(record, self._table(record), reports.write_study_report, show_result)
        elif isinstance(record, BlackBoxStudy):
            self._check_no_mark()
            show = partial(_show_black_box, record)
            self._write(record, self._table(record), reports.write_black_box_report, show)
        else:
            raise InvalidInputError(
                f"'{folder}' cannot be scored again: give a search, a group of seeds, a ranking or a study"
            )

    def _check_no_spread(self, what: str) -> None:
        """Raise InvalidInputError if --spread is given for a report without bands."""
        if "spread" in self.named:
            raise InvalidInputError(f"{flag('spread')} does not apply to the report of {what}: remove it")

    def _check_no_mark(self) -> None:
        if self.mark:
            raise InvalidInputError(
                f"{flag('mark')} does not apply to the report of a black-box study: add {flag('html')}, or use "
                "nb1shot1 compare"
            )

    def _table(self, run: "RunRecord") -> "Table":
        return table_of_run(run.search_config, run.folder / CONFIG, self.table, self.reference)

    @property
    def _look(self) -> "Look":
        from nasbench1shot1.experiments.reports import Look

        return Look(self.pictures.file_format, self.pictures.figure_style, self.mark, self.spread)

    def _write(
        self, run: "RunRecord", table: "Table", write: Callable[..., dict[str, Any]], show: Callable[..., None]
    ) -> None:
        """Write the report of a ranking or a study, and print it."""
        out, look = self.out or run.folder / f"report-{table.id}", self._look
        summary = write(run, table, out, look)
        print_to_stdout(f"Table {table.id}")
        show(summary, out, literal_console(), look.format)
        _show_progress(summary)

    def _report_searches(self, record: "SearchRecord | SearchGroup") -> None:
        from nasbench1shot1.experiments.reports import unfinished_text, write_group_report, write_report
        from nasbench1shot1.one_shot_search.group import SearchGroup
        from nasbench1shot1.one_shot_search.record import FIGURE
        from nasbench1shot1.one_shot_search.screen import group_regrets

        if not isinstance(record, SearchGroup):
            self._check_no_spread("a single search")
        runs = _started_runs(record) if isinstance(record, SearchGroup) else [record]
        missing = _missing_text(record, len(runs)) if isinstance(record, SearchGroup) else ""
        for run in runs:
            unfinished_text(run)  # raises for a run without a result
        table, look = self._table(runs[0]), self._look
        out = self.out or record.folder / f"report-{table.id}"
        if isinstance(record, SearchGroup):
            summaries = write_group_report(runs, table, out, look, missing)
        else:
            summaries = [write_report(record, table, out, look)]
        print_to_stdout(f"Table {table.id}")
        for summary in summaries:
            _show(summary, runs[0].config.get("dataset"), table)
            _show_progress(summary)
        for line in group_regrets(runs[0], summaries, table):
            print_to_stdout(line)
        if missing:
            print_to_stdout(f"Not finished: {missing}.")
        print_to_stdout(f"Picture: {out / picture_name(FIGURE, look.format)}")


def _started_runs(group: "SearchGroup") -> "list[Run]":
    """Return the searches of a group that have a result; raises InvalidInputError if there are none."""
    from nasbench1shot1.runs.next_command import resume_command

    if found := [run for run in group.runs if run.lines]:
        return found
    command = resume_command("search", group.folder)
    raise InvalidInputError(f"'{group.folder}' does not contain a result yet: resume it with {command}")


def _missing_text(group: "SearchGroup", started: int) -> str:
    """Return how many seeds of a group have not started; empty if all have."""
    missing = len(group.seeds) - started
    return f"{missing} of {len(group.seeds)} seeds {'has' if missing == 1 else 'have'} not started" if missing else ""


def _show_black_box(
    study: "BlackBoxStudy", summary: Mapping[str, Any], out: Path, console: "Console", format: PictureFormat
) -> None:
    from nasbench1shot1.black_box_search.record import FIGURE
    from nasbench1shot1.black_box_search.summary import result_text

    print_line = line_printer(console)
    print_line(result_text(study.goal, summary, len(study.lines)))
    if summary["test_regret"] is not None:
        print_line(f"Picture: {out / picture_name(FIGURE, format)}")


def _show_progress(summary: Mapping[str, Any]) -> None:
    if "unfinished" in summary:
        print_to_stdout(summary["unfinished"])


def _show(summary: dict[str, Any], dataset: str | None, table: "Table") -> None:
    from nasbench1shot1.one_shot_search.screen import format_regret, other_regrets

    print_to_stdout(f"Seed {summary['seed']}, final architecture: '{summary['architecture']}'")
    others = other_regrets(summary, table)
    where = f" on {dataset}" if dataset and others else ""
    splits: tuple[tuple[str, Literal["test", "validation"]], ...] = (("Test", "test"), ("Validation", "validation"))
    for name, split in splits:
        print_to_stdout(f"{name} regret{where}: {format_regret(summary, split)}")
    for line in others:
        print_to_stdout(line)
