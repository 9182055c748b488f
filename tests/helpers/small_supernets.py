"""Small supernets and their inputs."""

import torch

import nasbench1shot1 as nb

SPACES = ("s1", "s2", "s3")


def random_mixing(space, seed: int, batch: int | None = None) -> dict[str, torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    leading = () if batch is None else (batch,)
    return {
        key: torch.softmax(torch.randn(*leading, *shape, generator=generator), -1).requires_grad_()
        for key, shape in space.mixing_shapes().items()
    }


def small(space, preset: str = "corrected", channels: int = 3, cells: int = 3, partial: int = 1) -> nb.Supernet:
    generator = torch.Generator().manual_seed(7)
    space = nb.search_space(space) if isinstance(space, str) else space
    net = nb.Supernet(space, channels, cells, preset, generator=generator, partial_channels=partial)
    for layer in net.modules():  # running statistics other than 0 and 1, so that evaluation mode is tested
        if isinstance(layer, torch.nn.BatchNorm2d):
            layer.running_mean.normal_(0, 0.3, generator=generator)
            layer.running_var.uniform_(0.5, 2.0, generator=generator)
    return net


def images(n: int = 4, seed: int = 3) -> torch.Tensor:
    return torch.randn(n, 3, 32, 32, generator=torch.Generator().manual_seed(seed))
