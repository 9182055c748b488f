"""Reference points of benchmarks, and the networks that pictures mark."""

import numpy as np
import pytest
from refusals import refuses
from small_official import INCEPTION

import nasbench1shot1 as nb
from nasbench1shot1.benchmark import benchmarks
from nasbench1shot1.display.marked_networks import LOOKS, draw_marked, marked
from nasbench1shot1.nasbench101.benchmark import INCEPTION_LIKE, RESNET_LIKE
from nasbench1shot1.nasbench201.benchmark import RESNET
from nasbench1shot1.reference_points import default_points, missing_note, reference_points

RESNET_CELL = [[0, 1, 0, 1], [0, 0, 1, 0], [0, 0, 0, 1], [0, 0, 0, 0]]


def test_reference_points_are_architectures_of_their_benchmarks() -> None:
    for record in benchmarks():
        for text in record.reference_points.values():
            assert nb.Architecture.parse(text).benchmark is record
            nb.search_space(nb.Architecture.parse(text).space).index(nb.Architecture.parse(text))


def test_cells_of_nasbench101() -> None:
    inception = nb.Cell(*INCEPTION)
    assert nb.Architecture.parse(INCEPTION_LIKE).cell == inception
    assert inception.hash == "28cfc7874f6d200472e1a9dcd8650aa0"
    resnet = nb.Cell(RESNET_CELL, ["input", *["conv3x3-bn-relu"] * 2, "output"])
    assert nb.Architecture.parse(RESNET_LIKE).cell == resnet
    found = nb.load_table("nb101-5v").query(resnet)
    assert found.source("test_accuracy") == "measured"
    assert found.test_accuracy == pytest.approx(0.9312, abs=1e-3), "as printed, but for noise"


def test_networks_are_named_in_many_ways() -> None:
    table, arch = nb.load_table("nb201"), nb.Architecture.parse(RESNET)
    asked = ("resnet-cell", "ResNet_cell", "RESNET CELL")
    assert reference_points(asked, table) == default_points(table) == [("ResNet cell", arch)]
    first, other = reference_points([("mine", arch), RESNET], table)
    assert first == ("mine", arch)
    assert (other.network, other.name.startswith("|nor_conv")) == (arch, True)
    assert reference_points(RESNET, table) == [other], "one text"
    [by_index] = reference_points(["11472"], table)
    assert table.row_of(by_index.network) == table.row_of(11472)
    sample = nb.load_table("nb101-sample")
    assert missing_note(reference_points(["resnet-like cell"], sample), sample).endswith(
        "not marked: ResNet-like cell."
    )
    assert missing_note(reference_points(["resnet-cell"], table), table) == ""


@pytest.mark.parametrize(
    ("asked", "said"),
    [("resnet-sell", "'resnet-sell' 'ResNet cell'"), (RESNET_LIKE, "NAS-Bench-201"), ("|nonsense", "'|nonsense'")],
)
def test_other_texts_are_refused(asked: str, said: str) -> None:
    with refuses(nb.InvalidInputError, *said.split()[:1]):
        reference_points([asked], nb.load_table("nb201"))


def test_points_and_lines() -> None:
    from matplotlib.figure import Figure

    axes = Figure().subplots()
    marks = [marked("a", 0, 1.0, 2.0, "measured"), marked("b", 1, y=3.0), marked("c", 2, x=4.0, source="predicted")]
    draw_marked(axes, marks)
    labels = dict(zip(*reversed(axes.get_legend_handles_labels()), strict=True))
    assert list(labels) == ["a (measured)", "b", "c (predicted)"]
    assert [line.get_color() for line in labels.values()] == [look[0] for look in LOOKS[:3]]
    assert labels["a (measured)"].get_marker() == "*"
    np.testing.assert_array_equal(labels["a (measured)"].get_xydata(), [[1.0, 2.0]])
    assert (list(labels["b"].get_ydata()), list(labels["c (predicted)"].get_xdata())) == ([3.0, 3.0], [4.0, 4.0])
