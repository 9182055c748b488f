"""One-shot versus true ranking: all files of a ranking, compared with plain computations."""

import io
import json
import re
import shutil
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pandas
import pytest
import torch
from command_line import command
from killed_run import assert_killed
from quick_ranking import quick_ranking
from refusals import fails, refuses
from rich.console import Console
from scipy import stats
from tiny_search import FOR_TINY, UNLIKE, search
from torch.nn import functional as F
from unrendered import save_unrendered

import nasbench1shot1 as nb
from nasbench1shot1.experiments.correlation import correlating, evaluation, expectation, outcome
from nasbench1shot1.experiments.correlation.expectation import Expectation
from nasbench1shot1.experiments.correlation.options import default_images
from nasbench1shot1.experiments.correlation.recomputed import spearman_by_epoch
from nasbench1shot1.experiments.correlation.record import CORRELATIONS, RELIABILITY
from nasbench1shot1.experiments.correlation.reliability import ImagesNeeded
from nasbench1shot1.experiments.correlation.screen import show
from nasbench1shot1.ground.files import write_json
from nasbench1shot1.one_shot_search.beginning import load_halves
from nasbench1shot1.runs.folder import METRICS

RANKING = {"architectures": 12, "images": 40, "resamples": 5, "threads": 1, "device": "cpu", "budgets": (12, 108)}


def correlate(run, out=None, whole=False, **options):
    """Rank; pictures and time estimates are made only for tests that request them."""
    with nullcontext() if whole else quick_ranking():
        return nb.correlate(run, out=out, console=Console(quiet=True), **{**RANKING, **options})


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("search") / "run"
    options = {"cells": 2, "channels": 8, "architecture_learning_rate": 3e-4, "preset": "original"}
    options["image_side"] = 16  # with fewer pixels, the errors of a few architectures can be equal
    return search(folder, epochs=3, keep_weights_every=1, **options)


@pytest.fixture(scope="module")
def ranking(run, tmp_path_factory):
    return correlate(run, tmp_path_factory.mktemp("ranking") / "ranking", whole=True, epochs="1,3")


def plain_scores(run, epoch, architectures, rows, weights=lambda net, arch: net.space.one_hot(arch)):
    """Errors and losses of architectures by the full supernet, with running batch-norm statistics."""
    net, _ = run.supernet(epoch)
    images, _ = _images(run)
    pixels, labels = images.batch(torch.from_numpy(rows))
    x = (pixels.permute(0, 3, 1, 2).float() / 255 - torch.tensor(images.mean)[:, None, None]) / torch.tensor(
        images.std
    )[:, None, None]
    found = []
    with torch.no_grad():
        for arch in architectures:
            logits = net(x, weights(net, arch))
            found.append(((logits.argmax(1) != labels).float().mean().item(), F.cross_entropy(logits, labels).item()))
    return np.array(found).T


def _images(run):
    from nasbench1shot1.one_shot_search.options import recorded_search

    return load_halves(recorded_search(run.config, run.folder).common)


def test_scores_equal_separate_evaluations(run, tmp_path):
    ranking = correlate(run, tmp_path / "ranking", batch_norm="running", epochs=[2])
    scores, space = ranking.scores(2), nb.search_space("s1")
    assert (scores.numbers.dtype, scores.errors.dtype, scores.losses.dtype) == (np.int64, np.float32, np.float32)
    assert len(scores.numbers) == 12
    assert (np.diff(scores.numbers) > 0).all()
    assert set(scores.numbers) <= set(space.numbers("no_loose_ends"))
    _, split = _images(run)
    assert len(set(scores.image_rows)) == 40
    assert set(scores.image_rows) <= set(split.architecture)
    errors, losses = plain_scores(run, 2, [space[int(n)] for n in scores.numbers], scores.image_rows)
    np.testing.assert_allclose(scores.errors, errors, atol=1e-6)
    np.testing.assert_allclose(scores.losses, losses, rtol=1e-4)


