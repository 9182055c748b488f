"""Trainings on a page: learning curves, and a table of their accuracies beside the values of a table."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from nasbench1shot1.cell_training.record import ACCURACIES, Training
from nasbench1shot1.display.colours import curve_styles
from nasbench1shot1.display.curves import OF_A_SHARE, Pooled, Trace, describe_band, log_floor, pool
from nasbench1shot1.experiments.report_page.charts import line, rounded, shown_curve
from nasbench1shot1.experiments.report_page.markup import NO_VALUE, Cell, Markup, sortable_table, tag
from nasbench1shot1.experiments.report_page.panels import Scoring
from nasbench1shot1.experiments.report_page.subjects import Subject
from nasbench1shot1.ground.errors import UserError
from nasbench1shot1.ground.text import counted
from nasbench1shot1.tables.table import Table, load_table

HEADING = "Learning curves of trainings"
SPLITS = tuple(name.removesuffix("_accuracy") for name in reversed(ACCURACIES))
"""The images on which trainings are evaluated: test, validation and train."""
SHORTEST = 13
"""Length to which names of networks are cut if they still differ: "cell-" and eight digits of a hash."""
WORDS = {"test": "test", "validation": "validation", "train": "training"}
IN_TABLES = ("test", "validation")


@dataclass(frozen=True, eq=False)
class Trained:
    """The trainings of one network in a run: one, or one for each seed.

    Attributes:
        label: the name of the curve.
        trainings: the trainings that have begun.
    """

    label: str
    trainings: Sequence[Training]

    @property
    def evaluated(self) -> int:
        """Number of trainings with a point on some curve: a training that has just begun is not pooled."""
        return max(len(self.traces(split)) for split in SPLITS)

    def traces(self, split: str) -> list[Trace]:
        """Return the errors of the trainings over the epochs, fractions; without trainings that have none."""
        return [found for training in self.trainings if (found := _errors(training, split)) is not None]


def trained_networks(subjects: Sequence[Subject]) -> list[Trained]:
    """Return the networks of all trainings; trainings of one network with several seeds in one group are one entry."""
    return [trained for subject in subjects for trained in _networks(subject)]


def _networks(subject: Subject) -> Iterator[Trained]:
    found: dict[str, list[Training]] = {}
    for training in subject.trainings:
        found.setdefault(training.folder.parent.name, []).append(training)
    names = _short(list(found)) if len(found) > 1 else [""]
    labels = [", ".join(filter(None, [subject.label, name])) for name in names]
    return (Trained(*each) for each in zip(labels, found.values(), strict=False))


def _short(names: Sequence[str]) -> list[str]:
    """Return the shortest prefixes of one length, at least `SHORTEST`, by which all names can be told apart."""
    most = max(map(len, names))
    length = next(n for n in range(SHORTEST, most + SHORTEST) if len({name[:n] for name in names}) == len(names))
    return [name[:length] for name in names]


def _errors(training: Training, split: str) -> Trace | None:
    known = [line for line in training.lines if line[f"{split}_accuracy"] is not None]
    if not known:
        return None
    at = np.array([line["epochs"] for line in known], np.float64)
    return Trace(at=at, values=np.array([1 - line[f"{split}_accuracy"] for line in known]), holds=training.is_finished)


@dataclass(frozen=True, eq=False)
class Looked:
    """The values that a table has for a trained network.

    Attributes:
        table: the table.
        epochs: the training budget of its values: the training's own, or else the table's largest.
        accuracies: means over the table's repeats by split, fractions.
        source: whether they are measured or predicted, in words.
    """

    table: Table
    epochs: int
    accuracies: dict[str, float]
    source: str


def looked_up(training: Training, table: Table) -> Looked | None:
    """Return the values of a table for the network of a training; None if it has none."""
    own = training.config["epochs"]
    epochs = own if own in table.epochs else table.full_budget
    try:
        found = table.query(training.trained, epochs=epochs, dataset=training.dataset)
    except UserError:  # a network, a data set or a benchmark that the table lacks
        return None
    names = [f"{split}_accuracy" for split in IN_TABLES]
    known = {name: float(getattr(found, name)) for name in names}
    known = {name: value for name, value in known.items() if not np.isnan(value)}
    if not known:
        return None
    sources = {name: found.source(name) for name in known}
    of = dict(zip(names, IN_TABLES, strict=True))
    source = (
        next(iter(sources.values()))
        if len(set(sources.values())) == 1
        else "; ".join(f"{of[name]}: {source}" for name, source in sources.items())
    )
    return Looked(table, epochs, {of[name]: value for name, value in known.items()}, source)


@dataclass(frozen=True, eq=False)
class Trainings:
    """The trainings of a page.

    Attributes:
        networks: the trained networks.
        scoring: how architectures are scored.
    """

    networks: Sequence[Trained]
    scoring: Scoring

    @cached_property
    def errors(self) -> dict[str, dict[str, Pooled]]:
        """The pooled errors of each split and network, fractions; without those that were not evaluated."""
        return {
            split: {
                of.label: pool(traces, spread=self.scoring.spread, limits=OF_A_SHARE)
                for of in self.networks
                if (traces := of.traces(split))
            }
            for split in SPLITS
        }

    def chart(self, most: int) -> dict[str, Any]:
        """Return the chart of the errors over the epochs at which they were evaluated, with at most `most` points."""
        looks = curve_styles([of.label for of in self.networks])
        curves = []
        for of, look in zip(self.networks, looks, strict=True):
            own = {
                split: shown_curve(found[of.label], of.traces(split), 100, most, is_step=False)
                for split, found in self.errors.items()
                if of.label in found
            }
            if own:
                curves.append({"label": of.label, **line(look), "n": of.evaluated, "axes": own})
        axes = [
            {
                "key": split,
                "name": WORDS[split].capitalize(),
                "label": "training epochs",
                "vertical": f"{WORDS[split]} error [%]",
                "steps": False,
                "whole": True,
                "log": False,
                "floor": rounded(100 * log_floor(found.values())),
            }
            for split, found in self.errors.items()
            if found
        ]
        return {
            "name": HEADING,
            "unit": "%",
            "digits": 2,
            "switch": "Error",
            "bands": True,
            "axes": axes,
            "levels": [],
            "curves": curves,
        }

    @cached_property
    def rows(self) -> list[tuple[str, Training, Looked | None]]:
        """The label of the network of each training, the training, and the values of its table."""
        trainings = [(of.label, training) for of in self.networks for training in of.trainings]
        names = [self.scoring.table or training.OPTIONS.BENCHMARK.table for _, training in trainings]
        tables = {name: load_table(name) for name in set(names)}
        return [
            (label, training, looked_up(training, tables[name]))
            for (label, training), name in zip(trainings, names, strict=True)
        ]

    def table(self) -> Markup:
        """Return the sortable table of the accuracies; without columns of a table if it has none of the networks."""
        headings = [
            "Training",
            "Network",
            "Seed",
            "Epochs",
            *(f"{split.capitalize()} [%]" for split in IN_TABLES),
        ]
        has_values = any(looked for *_, looked in self.rows)
        if has_values:
            headings += [*(f"Table: {split} [%]" for split in IN_TABLES), "Table: epochs", "Table: source"]
        headings += ["Time [s]", "Progress"]
        rows = [self._row(*row, has_values=has_values) for row in self.rows]
        return sortable_table("Trainings", headings, rows)

    def _row(self, name: str, training: Training, looked: Looked | None, *, has_values: bool) -> list[object]:
        evaluated = [line for line in training.lines if line["test_accuracy"] is not None]
        last: dict[str, Any] = evaluated[-1] if evaluated else {}
        seed, epochs, time = training.config["seed"], last.get("epochs", 0), last.get("training_time")
        of_table: list[object] = [
            *(_percent(looked.accuracies.get(split) if looked else None) for split in IN_TABLES),
            Cell(looked.epochs, looked.epochs) if looked else Cell(NO_VALUE),
            looked.source if looked else NO_VALUE,
        ]
        return [
            name,
            tag("code", training.network_id),
            Cell(seed, seed),
            Cell(f"{epochs:g}", epochs),
            *(_percent(last.get(f"{split}_accuracy")) for split in IN_TABLES),
            *(of_table if has_values else []),
            Cell(NO_VALUE) if time is None else Cell(f"{time:,.1f}", time),
            "finished" if training.is_finished else f"of {counted(training.config['epochs'], 'epoch')}",
        ]

    def notes(self) -> list[str]:
        """Return sentences about the curves, the table and how far values can be compared."""
        tables = {looked.table.id: looked.table for *_, looked in self.rows if looked}
        lacking = {label: None for label, _, looked in self.rows if looked is None}
        others = {label: None for label, training, _ in self.rows if not training.config["is_protocol"]}
        named = "all trainings" if len(others) == len(self.networks) else f"some trainings ({', '.join(others)})"
        other_budgets = any(looked and looked.epochs != training.config["epochs"] for _, training, looked in self.rows)
        counts = [of.evaluated for of in self.networks if of.evaluated] or [1]
        is_cut = any(curve.is_cut for found in self.errors.values() for curve in found.values())
        band = describe_band(self.scoring.spread, counts, None, is_cut=is_cut)
        fidelity = dict.fromkeys(filter(None, (table.fidelity() for table in tables.values())))
        return [
            f"Lines and bands: {band} over n seeds." if max(counts) > 1 else "",
            "Accuracies of trainings are measured, after the last epoch that was evaluated.",
            f"Table {', '.join(tables)}: means over its repeats." if tables else "",
            *(f"{text[0].upper()}{text[1:]}." for text in fidelity),
            "The table lacks the budget of some trainings, so it shows its largest budget." if other_budgets else "",
            f"Not in the table: {', '.join(lacking)}." if lacking else "",
            f"Images, network size or options of {named} differ from the benchmark's, so their accuracies do, too."
            if others
            else "",
        ]


def _percent(value: float | None) -> Cell:
    return Cell(NO_VALUE) if value is None else Cell(f"{100 * value:.2f}", value)
