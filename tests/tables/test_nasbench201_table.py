"""The bundled NAS-Bench-201 table: published values, source values and missing values."""

import math
import re
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
from refusals import refuses

import nasbench1shot1 as nb
from nasbench1shot1.ground.errors import InvalidInputError, OutOfDomainError
from nasbench1shot1.nasbench201.embedded_table import DEVICES, MODELLED, SHORT, build_nasbench201
from nasbench1shot1.tables.columns import Column
from nasbench1shot1.tables.importing import import_table
from nasbench1shot1.tables.table import Table

ALL_SKIP = "|skip_connect~0|+|skip_connect~0|skip_connect~1|+|skip_connect~0|skip_connect~1|skip_connect~2|"
RESNET = "|nor_conv_3x3~0|+|none~0|nor_conv_3x3~1|+|skip_connect~0|none~1|skip_connect~2|"


@pytest.fixture(scope="module")
def table() -> Table:
    return nb.load_table("nb201")


@pytest.fixture(scope="module")
def source(shared: Path) -> Any:
    with np.load(shared / "nb201_topology.npz", allow_pickle=False) as file:
        return dict(file)


def test_the_table_describes_its_contents(table: Table) -> None:
    assert len(table) == 15_625
    assert table.epochs == (12, 200)
    assert table.full_budget == 200
    assert table.datasets == ("cifar10-valid", "cifar10", "cifar100", "ImageNet16-120")
    assert [of.dataset for of in table.objectives] == ["cifar10", "cifar100", "ImageNet16-120"]
    assert table.fidelity() == table.fidelity(12) == ""


@pytest.mark.parametrize(
    ("dataset", "split", "percent"),
    [  # NAS-Bench-201, Table 5, "optimal"
        ("cifar10-valid", "validation", 91.61),
        ("cifar10", "test", 94.37),
        ("cifar100", "validation", 73.49),
        ("cifar100", "test", 73.51),
        ("ImageNet16-120", "test", 47.31),
    ],
)
def test_optima_equal_published_values(
    table: Table, dataset: str, split: Literal["test", "validation"], percent: float
) -> None:
    best, metrics = table.best("nb201", split, dataset=dataset)
    accuracy = getattr(metrics, f"{split}_accuracy")
    assert round(100 * accuracy, 2) == percent
    assert table.regret(best, split=split, dataset=dataset) == 0
    assert table.query(best, dataset=dataset).hash == metrics.hash == best.official


@pytest.mark.parametrize(
    ("network", "percents", "tolerance"),
    [  # NAS-Bench-201, Table 5: DARTS's cell, and ResNet's, whose row comes from an earlier release
        (ALL_SKIP, (39.77, 54.30, 15.61, 16.32), 0.005),
        (RESNET, (90.83, 93.97, 70.86, 43.63), 0.65),
    ],
)
def test_known_networks_have_the_published_accuracies(
    table: Table, network: str, percents: tuple[float, ...], tolerance: float
) -> None:
    trainings = ("cifar10-valid", "cifar10", "cifar100", "ImageNet16-120")
    splits = ("validation", "test", "test", "test")
    found = [
        100 * getattr(table.query(network, dataset=dataset), f"{split}_accuracy")
        for dataset, split in zip(trainings, splits, strict=True)
    ]
    np.testing.assert_allclose(found, percents, atol=tolerance)


def test_parameters_follow_the_formula_in_every_row(table: Table) -> None:
    operations = np.array([table.network(row).operations for row in range(len(table))])
    n1, n3 = (operations == 2).sum(axis=1), (operations == 3).sum(axis=1)
    found = table.query(range(len(table)), dataset="cifar10").trainable_parameters
    assert (found == 73_306 + 243_040 * n3 + 28_000 * n1).all()
    hundred = table.query(range(len(table)), dataset="cifar100").trainable_parameters
    assert (hundred - found == 90 * 65).all()


def test_architectures_are_found_by_index_string_text_and_value(table: Table) -> None:
    arch = nb.search_space("nb201")[6111]
    assert isinstance(arch, nb.EdgeArchitecture)
    for item in (6111, np.int32(6111), arch, arch.official, str(arch)):
        assert int(table.rows(item)) == 6111
    assert table.rows([arch, 0, arch.official]).tolist() == [6111, 0, 6111]


def test_a_text_of_digits_is_an_official_index_unless_it_is_too_long(table: Table) -> None:
    assert table.keys.item_of("6111") == 6111
    for digits in ("15625", "9" * 5000):
        with refuses(InvalidInputError, "nb201" if len(digits) > 9 else digits):
            table.row_of(table.keys.item_of(digits))


