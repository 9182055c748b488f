"""The noise of feedback: which repeats a query observes, and how studies state it."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

import nasbench1shot1 as nb
from nasbench1shot1.black_box_optimizer import Query
from nasbench1shot1.black_box_search.drawing import caption
from nasbench1shot1.black_box_search.goal import describe_feedback
from nasbench1shot1.black_box_search.simulation import TableTrainings
from nasbench1shot1.evaluator import score

NB201 = nb.search_space("nb201")
QUIET: dict[str, Any] = {"console": Console(quiet=True)}


@pytest.fixture(scope="module")
def table() -> nb.Table:
    return nb.load_table("nb201")


@pytest.mark.parametrize(("dataset", "training"), [(None, "cifar10-valid"), ("cifar100", "cifar100")])
def test_queries_draw_a_real_repeat_at_200_epochs_only(table: nb.Table, dataset: str | None, training: str) -> None:
    train = TableTrainings(NB201, table, dataset, np.random.default_rng(0))
    arch = NB201[0]
    short = [train(Query(arch, 12)) for _ in range(20)]
    assert {found.validation_error for found in short} == {
        1 - table.query(arch, 12, dataset=training).validation_accuracy
    }
    long = [train(Query(arch, 200)) for _ in range(300)]
    every = table.query(arch, 200, "all", dataset=training).validation_accuracy
    assert {found.validation_error for found in long} == {1 - one for one in every[1:]}
    counts = np.unique([found.validation_error for found in long], return_counts=True)[1]
    assert counts.min() > 70  # 100 expected
    assert len({found.seconds for found in long}) == 1


def test_missing_repeats_are_not_observed(table: nb.Table) -> None:
    row = int(np.flatnonzero(np.isnan(table.values("validation_accuracy", 200, "cifar10-valid")[:, 3]))[0])
    train = TableTrainings(NB201, table, None, np.random.default_rng(0))
    seen = {train(Query(NB201[row], 200)).validation_error for _ in range(100)}
    assert len(seen) == 2 and not any(map(np.isnan, seen))


def test_a_metric_with_means_only_is_observed_without_noise(table: nb.Table) -> None:
    train = TableTrainings(NB201, table, None, np.random.default_rng(0), metric="validation_loss")
    found = {train(Query(NB201[7], 200)).validation_error for _ in range(10)}
    assert found == {table.query(7, 200, dataset="cifar10-valid").validation_loss}


@pytest.mark.parametrize(
    ("options", "repeats", "sentence"),
    [
        ({}, {"12": [1, 1]}, "Noise-free feedback: one value per architecture, after 12 epochs of training."),
        ({"epochs": 200}, {"200": [2, 3]}, "Feedback: a random one of 2 or 3 repeats after 200 epochs of training."),
        (
            {"optimizer": "hyperband", "seconds": 4e3, "evaluations": None},
            {"12": [1, 1], "200": [2, 3]},
            "Feedback: one value per architecture (noise-free) after 12 epochs, a random one of 2 or 3 repeats after "
            "200 epochs of training.",
        ),
        (
            {"objective": "latency_pixel2"},
            {"12": [1, 1]},
            "Noise-free feedback: one value per architecture.",
        ),
    ],
)
def test_records_and_captions_state_the_noise(
    tmp_path: Path, options: dict[str, Any], repeats: dict[str, list[int]], sentence: str
) -> None:
    given = {"optimizer": "random", "space": "nb201", "evaluations": 5, "repeats": 2, **options}
    study = nb.black_box(out=tmp_path / "study", **given, **QUIET)
    assert study.config["feedback_repeats"] == study.feedback_repeats == repeats
    assert sentence in caption([study]).split("\n")


def test_older_records_say_nothing_and_damaged_ones_are_refused(tmp_path: Path) -> None:
    study = nb.black_box("random", space="s1", evaluations=5, repeats=1, out=tmp_path / "study", **QUIET)
    assert "Noise-free feedback: one value per architecture, after 108 epochs of training." in caption([study])
    path = study.folder / "config.json"
    config = json.loads(path.read_text())
    for damaged in ({"108": [1]}, {"many": [1, 1]}, [1, 1], {"108": ["1", 1]}):
        path.write_text(json.dumps({**config, "feedback_repeats": damaged}))
        with pytest.raises(nb.DamagedFileError, match="feedback_repeats"):
            nb.open_run(study.folder)
    path.write_text(json.dumps({name: said for name, said in config.items() if name != "feedback_repeats"}))
    old = nb.open_run(study.folder)
    assert isinstance(old, nb.BlackBoxStudy) and "eedback:" not in caption([old])


def test_studies_with_different_budgets_share_a_sentence() -> None:
    assert describe_feedback([]) == describe_feedback([{}]) == ""
    assert describe_feedback([{"12": [1, 1]}, {"200": [1, 1]}]) == (
        "Noise-free feedback: one value per architecture, after 12 or 200 epochs of training."
    )
    assert describe_feedback([{"108": [3, 3]}, {"4": [1, 3]}]) == (
        "Feedback: a random one of up to 3 repeats after 4 epochs, a random one of 3 repeats after 108 epochs of "
        "training."
    )


def test_simulated_time_adds_the_training_that_the_test_error_belongs_to(table: nb.Table) -> None:
    found = score(NB201[6111], table)
    assert found.training_seconds == table.query(6111, dataset="cifar10").training_time
    assert found.training_seconds == pytest.approx(2 * table.query(6111, dataset="cifar10-valid").training_time)
    assert found.fields(10.0004)["search_seconds"] == 10  # rounded to milliseconds
    assert found.fields(10.0004)["simulated_seconds"] == round(10 + found.training_seconds, 3)
    other = score(NB201[6111], table, "cifar100")
    assert other.training_seconds == table.query(6111, dataset="cifar100").training_time
