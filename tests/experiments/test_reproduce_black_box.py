"""Figures of black-box optimizers: plans, and small studies from the command to the drawn numbers."""

import dataclasses
import io
import json
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas
import pytest
from conftest import CHECKOUT
from matplotlib.figure import Figure
from matplotlib.text import Text
from refusals import exits, missing, refuses
from rich.console import Console
from synthetic_study import tune
from tiny_figures import planned as planned_at
from tiny_figures import run_jobs_here

import nasbench1shot1 as nb
from nasbench1shot1 import cli
from nasbench1shot1.black_box_search import studying
from nasbench1shot1.display.colours import METHODS
from nasbench1shot1.experiments.reproduction.figure_jobs import open_figure
from nasbench1shot1.experiments.reproduction.figures.catalogue import FIGURES
from nasbench1shot1.experiments.reproduction.figures.parts import Curve
from nasbench1shot1.experiments.reproduction.kinds import FigureJob
from nasbench1shot1.experiments.reproduction.records import read_packed
from nasbench1shot1.experiments.reproduction.reproducing import _check_data, check_recorded, reproduce
from nasbench1shot1.experiments.reproduction.results.base import Found
from nasbench1shot1.experiments.reproduction.results.black_box import BlackBoxResults
from nasbench1shot1.jobs import pool
from nasbench1shot1.registry import BUILT_IN

ALL = list(BUILT_IN["black_box_optimizers"])
SHIPPED = sorted((CHECKOUT / "docs" / "records").glob("na[st]*-figure*"))


def planned(name: str, out: Path, *, scale: str = "full", only: Sequence[str] = (), **given: Any) -> list[Any]:
    return planned_at(name, out, scale=scale, only=only, **given)


def options(jobs: Sequence[FigureJob], name: str) -> set[Any]:
    return {job.options[name] for job in jobs}


@pytest.fixture
def here(monkeypatch) -> None:
    run_jobs_here(monkeypatch)
    monkeypatch.setattr(studying, "save_figure", lambda *_: None)  # the picture of each study takes a second


def drawn(name: str, out: Path, **given: Any) -> tuple[pandas.DataFrame, str]:
    """Run a figure; return its CSV file and what it printed."""
    said = io.StringIO()
    picture = reproduce(name, out=out, console=Console(file=said, width=120), **given)
    assert picture is not None and picture.read_bytes().startswith(b"\x89PNG")
    return pandas.read_csv(picture.with_suffix(".csv")), said.getvalue()


def all_text(canvas: Figure) -> str:
    return " ".join(text.get_text() for text in canvas.findobj(Text))


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.name)
def test_the_shipped_studies_have_the_budgets_of_the_figures(path, tmp_path):
    """Otherwise, their records are refused."""
    packed = read_packed(path)
    recorded = {name: json.loads(files["config.json"])["options"] for name, files in packed.runs.items()}
    space = next(iter(recorded.values()))["space"]
    given = {"space": space} if FIGURES[packed.figure].takes_space else {}

    def call(function, *arguments):
        return function(*arguments)

    figure = open_figure(packed.figure).on_table("quick", given, call)
    jobs = {job.name: job for job in figure.jobs("quick", tmp_path, given, None, call)}
    for name, config in recorded.items():
        if "epochs" in jobs[name].options:
            assert jobs[name].options["epochs"] == config["epochs"]
        else:
            assert config["optimizer"] in ("bohb", "hyperband")  # with all budgets of the table


def test_recorded_searches_are_drawn_without_the_packages_of_their_optimizers(tmp_path, monkeypatch):
    monkeypatch.setattr("nasbench1shot1.ground.plugins.find_spec", lambda package: None)
    records = CHECKOUT / "docs" / "records" / "nas201-figure6.tar.xz"
    given = {"only": ["bohb"], "records": records, "draw_only": True}
    frame, _ = drawn("nas201-figure6", tmp_path, **given)
    assert set(frame["curve"]) == {"bohb"}


def with_curves(one: Found, names: Sequence[str]) -> list[Found]:
    """Use one study as the result of several optimizers."""
    return [Found(one.panel, Curve(name, name, {"optimizer": name}), one.runs) for name in names]


