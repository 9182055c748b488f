"""Figure 17, the proxy study: command line, CSV file, picture, resuming and correlations."""

import json
import shutil
import signal
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas
import pytest
from forked_jobs import FORK_JOBS
from matplotlib.text import Text
from refusals import exits, missing
from scipy.stats import spearmanr
from tiny_figures import planned, refuse_jobs, run_jobs_here
from tiny_proxies import JOBS, TINY, reproduce, shrink, train, without_seconds
from warm_process import WarmProcess

import nasbench1shot1 as nb
from nasbench1shot1 import cli
from nasbench1shot1.experiments.claims.evidence import Records
from nasbench1shot1.experiments.claims.further_runs import ProxyGrowth
from nasbench1shot1.experiments.claims.verdicts import UNDECIDED
from nasbench1shot1.experiments.correlation.criteria import bootstrap
from nasbench1shot1.experiments.reproduction.figure_jobs import open_figure
from nasbench1shot1.experiments.reproduction.results.base import Found
from nasbench1shot1.experiments.reproduction.results.proxies import (
    ProxyCorrelations,
    ProxyResult,
    correlation,
    interval,
    score_trainings,
)
from nasbench1shot1.jobs.job import wait_until_free
from nasbench1shot1.proxy_training import ProxyTrainings

COLUMNS = ["cells", "channels", "epoch", "split", "spearman", "low", "high", "n", "measured"]