def test_the_frame_agrees_with_scipy(ranking):
    space, table, frame = nb.search_space("s1"), nb.load_table(), ranking.correlations
    assert list(frame) == ["epoch", "budget", "split", "criterion", "scope", "value", "low", "high", "n", "measured"]
    assert set(zip(frame["budget"], frame["split"], strict=True)) == {
        (12, "validation"),
        (108, "validation"),
        (108, "test"),
    }
    for epoch in (1, 3):
        scores = ranking.scores(epoch)
        metrics = table.query([space[int(n)] for n in scores.numbers])
        for split, accuracy in (("validation", metrics.validation_accuracy), ("test", metrics.test_accuracy)):
            rows = frame.query(
                f"epoch == {epoch} and budget == 108 and split == '{split}' and scope == 'all' and n == 12"
            )
            rows = rows[rows.n == 12].set_index("criterion")
            for predictor, values in (("error", scores.errors), ("loss", scores.losses)):
                for name, function in (
                    ("spearman", stats.spearmanr),
                    ("kendall", stats.kendalltau),
                    ("pearson", stats.pearsonr),
                ):
                    expected = function(values.astype(np.float64), 1 - accuracy).statistic
                    assert rows.loc[f"{name}_{predictor}", "value"] == pytest.approx(expected, abs=1e-9)
            measured = metrics.is_measured(f"{split}_accuracy").mean() if split == "test" else 0  # shrunk estimates
            assert rows["measured"].to_numpy() == pytest.approx(measured)
    assert (frame["low"] <= frame["high"]).all()


def test_the_folder_records_the_options(ranking, run):
    assert nb.open_run(ranking.folder).summary == ranking.summary
    summary = ranking.summary
    assert (summary["budget"], summary["split"], summary["images"]) == (108, "test", 40)
    space = nb.search_space("s1")
    rows = nb.load_table().query([space[int(number)] for number in ranking.scores(3).numbers])
    assert summary["measured"] == pytest.approx(rows.is_measured("test_accuracy").mean())
    assert set(summary["epochs"]) == {"1", "3"}
    assert summary["epochs"]["3"]["spearman_error"]["n"] == 12
    assert ranking.config["run"] == str(run.folder)
    assert [line["epoch"] for line in ranking.lines] == [1, 3]
    best = ranking.scores(3)
    first = nb.search_space("s1")[int(best.numbers[np.lexsort((best.losses, best.errors))[0]])]
    assert ranking.lines[1]["predicted_best"] == str(first)
    for name in ("ranking.png", "scatter.png"):
        assert (ranking.folder / name).read_bytes().startswith(b"\x89PNG")
    assert {"epoch", "predictor", "images", "spearman"} <= set(ranking.reliability)


@pytest.mark.parametrize("optimizer", [*UNLIKE, "random-ws", "spos", "fair-darts", "oles"])
def test_runs_of_every_kind_of_optimizer_can_be_ranked(optimizer, tmp_path):
    few = {"epochs": 1, "images_per_half": 20, **FOR_TINY.get(optimizer, {})}
    if optimizer in (
        "beta-darts",
        "lambda-darts",
        "oles",
    ):  # they refuse a single step of Λ, which would equal DARTS's
        few |= {"epochs": 2, "batch_size": 10}
    searched = search(tmp_path / "run", optimizer=optimizer, keep_weights_every=1, **few)
    ranking = correlate(searched, images=20, budgets=108)
    assert ranking.folder == searched.folder / "ranking"
    changed = ranking.correlations
    changed["criterion"] = "none"
    criteria = set(ranking.correlations["criterion"])
    without = ("random-ws", "enas", "spos", "is-darts", "fair-darts", "darts-pt")  # the last has decided all choices
    assert ("spearman_probability" in criteria) == (optimizer not in without)


FILES = ("epoch-001.npz", "epoch-003.npz", CORRELATIONS, RELIABILITY, "scatter.png")


def test_a_stopped_and_resumed_ranking_writes_the_same_files(ranking, run, tmp_path, monkeypatch):
    monkeypatch.setattr(evaluation, "CHUNK", 5)
    real, calls = evaluation.scores_of, []

    def stopping(state, shared, architectures):
        calls.append(len(architectures))
        if len(calls) in (2, 5):
            raise KeyboardInterrupt
        return real(state, shared, architectures)

    monkeypatch.setattr(evaluation, "scores_of", stopping)
    monkeypatch.setattr(correlating, "expected_seconds", lambda *given: Expectation(0.0, 0.0))
    out = tmp_path / "ranking"
    with pytest.raises(KeyboardInterrupt, match=f'resume="{out}"'):
        correlate(run, out, epochs="1,3")
    with pytest.raises(KeyboardInterrupt):
        nb.correlate(resume=out, console=Console(quiet=True))
    with refuses(nb.UserError, out):
        _ = nb.open_run(out).correlations
    correlate(run, out, whole=True, epochs="1,3")  # repeating the call continues, too
    assert calls == [5, 5, 5, 2, 5, 5, 5, 2]  # two epochs; each interrupted chunk is evaluated again
    for name in FILES:
        assert (out / name).read_bytes() == (ranking.folder / name).read_bytes(), name


