"""Tables of the user's own that lack repeats, times, parameters, networks or measurements."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest
from refusals import refuses

import nasbench1shot1 as nb
from nasbench1shot1 import api, cli
from nasbench1shot1.api import nats_bench
from nasbench1shot1.tables.columns import STANDARD

NB201, S1 = nb.search_space("nb201"), nb.search_space("s1")


def table_of_nb201(**columns: Any) -> nb.Table:
    """Three architectures after 12 epochs."""
    frame = pandas.DataFrame(
        {"architecture": range(3), "epochs": 12, "validation_accuracy": [0.5, 0.6, 0.7], **columns}
    )
    return nb.table_from_frame(frame, space=NB201, reference="present", name="three")


def table_of_s1(repeats: int = 1, **columns: Any) -> nb.Table:
    """All cells of s1; the accuracies of repeat k are x + k / 10."""
    archs = [str(arch) for arch in S1.architectures("unique")]
    frame = pandas.DataFrame({"architecture": archs, "epochs": 108})
    accuracy = np.linspace(0.1, 0.6, len(archs))
    parts = [
        frame.assign(repeat=k, validation_accuracy=accuracy + k / 10, test_accuracy=accuracy) for k in range(repeats)
    ]
    whole = pandas.concat(parts, ignore_index=True)
    return nb.table_from_frame(whole.assign(**{name: value(whole) for name, value in columns.items()}), space=S1)


@pytest.mark.parametrize("kind", [int, float])
def test_whole_percents_become_fractions(kind: type) -> None:
    frame = pandas.DataFrame({"architecture": range(3), "epochs": 12, "validation_accuracy": 50.5, "f1": [40, 60, 100]})
    own = {"f1": nb.Column(metric="f1", quantity="f1", unit="fraction", direction="higher")}
    table = nb.table_from_frame(frame.astype({"f1": kind}), space=NB201, reference="present", percent=True, columns=own)
    assert table.query([0, 1, 2])["f1"].tolist() == [0.4, 0.6, 1.0]


def test_budgets_and_moments_from_a_frame_are_integers_of_numpy() -> None:
    frame = pandas.DataFrame({"architecture": [0, 0, 1, 1], "epochs": [12, 200] * 2, "f1": [0.1, 0.2, 0.3, 0.4]})
    about = nb.Column(metric="f1", quantity="f1", unit="fraction", direction="higher")
    budgets = tuple(frame["epochs"].unique())
    for column in (replace(about, epochs=budgets), replace(about, moment=budgets[1])):
        table = nb.table_from_frame(frame, space=NB201, reference="present", columns={"f1": column})
        assert table.query([0, 1], 200)["f1"].tolist() == [0.2, 0.4]
        assert table.query([0, 1], 12, budget=200 if table.curves else None)["f1"].tolist() == [0.1, 0.3]


def first_spec() -> api.ModelSpec:
    return api.ModelSpec(S1[0].cell.matrix, S1[0].cell.ops)


def test_the_drop_in_omits_unknown_times_and_counts_the_known_ones() -> None:
    table = table_of_s1(repeats=3, training_time=lambda frame: np.where(frame["repeat"] == 0, 100.0, np.nan))
    data = api.NASBench(table, seed=0)
    found = [data.query(first_spec()) for _ in range(20)]
    timed = [values for values in found if "training_time" in values]
    assert 0 < len(timed) < 20
    assert {values["validation_accuracy"] for values in timed} == {table.query(S1[0], run=0).validation_accuracy}
    assert data.get_budget_counters() == (100.0 * len(timed), 20 * 108)
    assert "trainable_parameters" not in found[0]
    (_, trainings) = data.get_metrics_from_spec(first_spec())
    assert ["final_training_time" in training for training in trainings[108]] == [True, False, False]


def test_the_drop_in_draws_only_repeats_that_a_cell_has() -> None:
    known = {"validation_accuracy": lambda frame: frame["validation_accuracy"].where(frame["repeat"] != 1)}
    table = table_of_s1(
        repeats=3, **known, test_accuracy=lambda frame: frame["test_accuracy"].where(frame["repeat"] != 1)
    )
    data = api.NASBench(table, seed=0)
    found = {round(data.query(first_spec())["validation_accuracy"], 6) for _ in range(20)}
    assert found == {round(table.query(S1[0], run=run).validation_accuracy, 6) for run in (0, 2)}


def test_the_drop_in_returns_means_where_a_table_has_only_means() -> None:
    table = table_of_s1(repeat=lambda frame: "mean")
    assert table.query(S1[0]).source("validation_accuracy") == "measured"
    expected = table.query(S1[0]).validation_accuracy
    data = api.NASBench(table, seed=0)
    assert data.query(first_spec())["validation_accuracy"] == expected
    assert data.get_metrics_from_spec(first_spec())[1][108][0]["final_validation_accuracy"] == expected


def test_values_shared_by_all_repeats_belong_to_each_of_them() -> None:
    shared = replace(STANDARD["training_time"], is_same_for_repeats=True, epochs=(108,))
    archs = [str(arch) for arch in S1.architectures("unique")]
    frame = pandas.concat([pandas.DataFrame({"architecture": archs, "epochs": 108, "repeat": k}) for k in range(2)])
    frame = frame.assign(validation_accuracy=0.5, test_accuracy=0.5, training_time=7.0).reset_index(drop=True)
    data = api.NASBench(nb.table_from_frame(frame, space=S1, columns={"training_time": shared}))
    assert [of["final_training_time"] for of in data.get_metrics_from_spec(first_spec())[1][108]] == [7.0, 7.0]


def test_the_drop_in_of_nats_bench_needs_an_official_data_set(tmp_path: Path) -> None:
    with refuses(nb.InvalidInputError, "three", "cifar10-valid", "cifar100", options="dataset"):
        nats_bench.NATStopology(table_of_nb201(), verbose=False)
    table = table_of_nb201(dataset="cifar100")
    with pytest.warns(UserWarning, match="complete trainings"):
        data = nats_bench.NATStopology(table, verbose=False)
    assert "Params=? MB" in data.query_info_str_by_arch(0, "12")


def test_the_drop_in_of_nats_bench_draws_numbered_repeats() -> None:
    frame = pandas.DataFrame({"architecture": [0, 0, 1], "epochs": 12, "repeat": [0, 1, 1]})
    frame = frame.assign(validation_accuracy=[0.5, 0.7, 0.6], training_time=12.0, evaluation_time=6.0)
    table = nb.table_from_frame(frame, space=NB201, reference="present", dataset="cifar10-valid")
    data = nats_bench.NATStopology(table, verbose=False, seed=0)  # no warning about means
    drawn = [data.get_more_info(0, "cifar10-valid")["valid-accuracy"] for _ in range(20)]
    assert set(drawn) == {50.0, 70.0} == {data.simulate_train_eval(0, "cifar10")[0] for _ in range(20)}
    assert data.get_more_info(0, "cifar10-valid", is_random=False)["valid-accuracy"] == 60.0
    assert {data.get_more_info(1, "cifar10-valid")["valid-accuracy"] for _ in range(9)} == {60.0}
    assert (data.statistics("cifar10-valid", "12"), data[0] in data.query_info_str_by_arch(0)) == ({1: 1, 2: 1}, True)
    results = data.query_meta_info_by_index(0)
    assert results.get_dataset_names() == ["cifar10-valid"]
    for ask in (
        lambda: data.get_more_info(0, "cifar10-valid", is_random=777),
        lambda: data.query_by_index(0, "cifar10-valid"),
        lambda: results.dataset_seed,
    ):
        with refuses(nb.OutOfDomainError, table.id, "'seed'", "'repeat'"):
            ask()


def test_the_drop_in_of_nasbench_needs_a_table_with_one_data_set() -> None:
    frame = pandas.DataFrame({"architecture": [str(S1[0])] * 2, "epochs": 108, "dataset": ["a", "b"]})
    frame["validation_accuracy"] = [0.5, 0.75]
    table = nb.table_from_frame(frame, space=S1, reference="present")
    with refuses(nb.InvalidInputError, table.id, "to_frame", "nb.table_from_frame", options=""):
        api.NASBench(table)
    kept = nb.table_from_frame(table.to_frame().query("dataset == 'b'"), space=S1, reference="present")
    assert api.NASBench(kept).query(first_spec())["validation_accuracy"] == 0.75


def test_gaps_are_not_called_missing_budgets() -> None:
    table = table_of_nb201(test_accuracy=[0.5, np.nan, 0.7])
    assert table.query(0).source("test_accuracy") == "measured"
    assert table.query(1).source("test_accuracy") == "unknown for this network"
    assert nb.load_table().query(S1[0], 4).source("test_accuracy") == "not at 4 epochs"


@pytest.mark.parametrize("item", [str(NB201[1]), "1"])
def test_queries_of_a_part_say_what_the_regret_refers_to(
    item: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = table_of_nb201(test_accuracy=[0.5, np.nan, 0.7])
    table.save(tmp_path / "three")
    cli.main(["query", item, "--table", str(tmp_path / "three")])
    shown = capsys.readouterr().out
    assert "validation regret in nb201" in shown and "10.00 %" in shown and "test regret" not in shown
    assert table.partial_note in shown
    assert table.regret(1, split="validation") == table.regret(NB201[1], split="validation") == pytest.approx(0.1)


def test_predictions_of_ones_own_are_called_predicted_and_nothing_else() -> None:
    frame = pandas.DataFrame({"architecture": range(3), "epochs": 12, "validation_accuracy": 0.5, "test_accuracy": 0.5})
    frame["measured_test_accuracy"] = [0.5, 0.6, np.nan]
    table = nb.table_from_frame(frame, space=NB201, reference="present", measured=False)
    assert table.fidelity() == "validation accuracy predicted; test accuracy predicted"
    assert table.query(0).source("test_accuracy") == "predicted"


def test_predictions_are_predictions_on_every_data_set_that_shares_them() -> None:
    frame = pandas.DataFrame({"architecture": [0, 1, 0, 1], "epochs": 12, "dataset": ["a", "a", "b", "b"]})
    frame = frame.assign(validation_accuracy=0.5, test_accuracy=0.5)
    own = nb.Column(
        metric="test_accuracy", quantity="accuracy", split="test", unit="fraction", direction="higher", dataset="a",
        also_of=("b",), fidelity="predicted", epochs=(12,),
    )  # fmt: skip
    frame["test_accuracy"] = frame["test_accuracy"].where(frame["dataset"] == "a")
    table = nb.table_from_frame(frame, space=NB201, reference="present", columns={"test_accuracy": own})
    assert [table.query(0, dataset=name).fidelity for name in "ab"] == ["test accuracy predicted"] * 2


def test_a_changed_table_is_not_taken_for_the_bundled_one_of_its_name() -> None:
    frame = nb.load_table("nb101-5v").to_frame()
    frame["validation_accuracy"] = 1 - frame["validation_accuracy"]
    changed = nb.table_from_frame(frame, space=nb.search_space("nb101-5v"), name="nb101-5v")
    with refuses(nb.InvalidInputError, changed.id, "my-table"):
        nb.black_box("random", space="nb101-5v", table=changed, evaluations=5, repeats=1)


def test_learning_curves_of_several_budgets_can_be_added() -> None:
    table = nb.load_table("nb201")
    for budget in (12, 200):
        about = nb.Column(
            metric="validation_accuracy", quantity="accuracy", split="validation", unit="fraction", direction="higher",
            dataset="cifar10-valid", moment=budget,
        )  # fmt: skip
        values = np.full((len(table), budget, 1), budget / 1000, np.float32)
        table = table.with_column(about, values, repeats=[0])
    for budget in (12, 200):
        found = table.query(5, 3, budget=budget, dataset="cifar10-valid").validation_accuracy
        assert found == pytest.approx(budget / 1000)
