"""Bounds on costs: their text and options, which rows they allow, and regrets within them."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import refuses

import nasbench1shot1 as nb
from nasbench1shot1.evaluator import Baseline, Judge, common_baseline, with_baseline
from nasbench1shot1.one_shot_search.regret_curve import baseline_of
from nasbench1shot1.tables.bounds import BoundOptions, Bounds, GivenBounds, Limit, as_options

SMALL = Bounds.of(trainable_parameters=300_000, flops=5e7)


@pytest.fixture(scope="module")
def table() -> nb.Table:
    return nb.load_table("nb201")


@given(
    st.lists(
        st.builds(
            Limit,
            st.sampled_from(["flops", "trainable_parameters", "latency_edgegpu", "training_time"]),
            st.floats(1e-9, 1e18),
            st.sampled_from(["", "cifar10", "ImageNet16-120"]),
        ),
        min_size=1,
        max_size=4,
        unique_by=lambda limit: (limit.metric, limit.dataset),
    )
)
def test_the_text_of_bounds_reads_back(limits: list[Limit]) -> None:
    bounds = Bounds(tuple(limits))
    assert Bounds.parse(str(bounds)) == bounds
    assert BoundOptions(max=str(bounds)).bounds == bounds


@pytest.mark.parametrize(
    "text", ["flops", "flops=", "=3", "flops=x", "flops=inf", "flops=nan", "flops@=3", "a b=1", ""]
)
def test_a_text_that_is_no_bound_is_refused(text: str) -> None:
    with refuses(nb.InvalidInputError, text, options="max"):
        Bounds.parse(text)


def test_a_metric_is_bounded_once() -> None:
    with refuses(nb.InvalidInputError, "flops=3", "flops=100000000"):
        BoundOptions(max_flops=1e8, max="flops=3").bounds  # noqa: B018


def test_options_of_bounds_are_equal_however_they_are_given() -> None:
    assert BoundOptions(max_parameters=300_000, max_flops=5e7).bounds == SMALL
    assert BoundOptions(max="flops=5e7,trainable_parameters=3e5").bounds == SMALL
    for given_ in (SMALL, str(SMALL), {"flops": 5e7, "trainable_parameters": 3e5}):
        assert Bounds.from_options(as_options(given_)) == SMALL
    assert BoundOptions().bounds is None and as_options(None) == {}


def test_allowed_rows_are_those_with_small_costs(table: nb.Table) -> None:
    resolved = table.resolve(SMALL, "cifar100")
    parameters, flops = (table.values(name, dataset="cifar100")[:, 0] for name in ("trainable_parameters", "flops"))
    expected = (parameters <= 300_000) & (flops <= 5e7)
    assert 0 < expected.sum() < len(table)
    assert np.array_equal(table.allowed(resolved), expected)
    assert np.array_equal(table.members("nb201", resolved), np.flatnonzero(expected))
    some = [table.network(row) for row in (0, 9930, 11718)]
    assert [resolved.allows(table, arch) for arch in some] == [bool(expected[row]) for row in (0, 9930, 11718)]


@pytest.mark.parametrize("dataset", ["cifar10", "cifar100", "ImageNet16-120"])
def test_regret_is_relative_to_the_best_within_the_bounds(table: nb.Table, dataset: str) -> None:
    resolved = table.resolve(SMALL, dataset)
    accuracies = table.values("test_accuracy", dataset=dataset)
    means = np.nanmean(accuracies, axis=1)
    best = np.where(table.allowed(resolved), means, -1).max()
    arch, found = table.best("nb201", dataset=dataset, within=resolved)
    assert found.test_accuracy == pytest.approx(best) and resolved.allows(table, arch)
    assert table.regret(arch, dataset=dataset, within=resolved) == 0
    largest = table.network(11718)
    assert table.regret(largest, dataset=dataset, within=resolved) == pytest.approx(best - means[11718])
    mean = table.mean_regret("nb201", dataset=dataset, within=resolved)
    assert mean == pytest.approx((best - means)[table.allowed(resolved)].mean())
    assert nb.score(arch, table, dataset, within=SMALL).test_regret == 0


def test_bounds_within_which_a_table_compares_are_given_as_an_object_a_text_or_a_mapping(table: nb.Table) -> None:
    arch, space = table.network(11718), nb.search_space("nb201")

    def found(within: GivenBounds | None) -> list[object]:
        return [
            table.regret(arch, dataset="cifar100", within=within),
            table.mean_regret("nb201", dataset="cifar100", within=within),
            table.best("nb201", dataset="cifar100", within=within)[0],
            table.largest("nb201", within, "cifar100"),
            nb.score(arch, table, "cifar100", within=within),
        ]

    def counted(bounds: GivenBounds) -> list[object]:
        resolved = table.resolve(bounds, "cifar100")
        return [resolved, len(table.members("nb201", str(resolved))), table.constraint(space, bounds).words]

    for given_ in (str(SMALL), {"flops": 5e7, "trainable_parameters": 3e5}):
        assert found(given_) == found(SMALL) != found(None)
        assert counted(given_) == counted(SMALL)
    with refuses(nb.InvalidInputError, "flops=many", options="within"):
        table.best("nb201", dataset="cifar100", within="flops=many")
    with refuses(nb.InvalidInputError, '""', options="within"):
        nb.score(arch, table, within="")
    with refuses(nb.InvalidInputError, "3", options="bounds"):
        table.resolve(3)  # type: ignore[arg-type]


def test_bounds_without_a_data_set_compare_the_costs_of_the_query(table: nb.Table) -> None:
    bounds = Bounds.of(flops=1e7)  # few networks on CIFAR, most on ImageNet16-120
    sizes = {name: len(table.members("nb201", table.resolve(bounds, name))) for name in ("cifar10", "ImageNet16-120")}
    assert sizes["cifar10"] < 1000 < sizes["ImageNet16-120"]
    with refuses(nb.InvalidInputError, "flops"):
        table.members("nb201", bounds)
    for name, size in sizes.items():
        arch, _ = table.best("nb201", dataset=name, within=bounds)
        assert table.resolve(bounds, name).allows(table, arch)
        assert len(table.members("nb201", "flops=1e7", dataset=name)) == size
    with refuses(nb.OutOfDomainError, table.id, "svhn"):
        table.members("nb201", bounds, dataset="svhn")


def test_the_largest_that_fits_is_the_first_of_the_largest(table: nb.Table) -> None:
    bounds = Bounds.of(trainable_parameters=300_000)
    parameters = table.values("trainable_parameters", dataset="cifar10-valid")[:, 0]
    fitting = np.where(parameters <= 300_000, parameters, 0)
    found = table.largest("nb201", bounds)
    assert table.row_of(found) == int(np.argmax(fitting))
    largest = table.network(int(np.argmax(parameters)))
    assert table.largest("nb201", Bounds.of(trainable_parameters=1e9)) == table.largest("nb201") == largest


def test_the_largest_that_fits_has_the_most_parameters_whatever_is_bounded(table: nb.Table) -> None:
    """On the size space, the network with the most FLOPs within a bound has a much higher regret."""
    size, half = nb.load_table("nats-size"), Bounds.of(flops=274_399_882 / 2)
    flops, parameters = size.costs("flops@cifar10=1,trainable_parameters@cifar10=1")
    found = size.largest("nats-size", half, "cifar10")
    assert size.row_of(found) == int(np.argmax(np.where(flops <= 274_399_882 / 2, parameters, 0)))
    assert found == size.best("nats-size", dataset="cifar10", within=half)[0]
    for bounds in ("latency_pixel3=10", "latency_eyeriss=5,flops=5e7"):
        fits = table.allowed(table.resolve(bounds, "cifar10"))
        parameters = table.costs("trainable_parameters@cifar10=1")[0]
        largest = table.largest("nb201", bounds, "cifar10")
        assert table.row_of(largest) == int(np.argmax(np.where(fits, parameters, 0)))


def test_the_largest_network_of_the_size_space_is_always_a_baseline() -> None:
    size = nb.load_table("nats-size")
    regrets = {"cifar10": 0.0025, "cifar100": 0.0062, "ImageNet16-120": 0.0023333}  # size_space.md, section 0
    for dataset, regret in regrets.items():
        found = Judge(dataset).baseline("nats-size", size)
        assert found is not None and found.network == "64:64:64:64:64" and found.bounds is None and not found.sentence
        assert found.test_regret == pytest.approx(regret, abs=1e-6) and found.validation_regret is None
        assert Baseline.from_config(found.fields(), Path()) == found
    half = Judge("cifar10", within=Bounds.of(flops=137.2e6)).baseline("nats-size", size)
    assert half is not None and half.bounds == size.resolve(Bounds.of(flops=137.2e6)) and half.networks == 22_365
    assert Judge().baseline("nb201", nb.load_table("nb201")) is None


def test_a_table_without_parameters_has_no_largest_network_unless_there_are_bounds() -> None:
    size, space = nb.load_table("nats-size"), nb.search_space("nats-size")
    frame = size.to_frame()
    frame = frame[frame["dataset"] == "cifar10"].drop(columns=["trainable_parameters", "flops"]).head(50)
    small, run = (
        nb.table_from_frame(frame, space=space, reference="present"),
        {"table_id": size.id, "dataset": "cifar10"},
    )
    recorded = Judge("cifar10").baseline("nats-size", size)
    assert recorded is not None and Judge("cifar10").baseline("nats-size", small) is None
    assert baseline_of(recorded, run, size, "nats-size") == recorded
    assert baseline_of(recorded, run, small, "nats-size") is None
    assert with_baseline({**run, **recorded.fields()}, None) == run
    bounded = Judge("cifar10", within=Bounds.of(flops=137.2e6)).baseline("nats-size", size)
    with refuses(nb.OutOfDomainError, "no flops", "max_flops"):
        baseline_of(bounded, run, small, "nats-size")


def test_the_best_of_several_recorded_baselines_is_the_common_one(table: nb.Table) -> None:
    """Earlier versions recorded another baseline for the same bounds."""
    found = Baseline.of("nb201", table, SMALL)
    assert found is not None and found.test_regret is not None
    better = replace(found, network="another", test_regret=found.test_regret / 2)
    unknown = replace(found, test_regret=None)
    for given_ in ((found, better), (better, found), (unknown, better)):
        assert common_baseline(dict(zip("ab", given_, strict=True))) == better
    assert common_baseline({"a": unknown}) == unknown and common_baseline({"a": None}) is None


@pytest.mark.parametrize("has_parameters", ["none", "of one network outside the bounds"])
def test_in_a_table_without_parameters_the_bounded_cost_defines_the_largest(has_parameters: str) -> None:
    frame = nb.load_table("nats-size").to_frame()
    frame = frame[frame["dataset"] == "cifar10"].head(50).drop(columns="trainable_parameters")
    costs = frame["flops"].sort_values()
    if has_parameters != "none":
        frame["trainable_parameters"] = np.where(frame["flops"] == costs.iloc[-1], 1000.0, np.nan)
    own = nb.table_from_frame(frame, space=nb.search_space("nats-size"), reference="present")
    found = own.largest("nats-size", f"flops={costs.iloc[20]:.0f}")
    assert str(found) == frame.loc[costs.index[20], "architecture"]
    with refuses(nb.OutOfDomainError, "evaluation_time"):
        own.largest("nats-size", "evaluation_time=1")
    if has_parameters == "none":
        with refuses(nb.OutOfDomainError, own.id, "trainable_parameters", options=""):
            own.largest("nats-size")


@pytest.mark.parametrize(
    "damage", [None, {"limits": "flops"}, {"networks": "many"}, {"test_regret": "0.1"}, {"other": 1}, {"network": None}]
)
def test_a_damaged_record_of_bounds_is_reported(table: nb.Table, damage: dict[str, object] | None) -> None:
    found = Baseline.of("nb201", table, SMALL).fields()
    damaged = {"bounds": {**found["bounds"], **damage} if damage else 3}
    with refuses(nb.DamagedFileError, "config.json", "bounds"):
        Baseline.from_config(damaged, Path("config.json"))


def test_bounds_on_parameters_work_in_all_spaces() -> None:
    embedded = nb.load_table()
    for name in ("s1", "s2", "s3"):
        space, bounds = nb.search_space(name), Bounds.of(trainable_parameters=2e6)
        rows = embedded.members(name, embedded.resolve(bounds))
        assert 0 < len(rows) < len(embedded.members(name))
        constraint = embedded.constraint(space, bounds)
        rng = np.random.default_rng(0)
        arch = constraint.draw(lambda: space.sample(rng))  # noqa: B023
        assert embedded.row_of(arch) in rows and constraint.allows(arch)
        assert embedded.query(arch).trainable_parameters == constraint.costs[0].of(arch) <= 2e6
    assert embedded.regret(arch) >= embedded.regret(arch, within=bounds) >= 0


def test_costs_by_number_follow_the_numbers_of_the_space(table: nb.Table) -> None:
    space = nb.search_space("nb201")
    (cost,) = table.constraint(space, Bounds.of(flops=5e7)).costs
    assert cost.limit == 5e7 and cost.by_number.shape == (15625,)
    assert not cost.by_number.flags.writeable
    for number in (0, 77, 15624):
        assert cost.by_number[number] == cost.of(space[number])


@pytest.mark.parametrize(
    ("text", "kind", "values"),
    [
        ("flops=1", nb.OutOfDomainError, ["7,783,050"]),
        ("training_time=300", nb.OutOfDomainError, ["1,084 s"]),
        ("latency_watch=5", nb.InvalidInputError, ["latency_watch"]),
        ("test_loss=1", nb.InvalidInputError, ["test loss"]),
        ("validation_accuracy=0.9", nb.InvalidInputError, ['"validation_accuracy=0.9"', "validation accuracy"]),
        ("flops@cifar=1e8", nb.InvalidInputError, ["'cifar'", "cifar100"]),
        ("cifar10.flops=4e7", nb.InvalidInputError, ["cifar10.flops=4e7", "flops@cifar10=4e7"]),
    ],
)
def test_bounds_that_cannot_be_met_or_compared_are_refused(
    table: nb.Table, text: str, kind: type[nb.UserError], values: list[str]
) -> None:
    with refuses(kind, *values):
        table.constraint(nb.search_space("nb201"), Bounds.parse(text))


def test_a_column_that_the_table_lacks_is_named() -> None:
    with refuses(nb.OutOfDomainError, "flops", "trainable_parameters", options="max_flops"):
        nb.load_table().resolve(Bounds.of(flops=1e8))


def test_the_advised_bound_is_the_given_one() -> None:
    with refuses(nb.InvalidInputError, "flops@cifar100=123456789"):
        nb.load_table("nb201").allowed(nb.Bounds.of(flops=123_456_789))


def test_rejections_are_limited(table: nb.Table, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nasbench1shot1.constraint.REJECTIONS", 100)
    constraint = table.constraint(nb.search_space("nb201"), SMALL)
    proposed = []

    def propose() -> nb.Architecture:
        proposed.append(table.network(11718))
        return proposed[-1]

    with refuses(nb.InvalidInputError, "100", "300,000"):
        constraint.draw(propose)
    assert len(proposed) == 100


def test_only_the_costs_of_the_data_set_are_proposed(table: nb.Table) -> None:
    bounds = Bounds.of(latency_fpga=3)
    assert table.constraint(nb.search_space("nb201"), table.resolve(bounds, "cifar100")).costs[0].limit == 3
    with refuses(nb.OutOfDomainError, '"latency_fpga=3"', "ImageNet16-120", "trainable_parameters") as raised:
        table.resolve(bounds, "ImageNet16-120")
    assert "latency_pixel2" not in str(raised.value)


@pytest.mark.parametrize("limit", ["abc", None, float("nan"), [1]])
def test_limits_by_keyword_must_be_numbers(limit):
    with refuses(nb.InvalidInputError, "flops"):
        nb.Bounds.of(flops=limit)
    assert nb.Bounds.of(flops=np.float64(2.5e8), trainable_parameters=3).limits[0].most == 2.5e8


@pytest.mark.parametrize("metric", ["accuracy", "test_accuracy", "loss", "train_loss"])
def test_accuracies_and_losses_are_not_bounds(metric: str) -> None:
    with refuses(nb.InvalidInputError, metric, "trainable_parameters"):
        nb.Bounds.of(**{metric: 0.9})
    assert nb.Bounds.of(closs=1).limits[0].metric == "closs"


def test_only_costs_are_proposed_for_an_unknown_metric(table: nb.Table) -> None:
    with refuses(nb.InvalidInputError, "latency_pixel", "latency_pixel2") as raised:
        table.resolve(Bounds.of(latency_pixel=5))
    assert "accuracy" not in str(raised.value) and "training_time" in str(raised.value)


def test_costs_are_those_on_the_data_set_of_the_search(table: nb.Table) -> None:
    assert str(table.resolve(Bounds.of(flops=4e7))) == "flops@cifar10=40000000"
    assert str(table.resolve(Bounds.of(training_time=3000), "cifar100")) == "training_time@cifar100=3000"