def test_architectures_are_selected_once_and_the_method_is_built_once(run, tmp_path, monkeypatch):
    from nasbench1shot1.experiments.correlation import state

    calls, chunks = {"select_numbers": 0, "untrained_method": 0}, []
    for name in calls:
        real = getattr(state, name)
        monkeypatch.setattr(
            state, name, lambda *given, name=name, real=real: calls.update({name: calls[name] + 1}) or real(*given)
        )
    scores_of = evaluation.scores_of
    monkeypatch.setattr(evaluation, "CHUNK", 5)
    monkeypatch.setattr(evaluation, "scores_of", lambda *given: chunks.append(0) or scores_of(*given))
    monkeypatch.setattr(outcome, "save_figure", save_unrendered)  # the time is estimated
    correlate(run, tmp_path / "ranking", whole=True, epochs="1,3", preset="original")
    assert len(chunks) == 6
    assert calls == {"select_numbers": 1, "untrained_method": 1}


def test_a_killed_process_loses_no_finished_chunk(ranking, run, tmp_path):
    script = f"""
import os, signal
from nasbench1shot1.experiments.correlation import evaluation
from nasbench1shot1.cli import main
evaluation.CHUNK = 4
real, calls = evaluation.scores_of, []
def killing(*given):
    calls.append(0)
    if len(calls) == 4:  # after two of the estimate and one chunk
        os.kill(os.getpid(), signal.SIGKILL)
    return real(*given)
evaluation.scores_of = killing
main("correlate {run.folder} --out {tmp_path}/killed --architectures 12 --images 40 --resamples 5 --threads 1 "
     "--device cpu --budgets 12,108 --epochs 1,3".split())
"""
    assert_killed(script, tmp_path / "killed")
    assert not list(tmp_path.glob("killed/epoch-*"))
    assert len(torch.load(tmp_path / "killed" / "checkpoint.pt", weights_only=True)["current"]["errors"]) == 12
    finished = nb.correlate(resume=tmp_path / "killed", console=Console(quiet=True))
    for name in FILES:
        assert (finished.folder / name).read_bytes() == (ranking.folder / name).read_bytes(), name


def test_another_chunk_size_or_order_writes_the_same_bytes(ranking, run, tmp_path, monkeypatch):
    monkeypatch.setattr(evaluation, "CHUNK", 3)
    other = correlate(run, tmp_path / "other", epochs=(3,))
    assert (other.folder / "epoch-003.npz").read_bytes() == (ranking.folder / "epoch-003.npz").read_bytes()


def test_copies_of_a_cell_are_averaged(run, tmp_path, monkeypatch):
    space = nb.search_space("s1")
    numbers, hashes = space.numbers("no_loose_ends"), {}
    for number in numbers[::7].tolist() + numbers[:200].tolist():
        hashes.setdefault(space[number].cell.hash, set()).add(number)
    chosen = [sorted(group) for group in hashes.values() if len(group) > 1][:5]
    listed = tmp_path / "architectures.txt"
    text = "\n".join(str(space[number]) for group in chosen for number in group) + "\n"
    listed.write_text(text, encoding="utf-8-sig")  # with a byte order mark, as some editors write
    every = correlate(run, tmp_path / "all", architectures=listed, epochs=3)
    means = correlate(run, tmp_path / "mean", architectures=str(listed), epochs=3, copies="mean")
    assert means.correlations["n"].max() == 5
    assert every.correlations["n"].max() == sum(map(len, chosen))
    scores = every.scores(3)
    place = {number: i for i, number in enumerate(scores.numbers.tolist())}
    by_cell = [np.mean([scores.errors[place[number]].astype(np.float64) for number in group]) for group in chosen]
    true = [1 - nb.load_table().query(space[group[0]]).test_accuracy for group in chosen]
    row = means.correlations.query("criterion == 'spearman_error' and split == 'test' and scope == 'all'")
    assert row["value"].item() == pytest.approx(stats.spearmanr(by_cell, true).statistic)


def test_all_and_one_per_cell_are_kinds_of_the_space(run):
    from nasbench1shot1.experiments.correlation.options import ranking_options
    from nasbench1shot1.experiments.correlation.state import select_numbers

    space = nb.search_space("s1")
    for copies, kind in (("all", "no_loose_ends"), ("one", "unique")):
        numbers = select_numbers(ranking_options({"copies": copies}), space, run, 1)
        assert np.array_equal(numbers, space.numbers(kind))


