"""HTML elements as text, with everything else escaped."""

import html
from collections.abc import Iterable
from itertools import zip_longest
from typing import NamedTuple

NO_VALUE = "–"
"""What a cell without a value shows."""


class Markup(str):
    """Text that is HTML already."""

    __slots__ = ()


def escaped(content: object) -> Markup:
    """Return HTML unchanged, and anything else as escaped text."""
    return content if isinstance(content, Markup) else Markup(html.escape(str(content)))


def joined(parts: Iterable[object]) -> Markup:
    """Return the HTML of several parts, one after another."""
    return Markup("".join(map(escaped, parts)))


def tag(name: str, *content: object, **attributes: object) -> Markup:
    """Return an element.

    Args:
        name: its name, such as "td".
        content: its children, HTML or text.
        attributes: its attributes; `class_` stands for "class", and `data_x` for "data-x". True gives an attribute
            without a value; None and False give none.
    """
    given = "".join(
        f" {key.rstrip('_').replace('_', '-')}" + ("" if value is True else f'="{html.escape(str(value))}"')
        for key, value in attributes.items()
        if value is not None and value is not False
    )
    return Markup(f"<{name}{given}>{joined(content)}</{name}>")


class Cell(NamedTuple):
    """A cell of a table: what it shows, and the value by which its column is sorted (None: last)."""

    shown: object
    value: object = None


def sortable_table(label: str, headings: Iterable[str], rows: Iterable[Iterable[object]]) -> Markup:
    """Return a table in a frame that scrolls sideways; the script of the page makes its columns sortable.

    Args:
        label: the name of the table for assistive technology.
        headings: a heading for each column.
        rows: rows of `Cell`s, whose columns are aligned to the right, and of texts. The first column has headings of
            rows.
    """
    listed = [list(row) for row in rows]
    kinds = ["number" if isinstance(of, Cell) else None for of in (listed[0] if listed else [])]
    named = zip_longest(headings, kinds)
    head = tag("tr", *(tag("th", heading, scope="col", class_=kind) for heading, kind in named))
    body = [tag("tr", *(_cell(content, number) for number, content in enumerate(row))) for row in listed]
    table = tag("table", tag("thead", head), tag("tbody", *body), class_="sortable")
    return tag("div", table, class_="scroll", role="region", aria_label=label, tabindex="0")


def _cell(content: object, number: int) -> Markup:
    name, more = ("td", {}) if number else ("th", {"scope": "row"})
    if isinstance(content, Cell):
        value = "" if content.value is None else content.value
        return tag(name, content.shown, class_="number", data_value=value, **more)
    return tag(name, content, **more)


def definitions(pairs: Iterable[tuple[object, object]]) -> Markup:
    """Return names with their values as a table of two columns."""
    rows = (tag("tr", tag("th", name, scope="row"), tag("td", value)) for name, value in pairs)
    return tag("table", tag("tbody", *rows), class_="pairs")
