"""The outcome of a ranking whose architectures are all evaluated: files, summary and figures."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas

from nasbench1shot1.display.axes import save_figure
from nasbench1shot1.display.charts import draw_panels
from nasbench1shot1.display.style import AnyStyle
from nasbench1shot1.evaluator import BOUNDS
from nasbench1shot1.experiments.correlation.analysis import Predictions, Undefined, compute_correlations
from nasbench1shot1.experiments.correlation.drawing import (
    X_LABELS,
    by_epoch_caption,
    by_epoch_panel,
    by_epoch_title,
    facts_by_budget,
    hidden_text,
    marked_ranks,
    ranking_title,
    scatter_panel,
    settings_text,
    spearman_row,
)
from nasbench1shot1.experiments.correlation.record import (
    AUTO_IMAGES,
    BY_EPOCH,
    CORRELATIONS,
    DATASET,
    RELIABILITY,
    SCATTER,
    Ranking,
)
from nasbench1shot1.experiments.correlation.reliability import reliability_curve
from nasbench1shot1.experiments.correlation.truth import Truth, rows_at, rows_of_all, truth_fields
from nasbench1shot1.ground.errors import InvalidInputError
from nasbench1shot1.ground.files import PictureFormat, atomic_write, picture_files, picture_name
from nasbench1shot1.reference_points import Asked
from nasbench1shot1.tables.table import Table

if TYPE_CHECKING:
    from nasbench1shot1.display.axes import Figure

SHOWN = ("spearman", "kendall", "p@10", "regret")
"""Criteria in the summary, for one-shot errors and losses."""
FILES = {CORRELATIONS, RELIABILITY, *picture_files(BY_EPOCH), *picture_files(SCATTER)}
"""Names of the files that `write_outcome` may write."""
CSV_FLOATS, CSV_LIMITS = "%.10g", "{:.6g}"
"""Formats of the numbers in CSV files, and of the limits of intervals, whose own error is far larger than the sixth
digit, because they are estimated by resampling. More digits would only make packed records larger."""
SUMMARY_NUMBERS = {"value": "{:.10g}", "low": "{:.8g}", "high": "{:.8g}"}
"""Formats of the same numbers in summary.json."""


def write_outcome(
    ranking: Ranking,
    table: Table,
    folder: Path,
    advance: Callable[[float], None] = lambda share: None,
    format: PictureFormat | None = None,
    style: AnyStyle | None = None,
    mark: Iterable[Asked] | None = None,
) -> dict[str, Any]:
    """Compute the results from the scores, write `FILES`, and return the summary.

    Args:
        ranking: the record of the ranking, with at least one epoch evaluated.
        table: the table with the true errors.
        folder: the folder for the files.
        advance: function to call after each part of an epoch, with its share of the epoch's work.
        format, style: file format and style of the pictures. Default: the ranking's options.
        mark: networks that the scatter plot marks (`reference_points.reference_points`). Default: none.

    Raises OutOfDomainError if the table lacks an architecture, UserError if a file cannot be written.
    """
    frame, undefined, predictions, truth = compute_correlations(ranking, table, ranking.scored_epochs, advance)
    reliability = _reliability(ranking)
    for name, content in ((CORRELATIONS, frame), (RELIABILITY, reliability)):
        limits = {
            column: content[column].map(CSV_LIMITS.format, na_action="ignore")
            for column in content.columns.intersection(["low", "high"])
        }
        with atomic_write(folder / name) as file:
            file.write(content.assign(**limits).to_csv(index=False, float_format=CSV_FLOATS).encode())
    style = style or ranking.options.figure_style
    pictures = _figures(ranking, frame, predictions, truth, table, style, mark)
    for name, figure in pictures.items():
        has_data = name != BY_EPOCH  # whose values are in `CORRELATIONS`
        save_figure(figure, folder / picture_name(name, format or ranking.options.format), data=has_data)
    return _summary(table, ranking, frame, reliability, undefined, truth)


def _reliability(ranking: Ranking) -> pandas.DataFrame:
    """Return the split-half reliability of every epoch's ranking, for increasing numbers of images."""
    frames, config = [], ranking.config
    for epoch in ranking.scored_epochs:
        blocks = ranking.blocks(epoch)
        for name, values in (("error", blocks["errors"]), ("loss", blocks["losses"])):
            rng = np.random.default_rng([ranking.options.seed, epoch])
            try:
                frame = reliability_curve(values, rng, images_per_column=config["image_count"] / values.shape[1])
            except InvalidInputError:  # too few images, or all means of a half are equal
                continue
            frame.insert(0, "predictor", name)
            frame.insert(0, "epoch", epoch)
            frames.append(frame)
    return pandas.concat(frames, ignore_index=True) if frames else pandas.DataFrame(columns=["epoch", "predictor"])


