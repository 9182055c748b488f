"""The data of a figure: what every function of this room draws, with its values, for a CSV file beside the picture.

A function that draws calls `note_drawn` with the values in the units of the axes. `figure.data` of a new figure returns
one frame with the columns `COLUMNS`. Axes that a caller gives keep no data.
"""

from collections.abc import Iterable, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from nasbench1shot1.display.colours import from_literal

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes

COLUMNS = ("panel", "kind", "label", "x", "y", "low", "high", "n", "value", "text", "x_axis", "y_axis")
"""Columns of the data: title or number of the panel; kind of mark; label in the legend; coordinates; ends of the band
or the bar at `y`; number of runs behind `y`; value of a colour or a width; text at the mark; labels of the axes."""
NUMBERS = ("x", "y", "low", "high", "n", "value")
Kind = Literal["curve", "points", "level", "bars", "matrix", "node", "edge"]
"""Kinds of marks. level: a line across the axes, with only `x` or only `y`. matrix: cells, with the labels of column
and row in `x` and `y`. node, edge: of a drawn cell, with the number of the node, or of both nodes, in `x` and `y`."""


@dataclass(frozen=True, eq=False)
class Drawn:
    """What one call has drawn on axes.

    Attributes:
        axes: the axes.
        kind: the kind of mark.
        label: its label in the legend.
        values: the columns from `x` to `text`, as far as there are any: N values, or one for all.
        y_axis: label of a vertical axis of its own.
    """

    axes: "Axes"
    kind: Kind
    label: str
    _: KW_ONLY
    values: dict[str, Any]
    y_axis: str = ""


def note_drawn(axes: "Axes", kind: Kind, label: str = "", *, y_axis: str = "", **values: Any) -> None:
    """Note what is drawn on axes, for the data of their figure; arguments as in `Drawn`. None: there are no values."""
    drawn = getattr(axes.get_figure(root=True), "drawn", None)
    if isinstance(drawn, list):  # of a figure of this package
        kept = {name: value for name, value in values.items() if value is not None}
        drawn.append(Drawn(axes, kind, label, values=kept, y_axis=y_axis))


def frame_of(drawn: Sequence[Drawn]) -> "pandas.DataFrame":
    """Return the data of a figure: a row for each value, panel by panel, with the columns `COLUMNS`."""
    import pandas

    panels = list(dict.fromkeys(each.axes for each in drawn))
    frames = [_frame(each, panels.index(each.axes) + 1) for each in drawn]
    order = sorted(range(len(drawn)), key=lambda place: panels.index(drawn[place].axes))
    if not frames:
        return pandas.DataFrame(columns=list(COLUMNS))
    return pandas.concat([frames[place] for place in order], ignore_index=True)[list(COLUMNS)]


def _frame(drawn: Drawn, number: int) -> "pandas.DataFrame":
    import pandas

    axes, values = drawn.axes, {name: np.atleast_1d(_plain(value)) for name, value in drawn.values.items()}
    rows = max((len(of) for of in values.values()), default=1)
    facts = {
        "panel": _as_given(axes.get_title() or axes.get_title("left")) or str(number),
        "kind": drawn.kind,
        "label": _one_line(drawn.label),
        "x_axis": _as_given(axes.get_xlabel() or _shared_label(axes, "x")),
        "y_axis": _as_given(drawn.y_axis or axes.get_ylabel() or _shared_label(axes, "y")),
    }
    numbers = {name: values.get(name, np.array([np.nan])) for name in NUMBERS}
    columns = {**facts, **numbers, "text": values.get("text", np.array([""]))}
    return pandas.DataFrame({name: _repeated(value, rows) for name, value in columns.items()})


def _plain(values: Any) -> Any:
    """Return values as a flat array; texts in one line."""
    if isinstance(values, str) or (isinstance(values, Iterable) and any(isinstance(of, str) for of in values)):
        texts = [values] if isinstance(values, str) else list(values)
        return np.array([_one_line(str(text)) for text in texts], dtype=object)
    return np.asarray(values, np.float64).ravel()


def _repeated(value: Any, rows: int) -> Any:
    return np.repeat(value, rows) if isinstance(value, str) or len(value) == 1 else value


def _shared_label(axes: "Axes", name: Literal["x", "y"]) -> str:
    """Return the label of axes that share an axis, of which only the outer ones have labels."""
    grouper = axes.get_shared_x_axes() if name == "x" else axes.get_shared_y_axes()
    labels = (getattr(other, f"get_{name}label")() for other in grouper.get_siblings(axes))
    return next(filter(None, labels), "")


def _as_given(text: str) -> str:
    """Return the text of axes in one line, with the dollar signs that it had before it was drawn."""
    return from_literal(_one_line(text))


def _one_line(text: str) -> str:
    return " ".join(text.split())
