"""The picture of a study: regret over simulated time."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from nasbench1shot1.display.axes import start_at_zero
from nasbench1shot1.display.canvas import Canvas
from nasbench1shot1.display.colours import BLACK, Colors, checked_colors, curve_styles, main_first, shades
from nasbench1shot1.display.curves import draw_curve, pool_values
from nasbench1shot1.display.data import note_drawn
from nasbench1shot1.display.marked_networks import draw_marked
from nasbench1shot1.display.style import AnyStyle, tone
from nasbench1shot1.evaluator import Baseline
from nasbench1shot1.ground.text import counted
from nasbench1shot1.one_shot_search.captions import shrunk_text
from nasbench1shot1.one_shot_search.regret_curve import baseline_of, draw_largest
from nasbench1shot1.reference_points import Asked, marked_regrets
from nasbench1shot1.registry import search_space
from nasbench1shot1.tables.columns import counted_source
from nasbench1shot1.tuning.options import TUNERS
from nasbench1shot1.tuning.record import Study, are_timed, best, costs_of, measured_values, size_text

if TYPE_CHECKING:
    from nasbench1shot1.display.axes import Axes, Figure
    from nasbench1shot1.tables.table import Table

HOUR = 3600.0
SIMULATED = "simulated time: search and one training of each architecture [h]"
UNTIMED = "wall-clock time of the searches (training times are unknown) [h]"
"""Labels of the axis of time, with and without training times in the table."""


def trajectory_figure(
    study: Study,
    lines: Sequence[Mapping[str, Any]],
    table: "Table",
    style: AnyStyle | None = None,
    mark: Iterable[Asked] | None = None,
) -> "Figure":
    """Draw the regret of the best observation so far over simulated time, and the regret of every search.

    The best observation is the one with the lowest loss.

    Args:
        study: the study.
        lines: its observations, with the errors and regrets of a table.
        table: this table.
        style: "screen" (default), or as in `style.AnyStyle`.
        mark: networks whose test regret is a horizontal line (`reference_points.reference_points`). Default: none.
    """
    with Canvas(panel=(7.2, 4.0), style=style) as canvas:
        config, space = study.config, search_space(study.config["space"]).name
        axes = draw_trajectory(lines, canvas.axes[0], config["optimizer"], guide=study.guide)
        baseline = baseline_of(study.baseline, config, table, space)
        regrets = marked_regrets(mark, table, study)
        start_at_zero(draw_marked(draw_largest(baseline, axes), regrets.levels()))
        caption = trajectory_caption(study, lines, table, baseline, regrets.note)
        return canvas.finish(trajectory_title(study, lines), caption, legend=True)


def trajectory_title(study: Study, lines: Sequence[Mapping[str, Any]]) -> str:
    """Return the title of a figure of the observations of a study."""
    config, diverged = study.config, sum(line["loss"] is None for line in lines)
    return (
        f"{TUNERS[config['tuner']]} tunes {config['optimizer']} on {config['space']}: {counted(len(lines), 'search')}, "
        f"{diverged} diverged; one study, seed {config['seed']}\n{_scale(study)}"
    )


def trajectory_caption(
    study: Study,
    lines: Sequence[Mapping[str, Any]],
    table: "Table | None",
    baseline: Baseline | None,
    note: str = "",
) -> str:
    """Return the text below a figure of a study, with a further note.

    Args:
        study: the study.
        lines: its observations, with the errors and regrets of the table.
        table: the table behind the regrets. None: the recorded table, which is not available.
        baseline: the bounds of the study and their baseline.
        note: a further line.
    """
    about = [f"table {study.config['table_id']}"]
    if table is not None:
        about = [f"table {table.id}; {_sources(study, lines, table)}", table.fidelity()]
    return "\n".join(filter(None, [*about, study.guide_sentence, baseline.sentence if baseline else "", note]))


def _sources(study: Study, lines: Sequence[Mapping[str, Any]], table: "Table") -> str:
    """Return how many of the drawn regrets are measured: test regrets of the best observations, and regrets of all."""
    incumbents = [of for number in range(1, len(lines) + 1) if (of := best(lines[:number])) is not None]
    every_best = list({of["number"]: of for of in incumbents}.values())
    guided, texts = "validation regrets" if study.guide == "validation" else f"{study.guide} regrets (objective)", []
    for name, split, drawn in (("test regrets", "test", every_best), (guided, "validation", lines)):
        known = [line for line in drawn if line[f"{split}_regret"] is not None]
        measured = sum(measured_values(study, line, table)[f"{split}_measured"] for line in known)
        texts.append(f"{name}: {counted_source(measured, len(known))}")
    return "; ".join(texts)


def draw_trajectory(
    lines: Sequence[Mapping[str, Any]],
    axes: "Axes",
    method: str,
    *,
    colors: Colors | None = None,
    labels: Sequence[str] | str | None = None,
    guide: str = "validation",
) -> "Axes":
    """Draw regrets in percent over the simulated time of all searches so far, as if one worker ran them.

    The test regret has the method's colour. The validation regret is dashed and black, because the two can coincide.

    Args:
        lines: observations of a study.
        axes: the axes to draw on.
        method: name of the tuned optimizer.
        colors: the colour of the test regret, one colour each for test and validation regret, or colours by label,
            by `method`, or for "validation".
        labels: the label of the test regret, or labels of the test and validation regret.
        guide: the images whose error the study minimizes (`Study.guide`).

    Returns:
        The axes.
    """
    guided = f"{guide} regret" if guide == "validation" else f"{guide} regret (objective)"
    ends = np.cumsum([cost / HOUR for cost in costs_of(lines)])
    budgets = sorted({line["budget"] for line in lines})
    for budget, shade in zip(budgets, shades(len(budgets)), strict=True):
        of_budget = [(end, line) for end, line in zip(ends, lines, strict=True) if line["budget"] == budget]
        known = [(end, line["validation_regret"]) for end, line in of_budget if line["validation_regret"] is not None]
        at, regrets = np.array(known, np.float64).reshape(-1, 2).T
        label = f"search of {counted(budget, 'epoch')}, {guided}"
        axes.plot(at, 100 * regrets, "o", markersize=3.5, color=tone(shade), label=label)
        note_drawn(axes, "points", label, x=at, y=100 * regrets)
    shown = main_first(labels, ["best so far, test regret", f"best so far, {guided}"])
    given = {method: colors} if isinstance(colors, str) else colors
    main, other = checked_colors(given, [method, "validation"], shown)
    main_style = {**curve_styles([method])[0], "marker": ""}
    looks = [{**main_style, "color": main or main_style["color"]}, {"color": other or BLACK, "linestyle": "--"}]
    for name, label, look in zip(("test_regret", "validation_regret"), shown, looks, strict=True):
        values = np.array([_incumbents(lines, name)], np.float64)
        draw_curve(axes, pool_values(ends, values), label=label, style=look, steps=True)
    axes.set_xlabel(SIMULATED if are_timed(lines) else UNTIMED)
    axes.set_ylabel("regret [%]")
    axes.grid(alpha=0.25)
    return start_at_zero(axes)


def _incumbents(lines: Sequence[Mapping[str, Any]], name: str) -> list[float | None]:
    """Return a field of the best observation so far, after every observation."""
    found = list[float | None]()
    for number in range(1, len(lines) + 1):
        incumbent = best(lines[:number])
        found.append(incumbent[name] if incumbent else None)
    return found


def _scale(study: Study) -> str:
    shared, config = study.shared_options, study.config
    size = size_text(shared)
    images = f"{config['weight_images']:,} + {config['architecture_images']:,} images of {shared['images']}"
    return f"{shared['scale']} scale: {size}, {images}{shrunk_text(shared)}, preset {shared['preset']}"
