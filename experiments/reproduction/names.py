"""The names of all figures that `nb1shot1 reproduce` draws, for its help, without the code that draws them."""

from nasbench1shot1.experiments.reproduction.black_box_figures import BLACK_BOX_FIGURES
from nasbench1shot1.experiments.reproduction.figures import (
    FIGURES,
    IMPORTANCE_FIGURES,
    RANKING_FIGURES,
    TRANSFER_TABLES,
    TUNING_FIGURES,
)

PROXY_FIGURE = "figure17"
_FIGURES = (*FIGURES, *RANKING_FIGURES, *TUNING_FIGURES, *IMPORTANCE_FIGURES, PROXY_FIGURE)
NAMES = (
    *sorted(_FIGURES, key=lambda name: int(name.removeprefix("figure"))),
    *TRANSFER_TABLES,
    *BLACK_BOX_FIGURES,
)
"""Figures by number, then tables, then figures of black-box optimizers."""
