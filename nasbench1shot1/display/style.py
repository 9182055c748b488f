"""How pictures look: the styles, their widths, and settings of matplotlib that apply only while a picture is drawn.

Colours are written for a white background. `tone` returns the colour that looks alike on the background of the axes
that are drawn on: dark text becomes light on a dark background, and pale lines stay pale.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import KW_ONLY, dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, Final, Literal, get_args

from nasbench1shot1.display.colours import INDIGO, WINE
from nasbench1shot1.ground.errors import InvalidInputError, alternatives, option, shorten, unknown_name, value_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PictureStyle = Literal["screen", "paper", "dark"]
"""screen: with title and caption. paper: without them, 8-point type, embedded fonts. dark: as screen, on black."""
Spread = Literal["ci", "std", "quartiles", "range"]
"""What a band shows. ci: 95 % confidence interval; std: standard deviation (n - 1)."""
STYLES: tuple[PictureStyle, ...] = get_args(PictureStyle)
COLUMN_WIDTH, TEXT_WIDTH = 3.25, 6.75
"""Width of a picture in the paper style, in inches: of a column of text, and of a page with two columns."""
WIDTHS: Final = {"column": COLUMN_WIDTH, "page": TEXT_WIDTH}
NARROWEST, WIDEST = 1.5, 20.0
"""Limits of the width of a picture, in inches."""
DOTS = {"screen": 150, "paper": 300, "dark": 150}
"""Dots per inch of PNG files."""
CAPTION_SIZE, TITLE_SIZE = 7.0, 10.0
"""Font sizes of captions and titles, in points."""
SMALLEST = 7.0
"""Smallest font size of titles of panels, in points."""
CAPTION_COLOUR = "#444444"
BACKGROUND = "#17191e"
"""Background of the style "dark"."""
_SHARED: dict[str, Any] = {
    "axes.grid": False,
    "grid.alpha": 0.25,
    "legend.frameon": False,
    "legend.handlelength": 3.2,
    "pdf.fonttype": 42,  # TrueType, which publishers accept; matplotlib's default is Type 3
    "ps.fonttype": 42,
    "svg.hashsalt": "nb1shot1",  # equal figures give equal files
}
_SCREEN: dict[str, Any] = {
    **_SHARED,
    "font.size": 10,
    "axes.titlesize": 10,
    "axes.labelsize": 9.5,
    "legend.fontsize": 8,
    "legend.title_fontsize": 8,
    "xtick.labelsize": 9,
    "ytick.labelsize": 9,
    "lines.linewidth": 1.6,
}
SETTINGS: dict[PictureStyle, dict[str, Any]] = {
    "screen": _SCREEN,
    "paper": {
        **_SHARED,
        "font.size": 8,
        "axes.titlesize": 8,
        "axes.labelsize": 8,
        "axes.linewidth": 0.6,
        "legend.fontsize": 8,
        "legend.title_fontsize": 8,
        "xtick.labelsize": 8,
        "ytick.labelsize": 8,
        "xtick.major.width": 0.6,
        "ytick.major.width": 0.6,
        "lines.linewidth": 1.2,
    },
    "dark": {**_SCREEN, "figure.facecolor": BACKGROUND, "axes.facecolor": BACKGROUND, "grid.color": "#707070"},
}
_INKED = (
    *("text.color", "axes.labelcolor", "axes.titlecolor", "axes.edgecolor", "xtick.color", "ytick.color"),
    *("hatch.color", "patch.edgecolor", "lines.color"),
)
"""Settings that are black on a white background."""
_PAPER, _INK = "#ffffff", "#000000"


@dataclass(frozen=True)
class FigureStyle:
    """A style of pictures, with a width and further settings.

    Attributes:
        name: "screen", "paper" or "dark".
        width: width of the picture in the paper style: "column" (3.25 in), "page" (6.75 in) or a number of inches.
            Default: "column" for a picture with one column of panels, otherwise "page". Panels are at least 1.5 inches
            wide.
        settings: further settings of matplotlib, by name, such as {"font.family": "serif"} or a bundle of tueplots.
            They replace those of the style. "figure.figsize" only sets the width, if `width` is not given.

    Raises:
        InvalidInputError: the style, the width or a setting is unknown, or a value is wrong.
    """

    name: PictureStyle = "screen"
    _: KW_ONLY
    width: float | str | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.name not in STYLES:
            raise unknown_name("style", str(self.name), STYLES)
        if self.width is not None and self.name != "paper":
            raise InvalidInputError(
                f"{option('width', self.width)} applies only to {option('style', 'paper')}: give this style, or remove "
                f"{option('width')}"
            )
        checked_width(self.width)
        _check_settings(self.settings)

    @property
    def has_texts(self) -> bool:
        """Whether title and caption are drawn; otherwise, they are in a text file beside the picture."""
        return self.name != "paper"

    @property
    def dots(self) -> int:
        """Dots per inch of PNG files."""
        return DOTS[self.name]

    @property
    def inches(self) -> float | None:
        """The given width in inches; None: the default of the style."""
        if self.width is None and self.name == "paper" and (size := self.settings.get("figure.figsize")) is not None:
            return float(size[0])
        return checked_width(self.width)

    def figure_width(self, columns: int) -> float:
        """Return the width in inches of a picture in the paper style, with a number of columns of panels."""
        usual = COLUMN_WIDTH if columns == 1 else TEXT_WIDTH
        return max(self.inches or usual, NARROWEST * columns)

    def columns(self, most: int, narrowest: float) -> int:
        """Return how many panels of at least `narrowest` inches are beside each other in the paper style."""
        return max(1, min(most, int((self.inches or TEXT_WIDTH) / narrowest)))

    @property
    def rc(self) -> dict[str, Any]:
        """The settings of matplotlib."""
        own = {name: value for name, value in self.settings.items() if name != "figure.figsize"}
        found = {**SETTINGS[self.name], **own}
        background = found.get("axes.facecolor", _PAPER)
        inks = dict.fromkeys(_INKED, on_background(_INK, background)) if is_dark(background) else {}
        return {**inks, **found}

    def points(self, name: str) -> float:
        """Return the font size that a setting such as "legend.fontsize" has, in points."""
        from matplotlib import rc_context
        from matplotlib.font_manager import FontProperties

        settings: Any = self.rc
        with rc_context(settings):
            return float(FontProperties(size=settings[name]).get_size_in_points())


AnyStyle = PictureStyle | FigureStyle | Mapping[str, Any]
"""The values of `style=`: a name, a `FigureStyle`, or settings of matplotlib for the paper style."""


def checked_style(style: "AnyStyle | None") -> FigureStyle:
    """Return a style, "screen" for None; raises InvalidInputError if it is something else or has a wrong setting."""
    if isinstance(style, FigureStyle):
        return style
    if isinstance(style, Mapping):
        return FigureStyle("paper", settings=style)
    if style is None or isinstance(style, str):
        return FigureStyle(style or "screen")
    raise InvalidInputError(
        f"{value_of('style')} must be {alternatives(STYLES)}, an nb.FigureStyle or settings of matplotlib, not "
        f"{shorten(repr(style))}"
    )


def checked_width(width: object) -> float | None:
    """Return a width in inches; None for None. Raises InvalidInputError for anything but `WIDTHS` and numbers."""
    if width is None:
        return None
    try:
        inches = WIDTHS[width] if width in WIDTHS else float(width)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        inches = float("nan")
    if not NARROWEST <= inches <= WIDEST:
        raise InvalidInputError(
            f"{value_of('width')} must be {alternatives([*WIDTHS, 'a number of inches'])} between {NARROWEST:g} and "
            f"{WIDEST:g}, not '{width}'"
        )
    return inches


def _check_settings(settings: Mapping[str, Any]) -> None:
    if not isinstance(settings, Mapping):
        raise InvalidInputError(
            f"{option('settings', settings)} is not a dictionary: give matplotlib's settings by name, such as "
            '{"font.size": 8}'
        )
    if not settings:
        return
    from matplotlib import RcParams, rcParams

    for name, value in settings.items():
        if name not in rcParams:
            raise InvalidInputError(
                f"{value_of('style')} names '{shorten(str(name))}', which is not a setting of matplotlib: correct it "
                "(matplotlib.rcParams lists all)"
            )
        try:
            RcParams({name: value})
        except (TypeError, ValueError) as error:
            raise InvalidInputError(
                f"{value_of('style')} sets {name} to {shorten(repr(value))}, which matplotlib refuses: correct it"
            ) from error
    if settings.get("text.usetex"):
        raise InvalidInputError(
            f"{value_of('style')} sets text.usetex, but labels such as 'regret [%]' are not LaTeX: add "
            '"text.usetex": False to the settings'
        )


@contextmanager
def look(style: "AnyStyle | None", axes: "Axes | None" = None) -> Iterator[None]:
    """Draw in a style within the context; matplotlib's settings are restored afterwards. None: "screen".

    On given axes, which keep their background, colours are those that can be read on it.
    """
    import matplotlib

    settings: Any = {**checked_style(style).rc, **({} if axes is None else _on_axes(axes))}
    with matplotlib.rc_context(settings):
        yield


@contextmanager
def look_on(axes: "Axes", style: "AnyStyle | None") -> Iterator[None]:
    """Draw on given axes within the context: in a style, or without one in matplotlib's current settings."""
    import matplotlib

    if style is not None:
        with look(style, axes):
            yield
        return
    settings: Any = _on_axes(axes)
    with matplotlib.rc_context(settings):
        yield


