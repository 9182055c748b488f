"""Excluded entries: mixing weights, passes that do not compute them, and bad requests."""

from typing import Any

import pytest
import torch
from refusals import refuses
from tiny_search import generator, tiny_batch, tiny_state

import nasbench1shot1 as nb
from nasbench1shot1.ground.errors import InvalidInputError
from nasbench1shot1.one_shot_search.loop import batch_pairs
from nasbench1shot1.one_shot_search.weight_step import weight_step
from nasbench1shot1.optimizer import Mixing
from nasbench1shot1.optimizers.components.allowed import AllowedEntries
from nasbench1shot1.optimizers.components.relaxation import RELAXATIONS
from nasbench1shot1.supernets.supernet import Supernet

SPACES = ("s1", "s2", "s3", "nb201")


def restricted(space: Any) -> AllowedEntries:
    """Keep entry 1 of the first choice of operations, and drop entry 0 of the second."""
    allowed = AllowedEntries(space)
    first, second, *_ = [n for n, choice in enumerate(space.choices()) if choice.key == space.operation_key]
    allowed.keep(first, [1])
    allowed.drop(second, 0)
    return allowed


def random_parameters(space: Any, dtype: torch.dtype = torch.float64) -> dict[str, torch.Tensor]:
    drawn = generator(3)
    return {key: torch.randn(shape, generator=drawn, dtype=dtype) for key, shape in space.mixing_shapes().items()}


def excluded(allowed: AllowedEntries, space: Any) -> list[tuple[str, int | None, int]]:
    choices = enumerate(space.choices())
    return [(c.key, c.row, e) for n, c in choices for e in range(c.entries) if e not in allowed[n]]


@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("name", sorted(set(RELAXATIONS) - {"interpolation"}))
def test_every_relaxation_gives_excluded_entries_no_weight(space, name):
    space = nb.search_space(space)
    allowed = restricted(space)
    parameters = {key: value.requires_grad_() for key, value in random_parameters(space).items()}
    for drawn in (None, generator(0)):
        mixing = RELAXATIONS[name](space, allowed.masked(parameters), 0.7, drawn)
        for key, row, entry in excluded(allowed, space):
            assert mixing.weights[key][row, entry] == 0
        sum((value * value).sum() for value in mixing.weights.values()).backward()
        assert all(torch.isfinite(value.grad).all() for value in parameters.values())
        for key, row, entry in excluded(allowed, space):
            assert parameters[key].grad[row, entry] == 0


@pytest.mark.parametrize("space", SPACES)
def test_a_pass_without_excluded_operations_equals_one_in_which_their_weights_are_zero(space):
    space = nb.search_space(space)
    allowed, net = restricted(space), Supernet(space, 2, 3, generator=generator(1)).double()
    weights = RELAXATIONS["softmax"](space, allowed.masked(random_parameters(space)), 1.0, None).weights
    restricting, batch = allowed.restrict(Mixing(weights)), tiny_batch()
    assert (restricting.allowed[0], restricting.operations) == ((1,), None)
    with torch.no_grad():
        dense = net.train()(batch.images, weights)
        statistics = {name: buffer.clone() for name, buffer in net.named_buffers()}
    net.zero_grad()
    sparse = net(batch.images, *restricting.arguments())
    assert torch.allclose(sparse, dense, atol=1e-12)
    sparse.square().sum().backward()
    excluded_weights = [
        name
        for operation, names in net.operation_weights.items()
        if _row(operation, space) == 0 and not operation.endswith(_name_of(space, 1))
        for name in names
    ]
    assert excluded_weights
    parameters = dict(net.named_parameters())
    assert all(parameters[name].grad is None for name in excluded_weights)
    for name, buffer in net.named_buffers():
        is_of_excluded = any(name.startswith(weight.rsplit(".", 2)[0] + ".") for weight in excluded_weights)
        if is_of_excluded and name.endswith("running_mean"):
            assert torch.equal(buffer, statistics[name])  # neither moments nor counters move


