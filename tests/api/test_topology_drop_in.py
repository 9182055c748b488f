"""The drop-ins for nats_bench and nas_201_api on the bundled table: answers and refusals."""

import pickle
import random
from collections.abc import Callable
from copy import deepcopy
from typing import Any

import numpy as np
import pandas
import pytest
from refusals import refuses

import nasbench1shot1 as nb
from nasbench1shot1.api import NASBench, nats_bench
from nasbench1shot1.api.nas_201_api import NASBench201API
from nasbench1shot1.api.trial_reader import MissingValueError
from nasbench1shot1.ground.errors import InvalidInputError, OutOfDomainError

LATENCY_0 = 0.0139359758611311  # on CIFAR-10, in NATS-Bench's record of architecture 0
ARCH_11 = "|nor_conv_3x3~0|+|nor_conv_3x3~0|avg_pool_3x3~1|+|none~0|nor_conv_3x3~1|avg_pool_3x3~2|"


@pytest.fixture(scope="module")
def api() -> nats_bench.NATStopology:
    with pytest.warns(UserWarning, match="is_random=True"):
        return nats_bench.create(None, "tss", fast_mode=True, verbose=False)


@pytest.fixture(scope="module")
def old() -> NASBench201API:
    with pytest.warns(UserWarning, match="complete trainings"):
        return NASBench201API(verbose=False)


def test_the_api_is_a_sequence_of_strings(api: nats_bench.NATStopology, old: NASBench201API) -> None:
    assert len(api) == len(api.meta_archs) == len(list(api)) == 15_625
    assert api[11] == api.arch(11) == ARCH_11 == list(api)[11]
    assert api[-1] == list(api)[-1]
    assert [api.query_index_by_arch(each) for each in api][::1000] == list(range(0, 15_625, 1000))
    assert api.evaluated_indexes == set(range(15_625))  # a set in nats_bench, a list in nas_201_api
    assert old.evaluated_indexes == list(range(15_625))
    assert str(api) == "NATStopology(15625/15625 architectures, file=nb201)"


class Structure:
    """Like the architecture objects that AutoDL-Projects passes to the API."""

    def tostr(self) -> str:
        return ARCH_11


@pytest.mark.parametrize(
    ("arch", "index"),
    [
        (ARCH_11, 11),
        (11, 11),
        (np.int64(11), 11),
        (Structure(), 11),
        (nb.Architecture.parse(ARCH_11), 11),
        ("|nor_conv_3x3~0|", -1),
        ("", -1),
        (None, -1),
        (1.5, -1),
    ],
)
def test_the_index_of_an_architecture(api: nats_bench.NATStopology, arch: Any, index: int) -> None:
    assert api.query_index_by_arch(arch) == index


def test_unknown_architectures_are_refused(api: nats_bench.NATStopology) -> None:
    calls: list[Callable[[Any], Any]] = [
        api.arch,
        api.get_unique_str,
        api.query_meta_info_by_index,
        lambda arch: api.get_more_info(arch, "cifar10"),
        lambda arch: api.get_cost_info(arch, "cifar10"),
        lambda arch: api.get_net_config(arch, "cifar10"),
        lambda arch: api.simulate_train_eval(arch, "cifar10"),
    ]
    for call in calls:
        for arch in (15_625, -1, "|conv~0|"):
            with refuses(ValueError, arch):
                call(arch)


# Values of NATS-tss-v1_0-3ffb9, as nats_bench 1.8 gives them with is_random=False ---------------------------------


