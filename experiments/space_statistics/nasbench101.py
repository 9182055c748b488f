"""The analyses of NAS-Bench-101 by name, with the panels of their figures and their results in one line."""

import numpy as np

from nasbench1shot1.experiments.rank_correlation import coefficient_text
from nasbench1shot1.experiments.space_statistics.analysis import Analysis, Frame
from nasbench1shot1.experiments.space_statistics.budget_correlation import budget_correlation, budget_panels
from nasbench1shot1.experiments.space_statistics.cost import cost, cost_panels
from nasbench1shot1.experiments.space_statistics.depth_and_width import depth_and_width, depth_and_width_panels
from nasbench1shot1.experiments.space_statistics.distributions import (
    accuracy_distribution,
    accuracy_panels,
    error_distribution,
    error_panels,
    noise_distribution,
    noise_panels,
)
from nasbench1shot1.experiments.space_statistics.locality import (
    autocorrelation,
    autocorrelation_panels,
    fitness_distance,
    fitness_distance_panels,
)
from nasbench1shot1.experiments.space_statistics.mini_against_full import mini_against_full, mini_panels
from nasbench1shot1.experiments.space_statistics.operation_replacement import (
    operation_replacement,
    replacement_panels,
)
from nasbench1shot1.experiments.space_statistics.top_cells import (
    copies_panels,
    isomorphic_copies,
    top_volume,
    volume_panels,
)
from nasbench1shot1.ground.text import counted, percent


def _errors(frame: Frame) -> str:
    best = frame.groupby("space", sort=False)["error"].min()
    return "lowest error: " + ", ".join(f"{space} {100 * error:.2f} %" for space, error in best.items())


def _medians(frame: Frame) -> str:
    medians = frame.attrs["medians"].items()
    return "medians: " + ", ".join(f"{name} {100 * value:.2f} %" for name, value in medians)


def _costs(frame: Frame) -> str:
    return "Spearman: " + ", ".join(
        f"{pair.replace('_', ' ')} {coefficient_text(value)}" for pair, value in frame.attrs["spearman"].items()
    )


def _replacements(frame: Frame) -> str:
    names = {"conv3x3-bn-relu": "3×3", "conv1x1-bn-relu": "1×1", "maxpool3x3": "pool"}
    said = []
    for row in frame.iloc[[0, 1, 3]].to_dict("records"):
        time = f" and {100 * row['time_change']:+.1f} % time" if row["timed"] else ""
        said.append(f"{names[row['replaced']]}→{names[row['by']]} {100 * row['accuracy_change']:+.2f} points{time}")
    return ", ".join(said)


def _best_groups(frame: Frame) -> str:
    best = frame.loc[frame.groupby("measure")["accuracy"].idxmax()]
    return "most accurate: " + ", ".join(f"{row.measure} {row.value}" for row in best.itertuples())


def _budgets(frame: Frame) -> str:
    highest = frame[frame["and_epochs"] == frame["and_epochs"].max()]
    listed = ", ".join(f"{row.epochs}: {coefficient_text(row.spearman, 3)}" for row in highest.itertuples())
    return f"Spearman with {highest['and_epochs'].iloc[0]} epochs: {listed}"


def _walk(frame: Frame) -> str:
    below = frame.loc[frame["autocorrelation"] < np.exp(-1), "shift"]
    reached = f"below 1/e from shift {below.iloc[0]} on" if len(below) else "above 1/e throughout"
    return f"autocorrelation {frame['autocorrelation'].iloc[1]:.2f} after one step, {reached}"


def _distance(frame: Frame) -> str:
    linear, ranks = (coefficient_text(frame.attrs[name]) for name in ("pearson", "spearman"))
    return f"correlation of accuracy and distance {linear} (Spearman {ranks})"


def _copies(frame: Frame) -> str:
    total, all_encodings = frame.attrs["copies"], frame.attrs["encodings"]
    best, cells = counted(int(frame["copies"].iloc[0]), "encoding"), counted(len(frame), "top cell")
    return f"best cell {best}, {cells} {total:,} of {all_encodings:,}"


def _volume(frame: Frame) -> str:
    near = frame[frame["distance"] <= 6].iloc[-1]
    error = f" ± {percent(near['error'], 1)}" if near["error"] else ""
    share = f"{percent(near['share'], 1)}{error} of the encodings"
    return f"{share} within {near['distance']:.0f} edits of {counted(frame.attrs['top_cells'], 'cell')}"


def _mini(frame: Frame) -> str:
    own = frame.set_index(["benchmark", "quantity"])["value"].to_dict()
    of_search = ", ".join(f"{name} {percent(own[name, '100 draws'])}" for name in ("mini", "full"))
    return f"regret of random search with 100 draws: {of_search}"


_USUAL = ("dataset", "predicted", "split")
_MARKED = (*_USUAL, "mark")
ANALYSES = {
    "error-distribution": Analysis(error_distribution, error_panels, _errors, "test", takes=_MARKED),
    "accuracy-distribution": Analysis(
        accuracy_distribution, accuracy_panels, _medians, takes=("dataset", "predicted", "mark")
    ),
    "noise-distribution": Analysis(noise_distribution, noise_panels, _medians, "test", takes=_USUAL),
    "cost": Analysis(cost, cost_panels, _costs, "validation", takes=_MARKED),
    "operation-replacement": Analysis(
        operation_replacement, replacement_panels, _replacements, "validation", takes=_USUAL
    ),
    "depth-and-width": Analysis(depth_and_width, depth_and_width_panels, _best_groups, "validation", takes=_USUAL),
    "budget-correlation": Analysis(budget_correlation, budget_panels, _budgets, "validation", takes=_USUAL),
    "autocorrelation": Analysis(
        autocorrelation, autocorrelation_panels, _walk, "test", takes=(*_USUAL, "rng", "space")
    ),
    "fitness-distance": Analysis(fitness_distance, fitness_distance_panels, _distance, "test", takes=_USUAL),
    "isomorphic-copies": Analysis(isomorphic_copies, copies_panels, _copies, "test", takes=_USUAL),
    "mini-against-full": Analysis(mini_against_full, mini_panels, _mini, "validation", takes=_USUAL),
    "top-volume": Analysis(top_volume, volume_panels, _volume, "test", takes=(*_USUAL, "rng")),
}
"""The analyses of NAS-Bench-101 and NAS-Bench-1Shot1."""
