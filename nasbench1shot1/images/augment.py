"""Augmentation as in the published search: crop, flip, normalisation and cutout, for a whole batch at once.

Random crop and cutout follow DARTS (Liu et al. 2019, arXiv:1806.09055) and Cutout (DeVries and Taylor 2017,
arXiv:1708.04552). Random numbers always come from a generator on the CPU, so that they do not depend on the images'
device.
"""

from dataclasses import dataclass
from numbers import Real
from typing import TYPE_CHECKING

import torch
import torch.nn.functional as F
from torch import Tensor

from nasbench1shot1.ground.arguments import check_torch_generator, is_integer
from nasbench1shot1.ground.errors import InvalidInputError
from nasbench1shot1.images.data_sets import CIFAR10, check_image_set

if TYPE_CHECKING:
    from nasbench1shot1.images.image_set import ImageSet


@dataclass(frozen=True)
class Augmentation:
    """The augmentation of training images; raises InvalidInputError for values out of range or of the wrong type.

    `Augmentation.of` uses an image set's border, mean and standard deviation; the defaults are CIFAR-10's.
    """

    crop: int = CIFAR10.crop
    """Pixels of black border before a random crop back to the image's size."""
    flip: float = 0.5
    """Probability of a horizontal flip."""
    cutout_length: int = 16
    """Side in pixels of the square that cutout sets to zero after normalising."""
    cutout_probability: float = 0.0
    """Probability of cutout; use `dataclasses.replace` to change it for the next epoch."""
    mean: tuple[float, float, float] = CIFAR10.mean
    """Mean of the red, green and blue values, as fractions of 255."""
    std: tuple[float, float, float] = CIFAR10.std
    """Standard deviation of the red, green and blue values, as fractions of 255."""

    @classmethod
    def of(cls, images: "ImageSet", cutout_length: int = 16, cutout_probability: float = 0.0) -> "Augmentation":
        """Return the augmentation of an image set: its border, mean and standard deviation, and the given cutout."""
        check_image_set(images)
        return cls(
            crop=images.crop,
            cutout_length=cutout_length,
            cutout_probability=cutout_probability,
            mean=images.mean,
            std=images.std,
        )

    def __post_init__(self) -> None:
        for name in ("flip", "cutout_probability"):
            if not isinstance(value := getattr(self, name), Real) or not 0 <= float(value) <= 1:
                raise InvalidInputError(f"{name} must be a probability between 0 and 1, not {value!r}")
        for name in ("crop", "cutout_length"):
            if not is_integer(value := getattr(self, name)) or value < 0:
                raise InvalidInputError(f"{name} must be a whole number of pixels of at least 0, not {value!r}")

    def __call__(self, images: Tensor, generator: torch.Generator, dtype: torch.dtype = torch.float32) -> Tensor:
        """Augment images uint8 (B, H, W, 3) into floats (B, 3, H, W), in channels_last on the images' device."""
        check_torch_generator(generator)
        draws = self.draw(len(images), images.shape[1], images.shape[2], generator)
        return self.apply(images, draws, dtype)

    def normalise(self, images: Tensor, dtype: torch.dtype = torch.float32) -> Tensor:
        """Only normalise, for evaluation: images uint8 (B, H, W, 3) into floats (B, 3, H, W), in channels_last."""
        return _channels_last(_normalise(images, self.mean, self.std), images, dtype)

    def draw(self, batch: int, height: int, width: int, generator: torch.Generator) -> Tensor:
        """Draw the random numbers of a batch, int64 (B, 6): crop's top and left, flip?, cutout?, its row and column.

        All six are always drawn, so that disabling one transformation does not change the draws of the others.
        """

        def integers(end: int) -> Tensor:
            return torch.randint(end, (batch,), generator=generator)

        def chance(probability: float) -> Tensor:
            return (torch.rand(batch, generator=generator) < probability).long()

        offset = 2 * self.crop + 1
        corner = [integers(offset), integers(offset)]
        chances = [chance(self.flip), chance(self.cutout_probability)]
        return torch.stack([*corner, *chances, integers(height), integers(width)], dim=1)

    def apply(self, images: Tensor, draws: Tensor, dtype: torch.dtype = torch.float32) -> Tensor:
        """Augment with the given draws, a result of `draw`; shapes as in `__call__`."""
        draws = draws.to(images.device, non_blocking=True)
        floats = _normalise(_crop_and_flip(images, draws, self.crop), self.mean, self.std)
        if self.cutout_probability > 0:
            floats.masked_fill_(_square(draws, images, self.cutout_length), 0.0)
        return _channels_last(floats, images, dtype)


def _crop_and_flip(images: Tensor, draws: Tensor, border: int) -> Tensor:
    """Gather all pixels of the result from the padded batch in one operation; uint8 (B, H, W, 3)."""
    batch, height, width, channels = images.shape
    rows, columns = (torch.arange(n, device=images.device) for n in (height, width))
    top, left, flip = draws[:, 0, None], draws[:, 1, None], draws[:, 2, None]
    columns = left + torch.where(flip == 1, width - 1 - columns, columns)
    padded = F.pad(images, (0, 0, border, border, border, border))
    first = torch.arange(batch, device=images.device)[:, None] * padded.shape[1]
    pixels = ((first + top + rows) * padded.shape[2])[:, :, None] + columns[:, None, :]
    return padded.view(-1, channels).index_select(0, pixels.flatten()).view(images.shape)


def _normalise(images: Tensor, mean: tuple[float, ...], std: tuple[float, ...]) -> Tensor:
    """Return (images / 255 − mean) / std as float32 (B, H, W · 3); broadcasting over three channels would be slow."""
    scale = torch.tensor([1 / (255 * s) for s in std])
    shift = torch.tensor([-m / s for m, s in zip(mean, std, strict=True)])
    factors = torch.stack([scale, shift]).repeat(1, images.shape[2])
    scales, shifts = factors.to(images.device, non_blocking=True)  # a blocking copy would delay the whole step
    return images.flatten(2).float().mul_(scales).add_(shifts)


def _channels_last(floats: Tensor, images: Tensor, dtype: torch.dtype) -> Tensor:
    return floats.to(dtype).view(images.shape).permute(0, 3, 1, 2)


def _square(draws: Tensor, images: Tensor, length: int) -> Tensor:
    """Return the mask of cutout's square, bool (B, H, W · 3); the square is clipped at the border."""
    _, height, width, channels = images.shape

    def inside(centre: Tensor, size: int) -> Tensor:
        start = centre[:, None] - length // 2
        at = torch.arange(size, device=draws.device)
        return (at >= start) & (at < start + length)

    rows = inside(draws[:, 4], height) & (draws[:, 3, None] == 1)
    columns = inside(draws[:, 5], width).repeat_interleave(channels, dim=1)
    return rows[:, :, None] & columns[:, None, :]
