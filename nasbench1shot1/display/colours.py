"""Colours, dashes and markers of methods, equal in every figure, and the rows of panels for figures of many methods.

Every colour has a marker, and methods of one colour differ in their dashes. So dash and marker identify a method, also
in black and white.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, cycle, pairwise, product
from typing import Any

from nasbench1shot1.ground.errors import InvalidInputError, option, shorten
from nasbench1shot1.ground.text import counted

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#999999", "#7f5fa8", "#8c6d31")
"""Okabe and Ito's colours, which colour-blind readers can distinguish, and three more for figures with many methods."""
BLUE, VERMILION, GREEN, PINK, ORANGE, SKY, BLACK, GREY, PURPLE, BROWN = COLOURS
WINE, INDIGO = "#882255", "#332288"
"""Two more colours for one-shot methods, whose searches draw the validation regret in black."""
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
    "tas": BROWN,
    "fbnetv2": INDIGO,
    "tunas": WINE,
    "beta-darts": BLUE,
    "drnas": INDIGO,
    "gaea": GREEN,
    "lambda-darts": WINE,
    "darts-pt": ORANGE,
    "spos": GREY,
    "fair-darts": VERMILION,
    "rf-darts": SKY,
    "sdarts-rs": PINK,
    "sdarts-adv": PURPLE,
    "darts-minus": BROWN,
    "oles": ORANGE,
    "idarts": GREEN,
    "is-darts": SKY,
    "sgas": SKY,
    "drnas-progressive": INDIGO,
}
"""Colours of built-in methods. There are more methods than distinguishable colours, so newer one-shot methods share a
colour with an older one, and some one-shot methods share one with a black-box optimizer. Methods of one colour differ
in their dashes (`curve_styles`).
"""
FURTHER_METHODS = (WINE, INDIGO, PURPLE, BROWN, SKY, ORANGE, PINK, GREEN, VERMILION, BLUE, GREY, BLACK)
"""Colours for methods that are not built in, in the order in which they are assigned. Colours of built-in methods that
are seldom compared come first."""
DATA_SETS = {"cifar10": "#5f7a8a", "cifar100": "#808000", "ImageNet16-120": "#17becf"}
"""Colours of data sets; no method has one of them."""
MOST_CURVES = 5
"""Maximum number of curves on an axis; figures with more methods have several rows."""
MOST_BANDS = 3
"""Maximum number of curves with shaded bands on an axis; more bands would hide the curves."""
LINES: tuple[Any, ...] = ("-", (0, (5, 1.5)), (0, (1.5, 1.2)), (0, (6, 1.5, 1.5, 1.5)), (0, (10, 3)))
MARKERS = {
    BLUE: "o", VERMILION: "s", GREEN: "^", PINK: "D", ORANGE: "v", SKY: "P", BLACK: "", GREY: "X", PURPLE: "<",
    BROWN: ">", WINE: "*", INDIGO: "p",
}  # fmt: skip
"""The marker of every colour."""
FURTHER = "x"
"""The marker of curves for which a colour has no dashes left."""
MARKER_SIZE, EVERY = 3.5, 0.1
"""Size of markers in points, and their distance along a curve of steps, relative to the diagonal of the axes. Curves
over epochs have markers at every k-th recorded epoch (`curves.draw_curve`)."""
STARTS = {colour: EVERY * place / len(MARKERS) for place, colour in enumerate(MARKERS)}
"""The place of the first marker, by colour, so that markers of curves that coincide do not hide each other."""
Colors = str | Sequence[str] | Mapping[str, str]
"""The values of `colors=`: one colour, a colour per curve, or colours by label or method."""
_DOLLAR = re.compile(r"(?<!\\)\$")
Line = tuple[str, Any, str]
"""Colour, line style and marker of a curve."""


def _built_in() -> dict[str, Line]:
    """Return colour, line style and marker of each built-in method."""
    found: dict[str, Line] = {}
    for name, colour in METHODS.items():
        found[name] = (colour, LINES[sum(line[0] == colour for line in found.values())], MARKERS[colour])
    return found


