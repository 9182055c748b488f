"""Styles: widths, settings, colours on dark backgrounds, and the files beside a picture."""

from collections.abc import Callable
from pathlib import Path

import matplotlib
import numpy as np
import pandas
import pytest
from matplotlib.collections import Collection
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.text import Text
from refusals import refuses

import nasbench1shot1 as nb
from nasbench1shot1.commands.compare import Compare
from nasbench1shot1.commands.options import command_options
from nasbench1shot1.commands.report import Report
from nasbench1shot1.commands.reproduce import Reproduce
from nasbench1shot1.commands.statistics import Statistics
from nasbench1shot1.display.axes import save_figure
from nasbench1shot1.display.axis import Axis
from nasbench1shot1.display.canvas import Canvas
from nasbench1shot1.display.charts import Bars, Cloud, Matrix, Panel, Series, Zero, draw_panels
from nasbench1shot1.display.colours import METHODS, curve_styles
from nasbench1shot1.display.curves import draw_curve, draw_level, pool_values
from nasbench1shot1.display.data import COLUMNS
from nasbench1shot1.display.marked_networks import draw_marked, marked
from nasbench1shot1.display.options import PICTURES, PictureOptions
from nasbench1shot1.display.style import (
    BACKGROUND,
    COLUMN_WIDTH,
    READABLE,
    READABLE_GREY,
    SETTINGS,
    TEXT_WIDTH,
    contrast,
    look,
    on_background,
    tone,
)

X = np.arange(4)
CELL = "s1:0|0,1|0,2|1,3|2,4:conv3x3,conv1x1,maxpool3x3,conv3x3"
EDGES = "nb201:|nor_conv_3x3~0|+|none~0|skip_connect~1|+|skip_connect~0|nor_conv_1x1~1|avg_pool_3x3~2|"


def curves(style=None) -> Figure:
    """A figure with two panels, of methods whose colours are dark, with a level and marked networks."""
    names = ["random", "tunas", "fbnetv2"]
    with Canvas(columns=2, style=style) as canvas:
        for axes in canvas.axes:
            for name, own in zip(names, curve_styles(names), strict=True):
                values = np.linspace(0.02, 0.01, 4) + np.array([[0.0], [0.001], [0.002]])
                draw_curve(axes, pool_values(X, values), label=name, style=own)
            draw_level(axes, 1.5, "largest network")
            draw_marked(axes, [marked("ResNet cell", 0, y=1.2)])
            axes.set(xlabel="search epoch", ylabel="test regret [%]")
        canvas.axes[1].set_title("second")
        return canvas.finish("title", "table nb101", legend=True, band="mean and 95 % confidence interval, 3 seeds")


def charts(style=None) -> Figure:
    matrix = Matrix(np.array([[0.0, 1.0], [-1.0, np.nan]]), [["0", "1"], ["-1", "–"]], "ab", "cd", low=-1, high=1)
    marks = (
        [
            Series(X, X, label="a", line="-"),
            Series(X, 2 * X, label="b", line="-", low=X, high=3 * X, band=True),
            Zero(),
        ],
        [Series(X, X, label="c", marker="o", framed=True, low=X - 1, high=X + 1, texts=["n = 1"] * 4)],
        [Cloud(X, X, X, "value", 0)],
        [Bars(X, X - 1, label="d", texts=list("wxyz"))],
        [matrix],
        [],
    )
    panels = [Panel(f"panel {i}", Axis("cost [s]"), Axis("error [%]"), each) for i, each in enumerate(marks)]
    return draw_panels(panels, "caption", "title", style=style, columns=3).figure


def cell(text: str) -> Callable[..., Figure]:
    return lambda style=None: nb.draw_cell(text, style=style).figure


# Widths and settings --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("width", "one", "two"),
    [(None, COLUMN_WIDTH, TEXT_WIDTH), ("column", 3.25, 3.25), ("page", 6.75, 6.75), ("5.5", 5.5, 5.5), (2, 2, 3)],
)
def test_the_paper_style_has_the_width_that_is_given(width, one, two):
    style = nb.FigureStyle("paper", width=width)
    assert Canvas(style=style).figure.get_figwidth() == one
    assert Canvas(columns=2, style=style).figure.get_figwidth() == two, "panels are at least 1.5 inches wide"


def test_settings_of_matplotlib_replace_those_of_the_paper_style():
    figure = draw_panels([Panel("title", Axis("x"), Axis("y"), [Series(X, X)])], style=BUNDLE).figure
    assert (figure.get_figwidth(), figure.get_suptitle()) == (5.5, "")
    assert figure.axes[0].xaxis.label.get_fontsize() == 6
    assert figure.axes[0].xaxis.label.get_fontname() == "DejaVu Serif"
    assert figure.axes[0].get_xticklabels()[0].get_fontsize() == SETTINGS["paper"]["xtick.labelsize"]