@pytest.fixture(scope="module")
def finished(tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("proxies") / "figure17"
    with pytest.MonkeyPatch.context() as patch:
        shrink(patch)
        run_jobs_here(patch)
        reproduce(out)
    return out


@pytest.fixture
def tiny(monkeypatch) -> None:
    shrink(monkeypatch)


@pytest.fixture
def here(monkeypatch) -> None:
    run_jobs_here(monkeypatch)


@pytest.fixture
def no_process(monkeypatch) -> None:
    refuse_jobs(monkeypatch)


def all_files(out: Path) -> dict[Path, bytes]:
    return {path.relative_to(out): path.read_bytes() for path in out.rglob("*") if path.is_file()}


def jobs_at(scale: str, only=(), **given):
    return planned("figure17", Path("out"), scale=scale, only=only, **given)


def words_of(result: ProxyResult, seeds: int = 1) -> str:
    return "\n".join(text.get_text() for text in drawn_study([result], seeds).draw().findobj(Text))


def drawn_study(results: Sequence[ProxyResult], seeds: int = 1) -> ProxyCorrelations:
    """Results of trainings, as if they were read from run folders."""
    reproduction = open_figure("figure17")
    pairs = {(panel.key, curve.key): (panel, curve) for panel, curve in reproduction.figure.full.pairs()}
    found = [
        Found(*pairs[f"cells-{result.cells}", f"channels-{result.channels}"], result.trainings) for result in results
    ]
    places = {each.place for each in found}
    jobs = planned("figure17", Path("out"), scale="full", seeds=range(seeds), images_per_half=40)
    jobs = [replace(job, options={**job.options, "scale": "quick"}) for job in jobs if (job.panel, job.curve) in places]
    study = ProxyCorrelations(reproduction.figure, jobs, jobs, nb.load_table(), found)
    vars(study)["sizes"] = list(results)
    return study


def result_of(errors, valid, test=None, measured=False) -> ProxyResult:
    """Errors (architectures, epochs) of trainings of one size with the options of the tiny study."""
    valid, test = np.array(valid, float), np.array(valid if test is None else test, float)
    config = {**TINY, "cells": 3, "channels": 2, "weight_images": 40, "architecture_images": 40, "space": "s3"}
    config |= {"images": "cifar10-sample", "preset": "corrected"}
    flags = {split: np.full(len(valid), measured) for split in ("validation", "test")}
    trainings = [ProxyTrainings(Path("run"), config)]
    return ProxyResult(
        trainings, np.array(errors, float), {"validation": valid, "test": test}, flags, np.arange(len(valid))
    )


def test_the_full_study_matches_the_paper():
    jobs = jobs_at("full")
    assert {(job.panel, job.curve) for job in jobs} == {
        (f"cells-{cells}", f"channels-{channels}") for cells in (3, 6, 9) for channels in (2, 4, 8, 16, 36)
    }
    assert len(jobs) == 15
    wanted = {"architectures": 150, "space": "s3", "epochs": 50, "images": "cifar10", "images_per_half": None}
    wanted |= {"batch_size": 96, "learning_rate": 0.025, "learning_rate_min": 0.001, "momentum": 0.9, "seed": 0}
    wanted |= {"weight_decay": 3e-4, "grad_clip": 5.0, "preset": "corrected", "threads": 1}
    for job in jobs:
        assert {name: job.options[name] for name in wanted} == wanted
        assert (job.panel, job.curve) == (f"cells-{job.options['cells']}", f"channels-{job.options['channels']}")
    assert (jobs[0].panel, jobs[0].curve) == ("cells-9", "channels-36")  # the longest is not the last to end


def test_the_quick_study_is_small_and_given_options_override_it():
    jobs = jobs_at("quick")
    assert {(job.panel, job.curve) for job in jobs} == {("cells-3", f"channels-{n}") for n in (2, 4, 8)}
    assert {(job.options["architectures"], job.options["images_per_half"]) for job in jobs} == {(24, 320)}
    for job in jobs_at("quick", epochs=3, table="embedded", precision="bfloat16"):
        assert (job.options["epochs"], job.options["precision"]) == (3, "bfloat16")


@pytest.mark.parametrize(
    ("only", "left"),
    [((), 15), (("cells-3",), 5), (("channels-8",), 3), (("cells-3/channels-8",), 1), (("cells-*/channels-?",), 9)],
)
def test_a_part_is_a_number_of_cells_or_channels(only, left):
    assert len(jobs_at("full", only)) == left


@pytest.mark.parametrize(
    ("arguments", "values"),
    [
        (["--only", "cells-4"], "figure17 cells-4 cells-9"),
        (["--only", "channels-3"], "figure17 channels-3"),
        (["--only", "cells-6", "--scale", "quick"], "--only cells-6 quick cells-3/channels-2 cells-3/channels-4"),
        (["--compile", "--scale", "quick"], "--compile figure17"),
        (["--scale", "qick"], "qick quick"),
        (["--epochs", "0", "--scale", "quick"], "--epochs 1,000,000 0"),
        (["--only", "cells-3"], "cifar10-sample"),
        (["--scale", "quick", "--images", "nowhere.npz"], "nowhere.npz"),
        (["--scale", "quick", "--table", "/nowhere"], "/nowhere"),
    ],
)
def test_bad_input_is_reported_in_one_sentence_and_writes_nothing(tmp_path, monkeypatch, capsys, arguments, values):
    monkeypatch.chdir(tmp_path)
    with exits(capsys, *values.split()):
        cli.main(["reproduce", "figure17", *arguments])
    assert list(tmp_path.iterdir()) == []


def test_the_study_is_listed(capsys):
    cli.main(["reproduce"])
    said = capsys.readouterr().out
    assert not missing(said, "15 × 150", "3 × 24", 15)
    assert open_figure("figure17").figure.title in said


def test_a_dry_run_reports_the_duration_and_writes_nothing(tmp_path, tiny, capsys):
    reproduce(tmp_path / "figure", "--dry-run", "--only", "channels-2")
    said = capsys.readouterr().out
    assert not missing(said, "1 proxy", "5 architectures", "cells-3/channels-2", "minute")
    assert not (tmp_path / "figure").exists()


def test_the_csv_agrees_with_scipys_spearman(finished):
    frame, table = pandas.read_csv(finished / "figure17.csv"), nb.load_table()
    assert list(frame) == COLUMNS
    assert len(frame) == 2 * 2 * 2  # sizes, splits, epochs
    for name, channels in zip(JOBS, (2, 4), strict=True):
        lines = [json.loads(line) for line in (finished / name / "metrics.jsonl").read_text().splitlines()]
        metrics = table.query([nb.Architecture.parse(line["architecture"]) for line in lines])
        for split, accuracies in (("validation", metrics.validation_accuracy), ("test", metrics.test_accuracy)):
            rows = frame[(frame["channels"] == channels) & (frame["split"] == split)]
            assert rows["epoch"].tolist() == [1, 2]
            for epoch, found in zip((0, 1), rows["spearman"], strict=True):
                errors = [line["validation_errors"][epoch] for line in lines]
                assert len(set(errors)) > 1
                assert found == pytest.approx(spearmanr(errors, 1 - accuracies).statistic, abs=1e-12)
            assert (rows["n"] == 5).all()
            measured = metrics.is_measured(f"{split}_accuracy").mean() if split == "test" else 0  # shrunk estimates
            assert (rows["measured"] == measured).all()
            assert (rows["low"] <= rows["spearman"]).all()
            assert (rows["spearman"] <= rows["high"]).all()


def test_each_job_equals_a_separate_training_with_its_options(finished, tmp_path):
    there = nb.open_run(finished / JOBS[1])
    alone = train(tmp_path / "alone", cells=3, channels=4)
    assert type(there) is ProxyTrainings
    assert {**there.config, "device": "cpu"} == alone.config
    assert without_seconds(there) == without_seconds(alone)


def test_the_picture_has_a_line_for_every_size_and_states_its_fidelity(finished):
    table = nb.load_table()
    found = [score_trainings([nb.open_run(finished / name)], table) for name in JOBS]
    drawn = drawn_study(found).draw()
    (axes,) = drawn.axes
    frame = pandas.read_csv(finished / "figure17.csv")
    wanted = [rows["spearman"].to_list() for _, rows in frame.groupby(["channels", "split"], sort=False)]
    drawn_lines = [line.get_ydata() for line in axes.get_lines() if len(line.get_ydata()) == 2][:-1]  # without y = 0
    assert [list(line) for line in drawn_lines] == [pytest.approx(values) for values in wanted]
    said = "\n".join(text.get_text() for text in drawn.findobj(Text))
    for words in (
        "After figure 17 of NAS-Bench-1Shot1: proxy and table errors, by proxy size",
        "quick scale: 2 epochs, 40 training and 40 validation images of cifar10-sample, preset corrected",
        "5 architectures of s3, each trained alone in the proxy\npaper: 150 architectures",
        "3 cells",
        "table's test error (",
        "95 % confidence interval (bootstrap over architectures)",
        "do not allow conclusions",
        table.id,
        table.fidelity(),
    ):
        assert words in said
    assert (finished / "figure17.png").read_bytes()[:4] == b"\x89PNG"
    named = drawn_study(found).draw(colors={"channels-4": "red"}, labels=["two", "four"])
    (axes,) = named.axes
    sizes = [(line.get_label(), line.get_color()) for line in named.legends[0].get_lines()[:2]]
    assert sizes == [("two", drawn.legends[0].get_lines()[0].get_color()), ("four", "red")]
    assert [line.get_color() for line in axes.get_lines()][2:4] == ["red", "red"]


def test_repeating_the_command_trains_nothing_and_draws_the_same_figure(finished, tiny, no_process, capsys):
    before = all_files(finished)
    reproduce(finished)
    said = capsys.readouterr().out
    assert not missing(said, "2 proxies", "5 architectures", "2 are", "predicted")
    assert all_files(finished) == before


def test_a_truncated_folder_is_resumed_with_identical_results(finished, tiny, here, tmp_path):
    """Imitate a kill in the third training: two complete lines and a partial third."""
    out = Path(shutil.copytree(finished, tmp_path / "figure"))
    run = out / JOBS[0]
    cut = train(tmp_path / "cut", cells=3, channels=2)
    assert without_seconds(cut) == without_seconds(nb.open_run(run))
    lines = (run / "metrics.jsonl").read_text().splitlines(keepends=True)
    for name in ("summary.json", "checkpoint.pt", "metrics.jsonl"):
        (run / name).unlink()
    (run / "metrics.jsonl").write_text(lines[0][:30])
    for name in ("figure17.csv", "figure17.png"):
        (out / name).unlink()
    reproduce(out)
    assert without_seconds(nb.open_run(run)) == without_seconds(nb.open_run(finished / JOBS[0]))
    assert (out / "figure17.csv").read_bytes() == (finished / "figure17.csv").read_bytes()


DRIVER = """
import sys
from nasbench1shot1 import cli
from tiny_proxies import FIGURES, tiny_study
FIGURES["figure17"] = tiny_study()
cli.main(sys.argv[1:])
"""


def test_a_killed_command_is_resumed_with_identical_results(finished, tiny, here, tmp_path):
    out = tmp_path / "figure"
    arguments = ["reproduce", "figure17", "--scale", "quick", "--epochs", "2", "--out", str(out), "--workers", "1"]
    with WarmProcess(FORK_JOBS + DRIVER, *arguments) as process:
        first = out / JOBS[1] / "metrics.jsonl"
        while not (first.exists() and first.read_bytes().count(b"\n") >= 2):
            assert process.poll() is None, process.communicate()
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
    for name in JOBS:
        wait_until_free(out / name, 60)  # its processes end by themselves: this returns
    assert not (out / "figure17.csv").exists()
    reproduce(out)
    for name in JOBS:
        assert without_seconds(nb.open_run(out / name)) == without_seconds(nb.open_run(finished / name))
    assert (out / "figure17.csv").read_bytes() == (finished / "figure17.csv").read_bytes()


def test_more_seeds_add_architectures(finished, tiny, here, tmp_path, capsys):
    out = Path(shutil.copytree(finished, tmp_path / "figure"))
    reproduce(out, "--seeds", "0,1", "--only", "channels-2")
    assert "2 proxies of 5 architectures; 1 is finished" in capsys.readouterr().out
    frame = pandas.read_csv(out / "figure17-channels-2.csv")
    assert (frame["n"] == 10).all()
    assert (out / "figure17.csv").read_bytes() == (finished / "figure17.csv").read_bytes()
    runs = [nb.open_run(out / f"cells-3/channels-2/seed-{seed}") for seed in (0, 1)]
    pooled = score_trainings(runs, nb.load_table())
    assert np.array_equal(pooled.errors, np.concatenate([run.validation_errors for run in runs]))
    assert not set(runs[0].architectures) & set(runs[1].architectures)
    assert "the architectures of 2 seeds are pooled" in words_of(pooled, seeds=2)
    assert "proxies finished so far: 2 of 3 (cells-3/channels-2 2)" in words_of(pooled, seeds=3)


def test_trainings_are_scored_on_another_table(finished, tiny, no_process, tmp_path, monkeypatch):
    class Other:
        id, fidelity = "other-v1", staticmethod(lambda: "")

    scores = iter(range(100))
    monkeypatch.setattr(
        "nasbench1shot1.experiments.reproduction.results.proxies.score",
        lambda arch, table: Score(next(scores)),
    )

    class Score:
        validation_measured, test_measured = True, True

        def __init__(self, rank):
            self.table_validation_error, self.table_test_error, self.cell_hash = rank / 100, None, str(rank)

    run = nb.open_run(finished / JOBS[0])
    result = score_trainings([run], Other())
    rows = result.by_epoch
    valid, test = (rows[rows["split"] == split] for split in ("validation", "test"))
    wanted = [spearmanr(run.validation_errors[:, epoch], range(5)).statistic for epoch in (0, 1)]
    assert valid["spearman"].tolist() == pytest.approx(wanted)
    assert (valid["measured"] == 1).all()
    assert test["spearman"].isna().all()  # a table without test accuracies
    assert (test["n"] == 0).all()


def test_trainings_with_other_options_are_refused(finished, tiny, no_process, capsys):
    before = all_files(finished)
    with exits(capsys, "--epochs 2", 3, "--out"):
        reproduce(finished, "--epochs", "3")
    assert all_files(finished) == before


def test_an_undefined_correlation_is_a_gap_in_the_picture_and_empty_in_the_csv():
    """All architectures have equal errors in epoch 1, but not in epoch 2."""
    result = result_of([[0.9, 0.5], [0.9, 0.6], [0.9, 0.7], [0.9, 0.8]], [0.05, 0.06, 0.07, 0.08])
    frame = result.by_epoch
    first, second = (frame[frame["epoch"] == epoch] for epoch in (1, 2))
    assert first[["spearman", "low", "high"]].isna().all(axis=None)
    assert second["spearman"].tolist() == [1, 1]
    assert "3,2,1,validation,,,,4,0.0\n" in frame.to_csv(index=False)
    said = words_of(result).replace("\n", " ")
    assert not missing(said, "gaps", "ρ", "3 × 2 test", "3 × 2 validation")
    assert "gaps" not in words_of(result_of([[0.5], [0.6], [0.7]], [0.1, 0.2, 0.4]))


def test_a_study_without_any_defined_correlation_is_drawn():
    result = result_of([[0.9]] * 4, [0.05, 0.06, 0.07, 0.08])
    assert result.by_epoch["spearman"].isna().all()
    assert "ρ is undefined" in words_of(result)


def test_the_correlation_of_a_worked_example():
    """Ranks 1, 2, 4, 3 and 1 to 4: ρ = 1 - 6 · 2 / (4 · 15) = 0.8; two architectures are too few."""
    assert correlation(np.array([0.1, 0.2, 0.4, 0.3]), np.array([1.0, 2.0, 3.0, 4.0])) == pytest.approx(0.8)
    assert np.isnan(correlation(np.array([0.1, 0.2]), np.array([1.0, 2.0])))


def test_the_interval_resamples_equal_cells_together_like_the_criteria():
    rng = np.random.default_rng(1)
    errors, true = rng.random(20), rng.random(20)
    apart, together = (interval(errors, true, groups) for groups in (np.arange(20), np.arange(20) // 4))
    assert apart != together
    for groups, found in ((np.arange(20), apart), (np.arange(20) // 4, together)):
        wanted = bootstrap(errors, true, ["spearman"], np.random.default_rng(0), 200, 0.95, groups)["spearman"]
        assert found == wanted
    assert np.isnan(interval(np.full(20, 0.9), true, np.arange(20))).all()


@pytest.mark.parametrize(("few", "many", "n"), [((0,), (0, 1), "5"), ((1, 0), (0, 1), "10"), ((0,), (1,), "")])
def test_the_claim_on_channels_pairs_the_seeds_of_both_sizes(finished, few, many, n, tmp_path):
    shutil.copy(finished / "figure.json", tmp_path)
    for channels, seeds in ((2, few), (4, many)):
        for seed in seeds:
            made = shutil.copytree(
                finished / f"cells-3/channels-{channels}/seed-0", tmp_path / f"cells-3/channels-{channels}/seed-{seed}"
            )
            config = json.loads((made / "config.json").read_text())
            (made / "config.json").write_text(json.dumps({**config, "seed": seed}))
    test = ProxyGrowth(figures=("figure17",), command="", cells=3, channels=(2, 4))
    with Records([tmp_path]) as records:
        (row,) = test.rows(records)
    assert (row.n, row.verdict) == (f"{n} architectures" if n else "", UNDECIDED)
    assert (row.value is not None) == bool(n)


def test_the_claim_on_channels_compares_correlations_of_the_same_architectures(finished):
    test = ProxyGrowth(figures=("figure17",), command="", cells=3, channels=(2, 4))
    with Records([finished]) as records:
        (row,) = test.rows(records)
    found = {
        channels: score_trainings(
            [ProxyTrainings.open(finished / f"cells-3/channels-{channels}/seed-0")], nb.load_table()
        )
        for channels in (2, 4)
    }
    few, many = (np.nan_to_num(correlation(of.errors[:, -1], of.true["validation"])) for of in found.values())
    assert row.value is not None and row.value.value == pytest.approx(many - few, abs=1e-9)
    assert (row.n, row.verdict, row.setting) == ("5 architectures", UNDECIDED, "s3, quick: 2 epochs, 5 architectures")
