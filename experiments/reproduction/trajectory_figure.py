"""Figures 5, 14 and 15 of NAS-Bench-1Shot1 as `reproduce` uses them: incumbents of studies over simulated time."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import pandas

from nasbench1shot1.black_box_search.drawing import caption as black_box_caption
from nasbench1shot1.black_box_search.record import BlackBoxStudy
from nasbench1shot1.display.colours import MOST_BANDS
from nasbench1shot1.experiments.black_box_studies import repetitions
from nasbench1shot1.experiments.reproduction.figure import FigureJob, FigureResults
from nasbench1shot1.experiments.reproduction.figures import LABELS, Panel, PaperFigure
from nasbench1shot1.experiments.reproduction.figures import Curve as PaperCurve
from nasbench1shot1.experiments.reproduction.searches import title_line
from nasbench1shot1.experiments.reproduction.studies import (
    StudiedFigure,
    diverged_text,
    plan_text,
    quick_text,
    unfinished_text,
)
from nasbench1shot1.experiments.rescoring import rescore_study
from nasbench1shot1.experiments.tuning.trajectory import Curve, average, draw_trajectories, trajectory
from nasbench1shot1.ground.text import percent
from nasbench1shot1.one_shot_search.captions import provenance, table_text
from nasbench1shot1.tables.table import Table
from nasbench1shot1.tuning.record import Study

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from rich.console import Console

TUNED, BLACK_BOX = "tuned one-shot optimizers", "black-box optimizers"
"""Kinds of curves."""


@dataclass(frozen=True, eq=False)
class Method:
    """The finished studies of one curve, scored on one table.

    Attributes:
        frames: observations of each study, as `rescore_study` returns them.
    """

    panel: Panel
    curve: PaperCurve
    studies: Sequence[Study]
    frames: Sequence[pandas.DataFrame]

    def drawn(self) -> Curve:
        """Return the incumbents of every study that has one."""
        found = [trajectory(frame) for frame in self.frames]
        incumbents, method = [frame for frame in found if len(frame)], str(self.curve.options["optimizer"])
        return Curve(self.curve.key, self.curve.label, method, TUNED, incumbents)


@dataclass(frozen=True)
class Trajectories(FigureResults):
    """The incumbents of all finished studies over simulated time; a `figure.FigureResults`."""

    name: str
    figure: PaperFigure
    methods: Sequence[Method]
    seeds: int
    table: Table
    joined: Sequence[BlackBoxStudy] = ()

    def as_table(self) -> pandas.DataFrame:
        """Return the mean curves: `panel`, `curve`, then the columns of `trajectory.average`."""
        frames = []
        for panel, curve in self._curves():
            frame = average(curve.repetitions)
            frame.insert(0, "curve", curve.key)
            frame.insert(0, "panel", panel.key)
            frames.append(frame)
        return pandas.concat(frames, ignore_index=True) if frames else pandas.DataFrame()

    def draw(self) -> "Figure":
        """Return the picture, as `trajectory.draw_trajectories` does."""
        panels: dict[str, list[Curve]] = {}
        for panel, curve in self._curves():
            panels.setdefault(panel.title, []).append(curve)
        measured = pandas.concat([self._observed(method) for method in self.methods])["test_measured"]
        return draw_trajectories(panels, self._title(), self._caption(), provenance(measured.astype(float)))

    def show(self, console: "Console") -> None:
        """Print the last incumbents of every curve, and the budgets at which they were found."""
        from rich.table import Table as Screen

        screen = Screen("panel", "curve", "repetitions", "test regret at the end", "budgets of the incumbents")
        for panel, curve in self._curves():
            ends = pandas.DataFrame([frame.iloc[-1] for frame in curve.repetitions])
            mean, spread = ends["test_regret"].mean(), ends["test_regret"].std()
            regret = percent(mean) if len(ends) == 1 else f"{100 * mean:.2f} ± {100 * spread:.2f} %"
            budgets = ", ".join(str(budget) for budget in ends.get("budget", []))  # a black-box study has one budget
            screen.add_row(panel.key, curve.key, str(len(ends)), regret, budgets)
        console.print(screen)

    def _curves(self) -> list[tuple[Panel, Curve]]:
        drawn = [(method.panel, method.drawn()) for method in self.methods]
        return [*((panel, curve) for panel, curve in drawn if curve.repetitions), *self._black_box]

    @cached_property
    def _black_box(self) -> list[tuple[Panel, Curve]]:
        """The curves of the black-box studies that searched the space of a panel."""
        panels = {panel.options["space"]: panel for panel in self.figure.panels}
        drawn = [study for study in self.joined if study.config["space"] in panels]
        counts = Counter((study.config["space"], study.config["optimizer"]) for study in drawn)
        found = []
        for study in drawn:
            space, name = study.config["space"], study.config["optimizer"]
            key, label = name, LABELS.get(name, name)
            if counts[space, name] > 1:  # identified by their folders
                key, label = f"{name} ({study.folder.name})", f"{label} ({study.folder.name})"
            found.append((panels[space], Curve(key, label, name, BLACK_BOX, repetitions(study, self.table))))
        return found

    @staticmethod
    def _observed(method: Method) -> pandas.DataFrame:
        frames = [frame[frame["loss"].notna()] for frame in method.frames]
        return pandas.concat(frames)

    def _title(self) -> str:
        studies = [study for method in self.methods for study in method.studies]
        return "\n".join([title_line(self.name, self.figure.title), *plan_text(studies, self.seeds)])

    def _caption(self) -> str:
        studies = [study for method in self.methods for study in method.studies]
        bands = f"; bands: ± standard deviation (on axes of at most {MOST_BANDS} curves)"
        lines = [f"mean over {self.seeds} studies{bands}"] if self.seeds > 1 else []
        lines[-1:] = ["; ".join([*lines, "incumbent: lowest table validation error so far, at any budget"])]
        counts = {(method.panel.key, method.curve.key): len(method.studies) for method in self.methods}
        lines += [*unfinished_text(self.figure, counts, self.seeds), *diverged_text(studies), *quick_text(studies)]
        if self.joined:
            searches = ", ".join(dict.fromkeys(f"{len(study.lines)}" for study in self.joined))
            lines.append(f"black-box optimizers: {searches} searches each; {black_box_caption(self.joined)}")
        frames = [self._observed(method) for method in self.methods]
        return "\n".join([*lines, table_text(frames, self.table.id, self.table.fidelity())])


@dataclass(frozen=True)
class TrajectoryFigure(StudiedFigure):
    """A figure of studies over simulated time; a `figure.ReproducedFigure`.

    Attributes:
        joined: black-box studies that are drawn in the panels of their spaces.
    """

    joined: tuple[BlackBoxStudy, ...] = ()

    def results(self, jobs: Sequence[FigureJob], table: Table) -> Trajectories | None:
        """Return the incumbents of the finished studies; None if there is none."""
        methods = [
            Method(panel, curve, own, [rescore_study(study, table) for study in own])
            for panel, curve, own in self.studies(jobs)
        ]
        seeds = len({job.options["seed"] for job in jobs})
        found = Trajectories(self.name, self.figure, methods, seeds, table, self.joined)
        return found if any(method.drawn().repetitions for method in methods) else None
