"""The file of a report: equal for equal runs, small, complete for runs in progress, and refused in one sentence."""

import base64
import hashlib
import html
import json
import re
import shlex
import shutil
from importlib.resources import files
from pathlib import Path
from typing import Any

import compared_runs as make
import numpy as np
import pandas
import pytest
import synthetic_study as synthetic
import tiny_training
from quick_ranking import tiny_ranking
from refusals import exits, refuses
from rich.console import Console

import nasbench1shot1 as nb
from nasbench1shot1.cli import main
from nasbench1shot1.display.marked_networks import LOOKS
from nasbench1shot1.experiments.comparison.accuracies import compare_accuracies
from nasbench1shot1.experiments.correlation.record import Ranking
from nasbench1shot1.experiments.report_page import rankings
from nasbench1shot1.experiments.report_page.charts import rounded
from nasbench1shot1.experiments.report_page.page import FOLDER, SCRIPTS
from nasbench1shot1.experiments.report_page.panels import Scoring
from nasbench1shot1.experiments.report_page.searched import frames_per_search, searched
from nasbench1shot1.experiments.report_page.subjects import open_subjects
from nasbench1shot1.one_shot_search.regret_curve import MEAN_LOOK
from nasbench1shot1.proxy_training.record import ProxyTrainings

KEPT = ("darts", "gdas", "study", "tuned")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("runs")
    for seed, run in enumerate(make.group(out / "darts", [(4, 3, 2), (9, 5, 5), (8, 8, 1)])):
        make.with_parameters(run, seed)
    make.search(out / "gdas", (7, 3, 3), optimizer="gdas", epochs=2)
    make.black_box(out / "study", repeats=3)
    make.tuning(out / "tuned")
    return out


def write(runs: Any, file: Path, **options: Any) -> str:
    return nb.write_report_page(runs, file, **options).read_text()


def data_of(page: str) -> dict[str, Any]:
    (found,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    assert "<" not in found
    return json.loads(found)


def words(page: str) -> str:
    """The text of the page's body, without tags, templates and data."""
    body = re.sub(r"<(script|template|style).*?</\1>", "", page.partition("<body>")[2], flags=re.DOTALL)
    return re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]*>", " ", body)))


def tables(page: str) -> list[list[list[str]]]:
    """The cells of each sortable table."""
    found = re.findall(r'<table class="sortable">(.*?)</table>', page, re.DOTALL)
    rows = [re.findall(r"<tr>(.*?)</tr>", table) for table in found]
    return [[[re.sub("<[^>]*>", "", of) for of in re.findall(r"<t[hd].*?</t[hd]>", row)] for row in of] for of in rows]


# One file -------------------------------------------------------------------------------------------------------------


def test_equal_runs_give_equal_files_that_need_nothing_else(folder, tmp_path):
    runs = [folder / name for name in KEPT]
    page = write(runs, tmp_path / "report.html")
    assert write(runs, tmp_path / "report.html", overwrite=True) == page
    text = re.sub(r"sha256-[\w+/=]+", "", page)
    assert set(re.findall(r"(?:https?:)?//[\w.]+", text)) <= {"http://www.w3.org"}  # the namespace of SVG
    assert not re.search(r"<link|<img|<iframe| on\w+=|style=|@import|url\(", page)
    (policy,) = re.findall(r'Content-Security-Policy" content="(.*?)"', page)
    assert policy.startswith("default-src 'none';") and "unsafe" not in policy
    for name, parts in (("script", SCRIPTS), ("style", ["page.css"])):
        (found,) = re.findall(rf"<{name}>(.*?)</{name}>", page, re.DOTALL)
        assert found == "\n".join(files(FOLDER).joinpath(part).read_text() for part in parts)
        digest = base64.b64encode(hashlib.sha256(found.encode()).digest()).decode()
        assert f"{name}-src 'sha256-{digest}'" in policy


