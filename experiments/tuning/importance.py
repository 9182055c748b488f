"""How much does each hyperparameter matter? Importances, interactions and marginals (figure 16 of NAS-Bench-1Shot1).

- Importances are those of Optuna's `FanovaImportanceEvaluator` (Hutter et al. 2014): a random forest is fitted to the
  observations of a budget, and its variance over the space is attributed to the hyperparameters. Configurations are
  passed in the unit cube. Otherwise, the evaluator would integrate over the raw range, in which most of a logarithmic
  range has almost no volume.
- Interactions are Shapley interactions by hypershap, an optional extra. Its sensitivity game asks how much the
  prediction of a random forest varies if some hyperparameters vary and the others keep their defaults (Wever et al.
  2025). fANOVA averages over the other hyperparameters instead, so the two do not measure the same thing.
- The marginal of a random forest over two hyperparameters is the mean of its prediction over all values of the others,
  uniform on their scales (Hutter et al. 2014, equation 3), here over a Sobol sequence.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import combinations, cycle
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas
from numpy.typing import NDArray

from nasbench1shot1.display.axis import Axis
from nasbench1shot1.display.canvas import NARROW, Canvas
from nasbench1shot1.display.charts import Bars, Matrix, Panel, draw_panels
from nasbench1shot1.display.colours import Colors, checked_colors, checked_labels
from nasbench1shot1.display.style import AnyStyle, checked_style, relative_size
from nasbench1shot1.ground.errors import InvalidInputError, unknown_name
from nasbench1shot1.ground.plugins import require_package
from nasbench1shot1.ground.text import counted
from nasbench1shot1.tuning.export import new_optuna_study

if TYPE_CHECKING:
    from ConfigSpace import ConfigurationSpace
    from optuna.distributions import BaseDistribution

    from nasbench1shot1.display.axes import Axes, Figure
    from nasbench1shot1.tuning.record import Study

FANOVA = "Optuna's fANOVA"
REST = "(interactions)"
"""Row for the variance that no single hyperparameter explains."""
HYPERSHAP = "hypershap's sensitivity, Faithful Shapley interactions"
SAMPLES = 1000
"""Random configurations per set of hyperparameters."""
PAIR = ("cutout_probability", "weight_decay")
"""The hyperparameters that figure 16 shows: cutout and L2."""
TREES = 64
"""Number of trees, the default of Optuna's fANOVA."""
FEWEST = 4
"""Number of observations at a budget below which no importance is reported."""
SHADES = ("#9ecae1", "#4292c6", "#084594", "#636363", "#252525")


def importances(studies: "Sequence[Study]", seed: int = 0) -> pandas.DataFrame:
    """Return the importance of each hyperparameter at each budget.

    Args:
        studies: studies of one configuration space, which are pooled; they may be unfinished.
        seed: seed of the random forest.

    Returns:
        Columns `budget`, `observations` (searches that did not diverge), `hyperparameter`, `importance` (fraction of
        the variance). The rows `REST` make the sum 1. Importances are NaN if a budget has fewer than `FEWEST`
        observations or if all its losses are equal.

    Raises:
        InvalidInputError: the studies have different configuration spaces.
        UserError: Optuna is not installed.
    """
    rows = []
    for budget in sorted({line["budget"] for study in studies for line in study.shared_lines}):
        frame, losses = encode_observations(studies, budget)
        found = _fanova(frame, losses, studies[0].config_space, seed)
        rows += [(budget, len(losses), name, value) for name, value in found.items()]
    return pandas.DataFrame(rows, columns=["budget", "observations", "hyperparameter", "importance"])


