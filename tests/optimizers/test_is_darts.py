"""IS-DARTS: the measure of outputs, when candidates are excluded, and what a search records."""

from itertools import islice

import numpy as np
import pytest
import torch
from refusals import refuses
from small_supernets import images, random_mixing, small
from tiny_search import TINY, generator, search, tiny_state

import nasbench1shot1 as nb
from nasbench1shot1.nasbench201.architecture import EDGES
from nasbench1shot1.one_shot_search.loop import train_epoch
from nasbench1shot1.one_shot_search.options import search_options
from nasbench1shot1.optimizer import Mixing
from nasbench1shot1.optimizers.is_darts import Measure, most_informative
from nasbench1shot1.probability import most_probable
from nasbench1shot1.supernets.passes import class_scores
from nasbench1shot1.supernets.supernet import to_tensors

SCHEDULE = ("epochs", "shrink_steps", "shrink_interval")
SHORT = {"optimizer": "is-darts", "shrink_steps": 2, "shrink_interval": 1}


class Silent:
    def step(self, epoch, loss):
        pass


def published_measure(output: torch.Tensor) -> float:
    """The mean of 3 (x - μ)² / σ⁶ in numpy, where 0 / 0 is infinite."""
    x = output.double().numpy()
    mean, deviation = x.mean(axis=1, keepdims=True), x.std(axis=1, ddof=1, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        values = 3 * (x - mean) ** 2 / deviation**6
    return float(np.where(np.isnan(values), np.inf, values).mean(axis=(1, 2, 3)).mean())


def drawn(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, generator=generator(seed), dtype=torch.float64)


def test_the_measure_equals_the_published_formula():
    measure, first, second = Measure(), drawn(3, 5, 4, 4), 3 * drawn(2, 5, 4, 4, seed=1)
    measure("operations", 0, 2, first)
    measure("operations", 0, 2, second)
    measure("output_edges", None, 1, first)
    found = measure.means()
    wanted = (3 * published_measure(first) + 2 * published_measure(second)) / 5
    assert found["operations", 0, 2] == pytest.approx(wanted, rel=1e-5)  # outputs are measured in float32
    assert found["output_edges", None, 1] == pytest.approx(published_measure(first), rel=1e-5)


def test_constant_outputs_have_an_infinite_measure():
    zero, one_channel = torch.zeros(2, 4, 3, 3), drawn(2, 1, 3, 3)
    for output, pooled in ((zero, False), (zero, True), (one_channel, False), (one_channel, True)):
        measure = Measure(pooled)
        measure("operations", 0, 0, output)
        assert measure.means() == {("operations", 0, 0): np.inf}
    assert published_measure(zero) == np.inf


def test_pooled_variance_differs_only_where_the_variance_does():
    """One constant position makes the published measure infinite, and the pooled one slightly larger."""
    of_channels = drawn(1, 6, 1, 1).expand(2, 6, 4, 4).clone()
    results = {}
    for pooled in (False, True):
        measure = Measure(pooled)
        measure("operations", 0, 0, of_channels)
        results[pooled] = measure.means()["operations", 0, 0]
    assert results[True] == pytest.approx(results[False], rel=1e-6)
    of_channels[:, :, 1, 1] = 0.0
    measures = [Measure(pooled) for pooled in (False, True)]
    for measure in measures:
        measure("operations", 0, 0, of_channels)
    plain, pooled = (measure.means()["operations", 0, 0] for measure in measures)
    assert plain == np.inf
    assert pooled == pytest.approx(results[True] * (16 / 15) ** 2, rel=1e-6)


def test_of_equal_measures_the_first_entry_is_excluded_first():
    measures = np.array([np.inf, 2.0, 1.0, np.inf, 1.0])
    assert most_informative(measures, (0, 1, 2, 3, 4), 4) == (1, 2, 3, 4)
    assert most_informative(measures, (1, 2, 3, 4), 3) == (1, 2, 4)
    assert most_informative(measures, (1, 2, 4), 1) == (4,)


@pytest.mark.parametrize("space", ["s1", "nb201"])
def test_the_scaled_sum_of_the_observed_outputs_is_the_output_of_the_cell(space):
    net = small(space, channels=2, cells=1).double().eval()
    weights = {key: value.detach().double() for key, value in random_mixing(net.space, 4).items()}
    seen, of_cell = {}, []
    handle = net.cells[0].register_forward_hook(lambda _, inputs, output: of_cell.extend((inputs[0], output)))

    def observer(key, row, entry, output):
        seen[key, row, entry] = output.clone()

    with torch.no_grad(), net.observed_candidates(observer):
        class_scores(net, Mixing(weights), images(2).double())
    handle.remove()
    assert set(seen) == {
        (choice.key, choice.row, entry) for choice in net.space.choices() for entry in range(choice.entries)
    }
    given, output = of_cell

    def mixed(row: int) -> torch.Tensor:
        return sum(weight * seen["operations", row, o] for o, weight in enumerate(weights["operations"][row]))

    if space == "nb201":
        made = sum(mixed(e) for e, (target, _) in enumerate(EDGES) if target == 3)
        torch.testing.assert_close(seen["operations", 0, 1], given)
    else:
        outputs = [seen["output_edges", None, node] for node in range(5)]
        for row in range(4):
            torch.testing.assert_close(outputs[row + 1], mixed(row))
        scaled = [weight * value for weight, value in zip(weights["output_edges"], outputs, strict=True)]
        made = scaled[0] + torch.cat(scaled[1:], dim=1)
    torch.testing.assert_close(output, made)
    seen.clear()
    class_scores(net, Mixing(weights), images(2).double())
    assert not seen


def test_the_default_schedule_is_the_published_one():
    state = tiny_state(optimizer="is-darts", space="nb201", epochs=30, shrink_interval=2)
    assert [search_options({"optimizer": "is-darts", "space": "nb201"}).as_dict()[name] for name in SCHEDULE] == [
        30,
        4,
        2,
    ]
    method, allowed = state.method, []
    assert [(phase.name, phase.epochs, phase.data) for phase in state.phases] == [
        ("training", 22, "halves"),
        ("shrinking", 8, "halves"),
    ]
    method._measure = lambda shared, rows: [np.array([np.inf, 5.0, 4.0, 3.0, 2.0])] * 6
    for epoch in range(1, 31):
        method.begin_epoch(epoch, 30, generator(epoch))
        method.end_epoch(state.shared_weights(epoch))
        allowed.append(method.allowed[0])
    assert [len(entries) for entries in allowed] == [5] * 21 + [4] * 2 + [3] * 2 + [2] * 2 + [1] * 3
    assert allowed[21::2] == [(1, 2, 3, 4), (2, 3, 4), (3, 4), (4,), (4,)]
    weights = method.mixing()
    assert weights.weights["operations"].tolist() == [[0.0, 0.0, 0.0, 0.0, pytest.approx(0.2)]] * 6
    assert weights.allowed == ((4,),) * 6


def test_a_search_excludes_the_candidates_with_the_largest_measures():
    state = tiny_state(**SHORT, space="nb201", epochs=3, channels=3)
    state.method.begin_epoch(1, 3, generator(1))
    train_epoch(state, 1, Silent())
    kept = [set(state.method.allowed[e]) for e in range(6)]
    assert all(0 not in entries for entries in kept)  # the outputs of none are constant
    state.method.allowed.clear()
    measures = state.method._measure(state.shared_weights(1), state.shared_weights(1).training_rows("weight-half"))
    assert kept == [set(np.argsort(of_edge)[:3].tolist()) for of_edge in measures]  # of 5, 2 are left out in 2 steps


def test_structure_and_phases_are_recorded(tmp_path):
    run = search(tmp_path / "run", **SHORT, space="s1")
    assert [line.get("phase") for line in run.lines] == [None, "training", "training", "shrinking", "shrinking"]
    numbers = [len(line.get("structure", {}).get("output_edges", range(5))) for line in run.lines]
    assert numbers == [5, 5, 4, 2, 2]
    assert all(len(entries) == 1 for key, entries in run.lines[-1]["structure"].items() if key.startswith("operations"))
    assert run.lines[-1]["architecture"] == run.lines[-2]["architecture"]


def test_a_finished_search_cannot_have_excluded_candidates_earlier(tmp_path):
    search(tmp_path / "run", **SHORT)
    with pytest.raises(nb.InvalidInputError, match="epochs"):
        nb.search(resume=tmp_path / "run", epochs=TINY["epochs"] + 2)


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"warm_start_epochs": 1}, "warm_start_epochs"),
        ({"shrink_steps": 4}, "shrink_steps shrink_interval epochs"),
        ({"hessian_eigenvalue": True}, "hessian_eigenvalue"),
    ],
)
def test_meaningless_options_are_refused(options, named):
    with refuses(nb.InvalidInputError, options=named):
        tiny_state(**{**SHORT, **options})


