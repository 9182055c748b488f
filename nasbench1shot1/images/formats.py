"""The official files of every data set: their names, order and formats.

CIFAR-10 and CIFAR-100 (https://www.cs.toronto.edu/~kriz/cifar.html) have a Python version, which consists of pickles,
and a binary version. ImageNet16-120 is the part of ImageNet16 (Chrabaszcz et al. 2017, arXiv:1707.08819) that
NAS-Bench-201 uses: the images with labels 1 to 120, which become 0 to 119, in the order of the files. ImageNet16 only
has pickles.
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from nasbench1shot1.ground.errors import DamagedFileError
from nasbench1shot1.images.data_sets import CIFAR10, CIFAR100, DATA_SETS, IMAGENET16_120, DataSet
from nasbench1shot1.images.pickles import CIFAR10_BATCH, BatchFormat, read_python_batch

BINARY = ".bin"

Batch = tuple[np.ndarray, np.ndarray]
"""Images uint8 (N, side, side, 3), RGB, and labels int64 (N,)."""


class OfficialFormat(NamedTuple):
    """The official files of one data set.

    Attributes:
        name: name of the data set.
        training: names of the files of training images in canonical order.
        test: name of the file of test images.
        folder: pattern of the folders that the published archives unpack to.
        batch: format of a pickled file.
        md5: published MD5 of each file; empty if the archive has a published SHA-256 instead.
        label_bytes: number of bytes before the pixels of an image in the binary version; the last one is the label. 0
            if there is no binary version.
        takes_some: whether the data set only uses the images of the first classes.
    """

    name: str
    training: tuple[str, ...]
    test: str
    folder: str
    batch: BatchFormat
    md5: Mapping[str, str]
    label_bytes: int = 0
    takes_some: bool = False

    @property
    def data_set(self) -> DataSet:
        """The data set."""
        return DATA_SETS[self.name]

    @property
    def files(self) -> tuple[str, ...]:
        """The names of all files, the test images last."""
        return (*self.training, self.test)

    def has(self, file: str) -> bool:
        """Return whether a file with this name belongs to the data set."""
        return file in self.files or (self.label_bytes > 0 and file.removesuffix(BINARY) in self.files)

    def read(self, file: str, content: bytes, where: str) -> Batch:
        """Return the images and labels of a file; `where` names it in errors.

        Raises DamagedFileError if the file is truncated or has other content.
        """
        if file.endswith(BINARY):
            pixels, labels = read_binary_batch(content, where, self.batch.pixels, self.label_bytes)
        else:
            pixels, labels = read_python_batch(content, where, self.batch)
        labels = labels - self.batch.lowest
        if self.takes_some:
            taken = labels < self.data_set.classes
            pixels, labels = pixels[taken], labels[taken]
        else:
            self._check(file.removesuffix(BINARY), labels, where)
        side = self.data_set.side
        return np.ascontiguousarray(pixels.reshape(len(labels), 3, side, side).transpose(0, 2, 3, 1)), labels

    def _check(self, stem: str, labels: np.ndarray, where: str) -> None:
        known, is_test = self.data_set, stem == self.test
        rows = known.test_images if is_test else known.training_images // len(self.training)
        if len(labels) != rows:
            raise DamagedFileError(f"{where} has {len(labels):,} images, not {rows:,}: download it again")
        if labels.max() >= known.classes:
            are = f"{known.title}'s labels are 0 to {known.classes - 1}"
            raise DamagedFileError(f"{where} has a label {labels.max()}, but {are}: download it again")


FORMATS = (
    OfficialFormat(
        name=CIFAR10.name,
        training=tuple(f"data_batch_{i}" for i in range(1, 6)),
        test="test_batch",
        folder="cifar-10-batches-*",
        batch=CIFAR10_BATCH,
        md5={},
        label_bytes=1,
    ),
    OfficialFormat(
        name=CIFAR100.name,
        training=("train",),
        test="test",
        folder="cifar-100-*",
        batch=BatchFormat("a CIFAR-100 batch", b"fine_labels", 3 * 32 * 32, 0, 255),
        md5={},
        label_bytes=2,  # the superclass, then the class
    ),
    OfficialFormat(
        name=IMAGENET16_120.name,
        training=tuple(f"train_data_batch_{i}" for i in range(1, 11)),
        test="val_data",
        folder="ImageNet16*",
        batch=BatchFormat("an ImageNet16 batch", b"labels", 3 * 16 * 16, 1, 1_000),
        takes_some=True,
        md5={  # as in xautodl/datasets/DownsampledImageNet.py of github.com/D-X-Y/AutoDL-Projects
            "train_data_batch_1": "27846dcaa50de8e21a7d1a35f30f0e91",
            "train_data_batch_2": "c7254a054e0e795c69120a5727050e3f",
            "train_data_batch_3": "4333d3df2e5ffb114b05d2ffc19b1e87",
            "train_data_batch_4": "1620cdf193304f4a92677b695d70d10f",
            "train_data_batch_5": "348b3c2fdbb3940c4e9e834affd3b18d",
            "train_data_batch_6": "6e765307c242a1b3d7d5ef9139b48945",
            "train_data_batch_7": "564926d8cbf8fc4818ba23d2faac7564",
            "train_data_batch_8": "f4755871f718ccb653440b9dd0ebac66",
            "train_data_batch_9": "bb6dd660c38c58552125b1a92f86b5d4",
            "train_data_batch_10": "8f03f34ac4b42271a294f91bf480f29b",
            "val_data": "3410e3017fdaefba8d5073aaa65e4bd6",
        },
    ),
)


def read_binary_batch(content: bytes, where: str, pixels: int, label_bytes: int) -> Batch:
    """Return the planar pixels uint8 (N, pixels) and labels int64 (N,) of a binary batch: rows of labels and pixels.

    Raises DamagedFileError if the batch is truncated.
    """
    if not content or len(content) % (label_bytes + pixels):
        raise DamagedFileError(f"{where} is truncated ({len(content):,} bytes): download or copy it again")
    rows = np.frombuffer(content, dtype=np.uint8).reshape(-1, label_bytes + pixels)
    return rows[:, label_bytes:], rows[:, label_bytes - 1].astype(np.int64)
