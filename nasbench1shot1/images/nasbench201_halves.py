"""The bundled official halves of NAS-Bench-201.

Each `data/splits/nasbench201-NAME.npy` has one bit per image in canonical order (numpy.packbits), which is 1 if the
image is in the architecture half. The halves come from the lists `valid` or `xvalid` in the files of
configs/nas-benchmark/ in github.com/D-X-Y/AutoDL-Projects.
"""

from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nasbench1shot1.ground.errors import DamagedFileError
from nasbench1shot1.ground.files import PACKAGE_DATA
from nasbench1shot1.images.data_sets import CIFAR10, DATA_SETS

_FOLDER = PACKAGE_DATA / "splits"


class OfficialSplit(NamedTuple):
    """The images that the official split of a data set divides.

    Attributes:
        is_architecture: bool (N,), whether an image in canonical order is in the architecture half.
        are_tests: whether the images are the test images. The weight half is then all training images, and
            NAS-Bench-201 tests on the other half of the test images.
    """

    is_architecture: NDArray[np.bool_]
    are_tests: bool


def official_halves(name: str, folder: Path = _FOLDER) -> OfficialSplit:
    """Return the official split of a data set in `DATA_SETS` (Dong and Yang 2020, arXiv:2001.00326, section 2.2).

    CIFAR-10 has two halves of the 50,000 training images. CIFAR-100 and ImageNet16-120 have two halves of the 10,000 or
    6,000 test images. Raises DamagedFileError if the bundled file is missing or damaged.
    """
    known, path = DATA_SETS[name], folder / f"nasbench201-{name}.npy"
    are_tests = known.name != CIFAR10.name
    images = known.test_images if are_tests else known.training_images
    try:
        packed = np.load(path, allow_pickle=False)
        bits = np.unpackbits(packed, count=images).astype(np.bool_)
        if packed.shape != (images // 8,) or 2 * bits.sum() != images:
            raise ValueError(f"{bits.sum():,} of {images:,} images")
    except Exception as error:  # on damaged headers numpy raises SyntaxError, TokenError, MemoryError and others
        raise DamagedFileError(f"{path} is damaged or missing: install the package again") from error
    return OfficialSplit(bits, are_tests)
