"""Learning curves of NAS-Bench-201's and NATS-Bench's longest trainings, in tables of their official archives.

- Ranks along training: how well the accuracy after each epoch ranks architectures by their final test accuracy. This
  extends NAS-Bench-201's figure 5, which shows a few epochs.
- The learning curves of known architectures and of the best one.

NATS-Bench evaluated some images only at the end of trainings. The accuracy is the one on the validation images where
they were evaluated after every epoch, else the one on the validation and test images together.
"""

from typing import Any, NamedTuple

import numpy as np
import pandas

from nasbench1shot1.display.axis import Axis
from nasbench1shot1.display.charts import Panel, Series
from nasbench1shot1.experiments.rank_correlation import coefficient_text, spearman
from nasbench1shot1.experiments.space_statistics.nats_bench.measurements import DATASETS, FEWEST, Column, Measurements
from nasbench1shot1.experiments.space_statistics.values import Floats
from nasbench1shot1.ground.errors import OutOfDomainError
from nasbench1shot1.ground.text import number_range
from nasbench1shot1.tables.stored_columns import mean_of_known
from nasbench1shot1.tables.table import Table

SPLITS = ("validation", "valtest")
"""The images whose accuracy is shown: the first that has learning curves."""
WORDS = {"validation": "validation accuracy", "valtest": "accuracy on validation and test images"}


class _Curves(NamedTuple):
    """The accuracies within the trainings on a data set."""

    dataset: str
    training: str
    split: str


def ranks_along_training(table: Table, kind: str = "all") -> pandas.DataFrame:
    """Return how accuracies after each epoch of the longest training correlate with final test accuracies.

    Args:
        table: a table with learning curves.
        kind: which architectures are included, a kind of the table's space.

    Returns:
        `dataset`, `split` of the accuracy, `epochs` (after which it was measured), `spearman` with the final test
        accuracy, both means over repeats, and `n`, the number of architectures.

    Raises:
        OutOfDomainError: the table has no learning curves, or fewer than three architectures.
        InvalidInputError: the table is of another benchmark, or the kind is unknown.
    """
    found = Measurements(table, kind)
    rows, finals = [], []
    for curves in _curves_of(found):
        final = found.column(curves.dataset, "test")
        finals.append(final)
        for epochs in range(1, found.full_budget + 1):
            accuracy = _accuracy(found, curves, epochs)
            known = ~np.isnan(accuracy) & final.known
            if (n := int(known.sum())) >= FEWEST:
                value = spearman(accuracy[known], final.accuracy[known])
                rows.append({**_of(curves), "epochs": epochs, "spearman": value, "n": n})
    if not rows:
        raise OutOfDomainError(
            f"the table {table.id} has learning curves of fewer than {FEWEST} architectures: import a larger archive"
        )
    frame = pandas.DataFrame(rows)
    words = f"rank correlation of accuracies along the training of {found.full_budget} epochs and final test accuracy"
    frame.attrs = found.attributes(words, finals, *_notes(frame))
    return frame


def rank_panels(frame: pandas.DataFrame) -> list[Panel]:
    """Return the rank correlation over epochs, with one line for each data set."""
    marks = []
    for dataset, shown in frame.groupby("dataset", sort=False):
        look: dict[str, Any] = {"line": "-", "label": DATASETS[str(dataset)]}
        detail = f", n = {number_range(shown['n'].tolist())}"
        marks.append(Series(shown["epochs"], shown["spearman"], detail=detail, **look))
    axes = Axis("epoch of the training"), Axis("Spearman's ρ with final test accuracy")
    return [Panel("Ranks along training", *axes, marks)]


def rank_headline(frame: pandas.DataFrame) -> str:
    """Return the rank correlations after a tenth and after half of the training."""
    last = int(frame["epochs"].max())
    early, middle = (_nearest_epoch(frame, last / part) for part in (10, 2))
    listed = [
        f"{DATASETS[str(dataset)]} "
        + ", ".join(coefficient_text(value, 3) for value in of.set_index("epochs")["spearman"].reindex([early, middle]))
        for dataset, of in frame.groupby("dataset", sort=False)
    ]
    return f"Spearman with final test accuracy after {early} and {middle} of {last} epochs: {'; '.join(listed)}"