def test_the_page_has_the_numbers_and_what_was_run(folder, tmp_path):
    page = write([folder / name for name in KEPT], tmp_path / "report.html", mark="ResNet-like cell")
    data, (results, runs) = data_of(page), tables(page)
    headings = [text.partition(" [")[0] for text in results[0]]
    assert headings == ["Run", "Method", "n", "Mean", "Range", "Median", "Best", "Values", "Progress"]
    final = 100 * np.array([run.lines[-1]["test_regret"] for run in nb.load_run(folder / "darts")])
    low, high = min(final), max(final)
    expected = [f"{final.mean():.3f}", f"{low:.3f} to {high:.3f}", f"{np.median(final):.3f}", f"{final.min():.3f}"]
    assert results[1] == ["darts", "darts", "3", *expected, "predicted", "finished"]
    assert results[2][2] == "1" and results[2][4] == "–" and "n = 1 for gdas" in words(page)
    assert [row[1] for row in runs[1:]] == ["group of seeds", "search", "black-box study", "tuning study"]
    (chart,) = data["charts"]
    assert [curve["label"] for curve in chart["curves"]] == [row[0] for row in results[1:]]
    assert [curve["n"] for curve in chart["curves"]] == [3, 1, 3, 1]
    assert ["low" in next(iter(curve["axes"].values())) for curve in chart["curves"]] == [True, False, True, False]
    assert [level["label"] for level in chart["levels"]] == ["mean over the space", "ResNet-like cell (measured)"]
    assert [level["light"] for level in chart["levels"]] == [MEAN_LOOK["color"], LOOKS[0][0]]
    assert [level["dash"] for level in chart["levels"]] == ["14 4 2 4 2 4", "2 2"]
    assert chart["axes"][0]["vertical"] == "mean test regret [%]"
    environment = json.loads((folder / "study" / "environment.json").read_text())
    for text in (nb.load_table().id, "predicted", environment["torch"], environment["platform"], "nb1shot1 blackbox "):
        assert text in words(page)
    assert "search_options" not in words(page) and "batch_size" in words(page)  # of the tuning study, as rows
    assert f"nb1shot1 report {folder}/darts {folder}/gdas" in words(page)
    assert "--mark 'ResNet-like cell'" in words(page)
    assert "must not exist" in words(page) and "do not come with this package" not in words(page)


def test_hostile_labels_stay_text(folder, tmp_path):
    label = "</script><script>alert(1)</script>"
    page = write(folder / "darts", tmp_path / "report.html", labels=[label])
    assert "alert(1)</" not in page and data_of(page)["charts"][0]["curves"][0]["label"] == label


def test_fifty_runs_stay_below_two_megabytes(tmp_path):
    ranks = [int(rank) for rank in np.random.default_rng(0).integers(0, 60, 51)]
    make.with_parameters(make.search(tmp_path / "run-00", ranks, epochs=50))
    runs = [tmp_path / "run-00", *(shutil.copytree(tmp_path / "run-00", tmp_path / f"run-{n:02d}") for n in (1, 2))]
    one, three = (len(write(runs[:n], tmp_path / f"{n}.html").encode()) for n in (1, 3))
    of_a_run = (three - one) / 2
    assert of_a_run > 10_000 and one + 49 * of_a_run < 2_000_000  # and fifty runs are thinned
    found = searched(nb.load_run(runs[0]), "a", None, frames_per_search(50))
    assert len(found["epochs"]) == 40 and "This page shows 40 of 51 recorded epochs." in found["notes"]
    assert found["epochs"][0] == 0 and found["epochs"][-1] == 50
    assert [found["texts"][number] for number in found["of"]] == [
        nb.load_run(runs[0]).lines[epoch]["architecture"] for epoch in found["epochs"]
    ]


# Panels ---------------------------------------------------------------------------------------------------------------


def test_runs_that_are_not_comparable_are_in_separate_panels(folder, tmp_path):
    make.with_facts(make.search(tmp_path / "other", (3, 2)).folder, table_id="nasbench_full-1")
    make.search(tmp_path / "full", (5, 2), scale="full", images="cifar10-sample")
    runs = [folder / "gdas", tmp_path / "other", tmp_path / "full", folder / "study"]
    page = write(runs, tmp_path / "report.html", labels=["a", "b", "c", "d"])
    assert "The runs are in 3 panels, because they differ in table and scale" in words(page)
    lead = words(page).partition(" Skip")[2]
    for table in (nb.load_table().id, "nasbench_full-1"):  # each with its own share of measurements
        assert len(re.findall(rf"Table {table} \([^()]+\)\.", lead)) == 1
    panels = [[curve["label"] for curve in chart["curves"]] for chart in data_of(page)["charts"]]
    assert panels == [["a", "d"], ["b"], ["c", "d"]]  # a black-box study has no scale
    assert all(f"This panel: space nb101-s1-v1, cifar10, table {of}" in words(page) for of in ("nasbench_full-1",))
    rescored = write([folder / "gdas", tmp_path / "other"], tmp_path / "rescored.html", table="embedded")
    assert len(data_of(rescored)["charts"]) == 1 and "panels" not in words(rescored)
    assert "--table embedded" in words(rescored)


