"""Drawing the regret of any kind of run on given axes."""

import shutil
from unittest.mock import Mock

import numpy as np
import pandas
import pytest
from compared_runs import with_facts
from matplotlib.figure import Figure
from refusals import refuses
from rich.console import Console
from synthetic_study import write_study
from tiny_search import FOR_TINY, TINY, search

import nasbench1shot1 as nb
from nasbench1shot1.cli import main
from nasbench1shot1.display.artists import ScaledText
from nasbench1shot1.display.style import COLUMN_WIDTH
from nasbench1shot1.one_shot_search.pictures import PANEL_WIDTH
from nasbench1shot1.one_shot_search.record import SearchRecord
from nasbench1shot1.one_shot_search.regret_curve import regret_figure
from nasbench1shot1.reading import Reading

EPOCHS = "search epoch (0: before training)"


@pytest.fixture(scope="module")
def group(tmp_path_factory) -> nb.SearchGroup:
    out = tmp_path_factory.mktemp("drawn") / "group"
    nb.search_seeds([0, 1], out=out, console=Console(quiet=True), **{**TINY, "epochs": 2})
    return nb.load_run(out)


def test_a_search_can_be_drawn_on_given_axes(group):
    run = group.runs[0]
    axes = Figure().add_subplot()
    assert nb.draw_regret(run, axes) is axes
    assert np.allclose(axes.get_lines()[0].get_ydata(), 100 * run.metrics["test_regret"])


def test_a_folder_can_be_drawn_on_new_axes(group):
    axes = nb.draw_regret(group.folder)
    mean = np.mean([run.metrics["test_regret"] for run in group.runs], axis=0)
    assert np.allclose(axes.get_lines()[0].get_ydata(), 100 * mean)
    title = axes.figure.legends[0].get_title().get_text()
    assert title == "mean and range of 2 seeds" and len(axes.collections) == 1
    (band,) = nb.draw_regret(group, spread="range").collections
    low = np.min([run.metrics["test_regret"] for run in group.runs], axis=0)
    assert band.get_paths()[0].vertices[:, 1].min() == pytest.approx(100 * low.min())


def test_colours_labels_and_style_are_the_callers_choice(group):
    axes = nb.draw_regret(group, colors="red", labels="mine", style="paper")
    test, validation, mean = axes.get_lines()
    assert mean.get_label().startswith("mean over the space (")
    assert (test.get_color(), test.get_label(), validation.get_color()) == ("red", "mine", "#000000")
    assert axes.figure.get_figwidth() == COLUMN_WIDTH
    labelled = nb.draw_regret(group, labels=["a", "b"], colors={"b": "red", "darts": "blue"}).get_lines()
    assert [(line.get_label(), line.get_color()) for line in labelled[:2]] == [("a", "blue"), ("b", "red")]
    for wrong in ({"labels": ["a"]}, {"colors": {"gdas": "red"}}, {"colors": ["red"]}, {"style": "papr"}):
        with pytest.raises(nb.InvalidInputError):
            nb.draw_regret(group, **wrong)
    compared = nb.compare([group], colors=["red"], style="paper")
    assert compared.get_lines()[0].get_color() == "red" and compared.figure.get_suptitle() == ""
    titles = [axes.get_title() for axes in nb.draw_cells(group[0], labels=list("abc"), style="paper")]
    assert titles == ["a", "b", "c"]


def test_the_second_of_two_axes_shows_the_one_shot_error(group):
    pair = Figure().subplots(2)
    assert nb.draw_regret(group, pair) == list(pair)
    mean = np.mean([run.metrics["one_shot_validation_error"] for run in group.runs], axis=0)
    assert np.allclose(pair[1].get_lines()[0].get_ydata(), 100 * mean)
    assert [axes.get_xlabel() for axes in pair] == ["", EPOCHS]
    low = min(path.vertices[:, 1].min() for path in pair[0].collections[0].get_paths())
    assert pair[0].get_ylim()[0] < 0 <= low  # a regret of 0 is not hidden by the frame, and no tick is negative
    below, above = nb.draw_regret(group, Figure().subplots(2)[::-1])
    assert (above.get_xlabel(), below.get_xlabel()) == ("", EPOCHS)
    assert {axes.yaxis.get_label_position() for axes in (above, below)} == {"left"}


@pytest.mark.parametrize("label", ["mine", "_mine", "_"])
def test_both_of_two_axes_have_the_colours_by_label(group, label):
    above, below = nb.draw_regret(group, Figure().subplots(2), labels=label, colors={label: "red"})
    assert above.get_lines()[0].get_color() == below.get_lines()[0].get_color() == "red"
    assert above.get_legend().get_texts()[0].get_text().strip() == label


