"""Write the generated sections of documentation pages, each between two HTML comments."""

import math
import re


def marks(name):
    """Return the comments before and after a section."""
    return f"<!-- begin of {name} -->", f"<!-- end of {name} -->"


def replace_section(page, name, lines):
    """Replace the lines between the `marks` of a section; exit with an error if the page lacks these comments."""
    begin, end = marks(name)
    text = page.read_text(encoding="utf-8")
    if begin not in text or end not in text:
        raise SystemExit(f"{page} lacks the comments {begin} and {end}")
    section = "\n".join([begin, "", *lines, "", end])
    page.write_text(re.sub(f"{begin}.*{end}", lambda _: section, text, flags=re.DOTALL), encoding="utf-8")


def mean_with_band(row, name, scale=1.0, digits=2):
    """Return a mean with the ends of its band, the mean alone if there is no band, or "–" if the mean is NaN.

    Args:
        row: a row of a figure's CSV file, with the columns `seeds`, `NAME_mean`, `NAME_low` and `NAME_high`.
        name: the quantity.
        scale: the factor by which all numbers are multiplied.
        digits: digits after the decimal point.
    """
    mean, low, high = (scale * row[f"{name}_{of}"] for of in ("mean", "low", "high"))
    if math.isnan(mean):
        return "–"
    has_band = row["seeds"] > 1 and not math.isnan(low)
    return f"{mean:.{digits}f}" + (f" [{low:.{digits}f}, {high:.{digits}f}]" if has_band else "")