def _on_axes(axes: "Axes") -> dict[str, Any]:
    """Return the background of axes, and the colour of text on it, as settings."""
    figure = axes.get_figure(root=True)
    colour: Any = axes.get_facecolor()
    if colour[3] == 0 and figure is not None:  # transparent
        colour = figure.get_facecolor()
    return {"axes.facecolor": colour, **dict.fromkeys(_INKED, on_background(_INK, colour))}


def relative_size(share: float) -> float:
    """Return a font size in points that is a share of the font size in use, but at least `SMALLEST` points."""
    import matplotlib

    usual = float(matplotlib.rcParams["font.size"])
    return max(share * usual, min(SMALLEST, usual))


# Colours on a background ----------------------------------------------------------------------------------------------

READABLE, READABLE_GREY = 3.5, 4.5
"""Smallest contrast of colours and greys with a dark background; greys that are pale on white are pale on it, too."""
LIGHTEST = 0.9
"""Luminance of what is black on white."""
PALE = 2.0
"""Contrast with white below which greys are meant to be hardly visible."""
LIGHT_TWINS = {WINE: "#ff7a9c", INDIGO: "#9d92ff"}
"""Colours on dark backgrounds instead of dark ones, which would become greyish."""
LIGHT_BANDS, DARK_BANDS = 0.15, 0.28
"""Opacity of bands on light and on dark backgrounds."""
GREYISH = 0.1
"""Largest difference of the channels of a grey."""


