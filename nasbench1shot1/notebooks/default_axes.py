"""The axes that a function draws on: the caller's (`ax=`, `axes=`), or the axes of a new figure."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from nasbench1shot1.ground.errors import InvalidInputError, shorten

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def axes_or_new(ax: "Axes | None", size: tuple[float, float] = (6.4, 4.4)) -> "Axes":
    """Return the given axes, or the axes of a new figure that is not registered with pyplot.

    Args:
        ax: the value of `ax=`.
        size: width and height of a new figure, in inches.

    Raises:
        InvalidInputError: `ax` is neither axes nor None.
    """
    from matplotlib.figure import Figure

    from nasbench1shot1.notebooks.axes import inline_axes

    if ax is not None:
        return checked_axes(ax)
    return inline_axes(Figure(figsize=size, layout="constrained", dpi=150))


def checked_axes(ax: Any) -> "Axes":
    """Return `ax`; raises InvalidInputError if it is something other than matplotlib axes."""
    from matplotlib.axes import Axes

    if not isinstance(ax, Axes):
        raise InvalidInputError(f"--ax must be matplotlib axes, as plt.subplots() returns them, not {_shown(ax)}")
    return ax


def checked_axes_list(axes: Any, each: str, number: int, option: str = "--ax") -> "list[Axes]":
    """Return the axes of a picture that has several.

    Args:
        axes: the value of the option: a sequence, or an array of any shape.
        each: what one of the axes shows, for the message, such as "epoch".
        number: the number of axes that the picture needs.
        option: the option, as on the command line.

    Raises:
        InvalidInputError: `axes` has another length, or contains something other than axes.
    """
    from matplotlib.axes import Axes

    found = list(getattr(axes, "flat", axes)) if isinstance(axes, Iterable) else [axes]
    if not all(isinstance(ax, Axes) for ax in found):
        raise InvalidInputError(f"{option} must be a list of matplotlib axes, one per {each}, not {_shown(axes)}")
    if len(found) != number:
        raise InvalidInputError(f"{option} must have {number} matplotlib axes, one per {each}, not {len(found)}")
    return found


def _shown(value: object) -> str:
    return shorten(repr(value))
