"""Runs on several tasks: a panel and a part of the table for each, statistics over all, and texts for a paper."""

import re
from dataclasses import replace
from io import StringIO
from itertools import combinations, product
from pathlib import Path

import compared_runs as make
import numpy as np
import pandas
import pytest
from matplotlib.figure import Figure
from refusals import refuses
from rich.console import Console
from unrendered import save_unrendered

import nasbench1shot1 as nb
from nasbench1shot1.cli import main
from nasbench1shot1.experiments.comparison import output
from nasbench1shot1.experiments.comparison.comparing import compare_runs, compare_tasks
from nasbench1shot1.experiments.comparison.overall import AverageRanks
from nasbench1shot1.experiments.comparison.overviews import (
    critical_difference_figure,
    distribution_figure,
    profile_figure,
)
from nasbench1shot1.experiments.comparison.paper import MOST_LINES, Cell, PaperTable, escape
from nasbench1shot1.experiments.comparison.tasks import TaskComparison
from nasbench1shot1.ground.files import write_json

METHODS = ("random", "local-search", "regularized-evolution")
DATASETS = ("cifar10", "cifar100", "ImageNet16-120")


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """Studies of three methods on five tasks, which two spaces have, and searches at two scales."""
    out = tmp_path_factory.mktemp("runs")
    for method in METHODS:
        for space in ("s1", "nb101-5v"):
            make.black_box(out / f"{method}-{space}", method, space=space, repeats=12)
        for dataset in DATASETS:
            options = {"space": "nb201", "dataset": dataset, "evaluations": 12, "repeats": 12}
            make.black_box(out / f"{method}-nb201-{dataset}", method, **options)
    make.group(out / "quick", [(50, 40), (30, 20)], epochs=1)
    make.group(out / "full", [(20, 10), (9, 8)], epochs=1, scale="full")
    return out


def studies(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if path.name.startswith(METHODS))


@pytest.fixture(scope="module")
def everything(folder) -> TaskComparison:
    return compare_tasks(studies(folder), over="evaluations")


def test_each_task_has_its_own_comparison(folder, everything):
    assert set(everything.tasks) == {"s1/cifar10", "nb101-5v/cifar10", *(f"nb201/{of}" for of in DATASETS)}
    assert "5 tasks" in everything.separation and "search spaces or data sets or tables" in everything.separation
    one = compare_runs([path for path in studies(folder) if path.name.endswith("s1")], over="evaluations")
    own = everything.results[everything.results["task"] == "s1/cifar10"].drop(columns="task").reset_index(drop=True)
    pandas.testing.assert_frame_equal(own, one.results)
    tests = everything.rank_tests[everything.rank_tests["task"] == "s1/cifar10"].drop(columns="task")
    pandas.testing.assert_frame_equal(tests.reset_index(drop=True), one.rank_tests)
    single = compare_tasks([folder / "random-s1"])
    assert list(single.tasks) == ["s1"] and single.separation == single.ranks_note == "" and single.ranks is None


def test_scales_are_separated_and_studies_take_part_in_each(folder):
    runs = [folder / "quick", folder / "full", folder / "random-s1"]
    found = compare_tasks(runs)
    assert {name: list(own.curves) for name, own in found.tasks.items()} == {
        "s1/quick": ["darts", "random"],
        "s1/full": ["darts", "random"],
    }
    assert "regrets of different scales are not comparable" in found.separation
    assert found.results["scale"].fillna("none").tolist() == ["quick", "none", "full", "none"]
    for refused in (compare_runs, lambda each: compare_runs(each, over="simulated-time")):
        with refuses(nb.InvalidInputError, "scales", "quick", "full", folder / "quick", options=""):
            refused(runs[:2])
    with refuses(nb.InvalidInputError, "the space nb101-s1", "cifar10", "separately"):
        found.average_ranks()


def test_labels_identify_methods_on_all_tasks(folder):
    runs = [folder / name for name in ("random-s1", "local-search-s1", "random-nb201-cifar10")]
    found = compare_tasks(runs, ["a", "b", "a"])
    assert [list(own.curves) for own in found.tasks.values()] == [["a", "b"], ["a"]]
    assert list(found.means().columns) == ["a", "b"] and found.means().isna().to_numpy().sum() == 1
    with refuses(nb.InvalidInputError, "a,a", options="labels"):
        compare_tasks(runs, ["a", "a", "b"])
    with refuses(nb.InvalidInputError, "2 labels", "3 runs", options="labels"):
        compare_tasks(runs, ["a", "b"])


