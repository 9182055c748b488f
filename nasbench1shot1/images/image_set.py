"""Image sets as uint8 tensors that stay on the device; loading by name or from a file."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nasbench1shot1.ground.arguments import whole_number
from nasbench1shot1.ground.errors import InvalidInputError, UserError, alternatives, option, quote, unknown_name
from nasbench1shot1.ground.files import as_path, read_json
from nasbench1shot1.images.data_sets import CIFAR10, DATA_SETS, SMALLEST_SIDE, DataSet, data_set
from nasbench1shot1.images.sources import SAMPLE, SAMPLE_NAME, how_to_install, read_images, read_npz_side, read_sample
from nasbench1shot1.images.store import (
    Columns,
    content_sha256,
    images_folder,
    imported_names,
    is_imported,
    read_columns,
    read_side,
    verify_columns,
)

if TYPE_CHECKING:
    import torch
    from torch import Tensor


HOW_TO_IMPORT = (
    "to use your own images, import them with `nb1shot1 data import FILE.npz` and give the name of the set, or give "
    "the path of the .npz file (docs/images.md describes its arrays)"
)
"""Advice on how to use images of one's own, phrased as the second half of a sentence."""
_IMAGES_AT_ONCE = 1_000
_AS_DATA_SET: Any = None
"""The default of fields whose values come from the data set."""


@dataclass(frozen=True, eq=False, repr=False)
class ImageSet:
    """Labelled images, a data set or a part of one; RGB, uint8 (N, side, side, 3), the memory order of channels_last.

    Training images have the rows 0 to N − 1; test images follow from row N.
    Raises InvalidInputError if `dataset` is unknown and `classes`, `mean`, `std` or `crop` is not given.
    """

    name: str
    images: "Tensor"
    """The training images."""
    labels: "Tensor"
    """The labels of the training images, int64 (N,), 0 to `classes` − 1."""
    index: "Tensor"
    """Positions in `dataset`'s canonical training images, int64 (N,), always on the CPU; −1 if unknown."""
    sha256: str
    """SHA-256 of the content; it does not depend on the imported file's format."""
    test_images: "Tensor | None" = None
    test_labels: "Tensor | None" = None
    dataset: str = CIFAR10.name
    """The data set whose canonical order `index` refers to, or "other", which has no such order."""
    classes: int = _AS_DATA_SET
    """Number of classes. Default, also of all fields below: the data set's value."""
    mean: tuple[float, float, float] = _AS_DATA_SET
    """Mean of the red, green and blue values, as fractions of 255; `mean` and `std` normalise images."""
    std: tuple[float, float, float] = _AS_DATA_SET
    crop: int = _AS_DATA_SET
    """Pixels of black border that a random crop adds to a training image."""

    def __post_init__(self) -> None:
        for name in ("classes", "mean", "std", "crop"):
            if getattr(self, name) is _AS_DATA_SET:
                object.__setattr__(self, name, getattr(data_set(self.dataset), name))

    def __len__(self) -> int:
        return len(self.images)

    def __repr__(self) -> str:
        tests = "" if self.test_images is None else f" and {len(self.test_images):,} test images"
        side = f"{self.side} × {self.side} pixels"
        return f"ImageSet('{self.name}': {len(self):,} images{tests}, {side}, {self.classes} classes, {self.dataset})"

    @property
    def side(self) -> int:
        """Height and width of an image in pixels."""
        return int(self.images.shape[1])

    def to(self, device: "torch.device | str") -> "ImageSet":
        """Return the image set with its images and labels on a device."""
        names = ("images", "labels", "test_images", "test_labels")
        parts = {name: part.to(device) for name in names if (part := getattr(self, name)) is not None}
        return replace(self, **parts)

    def downsample(self, side: int) -> "ImageSet":
        """Return the image set with images of `side` × `side` pixels, each the mean of a square, rounded to uint8.

        The border of a random crop shrinks with the images; mean and standard deviation do not change.
        Raises InvalidInputError if the images' own side is not a multiple of `side`, or `side` is too small.
        """
        side = whole_number("side", side, "a number of pixels, such as 16")
        if side == self.side:
            return self
        if not SMALLEST_SIDE <= side <= self.side or self.side % side:
            fitting = [s for s in range(SMALLEST_SIDE, self.side + 1) if self.side % s == 0]
            raise InvalidInputError(
                f"images of {self.side} × {self.side} pixels cannot be shrunk to {side} × {side}: choose a side of "
                + f"{alternatives(fitting)} ({option('image_side')})"
            )
        tests = None if self.test_images is None else _shrink(self.test_images, side)
        crop = self.crop * side // self.side
        return replace(self, images=_shrink(self.images, side), test_images=tests, crop=crop)

    def batch(self, rows: "Tensor") -> "tuple[Tensor, Tensor]":
        """Return the images uint8 (B, side, side, 3) and labels int64 (B,) of rows int64 (B,), on the set's device.

        Rows from `len(self)` on are test images.
        """
        is_test = rows >= len(self)
        if self.test_images is not None and self.test_labels is not None and is_test.any():
            return self._mixed_batch(rows, is_test, self.test_images, self.test_labels)
        rows = rows.to(self.images.device, non_blocking=True)
        return self.images.index_select(0, rows), self.labels.index_select(0, rows)

    def _mixed_batch(
        self, rows: "Tensor", is_test: "Tensor", test_images: "Tensor", test_labels: "Tensor"
    ) -> "tuple[Tensor, Tensor]":
        """Return the batch of rows (B,); `is_test`, bool (B,), marks the rows of test images."""
        import torch

        sorted_places = is_test.long().argsort(stable=True)  # positions of the training, then of the test images
        found = (rows[~is_test], rows[is_test] - len(self), sorted_places.argsort())
        train, test, places = (at.to(self.images.device, non_blocking=True) for at in found)
        images = torch.cat([self.images.index_select(0, train), test_images.index_select(0, test)])
        labels = torch.cat([self.labels.index_select(0, train), test_labels.index_select(0, test)])
        return images.index_select(0, places), labels.index_select(0, places)


