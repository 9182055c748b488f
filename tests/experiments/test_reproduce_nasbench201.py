"""Tables 5 and 7 and figures 7 and 8 of NAS-Bench-201: shared searches, accuracies on every data set, correlations."""

import io
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas
import pytest
from quick_ranking import quick_ranking
from refusals import exits, missing, refuses
from rich.console import Console
from tiny_figures import TINY, planned, refuse_jobs, run_jobs_here

import nasbench1shot1 as nb
from nasbench1shot1.cli import main
from nasbench1shot1.experiments.accuracies import Accuracies
from nasbench1shot1.experiments.claims.catalogue import judged, selected
from nasbench1shot1.experiments.claims.evidence import Records
from nasbench1shot1.experiments.claims.verdicts import UNDECIDED
from nasbench1shot1.experiments.comparison.accuracies import compare_accuracies
from nasbench1shot1.experiments.correlation import recomputed
from nasbench1shot1.experiments.correlation.truth import true_errors
from nasbench1shot1.experiments.reproduction.figure_jobs import open_figure
from nasbench1shot1.experiments.reproduction.figures.catalogue import FIGURES
from nasbench1shot1.experiments.reproduction.figures.nasbench201 import (
    ANY,
    BATCH,
    NASBENCH_201_FIGURES,
    OWNER,
    RUNNING,
)
from nasbench1shot1.experiments.reproduction.reproducing import reproduce, show_figure_plan
from nasbench1shot1.experiments.reproduction.results.nasbench201 import (
    PUBLISHED,
    PUBLISHED_CORRELATIONS,
)
from nasbench1shot1.ground.intervals import mean_interval

ONLY = ["any/gdas", "running/random-ws", "batch/random-ws"]
FEW = {"candidates": 2, "candidate_batches": 1, "finalists": 1}
OPTIONS = {**TINY, "epochs": 2, "threads": 1, "preset": "original", "device": "cpu"}
PLACES = [("cifar10", "validation"), ("cifar10", "test"), ("cifar100", "test"), ("ImageNet16-120", "test")]
"""What the bundled table has of every network."""


@pytest.fixture(scope="module")
def searched(tmp_path_factory):
    """The folder of table 5 with two searches of each curve of `ONLY`, and what the command printed."""
    folder, said = tmp_path_factory.mktemp("table5") / "out", io.StringIO()
    with pytest.MonkeyPatch.context() as patch, quick_ranking():
        run_jobs_here(patch)
        for name, figure in NASBENCH_201_FIGURES.items():
            scale = figure.quick
            if name != "nas201-table7":
                scale = replace(scale, options=OPTIONS, by_optimizer={"random-ws": FEW})
            else:
                panels = tuple(
                    replace(panel, options={**panel.options, "architectures": "12", "images": "20"})
                    for panel in scale.panels
                )
                scale = replace(scale, panels=panels)
            patch.setitem(FIGURES, name, replace(figure, quick=scale))
        reproduce(OWNER, scale="quick", out=folder, only=ONLY, console=Console(file=said, width=140))
        yield folder, said.getvalue()


def drawn(name: str, folder, only, **given) -> tuple[pandas.DataFrame, str]:
    said = io.StringIO()
    picture = reproduce(name, scale="quick", out=folder, only=only, console=Console(file=said, width=140), **given)
    assert picture is not None and picture.read_bytes().startswith(b"\x89PNG")
    return pandas.read_csv(picture.with_suffix(".csv")), said.getvalue()


def test_the_full_scale_has_the_published_searches(tmp_path):
    jobs = planned(OWNER, tmp_path, scale="full", images="cifar10-sample")
    epochs = {job.curve: job.options["epochs"] for job in jobs}
    assert epochs == {
        "darts": 50,
        "darts-second-order": 50,
        **dict.fromkeys(("gdas", "setn", "random-ws", "enas"), 250),
    }
    assert len(jobs) == 9 * 3 and {job.options["preset"] for job in jobs} == {"original"}
    statistics = {(job.panel, job.options["evaluation_batch_norm"]) for job in jobs}
    assert statistics == {(ANY, "batch-in-cells"), (BATCH, "batch-in-cells"), (RUNNING, "running")}
    assert all(job.options["keep_weights_every"] == job.options["epochs"] for job in jobs)