def test_given_axes_show_the_mean_of_the_space_phases_and_decisions(tmp_path):
    run = search(tmp_path / "run", optimizer="darts-pt", **FOR_TINY["darts-pt"])
    above, below = nb.draw_regret(run, Figure().subplots(2))
    figure = next(iter(regret_figure([run], [run.metrics], nb.load_table()).axes))
    for drawn in (above, figure):
        (mean,) = [line for line in drawn.get_lines() if line.get_label().startswith("mean over the space (")]
        assert mean.get_ydata()[0] == pytest.approx(100 * nb.load_table().mean_regret("s1"))
        assert [text.get_text() for text in drawn.texts] == ["search", "selection"]
        legend = drawn.get_legend() or drawn.figure.legends[0]
        assert "decisions" in [text.get_text() for text in legend.get_texts()]
    assert 1.5 in [line.get_xdata()[0] for line in below.get_lines()]  # the selection begins after epoch 1


def test_a_search_whose_table_is_missing_has_no_mean(group, monkeypatch):
    def refuse(*_):
        raise nb.InvalidInputError("the table is missing: import it")

    monkeypatch.setattr("nasbench1shot1.experiments.rescoring.table_of_run", refuse)
    assert len(nb.draw_regret(group[0]).get_lines()) == 2


def test_axes_side_by_side_have_labels_that_do_not_overlap(group):
    figure = Figure()
    left, right = nb.draw_regret(group, figure.subplots(1, 2))
    figure.draw_without_rendering()
    label = right.yaxis.label.get_window_extent()
    assert right.bbox.x1 < label.x0 < label.x1 < figure.bbox.x1
    assert all(tick.label2.get_visible() and not tick.label1.get_visible() for tick in right.yaxis.get_major_ticks())
    assert left.get_xlabel() == right.get_xlabel() == EPOCHS
    right, left = nb.draw_regret(group, Figure().subplots(1, 2)[::-1])
    assert [axes.yaxis.get_label_position() for axes in (left, right)] == ["left", "right"]


def test_the_cells_of_a_search_are_drawn_on_given_axes(group, tmp_path):
    run = group.runs[0]
    given = Figure().subplots(1, 3)
    drawn = nb.draw_cells(run.folder, given)
    assert list(drawn) == list(given)
    assert drawn._repr_png_().startswith(b"\x89PNG"), "shown in a notebook"
    assert [axes.get_title().splitlines()[0] for axes in drawn] == ["epoch 0", "epoch 1", "epoch 2"]
    assert [axes.get_title().splitlines()[0] for axes in nb.draw_cells(run, panels=2)] == ["epoch 0", "epoch 2"]
    page = nb.draw_cells(run, style="paper")[0].figure
    page.draw_without_rendering()
    assert min(text.get_fontsize() for text in page.findobj(ScaledText)) > 6
    column = nb.draw_cells(run, style=nb.FigureStyle("paper", width="column"))
    column[0].figure.draw_without_rendering()
    texts = [text for text in column[0].figure.findobj(ScaledText) if text.get_text()]
    assert min(text.get_fontsize() for text in texts) >= 6 and len(column) == 3
    assert "3×3 conv\n0.33" in [text.get_text() for text in texts], "in two lines, so that two cells fit in a row"
    new = nb.draw_cells(run)
    sources = ["" if line["test_measured"] else " (predicted)" for line in run.lines]
    assert all(axes.get_title().endswith(f" %{source}") for axes, source in zip(new, sources, strict=True))
    caption = new[0].figure.get_supxlabel().replace("\n", " ")
    assert f"table {run.config['table_id']}; values called predicted are estimates, not measurements" in caption
    assert "widths, and numbers at the preferred operations: softmax of Λ" in caption
    folder = shutil.copytree(run.folder, tmp_path / "run")
    (folder / "summary.json").unlink()
    (folder / "metrics.jsonl").write_text("")
    for wrong, sentence in (
        ((run, given[:2]), r"ax must have 3 matplotlib axes, one per epoch shown \(panels=\), not 2"),
        ((run, 3), "ax must be a list of matplotlib axes, one per epoch shown"),
        ((run, None, 1), "panels must be at least 2"),
        ((run, None, 2.5), "panels cannot be 2.5: give a number of epochs"),
        ((group,), "has no cells to draw: give a single search"),
        ((folder,), "does not have a result yet"),
    ):
        with pytest.raises(nb.InvalidInputError, match=sentence):
            nb.draw_cells(*wrong)