@pytest.mark.parametrize("optimizer", ["darts", "random-ws"])
def test_the_published_evaluation_loses_an_edge(optimizer, tmp_path):
    size = {"epochs": 2, "cells": 2, "channels": 8, "keep_weights_every": 2, "preset": "original"}
    searched = search(tmp_path / "run", optimizer=optimizer, **size, **FOR_TINY.get(optimizer, {}))
    ranking = correlate(searched, preset="original")
    assert ranking.config["batch_norm"] == "running"

    def published(net, arch):
        weights = {key: torch.from_numpy(value).clone() for key, value in net.space.one_hot(arch).items()}
        weights["output_edges"][4] = 0
        if optimizer == "random-ws":
            return weights
        normalised = {key: value / value.sum(-1, keepdim=True) for key, value in weights.items()}
        return {**normalised, "operations": torch.softmax(weights["operations"], dim=-1)}

    scores, space = ranking.scores(2), nb.search_space("s1")
    architectures = [space[int(n)] for n in scores.numbers]
    _, losses = plain_scores(searched, 2, architectures, scores.image_rows, published)
    np.testing.assert_allclose(scores.losses, losses, rtol=1e-4)
    right = correlate(searched, tmp_path / "right", batch_norm="running").scores(2)
    read = np.array([4 in arch.parents[-1] for arch in architectures])
    differs = ~np.isclose(scores.losses, right.losses, rtol=1e-4)
    assert differs[read].mean() > 0.5  # a block whose output is zero contributes nothing
    if optimizer == "random-ws":
        assert not differs[~read].any()


def test_draws_of_the_controller_are_a_scope_and_a_selection(tmp_path, monkeypatch):
    searched = search(tmp_path / "run", optimizer="enas", epochs=1, keep_weights_every=1, **FOR_TINY["enas"])
    drawn = correlate(searched, tmp_path / "drawn", architectures="controller")
    numbers = drawn.scores(1).numbers
    assert 3 < len(numbers) <= 100
    assert set(numbers) <= set(nb.search_space("s1").numbers("no_loose_ends"))
    some = np.union1d(numbers[:4], nb.search_space("s1").numbers("no_loose_ends")[:4])
    monkeypatch.setattr("nasbench1shot1.experiments.correlation.state._all", lambda space, copies: some)
    frame = correlate(searched, tmp_path / "all", architectures="all").correlations
    count = len(set(numbers) & set(some))
    assert frame.query("scope == 'controller'")["n"].max() == count  # other rows have the measured ones only


def test_auto_chooses_a_number_of_images(run, tmp_path):
    ranking = correlate(run, tmp_path / "auto", images="auto:0.01", epochs=3)
    assert 1 <= ranking.config["image_count"] <= 40
    assert len(ranking.scores(3).image_rows) == ranking.config["image_count"]
    found = ranking.summary["auto_images"]
    assert (found["threshold"], found["images"], found["reached"]) == (0.01, ranking.config["image_count"], True)
    assert found["spearman"] >= 0.01


def test_an_unreachable_threshold_is_reported(run, tmp_path, monkeypatch):
    """A reliability of 0.95 with 400 images means 0.655 with 40 images (Spearman-Brown)."""
    needed = ImagesNeeded(400, 0.95, extrapolated=True)
    monkeypatch.setattr(expectation, "images_needed", lambda *given: needed)
    printed = Console(file=io.StringIO(), width=300)
    with quick_ranking():
        ranking = nb.correlate(
            run, out=tmp_path / "auto", console=printed, **{**RANKING, "images": "auto", "epochs": 3}
        )
    sentence = (
        "Number of images (auto): all 40 images of the architecture half miss the threshold of 0.95 and give a "
        "split-half Spearman correlation of 0.655 (extrapolated)."
    )
    assert printed.file.getvalue().count(sentence) == 1
    reached = 0.1 * 0.95 / (1 - 0.9 * 0.95)
    assert ranking.summary["auto_images"] == {
        "threshold": 0.95,
        "spearman": pytest.approx(reached),
        "images": 40,
        "available": 40,
        "extrapolated": True,
        "reached": False,
    }
    resumed = Console(file=io.StringIO(), width=300)
    with quick_ranking():
        nb.correlate(resume=ranking.folder, console=resumed)
    assert sentence in resumed.file.getvalue()
    assert nb.open_run(ranking.folder).summary["auto_images"] == ranking.summary["auto_images"]


