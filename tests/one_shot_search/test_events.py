"""Phases and decisions on screens and in the picture of the regret, and what the one-shot error is measured on."""

import re
from io import StringIO
from itertools import pairwise
from typing import Any

import pandas
import pytest
from rich.console import Console
from tiny_search import FOR_TINY, TINY, search, tiny_state

import nasbench1shot1 as nb
from nasbench1shot1.one_shot_search.captions import one_shot_error_text
from nasbench1shot1.one_shot_search.events import decision_epochs, describe_decisions, phase_names, phase_starts
from nasbench1shot1.one_shot_search.regret_curve import regret_figure

DECIDING = {
    "sgas": {"decision_start": 1, "decision_interval": 1, "batch_increase": 0, "epochs": 4},
    "darts-pt": {"selection_epochs": 2, "epochs": 4},
    "drnas-progressive": {"channels": 4, "warm_start_epochs": 1, "epochs": 4},
    "is-darts": {"shrink_steps": 2, "shrink_interval": 1, "epochs": 4},
    "oles": {"threshold": 1.0, "window": 1, "epochs": 2},
    "darts": {"warm_start_epochs": 1, "epochs": 3},
    "gaea": {"levels": "single-level", "epochs": 2},
    "spos": {**FOR_TINY["spos"], "epochs": 2},
    "rf-darts": {"epochs": 2},
}


@pytest.fixture(scope="module", params=DECIDING)
def searched(request, tmp_path_factory) -> tuple[nb.Run, str]:
    """A finished search, and its screen."""
    screen = Console(file=StringIO(), width=200)
    options = {**TINY, "optimizer": request.param, **DECIDING[request.param]}
    run = nb.search(out=tmp_path_factory.mktemp("events") / "run", console=screen, **options)
    return run, screen.file.getvalue()


PHASES = {
    "darts-pt": {1: "search", 3: "selection"},
    "drnas-progressive": {1: "stage 1, warm-up", 2: "stage 1", 3: "stage 2, warm-up", 4: "stage 2"},
    "is-darts": {1: "training", 3: "shrinking"},
    "darts": {1: "warm-up", 2: "search"},
}


def test_screens_say_when_a_phase_begins(searched):
    run, screen = searched
    wanted = PHASES.get(run.config["optimizer"], {})
    rows = [line.split() for line in screen.splitlines() if re.match(r" +(\d+ |phase: )", line)]
    found: dict[int, str] = {}
    for row, following in pairwise(rows):
        if row[0] == "phase:":
            name, _, span = " ".join(row[1:]).rpartition(", epoch")
            found[int(following[0])] = name
            assert int(re.search(r"\d+", span)[0]) == int(following[0])
    assert found == wanted


def test_the_picture_of_the_regret_marks_phases(searched):
    run, _ = searched
    axes = regret_figure([run], [run.metrics], nb.load_table()).axes
    wanted = PHASES.get(run.config["optimizer"], {})
    names = {text.xy[0] + 0.5: text.get_text() for text in axes[0].texts}
    assert names == wanted
    for row in axes:
        lines = [line.get_xdata()[0] + 0.5 for line in row.get_lines() if list(line.get_ydata()) == [0, 1]]
        assert lines == [epoch for epoch in wanted if epoch > 1]


EVENTS = {
    "sgas": "decisions",
    "darts-pt": "decisions",
    "drnas-progressive": "exclusions",
    "is-darts": "decisions and exclusions",
    "oles": "frozen operations",
}


def test_the_picture_and_the_screen_show_decisions(searched):
    run, screen = searched
    axes = regret_figure([run], [run.metrics], nb.load_table()).axes
    marks = [line for line in axes[0].get_lines() if line.get_marker() == "^" and line.get_linestyle() == "None"]
    method = run.config["optimizer"]
    assert [mark.get_label() for mark in marks] == ([EVENTS[method]] if method in EVENTS else [])
    for mark in marks:  # entirely above the lower edge
        edge = axes[0].get_window_extent().y0
        assert mark.get_window_extent().y0 - 0.5 * mark.get_markersize() / 72 * axes[0].figure.dpi >= edge - 1
    structures = [line.get("structure", {}) for line in run.lines]
    lists = [{name: value for name, value in of.items() if isinstance(value, list)} for of in structures]
    changed = [epoch for epoch in range(1, len(lists)) if lists[epoch] != lists[epoch - 1]]
    assert [list(mark.get_xdata()) for mark in marks] == ([changed] if changed else [])
    assert bool(changed) == (run.config["optimizer"] in ("sgas", "darts-pt", "drnas-progressive", "is-darts", "oles"))
    said = [line for line in screen.splitlines() if re.search(r"(decided|excluded|frozen): ", line)]
    assert len(said) == len(changed)
    space = nb.search_space(run.config["space"])
    assert [line.strip() for line in said] == [
        describe_decisions(space, structures[epoch - 1], structures[epoch]) for epoch in changed
    ]