def check_rows(results: BlackBoxResults, counts: Sequence[int], bands: Sequence[int] = (0, 0)) -> None:
    """Check the numbers of curves and bands in each row and the colours of methods."""
    canvas = results.draw()
    columns, names = len(canvas.axes) // len(counts), iter(found.curve.key for found in results.found)
    for row, (count, shaded) in enumerate(zip(counts, bands, strict=True)):
        own = [METHODS[next(names)] for _ in range(count)]
        line = canvas.axes[row * columns : (row + 1) * columns]
        assert all([curve.get_color() for curve in axes.get_lines()] == own for axes in line)
        assert len(line[0].collections) == shaded
        assert all(axes.get_ylim() == first.get_ylim() for axes, first in zip(line, canvas.axes, strict=False))


def study(out: Path, name: str) -> nb.BlackBoxStudy:
    return nb.BlackBoxStudy.open(out / name / "seed-0")


def test_figure_7_has_every_registered_optimizer_with_the_clock_of_the_paper(tmp_path):
    jobs = planned("nas101-figure7", tmp_path)
    assert [job.curve for job in jobs] == ALL
    assert [options(jobs, name) for name in ("space", "seconds", "repeats")] == [{"nb101"}, {1e7}, {500}]
    quick = planned("nas101-figure7", tmp_path, scale="quick", only=["random"])
    assert [(job.name, job.units) for job in quick] == [("s1/random/seed-0", 50)]
    (other,) = planned("nas101-figure7", tmp_path, only=["random"], space="s3", repeats=7)
    assert (other.folder, other.units) == (tmp_path / "s3" / "random" / "seed-0", 7)


def test_figure_8_has_the_same_curves_on_both_spaces(tmp_path):
    jobs = planned("nas101-figure8", tmp_path)
    by_space = {space: [job.curve for job in jobs if job.panel == space] for space in ("nb101-mini", "nb101")}
    assert by_space["nb101"] == by_space["nb101-mini"] and len(jobs) == 22
    assert options(jobs, "repeats") == {100}
    found = {job.curve: job.options for job in jobs}
    assert found["mutation-rate-2"]["mutation"] == "rate" and found["mutation-rate-2"]["mutation_rate"] == 2.0
    assert found["tournament-25"]["tournament"] == 25
    assert found["non-regularized-evolution"]["optimizer"] == "non-regularized-evolution"
    assert options(planned("nas101-figure8", tmp_path, scale="quick"), "space") == {"s1", "s3"}


def test_nasbench_201_figures_use_cifar10_and_nats_bench_figures_every_data_set(tmp_path):
    usual = [name for name in ALL if name in ("random", "regularized-evolution", "reinforce", "bohb")]
    jobs = planned("nas201-figure6", tmp_path)
    assert [job.curve for job in jobs] == usual
    limits = ("space", "dataset", "seconds", "epochs", "repeats")
    assert [options(jobs, name) for name in limits] == [{"nb201"}, {"cifar10"}, {12_000.0}, {12}, {500}]
    jobs = planned("nats-figure6", tmp_path)
    assert [options(jobs, name) for name in ("epochs", "repeats")] == [{12}, {500}]
    sets = ("cifar10", "cifar100", "ImageNet16-120")
    assert [job.name for job in jobs] == [f"{panel}/{curve}/seed-0" for panel in sets for curve in usual]
    assert all(job.options["dataset"] == job.panel for job in jobs)
    assert [job.curve for job in planned("nas201-figure6", tmp_path, only=["local-search"])] == ["local-search"]


@pytest.mark.parametrize(
    ("arguments", "values"),
    [
        (["nas101-figure7"], "nb101 --table"),
        (["nas101-figure7"], "--space s1"),
        (["nas101-figure7", "--space", "nb101-mini"], "nb101-mini"),
        (["nas101-figure8"], "--scale quick"),
        (["nas101-figure7", "--space", "s4"], "s4"),
        (["nas101-figure7", "--only", "rando"], "nas101-figure7 rando random"),
        (["nas101-figure8", "--only", "s1"], "--only s1 nb101-mini, nb101"),
        (["nas201-figure6", "--space", "s1"], "--space nas201-figure6"),
        (["nas201-figure6", "--images", "cifar10"], "--images nas201-figure6"),
        (["nas201-figure6", "--repeats", "0"], "--repeats 1,000,000"),
        (["nas201-figure6", "--seeds", "0-1"], "nas201-figure6 seed"),
        (["nas201-figure6", "--scale", "qick"], "qick quick"),
        (["nas201-figure6", "--epochs", "13"], "13"),
        (["figure2", "--space", "s1"], "--space figure2"),
        (["figure2", "--join", "nowhere"], "--join figure2 figure5, figure14, figure15"),
        (["figure5", "--join", "nowhere"], "nowhere"),
    ],
)
def test_bad_input_is_reported_in_one_sentence_and_writes_nothing(tmp_path, monkeypatch, capsys, arguments, values):
    monkeypatch.chdir(tmp_path)
    with exits(capsys, *values.split()):
        cli.main(["reproduce", *arguments])
    assert list(tmp_path.iterdir()) == []