def _row(operation: str, space: Any) -> int:
    return int(operation.split(".")[3])


def _name_of(space: Any, entry: int) -> str:
    names = ("none", "skip", "conv1x1", "conv3x3", "pool") if space.name == "nb201" else ("conv3x3", "conv1x1")
    return names[entry]


def test_an_edge_on_which_only_zeroize_is_left_adds_nothing():
    space = nb.search_space("nb201")
    allowed, net = AllowedEntries(space), Supernet(space, 2, 1, generator=generator(1)).double()
    for number in range(6):
        allowed.keep(number, [0])
    weights = RELAXATIONS["softmax"](space, allowed.masked(random_parameters(space)), 1.0, None).weights
    mixing, batch = allowed.restrict(Mixing(weights)), tiny_batch()
    with torch.no_grad():
        assert torch.equal(net(batch.images, *mixing.arguments()), net(batch.images, weights))


def test_decided_choices_are_fixed_and_the_state_survives():
    space = nb.search_space("s1")
    allowed = AllowedEntries(space)
    assert allowed.operations() is None
    assert not allowed.is_restricted
    weights = RELAXATIONS["softmax"](space, random_parameters(space), 1.0, None).weights
    number, choice = next((n, c) for n, c in enumerate(space.choices()) if c.picks == 2)
    allowed.keep(number, [0, 2])
    assert number not in allowed.undecided
    shares = [0.5 if entry in (0, 2) else 0.0 for entry in range(choice.entries)]
    assert allowed.fixed(weights)[choice.key].tolist() == shares
    assert allowed.structure() == {choice.key: [0, 2]}
    other = AllowedEntries(space)
    other.load_state_dict(allowed.state_dict())
    assert other.structure() == allowed.structure()
    other.clear()
    assert not other.is_restricted


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (lambda allowed: allowed.keep(0, [0]), ("operations[0]", "entry 0 is excluded")),
        (lambda allowed: allowed.drop(0, 2), ("operations[0]", "entry 2 is excluded already")),
        (lambda allowed: allowed.keep(0, []), ("operations[0]", "at least")),
    ],
)
def test_excluded_entries_and_too_few_entries_are_refused(ask, words):
    allowed = AllowedEntries(nb.search_space("nb201"))
    allowed.keep(0, [1, 3])
    with refuses(InvalidInputError, *words):
        ask(allowed)
    assert allowed[0] == (1, 3)


@pytest.mark.parametrize("operations", [((0, 0), 1, 1, 1), ((), 1, 1, 1), ((0, 3), 1, 1, 1), (0, 1)])
def test_operations_that_do_not_exist_or_repeat_are_refused(operations):
    with refuses(InvalidInputError, "is not valid", "numbers from 0 to 2"):
        nb.search_space("s1").check_operations(operations)


def test_excluded_operations_are_left_out_of_a_step_of_the_weights_and_of_lambda():
    state = tiny_state(space="nb201")
    state.method.allowed.keep(0, [3])
    assert state.method.mixing().allowed[0] == (3,)
    assert state.method.structure() == {"operations[0]": [3]}
    assert state.method.architecture().operations[0] == 3
    again = tiny_state(space="nb201")
    again.method.load_state_dict(state.method.state_dict())
    assert again.method.allowed[0] == (3,)
    again.method.load_state_dict({k: v for k, v in state.method.state_dict().items() if k != "allowed"})
    assert not again.method.allowed.is_restricted


@pytest.mark.parametrize("space", ["s1", "nb201"])
def test_a_weight_step_drops_the_momentum_of_excluded_operations_only(space):
    state = tiny_state(space=space)
    batch = next(batch_pairs(state, 1))[0]
    weight_step(state, batch)
    weights, momenta = dict(state.net.named_parameters()), state.weight_optimizer.state
    assert set(weights.values()) == set(momenta)
    number = next(n for n, choice in enumerate(state.net.space.choices()) if choice.row == 0)
    state.method.allowed.keep(number, [1])
    weight_step(state, batch)
    dropped = {name for name, weight in weights.items() if weight not in momenta}
    operations = state.net.operation_weights.items()
    kept = _name_of(state.net.space, 1)
    assert dropped == {n for name, of in operations if _row(name, None) == 0 and not name.endswith(kept) for n in of}


