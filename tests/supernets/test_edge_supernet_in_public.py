"""The public `nb.Supernet` on nb201: discrete mixing weights, weights per image and per cell."""

import numpy as np
import pytest
import torch

import nasbench1shot1 as nb

SPACE = nb.search_space("nb201")


@pytest.fixture
def net() -> nb.Supernet:
    return nb.Supernet(SPACE, channels=4, cells=3, generator=torch.Generator().manual_seed(0)).eval()


@pytest.fixture
def images() -> torch.Tensor:
    return torch.randn(3, 3, 8, 8, generator=torch.Generator().manual_seed(1))


def test_discrete_mixing_computes_the_architecture(net, images):
    for number in (0, 1234, 15624):
        arch = SPACE[number]
        mixing = net.discrete_mixing(arch)
        assert {key: tuple(value.shape) for key, value in mixing.items()} == SPACE.mixing_shapes()
        torch.testing.assert_close(net(images, mixing), net(images, arch), rtol=1e-4, atol=1e-5)
    with pytest.raises(nb.InvalidInputError, match="nb201"):
        net.discrete_mixing(nb.search_space("s1")[0])


def test_weights_per_image_compute_one_architecture_per_image(net, images):
    architectures = [SPACE[int(n)] for n in np.random.default_rng(0).integers(len(SPACE), size=3)]
    together = net(images, net.discrete_mixing(architectures))
    alone = torch.cat([net(image[None], arch) for image, arch in zip(images, architectures, strict=True)])
    torch.testing.assert_close(together, alone, rtol=1e-4, atol=1e-5)


def test_cells_take_turns_in_a_list_of_mixing_weights(net, images):
    mixings = [net.discrete_mixing(SPACE[n]) for n in (100, 9000)]
    assert torch.equal(net(images, mixings), net(images, [*mixings, mixings[0]]))
    assert not torch.equal(net(images, mixings), net(images, mixings[0]))


def test_mixing_weights_of_another_space_are_refused(net, images):
    with pytest.raises(nb.InvalidInputError, match="operations"):
        net(images, {"input": np.ones(6)})
    with pytest.raises(nb.InvalidInputError, match="operations"):
        net(images, {"operations": np.ones((6, 3))})
