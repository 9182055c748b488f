"""Reading pickled batches of CIFAR-10, CIFAR-100 and ImageNet16 without running code that they contain.

Formats: https://www.cs.toronto.edu/~kriz/cifar.html and image2numpy_imagenet_train.py in
github.com/PatrykChrabaszcz/Imagenet32_Scripts.
"""

import io
from typing import Any, NamedTuple

import numpy as np

from nasbench1shot1.ground.errors import DamagedFileError
from nasbench1shot1.ground.plain_pickle import load_plain_pickle

_MOST_OPCODES = 300_000  # a batch of CIFAR-100 has some 200,000; 64 MB of opcodes would take 5 GB of memory


class BatchFormat(NamedTuple):
    """The format of a pickled batch: a dictionary with the array "data" and a list of labels.

    Attributes:
        title: name of a batch, for messages.
        labels: key of the list of labels.
        pixels: number of bytes of an image.
        lowest: the smallest possible label.
        highest: the largest possible label.
    """

    title: str
    labels: bytes
    pixels: int
    lowest: int
    highest: int


CIFAR10_BATCH = BatchFormat("a CIFAR-10 batch", b"labels", 3 * 32 * 32, 0, 255)


def read_python_batch(content: bytes, where: str, form: BatchFormat = CIFAR10_BATCH) -> tuple[np.ndarray, np.ndarray]:
    """Return the planar pixels uint8 (N, pixels) and labels int64 (N,) of a pickled batch, without executing any code.

    `where` names the file in errors; `form` is the data set's format. Raises DamagedFileError if the stream is
    truncated or has other content, and InvalidInputError if it asks for something other than plain data.
    """
    batch = load_plain_pickle(io.BytesIO(content), where, encoding="bytes", most_opcodes=_MOST_OPCODES)
    labels, pixels = (_entry(batch, key) for key in (form.labels, b"data"))
    is_list = isinstance(labels, list) and all(
        type(label) is int and form.lowest <= label <= form.highest for label in labels
    )
    is_array = isinstance(pixels, np.ndarray) and pixels.dtype == np.uint8
    if not (is_list and is_array and labels and pixels.shape == (len(labels), form.pixels)):
        wanted = f"it lacks '{form.labels.decode()}' with an equal number of images"
        raise DamagedFileError(f"{where} is not {form.title} ({wanted}): check the file")
    return np.asarray(pixels), np.array(labels, dtype=np.int64)


def _entry(batch: Any, key: bytes) -> Any:
    """Return the value of a key, which Python 2 and some writers store as bytes; None if it is missing."""
    return batch.get(key, batch.get(key.decode())) if isinstance(batch, dict) else None