def _fanova(
    frame: pandas.DataFrame, losses: NDArray[np.float64], space: Mapping[str, Any], seed: int
) -> dict[str, float]:
    if len(losses) < FEWEST or np.ptp(losses) == 0 or len(frame.drop_duplicates()) < 2:
        return dict.fromkeys([*frame.columns, REST], float("nan"))
    require_package("optuna", "fANOVA", extra="tune")
    from optuna.importance import FanovaImportanceEvaluator
    from optuna.trial import create_trial

    distributions = {name: _distribution(space[name]) for name in frame.columns}
    trials = [
        create_trial(params=_params(row, distributions), distributions=distributions, value=float(loss))
        for row, loss in zip(frame.to_dict("records"), losses, strict=True)
    ]
    found = FanovaImportanceEvaluator(seed=seed).evaluate(new_optuna_study(trials))  # not normalised to a sum of 1
    own = {name: float(found.get(name, 0.0)) for name in frame.columns}
    return {**own, REST: 1 - sum(own.values())}


def _distribution(hyperparameter: Any) -> "BaseDistribution":
    from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

    count = n_choices(hyperparameter)
    if count is None:
        return FloatDistribution(0.0, 1.0)
    return IntDistribution(0, count - 1) if is_ordered(hyperparameter) else CategoricalDistribution(range(count))


def _params(row: Mapping[Any, float], distributions: "Mapping[str, BaseDistribution]") -> dict[str, Any]:
    from optuna.distributions import FloatDistribution

    numbers = (FloatDistribution,)
    return {name: value if isinstance(distributions[name], numbers) else int(value) for name, value in row.items()}


def order_of(frame: pandas.DataFrame) -> list[str]:
    """Return the hyperparameters of `importances` from the most to the least important on average; `REST` last."""
    mean = frame[frame["hyperparameter"] != REST].groupby("hyperparameter", sort=False)["importance"].mean()
    return [*mean.fillna(0.0).sort_values(ascending=False, kind="stable").index, REST]


# Pairwise interactions ------------------------------------------------------------------------------------------------


def interactions(studies: "Sequence[Study]", budget: int | None = None, seed: int = 0) -> pandas.DataFrame:
    """Return the contribution of each hyperparameter and of each pair to the variance of the predicted loss.

    Args:
        studies: studies of one configuration space without conditions, which are pooled.
        budget: only fit searches of this many epochs. Default: all.
        seed: seed of the random forest and of the random configurations.

    Returns:
        Columns `first`, `second` (empty for a hyperparameter alone) and `interaction`, a variance of losses as
        fractions; negative for a pair whose joint effect is less than the sum of its parts. No rows if fewer than
        `FEWEST` searches did not diverge.

    Raises:
        InvalidInputError: the space has conditions, or the studies have different configuration spaces.
        UserError: hypershap is not installed.
    """
    require_package("hypershap", "analysing interactions", extra="interactions")
    from ConfigSpace import Configuration
    from hypershap import ExplanationTask, HyperSHAP
    from sklearn.ensemble import RandomForestRegressor

    space = studies[0].config_space
    if space.conditions:
        raise InvalidInputError("interactions are not defined for a configuration space with conditions")
    found = list_observations(studies, budget)
    if len(found) < FEWEST:
        return pandas.DataFrame(columns=["first", "second", "interaction"])
    data = [(Configuration(space, values=configuration), loss) for configuration, loss in found]
    task = ExplanationTask.from_data(space, data, RandomForestRegressor(random_state=seed))
    values = HyperSHAP(task).sensitivity(space.get_default_configuration(), n_samples=SAMPLES, seed=seed)
    names = list(space)
    sets = [(i,) for i in range(len(names))] + list(combinations(range(len(names)), 2))
    rows = [(names[of[0]], names[of[1]] if len(of) > 1 else "", float(values[of])) for of in sets]
    return pandas.DataFrame(rows, columns=["first", "second", "interaction"])


def is_installed() -> bool:
    """Return whether hypershap is installed."""
    return find_spec("hypershap") is not None


# Expected loss over two hyperparameters -------------------------------------------------------------------------------