# Pictures -------------------------------------------------------------------------------------------------------------


def test_every_task_has_a_panel_and_a_method_one_look_in_all(folder, everything):
    drawn = nb.compare(studies(folder), over="evaluations")
    assert [axes.get_title().partition("\n")[0] for axes in drawn] == list(everything.tasks)
    looks = [
        {line.get_label(): (line.get_color(), str(line.get_linestyle())) for line in axes.get_lines()} for axes in drawn
    ]
    assert all(look == looks[0] for look in looks) and len(looks[0]) >= 3
    for axes, own in zip(drawn, everything.tasks.values(), strict=True):
        line = axes.get_lines()[0]
        label = line.get_label().partition(" (")[0]
        np.testing.assert_allclose(line.get_ydata()[-1], 100 * own.curves[label].centre[-1])
    text = drawn[0].figure.caption
    assert "Regrets of different panels are not comparable." in text and "Holm" in text
    assert all(own.facts.table in text for own in everything.tasks.values())
    legend = [text.get_text() for text in drawn.figure.legends[0].get_texts()]
    assert {*legend} - {"mean over the space"} == {f"{method} (n = 12)" for method in METHODS}
    given = Figure().subplots(5)
    assert everything.plot(ax=given) == list(given)
    with refuses(nb.InvalidInputError, 5, options="ax"):
        nb.compare(studies(folder), over="evaluations", ax=given[0])


def test_texts_of_tasks_with_different_numbers_of_runs_apply_to_all_of_them(folder, tmp_path):
    few = [make.black_box(tmp_path / method, method, repeats=3).folder for method in METHODS[:2]]
    found = compare_tasks([*few, *(folder / f"{method}-nb101-5v" for method in METHODS[:2])], over="evaluations")
    figure = found.plot()[0].figure
    kinds = "mean and 95 % confidence interval (n < 6: range)"
    assert figure.legends[0].get_title().get_text().replace("\n", " ") == kinds
    assert "\ns1: Lines and bands: mean and range over n runs.\n" in figure.caption
    assert "\ns1: No rank tests: " in figure.caption and "\nnb101-5v: Rank tests: " in figure.caption
    text = found.table().markdown()
    assert " s1: Bold: lowest value; no rank tests" in text and " nb101-5v: Bold: lowest value; underlined" in text


def test_notebooks_show_a_table_for_each_task(folder, everything):
    shown = everything._repr_html_()
    tables = [comparison._repr_html_() for comparison in everything.tasks.values()]
    assert shown == "".join(tables) and shown.count("<table>") == shown.count(">random</th>") == 5
    single = compare_tasks([folder / "random-s1"])
    (line,) = single.plot(colors="red").get_lines()[:1]
    assert line.get_color() == "red" and "random (n = 12)" in line.get_label()


def test_more_than_five_methods_split_the_panels_of_a_task(folder, tmp_path):
    searches = [make.search(tmp_path / f"{n}", (40, 30 + n), finished=False) for n in range(6)]
    other = make.with_facts(make.search(tmp_path / "other", (9, 8)).folder, dataset="cifar100")
    drawn = nb.compare([*searches, other], labels=[*"abcdef", "a"])
    assert [axes.get_title().partition("\n")[0] for axes in drawn] == ["s1/cifar10"] * 2 + ["s1/cifar100"] * 2
    runs = [[line.get_label()[0] for line in axes.get_lines() if line.get_label()[1:4] == " (n"] for axes in drawn]
    assert runs == [list("abc"), list("def"), ["a"], []]
    assert drawn[0].get_ylim() == drawn[1].get_ylim()


def test_distributions_end_at_one_and_leave_out_single_runs(folder, everything, tmp_path):
    frame = everything.distributions
    assert frame.groupby(["task", "label"])["share"].max().eq(1).all() and len(frame) == 5 * 3 * 12
    regrets = frame.groupby(["task", "label"])["regret"]
    assert frame["share"].tolist() == (regrets.rank(method="max") / regrets.transform("size")).tolist()
    assert frame.duplicated().any(), "equal regrets have equal shares"
    figure = distribution_figure(everything)
    assert [axes.get_title().partition("\n")[0] for axes in figure.axes if axes.axison] == list(everything.tasks)
    one = compare_tasks([make.search(tmp_path / "one", (5, 4)).folder])
    assert one.distributions.empty
    with refuses(nb.InvalidInputError, "one run"):
        distribution_figure(one)