def values_at(trajectory, times, column="test_regret"):
    """The column of the last incumbent of every search at every time."""
    searches = [rows for _, rows in trajectory.groupby("repeat")]
    return np.array([[rows.loc[rows["simulated_seconds"] <= at, column].iloc[-1] for at in times] for rows in searches])


def test_figure_7_draws_the_results_of_its_studies_and_searches_once(tmp_path, here, monkeypatch):
    given = {"scale": "quick", "only": ["random", "local-search"], "repeats": 3, "seconds": 2e4}
    frame, said = drawn("nas101-figure7", tmp_path, **given)
    assert not missing(said, "2 studies", "3 searches", "mean")
    ecdfs = pandas.read_csv(tmp_path / "nas101-figure7-random+local-search-ecdf.csv")
    for curve in ("random", "local-search"):
        own, made = frame[frame["curve"] == curve], study(tmp_path, f"s1/{curve}")
        values = values_at(made.trajectory, own["seconds"])
        assert np.allclose(own["mean"], values.mean(axis=0)) and np.allclose(own["median"], np.median(values, axis=0))
        finals = ecdfs[ecdfs["curve"] == curve]
        assert np.allclose(finals["test_regret"], np.sort(made.final["test_regret"]))
        assert finals["fraction"].tolist() == pytest.approx([1 / 3, 2 / 3, 1])
    table = nb.load_table("embedded")
    results = open_figure("nas101-figure7").results(planned("nas101-figure7", tmp_path, **given), table)
    canvas = results.draw()
    assert table.id in all_text(canvas) and ("measured" in all_text(canvas) or "predicted" in all_text(canvas))
    assert [axes.get_xscale() for axes in canvas.axes] == ["log", "log"]
    check_rows(dataclasses.replace(results, found=with_curves(results.found[0], ALL[:7])), [4, 3], bands=[0, 3])
    assert canvas.caption.startswith("Shown: mean and range of 3 searches.\n")
    named = results.draw(colors={"tries": "red"}, labels=["tries", "climbs"])
    assert [line.get_color() for line in named.axes[1].get_lines()] == ["red", METHODS["local-search"]]
    assert [text.get_text() for text in named.legends[0].get_texts()] == ["tries", "climbs"]
    quartiles = dataclasses.replace(results, spread="quartiles").frame
    assert (quartiles["high"] <= frame["high"]).all() and (quartiles["high"] < frame["high"]).any()
    for workers in (pool._ThisMachine, pool._ThisProcess):
        monkeypatch.setattr(workers, "submit", lambda *_: pytest.fail("searched again"))
    again, said = drawn("nas101-figure7", tmp_path, **given)
    assert again.equals(frame) and "2 are " in said


def test_a_stopped_figure_continues_to_the_same_record(tmp_path, here):
    given = {"only": ["random"], "repeats": 3, "seconds": 3000.0}
    frame, _ = drawn("nas201-figure6", tmp_path / "a", **given)
    drawn("nas201-figure6", tmp_path / "b", **given)
    folder = tmp_path / "b" / "nb201" / "random" / "seed-0"
    whole = (folder / "metrics.jsonl").read_bytes()
    (folder / "summary.json").unlink()
    (folder / "metrics.jsonl").write_bytes(whole[: whole.index(b"\n") + 40])
    again, said = drawn("nas201-figure6", tmp_path / "b", **given)
    assert (folder / "metrics.jsonl").read_bytes() == whole
    assert again.equals(frame) and "1 study " in said


