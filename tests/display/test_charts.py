"""Charts: marks, axes, legends, and what callers replace."""

from itertools import pairwise

import numpy as np
import pytest
from matplotlib.figure import Figure

import nasbench1shot1 as nb
from nasbench1shot1.display.axis import Axis
from nasbench1shot1.display.charts import Bars, Matrix, Panel, Series, Zero, draw_panels, shifts
from nasbench1shot1.display.colours import COLOURS
from nasbench1shot1.display.marked_networks import marked
from nasbench1shot1.display.style import COLUMN_WIDTH, TEXT_WIDTH

X = np.arange(4)


def panel(*marks, title="title", **axis) -> Panel:
    return Panel(title, Axis("cost [s]", **axis), Axis("error [%]"), marks)


def legend(axes) -> list[str]:
    return [text.get_text() for text in axes.figure.legends[0].get_texts()]


def test_callers_replace_colours_and_labels_but_not_the_numbers_behind_labels():
    marks = Series(X, X, label="front", detail=" (-4)", line="-"), Series(X, 2 * X, label="all", marker="o")
    axes = draw_panels([panel(*marks)], labels=["Front", "All"], colors={"Front": "red"})[0]
    assert legend(axes) == ["Front (−4)", "All"]
    assert [line.get_color() for line in axes.lines] == ["red", COLOURS[1]]
    assert draw_panels([panel(Series(X, X))], colors="red")[0].lines[0].get_color() == "red"
    for wrong in ({"colors": ["red"]}, {"labels": ["Front"]}, {"colors": {"median": "red"}}, {"style": "papr"}):
        with pytest.raises(nb.InvalidInputError):
            draw_panels([panel(*marks)], **wrong)


def test_labels_that_start_with_an_underscore_are_in_the_legend():
    marks = Series(X, X, label="a", line="-"), Bars(X, X, label="b"), marked("c", 0, y=1.0), marked("d", 1, 1.0, 1.0)
    labels = ["_", "__", "_c", "__d"]
    axes = draw_panels([panel(*marks)], labels=labels)[0]
    assert [text.strip() for text in legend(axes)] == labels
    assert {text.get_text().strip() for text in axes.legend().get_texts()} == set(labels)  # of matplotlib's own legend
    assert list(axes.figure.data["label"].unique()) == labels


def test_equal_labels_have_equal_colours_and_one_entry_in_all_panels():
    panels = [panel(Series(X, X, label="a", marker="o")), panel(Series(X, X, label="b"), Series(X, X, label="a"))]
    first, second = draw_panels(panels)
    assert legend(first) == ["a", "b"]
    assert first.figure.legends[0].legend_handles[0].get_marker() == "o", "the look of the first panel"
    assert first.lines[0].get_color() == second.lines[1].get_color() != second.lines[0].get_color()


@pytest.mark.parametrize(("count", "width"), [(1, COLUMN_WIDTH), (4, TEXT_WIDTH)])
def test_the_paper_style_has_no_caption_and_at_most_three_columns(count, width):
    axes = draw_panels([panel(Series(X, X), title=f"panel {i}") for i in range(count)], "caption", style="paper")
    assert (axes.figure.get_figwidth(), axes.figure.get_supxlabel(), axes.figure.caption) == (width, "", "caption")
    assert [of.get_title() for of in axes] == (["panel 0", "panel 1", "panel 2", "panel 3"] if count > 1 else [""])
    assert len({round(of.get_position().x0, 2) for of in axes}) == min(count, 3)
    ticked = draw_panels(
        [panel(Series(X, X), ticks=dict.fromkeys(X, "a long\nlabel")) for _ in range(4)], style="paper"
    )
    assert len({round(of.get_position().x0, 2) for of in ticked}) == 2


def test_given_axes_get_title_and_caption_unless_the_style_is_paper():
    for style, said in ((None, True), ("paper", False)):
        axes = Figure().add_subplot()
        assert draw_panels([panel(Series(X, X))], "caption", ax=axes, style=style) == [axes]
        assert (axes.get_title() == "title", [text.get_text() for text in axes.texts] == ["caption"]) == (said, said)
    with pytest.raises(nb.InvalidInputError, match="must have 2 matplotlib axes"):
        draw_panels([panel(), panel()], ax=[axes])


@pytest.mark.parametrize("count", [4, 30])
def test_texts_of_ticks_do_not_overlap(count):
    texts = {place: f"{place}\n94.91 %" for place in range(count)}
    axes = draw_panels([panel(Bars(range(count), range(count)), ticks=texts)], style="paper")[0]
    axes.figure.draw_without_rendering()
    boxes = [text.get_window_extent() for text in axes.get_xticklabels()]
    assert all(left.x1 <= right.x0 for left, right in pairwise(boxes))


def test_bars_have_their_values_and_a_zero_line_only_if_one_is_negative():
    for lengths, lines in (([1, 2], 0), ([1, -2], 1)):
        for horizontal in (False, True):
            axes = draw_panels([panel(Bars([0, 1], lengths, texts=["a", "b"], horizontal=horizontal))])[0]
            assert [text.get_text() for text in axes.texts] == ["a", "b"]
            assert len(axes.lines) == lines


def test_large_numbers_have_separators_and_logarithmic_axes_say_so():
    axes = draw_panels([panel(Series([0, 20_000], [1, 2]))])[0]
    axes.figure.draw_without_rendering()
    assert "10,000" in [text.get_text() for text in axes.get_xticklabels()]
    assert draw_panels([panel(Series([1, 20], [1, 2]), log=True)])[0].get_xlabel() == "cost [s, log scale]"


def test_a_matrix_has_readable_numbers_and_no_grid():
    matrix = Matrix(np.array([[0.0, 1.0], [-1.0, np.nan]]), [["0", "1"], ["-1", "–"]], "ab", "cd", low=-1, high=1)
    axes = draw_panels([panel(matrix)])[0]
    assert [(text.get_text(), text.get_color()) for text in axes.texts] == [
        ("0", "white"), ("1", "black"), ("−1", "white"), ("–", "black")
    ]  # fmt: skip
    assert not any(line.get_visible() for line in axes.get_xgridlines())


def test_series_on_a_right_axis_and_ranges():
    left = Series(X, X, low=X - 1, high=X + 1)
    axes = draw_panels([panel(left, Series(X, 1000 * X, right="time [s]", label="time"), Zero())])[0]
    right = axes.figure.axes[1]
    assert (right.get_ylabel(), right.lines[0].get_ydata().tolist()) == ("time [s]", [0, 1000, 2000, 3000])
    assert [segment[:, 1].tolist() for segment in axes.collections[0].get_segments()] == [[x - 1, x + 1] for x in X]


def test_shifted_bars_stay_within_half_of_the_smallest_gap():
    assert shifts([1, 3, 4], 3) == pytest.approx([-0.1, 0, 0.1])
    assert np.ptp(shifts([1, 3, 4], 5)) < 0.5