def test_the_profile_is_relative_to_the_mean_of_each_space(folder, everything):
    relative = everything.relative["random"]
    for values, own in zip(relative, everything.tasks.values(), strict=True):
        assert values * own.mean == pytest.approx(own.samples["final"]["random"])
    frame = everything.profile
    at_one = frame[(frame["label"] == "random") & (frame["at"] <= 1)].iloc[-1]
    expected = np.mean([(values <= at_one["at"]).mean() for values in relative])
    assert at_one["share"] == pytest.approx(expected) and at_one["low"] <= expected <= at_one["high"]
    assert len(profile_figure(everything).axes[0].get_lines()) == 3
    with refuses(nb.InvalidInputError, "several tasks"):
        profile_figure(compare_tasks([folder / "random-s1"]))


def test_a_profile_of_few_runs_has_no_band(tmp_path):
    runs = [
        make.black_box(
            tmp_path / f"{method}-{space}", method, space=space, repeats=6 if method == "random" else 5
        ).folder
        for method, space in product(("random", "local-search"), ("s1", "nb101-5v"))
    ]
    found = compare_tasks(runs, over="evaluations")
    with_interval = found.profile.groupby("label")["low"].apply(lambda low: low.notna().all())
    assert with_interval.to_dict() == {"random": True, "local-search": False}
    figure = profile_figure(found)
    assert len(figure.axes[0].collections) == 1  # the band of random
    assert "Without bands, because they have fewer than 6 runs on some task: local-search." in figure.caption


def test_the_diagram_places_methods_by_their_average_ranks(everything):
    ranks = everything.average_ranks()
    pandas.testing.assert_frame_equal(ranks.ranks, AverageRanks.of(everything.means()).ranks)
    axes = critical_difference_figure(everything).axes[0]
    stems = {line.get_xdata()[0] for line in axes.get_lines() if len(line.get_xdata()) == 3}
    assert stems == set(ranks.averages)
    heights = {text.get_text(): text.get_position()[1] for text in axes.texts}
    assert f"CD = {ranks.critical_difference:.2f}" in heights
    assert all(heights[label] == heights[f"{rank:.2f}"] for label, rank in ranks.averages.items())


@pytest.mark.parametrize("longest", ["non-regularized-evolution", "a label of several words with $5 and $6", 60 * "x"])
@pytest.mark.parametrize("style", ["screen", "paper"])
def test_no_text_of_the_diagram_is_cut_off_or_covers_another(everything, style, longest):
    names = {"random": longest, "local-search": "regularized-evolution-2"}
    tasks = {
        task: replace(own, contenders=[replace(of, label=names.get(of.label, of.label)) for of in own.contenders])
        for task, own in everything.tasks.items()
    }
    figure = critical_difference_figure(TaskComparison(tasks), style=style)
    figure.draw_without_rendering()
    texts = figure.axes[0].texts
    shown = re.sub(r"\s", "", "".join(text.get_text() for text in texts)).replace(r"\$", "$")
    assert all(re.sub(r"\s", "", label) in shown for label in (*names.values(), "regularized-evolution"))
    boxes = [text.get_window_extent() for text in texts]
    assert min(min(box.x0, box.y0) for box in boxes) >= 0 and max(box.x1 for box in boxes) <= figure.bbox.width
    assert not any(one.overlaps(other) for one, other in combinations(boxes, 2))


def test_fewer_than_five_tasks_have_no_diagram(folder):
    found = compare_tasks([folder / f"{method}-{space}" for method in METHODS for space in ("s1", "nb101-5v")])
    with refuses(nb.InvalidInputError, 5, "there are 2 tasks"):
        critical_difference_figure(found)
    assert found.ranks is None and found.ranks_note.endswith("data sets.") and "5 tasks" in found.ranks_note


def test_methods_without_runs_on_a_task_are_left_out_and_named(folder):
    found = compare_tasks([*studies(folder), folder / "quick"][::-1], over="simulated-time", labels=None)
    assert "darts" not in found.average_ranks().ranks
    assert found.ranks_note == "Without average ranks, because they lack runs on some tasks: darts."


# Tables and texts -----------------------------------------------------------------------------------------------------