def _shrink(images: "Tensor", side: int) -> "Tensor":
    """Return images uint8 (N, H, H, 3) as means of squares, uint8 (N, side, side, 3)."""
    import torch

    factor = images.shape[1] // side
    means = []
    for part in images.split(_IMAGES_AT_ONCE):
        rows = _added_up(part.unflatten(1, (side, factor)).unbind(2))
        sums = _added_up(rows.unflatten(2, (side, factor)).unbind(3))
        means.append((sums / factor**2).round().to(torch.uint8))
    return torch.cat(means) if means else images.new_empty((0, side, side, 3))


def _added_up(slices: Sequence["Tensor"]) -> "Tensor":
    """Return the sum of slices of equal shape, int32; on a CPU, this is faster than `Tensor.sum` over a short axis."""
    return sum(slices[1:], slices[0].int())


def load_images(name_or_path: str | Path, verify: bool = True) -> ImageSet:
    """Load an image set by name (an official set, "cifar10-sample" or an imported set), or from an .npz file.

    An imported set is compared with its recorded SHA-256 unless `verify` is False; the sample is always compared.
    Raises UserError for an official data set that is not imported yet, InvalidInputError for an unknown name, and
    DamagedFileError for a damaged file.
    """
    name = str(name_or_path)
    if name == SAMPLE_NAME:
        columns, digest = read_sample()
        return _image_set(name, columns, CIFAR10, digest)
    if is_imported(name):
        columns, of, meta = read_columns(folder := images_folder() / name)
        if verify:
            verify_columns(folder, columns, meta)
        return _image_set(name, columns, of, meta["sha256"])
    if name in DATA_SETS:
        raise not_installed(name)
    path = as_path(name, "images")
    if path.suffix == ".npz" and path.is_file():
        columns, of = read_images(path)
        return _image_set(path.stem, columns, of, content_sha256(columns))
    if path.exists():
        raise InvalidInputError(f"'{name}' is not an .npz file: {HOW_TO_IMPORT}")
    if path.suffix == ".npz" or path.name != name:  # neither can be the name of a set
        raise InvalidInputError(f"the image file '{name}' is missing: check its path")
    unknown = unknown_name("image set", name, {SAMPLE_NAME, *DATA_SETS, *imported_names()})
    raise InvalidInputError(f"{quote(unknown)}; {HOW_TO_IMPORT}")


def not_installed(name: str) -> UserError:
    """Return the error for an official data set that is not imported yet."""
    return UserError(f"{DATA_SETS[name].title} is not installed: {how_to_install(name)}")


def quick_side(name_or_path: str, wanted: int) -> int:
    """Return the smallest side, at least `wanted`, to which an image set can be shrunk, or else the images' own side.

    The images are not read. The result is `wanted` if the set is missing or damaged, which `load_images` reports.
    """
    with suppress(Exception):
        own = _side(str(as_path(name_or_path, "images", is_option=True)))
        if own < SMALLEST_SIDE:
            return wanted
        return next((side for side in range(wanted, own + 1) if own % side == 0), own)
    return wanted


def _side(name: str) -> int:
    """Return the side of a set's images; raises any error if the set is missing or damaged."""
    if name == SAMPLE_NAME:
        return CIFAR10.side
    return read_side(images_folder() / name) if is_imported(name) else read_npz_side(Path(name))


def describe_images(verify: bool = False) -> list[dict[str, Any]]:
    """Return a dictionary for each available image set.

    The keys are name, training_images, test_images, dataset, classes, side, official, source, sha256 and path.

    With `verify`, all images are read and compared with the recorded SHA-256.
    Raises DamagedFileError for a damaged image set.
    """
    return [describe_set(name, verify) for name in available_names()]


def available_names() -> list[str]:
    """Return the names of the available image sets: the bundled sample and the imported sets."""
    return [SAMPLE_NAME, *imported_names()]


def describe_set(name: str, verify: bool = False) -> dict[str, Any]:
    """Return the dictionary of an available image set, as in `describe_images`; raises DamagedFileError."""
    row: dict[str, Any]
    if name == SAMPLE_NAME:
        recorded = read_json(SAMPLE.with_suffix(".json"))
        row = {"name": name, "test_images": 0, "official": False, **recorded, **_describe(CIFAR10), "path": str(SAMPLE)}
        if verify:
            read_sample()
    else:
        columns, of, meta = read_columns(folder := images_folder() / name)
        if verify:
            verify_columns(folder, columns, meta)
        row = {**meta, **_describe(of), "path": str(folder)}
    counts, content = ("training_images", "test_images"), ("dataset", "classes", "side")
    return {key: row.get(key) for key in ("name", *counts, *content, "official", "source", "sha256", "path")}


def _describe(of: DataSet) -> dict[str, Any]:
    return {"dataset": of.name, "classes": of.classes, "side": of.side}


def _image_set(name: str, columns: Columns, of: DataSet, digest: str) -> ImageSet:
    import torch

    images, labels, index, test_images, test_labels = map(torch.from_numpy, columns)
    tests = (test_images, test_labels) if len(test_images) else (None, None)
    set_of_data_set = partial(ImageSet, dataset=of.name, classes=of.classes, mean=of.mean, std=of.std, crop=of.crop)
    return set_of_data_set(name, images, labels, index, digest, *tests)
