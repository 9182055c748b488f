"""`nb1shot1 compare`."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from nasbench1shot1.commands.arguments import split_labels
from nasbench1shot1.commands.options import Positional
from nasbench1shot1.display.options import USUAL_PICTURES, PictureOptions
from nasbench1shot1.display.style import Spread
from nasbench1shot1.ground.errors import InvalidInputError, flag, value_of
from nasbench1shot1.runs.options import Form, Mark, Names, TableName

if TYPE_CHECKING:
    from nasbench1shot1.black_box_search.record import BlackBoxStudy


@dataclass(frozen=True)
class Compare:
    """Compare runs in one figure, with intervals, rank tests, and tables for a paper.

    Runs can be searches, groups of seeds (search --seeds), black-box studies and tuning studies, and need not be
    finished. Runs on different spaces, data sets, tables or scales have separate panels and tables. See
    docs/compare.md.
    """

    runs: Annotated[Positional[tuple[Path, ...]], Form("RUN …", "(required without --csv)")] = ()
    """Folders of the runs; at most ten on each space and data set."""
    csv: Annotated[str | None, Form("FILE[:LABEL]", repeats=True)] = None
    """Trainings that another program recorded: a CSV file, or a file of Optuna, SMAC, Syne Tune, NePS or hpbandster.
    May be given several times. The architectures are looked up in --table. See docs/trajectories.md."""
    space: Annotated[str | None, Names("search_spaces", "your own as module:object")] = None
    """Search space of --csv. Default: the space of the first run."""
    epochs: int | None = None
    """Number of epochs of the trainings in --csv, for files that do not record it. Default: the same as for blackbox on
    the space."""
    labels: tuple[str, ...] | None = None
    """Labels of the runs, then of the files in --csv, separated by spaces or commas. Runs with equal labels on
    different spaces or data sets are runs of one method. Default: the names of the optimizers."""
    out: Path = Path("comparison")
    """Folder for figures, tables and texts. It must not exist or must hold only an earlier comparison."""
    over: Literal["epochs", "search-time", "simulated-time", "evaluations"] | None = None
    """Horizontal axis. Studies support simulated-time; black-box studies also evaluations. Default: simulated-time if
    any run is a study (evaluations if its table has no training times), otherwise epochs."""
    accuracies: bool = False
    """Compare searches by the accuracy of their architectures on every data set of the table, instead of regret."""
    table: TableName | None = None
    """Folder or name of the table on which all architectures are scored. Default: the recorded regrets."""
    mark: Mark | None = None
    """Networks whose test regret is drawn as a horizontal line: reference points, such as 'ResNet cell' on
    nb201 or 'ResNet-like cell' on s1, or architectures."""
    allow_module: str | None = None
    """Module that may be imported because the config.json of a run names it. Importing a module runs its code."""
    pictures: PictureOptions = USUAL_PICTURES
    """How the figure looks."""
    spread: Spread = "ci"
    """What the bands show. ci: 95 % confidence interval of the mean, or the range of fewer than six runs;
    std: standard deviation."""

    def run(self) -> None:
        """Compare the runs, write the files and print the tables."""
        from nasbench1shot1.experiments.comparison.comparing import compare_tasks
        from nasbench1shot1.experiments.comparison.output import check_out, show, write_comparison
        from nasbench1shot1.ground.text import literal_console

        if self.labels and not self.runs and not self.csv:
            raise InvalidInputError(
                f"no run is given, because {value_of('labels')} takes all words that follow it: give the runs first, "
                f"or join the labels with commas, such as {flag('labels')} A,B"
            )
        for name in ("space", "epochs"):
            if getattr(self, name) is not None and not self.csv:
                raise InvalidInputError(f"{flag(name)} applies to {flag('csv')}: add {flag('csv')}, or remove it")
        format, style = self.pictures.file_format, self.pictures.figure_style
        check_out(self.out)
        if self.accuracies:
            self._compare_accuracies()
            return
        found = compare_tasks(
            (*self.runs, *self._trajectories()),
            split_labels(self.labels),
            self.over,
            table=self.table if self.runs else None,
            allow_module=self.allow_module,
            spread=self.spread,
            mark=self.mark,
        )
        show(found, write_comparison(found, self.out, format, style), literal_console())

    def _trajectories(self) -> "list[BlackBoxStudy]":
        """Return the studies of the files in `csv`; space, table and data set default to the first run's."""
        from nasbench1shot1.experiments.comparison.opening import open_entries
        from nasbench1shot1.ground.files import as_path
        from nasbench1shot1.registry import check_trusted, import_trusted
        from nasbench1shot1.runs.folder import CONFIG
        from nasbench1shot1.trajectories.files import study_from

        if not self.csv:
            return []
        import_trusted(self.allow_module)
        if not self.runs and self.space is None:
            raise InvalidInputError(f"the search space is unknown: give {flag('space')}, or a run to compare with")
        first: dict[str, Any] = {}
        if self.runs:
            first = open_entries(self.runs[:1])[0].run.search_config
            check_trusted("search_spaces", "space", first["space"], self.runs[0] / CONFIG)
        options: dict[str, Any] = {name: first.get(name) for name in ("space", "table", "dataset", "reference")}
        given = {name: getattr(self, name) for name in ("space", "table", "epochs")}
        options |= {name: value for name, value in given.items() if value is not None}
        files = [_with_label(text) for text in self.csv.split(",")]
        if missing := [file for file, _ in files if "," in self.csv and not Path(file).exists()]:
            raise InvalidInputError(
                f"'{missing[0]}' does not exist: a comma in {flag('csv')} separates two files, so use other characters "
                "in labels and names"
            )
        return [study_from(as_path(file, "csv", is_option=True), name=label, **options) for file, label in files]

    def _compare_accuracies(self) -> None:
        from nasbench1shot1.experiments.comparison.accuracies import compare_accuracies, write_accuracies
        from nasbench1shot1.ground.text import literal_console

        for name in ("over", "mark", "csv"):
            if getattr(self, name) is not None:
                raise InvalidInputError(f"{flag(name)} does not apply to {flag('accuracies')}: remove one of them")
        found = compare_accuracies(
            self.runs, split_labels(self.labels), table=self.table, allow_module=self.allow_module, spread=self.spread
        )
        format, style = self.pictures.file_format, self.pictures.figure_style
        found.show(literal_console(), write_accuracies(found, self.out, format, style))


def _with_label(text: str) -> tuple[str, str]:
    """Return file and label of FILE[:LABEL].

    By default, the label is the name of the file, without suffixes unless this is the name of an optimizer.
    """
    from nasbench1shot1.registry import names

    file, colon, label = text.rpartition(":")
    if colon and not Path(text).exists():
        return file, label
    name = Path(text).name
    plain = name.partition(".")[0]
    is_taken = plain in (*names("optimizers"), *names("black_box_optimizers"))
    return text, name if is_taken or not plain else plain