def test_the_best_is_bold_and_what_is_not_significantly_worse_is_underlined(everything):
    table = everything.table()
    for name, own in everything.tasks.items():
        for column, (prefix, statistic, moment) in enumerate(
            [("final", "mean", "final"), ("final", "median", "final"), ("anytime", "mean", "anytime")], start=2
        ):
            values = own.results.set_index("label")[f"{prefix}_{statistic}"]
            best = values.idxmin()
            for row in table.parts[name]:
                label, cell = row[0].text, row[column]
                assert cell.is_best == (values[label] == values[best])
                p = own.p_values(moment).get(frozenset((label, best)), np.nan)
                assert cell.is_tied == (p >= 0.05 or own.better(moment).get(frozenset((label, best))) == label)
                assert cell.text in (f"{100 * values[label]:.2f}", f"{100 * values[label]:.3f}")
                assert cell.interval.startswith("[")
    assert any(cell.is_tied for rows in table.parts.values() for row in rows for cell in row)
    assert any(not (cell.is_tied or cell.is_best) for rows in table.parts.values() for row in rows for cell in row[2:])


def check_latex(text: str, columns: int) -> list[list[str]]:
    """Check the structure of a LaTeX table; return the cells of its rows."""
    assert all(text.count(rf"\begin{{{name}}}") == text.count(rf"\end{{{name}}}") == 1 for name in ("table", "tabular"))
    plain = re.sub(r"\\[{}]", "", text)
    assert plain.count("{") == plain.count("}")
    assert [text.count(rf"\{rule}") for rule in ("toprule", "bottomrule")] == [1, 1] and r"\midrule" in text
    assert rf"\begin{{tabular}}{{l{'r' * (columns - 1)}}}" in text
    body = text.partition(r"\toprule")[2].partition(r"\bottomrule")[0]
    rows = [line.removesuffix(r" \\") for line in body.splitlines() if line.endswith(r"\\")]
    cells = [re.split(r"(?<!\\)&", row) for row in rows if "multicolumn" not in row]
    assert {len(row) for row in cells} == {columns}
    assert not re.search(r"(?<!\\)[_%#$](?![a-z]*\\)", re.sub(r"\$[^$]*\$", "", body))
    return cells


def test_latex_tables_have_booktabs_and_as_many_cells_in_each_row(everything):
    rows = check_latex(everything.table().latex(), 6)
    assert len(rows) == 1 + 15 and sum(r"\textbf{" in cell for row in rows for cell in row) >= 20
    rows = check_latex(everything.task_table().latex(), 7)
    assert [cell.strip() for cell in rows[0]][::6] == ["method", r"\shortstack[r]{average \\ rank}"]
    assert rows[0][1].strip() == r"\shortstack[r]{nb101-5v \\ cifar10}"
    assert len(rows) == 1 + 2 * 3 and all("scriptsize" in cell for row in rows[2::2] for cell in row[1:6])


def test_a_latex_table_that_is_longer_than_a_page_is_continued_in_further_tables():
    row = [Cell("m"), Cell("1.00", interval="[0.90, 1.10]")]
    parts = {f"task {number}": [row] * 4 for number in range(7)}  # nine lines each, with intervals below the values
    table = PaperTable(["method", "mean"], parts, "caption", "tab:x", stacked=True)
    environments = table.latex().split("\n\n")
    assert [text.count("emph") for text in environments] == [2, 2, 2, 1]
    for number, text in enumerate(environments):
        rows = check_latex(text, 2)
        assert rows[0] == ["method ", " mean"] and len(rows) == 1 + 8 * text.count("emph") <= 1 + MOST_LINES
        assert (r"\caption{caption}" in text) == (r"\label{tab:x}" in text) == (number == 0)
        assert (r"\caption{Continuation of Table~\ref{tab:x}.}" in text) == (number > 0)
    whole = PaperTable(["method", "mean"], {"": [row] * 30}, "caption", "tab:x").latex()
    assert len(check_latex(whole, 2)) == 31  # a part is not divided


def test_special_characters_are_escaped():
    assert escape(r"50 % of a_b & {x}\y ~ #1 ± 2 – 3 ^") == (
        r"50 \% of a\_b \& \{x\}\textbackslash{}y \textasciitilde{} \#1 $\pm$ 2 -- 3 \textasciicircum{}"
    )
    table = PaperTable(
        ["a_b", "n"],
        {"p%": [[Cell("x&y", is_best=True), Cell("1|2", is_tied=True, interval="[1, 3]")]]},
        "c_d",
        "tab:x",
    )
    (heading, row) = check_latex(table.latex(), 2)
    assert (heading[0].strip(), row[0].strip(), row[1].strip()) == (
        r"a\_b",
        r"\textbf{x\&y}",
        r"\underline{1|2} {\scriptsize [1, 3]}",
    )
    bracketed = PaperTable(["[n]"], {"": [[Cell("[a] b")], [Cell("*c")]]}, "c", "tab:x").latex()
    assert [row[0].strip() for row in check_latex(bracketed, 1)] == ["{}[n]", "{}[a] b", "{}*c"]
    assert r"\caption{c\_d}" in table.latex() and r"\emph{p\%}" in table.latex()
    assert r"| **x&y** | <u>1\|2</u> [1, 3] |" in table.markdown()


