"""Builders of files in the formats of CIFAR-10, CIFAR-100 and ImageNet16."""

import io
import math
import pickle
import struct
import tarfile
from pathlib import Path

import numpy as np

ROWS = 12
"""Images in a batch of the tests' archives, in the place of 10,000."""


def made_images(rows: int, seed: int = 0, side: int = 32, classes: int = 10) -> tuple[np.ndarray, np.ndarray]:
    """Distinct images uint8 (rows, side, side, 3) and labels int64 (rows,)."""
    rng = np.random.default_rng(seed)
    return rng.integers(0, 256, (rows, side, side, 3), dtype=np.uint8), rng.integers(0, classes, rows)


def planar(images: np.ndarray) -> np.ndarray:
    """Images as in the official files, (rows, 3 · side²): all red values, then green, then blue."""
    return np.ascontiguousarray(images.transpose(0, 3, 1, 2)).reshape(len(images), math.prod(images.shape[1:]))


def python2_batch(images: np.ndarray, labels: np.ndarray, key: bytes = b"labels") -> bytes:
    """Pickle as Python 2's cPickle (protocol 2) and numpy of 2009 did for the official files."""

    def string(text: bytes) -> bytes:
        return b"U" + bytes([len(text)]) + text

    thousands = [labels[i : i + 1000] for i in range(0, len(labels), 1000)]
    numbers = b"".join(b"(" + b"".join(b"K" + bytes([n]) for n in part) + b"e" for part in thousands)
    data = planar(images).tobytes()
    shape = b"M" + struct.pack("<H", len(images)) + b"M\x00\x0c\x86"
    array = (
        b"cnumpy.core.multiarray\n_reconstruct\nq\x07cnumpy\nndarray\nq\x08K\x00\x85q\tU\x01b\x87Rq\n(K\x01" + shape
        + b"cnumpy\ndtype\nq\x0bU\x02u1q\x0cK\x00K\x01\x87q\rRq\x0e(K\x03U\x01|NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xff"
        + b"K\x00tq\x0fb\x89T" + struct.pack("<i", len(data)) + data + b"tb"
    )  # fmt: skip
    head = b"\x80\x02}q\x01(" + string(b"batch_label") + b"q\x02" + string(b"training batch 1 of 5") + b"q\x03"
    names = b"".join(string(b"toad_%d.png" % i) for i in range(3))
    body = string(key) + b"q\x04]q\x05" + numbers + string(b"data") + b"q\x06" + array
    return head + body + string(b"filenames") + b"q\x10]q\x11(" + names + b"eu."


def python3_batch(
    images: np.ndarray, labels: np.ndarray, protocol: int = 4, order: str = "C", text: bool = False
) -> bytes:
    """Pickle a batch with the current Python and numpy; keys are text or bytes."""
    content = {
        "batch_label": b"training batch 1 of 5",
        "labels": labels.tolist(),
        "data": np.array(planar(images), order=order),  # type: ignore[call-overload]
        "filenames": ["a.png"],
    }
    return pickle.dumps(content if text else {k.encode(): v for k, v in content.items()}, protocol)


def binary_batch(images: np.ndarray, labels: np.ndarray) -> bytes:
    return np.concatenate([labels.astype(np.uint8)[:, None], planar(images)], axis=1).tobytes()


def write_tar(path: Path, files: dict[str, bytes]) -> Path:
    with tarfile.open(
        path, "w:gz" if path.suffix == ".gz" else "w", **({"compresslevel": 1} if path.suffix == ".gz" else {})
    ) as tar:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return path


BATCH_NAMES = (*(f"data_batch_{i}" for i in range(1, 6)), "test_batch")


def official_files(kind: str, rows: int) -> tuple[dict[str, bytes], list[tuple[np.ndarray, np.ndarray]]]:
    """Files of an archive of `kind` "python" or "binary", in non-canonical order, and their contents."""
    batches = [made_images(rows, seed) for seed in range(6)]
    write, suffix, folder = {
        "python": (python2_batch, "", "cifar-10-batches-py"),
        "binary": (binary_batch, ".bin", "cifar-10-batches-bin"),
    }[kind]
    files = {f"{folder}/{n}{suffix}": write(*b) for n, b in zip(BATCH_NAMES, batches, strict=True)}
    return {
        f"{folder}/readme.html": b"<p>",
        **dict(reversed(files.items())),
        f"{folder}/batches.meta": b"(dp1",
    }, batches


CIFAR100_NAMES = ("train", "test")


def cifar100_files(kind: str, rows: int) -> tuple[dict[str, bytes], list[tuple[np.ndarray, np.ndarray]]]:
    """Files of a CIFAR-100 archive with `rows` training and `rows` test images, and their contents."""
    batches = [made_images(rows, seed, classes=100) for seed in range(2)]
    if kind == "python":
        contents = [python2_batch(images, labels, b"fine_labels") for images, labels in batches]
    else:
        contents = [_binary_with_superclass(images, labels) for images, labels in batches]
    folder, suffix = ("cifar-100-python", "") if kind == "python" else ("cifar-100-binary", ".bin")
    files = {f"{folder}/{name}{suffix}": text for name, text in zip(CIFAR100_NAMES, contents, strict=True)}
    return {f"{folder}/meta": b"(dp1", **files}, batches


def _binary_with_superclass(images: np.ndarray, labels: np.ndarray) -> bytes:
    both = np.stack([labels // 5, labels], axis=1).astype(np.uint8)
    return np.concatenate([both, planar(images)], axis=1).tobytes()


IMAGENET16_NAMES = (*(f"train_data_batch_{i}" for i in range(1, 11)), "val_data")


def imagenet16_batch(images: np.ndarray, labels: np.ndarray, protocol: int = 3) -> bytes:
    """A pickled batch as written by image2numpy_imagenet_train.py; labels are 1 to 1000."""
    data = planar(images)
    return pickle.dumps({"data": data, "labels": labels.tolist(), "mean": data.mean(axis=0)}, protocol)


def imagenet16_files(protocol: int = 3) -> tuple[dict[str, bytes], list[tuple[np.ndarray, np.ndarray]]]:
    """The eleven files in non-canonical order, with their images and labels 1 to 1000.

    Each has eight uint8 images: as many bytes of pixels as its float64 mean.
    """
    batches = []
    for seed in range(11):
        images, labels = made_images(8, seed, side=16, classes=1_000)
        batches.append((images, np.concatenate([[1 + seed, 120, 121, 1_000], 1 + labels[4:]])))
    files = {name: imagenet16_batch(*of, protocol) for name, of in zip(IMAGENET16_NAMES, batches, strict=True)}
    return dict(reversed(files.items())), batches
