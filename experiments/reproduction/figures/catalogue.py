"""All figures and tables by name."""

from nasbench1shot1.experiments.reproduction.figures.black_box import BLACK_BOX_FIGURES
from nasbench1shot1.experiments.reproduction.figures.collapse import COLLAPSE_FIGURES
from nasbench1shot1.experiments.reproduction.figures.methods import METHOD_FIGURES
from nasbench1shot1.experiments.reproduction.figures.nasbench201 import NASBENCH_201_FIGURES
from nasbench1shot1.experiments.reproduction.figures.nasbench_1shot1 import FURTHER_STUDIES, PAPER_FIGURES
from nasbench1shot1.experiments.reproduction.figures.nats_bench import NATS_BENCH_FIGURES
from nasbench1shot1.experiments.reproduction.figures.parts import Figure

FIGURES: dict[str, Figure] = {
    **PAPER_FIGURES,
    **BLACK_BOX_FIGURES,
    **NASBENCH_201_FIGURES,
    **NATS_BENCH_FIGURES,
    **METHOD_FIGURES,
    **COLLAPSE_FIGURES,
    **FURTHER_STUDIES,
}
"""Figures of NAS-Bench-1Shot1 by number, its table, figures of other papers, and own studies."""
