"""The options of all commands that draw pictures: file format, style and width."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, Self

from nasbench1shot1.display.style import FigureStyle, PictureStyle
from nasbench1shot1.ground.files import PictureFormat
from nasbench1shot1.runs.options import IF_GIVEN, Form


@dataclass(frozen=True, kw_only=True)
class PictureOptions:
    """The options of pictures (docs/figures.md)."""

    format: PictureFormat | None = None
    """File format of the pictures. Default: png, or pdf with --style paper."""
    style: PictureStyle | None = None
    """Style of the pictures (docs/figures.md). paper: 8-point type, embedded fonts, and title and caption in a text
    file beside the picture; dark: on a dark background. Default: screen."""
    width: Annotated[str | None, Form("column|page|INCHES"), IF_GIVEN] = None
    """Width of the pictures with --style paper: column (3.25 inches), page (6.75 inches) or a number of inches.
    Default: column, or page for several panels side by side."""

    @property
    def figure_style(self) -> FigureStyle:
        """The style with its width; raises InvalidInputError if the width is wrong, or there is none in this style."""
        return figure_style(vars(self))

    @property
    def file_format(self) -> PictureFormat:
        """The given file format, or the default of the style."""
        return self.format or default_format(self.style) or "png"

    def with_checked_pictures(self) -> Self:
        """Return these options with the file format of the style; raises the errors of `figure_style`."""
        checked = self.figure_style
        return replace(self, format=self.format or default_format(checked.name))


USUAL_PICTURES = PictureOptions()
PICTURES = ("format", "style", "width")
"""Names of the options, for groups of options in help."""


def figure_style(options: Mapping[str, Any]) -> FigureStyle:
    """Return the style that the options of a run or a command ask for; raises the errors of `FigureStyle`."""
    return FigureStyle(options.get("style") or "screen", width=options.get("width"))


def default_format(style: PictureStyle | None) -> PictureFormat | None:
    """Return the file format of a style's pictures; None for the usual one, which records do not name."""
    return "pdf" if style == "paper" else None
