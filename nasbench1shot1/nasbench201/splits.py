"""NAS-Bench-201's division of its data sets into the images of the weights and of the architecture."""

from pathlib import Path

import numpy as np

from nasbench1shot1.ground.errors import DamagedFileError
from nasbench1shot1.ground.files import PACKAGE_DATA, blocked_error, open_regular
from nasbench1shot1.images.data_sets import CIFAR10, DATA_SETS
from nasbench1shot1.images.splits import OfficialSplit
from nasbench1shot1.nasbench201.benchmark import BENCHMARK

_FOLDER = PACKAGE_DATA / "splits"


def official_halves(name: str, folder: Path = _FOLDER) -> OfficialSplit:
    """Return NAS-Bench-201's split of a data set in `DATA_SETS` (Dong and Yang 2020, arXiv:2001.00326, section 2.2).

    CIFAR-10 has two halves of the 50,000 training images. CIFAR-100 and ImageNet16-120 have two halves of the 10,000 or
    6,000 test images. They come from the lists `valid` or `xvalid` in the files of configs/nas-benchmark/ in
    github.com/D-X-Y/AutoDL-Projects. Each file `nasbench201-NAME.npy` in `folder` has one bit per image in canonical
    order (numpy.packbits), which is 1 if the image is in the architecture half.

    Raises DamagedFileError if the bundled file is missing or damaged.
    """
    known, path = DATA_SETS[name], folder / f"nasbench201-{name}.npy"
    are_tests = known.name != CIFAR10.name
    images = known.test_images if are_tests else known.training_images
    try:
        with open_regular(path) as file:
            packed = np.load(file, allow_pickle=False)
        bits = np.unpackbits(packed, count=images).astype(np.bool_)
        if packed.shape != (images // 8,) or 2 * bits.sum() != images:
            raise ValueError(f"{bits.sum():,} of {images:,} images")
    except Exception as error:  # on damaged headers numpy raises SyntaxError, TokenError, MemoryError and others
        raise blocked_error(path, error) or DamagedFileError(
            f"{path} is damaged or missing: install the package again"
        ) from error
    return OfficialSplit(BENCHMARK.title, bits, are_tests)
