"""ECDFs, sorted accuracies, statistics over time, and black-box studies as repetitions of other figures."""

from pathlib import Path

import numpy as np
import pandas
import pytest
from rich.console import Console

import nasbench1shot1 as nb
from nasbench1shot1.experiments.accuracies import PUBLISHED, compare_with_published
from nasbench1shot1.experiments.reproduction.results.black_box import ecdf, final_accuracies
from nasbench1shot1.experiments.reproduction.results.trajectories import repetitions
from nasbench1shot1.experiments.tuning.trajectory import average
from nasbench1shot1.ground.text import counted


def made(folder: Path, space: str, **options: object) -> nb.BlackBoxStudy:
    return nb.black_box("random", space=space, out=folder, repeats=3, console=Console(quiet=True), **options)


def test_an_ecdf_counts_values_not_larger():
    frame = ecdf([3.0, 1.0, 2.0, 2.0])
    assert frame["value"].tolist() == [1.0, 2.0, 2.0, 3.0]
    assert frame["fraction"].tolist() == [0.25, 0.75, 0.75, 1.0]
    for value, fraction in zip(frame["value"], frame["fraction"], strict=True):
        assert fraction == np.mean(np.array([3.0, 1.0, 2.0, 2.0]) <= value)


def test_a_curve_over_time_starts_when_every_search_has_an_incumbent(tmp_path):
    study = made(tmp_path / "study", "s1", seconds=2e4)
    curve, starts = study.regret_curve("quartiles"), study.trajectory.groupby("repeat")["simulated_seconds"].first()
    assert curve.at[0] >= starts.max() and curve.at[-1] == study.final["simulated_seconds"].max()
    for at, mean, low, high in zip(curve.at, curve.centre, curve.low, curve.high, strict=True):
        rows = study.trajectory[study.trajectory["simulated_seconds"] <= at]
        values = rows.groupby("repeat")["test_regret"].last()
        assert (mean, low, high) == pytest.approx((values.mean(), *values.quantile([0.25, 0.75])))


def test_final_accuracies_agree_with_the_table_on_every_data_set(tmp_path):
    study, table = made(tmp_path / "study", "nb201", evaluations=3), nb.load_table("nb201")
    frame = final_accuracies(study, table)
    places = list(dict.fromkeys(zip(frame["dataset"], frame["split"], strict=True)))
    assert {("cifar10", "validation"), *((name, "test") for name in ("cifar10", "cifar100", "ImageNet16-120"))} <= {
        *places
    }
    found = [nb.Architecture.parse(text) for text in study.final["architecture"]]
    for dataset, split in places:
        training = {"cifar10validation": "cifar10-valid"}.get(dataset + split, dataset)
        expected = [getattr(table.query(arch, dataset=training), f"{split}_accuracy") for arch in found]
        own = frame[(frame["dataset"] == dataset) & (frame["split"] == split)]
        assert own["accuracy"].tolist() == sorted(expected)
        assert own["rank"].tolist() == [1, 2, 3]


def test_means_are_shown_next_to_published_ones():
    places = {"dataset": "cifar10", "split": "test", "rank": [1, 2, 1, 2]}
    curves = ["random", "random", "local-search", "local-search"]
    frame = compare_with_published(pandas.DataFrame({"curve": curves, **places, "accuracy": [0.93, 0.94, 0.9, 0.92]}))
    first, second = frame.to_dict("records")
    assert (first["searches"], first["mean"], first["std"]) == (2, pytest.approx(93.5), pytest.approx(0.5**0.5))
    assert (first["published_mean"], first["published_std"]) == (93.70, 0.36)
    assert np.isnan(second["published_mean"]) and second["mean"] == pytest.approx(91)


def test_the_published_values_equal_table_5_of_nasbench_201():
    assert len(PUBLISHED) == 4 * 6
    assert PUBLISHED["regularized-evolution", "cifar100", "validation"] == (71.81, 1.12)
    assert PUBLISHED["reinforce", "ImageNet16-120", "test"] == (45.24, 1.18)
    assert PUBLISHED["bohb", "cifar10", "test"] == (93.61, 0.52)


def test_a_study_gives_repetitions_of_a_curve_over_time(tmp_path):
    study, table = made(tmp_path / "study", "s1", evaluations=5), nb.load_table("embedded")
    frames = repetitions(study, table)
    assert len(frames) == 3
    for frame, line in zip(frames, study.lines, strict=True):
        assert frame["seconds"].iloc[-1] == line["simulated_seconds"]
        assert frame["test_regret"].iloc[-1] == pytest.approx(line["test_regret"])
        assert frame["validation_regret"].iloc[-1] == pytest.approx(line["validation_regret"])
    mean = average(frames)
    assert mean["test_regret_mean"].iloc[0] == pytest.approx(
        np.mean([frame.loc[frame["seconds"] <= mean["seconds"][0], "test_regret"].iloc[-1] for frame in frames])
    )
    with pytest.raises(nb.InvalidInputError, match=r"nb101-embedded.*table="):
        repetitions(study, nb.load_table("nb201"))


def test_searches_are_pluralised_correctly():
    assert [counted(number, "search") for number in (1, 500)] == ["1 search", "500 searches"]


def test_repetitions_have_the_regrets_of_the_data_set_of_the_study(tmp_path):
    study = made(tmp_path / "study", "nb201", evaluations=3, dataset="cifar100")
    frames = repetitions(study, nb.load_table("nb201"))
    assert [frame["test_regret"].iloc[-1] for frame in frames] == study.final["test_regret"].tolist()