def test_caption_and_methods_name_table_reference_clock_n_statistic_test_and_correction(folder, everything):
    paragraph = everything.methods_text()
    assert paragraph.count("\n") == 1 and paragraph.endswith(".\n")
    caption = everything.table().caption
    for text in (paragraph, caption):
        assert all(own.facts.table in text and own.source in text for own in everything.tasks.values())
        for part in (
            "test error minus the lowest test error",
            "the number of trainings",
            "n = 12",
            "Holm",
            "Student's t",
        ):
            assert part in text, part
        assert "Wilcoxon signed-rank" in text and "Anytime: area under the curve from training 1" in text
    assert "scipy" in paragraph and "Friedman" in paragraph and "Friedman" in everything.task_table().caption
    figure = nb.compare([folder / "random-s1", folder / "local-search-s1"], over="simulated-time").figure.caption
    for part in (
        "nb101-embedded",
        "predicted",
        "test error minus the lowest",
        "sum of its training times",
        "mean and 95 %",
        "Holm",
    ):
        assert part in figure, part
    assert "Rank tests: two-sided Wilcoxon signed-rank tests of matched seeds, Holm's correction for 1 pair." in figure


def test_one_run_per_method_has_no_interval_and_no_test(tmp_path):
    runs = [make.search(tmp_path / name, (9, 5), optimizer=name) for name in ("darts", "gdas")]
    found = compare_tasks(runs)
    rows = found.table().parts[""]
    assert [[cell.text for cell in row[:3]] for row in rows] == [
        ["darts", "1", f"{100 * runs[0].lines[-1]['test_regret']:.2f}"],
        ["gdas", "1", f"{100 * runs[1].lines[-1]['test_regret']:.2f}"],
    ]
    assert "n = 1" in found.table().caption and "no intervals" in found.table().caption
    assert "no rank tests" in found.table().caption
    axes = nb.compare(runs)
    assert not axes.collections and "One run per curve." in axes.figure.caption
    assert "No rank tests: they need at least 5 searches of each method." in axes.figure.caption


def test_methods_with_too_few_runs_for_a_test_are_named(tmp_path):
    ranks = [(9, 50 + seed) for seed in range(6)]
    runs = [make.group(tmp_path / name, ranks[:n]).folder for name, n in (("a", 6), ("b", 6), ("c", 2))]
    found, drawn = compare_tasks(runs, labels=list("abc")), nb.compare(runs, list("abc")).figure
    for text in (found.table().caption, found.task_table().caption, found.methods_text(), drawn.caption):
        assert "Not tested, with fewer than 5 runs: c." in text
    for tested in (runs[:2], runs[2:]):
        assert "Not tested" not in compare_tasks(tested, labels=list("abc")[: len(tested)]).table().caption


def test_captions_of_runs_with_bounds_are_complete_in_latex(tmp_path):
    bounded = {"evaluations": 6, "bounds": {"trainable_parameters": 9e6}}
    runs = [make.black_box(tmp_path / name, name, **bounded) for name in METHODS[:2]]
    caption = compare_tasks([run.folder for run in runs]).table().caption
    assert "≤" in caption and r"$\leq$" in escape(caption)
    for text in (caption, "times in µs; Λ does not learn"):
        assert escape(text).isascii(), text


def test_an_unfinished_run_is_not_the_best(tmp_path):
    running = make.search(tmp_path / "darts", (9, 1), finished=False)
    done = make.search(tmp_path / "gdas", (9, 8), optimizer="gdas")
    found = compare_tasks([running, done])
    (darts, gdas) = found.table().parts[""]
    assert not any(cell.is_best for cell in darts) and gdas[2].is_best
    assert "Bold: lowest value of a finished run" in found.table().caption
    console = Console(file=StringIO(), width=120)
    output.show(found, [], console)
    assert "darts (unfinished)" in console.file.getvalue()


