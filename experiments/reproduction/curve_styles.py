"""Colours and line styles of the curves of a regret figure, safe for colour-blind readers.

- Curves of several methods have the methods' colours (`display.colours`), which are equal in all figures.
- Two variants of one method, such as without and with cutout, both have the method's colour: the first is solid, the
  second dashed.
- More variants of one method are values of one option in ascending order, such as weight decays. They have the colours
  of a sequential colour map in that order, in all panels, because shades of the method's colour are too similar. Their
  lines differ, too, because these curves often coincide.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from nasbench1shot1.display.colours import LINES, METHODS, styles
from nasbench1shot1.experiments.reproduction.figures import Curve, Panel

MOST_OF_ONE_COLOUR = 2
"""Maximum number of variants that only differ in their lines."""
MAP, BRIGHTEST = "viridis", 0.86
"""Sequential colour map, and the part of it that is dark enough for lines on white."""
NEUTRAL = "#222222"
"""Colour in the legend of curves whose colours differ between panels."""

Style = Mapping[str, Any]
Place = tuple[Panel, Curve]
"""A curve and its panel."""


def curve_styles(places: Sequence[Place]) -> dict[tuple[str, str], Style]:
    """Return the arguments of `Axes.plot` for every curve of a figure, by the keys of panel and curve.

    Args: places: all curves of the whole figure, so that a part of it has the same styles.
    """
    curves = {curve.key: curve for _, curve in places}
    order = list(curves)
    if all("optimizer" in curve.options for curve in curves.values()):
        methods = styles([str(curve.options["optimizer"]) for curve in curves.values()])
        return {(panel.key, curve.key): methods[order.index(curve.key)] for panel, curve in places}
    return {(panel.key, curve.key): _variant(panel, order.index(curve.key), len(order)) for panel, curve in places}


def _variant(panel: Panel, rank: int, number: int) -> Style:
    """Return the style of a variant of a panel's method, by its rank among a number of variants."""
    if number <= MOST_OF_ONE_COLOUR:
        return {"color": METHODS[panel.options["optimizer"]], "linestyle": LINES[rank]}
    import matplotlib
    from matplotlib.colors import to_hex

    return {"color": to_hex(matplotlib.colormaps[MAP](BRIGHTEST * rank / (number - 1))), "linestyle": LINES[rank]}


def legend_styles(places: Sequence[Place], by_place: Mapping[tuple[str, str], Style]) -> dict[str, Style]:
    """Return the style of every curve in a common legend of all panels, by the label of the curve."""
    found = dict[str, list[Style]]()
    for panel, curve in places:
        found.setdefault(curve.label, []).append(by_place[panel.key, curve.key])
    is_neutral = any(len({style["color"] for style in own}) > 1 for own in found.values())
    return {label: {**own[0], "color": NEUTRAL} if is_neutral else own[0] for label, own in found.items()}
