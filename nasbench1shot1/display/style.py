"""The options of pictures, and the two styles: settings of matplotlib that apply only while a picture is drawn."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal, get_args

from nasbench1shot1.ground.errors import unknown_name

PictureStyle = Literal["screen", "paper"]
"""screen: with title and caption. paper: without them, as wide as a column, with embedded fonts."""
Spread = Literal["ci", "std", "quartiles", "range"]
"""What a band shows. ci: 95 % confidence interval; std: standard deviation (n - 1)."""
STYLES: tuple[PictureStyle, ...] = get_args(PictureStyle)
COLUMN_WIDTH, TEXT_WIDTH = 3.25, 6.75
"""Width of a picture in the paper style, in inches: of one column of panels, and of several."""
DOTS = {"screen": 150, "paper": 300}
"""Dots per inch of PNG files."""
CAPTION_SIZE, TITLE_SIZE = 7.0, 10.0
"""Font sizes of captions and titles, in points."""
CAPTION_COLOUR = "#444444"
_SHARED: dict[str, Any] = {
    "axes.grid": False,
    "grid.alpha": 0.25,
    "legend.frameon": False,
    "legend.handlelength": 3.2,
    "pdf.fonttype": 42,  # TrueType, which publishers accept; matplotlib's default is Type 3
    "ps.fonttype": 42,
    "svg.hashsalt": "nb1shot1",  # equal figures give equal files
}
SETTINGS: dict[PictureStyle, dict[str, Any]] = {
    "screen": {
        **_SHARED,
        "font.size": 10,
        "axes.titlesize": 10,
        "axes.labelsize": 9.5,
        "legend.fontsize": 8,
        "legend.title_fontsize": 8,
        "xtick.labelsize": 9,
        "ytick.labelsize": 9,
        "lines.linewidth": 1.6,
    },
    "paper": {
        **_SHARED,
        "font.size": 8,
        "axes.titlesize": 8,
        "axes.labelsize": 8,
        "axes.linewidth": 0.6,
        "legend.fontsize": 7,
        "legend.title_fontsize": 7,
        "xtick.labelsize": 7,
        "ytick.labelsize": 7,
        "xtick.major.width": 0.6,
        "ytick.major.width": 0.6,
        "lines.linewidth": 1.2,
    },
}


def checked_style(style: object) -> PictureStyle:
    """Return a style; raises InvalidInputError if there is no style of this name."""
    for known in STYLES:
        if style == known:
            return known
    raise unknown_name("style", str(style), STYLES)


@contextmanager
def look(style: PictureStyle | None) -> Iterator[None]:
    """Draw in a style within the context; matplotlib's settings are restored afterwards. None: "screen"."""
    import matplotlib

    settings: Any = SETTINGS[checked_style(style or "screen")]
    with matplotlib.rc_context(settings):
        yield