def test_a_panel_names_the_searches_that_test_values_guided(tmp_path):
    given = {"space": "nb201", "epochs": 200, "repeats": 2}
    usual = make.black_box(tmp_path / "usual", **given)
    guided = make.black_box(tmp_path / "guided", objective="test_accuracy", **given)
    for runs, labels in (([usual, guided], ["usual", "guided"]), ([guided, usual], ["guided", "usual"])):
        page = write(runs, tmp_path / "report.html", labels=labels, overwrite=True)
        assert len(data_of(page)["charts"]) == 1
        assert "Test values guided the searches of guided. The other runs did not use test values." in words(page)
    assert "Test values guided the search." in words(write(guided, tmp_path / "guided.html"))
    assert "Test values" not in words(write(usual, tmp_path / "usual.html"))


def test_the_mean_of_a_space_without_bounds_is_called_so(tmp_path):
    study = make.black_box(tmp_path / "widths", space="nats-size", objective="test_accuracy", repeats=2)
    (chart,) = data_of(write(study, tmp_path / "report.html"))["charts"]
    assert chart["levels"][0]["label"] == "mean over the space"


def test_regrets_of_single_runs_are_not_called_means_and_a_baseline_has_its_own_line(tmp_path):
    bounded = {"objective": "test_accuracy", "bounds": {"flops": 5e7}, "repeats": 1}
    study = make.black_box(tmp_path / "one", space="nats-size", **bounded)
    (chart,) = data_of(write(study.folder, tmp_path / "report.html"))["charts"]
    assert chart["axes"][0]["vertical"] == "test regret [%]"
    lines = [(level["light"], level["dash"]) for level in chart["levels"]]
    assert len(chart["levels"]) == len(set(lines)) == 2


def test_trainings_have_learning_curves_beside_the_values_of_their_table(tmp_path):
    images = tiny_training.write_images(tmp_path / "images.npz")
    options = {**tiny_training.TINY, "images": images, "epochs": 1}
    other = tiny_training.CELL.replace("maxpool3x3", "conv3x3")
    group = nb.train_cells(
        [tiny_training.CELL, other], seeds=[0, 1], out=tmp_path / "trained", console=Console(quiet=True), **options
    )
    page = write([group, make.search(tmp_path / "darts", (2, 1))], tmp_path / "report.html")
    trained, (_, chart) = tables(page)[1], data_of(page)["charts"]
    first = group[:4:2]  # seed by seed
    names = [f"trained, cell-{of.network_id[:8]}" for of in (group[0], group[1])]
    headings = ["Training", "Network", "Seed", "Epochs", "Test [%]", "Validation [%]", "Table: test [%]"]
    assert trained[0][:7] == headings and [row[0] for row in trained[1:]] == [name for name in names for _ in "01"]
    assert [row[2] for row in trained[1:]] == ["0", "1", "0", "1"]
    for row, training in zip(trained[1:], [*first, *group[1:4:2]], strict=True):
        found = nb.load_table().query(training.trained)
        expected = [training.final.test_accuracy, training.final.validation_accuracy]
        assert row[1] == training.network_id and row[4:6] == [f"{100 * value:.2f}" for value in expected]
        values = [f"{100 * value:.2f}" for value in (found.test_accuracy, found.validation_accuracy)]
        assert row[6:9] == [*values, "108"]
        sources = {split: found.source(f"{split}_accuracy") for split in ("test", "validation")}
        assert row[9] in (sources["test"], "; ".join(f"{split}: {said}" for split, said in sources.items()))
    assert [axis["key"] for axis in chart["axes"]] == ["test", "validation", "train"]
    assert [curve["label"] for curve in chart["curves"]] == names and chart["curves"][0]["n"] == 2
    for split in ("test", "validation", "train"):
        mean = 100 - 100 * np.mean([getattr(of.final, f"{split}_accuracy") for of in first])
        assert chart["curves"][0]["axes"][split]["mean"][-1] == rounded(mean)
    for text in ("options of all trainings differ", "shows its largest budget", "train --list"):
        assert text in words(page)
    late = group[2].folder  # the first network, seed 1
    (late / "summary.json").unlink()
    (late / "metrics.jsonl").write_text("")
    (_, chart) = data_of(write([group, make.search(tmp_path / "gdas", (2, 1))], tmp_path / "late.html"))["charts"]
    assert [curve["n"] for curve in chart["curves"]] == [1, 2], "the other training is not evaluated yet"
    lacking = write(group, tmp_path / "lacking.html", table="nb201")
    assert tables(lacking)[0][0][6:] == ["Time [s]", "Progress"]
    assert f"Not in the table: {', '.join(names)}." in words(lacking)


