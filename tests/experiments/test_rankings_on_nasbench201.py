"""Rankings of runs on NAS-Bench-201's space: batch-norm modes, selections, resuming, probabilities."""

import shutil
from collections import Counter
from itertools import product
from math import prod
from pathlib import Path

import numpy as np
import pandas
import pytest
from refusals import refuses
from rich.console import Console
from scipy import stats
from tiny_search import search

import nasbench1shot1 as nb
from nasbench1shot1.experiments.correlation import correlating, evaluation
from nasbench1shot1.experiments.correlation.analysis import log_probabilities
from nasbench1shot1.experiments.correlation.correlating import rank
from nasbench1shot1.experiments.correlation.expectation import Expectation
from nasbench1shot1.experiments.correlation.options import ranking_options
from nasbench1shot1.experiments.correlation.recomputed import spearman_by_epoch
from nasbench1shot1.experiments.correlation.record import CORRELATIONS, RELIABILITY
from nasbench1shot1.experiments.correlation.state import select_numbers
from nasbench1shot1.experiments.rescoring import rescore
from nasbench1shot1.ground.files import write_json
from nasbench1shot1.runs.folder import read_object
from nasbench1shot1.supernets.presets import BATCH_NORMS

SPACE = nb.search_space("nb201")
FEW = {"candidates": 3, "candidate_batches": 1, "finalists": 1}
RANKING = {"images": 20, "resamples": 2, "threads": 1, "device": "cpu", "console": Console(quiet=True)}


def searched(folder, optimizer, **options):
    return search(folder, space="nb201", optimizer=optimizer, epochs=1, keep_weights_every=1, **options)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return searched(tmp_path_factory.mktemp("search") / "run", "setn", **FEW)


@pytest.fixture(scope="module")
def ranking(run, tmp_path_factory):
    return rank(run, out=tmp_path_factory.mktemp("ranking") / "ranking", architectures=50, **RANKING)


def test_errors_are_for_the_data_set_of_the_images(ranking):
    table, numbers, found = nb.load_table("nb201"), ranking.scores(1).numbers, ranking.correlations
    assert len(numbers) == 50
    accuracies = table.query([SPACE[int(n)] for n in numbers], dataset="cifar10").test_accuracy
    expected = stats.spearmanr(ranking.scores(1).losses.astype(float), 1 - accuracies).statistic
    row = found.query(
        "budget == 200 and split == 'test' and criterion == 'spearman_loss' and scope == 'all' and n == 50"
    )
    assert row["value"].iloc[0] == pytest.approx(expected, abs=1e-9)


def test_correlations_are_recomputed_on_the_data_set_of_the_search(run, tmp_path):
    folder, dataset = Path(shutil.copytree(run.folder, tmp_path / "run")), "ImageNet16-120"
    write_json(folder / "config.json", {**read_object(folder / "config.json"), "dataset": dataset})
    ranking, table = rank(nb.load_run(folder), architectures=50, **RANKING), nb.load_table("nb201")
    scores = ranking.scores(1)
    accuracies = table.query([SPACE[int(n)] for n in scores.numbers], dataset=dataset).test_accuracy
    frame = spearman_by_epoch(ranking, table)
    found = frame.query("budget == 200 and split == 'test'")["spearman_loss"].item()
    assert found == pytest.approx(stats.spearmanr(scores.losses.astype(float), 1 - accuracies).statistic)
    assert (ranking.dataset, ranking.summary["dataset"]) == (dataset, dataset)
    write_json(ranking.folder / "summary.json", {**ranking.summary, "dataset": 3})
    with refuses(nb.DamagedFileError, ranking.folder / "summary.json", "dataset"):
        spearman_by_epoch(nb.open_run(ranking.folder), table)


