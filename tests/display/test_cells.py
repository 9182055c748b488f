"""Pictures of cells: edges, labels and the routing of edges."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.path import Path as MatplotlibPath
from matplotlib.transforms import Bbox
from refusals import refuses

import nasbench1shot1 as nb
from nasbench1shot1.display.cells import DECIDED, draw_cells_alike, text_points
from nasbench1shot1.display.layout import LEFT, RIGHT, STRAIGHT, sides
from nasbench1shot1.reading import Reading

GREY, BLUE, ORANGE, PALE = "#dddddd", "#9ecae9", "#f7c99b", "#f6f6f6"
S1 = "s1:0|0,1|0,2|1,3|2,4:conv3x3,conv1x1,maxpool3x3,conv3x3"


def texts(axes: Axes) -> list[str]:
    return [text.get_text() for text in axes.texts if text.get_text()]


def colours(axes: Axes) -> list[str]:
    """Return the fill colours of the drawn nodes."""
    return [to_hex(patch.get_facecolor()) for patch in axes.patches]


def drawn(space: str, seed: int) -> tuple[nb.Architecture, dict[str, Any]]:
    found, rng = nb.search_space(space), np.random.default_rng(seed)
    parameters = {key: rng.normal(size=shape) for key, shape in found.mixing_shapes().items()}
    return found.discretise(parameters), parameters


def crosses(arrow: Any, box: Bbox) -> bool:
    lines = arrow.arrow_patch.get_path().to_polygons(closed_only=False)  # intersects_bbox closes paths at (0, 0)
    return any(MatplotlibPath(line).intersects_bbox(box, filled=False) for line in lines)


def test_loose_ends_are_drawn_for_architectures_but_not_for_cells() -> None:
    arch = nb.Architecture.parse("s1:0|0,1|0,2|1,2|0,4:conv3x3,conv1x1,maxpool3x3,conv1x1")
    graph = arch.drawn_graph()
    assert colours(nb.draw_cell(arch)) == [GREY, BLUE, ORANGE, PALE, ORANGE, GREY]
    assert set(graph.edges) == {(0, 1), (0, 2), (1, 2), (0, 3), (2, 3), (1, 4), (2, 4), (0, 5), (4, 5)}
    pruned = arch.cell.drawn_graph()
    assert [label for _, label in pruned.nodes(data="label")] == ["input", "3×3 conv", "1×1 conv", "1×1 conv", "output"]
    assert colours(nb.draw_cell(arch.cell)) == [GREY, BLUE, ORANGE, ORANGE, GREY]


def test_zeroized_edges_are_left_out() -> None:
    graph = nb.EdgeArchitecture.parse(
        "|nor_conv_3x3~0|+|none~0|skip_connect~1|+|none~0|none~1|avg_pool_3x3~2|"
    ).drawn_graph()
    assert dict(graph.edges) == {
        (0, 1): {"label": "nor_conv_3x3", "chosen": True, "weight": 0.0},
        (1, 2): {"label": "skip_connect", "chosen": True, "weight": 0.0},
        (2, 3): {"label": "avg_pool_3x3", "chosen": True, "weight": 0.0},
    }


@pytest.mark.parametrize("space", ["s1", "s2", "s3"])
def test_parent_weights_are_softmaxes_and_the_largest_are_chosen(space: str) -> None:
    arch, parameters = drawn(space, seed=1)
    graph = arch.drawn_graph(Reading().weights(parameters))
    n = len(arch.operations)
    for node in range(1, n + 2):
        weights = [graph.edges[parent, node]["weight"] for parent in range(node)]
        chosen = [parent for parent in range(node) if graph.edges[parent, node]["chosen"]]
        assert tuple(chosen) == arch.parents[node - 1]
        if len(chosen) < node:
            assert sum(weights) == pytest.approx(1)
            assert min(weights[parent] for parent in chosen) >= max(set(weights) - {weights[p] for p in chosen})
    of_first = np.exp(parameters["operations"][0])
    assert graph.nodes[1]["label"].split()[-1] == f"{of_first.max() / of_first.sum():.2f}"


def test_operation_weights_label_the_edges_of_nasbench201() -> None:
    arch, parameters = drawn("nb201", seed=0)
    graph = arch.drawn_graph(Reading().weights(parameters))
    assert len(graph.edges) == 6
    largest = (np.exp(parameters["operations"]) / np.exp(parameters["operations"]).sum(1, keepdims=True)).max(1)
    assert sorted(weight for *_, weight in graph.edges(data="weight")) == pytest.approx(sorted(largest))


@pytest.mark.parametrize("space", ["s1", "nb201", "nats-size"])
def test_parameters_and_weights_may_be_tensors_with_a_gradient(space: str) -> None:
    arch, parameters = drawn(space, seed=0)
    tensors = torch.nn.ParameterDict({key: torch.tensor(values) for key, values in parameters.items()})
    expected = texts(nb.draw_cell(arch, parameters=parameters))
    assert texts(nb.draw_cell(arch, parameters=tensors)) == expected
    softmaxes = {key: values.softmax(-1) for key, values in tensors.items()}
    assert texts(nb.draw_cell(arch, weights=softmaxes)) == expected
    lists = {key: values.tolist() for key, values in softmaxes.items()}
    assert texts(nb.draw_cell(arch, weights=lists)) == expected


def outlines(axes: Axes) -> list[float]:
    """Return the lengths of the outlined bars, relative to the longest possible one."""
    longest = max(patch.get_width() for patch in axes.patches)
    found = [patch for patch in axes.patches if patch.get_facecolor()[3] == 0]
    return [round(patch.get_width() / longest, 6) for patch in found]


def test_widths_are_drawn_as_bars_from_input_to_output() -> None:
    axes = nb.draw_cell("64:48:32:16:8")
    assert outlines(axes) == [1, 0.75, 0.5, 0.25, 0.125]
    layers = ["stem and cell 1", "reduction 1", "cell 2", "reduction 2", "cell 3"]
    assert texts(axes) == [text for pair in zip(layers, ("64", "48", "32", "16", "8"), strict=True) for text in pair]
    tops = [patch.get_y() for patch in axes.patches if patch.get_facecolor()[3] == 0]
    assert tops == sorted(tops, reverse=True)


def test_softmax_weights_of_widths_are_shades_of_the_steps() -> None:
    arch, parameters = drawn("nats-size", seed=0)
    axes = nb.draw_cell(arch, parameters=parameters)
    weights = np.exp(parameters["widths"]) / np.exp(parameters["widths"]).sum(1, keepdims=True)
    shades = [patch.get_alpha() for patch in axes.patches if patch.get_alpha() is not None]
    np.testing.assert_allclose(shades, weights.ravel())
    assert outlines(axes) == [(position + 1) / 8 for position in weights.argmax(1)]
    assert texts(axes)[1::2] == [f"{8 * (row.argmax() + 1)} ({row.max():.2f})" for row in weights]


def test_colours_of_bars_are_given_by_layer() -> None:
    pink = nb.draw_cell("64:48:32:16:8", colors={"cell 3": "pink"})
    assert [c for c in colours(pink) if c == "#ffc0cb"] == ["#ffc0cb"]
    with refuses(nb.InvalidInputError, "widths"):
        nb.draw_cell("64:48:32:16:8", parameters={"operations": np.zeros((5, 8))})
    with refuses(nb.InvalidInputError, "widths", "(8, 5)", "(5, 8)"):
        nb.draw_cell("64:48:32:16:8", parameters={"widths": np.zeros((8, 5))})


def excluded(space: str, kept: dict[str, list[int]]) -> tuple[nb.Architecture, dict[str, Any]]:
    """Return an architecture of a space, and mixing weights in which only some entries of choices are left."""
    found, parameters = nb.search_space(space), drawn(space, seed=3)[1]
    weights = Reading().weights(parameters, found, kept)
    return found.discretise({key: np.nan_to_num(value, nan=-9) for key, value in weights.items()}), weights


def test_decided_operations_are_framed_and_excluded_edges_dotted() -> None:
    arch, weights = excluded("s1", {"operations[0]": [1], "operations[1]": [0, 2], "output_edges": [1, 4]})
    axes = nb.draw_cell(arch, weights=weights)
    first, second, third = texts(axes)[1:4]
    assert first == "1×1 conv 1.00 ○●○" and second.endswith(" ●○●") and "●" not in third
    frames = [patch.get_linewidth() for patch in axes.patches]
    assert frames == [0.8, DECIDED, *[0.8] * 4]
    styles = {
        edge: arrow.get_linestyle() for edge, arrow in zip(arch.drawn_graph(weights).edges, arrows(axes), strict=True)
    }
    assert [source for (source, target), style in styles.items() if target == 5 and style == ":"] == [0, 2, 3]
    assert all(style == "-" for (_, target), style in styles.items() if target < 5)
    assert arch.parents[-1] == (1, 4)


def test_decided_edges_of_nasbench201_are_framed_and_list_excluded_operations() -> None:
    arch, weights = excluded("nb201", {"operations[0]": [3], "operations[5]": [0, 4]})
    axes = nb.draw_cell(arch, weights=weights)
    framed = {text.get_text(): text.get_bbox_patch().get_edgecolor()[3] for text in axes.texts if text.get_bbox_patch()}
    assert framed["nor_conv_3x3\n1.00 ○○○●○"] == 1
    assert sorted(framed.values()) == [0, 0, 0, 0, 0, 1]
    assert sum(text.endswith(" ●○○○●") for text in framed) == 1


def test_excluded_widths_are_hatched() -> None:
    arch, weights = excluded("nats-size", {"widths[2]": [0, 1, 7]})
    hatched = [patch for patch in nb.draw_cell(arch, weights=weights).patches if patch.get_hatch()]
    assert len(hatched) == 5 and len({patch.get_y() for patch in hatched}) == 1
    with refuses(nb.InvalidInputError, "parameters=", "weights="):
        nb.draw_cell(arch, parameters={}, weights=weights)


def arrows(axes: Axes) -> list[Any]:
    return [text.arrow_patch for text in axes.texts if getattr(text, "arrow_patch", None) is not None]


@given(st.sets(st.tuples(st.integers(0, 6), st.integers(0, 6)).filter(lambda edge: edge[0] < edge[1])))
def test_adjacent_vertices_are_joined_by_lines_and_others_by_arcs(edges: set[tuple[int, int]]) -> None:
    found = sides(edges)
    assert set(found) == edges
    assert all((side == STRAIGHT) == (target - source == 1) for (source, target), side in found.items())


def test_crossing_arcs_take_different_sides() -> None:
    assert sides([(0, 2), (1, 3)]) == {(0, 2): RIGHT, (1, 3): LEFT}


def test_a_cell_can_be_drawn_on_given_axes() -> None:
    from matplotlib.figure import Figure

    axes = Figure().subplots()
    assert nb.draw_cell(S1, axes, title="mine") is axes
    assert texts(axes) == ["input", "3×3 conv", "1×1 conv", "3×3 max-pool", "3×3 conv", "output"]
    assert axes.get_title() == "mine"
    arch, parameters = drawn("nb201", seed=0)
    assert "nor_conv_1x1\n0.34" in texts(nb.draw_cell(str(arch), parameters=parameters))


@pytest.mark.parametrize("inches", [1.0, 2.0, 6.0])
def test_the_text_of_a_vertex_is_inside_its_box(inches: float) -> None:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.patches import FancyBboxPatch

    figure = Figure(figsize=(2 * inches, inches))
    FigureCanvasAgg(figure).draw()
    arch, parameters = drawn("s1", seed=0)
    for place, more in zip(figure.subplots(1, 2), ({}, {"parameters": parameters}), strict=True):
        axes = nb.draw_cell(arch, place, **more)
        if more:
            axes.invert_yaxis()
        figure.draw_without_rendering()
        boxes = [patch.get_window_extent() for patch in axes.patches if isinstance(patch, FancyBboxPatch)]
        shown = [text for text in axes.texts if text.get_text()]
        for box, text in zip(boxes, shown, strict=True):
            inner = text.get_window_extent()
            assert box.x0 < inner.x0 < inner.x1 < box.x1 and box.y0 < inner.y0 < inner.y1 < box.y1
        assert 1 < max(text.get_fontsize() for text in shown) <= 8


@pytest.mark.parametrize("space", ["s1", "s3"])
def test_two_lines_of_a_compact_cell_are_inside_their_box(space: str) -> None:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.patches import FancyBboxPatch

    figure = Figure(figsize=(3.25, 2.5))
    FigureCanvasAgg(figure).draw()
    (arch, parameters), panels = drawn(space, seed=0), list(figure.subplots(1, 2))
    weights = Reading().weights(parameters)
    draw_cells_alike([arch] * 2, panels, [weights] * 2, ["a", "b"], is_compact=True)
    figure.draw_without_rendering()
    for axes in panels:
        boxes = [patch.get_window_extent() for patch in axes.patches if isinstance(patch, FancyBboxPatch)]
        shown = [text for text in axes.texts if text.get_text()]
        assert all(text.get_text().count("\n") == 1 for text in shown[1:-1])
        for box, text in zip(boxes, shown, strict=True):
            inner = text.get_window_extent()
            assert box.x0 < inner.x0 < inner.x1 < box.x1 and box.y0 < inner.y0 < inner.y1 < box.y1
        width = axes.bbox.width / figure.dpi
        assert shown[1].get_fontsize() <= text_points([arch], [weights], width, is_compact=True) + 1e-6
    assert text_points([arch], [weights], 1.5, is_compact=True) > 1.3 * text_points([arch], [weights], 1.5)


@pytest.mark.parametrize("inches", [1.0, 3.4, 12.0])
def test_edge_labels_do_not_cover_other_edges_labels_or_vertices(inches: float) -> None:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(2 * inches, inches))
    FigureCanvasAgg(figure)
    _, parameters = drawn("nb201", seed=0)
    for place, more in zip(figure.subplots(1, 2), ({}, {"parameters": parameters}), strict=True):
        axes = nb.draw_cell(nb.EdgeArchitecture("nb201", (4, 2, 4, 3, 4, 3)), place, **more)
        figure.draw_without_rendering()
        arrows, labels = axes.texts[:12:2], axes.texts[1:12:2]
        boxes = [label.get_bbox_patch().get_window_extent() for label in labels]
        around = [patch.get_window_extent() for patch in axes.patches]
        for number, box in enumerate(boxes):
            assert [arrow for arrow in arrows if crosses(arrow, box)] == [arrows[number]], "only its own edge"
            assert box.count_overlaps([other for other in boxes if other is not box] + around) == 0
            assert axes.bbox.x0 <= box.x0 < box.x1 <= axes.bbox.x1


def test_a_cell_without_edges_is_drawn() -> None:
    assert texts(nb.draw_cell("|none~0|+|none~0|none~1|+|none~0|none~1|none~2|")) == ["input", "1", "2", "output"]


def test_undrawable_input_is_refused() -> None:
    with refuses(nb.InvalidInputError, "parameters="):
        nb.draw_cell(nb.Architecture.parse(S1).cell, parameters={})
    with refuses(nb.InvalidInputError, 3, "nb201"):
        nb.draw_cell(3)  # type: ignore[arg-type]
    with refuses(nb.InvalidInputError, "'s1'"):
        nb.draw_cell("s1")
    arch, parameters = drawn("s1", seed=0)
    all_epochs = {key: np.stack([values, values]) for key, values in parameters.items()}
    with refuses(nb.InvalidInputError, "'operations'", "(2, 4, 3)", "(4, 3)"):
        nb.draw_cell(arch, parameters=all_epochs)
    with refuses(nb.InvalidInputError, "lack", "'operations'"):
        nb.draw_cell(arch, parameters={})
    for name in ("parameters", "weights"):
        for wrong in (5, {"operations": "many"}):
            with refuses(nb.InvalidInputError, f"{name}=", str(wrong)):
                nb.draw_cell(arch, **{name: wrong})  # type: ignore[arg-type]
    for wrong in (["red", "green"], 5):
        with refuses(nb.InvalidInputError, "colors=", str(wrong)):
            nb.draw_cell(arch, colors=wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize("suffix", ["png", "svg", "pdf"])
def test_query_draws_the_cell_that_it_looks_up(suffix: str, tmp_path: Path) -> None:
    from nasbench1shot1.commands.query import Query

    path = tmp_path / f"cell.{suffix}"
    Query(nb.Architecture.parse(S1).cell.hash, draw=path).run()
    assert path.stat().st_size > 2_000
    with refuses(nb.InvalidInputError, tmp_path / "cell.txt", ".png", ".svg", ".pdf"):
        Query(S1, draw=tmp_path / "cell.txt").run()


def test_the_widths_of_a_search_are_drawn_over_its_epochs(tmp_path: Path) -> None:
    space, rng = nb.search_space("nats-size"), np.random.default_rng(0)
    recorder = nb.Recorder(tmp_path / "run", space, nb.load_table("nats-size"))
    for _ in range(3):
        recorder.record({"widths": rng.normal(size=(5, 8))})
    run = recorder.finish()
    assert (tmp_path / "run" / "cells.png").exists()
    axes = nb.draw_cells(run)
    assert [len(outlines(panel)) for panel in axes] == [5] * 3
    assert {panel.get_xlim() for panel in axes} == {axes[0].get_xlim()}
    caption = getattr(axes[0].get_figure(root=True), "caption")  # noqa: B009  not an attribute of matplotlib's figures
    assert "outlines: preferred numbers of channels; shades of steps and numbers in brackets: softmax of Λ" in caption
