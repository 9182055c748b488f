"""The official files of NAS-Bench-201, and what NATS-Bench's archives have of its space, the topology space."""

import zipfile
from pathlib import Path
from typing import Any

from nasbench1shot1.ground.errors import DamagedFileError, UserError
from nasbench1shot1.ground.files import read_error
from nasbench1shot1.nasbench201.architecture import EdgeArchitecture
from nasbench1shot1.nasbench201.benchmark import (
    BENCHMARK,
    CLASSES,
    DATASETS,
    EPOCHS,
    IMAGES,
    OBJECTIVES,
    OFFICIAL_SETS,
    SEEDS,
)
from nasbench1shot1.nasbench201.cost import edge_parameter_count
from nasbench1shot1.tables.formats import Progress, Source
from nasbench1shot1.trial_files.archives import TrialFiles, collect
from nasbench1shot1.trial_files.assembly import TrialAssembly
from nasbench1shot1.trial_files.description import Trainings


def _parameters(architecture: EdgeArchitecture, classes: int) -> int:
    return edge_parameter_count(list(architecture.operations), classes=classes)


def _configuration(text: str, classes: int) -> dict[str, Any]:
    return {"name": "infer.tiny", "C": 16, "N": 5, "arch_str": text, "num_classes": classes}


TRAININGS = Trainings(
    benchmark=BENCHMARK,
    tag="tss",
    datasets=DATASETS,
    sets=OFFICIAL_SETS,
    images=IMAGES,
    classes=CLASSES,
    epochs=EPOCHS,
    seeds=SEEDS,
    objectives=OBJECTIVES,
    parameters=_parameters,
    configuration=_configuration,
    unprinted={"cifar10-valid": ("test",)},
)


class PthFiles(TrialFiles):
    """NAS-Bench-201-v1_0-e61699.pth and NAS-Bench-201-v1_1-096897.pth.

    Each contains a dictionary with `meta_archs`, the strings of all architectures, and `arch2infos`: for each index,
    "less" for the trainings with 12 epochs and "full" for the trainings with 200 epochs.
    """

    example = "a .pth file of NAS-Bench-201"

    def recognises(self, path: Path) -> bool:
        """Return whether the suffix is .pth, and the path is not a folder."""
        return path.suffix == ".pth" and not path.is_dir()

    def read_trials(self, source: Source, progress: Progress) -> TrialAssembly:
        """Read a file with PyTorch's restricted loader, which runs no code from the file.

        Raises:
            DamagedFileError: the file is truncated or damaged.
            InvalidInputError: the file is not a NAS-Bench-201 file, or contains unexpected objects.
            UserError: PyTorch is too old.
        """
        source.check_benchmark(BENCHMARK)
        source.hash_all(progress)
        progress("loading", None)
        return collect(_load(source.path), source, progress, TRAININGS)


PTH = PthFiles()


def _check_members(path: Path) -> None:
    """Raise BadZipFile if the content of a zipped file differs from its checksums, which torch.load does not verify."""
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            if damaged := archive.testzip():
                raise zipfile.BadZipFile(f"wrong checksum of {damaged}")


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
        _check_members(path)
        with torch.serialization.safe_globals([*float64, np.dtype, type(np.dtype(np.float64))]):
            return torch.load(path, map_location="cpu", weights_only=True)
    except OSError as error:
        raise read_error(path, error) from error
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
