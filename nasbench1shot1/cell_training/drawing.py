"""The picture of trainings: accuracies over epochs."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from nasbench1shot1.cell_training.group import TrainingGroup
from nasbench1shot1.cell_training.record import ACCURACIES, Training
from nasbench1shot1.display.axis import Axis
from nasbench1shot1.display.charts import Panel, Series, draw_panels
from nasbench1shot1.display.colours import Colors
from nasbench1shot1.display.style import AnyStyle
from nasbench1shot1.ground.text import counted
from nasbench1shot1.runs.record import no_result_error

if TYPE_CHECKING:
    from nasbench1shot1.display.axes import Axes


def draw_training(
    training: Training | TrainingGroup,
    ax: "Axes | None" = None,
    *,
    style: AnyStyle | None = None,
    colors: Colors | None = None,
    labels: Sequence[str] | str | None = None,
) -> "Axes":
    """Draw the accuracies of a training, or of each training of a group, at every evaluation.

    Args:
        training: the training or the group; an unfinished one is drawn as far as it is recorded.
        ax: the axes to draw on. Default: the axes of a new figure that is not registered with pyplot.
        style: "screen" (default), or as in `style.AnyStyle`.
        colors: a colour, a sequence of one colour per accuracy, or colours by label.
        labels: new labels of the legend.

    Returns:
        The axes.

    Raises:
        InvalidInputError: no evaluation is recorded yet; `ax` is not axes; or `style`, `colors` or `labels` do not fit.
    """
    trainings = training.runs if isinstance(training, TrainingGroup) else [training]
    marks = []
    for name in ACCURACIES:
        points: list[tuple[float, float]] = []
        for each in trainings:
            points += [(line["epochs"], 100 * line[name]) for line in each.lines if line[name] is not None]
            points.append((math.nan, math.nan))  # no line from one training to the next
        x, y = np.array(points).T
        if np.isfinite(y).any():
            marks.append(Series(x, y, label=name.replace("_", " "), line="-", marker="o"))
    if not marks:
        raise no_result_error(training.folder)
    what = training.network_id if isinstance(training, Training) else counted(len(trainings), "training")
    panel = Panel(f"{what}: accuracy while training", Axis("epochs of training"), Axis("accuracy [%]"), marks)
    return draw_panels([panel], ax=ax, style=style, colors=colors, labels=labels)[0]
