"""Figures 5, 14, 15 and 16 and table 2: plans, and results of synthetic studies."""

import io
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from black_box_tables import saved, smooth_table
from matplotlib.collections import QuadMesh
from matplotlib.colors import to_rgba
from matplotlib.text import Text
from refusals import missing, refuses
from rich.console import Console
from synthetic_study import tune
from tiny_figures import TINY, shrink
from tiny_figures import planned as planned_at

import nasbench1shot1 as nb
from nasbench1shot1.display.colours import METHODS
from nasbench1shot1.experiments.reproduction import figure_jobs, kinds, reproducing
from nasbench1shot1.experiments.reproduction.costs import tuning_options
from nasbench1shot1.experiments.reproduction.figure_jobs import open_figure
from nasbench1shot1.experiments.reproduction.figures.nasbench_1shot1 import STUDY_SEED
from nasbench1shot1.experiments.reproduction.kinds import FigureJob
from nasbench1shot1.experiments.reproduction.progress import describe_work
from nasbench1shot1.experiments.reproduction.reproducing import check_recorded, jobs_to_check
from nasbench1shot1.experiments.tuning.best import best_of
from nasbench1shot1.experiments.tuning.trajectory import average, trajectory
from nasbench1shot1.jobs.pool import WorkerOptions, this_process
from nasbench1shot1.tables.columns import source_text
from nasbench1shot1.tables.table import load_table
from nasbench1shot1.tuning.record import Study

pytest.importorskip("hpbandster", reason="hpbandster is not installed")
pytest.importorskip("optuna", reason="Optuna is not installed")


def planned(
    name: str, out: Any, *, scale: str = "quick", only: Sequence[str] = (), seeds: Any = None, **given: Any
) -> list[FigureJob]:
    return planned_at(name, out, scale=scale, only=only, seeds=seeds, **{"device": "cpu", **given})


@pytest.mark.parametrize(
    ("name", "space", "optimizers"),
    [
        ("figure5", "cs2", ["darts", "gdas", "pc-darts"]),
        ("figure14", "cs1", ["darts", "gdas", "pc-darts"]),
        ("figure15", "cs3", ["darts", "gdas", "pc-darts"]),
        ("figure16", "cs2", ["darts"]),
    ],
)
def test_studies_match_the_paper(name, space, optimizers, tmp_path):
    jobs = planned(name, tmp_path, scale="full")
    assert [job.name for job in jobs[: 3 * len(optimizers)]] == [
        f"{panel}/{optimizer}/seed-0" for panel in ("s1", "s2", "s3") for optimizer in optimizers
    ]
    assert len(jobs) == 9 * len(optimizers)
    assert {job.options["config_space"] for job in jobs} == {space}
    for job in jobs:
        plan = tuning_options(job.options).brackets
        assert (plan.planned, job.units, plan.budgets) == (280, 17_100, (25, 50, 100))
        assert job.options["images"] == "cifar10"
        assert "images_per_half" not in job.options  # the corrected preset's 20,000 + 20,000
    assert describe_work(jobs) == f"{len(jobs)} studies of 17,100 epochs"


@pytest.mark.parametrize(("name", "batch_size"), [("figure5", 32), ("figure15", None), ("table2", 32)])
def test_the_quick_scale_has_the_sizes_of_the_shown_results(name, batch_size, tmp_path):
    for job in planned(name, tmp_path):
        assert job.options["image_side"] == 32
        assert job.options.get("batch_size") == batch_size  # cs3 tunes it


