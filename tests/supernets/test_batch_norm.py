"""Batch-norm with accurate statistics, compared with PyTorch's in float64, and all its derivatives."""

import pytest
import torch
from torch import nn
from torch.func import grad, jvp, vmap
from torch.nn import functional as F

from nasbench1shot1.supernets.batch_norm import accurate_batch_norm, has_long_sums, statistics
from nasbench1shot1.supernets.layers import BatchNorm2d, unchanged_statistics

LARGE, ODD = (96, 8, 32, 32), (65, 9, 33, 33)  # a full batch of the first stack; an odd number of pixels


def rectified(shape: tuple[int, ...], dtype: torch.dtype = torch.float32) -> torch.Tensor:
    drawn = torch.randn(shape, generator=torch.Generator().manual_seed(0), dtype=dtype).relu()
    return drawn.contiguous(memory_format=torch.channels_last)


def layers_of(channels: int, affine: bool = True, **options) -> tuple[BatchNorm2d, nn.BatchNorm2d]:
    """Our layer and PyTorch's in float64, with equal parameters."""
    ours = BatchNorm2d(channels, affine=affine, **options)
    if affine:
        drawn = torch.Generator().manual_seed(1)
        nn.init.uniform_(ours.weight, 0.5, 1.5, generator=drawn)
        nn.init.normal_(ours.bias, generator=drawn)
    plain = nn.BatchNorm2d(channels, affine=affine, **options).double()
    plain.load_state_dict(ours.state_dict())
    return ours, plain


@pytest.mark.parametrize("shape", [LARGE, ODD])
@pytest.mark.parametrize("affine", [True, False])
def test_a_layer_in_training_agrees_with_float64(shape, affine):
    ours, plain = layers_of(shape[1], affine, momentum=0.3)
    x = rectified(shape)
    found, wanted = ours(x), plain(x.double())
    assert found.is_contiguous(memory_format=torch.channels_last)
    torch.testing.assert_close(found.double(), wanted, rtol=0, atol=3e-5)  # PyTorch's in float32: 2e-3
    for name in ("running_mean", "running_var"):
        torch.testing.assert_close(getattr(ours, name).double(), getattr(plain, name), rtol=3e-6, atol=0)
    assert ours.num_batches_tracked == plain.num_batches_tracked == 1


def test_running_statistics_support_cumulative_means_and_can_be_frozen():
    ours, plain = layers_of(8, momentum=None)
    for scale in (1.0, 2.0, 5.0):
        ours(scale * rectified(LARGE))
        plain(scale * rectified(LARGE).double())
    torch.testing.assert_close(ours.running_var.double(), plain.running_var, rtol=3e-6, atol=0)
    before = {name: value.clone() for name, value in ours.state_dict().items()}
    with unchanged_statistics(ours):
        ours(rectified(LARGE))
    assert all(torch.equal(value, before[name]) for name, value in ours.state_dict().items())


@pytest.mark.parametrize("pixels", [2048, 2049, 4099, 98304])
def test_statistics_cover_all_pixels_for_any_chunk_size(pixels):
    x = rectified((pixels, 3, 1, 1))
    mean, variance = statistics(x)
    torch.testing.assert_close(mean.double(), x.double().mean(dim=(0, 2, 3)), rtol=2e-5, atol=0)
    torch.testing.assert_close(variance.double(), x.double().var(dim=(0, 2, 3), correction=0), rtol=2e-5, atol=0)


def test_small_or_unusual_inputs_are_delegated_to_pytorch():
    assert has_long_sums(rectified(LARGE))
    assert not has_long_sums(rectified((32, 8, 32, 32)))
    assert not has_long_sums(rectified((7, 512, 16, 16)))
    assert not has_long_sums(rectified(LARGE).contiguous())
    assert not has_long_sums(rectified(LARGE).double())
    assert not has_long_sums(rectified(LARGE).bfloat16())


def cubes(batch_norm):
    return lambda x, weight, bias: (batch_norm(x, weight, bias) ** 3).sum()


def plain(x, weight, bias):
    return F.batch_norm(x, None, None, weight, bias, training=True)


def accurate(x, weight, bias):
    return accurate_batch_norm(x, weight, bias, 1e-5)[0]


TRANSFORMS = {
    "gradient": lambda f: grad(f, (0, 1, 2)),
    "gradient of a gradient": lambda f: grad(
        lambda *of: sum(g.pow(2).sum() for g in grad(f, (0, 1, 2))(*of)), (0, 1, 2)
    ),
    "directional derivative": lambda f: lambda *of: jvp(f, of, tuple(value.cos() for value in of))[1],
    "several at once": lambda f: lambda x, *of: vmap(grad(f), (0, None, None))(torch.stack([x, 2 * x]), *of),
}


@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.filterwarnings("ignore:.torch.jit.script. is deprecated:DeprecationWarning")  # torch's own, in jvp
def test_derivatives_agree_with_pytorch(transform):
    x = rectified((16, 3, 12, 12), torch.float64)  # two parts
    of = (x, torch.tensor([0.5, 1.0, 1.5]).double(), torch.tensor([0.1, 0.0, -0.3]).double())
    found, wanted = (TRANSFORMS[transform](cubes(batch_norm))(*of) for batch_norm in (accurate, plain))
    torch.testing.assert_close(found, wanted, rtol=1e-8, atol=1e-8)


def test_derivatives_without_parameters_agree_with_pytorch():
    x = rectified((16, 3, 12, 12), torch.float64).requires_grad_()
    for derivative in (
        lambda f: torch.autograd.grad((f(x, None, None) ** 3).sum(), x),
        lambda f: jvp(lambda x: f(x, None, None), (x,), (x.cos(),)),
    ):
        torch.testing.assert_close(derivative(accurate), derivative(plain), rtol=1e-8, atol=1e-8)