@pytest.mark.parametrize("learns", [False, True])
@pytest.mark.parametrize("space", ["s1", "nb201"])
def test_the_labels_of_cells_are_readable_and_equally_large(learns, space):
    found, rng = nb.search_space(space), np.random.default_rng(0)
    history = [{k: rng.normal(size=shape) for k, shape in found.mixing_shapes().items()} for _ in range(4)]
    architectures = [found.discretise(each) for each in history]
    run = Mock(spec=SearchRecord, architectures=architectures, reading_note="")
    run.config = {"optimizer": "darts", "space": space, "seed": 0, "table_id": "T", "dataset": "cifar10"}
    run.lines = [{"test_regret": 0.1, "test_measured": True}] * 4
    run.metrics = pandas.DataFrame(run.lines)
    learned = {key: np.stack([each[key] for each in history]) for key in history[0]}
    run.architecture_parameters = learned if learns else {key: 1.0 * (of > 0) for key, of in learned.items()}
    run.reading = lambda epoch: Reading()
    run.mixing_weights_of = lambda epochs: {epoch: Reading().weights(history[epoch]) for epoch in epochs}
    for given in (None, Figure(figsize=(12, 4)).subplots(1, 4)):
        drawn = nb.draw_cells(run, given)
        figure = drawn[0].get_figure(root=True)
        figure.draw_without_rendering()
        sizes = {
            text.get_fontsize()
            for axes in drawn
            for text in axes.texts
            if "\u00d7" in text.get_text() or "_" in text.get_text()
        }
        assert max(sizes) == pytest.approx(min(sizes))
        panels = [axes.get_window_extent().width / figure.dpi for axes in drawn]
        assert given is not None or min(panels) > 0.95 * PANEL_WIDTH, "cells fill the width of their panels"
        shown = any("0." in text.get_text() for axes in drawn for text in axes.texts)
        assert shown == learns, "softmaxes of a drawn architecture's zeros and ones are not weights"
        assert given is not None or 0.73 * min(sizes) * figure.dpi / 72 > 9, "digits are 0.73 em high"


def test_cells_are_drawn_without_weights_if_a_space_has_other_shapes():
    space, rng = nb.search_space("nb201"), np.random.default_rng(0)
    run = Mock(spec=SearchRecord, architectures=[space[3], space[9930]], reading_note="")
    run.config = {"optimizer": "darts", "space": "mine", "seed": 0, "table_id": "T", "dataset": "cifar10"}
    run.lines = [{"test_regret": 0.1, "test_measured": True}] * 2
    run.metrics = pandas.DataFrame(run.lines)
    run.architecture_parameters = {"operations": rng.normal(size=(2, 6, 3))}
    run.mixing_weights_of = lambda epochs: {epoch: {"operations": np.full((6, 3), 1 / 3)} for epoch in epochs}
    figure = nb.draw_cells(run)[0].get_figure(root=True)
    assert "grey: not on a path from input to output" in figure.caption and "Λ" not in figure.caption
    labels = [text.get_text() for axes in figure.axes for text in axes.texts]
    assert "nor_conv_3x3" in labels and not any("0." in label for label in labels)
    run.architectures = [space[0], space[9930]]  # of which everything is on a path
    assert "grey" not in nb.draw_cells(run)[0].get_figure(root=True).caption


def test_a_picture_of_chains_is_not_too_tall():
    chain = nb.Architecture.parse("nb101:0|1|2|3|4|5:" + ",".join(["conv3x3"] * 5))
    run = Mock(spec=SearchRecord, architectures=[chain] * 2, architecture_parameters={}, reading_note="")
    run.reading = lambda epoch: Reading()
    run.config = {"optimizer": "random-ws", "space": "nb101", "seed": 0, "table_id": "T", "dataset": "cifar10"}
    run.lines = [{"test_regret": 0.1, "test_measured": True}] * 2
    run.metrics = pandas.DataFrame(run.lines)
    assert nb.draw_cells(run)[0].figure.get_figheight() < 1.6 * PANEL_WIDTH


def test_wrong_axes_are_reported_in_one_sentence(group):
    run = group.runs[0]
    for draw in (nb.draw_regret, nb.draw_cell, lambda x, ax: nb.compare([x], ax=ax)):
        with pytest.raises(nb.InvalidInputError, match=r"^ax\b.*'x'"):
            draw(run.architectures[0] if draw is nb.draw_cell else run, ax="x")
    with pytest.raises(nb.InvalidInputError, match=r"^ax\b.*2 matplotlib"):
        nb.draw_regret(run, Figure().subplots(3))


def test_an_unfinished_search_is_drawn_up_to_its_last_record(group, tmp_path):
    folder = shutil.copytree(group.runs[0].folder, tmp_path / "run")
    (folder / "summary.json").unlink()
    recorded = (folder / "metrics.jsonl").read_text().splitlines(keepends=True)
    (folder / "metrics.jsonl").write_text("".join(recorded[:2]))
    assert nb.draw_regret(folder).get_lines()[0].get_xdata().tolist() == [0, 1]
    (folder / "metrics.jsonl").write_text(recorded[0])
    pair = nb.draw_regret(folder, Figure().subplots(2, sharex=True))
    for axes in (*pair, nb.compare([folder], ax=Figure().add_subplot())):
        curves = [line for line in axes.get_lines() if len(line.get_xdata()) == 1]
        assert {line.get_marker() for line in curves} == {"o"}, "a line with one point is invisible"
        low, high = axes.get_xlim()
        assert [tick for tick in axes.get_xticks() if low <= tick <= high] == [0]
    (folder / "metrics.jsonl").write_text("")
    with refuses(nb.InvalidInputError, folder):
        nb.draw_regret(folder)


