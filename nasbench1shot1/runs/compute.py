"""The device and the CPU threads of a run."""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

from nasbench1shot1.ground.errors import InvalidInputError, unknown_name
from nasbench1shot1.runs.options import Form

MOST_THREADS = 8 * (os.cpu_count() or 1)
Device = Annotated[str, Form("{auto,cpu,cuda,cuda:N}")]
"""The type of the option `device`, for `resolve_device`."""


def resolve_device(wanted: str) -> str:
    """Return the named device; "auto" selects a GPU if one is available.

    Raises InvalidInputError for an unknown device, or for CUDA on a machine without a CUDA device.
    """
    import torch

    if wanted == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    if not re.fullmatch(r"cpu|cuda(:\d+)?", wanted):
        raise unknown_name("device", wanted, ("auto", "cpu", "cuda", "cuda:0"))
    if wanted != "cpu" and not torch.cuda.is_available():
        raise InvalidInputError(
            f"--device '{wanted}' needs a CUDA device, but PyTorch finds none: use --device cpu, or install a CUDA "
            "build of PyTorch"
        )
    if wanted != "cpu" and int(wanted.partition(":")[2] or 0) >= torch.cuda.device_count():
        raise InvalidInputError(
            f"--device '{wanted}' does not exist: this machine has {torch.cuda.device_count()} CUDA devices, starting "
            "with cuda:0"
        )
    return wanted


def default_threads() -> int:
    """Return the number of CPU threads that PyTorch chooses."""
    import torch

    return torch.get_num_threads()


@contextmanager
def cpu_threads(count: int | None) -> Iterator[None]:
    """Use a number of CPU threads inside the context, and restore the previous number afterwards."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(count or before)
    try:
        yield
    finally:
        torch.set_num_threads(before)
