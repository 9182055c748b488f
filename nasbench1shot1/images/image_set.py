"""Image sets as tensors that stay on the device as uint8, by name or from a file."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nasbench1shot1.errors import UserError, unknown_name
from nasbench1shot1.files import read_json
from nasbench1shot1.ground.paths import as_path
from nasbench1shot1.images.archives import CLASSES
from nasbench1shot1.images.sample import SAMPLE, read_sample
from nasbench1shot1.images.sources import OFFICIAL_NAME, SAMPLE_NAME, read_images
from nasbench1shot1.images.store import (
    CIFAR10_MEAN,
    CIFAR10_STD,
    Columns,
    content_sha256,
    images_folder,
    imported_names,
    is_imported,
    read_columns,
    verify_columns,
)

if TYPE_CHECKING:
    import torch
    from torch import Tensor


@dataclass(frozen=True, eq=False)
class ImageSet:
    """Labelled images, CIFAR-10 or a part of it; RGB, uint8 (N, H, W, 3): the memory order of channels_last."""

    name: str
    images: "Tensor"
    labels: "Tensor"
    """int64 (N,), 0 to `classes` − 1."""
    index: "Tensor"
    """int64 (N,), always on the CPU: position in `dataset`'s canonical training images, −1 where unknown."""
    sha256: str
    """Of the content, the same whichever file format it came from."""
    test_images: "Tensor | None" = None
    test_labels: "Tensor | None" = None
    dataset: str = OFFICIAL_NAME
    """In whose canonical order `index` counts; `images.splits.split` knows what it may take of it."""
    classes: int = CLASSES
    mean: tuple[float, float, float] = CIFAR10_MEAN
    """Of the red, green and blue values, as parts of 255; with `std`, what normalising takes."""
    std: tuple[float, float, float] = CIFAR10_STD

    def __len__(self) -> int:
        return len(self.images)

    def to(self, device: "torch.device | str") -> "ImageSet":
        """The same set with its images and labels on a device."""
        names = ("images", "labels", "test_images", "test_labels")
        parts = {name: part.to(device) for name in names if (part := getattr(self, name)) is not None}
        return replace(self, **parts)

    def batch(self, rows: "Tensor") -> "tuple[Tensor, Tensor]":
        """The images uint8 (B, 32, 32, 3) and labels int64 (B,) at rows int64 (B,), on the set's device."""
        rows = rows.to(self.images.device, non_blocking=True)
        return self.images.index_select(0, rows), self.labels.index_select(0, rows)


def load_images(name_or_path: str | Path, verify: bool = True) -> ImageSet:
    """The image set of that name ("cifar10", "cifar10-sample", or as imported), or in that .npz.

    An imported set is compared with its recorded SHA-256 unless `verify` is False; the sample always is.
    Raises UserError where the official CIFAR-10 was not downloaded yet, InvalidInputError for an unknown name, and
    DamagedFileError for a damaged file.
    """
    name = str(name_or_path)
    if name == SAMPLE_NAME:
        return _image_set(name, *read_sample())
    if is_imported(name):
        columns, meta = read_columns(folder := images_folder() / name)
        if verify:
            verify_columns(folder, columns, meta)
        return _image_set(name, columns, meta["sha256"])
    if name == OFFICIAL_NAME:
        raise UserError(
            "CIFAR-10 is not installed: run `nb1shot1 data download`, or use the bundled sample with --scale quick"
        )
    path = as_path(name, "images")
    if path.suffix == ".npz" and path.is_file():
        columns = read_images(path)
        return _image_set(path.stem, columns, content_sha256(columns))
    raise unknown_name("image set", name, {SAMPLE_NAME, OFFICIAL_NAME, *imported_names()})


def describe_images(verify: bool = False) -> list[dict[str, Any]]:
    """What image sets there are: name, training_images, test_images, official, source, sha256 and path of each.

    With `verify`, every image is read and compared with the recorded SHA-256.
    Raises DamagedFileError for a set that is damaged.
    """
    sample, fixed = read_json(SAMPLE.with_suffix(".json")), {"test_images": 0, "official": False}
    rows = [{"name": SAMPLE_NAME, **fixed, **sample, "path": str(SAMPLE)}]
    if verify:
        read_sample()
    for name in imported_names():
        columns, meta = read_columns(folder := images_folder() / name)
        if verify:
            verify_columns(folder, columns, meta)
        rows.append({**meta, "path": str(folder)})
    keys = ("name", "training_images", "test_images", "official", "source", "sha256", "path")
    return [{key: row.get(key) for key in keys} for row in rows]


def _image_set(name: str, columns: Columns, digest: str) -> ImageSet:
    import torch

    images, labels, index, test_images, test_labels = map(torch.from_numpy, columns)
    tests = (test_images, test_labels) if len(test_images) else (None, None)
    return ImageSet(name, images, labels, index, digest, *tests)
