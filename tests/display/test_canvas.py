"""Figures: styles, places of titles, legends and captions, and files."""

import ast
from itertools import pairwise
from pathlib import Path

import matplotlib
import numpy as np
import pytest
from refusals import refuses

import nasbench1shot1 as nb
from nasbench1shot1 import registry
from nasbench1shot1.display.axes import save_figure
from nasbench1shot1.display.canvas import Canvas, broken, evenly_wrapped, legend_below, text_width, wrapped
from nasbench1shot1.display.colours import BUILT_IN, METHODS, curve_styles
from nasbench1shot1.display.style import COLUMN_WIDTH, TEXT_WIDTH

ROOT = Path(nb.__file__).resolve().parent.parent
LONG = "a title that is much wider than the figure and must be wrapped, " * 4


def drawn(style: str, columns: int = 1, methods: int = 5) -> Canvas:
    with Canvas(columns=columns, style=style) as canvas:
        for axes in canvas.axes:
            for name, look in zip(list(METHODS)[:methods], curve_styles(list(METHODS)[:methods]), strict=True):
                axes.plot([0, 1], [0, 1], label=f"{name}, measured on all data sets", **look)
            axes.set_xlabel("search epoch")
        canvas.finish(LONG, LONG * 2, legend=True, legend_title="mean and 95 % confidence interval, 5 seeds")
    return canvas


def boxes(canvas: Canvas) -> dict[str, tuple[float, float, float, float]]:
    """The extents of all parts in inches: left, bottom, right, top."""
    figure = canvas.figure
    figure.draw_without_rendering()
    parts = {"legend": figure.legends[0], **{f"panel {i}": axes for i, axes in enumerate(canvas.axes)}}
    if figure._suptitle is not None:
        parts |= {"title": figure._suptitle, "caption": figure._supxlabel}
    return {
        name: tuple(part.get_tightbbox(figure.canvas.get_renderer()).extents / figure.dpi)
        for name, part in parts.items()
    }


@pytest.mark.parametrize("columns", [1, 3])
@pytest.mark.parametrize("style", ["screen", "paper", "dark"])
def test_nothing_is_cut_off_or_overlaps(style, columns):
    canvas = drawn(style, columns)
    found, (width, height) = boxes(canvas), canvas.figure.get_size_inches()
    for name, (left, bottom, right, top) in found.items():
        assert left >= -0.01 and bottom >= -0.01 and right <= width + 0.01 and top <= height + 0.01, name
    order = [name for name in ("caption", "legend", "panel 0", "title") if name in found]
    for below, above in pairwise(order):
        assert found[below][3] <= found[above][1] + 0.01, (below, above)


def test_labels_are_wrapped_into_lines_of_similar_lengths():
    text = "mean and 95 % confidence interval (n < 6: range), 8 searches"
    greedy, even = wrapped(text, 3, 8), evenly_wrapped(text, 3, 8)
    assert greedy.endswith("8\nsearches") and even == "mean and 95 % confidence\ninterval (n < 6: range), 8 searches"
    assert evenly_wrapped(text, 20, 8) == text
    assert "n = 15,625" in evenly_wrapped("ImageNet16-120: n = 15,625, 13 on the front", 1.5, 8)
    assert all(text_width(line, 8) <= 1 for line in evenly_wrapped(text, 1, 8).split("\n"))


def test_names_are_broken_after_spaces_and_hyphens_and_within_words_that_are_too_long():
    width = text_width("regularized-", 8)
    assert broken("non-regularized-evolution", width, 8) == "non-\nregularized-\nevolution"
    assert broken("my own search", text_width("my own", 8), 8) == "my own\nsearch"
    lines = broken(30 * "x" + "_$5", width, 8).split("\n")
    assert "".join(lines) == 30 * "x" + "_$5" and all(text_width(line, 8) <= width for line in lines)
    assert broken("x", 0, 8) == "x"


