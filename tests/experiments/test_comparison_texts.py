"""The words of comparisons about their numbers: measured or predicted values, intervals of few runs, common times."""

import json
import re
from dataclasses import replace
from io import StringIO
from pathlib import Path

import compared_runs as make
import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from refusals import refuses
from rich.console import Console

import nasbench1shot1 as nb
from nasbench1shot1.display.colours import MOST_BANDS
from nasbench1shot1.experiments.comparison import output
from nasbench1shot1.experiments.comparison.accuracies import compare_accuracies
from nasbench1shot1.experiments.comparison.comparing import compare_tasks
from nasbench1shot1.experiments.comparison.drawing import (
    caption,
    comparison_figure,
    draw_comparison,
    has_mean_line,
    mean_label,
    mean_text,
)
from nasbench1shot1.experiments.comparison.overviews import distribution_figure
from nasbench1shot1.experiments.comparison.sentences import NO_BANDS, narrow_range_text, range_text

QUIET = Console(quiet=True)
RANK_BELOW_MEAN = 20
"""Rank of an architecture of s1 whose regret is a little below the mean of the space."""


def with_flags(run: nb.Run, flags: list[bool]) -> Path:
    """Record which test values of a search are measured."""
    file = run.folder / "metrics.jsonl"
    lines = [{**line, "test_measured": flag} for line, flag in zip(run.lines, flags, strict=True)]
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return run.folder


# Measured or predicted ------------------------------------------------------------------------------------------------


