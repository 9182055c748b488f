"""The supernet: one network whose every discrete sub-network is an architecture of the space."""

from collections.abc import Mapping, Sequence
from importlib import import_module

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from nasbench1shot1.architecture import Architecture
from nasbench1shot1.errors import InvalidInputError
from nasbench1shot1.layers import BATCH_NORM_EPSILON, ConvBNReLU, initialise
from nasbench1shot1.presets import Preset, as_preset
from nasbench1shot1.space import SearchSpace, Weights

CELLS = {"choice-block": "nasbench1shot1.choice_block_cell:ChoiceBlockCell"}
"""The cell for each `SearchSpace.cell_kind`, as module:class; a cell takes (space, in_channels, channels, preset)."""


class Supernet(nn.Module):
    """NAS-Bench-101's skeleton around shared cells: stem, three stacks of cells, global average, classifier.

    It owns no architecture parameters: it applies the mixing weights it is given. All cells are given the same.
    Between stacks the image is halved and the channels double (NAS-Bench-1Shot1, section 3; NAS-Bench-101,
    section 2.1). One parameter tensor stands behind every projection and operation.

    Args:
        space: the search space; its `mixing_shapes()` are what `forward` expects.
        channels: channels of the stem and of every block in the first stack.
        cells: number of cells, 9 in the paper; stacks end before cells `cells // 3` and `2 * cells // 3`.
        preset: "corrected", "original", or a `Preset` with switches of one's own.
        classes: number of classes.
        generator: draws the initial weights; without one PyTorch's global generator does.

    Raises:
        InvalidInputError: unknown preset, or fewer than one channel or cell.
    """

    def __init__(
        self,
        space: SearchSpace,
        channels: int = 16,
        cells: int = 9,
        preset: str | Preset = "corrected",
        classes: int = 10,
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__()
        if channels < 1 or cells < 1:
            raise InvalidInputError(f"a supernet needs at least 1 channel and 1 cell, not {channels} and {cells}")
        self.space, self.preset = space, as_preset(preset)
        self.stem = ConvBNReLU(3, channels, 3, self.preset.batch_norm_momentum)
        self._halved_before = {cells // 3, 2 * cells // 3} - {0}
        module, _, name = CELLS[space.cell_kind].partition(":")
        build_cell = getattr(import_module(module), name)
        self.cells = nn.ModuleList()
        width = channels
        for i in range(cells):
            channels *= 2 if i in self._halved_before else 1
            cell = build_cell(space, width, channels, self.preset)
            self.cells.append(cell)
            width = cell.out_channels
        self.head = nn.Conv2d(width, channels, kernel_size=1, bias=False)
        self.head_bn = nn.BatchNorm2d(channels, eps=BATCH_NORM_EPSILON, affine=False)
        self.classifier = nn.Linear(channels, classes)
        if generator is not None:
            initialise(self, generator)
        self.to(memory_format=torch.channels_last)  # type: ignore[call-overload]

    def forward(self, images: Tensor, mixing: Mapping[str, Tensor], operations: Sequence[int] | None = None) -> Tensor:
        """Class scores of images under mixing weights.

        Args:
            images: (N, 3, H, W) normalised images.
            mixing: a tensor for every key of `space.mixing_shapes()`, of that shape, or, to compute different
                architectures in one batch, with a leading N.
            operations: for single-path methods, the one operation to compute in every block, as Python integers;
                its output is still scaled by its weight in `mixing`, so that the weight's gradient flows.

        Returns:
            (N, classes) logits.
        """
        x = self.stem(images)
        for i, cell in enumerate(self.cells):
            if i in self._halved_before:
                x = F.max_pool2d(x, kernel_size=2, stride=2, padding=int(self.preset.downsampling == "padded"))
            x = cell(x, mixing, operations)
        x = self.head_bn(self.head(F.relu(x)))
        logits: Tensor = self.classifier(x.mean(dim=(2, 3)))
        return logits

    def discrete_mixing(self, architectures: Architecture | Sequence[Architecture]) -> dict[str, Tensor]:
        """The mixing weights under which this supernet evaluates discrete architectures, per the preset.

        Args:
            architectures: one (weights as `mixing_shapes()`), or N (each with a leading N).
        """
        device = self.classifier.weight.device
        if isinstance(architectures, Architecture):
            return {key: value[0] for key, value in self.discrete_mixing([architectures]).items()}
        one_hot = [self.space.one_hot(arch) for arch in architectures]
        stacked = {
            key: torch.stack([torch.from_numpy(weights[key]) for weights in one_hot]).to(device) for key in one_hot[0]
        }
        return {key: self._as_evaluated(key, value) for key, value in stacked.items()}

    def _as_evaluated(self, key: str, one_hot: Tensor) -> Tensor:
        if "edges" not in key:
            return F.softmax(one_hot, dim=-1) if self.preset.discrete_operations == "softmax" else one_hot
        return one_hot / one_hot.sum(dim=-1, keepdim=True) if self.preset.discrete_edges == "mean" else one_hot


def to_tensors(mixing: Weights, device: torch.device | str = "cpu") -> dict[str, Tensor]:
    """Arrays of `SearchSpace.one_hot` or of one's own as float32 tensors on a device."""
    return {key: torch.as_tensor(value, dtype=torch.float32, device=device) for key, value in mixing.items()}
