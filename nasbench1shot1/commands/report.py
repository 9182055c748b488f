"""`nb1shot1 report`."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro

from nasbench1shot1.errors import InvalidInputError
from nasbench1shot1.runs.options import Form, TableName
from nasbench1shot1.tables.coverage import Reference


@dataclass(frozen=True)
class Report:
    """Score a finished search, the searches of several seeds, a ranking or a study on a table, without searching again.

    The recorded results are not changed.
    """

    folder: Annotated[tyro.conf.Positional[Path], Form("RUN")]
    """Folder of a search, of the searches of several seeds, of a ranking, or of a study."""
    table: TableName | None = None
    """Folder or name of the table to score the run on. Default: the table in use."""
    reference: Reference | None = None
    """Reference of the regret. present: the best network in the table, even if the table lacks part of the space.
    Default: the run's option."""
    allow_module: str | None = None
    """Module that may be imported because the run's config.json names it. Importing a module runs its code."""
    out: Path | None = None
    """Folder for the summary, the values and the pictures. Default: FOLDER/report-TABLE."""

    def run(self) -> None:
        """Write the report and print its summary."""
        from nasbench1shot1.experiments.rescoring import write_group_report, write_report
        from nasbench1shot1.named_data import table_of_run
        from nasbench1shot1.one_shot_search.folder import FIGURE
        from nasbench1shot1.one_shot_search.group import SearchGroup
        from nasbench1shot1.one_shot_search.search_record import SearchRecord
        from nasbench1shot1.registry import allow
        from nasbench1shot1.runs.folder import CONFIG
        from nasbench1shot1.runs.opening import open_run

        allow(self.allow_module)
        record = open_run(self.folder)
        if not isinstance(record, SearchRecord | SearchGroup):
            self._report_other()
            return
        several = isinstance(record, SearchGroup)
        runs = [record.run(seed) for seed in record.seeds] if isinstance(record, SearchGroup) else [record]
        table = table_of_run(runs[0].config, runs[0].folder / CONFIG, self.table, self.reference)
        _ = [run.summary for run in runs]  # a run that is not finished says so here
        out = self.out or self.folder / f"report-{table.id}"
        summaries = write_group_report(runs, table, out) if several else [write_report(runs[0], table, out)]
        print(f"Table {table.id}")
        for summary in summaries:
            _show(summary)
        print(f"Picture: {out / FIGURE}")

    def _report_other(self) -> None:
        """Write and print the report of a ranking or a study."""
        from nasbench1shot1.experiments.correlation.record import Ranking
        from nasbench1shot1.experiments.correlation.screen import show
        from nasbench1shot1.experiments.correlation.truth import table_of_ranking
        from nasbench1shot1.experiments.rescoring import write_ranking_report, write_study_report
        from nasbench1shot1.named_data import table_of_run
        from nasbench1shot1.runs.folder import CONFIG
        from nasbench1shot1.runs.opening import open_run
        from nasbench1shot1.tuning.record import Study
        from nasbench1shot1.tuning.screen import conclude
        from nasbench1shot1.wording import literal_console

        run = open_run(self.folder)
        if not isinstance(run, Ranking | Study):
            raise InvalidInputError(
                f"'{self.folder}' cannot be scored again: give a search, a group of seeds, a ranking or a tuning study"
            )
        if isinstance(run, Ranking):
            table = table_of_ranking(run.run, run.space, self.table or run.space.table)
            out = self.out or self.folder / f"report-{table.id}"
            summary, tell = write_ranking_report(run, table, out), show
        else:
            recorded = {"space": run.config["space"], "reference": run.shared_options.get("reference")}
            table = table_of_run(recorded, self.folder / CONFIG, self.table, self.reference)
            out = self.out or self.folder / f"report-{table.id}"
            summary, tell = write_study_report(run, table, out), conclude
        print(f"Table {table.id}")
        tell(summary, out, literal_console())


def _show(summary: dict[str, Any]) -> None:
    from nasbench1shot1.one_shot_search.screen import regret_text

    print(f"Seed {summary['seed']}, final architecture: '{summary['architecture']}'")
    splits: tuple[tuple[str, Literal["test", "validation"]], ...] = (("Test", "test"), ("Validation", "validation"))
    for name, split in splits:
        is_measured = summary[f"{split}_measured"]
        print(f"{name} regret: {regret_text(summary, split)}{' (measured)' if is_measured else ''}")
