"""Incumbents of studies over simulated time: figures 5, 14 and 15 of NAS-Bench-1Shot1, and the comparison of tuners."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas

from nasbench1shot1.architecture import Architecture
from nasbench1shot1.black_box_search.drawing import caption as black_box_caption
from nasbench1shot1.black_box_search.record import INCUMBENT, BlackBoxStudy
from nasbench1shot1.display.colours import Colors
from nasbench1shot1.display.style import AnyStyle
from nasbench1shot1.evaluator import Judge, Score
from nasbench1shot1.experiments.reproduction.figures.parts import LABELS, Panel
from nasbench1shot1.experiments.reproduction.results.base import Results, in_front, with_spread
from nasbench1shot1.experiments.rescoring import rescore_study
from nasbench1shot1.experiments.tuning.trajectory import (
    SIMULATED,
    WALL_CLOCK,
    Curve,
    are_timed,
    average,
    default_point,
    draw_trajectories,
    trajectory,
)
from nasbench1shot1.ground.errors import InvalidInputError, alternatives, option
from nasbench1shot1.one_shot_search.captions import provenance, scale_text
from nasbench1shot1.runs.folder import CONFIG
from nasbench1shot1.tables.table import Table

if TYPE_CHECKING:
    from nasbench1shot1.display import axes

TUNED, BLACK_BOX = "tuned one-shot optimizers", "black-box optimizers"
"""Kinds of curves."""


class StudyResults(Results):
    """Results of studies of tuned optimizers."""

    SMALL = "studies this small show that tuning runs; they do not rank methods or hyperparameters"

    def plan_title(self) -> str:
        """Return the title, with the searches and the plan of the studies."""
        plans = [study.options.brackets for study in self.runs]
        counts = alternatives(map(str, sorted({plan.planned for plan in plans})))
        budgets = ", ".join(map(str, sorted({budget for plan in plans for budget in plan.budgets})))
        number = "one study" if self.seeds == 1 else f"{self.seeds} studies"
        scale = scale_text([study.search_config for study in self.runs])
        return self.title(scale, f"{counts} searches of {budgets} epochs per study, {number}")

    def proposals(self) -> str:
        """Return a sentence that counts model-based proposals and diverged searches."""
        lines = [line for study in self.runs for line in study.lines]
        model = sum(line["model_based"] for line in lines)
        diverged = sum(line["loss"] is None for line in lines)
        return (
            f"of {len(lines)} searches, {model} have a configuration that the model proposed, and {diverged} diverged"
        )


class Trajectories(StudyResults):
    """The incumbents of all finished studies over simulated time, and of joined black-box studies.

    If the table lacks a training time, all studies are drawn over wall-clock time, and black-box studies cannot be
    added, because they have none.
    """

    HEADINGS = ("panel", "curve", "repetitions", "test regret at the end", "budgets of the incumbents")

    @cached_property
    def frames(self) -> list[pandas.DataFrame]:
        """The observations of every study, as `rescore_study` returns them; either all or none of them are timed."""
        found = [rescore_study(study, self.table) for study in self.runs]
        return found if all(map(are_timed, found)) else [frame.assign(simulated_seconds=np.nan) for frame in found]

    @cached_property
    def curves(self) -> list[tuple[Panel, Curve]]:
        """All curves, each with its panel."""
        frames, tuned = iter(self.frames), []
        for found in self.found:
            incumbents = [frame for frame in (_incumbents(next(frames)) for _ in found.runs) if len(frame)]
            method = str(found.curve.options.get("optimizer") or found.curve.options["tuner"])
            if incumbents:
                tuned.append((found.panel, Curve(found.curve.key, found.curve.label, method, TUNED, incumbents)))
        return [*tuned, *self._black_box()] if tuned else []

    @property
    def _clock(self) -> str:
        """The label of the axis of time."""
        return SIMULATED if all(map(are_timed, self.frames)) else WALL_CLOCK

    @property
    def _studies(self) -> list[BlackBoxStudy]:
        """The joined black-box studies."""
        return [study for study in self.joined if isinstance(study, BlackBoxStudy)]

    def _black_box(self) -> list[tuple[Panel, Curve]]:
        """Return the curves of the black-box studies that searched the space of a panel."""
        selected = {job.panel for job in self.shown}
        panels = {panel.options["space"]: panel for panel in self.figure.full.panels if panel.key in selected}
        drawn = [study for study in self._studies if study.config["space"] in panels]
        if drawn and self._clock == WALL_CLOCK:
            raise InvalidInputError(
                f"the table {self.table.id} lacks training times, so this figure is over wall-clock time, which "
                f"black-box studies do not have: remove {option('join')}, or choose another {option('table')}"
            )
        counts = Counter((study.config["space"], study.config["optimizer"]) for study in drawn)
        found = []
        for study in drawn:
            space, name = study.config["space"], study.config["optimizer"]
            key, label = name, LABELS.get(name, name)
            if counts[space, name] > 1:  # identified by their folders
                key, label = f"{name} ({study.folder.name})", f"{label} ({study.folder.name})"
            found.append((panels[space], Curve(key, label, name, BLACK_BOX, repetitions(study, self.table))))
        return found

    @property
    def source(self) -> str:
        """Which share of the test regrets of all drawn incumbents is measured, in words."""
        frames = [_without_end(frame) for _, curve in self.curves for frame in curve.repetitions]
        return provenance(pandas.concat([frame["test_measured"].astype(float) for frame in frames]))

    @cached_property
    def frame(self) -> pandas.DataFrame:
        """The mean curves: `panel`, `curve`, then the columns of `trajectory.average`."""
        frames = [
            in_front(average(curve.repetitions, spread=self.spread), panel=panel.key, curve=curve.key)
            for panel, curve in self.curves
        ]
        return pandas.concat(frames, ignore_index=True) if frames else pandas.DataFrame()

    def further_tables(self) -> Mapping[str, pandas.DataFrame]:
        """Return the dots of default configurations, if any: panel, curve, mean seconds and test_regret."""
        found = [
            {"panel": panel.key, "curve": curve.key, **point}
            for panel, curve in self.curves
            if (point := default_point(curve)) is not None
        ]
        return {"defaults": pandas.DataFrame(found)} if found else {}

    def rows(self) -> list[list[str]]:
        """Return the last incumbents of every curve, and the budgets at which they were found."""
        rows = []
        for panel, curve in self.curves:
            ends = pandas.DataFrame([frame.iloc[-1] for frame in curve.repetitions])
            regret = with_spread(ends["test_regret"].mean(), ends["test_regret"].std())
            budgets = ", ".join(str(budget) for budget in ends.get("budget", []))  # a black-box study has one budget
            rows.append([panel.key, curve.key, str(len(ends)), regret, budgets])
        return rows

    def draw(
        self,
        style: AnyStyle | None = None,
        *,
        colors: Colors | None = None,
        labels: Sequence[str] | str | None = None,
    ) -> "axes.Figure":
        """Return the picture, as `trajectory.draw_trajectories` does; joined studies have colours and labels, too."""
        panels: dict[str, list[Curve]] = {}
        for panel, curve in self.curves:
            panels.setdefault(panel.title, []).append(curve)
        observed = [frame[frame["loss"].notna()] for frame in self.frames]
        joined = [study for study in self._studies if study.lines]
        black_box = []
        if joined:
            searches = ", ".join(dict.fromkeys(f"{len(study.lines)}" for study in joined))
            black_box = [f"Black-box optimizers: {searches} searches each. {black_box_caption(joined)}"]
        incumbent = "incumbent: lowest table validation error so far, at any budget"
        return draw_trajectories(
            panels,
            self.plan_title(),
            self.caption(incumbent, self.proposals(), *black_box, frames=observed),
            self.source,
            self.spread,
            style,
            colors=colors,
            labels=labels,
            clock=self._clock,
        )


def _incumbents(observations: pandas.DataFrame) -> pandas.DataFrame:
    """Return `trajectory` of the observations of a study, and whether the test value of each incumbent is measured."""
    return trajectory(observations).join(observations.set_index("number")["test_measured"], on="number")


def _without_end(repetition: pandas.DataFrame) -> pandas.DataFrame:
    """Return the distinct incumbents of a repetition, without a last row that only repeats the one before it."""
    incumbents = repetition.drop(columns="seconds")
    is_repeated = len(incumbents) > 1 and incumbents.iloc[-1].equals(incumbents.iloc[-2])
    return repetition.iloc[:-1] if is_repeated else repetition


# Black-box studies ----------------------------------------------------------------------------------------------------


def repetitions(study: BlackBoxStudy, table: Table) -> list[pandas.DataFrame]:
    """Return the incumbents of every search as repetitions of a `Curve`.

    Args:
        study: a study with recorded searches.
        table: the table of the study.

    Returns:
        One data frame per search with the columns seconds, test_regret and validation_regret (fractions), and
        test_measured. Each incumbent has a row, and a last row repeats the final incumbent at the end of the search.

    Raises:
        InvalidInputError: the study searched another table.
    """
    if study.config["table_id"] != table.id:
        raise InvalidInputError(
            f"{study.folder} searched the table {study.config['table_id']}, but the figure is scored on {table.id}: "
            f"select the study's table with {option('table')} or repeat the study"
        )
    scored: dict[str, Score] = {}
    judge = Judge.from_config(study.config, study.folder / CONFIG)
    return [pandas.DataFrame(_incumbent_rows(line, table, judge, scored)) for line in study.lines]


def _incumbent_rows(
    line: dict[str, Any], table: Table, judge: Judge, scored: dict[str, Score]
) -> Iterator[dict[str, Any]]:
    entries = [dict(zip(INCUMBENT, entry, strict=True)) for entry in line["incumbents"]]
    end = {**entries[-1], "simulated_seconds": line["simulated_seconds"]}
    for entry in [*entries, end]:
        if (text := entry["architecture"]) not in scored:
            scored[text] = judge.score(Architecture.parse(text), table)
        found = scored[text]
        regrets = {"test_regret": found.test_regret, "validation_regret": found.validation_regret}
        yield {"seconds": entry["simulated_seconds"], **regrets, "test_measured": found.test_measured}
