"""The drop-in and the published package nats_bench side by side, on the same archive."""

import random
import warnings
from copy import deepcopy
from pathlib import Path
from typing import Any

import nasbench201_files as files
import nats_bench as published
import numpy as np
import pytest
from refusals import refuses

from nasbench1shot1.api import nats_bench as ours
from nasbench1shot1.api.nas_201_api import NASBench201API
from nasbench1shot1.api.trial_reader import MissingValueError
from nasbench1shot1.nasbench201.benchmark import DATASETS, OFFICIAL_SETS
from nasbench1shot1.tables.importing import import_table

INDICES = (0, 11, 284)


@pytest.fixture(scope="module")
def content() -> dict[str, Any]:
    made = files.pth_content(INDICES, files.ALL_SEEDS)
    for dataset in DATASETS:  # for many architectures, a seed is missing
        del made["arch2infos"][11]["full"]["all_results"][dataset, 888]
        made["arch2infos"][11]["full"]["dataset_seed"][dataset] = [777, 999]
    return made


@pytest.fixture(scope="module")
def archive(content: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> Path:
    return files.write_archive(tmp_path_factory.mktemp("nats") / "NATS-tss-mine-simple", content)


@pytest.fixture(scope="module")
def theirs(archive: Path) -> Any:
    return published.create(str(archive), "tss", fast_mode=True, verbose=False)


@pytest.fixture(scope="module")
def mine(archive: Path, tmp_path_factory: pytest.TempPathFactory) -> ours.NATStopology:
    folder = tmp_path_factory.mktemp("imported") / "table"
    import_table(archive, folder, report=lambda line: None)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # this table has single trainings
        return ours.create(str(folder), "tss", fast_mode=True, verbose=False)


def check(mine: dict[str, Any], theirs: dict[str, Any]) -> None:
    """All values of the drop-in equal the published package's."""
    assert set(mine) == set(theirs)
    shared = {name: value for name, value in mine.items() if name != "comment"}
    assert shared == pytest.approx({name: theirs[name] for name in shared}, rel=1e-7)


@pytest.mark.parametrize("dataset", DATASETS)
def test_results_and_costs_agree_with_the_published_package(mine: ours.NATStopology, theirs: Any, dataset: str) -> None:
    for index in INDICES:
        for hp in ("12", 200):
            seeds = mine.query_meta_info_by_index(index, hp).get_dataset_seeds(dataset)
            assert seeds == theirs.query_meta_info_by_index(index, hp).get_dataset_seeds(dataset)
            for is_random in (False, *seeds):
                found = mine.get_more_info(index, dataset, hp=hp, is_random=is_random)
                check(found, theirs.get_more_info(index, dataset, hp=hp, is_random=is_random))
                assert {"train-loss", "train-accuracy", "test-loss", "test-accuracy"} <= set(found)
            check(mine.get_cost_info(index, dataset, hp), theirs.get_cost_info(index, dataset, hp))
        assert mine.get_net_config(index, dataset) == theirs.get_net_config(index, dataset)


def test_random_draws_follow_pythons_generator(mine: ours.NATStopology, theirs: Any) -> None:
    found = []
    for api in (mine, theirs):
        random.seed(7)
        api.reset_time()
        draws = [api.simulate_train_eval(api[11], dataset, hp="200") for dataset in ("cifar10", "cifar100")] * 5
        draws += [api.simulate_train_eval(index, "ImageNet16-120", hp="200") for index in INDICES * 5]
        metrics = [api.query_by_index(0, hp="200").get_metrics("cifar10", "train", is_random=True) for _ in range(9)]
        rest = [metric["accuracy"] for metric in metrics], [api.random() for _ in range(3)], api.used_time
        found.append(([(accuracy, seconds, total) for accuracy, _, seconds, total in draws], *rest))
    for one, other in zip(*found, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-7)
    assert len(set(found[0][1])) > 1


def test_single_trainings_agree(mine: ours.NATStopology, theirs: Any) -> None:
    for index in INDICES:
        results, others = (api.query_by_index(index, "cifar100", "200") for api in (mine, theirs))
        assert list(results) == list(others)
        for seed, result in results.items():
            other = others[seed]
            check(result.get_train(), other.get_train())
            check(result.get_eval("x-valid"), other.get_eval("x-valid"))
            assert result.get_eval("x-test")["accuracy"] == pytest.approx(other.get_eval("x-test")["accuracy"])
            assert result.get_total_epoch() == other.get_total_epoch() == 200
            assert (result.params, result.flop, result.seed) == (other.params, other.flop, other.seed)
            assert result.get_config(None) == other.get_config(None)
            check(result.get_times(), other.get_times())
            assert sorted(result.get_eval_set()) == sorted(other.get_eval_set())
    info, other = (api.query_meta_info_by_index(11, "200") for api in (mine, theirs))
    assert info.dataset_seed == other.dataset_seed
    assert set(info.all_results) == set(other.all_results)
    assert info.query("cifar10", np.int64(777)).get_train() == info.query("cifar10")[777].get_train()
    with pytest.raises(KeyError):
        other.query("cifar10", 888)
    with refuses(MissingValueError, "cifar10", "seed 888", "[777, 999]", mine.table.id):
        info.query("cifar10", 888)
    for dataset in DATASETS:
        for name in OFFICIAL_SETS[dataset].values():
            found = {key: value for key, value in info.get_metrics(dataset, name).items() if "time" not in key}
            expected = other.get_metrics(dataset, name)
            assert found == pytest.approx({key: expected[key] for key in found}, rel=1e-7)


def test_the_best_available_architecture_agrees(mine: ours.NATStopology, theirs: Any) -> None:
    for index in INDICES:
        theirs.get_cost_info(index, "cifar10")  # it compares the architectures loaded so far
    for dataset, sets in (
        ("cifar10", ("valid", "test", "train")),
        ("cifar100", ("valid", "test", "x-valid", "x-test", "train")),
        ("ImageNet16-120", ("valid", "test")),
        ("cifar10-valid", ("x-valid", "ori-test", "valid")),
    ):
        for name in sets:
            for hp in ("12", "200"):
                best, accuracy = theirs.find_best(dataset, name, hp=hp, enforce_all=False)
                assert mine.find_best(dataset, name, hp=hp) == (best, pytest.approx(accuracy, rel=1e-7))
    assert mine.find_best("cifar10", "test", flop_max=1) == (-1, None)


def test_strings_are_formatted_like_the_published_package(mine: ours.NATStopology, theirs: Any) -> None:
    assert mine.meta_archs == theirs.meta_archs
    for index in range(0, 15_625, 250):
        assert mine.get_unique_str(index) == theirs.get_unique_str(index)
        assert mine.str2lists(mine[index]) == theirs.str2lists(theirs[index])
        # the published default of search_space is a tuple, which also has an index method
        assert mine.str2matrix(mine[index]).tolist() == theirs.str2matrix(theirs[index]).tolist()
    assert mine.query_index_by_arch("|none~0|") == theirs.query_index_by_arch("|none~0|") == -1


def test_the_number_of_trials_agrees(mine: ours.NATStopology, theirs: Any) -> None:
    for index in INDICES:
        theirs.get_cost_info(index, "cifar10")
    for hp in ("12", "200"):
        assert mine.statistics("cifar10", hp) == theirs.statistics("cifar10", hp)


def test_unknown_seeds_are_refused(mine: ours.NATStopology, theirs: Any) -> None:
    for api in (mine, theirs):
        with pytest.raises(ValueError, match="888"):
            api.get_more_info(11, "cifar10", hp="200", is_random=888)
    with pytest.raises(ValueError, match=r"^is_random .*'yes'"):
        mine.get_more_info(11, "cifar10", is_random="yes")  # type: ignore[arg-type]


def test_a_dictionary_can_be_given_instead_of_a_file(content: dict[str, Any], mine: ours.NATStopology) -> None:
    whole = {**content, "arch2infos": files.by_budget(content)}
    for api in (ours.create(whole, "tss", verbose=False), NASBench201API(content, verbose=False)):
        info = api.get_more_info(11, "cifar100", hp="200", is_random=False)
        assert info == mine.get_more_info(11, "cifar100", hp="200", is_random=False)
        with pytest.raises(ours.OutOfDomainError, match="row"):
            api.get_more_info(12, "cifar100")


def test_simulations_of_nas_201_api_return_the_latency_at_12_epochs(content: dict[str, Any]) -> None:
    slower = deepcopy({**content, "arch2infos": {11: content["arch2infos"][11]}})
    for training in slower["arch2infos"][11]["full"]["all_results"].values():
        training["latency"] = [0.25]
    old = NASBench201API(slower, verbose=False)
    new = ours.create({**slower, "arch2infos": files.by_budget(slower)}, "tss", verbose=False)
    assert [api.get_latency(11, "cifar100", "200") for api in (old, new)] == [0.25, 0.25]
    assert [old.simulate_train_eval(11, "cifar100", hp)[1] for hp in ("12", "200")] == [0.014, 0.014]
    assert [new.simulate_train_eval(11, "cifar100", hp=hp)[1] for hp in ("12", "200")] == [0.014, 0.25]


def test_a_file_is_imported_on_first_use(archive: Path, home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for _ in range(2):
        api = ours.create(str(archive), "tss", fast_mode=True, verbose=False)
        assert str(api) == "NATStopology(3/15625 architectures, file=NATS-tss-mine-simple)"
    assert capsys.readouterr().err.count("importing") == 1
    assert len(list((home / "tables").glob("NATS-tss-mine-simple-*"))) == 1
