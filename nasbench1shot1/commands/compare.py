"""`nb1shot1 compare`."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from nasbench1shot1.commands.options import Positional
from nasbench1shot1.display.style import PictureStyle, Spread
from nasbench1shot1.ground.errors import InvalidInputError, flag, value_of
from nasbench1shot1.ground.files import PictureFormat
from nasbench1shot1.runs.options import Form, Mark, TableName


@dataclass(frozen=True)
class Compare:
    """Compare runs in one figure, with a table and rank tests.

    Runs can be searches, groups of seeds (search --seeds), black-box studies and tuning studies. They must share one
    search space, data set and table, and need not be finished. See docs/compare.md.
    """

    runs: Annotated[Positional[tuple[Path, ...]], Form("RUN …", "(required)")] = ()
    """Folders of the runs; at most ten."""
    labels: tuple[str, ...] | None = None
    """Labels of the runs, separated by spaces or commas. Default: the names of the optimizers."""
    out: Path = Path("comparison")
    """Folder for the figure and the CSV files. It must not exist or must hold only an earlier comparison."""
    over: Literal["epochs", "search-time", "simulated-time", "evaluations"] | None = None
    """Horizontal axis. Studies support simulated-time; black-box studies also evaluations. Default: simulated-time if
    any run is a study (evaluations if its table has no training times), otherwise epochs."""
    accuracies: bool = False
    """Compare searches by the accuracy of their architectures on every data set of the table, instead of regret."""
    table: TableName | None = None
    """Folder or name of the table on which all architectures are scored. Default: the recorded regrets."""
    mark: Mark | None = None
    """Networks whose test regret is drawn as a horizontal line: reference points such as 'ResNet cell', or
    architectures."""
    allow_module: str | None = None
    """Module that may be imported because the config.json of a run names it. Importing a module runs its code."""
    format: PictureFormat = "png"
    """File format of the figure."""
    spread: Spread = "ci"
    """What the bands show. ci: 95 % confidence interval of the mean (bootstrap); std: standard deviation."""
    style: PictureStyle = "screen"
    """Style of the figure. paper: no title or caption, as wide as a column, embedded fonts."""

    def run(self) -> None:
        """Compare the runs, write the files and print the tables."""
        from nasbench1shot1.experiments.comparison.comparing import compare_runs
        from nasbench1shot1.experiments.comparison.output import check_out, show, write_comparison
        from nasbench1shot1.ground.text import literal_console

        if self.labels and not self.runs:
            raise InvalidInputError(
                f"no run is given, because {value_of('labels')} takes all words that follow it: give the runs first, "
                f"or join the labels with commas, such as {flag('labels')} A,B"
            )
        check_out(self.out)
        if self.accuracies:
            self._compare_accuracies()
            return
        found = compare_runs(
            self.runs,
            self._labels,
            self.over,
            table=self.table,
            allow_module=self.allow_module,
            spread=self.spread,
            mark=self.mark,
        )
        show(found, write_comparison(found, self.out, self.format, self.style), literal_console())

    @property
    def _labels(self) -> Sequence[str] | None:
        return self.labels[0].split(",") if self.labels and len(self.labels) == 1 else self.labels

    def _compare_accuracies(self) -> None:
        from nasbench1shot1.experiments.comparison.accuracies import compare_accuracies, write_accuracies
        from nasbench1shot1.ground.text import literal_console

        for name in ("over", "mark"):
            if getattr(self, name) is not None:
                raise InvalidInputError(f"{flag(name)} does not apply to {flag('accuracies')}: remove one of them")
        found = compare_accuracies(
            self.runs, self._labels, table=self.table, allow_module=self.allow_module, spread=self.spread
        )
        found.show(literal_console(), write_accuracies(found, self.out, self.format, self.style))