@pytest.mark.parametrize(
    ("dataset", "hp", "official"),
    [
        (
            "cifar10-valid",
            "200",
            {
                "train-loss": 0.31902812266031905,
                "train-accuracy": 88.91866665852865,
                "train-per-time": 7.221092998981476,
                "train-all-time": 1444.2185997962952,
                "valid-loss": 0.5658507757886251,
                "valid-accuracy": 81.98266665690103,
                "valid-per-time": 2.54897923696609,
                "valid-all-time": 509.795847393218,
                "test-loss": 0.5760996474901835,
                "test-accuracy": 81.52,
            },
        ),
        ("cifar10-valid", 12, {"valid-accuracy": 63.36399998046875, "train-all-time": 86.65311598777771}),
        ("cifar10", "12", {"test-accuracy": 69.55, "train-per-time": 14.442185997962952}),
    ],
)
def test_official_values_are_reproduced(
    api: nats_bench.NATStopology, old: NASBench201API, dataset: str, hp: Any, official: dict[str, float]
) -> None:
    for either in (api, old):
        for is_random in (False, True):
            info = either.get_more_info(0, dataset, hp=hp, is_random=is_random)
            assert {name: info[name] for name in official} == pytest.approx(official, rel=1e-7)
            last = either.get_more_info(0, dataset, iepoch=int(hp) - 1, hp=hp, is_random=is_random)
            assert last == info


def test_percentages_have_no_noise(api: nats_bench.NATStopology) -> None:
    assert api.get_more_info(0, "cifar10", hp="12")["test-accuracy"] == 69.55
    assert api.find_best("cifar10", "test", hp="200") == (6111, 94.3733333333)


def test_costs_agree_with_official_values(api: nats_bench.NATStopology) -> None:
    costs = api.get_cost_info(11, "ImageNet16-120")
    assert costs.pop("latency") == pytest.approx(0.016465004285176593, rel=1e-7)
    assert costs == pytest.approx(
        {
            "flops": 28.49548,
            "params": 0.809576,
            "T-train@epoch": 75.61976063664756,
            "T-train@total": 907.4371276397707,
            "T-x-valid@epoch": 0.49815020561218254,
            "T-x-valid@total": 5.977802467346191,
        },
        rel=1e-7,
    )
    assert api.get_cost_info(11, "cifar10", "200")["T-train@epoch"] == pytest.approx(24.924113591512043)


def test_simulated_training_reproduces_official_values(api: nats_bench.NATStopology, old: NASBench201API) -> None:
    for either in (api, old):
        either.reset_time()
        first = either.simulate_train_eval(0, "cifar10")
        assert first[:2] == (63.364, pytest.approx(LATENCY_0, rel=1e-7))
        assert first[2] == first[3] == pytest.approx(89.2020952247438)
        assert either.simulate_train_eval(ARCH_11, "cifar100", account_time=False)[3] == first[3]
        accuracy, _, seconds, total = either.simulate_train_eval(Structure(), "ImageNet16-120", hp="12")
        assert accuracy == pytest.approx(15.666666633605956)
        assert seconds == pytest.approx(907.4371276397707 + 0.49815020561218254)
        assert total == either.used_time == pytest.approx(first[2] + seconds)
        either.reset_time()
        assert either.used_time == 0
    assert api.simulate_train_eval(0, "cifar10", 11, "12") == api.simulate_train_eval(0, "cifar10", account_time=False)


def test_the_best_architecture_is_found(api: nats_bench.NATStopology, old: NASBench201API) -> None:
    assert api.find_best("cifar10", "valid", hp="200") == (6111, 91.6066666667)
    assert api.find_best("cifar10-valid", "x-valid", hp="200") == (6111, 91.6066666667)
    assert api.find_best("cifar10-valid", "test", hp="200") == api.find_best("cifar10-valid", "ori-test", hp="200")
    assert api.find_best("cifar100", "test", hp=200)[1] == 73.5133333333
    assert api.find_best("ImageNet16-120", "x-test", hp="200")[1] == 47.3111111111
    small, accuracy = api.find_best("cifar10", "test", flop_max=50, param_max=0.4, hp="200")
    costs = api.get_cost_info(small, "cifar10")
    assert costs["flops"] <= 50
    assert costs["params"] <= 0.4
    assert api.get_more_info(small, "cifar10", hp="200")["test-accuracy"] == accuracy
    assert old.find_best("cifar10", "test", 50, 0.4, "200") == (small, accuracy)
    assert old.find_best("cifar10", "test", FLOP_max=50, Param_max=0.4, hp="200") == (small, accuracy)
    exact = api.find_best("cifar10", "test", flop_max=costs["flops"], param_max=costs["params"], hp="200")
    assert exact == (small, accuracy)
    assert api.find_best("cifar10", "test", flop_max=1) == (-1, None)