def test_nasbench_201_figure_6_shows_all_data_sets_next_to_table_5(tmp_path, here):
    frame, said = drawn("nas201-figure6", tmp_path, only=["random", "reinforce"], repeats=3, seconds=3000.0)
    table, beside = nb.load_table("nb201"), pandas.read_csv(tmp_path / "nas201-figure6-random+reinforce-table5.csv")
    for curve in ("random", "reinforce"):
        found = [nb.Architecture.parse(text) for text in study(tmp_path, f"nb201/{curve}").final["architecture"]]
        for dataset in ("cifar10", "cifar100", "ImageNet16-120"):
            expected = [table.query(arch, dataset=dataset).test_accuracy for arch in found]
            rows, means = (
                each[(each["curve"] == curve) & (each["dataset"] == dataset) & (each["split"] == "test")]
                for each in (frame, beside)
            )
            assert rows["accuracy"].tolist() == pytest.approx(sorted(expected))
            assert means["mean"].item() == pytest.approx(100 * np.mean(expected))
            assert means["std"].item() == pytest.approx(100 * np.std(expected, ddof=1))
    assert "93.70 ± 0.36" in said and "93.85 ± 0.37" in said
    jobs = planned("nas201-figure6", tmp_path, only=["random"], repeats=3, seconds=3000.0)
    results = open_figure("nas201-figure6", ["random"]).results(jobs, table)
    check_rows(dataclasses.replace(results, found=with_curves(results.found[0], ALL[:6])), [3, 3])


def test_a_single_search_has_no_standard_deviation(tmp_path, here):
    frame, said = drawn("nas101-figure7", tmp_path / "7", scale="quick", only=["random"], evaluations=20, repeats=1)
    assert f" {100 * frame['mean'].iloc[-1]:.3f} % " in said and not {"±", "nan"} & set(said.split())
    _, said = drawn("nas201-figure6", tmp_path / "6", only=["random"], repeats=1, seconds=3000.0)
    (accuracy,) = study(tmp_path / "6", "nb201/random").final["test_error"].rsub(1)
    assert f" {100 * accuracy:.2f} " in said and "93.70 ± 0.36" in said and "nan" not in said.split()


def test_nats_figure_6_searches_each_data_set_separately(tmp_path, here):
    frame, said = drawn("nats-figure6", tmp_path, only=["*/random"], repeats=2, seconds=4000.0)
    assert set(frame["panel"]) == {"cifar10", "cifar100", "ImageNet16-120"} and not missing(said, "test", "accuracy")
    for panel, own in frame.groupby("panel"):
        made = study(tmp_path, f"{panel}/random")
        assert made.config["dataset"] == panel
        assert own["seconds"].tolist() == np.arange(own["seconds"].iloc[0], 4001, 100).tolist()
        errors = values_at(made.trajectory, own["seconds"], "test_error")
        assert np.allclose(own["mean"], 1 - errors.mean(axis=0)) and (own["low"] <= own["high"]).all()
    jobs = planned("nats-figure6", tmp_path, only=["cifar10/random"], repeats=2, seconds=4000.0)
    results = open_figure("nats-figure6", ["cifar10/random"]).results(jobs, nb.load_table("nb201"))
    check_rows(dataclasses.replace(results, found=with_curves(results.found[0], ALL)), [5, 4])
    canvas = results.draw()
    assert canvas.caption.startswith("Shown: mean and range of 2 searches.\n")
    assert len(canvas.axes[0].collections) == 1


def test_figure_8_has_a_row_for_each_comparison(tmp_path, here):
    only = ["regularized-evolution", "mutation-rate-1"]
    given = {"scale": "quick", "only": only, "repeats": 3, "seconds": 1e4}
    frame, _ = drawn("nas101-figure8", tmp_path, **given)
    assert set(frame["panel"]) == {"s1", "s3"} and set(frame["curve"]) == set(only)
    figure, jobs = open_figure("nas101-figure8", only), planned("nas101-figure8", tmp_path, **given)
    results = figure.results(jobs, figure.table(jobs, {}))
    for (space, curve), own in dataclasses.replace(results, spread="std").frame.groupby(["panel", "curve"]):
        band = study(tmp_path, f"{space}/{curve}").regret_curve("std", "median")
        assert [own[name].tolist() for name in ("low", "high")] == [band.low.tolist(), band.high.tolist()]
    canvas = results.draw()
    rows = ("optimizers", "mutation rate", "tournament size")
    titles = [f"{space}: {row}" for row in rows for space in ("search space 1", "search space 3")]
    assert [axes.get_title() for axes in canvas.axes] == titles
    texts = all_text(canvas)
    assert "search space 1 and search space 3, 3 searches of 10,000 simulated seconds" in texts
    assert "paper: NAS-Bench-Mini and NAS-Bench-101, 100 searches" in texts
    assert canvas.caption.startswith("Shown: median and range of 3 searches.\n")
    renamed = results.draw(colors={"ageing": "red"}, labels=["ageing", "one"])
    assert [len(axes.collections) for axes in renamed.axes] == [1, 1, 1, 1, 1, 1]  # one curve each
    for row in (0, 4):
        (curve,) = renamed.axes[row].get_lines()
        assert (curve.get_label(), curve.get_color()) == ("ageing", "red")


