"""The training protocol of NATS-Bench's size space: NAS-Bench-201's, with 1, 12 or 90 epochs.

Source: configs/nas-benchmark/hyper-opts/{01,12,90}E.config and scripts/NATS-Bench/train-shapes.sh of AutoDL-Projects.
"""

from typing import Any

import torch

from nasbench1shot1.cell_training.recipe import check_network_fits
from nasbench1shot1.images.image_set import ImageSet
from nasbench1shot1.nasbench201.recipe import COPIES, NATSRecipe
from nasbench1shot1.nats_size.architecture import SPACE_NAME, WidthArchitecture
from nasbench1shot1.nats_size.cost import flops, parameter_count
from nasbench1shot1.nats_size.network import WidthNetwork, build_width_network
from nasbench1shot1.nats_size.training_options import WidthTrainingConfig


class WidthRecipe(NATSRecipe):
    """The training of an architecture of nats-size."""

    FORM, SPACE = WidthArchitecture, SPACE_NAME

    def __init__(self, x: Any, config: WidthTrainingConfig) -> None:
        super().__init__(x, config)
        self.size = f"{', '.join(map(str, x.widths[:-1]))} and {x.widths[-1]} channels"

    def check_fits(self, images: ImageSet) -> None:
        """Raise InvalidInputError if the training cannot fit into memory."""
        parameters = parameter_count(self.architecture.widths, images.classes)
        first, _, second, _, third = self.architecture.widths
        outputs = sum(width * (images.side >> stage) ** 2 for stage, width in enumerate((first, second, third)))
        check_network_fits(self._options, (), parameters, COPIES, outputs)

    def flops(self, images: ImageSet) -> int:
        """Return the FLOPs as NATS-Bench's files count them."""
        return flops(self.architecture.widths, images.classes, images.side)

    def network(self, classes: int, generator: torch.Generator) -> WidthNetwork:
        """Return the architecture's network."""
        return build_width_network(self.architecture, classes=classes, generator=generator)
