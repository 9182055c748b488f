"""`nb1shot1 statistics`."""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from nasbench1shot1.commands.options import Positional
from nasbench1shot1.display.options import USUAL_PICTURES, PictureOptions
from nasbench1shot1.ground.text import print_to_stdout
from nasbench1shot1.runs.options import Form, Mark, Range, TableName

if TYPE_CHECKING:
    from nasbench1shot1.experiments.space_statistics.analysis import Analysis
    from nasbench1shot1.tables.table import Table


@dataclass(frozen=True)
class Statistics:
    """Run the analyses of a table's benchmark on the table. Each analysis writes a CSV file and a picture.

    All benchmarks: pareto-fronts. NAS-Bench-101 and NAS-Bench-1Shot1: error-distribution, accuracy-distribution,
    noise-distribution, cost, operation-replacement, depth-and-width, budget-correlation, autocorrelation,
    fitness-distance, isomorphic-copies, mini-against-full, top-volume. NAS-Bench-201: accuracy-by-parameters,
    accuracy-by-flops, dataset-ranks, correlation-matrix, short-training-ranks, known-cells, schedule-correlation,
    latency-fronts. NATS-Bench's size space: accuracy-by-width, known-architectures, and the first five analyses of
    NAS-Bench-201. NAS-Bench-201 and the size space, with the table of an official archive: ranks-along-training,
    learning-curves. Only measurements are used, unless --predicted is given.
    """

    names: Annotated[
        Positional[tuple[str, ...]],
        Form("[ANALYSIS …]", "(default: all)"),
    ] = ()
    """Names of the analyses."""
    table: TableName | None = None
    """Folder or name of the table, such as nb101-sample (measured cells), nb201 or nats-size. Default: the table in
    use."""
    out: Path | None = None
    """Folder of the results. Default: statistics/TABLE."""
    dataset: str | None = None
    """Data set to analyse, such as cifar10 (only for analyses of NAS-Bench-101). Default: the table's only data set."""
    split: Literal["test", "validation"] | None = None
    """Accuracy to analyse. Default: the paper's choice if it is measured, else validation."""
    space: str | None = None
    """Choice-block space in which autocorrelation walks at random, such as s1. Default: all encodings."""
    kind: Literal["all", "unique_skip_connect", "unique"] | None = None
    """Architectures to analyse (NAS-Bench-201): all, or one for each topology. Default: all."""
    mark: Mark | None = None
    """Networks to mark in pareto-fronts, accuracy-by-parameters, accuracy-by-flops, latency-fronts, cost,
    accuracy-distribution and error-distribution: reference points such as 'ResNet cell', or architectures. Default:
    the first reference point, except in the two distributions."""
    predicted: bool = False
    """Use the table's estimates where measurements are missing; every figure then states this."""
    seed: Annotated[int, Range(0)] = 0
    """Random seed of autocorrelation and top-volume."""
    pictures: PictureOptions = USUAL_PICTURES
    """How the pictures look."""
    allow_module: str | None = None
    """Module to import for a table of your own benchmark; several are separated by commas. Importing a module runs its
    code."""

    def run(self) -> None:
        """Run the analyses, write and print the results; raises UserError if none could be run."""
        from nasbench1shot1.experiments.space_statistics.catalogue import analyses_of, check_options, check_out
        from nasbench1shot1.ground.errors import UserError
        from nasbench1shot1.ground.files import write_json
        from nasbench1shot1.ground.progress import show_step
        from nasbench1shot1.ground.text import literal_console
        from nasbench1shot1.registry import import_trusted
        from nasbench1shot1.runs.folder import SUMMARY
        from nasbench1shot1.tables.table import load_table

        self.pictures.with_checked_pictures()
        import_trusted(self.allow_module)
        table = load_table(self.table)
        analyses, asked = analyses_of(table, self.names), self._given_options()
        check_options(analyses, table, {name: value not in (None, False) for name, value in asked.items()})
        out = self.out or Path("statistics") / table.id
        check_out(out)
        answers, refusals, console = {}, {}, literal_console()
        for number, (name, analysis) in enumerate(analyses.items(), start=1):
            try:
                with show_step(console, f"{name} ({number} of {len(analyses)})"):
                    answers[name] = self._answer(name, analysis, table, out)
            except UserError as refusal:
                refusals[name] = refusal.for_command_line
        if not answers:
            raise UserError("; ".join(dict.fromkeys(refusals.values())))
        now = {"table": table.id, "asked": {**asked, "seed": self.seed}, "answers": answers, "refusals": refusals}
        write_json(out / SUMMARY, _with_earlier(_without_nan(now), out / SUMMARY))
        _show(table, answers, refusals, out)

    def _given_options(self) -> dict[str, Any]:
        """Return the options that only some analyses take."""
        given = {"split": self.split, "space": self.space, "kind": self.kind, "predicted": self.predicted}
        if self.dataset is not None:
            given["dataset"] = self.dataset
        return {**given, "mark": list(self.mark)} if self.mark else given

    def _answer(self, name: str, analysis: "Analysis", table: "Table", out: Path) -> dict[str, Any]:
        """Run an analysis, write its CSV file and its picture, and return its headline and attributes."""
        from nasbench1shot1.display.axes import save_figure

        frame = analysis.run(table, seed=self.seed, **self._given_options())
        drawn = analysis.draw(frame, style=self.pictures.figure_style)
        save_figure(drawn.figure, out / f"{name}.{self.pictures.file_format}", data=frame)
        return {"headline": analysis.headline(frame), **{str(name): value for name, value in frame.attrs.items()}}


def _with_earlier(now: dict[str, Any], path: Path) -> dict[str, Any]:
    """Return a summary with the other results of an earlier one, if it has the same table and options."""
    from nasbench1shot1.ground.errors import UserError
    from nasbench1shot1.ground.files import read_json

    try:
        earlier = read_json(path) if path.is_file() else None
    except UserError:  # a damaged file is replaced
        return now
    if not isinstance(earlier, dict) or any(earlier.get(name) != now[name] for name in ("table", "asked")):
        return now
    if not all(isinstance(earlier.get(name), dict) for name in ("answers", "refusals")):
        return now
    answers = {**earlier["answers"], **now["answers"]}
    refusals = {**earlier["refusals"], **now["refusals"]}
    return {**now, "answers": answers, "refusals": {name: of for name, of in refusals.items() if name not in answers}}


def _show(table: "Table", answers: dict[str, dict[str, Any]], refusals: dict[str, str], out: Path) -> None:
    from rich.table import Column
    from rich.table import Table as Screen

    from nasbench1shot1.ground.text import literal_console, print_table

    columns = Column("analysis", no_wrap=True), "result"
    screen = Screen(*columns, title=f"table {table.id}", title_justify="left", show_lines=True)
    for name, answer in answers.items():
        kind = "predicted" if answer["predicted"] else "measured"
        rows = f"{answer['rows']:,} {kind} {answer.get('unit', 'rows')}, {answer['quantity']}"
        screen.add_row(name, f"{answer['headline']}\n{rows}")
    print_table(screen, literal_console())
    for name, sentence in refusals.items():
        print_to_stdout(f"Skipped {name}: {sentence}")
    print_to_stdout(f"Written to {out}")


def _without_nan(value: Any) -> Any:
    """Replace NaN by None, because JSON has no NaN: the correlation of a constant column becomes null."""
    if isinstance(value, dict):
        return {key: _without_nan(of_key) for key, of_key in value.items()}
    if isinstance(value, (list, tuple)):
        return [_without_nan(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