BUILT_IN = _built_in()


def curve_styles(
    methods: Sequence[str], colors: Colors | None = None, labels: Sequence[str] | None = None
) -> list[dict[str, Any]]:
    """Return the colour, line style and marker of each curve, as arguments of `Axes.plot`.

    Args:
        methods: the name of the optimizer of each curve. A built-in method has its own colour, dashes and marker in all
            figures. Others get the first unused colours of `FURTHER_METHODS`. Further curves of one method have its
            colour, and the first unused dashes. From the eleventh on, they have colours of `FURTHER_METHODS`.
            No two of at most ten curves have equal dashes and markers.
        colors: the value of `colors=`, which replaces colours: a colour, a sequence of one colour per curve, or a
            mapping from labels or methods to colours.
        labels: the label of each curve, for a mapping. Default: `methods`.

    Raises:
        InvalidInputError: `colors` does not consist of colours, or has another length.
    """
    given = checked_colors(colors, methods, labels)
    free = _free_colours(methods)
    unknown = {name: next(free) for name in dict.fromkeys(methods) if name not in BUILT_IN}
    own = {name: (colour, LINES[0], MARKERS[colour]) for name, colour in unknown.items()}
    known, used = {**BUILT_IN, **own}, set[Line]()
    reserved = {BUILT_IN[name] for name in methods if name in BUILT_IN}
    found = []
    for name, colour in zip(methods, given, strict=True):
        line = known[name]
        if line in used or (line in reserved and name not in BUILT_IN):
            line = next((each for each in _further_lines(line[0]) if each not in used | reserved), line)
        used.add(line)
        style = {"color": colour or line[0], "linestyle": line[1], "marker": line[2]}
        found.append({**style, "markersize": MARKER_SIZE, "markevery": (STARTS[line[0]], EVERY)})
    return found


def _further_lines(first: str) -> Iterator[Line]:
    """Return the lines of a colour, and then the lines of other colours."""
    for colour in (first, *FURTHER_METHODS):
        yield from ((colour, dashes, marker) for marker, dashes in product((MARKERS[colour], FURTHER), LINES))


def _free_colours(methods: Sequence[str]) -> Iterator[str]:
    taken = {METHODS[name] for name in methods if name in METHODS}
    return cycle([*(colour for colour in FURTHER_METHODS if colour not in taken), *FURTHER_METHODS])


def data_set_styles(names: Sequence[str]) -> list[dict[str, Any]]:
    """Return colour and dashes of each data set.

    Data sets that are not built in get the remaining ones in turn, and then these colours with other dashes.
    """
    built_in = {name: (DATA_SETS[name], dashes) for name, dashes in zip(DATA_SETS, LINES[1:], strict=False)}
    mixed = ((colour, dashes) for dashes, colour in product(LINES[1:], DATA_SETS.values()))
    taken = {built_in[name] for name in names if name in built_in}
    free = cycle([look for look in dict.fromkeys([*built_in.values(), *mixed]) if look not in taken])
    looks = [built_in[name] if name in built_in else next(free) for name in names]
    return [{"color": colour, "linestyle": dashes} for colour, dashes in looks]


def shades(number: int) -> list[str]:
    """Return a number of greys, from light to dark."""
    return [f"{0.75 - 0.6 * rank / number:.3f}" for rank in range(number)]


def checked_colors(
    colors: Colors | None, methods: Sequence[str], labels: Sequence[str] | None = None
) -> list[str | None]:
    """Return the given colour of each curve, or None; raises the errors of `curve_styles`."""
    from matplotlib.colors import is_color_like

    if colors is None:
        return [None] * len(methods)
    if isinstance(colors, Mapping):
        known = {*(labels or methods), *methods}
        if unknown := [str(name) for name in colors if name not in known]:
            raise InvalidInputError(
                f"colors= names '{shorten(unknown[0])}', which is not drawn: name {', '.join(sorted(known))}"
            )
        found = [colors.get(label, colors.get(name)) for label, name in zip(labels or methods, methods, strict=True)]
    else:
        found = [colors] if isinstance(colors, str) else list(colors)
    if len(found) != len(methods):
        raise InvalidInputError(
            f"colors= has {counted(len(found), 'colour')} for {counted(len(methods), 'curve')}: give one per curve"
        )
    for colour in found:
        if colour is not None and not is_color_like(colour):
            raise InvalidInputError(
                f"colors= contains {shorten(repr(colour))}, which is not a colour: give names or values such as "
                "'#0072b2'"
            )
    return found