def test_a_training_that_has_not_been_evaluated_has_no_curve(tmp_path):
    training = tiny_training.train(tmp_path / "one", tiny_training.write_images(tmp_path / "images.npz"), epochs=1)
    (training.folder / "summary.json").unlink()
    (training.folder / "metrics.jsonl").write_text("")
    page = write(training.folder, tmp_path / "report.html")
    assert data_of(page)["charts"] == [] and "No training is evaluated yet." in words(page)
    assert tables(page)[0][1][3:6] == ["0", "–", "–"]


# Rankings -------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def ranking(tmp_path_factory: pytest.TempPathFactory) -> Ranking:
    return tiny_ranking(tmp_path_factory.mktemp("ranking") / "run")


def test_a_ranking_has_its_scatter_plot_and_its_correlations(ranking, tmp_path):
    scores, space, table = ranking.scores(2), ranking.space, nb.load_table()
    marked = str(space[int(scores.numbers[3])])
    page = write([ranking], tmp_path / "report.html", mark=[marked, "ResNet-like cell"])
    assert write([ranking], tmp_path / "report.html", mark=[marked, "ResNet-like cell"], overwrite=True) == page
    (plot,) = data_of(page)["scatters"]
    assert plot["numbers"] == scores.numbers.tolist() and plot["marks"][0]["at"] == 3
    found = [table.query(space[number]) for number in plot["numbers"]]
    assert plot["truth"] == pytest.approx([100 * (1 - of.test_accuracy) for of in found], abs=1e-3)
    assert plot["of"] == "".join("01"[of.is_measured("test_accuracy")] for of in found)
    error, loss = plot["predictors"]
    assert error["values"] == pytest.approx(100 * scores.errors, rel=1e-4)
    assert loss["values"] == pytest.approx(scores.losses, rel=1e-4)
    recorded = ranking.correlations.query("epoch == 2 and budget == 108 and split == 'test' and scope == 'all'")
    row = recorded[recorded["criterion"] == "spearman_error"].iloc[0]
    rho, interval = f"{row['value']:.3f}", f"{row['low']:.3f} to {row['high']:.3f}"
    assert error["correlation"] == f"Spearman's ρ = {rho}" and interval in error["interval"]
    correlations = tables(page)[0]
    assert [line[:3] for line in correlations[1:]] == [["ranking of darts", epoch, "12"] for epoch in "12"]
    assert correlations[2][3] == f"{rho} ({interval})"
    for text in (table.id, "40 images", "Not evaluated, so not marked: ResNet", "nb1shot1 correlate", "--images 40"):
        assert text in words(page), text


def test_large_rankings_show_a_sample_with_the_marked_networks(ranking, monkeypatch):
    monkeypatch.setattr(rankings, "LONGEST_SCATTER", 4)
    scoring = Scoring(mark=[str(ranking.space[int(number)]) for number in ranking.scores(2).numbers[:2]])
    found = rankings.ranked(open_subjects(ranking)[0], scoring)
    most = rankings.dots_per_ranking(1)
    plot = found.scatter(most)
    assert 4 <= len(plot["numbers"]) <= 6 and plot == found.scatter(most)
    assert [plot["numbers"][mark["at"]] for mark in plot["marks"]] == ranking.scores(2).numbers[:2].tolist()
    assert found.notes(most)[0] == (
        "The plot shows a random sample of 4 of 12 architectures; the correlation is over all of them."
    )
    assert rankings.dots_per_ranking(50) * 50 <= rankings.MOST_DOTS