@pytest.mark.parametrize("settings", [3, "font.size", ["font.size"]])
def test_settings_that_are_not_a_dictionary_are_refused(settings):
    with refuses(nb.InvalidInputError, "dictionary", options="settings"):
        nb.FigureStyle("paper", settings=settings)


BUNDLE = {"font.family": "serif", "axes.labelsize": 6, "figure.figsize": (5.5, 3.4), "figure.autolayout": False}
"""Settings as tueplots returns them."""


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"style": "papr"}, ["'papr'", "'paper'"]),
        ({"style": 3}, ["style", "3"]),
        ({"style": {"axes.fontsize": 3}}, ["'axes.fontsize'"]),
        ({"style": {"font.size": "abc"}}, ["font.size", "'abc'"]),
        ({"style": {"text.usetex": True}}, ["text.usetex", "False"]),
    ],
)
def test_wrong_styles_are_refused(wrong, words):
    with refuses(nb.InvalidInputError, *words):
        Canvas(**wrong)


@pytest.mark.parametrize("width", ["wide", "0", "nan", "-3", "1e9", ""])
def test_wrong_widths_are_refused(width):
    with refuses(nb.InvalidInputError, "width", f"'{width}'"):
        _ = PictureOptions(style="paper", width=width).figure_style


def test_a_width_needs_the_paper_style():
    for options in (PictureOptions(width="page"), PictureOptions(style="dark", width="page")):
        with refuses(nb.InvalidInputError, "width", "paper"):
            options.with_checked_pictures()


def test_pictures_for_papers_are_pdf_files_unless_another_format_is_given():
    formats = [PictureOptions(style=style).file_format for style in (None, "screen", "dark", "paper")]
    assert formats == ["png", "png", "png", "pdf"]
    assert PictureOptions(style="paper", format="svg").file_format == "svg"
    assert PictureOptions().with_checked_pictures() == PictureOptions(), "records do not name the usual format"


@pytest.mark.parametrize("command", [Compare, Report, Reproduce, Statistics])
def test_commands_share_the_options_of_pictures(command):
    found = {option.name: option for option in command_options(command, None)}
    for name in PICTURES:
        assert found[name].record is PictureOptions


# Colours on dark backgrounds ------------------------------------------------------------------------------------------


def visible(figure: Figure, kind: type) -> list:
    figure.draw_without_rendering()
    return [each for each in figure.findobj(kind) if each.get_visible()]


@pytest.mark.parametrize("draw", [curves, charts, cell(CELL), cell(EDGES)], ids=["curves", "charts", "cell", "edges"])
def test_everything_is_readable_on_a_dark_background(draw):
    figure = draw("dark")
    assert contrast(figure.get_facecolor(), BACKGROUND) == contrast(figure.axes[0].get_facecolor(), BACKGROUND) == 1
    for text in (text for text in visible(figure, Text) if text.get_text()):
        behind = [patch for patch in text.axes.patches if _covers(patch, text)] if text.axes else []
        images = text.axes.images if text.axes else []
        if not images:  # of matrices, whose texts are tested with their cells
            ground = behind[-1].get_facecolor() if behind else BACKGROUND
            assert contrast(text.get_color(), ground) >= (READABLE if _is_pale(text) else READABLE_GREY) - 0.01, text
    for line in visible(figure, Line2D):
        if line.axes and len(line.get_xdata()) > 1 and line not in _ticks(line.axes):
            assert contrast(line.get_color(), BACKGROUND) >= READABLE - 0.01, line
    light = draw()
    assert [text.get_text() for text in visible(figure, Text)] == [text.get_text() for text in visible(light, Text)]


def _covers(patch, text: Text) -> bool:
    x, y = text.get_transform().transform(text.get_position())
    return bool(patch.get_window_extent().contains(x, y))


def _is_pale(text: Text) -> bool:
    """Whether a text is also pale on a light background: what is not on a path."""
    return text.get_color() in {on_background(colour, BACKGROUND) for colour in ("#8c8c8c", "#a0a0a0")}


def _ticks(axes) -> set:
    return {*axes.get_xticklines(), *axes.get_yticklines(), *axes.get_xgridlines(), *axes.get_ygridlines()}


def test_colours_of_methods_are_readable_and_differ_on_a_dark_background():
    shown = {colour: on_background(colour, BACKGROUND) for colour in METHODS.values()}
    assert len(set(shown.values())) == len(shown)
    assert all(contrast(colour, BACKGROUND) >= READABLE - 0.01 for colour in shown.values())
    assert all(on_background(colour, "white") == colour for colour in shown)


def test_greys_keep_their_contrast_where_black_and_white_allow_it():
    for grey in ("#555555", "#444444", "#c4c4c4", "#f6f6f6"):
        wanted = contrast(grey, "white")
        assert contrast(on_background(grey, BACKGROUND), BACKGROUND) == pytest.approx(wanted, rel=0.04)
    assert on_background("white", BACKGROUND) == BACKGROUND
    assert contrast(on_background("black", BACKGROUND), BACKGROUND) > 12