def test_a_constant_prediction_is_reported_with_its_cause(run, tmp_path):
    copy = nb.load_run(shutil.copytree(run.folder, tmp_path / "run"))
    path = copy.folder / "weights" / "epoch-003.pt"
    kept = torch.load(path, weights_only=True)
    for name in ("classifier.weight", "classifier.bias"):
        kept["supernet"][name].zero_()
    torch.save(kept, path)
    with pytest.raises(nb.UserError, match=r"12 one-shot.*summary.json"):
        correlate(copy, epochs=3)
    ranking = nb.open_run(copy.folder / "ranking")
    assert len(ranking.scores(3).errors) == 12
    assert {"one-shot errors" in of["cause"] or "one-shot losses" in of["cause"] for of in ranking.summary["undefined"]}
    assert "spearman_error" not in set(ranking.correlations["criterion"])


@pytest.mark.parametrize(
    ("options", "values"),
    [
        ({"epochs": "4"}, "epochs 4 1 2 3"),
        ({"epochs": "every:0"}, "epochs every:0"),
        ({"epochs": "two"}, "epochs two"),
        ({"images": "41"}, "images=41 40"),
        ({"images": "0"}, "images 0"),
        ({"images": "auto:2"}, "images auto:2"),
        ({"budgets": "5"}, "budgets 5 4, 12, 36 108"),
        ({"architectures": "2"}, "architectures 2 3"),
        ({"architectures": "4000"}, "architectures=4000 3,702"),
        ({"architectures": "nowhere.txt"}, "architectures nowhere.txt"),
        ({"architectures": "controller"}, "architectures enas"),
        ({"batch_norm": "none"}, "'none'"),
        ({"resamples": 1}, "resamples 1"),
        ({"epochs": "every:1,2"}, "epochs 1,2"),
        ({"copies": "one", "architectures": "controller"}, "copies one architectures controller"),
        ({"architectures": ["s1:0"]}, "architectures 'controller'"),
        ({"epoch": 3}, "'epoch' 'epochs'"),
    ],
)
def test_bad_input_is_refused_and_nothing_is_written(run, tmp_path, options, values):
    with refuses(nb.InvalidInputError, *values.split()):
        correlate(run, tmp_path / "ranking", **options)
    assert not (tmp_path / "ranking").exists()


def test_a_run_without_weights_explains_how_to_save_them(tmp_path):
    searched = search(tmp_path / "run", epochs=1)
    with pytest.raises(nb.InvalidInputError, match="keep_weights_every=1"):
        correlate(searched)


def test_the_default_number_of_images_is_at_most_the_architecture_half(ranking, run, monkeypatch):
    wanted = []
    monkeypatch.setattr(correlating.running, "start_run", lambda kind, options, *_, **__: wanted.append(options))
    few = {name: value for name, value in RANKING.items() if name != "images"}
    correlating.rank(run, out=ranking.folder / "new", **few)
    assert [options.images for options in wanted] == ["40"]
    resumed = correlating.rank(run, out=ranking.folder, console=Console(quiet=True), epochs="1,3", **few)
    assert resumed.config["images"] == ranking.config["images"] == "40"
    assert [default_images(available) for available in (999, 1_000, 20_000)] == ["999", "1000", "1000"]


def test_another_ranking_in_the_folder_is_left_alone(ranking, run, tmp_path):
    before = {path.name: path.read_bytes() for path in ranking.folder.iterdir()}
    with refuses(nb.InvalidInputError, 30, options="images out"):
        correlate(run, ranking.folder, epochs="1,3", images=30)
    other = search(tmp_path / "other", epochs=1, keep_weights_every=1)
    with refuses(nb.InvalidInputError, run.folder, options="out"):
        correlate(other, ranking.folder)
    assert {path.name: path.read_bytes() for path in ranking.folder.iterdir()} == before


def test_changed_weights_are_not_mixed_with_earlier_scores(run, tmp_path):
    copy = nb.load_run(shutil.copytree(run.folder, tmp_path / "run"))
    ranking = correlate(copy, epochs=3)
    shutil.copy(copy.folder / "weights" / "epoch-002.pt", copy.folder / "weights" / "epoch-003.pt")
    with pytest.raises(nb.UserError, match="weights_sha256"):
        nb.correlate(resume=ranking.folder, console=Console(quiet=True))


