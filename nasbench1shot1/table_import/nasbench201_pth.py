"""NAS-Bench-201's official files, NAS-Bench-201-v1_0-e61699.pth and NAS-Bench-201-v1_1-096897.pth.

Each contains a dictionary with `meta_archs`, the strings of all architectures, and `arch2infos`: for each index,
"less" for the trainings with 12 epochs and "full" for the trainings with 200 epochs.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from nasbench1shot1.ground.errors import DamagedFileError, InvalidInputError, UserError
from nasbench1shot1.ground.files import reason
from nasbench1shot1.table_import.nasbench201_trials import TrialAssembly
from nasbench1shot1.table_import.source import Progress, Source

_NEEDED = ("meta_archs", "arch2infos")


def read_pth(source: Source, progress: Progress) -> TrialAssembly:
    """Read a `.pth` file with PyTorch's restricted loader, which runs no code from the file.

    Raises:
        DamagedFileError: the file is truncated or damaged.
        InvalidInputError: the file is not a NAS-Bench-201 file, or contains unexpected objects.
        UserError: PyTorch is too old.
    """
    source.hash_all(progress)
    progress("loading", None)
    return assemble(_load(source.path), source.path.name, progress)


def assemble(content: Any, source: str, progress: Progress = lambda doing, fraction: None) -> TrialAssembly:
    """Collect the trainings of a loaded file, or of a dictionary in the same format.

    Args:
        content: the dictionary. NATS-Bench's dictionary has budgets instead of "less" and "full".
        source: name of the file or dictionary, for messages.
        progress: receives the fraction done.

    Raises InvalidInputError if the dictionary has another format.
    """
    if not isinstance(content, Mapping) or any(key not in content for key in _NEEDED):
        raise InvalidInputError(
            f"{source} is not a NAS-Bench-201 file (it lacks meta_archs or arch2infos): give a file such as "
            "NAS-Bench-201-v1_1-096897.pth"
        )
    assembly, names = TrialAssembly(source), content["meta_archs"]
    try:
        for done, (index, results_by_budget) in enumerate(content["arch2infos"].items()):
            if index < 0:
                raise IndexError(f"index {index}")
            for results in results_by_budget.values():
                assembly.add(names[index], results["all_results"])
            progress("gathering", (done + 1) / len(content["arch2infos"]))
    except (AttributeError, IndexError, KeyError, TypeError) as error:
        raise InvalidInputError(
            f"{source} is not a NAS-Bench-201 file ({type(error).__name__}: {reason(error)}): give a file such as "
            "NAS-Bench-201-v1_1-096897.pth"
        ) from error
    return assembly


def _load(path: Path) -> Any:
    """Load a file whose only allowed globals are the ones of NumPy's float64 scalars.

    Parameter counts are such scalars in the published files.
    """
    import numpy as np
    import torch

    if tuple(map(int, torch.__version__.split(".")[:2])) < (2, 6):
        raise UserError(f"reading {path.name} needs PyTorch 2.6 or newer, not {torch.__version__}: update torch")
    scalar: Any = np.float64(0).__reduce__()[0]
    float64: list[Any] = [(scalar, f"numpy.{core}.multiarray.scalar") for core in ("core", "_core")]
    try:
        with torch.serialization.safe_globals([*float64, np.dtype, type(np.dtype(np.float64))]):
            return torch.load(path, map_location="cpu", weights_only=True)
    except OSError as error:
        raise UserError(
            f"cannot read {path} ({error.strerror or error}): check the path and its permissions"
        ) from error
    except MemoryError as error:
        raise UserError(f"there is not enough memory to load {path}: use a machine with more memory") from error
    except Exception as error:  # the loader raises many kinds of errors for damaged bytes
        raise DamagedFileError(
            f"{path} cannot be read as a NAS-Bench-201 file ({_first_words(error)}): it is truncated or another file; "
            "copy or download it again"
        ) from error


def _first_words(error: Exception) -> str:
    """Return the loader's message without its advice to run the file's code."""
    _, found, after = str(error).partition("WeightsUnpickler error:")
    said = after if found else f"{type(error).__name__}: {error}".removesuffix(": ")
    return " ".join(said.partition(". ")[0].split())[:120]