def test_a_group_that_is_being_written_is_shown_with_what_is_complete(tmp_path):
    group = make.group(tmp_path / "group", [(9, 8, 7), (6, 5, 4), (3, 2, 1)], started=2, epochs=2)
    running = group.folder / "seed-1"
    (running / "summary.json").unlink()
    lines = (running / "metrics.jsonl").read_text().splitlines(keepends=True)
    (running / "metrics.jsonl").write_text("".join(lines[:2]) + lines[2][:30])  # the last line is being written
    found = compare_tasks([group.folder])
    assert found.results["n"].item() == 2 and not found.results["finished"].item()
    assert found.results["final_mean"].item() == pytest.approx(
        np.mean([nb.load_run(group.folder / f"seed-{n}").lines[-1]["test_regret"] for n in (0, 1)])
    )
    assert found.table().parts[""][0][0].text == "darts (unfinished)"
    assert "seed 1 at 1 of 2 epochs, 1 of 3 seeds not started" in found.table().caption


def test_methods_that_end_at_different_times_are_also_compared_at_the_common_time(folder, tmp_path):
    longer = make.black_box(tmp_path / "longer", "local-search", repeats=12, evaluations=20)
    found = compare_tasks([folder / "random-s1", longer], over="evaluations")
    (own,) = found.tasks.values()
    assert own.ends_differ and "different times" in found.warnings[0]
    table = found.table()
    assert table.stacked and list(table.headings)[2:4] == ["final mean", "common-time mean"]
    means = own.results.set_index("label")["common_mean"]
    assert [row[3].text for row in table.parts[""]] == [f"{100 * means[label]:.2f}" for label in own.curves]
    assert "Common time: the last time that all curves reach, 6 evaluations." in table.caption
    rows = check_latex(table.latex(), 7)
    assert len(rows) == 1 + 2 * 2
    on_another = [folder / "random-nb201-cifar10", folder / "local-search-nb201-cifar10"]  # with equal ends
    both = compare_tasks([folder / "random-s1", longer, *on_another], over="evaluations").table()
    assert "that all curves reach, 6 evaluations (s1); 12 evaluations (nb201)." in both.caption
    assert r"\shortstack[r]{common- \\ time \\ mean}" in both.latex(), "unbroken, the table is too wide for a page"
    same = compare_tasks([folder / "random-s1", folder / "local-search-s1"], over="evaluations")
    assert not any(task.ends_differ for task in same.tasks.values()) and "common" not in same.table().caption


# The command ----------------------------------------------------------------------------------------------------------


def test_the_command_writes_everything_for_a_paper(folder, everything, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(output, "save_figure", save_unrendered)
    out = tmp_path / "out"
    runs = [str(path) for path in studies(folder)]
    main(["compare", *runs, "--over", "evaluations", "--out", str(out)])
    figures = ("comparison", "distribution", "profile", "average_ranks")
    assert {path.name for path in out.iterdir()} == {
        *(f"{name}.{suffix}" for name in figures for suffix in ("png", "csv")),
        *(f"{name}.{suffix}" for name in ("table", "tasks") for suffix in ("md", "tex")),
        *("comparison-curves.csv", "rank_tests.csv", "win_tie_loss.csv", "methods.txt"),
    }
    pandas.testing.assert_frame_equal(pandas.read_csv(out / "comparison.csv"), everything.results, check_dtype=False)
    assert (out / "table.tex").read_text() == everything.table().latex()
    assert (out / "methods.txt").read_text() == everything.methods_text()
    ranks = pandas.read_csv(out / "average_ranks.csv").groupby("moment", sort=False)
    assert list(ranks.groups) == ["final", "common", "anytime", "log_anytime"]
    assert ranks.get_group("final")["average_rank"].tolist() == everything.average_ranks().averages.tolist()
    shown = " ".join(capsys.readouterr().out.split())
    for part in ("The runs are on 5 tasks", "Average ranks:", "Warning: Fewer than 500 repeats", "Tasks on which"):
        assert part in shown, part


def test_a_folder_with_a_comparison_of_several_tasks_is_replaced(folder, tmp_path, monkeypatch):
    monkeypatch.setattr(output, "save_figure", save_unrendered)
    out = tmp_path / "out"
    main(["compare", str(folder / "random-s1"), str(folder / "random-nb101-5v"), "--out", str(out)])
    assert (out / "tasks.tex").exists() and not (out / "average_ranks.png").exists()
    main(["compare", str(folder / "quick"), "--out", str(out)])
    assert not (out / "tasks.tex").exists() and (out / "table.tex").exists()
    write_json(out / "notes.json", {})
    with pytest.raises(SystemExit):
        main(["compare", str(folder / "quick"), "--out", str(out)])
    assert (out / "notes.json").exists()