def test_the_final_regret_is_that_of_the_last_epoch_if_a_partial_table_lacks_an_earlier_network(tmp_path):
    run = make.search(tmp_path / "run", (9, 8, 7, 6), finished=False, reference="present")
    unknown = dict.fromkeys(("test_regret", "table_test_error", "simulated_seconds"))
    lines = [line | (unknown if line["epoch"] == 1 else {}) for line in run.lines]
    (run.folder / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    for over in ("simulated-time", "search-time"):
        (contender,) = compare_tasks([run.folder], over=over).tasks["s1"].contenders
        assert contender.final.tolist() == [pytest.approx(lines[-1]["test_regret"])]


def test_results_that_a_partial_table_lacks_are_counted_apart(tmp_path):
    group = make.group(tmp_path / "seeds", [(9, 8), (9, 7), (9, 6)], epochs=1, reference="present")
    for run in group.runs[1:]:
        (run.folder / "summary.json").unlink()
        first, last = run.lines
        last |= dict.fromkeys(("test_regret", "table_test_error", "simulated_seconds"))
        (run.folder / "metrics.jsonl").write_text(f"{json.dumps(first)}\n{json.dumps(last)}\n")
    found = compare_tasks([group.folder], over="epochs")
    (row,), known = found.results.to_dict("records"), group.runs[0].lines[-1]["test_regret"]
    assert (row["n"], row["missing"], row["final_mean"]) == (1, 2, known) and f"{100 * known:.2f} % (n = 1)" in repr(
        found
    )
    assert "| darts (unfinished) | 1 | " in found.table().markdown()
    missing = "Not in the table: 2 of 3 results of darts."
    assert missing in nb.compare([group.folder]).figure.caption
    for text in (found.methods_text(), found.table().caption, found.task_table().caption):
        assert f"{missing} They are not counted in n." in text and "n = 1" in text and "n = 3" not in text
    page_row = page(tmp_path, [group.folder]).partition("Final regrets")[2].partition("</tbody>")[0]
    assert re.search(r"<td[^>]*>1</td>", page_row) and not re.search(r"<td[^>]*>3</td>", page_row)
    assert "all networks of the space that the table has (" in mean_text(found.tasks)


def test_runs_of_which_another_table_has_no_architecture_are_refused(tmp_path):
    run = make.search(tmp_path / "run", (9, 8), reference="present")
    values = {"validation_accuracy": [0.9], "test_accuracy": [0.9], "training_time": [100.0]}
    frame = pd.DataFrame({"architecture": [14_579], "epochs": [108], **values})
    other = nb.table_from_frame(frame, space=nb.search_space("s1"), reference="present")
    assert not any(arch in other for arch in run.architectures)
    with refuses(nb.InvalidInputError, other.id, run.folder, options="table"):
        compare_tasks([run.folder], over="simulated-time", table=other)


def test_tables_of_final_regrets_count_the_sources_of_final_regrets(tmp_path):
    first = with_flags(make.search(tmp_path / "first", (9, 8, 7, 6), finished=False), [True, True, True, False])
    second = with_flags(make.search(tmp_path / "second", (9, 8), optimizer="gdas", finished=False), [False, True])
    found = compare_tasks([first])
    assert list(found.results["source"]) == ["predicted"] and "predicted: darts" in repr(found)
    both = "final regrets: predicted; along the curves of searches: 75 % measured, else predicted"
    axes = nb.compare([first])
    for text in (found.methods_text(), found.table().caption, axes.figure.caption):
        assert f"({both})" in text
    assert axes.get_ylabel() == "test regret [%] (partly predicted)"
    assert "(predicted)" in found.task_table().caption, "without anytime regrets"
    found = compare_tasks([first, second])
    assert list(found.results["source"]) == ["predicted", "measured"]
    assert "final regrets: 50 % measured, else predicted" in found.methods_text()
    assert "final regrets: 50 % measured, else predicted" in page(tmp_path, [first, second])
    row = page(tmp_path, [first]).partition("Final regrets")[2].partition("</table>")[0]
    assert "<td>predicted</td>" in row and "measured" not in row


def test_distributions_count_the_drawn_runs_and_name_the_others(tmp_path):
    group = make.group(tmp_path / "seeds", [(9, 8), (9, 7), (9, 6)], epochs=1)
    alone = make.search(tmp_path / "alone", (9, 8), optimizer="gdas", finished=False)
    for run, flag in zip(group.runs, (True, True, False), strict=True):
        (run.folder / "summary.json").unlink()
        with_flags(run, [flag, flag])
    found = compare_tasks([group.folder, with_flags(alone, [False, False])])
    assert "50 % measured, else predicted" in found.methods_text()
    figure = distribution_figure(found)
    assert "(67 % measured, else predicted)." in figure.caption and "50 %" not in figure.caption
    assert "Not drawn, with fewer than two results: gdas." in figure.caption
    assert "Not drawn" not in distribution_figure(compare_tasks([group.folder])).caption
    (line,) = (line for line in figure.axes[0].get_lines() if line.get_label().startswith("darts"))
    assert line.get_ydata()[0] == 0 and 0 not in line.get_markevery(), "the first point is not a run"
    assert not line.get_clip_on()


def test_a_short_range_of_anytime_regrets_is_called_so(tmp_path):
    early, late = (make.search(tmp_path / name, (9, 8, 7, 6), optimizer=name) for name in ("darts", "gdas"))
    found = compare_tasks([early, late], over="simulated-time")
    assert "small part" not in found.methods_text() + " ".join(found.warnings)
    comparison = found.tasks["s1"]
    first, second = comparison.contenders
    shifts = ((first, np.array([0.0, 10, 20, 3676])), (second, np.array([3672.0, 5e3, 1e5, 2e5])))
    values = np.array([0.04, 0.03, 0.02, 0.01])
    moved = [
        replace(of, repetitions=[replace(of.repetitions[0], at=at, values=values, end=at[-1], holds=False)])
        for of, at in shifts
    ]
    narrow = replace(found, tasks={"s1": replace(comparison, contenders=moved)})
    said = (
        "Anytime regrets cover only a small part of the searches: all curves exist only from 3,672 s to 3,676 s, less "
        "than 0.1 % of the longest one."
    )
    assert said in narrow.methods_text() and said in narrow.table().caption and said in narrow.warnings


@pytest.mark.parametrize(
    ("ends", "said"),
    [
        ((3672.0, 3676.0), "from 3,672 s to 3,676 s"),
        ((863.6, 864.2), "from 863.6 s to 864.2 s"),
        ((863.98, 864.02), "from 863.98 s to 864.02 s"),
        ((12.01, 12.04), "from 12.01 s to 12.04 s"),
        ((0.012, 0.013), "from 0.012 s to 0.013 s"),
    ],
)
def test_the_ends_of_a_range_differ_as_written(tmp_path, ends, said):
    comparison = compare_tasks([make.search(tmp_path / "run", (9, 8))], over="simulated-time").tasks["s1"]
    (only,) = comparison.contenders
    trace = replace(only.repetitions[0], at=np.array(ends), values=np.array([0.04, 0.03]), end=ends[1], holds=False)
    alone = replace(comparison, contenders=[replace(only, repetitions=[trace])])
    assert range_text(alone) == said
    assert narrow_range_text(alone) == ""  # no other curve shortens the range


def page(folder: Path, runs: list[Path]) -> str:
    return nb.write_report_page(runs, folder / "report.html", overwrite=True).read_text()


def test_tables_of_final_accuracies_count_final_accuracies(tmp_path):
    run = make.search(tmp_path / "run", (9, 8, 7))
    found = compare_accuracies([run]).accuracies
    found.frame["measured"] = (found.frame["split"] == "test") & (found.frame["epoch"] == 2)
    assert found.source == "17 % measured, else predicted"
    assert found.final_source == "50 % measured, else predicted" and found.final_source in found.markdown(
        {"darts": "d"}
    )


def test_final_accuracies_and_distributions_of_unfinished_runs_are_called_so(tmp_path):
    group = make.group(tmp_path / "seeds", [(9, 8, 7), (6, 5, 4), (3, 2, 1)], started=2, epochs=2)
    done = make.group(tmp_path / "done", [(9, 8, 7), (6, 5, 4)], epochs=2, optimizer="gdas")
    runs, said = (
        [group.folder, done.folder],
        "Unfinished runs, shown as far as recorded: darts (1 of 3 seeds not started).",
    )
    found = compare_accuracies(runs)
    assert said in found.draw().caption and said in found.markdown()
    assert "| darts (unfinished) | 2 |" in found.markdown() and "| gdas | 2 |" in found.markdown()
    console = Console(record=True, width=120, file=StringIO())
    found.show(console, [])
    assert said in (text := console.export_text()) and "darts (unfinished)" in text
    figure = distribution_figure(compare_tasks(runs))
    assert said in figure.caption
    legend = [text.get_text() for text in figure.legends[0].get_texts()]
    assert legend == ["darts (n = 2, unfinished)", "gdas (n = 2)"]
    assert "nfinished" not in compare_accuracies([done.folder]).markdown()
    assert [text.get_text() for text in found.draw().legends[0].get_texts()] == legend


def test_the_picture_of_more_accuracies_than_bands_says_that_curves_are_means(tmp_path):
    groups = [make.group(tmp_path / str(n), [(9, 8 - n), (6, 5)], epochs=1).folder for n in range(MOST_BANDS + 1)]
    (many, few) = (compare_accuracies(groups[:n], list("abcd")[:n]).draw() for n in (4, 3))
    assert NO_BANDS in many.caption and NO_BANDS not in few.caption
    assert [text.get_text() for text in many.legends[0].get_texts()] == [f"{label} (n = 2)" for label in "abcd"]


@pytest.mark.parametrize(
    ("spread", "words"),
    [(None, "mean and 95 % confidence interval"), ("std", "mean ± standard deviation")],
)
def test_the_text_for_a_paper_describes_the_bands_of_the_figures(spread, words, tmp_path):
    groups = [
        make.group(tmp_path / f"{number}", [(9, 8 + seed + number) for seed in range(6)], epochs=1)
        for number in range(MOST_BANDS + 1)
    ]
    folders = [of.folder for of in groups]
    few = compare_tasks(folders[:2], labels=["a", "b"], spread=spread).methods_text()
    assert "Tables show means and medians with 95 % confidence intervals" in few and f"Figures show the {words}." in few
    many = compare_tasks(folders, labels=list("abcd"), spread=spread).methods_text()
    assert f"Figures show the mean, without bands, because there are more than {MOST_BANDS} curves." in many


# Intervals ------------------------------------------------------------------------------------------------------------


def test_every_text_calls_the_range_of_few_runs_a_range(tmp_path):
    few = make.group(tmp_path / "few", [(9, 8 + n) for n in range(5)])
    enough = make.group(tmp_path / "enough", [(9, 8 + n) for n in range(6)], optimizer="gdas")
    one = make.search(tmp_path / "one", (9, 8), optimizer="snas")
    final = [run.lines[-1]["test_regret"] for run in few.runs]
    found = compare_tasks([few])
    (row,) = found.results.to_dict("records")
    for low, high in (("final_low", "final_high"), ("final_median_low", "final_median_high")):
        assert (row[low], row[high]) == (min(final), max(final))
    none = "No method has several results"
    cases = (
        ([few, one], "mean and range", "Brackets: minimum and maximum (fewer than 6 runs)", "with minimum and maximum"),
        (
            [enough],
            "mean and 95 % confidence interval",
            "Brackets: 95 %",
            "(of means: Student's t, cut at 0; of medians: order statistics).",
        ),
        ([few, enough], "n < 6: range", "of fewer than 6 runs: minimum", "or with the range of fewer than 6 runs."),
        ([one], "", f"{none}: no intervals.", f"{none}, so there are no intervals."),
    )
    for runs, band, brackets, statistics in cases:
        found = compare_tasks(runs)
        (own,) = found.tasks.values()
        legend = draw_comparison(own, Figure().add_subplot()).get_legend()
        assert band in legend.get_title().get_text() and band in caption(own)
        assert brackets in found.table().caption and statistics in found.methods_text()
    assert "Range [%]" in page(tmp_path, [few.folder]) and "95 %" not in page(tmp_path, [few.folder])
    assert "95 % interval; n &lt; 6: range [%]" in page(tmp_path, [few.folder, enough.folder])


def test_labels_are_not_broken_on_80_columns(tmp_path):
    make.black_box(tmp_path / "random", repeats=600)
    make.black_box(tmp_path / "evolution", "regularized-evolution", evaluations=9)
    shown = StringIO()
    output.show(compare_tasks([tmp_path / "random", tmp_path / "evolution"]), [], Console(file=shown, width=80))
    lines = shown.getvalue().splitlines()
    assert any("regularized-evolution" in line and line.count(".") > 4 for line in lines), "its row of numbers"
    assert any(line.lstrip().startswith("label") and line.rstrip().endswith(" s") for line in lines)


# Equal curves, missing common times, means and settings ---------------------------------------------------------------


def test_methods_that_are_random_search_and_equal_curves_are_named(tmp_path):
    make.black_box(tmp_path / "random")
    make.black_box(tmp_path / "evolution", "regularized-evolution")
    found = compare_tasks([tmp_path / "random", tmp_path / "evolution"])
    notes = [
        "With at most 6 trainings per search, regularized-evolution is random search: its first 100 architectures are "
        "random.",
        "The curves of random and regularized-evolution are equal.",
    ]
    assert found.warnings[:2] == notes
    texts = (found.methods_text(), found.table().caption, caption(found.tasks["s1"]))
    for text in texts:
        assert all(note in text for note in notes)
    assert notes[0] in page(tmp_path, [tmp_path / "evolution"])
    assert "We compared random search and regularized-evolution on s1" in texts[0]


def test_different_settings_are_listed_but_different_seeds_are_not(tmp_path):
    first = make.search(tmp_path / "first", (9, 8), channels=8)
    second = make.search(tmp_path / "second", (7, 8), optimizer="gdas", seed=3, channels=8)
    third = make.search(tmp_path / "third", (6, 5), optimizer="enas", channels=4)
    with nb.Recorder(tmp_path / "loop", "s1", optimizer="Mine") as recorder:
        recorder.record(first.architectures[0])
        recorder.record(first.architectures[1])
        recorder.finish()
    assert "settings" not in " ".join(compare_tasks([first.folder, tmp_path / "loop"]).warnings), (
        "they are not recorded"
    )
    said = "The searches have different settings. darts, gdas: 4 epochs; quick scale: 8 channels"
    for runs, is_told in (([first, second], False), ([first, second, third], True)):
        found = compare_tasks(runs)
        for text in (" ".join(found.warnings), found.table().caption, caption(found.tasks["s1"])):
            assert (said in text and "enas: 4 epochs; quick scale: 4 channels" in text) == is_told


def test_areas_on_a_logarithmic_axis_are_only_shown_over_a_clock(tmp_path):
    found = compare_tasks([make.search(tmp_path / "run", (9, 8))])
    assert "anytime mean" in found.table().headings and "log axis" not in found.table().markdown()
    study = compare_tasks([make.black_box(tmp_path / "study")]).table()
    assert study.headings[-1] == "anytime mean, log axis" and "log axis: the same" in study.caption


def begun_after(run: nb.Run, seconds: float) -> nb.Run:
    """The run, with a later simulated time of every epoch."""
    lines = [{**line, "simulated_seconds": line["simulated_seconds"] + seconds} for line in run.lines]
    (run.folder / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return nb.load_run(run.folder)


def test_curves_that_do_not_overlap_have_no_common_time(tmp_path):
    early = make.search(tmp_path / "early", (9, 8))
    late = begun_after(make.search(tmp_path / "late", (9, 8), optimizer="gdas", finished=False), 1e6)
    found = compare_tasks([early.folder, late.folder], over="simulated-time")
    said = "There is no common time: the curve of gdas begins after darts ends."
    assert found.warnings[0].startswith(said) and not any("end at different times" in of for of in found.warnings)
    assert found.warnings[0].endswith("left out. To include them, leave out darts, or search longer with it.")
    assert found.table().headings == ["method", "n", "final mean", "final median"]
    for text in (found.methods_text(), found.table().caption):
        assert said in text and "Common time: the last" not in text


def test_a_curve_of_one_point_between_two_others_is_named_once(tmp_path):
    early = make.search(tmp_path / "early", (9, 8))
    between = begun_after(make.search(tmp_path / "between", (9,), optimizer="enas", finished=False), 5e5)
    late = begun_after(make.search(tmp_path / "late", (9, 8), optimizer="gdas", finished=False), 1e6)
    (said, *_) = compare_tasks([early.folder, between.folder, late.folder], over="simulated-time").warnings
    assert said.startswith("There is no common time: the curve of gdas begins after darts and enas end.")
    assert said.endswith("To include them, leave out darts and enas, or search longer with them.")


def test_single_runs_have_no_means(tmp_path):
    axes = nb.compare([make.search(tmp_path / "one", (9, 8))])
    assert axes.get_ylabel() == "test regret [%] (predicted)"


def test_the_caption_states_the_mean_of_each_panel(tmp_path):
    runs = [make.black_box(tmp_path / space, space=space, repeats=2) for space in ("s1", "nb201")]
    found = compare_tasks(runs, over="evaluations")
    means = {name: f"{name} {100 * own.mean:.2f} %" for name, own in found.tasks.items()}
    lines = [
        line for line in nb.compare(runs, over="evaluations")[0].figure.caption.splitlines() if "mean test" in line
    ]
    assert all(mean in " ".join(lines) for mean in means.values()), lines
    drawn = {name for name, own in found.tasks.items() if has_mean_line(own)}
    for line in lines:
        assert {name for name in means if means[name] in line} == (
            drawn if line.startswith("Dash-dot-dot line: ") else set(means) - drawn
        )


@pytest.mark.parametrize("count", [2, 6], ids=["one-axes", "two-axes"])
def test_axes_reach_up_to_the_mean_that_the_legend_names(tmp_path, count):
    names = ("darts", "gdas", "pc-darts", "enas", "random-ws", "snas")[:count]
    runs = [make.search(tmp_path / name, (RANK_BELOW_MEAN,) * 3, optimizer=name) for name in names]
    (own,) = compare_tasks(runs).tasks.values()
    assert own.mean is not None and has_mean_line(own)
    assert max(curve.centre.max() for curve in own.curves.values()) < 0.9 * own.mean
    figure = comparison_figure(own)
    assert len({ax.get_ylim() for ax in figure.axes}) == 1
    low, high = figure.axes[0].get_ylim()
    assert low < 0 < 100 * own.mean < high


def test_the_mean_within_bounds_is_told_from_that_of_a_space(tmp_path):
    widths = make.black_box(tmp_path / "widths", space="nats-size", objective="test_accuracy", repeats=2)
    bounded = make.black_box(tmp_path / "bounded", max_parameters=5e6, repeats=2)
    edges = make.black_box(tmp_path / "edges", space="nb201", repeats=2)
    assert widths.baseline is not None and widths.baseline.bounds is None, "the largest network"
    for runs, labels, networks in (
        ([widths], ["mean over the space"], "all networks of the space ("),
        ([widths, edges], ["mean over the space"] * 2, "all networks of each space ("),
        ([bounded], ["mean within the bounds"], "all networks within the bounds ("),
        (
            [bounded, edges],
            ["mean within the bounds", "mean over the space"],
            "all networks of each space within its bounds, if any (",
        ),
    ):
        tasks = compare_tasks(runs, over="evaluations").tasks
        assert [mean_label(own).partition(" (")[0] for own in tasks.values()] == labels
        sentences = mean_text(tasks).splitlines()
        assert sentences and all(networks in sentence for sentence in sentences), sentences


def test_the_text_for_a_paper_states_the_objective_of_each_task(tmp_path):
    usual = make.black_box(tmp_path / "usual", repeats=2)
    guided = make.black_box(tmp_path / "guided", space="nats-size", objective="test_accuracy", repeats=2)
    sentence = "Objective: test accuracy (fraction, higher is better). Test values guided the search."
    for runs in ([usual, guided], [guided, usual]):
        assert f" nats-size: {sentence} " in compare_tasks(runs).methods_text()
    other = make.black_box(tmp_path / "other", space="nb201", epochs=200, objective="test_accuracy", repeats=2)
    text = compare_tasks([guided, other]).methods_text()
    assert text.count("Objective:") == 1 and f". {sentence} " in text, "of both tasks"


def test_the_text_for_a_paper_names_the_tasks_that_have_bounds(tmp_path):
    bounded = make.black_box(tmp_path / "bounded", space="nb201", max_parameters=5e5, repeats=2)
    free = make.black_box(tmp_path / "free", space="nb201", dataset="cifar100", repeats=2)
    usual = make.black_box(tmp_path / "usual", space="nb201", dataset="ImageNet16-120", repeats=2)
    best = "test error minus the lowest test error of all networks of nb201"
    for runs in ([bounded, free, usual], [usual, free, bounded]):
        tasks = compare_tasks(runs, over="evaluations")
        inside, outside = "nb201/cifar10", ", ".join(name for name in tasks.tasks if name != "nb201/cifar10")
        for text in (tasks.methods_text(), tasks.table().caption, tasks.task_table().caption):
            assert f"{best} ({outside})" in text and f"{best} within the bounds ({inside})" in text
            assert f" {inside}: {bounded.baseline.sentence}" in text and text.count("Bounds: ") == 1
    alone = compare_tasks([bounded], over="evaluations")
    for text in (alone.methods_text(), alone.table().caption):
        assert f"Regret: {best} within the bounds. {bounded.baseline.sentence}" in text
    assert "ounds" not in compare_tasks([free, usual], over="evaluations").methods_text()


def test_the_text_for_a_paper_states_seeds_budgets_feedback_and_sizes(tmp_path):
    groups = [make.group(tmp_path / name, [(9, 8)] * 3, optimizer=name, epochs=1) for name in ("darts", "gdas")]
    study = make.black_box(tmp_path / "random", seed=5)
    text = compare_tasks([*groups, study]).methods_text()
    assert "Setting of darts and gdas: seeds 0 to 2; 1 epoch; quick scale: 8 channels × 3 cells, " in text
    assert (
        "Setting of random search: seed 5; 6 trainings per search; noise-free feedback: one value per "
        "architecture, after 108 epochs of training."
    ) in text
    studies = [study, make.black_box(tmp_path / "5v", seed=5, space="nb101-5v")]
    for space, evaluations in (("s1", 6), ("nb101-5v", 7)):
        options = {"space": space, "evaluations": evaluations, "seed": 5}
        studies.append(make.black_box(tmp_path / f"local-{space}", "local-search", **options))
    text = compare_tasks(studies).methods_text()
    assert "Setting of random search and local-search on s1: seed 5; 6 trainings per search; " in text
    assert "Setting of local-search on nb101-5v: seed 5; 7 trainings per search; " in text
    limited = nb.black_box(
        "random", space="nb201", seconds=3e3, epochs=12, repeats=2, out=tmp_path / "limited", console=QUIET
    )
    assert "at most 3,000 simulated seconds per search; " in compare_tasks([limited]).methods_text()
