"""`nb.plan`, `nb1shot1 plan` and `--dry-run`: numbers of runs, their work, expected hours, and refusals."""

import io
import json
import math
import re
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pandas
import pytest
from closed_forms import choice_block_multiply_adds
from conftest import CHECKOUT
from refusals import exits, missing, refuses
from tiny_figures import planned
from tiny_search import FEW, TINY, search

import nasbench1shot1 as nb
from nasbench1shot1 import cli
from nasbench1shot1.black_box_search import repeats
from nasbench1shot1.black_box_search.simulation import SearchResult, simulate
from nasbench1shot1.cell_training.work import seconds_of_training
from nasbench1shot1.experiments import all_plans
from nasbench1shot1.experiments.all_plans import BEGIN, END, AllPlans
from nasbench1shot1.experiments.planning.plan import Plan, Row, total
from nasbench1shot1.experiments.planning.screen import flops, show, size, times_table, two_digits, work_table
from nasbench1shot1.experiments.plans import COMMANDS, make_plan
from nasbench1shot1.experiments.reproduction import costs
from nasbench1shot1.experiments.reproduction.figures.catalogue import FIGURES
from nasbench1shot1.images import stand_ins
from nasbench1shot1.images.splits import is_whole
from nasbench1shot1.one_shot_search import estimate
from nasbench1shot1.one_shot_search.options import search_options
from nasbench1shot1.one_shot_search.work import work_of_search
from nasbench1shot1.runs.devices import (
    CORE,
    EFFICIENCY,
    GPUS,
    REFERENCE,
    SECONDS_PER_IMAGE,
    TRAINING,
    USUAL,
    GPUName,
)
from nasbench1shot1.runs.work import Flops, Work

PAGE = CHECKOUT / "docs" / "full_scale.md"
SMALL = {"channels": 2, "cells": 1, "device": "cpu", "threads": 1}
"""A small network with the paper's images and epochs."""


@pytest.fixture
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in an empty folder, without installed images."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NB1SHOT1_DATA", str(tmp_path / "none"))
    return tmp_path