def test_the_paper_style_has_the_width_of_a_column_and_no_texts_around_the_panels():
    for columns, width in ((1, COLUMN_WIDTH), (2, TEXT_WIDTH)):
        figure = drawn("paper", columns).figure
        assert figure.get_figwidth() == width
        assert (figure.get_suptitle(), figure.get_supxlabel()) == ("", "")
        assert (figure.title, figure.caption) == (LONG, LONG * 2)
        assert "confidence" in figure.legends[0].get_title().get_text()
    assert drawn("screen").figure.get_suptitle().replace("\n", " ").strip() == LONG.strip()


def test_a_band_is_named_in_the_legend_and_in_the_caption():
    with Canvas() as canvas:
        canvas.axes[0].plot([0, 1], [0, 1], label="darts")
        figure = canvas.finish("title", "table", legend=True, band="mean, 5 seeds")
    assert figure.legends[0].get_title().get_text() == "mean, 5 seeds"
    assert figure.caption == "Shown: mean, 5 seeds.\ntable"
    assert figure.get_supxlabel() == "table", "the drawn caption does not repeat the title of the legend"
    with Canvas() as canvas:
        figure = canvas.finish("title", "table", band="mean, 5 seeds")
    assert figure.caption == figure.get_supxlabel() == "Shown: mean, 5 seeds.\ntable"


@pytest.mark.parametrize("style", ["screen", "paper"])
def test_pdf_files_embed_fonts_and_leave_the_settings_of_matplotlib_alone(style, tmp_path):
    before = dict(matplotlib.rcParams)
    figure = drawn(style).figure
    save_figure(figure, tmp_path / "a.pdf")
    figure.savefig(tmp_path / "b.pdf")
    for name in ("a.pdf", "b.pdf"):
        content = (tmp_path / name).read_bytes()
        assert b"/FontFile2" in content and b"/Type3" not in content
    assert dict(matplotlib.rcParams) == before


@pytest.mark.parametrize("suffix", ["png", "svg", "pdf"])
def test_a_picture_does_not_depend_on_those_drawn_before(suffix, tmp_path):
    def content(style, columns):
        save_figure(drawn(style, columns).figure, tmp_path / f"a.{suffix}")
        return (tmp_path / f"a.{suffix}").read_bytes()

    first, paper = content("screen", 1), content("paper", 3)
    nb.draw_cell("s1:0|0,1|0,2|1,3|2,4:conv3x3,conv1x1,maxpool3x3,conv3x3", style="paper").figure.canvas.draw()
    assert content("screen", 1) == first
    assert content("paper", 3) == paper


def test_an_unknown_style_is_refused():
    with refuses(nb.InvalidInputError, "'papr'", "'paper'"):
        Canvas(style="papr")


def test_a_legend_below_axes_is_not_wider_than_the_figure():
    canvas = Canvas(panel=(3.0, 3.0))
    for name in "abc":
        canvas.axes[0].plot([0], [0], label=name * 20)
    legend = legend_below(canvas.axes[0], columns=3)
    assert legend.get_window_extent().width <= canvas.figure.bbox.width


@pytest.mark.parametrize("entries", range(1, 16))
def test_a_legend_has_fewer_columns_in_a_narrow_figure(entries):
    with Canvas(style="paper") as canvas:
        for number in range(entries):
            canvas.axes[0].plot([0, 1], [0, 1], label=f"a method with a long name, {number}")
        legend = canvas.finish(legend=True).legends[0]
    assert len(legend.get_texts()) == entries
    assert legend.get_window_extent().width <= canvas.figure.bbox.width


# Colours and line styles ----------------------------------------------------------------------------------------------


LOOKS = ("color", "linestyle", "marker")


def look_of(style: dict) -> tuple:
    return tuple(style[name] for name in LOOKS)


def test_built_in_methods_have_their_own_look_in_every_figure():
    looks = {name: look_of(curve_styles([name])[0]) for name in METHODS}
    rng = np.random.default_rng(0)
    for _ in range(20):
        some = [str(name) for name in rng.permutation([*METHODS, "Mine", "Yours"])]
        for name, style in zip(some, curve_styles(some), strict=True):
            assert name not in METHODS or look_of(style) == looks[name]
    assert {name: look[0] for name, look in BUILT_IN.items()} == METHODS
    assert set(METHODS) >= {*registry.BUILT_IN["optimizers"], *registry.BUILT_IN["black_box_optimizers"]}


