"""Accuracies of compared searches on every data set of their table, for `nb1shot1 compare --accuracies`."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table as Screen

from nasbench1shot1.display.axes import save_figure
from nasbench1shot1.display.canvas import Canvas
from nasbench1shot1.display.colours import MOST_BANDS, curve_styles
from nasbench1shot1.display.curves import checked_spread, describe_band
from nasbench1shot1.display.style import AnyStyle, Spread
from nasbench1shot1.experiments.accuracies import SHOWN, Accuracies
from nasbench1shot1.experiments.comparison.entries import Entry, SearchEntry
from nasbench1shot1.experiments.comparison.opening import check_comparable, labels_of, open_entries
from nasbench1shot1.experiments.comparison.sentences import NO_BANDS, row_name, unfinished_text
from nasbench1shot1.experiments.rescoring import recorded_table
from nasbench1shot1.ground.errors import InvalidInputError, option, switch
from nasbench1shot1.ground.files import PictureFormat, atomic_folder
from nasbench1shot1.ground.text import line_printer, print_table
from nasbench1shot1.registry import import_trusted
from nasbench1shot1.tables.table import Table, load_table

if TYPE_CHECKING:
    from nasbench1shot1.display.axes import Figure

NAME = "accuracies"


@dataclass(frozen=True, eq=False)
class AccuracyComparison:
    """The accuracies of searches and groups of seeds.

    Attributes:
        accuracies: the accuracies by label.
        entries: the runs by label; their optimizers determine colours.
    """

    accuracies: Accuracies
    entries: Mapping[str, Entry]

    @property
    def labels(self) -> dict[str, str]:
        """The names of the runs in tables and legends by label, the key of the accuracies."""
        return {label: row_name(label, entry) for label, entry in self.entries.items()}

    def markdown(self) -> str:
        """Return the table of the final architectures in Markdown (`Accuracies.markdown`)."""
        return self.accuracies.markdown(self.labels, unfinished_text(self.entries))

    def draw(self, style: AnyStyle | None = None) -> "Figure":
        """Return a picture of the accuracies over epochs, with a panel for every data set and split."""
        found = self.accuracies
        looks = curve_styles([entry.optimizer for entry in self.entries.values()])
        styles = dict(zip(self.entries, looks, strict=True))
        counts = [len(runs) for runs in found.runs.values()]
        has_band, is_mean = len(found.runs) <= MOST_BANDS, max(counts) > 1
        columns = len(found.places)
        with Canvas(1, columns, panel=(max(3.0, 8 / columns), 3.4), style=style, wraps=True) as canvas:
            found.draw_by_epoch(canvas, styles)
            about = [SHOWN, "" if has_band or not is_mean else NO_BANDS, found.missing_text]
            caption = "\n".join(filter(None, [*about, f"table {found.table.id}", unfinished_text(self.entries)]))
            progress = ["" if entry.progress is None else ", unfinished" for entry in self.entries.values()]
            texts = [f"{label} (n = {n:,}{now})" for label, n, now in zip(styles, counts, progress, strict=True)]
            legend = dict(zip(texts, looks, strict=True))
            band = describe_band(found.spread, counts) if has_band else ""
            return canvas.finish("Accuracy on every data set of the table", caption, legend=legend, band=band)

    def show(self, console: Console, files: Sequence[Path]) -> None:
        """Print the table of the final architectures, and the paths of the written files."""
        found, print_line = self.accuracies, line_printer(console)
        screen = Screen(title=f"Accuracy of the final architectures, {found.final_source}", title_justify="left")
        for number, heading in enumerate(found.HEADINGS):
            screen.add_column(heading, justify="right" if number > 1 else "left")
        for row in found.screen_rows(self.labels):
            screen.add_row(*row)
        print_table(screen, console)
        for line in filter(None, [found.missing_text, f"Table {found.table.id}", unfinished_text(self.entries)]):
            print_line(line)
        for file in files:
            print_line(f"Written: {file}")


def compare_accuracies(
    runs: Iterable[Any],
    labels: Sequence[str] | None = None,
    *,
    table: str | Path | Table | None = None,
    allow_module: str | None = None,
    spread: Spread | None = None,
) -> AccuracyComparison:
    """Return the accuracies of searches and groups of seeds on every data set of their table.

    The recorded architectures are looked up in the table. Arguments and errors are as in `comparing.compare`, and:

    Raises:
        InvalidInputError: a run is a study, or its table cannot be opened.
        OutOfDomainError: the table lacks an architecture, or the accuracies of all of them.
    """
    import_trusted(allow_module)
    entries = open_entries(runs)
    names = labels_of(entries, labels)
    searches = {name: _searches(entry) for name, entry in zip(names, entries, strict=True)}
    check_comparable(entries, table is not None)
    found = (
        recorded_table(entries[0].run) if table is None else table if isinstance(table, Table) else load_table(table)
    )
    if found is None:
        raise InvalidInputError(f"the table of '{entries[0].folder}' is not available: give one with {option('table')}")
    accuracies = Accuracies(searches, found, checked_spread(spread))
    return AccuracyComparison(accuracies, dict(zip(names, entries, strict=True)))


def _searches(entry: Entry) -> Sequence[Any]:
    if not isinstance(entry, SearchEntry):
        raise InvalidInputError(
            f"{switch('accuracies')} does not apply to '{entry.folder}' ({entry.kind}): give only searches and "
            "groups of seeds"
        )
    if found := [run for run in entry.runs if run.shared_lines]:
        return found
    raise entry.no_result_error()


def write_accuracies(
    comparison: AccuracyComparison, out: Path, suffix: PictureFormat = "png", style: AnyStyle | None = None
) -> list[Path]:
    """Write the picture, both tables as CSV, and the table of the final architectures in Markdown; return the paths.

    Either all files are written or none. An earlier comparison in the folder is replaced.

    Raises UserError if the folder cannot be written, or the disk is full.
    """
    found = comparison.accuracies
    with atomic_folder(out) as folder:
        drawn = save_figure(comparison.draw(style), folder / f"{NAME}.{suffix}", data=False)  # see by_epoch below
        published = ["published_mean", "published_std"]
        found.final().drop(columns=published).to_csv(folder / f"{NAME}.csv", index=False)
        found.by_epoch().to_csv(folder / f"{NAME}-by-epoch.csv", index=False)
        (folder / f"{NAME}.md").write_text(comparison.markdown(), encoding="utf-8")
    return [
        out / name for name in (*(path.name for path in drawn), f"{NAME}.csv", f"{NAME}-by-epoch.csv", f"{NAME}.md")
    ]
