"""Titles and captions of figures of studies."""

import textwrap
from collections.abc import Mapping, Sequence

from nasbench1shot1.experiments.reproduction.figures import PaperFigure
from nasbench1shot1.one_shot_search.captions import LINE, scale_text
from nasbench1shot1.tuning.record import Study


def title_line(name: str, title: str) -> str:
    """Return the first line of a title."""
    kind = "table" if name.startswith("table") else "figure"
    return f"After {kind} {name.removeprefix(kind)} of NAS-Bench-1Shot1: {title}"


def plan_text(studies: Sequence[Study], seeds: int) -> list[str]:
    """Return lines that describe the searches and the plan of the studies."""
    study, plan = studies[0], studies[0].options.brackets
    budgets = ", ".join(map(str, plan.budgets))
    number = "one study" if seeds == 1 else f"{seeds} studies"
    lines = [scale_text([{**each.shared_options, **each.config} for each in studies])]
    lines.append(f"{plan.planned} searches of {budgets} epochs per study, {number}")
    if study.shared_options["scale"] == "full":
        return lines
    return [*lines, "the paper's setting: 16 channels × 9 cells, 280 searches of 25, 50, 100 epochs, 3 studies"]


def unfinished_text(
    figure: PaperFigure, counts: Mapping[tuple[str, str], int], seeds: int, noun: str = "studies"
) -> list[str]:
    """Return lines that list the curves with unfinished runs, if any.

    Args:
        figure: the figure that is drawn.
        counts: the number of finished runs by panel and curve; a curve without finished runs may be missing.
        seeds: the number of runs of a complete curve.
        noun: the plural noun for the runs.
    """
    found = {(panel.key, curve.key): 0 for panel, curve in figure.pairs()} | dict(counts)
    short = [f"{'/'.join(key)} {count}" for key, count in found.items() if count < seeds]
    return textwrap.wrap(f"{noun} finished so far: {', '.join(short)}", LINE + 40) if short else []


def diverged_text(studies: Sequence[Study]) -> list[str]:
    """Return a line that counts model-based proposals and diverged searches."""
    lines = [line for study in studies for line in study.lines]
    model = sum(line["model_based"] for line in lines)
    diverged = sum(line["loss"] is None for line in lines)
    return [f"of {len(lines)} searches, {model} have a configuration that the model proposed, and {diverged} diverged"]


def quick_text(studies: Sequence[Study]) -> list[str]:
    """Return a line about what the quick scale cannot show; empty at the full scale."""
    if studies[0].shared_options["scale"] == "full":
        return []
    return ["studies this small show that tuning runs; they do not rank methods or hyperparameters"]