def decided_edges(space: Any) -> AllowedEntries:
    """Exclude the cell's input from all choices of inputs, and the last block from the output."""
    allowed = AllowedEntries(space)
    for number, choice in enumerate(space.choices()):
        if choice.key != space.operation_key:
            allowed.drop(number, 0)
        if choice.key == "output_edges":
            allowed.drop(number, space.n_blocks)
    return allowed


@pytest.mark.parametrize("mixed_operations", [False, True])
@pytest.mark.parametrize("space", ["s1", "s2", "s3"])
def test_a_pass_without_excluded_edges_equals_one_in_which_their_weights_are_zero(space, mixed_operations):
    space = nb.search_space(space)
    allowed, net = decided_edges(space), Supernet(space, 2, 3, generator=generator(1)).double()
    if mixed_operations:
        allowed.drop(next(n for n, choice in enumerate(space.choices()) if str(choice) == "operations[1]"), 0)
    leaves = {key: value.requires_grad_() for key, value in random_parameters(space).items()}
    weights = RELAXATIONS["softmax"](space, allowed.masked(leaves), 1.0, None).weights
    mixing, batch = allowed.restrict(Mixing(weights)), tiny_batch()
    assert mixing.allowed_edges
    dense, sparse = net.train()(batch.images, weights), net(batch.images, *mixing.arguments())
    assert torch.allclose(sparse, dense, atol=1e-12)
    wanted, found = (
        torch.autograd.grad(out.square().sum(), leaves.values(), retain_graph=True, materialize_grads=True)
        for out in (dense, sparse)
    )
    for one, other in zip(wanted, found, strict=True):
        torch.testing.assert_close(other, one)


@pytest.mark.parametrize("space", ["s1", "s2", "s3"])
def test_excluded_edges_are_not_computed(space):
    space = nb.search_space(space)
    allowed, net = decided_edges(space), Supernet(space, 2, 2, generator=generator(1)).double()
    mixing = allowed.restrict(
        Mixing(RELAXATIONS["softmax"](space, allowed.masked(random_parameters(space)), 1.0, None).weights)
    )
    computed: dict[str, int] = {}
    for name, module in net.named_modules():
        if name.startswith("cells"):
            module.register_forward_hook(lambda *_, name=name: computed.update({name: computed.get(name, 0) + 1}))
    net(tiny_batch().images, *mixing.arguments()).square().sum().backward()
    last = space.n_blocks - 1
    for cell in range(2):
        projected = {n for n in range(last + 2) if f"cells.{cell}.projections.{n}" in computed}
        assert projected == {n for n in range(last) if space.mixing_key(n + 1) is None}
        applied = {n for n in range(last + 1) if f"cells.{cell}.blocks.{n}" in computed}
        assert applied == set(range(last))
    for name, weight in net.named_parameters():
        layer = name.rsplit(".", 2)[0]
        assert (weight.grad is None) == (name.startswith("cells") and layer not in computed), name
    assert set(computed.values()) == {1}


def test_a_weight_step_drops_the_momentum_of_excluded_edges_only():
    state = tiny_state(space="s1")
    batch = next(batch_pairs(state, 1))[0]
    weight_step(state, batch)
    weights, momenta = dict(state.net.named_parameters()), state.weight_optimizer.state
    number = next(n for n, choice in enumerate(state.net.space.choices()) if choice.key == "output_edges")
    state.method.allowed.keep(number, [2, 4])
    before = {name: weight.detach().clone() for name, weight in weights.items()}
    weight_step(state, batch)
    dropped = {name for name, weight in weights.items() if weight not in momenta}
    assert {name.split(".conv")[0].split(".bn")[0] for name in dropped} == {"cells.0.projections.4"}
    for name, weight in weights.items():
        assert torch.equal(weight, before[name]) == (name in dropped)