def test_the_training_must_be_named(table: Table) -> None:
    with pytest.raises(InvalidInputError, match=r"dataset=.cifar10-valid"):
        table.query(0)
    with pytest.raises(InvalidInputError, match="'cifar-10'"):
        table.query(0, dataset="cifar-10")
    assert math.isnan(table.query(0, dataset="cifar10").validation_accuracy)  # no images were left for validation
    assert not table.query(0, dataset="cifar10").is_measured("validation_accuracy")


@pytest.mark.parametrize(
    ("name", "metric", "offered"),
    [
        ("nb201", "test_accuracy", ["cifar10", "cifar100", "ImageNet16-120"]),
        ("nb201", "validation_accuracy", ["cifar10-valid", "cifar100", "ImageNet16-120"]),
        ("nb201", "test_loss", ["cifar10-valid"]),
        ("nb201", "latency_pixel2", ["cifar10-valid", "cifar10", "cifar100"]),
        ("nats-size", "test_accuracy", ["cifar10", "cifar100", "ImageNet16-120"]),
    ],
)
def test_only_data_sets_that_have_the_metric_are_offered(name: str, metric: str, offered: list[str]) -> None:
    table = nb.load_table(name)
    calls: list[Any] = [
        lambda **options: table.regret(0, metric=metric, **options),
        lambda **options: table.best(name, metric=metric, **options),
        lambda **options: table.mean_regret(name, metric=metric, **options),
        lambda **options: table.value(metric, 0, **options),
    ]
    first, *others = offered
    for call in calls:
        with refuses(InvalidInputError, f'dataset="{first}"', *others, options="dataset") as caught:
            call()
        given = re.findall(r"[\w-]+", str(caught.value).partition("give ")[2].partition(" (")[0])
        assert set(given) & set(table.datasets) == set(offered)
    assert all(math.isfinite(calls[0](dataset=dataset)) for dataset in offered)
    for dataset in set(table.datasets) - set(offered) - {"cifar10-valid"}:
        with refuses(OutOfDomainError, *offered):
            calls[0](dataset=dataset)


def test_the_trainings_of_a_search_on_cifar10_are_explained(table: Table) -> None:
    with refuses(InvalidInputError, "validation accuracy of cifar10-valid", "test accuracy of cifar10"):
        table.regret(0)
    with refuses(InvalidInputError, *table.datasets, "test accuracy of cifar10"):
        table.query(0)
    with refuses(OutOfDomainError, "nats-size", "validation accuracy"):
        nb.load_table("nats-size").regret(0, split="validation")


def test_an_incomplete_column_has_no_best(table: Table) -> None:
    accuracies = table.values("validation_accuracy", 200, "cifar100")[:, None].copy()
    accuracies[1374:] = np.nan
    column = Column(metric="incomplete", quantity="accuracy", direction="higher", dataset="cifar100", epochs=(200,))
    with pytest.raises(OutOfDomainError, match=r"200 epochs.*\b1,374\b.*15,625 networks.*nb201"):
        table.with_column(column, accuracies).best("nb201", metric="incomplete", dataset="cifar100")
    assert table.best("nb201", "validation", epochs=12, dataset="cifar100")[1].validation_accuracy == 0.6132


@pytest.mark.parametrize(
    ("index", "dataset", "flops", "seconds", "seconds_of_validation"),
    [  # NATS-tss-v1_0-3ffb9, get_cost_info(index, dataset, hp="12"), as nats_bench 1.8 answers
        (0, "cifar10-valid", 15.64737, 86.65311598777771, 30.587750843593046),
        (11, "cifar10", 113.95137, 299.08936309814453, None),
        (11, "ImageNet16-120", 28.49548, 907.4371276397707, 5.977802467346191),
        (284, "cifar100", 11.72106, 117.01906490325929, 5.734784364700318),
    ],
)
def test_costs_agree_with_the_official_files(
    table: Table, index: int, dataset: str, flops: float, seconds: float, seconds_of_validation: float | None
) -> None:
    found = table.query(index, 12, dataset=dataset)
    assert found.flops == round(1e6 * flops)
    assert found.training_time == pytest.approx(seconds, rel=1e-7)
    if seconds_of_validation is None:
        assert math.isnan(found.evaluation_time)
    else:
        assert found.evaluation_time == pytest.approx(seconds_of_validation, rel=1e-7)


def test_epoch_times_are_equal_in_both_budgets(table: Table) -> None:
    for dataset in table.datasets:
        short, full = (table.query(range(5), epochs, dataset=dataset) for epochs in (12, 200))
        np.testing.assert_allclose(short.training_time, 12 / 200 * full.training_time, rtol=1e-6)
        assert short.is_measured("training_time").all()