def test_methods_differ_in_dashes_or_markers_so_that_they_do_not_need_colours():
    looks = {name: look_of(curve_styles([name])[0]) for name in METHODS}
    assert len({look[1:] for look in looks.values()}) == len(METHODS)
    assert len({look[:2] for look in looks.values()}) == len(METHODS), "nor markers, where colours are printed"
    for alike in (["darts"] * 10, ["random"] * 10, ["darts", "Mine", "gdas", "Yours"] * 2 + ["darts", "Mine"]):
        assert len({look_of(style)[1:] for style in curve_styles(alike)}) == len(alike), "ten runs, as in nb.compare"


def test_an_own_method_keeps_its_colour_beside_common_methods():
    others = (["darts"], ["darts", "gdas", "pc-darts"], ["random-ws", "darts"], ["random", "regularized-evolution"], [])
    colours = {curve_styles([*names, "Mine"])[-1]["color"] for names in others}
    assert len(colours) == 1 and not colours & {METHODS[name] for names in others for name in names}


def test_given_colours_replace_those_of_the_methods():
    darts, gdas = curve_styles(["darts", "gdas"], {"gdas": "red"})
    assert (darts["color"], gdas["color"]) == (METHODS["darts"], "red")
    assert [style["color"] for style in curve_styles(["darts"] * 2, {"b": "red"}, ["a", "b"])] == [
        METHODS["darts"],
        "red",
    ]
    assert curve_styles(["darts"], "#123456")[0]["color"] == "#123456"
    for wrong, message in (
        (["red"], "has 1 colour for 2 curves"),
        (["red", "no colour"], "'no colour', which is not a colour"),
        ({"bohb": "red"}, "names 'bohb', which is not drawn: name darts, gdas"),
    ):
        with pytest.raises(nb.InvalidInputError, match=message):
            curve_styles(["darts", "gdas"], wrong)


# One room -------------------------------------------------------------------------------------------------------------


def test_only_this_room_imports_matplotlib():
    found = []
    for folder in ("nasbench1shot1", "experiments", "optimizers", "search_spaces"):
        for path in (ROOT / folder).rglob("*.py"):
            name = path.relative_to(ROOT).as_posix()
            if name.startswith("nasbench1shot1/display/"):
                continue
            for node in ast.walk(ast.parse(path.read_text())):
                names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
                names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
                found += [name for module in names if module.split(".")[0] in ("matplotlib", "seaborn")]
    assert sorted(set(found)) == []


@pytest.mark.parametrize("suffix", [".png", ".svg", ".pdf"])
def test_the_title_and_the_caption_of_a_paper_figure_are_in_its_file(tmp_path, suffix):
    with Canvas(style="paper") as canvas:
        canvas.axes[0].plot([0, 1], [0, 1])
        figure = canvas.finish("darts on s1", "table nb101-embedded-v1")
    save_figure(figure, tmp_path / f"a{suffix}")
    save_figure(figure, tmp_path / f"b{suffix}")
    content = (tmp_path / f"a{suffix}").read_bytes()
    assert b"darts on s1" in content
    assert b"table nb101-embedded-v1" in content
    assert content == (tmp_path / f"b{suffix}").read_bytes()


@pytest.mark.parametrize(("style", "grid"), [("screen", (1, 5)), ("paper", (2, 3))])
def test_a_long_row_of_panels_becomes_two_rows_with_names_that_do_not_overlap(style, grid):
    names = [f"method {number}" for number in range(25)]
    with Canvas(1, 5, panel=(3, 5), style=style, sharey=True, wraps=True) as canvas:
        for axes in canvas.axes:
            axes.set_yticks(range(len(names)), names)
        canvas.axes[0].set_ylabel("rank")
        figure = canvas.finish()
    assert canvas.grid.shape == grid and len(canvas.axes) == 5
    assert [row[0].get_ylabel() for row in canvas.grid] == ["rank"] * grid[0]
    figure.draw_without_rendering()
    labels = [label.get_window_extent() for label in canvas.grid[-1, 0].get_yticklabels()]
    assert all(above.y0 >= below.y1 for below, above in pairwise(labels))
