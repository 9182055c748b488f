"""All figures that `nb1shot1 reproduce` draws, by name."""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from nasbench1shot1.black_box_search.record import BlackBoxStudy
from nasbench1shot1.experiments.reproduction.black_box_figure import BlackBoxFigure
from nasbench1shot1.experiments.reproduction.figure import ReproducedFigure
from nasbench1shot1.experiments.reproduction.figures import (
    BLACK_BOX_FIGURES,
    FIGURES,
    IMPORTANCE_FIGURES,
    NAMES,
    OTHER_FIGURES,
    PROXY_FIGURE,
    RANKING_FIGURES,
    TRANSFER_TABLES,
    TUNING_FIGURES,
)
from nasbench1shot1.experiments.reproduction.importance_figure import ImportanceFigure
from nasbench1shot1.experiments.reproduction.proxy_figure import ProxyFigure
from nasbench1shot1.experiments.reproduction.ranking_figure import RankingFigure
from nasbench1shot1.experiments.reproduction.regret_figure import RegretFigure
from nasbench1shot1.experiments.reproduction.trajectory_figure import TrajectoryFigure
from nasbench1shot1.experiments.reproduction.transfer_table import TransferTable
from nasbench1shot1.ground.errors import InvalidInputError

_KINDS: dict[str, Callable[[str, Sequence[str]], ReproducedFigure]] = {
    **dict.fromkeys(FIGURES, RegretFigure.from_name),
    **dict.fromkeys(RANKING_FIGURES, RankingFigure.from_name),
    **dict.fromkeys(TUNING_FIGURES, TrajectoryFigure.from_name),
    **dict.fromkeys(IMPORTANCE_FIGURES, ImportanceFigure.from_name),
    PROXY_FIGURE: ProxyFigure.from_name,
    **dict.fromkeys(TRANSFER_TABLES, TransferTable.from_name),
    **dict.fromkeys(BLACK_BOX_FIGURES, BlackBoxFigure.from_name),
}
KINDS = {name: _KINDS[name] for name in NAMES}
"""Functions that create a figure or table from its name and the selected parts, by name."""


def open_figure(name: str, only: Sequence[str] = (), joined: Sequence[str | Path] = ()) -> ReproducedFigure:
    """Return a figure, or the selected part of it.

    Args:
        name: "figure2", …
        only: keys of panels or of curves, or "panel/curve", each with optional `*` wildcards. A curve
            is selected if one of them matches.
        joined: folders of finished black-box studies that join a figure of tuned optimizers.

    Raises:
        InvalidInputError: the name is unknown, one of `only` matches nothing, or black-box studies cannot join.
    """
    if name not in KINDS:
        raise _unknown_figure(name)
    figure = KINDS[name](name, only)
    if not joined:
        return figure
    if not isinstance(figure, TrajectoryFigure):
        raise InvalidInputError(f"--join does not apply to {name} (only to {', '.join(TUNING_FIGURES)}): remove it")
    studies = tuple(BlackBoxStudy.open(folder) for folder in joined)
    _ = [study.summary for study in studies]  # raises if one is not finished
    return replace(figure, joined=studies)


def _unknown_figure(name: str) -> InvalidInputError:
    known = f"known: {', '.join(KINDS)}"
    kind = "table" if name.startswith("tab") else "figure"
    number = int(match[0]) if (match := re.search(r"\d+", name)) else 0
    if kind == "figure" and number in OTHER_FIGURES:
        return InvalidInputError(
            f"reproduce does not draw figure {number} of the paper, which shows {OTHER_FIGURES[number]} ({known})"
        )
    hint = f"; did you mean '{kind}{number}'?" if f"{kind}{number}" in KINDS else ""
    return InvalidInputError(f"unknown figure '{name}'{hint} ({known})")