def marginal(
    studies: "Sequence[Study]",
    pair: tuple[str, str] = PAIR,
    budget: int | None = None,
    *,
    points: int = 25,
    others: int = 64,
    seed: int = 0,
) -> pandas.DataFrame:
    """Return the expected loss on a grid over two numeric hyperparameters.

    Args:
        studies: studies of one configuration space, which are pooled.
        pair: names of the two hyperparameters.
        budget: only fit searches of this many epochs. Default: all.
        points: number of grid points per hyperparameter, evenly spaced on its scale, ends included.
        others: number of points over which the other hyperparameters are averaged; a power of 2.
        seed: seed of the forest and of the Sobol sequence.

    Returns:
        A frame with one row per grid point: the two hyperparameters in their own units, and `loss`, a fraction. It has
        no rows if fewer than `FEWEST` searches did not diverge.

    Raises:
        InvalidInputError: a name is unknown, not numeric, or given twice, or the studies have different spaces.
        UserError: scikit-learn is not installed.
    """
    space = studies[0].config_space
    for name in pair:
        if name not in space:
            raise unknown_name("hyperparameter", name, list(space))
    if pair[0] == pair[1] or any(n_choices(space[name]) is not None for name in pair):
        raise InvalidInputError(f"a marginal over {pair[0]} and {pair[1]} is not defined: give two different numbers")
    frame, losses = encode_observations(studies, budget)
    if len(losses) < FEWEST:
        return pandas.DataFrame(columns=[*pair, "loss"], dtype=np.float64)
    forest = _forest(seed).fit(frame.to_numpy(), losses)
    axis = np.linspace(0.0, 1.0, points)
    first, second = (values.ravel() for values in np.meshgrid(axis, axis, indexing="ij"))
    filled = np.repeat(_filling(space, others, seed)[None], len(first), axis=0)  # (grid, others, hyperparameters)
    names = list(space)
    filled[:, :, names.index(pair[0])] = first[:, None]
    filled[:, :, names.index(pair[1])] = second[:, None]
    predicted = forest.predict(filled.reshape(-1, len(names))).reshape(len(first), others).mean(axis=1)
    units = [[float(space[name].to_value(x)) for x in of] for name, of in zip(pair, (first, second), strict=True)]
    return pandas.DataFrame({pair[0]: units[0], pair[1]: units[1], "loss": predicted})


def _filling(space: "ConfigurationSpace", others: int, seed: int) -> NDArray[np.float64]:
    """Return points of the whole space in the encoding of `to_unit_cube`, shape (others, hyperparameters)."""
    from scipy.stats import qmc

    points = qmc.Sobol(len(space), seed=seed).random(others)
    for column, hyperparameter in enumerate(space.values()):
        if count := n_choices(hyperparameter):
            points[:, column] = np.minimum(np.floor(points[:, column] * count), count - 1)
    filled: NDArray[np.float64] = points
    return filled


def _forest(seed: int) -> Any:
    require_package("sklearn", "predicting losses", extra="tune")
    from sklearn.ensemble import RandomForestRegressor

    return RandomForestRegressor(n_estimators=TREES, random_state=seed)


# Encoding of configurations -------------------------------------------------------------------------------------------


def encode_observations(
    studies: "Sequence[Study]", budget: int | None = None
) -> tuple[pandas.DataFrame, NDArray[np.float64]]:
    """Return the configurations of all observations of studies, and their losses; diverged searches are left out.

    Args:
        studies: studies of one configuration space, which are pooled.
        budget: only searches of this many epochs. Default: all.

    Returns:
        A frame of N rows as `to_unit_cube` makes it, and the losses (N,) as fractions.

    Raises:
        InvalidInputError: the studies have different configuration spaces.
    """
    found = list_observations(studies, budget)
    losses = np.array([loss for _, loss in found], np.float64)
    return to_unit_cube(studies[0].config_space, [configuration for configuration, _ in found]), losses