def test_an_unfinished_ranking_is_shown_as_far_as_it_is(ranking, tmp_path):
    copy = shutil.copytree(ranking.folder.parent, tmp_path / "run") / "ranking"
    (copy / "summary.json").unlink()
    lines = (copy / "metrics.jsonl").read_text().splitlines(keepends=True)
    (copy / "metrics.jsonl").write_text(lines[0])
    page = write(copy, tmp_path / "report.html")
    recorded = tables(write(ranking, tmp_path / "whole.html"))[0]
    assert tables(page)[0] == recorded[:2]  # computed again, with the same numbers
    assert "ranking of darts (1 of 2 epochs)" in words(page)
    (copy / "metrics.jsonl").unlink()
    page = write(copy, tmp_path / "report.html", overwrite=True)
    assert "No ranking has a result yet." in words(page) and data_of(page)["scatters"] == []


def test_a_ranking_of_another_table_needs_to_be_told(ranking, tmp_path):
    copy = shutil.copytree(ranking.folder.parent, tmp_path / "run") / "ranking"
    config = json.loads((copy / "config.json").read_text())
    (copy / "config.json").write_text(json.dumps({**config, "table_id": "older-1"}))
    with refuses(nb.InvalidInputError, "older-1", nb.load_table().id, options="table"):
        write(copy, tmp_path / "report.html")
    assert nb.load_table().id in words(write(copy, tmp_path / "report.html", table="embedded"))


def test_a_ranking_is_scored_on_a_table_that_has_some_of_its_architectures(ranking, tmp_path):
    texts = [str(ranking.space[int(number)]) for number in ranking.scores(2).numbers[:7]]
    frame = pandas.DataFrame({"architecture": texts, "epochs": 108, "test_accuracy": np.linspace(0.9, 0.93, 7)})
    table = nb.table_from_frame(frame, space=ranking.space, reference="present")
    table.save(tmp_path / "some")
    given = {"table": tmp_path / "some"}
    with refuses(nb.OutOfDomainError, table.id):
        write(ranking, tmp_path / "report.html", **given)
    page = write(ranking, tmp_path / "report.html", **given, reference="present")
    (plot,) = data_of(page)["scatters"]
    assert len(plot["truth"]) == len({nb.Architecture.parse(text).cell for text in texts})
    assert "--reference present" in words(page)


# Runs in progress -----------------------------------------------------------------------------------------------------


def test_a_folder_that_is_being_written_is_shown_with_what_is_complete(tmp_path):
    run = make.with_parameters(make.search(tmp_path / "one", (9, 5, 3), finished=False))
    metrics = run.folder / "metrics.jsonl"
    lines = metrics.read_text()
    metrics.write_text(lines + lines.splitlines()[-1][:40])  # the line of the next epoch is being written
    make.group(tmp_path / "some", [(4, 3), (2, 1), (1, 1)], started=2, optimizer="gdas")
    make.group(tmp_path / "none", [(1,)], started=0, optimizer="snas")
    (make.search(tmp_path / "empty", (1,), finished=False, optimizer="enas").folder / "metrics.jsonl").unlink()
    page = write([tmp_path / name for name in ("one", "some", "none", "empty")], tmp_path / "report.html")
    data, (results, runs) = data_of(page), tables(page)
    progress = ["2 of 4 epochs", "1 of 3 seeds not started", "not started", "0 of 4 epochs"]
    assert [row[1] for row in results[1:]] == ["1", "2", "0"] and results[3][-1] == progress[3]
    assert [row[-1] for row in runs[1:]] == progress
    assert [of["label"] for of in data["searches"]] == ["darts", "gdas, seed 0", "gdas, seed 1"]
    assert data["searches"][0]["epochs"] == [0, 1, 2] and "Unfinished runs, shown as far as recorded" in words(page)
    assert data["charts"][0]["curves"][2]["axes"] == {}


def test_lines_without_their_parameters_are_not_shown_as_cells(tmp_path):
    run = make.with_parameters(make.search(tmp_path / "one", (9, 5, 3), finished=False))
    stored = dict(np.load(run.folder / "architecture_parameters.npz"))
    np.savez(run.folder / "architecture_parameters.npz", **{key: value[:2] for key, value in stored.items()})
    (cells,) = data_of(write(run, tmp_path / "report.html"))["searches"]
    assert cells["epochs"] == [0, 1] and not any("early" in note for note in cells["notes"])


