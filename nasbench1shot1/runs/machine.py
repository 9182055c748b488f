"""The machine of a run: device, threads, precision and memory, and the environment that environment.json records."""

import os
import platform
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from nasbench1shot1.ground.errors import InvalidInputError, in_words, option, quoted_option, unknown_name
from nasbench1shot1.runs.options import Form, Range

if TYPE_CHECKING:
    import torch

MOST_THREADS = 8 * (os.cpu_count() or 1)
"""Maximum number of CPU threads that a new run on this machine may ask for."""
Device = Annotated[str, Form("{auto,cpu,cuda,cuda:N}")]
"""The type of the option `device`, for `resolve_device`."""
SWAP_UNKNOWN = 4  # times the physical memory, for systems that grow their swap as needed
OF_A_CELL = 4 * 10**4
"""Fewest bytes of the Python objects of a network's cell; a cell of a supernet on s1 has 160,000."""
_TOO_LARGE = re.compile(  # in PyTorch's messages
    "out of memory|DefaultCPUAllocator|Overflow when unpacking|Storage size calculation overflowed"
)
PACKAGES = ("torch", "numpy", "pandas", "ConfigSpace", "matplotlib")
"""Packages whose versions are recorded."""


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
            f"{quoted_option('device', wanted)} needs a CUDA device, but PyTorch finds none: use "
            f"{option('device', 'cpu')}, or install a CUDA build of PyTorch"
        )
    if wanted != "cpu" and int(wanted.partition(":")[2] or 0) >= torch.cuda.device_count():
        raise InvalidInputError(
            f"{quoted_option('device', wanted)} does not exist: this machine has {torch.cuda.device_count()} CUDA "
            "devices, starting with cuda:0"
        )
    return wanted


def check_recorded_device(folder: Path, device: Any) -> None:
    """Raise InvalidInputError for a recorded run, or group of runs, whose GPU is missing on this machine.

    Args:
        folder: its folder.
        device: its recorded device; None if it does not record one.
    """
    if not str(device).startswith("cuda"):
        return
    try:
        resolve_device(device)
    except InvalidInputError as error:
        raise InvalidInputError(
            f"'{folder}' was started on {device}, which PyTorch does not find here: resume it on a machine with this "
            "GPU, or start a new run"
        ) from error


def resolve_threads(wanted: int | None) -> int:
    """Return the wanted number of CPU threads; for None, the number that PyTorch chooses."""
    import torch

    return torch.get_num_threads() if wanted is None else wanted


def check_threads(count: int | None) -> None:
    """Raise InvalidInputError if a new run asks for more CPU threads than `MOST_THREADS`; None passes.

    The number that PyTorch uses at present is accepted in any case: workers set it for each job, and a job of a group
    that was started on a larger machine keeps the recorded number.
    """
    if count is not None and count != resolve_threads(None):
        Range(1, MOST_THREADS).check("threads", count)


@contextmanager
def cpu_threads(count: int | None) -> Iterator[None]:
    """Use a number of CPU threads inside the context, and restore the previous number afterwards; None changes nothing.

    The context restores the previous number in any case: code inside it may change the number.
    """
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(count or before)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@contextmanager
def without_tf32() -> Iterator[None]:
    """Inside the context, GPUs compute float32 convolutions and matrix products without rounding to TF32.

    By default, PyTorch lets GPUs since Ampere round the inputs of convolutions to TF32, which has 10 bits of mantissa.
    The values of the settings are restored afterwards, even after an exception. Settings belong to the process, as the
    number of threads does, so two threads must not enter the context at the same time.
    """
    import torch

    backends: Any = torch.backends
    cudnn, matmul = backends.cudnn, backends.cuda.matmul
    exact: list[tuple[Any, str, Any]]
    if not hasattr(cudnn, "conv"):  # before PyTorch 2.9
        exact = [(cudnn, "allow_tf32", False), (matmul, "allow_tf32", False)]
    else:  # the older switch comes first, because it changes the precisions; other code can read it only if they agree
        exact = [(cudnn, "allow_tf32", False)] if _is_readable(cudnn, "allow_tf32") else []
        exact += [(of, "fp32_precision", "ieee") for of in (cudnn.conv, cudnn.rnn, matmul)]
    before = [(of, name, getattr(of, name)) for of, name, _ in exact]
    _set(exact)
    try:
        yield
    finally:
        _set(before)