@pytest.mark.parametrize("item", [15_625, -1, True, 1.5, "|conv~0|", "0" * 32, nb.search_space("s1")[0]])
def test_anything_but_an_architecture_of_the_space_is_refused_in_one_sentence(table: Table, item: Any) -> None:
    with pytest.raises(InvalidInputError):
        table.query([item], dataset="cifar10")


def test_tables_of_nasbench101_refuse_its_architectures() -> None:
    with pytest.raises(InvalidInputError, match=r"'nb201:\|.*NAS-Bench-101"):
        nb.load_table("embedded").query(nb.search_space("nb201")[0])
    with pytest.raises(InvalidInputError, match=r"NAS-Bench-201 .*encodings"):
        nb.load_table("nb201").row_of_encoding(0)
    with pytest.raises(InvalidInputError, match=r"NAS-Bench-201 .*cells"):
        nb.load_table("nb201").cell(0)


def test_architectures_of_nasbench101_are_refused_by_their_text(table: Table) -> None:
    with pytest.raises(InvalidInputError, match=r"^'s1:0.*NAS-Bench-201"):
        table.query(nb.search_space("s1")[0], dataset="cifar10")


def test_values_agree_with_the_source(table: Table, source: Any) -> None:
    rows = range(len(table))
    for dataset, images in (("cifar10", 10_000), ("cifar100", 5_000), ("ImageNet16-120", 3_000)):
        for epochs in (12, 200):
            found = table.query(rows, epochs, dataset=dataset).test_accuracy
            wanted = source[f"{SHORT[dataset]}_test_e{epochs}"] / 100
            np.testing.assert_allclose(found, wanted, atol=1e-8)
            np.testing.assert_allclose(found * 6 * images, np.rint(found * 6 * images), atol=1e-9)
    half = table.query(rows, dataset="cifar10-valid")
    np.testing.assert_allclose(half.validation_accuracy, source["c10_valid_e200"] / 100, atol=1e-8)
    np.testing.assert_allclose(half.training_time, source["c10v_train_time_e200"], rtol=1e-6)
    np.testing.assert_allclose(half.test_loss, source["c10v_test_loss_e200"], rtol=1e-6)
    for dataset, short in SHORT.items():
        if dataset != "cifar10-valid":
            seconds = table.query(source["first1000_index"], dataset=dataset).training_time
            np.testing.assert_allclose(seconds, source[f"first1000_{short}_e200"][:, 2], rtol=1e-6)


def test_the_builder_reproduces_the_bundled_table(table: Table, shared: Path, tmp_path: Path) -> None:
    build_nasbench201(shared, tmp_path / "table")
    assert nb.load_table(tmp_path / "table").id == table.id
    assert nb.load_table(tmp_path / "table").description == table.description
    assert sum(path.stat().st_size for path in (tmp_path / "table").iterdir()) < 5_500_000


# Repeats and devices --------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def seeds(shared: Path) -> Any:
    with np.load(shared / "nb201_valid200_seeds.npz", allow_pickle=False) as file:
        return dict(file)


VALIDATED = {"cifar10-valid": ("c10", 25_000), "cifar100": ("c100", 5_000), "ImageNet16-120": ("in16", 3_000)}


@pytest.mark.parametrize("dataset", VALIDATED)
def test_validation_accuracy_of_each_seed_equals_the_source(table: Table, seeds: Any, dataset: str) -> None:
    short, images = VALIDATED[dataset]
    wanted = seeds[f"{short}_valid_e200_seeds"] / 100
    every = table.query(range(len(table)), run="all", dataset=dataset).validation_accuracy
    assert np.isnan(every[:, 0]).all()  # seed 111 was trained for 12 epochs only
    np.testing.assert_allclose(every[:, 1:], wanted, atol=1e-12)
    counts = every[:, 1:] * images
    np.testing.assert_allclose(counts, np.rint(counts), atol=1e-9)
    assert table.repeats_of("validation_accuracy", 200, dataset) == (2, 3)
    assert int((~np.isnan(every)).sum()) == 2 * 7_456 + 3 * 8_169
    assert table.seeds_of(0, 200, dataset) == (777, 888, 999)


def test_at_12_epochs_there_is_one_value(table: Table) -> None:
    for dataset in VALIDATED:
        assert table.repeats_of("validation_accuracy", 12, dataset) == (1, 1)
    assert (table.seeds_of(0, 12, "cifar100"), table.seeds_of(0, 12, "cifar10-valid")) == ((111,), ())
    one, mean = (table.query(6111, 12, run=run, dataset="cifar100").validation_accuracy for run in (111, "mean"))
    assert one == mean == 0.602
    mean, first = (table.query(6111, 12, run=run, dataset="cifar10-valid") for run in ("mean", 111))
    assert mean.validation_accuracy > 0 and math.isnan(first.validation_accuracy)  # the mean of seeds 111 and 777