def test_a_sampled_pass_leaves_out_excluded_edges_and_keeps_momentum():
    space = nb.search_space("s1")
    allowed = decided_edges(space)
    sampled = RELAXATIONS["gumbel-operations"](space, allowed.masked(random_parameters(space)), 1.0, generator(0))
    restricted = allowed.restrict(sampled)
    assert restricted.allowed_edges == allowed.edges()
    assert not restricted.leaves_out_excluded
    path = RELAXATIONS["single-path"](space, allowed.masked(random_parameters(space)), 1.0, generator(0))
    assert allowed.restrict(path) == path


def test_a_pass_without_excluded_edges_is_compiled_as_one_graph():
    space = nb.search_space("s1")
    allowed, net = decided_edges(space), Supernet(space, 2, 1, generator=generator(1)).eval()
    parameters = random_parameters(space, torch.float32)
    mixing = allowed.restrict(Mixing(RELAXATIONS["softmax"](space, allowed.masked(parameters), 1.0, None).weights))
    compiled, seen = torch.compile(net, backend="eager", fullgraph=True), tiny_batch(dtype=torch.float32).images
    arguments = mixing.arguments()
    torch.testing.assert_close(compiled(seen, *arguments), net(seen, *arguments), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("space", "edges", "words"),
    [
        ("nb201", {"operations": (0,)}, ["nb201", "edges="]),
        ("s1", {"operations": (0,)}, ["operations", "output_edges (0 to 4)"]),
        ("s1", {"output_edges": (1, 5)}, ["(1, 5)", "output_edges (0 to 4)"]),
        ("s1", {"output_edges": ()}, ["()", "output_edges (0 to 4)"]),
        ("s1", {"output_edges": 1}, ["1}", "output_edges (0 to 4)"]),
        ("s1", {"output_edges": "01"}, ["'01'", "output_edges (0 to 4)"]),
        ("s1", [1], ["edges=[1]"]),
    ],
)
def test_edges_that_do_not_exist_are_refused(space, edges, words):
    space = nb.search_space(space)
    weights = {key: torch.ones(shape) for key, shape in space.mixing_shapes().items()}
    with refuses(InvalidInputError, *words):
        Supernet(space, 2, 1)(torch.zeros(1, 3, 8, 8), weights, None, None, edges)


def test_a_mask_is_compiled_and_a_sample_is_not():
    space = nb.search_space("s1")
    allowed, sets = restricted(space), ({"operations": torch.ones(4, 3)},) * 2
    assert not allowed.restrict(Mixing(sets[0])).is_sampled
    several = allowed.restrict(Mixing(sets))
    assert several.allowed == allowed.operations()
    assert several.computed == (several.allowed,) * 2
    for copy in (several.as_leaves(2), several.with_each(dict), several.with_tensors(iter(several.tensors()))):
        assert copy.allowed == several.allowed
        assert copy.computed == several.computed
    assert Mixing(sets[0], (1, 1, 1, 1)).is_sampled


def test_an_excluded_operation_cannot_be_sampled():
    space = nb.search_space("s1")
    allowed, weights = restricted(space), {"operations": torch.ones(4, 3)}
    assert allowed.restrict(Mixing(weights, (1, 1, 0, 0))).operations == (1, 1, 0, 0)
    for mixing in (Mixing(weights, (1, 0, 0, 0)), Mixing((weights, weights), ((1, 1, 0, 0), (1, (0, 2), 0, 0)))):
        with refuses(InvalidInputError, "operations[1]", "operation 0 is excluded", "1, 2"):
            allowed.restrict(mixing)


def test_spaces_whose_cells_cannot_leave_out_operations_compute_all_of_them():
    space = nb.search_space("nats-size")
    allowed = AllowedEntries(space)
    allowed.keep(0, [3])
    weights = {"widths": torch.ones(5, 8)}
    assert allowed.restrict(Mixing(weights)) == Mixing(weights)
    assert allowed.masked(weights)["widths"][0].isfinite().tolist() == [entry == 3 for entry in range(8)]
