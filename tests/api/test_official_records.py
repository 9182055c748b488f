"""The drop-ins and the published package nats_bench side by side, on genuine official records of both spaces."""

import random
from pathlib import Path
from typing import Any, NamedTuple

import nats_bench as published
import numpy as np
import pytest
from refusals import refuses

from nasbench1shot1.api import nats_bench as ours
from nasbench1shot1.ground.errors import InvalidInputError
from nasbench1shot1.tables.importing import import_table

INDICES = (0, 11, 284)
FOLDERS = {"tss": "NATS-tss-v1_0-3ffb9-simple", "sss": "NATS-sss-v1_0-50262-simple"}
HPS = {"tss": ("12", "200"), "sss": ("01", "12", "90")}
DATASETS = ("cifar10-valid", "cifar10", "cifar100", "ImageNet16-120")
SETS = ("train", "x-valid", "x-test", "ori-test")


class Pair(NamedTuple):
    """The drop-in and the published package on the records of a space."""

    space: str
    mine: ours.NATSAPI
    theirs: Any


@pytest.fixture(scope="module", params=["tss", "sss"])
def pair(request: pytest.FixtureRequest, shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Pair:
    archive, folder = shared / "nats_fake" / FOLDERS[request.param], tmp_path_factory.mktemp("imported") / "table"
    import_table(archive, folder, report=lambda line: None)
    mine = ours.create(str(folder), request.param, fast_mode=True, verbose=False)
    theirs = published.create(str(archive), request.param, fast_mode=True, verbose=False)
    for index in INDICES:
        theirs.get_cost_info(index, "cifar10")  # loads the record
    return Pair(request.param, mine, theirs)


def check(mine: dict[str, Any], theirs: dict[str, Any]) -> None:
    """Both have the same keys and values; the drop-in stores losses within trainings as float32."""
    assert set(mine) == set(theirs)
    for name in set(mine) - {"comment"}:
        assert mine[name] == pytest.approx(theirs[name], rel=2e-7, abs=1e-9), name


def test_all_values_of_all_epochs_agree(pair: Pair) -> None:
    for index in INDICES:
        for dataset in DATASETS:
            for hp in HPS[pair.space]:
                seeds = pair.theirs.query_meta_info_by_index(index, hp).get_dataset_seeds(dataset)
                assert pair.mine.query_meta_info_by_index(index, hp).get_dataset_seeds(dataset) == seeds
                epochs = int(hp)
                for iepoch in sorted({*range(0, epochs, 23), min(10, epochs - 1), epochs - 1}):
                    for is_random in (False, *seeds):
                        asked: Any = {"iepoch": iepoch, "hp": hp, "is_random": is_random}
                        theirs = pair.theirs.get_more_info(index, dataset, **asked)
                        check(pair.mine.get_more_info(index, dataset, **asked), theirs)


def test_the_default_budget_is_12_epochs(pair: Pair) -> None:
    found, others = (api.get_more_info(11, "cifar10-valid", is_random=777) for api in (pair.mine, pair.theirs))
    check(found, others)
    assert found["train-all-time"] == pytest.approx(12 * found["train-per-time"])
    check(pair.mine.get_cost_info(11, "cifar100"), pair.theirs.get_cost_info(11, "cifar100"))
    check(
        pair.mine.get_more_info(11, "cifar10", iepoch=10, is_random=False),
        pair.theirs.get_more_info(11, "cifar10", iepoch=10, is_random=False),
    )


def test_costs_and_latency_agree(pair: Pair) -> None:
    for index in INDICES:
        for dataset in DATASETS:
            for hp in HPS[pair.space]:
                check(pair.mine.get_cost_info(index, dataset, hp), pair.theirs.get_cost_info(index, dataset, hp))
                latency = pair.theirs.get_latency(index, dataset, hp)
                assert pair.mine.get_latency(index, dataset, hp) == pytest.approx(latency, rel=1e-12)
            assert pair.mine.get_net_config(index, dataset) == pair.theirs.get_net_config(index, dataset)


def test_single_trainings_agree(pair: Pair) -> None:
    for dataset in DATASETS:
        for hp in HPS[pair.space]:
            mine, theirs = (api.query_by_index(284, dataset, hp) for api in (pair.mine, pair.theirs))
            assert list(mine) == list(theirs)
            for seed, result in mine.items():
                other, last = theirs[seed], int(hp) - 1
                assert sorted(result.get_eval_set()) == sorted(other.get_eval_set())
                assert result.get_total_epoch() == other.get_total_epoch() == last + 1
                assert (result.params, result.flop) == (other.params, other.flop)
                assert result.get_latency() == other.get_latency()
                assert result.get_config(None) == other.get_config(None)
                assert result.get_config(str.upper) == other.get_config(str.upper)
                check(result.get_times(), other.get_times())
                for iepoch in (None, 0, last // 2, last):
                    check(result.get_train(iepoch), other.get_train(iepoch))
                for name in other.get_eval_set():
                    check(result.get_eval(name), other.get_eval(name))
                    if f"{name}@0" in other.eval_acc1es:
                        check(result.get_eval(name, last // 2), other.get_eval(name, last // 2))


def test_results_of_an_architecture_agree(pair: Pair) -> None:
    for hp in HPS[pair.space]:
        mine, theirs = (api.query_meta_info_by_index(11, hp) for api in (pair.mine, pair.theirs))
        assert mine.dataset_seed == theirs.dataset_seed
        assert mine.get_dataset_names() == theirs.get_dataset_names()
        assert set(mine.all_results) == set(theirs.all_results)
        assert (mine.arch_index, mine.arch_str, mine.arch_idx_str()) == (11, theirs.arch_str, theirs.arch_idx_str())
        for dataset in DATASETS:
            check(mine.get_compute_costs(dataset), theirs.get_compute_costs(dataset))
            assert mine.get_latency(dataset) == pytest.approx(theirs.get_latency(dataset), rel=1e-12)
            for name in ("train", *theirs.query(dataset, theirs.dataset_seed[dataset][0]).eval_names):
                check(mine.get_metrics(dataset, name), theirs.get_metrics(dataset, name))
        assert pair.mine.query_info_str_by_arch(11, hp) == pair.theirs.query_info_str_by_arch(11, hp)


def test_simulated_trainings_agree(pair: Pair) -> None:
    found = []
    for api in (pair.mine, pair.theirs):
        random.seed(3)
        api.reset_time()
        draws = [
            api.simulate_train_eval(index, dataset, iepoch=iepoch, hp=hp)
            for dataset in ("cifar10", "cifar100", "ImageNet16-120")
            for hp in HPS[pair.space]
            for iepoch in (None, int(hp) - 1, int(hp) // 2)
            for index in INDICES
        ]
        found.append((draws, [api.random() for _ in range(3)], api.used_time))
    for one, other in zip(*found, strict=True):
        np.testing.assert_allclose(one, other, rtol=2e-7)
    latency = pair.theirs.get_latency(0, "cifar10")
    assert pair.mine.simulate_train_eval(0, "cifar10")[1] == pytest.approx(latency, rel=1e-12)


def test_the_best_architecture_agrees(pair: Pair) -> None:
    for dataset, sets in (
        ("cifar10", ("valid", "test", "train")),
        ("cifar100", ("valid", "test", "x-valid", "x-test", "ori-test", "train")),
        ("ImageNet16-120", ("valid", "test", "ori-test")),
        ("cifar10-valid", ("x-valid", "ori-test")),
    ):
        for name in sets:
            for hp in HPS[pair.space]:
                for limits in ({}, {"flop_max": 20.0}, {"param_max": 0.13}, {"flop_max": 1.0}):
                    best, accuracy = pair.theirs.find_best(dataset, name, hp=hp, enforce_all=False, **limits)
                    expected = (best, None if accuracy is None else pytest.approx(accuracy, rel=1e-7))
                    assert pair.mine.find_best(dataset, name, hp=hp, **limits) == expected


def test_facts_about_the_space_agree(pair: Pair) -> None:
    mine, theirs = pair.mine, pair.theirs
    assert mine.meta_archs == theirs.meta_archs
    assert (len(mine), mine.is_size, mine.is_topology) == (len(theirs), theirs.is_size, theirs.is_topology)
    assert (mine.search_space_name, mine.full_train_epochs) == (theirs.search_space_name, theirs.full_train_epochs)
    assert mine.full_epochs_in_paper == theirs.full_epochs_in_paper
    assert sorted(mine.avaliable_hps) == sorted(theirs.avaliable_hps)
    assert mine.evaluated_indexes == theirs.evaluated_indexes
    for index in INDICES:
        assert mine.query_index_by_arch(theirs[index]) == index
    for hp in HPS[pair.space]:
        assert mine.statistics("cifar10", hp) == theirs.statistics("cifar10", hp)
    names = ours.NATS_BENCH_SSS_NAMEs if pair.space == "sss" else ours.NATS_BENCH_TSS_NAMEs
    assert [ours.search_space_info("nats-bench", name) for name in names] == [
        published.search_space_info("nats-bench", name) for name in names
    ]


def test_show_prints_a_sentence_about_architectures_without_results(
    pair: Pair, capsys: pytest.CaptureFixture[str]
) -> None:
    pair.theirs.show(99_999)
    assert capsys.readouterr().out.count("\n") == 1
    for index, values in ((1, [pair.mine.arch(1), "3 architectures"]), (99_999, ["99999", f"{len(pair.mine) - 1:,}"])):
        pair.mine.show(index)
        shown = capsys.readouterr().out
        assert shown.count("\n") == 1
        assert all(value in shown for value in values)


def test_a_budget_or_data_set_without_values_is_refused(pair: Pair) -> None:
    with refuses(ours.OutOfDomainError, pair.mine.table.id, "'36'", *HPS[pair.space]):
        pair.mine.get_more_info(0, "cifar10", hp="36")
    with refuses(InvalidInputError, "'svhn'"):
        pair.mine.get_more_info(0, "svhn")


@pytest.mark.parametrize("space", ["tss", "sss"])
def test_an_archive_of_the_other_space_is_refused(space: str, shared: Path, home: Path) -> None:
    other = FOLDERS["sss" if space == "tss" else "tss"]
    with refuses(InvalidInputError, other, "NAS-Bench-201", "NATS-Bench (size)"):
        ours.create(str(shared / "nats_fake" / other), space, verbose=False)
    assert not list((home / "tables").glob("[!.]*"))


# The bundled table of the size space ------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def bundled() -> ours.NATSAPI:
    return ours.create(None, "sss", verbose=False)


def test_the_bundled_size_table_answers_what_it_has(bundled: ours.NATSAPI, shared: Path) -> None:
    theirs = published.create(str(shared / "nats_fake" / FOLDERS["sss"]), "sss", fast_mode=True, verbose=False)
    assert (len(bundled), bundled.avaliable_hps) == (32_768, ["90"])
    for index in INDICES:
        for dataset in ("cifar10", "cifar100", "ImageNet16-120"):
            found = bundled.get_more_info(bundled[index], dataset, hp="90")
            expected = theirs.get_more_info(index, dataset, hp="90")
            assert found["test-accuracy"] == pytest.approx(expected["test-accuracy"], rel=1e-7)
            costs, others = (api.get_cost_info(index, dataset, "90") for api in (bundled, theirs))
            assert (costs["flops"], costs["params"]) == pytest.approx((others["flops"], others["params"]))
    assert bundled.find_best("cifar100", "test", hp="90") == (32_623, pytest.approx(71.34))
    assert bundled.find_best("cifar10", "test", flop_max=4.49, hp="90")[0] == 0


def test_the_bundled_size_table_refuses_what_it_lacks(bundled: ours.NATSAPI) -> None:
    with refuses(ours.OutOfDomainError, "'12'", "'90'"):
        bundled.get_more_info(0, "cifar10")
    with refuses(ours.OutOfDomainError, "'valid-accuracy'"):
        bundled.get_more_info(0, "cifar100", hp="90")["valid-accuracy"]
    with refuses(ours.OutOfDomainError, "valid-accuracy"):
        bundled.simulate_train_eval(0, "cifar100", hp="90")
    with refuses(ours.OutOfDomainError, "latencies"):
        bundled.get_latency(0, "cifar100", hp="90")