def test_a_figure_with_other_options_is_refused(tmp_path, here):
    drawn("nas201-figure6", tmp_path, only=["random"], repeats=2, seconds=3000.0)
    jobs = planned("nas201-figure6", tmp_path, only=["random"], repeats=3, seconds=3000.0)
    with pytest.raises(nb.InvalidInputError, match=r"repeats=2.*needs 3"):
        check_recorded(jobs, {})
    (config,) = tmp_path.rglob("config.json")
    config.write_text(json.dumps({**json.loads(config.read_text()), "table_id": "another"}))
    jobs = planned("nas201-figure6", tmp_path, only=["random"], repeats=2, seconds=3000.0)
    check_recorded(jobs, {})


def test_black_box_studies_are_added_to_figures_of_tuned_optimizers(tmp_path):
    pytest.importorskip("hpbandster", reason="hpbandster is not installed")
    quiet = {"repeats": 3, "evaluations": 4, "console": Console(quiet=True)}
    joined = [
        nb.black_box("random", space=space, out=tmp_path / f"random-{space}", **quiet).folder for space in ("s1", "s2")
    ]
    figure = open_figure("figure5", ["s1/gdas"], joined)
    (job,) = planned("figure5", tmp_path, scale="quick", only=["s1/gdas"], seeds=[0], device="cpu")
    tune(out=job.folder, **job.options)
    results = figure.results([job], nb.load_table())
    frame = results.frame
    assert list(dict.fromkeys(frame["curve"])) == ["gdas", "random"]  # this figure has no panel for s2
    own, made = frame[frame["curve"] == "random"], nb.BlackBoxStudy.open(joined[0])
    values = values_at(made.trajectory, own["seconds"])
    assert np.allclose(own["test_regret_mean"], values.mean(axis=0))
    assert np.allclose(own["test_regret_std"], values.std(axis=0, ddof=1))
    texts = all_text(results.draw())
    assert "Black-box optimizers: 3 searches each." in texts
    assert "black-box optimizers: mean and range of 3 repetitions" in texts
    named = results.draw(colors={"random": "red"}, labels=["tuned", "random search"])
    assert [text.get_text() for text in named.legends[0].get_texts()][:2] == ["tuned", "random search"]
    shown = io.StringIO()
    results.show(Console(file=shown, width=120))
    assert "random" in shown.getvalue()
    other = nb.black_box("random", space="s1", seed=1, out=tmp_path / "seed-1", **quiet).folder
    twice = open_figure("figure5", ["s1/gdas"], [joined[0], other]).results([job], nb.load_table()).frame
    assert set(twice["curve"]) == {"gdas", "random (random-s1)", "random (seed-1)"}
    (other / "summary.json").unlink()
    with pytest.raises(nb.UserError, match="seed-1"):
        open_figure("figure5", ["s1/gdas"], [other])


def test_a_missing_package_of_any_optimizer_is_found_before_the_timing(tmp_path, monkeypatch):
    def call(function, *arguments):
        return function(*arguments)

    jobs = planned("nas101-figure7", tmp_path, scale="quick")
    assert "bohb" in {job.options["optimizer"] for job in jobs[1:]}
    _check_data(jobs, SimpleNamespace(call=call))
    monkeypatch.setattr("nasbench1shot1.ground.plugins.find_spec", lambda name: None)
    with refuses(nb.UserError, "hpbandster", "[tune]"):
        _check_data(jobs, SimpleNamespace(call=call))
