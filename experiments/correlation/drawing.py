"""Plots of a ranking: rank correlation by search epoch (the paper's Figure 3), and true against one-shot errors."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np
import pandas
from numpy.typing import NDArray

from nasbench1shot1.display.axes import checked_axes
from nasbench1shot1.display.axis import Axis
from nasbench1shot1.display.charts import Mark, Panel, Series, Zero, draw_panels, shifts
from nasbench1shot1.display.colours import BLUE, VERMILION, Colors
from nasbench1shot1.display.marked_networks import marked
from nasbench1shot1.display.style import AnyStyle
from nasbench1shot1.experiments.correlation.analysis import Predictions, compute_correlations, correlations_so_far
from nasbench1shot1.experiments.correlation.recomputed import recorded_table
from nasbench1shot1.experiments.correlation.record import Ranking
from nasbench1shot1.experiments.correlation.truth import (
    Truth,
    place_per_budget,
    rows_at,
    rows_of_all,
    table_of_ranking,
    truth_fields,
)
from nasbench1shot1.ground.arguments import whole_number
from nasbench1shot1.ground.errors import InvalidInputError, option, unknown_name
from nasbench1shot1.ground.text import counted
from nasbench1shot1.reference_points import Asked, reference_points
from nasbench1shot1.runs.opening import open_run
from nasbench1shot1.runs.record import no_result_error
from nasbench1shot1.tables.columns import source_text

if TYPE_CHECKING:
    from nasbench1shot1.display.axes import Axes, DrawnAxes
    from nasbench1shot1.tables.table import Table

X_LABELS = {"error": "one-shot error [%]", "loss": "one-shot cross-entropy loss [nats]"}
SHOWN, FEW = 0.99, 500
"""Fraction of the true errors that the scatter plot covers, because a few networks fail to train."""


def draw_ranking(
    ranking: Ranking | str | Path,
    ax: "Axes | None" = None,
    *,
    epoch: int | None = None,
    predictor: str = "error",
    style: AnyStyle | None = None,
    colors: Colors | None = None,
    labels: Sequence[str] | str | None = None,
    mark: Iterable[Asked] | None = None,
) -> "DrawnAxes":
    """Draw how well one-shot errors predict true errors, for an unfinished ranking as far as it is evaluated.

    By default, Spearman's ρ is drawn over the search epochs, with one line per training budget of the true errors and
    95 % bootstrap intervals as vertical bars (Figure 3 of NAS-Bench-1Shot1).

    Args:
        ranking: the ranking, as `nb.correlate` returns it, or its folder.
        ax: the axes to draw on. Default: the axes of a new figure that is not registered with pyplot.
        epoch: if given, draw the true error of every architecture against its one-shot error after this search epoch.
        predictor: "error" for one-shot errors, or "loss" for one-shot losses.
        style: "screen" (default), "paper" (without title and caption, as wide as a column or a page), "dark", an
            `nb.FigureStyle`, or settings of matplotlib (docs/figures.md).
        colors: a colour, a sequence of one colour per label of the legend, or colours by label.
        labels: new labels of the legend.
        mark: networks that the plot of an epoch marks: names of the benchmark's reference points, such as "ResNet
            cell", architectures, or pairs of a name and an architecture. Default: none.

    Returns:
        The axes; `ax.figure.savefig("ranking.svg")` writes the picture.

    Raises:
        InvalidInputError: the run is not a ranking or has no result yet, the epoch is not evaluated, `predictor` is
            unknown, `ax` is not axes, `style`, `colors` or `labels` do not fit, or `mark` is not a network of the
            table or given without an epoch.
        OutOfDomainError: the table lacks an architecture of an unfinished ranking.
    """
    found = open_run(ranking) if isinstance(ranking, str | Path) else ranking
    if not isinstance(found, Ranking):
        raise InvalidInputError(f"{found!r} is not a ranking: give what nb.correlate returned, or its folder")
    if not isinstance(predictor, str) or predictor not in X_LABELS:
        raise unknown_name("predictor", predictor, X_LABELS)
    if epoch is not None:
        epoch = whole_number("epoch", epoch, "the number of an evaluated epoch")
    if ax is not None:
        checked_axes(ax)
    if not found.lines:
        raise no_result_error(found.folder)
    if epoch is None and mark:
        raise InvalidInputError(f"{option('mark')} applies only to the plot of an epoch: add {option('epoch')}")
    panel, title, caption, absent = (
        _by_epoch(found, predictor) if epoch is None else _at_epoch(found, epoch, predictor, mark)
    )
    texts = (" ".join(absent), "") if ax is not None else (" ".join([caption, *absent]), title)
    [axes] = draw_panels([panel], *texts, ax=ax, style=style, colors=colors, labels=labels)
    return cast("DrawnAxes", axes)


class Described(NamedTuple):
    """A panel, the title and the caption of a figure with it, and sentences about networks that are not marked."""

    panel: Panel
    title: str
    caption: str
    absent: Sequence[str] = ()


def _by_epoch(ranking: Ranking, predictor: str) -> Described:
    """Return `by_epoch_panel` of a ranking: as recorded if it is finished, or else as far as it is evaluated."""
    if ranking.is_finished:
        frame, truth, table = ranking.recorded_correlations, None, recorded_table(ranking)
        facts = ranking.summary
    else:
        table = _table(ranking)
        frame, _, _, truth = compute_correlations(ranking, table, ranking.scored_epochs)
        facts = truth_fields(truth, table)
    rows = headline_rows(frame, f"spearman_{predictor}")
    n = int(rows["n"].max()) if len(rows) else 0
    drawn = facts_by_budget(frame, [predictor], facts, table)
    caption = by_epoch_caption(ranking, drawn, truth)
    return Described(by_epoch_panel(frame, predictor), by_epoch_title(ranking, n), caption)


def _at_epoch(ranking: Ranking, epoch: int, predictor: str, mark: Iterable[Asked] | None) -> Described:
    """Return `scatter_panel` of a ranking after an epoch."""
    table = _table(ranking)
    frame, _, predictions, truth = correlations_so_far(ranking, table, epoch)
    marks, absent = marked_ranks(mark, table, predictions) if mark else ([], [])
    row = spearman_row(frame, epoch, truth, predictor)
    panel = scatter_panel(predictions.values[predictor], truth, row, predictor, marks)
    caption = f"{hidden_text(truth)}{settings_text(ranking, {truth.budget: truth_fields(truth, table)}, truth)}"
    return Described(panel, ranking_title(ranking, int(truth.known.sum()), epoch), caption, absent)


def ranking_title(ranking: Ranking, n: int, epoch: int | None = None) -> str:
    """Return the search of a ranking, the number of its architectures with true errors, and the epoch, as a title."""
    config, at = ranking.config, "" if epoch is None else f", epoch {epoch}"
    return f"{config['optimizer']} on {config['space']}, seed {config['run_seed']}; n = {n:,}{at}"


def by_epoch_title(ranking: Ranking, n: int) -> str:
    """Return the title of a figure of rank correlations over the epochs."""
    return f"Rank correlation by search epoch: {ranking_title(ranking, n)}"


def by_epoch_caption(ranking: Ranking, facts: Mapping[int, Mapping[str, Any]], truth: Truth | None = None) -> str:
    """Return the caption of a figure of rank correlations over the epochs; arguments as for `settings_text`."""
    shifted = " Points of an epoch are drawn side by side." if len(facts) > 1 else ""
    bars = f"Vertical bars: 95 % bootstrap intervals over architectures.{shifted}"
    return f"{bars} {settings_text(ranking, facts, truth)}"


def facts_by_budget(
    frame: pandas.DataFrame, predictors: Iterable[str], facts: Mapping[str, Any], table: "Table | None"
) -> dict[int, Mapping[str, Any]]:
    """Return the fields of `truth_fields` for each training budget that a figure of correlations by epoch shows.

    Args:
        frame: the content of correlations.csv.
        predictors: the predictors of the figure's panels.
        facts: these fields for the largest budget, for a figure without any correlation.
        table: the table with the true errors. None: it is not available, and only `facts` states how accurate its
            predictions are.
    """
    rows = [row for of in predictors for row in headline_rows(frame, f"spearman_{of}").to_dict("records")]
    shares = {int(row["budget"]): float(row["measured"]) for row in rows}
    found: dict[int, Mapping[str, Any]] = {}
    for budget in sorted(shares):
        is_largest = budget == max(int(of) for of in frame["budget"])
        fidelity = table.fidelity(budget) if table is not None else facts["fidelity"] if is_largest else ""
        found[budget] = {"table_id": facts["table_id"], "measured": shares[budget], "fidelity": fidelity}
    return found or {0: facts}


def settings_text(ranking: Ranking, facts: Mapping[int, Mapping[str, Any]], truth: Truth | None = None) -> str:
    """Return sentences about how architectures were evaluated, and about the true errors, for captions.

    Args:
        ranking: the ranking.
        facts: the fields of `truth_fields`, by the training budget of the true errors in epochs.
        truth: the true errors, to count missing ones. Default: they are not counted.
    """
    config, bounds, left_out = ranking.config, ranking.options.bounds, ""
    if truth is not None and (unknown := int((~truth.known).sum())):
        left_out = f" {unknown:,} of {counted(len(truth.errors), 'architecture')} have no true error and are left out."
    return (f"Only architectures with {bounds.words}. " if bounds else "") + (
        f"{config['image_count']:,} images of the architecture half, batch-norm {config['batch_norm']}, preset "
        f"{config['preset']}. {_errors_text(facts)}{left_out}"
    )


def _errors_text(facts: Mapping[int, Mapping[str, Any]]) -> str:
    """Return a sentence about the true errors of `settings_text`, for each budget if budgets differ."""
    each = {budget: (source_text(of["measured"], digits=1), of["fidelity"]) for budget, of in facts.items()}
    table_id = next(iter(facts.values()))["table_id"]
    if len(set(each.values())) == 1:
        ((source, fidelity),) = set(each.values())
        return f"True errors: {source}, table {table_id}{fidelity and f' ({fidelity})'}."
    parts = [f"{budget} epochs: {source}{said and f' ({said})'}" for budget, (source, said) in each.items()]
    return f"True errors in table {table_id}, after training for {'; '.join(parts)}."


def _table(ranking: Ranking) -> "Table":
    return table_of_ranking(ranking.run, ranking.space, ranking.options.table or ranking.space.table)


def by_epoch_panel(frame: pandas.DataFrame, predictor: str = "error") -> Panel:
    """Return Spearman's ρ over all architectures against the search epoch, one line per budget.

    Vertical bars are confidence intervals. The lines are shifted sideways, so that no bar hides another.

    Args:
        frame: the content of correlations.csv.
        predictor: "error" or "loss".
    """
    shown, epochs, marks = headline_rows(frame, f"spearman_{predictor}"), sorted(set(frame["epoch"])), []
    by_budget = list(shown.groupby("budget"))
    for (budget, line), shift in zip(by_budget, shifts(shown["epoch"], len(by_budget)), strict=True):
        label = f"{budget} epochs ({line['split'].iloc[0]})"
        ends: dict[str, Any] = {"low": line["low"], "high": line["high"]}
        marks.append(Series(line["epoch"] + shift, line["value"], label=label, line="-", marker="o", **ends))
    single = {"low": epochs[0] - 1, "high": epochs[0] + 1} if len(epochs) == 1 else {}  # shifts would fill the axes
    few = {epoch: str(epoch) for epoch in epochs} if len(epochs) <= 12 else None
    return Panel(
        "",
        Axis("search epoch", ticks=few, **single),
        Axis(f"Spearman's ρ of one-shot {predictor} and true error"),
        [*marks, Zero()],
        legend_title="true error after training for",
    )


class MarkedRank(NamedTuple):
    """A marked network of a ranking: its name, its place among the marked networks, and where it is in the ranking."""

    name: str
    place: int
    at: int


def marked_ranks(
    mark: Iterable[Asked] | None, table: "Table", predictions: Predictions
) -> tuple[list[MarkedRank], list[str]]:
    """Return the networks to mark that a ranking evaluated, and sentences about the others.

    Of several architectures with equal cells, the first one is marked.

    Raises InvalidInputError if `mark` is not a network of the table's benchmark.
    """
    points = reference_points(mark or (), table)
    rows = {point.name: table.row_of(point.network) if point.network in table else -1 for point in points}
    found = {name: np.flatnonzero(predictions.rows == row) for name, row in rows.items()}
    marks = [MarkedRank(p.name, place, int(found[p.name][0])) for place, p in enumerate(points) if len(found[p.name])]
    absent = [name for name, at in found.items() if not len(at)]
    return marks, [f"Not evaluated, so not marked: {', '.join(absent)}."] if absent else []


def scatter_panel(
    predicted: NDArray[np.floating],
    truth: Truth,
    row: Mapping[str, Any] | None,
    predictor: str,
    marks_at: Sequence[MarkedRank] = (),
) -> Panel:
    """Return the true error of every architecture against its one-shot error or loss.

    Args:
        predicted: (A,) errors (fractions) or losses (nats).
        truth: true errors of the same architectures.
        row: the row of correlations.csv with Spearman's ρ, for the title; None if ρ is undefined.
        predictor: "error" or "loss".
        marks_at: the networks to mark.
    """
    scale, marks = 100 if predictor == "error" else 1, list[Mark]()
    inside = truth.errors <= highest_shown(truth)
    for mask, colour, label in (
        (inside & ~truth.measured, BLUE, "predicted by the table"),
        (inside & truth.measured, VERMILION, "measured"),
    ):
        if mask.any():
            look: dict[str, Any] = {"label": label, "detail": f" ({mask.sum():,})", "color": colour, "alpha": 0.35}
            size = 2.2 if len(predicted) > FEW else 4
            marks.append(Series(scale * predicted[mask], 100 * truth.errors[mask], marker="o", size=size, **look))
    for name, place, at in marks_at:
        source = "measured" if truth.measured[at] else "predicted"
        marks.append(marked(name, place, float(scale * predicted[at]), float(100 * truth.errors[at]), source))
    up = Axis(f"{truth.split} error in the table after {truth.budget} epochs [%]")
    return Panel(_spearman_text(row), Axis(X_LABELS[predictor]), up, marks)


def hidden_text(truth: Truth) -> str:
    """Return a sentence, with a space after it, about the architectures that a scatter plot leaves out, if any."""
    hidden = int((truth.errors > highest_shown(truth)).sum())
    return f"Not shown: {counted(hidden, 'architecture')} with a larger true error. " if hidden else ""


def headline_rows(frame: pandas.DataFrame, criterion: str) -> pandas.DataFrame:
    """Return one row per epoch and budget, over all architectures: on test if available, else on validation."""
    rows = rows_of_all(frame)
    rows = rows[rows["criterion"] == criterion]
    shown = [rows_at(rows, place) for place in place_per_budget(rows)]
    return pandas.concat(shown).sort_values(["epoch", "budget"]) if shown else rows


def spearman_row(frame: pandas.DataFrame, epoch: int, truth: Truth, predictor: str) -> dict[str, Any] | None:
    """Return the row of correlations.csv with Spearman's ρ of an epoch and a predictor; None if ρ is undefined."""
    found = rows_at(headline_rows(frame[frame["epoch"] == epoch], f"spearman_{predictor}"), truth.place)
    return dict(found.iloc[0]) if len(found) else None


def highest_shown(truth: Truth) -> float:
    """Return the highest true error on the axis; few architectures are all shown."""
    known = truth.errors[truth.known]
    return float(np.quantile(known, SHOWN)) if len(known) > FEW else float(known.max())


def _spearman_text(row: Mapping[str, Any] | None) -> str:
    if row is None:
        return "Spearman's ρ is undefined"
    return f"Spearman's ρ = {row['value']:.3f} [{row['low']:.3f}, {row['high']:.3f}], n = {row['n']:,}"
