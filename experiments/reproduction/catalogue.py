"""All figures that `nb1shot1 reproduce` draws, by name."""

import re
from collections.abc import Callable, Sequence

from nasbench1shot1.errors import InvalidInputError
from nasbench1shot1.experiments.reproduction.figure import ReproducedFigure
from nasbench1shot1.experiments.reproduction.figures import FIGURES, OTHER_FIGURES, RANKING_FIGURES
from nasbench1shot1.experiments.reproduction.proxy_figure import ProxyFigure
from nasbench1shot1.experiments.reproduction.ranking_figure import RankingFigure
from nasbench1shot1.experiments.reproduction.regret import RegretFigure

KINDS: dict[str, Callable[[str, Sequence[str]], ReproducedFigure]] = {
    "figure2": RegretFigure.named,
    **dict.fromkeys(RANKING_FIGURES, RankingFigure.named),
    **dict.fromkeys(FIGURES, RegretFigure.named),
    "figure17": ProxyFigure.named,
}
"""Functions that create a figure from its name and the selected parts, by name."""


def open_figure(name: str, only: Sequence[str] = ()) -> ReproducedFigure:
    """Return a figure, or the selected part of it.

    Args:
        name: "figure2", …
        only: keys of panels or of curves, or "panel/curve", each with optional `*` wildcards. A curve
            is selected if one of them matches.

    Raises:
        InvalidInputError: the name is unknown, or one of `only` matches nothing.
    """
    if name not in KINDS:
        raise _unknown_figure(name)
    return KINDS[name](name, only)


def _unknown_figure(name: str) -> InvalidInputError:
    known = f"known: {', '.join(KINDS)}"
    number = int(match[0]) if (match := re.search(r"\d+", name)) else 0
    if number in OTHER_FIGURES:
        return InvalidInputError(
            f"reproduce does not draw figure {number} of the paper, which shows {OTHER_FIGURES[number]} ({known})"
        )
    hint = f"; did you mean 'figure{number}'?" if f"figure{number}" in KINDS else ""
    return InvalidInputError(f"unknown figure '{name}'{hint} ({known})")