def test_damaged_weights_of_any_epoch_are_refused_before_anything_is_written(run, tmp_path):
    copy = nb.load_run(shutil.copytree(run.folder, tmp_path / "run"))
    damaged = copy.folder / "weights" / "epoch-002.pt"
    damaged.write_bytes(damaged.read_bytes()[:1000])
    with refuses(nb.DamagedFileError, damaged):
        correlate(copy, epochs="1,2,3")
    shutil.copy(copy.folder / "weights" / "epoch-001.pt", damaged)
    with refuses(nb.DamagedFileError, damaged):
        correlate(copy, epochs="1,2,3")
    assert not (copy.folder / "ranking").exists()


def test_correlate_runs_from_the_command_line(run, tmp_path):
    out = tmp_path / "r"
    few = "--architectures 12 --images 40 --resamples 5 --threads 1 --device cpu --epochs 3 --budgets 108"
    done = command("correlate", str(run.folder), "--out", str(out), *few.split(), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "Spearman (error)" in done.stdout
    assert "after 108 epochs: " in done.stdout and "predicted" in done.stdout
    assert f"Correlations: {out}" in done.stdout
    assert json.loads((out / "summary.json").read_text())["epochs"]["3"]
    assert set(pandas.read_csv(out / CORRELATIONS)["budget"]) == {108}
    fails(command("correlate", str(run.folder), "--out", str(out), "--epochs", "9", cwd=tmp_path))


@pytest.mark.parametrize(("value", "is_said"), [(0.06, True), (1 / 3, False), (0.0, False), (1.0, False)])
def test_the_screen_calls_a_precision_of_tied_architectures_an_expected_value(value, is_said, ranking):
    printed = Console(file=io.StringIO(), width=300)
    found = {"p@10_error": {"value": value, "low": 0.0, "high": 1.0, "n": 30}}  # 3 architectures
    show({**ranking.summary, "epochs": {"1": found}}, ranking.folder, printed)
    sentence = "P@10 % is the expected value over all orders of architectures with equal one-shot errors."
    assert (sentence in printed.file.getvalue()) == is_said


def test_a_folder_that_is_not_a_run_is_refused(tmp_path):
    with refuses(nb.InvalidInputError, tmp_path):
        nb.correlate(tmp_path)
    with refuses(nb.InvalidInputError, "run"):
        nb.correlate()
    assert Path(tmp_path).exists()


def test_a_report_recomputes_correlations_without_ranking_again(ranking, tmp_path, monkeypatch):
    out, before = tmp_path / "report", {path.name: path.read_bytes() for path in ranking.folder.iterdir()}
    done = command("report", str(ranking.folder), "--out", str(out), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "Spearman (error)" in done.stdout
    for name in (CORRELATIONS, RELIABILITY, "scatter.png", "ranking.png"):
        assert (out / name).read_bytes() == before[name]
    summary = json.loads((out / "summary.json").read_text())
    assert summary == {name: ranking.summary[name] for name in summary}
    assert {path.name: path.read_bytes() for path in ranking.folder.iterdir()} == before
    fails(command("report", str(ranking.folder), "--table", "nb101-sample", "--out", str(out), cwd=tmp_path))
    assert (out / CORRELATIONS).read_bytes() == before[CORRELATIONS]


CSV = {
    "an empty file": lambda text: "",
    "another header": lambda text: "a,b\n",
    "only the header": lambda text: text.splitlines(keepends=True)[0],
    "a cut number": lambda text: text[:-2],
    "lost rows": lambda text: re.sub(r"(?m)^3,.*\n", "", text),
    "another epoch": lambda text: text.replace("\n3,", "\n2,"),
    "text in place of a number": lambda text: text.replace("\n3,", "\nthree,"),
    "an infinite number": lambda text: re.sub(r",[^,]*\n$", ",inf\n", text),
    "a lost number": lambda text: re.sub(r",[^,]*\n$", ",\n", text),
}


@pytest.mark.parametrize("name", [CORRELATIONS, RELIABILITY])
@pytest.mark.parametrize("damage", CSV.values(), ids=CSV.keys())
def test_damaged_correlations_are_refused(ranking, tmp_path, name, damage):
    folder = Path(shutil.copytree(ranking.folder, tmp_path / "ranking"))
    text = (folder / name).read_text()
    changed = damage(text)
    assert changed != text
    (folder / name).write_text(changed)
    with refuses(nb.DamagedFileError, folder / name):
        _ = getattr(nb.open_run(folder), name.removesuffix(".csv"))


@pytest.mark.parametrize("column", ["value", "low", "high", "n"])
def test_correlations_that_differ_from_the_summary_are_refused(ranking, tmp_path, column):
    folder = Path(shutil.copytree(ranking.folder, tmp_path / "ranking"))
    frame = ranking.correlations
    frame[column] += 1
    frame.to_csv(folder / CORRELATIONS, index=False)
    with refuses(nb.DamagedFileError, folder / CORRELATIONS, "summary.json"):
        _ = nb.open_run(folder).correlations


@pytest.mark.parametrize(
    "change",
    [
        {"epochs": []},
        {"epochs": {"3": {"spearman_error": 0.5}}},
        {"epochs": {"3": {"spearman_error": {"value": "0.5", "low": 0.0, "high": 1.0, "n": 3}}}},
        {"epochs": {}},
    ],
)
def test_a_damaged_summary_of_a_ranking_is_refused(ranking, tmp_path, change):
    folder = Path(shutil.copytree(ranking.folder, tmp_path / "ranking"))
    write_json(folder / "summary.json", {**ranking.summary, **change})
    with refuses(nb.DamagedFileError, folder / "summary.json"):
        _ = nb.open_run(folder).result


@pytest.mark.parametrize(
    "change",
    [
        {"evaluated_epochs": []},
        {"evaluated_epochs": [3, 1]},
        {"evaluated_epochs": [1, -3]},
        {"evaluated_epochs": ["1", "3"]},
        {"weights_sha256": {"1": None}},
        {"weights_sha256": {"1": 5, "3": None}},
    ],
)
def test_a_damaged_configuration_of_a_ranking_is_refused(ranking, tmp_path, change):
    folder = Path(shutil.copytree(ranking.folder, tmp_path / "ranking"))
    write_json(folder / "config.json", {**json.loads((folder / "config.json").read_text()), **change})
    with refuses(nb.DamagedFileError, folder / "config.json", *change):
        nb.open_run(folder)


def test_a_moved_run_keeps_its_ranking(run, tmp_path):
    first = nb.load_run(shutil.copytree(run.folder, tmp_path / "first"))
    ranking = correlate(first, epochs=3)
    lines, moved = ranking.lines, tmp_path / "moved"
    first.folder.rename(moved)
    with quick_ranking():
        resumed = nb.correlate(resume=moved / "ranking", console=Console(quiet=True))
    assert resumed.run.folder == moved
    assert resumed.summary["epochs"] == ranking.summary["epochs"]
    assert correlate(nb.load_run(moved), epochs=3).lines == lines
    shutil.move(moved / "ranking", tmp_path / "alone")
    moved.rename(tmp_path / "elsewhere")
    with refuses(nb.InvalidInputError, moved):
        nb.correlate(resume=tmp_path / "alone", console=Console(quiet=True))


@pytest.mark.parametrize("content", ["{}", '{"kind": "tuning", "model": "another program\'s"}'])
def test_the_search_of_a_moved_ranking_is_not_looked_for_in_a_foreign_folder(run, tmp_path, content):
    searched = nb.load_run(shutil.copytree(run.folder, tmp_path / "run"))
    ranking = correlate(searched, tmp_path / "ranking", epochs=3)
    searched.folder.rename(tmp_path / "elsewhere")
    (tmp_path / "config.json").write_text(content)
    with refuses(nb.InvalidInputError, searched.folder):
        _ = nb.open_run(ranking.folder).run


@pytest.mark.parametrize("kept_lines", [0, 3])
def test_a_search_with_missing_lines_is_refused_before_anything_is_evaluated(run, tmp_path, kept_lines):
    copy = Path(shutil.copytree(run.folder, tmp_path / "run"))
    lines = (copy / METRICS).read_text().splitlines(keepends=True)
    (copy / METRICS).write_text("".join(lines[:kept_lines]))
    with refuses(nb.DamagedFileError, copy / METRICS):
        correlate(nb.load_run(copy), tmp_path / "ranking")
    (copy / "summary.json").unlink()  # now a search that was killed after it saved an epoch's weights, and resumed
    with refuses(nb.UserError, copy, "epoch", 3, METRICS, options="epochs"):
        correlate(nb.load_run(copy), tmp_path / "ranking", epochs="3")
    assert not (tmp_path / "ranking").exists()


def test_changed_scores_are_refused(ranking, tmp_path):
    copy = nb.open_run(shutil.copytree(ranking.folder, tmp_path / "ranking"))
    path = copy.folder / "epoch-003.npz"
    arrays = dict(np.load(path))
    np.savez(path, **{**arrays, "errors": arrays["errors"][::-1]})
    with refuses(nb.DamagedFileError, path):
        copy.scores(3)
    with pytest.raises(nb.InvalidInputError, match=r"epoch 2.*\b1\b.*\b3\b"):
        copy.scores(2)


def test_missing_means_on_blocks_of_images_are_explained(ranking, tmp_path):
    """As in a ranking that was copied from a file of records."""
    left_out = shutil.ignore_patterns("blocks-*.npz")
    copy = nb.open_run(shutil.copytree(ranking.folder, tmp_path / "ranking", ignore=left_out))
    path = copy.folder / "blocks-003.npz"
    with refuses(nb.DamagedFileError, path, "records", "reliability.csv", "copy it"):
        copy.blocks(3)
    assert len(copy.reliability) and copy.is_finished  # its result is in the records
    with pytest.raises(nb.InvalidInputError, match="epoch 2"):
        copy.blocks(2)


def test_a_ranking_without_correlations_has_those_of_its_summary(ranking, tmp_path):
    """As in a ranking that was copied from a file of records."""
    left_out = shutil.ignore_patterns(CORRELATIONS)
    copy = nb.open_run(shutil.copytree(ranking.folder, tmp_path / "ranking", ignore=left_out))
    with refuses(nb.DamagedFileError, copy.folder / CORRELATIONS, "records", "summary.json", "copy it"):
        _ = copy.correlations
    whole, main = ranking.correlations, copy.main_correlations
    assert set(main["epoch"]) == {1, 3} and {"spearman_error", "regret_loss"} <= set(main["criterion"])
    keys = ["epoch", "budget", "split", "criterion", "scope"]
    of_all = whole.drop_duplicates(keys)  # rows of all architectures come first
    expected = main[keys].merge(of_all, on=keys)[list(main)]
    pandas.testing.assert_frame_equal(main, expected, check_dtype=False, rtol=1e-5)
    lines, legends = zip(*[_drawn(of) for of in (ranking, copy)], strict=True)
    assert len(legends[0]) == len(RANKING["budgets"]) and legends[1] == legends[0][-1:]
    np.testing.assert_allclose(lines[1][0], main.query("criterion == 'spearman_error'")["value"])
    assert ranking.recorded_correlations.equals(whole) and copy.recorded_correlations.equals(main)


def _drawn(ranking):
    """The drawn values of Spearman's ρ over the epochs, and the labels of the budgets."""
    axes = nb.draw_ranking(ranking)
    drawn = [line.get_ydata() for line in axes.get_lines() if line.get_marker() == "o"]
    return drawn, [text.get_text() for text in axes.figure.legends[0].get_texts()]


@pytest.mark.parametrize("epoch", ["1", "3"])
@pytest.mark.parametrize("name", ["spearman_error", "spearman_loss"])
def test_a_summary_that_differs_from_the_scores_is_refused(ranking, tmp_path, epoch, name):
    folder, table = Path(shutil.copytree(ranking.folder, tmp_path / "ranking")), nb.load_table()
    frame = spearman_by_epoch(nb.open_run(folder), table)
    assert {"n", "measured", name} <= set(frame) and set(frame["epoch"]) == {1, 3}
    for change in ({"value": 0.123}, None):
        summary = ranking.summary
        if change is None:
            del summary["epochs"][epoch][name]
        else:
            summary["epochs"][epoch][name] |= change
        write_json(folder / "summary.json", summary)
        with refuses(nb.DamagedFileError, folder / "summary.json", "scores"):
            spearman_by_epoch(nb.open_run(folder), table)
    write_json(folder / "summary.json", {**summary, "table_id": "another"})  # which has other values
    assert spearman_by_epoch(nb.open_run(folder), table).equals(frame)


@pytest.mark.parametrize("other", ["ranking", "zeros"])
def test_changed_means_on_blocks_of_images_are_refused(ranking, tmp_path, other):
    """Neither report nor resumed ranking uses the means of another epoch or ranking."""
    copy = nb.open_run(shutil.copytree(ranking.folder, tmp_path / "ranking"))
    path = copy.folder / "blocks-003.npz"
    if other == "ranking":
        shutil.copy(copy.folder / "blocks-001.npz", path)
    else:
        np.savez(path, **{name: np.zeros_like(of) for name, of in np.load(path).items()})
    fails(command("report", copy.folder, "--out", tmp_path / "report", cwd=tmp_path), path)
    with refuses(nb.DamagedFileError, path):
        nb.correlate(resume=copy.folder, console=Console(quiet=True))