@pytest.fixture
def untimed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every epoch of a search take two hours."""
    monkeypatch.setattr(estimate, "seconds_per_epoch", lambda options: 7200.0)


# Work of searches -----------------------------------------------------------------------------------------------------


def work(**options: Any) -> Work:
    return work_of_search(search_options({**TINY, **options}))


@pytest.mark.parametrize("epochs", [1, 3])
def test_a_search_has_the_flops_of_the_closed_form(epochs: int) -> None:
    """DARTS: a pass of Λ and one of the weights for each of 40 images, then the error on 40 and 40 reference images."""
    found, options = work(epochs=epochs), search_options(TINY).common
    of_pass = 2 * choice_block_multiply_adds(nb.search_space("s1"), options.channels, options.cells, TINY["image_side"])
    assert found.steps == 2 * epochs
    assert found.flops.forward == (epochs * 80 + (epochs + 1) * 80) * of_pass
    assert epochs * 80 * of_pass < found.flops.backward < epochs * 160 * of_pass


def test_training_flops_are_proportional_to_the_images_that_train() -> None:
    plain = work()
    assert work(images_per_half=80).flops.backward == pytest.approx(2 * plain.flops.backward)
    assert work(batch_size=10).flops.backward == pytest.approx(plain.flops.backward)
    half = work(warm_start_epochs=2).flops.backward  # two of four epochs train the weights only
    assert plain.flops.backward > half > plain.flops.backward / 2


def test_methods_differ_in_flops_as_in_the_paths_that_they_compute() -> None:
    darts, second, gdas, random = (
        work(optimizer=name, **(FEW if name == "random-ws" else {}))
        for name in ("darts", "darts-second-order", "gdas", "random-ws")
    )
    assert second.flops.backward > 2 * darts.flops.backward
    assert random.flops.backward < gdas.flops.backward < darts.flops.backward


def test_the_further_evaluation_of_gaea_is_counted() -> None:
    plain, best = (work(optimizer="gaea", returned_epoch=which) for which in ("last", "best"))
    assert best.flops.backward == plain.flops.backward
    assert best.flops.forward > plain.flops.forward


def test_the_growing_batches_of_sgas_need_memory_but_no_flops() -> None:
    options = {"optimizer": "sgas", "decision_start": 1, "decision_interval": 1, "epochs": 6, "images_per_half": 80}
    plain, growing = (work(**options, batch_increase=increase) for increase in (0, 8))
    assert growing.steps < plain.steps and growing.memory > plain.memory
    assert growing.flops.backward == pytest.approx(plain.flops.backward)


def test_the_second_stage_of_progressive_drnas_has_more_channels() -> None:
    options = {"optimizer": "drnas-progressive", "channels": 8, "warm_start_epochs": 0, "epochs": 4}
    wide, narrow = (work(**options, second_partial_channels=k) for k in (2, 4))
    assert wide.flops.total > narrow.flops.total and wide.memory > narrow.memory


def test_counts_do_not_depend_on_the_size_of_counted_batches_nor_on_images(monkeypatch: pytest.MonkeyPatch) -> None:
    from nasbench1shot1.one_shot_search import meters

    few = work()
    monkeypatch.setattr(meters, "COUNTED_IMAGES", 8)
    assert work().flops == pytest.approx(few.flops)


def test_random_images_stand_in_for_whole_data_sets() -> None:
    images = stand_ins.stand_in("ImageNet16-120")
    assert (len(images), images.side, images.classes) == (151_700, 16, 120)
    assert images.test_labels is not None and len(images.test_labels) == 6_000
    assert images.dataset == "ImageNet16-120" and is_whole(images)


# Plans of figures -----------------------------------------------------------------------------------------------------


def test_a_figure_is_planned_without_images_at_full_scale(nowhere: Path, untimed: None) -> None:
    frame = nb.plan("figure10", only=["s1/no-cutout"], seeds=[0, 1], gpus=["v100"], **SMALL)
    (row,) = frame.to_dict("records")
    assert (row["part"], row["kind"], row["runs"]) == ("s1/no-cutout", "search", 2)
    assert row["steps"] == 2 * 50 * math.ceil(20_000 / 96)
    assert row["hours_here"] == pytest.approx(2 * (50 * 2 + 5 / 3600))  # and 5 s to start
    of_all = Work(flops=Flops(row["forward_flops"], row["backward_flops"]))
    assert row["hours_v100"] == pytest.approx(GPUS["v100"].seconds(of_all) / 3600)
    assert list(frame.columns[-2:]) == ["hours_here", "hours_v100"]
    assert "throughput" in frame.attrs["formula"]
    assert not missing(" ".join(frame.attrs["notes"]), "size of cifar10.", "Before this can run: CIFAR-10 is not")
    assert list(nowhere.iterdir()) == []


def test_curves_that_differ_only_in_hyperparameters_are_counted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    from nasbench1shot1.one_shot_search import work

    counted: list[Any] = []
    monkeypatch.setattr(work, "work_of_search", lambda options: counted.append(options) or Work(1, Flops(1.0, 2.0)))
    made = make_plan("figure12", measure=False, only=["darts"], scale="quick", device="cpu")
    assert len(made.rows) == 5 and len(counted) == 1
    assert [row.work.steps for row in made.rows] == [2] * 5  # of two seeds
    told: list[str] = []
    only = {"only": ["darts-s1"], "scale": "quick", "device": "cpu"}
    make_plan("longer-searches", measure=False, report=told.append, **only)
    assert len(counted) == 1 + 3  # lengths
    assert told[0] == "Counting the work of 3 kinds of runs …" and len(told) == 4
    assert told[1] == "1/3 darts-s1/epochs-50, search of 15 epochs" and told[3].endswith(", search of 60 epochs")


def test_searches_of_equal_pace_take_time_in_proportion_to_their_flops(
    untimed: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    from nasbench1shot1.one_shot_search import work

    monkeypatch.setattr(work, "work_of_search", lambda options: Work(1, Flops(options.common.epochs**2, 0.0)))
    made = make_plan("longer-searches", only=["darts-s1"], scale="quick", seeds=[0], device="cpu", threads=1)
    assert [row.seconds for row in made.rows] == pytest.approx([5 + 15 * 7200 * ratio**2 for ratio in (1, 2, 4)])


def test_a_study_has_the_work_of_all_its_searches(monkeypatch: pytest.MonkeyPatch) -> None:
    of_epochs = lambda options: Work(options.common.epochs, Flops(1.0, 0.0), disk=1.0)  # noqa: E731
    monkeypatch.setattr("nasbench1shot1.one_shot_search.work.work_of_search", of_epochs)
    (row,) = make_plan("figure5", measure=False, only=["s1/gdas"], seeds=[0], device="cpu").rows
    assert (row.runs, row.work.steps, row.work.flops.forward) == (1, 17_100, 280)


def test_a_space_that_no_installed_table_covers_is_planned_with_a_note(nowhere: Path) -> None:
    frame = nb.plan("nas101-figure7", only=["random"], seconds=1e4)
    (row,) = frame.to_dict("records")
    assert row["disk"] > 500 * 1000 and math.isnan(row["hours_here"])
    assert not missing(" ".join(frame.attrs["notes"]), "could not be timed", "nb101")


def test_black_box_studies_are_timed_and_need_no_gpu() -> None:
    (row,) = make_plan("nas201-figure6", only=["random"], scale="quick").rows
    assert row.seconds is not None and row.seconds > 0 and row.work.gpu_memory == row.work.flops.total == 0


def test_only_the_beginning_of_a_long_search_is_timed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trainings, times = list[int](), iter(range(100))

    def counted(*arguments: Any) -> SearchResult:
        found = simulate(*arguments)
        trainings.append(found.evaluations)
        return found

    monkeypatch.setattr(costs, "TIMED_TRAININGS", 5)
    monkeypatch.setattr(repeats, "simulate", counted)
    monkeypatch.setattr("time.perf_counter", lambda: next(times))  # the beginning takes one second
    long, short = (
        planned("nas201-figure6", tmp_path, only=["random"], seconds=None, evaluations=number)[0] for number in (50, 4)
    )
    assert costs.black_box_seconds(long) == 10
    assert costs.black_box_seconds(short) == 1
    assert costs.black_box_work(long).disk > costs.PICTURES
    assert trainings == [5, 5, 4, 4, 5]


# Plans of commands ----------------------------------------------------------------------------------------------------


def test_every_command_has_a_plan_in_python_and_on_the_command_line(
    nowhere: Path, untimed: None, capsys: pytest.CaptureFixture[str]
) -> None:
    frame = nb.plan("search", optimizer="gdas", space="s2", seeds=[0, 1], **{**TINY, "epochs": 2})
    assert frame[["part", "runs", "steps"]].to_numpy().tolist() == [["s2/gdas", 2, 8]]
    cli.main(["search", "--optimizer", "gdas", "--space", "s2", "--seeds", "0-1", "--dry-run", *flags(epochs=2)])
    said = capsys.readouterr().out
    assert not missing(said, "2 searches of 2 epochs", "s2/gdas", "about 8 h", "RTX")
    assert list(nowhere.iterdir()) == []


def flags(**options: Any) -> list[str]:
    """Return the options of a tiny search as on the command line."""
    given = {**TINY, **options}
    return [word for name, value in given.items() for word in (f"--{name.replace('_', '-')}", str(value))]


def test_a_study_is_planned_with_its_brackets(nowhere: Path, untimed: None, capsys: pytest.CaptureFixture[str]) -> None:
    small = {name: value for name, value in TINY.items() if name != "epochs"}
    words = [word for name, value in small.items() for word in (f"--{name.replace('_', '-')}", str(value))]
    cli.main(["tune", "--min-budget", "1", "--max-budget", "2", "--iterations", "1", "--dry-run", *words])
    said = capsys.readouterr().out
    rows = [line.split() for line in said.splitlines() if line.startswith("s1/darts")]
    assert rows[0][1:3] == ["1", "8"]  # 2 searches of one epoch and 1 of two epochs, 2 steps each
    assert rows[1][1] == "8"  # four epochs of two hours
    assert list(nowhere.iterdir()) == []


def test_a_study_is_planned_with_an_option_that_depends_on_a_hyperparameter(
    nowhere: Path, untimed: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    lengths: list[int] = []
    counted = lambda options: lengths.append(options.common.cutout_length) or Work(1)  # noqa: E731
    monkeypatch.setattr("nasbench1shot1.one_shot_search.work.work_of_search", counted)
    small = {name: value for name, value in TINY.items() if name != "epochs"}
    options = {"config_space": "cs2", "cutout_length": 8, "min_budget": 1, "max_budget": 2, "iterations": 1}
    assert len(nb.plan("tune", optimizer="gdas", **options, **small)) == 1
    assert lengths == [8, 8]  # of each budget


def test_commands_are_planned_with_their_workers(nowhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two hours an epoch: the threads are divided, and the runs share the workers."""
    threads: list[int] = []
    monkeypatch.setattr(estimate, "seconds_per_epoch", lambda options: threads.append(options.common.threads) or 7200.0)
    monkeypatch.setattr("nasbench1shot1.one_shot_search.work.work_of_search", lambda options: Work(1))
    monkeypatch.setattr("nasbench1shot1.cell_training.work.seconds_of_training", lambda *_: 7200.0)
    monkeypatch.setattr("nasbench1shot1.one_shot_search.options.usable_cores", lambda: 8)
    small = {"channels": 2, "cells": 1, "device": "cpu"}
    budgets = {"min_budget": 1, "max_budget": 2, "iterations": 1}  # 2 searches of one epoch and 1 of two epochs
    network = {"stem_channels": 2, "cells_per_stack": 1, "epochs": 4, "device": "cpu", "threads": 1}
    for frame, note in (
        (
            nb.plan("search", seeds=[0, 1, 2], workers=2, epochs=3, **small),
            "With 2 runs at once, this will take about 12 h",
        ),
        (nb.plan("search", seeds=[0], workers=2, epochs=3, **small, threads=3), "This will take about 6 h"),
        (nb.plan("tune", workers=4, **budgets, **small), "With 3 runs at once, this will take about 4 h"),
        (nb.plan("train", architecture=CELL, **network), "This will take about 2 h"),
        (
            nb.plan("train", architectures=[CELL], seeds=[0, 1, 2], workers=2, **network),
            "With 2 runs at once, this will take about 4 h",
        ),
    ):
        assert note in " ".join(frame.attrs["notes"])
    assert threads == [4, 3, 2]
    frame = nb.plan("blackbox", optimizer="random", evaluations=5, repeats=3, workers=2)
    assert "With 2 runs at once" in " ".join(frame.attrs["notes"])


