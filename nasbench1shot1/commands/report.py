"""`nb1shot1 report`."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from nasbench1shot1.commands.options import Positional
from nasbench1shot1.display.style import PictureStyle, Spread
from nasbench1shot1.ground.errors import InvalidInputError
from nasbench1shot1.ground.files import PictureFormat, picture_name
from nasbench1shot1.ground.text import print_to_stdout
from nasbench1shot1.runs.options import Form, Mark, TableName
from nasbench1shot1.tables.references import Reference

if TYPE_CHECKING:
    from nasbench1shot1.one_shot_search.group import SearchGroup
    from nasbench1shot1.one_shot_search.record import Run
    from nasbench1shot1.tables.table import Table


@dataclass(frozen=True)
class Report:
    """Score a search, the searches of several seeds, a ranking or a tuning study on a table, without
    searching again.

    The recorded results are not changed. For an unfinished run, the report shows what has been recorded so far.
    """

    folder: Annotated[Positional[Path], Form("RUN")]
    """The folder of a search, of the searches of several seeds, of a ranking, or of a tuning study."""
    table: TableName | None = None
    """Folder or name of the table to score the run on. Default: the table in use."""
    reference: Reference | None = None
    """Reference of the regret. present: the best network in the table, even if the table lacks part of the space.
    Default: the run's option."""
    mark: Mark | None = None
    """Networks to mark in the pictures: reference points such as 'ResNet cell', or architectures. Their regrets are
    horizontal lines; in the scatter plot of a ranking, evaluated networks are points."""
    allow_module: str | None = None
    """Module that may be imported because the run's config.json names it. Importing a module runs its code."""
    out: Path | None = None
    """Folder for the summary, the values and the pictures. Default: FOLDER/report-TABLE."""
    format: PictureFormat = "png"
    """File format of the pictures."""
    spread: Spread = "ci"
    """What the bands of several seeds show. ci: 95 % confidence interval of the mean (bootstrap); std: standard
    deviation."""
    style: PictureStyle = "screen"
    """Style of the pictures. paper: no title or caption, as wide as a column, embedded fonts."""

    def run(self) -> None:
        """Write the report and print its summary."""
        from nasbench1shot1.experiments.reports import unfinished_text, write_group_report, write_report
        from nasbench1shot1.one_shot_search.group import SearchGroup
        from nasbench1shot1.one_shot_search.record import FIGURE, SearchRecord
        from nasbench1shot1.one_shot_search.screen import group_regrets
        from nasbench1shot1.registry import import_trusted, table_of_run
        from nasbench1shot1.runs.folder import CONFIG
        from nasbench1shot1.runs.opening import open_run

        import_trusted(self.allow_module)
        record = open_run(self.folder)
        if not isinstance(record, SearchRecord | SearchGroup):
            self._report_other(record)
            return
        several = isinstance(record, SearchGroup)
        runs = _started_runs(record) if isinstance(record, SearchGroup) else [record]
        missing = _missing_text(record, len(runs)) if isinstance(record, SearchGroup) else ""
        for run in runs:
            unfinished_text(run)  # raises for a run without a result
        table = table_of_run(runs[0].config, runs[0].folder / CONFIG, self.table, self.reference)
        out = self.out or self.folder / f"report-{table.id}"
        if several:
            summaries = write_group_report(runs, table, out, self.format, missing, self.spread, self.style, self.mark)
        else:
            summaries = [write_report(runs[0], table, out, self.format, self.style, self.mark)]
        print_to_stdout(f"Table {table.id}")
        for summary in summaries:
            _show(summary, runs[0].config.get("dataset"), table)
            if "unfinished" in summary:
                print_to_stdout(summary["unfinished"])
        for line in group_regrets(runs[0], summaries, table):
            print_to_stdout(line)
        if missing:
            print_to_stdout(f"Not finished: {missing}.")
        print_to_stdout(f"Picture: {out / picture_name(FIGURE, self.format)}")

    def _report_other(self, run: Any) -> None:
        """Write and print the report of a ranking or a tuning study."""
        from nasbench1shot1.experiments.correlation.record import Ranking
        from nasbench1shot1.experiments.correlation.screen import show
        from nasbench1shot1.experiments.correlation.truth import table_of_ranking
        from nasbench1shot1.experiments.reports import write_ranking_report, write_study_report
        from nasbench1shot1.ground.text import literal_console
        from nasbench1shot1.registry import table_of_run
        from nasbench1shot1.runs.folder import CONFIG
        from nasbench1shot1.tuning.record import Study
        from nasbench1shot1.tuning.screen import show_result

        if not isinstance(run, Ranking | Study):
            raise InvalidInputError(
                f"'{self.folder}' cannot be scored again: give a search, a group of seeds, a ranking or a tuning study"
            )
        if isinstance(run, Ranking):
            table = table_of_ranking(run.run, run.space, self.table or run.space.table)
            out = self.out or self.folder / f"report-{table.id}"
            summary, show_summary = write_ranking_report(run, table, out, self.format, self.style, self.mark), show
        else:
            recorded = {"space": run.config["space"], "reference": run.shared_options["reference"]}
            table = table_of_run(recorded, self.folder / CONFIG, self.table, self.reference)
            out = self.out or self.folder / f"report-{table.id}"
            summary, show_summary = write_study_report(run, table, out, self.format, self.style, self.mark), show_result
        print_to_stdout(f"Table {table.id}")
        show_summary(summary, out, literal_console(), self.format)
        if "unfinished" in summary:
            print_to_stdout(summary["unfinished"])


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


def _show(summary: dict[str, Any], dataset: str | None, table: "Table") -> None:
    from nasbench1shot1.one_shot_search.screen import format_regret, other_regrets

    print_to_stdout(f"Seed {summary['seed']}, final architecture: '{summary['architecture']}'")
    others = other_regrets(summary, table)
    where = f" on {dataset}" if dataset and others else ""
    splits: tuple[tuple[str, Literal["test", "validation"]], ...] = (("Test", "test"), ("Validation", "validation"))
    for name, split in splits:
        print_to_stdout(f"{name} regret{where}: {format_regret(summary, split, table, dataset)}")
    for line in others:
        print_to_stdout(line)
