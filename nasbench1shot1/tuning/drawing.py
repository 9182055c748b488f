"""The picture of a study: regret over simulated time."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from nasbench1shot1.ground.text import counted
from nasbench1shot1.tuning.options import TUNERS
from nasbench1shot1.tuning.record import Study, best, simulated_cost

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from nasbench1shot1.tables.table import Table

REGRETS = {"validation_regret": ("validation regret", "#e07b39", 2.6), "test_regret": ("test regret", "#1b6ca8", 1.2)}
"""Label, colour and line width of each curve. The one drawn first is wider, because the two can coincide."""
HOUR = 3600.0


def trajectory_figure(study: Study, lines: Sequence[Mapping[str, Any]], table: "Table") -> "Figure":
    """Draw the regret of the best observation so far over simulated time, and the regret of every search.

    The best observation is the one with the lowest loss.

    Args:
        study: the study.
        lines: its observations, with the errors and regrets of a table.
        table: this table.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure, config = Figure(figsize=(7.2, 4.8), layout="constrained", dpi=150), study.config
    FigureCanvasAgg(figure)
    draw_trajectory(lines, figure.add_subplot())
    diverged = sum(line["loss"] is None for line in lines)
    tuner = TUNERS[config["tuner"]]
    figure.suptitle(
        f"{tuner} tunes {config['optimizer']} on {config['space']}: {len(lines)} searches, {diverged} diverged; "
        f"one study, seed {config['seed']}\n{_scale(study)}",
        fontsize=9,
    )
    objective = table.objective(config["dataset"])
    is_measured = table.is_measured(objective.test_metric, objective.test)
    kinds = "measured" if is_measured else "estimates, not measurements"
    figure.supxlabel(f"table {table.id}: {kinds}\n{table.fidelity()}", fontsize=7, color="#444444")
    return figure


def draw_trajectory(lines: Sequence[Mapping[str, Any]], axes: "Axes") -> "Axes":
    """Draw regrets in percent over the simulated time of all searches so far, as if one worker ran them.

    Args:
        lines: observations of a study.
        axes: the axes to draw on.

    Returns:
        The axes.
    """
    import matplotlib

    ends, total = list[float](), 0.0
    for line in lines:
        total += simulated_cost(line) / HOUR
        ends.append(total)
    budgets = sorted({line["budget"] for line in lines})
    shades = matplotlib.colormaps["Greys"]
    for rank, budget in enumerate(budgets, start=1):
        at = [(end, line) for end, line in zip(ends, lines, strict=True) if line["budget"] == budget]
        found = [(end, 100 * line["validation_regret"]) for end, line in at if line["validation_regret"] is not None]
        label = f"search of {counted(budget, 'epoch')}, validation regret"
        shade = shades(0.25 + 0.6 * rank / len(budgets))
        axes.scatter([end for end, _ in found], [regret for _, regret in found], s=12, color=shade, label=label)
    for name, (label, colour, width) in REGRETS.items():
        steps = [(end, value) for end, value in zip(ends, _incumbents(lines, name), strict=True) if value is not None]
        x, y = [end for end, _ in steps], [100 * value for _, value in steps]
        axes.step(x, y, where="post", color=colour, linewidth=width, label=f"best so far, {label}")
        if len(x) == 1:  # a line with a single point would be invisible
            axes.plot(x, y, "o", color=colour, markersize=2 + 2 * width)
    axes.set_xlabel("simulated time: search and one training of each architecture [h]")
    axes.set_ylabel("regret [%]")
    axes.set_ylim(0, 1.08 * axes.get_ylim()[1] or 1)
    axes.grid(alpha=0.25)
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.14), ncols=2, frameon=False, fontsize=7)
    return axes


def _incumbents(lines: Sequence[Mapping[str, Any]], name: str) -> list[float | None]:
    """Return a field of the best observation so far, after every observation."""
    found = list[float | None]()
    for number in range(1, len(lines) + 1):
        incumbent = best(lines[:number])
        found.append(incumbent[name] if incumbent else None)
    return found


def _scale(study: Study) -> str:
    shared, config = study.shared_options, study.config
    size = f"{counted(shared['channels'], 'channel')} × {counted(shared['cells'], 'cell')}"
    images = f"{config['weight_images']:,} + {config['architecture_images']:,} images of {shared['images']}"
    return f"{shared['scale']} scale: {size}, {images}, preset {shared['preset']}"