def _nearest_epoch(frame: pandas.DataFrame, epoch: float) -> int:
    """Return the recorded epoch that is closest to an epoch: short or rarely evaluated trainings lack some."""
    return min(map(int, frame["epochs"].unique()), key=lambda known: abs(known - epoch))


def known_curves(table: Table, kind: str = "all") -> pandas.DataFrame:
    """Return the learning curves of the best architecture and of known ones, in the longest training.

    Arguments and errors are as for `ranks_along_training`; a single architecture is sufficient. Data sets without final
    test accuracies, which decide about the best one, are left out.

    Returns:
        `dataset`, `network` ("best" by final test accuracy, or a name of `Benchmark.reference_points`), `split` of the
        accuracy, `epochs` and `accuracy` (a fraction, mean over repeats).
    """
    found = Measurements(table, kind)
    rows, finals = [], []
    for curves in _curves_of(found):
        final = found.column(curves.dataset, "test")
        finals.append(final)
        places = _places(found, final) if final.n else {}
        for epochs in range(1, found.full_budget + 1):
            accuracy = _accuracy(found, curves, epochs)
            rows += [
                {**_of(curves), "network": name, "epochs": epochs, "accuracy": float(accuracy[place])}
                for name, place in places.items()
            ]
    attributes = found.attributes(f"learning curves of the training of {found.full_budget} epochs", finals)
    frame = pandas.DataFrame(rows)
    frame.attrs = {**attributes, "notes": [*attributes["notes"], *_notes(frame)]}
    return frame


def curve_panels(frame: pandas.DataFrame) -> list[Panel]:
    """Return the accuracy over epochs, with one line for each architecture, for each data set."""
    panels = []
    for dataset, of in frame.groupby("dataset", sort=False):
        marks = [
            Series(shown["epochs"], 100 * shown["accuracy"], line="-", label=str(name))
            for name, shown in of.groupby("network", sort=False)
        ]
        axes = Axis("epoch of the training"), Axis(f"{WORDS[of['split'].iloc[0]]} [%]")
        panels.append(Panel(DATASETS[str(dataset)], *axes, marks))
    return panels


def curve_headline(frame: pandas.DataFrame) -> str:
    """Return the accuracy of the best architecture after a tenth of the training, and at its end."""
    last = int(frame["epochs"].max())
    early = _nearest_epoch(frame, last / 10)
    best = frame[frame["network"] == "best"].set_index(["dataset", "epochs"])["accuracy"]
    listed = [
        f"{DATASETS[str(name)]} {100 * best[name, early]:.2f} to {100 * best[name, last]:.2f}"
        for name in frame["dataset"].unique()
    ]
    return f"accuracy in % of the best architecture, from epoch {early} to {last}: {', '.join(listed)}"


def _curves_of(found: Measurements) -> list[_Curves]:
    """Return the learning curves for each data set that has some."""
    curves, table = [], found.table
    for dataset in found.datasets:
        training = table.objective(dataset).validation
        splits = [split for split in SPLITS if f"{split}_accuracy" in table.metrics]
        has = [split for split in splits if table.stored_curve(f"{split}_accuracy", found.full_budget, training)]
        curves += [_Curves(dataset, training, has[0])] if has else []
    if not curves:
        raise OutOfDomainError(
            f"the table {table.id} has no learning curves of trainings with {found.full_budget} epochs: import an "
            "official archive of NATS-Bench"
        )
    return curves


def _accuracy(found: Measurements, curves: _Curves, epochs: int) -> Floats:
    """Return the accuracies after an epoch (N,), means over repeats, NaN without one."""
    metric = f"{curves.split}_accuracy"
    repeats = found.table.measured(metric, epochs, curves.training, found.full_budget)[found.rows]
    return mean_of_known(repeats)


def _places(found: Measurements, final: Column) -> dict[str, int]:
    known = {name: found.place(text) for name, text in found.table.benchmark.reference_points.items()}
    named = {name: place for name, place in known.items() if place is not None}
    return {"best": int(np.nanargmax(final.accuracy)), **named}


def _of(curves: _Curves) -> dict[str, str]:
    return {"dataset": curves.dataset, "split": curves.split}


def _notes(frame: pandas.DataFrame) -> list[str]:
    split_of = frame.drop_duplicates("dataset").set_index("dataset")["split"]
    listed = [f"{DATASETS[str(dataset)]}: {WORDS[split]}" for dataset, split in split_of.items()]
    return ["; ".join(listed)]
