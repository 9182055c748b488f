"""The analyses of NATS-Bench's size space by name, with the panels of their figures and their results in one line."""

from dataclasses import replace
from functools import partial

from nasbench1shot1.experiments.rank_correlation import coefficient_text
from nasbench1shot1.experiments.space_statistics.analysis import Analysis, Frame
from nasbench1shot1.experiments.space_statistics.nats_bench.accuracy_and_cost import (
    AXES,
    accuracy_by_cost,
    accuracy_panels,
)
from nasbench1shot1.experiments.space_statistics.nats_bench.measurements import DATASETS
from nasbench1shot1.experiments.space_statistics.nats_bench.topology import ANALYSES as TOPOLOGY
from nasbench1shot1.experiments.space_statistics.nats_bench.widths import (
    accuracy_by_width,
    known_architectures,
    known_headline,
    known_panels,
    width_headline,
    width_panels,
)


def _cost(frame: Frame) -> str:
    words = AXES[frame.attrs["cost"]].split()[0]
    listed = [f"{DATASETS[c['dataset']]} {coefficient_text(c['spearman'], 3)}" for c in frame.attrs["correlations"]]
    return f"Spearman of test accuracy with {words}: {', '.join(listed)}"


_TEST, _MARKED = ("test",), ("mark",)
_SHARED = (
    "dataset-ranks",
    "correlation-matrix",
    "short-training-ranks",
    "ranks-along-training",
    "learning-curves",
    "pareto-fronts",
)
ANALYSES = {
    "accuracy-by-parameters": Analysis(
        partial(accuracy_by_cost, splits=_TEST),
        accuracy_panels,
        _cost,
        takes=_MARKED,
        columns=2,
        panel_inches=(4.2, 3.0),
    ),
    "accuracy-by-flops": Analysis(
        partial(accuracy_by_cost, cost="flops", splits=_TEST), accuracy_panels, _cost, takes=_MARKED, columns=3
    ),
    "accuracy-by-width": Analysis(accuracy_by_width, width_panels, width_headline, takes=(), panel_inches=(4.4, 3.4)),
    "known-architectures": Analysis(
        known_architectures, known_panels, known_headline, takes=(), columns=1, panel_inches=(6.4, 2.6)
    ),
    **{
        name: replace(TOPOLOGY[name], takes=tuple(of for of in TOPOLOGY[name].takes if of != "kind"))
        for name in _SHARED
    },
}
"""The analyses of the size space."""
