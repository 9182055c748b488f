"""`nb1shot1 compare`."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import tyro


@dataclass(frozen=True)
class Compare:
    """Compare runs in one figure, with a table and rank tests.

    Runs are searches, groups of seeds (search --seeds), black-box studies and tuning studies, finished or not, on one
    search space, data set and table. See docs/compare.md.
    """

    runs: Annotated[
        tyro.conf.Positional[tuple[Path, ...]], tyro.conf.arg(metavar="RUN …", help_behavior_hint="(required)")
    ] = ()
    """Folders of the runs; at most ten."""
    labels: str | None = None
    """Labels of the runs, separated by commas. Default: the names of the optimizers."""
    out: Path = Path("comparison")
    """Folder of the figure and the CSV files. It must not exist, or hold only an earlier comparison."""
    over: Literal["epochs", "search-time", "simulated-time"] | None = None
    """Horizontal axis. Studies have only simulated time. Default: simulated-time if a study is given, else epochs."""
    table: str | None = None
    """Folder or name of the table to score all architectures on. Default: the recorded regrets."""
    allow_module: str | None = None
    """Module that may be imported because the config.json of a run names it. Importing a module runs its code."""
    format: Literal["png", "svg", "pdf"] = "png"
    """File format of the figure."""

    def run(self) -> None:
        """Compare, write the files and print the tables."""
        from nasbench1shot1.experiments.comparison.comparing import compare_runs
        from nasbench1shot1.experiments.comparison.screen import show
        from nasbench1shot1.experiments.comparison.writing import check_out, write_comparison
        from nasbench1shot1.wording import literal_console

        check_out(self.out)
        labels = None if self.labels is None else self.labels.split(",")
        found = compare_runs(self.runs, labels, self.over, table=self.table, allow_module=self.allow_module)
        show(found, write_comparison(found, self.out, self.format), literal_console())
