"""Weighted sums and concatenations, by the CPU code and by the code for other devices on CPU tensors."""

import pytest
import torch
from naive_supernet import naive_forward
from small_supernets import images, random_mixing, small
from torch.func import grad, jacrev, jvp, vmap

from nasbench1shot1.supernets import layers
from nasbench1shot1.supernets.layers import weighted_concatenation, weighted_sum


@pytest.fixture(params=["host", "device"])
def place(request, monkeypatch):
    if request.param == "device":
        monkeypatch.setattr(layers, "_is_on_host", lambda weights: False)
    return request.param


@pytest.fixture
def on_device(monkeypatch):
    monkeypatch.setattr(layers, "_is_on_host", lambda weights: False)


def maps(count, dtype=torch.float64, channels=3):
    generator = torch.Generator().manual_seed(0)
    tensors = [torch.randn(2, channels, 4, 4, generator=generator, dtype=dtype) for _ in range(count)]
    weights = torch.randn(count, generator=generator, dtype=torch.promote_types(dtype, torch.float32))
    return weights, [tensor.contiguous(memory_format=torch.channels_last) for tensor in tensors]


def gradients(function, weights, tensors):
    leaves = [tensor.detach().requires_grad_() for tensor in (weights, *tensors)]
    result = function(leaves[0], leaves[1:])
    return result, torch.autograd.grad(result.square().sum(), leaves)


def test_the_weighted_sum_has_correct_first_and_second_derivatives(place):
    generator = torch.Generator().manual_seed(0)
    tensors = [torch.randn(2, 3, 2, 2, generator=generator, dtype=torch.float64).requires_grad_() for _ in range(3)]
    weights = torch.randn(3, generator=generator, dtype=torch.float64).requires_grad_()
    assert torch.autograd.gradcheck(lambda w, *ts: weighted_sum(w, ts), (weights, *tensors))
    assert torch.autograd.gradgradcheck(lambda w, *ts: weighted_sum(w, ts), (weights, *tensors))
    per_sample = torch.randn(2, 3, generator=generator, dtype=torch.float64).requires_grad_()
    assert torch.autograd.gradcheck(lambda w, *ts: weighted_sum(w, ts), (per_sample, *tensors))


def _sum_of_cubes(weights, *tensors):
    return (weighted_sum(weights, tensors) ** 3).sum()


def _written_out(weights, *tensors):
    return (sum(weight * tensor for weight, tensor in zip(weights, tensors, strict=True)) ** 3).sum()


@pytest.mark.parametrize(
    "transform",
    [
        grad,
        jacrev,
        lambda f: grad(lambda w, *ts: grad(f)(w, *ts).pow(2).sum()),
        lambda f: lambda w, *ts: jvp(lambda w: f(w, *ts), (w,), (w.cos(),))[1],
        lambda f: lambda w, *ts: vmap(f, (0, None, None))(torch.stack([w, -w]), *ts),
        lambda f: lambda w, *ts: vmap(f, (None, 1, None))(w, torch.stack([ts[0], -ts[0]], 1), ts[1]),
        lambda f: lambda w, *ts: vmap(grad(f), (0, None, None))(torch.stack([w, -w]), *ts),
        lambda f: lambda w, *ts: grad(lambda w: vmap(f, (0, None, None))(torch.stack([w, -w]), *ts).sum())(w),
    ],
)
@pytest.mark.filterwarnings("ignore:.torch.jit.script. is deprecated:DeprecationWarning")  # torch's own, in jvp
def test_the_weighted_sum_works_under_torch_func(place, transform):
    generator = torch.Generator().manual_seed(0)
    tensors = [torch.randn(2, 3, 2, 2, generator=generator, dtype=torch.float64) for _ in range(2)]
    weights = torch.randn(2, generator=generator, dtype=torch.float64)
    torch.testing.assert_close(transform(_sum_of_cubes)(weights, *tensors), transform(_written_out)(weights, *tensors))


@pytest.mark.parametrize("shape", [(4,), (2, 4)])
def test_the_weighted_concatenation_has_correct_first_and_second_derivatives(place, shape):
    generator = torch.Generator().manual_seed(0)
    sizes = [(2, 6, 2, 2), *[(2, 2, 2, 2)] * 3]
    tensors = [torch.randn(size, generator=generator, dtype=torch.float64).requires_grad_() for size in sizes]
    weights = torch.randn(shape, generator=generator, dtype=torch.float64).requires_grad_()

    def concatenated(weights, shortcut, *tensors):
        return weighted_concatenation(weights, shortcut, tensors)

    assert torch.autograd.gradcheck(concatenated, (weights, *tensors))
    assert torch.autograd.gradgradcheck(concatenated, (weights, *tensors))


def test_other_devices_compute_the_same_sums_as_a_cpu(monkeypatch):
    weights, tensors = maps(4)
    on_host = gradients(weighted_sum, weights, tensors)
    monkeypatch.setattr(layers, "_is_on_host", lambda weights: False)
    torch.testing.assert_close(gradients(weighted_sum, weights, tensors), on_host, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_sums_and_gradients_keep_channels_last_and_dtype(place, dtype):
    weights, tensors = maps(3, dtype)
    summed, (of_weights, *of_tensors) = gradients(weighted_sum, weights, tensors)
    assert of_weights.dtype == torch.float32
    for tensor in (summed, *of_tensors):
        assert tensor.dtype == dtype
        assert tensor.is_contiguous(memory_format=torch.channels_last)


@pytest.mark.parametrize("space", ["s1", "s3"])
@pytest.mark.parametrize("per_image", [False, True])
def test_the_code_path_of_other_devices_agrees_with_the_naive_supernet(on_device, space, per_image):
    net, x = small(space).double(), images(4).double()
    mixing = random_mixing(net.space, 1, batch=4) if per_image else random_mixing(net.space, 1)
    mixing = {key: value.detach().double().requires_grad_() for key, value in mixing.items()}
    state = {key: value.detach().clone() for key, value in net.state_dict().items()}
    names = [name for name, _ in net.named_parameters()]
    for name in names:
        state[name].requires_grad_()
    if per_image:  # the naive supernet takes one set of weights
        alone = [{key: value[i] for key, value in mixing.items()} for i in range(4)]
        net.eval()
        wanted = torch.cat([naive_forward(state, x[i : i + 1], alone[i], 3, False, padded=False)[0] for i in range(4)])
    else:
        wanted, _ = naive_forward(state, x, mixing, 3, True, padded=False)
    found = net(x.contiguous(memory_format=torch.channels_last), mixing)
    torch.testing.assert_close(found, wanted, rtol=1e-9, atol=1e-10)
    of_naive = torch.autograd.grad(wanted.square().sum(), [*(state[name] for name in names), *mixing.values()])
    of_real = torch.autograd.grad(found.square().sum(), [*net.parameters(), *mixing.values()])
    torch.testing.assert_close(of_real, of_naive, rtol=1e-7, atol=1e-9)