def test_the_cells_of_an_early_stopped_search_include_its_result_even_if_few_are_shown(tmp_path):
    run = make.search(tmp_path / "one", (9, 5, 3, 8, 2))
    (run.folder / "summary.json").write_text(json.dumps({**run.summary, "final_epoch": 3}))
    cells = searched(nb.load_run(run.folder), "one", None, 2)
    assert cells["epochs"] == [0, 3, 4]
    assert "The search stopped early: its result is the architecture of epoch 3." in cells["notes"]
    assert data_of(write(run.folder, tmp_path / "report.html"))["charts"][0]["curves"][0]["axes"]["epochs"][
        "result"
    ] == {"mean": rounded(100 * run.lines[3]["test_regret"])}


def test_a_watched_page_is_renewed_until_all_runs_are_finished(tmp_path, monkeypatch):
    run, file, said, pages = make.search(tmp_path / "one", (9, 5, 3)), tmp_path / "report.html", [], []
    summary = (run.folder / "summary.json").read_bytes()
    lines = (run.folder / "metrics.jsonl").read_text().splitlines(keepends=True)
    (run.folder / "summary.json").unlink()
    (run.folder / "metrics.jsonl").write_text(lines[0])

    def sleep(seconds: float) -> None:
        """The search goes on while the page waits; once, its folder is unreadable for a moment."""
        pages.append(file.read_text())
        assert seconds == 7
        (run.folder / "metrics.jsonl").write_text("".join(lines[: len(pages)]) if len(pages) != 2 else "{}\n")
        if len(pages) == 4:
            (run.folder / "metrics.jsonl").write_text("".join(lines))
            (run.folder / "summary.json").write_bytes(summary)

    monkeypatch.setattr("time.sleep", sleep)
    nb.write_report_page(run, file, watch=7, report=said.append)
    assert [data_of(page)["watch"] for page in pages] == [7] * 4 and "rewritten every 7 s" in words(pages[0])
    assert [len(data_of(page)["searches"][0]["epochs"]) for page in pages] == [1, 1, 1, 3]
    final = file.read_text()
    assert data_of(final)["watch"] is None and "rewritten every" not in words(final) and "--watch" not in final
    assert said[0] == "in progress: darts (0 of 4 epochs)" and said[1].startswith("not updated: ") and len(said) == 3
    assert write(run, tmp_path / "once.html").replace("once.html", "report.html") == final


def test_after_ctrl_c_the_page_stays_as_it_is(tmp_path, monkeypatch):
    run, said = make.search(tmp_path / "one", (9, 5), finished=False), []

    def interrupt(_: float) -> None:
        with (run.folder / "metrics.jsonl").open("a") as lines:
            lines.write(json.dumps({**run.lines[-1], "epoch": 2}) + "\n")
        raise KeyboardInterrupt

    monkeypatch.setattr("time.sleep", interrupt)
    page = write(run, tmp_path / "report.html", watch=60, report=said.append)
    assert data_of(page)["watch"] is None and data_of(page)["searches"][0]["epochs"] == [0, 1, 2]
    assert "darts (2 of 4 epochs)" in words(page) and said[-1].startswith("stopped")


def test_recorded_values_that_differ_from_the_table_are_named(tmp_path):
    run = make.search(tmp_path / "one", (9, 5, 3), finished=False)
    lines = (run.folder / "metrics.jsonl").read_text().splitlines()
    changed = {**json.loads(lines[1]), "table_test_error": 0.01}
    (run.folder / "metrics.jsonl").write_text("\n".join([lines[0], json.dumps(changed), lines[2], ""]))
    page = write(run, tmp_path / "report.html")
    assert "Warning:" in words(page) and "after epoch 1" in words(page)


def test_cells_are_scored_on_the_given_table(tmp_path, measured_table):
    run = make.search(tmp_path / "one", (9, 5, 3))
    data = data_of(write(run, tmp_path / "report.html", table=measured_table.folder))["searches"][0]
    config = json.loads((run.folder / "config.json").read_text())
    (run.folder / "config.json").write_text(json.dumps({**config, "table": "my-table"}))
    page = write(run, tmp_path / "again.html", table=measured_table.folder)
    assert "They need tables that do not come with this package: my-table." in words(page)
    regrets = [measured_table.regret(arch) for arch in run.architectures]
    assert data["regrets"] == [rounded(100 * regret) for regret in regrets] and data["measured"] == "111"
    assert data["validationMeasured"] == "111"