def _summary(
    table: Table,
    ranking: Ranking,
    frame: pandas.DataFrame,
    reliability: pandas.DataFrame,
    undefined: Sequence[Undefined],
    truth: Truth,
) -> dict[str, Any]:
    config = ranking.config
    named = ("optimizer", "space", "preset", "batch_norm", "architectures", "copies")
    return {
        **{name: config[name] for name in named},
        "run": config["run"],
        "images": config["image_count"],
        **({AUTO_IMAGES: config[AUTO_IMAGES]} if AUTO_IMAGES in config else {}),
        **({BOUNDS: str(bounds)} if (bounds := ranking.options.bounds) else {}),
        "budget": truth.budget,
        "split": truth.split,
        DATASET: ranking.run.config["dataset"],
        **truth_fields(truth, table),
        "epochs": {str(epoch): epoch_summary(frame, truth, epoch) for epoch in ranking.scored_epochs},
        "reliability": _last_reliability(reliability),
        "undefined": [{"where": list(of.place), "cause": of.cause} for of in undefined],
    }


def epoch_summary(frame: pandas.DataFrame, truth: Truth, epoch: int) -> dict[str, Any]:
    """Return the criteria that the screen shows, for all architectures at the largest budget."""
    rows = rows_at(rows_of_all(frame[frame["epoch"] == epoch]), truth.place)
    names = [f"{name}_{of}" for name in SHOWN for of in ("error", "loss")] + ["spearman_probability"]
    return {
        row["criterion"]: {
            **{name: float(form.format(row[name])) for name, form in SUMMARY_NUMBERS.items()},
            "n": row["n"],
        }
        for row in rows.to_dict("records")
        if row["criterion"] in names
    }


def _last_reliability(reliability: pandas.DataFrame) -> dict[str, Any]:
    """Return the split-half correlation of the last epoch at the most images per half, for each predictor."""
    found: dict[str, Any] = {}
    for row in reliability.to_dict("records"):  # later rows are later epochs and larger halves
        found[row["predictor"]] = {
            "epoch": row["epoch"],
            "images_per_half": row["images"],
            "spearman": row["spearman"],
            "spearman_brown_all_images": row["spearman_brown_all_images"],
        }
    return found


def _figures(
    ranking: Ranking,
    frame: pandas.DataFrame,
    predictions: Predictions,
    truth: Truth,
    table: Table,
    style: AnyStyle | None,
    mark: Iterable[Asked] | None,
) -> dict[str, "Figure"]:
    """Return the figures by the names of their PNG files."""
    n, facts = int(truth.known.sum()), truth_fields(truth, table)
    note = settings_text(ranking, {truth.budget: facts}, truth)
    caption = by_epoch_caption(ranking, facts_by_budget(frame, X_LABELS, facts, table), truth)
    by_epoch = [by_epoch_panel(frame, name) for name in X_LABELS]
    rows = {name: spearman_row(frame, predictions.epoch, truth, name) for name in X_LABELS}
    marks, absent = marked_ranks(mark, table, predictions)
    scatter = [scatter_panel(predictions.values[name], truth, rows[name], name, marks) for name in X_LABELS]
    said, title = " ".join([note, *absent]), ranking_title(ranking, n, predictions.epoch)
    look: dict[str, Any] = {"sharey": True, "style": style}
    return {
        BY_EPOCH: draw_panels(by_epoch, caption, by_epoch_title(ranking, n), **look).figure,
        SCATTER: draw_panels(scatter, f"{hidden_text(truth)}{said}", title, **look).figure,
    }