def test_the_probability_follows_the_learned_lambda(ranking, run):
    learned = run.architecture_parameters["operations"][1].astype(float)
    probabilities = np.exp(learned) / np.exp(learned).sum(axis=1, keepdims=True)
    numbers = ranking.scores(1).numbers
    given = [prod(probabilities[e, o] for e, o in enumerate(SPACE[int(n)].operations)) for n in numbers]
    found = log_probabilities(SPACE, {"operations": learned}, [SPACE[int(n)] for n in numbers])
    np.testing.assert_allclose(found, np.log(given), rtol=1e-9)
    assert "spearman_probability" in set(ranking.correlations["criterion"])


def test_the_probabilities_of_architectures_agree_with_all_draws():
    """Compare with all 5 ** 6 draws, whose probabilities are products."""
    logits = np.random.default_rng(0).normal(0, 2, (6, 5))
    each = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    expected = Counter()
    for operations in product(range(5), repeat=6):
        expected[operations] += prod(each[range(6), operations])
    architectures = list(SPACE)
    found = np.exp(log_probabilities(SPACE, {"operations": logits}, architectures))
    assert found.sum() == pytest.approx(1)
    np.testing.assert_allclose(found, [expected[arch.operations] for arch in architectures], rtol=1e-9)


@pytest.mark.parametrize("batch_norm", [mode for mode in BATCH_NORMS if mode != "recalibrated"])
def test_every_batch_norm_mode_can_rank(run, ranking, tmp_path, batch_norm):
    other = rank(run, out=tmp_path / "ranking", architectures=50, batch_norm=batch_norm, **RANKING)
    ours, theirs = ranking.scores(1), other.scores(1)
    np.testing.assert_array_equal(ours.numbers, theirs.numbers)
    assert np.isfinite(theirs.losses).all()
    assert (ours.losses != theirs.losses).any()


def test_a_relaxed_method_has_probabilities(tmp_path):
    ranking = rank(searched(tmp_path / "run", "gdas"), out=tmp_path / "ranking", architectures=4, **RANKING)
    assert "spearman_probability" in set(ranking.correlations["criterion"])


@pytest.mark.parametrize(("copies", "kind", "count"), [("one", "unique", 6466), ("all", "all", 15625)])
def test_all_architectures_of_a_kind_are_selected(run, copies, kind, count):
    numbers = select_numbers(ranking_options({"architectures": "all", "copies": copies}), SPACE, run, 1)
    assert len(numbers) == count
    assert (numbers == np.asarray(SPACE.numbers(kind))).all()


def test_the_preset_original_is_refused_in_one_sentence(run, tmp_path):
    with pytest.raises(nb.InvalidInputError, match=r"nb201.*preset="):
        rank(run, out=tmp_path / "ranking", preset="original", **RANKING)
    assert not (tmp_path / "ranking").exists()


def test_a_stopped_and_resumed_ranking_writes_the_same_files(run, ranking, tmp_path, monkeypatch):
    monkeypatch.setattr(evaluation, "CHUNK", 20)
    monkeypatch.setattr(correlating, "expected_seconds", lambda *given: Expectation(0.0, 0.0))
    real, calls = evaluation.scores_of, []

    def stopping(*given):
        calls.append(0)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return real(*given)

    monkeypatch.setattr(evaluation, "scores_of", stopping)
    with pytest.raises(KeyboardInterrupt):
        rank(run, out=tmp_path / "ranking", architectures=50, **RANKING)
    rank(resume=tmp_path / "ranking", console=RANKING["console"])
    assert len(calls) == 4  # the second of three chunks is repeated
    for name in ("epoch-001.npz", CORRELATIONS, RELIABILITY):
        assert (tmp_path / "ranking" / name).read_bytes() == (ranking.folder / name).read_bytes(), name


def test_rescoring_a_run_on_its_table_changes_nothing(run):
    scored = rescore(run, nb.load_table("nb201"))
    pandas.testing.assert_frame_equal(scored, run.metrics)
    assert {"cifar100_test_regret", "ImageNet16-120_test_regret"} <= set(scored)