def _is_readable(of: Any, name: str) -> bool:
    try:
        getattr(of, name)
    except RuntimeError:
        return False
    return True


def _set(attributes: Iterable[tuple[Any, str, Any]]) -> None:
    for of, name, value in attributes:
        setattr(of, name, value)


@contextmanager
def default_modes() -> Iterator[None]:
    """Inside the context, set the default dtype, default device and gradient mode to PyTorch's own defaults.

    The caller's settings are restored afterwards, even if code inside changes them.
    """
    import torch

    before = torch.empty(0)  # has the default dtype and device
    try:
        _set_defaults(torch.float32, torch.device("cpu"))
        with torch.inference_mode(False), torch.enable_grad():
            yield
    finally:
        _set_defaults(before.dtype, before.device)


def _set_defaults(dtype: "torch.dtype", device: "torch.device") -> None:
    import torch

    torch.set_default_dtype(dtype)
    if torch.empty(0).device != device:
        torch.set_default_device(None if device.type == "cpu" else device)  # None: the CPU, without overhead


@contextmanager
def computing(threads: int | None) -> Iterator[None]:
    """Compute as runs do: with CPU threads as in `cpu_threads`, `without_tf32`, and with `default_modes`."""
    with cpu_threads(threads), without_tf32(), default_modes():
        yield


def wait_for(device: "str | torch.device") -> None:
    """Wait until a GPU has computed everything; returns at once for the CPU."""
    import torch

    if torch.device(device).type == "cuda":
        torch.cuda.synchronize(device)


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


@contextmanager
def within_memory(network: str, cells: int, /, **sizes: int) -> Iterator[None]:
    """Raise InvalidInputError in place of PyTorch's errors for a network that is too large, while it is built.

    Args:
        network: what is built, with its article.
        cells: number of its cells; their modules alone need memory.
        sizes: the options that determine its size.

    Raises:
        InvalidInputError: there is too little memory for the network, or a size is too large for PyTorch.
    """
    named = in_words(option(name, value) for name, value in sizes.items())
    unfit = InvalidInputError(f"there is too little memory for {network} with {named}: lower one of them")
    available = memory_of("cpu")
    if available is not None and cells * OF_A_CELL > available:
        raise unfit
    try:
        yield
    except (RuntimeError, TypeError, MemoryError) as error:
        if not isinstance(error, MemoryError) and not _TOO_LARGE.search(str(error)):
            raise
        raise unfit from error


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


def environment(device: str, packages: Sequence[str] = ()) -> dict[str, Any]:
    """Return package versions, the machine, and the commit if this is a checkout.

    Args:
        device: device of the run, "cpu", "cuda:1", …; `gpu` in the result is its name, None for a CPU.
        packages: further packages whose versions the result has.
    """
    from importlib.metadata import version  # slow to import, and help imports this module

    import torch

    from nasbench1shot1 import __version__

    return {
        "nasbench1shot1": __version__,
        "git": _commit(),
        "python": platform.python_version(),
        "platform": platform.platform(),
        "cpu_count": os.cpu_count(),
        "cuda": torch.version.cuda,
        "gpu": torch.cuda.get_device_name(device) if device.startswith("cuda") else None,
        **{package: version(package) for package in (*PACKAGES, *packages)},
    }


def _commit() -> str | None:
    import subprocess

    checkout = Path(__file__).resolve().parents[2]  # a strict editable install consists of links
    if not (checkout / ".git").exists():  # installed: a repository around it would be a different one
        return None
    try:
        git = ["git", "-C", str(checkout), "describe", "--always", "--dirty", "--abbrev=40"]
        return subprocess.run(git, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return None