def test_estimates_are_not_shown_as_measured(tmp_path):
    """Validation errors of the bundled table are shrunk toward measurements; test errors are measured where known."""
    table, space = nb.load_table(), nb.search_space("s1")
    found = table.query([space[number] for number in range(500)])
    arch = space[int(np.argmax(found.is_measured("validation_accuracy") & found.is_measured("test_accuracy")))]
    assert table.query(arch).source("validation_accuracy") == "predicted, shrunk toward a measurement"
    synthetic.write_run(
        tmp_path / "own", [arch] * 2, {"optimizer": "darts", "space": "s1", "scale": "quick", "epochs": 1}
    )
    run = make.with_facts(tmp_path / "own")
    for options in ({}, {"table": "embedded"}):
        page = write(run, tmp_path / f"report-{len(options)}.html", **options)
        (cells,) = data_of(page)["searches"]
        assert (cells["measured"], cells["validationMeasured"]) == ("11", "00")
    frame = compare_accuracies([run]).accuracies.final()
    assert frame.set_index("split")["measured"].to_dict() == {"validation": 0.0, "test": 1.0}


# Refusals -------------------------------------------------------------------------------------------------------------

REFUSALS = {
    "no file": (["gdas"], ["--html", "report.txt"], ["report.txt", ".html"]),
    "a folder": (["gdas"], ["--html", "folder.html"], ["folder.html", "folder"]),
    "an existing file": (["gdas"], ["--html", "old.html"], ["old.html", "--overwrite", "--html"]),
    "not a run": ([".."], ["--html", "new.html"], ["config.json"]),
    "twice": (["gdas", "darts/../gdas"], ["--html", "new.html"], ["gdas", "twice"]),
    "with its group": (["darts", "darts/seed-1"], ["--html", "new.html"], ["seed-1", "twice"]),
    "labels": (["gdas", "study"], ["--html", "new.html", "--labels", "a,a"], ["--labels", "a,a"]),
    "a short watch": (["gdas"], ["--html", "new.html", "--watch", "0.5"], ["--watch", "1", "0.5"]),
    "an option of the folder": (["gdas"], ["--html", "new.html", "--format", "svg"], ["--format", "--html"]),
    "an option of the page": (["gdas"], ["--watch", "30"], ["--watch", "--html"]),
    "several without a page": (["gdas", "study"], [], ["2", "--html"]),
    "a table without the space": (["gdas"], ["--html", "new.html", "--table", "nb201"], ["nb201"]),
}


@pytest.mark.parametrize(("runs", "options", "named"), REFUSALS.values(), ids=REFUSALS)
def test_bad_input_ends_in_one_sentence_and_writes_nothing(runs, options, named, folder, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder.html").mkdir()
    (tmp_path / "old.html").write_text("kept")
    with exits(capsys, *named):
        main(["report", *(str(folder / run) for run in runs), *options])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder.html", "old.html"]
    assert (tmp_path / "old.html").read_text() == "kept"


@pytest.mark.parametrize("label", ["a b", "a,b"])
def test_the_command_of_a_page_writes_it_again(folder, tmp_path, label):
    file = tmp_path / "my report.html"
    page = write(folder / "gdas", file, labels=[label], spread="std")
    command = next(line for line in html.unescape(page).split("<pre>")[-1].split("</pre>") if "report" in line)
    given = shlex.split(re.sub(r"<[^>]*>", "", command))
    assert given[:2] == ["nb1shot1", "report"]
    main(given[1:])
    assert file.read_text() == page


def test_the_command_replaces_a_file_only_if_told(folder, tmp_path, capsys):
    file = tmp_path / "old.html"
    file.write_text("old")
    main(["report", str(folder / "gdas"), "--html", str(file), "--overwrite", "--labels", "GDAS"])
    assert capsys.readouterr().out == f"Written: {file}\n"
    assert data_of(file.read_text())["charts"][0]["curves"][0]["label"] == "GDAS"


def test_other_kinds_are_refused(ranking, tmp_path):
    page, folder = tmp_path / "new.html", tmp_path / "proxies"
    with refuses(nb.InvalidInputError, f"'{folder}' is a proxy training", "a page shows", "trainings"):
        nb.write_report_page([ProxyTrainings(folder, {})], page)
    with refuses(nb.InvalidInputError, "5 is not a run", "a page shows"):
        nb.write_report_page([5], page)
    with refuses(nb.InvalidInputError, "ranking", "twice"):
        nb.write_report_page([ranking, ranking.folder], page)
    assert not page.exists()