def checked_labels(labels: Sequence[str] | str | None, default: Sequence[str], what: str = "curve") -> list[str]:
    """Return the value of `labels=`, one per curve; raises InvalidInputError if it has another length.

    Args:
        labels: a sequence of labels, or a single one. Default: `default`.
        default: the labels if none are given.
        what: the noun for what is labelled.
    """
    if labels is None:
        return list(default)
    found = [labels] if isinstance(labels, str) else [str(label) for label in labels]
    if len(found) != len(default):
        raise InvalidInputError(
            f"{option('labels')} has {counted(len(found), 'label')} for {counted(len(default), what)}: "
            f"give one label per {what}"
        )
    return found


def main_first(labels: Sequence[str] | str | None, default: Sequence[str]) -> list[str]:
    """Return the value of `labels=` for the curves of one run, the first of which is its main curve.

    A single label replaces the main curve's label; otherwise as in `checked_labels`.
    """
    return [labels, *default[1:]] if isinstance(labels, str) else checked_labels(labels, default)


def literal(text: str) -> str:
    """Return text whose dollar signs matplotlib draws, instead of reading the text between them as a formula.

    A text that was returned before is returned unchanged, because a dollar sign after a backslash is left alone.
    """
    return _DOLLAR.sub(r"\\$", text)


def from_literal(text: str) -> str:
    """Return the text that `literal` changed."""
    return text.replace(r"\$", "$")


def in_legend(label: str) -> str:
    """Return a label as legends need it.

    It is `literal`, and has a space before a leading underscore, because legends hide labels that start with one.
    """
    return literal(f" {label}" if label.startswith("_") else label)


def from_legend(text: str) -> str:
    """Return the label that `in_legend` changed."""
    return from_literal(text[1:] if text.startswith(" _") else text)


# Rows of panels -------------------------------------------------------------------------------------------------------


def curve_rows(panels: Iterable[Sequence[str]], kinds: Mapping[str, str] | None = None) -> list[list[str]]:
    """Return the keys of the curves in each row of a figure; all panels of a row have these curves.

    A single row has all curves if no panel has more than `MOST_CURVES`. Otherwise, each kind of curve has its own row,
    or several rows of nearly equal lengths if a panel has too many curves of this kind.

    Args:
        panels: the keys of the curves of each panel; a curve has the same key in all panels.
        kinds: the kind of each curve, such as "black-box optimizers". Default: all are of one kind.
    """
    listed = list(panels)
    keys = list(dict.fromkeys(chain.from_iterable(listed)))
    by_kind: dict[str, list[str]] = {}
    for key in keys:
        by_kind.setdefault((kinds or {}).get(key, ""), []).append(key)
    if _fits(keys, listed):
        return [keys]
    return [row for own in by_kind.values() for row in ([own] if _fits(own, listed) else _evenly(own))]


def _fits(keys: Sequence[str], panels: Sequence[Sequence[str]]) -> bool:
    """Return whether all panels can show the curves with these keys in one row."""
    return all(len(set(keys) & set(panel)) <= MOST_CURVES for panel in panels)


def _evenly(keys: Sequence[str]) -> list[list[str]]:
    """Split keys into the fewest rows of at most `MOST_CURVES`, of nearly equal lengths; earlier rows are longer."""
    rows = -(-len(keys) // MOST_CURVES)
    length, longer = divmod(len(keys), rows)
    starts = [row * length + min(row, longer) for row in range(rows + 1)]
    return [list(keys[start:end]) for start, end in pairwise(starts)]