def test_all_results_of_an_architecture_are_returned(api: nats_bench.NATStopology) -> None:
    info = api.query_meta_info_by_index(11, "200")
    assert (info.arch_index, info.arch_str, info.arch_idx_str()) == (11, ARCH_11, "000011")
    assert info.get_dataset_names() == ["cifar10-valid", "cifar10", "cifar100", "ImageNet16-120"]
    assert info.get_total_epoch() == 200
    metrics = info.get_metrics("cifar10", "ori-test")
    assert metrics == {"iepoch": 199, "accuracy": pytest.approx(91.58333333333333)}
    assert info.get_comput_costs("cifar100") == api.get_cost_info(11, "cifar100", "200")
    assert api.query_by_index(11, hp="200").get_metrics("cifar10", "ori-test") == metrics


def test_strings_are_formatted_like_the_published_package(api: nats_bench.NATStopology) -> None:
    lists = api.str2lists("|nor_conv_1x1~0|+|none~0|none~1|+|none~0|none~1|skip_connect~2|")
    assert lists == [
        (("nor_conv_1x1", 0),),
        (("none", 0), ("none", 1)),
        (("none", 0), ("none", 1), ("skip_connect", 2)),
    ]
    matrix = nats_bench.NATStopology.str2matrix("|nor_conv_1x1~0|+|none~0|none~1|+|none~0|none~1|skip_connect~2|")
    assert matrix.tolist() == [[0, 0, 0, 0], [2, 0, 0, 0], [0, 0, 0, 0], [0, 0, 1, 0]]
    for wrong in ("|nor_conv_1x1|", "|a~b|", "|none~0~1|"):
        with pytest.raises(ValueError, match="string"):
            api.str2lists(wrong)
    with pytest.raises(ValueError, match="'conv'"):
        api.str2matrix("|conv~0|")
    with pytest.raises(ValueError, match="1 to 1"):
        api.str2matrix("|none~1|")
    assert len({api.get_unique_str(index) for index in range(len(api))}) == 6_466


def test_the_network_configuration_is_returned(api: nats_bench.NATStopology) -> None:
    config = {"name": "infer.tiny", "C": 16, "N": 5, "arch_str": ARCH_11, "num_classes": 120}
    assert api.get_net_config(11, "ImageNet16-120") == config


def test_settings_of_the_published_packages(api: nats_bench.NATStopology) -> None:
    assert (api.full_train_epochs, api.full_epochs_in_paper, api.avaliable_hps) == (200, 200, ["12", "200"])
    assert (api.search_space_name, api.is_topology, api.is_size, api.fast_mode) == ("topology", True, False, True)
    assert nats_bench.search_space_info("nats-bench", "tss") == nats_bench.search_space_info("nas-bench-201", None)
    assert nats_bench.search_space_info("nats-bench", "topology")["op_names"][3] == "nor_conv_3x3"


def test_printed_summaries_have_the_published_format(
    api: nats_bench.NATStopology, old: NASBench201API, capsys: pytest.CaptureFixture[str]
) -> None:
    text = api.query_info_str_by_arch(0, "200")
    assert text == api.query_by_arch(api[0], "200")
    assert text.splitlines()[2:5] == [
        "cifar10-valid  FLOP= 15.65 M, Params=0.129 MB, latency=13.94 ms.",
        "cifar10-valid  train : [loss = 0.319 & top1 = 88.92%], valid : [loss = 0.566 & top1 = 81.98%]",
        "cifar10        FLOP= 15.65 M, Params=0.129 MB, latency=13.94 ms.",
    ]
    assert "cifar100       train : [loss = ? & top1 = ?], valid : [loss = ? & top1 = 52.70%], test : [loss = ?" in text
    api.show(0)
    shown = capsys.readouterr().out
    assert [budget in shown for budget in (" 012 epochs ", " 200 epochs ")] == [True, True]
    assert old.query_by_arch(0, "200") == text.replace(" & ", ", ")  # as nas_201_api prints it
    old.show(0)
    assert capsys.readouterr().out == shown.replace(" & ", ", ")


