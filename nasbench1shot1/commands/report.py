"""`nb1shot1 report`."""

from dataclasses import dataclass
from pathlib import Path

import tyro


@dataclass(frozen=True)
class Report:
    """Score a finished run anew, without searching again; the run itself stays as it is."""

    folder: tyro.conf.Positional[Path]
    """Folder of the run."""
    table: str | None = None
    """Folder of the table to score it on; the one in use if not given."""
    out: Path | None = None
    """Where metrics.jsonl, summary.json and regret.png go; RUN/report-TABLE if not given."""

    def run(self) -> None:
        """Write the report and print its summary."""
        from rich.console import Console

        from nasbench1shot1.experiments.report import write_report
        from nasbench1shot1.run_record import FIGURE, load_run
        from nasbench1shot1.table import load_table

        run, table = load_run(self.folder), load_table(self.table)
        _ = run.summary  # a run that is not finished says so here
        out = self.out or self.folder / f"report-{table.id}"
        summary = write_report(run, table, out)
        console = Console(highlight=False, soft_wrap=True)
        console.print(f"Table {table.id}")
        console.print(f"Final architecture: {summary['architecture']}")
        for split, measured in (("test", summary["test_measured"]), ("valid", summary["valid_measured"])):
            regret = summary[f"{split}_regret"]
            value = "not in this table" if regret is None else f"{100 * regret:.2f} %"
            console.print(f"{split} regret: {value} ({'measured' if measured else 'predicted'})")
        console.print(f"Picture: {out / FIGURE}")
