"""The operations of preferred architectures, epoch by epoch, and the figure that shows them below the regrets."""

import re
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas
import pytest

import nasbench1shot1 as nb
from nasbench1shot1.nasbench201.architecture import OPERATIONS
from nasbench1shot1.one_shot_search.captions import option_texts, scale_text
from nasbench1shot1.one_shot_search.regret_curve import operation_counts, regret_figure

CONFIG = {"optimizer": "darts", "space": "nb201", "seed": 0, "scale": "quick", "preset": "corrected", "channels": 8}
CONFIG |= {"dataset": "cifar10", "cells": 3, "images": "cifar10-sample", "weight_images": 40, "architecture_images": 40}


def texts(*operations):
    return [str(nb.EdgeArchitecture("nb201", of_one)) for of_one in operations]


def frame(space, epochs, seed=0):
    rng = np.random.default_rng(seed)
    made = pandas.DataFrame({"epoch": range(epochs), "one_shot_validation_error": rng.random(epochs)})
    for name in ("validation_regret", "test_regret", "cifar100_test_regret", "ImageNet16-120_test_regret"):
        made[name] = rng.random(epochs)
    made["architecture"] = [str(space.sample(rng)) for _ in range(epochs)]
    return made.assign(validation_measured=True, test_measured=True)


def test_edges_are_counted_by_operation_and_averaged_over_runs():
    runs = [texts((0, 1, 1, 2, 3, 4), (1,) * 6), texts((3,) * 6, (1, 1, 1, 0, 0, 0), (2,) * 6)]
    counts = operation_counts(runs)
    assert list(counts) == list(OPERATIONS)
    assert counts.to_numpy().tolist() == [[0.5, 1.0, 0.5, 3.5, 0.5], [1.5, 4.5, 0.0, 0.0, 0.0]]


def test_choice_block_cells_have_no_edges_to_count():
    assert operation_counts([["s1:0|0,1|0,2|1,3|2,4:conv3x3,conv1x1,maxpool3x3,conv3x3"]]) is None


def run_of(config: dict) -> SimpleNamespace:
    """A run without Λ."""
    return SimpleNamespace(config=config, baseline=None, folder=Path("without-parameters"))


@pytest.mark.parametrize("seeds", [1, 3])
def test_figures_on_nasbench201_show_curves_above_operations(seeds):
    frames = [frame(nb.search_space("nb201"), 4, seed) for seed in range(seeds)]
    figure = regret_figure([run_of(CONFIG)] * seeds, frames, nb.load_table("nb201"))
    above, error, below = figure.axes
    *curves, mean = [text.get_text() for text in figure.legends[0].get_texts()][:5]
    assert re.fullmatch(r"mean over the space on cifar10 \(\d+\.\d\d %\)", mean)
    assert curves == [
        "test regret on cifar10 (measured)",
        "test regret on cifar100 (measured)",
        "test regret on ImageNet16-120 (measured)",
        "validation regret on cifar10 (measured)",
    ]
    assert len(above.get_lines()) == 5
    assert len(above.collections) == (3 if seeds > 1 else 0), "a band for each test regret"
    assert len(error.get_lines()) == 1
    assert above.get_xlim() == error.get_xlim() == below.get_xlim() == (-0.5, 3.5)
    assert below.get_ylim() == (0, 6)
    assert all(tick == round(tick) for axis in (below.get_xticks(), below.get_yticks()) for tick in axis)
    bars = [sum(bar.get_height() for bar in bars) for bars in zip(*below.containers, strict=True)]
    assert bars == pytest.approx([6] * 4)
    assert [text.get_text() for text in figure.legends[0].get_texts()][5] == "skip_connect"


def test_the_legend_and_the_labels_of_the_panels_do_not_overlap():
    figure = regret_figure([run_of(CONFIG)], [frame(nb.search_space("nb201"), 4)], nb.load_table("nb201"))
    figure.canvas.draw()
    above, error, below = figure.axes
    parts = (above, error, below, below.xaxis.label, figure.legends[0], figure._supxlabel)
    boxes = [part.get_window_extent() for part in (figure._suptitle, *parts)]
    tops, bottoms = [box.y1 for box in boxes], [box.y0 for box in boxes]
    assert all(bottom >= top for bottom, top in zip(bottoms, tops[1:], strict=False))
    assert all(box.x0 >= 0 and box.x1 <= figure.bbox.width for box in boxes)


def test_a_search_on_cells_has_no_row_of_operations():
    frames = [frame(nb.search_space("s1"), 3)]
    figure = regret_figure([run_of({**CONFIG, "space": "s1"})], frames, nb.load_table())
    assert len(figure.axes) == 2


def test_regrets_that_the_table_lacks_have_no_curve():
    frames = [frame(nb.search_space("nb201"), 4).assign(validation_regret=np.nan, validation_measured=None)]
    figure = regret_figure([run_of(CONFIG)], frames, nb.load_table("nb201"))
    shown = [text.get_text() for text in figure.legends[0].get_texts()]
    assert not any(label.startswith("validation") for label in shown) and len(shown) == 4 + len(OPERATIONS)


def test_texts_of_options_are_those_of_the_command_line():
    shown = scale_text([{**CONFIG, "space": "nats-size", "optimizer": "tunas", "rejection": True}])
    assert shown.endswith("--rejection") and "True" not in shown
    given = {"rejection": False, "nesterov": False, "augment_architecture_images": True, "epochs": 3}
    typed = option_texts({"optimizer": "tunas"}, given)
    assert typed == ["--no-rejection", "--nesterov no", "--augment-architecture-images yes", "--epochs 3"]