def test_verbose_prints_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.warns(UserWarning, match="complete trainings"):
        made = nats_bench.create("nb201", "topology")
    assert capsys.readouterr().out == f"{made} answers from the table {made.table.id}\n"
    made.simulate_train_eval(0, "cifar10")
    assert capsys.readouterr().out == ""


# Missing from the table --------------------------------------------------------------------------------------------


def test_missing_fields_of_a_dictionary_are_reported_in_one_sentence(api: nats_bench.NATStopology) -> None:
    info = api.get_more_info(0, "cifar100", hp="200")
    assert "valid-loss" not in info
    assert info.get("valid-loss") is None
    with refuses(MissingValueError, api.table.id, "'valid-loss'", api[0], "cifar100", 200) as raised:
        info["valid-loss"]
    assert isinstance(raised.value, OutOfDomainError)
    assert isinstance(raised.value, KeyError)
    for copied in (deepcopy(info), pickle.loads(pickle.dumps(info))):  # noqa: S301  our own
        assert copied == info
        with pytest.raises(MissingValueError, match="'train-loss'"):
            copied["train-loss"]
    with pytest.raises(MissingValueError, match="'loss'"):
        api.query_by_index(0).get_metrics("cifar10", "ori-test")["loss"]


def test_unanswerable_calls_are_refused(api: nats_bench.NATStopology, old: NASBench201API) -> None:
    info = api.query_by_index(0)
    for call, message in (
        (lambda: api.get_more_info(0, "cifar10", is_random=777), api.table.id),
        (lambda: api.query_by_index(0, "cifar10"), api.table.id),
        (lambda: api.statistics("cifar10", "12"), api.table.id),
        (lambda: info.get_dataset_seeds("cifar10"), api.table.id),
        (lambda: info.dataset_seed, api.table.id),
        (lambda: api.get_more_info(0, "cifar10", iepoch=3), ", not epoch 3 of 12: give iepoch=11, or leave it out"),
        (lambda: info.get_metrics("cifar10", "train", iepoch=0), ", not epoch 0 of 12"),
        (lambda: api.simulate_train_eval(0, "cifar10", iepoch=24, hp="200"), ", not epoch 24 of 200"),
        (lambda: api.get_more_info(0, "cifar100", hp="200")["valid-loss"], "does not have 'valid-loss'"),
        (lambda: old.get_more_info(0, "cifar100", hp="12")["train-loss"], "does not have 'train-loss'"),
        (lambda: api.get_more_info(0, "cifar10", hp="90"), "no trainings with '90' epochs: give hp='200' or hp='12'"),
        (lambda: api.get_net_param(0, "cifar10", None), "does not have trained weights"),
        (lambda: info.get_net_param("cifar10"), "does not have trained weights"),
        (lambda: api.reload(index=0), "does not have trained weights"),
        (lambda: api.find_best("cifar10-valid", "ori-test", hp="12"), "for 15,625 of 15,625 architectures"),
        (lambda: api.find_best("cifar100", "ori-test"), "lacks the valtest accuracy on cifar100 at 12 epochs"),
    ):
        with pytest.raises(OutOfDomainError, match=message):
            call()
    api.clear_params(0)  # the table has no such values