@pytest.mark.parametrize(("scale", "counts"), [("full", (280, 280, 282)), ("quick", (26, 26, 27))])
def test_tuners_are_compared_with_about_equal_numbers_of_searches(scale, counts, tmp_path):
    jobs = planned("tuners", tmp_path, scale=scale, only=["s2"], seeds=[0], images="cifar10-sample")
    plans = {job.options["tuner"]: tuning_options(job.options).brackets for job in jobs}
    assert {name: plan.planned for name, plan in plans.items()} == dict(
        zip(("bohb", "smac", "random"), counts, strict=True)
    )
    assert {job.options["tuner"] for job in jobs_to_check(jobs)} == {"bohb", "smac", "random"}  # packages differ
    longest = plans["bohb"].budgets[-1]
    assert plans["bohb"].budgets == plans["smac"].budgets == (longest // 4, longest // 2, longest)
    assert plans["random"].budgets == (longest,)
    free = {"tuner", "iterations"}
    (shared,) = {tuple(sorted((k, v) for k, v in job.options.items() if k not in free)) for job in jobs}
    assert dict(shared)["optimizer"] == "gdas"


def test_the_picture_of_tuners_has_a_curve_for_each(tmp_path):
    jobs = planned("tuners", tmp_path, only=["s1"], seeds=[0], iterations=1)
    for job in jobs:
        tune(out=job.folder, **job.options)
    results = open_figure("tuners", ["s1"]).results(jobs, load_table())
    assert [row[1] for row in results.rows()] == ["gdas-bohb", "gdas-smac", "gdas-random"]
    text = drawn_text(results)
    assert "GDAS tuned by SMAC" in text and "3 or 7 searches of 4, 8, 16 epochs per study, one study" in text
    colours = {line.get_color() for line in results.draw().axes[0].get_lines() if len(line.get_xdata()) > 1}
    assert len(colours) == 3


def test_epochs_set_the_budgets(tmp_path):
    (job,) = planned("figure5", tmp_path, only=["s1/gdas"], epochs=8, seeds=[3])
    plan = tuning_options(job.options).brackets
    assert plan.budgets == (2, 4, 8) and job.options["seed"] == 3
    assert plan.planned == 26  # 4 + 2 + 1, 2 + 1, 3, and again
    assert job.units == 2 * ((4 * 2 + 2 * 4 + 8) + (2 * 4 + 8) + 3 * 8)


def test_table_2_tunes_on_s3_and_searches_on_s1_and_s2(tmp_path):
    jobs = planned("table2", tmp_path, scale="full")
    studies, searches = [jobs[:3], jobs[3:]]
    assert [(job.name, tuning_options(job.options).brackets.planned, job.stage) for job in studies] == [
        (f"s3/{optimizer}/seed-0", 280, 0) for optimizer in ("darts", "gdas", "pc-darts")
    ]
    assert len(searches) == 2 * 3 * 2 * 6 and {job.units for job in searches} == {50}
    assert {job.panel for job in searches} == {"s1", "s2"}
    for job in searches:
        best = job.options.get("best")
        assert job.stage == (1 if best else 0)
        if best:
            study = tmp_path / "s3" / job.options["optimizer"] / "seed-0"
            assert best == {"study": str(study), "budget": 50}
    assert describe_work(jobs) == "3 studies of 17,100 epochs and 72 searches of 50 epochs"
    assert [job.name for job in planned("table2", tmp_path, only=["s1/darts-default"])] == [
        "s1/darts-default/seed-0",
        "s1/darts-default/seed-1",
    ]


def test_table_2_at_the_medium_scale_has_the_default_searches_of_figure_2(tmp_path):
    medium: dict[str, Any] = {"scale": "medium", "images": "cifar10-sample"}
    study, *searches = planned("table2", tmp_path / "table2", only=["s1/gdas-*"], **medium)
    plan = tuning_options(study.options).brackets
    assert (study.name, plan.planned, plan.budgets) == ("s3/gdas/seed-0", 26, (20, 40, 80))
    best = {"study": str(study.folder), "budget": 40}
    assert [job.options.get("best") for job in searches] == [None] * 10 + [best] * 10
    ranked = planned("figure2", tmp_path / "figure2", only=["s1/gdas"], **medium)
    for default, transferred, other in zip(searches[:10], searches[10:], ranked, strict=True):
        assert default.options == {**other.options, "keep_weights_every": default.options["keep_weights_every"]}
        assert transferred.options == {**default.options, "best": best}


@pytest.mark.parametrize("name", ["figure5", "figure14", "figure15", "figure16"])
def test_studies_at_the_medium_scale_have_the_settings_of_its_searches(name, tmp_path):
    jobs = planned(name, tmp_path, scale="medium", images="cifar10-sample", only=["s1"])
    for job in jobs:
        plan = tuning_options(job.options).brackets
        assert (plan.planned, plan.budgets, job.units) == (26, (10, 20, 40), 640)
        assert job.options["scale"] == "medium"
        assert not {"images_per_half", "image_side", "batch_size"} & job.options.keys()  # the scale's
    assert {job.options["seed"] for job in jobs} == {0, 1, 2}


def drawn_text(results):
    return " ".join(text.get_text() for text in results.draw().findobj(Text))


def test_the_curves_of_a_figure_are_averages_of_its_studies(tmp_path):
    figure, jobs = (
        open_figure("figure5", ["s1/darts", "s2/gdas"]),
        planned("figure5", tmp_path, only=["s1/darts", "s2/gdas"]),
    )
    assert figure.results(jobs, load_table()) is None
    for job in jobs[:3:2]:
        tune(out=job.folder, **job.options)
    assert "studies finished so far: 2 of 4 (s2/gdas 0)" in drawn_text(figure.results(jobs, load_table()))
    tune(out=jobs[1].folder, **jobs[1].options)
    check_recorded(jobs, {})
    results = figure.results(jobs, load_table())
    frame = results.frame
    for panel, curve, seeds in (("s1", "darts", (0, 1)), ("s2", "gdas", (0,))):
        own = frame[(frame["panel"] == panel) & (frame["curve"] == curve)].reset_index(drop=True)
        studies = [Study.open(tmp_path / panel / curve / f"seed-{seed}") for seed in seeds]
        expected = average([trajectory(study.observations) for study in studies])
        for name in expected:
            assert np.allclose(own[name], expected[name], equal_nan=True)
    wide = replace(results, spread="std").frame.dropna()
    assert np.allclose(wide["test_regret_high"] - wide["test_regret_mean"], wide["test_regret_std"])
    starts = [trajectory(Study.open(job.folder).observations).iloc[0] for job in jobs[:3:2]]
    dots = results.further_tables()["defaults"]
    assert dots["panel"].tolist() == ["s1", "s2"] and dots["curve"].tolist() == ["darts", "gdas"]
    assert dots.loc[0, "seconds"] == pytest.approx(np.mean([start["seconds"] for start in starts]))
    texts = drawn_text(results)
    assert "studies finished so far: 3 of 4 (s2/gdas 1)" in texts and "of 78 searches" in texts
    shown = io.StringIO()
    results.show(Console(file=shown, width=120))
    assert "darts" in shown.getvalue() and "%" in shown.getvalue()


def test_the_axis_states_how_many_of_the_drawn_incumbents_are_measured(tmp_path):
    (job,) = planned("figure5", tmp_path / "figure", only=["s1/gdas"], seeds=[0])
    tune(out=job.folder, **job.options)
    quiet = {"space": "s1", "evaluations": 5, "repeats": 3, "console": Console(quiet=True)}
    joined, table = nb.black_box("random", out=tmp_path / "random", **quiet), load_table()

    def measured(texts: Sequence[str]) -> list[bool]:
        return [table.query(nb.Architecture.parse(text)).is_measured("test_accuracy") for text in texts]

    study = Study.open(job.folder)
    lines = {line["number"]: line["architecture"] for line in study.lines}
    flags = measured([lines[number] for number in dict.fromkeys(trajectory(study.observations)["number"])])
    for folders in ([], [joined.folder]):
        for line in joined.lines if folders else []:
            flags += measured([entry[2] for entry in line["incumbents"]])
        results = open_figure("figure5", ["s1/gdas"], folders).results([job], table)
        assert results.source == source_text(sum(flags) / len(flags))
        assert f"({results.source})" in results.draw().axes[0].get_ylabel()


def test_a_figure_on_a_table_without_training_times_is_over_wall_clock_time(tmp_path):
    (job,) = planned("figure5", tmp_path / "figure", only=["s1/gdas"], seeds=[0])
    tune(out=job.folder, **job.options)
    frame = smooth_table().to_frame().drop(columns="training_time")
    untimed = saved(nb.table_from_frame(frame, space=nb.search_space("s1")), tmp_path / "table")
    results = open_figure("figure5", ["s1/gdas"]).results([job], untimed)
    lines = job.record().lines
    assert results.frame["seconds"].max() == pytest.approx(sum(of["finished"] - of["started"] for of in lines))
    text = " ".join(drawn_text(results).split())
    assert "wall-clock time of the searches (training times are unknown) [s]" in text and "simulated" not in text
    quiet = {"space": "s1", "evaluations": 2, "repeats": 2, "console": Console(quiet=True)}
    timed = nb.black_box("random", out=tmp_path / "timed", **quiet)
    with refuses(nb.InvalidInputError, "wall-clock", "join="):
        open_figure("figure5", ["s1/gdas"], [timed.folder]).results([job], untimed)
    other = nb.black_box("random", table=tmp_path / "table", out=tmp_path / "untimed", **quiet)
    with refuses(nb.InvalidInputError, f"'{other.folder}'", "training times", "join="):
        open_figure("figure5", ["s1/gdas"], [other.folder])


def test_an_option_that_differs_from_the_record_is_refused(tmp_path):
    (job,) = planned("figure5", tmp_path, only=["s1/gdas"], seeds=[0])
    tune(out=job.folder, **job.options)
    (other,) = planned("figure5", tmp_path, only=["s1/gdas"], seeds=[0], epochs=8)
    with pytest.raises(nb.InvalidInputError, match=r"min_budget=1.*needs 2"):
        check_recorded([other], {})


def test_figure_16_pools_seeds_and_reports_every_budget(tmp_path):
    figure, jobs = open_figure("figure16", ["s1"]), planned("figure16", tmp_path, only=["s1"])
    for job in jobs:
        tune(out=job.folder, **job.options)
    results = figure.results(jobs, load_table())
    frame = results.frame
    fanova = frame[frame["evaluator"] == "Optuna's fANOVA"]
    assert fanova.groupby("budget")["value"].sum().tolist() == pytest.approx([1, 1, 1])
    lines = [line for job in jobs for line in job.record().lines]
    for budget, rows in fanova.groupby("budget"):
        assert set(rows["observations"]) == {sum(line["budget"] == budget for line in lines)}
    figure = results.draw()
    surfaces = [mesh for mesh in figure.findobj(QuadMesh) if mesh.axes.get_title()]  # the others are colour bars
    assert len(surfaces) == 3
    for surface in surfaces:
        values = surface.get_array()
        assert surface.get_clim() == (values.min(), values.max()) and values.min() < values.max()
    titles = [axes.get_title() for axes in figure.axes]
    assert "search space 1, 1 epoch" in titles and "search space 1, importance" in titles
    (bars,) = [axes for axes in figure.axes if axes.get_title() == "search space 1, importance"]
    usual = [container[0].get_facecolor() for container in bars.containers]
    named = results.draw("paper", colors={"short": "red"}, labels=["short", "middle", "long"])
    (bars,) = [axes for axes in named.axes if len(axes.containers) == 3]
    assert [text.get_text() for text in named.legends[0].get_texts()] == ["short", "middle", "long"]
    assert [container[0].get_facecolor() for container in bars.containers] == [to_rgba("red"), *usual[1:]]
    with refuses(nb.InvalidInputError, "2 labels", "3 budgets"):
        results.draw(labels=["short", "long"])


def test_table_2_end_to_end(tmp_path, monkeypatch):
    """The searches are real but tiny; only the study is synthetic."""
    shrink(monkeypatch, "table2")
    shrink(monkeypatch, "figure5", {**TINY, "iterations": 3})
    synthetic = {"study": replace(kinds.STUDY, command="synthetic_study:tune")}
    monkeypatch.setattr(kinds, "KINDS", {**kinds.KINDS, **synthetic})
    monkeypatch.setattr(figure_jobs, "KINDS", kinds.KINDS)
    monkeypatch.setattr(WorkerOptions, "open", lambda *_, **__: this_process())
    monkeypatch.setattr(reproducing, "measure", lambda jobs: {job.pace: 1.0 for job in jobs})
    only, said = ["s1/gdas-*"], io.StringIO()
    arguments: dict[str, Any] = {"scale": "quick", "out": tmp_path / "out", "only": only, "device": "cpu"}
    picture = reproducing.reproduce("table2", console=Console(file=said, width=120), **arguments)
    assert picture is not None and picture.read_bytes().startswith(b"\x89PNG")
    assert not missing(said.getvalue(), "1 study", "5 runs")
    best = best_of(Study.open(tmp_path / "out" / "s3" / "gdas" / "seed-0"), 2)
    regrets: dict[str, list[float]] = {}
    for curve in ("gdas-default", "gdas-transferred"):
        runs = [nb.load_run(tmp_path / "out" / "s1" / curve / f"seed-{seed}") for seed in (0, 1)]
        regrets[curve] = [run.summary["test_regret"] for run in runs]
        for run in runs:
            tuned = {name: run.config[name] for name in best}
            assert (tuned == best) == (curve == "gdas-transferred") and run.config["epochs"] == 2
    assert re.search(r"│ +gdas-transferred +│ +2 +│ +[\d.]+ ± [\d.]+ % │", said.getvalue())
    table = picture.with_suffix(".csv").read_text().splitlines()
    for row in table[1:]:
        panel, curve, runs, mean, std, low, high, _ = row.split(",")
        assert (panel, runs) == ("s1", "2")
        assert float(mean) == pytest.approx(np.mean(regrets[curve]))
        assert float(std) == pytest.approx(np.std(regrets[curve], ddof=1))
        assert [float(low), float(high)] == pytest.approx(sorted(regrets[curve]))  # of two seeds
    assert "±: standard deviation" in said.getvalue()
    jobs = planned("table2", tmp_path / "out", only=only, device="cpu")
    figure = open_figure("table2", only).results(jobs, load_table()).draw()
    points = [container[0] for container in figure.axes[0].containers]
    assert [point.get_color() for point in points] == [METHODS["gdas"]] * 2
    assert [point.get_markerfacecolor() for point in points] == ["white", METHODS["gdas"]]
    assert figure.caption.startswith("Shown: mean and range of 2 seeds.\n")
    again = io.StringIO()
    reproducing.reproduce("table2", console=Console(file=again, width=120), **arguments)
    assert "5 are finished" in again.getvalue()


def test_a_transferred_search_waits_for_a_finished_study(tmp_path):
    jobs = planned("table2", tmp_path, only=["s1/gdas-transferred"], seeds=[0])
    tune(out=jobs[0].folder, **jobs[0].options)
    (jobs[0].folder / "summary.json").unlink()
    with this_process() as workers:
        failure = workers.submit(jobs[1]).result().failure
    assert failure is not None and nb.UserError(failure).options == ("resume",)
    assert not missing(nb.UserError(failure).for_command_line, f"nb1shot1 tune --resume {jobs[0].folder}")
    assert STUDY_SEED == 0 and not jobs[1].folder.exists()