def tone(colour: Any) -> Any:
    """Return the colour that looks alike on the background that is drawn on; on a light one, it is `colour` itself."""
    import matplotlib

    background = matplotlib.rcParams["axes.facecolor"]
    return on_background(colour, background) if is_dark(background) else colour


def tones(properties: Mapping[str, Any]) -> dict[str, Any]:
    """Return the properties of a line or text with colours for the background that is drawn on (`tone`)."""
    return {
        name: tone(value) if "color" in name and value not in (None, "none") else value
        for name, value in properties.items()
    }


def band_opacity() -> float:
    """Return the opacity of bands on the background that is drawn on."""
    import matplotlib

    return DARK_BANDS if is_dark(matplotlib.rcParams["axes.facecolor"]) else LIGHT_BANDS


def is_dark(colour: Any) -> bool:
    """Return whether a colour is so dark that white text on it has more contrast than black text."""
    return contrast(colour, _PAPER) > contrast(colour, _INK)


def contrast(first: Any, second: Any) -> float:
    """Return the contrast ratio of two colours as WCAG 2 defines it: from 1 to 21."""
    low, high = sorted((_luminance(_rgb(first)), _luminance(_rgb(second))))
    return (high + 0.05) / (low + 0.05)


def on_background(colour: Any, background: Any) -> str:
    """Return the colour that looks on a background like `colour` on white, as a hexadecimal number.

    Greys keep their contrast, as far as they can. Other colours become lighter on dark backgrounds until their contrast
    is `READABLE`.
    """
    twin = LIGHT_TWINS.get(colour, colour) if isinstance(colour, str) and is_dark(background) else colour
    return _on_background(_rgb(twin), _rgb(background))


RGB = tuple[float, float, float]


@cache
def _on_background(colour: RGB, background: RGB) -> str:
    from matplotlib.colors import to_hex

    if not is_dark(background):
        return to_hex(colour)
    if max(colour) - min(colour) > GREYISH:
        return to_hex(_lightened(colour, background))
    ratio = contrast(colour, _PAPER)
    least = max(ratio, READABLE_GREY) if ratio > PALE else ratio
    wanted = least * (_luminance(background) + 0.05) - 0.05
    if ratio < 1.01:
        return to_hex(background)
    grey = _grey(min(wanted, LIGHTEST))
    return to_hex((grey, grey, grey))


def _lightened(colour: RGB, background: RGB) -> RGB:
    """Return a colour that is mixed with as much white as its contrast needs."""
    for step in range(101):
        red, green, blue = ((1 - step / 100) * channel + step / 100 for channel in colour)
        if contrast((red, green, blue), background) >= READABLE:
            break
    return red, green, blue


def _rgb(colour: Any) -> RGB:
    from matplotlib.colors import to_rgb

    return to_rgb(colour)


def _luminance(colour: RGB) -> float:
    """Return the relative luminance of a colour in sRGB."""
    linear = [value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4 for value in colour]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def _grey(luminance: float) -> float:
    """Return the channels of the grey with a relative luminance."""
    return 12.92 * luminance if luminance <= 0.0031308 else 1.055 * luminance ** (1 / 2.4) - 0.055
