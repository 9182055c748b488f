"""The bundled sample of CIFAR-10: 350 training images of each class, compressed losslessly.

It is an .npz file of plain arrays. `webp`, uint8, contains lossless WebP strips. Strip k is
`webp[strip_offset[k]:strip_offset[k + 1]]`, an image 32 pixels wide that consists of 32 × 32 images on top of each
other. `labels` (uint8) and `train_index` (int32, canonical training index) have one entry per image. A .json file next
to it has the checksums and the source.
"""

import io
from itertools import pairwise
from pathlib import Path

import numpy as np

from nasbench1shot1.ground.errors import DamagedFileError
from nasbench1shot1.ground.files import PACKAGE_DATA, atomic_write, read_json, read_npz, sha256, write_json
from nasbench1shot1.images.store import Columns, content_sha256

SAMPLE = PACKAGE_DATA / "cifar10_sample.npz"
SOURCE = (
    "CIFAR-10 by Alex Krizhevsky, Vinod Nair and Geoffrey Hinton (https://www.cs.toronto.edu/~kriz/cifar.html): the "
    "first 350 training images of each class in canonical order, re-encoded as lossless WebP with identical pixels. "
    "Pixels taken from the PNG files of github.com/cyizhuo/CIFAR-10-dataset. No licence is stated by either; "
    "the authors ask that their technical report be cited (Learning Multiple Layers of Features from Tiny Images, "
    "2009)."
)
_ROWS_PER_STRIP = 500  # WebP's limit of 16,383 pixels allows 511 images


def write_sample(images: np.ndarray, labels: np.ndarray, train_index: np.ndarray, path: Path = SAMPLE) -> None:
    """Write images uint8 (N, 32, 32, 3), labels (N,) and canonical indices (N,) as a sample with its .json file.

    The bundled sample is the 3,500 rows `~is_test & (class_rank < 350)` of data/README.md's cifar10_subset, in
    ascending canonical order. Output is bit-identical for the same input and encoder; 3,500 images take a minute.
    """
    images = np.ascontiguousarray(images)
    strips = [_encode(images[i : i + _ROWS_PER_STRIP]) for i in range(0, len(images), _ROWS_PER_STRIP)]
    offset = np.cumsum([0, *map(len, strips)], dtype=np.int64)
    stream = np.frombuffer(b"".join(strips), dtype=np.uint8)
    with atomic_write(path) as file:
        np.savez(
            file,
            webp=stream,
            strip_offset=offset,
            labels=labels.astype(np.uint8),
            train_index=train_index.astype(np.int32),
        )
    columns = _columns(images, labels, train_index)
    sums = {"file_sha256": sha256(path), "sha256": content_sha256(columns)}
    write_json(path.with_suffix(".json"), {"training_images": len(images), **sums, "source": SOURCE})


def read_sample(path: Path = SAMPLE) -> tuple[Columns, str]:
    """Return the sample's columns and the SHA-256 of its content, after verifying the file's checksum.

    Raises DamagedFileError if the file or its .json file is missing or damaged.
    """
    known = read_json(path.with_suffix(".json"))
    if not isinstance(known, dict) or not path.is_file() or sha256(path) != known.get("file_sha256"):
        raise DamagedFileError(f"{path} is damaged (its SHA-256 differs): install the package again")
    arrays = read_npz(path, "install the package again")
    stream, offset = arrays["webp"].tobytes(), arrays["strip_offset"].tolist()
    images = np.concatenate([_decode(stream[start:stop]) for start, stop in pairwise(offset)])
    return _columns(images, arrays["labels"], arrays["train_index"]), str(known["sha256"])


def _columns(images: np.ndarray, labels: np.ndarray, index: np.ndarray) -> Columns:
    no_images, no_labels = np.empty((0, 32, 32, 3), np.uint8), np.empty(0, np.int64)
    return Columns(images, labels.astype(np.int64), index.astype(np.int64), no_images, no_labels)


def _encode(images: np.ndarray) -> bytes:
    from PIL import Image

    file = io.BytesIO()
    strip = Image.fromarray(images.reshape(-1, 32, 3))
    strip.save(file, "WEBP", lossless=True, quality=100, method=6, exact=True)  # the slowest setting, smallest file
    return file.getvalue()


def _decode(strip: bytes) -> np.ndarray:
    from PIL import Image

    return np.asarray(Image.open(io.BytesIO(strip), formats=["WEBP"]).convert("RGB")).reshape(-1, 32, 32, 3)
