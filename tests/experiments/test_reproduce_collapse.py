"""The study of DARTS's collapse: one change per setting, equal steps, its values, rank tests and picture."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import nasbench201_collapse
import numpy as np
import pandas
import pytest
from page_section import marks
from rich.console import Console
from tiny_figures import planned, run_jobs_here
from tiny_search import measure_eigenvalues_roughly

import nasbench1shot1 as nb
from nasbench1shot1.experiments.comparison import rank_tests
from nasbench1shot1.experiments.reproduction.figure_jobs import open_figure
from nasbench1shot1.experiments.reproduction.figures.catalogue import FIGURES
from nasbench1shot1.experiments.reproduction.figures.collapse import BASE, SHORTER, searches
from nasbench1shot1.experiments.reproduction.reproducing import reproduce
from nasbench1shot1.experiments.reproduction.results.collapse import QUANTITIES, Collapse, measures, steps_per_epoch
from nasbench1shot1.experiments.rescoring import rescore
from nasbench1shot1.ground.intervals import mean_interval
from nasbench1shot1.one_shot_search.regret_curve import MEAN_LABEL
from nasbench1shot1.tables.table import load_table

NAME = "nas201-collapse"
CHANGED = {
    "augmented": {"augment_architecture_images"},
    "low-rate": {"architecture_learning_rate"},
    "high-rate": {"architecture_learning_rate"},
    "no-decay": {"architecture_weight_decay"},
    "without-none": {"exclude_none"},
    SHORTER: {"images_per_half", "epochs"},
}
ONLY = [f"*/{BASE}", "*/without-none", f"*/{SHORTER}"]
SEEDS = [0, 1]


@pytest.mark.parametrize("scale", ["full", "medium", "quick"])
def test_every_setting_changes_one_thing_and_not_the_number_of_steps(scale, tmp_path):
    jobs = planned(NAME, tmp_path, scale=scale, images="cifar10-sample", seeds=[0])
    by_panel = {
        panel: {job.curve: job.options for job in jobs if job.panel == panel}
        for panel in ("25-epochs", "50-epochs", "100-epochs")
    }
    halves = {"full": 25_000, "medium": 10_000, "quick": 1_610}
    for panel, curves in by_panel.items():
        base = curves.pop(BASE)
        assert base["epochs"] == int(panel.removesuffix("-epochs")) and base["threads"] == 1
        assert base["architecture_weight_decay"] == 1e-3 and not base["augment_architecture_images"]
        assert base["hessian_eigenvalue"] and base["preferred_error"] and base["cell_alignment"]
        names = set().union(*map(set, curves.values()), base)
        found = {key: {name for name in names if base.get(name) != own.get(name)} for key, own in curves.items()}
        assert found == CHANGED
        assert curves["without-none"]["exclude_none"] is True
        rates = [
            curves[key]["architecture_learning_rate"] / base["architecture_learning_rate"] for key in list(CHANGED)[1:3]
        ]
        assert rates == pytest.approx([1 / 3, 3], rel=0.03)
        steps = [
            -(-half // own["batch_size"]) * own["epochs"]
            for half, own in ((halves[scale], base), (curves[SHORTER]["images_per_half"], curves[SHORTER]))
        ]
        assert steps[1] == pytest.approx(steps[0], rel=0.02)


def test_the_rate_of_lambda_lets_it_travel_as_far_at_every_scale(tmp_path):
    travelled = {}
    for scale, half in (("full", 25_000), ("medium", 10_000), ("quick", 1_610)):
        job = planned(NAME, tmp_path, scale=scale, images="cifar10-sample", only=[f"50-epochs/{BASE}"], seeds=[0])[0]
        steps = 50 * -(-half // job.options["batch_size"])
        travelled[scale] = steps * job.options["architecture_learning_rate"]
    assert travelled["full"] == pytest.approx(50 * 391 * 3e-4)
    assert list(travelled.values()) == pytest.approx([travelled["full"]] * 3, rel=0.01)


def test_two_settings_have_further_seeds_which_run_last(tmp_path):
    jobs = planned(NAME, tmp_path)
    seeds = {curve: [job.options["seed"] for job in jobs if job.curve == curve] for curve in (BASE, *CHANGED)}
    assert {curve: len(set(own)) for curve, own in seeds.items()} == {
        curve: 10 if curve in (BASE, "augmented") else 5 for curve in seeds
    }
    assert [job.options["seed"] for job in jobs] == sorted(job.options["seed"] for job in jobs)
    assert {job.options["seed"] for job in planned(NAME, tmp_path, seeds=[3])} == {3}
    assert len(planned(NAME, tmp_path, seeds=[3])) == 21
    assert open_figure(NAME).size("quick") == "135 × 25 to 200 epochs"


@pytest.fixture(scope="module")
def figure():
    """The study with searches of one epoch that take half a second."""
    small = searches("quick", 0.05, 40, (1,))
    options = {"channels": 2, "cells": 3, "images_per_half": 40, "batch_size": 20}
    return replace(FIGURES[NAME], quick=replace(small, options={**small.options, **options}, more_seeds={}))


@pytest.fixture(scope="module")
def finished(figure, tmp_path_factory):
    folder = tmp_path_factory.mktemp("collapse") / "out"
    with pytest.MonkeyPatch.context() as patch:
        run_jobs_here(patch)
        measure_eigenvalues_roughly(patch)
        patch.setitem(FIGURES, NAME, figure)
        patch.setattr(rank_tests, "FEWEST", 2)
        return reproduce(NAME, scale="quick", out=folder, only=ONLY, seeds=SEEDS, console=Console(quiet=True))


def test_the_values_over_epochs_are_means_over_the_seeds(finished):
    frame = pandas.read_csv(finished.with_suffix(".csv")).set_index(["curve", "epoch"])
    assert list(frame.loc[SHORTER].index) == [0, 1, 2] and list(frame.loc[BASE].index) == [0, 1]
    assert list(frame.loc[BASE, "steps"]) == [0, 2] and list(frame.loc[SHORTER, "steps"]) == [0, 1, 2]
    runs = [nb.open_run(finished.parent / "1-epochs" / BASE / f"seed-{seed}") for seed in SEEDS]
    own = [measures(run, rescore(run, load_table("nb201"))) for run in runs]
    row = frame.loc[BASE, 1]
    for name in QUANTITIES:
        assert row[f"{name}_mean"] == pytest.approx(np.mean([of.loc[1, name] for of in own])), name
        assert row[f"{name}_low"] <= row[f"{name}_mean"] <= row[f"{name}_high"]
    assert row["seeds"] == 2
    without = frame.loc["without-none", 1]
    assert np.isnan(without["none_weight_mean"]) and without["zeroized_mean"] == 0 and without["connected_mean"] == 1


def test_intervals_end_at_the_numbers_of_edges_and_at_all_searches():
    values = {name: [0.0, 0.5] for name in QUANTITIES}
    frames = [pandas.DataFrame(values | {"skips": [1.0, skips], "connected": 1.0}) for skips in (6, 6, 6, 6, 6, 3)]
    frames[0]["connected"] = 0.0
    results: Any = SimpleNamespace(measured={("50-epochs", BASE): frames}, spread="ci")
    (curves,) = Collapse.curves.func(results).values()  # type: ignore[attr-defined]
    assert curves["skips"].centre[1] == 5.5 and curves["skips"].high[1] == 6 and curves["connected"].high[0] == 1
    assert mean_interval(curves["skips"].values)[1][1] > 6 and mean_interval(curves["connected"].values)[1][0] > 1


def test_numbers_of_seeds_are_ranges_over_the_panels_and_the_band_is_that_of_the_base():
    def found(key: str, number: int) -> SimpleNamespace:
        return SimpleNamespace(curve=SimpleNamespace(key=key, label=key), runs=[None] * number)

    several: Any = SimpleNamespace(found=[found(BASE, 10), found("no-decay", 3), found(BASE, 3)], spread="ci")
    assert Collapse._seeds(several) == f"3 to 10 seeds: {BASE}; 3 seeds: no-decay"
    assert "n < 6: range" in Collapse._band(several, is_cut=False)
    several.found = [found(BASE, 3), found("no-decay", 10)]
    words = Collapse._band(several, is_cut=False)
    assert "range" in words and "confidence" not in words


def test_measures_of_a_search_come_from_its_record(finished):
    run = nb.open_run(finished.parent / "1-epochs" / BASE / "seed-0")
    found = measures(run, rescore(run, load_table("nb201")))
    line = run.lines[1]
    for name in ("test_regret", "one_shot_validation_error", "preferred_one_shot_error", "hessian_eigenvalue"):
        assert found.loc[1, name] == line[name]
    exponentials = np.exp(run.architecture_parameters["operations"][1].astype(float))
    shares = exponentials / exponentials.sum(axis=1, keepdims=True)
    assert found.loc[1, "none_weight"] == pytest.approx(shares[:, 0].mean())
    assert found.loc[1, "skip_weight"] == pytest.approx(shares[:, 1].mean())
    assert found.loc[1, "skips"] == line["architecture"].count("skip_connect")
    assert found.loc[1, "zeroized"] == line["architecture"].count("none")
    assert np.isnan(found.loc[0, "hessian_eigenvalue"])
    assert steps_per_epoch(run.config) == 2


def test_the_ends_count_collapsed_searches(finished):
    ends = pandas.read_csv(finished.with_name(f"{finished.stem}-ends.csv")).set_index("curve")
    runs = [nb.open_run(finished.parent / "1-epochs" / BASE / f"seed-{seed}") for seed in SEEDS]
    assert ends.loc[BASE, "test_regret_mean"] == pytest.approx(np.mean([run.lines[-1]["test_regret"] for run in runs]))
    assert ends.loc[BASE, "no_path"] == np.mean([not run.architectures[-1].is_connected for run in runs])
    assert ends.loc[BASE, "all_skips"] == np.mean([str(run.architectures[-1]).count("skip") == 6 for run in runs])
    assert list(ends["seeds"]) == [2, 2, 2] and ends.loc["without-none", "no_path"] == 0


def test_rank_tests_compare_every_setting_with_the_base(finished):
    tests = pandas.read_csv(finished.with_name(f"{finished.stem}-rank-tests.csv"))
    assert len(tests) == 6 and set(tests["first"]) == {BASE}
    assert set(tests["second"]) == {"without-none", SHORTER}
    assert (tests["p_holm"] >= tests["p"]).all()


def test_the_picture_has_a_row_for_each_length_and_ends_all_curves_together(figure, finished, monkeypatch):
    monkeypatch.setitem(FIGURES, NAME, figure)
    study = open_figure(NAME, ONLY)
    jobs = study.jobs("quick", finished.parent, {}, SEEDS, lambda function, *rest: function(*rest))
    results = study.results(jobs, table := study.table(jobs, {}))
    drawn = results.draw()
    assert len(drawn.axes) == 4 and drawn.axes[0].get_title(loc="left") == "1 epochs"
    ends = {line.get_label(): line.get_xdata()[-1] for line in drawn.axes[1].get_lines()}
    assert ends == {"base": 1, "without none": 1, "half of the images": 1}
    mean = 100 * table.mean_regret("nb201", dataset="cifar10")
    (line,) = [line for line in drawn.axes[0].get_lines() if line.get_label() == MEAN_LABEL]
    assert line.get_ydata()[0] == pytest.approx(mean)
    assert "bands of the base only" in drawn.caption and "2 seeds" in drawn.caption and "After" not in drawn.title
    assert results.rows()[0][:3] == ["1-epochs", BASE, "2"] and results.rows()[0][-1].endswith("of 2")
    assert "| final test regret [%] |" in results.markdown() and results.notes()[0] == "in brackets: range"


def test_a_command_writes_the_ends_into_the_page(finished, tmp_path, monkeypatch, capsys):
    page, files = tmp_path / "nasbench201_search.md", tmp_path / "study"
    (tmp_path / "nasbench201_search").mkdir()
    files.mkdir()
    (files / "1-epochs").symlink_to(finished.parent / "1-epochs")
    for suffix in (".png", ".csv", "-ends.csv", "-rank-tests.csv"):
        made = finished.with_name(f"{finished.stem}{suffix}")
        (files / f"{NAME}{suffix}").write_bytes(made.read_bytes())
    begin, end = marks(NAME)
    page.write_text(f"before\n\n{begin}\n\nold\n\n{end}\n\nafter\n")
    for _ in range(2):
        monkeypatch.setattr("sys.argv", ["nasbench201_collapse.py", str(files), "--page", str(page)])
        nasbench201_collapse.main()
    lines = page.read_text().splitlines()
    assert lines[0] == "before" and lines[-1] == "after" and "old" not in lines
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("|")]
    assert len(rows) == 5 and {len(row) for row in rows} == {len(nasbench201_collapse.HEADINGS)} | {len(rows[1])}
    base, without, half = rows[2:]
    assert base[:3] == ["1", "base", "2"] and base[-1] == "–" and float(half[-1]) <= 1
    assert without[1] == "without none" and without[8] == "–"
    assert (tmp_path / "nasbench201_search" / "collapse.png").read_bytes() == finished.read_bytes()
    assert begin in nasbench201_collapse.PAGE.read_text()
    final = [100 * nb.open_run(files / "1-epochs" / BASE / f"seed-{seed}").summary["test_regret"] for seed in SEEDS]
    assert (
        f"1-epochs, {BASE}: median {np.median(final):.2f} of {np.round(final, 2).tolist()}" in capsys.readouterr().out
    )