def test_a_ranking_is_planned_from_its_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = search(tmp_path / "run", epochs=2, keep_weights_every=1)
    one, two = (
        nb.plan("correlate", run=run, architectures=30, images=20, epochs=epochs, measure=False).iloc[0]
        for epochs in ((2,), (1, 2))
    )
    assert (one["kind"], one["part"], one["steps"], one["backward_flops"]) == ("ranking", "s1/darts", 0, 0)
    assert two["forward_flops"] == 2 * one["forward_flops"] > 0
    cli.main(["correlate", str(run.folder), "--architectures", "30", "--images", "20", "--dry-run"])
    many = "GPU memory is an upper bound: a GPU scores many architectures in one pass, which needs up to 5.4 GB; a CPU"
    assert not missing(capsys.readouterr().out, "1 ranking of 2 epochs", "s1/darts", "A100", many)
    cli.main(["correlate", str(run.folder), "--architectures", "30", "--images", "20", "--dry-run", "--gpus", "t4"])
    assert "T4" in (said := capsys.readouterr().out) and "A100" not in said
    assert not (run.folder / "ranking").exists()


def test_a_black_box_study_is_planned(nowhere: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cli.main(["blackbox", "--optimizer", "random", "--evaluations", "5", "--repeats", "3", "--dry-run"])
    assert not missing(capsys.readouterr().out, "1 study of 3 searches", "s1/random")
    assert list(nowhere.iterdir()) == []


def test_a_black_box_study_without_its_objective_is_not_timed(
    nowhere: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["blackbox", "--space", "nats-size", "--optimizer", "random", "--evaluations", "5", "--dry-run"]
    cli.main(words)
    assert not missing(capsys.readouterr().out, "could not be timed", "no validation accuracy", "--objective")
    cli.main([*words, "--objective", "test_accuracy"])
    assert "could not be timed" not in capsys.readouterr().out


CELL = "s1:0|0,1|0,2|1,3|2,4:conv3x3,conv1x1,maxpool3x3,conv3x3"


def test_trainings_are_planned_without_images(
    nowhere: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    timed: list[float] = []

    def two_hours(*given: Any) -> float:
        timed.append(seconds_of_training(*given))
        return 7200.0

    monkeypatch.setattr("nasbench1shot1.cell_training.work.seconds_of_training", two_hours)
    small = {"stem_channels": 2, "cells_per_stack": 1, "epochs": 4, "device": "cpu", "threads": 1}
    one = nb.plan("train", architecture=CELL, measure=False, **small).iloc[0]
    assert (one["runs"], one["steps"]) == (1, 4 * 40_000 // 256)
    per_image = one["backward_flops"] / (256 * one["steps"])
    assert one["forward_flops"] > 256 * one["steps"] * per_image / 3
    several = nb.plan("train", architectures=[CELL], seeds=[0, 1], measure=False, **small).iloc[0]
    assert (several["runs"], several["backward_flops"]) == (2, 2 * one["backward_flops"])
    assert several["forward_flops"] > 2 * one["forward_flops"]  # evaluated after every epoch
    words = [word for name, value in small.items() for word in (f"--{name.replace('_', '-')}", str(value))]
    cli.main(["train", CELL, "--dry-run", *words])
    said = capsys.readouterr()
    assert not missing(
        said.out, "1 training of 4 epochs", "NAS-Bench-101", "size of cifar10.", "This will take about 2 h"
    )
    assert timed[0] > 0
    assert "Before this can run: CIFAR-10 is not installed" in said.out
    assert not missing(said.err, "Counting the work of the training", "Timing steps of the training")
    (nowhere / "list.txt").write_text(CELL)
    cli.main(["train", "--list", "list.txt", "--seeds", "0-2", "--dry-run", *words])
    assert not missing(capsys.readouterr().out, "3 trainings of 4 epochs")
    assert [path.name for path in nowhere.iterdir()] == ["list.txt"]


def test_trainings_of_a_hash_in_a_table_are_planned(nowhere: Path) -> None:
    small = {"stem_channels": 2, "cells_per_stack": 1, "epochs": 4, "device": "cpu", "threads": 1, "measure": False}
    cell = nb.Architecture.parse(CELL).cell
    (expected,) = nb.plan("train", architecture=CELL, **small).to_dict("records")
    for given in ({"architecture": cell.hash}, {"architectures": [cell.hash]}):
        (of_name,), (of_table,) = (
            nb.plan("train", table=table, **given, **small).to_dict("records")
            for table in ("embedded", nb.load_table())
        )
        assert of_name == pytest.approx(of_table, nan_ok=True)
        assert of_name["backward_flops"] == expected["backward_flops"]
    with refuses(nb.UserError, "nowhere"):
        nb.plan("train", architecture=cell.hash, table="nowhere", **small)


# Expected hours -------------------------------------------------------------------------------------------------------


def test_hours_follow_published_throughput_and_bandwidth() -> None:
    shared = Work(flops=Flops(1e15, 2e15))
    seconds = {name: gpu.seconds(shared) for name, gpu in GPUS.items()}
    assert seconds["v100"] == pytest.approx(seconds["rtx-2080-ti"] * 13.4 / 15.7)  # arithmetic gains less
    assert seconds["rtx-4090"] == pytest.approx(seconds["rtx-2080-ti"] * 616 / 1008)  # memory gains less
    alone = Work(flops=Flops(1e15, 2e15), alone=3e15, images=1e6)
    assert REFERENCE.seconds(alone) == pytest.approx(3e15 / (TRAINING * 13.4e12) + 1e6 * SECONDS_PER_IMAGE)
    both = shared.followed_by(alone)
    assert REFERENCE.seconds(both) == pytest.approx(REFERENCE.seconds(shared) + REFERENCE.seconds(alone))


def test_the_formula_gives_the_published_times_of_trainings() -> None:
    """NAS-Bench-201's table has the times of its 15,625 trainings on a GTX 1080 Ti: within a factor of 1.5 for 95 %."""
    table = nb.load_table("nb201")
    macs = table.column("cifar10-valid.flops").ravel().astype(float)
    times = table.column("cifar10-valid.training_time").reshape(len(macs), len(table.epochs), -1)[:, -1].mean(axis=1)
    images, gpu = 25_000 * table.epochs[-1], GPUS["gtx-1080-ti"]
    works = [Work(flops=Flops(2 * x * images, 4 * x * images), alone=6 * x * images, images=images) for x in macs[::50]]
    ratios = pandas.Series([gpu.seconds(work) for work in works]) / times[::50]
    assert 0.95 < ratios.median() < 1.05
    assert ((ratios < 1.5) & (ratios > 1 / 1.5)).mean() > 0.93


def test_a_gpu_with_too_little_memory_has_no_hours() -> None:
    row = Row("a", "search", 1, Work(flops=Flops(1e18, 0.0), gpu_memory=30e9))
    values = Plan("title", (row,), ("v100", "a100")).values(row)
    assert values["hours_v100"] > 0 and values["hours_a100"] > 0
    values = Plan("title", (row,), ("t4",)).values(row)
    assert math.isnan(values["hours_t4"])


def test_the_names_of_gpus_on_the_command_line_are_those_of_the_table() -> None:
    assert list(get_args(GPUName)) == list(GPUS)
    assert all(gpu.source and gpu.name == name for name, gpu in GPUS.items())
    assert Plan("title", ()).gpus == USUAL


# Output ---------------------------------------------------------------------------------------------------------------


def made(parts: int = 2) -> Plan:
    each = Work(10, Flops(2.4e15, 4e15), 0.0, 0, 1.9e9, 2.6e9, 3e6)
    rows = [Row(f"s{number}/a-long-name-of-a-curve", "search", 3, each, 7200.0) for number in range(parts)]
    return Plan("figure2, full scale", tuple(rows), notes=("A note.",), name="figure2")


def shown(plan: Plan, width: int = 80) -> list[str]:
    from rich.console import Console

    said = io.StringIO()
    show(plan, Console(file=said, width=width))
    return [line.rstrip() for line in said.getvalue().splitlines()]


def test_a_plan_is_an_aligned_table_of_at_most_80_columns() -> None:
    lines = shown(made())
    assert all(len(line) <= 80 for line in lines if not line.startswith("Times are"))
    (work_line, time_line) = [line.split() for line in lines if line.startswith("all")]
    assert work_line[1:] == ["6", "20", "4.8", "P", "8", "P", "1.9", "GB", "2.6", "GB", "6.0", "MB"]
    assert time_line[1] == "4" and float(time_line[2]) > float(time_line[-1])
    assert any(line.startswith("expected hours") for line in lines)
    assert "A note." in lines
    assert any(line.startswith("s0/a-long-name-of-a-curve  ") for line in lines)
    narrow = shown(made(), width=78)
    assert "s0/" in narrow and any(line.startswith("a-long-name-of-a-curve  ") for line in narrow)


def test_columns_without_values_are_left_out() -> None:
    look_ups = Row("nb201/random", "study", 1, Work(memory=2.5e8, disk=1e6), seconds=90.0)
    lines = shown(Plan("1 study", (look_ups,)))
    assert [line.split() for line in lines[2:7]] == [
        ["main"],
        ["runs", "memory", "disk"],
        ["nb201/random", "1", "250", "MB", "1.0", "MB"],
        [],
        ["expected", "seconds", "here"],
    ]
    assert lines[7].split() == ["nb201/random", "90"] and "GPU" not in " ".join(lines)
    untimed = " ".join(shown(Plan("1 study", (replace(look_ups, seconds=None),))))
    assert missing(untimed, "expected", "Times are") == ["expected", "Times are"]


def test_json_and_csv_have_the_numbers_of_the_frame(capsys: pytest.CaptureFixture[str]) -> None:
    plan = made()
    frame = plan.as_frame()
    read = pandas.read_csv(io.StringIO(plan.as_csv()))
    pandas.testing.assert_frame_equal(read, frame, check_dtype=False)
    content = json.loads(plan.as_json())
    assert content["rows"] == frame.to_dict("records") and content["notes"] == ["A note."]
    assert [gpu["title"] for gpu in content["gpus"]] == ["RTX 2080 Ti", "V100", "A100", "H100"]
    cli.main(["plan", "nas201-figure6", "--only", "random", "--scale", "quick", "--no-measure", "--json"])
    (row,) = json.loads(capsys.readouterr().out)["rows"]
    assert row["hours_here"] is None and row["runs"] == 1
    cli.main(["plan", "nas201-figure6", "--only", "random", "--scale", "quick", "--no-measure", "--csv"])
    assert pandas.read_csv(io.StringIO(capsys.readouterr().out))["part"].tolist() == ["nb201/random"]


@pytest.mark.parametrize(
    ("function", "number", "text"),
    [
        (flops, 0, "–"),
        (flops, 1.96e15, "2 P"),
        (flops, 999.6e12, "1 P"),
        (flops, 12_300, "12 k"),
        (two_digits, 0.0001, "<0.01"),
        (two_digits, 0.123, "0.12"),
        (two_digits, 1234.0, "1,200"),
        (two_digits, math.nan, "–"),
        (size, 1.44e9, "1.4 GB"),
        (size, 29.6e6, "30 MB"),
        (size, 9.96e6, "10 MB"),
        (size, 1.24e6, "1.2 MB"),
        (size, 10, "0.1 MB"),
    ],
)
def test_numbers_are_rounded_for_an_estimate(function: Any, number: float, text: str) -> None:
    assert function(number) == text


@pytest.mark.parametrize(
    ("hours_here", "unit", "cell"),
    [(7.5, "hours", "7.5"), (0.5, "minutes", "30"), (0.02, "seconds", "72"), (0.0001, "seconds", "0.36")],
)
def test_a_table_of_times_has_one_unit(hours_here: float, unit: str, cell: str) -> None:
    rows = tuple(Row(f"s{n}/a", "study", 1, Work(disk=1e6), seconds=3600 * hours_here / n) for n in (1, 200))
    headings, lines = times_table(Plan("2 studies", rows, has_total=False))
    assert headings[0] == f"expected {unit}" and lines[0][1] == cell
    assert {line[2] for line in lines} == {"–"} and not any(" " in line[1] for line in lines)


def test_a_total_adds_work_and_takes_the_largest_memory() -> None:
    unknown = Row("b", "ranking", 2, Work(1, Flops(1.0, 0.0), memory=9e9))
    both = total([made().rows[0], unknown])
    assert (both.part, both.kind, both.runs, both.seconds) == ("all", "run", 5, None)
    assert (both.work.steps, both.work.memory) == (11, 9e9)


# All figures, and their page ------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def recorded() -> pandas.DataFrame:
    """The plan of every curve that is beside the page."""
    return pandas.read_csv(PAGE.with_suffix(".csv"))


def as_plan(frame: pandas.DataFrame, name: str) -> Plan:
    """Return the summary of a figure's recorded plan."""
    rows = [
        Row(
            row["part"],
            row["kind"],
            row["runs"],
            Work(
                row["steps"],
                Flops(row["forward_flops"], row["backward_flops"]),
                gpu_memory=row["gpu_memory"],
                memory=row["memory"],
                disk=row["disk"],
            ),
        )
        for row in frame[frame["plan"] == name].to_dict("records")
    ]
    return Plan("", (total(rows, name),), has_total=False)


def written_rows(page: str) -> list[list[str]]:
    """Return the cells of the tables in the written part of a page, without headings."""
    part = page.partition(BEGIN)[2].partition(END)[0]
    return [re.split(r"\s*\|\s*", line.strip("| ")) for line in part.splitlines() if line.startswith("| ")]


def test_the_page_has_the_sums_of_the_recorded_plan_of_every_figure(recorded: pandas.DataFrame) -> None:
    rows = written_rows(PAGE.read_text())
    works, times = ({row[0]: row[1:] for row in rows if len(row) == size} for size in (8, 6))
    assert [name for name in works if name in FIGURES] == list(FIGURES) == list(dict.fromkeys(recorded["plan"]))
    hours_of = ["hours_core", *Plan("", ()).hours]
    for name in FIGURES:
        assert works[name] == work_table(as_plan(recorded, name))[1][0][1:]
        sums = recorded.loc[recorded["plan"] == name, hours_of].sum(skipna=False)
        assert times[name] == [two_digits(value) for value in sums]
    gpus = {row[0]: row[1:] for row in rows if len(row) == 7}
    assert gpus["V100"][0] == "15.7" and gpus["V100"][-1] == GPUS["v100"].source


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("nas201-figure6", "nb201/random"),
        ("nats-figure7-size", "cifar10/tunas"),
        ("figure2", "s1/darts"),
        ("figure17", "cells-3/channels-2"),
    ],
)
def test_the_recorded_plan_is_what_is_counted_now(name: str, part: str, recorded: pandas.DataFrame) -> None:
    """One curve of each kind, chosen because it is counted in seconds; counting all curves takes minutes."""
    found = nb.plan(name, only=[part], measure=False)
    wanted = recorded[(recorded["plan"] == name) & (recorded["part"] == part)].reset_index(drop=True)
    assert len(wanted) == 1
    counted, wanted = found.drop(columns="hours_here"), wanted.drop(columns="hours_core")
    assert list(counted) == list(wanted)
    pandas.testing.assert_frame_equal(counted, wanted, check_dtype=False, rtol=1e-6)


def test_hours_on_a_core_and_on_gpus_are_from_the_recorded_measurements() -> None:
    """benchmarks/plans.py wrote the record; the page names the machine of the core."""
    found = json.loads((CHECKOUT / "benchmarks" / "results" / "plans.json").read_text())
    steps, published = found["steps"], found["published"]
    assert steps["searching"]["gigaflops_per_second"] == CORE.searching / 1e9
    assert steps["training"]["gigaflops_per_second"] == CORE.training / 1e9
    assert CORE.title.startswith(steps["machine"].split(",")[0]) and CORE.title in PAGE.read_text()
    assert published["efficiency"] == pytest.approx(EFFICIENCY, rel=0.01)
    assert published["trainings"]["share"] == pytest.approx(TRAINING, rel=0.01)
    assert published["trainings"]["microseconds_per_image"] == pytest.approx(1e6 * SECONDS_PER_IMAGE, rel=0.01)
    work = Work(flops=Flops(2e12, 4e12), alone=1e12)
    assert CORE.seconds(work) == pytest.approx(5e12 / CORE.searching + 1e12 / CORE.training)


def test_the_page_reports_the_errors_that_were_measured() -> None:
    page, found = PAGE.read_text(), json.loads((CHECKOUT / "benchmarks" / "results" / "plans.json").read_text())
    searches, steps = found["here"]["rows"], found["steps"]
    for row in searches:
        (planned, counted), (expected, seconds) = (row[key] for key in ("gigaflops", "search_seconds"))
        cells = (row["run"], row["epochs"], f"{planned / 1e3:.3g}", f"{counted / 1e3:.3g}", f"{expected:.0f}")
        assert f"| {' | '.join(map(str, cells))} | {seconds:.0f} |\n" in page
    for key, digits in {"gigaflops": 3, "search_seconds": 2, "memory": 2, "disk": 2}.items():
        ratios = [row[key][0] / row[key][1] for row in searches]
        assert f"| {min(ratios):.{digits}f} to {max(ratios):.{digits}f} |\n" in page
    assert {"s1", "nb201"} <= {row["run"].split(", ")[1] for row in searches if row["run"].endswith("medium scale")}
    largest = max(steps[kind]["largest_factor"] for kind in ("searching", "training"))
    assert f"within a factor of {largest:.1f}; half of them within {steps['searching']['median_factor']:.1f} |" in page


def test_only_the_written_part_of_a_page_changes(tmp_path: Path) -> None:
    plans = AllPlans("full", {"nats-figure7": made()}, USUAL)
    page = tmp_path / "page.md"
    page.write_text(f"before\n{BEGIN}\nold\n{END}\nafter\n")
    plans.write_page(page)
    text = page.read_text()
    assert text.startswith("before\n") and text.endswith("\nafter\n") and "old" not in text
    assert written_rows(text)[2][0] == "nats-figure7"
    plans.write_page(page)
    assert page.read_text() == text
    page.write_text("nothing\n")
    with refuses(nb.InvalidInputError, str(page), BEGIN):
        plans.write_page(page)
    assert page.read_text() == "nothing\n"


def test_a_page_is_checked_before_the_work_is_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(all_plans, "make_plan", lambda *_, **__: pytest.fail("counted"))
    for page in (tmp_path, tmp_path / "page.md"):
        with exits(capsys, page, BEGIN):
            cli.main(["plan", "--page", str(page)])


def test_all_figures_are_planned_in_one_call(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[Any] = []
    monkeypatch.setattr(all_plans, "make_plan", lambda name, *rest, **given: asked.append((name, given)) or made())
    cli.main(["plan", "--scale", "medium"])
    said = capsys.readouterr().out
    assert [name for name, _ in asked] == [name for name, figure in FIGURES.items() if figure.medium]
    assert not missing(said, "All figures, medium scale", "figure2", "nas201-figure7 includes runs of nas201-table5")
    assert not any(line.startswith("all ") for line in said.splitlines())
    cli.main(["plan", "--scale", "medium", "--csv"])
    assert len(pandas.read_csv(io.StringIO(capsys.readouterr().out))) == len(asked)  # two calls, two rows each


# Refusals -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["figur2"], ["figur2", "figure2"]),
        (["figure6"], ["figure 6", "distribution"]),
        (["search"], ["'search' is a command", "nb1shot1 search --dry-run"]),
        (["figure2", "--gpus", "v1000"], ["unknown GPU 'v1000'; did you mean 'v100'?"]),
        (["figure2", "--gpus", "v100", "v100"], ["--gpus", "v100", "once"]),
        (["figure2", "--scale", "huge"], ["huge", "quick"]),
        (["figure17", "--scale", "medium"], ["figure17 has no medium scale", "--scale quick"]),
        (["figure2", "--only", "s9"], ["s9", "s1"]),
        (["figure2", "--seconds", "1"], ["--seconds", "figure2", "remove"]),
        (["figure2", "--json", "--csv"], ["--json", "--csv"]),
        (["figure2", "--page", "page.md"], ["--page"]),
        (["--only", "s1"], ["--only", "single figure"]),
    ],
)
def test_bad_input_is_refused_in_one_sentence(
    words: list[str], said: list[str], nowhere: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with exits(capsys, *said):
        cli.main(["plan", *words])
    assert list(nowhere.iterdir()) == []


@pytest.mark.parametrize(
    ("line", "named"),
    [
        ("search --scale quick --out run", ["run", "--out"]),
        ("search --scale quick --seeds 0-1 --table nowhere", ["nowhere"]),
        ("search --scale quick --space nb201 --images own.npz", ["own", "cifar100", "--images"]),
        ("tune --scale quick --space nb201 --images own.npz", ["own", "cifar100", "--images"]),
        ("tune --scale quick --space nats-size", ["validation accuracy", "--table", "--objective test_accuracy"]),
        ("reproduce methods-nb201 --scale quick --only gdas --images own.npz", ["own", "cifar100", "--images"]),
        ("tune --scale quick --out run", ["run", "--out"]),
        ("blackbox --out run", ["run", "--out"]),
        (f"train {CELL} --out run", ["run", "--out"]),
        ("blackbox --max-parameters 1", ["--max-parameters 1", "882,570"]),
        ("tune --scale quick --config-space empty.json", ["empty.json", "no hyperparameters"]),
        ("tune --scale quick --config-space other.json", ["other.json", "weight_decey", "weight_decay"]),
        ("tune --scale quick --config-space steps.json", ["'momentum'", "ordinal", "BOHB"]),
        ("train --list list.txt --scale quick --into list.txt", ["list.txt"]),
    ],
)
def test_a_dry_run_refuses_what_the_command_refuses(
    line: str, named: list[str], nowhere: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (nowhere / "run").mkdir()
    (nowhere / "run" / "notes.txt").touch()
    (nowhere / "list.txt").write_text(CELL)
    np.savez(nowhere / "own.npz", images=np.zeros((4, 16, 16, 3), np.uint8), labels=[0, 1, 0, 1])
    decay = {"name": "weight_decey", "type": "uniform_float", "lower": 0, "upper": 1, "log": False, "default_value": 0}
    steps = {"name": "momentum", "type": "ordinal", "sequence": [0.5, 0.9], "default_value": 0.9}
    for name, hyperparameters in (("empty", []), ("other", [decay]), ("steps", [steps])):
        content = {"name": name, "hyperparameters": hyperparameters, "conditions": [], "forbiddens": []}
        content |= {"python_module_version": "1.2", "format_version": 0.4}
        (nowhere / f"{name}.json").write_text(json.dumps(content))
    with exits(capsys, *named):
        cli.main([*line.split(), "--dry-run"])


def test_plans_of_commands_refuse_what_does_not_apply(nowhere: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for command in (["search"], ["tune"], ["blackbox"], ["correlate", "run"]):
        with exits(capsys, "--dry-run", "--resume"):
            cli.main([*command, "--dry-run", "--resume", "somewhere"])
    for name, value in (("--draw-only", []), ("--records", ["a.tar.xz"]), ("--pack", ["a.tar.xz"])):
        with exits(capsys, "--dry-run", name):
            cli.main(["reproduce", "figure2", "--dry-run", name, *value])
    with refuses(nb.InvalidInputError, "unknown figure or command", "serch", "search"):
        nb.plan("serch")
    with refuses(nb.InvalidInputError, "does not draw figure 6", "distribution"):
        nb.plan("figure6")
    with refuses(nb.InvalidInputError, "v1000", "v100"):
        nb.plan("figure2", gpus=["v1000"])
    with refuses(nb.InvalidInputError, options="threads"):
        nb.plan("figure2", threads=0)
    with refuses(nb.InvalidInputError, options="seeds"):
        nb.plan("search", seeds=[])
    with refuses(nb.InvalidInputError, options="run"):
        nb.plan("correlate")
    with refuses(nb.InvalidInputError, options="architecture architectures"):
        nb.plan("train")
    assert set(COMMANDS) <= set(cli.COMMANDS)
