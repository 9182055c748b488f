"""The official indices of NAS-Bench-201's architectures; their order is not systematic, so it is bundled as data."""

from collections.abc import Iterable
from functools import cache
from pathlib import Path

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from nasbench1shot1.ground.errors import DamagedFileError
from nasbench1shot1.ground.files import PACKAGE_DATA, blocked_error, open_regular, reason
from nasbench1shot1.nasbench201.architecture import EDGES, OPERATIONS, checked_operations

N_OPERATIONS = len(OPERATIONS)
N_ARCHITECTURES: int = N_OPERATIONS ** len(EDGES)
"""Number of architectures: 15,625."""

ORDER_FILE = PACKAGE_DATA / "nb201" / "order.npy"
"""The code of every architecture by official index, (15625,) uint16: its operations as digits in base 5."""


@cache
def all_operations() -> NDArray[np.int8]:
    """Return the operations of every architecture by official index, (15625, 6), read-only.

    Raises DamagedFileError if the bundled file of the order is missing or damaged.
    """
    digits = np.unravel_index(read_order(ORDER_FILE), (len(OPERATIONS),) * len(EDGES))
    operations = np.stack(digits, axis=1).astype(np.int8)
    operations.flags.writeable = False
    return operations


def index_of(operations: Iterable[int]) -> int:
    """Return the official index of an architecture, given the operations of its six edges.

    Raises InvalidInputError like `checked_operations`, and DamagedFileError like `all_operations`.
    """
    return index_of_valid(checked_operations(operations))


def index_of_valid(operations: tuple[int, ...]) -> int:
    """Return the official index of operations that are already checked, such as an `EdgeArchitecture`'s."""
    code = 0
    for operation in operations:
        code = code * N_OPERATIONS + operation
    return _index_of_code()[code]


def read_order(path: Path) -> NDArray[np.uint16]:
    """Read the codes of all architectures in official order, (15625,).

    Raises DamagedFileError if the file is missing, or does not have every code once.
    """
    try:
        with open_regular(path) as file:
            order: NDArray[np.uint16] = npy.read_array(file, allow_pickle=False)
        if order.dtype != np.uint16 or not np.array_equal(np.sort(order), np.arange(N_ARCHITECTURES)):
            raise ValueError("it does not contain every architecture exactly once")
    except Exception as error:  # numpy's readers raise many kinds of errors for damaged bytes
        raise blocked_error(path, error) or DamagedFileError(
            f"{path} cannot be read as NAS-Bench-201's order of architectures ({reason(error)}): reinstall the package"
        ) from error
    return order


@cache
def _index_of_code() -> list[int]:
    indices: list[int] = np.argsort(read_order(ORDER_FILE)).tolist()
    return indices
