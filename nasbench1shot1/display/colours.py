"""Colours and line styles of methods: a built-in method has the same colour in every figure."""

from collections.abc import Sequence
from itertools import cycle
from typing import Any

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#999999", "#7f5fa8", "#8c6d31")
"""Okabe and Ito's colours, which colour-blind readers can distinguish, and three more for figures with many methods."""
BLUE, VERMILION, GREEN, PINK, ORANGE, SKY, BLACK, GREY, PURPLE, BROWN = COLOURS
METHODS = {
    "darts": BLUE,
    "gdas": VERMILION,
    "pc-darts": GREEN,
    "enas": PINK,
    "snas": ORANGE,
    "setn": SKY,
    "random-ws": GREY,
    "darts-second-order": PURPLE,
    "random": BLACK,
    "regularized-evolution": BROWN,
    "non-regularized-evolution": ORANGE,
    "reinforce": GREEN,
    "local-search": SKY,
    "tpe": PINK,
    "smac": PURPLE,
    "hyperband": GREY,
    "bohb": VERMILION,
}
"""Colours of built-in methods. There are more methods than distinguishable colours, so some one-shot methods share a
colour with a black-box optimizer. Within a figure, curves with the same colour differ in line style.
"""
MOST_CURVES = 5
"""Maximum number of curves on an axis; figures with more methods have several rows."""
MOST_BANDS = 3
"""Maximum number of curves with shaded bands on an axis; more bands would hide the curves."""
LINES: tuple[Any, ...] = ("-", (0, (5, 1.5)), (0, (1.5, 1.2)), (0, (6, 1.5, 1.5, 1.5)), (0, (10, 3)))
MARKERS = ("", "o")


def colours(methods: Sequence[str]) -> list[str]:
    """Return the colour of each method; methods that are not built in get colours that no given built-in method has."""
    own = iter([name for name in dict.fromkeys(methods) if name not in METHODS])
    taken = {METHODS[name] for name in methods if name in METHODS}
    free = [*(colour for colour in COLOURS if colour not in taken), *COLOURS]
    found = METHODS | dict(zip(own, cycle(free), strict=False))
    return [found[name] for name in methods]


def distinct_colours(names: Sequence[str]) -> list[str]:
    """Return `colours`, or, if several curves have the same name, a colour for each curve; at most ten curves."""
    return colours(names) if len(set(names)) == len(names) else list(COLOURS[: len(names)])


def styles(methods: Sequence[str]) -> list[dict[str, Any]]:
    """Return the colour, line style and marker of each curve, as arguments of `Axes.plot`.

    Args:
        methods: the name of the optimizer of each curve. Methods that are not built in get the first unused colours.
            The first ten curves of a colour differ in line style or marker.
    """
    found = list[dict[str, Any]]()
    for colour in colours(methods):
        before = sum(style["color"] == colour for style in found)
        line, marker = LINES[before % len(LINES)], MARKERS[before // len(LINES) % len(MARKERS)]
        found.append({"color": colour, "linestyle": line, "marker": marker, "markersize": 3, "markevery": 0.1})
    return found