def test_given_axes_keep_their_background_whose_colours_are_used():
    with matplotlib.rc_context({"axes.facecolor": "black", "text.color": "white"}):
        dark = Figure().add_subplot()
    for axes, ink in ((dark, "white"), (Figure().add_subplot(), "black")):
        with look("dark" if ink == "black" else None, axes):
            assert contrast(tone("black"), ink) < 1.5
            axes.set_title("title")
        assert contrast(axes.title.get_color(), ink) < 1.5
        nb.draw_cell(EDGES, axes, style="paper")
        assert any(contrast(text.get_color(), ink) < 2 for text in axes.texts or axes.artists)


# The files beside a picture -------------------------------------------------------------------------------------------


def test_a_figure_has_the_drawn_values_as_data(tmp_path):
    figure = curves()
    data = figure.data
    assert tuple(data.columns) == COLUMNS
    assert list(dict.fromkeys(zip(data["panel"], data["kind"], data["label"], strict=True)))[:6] == [
        ("1", "curve", "random"),
        ("1", "curve", "tunas"),
        ("1", "curve", "fbnetv2"),
        ("1", "level", "largest network"),
        ("1", "level", "ResNet cell"),
        ("second", "curve", "random"),
    ]
    (line, *_), first = figure.axes[0].get_lines(), data[(data["panel"] == "1") & (data["label"] == "random")]
    np.testing.assert_allclose(first[["x", "y"]], line.get_xydata())
    np.testing.assert_allclose(first[["low", "high"]].iloc[0], [2.0, 2.2])
    assert set(first["n"]) == {3} and set(data["x_axis"]) == {"search epoch"}
    written = save_figure(figure, tmp_path / "a.png")
    assert [path.name for path in written] == ["a.png", "a.csv"] == sorted(p.name for p in tmp_path.iterdir())[::-1]
    read = pandas.read_csv(tmp_path / "a.csv", dtype={"panel": str})
    pandas.testing.assert_frame_equal(read[["x", "y", "low", "high"]], data[["x", "y", "low", "high"]])


def test_charts_and_cells_have_data_too():
    data = charts().data
    assert set(data["kind"]) == {"curve", "points", "bars", "matrix"}
    matrix = data[data["kind"] == "matrix"]
    assert matrix[["x", "y", "value"]].to_numpy().tolist()[:3] == [["c", "a", 0.0], ["d", "a", 1.0], ["c", "b", -1.0]]
    drawn = nb.draw_cell(EDGES).figure.data
    assert drawn.groupby("kind").size().to_dict() == {"edge": 5, "node": 4}
    edge = drawn[(drawn["x"] == 0) & (drawn["y"] == 1)].iloc[0]
    assert (edge["label"], edge["text"]) == ("chosen", "nor_conv_3x3")


def test_the_caption_of_a_picture_for_a_paper_is_in_a_text_file(tmp_path):
    written = nb.save_figure(list(curves("paper").axes), tmp_path / "a.svg")
    assert [path.name for path in written] == ["a.svg", "a.csv", "a.txt"]
    assert (tmp_path / "a.txt").read_text().splitlines() == [
        "title",
        "Shown: mean and 95 % confidence interval, 3 seeds.",
        "table nb101",
    ]
    picture = (tmp_path / "a.svg").read_text()
    assert "<dc:description>" in picture


def test_given_data_replace_the_drawn_values_and_foreign_figures_have_none(tmp_path):
    save_figure(curves(), tmp_path / "a.svg", data=pandas.DataFrame({"b": [1]}))
    assert (tmp_path / "a.csv").read_text() == "b\n1\n"
    save_figure(curves(), tmp_path / "b.svg", data=False)
    nb.save_figure(nb.draw_cell(CELL, Figure().add_subplot()), tmp_path / "c.svg")
    assert {path.name for path in tmp_path.iterdir()} == {"a.svg", "a.csv", "b.svg", "c.svg"}


@pytest.mark.parametrize("path", ["a.jpg", "a"])
def test_pictures_of_other_formats_are_refused(path, tmp_path):
    with refuses(nb.InvalidInputError, path):
        nb.save_figure(nb.draw_cell(CELL), tmp_path / path)
    assert not list(tmp_path.iterdir())


# One legend -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("draw", [curves, charts])
@pytest.mark.parametrize("style", ["screen", "paper", "dark"])
def test_a_figure_has_one_legend(draw, style):
    figure = draw(style)
    assert len(figure.legends) == 1
    assert not any(axes.get_legend() for axes in figure.axes)


def test_bands_can_be_seen_on_both_backgrounds():
    for style in ("screen", "dark"):
        bands = [each for each in visible(curves(style), Collection) if each.get_alpha()]
        assert len(bands) == 6 and all(0.1 < band.get_alpha() < 0.4 for band in bands)


def test_files_are_written_in_the_current_folder_by_their_names(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert nb.save_figure(curves(), "a.svg") == [Path("a.svg"), Path("a.csv")]