def list_observations(studies: "Sequence[Study]", budget: int | None = None) -> list[tuple[dict[str, Any], float]]:
    """Return configurations and losses as `encode_observations` does, with the configurations as mappings."""
    if any(study.config_space != studies[0].config_space for study in studies):
        raise InvalidInputError("studies of different configuration spaces cannot be pooled: analyse them separately")
    return [
        (study.configurations[line["configuration_id"]], line["loss"])
        for study in studies
        for line in study.shared_lines
        if line["loss"] is not None and budget in (None, line["budget"])
    ]


def to_unit_cube(space: "ConfigurationSpace", configurations: Sequence[Mapping[str, Any]]) -> pandas.DataFrame:
    """Return configurations with every number in [0, 1], on a logarithmic scale where the hyperparameter has one.

    A categorical, ordinal or constant hyperparameter becomes the index of its value. An inactive hyperparameter has its
    default.

    Args:
        space: the hyperparameters.
        configurations: values of the active hyperparameters.

    Returns:
        A frame (N, number of hyperparameters).
    """
    columns = {
        name: [_to_vector(of, each.get(name, of.default_value)) for each in configurations]
        for name, of in space.items()
    }
    return pandas.DataFrame(columns, columns=list(space), dtype=np.float64)


def _to_vector(hyperparameter: Any, value: Any) -> float:
    return 0.0 if hasattr(hyperparameter, "value") else float(hyperparameter.to_vector(value))  # here, a constant is 1


def n_choices(hyperparameter: Any) -> int | None:
    """Return the number of values of a categorical, ordinal or constant hyperparameter; None for a number."""
    for attribute in ("choices", "sequence"):
        if hasattr(hyperparameter, attribute):
            return len(getattr(hyperparameter, attribute))
    return 1 if hasattr(hyperparameter, "value") else None


def is_ordered(hyperparameter: Any) -> bool:
    """Return whether the values of a hyperparameter have an order."""
    return not hasattr(hyperparameter, "choices")


# Picture: a row per space, with loss surfaces, importances and pairwise interactions ----------------------------------


@dataclass(frozen=True, eq=False)
class Row:
    """The analyses of the studies of one space.

    Attributes:
        title: name of the space.
        surfaces: a frame of `marginal` for each budget.
        points: the observed pairs of hyperparameters for each budget, shape (N, 2).
        importances: the frame of `importances`.
        interactions: the frame of `interactions`; None if hypershap is not installed.
    """

    title: str
    surfaces: dict[int, pandas.DataFrame]
    points: dict[int, "np.ndarray[Any, Any]"]
    importances: pandas.DataFrame
    interactions: pandas.DataFrame | None