def test_a_space_whose_cells_do_not_show_outputs_is_refused():
    with refuses(nb.InvalidInputError, "nats-size"):
        tiny_state(**SHORT, space="nats-size", channels=64, cells=3)


def test_all_images_are_used_if_asked():
    state = tiny_state(**SHORT, training_images="all")
    rows = state.shared_weights(1).training_rows("all")
    assert sorted(rows.tolist()) == sorted([*state.split.weights.tolist(), *state.split.architecture.tolist()])
    assert len(state.rows(1)[0]) == len(rows) == 2 * len(state.shared_weights(1).training_rows("weight-half"))


def test_of_equally_close_networks_those_without_excluded_candidates_are_preferred():
    state = tiny_state(**SHORT, space="nb201", epochs=3, channels=3)
    method, space = state.method, nb.search_space("nb201")
    method.allowed.keep(0, [2, 4])
    method.chosen = space.from_values([4] * 6)
    method.parameters = to_tensors(space.one_hot(method.chosen), method.device)
    order = [arch.operations for arch, _ in islice(most_probable(space, method.preferences()), 25)]
    assert order[0] == (4,) * 6
    others = [operations[0] for operations in order[1:] if operations[1:] == (4,) * 5]
    assert others[0] == 2 and set(others) == {0, 1, 2, 3}
    assert [sum(operation != 4 for operation in operations) for operations in order[1:]] == [1] * 24
    assert [operations[0] in (2, 4) for operations in order] == [True] * 22 + [False] * 3
    assert space.discretise(method.preferences()) == method.chosen
