"""Checks whether a run fits into memory, before anything is allocated."""

import os
from pathlib import Path

from nasbench1shot1.ground.errors import InvalidInputError

SWAP_UNKNOWN = 4  # times the physical memory, for systems that grow their swap as needed


def check_memory(needed: int, device: str, what: str, advice: str) -> None:
    """Raise InvalidInputError for a run that cannot fit into the memory of a device.

    Args:
        needed: lower bound of the memory of the run, in bytes.
        device: "cpu", "cuda", "cuda:1", …
        what: beginning of the message, which ends with "needs", with the values of options in quotes.
        advice: what to do instead.

    Raises:
        InvalidInputError: the device has less memory in total, including swap.
    """
    available = memory_of(device)
    if available is not None and needed > available:
        where = "this machine" if device == "cpu" else device
        raise InvalidInputError(
            f"{what} at least {_gigabytes(needed)} of memory, and {where} has {_gigabytes(available)}: {advice}"
        )


def memory_of(device: str) -> int | None:
    """Return the total memory of a device in bytes, including swap; None if it is unknown."""
    if device != "cpu":
        import torch

        if not device.startswith("cuda") or not torch.cuda.is_available():
            return None
        return int(torch.cuda.get_device_properties(device).total_memory)
    try:
        lines = [line.split() for line in Path("/proc/meminfo").read_text().splitlines()]
        return 1024 * sum(int(line[1]) for line in lines if line[0] in ("MemTotal:", "SwapTotal:"))
    except (OSError, ValueError, IndexError):
        pass
    try:
        return SWAP_UNKNOWN * os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):  # Windows
        return None


def _gigabytes(count: int) -> str:
    return f"{count / 2**30:,.0f} GiB" if count >= 10 * 2**30 else f"{count / 2**30:.1f} GiB"
