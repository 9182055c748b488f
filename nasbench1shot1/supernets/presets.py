"""Presets: corrected behaviour by default, and each fault of the published code as a named switch.

docs/presets.md explains every switch and its effect.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from numbers import Real
from typing import Any, Literal, get_args, get_origin

from nasbench1shot1.ground.errors import InvalidInputError, unknown_name

BatchNormMode = Literal["batch", "running", "recalibrated", "batch-in-cells"]
BATCH_NORMS: tuple[str, ...] = get_args(BatchNormMode)
"""Batch-norm statistics with which one-shot errors can be measured (docs/optimizers.md, evaluation batch-norm)."""


@dataclass(frozen=True)
class Preset:
    """The switches in which the published code differs from the corrected one.

    Attributes:
        name: "corrected" or "original".
        batch_norm_momentum: weight of the newest batch in the running statistics (PyTorch's momentum). TensorFlow's
            0.997 is PyTorch's 0.003; the published code passes 0.997 to PyTorch.
        downsampling: "exact" halves 32 → 16 → 8; "padded" pools with one pixel of padding, 32 → 17 → 9.
        discrete_operations: weights of a discrete architecture's operations in a supernet: "one-hot", or the "softmax"
            of the one-hot vector, (0.212, 0.576, 0.212).
        discrete_edges: weight of every edge of a discrete architecture: 1 ("sum"), or 1 / number of edges ("mean").
        split: "20k/20k" does not use the 10,000 images on which NAS-Bench-101 validates; "25k/25k" also searches on
            them.
        augment_architecture_half: whether the half that trains Λ and measures the one-shot error is augmented.
        evaluation_batch_norm: batch-norm statistics with which the one-shot error is measured: "recalibrated" on
            reference images of the weight half, passed through the evaluated architecture, or "running".
        cutout_ramp: whether the cutout probability increases linearly over the search, as the published code of DARTS
            intends, or is constant, as in all published runs.
        inner_channels: feature maps inside the layers of the size space's supernet have the layer's width ("masked"),
            or always all channels ("full").
        projected_skip: whether the skip connection of its cells is a convolution where two widths differ.
        batch_norm_flags: batch norm of its layers: all without scale and shift, and with running statistics ("alike");
            or residual blocks with scale, shift and running statistics, and stem, cells and head without these but with
            a bias in their convolutions ("published").
        masked_features: whether the last width also masks the features of its classifier, after batch norm.
        batch_norm_affine: whether all batch norms of a supernet learn a scale and a shift; None: those that do so in
            the published supernet of the benchmark.
    """

    name: str
    batch_norm_momentum: float
    downsampling: Literal["exact", "padded"]
    discrete_operations: Literal["one-hot", "softmax"]
    discrete_edges: Literal["sum", "mean"]
    split: Literal["20k/20k", "25k/25k"]
    augment_architecture_half: bool
    evaluation_batch_norm: Literal["recalibrated", "running"]
    cutout_ramp: bool
    inner_channels: Literal["masked", "full"]
    projected_skip: bool
    batch_norm_flags: Literal["alike", "published"]
    masked_features: bool
    batch_norm_affine: bool | None = None

    def __post_init__(self) -> None:
        """Raise InvalidInputError for a value that a switch does not have, such as a misspelt one."""
        for switch in fields(self):
            value, known = getattr(self, switch.name), get_args(switch.type) or (switch.type,)
            if get_origin(switch.type) is Literal and value not in known:
                raise unknown_name(f"value of {switch.name} in a preset", value, known)
            if bool in known and not isinstance(value, known):
                raise InvalidInputError(f"{switch.name} of a preset cannot be {value!r}: give True or False")
        momentum: Any = self.batch_norm_momentum
        if isinstance(momentum, bool) or not isinstance(momentum, Real) or not 0 <= float(momentum) <= 1:
            raise InvalidInputError(
                f"batch_norm_momentum of a preset cannot be {momentum!r}: give a number from 0 to 1"
            )


PRESETS = {
    "corrected": Preset(
        name="corrected",
        batch_norm_momentum=0.003,
        downsampling="exact",
        discrete_operations="one-hot",
        discrete_edges="sum",
        split="20k/20k",
        augment_architecture_half=False,
        evaluation_batch_norm="recalibrated",
        cutout_ramp=True,
        inner_channels="masked",
        projected_skip=True,
        batch_norm_flags="alike",
        masked_features=True,
    ),
    "original": Preset(
        name="original",
        batch_norm_momentum=0.997,
        downsampling="padded",
        discrete_operations="softmax",
        discrete_edges="mean",
        split="25k/25k",
        augment_architecture_half=True,
        evaluation_batch_norm="running",
        cutout_ramp=False,
        inner_channels="full",
        projected_skip=False,
        batch_norm_flags="published",
        masked_features=False,
    ),
}


def as_preset(preset: "str | Preset") -> Preset:
    """Return the preset with a name; a `Preset` object, also with a user's own switches, is returned unchanged.

    Raises InvalidInputError for an unknown name.
    """
    if isinstance(preset, Preset):
        return preset
    if preset not in list(PRESETS):  # a list, because `preset` may not be hashable
        raise unknown_name("preset", preset, PRESETS)
    return PRESETS[preset]


def preset_of(config: Mapping[str, Any]) -> Preset:
    """Return the preset of a search: the named one, with the option `batch_norm_affine` of its config.json."""
    return replace(PRESETS[config["preset"]], batch_norm_affine=config.get("batch_norm_affine"))