def test_studies_are_drawn_over_their_clock(tmp_path):
    options = {"space": "s1", "evaluations": 5, "repeats": 2, "console": Console(quiet=True)}
    study = nb.black_box("random", out=tmp_path / "study", **options)
    axes = nb.draw_regret(study)
    assert "evaluations" in axes.get_xlabel()
    assert [text.get_text() for text in axes.figure.legends[0].get_texts()] == ["random"]
    band = axes.figure.legends[0].get_title().get_text()
    assert band == "mean and range of 2 searches"
    assert "quantiles" in nb.draw_regret(study, spread="quartiles").figure.legends[0].get_title().get_text()
    with pytest.raises(nb.InvalidInputError, match=r"^ax\b.*one-shot"):
        nb.draw_regret(study, Figure().subplots(2))
    assert "simulated time" in nb.draw_regret(write_study(tmp_path / "tuning", iterations=1)).get_xlabel()


@pytest.mark.parametrize("style", ["screen", "paper"])
def test_new_figures_name_the_run_its_table_and_what_is_predicted(group, tmp_path, style):
    given = {"space": "s1", "evaluations": 5, "repeats": 2, "console": Console(quiet=True)}
    study = nb.black_box("random", out=tmp_path / "study", **given)
    tuned = write_study(tmp_path / "tuning", iterations=1)
    with_facts(tuned.folder)
    kinds = ((group, "darts on s1, 2 seeds"), (study, "random on s1"), (tuned.folder, "tunes darts on s1"))
    for run, title in kinds:
        figure = nb.draw_regret(run, style=style).figure
        assert title in figure.title and f"able {nb.load_table().id}" in figure.caption
        assert "predicted" in figure.caption or "measured" in figure.caption
        written = nb.save_figure(figure, tmp_path / f"{title}.svg")
        assert (tmp_path / f"{title}.txt" in written) == (style == "paper")
        assert [text.get_text() for text in nb.draw_regret(run, Figure().add_subplot()).figure.texts] == []
    assert "Shown: mean and range of 2 searches." in nb.draw_regret(study).figure.caption


def test_other_objects_are_refused():
    with refuses(nb.InvalidInputError, 3):
        nb.draw_regret(3)


def levels(axes) -> dict[str, float]:
    """The horizontal lines of axes by their labels."""
    return {line.get_label(): line.get_ydata()[0] for line in axes.get_lines() if len(set(line.get_ydata())) == 1}


def test_marked_networks_are_horizontal_lines_in_every_picture_of_regrets(group, tmp_path):
    table = nb.load_table()
    resnet = nb.Architecture.parse(table.benchmark.reference_points["ResNet-like cell"])
    regret = 100 * (table.best("s1", "test")[1].test_accuracy - table.query(resnet).test_accuracy)
    label, mark = f"ResNet-like cell ({regret:.2f} %, measured)", ["resnet-like-cell", "inception-like-cell"]
    for axes in (nb.draw_regret(group, mark=mark), nb.compare([group], mark=mark)):
        assert levels(axes)[label] == pytest.approx(regret), "relative to the best of s1, not of the cell's own space"
    absent = f"Not in the table {table.id}, so not marked: Inception-like cell."
    for axes in (nb.draw_regret(group, mark=mark), nb.compare([group], mark=mark)):
        assert absent in " ".join(axes.figure.get_supxlabel().split())
    main(["report", str(group.folder), "--out", str(tmp_path / "report"), "--format", "svg", "--mark", *mark])
    assert "Inception-like cell" in (tmp_path / "report" / "regret.svg").read_text()
    assert label not in levels(nb.draw_regret(group))
    with refuses(nb.InvalidInputError, "'resnet'"):
        nb.draw_regret(group, mark=["resnet"])


def test_marked_networks_of_black_box_studies_are_within_logarithmic_axes(tmp_path):
    study = nb.black_box("random", space="nb201", seconds=2e4, repeats=2, out=tmp_path / "study")
    best, _ = nb.load_table("nb201").best("nb201", "test", dataset="cifar10")
    axes = nb.draw_regret(study, mark=["resnet-cell", ("best", best)])
    found = levels(axes)
    assert found["ResNet cell (0.46 %, measured)"] == pytest.approx(0.46, abs=0.01)
    assert found["best (0.00 %, measured)"] == axes.get_ylim()[0]