def test_wrong_arguments_are_reported_in_one_sentence(api: nats_bench.NATStopology) -> None:
    for call, message in (
        (lambda: api.get_more_info(0, "cifar-10"), "unknown data set 'cifar-10'"),
        (lambda: api.get_net_config(0, "mnist"), "unknown data set 'mnist'"),
        (lambda: api.get_more_info(0, "cifar10", iepoch=12), "iepoch cannot be 12: give a number from 0 to 11"),
        (lambda: api.simulate_train_eval(0, "cifar10-valid"), "unknown data set of a search 'cifar10-valid'"),
        (lambda: api.find_best("cifar10", "dev"), "unknown set of cifar10 'dev'"),
        (lambda: nats_bench.create(None, "nas"), "unknown search space 'nas'"),
        (lambda: nats_bench.search_space_info("nats-bench", "nas"), "unknown search space 'nats-bench, nas'"),
        (lambda: nats_bench.create(3, "tss"), "file_path_or_dict cannot be 3"),
        (lambda: nats_bench.create("embedded", "tss"), "belongs to another benchmark"),
        (lambda: nats_bench.create("/nowhere/NATS-tss-v1_0-3ffb9-simple", "tss"), "there is no table in"),
        (lambda: NASBench201API("/nowhere/NAS-Bench-201-v1_1-096897.pth"), "there is no file"),
        (lambda: NASBench201API({"meta_archs": []}), "lacks meta_archs or arch2infos"),
        (lambda: NASBench("nb201"), "belongs to another benchmark"),
    ):
        with pytest.raises(InvalidInputError, match=message):
            call()


def test_random_architectures(api: nats_bench.NATStopology) -> None:
    random.seed(3)
    expected = [random.randint(0, 15_624) for _ in range(5)]
    random.seed(3)
    assert [api.random() for _ in range(5)] == expected  # scripts seed Python's generator
    with pytest.warns(UserWarning, match="complete trainings"):
        seeded = [nats_bench.create(api.table, "tss", verbose=False, seed=5) for _ in range(2)]
    state = random.getstate()
    draws = [[one.random() for _ in range(5)] for one in seeded]
    assert draws[0] == draws[1] != expected
    assert random.getstate() == state


def test_another_process_gets_the_same_answers(api: nats_bench.NATStopology) -> None:
    copied = pickle.loads(pickle.dumps(api))  # noqa: S301  our own
    assert copied.get_more_info(5, "cifar10") == api.get_more_info(5, "cifar10")


def test_mode_and_archive_are_attributes(api: nats_bench.NATStopology) -> None:
    assert (api.fast_mode, api.archive_dir) == (True, None)
    api.reset_fast_mode(False)
    api.reset_archive_dir("archive")
    assert (api.fast_mode, api.archive_dir) == (False, "archive")
    api.reset_fast_mode(True)
    api.reset_archive_dir(None)


@pytest.mark.parametrize(
    "call",
    [
        lambda api: api.simulate_train_eval(0, ["cifar10"]),
        lambda api: api.get_net_config(0, ["cifar10"]),
        lambda api: api.query_meta_info_by_index(0).get_metrics("cifar10", ["ori-test"]),
        lambda api: api.find_best("cifar10", "valid", flop_max="100"),
        lambda api: api.find_best("cifar10", "valid", param_max=True),
        lambda api: api.find_best("cifar10", "valid", param_max=float("nan")),
    ],
)
def test_values_of_the_wrong_type_are_refused_in_one_sentence(
    api: nats_bench.NATStopology, call: Callable[[Any], Any]
) -> None:
    with pytest.raises(InvalidInputError):
        call(api)


def test_a_table_without_some_data_sets_answers_for_the_others() -> None:
    space = nb.search_space("nb201")
    rows = [
        {
            "architecture": str(space[number]),
            "dataset": "cifar10-valid",
            "epochs": 2,
            "seed": seed,
            "test_accuracy": 0.5,
            "trainable_parameters": 1000,
        }
        for number in (5, 6)
        for seed in (7, 8)
    ]
    frame = pandas.DataFrame(rows).assign(validation_accuracy=lambda rows: rows.index / 10, training_time=3.0)
    table = nb.table_from_frame(frame, space=space, name="own", reference="present")
    api = nats_bench.create(table, "tss", verbose=False)
    assert api.get_more_info(6, "cifar10-valid", hp=2, is_random=8)["valid-accuracy"] == pytest.approx(30.0)
    assert api.find_best("cifar10-valid", "x-valid", hp=2)[0] == 6
    assert api.query_by_index(5, "cifar10-valid", hp=2).keys() == {7, 8}
    with refuses(InvalidInputError, "cifar100"):
        api.get_more_info(5, "cifar100", hp=2)