@pytest.mark.parametrize("scale", ["medium", "quick"])
def test_smaller_scales_move_lambda_as_far_as_the_full_scale(scale, tmp_path):
    """The product of epochs, steps and learning rate of Λ, which bounds how far Λ can move."""

    def reach(job):
        own = job.options
        half = own["images_per_half"] or {"full": 25_000, "quick": 1_610}[own["scale"]]
        return own["epochs"] * -(-half // own["batch_size"]) * own["architecture_learning_rate"]

    by_scale = [
        {
            job.curve: reach(job)
            for job in planned(OWNER, tmp_path, scale=of, seeds=[0], only=[ANY], images="cifar10-sample")
        }
        for of in (scale, "full")
    ]
    assert by_scale[0] == pytest.approx(by_scale[1], rel=0.03)


def test_figures_have_the_searches_of_table_5(tmp_path):
    whole = {job.name: job for job in planned(OWNER, tmp_path)}
    for name in ("nas201-figure7", "nas201-figure8"):
        jobs = planned(name, tmp_path)
        assert {job.panel for job in jobs} == {ANY, RUNNING if name.endswith("7") else BATCH}
        assert all(whole[job.name].options == job.options and whole[job.name].folder == job.folder for job in jobs)
    jobs = planned("nas201-table7", tmp_path)
    searches = [job for job in jobs if job.kind == "ranked search"]
    assert len(searches) == 8 and all(whole[job.name].options == job.options for job in searches)
    rankings = [job for job in jobs if job.kind == "ranking"]
    assert len(rankings) == 16 and {job.options["batch_norm"] for job in rankings} == {"batch-in-cells", "running"}
    assert all(job.options["run"] in {str(search.folder) for search in searches} for job in rankings)
    assert {job.units for job in rankings} == {1}


def test_the_table_has_mean_and_deviation_on_every_data_set(searched):
    folder, said = searched
    (path,) = folder.glob(f"{OWNER}-*batch-random-ws.csv")
    frame = pandas.read_csv(path)
    assert set(frame["block"]) == {RUNNING, BATCH}
    assert set(PLACES) <= set(zip(frame["dataset"], frame["split"], strict=True))
    runs = [nb.open_run(folder / "batch" / "random-ws" / f"seed-{seed}") for seed in (0, 1)]
    found = [nb.load_table("nb201").query(run.architectures[-1], dataset="cifar100").test_accuracy for run in runs]
    at = {"curve": "random-ws", "dataset": "cifar100", "split": "test"}
    row = frame[(frame["block"] == BATCH) & (frame[list(at)] == pandas.Series(at)).all(axis=1)].iloc[0]
    assert row["mean"] == pytest.approx(100 * np.mean(found)) and row["std"] == pytest.approx(
        100 * np.std(found, ddof=1)
    )
    assert (row["published_mean"], row["published_std"], row["measured"]) == (58.33, 4.34, 1)
    gdas = frame[frame["curve"] == "gdas"].drop(columns=["block", "published_mean", "published_std"])
    assert len(gdas) == 2 * len(gdas.drop_duplicates())  # its searches belong to both blocks
    assert not missing(said, "RSPS", "93.61 ± 0.09", "93.51 ± 0.13", "CIFAR-100", "Markdown")
    lines = [line for line in path.with_suffix(".md").read_text().splitlines() if line.startswith("|")]
    assert len({line.count("|") for line in lines}) == 1 and len(lines) == 2 + 4


def test_figure_8_shows_the_accuracies_of_the_same_searches(searched):
    folder, _ = searched
    frame, said = drawn("nas201-figure8", folder, ["any/gdas", "batch/random-ws"])
    assert "4 are finished" in said and set(frame["curve"]) == {"gdas", "random-ws"}
    run = nb.open_run(folder / "any" / "gdas" / "seed-1")
    other = nb.open_run(folder / "any" / "gdas" / "seed-0")
    accuracies = [
        nb.load_table("nb201").query(each.architectures[1], dataset="ImageNet16-120").test_accuracy
        for each in (run, other)
    ]
    own = frame.query("curve == 'gdas' and dataset == 'ImageNet16-120' and split == 'test' and epoch == 1").iloc[0]
    assert own["mean"] == pytest.approx(np.mean(accuracies)) and own["seeds"] == 2
    regrets = [each.metrics["ImageNet16-120_test_regret"].iloc[1] for each in (run, other)]
    best = nb.load_table("nb201").values("test_accuracy", 200, "ImageNet16-120").mean(axis=1).max()
    assert own["mean"] == pytest.approx(best - np.mean(regrets))
    assert frame["epoch"].max() == 2


@pytest.fixture(scope="module")
def table_7(searched) -> tuple[Path, pandas.DataFrame, str]:
    """The file of the records of table 7, its values, and what the command printed."""
    folder, _ = searched
    packed = folder.parent / "records" / "table7.tar.xz"
    packed.parent.mkdir()
    return packed, *drawn("nas201-table7", folder, ["gdas"], pack=packed)


@pytest.fixture
def removed(searched):
    """Hide the folder of the searches, as on another machine; return where it is."""
    folder, _ = searched
    hidden = folder.rename(folder.with_name("moved"))
    yield hidden
    hidden.rename(folder)


def test_table_7_ranks_the_searches_with_both_statistics(searched, table_7):
    folder, _ = searched
    packed, frame, said = table_7
    assert "2 searches of 2 epochs and 4 rankings of 1 epoch; 2 are finished" in said
    assert set(frame["column"]) == {"probability", "osva-train", "osva-eval"}
    table = nb.load_table("nb201")
    rankings = [nb.open_run(folder / "osva-train" / "gdas" / f"seed-{seed}") for seed in (0, 1)]
    own = frame.set_index("column")
    found = [recomputed.validation_pearson(ranking, table) for ranking in rankings]
    assert own.loc["osva-train", "mean"] == pytest.approx(np.mean(found), nan_ok=True)
    assert own.loc["probability", "published"] == PUBLISHED_CORRELATIONS["gdas"][0]
    (defined, *_) = np.flatnonzero(np.isfinite(found))
    scores = rankings[defined].scores(2)
    space = nb.search_space("nb201")
    true = table.query([space[int(n)] for n in scores.numbers], dataset="cifar10-valid").validation_accuracy
    assert found[defined] == pytest.approx(np.corrcoef(1 - scores.errors, true)[0, 1])

    def without_validation(*arguments):
        return [truth for truth in true_errors(*arguments) if truth.split == "test"]

    with Records([packed.parent]) as records:
        (result,) = judged(selected(["201-table7"]), records)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(recomputed, "true_errors", without_validation)
            (undefined,) = judged(selected(["201-table7"]), records)
            without, _ = drawn("nas201-table7", folder, ["gdas"], draw_only=True)
    assert set(without["column"]) == set(frame["column"]) and without["mean"].isna().all()
    assert undefined.rows[1].value_text == "undefined" and undefined.rows[1].verdict == UNDECIDED
    setn, gdas = result.rows
    assert (setn.value, gdas.n, gdas.verdict, gdas.published) == (None, "2 seeds", UNDECIDED, "0.8141")
    assert gdas.value is not None and gdas.value.value == pytest.approx(own.loc["osva-train", "mean"], nan_ok=True)
    assert gdas.setting == "nb201, CIFAR-10, quick: 2 epochs, 2 channels × 1 cells, 12 architectures, preset original"


def test_table_7_is_drawn_from_records_on_another_machine(table_7, removed, tmp_path, monkeypatch):
    packed, expected, _ = table_7
    refuse_jobs(monkeypatch)
    frame, said = drawn("nas201-table7", tmp_path / "here", ["gdas"], records=packed)
    pandas.testing.assert_frame_equal(frame, expected)
    assert "6 are finished" in said and frame.set_index("column").loc["probability", "seeds"] == 2


def test_table_7_is_drawn_after_its_folder_moved(table_7, removed):
    _, expected, _ = table_7
    frame, _ = drawn("nas201-table7", removed, ["gdas"], draw_only=True)
    pandas.testing.assert_frame_equal(frame, expected)


def test_another_folder_is_refused(searched, tmp_path):
    folder, _ = searched
    with refuses(nb.InvalidInputError, folder, OWNER, "figure2"):
        show_figure_plan("figure2", scale="quick", out=folder)
    assert open_figure("nas201-figure7").owner == OWNER


def test_published_values_have_every_column():
    assert {len(of) for of in PUBLISHED.values()} == {36}
    assert PUBLISHED[RUNNING]["gdas", "cifar10", "test"] == (93.61, 0.09)
    assert PUBLISHED[BATCH]["enas", "ImageNet16-120", "test"] == (16.32, 0.00)


def test_accuracies_of_any_searches(searched):
    folder, _ = searched
    runs = {"GDAS": [nb.open_run(folder / "any" / "gdas" / "seed-0")]}
    found = Accuracies(runs, nb.load_table("nb201"))
    assert set(PLACES) <= set(found.places) and len(found.by_epoch()) == 3 * len(found.places)
    assert found.by_epoch()["std"].isna().all() and (found.by_epoch()["measured"] == 1).all()
    text = found.markdown({"GDAS": "mine | yours"})
    assert "| mine \\| yours | 1 |" in text and "±" not in text.splitlines()[2] and "measured" in text


def test_intervals_of_accuracies_end_at_100_percent():
    rows = [
        {"method": "a", "run": run, "epoch": 0, "accuracy": accuracy, "measured": 1.0, "dataset": "d", "split": "test"}
        for run, accuracy in enumerate([0.99, 0.99, 0.99, 0.99, 0.99, 0.1])
    ]
    frame, place = pandas.DataFrame(rows), ("d", "test")
    runs = {"a": [SimpleNamespace(final_epoch=0)] * len(rows)}
    found: Any = SimpleNamespace(places=[place], at=lambda _: frame, spread="ci", runs=runs)
    assert mean_interval(frame["accuracy"].to_numpy())[1] > 1
    assert Accuracies.curves.func(found)["a", place].high == 1  # type: ignore[attr-defined]
    assert Accuracies.final(found)["high"].item() == 100


def test_searches_are_compared_on_every_data_set(searched, tmp_path, capsys):
    folder, _ = searched
    runs = [str(folder / "any" / "gdas" / "seed-0"), str(folder / "batch" / "random-ws" / "seed-0")]
    main(["compare", *runs, "--accuracies", "--labels", "a,b", "--out", str(tmp_path / "out")])
    frame = pandas.read_csv(tmp_path / "out" / "accuracies.csv")
    end = nb.open_run(runs[1]).architectures[-1]
    own = frame.query("method == 'b' and dataset == 'cifar100' and split == 'test'").iloc[0]
    accuracy = nb.load_table("nb201").query(end, dataset="cifar100").test_accuracy
    assert own["mean"] == pytest.approx(100 * accuracy) and np.isnan(own["std"]) and own["runs"] == 1
    by_epoch = pandas.read_csv(tmp_path / "out" / "accuracies-by-epoch.csv")
    assert len(by_epoch.query("method == 'a' and dataset == 'cifar10' and split == 'test'")) == 3
    names = {"accuracies.png", "accuracies.csv", "accuracies-by-epoch.csv", "accuracies.md"}
    assert {path.name for path in (tmp_path / "out").iterdir()} == names
    assert "CIFAR-100" in capsys.readouterr().out
    with exits(capsys, "--over", "--accuracies"):
        main(["compare", *runs, "--accuracies", "--over", "epochs", "--out", str(tmp_path / "new")])
    assert not (tmp_path / "new").exists()


def test_studies_have_no_accuracies_to_compare(tmp_path):
    study = nb.black_box(
        "random", space="s1", evaluations=3, repeats=2, out=tmp_path / "study", console=Console(quiet=True)
    )
    with refuses(nb.InvalidInputError, study.folder, options="accuracies"):
        compare_accuracies([study])
