"""A figure from the command line to its picture: processes, kills, failures and resuming."""

import shutil
import signal
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas
import pytest
import stalling_search
from forked_jobs import FORK_JOBS, fork_jobs
from matplotlib.text import Text
from refusals import exits, missing, refuses
from rich.console import Console
from tiny_figures import (
    ARGUMENTS,
    DRIVER,
    JOBS,
    ONLY,
    STEM,
    TINY,
    planned,
    refuse_jobs,
    reproduce,
    run_jobs_here,
    shrink,
)
from warm_process import WarmProcess

import nasbench1shot1 as nb
from nasbench1shot1 import cli
from nasbench1shot1.experiments.reproduction import reproducing
from nasbench1shot1.experiments.reproduction.figure_jobs import open_figure
from nasbench1shot1.experiments.reproduction.figures.catalogue import FIGURES
from nasbench1shot1.experiments.reproduction.figures.parts import Curve, Panel, Scale
from nasbench1shot1.experiments.reproduction.results.base import Found, Results
from nasbench1shot1.jobs import process
from nasbench1shot1.jobs.job import wait_until_free

EPOCHS = ("--epochs", "3")


@pytest.fixture(scope="module")
def finished(tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("reproduce") / "figure12"
    with pytest.MonkeyPatch.context() as patch:
        shrink(patch)
        fork_jobs(patch)
        reproduce(out, *EPOCHS, "--only", ONLY[1], "--seeds", "1")  # in a separate process
        run_jobs_here(patch)
        reproduce(out, *EPOCHS)
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


def without_seconds(run: nb.Run) -> list[dict]:
    seconds = ("search_seconds", "simulated_seconds")
    return [{name: value for name, value in line.items() if name not in seconds} for line in run.lines]


def results_in(out: Path) -> Results:
    jobs = planned("figure12", out, only=ONLY, epochs=3)
    results = open_figure("figure12", ONLY).results(jobs, nb.load_table())
    assert results is not None
    return results


def searched(out: Path) -> dict[str, list[dict]]:
    """All recorded lines without times, by name of the search."""
    return {name: without_seconds(nb.load_run(out / name)) for name in JOBS}


def without_first_seed(finished: Path, out: Path) -> Path:
    """The figure before the searches of its first seed started."""
    shutil.copytree(finished, out)
    for name in JOBS[:2]:
        shutil.rmtree(out / name)
    for name in (f"{STEM}.csv", f"{STEM}.png"):
        (out / name).unlink()
    return out


def all_files(out: Path) -> dict[Path, bytes]:
    return {path.relative_to(out): path.read_bytes() for path in out.rglob("*") if path.is_file()}


def test_each_search_equals_a_separate_search_with_its_options(finished, tmp_path):
    """Results depend neither on the number of workers nor on the process."""
    options = {**TINY, "optimizer": "darts", "space": "s1", "epochs": 3, "seed": 1, "weight_decay": 81e-4}
    alone = nb.search(out=tmp_path / "run", threads=1, console=Console(quiet=True), **options)
    there = nb.load_run(finished / JOBS[3])
    assert there.config == alone.config
    assert without_seconds(there) == without_seconds(alone)


def test_the_csv_has_mean_and_spread_of_the_runs_for_every_epoch(finished):
    frame = pandas.read_csv(finished / f"{STEM}.csv")
    assert list(frame.columns[:4]) == ["panel", "curve", "seeds", "epoch"]
    assert len(frame) == 2 * 4
    for name in ONLY:
        runs = [nb.load_run(finished / name / f"seed-{seed}").metrics for seed in (0, 1)]
        own = frame[frame["curve"] == name.partition("/")[2]]
        for column in ("test_regret", "one_shot_validation_error"):
            values = np.array([run[column] for run in runs])
            assert np.allclose(own[f"{column}_mean"], values.mean(axis=0), rtol=0, atol=1e-12)
            assert np.allclose(own[f"{column}_std"], values.std(axis=0, ddof=1), rtol=0, atol=1e-12)
        assert (own["seeds"] == 2).all()


def test_the_picture_shows_the_means_and_states_their_fidelity(finished, tiny):
    table, results = nb.load_table(), results_in(finished)
    drawn = results.draw()
    assert (finished / f"{STEM}.png").read_bytes()[:4] == b"\x89PNG"
    upper, lower = drawn.axes
    assert upper.get_position().y0 > lower.get_position().y1
    *curves, mean = upper.get_lines()
    assert list(mean.get_ydata()) == pytest.approx([100 * table.mean_regret("s1")] * 2)
    for artists, values in ((curves, "test_regret"), (lower.get_lines(), "one_shot_validation_error")):
        for frame, artist in zip(results.by_epoch.values(), artists, strict=True):
            assert artist.get_ydata() == pytest.approx(100 * frame[f"{values}_mean"].to_numpy())
    assert len(upper.collections) == len(lower.collections) == 2  # bands
    assert all(band.get_paths()[0].vertices[:, 1].min() >= 0 for band in upper.collections)
    said = "\n".join(text.get_text() for text in drawn.findobj(Text))
    for words in (
        "After figure 12 of NAS-Bench-1Shot1: weight decay of the weights, space 1\nweight decay 1e-4, weight decay 81",
        "quick scale: 2 channels × 1 cell, 40 + 40 images of cifar10-sample",
        "3 epochs, 2 seeds\npaper: 16 channels × 9 cells, 25,000 + 25,000 images (20,000 + 20,000 in tuning)",
        "but not how they rank",
        "predicted)",
        "mean and range of 2 seeds",
        "mean over the space",
        table.id,
        table.fidelity(),
    ):
        assert words in said


def test_every_caption_names_the_band_and_each_spread_has_its_own(finished, tiny):
    results = results_in(finished)
    drawn = {spread: replace(results, spread=spread).draw() for spread in ("ci", "std", "range")}
    for spread, words in (
        ("ci", "mean and range of"),  # two seeds have no other interval
        ("std", "standard deviation"),
        ("range", "minimum to maximum"),
    ):
        band = drawn[spread].legends[0].get_title().get_text().replace("\n", " ")
        assert words in band and "2 seeds" in band
        assert drawn[spread].caption.startswith(f"Shown: {band}.\n")
    highest = {
        spread: max(float(band.get_paths()[0].vertices[:, 1].max()) for band in figure.axes[0].collections)
        for spread, figure in drawn.items()
    }
    assert highest["std"] > highest["range"] >= highest["ci"]
    frames = {spread: replace(results, spread=spread).frame for spread in ("std", "range")}
    for ends in ("test_regret_low", "test_regret_high"):
        assert (frames["std"][ends] - frames["range"][ends]).abs().max() > 1e-4
    assert frames["std"]["test_regret_std"].equals(frames["range"]["test_regret_std"])


def test_curves_take_colours_and_labels(finished, tiny):
    results = results_in(finished)
    usual, light = [line.get_color() for line in results.draw().axes[0].get_lines()], "weight decay 1e-4"
    figure = results.draw("paper", colors={"heavy": "red"}, labels=[light, "heavy"])
    upper, lower = figure.axes
    for axes in (upper, lower):
        assert [line.get_color() for line in axes.get_lines()][:2] == [usual[0], "red"]
    assert [text.get_text() for text in figure.legends[0].get_texts()][:2] == [light, "heavy"]
    assert results.draw(colors=["red", "blue"]).axes[1].get_lines()[1].get_color() == "blue"
    for options, words in (
        ({"labels": ["one"]}, ("labels=", "1 label", "2 curves")),
        ({"colors": ["red"]}, ("colors=", "1 colour", "2 curves")),
        ({"colors": {"darts": "red"}}, ("'darts'", "weight decay 81e-4")),
        ({"colors": ["red", "reddish"]}, ("'reddish'",)),
    ):
        with refuses(nb.InvalidInputError, *words):
            results.draw(**options)


def test_the_legend_of_a_single_panel_with_five_curves_fits(finished, tiny):
    results, panel = results_in(finished), FIGURES["figure12"].full.panels[1]
    found = [Found(panel, curve, results.found[0].runs) for curve in panel.curves]
    figure = replace(results, found=found).draw()
    (legend,) = figure.legends
    box = legend.get_window_extent()
    assert len(legend.get_texts()) == 6 and 0 <= box.x0 < box.x1 <= figure.bbox.width


def test_repeating_the_command_searches_nothing_and_draws_the_same_figure(finished, tiny, no_process, capsys):
    before = all_files(finished)
    reproduce(finished, *EPOCHS)
    said = capsys.readouterr().out
    assert not missing(said, "4 searches", "3 epochs", "4 are")
    assert all_files(finished) == before


def test_the_picture_has_the_given_format(finished, tiny, no_process, tmp_path):
    out = shutil.copytree(finished, tmp_path / "figure")
    reproduce(out, *EPOCHS, "--format", "svg")
    assert (out / f"{STEM}.svg").read_bytes().startswith(b"<?xml")
    assert (out / f"{STEM}.csv").read_bytes() == (finished / f"{STEM}.csv").read_bytes()


def test_finished_searches_are_scored_on_another_table(finished, tiny, no_process, tmp_path, measured_table, capsys):
    out = shutil.copytree(finished, tmp_path / "figure")
    measured_table.save(tmp_path / "measured")
    reproduce(out, *EPOCHS, "--table", str(tmp_path / "measured"))
    frame = pandas.read_csv(out / f"{STEM}.csv")
    regrets = [[measured_table.regret(arch) for arch in nb.load_run(out / name).architectures] for name in JOBS[::2]]
    assert np.allclose(frame["test_regret_mean"][:4], np.mean(regrets, axis=0), rtol=0, atol=1e-12)
    assert (frame["test_regret_measured"] == 1).all()
    assert "predicted" not in capsys.readouterr().out
    assert searched(out) == searched(finished)


@pytest.mark.parametrize(
    ("arguments", "values"),
    [
        (("--epochs", "7"), "--epochs 3 7 --out"),
        ((*EPOCHS, "--preset", "original"), "--preset corrected original"),
        ((*EPOCHS, "--threads", "2"), "--threads 1 2"),
    ],
)
def test_searches_with_other_options_are_refused(finished, tiny, no_process, capsys, arguments, values):
    before = all_files(finished)
    with exits(capsys, *values.split()):
        reproduce(finished, *arguments)
    assert all_files(finished) == before


@pytest.mark.parametrize("left", [0, 2])
def test_a_finished_search_with_missing_epochs_is_refused(finished, tiny, no_process, tmp_path, capsys, left):
    out = shutil.copytree(finished, tmp_path / "figure")
    metrics = out / JOBS[1] / "metrics.jsonl"
    lines = metrics.read_text().splitlines(keepends=True)
    metrics.write_text("".join(lines[:left])) if left else metrics.unlink()
    with exits(capsys, metrics, "summary.json"):
        reproduce(out, *EPOCHS)


def test_only_the_search_with_a_removed_folder_is_repeated(finished, tiny, here, tmp_path):
    out = shutil.copytree(finished, tmp_path / "figure")
    shutil.rmtree(out / JOBS[1])
    reproduce(out, *EPOCHS)
    assert searched(out) == searched(finished)


def test_a_single_seed_has_no_spread(finished, tiny, no_process, tmp_path, capsys):
    out = shutil.copytree(finished, tmp_path / "figure")
    reproduce(out, *EPOCHS, "--seeds", "1")
    frame = pandas.read_csv(out / f"{STEM}.csv")
    assert frame[[name for name in frame if name.endswith("_std")]].isna().all(axis=None)
    assert frame["test_regret_mean"].notna().all()
    said = capsys.readouterr().out
    assert "±" not in said
    assert "%" in said


def test_the_folder_of_another_figure_is_refused(finished, no_process, capsys):
    before = all_files(finished)
    with exits(capsys, finished, "figure12", "figure10", "--out"):
        cli.main(["reproduce", "figure10", "--scale", "quick", "--out", str(finished)])
    assert all_files(finished) == before


def test_finished_searches_do_not_need_the_images(finished, tiny, no_process, monkeypatch):
    monkeypatch.setattr("nasbench1shot1.images.image_set.load_images", None)
    monkeypatch.setattr(reproducing, "measure", None)
    before = all_files(finished)
    reproduce(finished, *EPOCHS)
    assert all_files(finished) == before


def test_adding_seeds_runs_only_the_missing_searches(finished, tiny, here, tmp_path, capsys):
    out = shutil.copytree(finished, tmp_path / "figure")
    reproduce(out, *EPOCHS, "--seeds", "0-2", "--only", ONLY[0])
    assert "3 searches of 3 epochs; 2 are finished" in capsys.readouterr().out
    assert (pandas.read_csv(out / "figure12-darts-weight-decay-1e-4.csv")["seeds"] == 3).all()
    for kind in ("csv", "png"):  # from the other part
        assert (out / f"{STEM}.{kind}").read_bytes() == (finished / f"{STEM}.{kind}").read_bytes()
    assert searched(out) == searched(finished)


def test_leftovers_of_a_process_that_died_before_recording_options_do_not_block_a_figure(
    finished, tiny, here, tmp_path
):
    out = shutil.copytree(finished, tmp_path / "figure")
    torso = out / JOBS[0]
    for path in torso.iterdir():
        if path.name != "environment.json":
            path.unlink()
    (torso / ".config.json.1.part").write_text("{")
    reproduce(out, *EPOCHS)
    assert searched(out) == searched(finished)


def test_an_unrelated_folder_is_left_alone(tiny, here, tmp_path, capsys):
    mine = tmp_path / "figure" / JOBS[0] / "mine.txt"
    mine.parent.mkdir(parents=True)
    mine.write_text("mine")
    with pytest.raises(SystemExit):
        reproduce(tmp_path / "figure", *EPOCHS, "--only", ONLY[0], "--seeds", "0")
    assert not missing(capsys.readouterr().err, mine.parent)
    assert mine.read_text() == "mine"


# Kills and interruptions. ---------------------------------------------------------------------------------------------


def begin(out: Path, *epochs: str) -> WarmProcess:
    """Start the command in a new process and wait until two searches have recorded epoch 1."""
    process = WarmProcess(FORK_JOBS + DRIVER, *ARGUMENTS, "--out", str(out), *epochs, "--workers", "2")
    while not all(lines_of(out, name) >= 2 for name in JOBS[:2]):
        assert process.poll() is None, process.communicate()
        time.sleep(0.01)
    return process


def lines_of(out: Path, name: str) -> int:
    metrics = out / name / "metrics.jsonl"
    return metrics.read_bytes().count(b"\n") if metrics.exists() else 0


def wait_until_unlocked(out: Path) -> None:
    """Wait until the process is gone and its lock is free; otherwise resuming could be refused."""
    for name in JOBS:
        wait_until_free(out / name, 60)


def test_a_killed_and_continued_figure_equals_an_uninterrupted_one(finished, tiny, tmp_path, monkeypatch):
    out = without_first_seed(finished, tmp_path / "figure")
    with begin(out, *EPOCHS) as process:
        process.send_signal(signal.SIGKILL)
    wait_until_unlocked(out)  # its processes end by themselves: this returns
    assert not (out / f"{STEM}.csv").exists()
    run_jobs_here(monkeypatch)
    reproduce(out, *EPOCHS)
    assert searched(out) == searched(finished)
    assert (out / f"{STEM}.csv").read_bytes() == (finished / f"{STEM}.csv").read_bytes()


def test_a_second_command_is_refused_and_ctrl_c_explains_how_to_continue(tiny, no_process, tmp_path, capsys):
    out, long = tmp_path / "figure", ("--epochs", "400")  # no search finishes before the interruption
    with begin(out, *long) as process:
        with pytest.raises(SystemExit):
            reproduce(out, *long)
        process.send_signal(signal.SIGINT)
        said = process.communicate()[1]
    assert not missing(capsys.readouterr().err, out)
    assert process.returncode == 130
    assert not missing(said, out)
    assert "Traceback" not in said
    assert min(lines_of(out, name) for name in JOBS[:2]) >= 2
    with pytest.raises(AssertionError, match=JOBS[0]):
        reproduce(out, *long)


def test_a_killed_search_does_not_stop_the_others_and_is_retried(finished, tiny, tmp_path, monkeypatch, capsys):
    out, real = without_first_seed(finished, tmp_path / "figure"), process.send

    def start_and_kill_the_first(job, running, *args):
        if job.name != JOBS[0]:
            return real(job, running, *args)
        real(replace(job, command=stalling_search.COMMAND), running, *args)
        while lines_of(out, job.name) < 2:
            assert running.is_alive
            time.sleep(0.01)
        running.end()

    with monkeypatch.context() as patch, pytest.raises(SystemExit) as stopped:
        fork_jobs(patch)
        patch.setattr(process, "send", start_and_kill_the_first)
        reproduce(out, *EPOCHS)
    output = capsys.readouterr()
    assert stopped.value.code == 2
    assert not missing(output.err, "1 of 4", f"{JOBS[0]}:", "signal 9")
    assert [nb.load_run(out / name).is_finished for name in JOBS] == [False, True, True, True]
    seeds = pandas.read_csv(out / f"{STEM}.csv").groupby("curve")["seeds"].first()
    assert seeds.to_dict() == {"weight-decay-1e-4": 1, "weight-decay-81e-4": 2}
    run_jobs_here(monkeypatch)
    reproduce(out, *EPOCHS)
    assert searched(out) == searched(finished)


def test_a_search_that_cannot_finish_is_reported_and_the_rest_is_drawn(tiny, here, tmp_path, monkeypatch, capsys):
    curves = (
        Curve("calm", "calm", {"optimizer": "darts"}),
        Curve("wild", "wild", {"optimizer": "darts", "learning_rate": 1e30, "grad_clip": 1e30}),
    )
    panels = (Panel("s1", "s1", {"space": "s1", "images_per_half": 400}, curves),)
    scale = Scale(panels, {**TINY, "threads": 1})
    monkeypatch.setitem(FIGURES, "figure12", replace(FIGURES["figure12"], full=scale, quick=scale))
    monkeypatch.setattr("tiny_figures.ARGUMENTS", ["reproduce", "figure12", "--scale", "quick"])  # all of it
    out = tmp_path / "figure"
    with pytest.raises(SystemExit) as stopped:
        reproduce(out, "--epochs", "1", "--seeds", "0")
    output = capsys.readouterr()
    assert stopped.value.code == 2
    assert not missing(output.err, "1 of 2", "s1/wild/seed-0:", "diverged") and "s1/wild/seed-0: FAILED:" in output.out
    assert pandas.read_csv(out / "figure12.csv")["curve"].unique().tolist() == ["calm"]
    assert (out / "figure12.png").exists()


def test_an_unfinished_part_is_named_in_the_caption(finished, tiny, tmp_path):
    out = shutil.copytree(finished, tmp_path / "figure")
    shutil.rmtree(out / JOBS[3])
    results = results_in(out)
    drawn = results.draw()
    assert "finished so far: 3 of 4 (darts/weight-decay-81e-4 1)" in "\n".join(
        text.get_text() for text in drawn.findobj(Text)
    )
    assert results.frame.groupby("curve")["seeds"].first().to_dict() == {
        "weight-decay-1e-4": 2,
        "weight-decay-81e-4": 1,
    }
