"""DARTS-: the auxiliary skip connection of a supernet, and how it fades."""

import pytest
import torch
from small_supernets import small
from tiny_search import SMALL_SPACE, generator, search, tiny_batch, tiny_state

import nasbench1shot1 as nb
from nasbench1shot1.nasbench101.supernet import MixedOperation
from nasbench1shot1.nasbench201.supernet import MixedEdge
from nasbench1shot1.one_shot_search.loop import training_steps
from nasbench1shot1.optimizers.darts_minus import FACTORS


@pytest.mark.parametrize(("module", "operations"), [(MixedOperation(4, 0.1), 3), (MixedEdge(4, affine=False), 5)])
def test_a_mixture_adds_its_scaled_input_and_a_single_operation_does_not(module, operations):
    module = module.double().eval()
    x = torch.randn(2, 4, 6, 6, generator=generator(0), dtype=torch.float64)
    weights = torch.rand(operations, generator=generator(1), dtype=torch.float64)
    plain, single = module(x, weights), module(x, weights, 1)
    module.auxiliary_skip = 0.25
    torch.testing.assert_close(module(x, weights), plain + 0.25 * x, rtol=1e-12, atol=1e-12)
    assert torch.equal(module(x, weights, 1), single)


def test_architectures_are_scored_without_the_auxiliary_skip():
    net, batch = small(SMALL_SPACE, channels=2, cells=1).double().eval(), tiny_batch()
    arch = SMALL_SPACE[7]
    before = net(batch.images, arch)
    with net.auxiliary_skip(1.0):
        assert torch.equal(net(batch.images, arch), before)


@pytest.mark.parametrize(
    ("options", "wanted"), [({}, [1, 2 / 3, 1 / 3, 0]), ({"skip_ends_after": True, "skip_max": 2.0}, [2, 1.5, 1, 0.5])]
)
def test_the_factor_falls_linearly(options, wanted):
    state = tiny_state(optimizer="darts-minus", **options)
    found = []
    for epoch in range(1, 5):
        mixture = next(m for m in state.net.modules() if isinstance(m, MixedOperation))
        found += {mixture.auxiliary_skip for _ in training_steps(state, epoch)}
        assert mixture.auxiliary_skip == 0, "outside of steps, such as in evaluations"
    assert found == pytest.approx(wanted)


def test_without_the_skip_the_method_is_darts(tmp_path, monkeypatch):
    monkeypatch.setitem(FACTORS, "linear", lambda share: 0.0)
    ours = search(tmp_path / "minus", optimizer="darts-minus", epochs=2)
    darts = search(tmp_path / "darts", optimizer="darts", epochs=2)
    for key, value in darts.architecture_parameters.items():
        assert (value == ours.architecture_parameters[key]).all()
    assert nb.open_run(ours.folder).lines[-1].keys() == darts.lines[-1].keys()


def test_the_factor_is_recorded_until_it_is_zero(tmp_path):
    run = search(tmp_path / "run", optimizer="darts-minus")
    recorded = [line.get("structure") for line in run.lines]
    assert [of and of["auxiliary_skip"] for of in recorded] == [1, 1, pytest.approx(2 / 3), pytest.approx(1 / 3), None]