def test_a_random_repeat_has_the_accuracy_of_one_seed(table: Table) -> None:
    rows = np.flatnonzero(np.isnan(table.values("validation_accuracy", 200, "cifar10-valid")[:, 3]))[:2].tolist()
    rows.append(0)
    drawn = table.query(rows * 100, 200, "random", np.random.default_rng(0), dataset="cifar10-valid")
    seen = [set(of_row) for of_row in drawn.validation_accuracy.reshape(100, 3).T]
    every = table.query(rows, 200, "all", dataset="cifar10-valid").validation_accuracy
    assert seen == [set(values[~np.isnan(values)]) for values in every]
    assert [len(values) for values in seen] == [2, 2, 3]
    mean = table.query(rows, 200, dataset="cifar10-valid")
    np.testing.assert_array_equal(drawn.test_accuracy.reshape(100, 3)[7], mean.test_accuracy)  # only means are known
    np.testing.assert_array_equal(drawn.training_time.reshape(100, 3)[7], mean.training_time)
    assert drawn.is_measured("test_accuracy").all()


def test_a_seed_has_no_value_where_only_the_mean_is_known(table: Table) -> None:
    one, many = (table.query(x, 200, run=777, dataset="cifar10-valid") for x in (0, [0, 1]))
    for found in (one, many):
        assert np.isnan([found.test_accuracy, found.train_accuracy, found.test_loss]).all()
        assert not np.any(found.is_measured("test_accuracy"))
        assert (np.asarray(found.training_time) > 0).all() and np.all(found.is_measured("validation_accuracy"))
    assert math.isnan(table.value("test_accuracy", 0, 200, 1, dataset="cifar10"))


def test_the_table_agrees_with_official_records(table: Table, shared: Path, tmp_path: Path) -> None:
    import_table(shared / "nats_fake" / "NATS-tss-v1_0-3ffb9-simple", tmp_path / "records", report=lambda line: None)
    official = nb.load_table(tmp_path / "records")
    rows = [0, 11, 284]
    for dataset in table.datasets:
        for epochs, run in ((12, 111), (200, 777), (200, 888), (200, 999), (12, "mean"), (200, "mean")):
            found, wanted = (one.query(rows, epochs, run, dataset=dataset) for one in (table, official))
            for metric in ("validation_accuracy", "test_accuracy", "training_time"):
                known = ~np.isnan(found[metric])
                np.testing.assert_allclose(found[metric][known], wanted[metric][known], rtol=1e-6)
                if metric == "validation_accuracy" and (dataset, epochs, run) != ("cifar10-valid", 12, 111):
                    assert known.tolist() == (~np.isnan(wanted[metric])).tolist()


def test_latencies_equal_the_source(table: Table, shared: Path, seeds: Any) -> None:
    with np.load(shared / "help_nb201_latency.npz", allow_pickle=False) as source:
        wanted = {name: source[name] for name in source.files if name.startswith("latency_")}
    assert {f"latency_{name}" for name in DEVICES} == set(wanted)
    for metric, values in wanted.items():
        about = table.about(metric, "cifar10")
        assert (about.unit, about.direction, about.quantity) == ("ms", "lower", "latency")
        assert about.fidelity == ("modelled" if metric.removeprefix("latency_") in MODELLED else "measured")
        for dataset in ("cifar10-valid", "cifar10", "cifar100"):
            found = table.query(range(len(table)), dataset=dataset)[metric]
            np.testing.assert_array_equal(found, values.astype(float))
        with pytest.raises(OutOfDomainError, match=f"{metric} on ImageNet16-120.*cifar10-valid, cifar10 or cifar100"):
            table.query(0, dataset="ImageNet16-120")[metric]
    for dataset, short in SHORT.items():
        found = table.query(range(len(table)), dataset=dataset).latency
        np.testing.assert_allclose(found, seeds[f"{short}_latency_s"], rtol=1e-7)


def test_devices_state_what_their_latencies_are(table: Table) -> None:
    assert [name for name in DEVICES if table.about(f"latency_{name}", "cifar10").caveat] == ["pixel3", "raspi4"]
    answer = table.query(6111, dataset="cifar100")
    assert (answer.source("latency_fpga"), answer.source("latency_pixel3")) == ("modelled", "measured")
    assert not answer.is_measured("latency_fpga")
    assert "latency 0.01956 s (measured)" in repr(answer) and "23 more metrics; nb201-v2-" in repr(answer)
    fast, found = table.best("nb201", metric="latency_titan_rtx_256", dataset="cifar100")
    assert found.latency_titan_rtx_256 == table.values("latency_titan_rtx_256", dataset="cifar10").min()
    assert table.regret(fast, metric="latency_titan_rtx_256", dataset="cifar10") == 0