def draw_importances(
    rows: Sequence[Row],
    title: str,
    caption: str,
    style: AnyStyle | None = None,
    *,
    colors: Colors | None = None,
    labels: Sequence[str] | str | None = None,
) -> "Figure":
    """Plot expected losses over cutout and weight decay for each budget, then importances, then pairwise interactions.

    Args:
        rows: one row per space; at least one.
        title: title of the figure.
        caption: text below the figure.
        style: "screen" (default), or as in `style.AnyStyle`.
        colors: colours of the bars: one per budget, or by label. Default: greys.
        labels: one label per budget for the legends of the bars.

    Raises:
        InvalidInputError: there is no such style, or `colors` or `labels` do not fit the budgets.
    """
    budgets = sorted({budget for row in rows for budget in row.surfaces})
    usual = [counted(budget, "epoch") for budget in budgets]
    names = checked_labels(labels, usual, "budget")
    given = zip(budgets, names, checked_colors(colors, usual, names), cycle(SHADES), strict=False)
    looks = {budget: (name, colour or shade) for budget, name, colour, shade in given}
    pairwise = any(row.interactions is not None for row in rows)
    panels = len(budgets) + 1 + pairwise
    looked = checked_style(style)
    columns = panels if looked.has_texts else looked.columns(2, NARROW)  # a page is too narrow for all panels
    lines = -(-panels // columns)
    with Canvas(len(rows) * lines, columns, panel=(3.3, 2.7), style=style) as canvas:
        for row, axes in zip(rows, canvas.grid.reshape(len(rows), -1), strict=True):
            for ax in axes[panels:]:
                ax.set_axis_off()
            for budget, ax in zip(budgets, axes, strict=False):
                ax.set_title(f"{row.title}, {counted(budget, 'epoch')}", fontsize=relative_size(0.9))
                _draw_surface(row.surfaces.get(budget), row.points.get(budget), ax)
            axes[0].set_ylabel(PAIR[1].replace("_", " "), fontsize=relative_size(0.8))
            drawn = [_importances_panel(row, looks), *([_interactions_panel(row)] if pairwise else [])]
            for panel, ax in zip(drawn, axes[len(budgets) : panels], strict=True):
                draw_panels([panel], ax=ax)
        return canvas.finish(title, caption, legend=True)


def _draw_surface(frame: pandas.DataFrame | None, points: "np.ndarray[Any, Any] | None", ax: "Axes") -> None:
    """Draw the surface of one budget in its own colours, because budgets differ more than configurations do."""
    if frame is None or points is None or not len(frame):
        ax.set_axis_off()
        ax.text(
            0.5, 0.5, "too few searches", ha="center", va="center", fontsize=relative_size(0.8), transform=ax.transAxes
        )
        return
    x, y = (np.unique(frame[name]) for name in PAIR)
    values = 100 * frame["loss"].to_numpy().reshape(len(x), len(y)).T
    drawn = ax.pcolormesh(x, y, values, cmap="viridis_r", shading="nearest")
    ax.plot(*points.T, ".", color="white", markeredgecolor="black", markersize=5, markeredgewidth=0.4)
    ax.set_yscale("log")
    ax.set_xlabel(PAIR[0].replace("_", " "), fontsize=relative_size(0.8))
    ax.figure.colorbar(drawn, ax=ax).set_label("expected validation error [%]", fontsize=relative_size(0.7))


def _importances_panel(row: Row, looks: Mapping[int, tuple[str, str]]) -> Panel:
    """Return the importances as bars, which have the label and the colour of their budget."""
    frame, marks = row.importances, []
    names, budgets = order_of(frame), sorted(set(frame["budget"]))
    height = 0.8 / max(len(budgets), 1)
    for number, budget in enumerate(budgets):
        own = frame[frame["budget"] == budget].set_index("hyperparameter")["importance"].reindex(names)
        places = np.arange(len(names)) + (number - (len(budgets) - 1) / 2) * height
        label, colour = looks[budget]
        marks.append(Bars(places, own, label=label, color=colour, width=height, horizontal=True))
    across = Axis(f"fraction of variance\n({FANOVA})", low=min(0.0, frame["importance"].min()), high=1)
    up = Axis("", low=len(names) - 0.5, high=-0.5, ticks=dict(enumerate(map(_broken, names))))
    return Panel(f"{row.title}, importance", across, up, marks, has_legend=False)


def _interactions_panel(row: Row) -> Panel:
    """Return a symmetric matrix: hyperparameters on the diagonal, pairs beside it."""
    frame, across = row.interactions, Axis(f"variance in squared percentage points\n({HYPERSHAP})")
    if frame is None or not len(frame):
        return Panel(f"{row.title}, interactions", across, Axis(""), empty="too few searches")
    names = list(frame.loc[frame["second"] == "", "first"])
    matrix = np.full((len(names), len(names)), np.nan)
    for first, second, value in frame.itertuples(index=False):
        i, j = names.index(first), names.index(second or first)
        matrix[i, j] = matrix[j, i] = 1e4 * value
    largest = float(np.nanmax(np.abs(matrix))) or 1.0
    texts, short = [[f"{value:.3g}" for value in line] for line in matrix], list(map(_broken, names))
    shown = Matrix(matrix, texts, short, short, low=-largest, high=largest, cmap="RdBu_r")
    return Panel(f"{row.title}, interactions", across, Axis(""), [shown])


def _broken(name: str) -> str:
    return name.replace("_", "\n", 1)
