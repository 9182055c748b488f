"""The result of a finished study: its summary.json and its picture."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from nasbench1shot1.ground.text import counted
from nasbench1shot1.tuning.engine.interfaces import TUNERS
from nasbench1shot1.tuning.record import Study, best, simulated_cost

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from nasbench1shot1.tables.table import Table

FROM_CONFIG = ("tuner", "optimizer", "space", "seed", "iterations", "min_budget", "max_budget", "eta")
OF_AN_OBSERVATION = (
    "number", "configuration_id", "budget", "loss", "architecture", "table_validation_error", "table_test_error",
    "validation_regret", "test_regret", "folder",
)  # fmt: skip
REGRETS = {"validation_regret": ("validation regret", "#e07b39", 2.6), "test_regret": ("test regret", "#1b6ca8", 1.2)}
"""Label, colour and line width of each curve. The one drawn first is wider, because the two can coincide."""
HOUR = 3600.0


def summarise(study: Study, lines: Sequence[Mapping[str, Any]], table_id: str) -> dict[str, Any]:
    """Return the summary of a study whose searches have all ended.

    `best` is the observation with the lowest loss over all budgets; `equally_good` counts the observations with that
    loss. `best_at_maximum` is the observation with the lowest loss at the largest budget with a finite loss. `best` and
    `best_at_maximum` are null if all searches diverged.

    Args:
        study: the study.
        lines: its observations, with the errors and regrets of a table.
        table_id: the id of that table.
    """
    found = best(lines)
    lowest = found["loss"] if found else None
    largest = max((line["budget"] for line in lines if line["loss"] is not None), default=None)
    return {
        **{name: study.config[name] for name in FROM_CONFIG},
        "table_id": table_id,
        "observations": len(lines),
        "diverged": sum(line["loss"] is None for line in lines),
        "model_based": sum(line["model_based"] for line in lines),
        "search_seconds": sum(line["search_seconds"] or 0.0 for line in lines),
        "simulated_seconds": sum(map(simulated_cost, lines)),
        "seconds": max((line["finished"] for line in lines), default=0.0),
        "equally_good": sum(line["loss"] is not None and line["loss"] == lowest for line in lines),
        "best": _describe(study, found),
        "best_at_maximum": _describe(study, best([line for line in lines if line["budget"] == largest])),
    }


def _describe(study: Study, line: Mapping[str, Any] | None) -> dict[str, Any] | None:
    if line is None:
        return None
    configuration = study.configurations[line["configuration_id"]]
    return {**{name: line[name] for name in OF_AN_OBSERVATION}, "configuration": configuration}


def trajectory_figure(study: Study, lines: Sequence[Mapping[str, Any]], table: "Table") -> "Figure":
    """Draw the regret of the best observation so far over simulated time, and the regret of every search.

    `study` and `lines` are as in `summarise`; `table` is the table of the regrets. The best observation is the one with
    the lowest loss.
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
    kinds = "measured" if table.is_measured("test_accuracy") else "estimates, not measurements"
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