def test_decisions_are_described_in_words():
    s1, nb201 = nb.search_space("s1"), nb.search_space("nb201")
    assert describe_decisions(s1, {}, {"operations[0]": [1]}) == "decided: operation of block 1: conv1x1"
    inputs = {"input_edges/3": [0, 2], "output_edges": [1, 4]}
    assert describe_decisions(s1, {}, inputs) == (
        "decided: inputs of block 3: input, block 2, inputs of the output: block 1, block 4"
    )
    assert describe_decisions(s1, {}, {"operations[1]": [0, 2]}) == "excluded: operation of block 2: conv1x1"
    assert describe_decisions(nb201, {}, {"operations[1]": [3]}) == "decided: edge from input to 2: nor_conv_3x3"
    many = {f"operations[{row}]": [1, 2, 3] for row in range(6)}
    assert describe_decisions(nb201, {}, many) == "excluded: 12 candidates of 6 choices"
    all_decided = {name: [1] for name in many}
    assert describe_decisions(nb201, many, all_decided) == "decided: 6 choices"
    assert describe_decisions(nb201, {}, {"frozen": ["cell 1, conv"]}) == "frozen: cell 1, conv"
    assert (
        describe_decisions(nb201, many, many) == describe_decisions(s1, {}, {"auxiliary_skip": 0.5, "stage": 1}) == ""
    )
    assert describe_decisions(nb.search_space("nats-size"), {}, {"widths[2]": [7]}) == "decided: widths[2]: 7"


def test_phases_are_found_in_records():
    frame = pandas.DataFrame({"epoch": range(4), "phase": [None, None, None, "selection"]})
    assert phase_names(frame, 1) == ["warm-up", "search", "selection"]
    assert phase_starts(phase_names(frame, 1)) == {1: "warm-up", 2: "search", 3: "selection"}
    assert phase_starts(phase_names(frame[["epoch"]], 0)) == {} == phase_starts([])
    assert decision_epochs(frame) == []


def test_a_resumed_search_repeats_no_decision(tmp_path):
    options: dict[str, Any] = {"optimizer": "is-darts", **DECIDING["is-darts"]}

    def stop(epoch):
        if epoch.line["epoch"] == 2:
            raise KeyError

    with pytest.raises(KeyError):
        search(tmp_path / "run", callbacks=[stop], **options)
    screen = Console(file=StringIO(), width=200)
    run = nb.search(resume=tmp_path / "run", console=screen)
    said = [line for line in screen.file.getvalue().splitlines() if "decided: " in line or "excluded: " in line]
    space, structures = nb.search_space("s1"), [line.get("structure", {}) for line in run.lines]
    assert structures[2] and [line.strip() for line in said] == [
        describe_decisions(space, structures[2], structures[3])
    ]


SINGLE_LEVEL = {
    "gaea": ({"levels": "single-level", "training_images": "all"}, "one-shot error on training images"),
    "is-darts": ({"training_images": "all", **FOR_TINY["is-darts"]}, "one-shot error on training images"),
    "spos": ({"training_images": "all", **FOR_TINY["spos"]}, "one-shot error on training images"),
    "fair-darts": ({"levels": "single-level"}, "one-shot validation error"),  # the architecture half trains nothing
    "darts": ({}, "one-shot validation error"),
}


@pytest.mark.parametrize("optimizer", SINGLE_LEVEL)
def test_one_shot_errors_are_called_after_the_images_that_measure_them(optimizer, tmp_path):
    options, words = SINGLE_LEVEL[optimizer]
    screen = Console(file=StringIO(), width=200)
    run = nb.search(out=tmp_path / "run", console=screen, **{**TINY, "epochs": 1, "optimizer": optimizer, **options})
    state = tiny_state(**{"optimizer": optimizer, **options})
    used = set(state.split.architecture) & set(state.rows(1)[0])
    assert bool(used) == (not state.holds_out_images) == ("training" in words)
    assert ("one-shot errors are measured on training images" in screen.file.getvalue()) == bool(used)
    figure = regret_figure([run], [run.metrics], nb.load_table())
    assert figure.axes[1].get_ylabel().replace("\n", " ") == f"{words} [%]"
    assert run.config.get("one_shot_images") == ("training" if used else None)
    assert nb.load_run(run.folder).is_finished


def test_different_one_shot_errors_have_a_common_name():
    assert one_shot_error_text([{}, {"one_shot_images": "training"}]) == "one-shot error"
